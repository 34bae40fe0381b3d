// A run that is over: all its channels are here, time goes where one looks.
"use strict";

class StoredRun {
  constructor(data) {
    this.data = data;
    this.times = data.arrays.times;
    this.count = this.times.length;
    this.first = this.times[0];
    this.last = this.times[this.count - 1];
    this.time = this.first;
    this.table = new Float64Array(7 * data.carriers.length);
    this.ends = true;
  }

  get moves() { return this.last > this.first; }
  get version() { return 0; }
  timeAt(k) { return this.times[k]; }
  has(channel) { return this.data.stored && this.data.refs[channel] !== null; }
  valueAt(channel, k) { return this.entry(this.data.refs[channel], k); }

  entry(ref, k) {
    return ref >= 0 ? this.data.arrays.columns[ref * this.count + k] : this.data.constants[-1 - ref] ?? NaN;
  }

  // The value of a channel at any time, between two instants along the line.
  value(channel, time = this.time) {
    if (!this.has(channel)) return NaN;
    const [row, share] = locate(this.count, (k) => this.times[k], time), next = Math.min(row + 1, this.count - 1);
    const a = this.valueAt(channel, row);
    return a + share * (this.valueAt(channel, next) - a);
  }

  seek(time) {
    this.time = Math.min(this.last, Math.max(this.first, time));
    const [row, share] = locate(this.count, (k) => this.times[k], this.time), next = Math.min(row + 1, this.count - 1);
    const a = new Array(7), b = new Array(7);
    this.data.carriers.forEach(({ columns }, index) => {
      for (let j = 0; j < 7; j++) { a[j] = this.entry(columns[j], row); b[j] = this.entry(columns[j], next); }
      between(this.table, 7 * index, a, b, share);
    });
  }

  // Go on by so many seconds; whether there is more to come.
  advance(seconds) {
    this.seek(this.time + seconds);
    return this.time < this.last;
  }
}

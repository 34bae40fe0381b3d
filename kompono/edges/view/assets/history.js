// What a living machine did lately: rows of channels in a ring, the oldest go. Poses are channels, so one can look back.
"use strict";

const HISTORY = 16e6; // numbers kept, 64 MB

class History {
  constructor(width) {
    this.width = width;
    this.room = Math.max(64, Math.min(8192, Math.floor(HISTORY / Math.max(width, 1))));
    this.times = new Float64Array(this.room);
    this.rows = new Float32Array(this.room * width);
    this.clear();
  }

  clear() { this.begin = this.count = 0; this.version = (this.version || 0) + 1; }
  place(k) { return (this.begin + k) % this.room; }
  timeAt(k) { return this.times[this.place(k)]; }
  valueAt(column, k) { return this.rows[this.place(k) * this.width + column]; }
  row(k) { const first = this.place(k) * this.width; return this.rows.subarray(first, first + this.width); }

  // Keep a row of values; angles that are known within a turn, and quaternions, go on where the last row was.
  push(time, values, angles = [], turns = []) {
    const last = this.count ? this.row(this.count - 1) : null;
    if (this.count === this.room) this.begin = (this.begin + 1) % this.room; else this.count += 1;
    const place = this.place(this.count - 1);
    this.times[place] = time;
    this.rows.set(values, place * this.width);
    if (last) for (const k of angles) {
      const turns = Math.round((last[k] - values[k]) / (2 * Math.PI));
      if (turns) this.rows[place * this.width + k] += 2 * Math.PI * turns;
    }
    if (last) for (const four of turns) {
      if (four.reduce((sum, k) => sum + last[k] * values[k], 0) < 0) for (const k of four) this.rows[place * this.width + k] *= -1;
    }
    this.version += 1;
  }
}

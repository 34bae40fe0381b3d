// A run of the machine in this page: it goes on as far as the clock says, or as far as the processor can.
"use strict";

const BUDGET = 12; // ms of a picture for steps
const PULL_EVERY = 2e-3; // s of simulated time after which a hand looks where its body is

class PageRun extends LiveRun {
  constructor(data, engine) {
    super(data, data.living);
    this.engine = engine;
    this.hand = null;
    this.debt = 0; // simulated seconds that are due
    this.rate = 1; // simulated seconds a second, lately
    this.failure = "";
    this.parameters = data.living.parameters;
    this.inputs = data.living.inputs;
    this.begin();
  }

  begin() {
    this.engine.reset();
    this.history.clear();
    this.debt = 0;
    this.failure = "";
    this.sample();
    this.seek(this.engine.time);
  }

  sample() { this.note(this.engine.time, this.engine.read()); }

  // Go on by so many simulated seconds, `speed` of them a second; whether it can go on.
  advance(seconds, speed = 1) {
    const h = this.engine.facts.step, begun = this.engine.time, wanted = this.debt + seconds;
    const each = this.hand ? Math.max(1, Math.round(PULL_EVERY / h)) : Math.max(1, Math.round(speed / 120 / h));
    let count = Math.floor(wanted / h + 1e-6), until = performance.now() + BUDGET;
    this.debt = wanted - count * h;
    while (count > 0 && !this.failure) {
      const size = Math.min(count, each);
      if (this.hand) this.pull();
      if (this.engine.steps(size)) this.failure = ENDINGS[this.engine.status] || `the run ended (${this.engine.status})`;
      this.sample();
      count -= size;
      if (performance.now() > until) { this.debt = 0; break; } // too slow for the clock: time is not made up for
    }
    if (seconds > 0) this.rate += 0.1 * ((this.engine.time - begun) / seconds - this.rate);
    this.seek(this.engine.time);
    return !this.failure;
  }

  // Single steps.
  step(count = 1) {
    if (this.hand) this.pull();
    if (!this.failure && this.engine.steps(count)) this.failure = ENDINGS[this.engine.status] || "the run ended";
    this.sample();
    this.seek(this.engine.time);
  }

  pull() {
    const inputs = this.engine.inputsAt(this.engine.time);
    inputs.set(this.hand.wrench(this.history.row(this.count - 1), this.hand.strength), this.facts.pulls[this.data.carriers[this.hand.carrier].path]);
    this.engine.hold(inputs);
  }

  grab(carrier, local, target) {
    if (this.facts.pulls[this.data.carriers[carrier].path] === undefined) return null;
    return this.hand = new Hand(this, carrier, local, target);
  }

  letGo() {
    this.hand = null;
    this.engine.feed();
  }

  setParameter(index, value) { this.engine.setParameter(this.parameters[index].place, value); this.seen(); }
  setInput(index, value) { this.engine.setInput(this.inputs[index].place, value); this.seen(); }

  // While it waits, what was changed shows at once.
  seen() {
    if (this.follows) { this.sample(); this.seek(this.engine.time); }
  }
}

// The machine itself, as WebAssembly: the routines and the step loop of native runs. No equation is written here; this
// fills the memory of a run (kompono/compile/block.py), lets the loop go on, and reads channels off its state.
"use strict";

const STACK = 1 << 20, FAR = 1n << 62n, LOG_FULL = 6;
const ENDINGS = {
  1: "a number is not finite any more", 5: "one event causes the next, without end", 7: "the loops do not close any more",
  8: "a body turns too fast for the step", 9: "the guard of an event is not a number", 13: "an event ended the run",
};
const OUTSIDE = {
  fabs: Math.abs,
  fmin: (a, b) => a !== a ? b : b !== b ? a : Math.min(a, b),
  fmax: (a, b) => a !== a ? b : b !== b ? a : Math.max(a, b),
  fmod: (a, b) => a % b,
  copysign: (a, b) => (b < 0 || Object.is(b, -0)) === (a < 0 || Object.is(a, -0)) ? a : -a,
  remainder: (a, b) => {
    const size = Math.abs(b), rest = Math.abs(a) % size;
    const odd = Math.abs(a) % (2 * size) >= size, more = 2 * rest > size || (2 * rest === size && odd);
    const value = more ? rest - size : rest;
    return a < 0 ? -value : value;
  },
};

class Engine {
  // The module with its memory; `arrays` hold what the run starts with.
  static async make(facts, arrays) {
    const engine = new Engine();
    Object.assign(engine, { facts, arrays, places: facts.places });
    const { places } = engine, up = (bytes) => Math.ceil(bytes / 64) * 64;
    let next = up(places.data) + STACK;
    const room = (bytes) => { const first = next; next += up(bytes); return first; };
    const rows = Math.max(arrays.table_times.length, 1);
    engine.at = {
      stack: next, block: room(8 * Object.keys(places.fields).length), memory: room(8 * places.vectors.end[0]),
      parameters: room(8 * places.parameters), times: room(8 * rows), values: room(8 * rows * places.inputs),
      held: room(8 * places.inputs), log: room(16 * places.log), stop: room(8), records: room(64),
      clock: room(8), results: room(8 * places.results), work: room(8 * places.work),
    };
    const pages = Math.ceil(next / 65536) + 1;
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    const stack = new WebAssembly.Global({ value: "i32", mutable: true }, engine.at.stack);
    const compiled = await WebAssembly.compile(arrays.wasm);
    const env = { __linear_memory: memory, __stack_pointer: stack };
    for (const { name, kind } of WebAssembly.Module.imports(compiled)) {
      if (kind === "function") env[name] = OUTSIDE[name] || Math[name];
    }
    const { exports } = await WebAssembly.instantiate(compiled, { env });
    engine.loop = exports[places.loop];
    engine.tell = exports[places.outputs];
    engine.reals = new Float64Array(memory.buffer);
    engine.integers = new BigInt64Array(memory.buffer);
    engine.words = new Uint32Array(memory.buffer);
    engine.parameters = engine.view("parameters", places.parameters);
    engine.parameters.set(arrays.parameters);
    engine.results = engine.view("results", places.results);
    engine.overrides = new Map();
    engine.reset();
    return engine;
  }

  view(name, count) { return this.reals.subarray(this.at[name] / 8, this.at[name] / 8 + count); }
  vector(name) { const [first, count] = this.places.vectors[name], start = this.at.memory / 8 + first; return this.reals.subarray(start, start + count); }
  field(name) { return this.at.block / 8 + this.places.fields[name]; }
  integer(name, value) { if (value !== undefined) this.integers[this.field(name)] = BigInt(value); return Number(this.integers[this.field(name)]); }
  real(name, value) { if (value !== undefined) this.reals[this.field(name)] = value; return this.reals[this.field(name)]; }
  pointer(name, place) { this.integers[this.field(name)] = 0n; this.words[2 * this.field(name)] = this.at[place]; }
  get time() { return this.real("time"); }
  get state() { return this.vector("state"); }

  // As it was made, with the parameters and inputs of now.
  reset() {
    const { places, facts, arrays } = this;
    this.reals.fill(0, this.at.block / 8, this.at.parameters / 8);
    for (const [name, place] of [["memory", "memory"], ["parameters", "parameters"], ["stop", "stop"], ["records", "records"], ["log", "log"]]) {
      this.pointer(name, place);
    }
    this.integers[this.field("record_count")] = this.integers[this.field("recorded")] = FAR;
    for (const [name, value] of [["projecting", facts.projecting ? 1 : 0], ["acting", 2], ["guard_checks", facts.guard_checks], ["every", 2 ** 40], ["log_capacity", places.log]]) {
      this.integer(name, value);
    }
    this.real("step_size", facts.step);
    this.real("old_error", 1e-4);
    this.vector("lost").fill(Infinity);
    this.vector("counted").set(places.counted);
    this.vector("sampling").set(places.sampling);
    this.vector("state").set(arrays.start);
    this.events = [];
    this.status = 0;
    this.feed();
  }

  // Inputs follow their table, except those that were taken in hand.
  feed() {
    const { inputs } = this.places, rows = this.arrays.table_times.length, values = this.view("values", rows * inputs);
    this.view("times", rows).set(this.arrays.table_times);
    values.set(this.arrays.table_values);
    for (const [place, value] of this.overrides) for (let k = 0; k < rows; k++) values[k * inputs + place] = value;
    this.pointer("table_times", "times");
    this.pointer("table_values", "values");
    this.integer("table_rows", rows);
    this.forget();
  }

  // Hold these inputs from now on.
  hold(values) {
    this.view("held", this.places.inputs).set(values);
    this.pointer("table_values", "held");
    this.integer("table_rows", 1);
    this.forget();
  }

  // Rates and guards that are remembered belong to other numbers.
  forget() { for (const name of ["history", "checked", "rated"]) this.integer(name, 0); }

  inputsAt(time) {
    const { table_times: times, table_values: values } = this.arrays, { inputs } = this.places, found = new Float64Array(inputs);
    const [row, share] = locate(times.length, (k) => times[k], time), next = Math.min(row + 1, times.length - 1);
    for (let i = 0; i < inputs; i++) {
      const a = values[row * inputs + i];
      found[i] = this.overrides.get(i) ?? a + share * (values[next * inputs + i] - a);
    }
    return found;
  }

  setParameter(place, value) { this.parameters[place] = value; this.forget(); }

  setInput(place, value) {
    if (value === null) this.overrides.delete(place); else this.overrides.set(place, value);
    this.feed();
  }

  // So many steps; 0 if all went well, else why not.
  steps(count) {
    const goal = this.integer("step") + count;
    do {
      this.integer("budget", goal - this.integer("step"));
      this.status = Number(this.loop(this.at.block));
      this.takeEvents();
    } while (this.status === LOG_FULL);
    return this.status;
  }

  takeEvents() {
    const count = this.integer("log_rows"), log = this.view("log", 2 * count);
    for (let k = 0; k < count; k++) this.events.push([log[2 * k], this.places.events[log[2 * k + 1]]]);
    if (this.events.length > 5000) this.events.splice(0, 1000);
    this.integer("log_rows", 0);
  }

  // All channels now, in `results`.
  read() {
    const inputs = this.view("held", this.places.inputs), kept = inputs.slice();
    if (this.integer("table_rows") !== 1 || this.words[2 * this.field("table_values")] !== this.at.held) inputs.set(this.inputsAt(this.time));
    this.view("clock", 1)[0] = this.time;
    const state = this.at.memory + 8 * this.places.vectors.state[0];
    this.tell(this.at.clock, state, this.at.held, this.at.parameters, this.at.results, this.at.work);
    inputs.set(kept);
    return this.results;
  }
}

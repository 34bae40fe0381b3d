// A run that is going on: its newest rows are kept, so that one can look back while it waits, or follow it.
"use strict";

class LiveRun {
  // `facts` say which channels a row has; behind them are positions and rotations of moving grounds.
  constructor(data, facts) {
    this.data = data;
    this.facts = facts;
    this.column = new Map(facts.told.map((channel, k) => [channel, k]));
    this.angles = facts.angles.map((channel) => this.column.get(channel));
    this.turns = data.carriers.flatMap(({ channels }) => channels ? [channels.slice(3).map((channel) => this.column.get(channel))] : []);
    this.width = facts.told.length + 12 * facts.grounds;
    this.history = new History(this.width);
    this.table = new Float64Array(7 * data.carriers.length);
    this.time = 0;
    this.follows = true; // shows the newest row
    this.ends = false;
    this.largest = 1e-9; // force of a contact so far
    this.fixed = data.carriers.map(({ columns }) => columns.map((ref) => ref < 0 ? data.constants[-1 - ref] ?? 0 : data.arrays.columns[ref * data.arrays.times.length]));
  }

  get moves() { return true; }
  get version() { return this.history.version; }
  get count() { return this.history.count; }
  get first() { return this.count ? this.history.timeAt(0) : 0; }
  get last() { return this.count ? this.history.timeAt(this.count - 1) : 0; }
  timeAt(k) { return this.history.timeAt(k); }
  has(channel) { return this.column.has(channel); }
  valueAt(channel, k) { return this.history.valueAt(this.column.get(channel), k); }

  value(channel, time = this.time) {
    if (!this.count || !this.has(channel)) return NaN;
    const [row, share] = locate(this.count, (k) => this.timeAt(k), time), next = Math.min(row + 1, this.count - 1);
    const a = this.valueAt(channel, row);
    return a + share * (this.valueAt(channel, next) - a);
  }

  // Show an instant that is kept.
  seek(time) {
    if (!this.count) return;
    this.time = Math.min(this.last, Math.max(this.first, time));
    this.follows = this.time >= this.last;
    const [row, share] = locate(this.count, (k) => this.timeAt(k), this.time), next = Math.min(row + 1, this.count - 1);
    const before = this.history.row(row), after = this.history.row(next), a = new Array(7), b = new Array(7);
    this.data.carriers.forEach((carrier, index) => {
      this.pose(carrier, index, before, a);
      this.pose(carrier, index, after, b);
      between(this.table, 7 * index, a, b, share);
    });
  }

  // The pose of a carrier in a row.
  pose(carrier, index, row, target) {
    if (carrier.channels) {
      for (let j = 0; j < 7; j++) target[j] = row[this.column.get(carrier.channels[j])];
    } else if (carrier.ground !== undefined) {
      const first = this.facts.told.length + 12 * carrier.ground, m = row.subarray(first, first + 12);
      const turn = new THREE.Quaternion().setFromRotationMatrix(new THREE.Matrix4().set(
        m[3], m[6], m[9], 0, m[4], m[7], m[10], 0, m[5], m[8], m[11], 0, 0, 0, 0, 1));
      [target[0], target[1], target[2], target[3], target[4], target[5], target[6]] = [m[0], m[1], m[2], turn.w, turn.x, turn.y, turn.z];
    } else {
      for (let j = 0; j < 7; j++) target[j] = this.fixed[index][j];
      if (carrier.unit && !carrier.unit.includes(null)) this.touch(carrier, row, target);
    }
  }

  // Point, tip of the force and mark of a contact, as kompono/scene/contacts.py has them.
  touch(carrier, row, target) {
    const [x, y, z, fx, fy, fz] = carrier.unit.map((channel) => row[this.column.get(channel)]);
    const force = Math.hypot(fx, fy, fz);
    this.largest = Math.max(this.largest, force);
    const scale = carrier.kind === "tip" ? carrier.reach / this.largest : 0;
    [target[0], target[1], target[2]] = [x + scale * fx, y + scale * fy, z + scale * fz];
    if (carrier.kind === "mark" && force > 0) target[2] += 0.06 * carrier.reach;
  }

  number(name) {
    this.names ||= new Map(this.data.channels.map((channel, k) => [channel.name, k]));
    return this.column.get(this.names.get(name));
  }

  note(time, row) {
    this.history.push(time, row, this.angles, this.turns);
  }
}

// A hand on a body: a spring from a point of it to where the mouse is, and a damper, as force and torque at its centre.
class Hand {
  constructor(run, carrier, local, target) {
    Object.assign(this, { run, carrier, local, target, force: new THREE.Vector3() });
    const { data } = run, own = data.carriers[carrier].mass || 1;
    const all = data.carriers.reduce((sum, other) => sum + (other.mass || 0), 0);
    this.mass = Math.min(own + 0.1 * all, 20 * own);
    this.channels = ["velocity", "angular_velocity"].map((kind) => ["x", "y", "z"].map((axis) => run.number(`${data.carriers[carrier].path}.${kind}.${axis}`)));
  }

  // Six numbers: force and torque in world axes, for a row of channels; `strength` makes the spring stiffer.
  wrench(row, strength = 1) {
    const { run } = this, pose = new Array(7);
    run.pose(run.data.carriers[this.carrier], this.carrier, row, pose);
    const turn = new THREE.Quaternion(pose[4], pose[5], pose[6], pose[3]);
    const arm = this.local.clone().applyQuaternion(turn), [v, w] = this.channels.map((set) => new THREE.Vector3(...set.map((k) => k === undefined ? 0 : row[k])));
    const speed = v.add(new THREE.Vector3().crossVectors(w, arm)), frequency = 10 * Math.sqrt(strength);
    const away = this.target.clone().sub(arm).sub(new THREE.Vector3(pose[0], pose[1], pose[2]));
    this.force.copy(away).multiplyScalar(this.mass * frequency * frequency).addScaledVector(speed, -1.4 * this.mass * frequency);
    const torque = new THREE.Vector3().crossVectors(arm, this.force);
    return [...this.force.toArray(), ...torque.toArray()];
  }
}

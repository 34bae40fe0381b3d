// What acts, drawn: forces and torques as arrows by size, reactions, centres of mass, ways of points, signs of grounds.
"use strict";

const LOADS = ["force", "coupling"], TORQUE = 0xe08a00, FORCE = 0xd6336c, REACTION = 0x2b8cbe;

class Physics {
  constructor(data, machine, run) {
    Object.assign(this, { data, machine, run, shown: new Set(), traces: new Map(), followed: null, largest: new Map() });
    this.group = new THREE.Group();
    machine.world.add(this.group);
    this.shaft = new THREE.CylinderGeometry(0.012, 0.012, 1, 8).translate(0, 0.5, 0);
    this.head = new THREE.ConeGeometry(0.04, 0.13, 12).translate(0, -0.065, 0);
    const number = new Map(data.channels.map(({ name }, k) => [name, k]));
    this.vectors = [];
    data.parts.forEach((part, index) => {
      for (const what of ["force", "torque"]) {
        const channels = ["x", "y", "z"].map((axis) => number.get(`${part.path}.${what}.${axis}`));
        if (part.carrier === null || channels.includes(undefined)) continue;
        const group = LOADS.includes(part.kind) ? what === "force" ? "forces" : "torques" : `reaction ${what}s`;
        this.vectors.push({ part: index, channels, what, group, on: part.carrier, at: new THREE.Vector3(...part.position) });
      }
    });
    this.centres();
    this.grounds();
  }

  get groups() { return [...new Set(this.vectors.map(({ group }) => group))]; }

  centres() {
    const ball = new THREE.SphereGeometry(0.014 * this.machine.radius, 16, 10);
    this.balls = this.data.carriers.flatMap(({ kind, mass }, k) => {
      if (kind !== "body" || (this.data.carriers.length > 400)) return [];
      const mesh = new THREE.Mesh(ball, new THREE.MeshBasicMaterial({ color: 0x111111, depthTest: false, transparent: true, opacity: 0.85 }));
      mesh.renderOrder = 8;
      mesh.visible = false;
      this.group.add(mesh);
      return [{ mesh, k }];
    });
  }

  // A bar with hatching where something is fixed to the world.
  grounds() {
    const size = 0.06 * this.machine.radius, points = [-size, 0, 0, size, 0, 0];
    for (let k = -2; k <= 2; k++) points.push(0.45 * k * size, 0, 0, 0.45 * k * size - 0.3 * size, 0, -0.35 * size);
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(points), 3));
    const seen = new Set(this.data.pieces.filter((piece) => this.data.parts[piece.part].kind === "ground").map((piece) => piece.carrier));
    const [x, y, z] = this.machine.basis(), turn = new THREE.Matrix4().makeBasis(x, y, z);
    this.signs = this.data.carriers.flatMap(({ kind }, k) => {
      if (kind !== "ground" || seen.has(k)) return [];
      const sign = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ color: paint("ink") }));
      sign.setRotationFromMatrix(turn);
      this.group.add(sign);
      return [{ sign, k }];
    });
  }

  theme() { for (const { sign } of this.signs) sign.material.color.set(paint("ink")); }

  show(what, yes) {
    this.shown[yes ? "add" : "delete"](what);
    if (what === "centres") for (const { mesh } of this.balls) mesh.visible = yes;
    if (what === "ground signs") for (const { sign } of this.signs) sign.visible = yes;
    this.update();
  }

  arrow(vector) {
    const colour = vector.what === "torque" ? TORQUE : LOADS.includes(this.data.parts[vector.part].kind) ? FORCE : REACTION;
    const material = new THREE.MeshBasicMaterial({ color: colour, depthTest: false, transparent: true, opacity: 0.9 });
    const made = new THREE.Group(), shaft = new THREE.Mesh(this.shaft, material), head = new THREE.Mesh(this.head, material);
    shaft.renderOrder = head.renderOrder = 9;
    made.add(shaft, head);
    if (vector.what === "torque") { const second = new THREE.Mesh(this.head, material); second.renderOrder = 9; made.add(second); }
    this.group.add(made);
    return made;
  }

  // The largest vector of a kind, over a run that is over or so far: it has the longest arrow.
  scale(what) {
    if (this.run.ends && !this.largest.has(what)) {
      let most = 0;
      const stride = Math.max(1, Math.floor(this.run.count / 100));
      for (const { channels } of this.vectors.filter((one) => one.what === what && one.channels.every((k) => this.run.has(k)))) {
        for (let k = 0; k < this.run.count; k += stride) most = Math.max(most, Math.hypot(...channels.map((channel) => this.run.valueAt(channel, k))) || 0);
      }
      this.largest.set(what, most || 1);
    }
    return this.largest.get(what) || 1;
  }

  update() {
    const { machine, run } = this, reach = 0.45 * machine.radius, axis = new THREE.Vector3(0, 1, 0);
    for (const vector of this.vectors) {
      const wanted = this.shown.has(vector.group) && !machine.hiddenParts.has(vector.part) && vector.channels.every((k) => run.has(k));
      if (!wanted) { if (vector.arrow) vector.arrow.visible = false; continue; }
      const value = new THREE.Vector3(...vector.channels.map((k) => run.value(k))), size = value.length();
      if (!run.ends) this.largest.set(vector.what, Math.max(this.largest.get(vector.what) || 1e-9, size || 0));
      const length = reach * Math.sqrt(size / this.scale(vector.what)); // by the root: small ones are seen, too
      vector.arrow ||= this.arrow(vector);
      vector.arrow.visible = isFinite(length) && length > 0.02 * reach;
      if (!vector.arrow.visible) continue;
      vector.arrow.position.copy(machine.outside(vector.on, vector.at));
      vector.arrow.quaternion.setFromUnitVectors(axis, value.normalize());
      const [shaft, head, second] = vector.arrow.children, wide = 0.35 * machine.radius;
      shaft.scale.set(wide, Math.max(length - 0.1 * wide, 1e-6), wide);
      head.scale.setScalar(wide);
      head.position.y = length;
      if (second) { second.scale.setScalar(wide); second.position.y = length - 0.09 * wide; }
    }
    for (const { mesh, k } of this.balls) if (mesh.visible) mesh.position.copy(machine.carriers[k].position);
    for (const { sign, k } of this.signs) sign.position.copy(machine.carriers[k].position);
    for (const [path, way] of this.traces) this.way(path, way);
    if (this.followed) {
      const now = machine.carriers[this.data.carriers.indexOf(this.followed)].position.clone();
      if (this.before) machine.shift(now.clone().sub(this.before));
      this.before = now;
    }
    machine.stale = true;
  }

  follow(carrier) {
    this.followed = carrier;
    this.before = carrier ? this.machine.carriers[this.data.carriers.indexOf(carrier)].position.clone() : null;
  }

  // Draw the way of the centre of a body, or stop.
  trace(path) {
    if (this.traces.has(path)) { this.machine.world.remove(this.traces.get(path).line); this.traces.delete(path); this.machine.stale = true; return; }
    const geometry = new THREE.BufferGeometry(), points = new Float32Array(3 * 4096);
    geometry.setAttribute("position", new THREE.BufferAttribute(points, 3));
    const line = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: COLOURS[this.traces.size % COLOURS.length] }));
    line.frustumCulled = false;
    this.machine.world.add(line);
    const number = new Map(this.data.channels.map(({ name }, k) => [name, k]));
    this.traces.set(path, { line, points, channels: ["x", "y", "z"].map((axis) => number.get(`${path}.position.${axis}`)), version: -1 });
    this.update();
  }

  way(path, way) {
    const { run } = this;
    if (way.version === run.version || way.channels.some((k) => k === undefined || !run.has(k))) return;
    way.version = run.version;
    const count = Math.min(4096, run.count), stride = Math.max(1, run.count / count);
    for (let k = 0; k < count; k++) way.channels.forEach((channel, j) => { way.points[3 * k + j] = run.valueAt(channel, Math.min(run.count - 1, Math.round(k * stride))); });
    way.line.geometry.setDrawRange(0, count);
    way.line.geometry.attributes.position.needsUpdate = true;
  }
}

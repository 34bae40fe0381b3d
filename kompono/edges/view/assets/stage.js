// Where the machine stands: light, floor, cameras, and when to draw.
"use strict";

const VIEWS = { // away from the machine, along (x, y, z) of the floor
  1: ["perspective", [0.62, -1.25, 0.52]], 2: ["front", [0, -1, 0]], 3: ["back", [0, 1, 0]], 4: ["left", [-1, 0, 0]],
  5: ["right", [1, 0, 0]], 6: ["top", [0, 0, 1]], 7: ["bottom", [0, 0, -1]],
};

// Whether the processor draws instead of a graphics card: then shadows and smooth edges are left out.
function withoutGraphicsCard() {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) throw new Error("this browser has no WebGL 2");
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = info ? gl.getParameter(info.UNMASKED_RENDERER_WEBGL) : "";
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name) && !location.hash.includes("fine");
}

// A colour of the style sheet, which knows whether it is dark.
function paint(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

class Stage {
  constructor(canvas, data) {
    this.data = data;
    this.canvas = canvas;
    this.plain = withoutGraphicsCard();
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: !this.plain });
    this.sharpness = Math.min(window.devicePixelRatio || 1, 2);
    this.renderer.setPixelRatio(this.sharpness);
    this.renderer.shadowMap.enabled = !this.plain;
    this.renderer.shadowMap.type = THREE.PCFSoftShadowMap;
    this.world = new THREE.Scene();
    this.world.background = new THREE.Color();
    this.up = new THREE.Vector3(...data.up);
    this.low = new THREE.Vector3(...data.low);
    this.high = new THREE.Vector3(...data.high);
    this.radius = this.low.distanceTo(this.high) / 2 || 1;
    this.perspective = new THREE.PerspectiveCamera(35, 1, 0.001, 1000);
    this.parallel = new THREE.OrthographicCamera(-1, 1, 1, -1, -1000, 1000);
    this.camera = this.perspective;
    this.perspective.up.copy(this.up);
    this.parallel.up.copy(this.up);
    this.controls = new THREE.OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.15;
    this.controls.addEventListener("change", () => { this.stale = true; });
    this.controls.addEventListener("start", () => { this.fitted = false; });
    this.stale = true;
    this.changed = performance.now();
    this.drawn = 0;
    this.surroundings();
    this.theme();
  }

  // A right-handed frame with its third axis up.
  basis() {
    const aside = Math.abs(this.up.x) < 0.9 ? new THREE.Vector3(1, 0, 0) : new THREE.Vector3(0, 1, 0);
    const y = new THREE.Vector3().crossVectors(this.up, aside).normalize();
    const x = new THREE.Vector3().crossVectors(y, this.up);
    return [x, y, this.up];
  }

  surroundings() {
    const { radius } = this, [x, y, z] = this.basis();
    const centre = this.low.clone().add(this.high).multiplyScalar(0.5);
    this.floor = new THREE.Group();
    this.floor.matrixAutoUpdate = false;
    const below = z.clone().multiplyScalar(this.data.floor);
    const flat = centre.clone().addScaledVector(z, -centre.dot(z));
    const cell = this.data.cell;
    const snap = (v, axis) => axis.clone().multiplyScalar(Math.round(v.dot(axis) / cell) * cell);
    below.add(snap(flat, x)).add(snap(flat, y));
    this.floor.matrix.makeBasis(x, y, z).setPosition(below);
    const cells = Math.ceil(3 * radius / cell);
    this.grid = this.lines(cells, cell, (k) => k % 10 !== 0);
    this.grid10 = this.lines(cells, cell, (k) => k % 10 === 0);
    this.floor.add(this.grid, this.grid10);
    if (!this.plain) this.floor.add(this.sheet(8 * cells * cell, -0.002 * radius));
    this.world.add(this.floor);
    this.sky = new THREE.HemisphereLight(0xffffff, 0xb9c0c8, 1.9);
    this.sky.position.copy(z);
    this.world.add(this.sky);
    const sun = new THREE.DirectionalLight(0xffffff, 2.0);
    sun.position.copy(centre).addScaledVector(x, -1.1 * radius).addScaledVector(y, -1.6 * radius).addScaledVector(z, 3.2 * radius);
    sun.target.position.copy(centre);
    sun.castShadow = true;
    sun.shadow.mapSize.set(2048, 2048);
    const box = sun.shadow.camera;
    [box.left, box.right, box.bottom, box.top, box.near, box.far] = [-1.5 * radius, 1.5 * radius, -1.5 * radius, 1.5 * radius, 0.1 * radius, 9 * radius];
    sun.shadow.normalBias = 0.01 * radius;
    this.world.add(sun, sun.target);
  }

  lines(cells, cell, chosen) {
    const points = [];
    for (let k = -cells; k <= cells; k++) {
      if (chosen(k)) points.push(k * cell, -cells * cell, 0, k * cell, cells * cell, 0, -cells * cell, k * cell, 0, cells * cell, k * cell, 0);
    }
    const grid = new THREE.BufferGeometry();
    grid.setAttribute("position", new THREE.BufferAttribute(new Float32Array(points), 3));
    return new THREE.LineSegments(grid, new THREE.LineBasicMaterial());
  }

  // A floor that shows nothing but shadows.
  sheet(width, height) {
    const sheet = new THREE.Mesh(new THREE.PlaneGeometry(width, width), new THREE.ShadowMaterial({ opacity: 0.22 }));
    sheet.receiveShadow = true;
    sheet.position.z = height;
    return sheet;
  }

  // Colours as the system wants them, bright or dark.
  theme() {
    this.world.background.set(paint("stage"));
    this.grid.material.color.set(paint("grid"));
    this.grid10.material.color.set(paint("grid10"));
    this.sky.groundColor.set(paint("glow"));
    this.stale = true;
  }

  // Look from a side, at all of the machine.
  look(number = 1) {
    const axes = this.basis(), away = new THREE.Vector3(), z = axes[2];
    VIEWS[number][1].forEach((share, k) => away.addScaledVector(axes[k], share));
    away.normalize();
    if (Math.abs(away.dot(z)) > 0.999) away.addScaledVector(axes[1], -1e-3).normalize(); // up must be somewhere
    this.frame(this.low, this.high, away);
  }

  // All of the machine, also when the page gets another size, until somebody looks elsewhere.
  fit() {
    this.look(1);
    this.fitted = true;
  }

  // Put the camera so that a box is in sight, from a direction.
  frame(low, high, away = this.camera.position.clone().sub(this.controls.target).normalize()) {
    this.fitted = false;
    const centre = low.clone().add(high).multiplyScalar(0.5);
    const right = new THREE.Vector3().crossVectors(this.up, away).normalize(), top = new THREE.Vector3().crossVectors(away, right);
    const tall = Math.tan(this.perspective.fov * Math.PI / 360), wide = tall * this.perspective.aspect;
    let distance = 0;
    for (let corner = 0; corner < 8; corner++) {
      const point = new THREE.Vector3(corner & 1 ? high.x : low.x, corner & 2 ? high.y : low.y, corner & 4 ? high.z : low.z).sub(centre);
      const depth = point.dot(away);
      distance = Math.max(distance, depth + Math.abs(point.dot(right)) / wide, depth + Math.abs(point.dot(top)) / tall);
    }
    distance = Math.max(1.08 * distance, 1e-3);
    for (const camera of [this.perspective, this.parallel]) camera.position.copy(centre).addScaledVector(away, distance);
    this.perspective.near = Math.min(distance, this.radius) / 200;
    this.perspective.far = 60 * Math.max(distance, this.radius);
    this.parallel.zoom = 1;
    this.span = distance * tall;
    this.controls.target.copy(centre);
    this.lens();
    this.controls.update();
    this.stale = true;
  }

  // Lines of sight that are parallel, or meet in the eye.
  orthographic(yes) {
    const { target } = this.controls, old = this.camera, now = yes ? this.parallel : this.perspective;
    if (old === now) return;
    const away = old.position.clone().sub(target), tall = Math.tan(this.perspective.fov * Math.PI / 360);
    if (yes) { this.span = away.length() * tall; this.parallel.zoom = 1; } else away.setLength(this.span / this.parallel.zoom / tall);
    now.position.copy(target).add(away);
    this.camera = this.controls.object = now;
    this.lens();
    this.controls.update();
    this.stale = true;
  }

  lens() {
    const aspect = (this.canvas.clientWidth || 1) / (this.canvas.clientHeight || 1), reach = 60 * this.radius + 10 * (this.span || 1);
    this.perspective.aspect = aspect;
    const span = this.span || 1;
    Object.assign(this.parallel, { left: -span * aspect, right: span * aspect, top: span, bottom: -span, near: -reach, far: reach });
    this.perspective.updateProjectionMatrix();
    this.parallel.updateProjectionMatrix();
  }

  // Move the eye along with something.
  shift(by) {
    this.fitted = false;
    this.camera.position.add(by);
    this.controls.target.add(by);
    this.stale = true;
  }

  resize() {
    this.renderer.setSize(this.canvas.clientWidth || 1, this.canvas.clientHeight || 1, false);
    this.lens();
    if (this.fitted) this.fit();
    this.stale = true;
  }

  ray(x, y) {
    const box = this.canvas.getBoundingClientRect();
    const ray = new THREE.Raycaster();
    ray.setFromCamera(new THREE.Vector2(2 * (x - box.left) / box.width - 1, 1 - 2 * (y - box.top) / box.height), this.camera);
    return ray;
  }

  // Where a point of the world is on the canvas [px].
  onScreen(point) {
    const seen = point.clone().project(this.camera);
    return [(seen.x + 1) / 2 * this.canvas.clientWidth, (1 - seen.y) / 2 * this.canvas.clientHeight, seen.z < 1];
  }

  // Cut away what lies beyond a plane across axis 0, 1 or 2 of the floor, at a share of the room; null: nothing.
  section(axis, share = 0.5) {
    if (axis === null) { this.renderer.clippingPlanes = []; this.stale = true; return; }
    const normal = this.basis()[axis], ends = [this.low, this.high].map((corner) => corner.dot(normal));
    const low = Math.min(...ends), high = Math.max(...ends);
    this.renderer.clippingPlanes = [new THREE.Plane(normal.clone().negate(), low + share * 1.02 * (high - low))];
    this.stale = true;
  }

  // Draw if anything changed. While things move too slowly for the eye, pictures get coarser; at rest they are sharp.
  draw(now, passed) {
    this.controls.update();
    if (this.stale) this.changed = now;
    const moving = now - this.changed < 300, fine = Math.min(window.devicePixelRatio || 1, 2);
    this.slow = moving ? 0.9 * (this.slow ?? 0.03) + 0.1 * passed : 0.03;
    if (moving && this.slow > 0.045 && this.sharpness > 0.5) this.sharpen(Math.max(0.5, 0.75 * Math.min(this.sharpness, fine)));
    if (!moving) this.sharpen(this.plain ? 2 : fine);
    if (!this.stale) return false;
    this.stale = false;
    this.drawn += 1;
    this.renderer.render(this.world, this.camera);
    return true;
  }

  sharpen(ratio) {
    if (ratio === this.sharpness) return;
    this.sharpness = ratio;
    this.slow = 0.03;
    this.renderer.setPixelRatio(ratio);
    this.renderer.render(this.world, this.camera);
  }
}

// The machine in 3D: carriers move, fixed pieces ride on them, spanned pieces follow two points.
"use strict";

const LIT = 0xffc220, REDUNDANT = 0x8e44ad, VIOLATED = 0xe0231c;

// Whether the processor draws instead of a graphics card: then shadows and smooth edges are left out.
function withoutGraphicsCard() {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) throw new Error("this browser has no WebGL 2");
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = info ? gl.getParameter(info.UNMASKED_RENDERER_WEBGL) : "";
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name) && !location.hash.includes("fine");
}

class Machine {
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
    this.world.background = new THREE.Color(0xe9edf1);
    this.camera = new THREE.PerspectiveCamera(35, 1, 0.001, 1000);
    this.up = new THREE.Vector3(...data.up);
    this.camera.up.copy(this.up);
    this.low = new THREE.Vector3(...data.low);
    this.high = new THREE.Vector3(...data.high);
    this.controls = new THREE.OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.15;
    this.controls.addEventListener("change", () => { this.stale = true; });
    this.stale = true;
    this.changed = performance.now();
    this.drawn = 0;
    this.surroundings();
    this.build();
    this.fit();
    this.resize();
  }

  // A right-handed frame with its third axis up.
  basis() {
    const aside = Math.abs(this.up.x) < 0.9 ? new THREE.Vector3(1, 0, 0) : new THREE.Vector3(0, 1, 0);
    const y = new THREE.Vector3().crossVectors(this.up, aside).normalize();
    const x = new THREE.Vector3().crossVectors(y, this.up);
    return [x, y, this.up];
  }

  surroundings() {
    const radius = this.low.distanceTo(this.high) / 2 || 1;
    const [x, y, z] = this.basis();
    const centre = this.low.clone().add(this.high).multiplyScalar(0.5);
    const floor = new THREE.Group();
    floor.matrixAutoUpdate = false;
    const below = z.clone().multiplyScalar(this.data.floor);
    const flat = centre.clone().addScaledVector(z, -centre.dot(z));
    const cell = this.data.cell;
    const snap = (v, axis) => axis.clone().multiplyScalar(Math.round(v.dot(axis) / cell) * cell);
    below.add(snap(flat, x)).add(snap(flat, y));
    floor.matrix.makeBasis(x, y, z).setPosition(below);
    const cells = Math.ceil(3 * radius / cell);
    const lines = [];
    for (let k = -cells; k <= cells; k++) {
      lines.push(k * cell, -cells * cell, 0, k * cell, cells * cell, 0, -cells * cell, k * cell, 0, cells * cell, k * cell, 0);
    }
    const grid = new THREE.BufferGeometry();
    grid.setAttribute("position", new THREE.BufferAttribute(new Float32Array(lines), 3));
    floor.add(new THREE.LineSegments(grid, new THREE.LineBasicMaterial({ color: 0xc3cbd4 })));
    if (!this.plain) floor.add(this.sheet(8 * cells * cell, -0.002 * radius));
    this.world.add(floor);
    const sky = new THREE.HemisphereLight(0xffffff, 0xb9c0c8, 1.9);
    sky.position.copy(z);
    this.world.add(sky);
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

  // A floor that shows nothing but shadows.
  sheet(width, height) {
    const sheet = new THREE.Mesh(new THREE.PlaneGeometry(width, width), new THREE.ShadowMaterial({ opacity: 0.22 }));
    sheet.receiveShadow = true;
    sheet.position.z = height;
    return sheet;
  }

  build() {
    const { arrays, meshes, pieces, parts } = this.data;
    const geometries = meshes.map(([vertex, vertices, face, faces]) => {
      const geometry = new THREE.BufferGeometry();
      geometry.setAttribute("position", new THREE.BufferAttribute(arrays.vertices.slice(3 * vertex, 3 * (vertex + vertices)), 3));
      geometry.setIndex(new THREE.BufferAttribute(arrays.faces.slice(3 * face, 3 * (face + faces)), 1));
      geometry.computeVertexNormals();
      return geometry;
    });
    this.carriers = this.data.carriers.map(() => { const group = new THREE.Group(); this.world.add(group); return group; });
    this.spans = [];
    this.meshes = [];
    this.byPart = parts.map(() => []);
    const bad = new Set(Object.keys(this.data.violated)), spare = new Set(this.data.redundant);
    for (const piece of pieces) {
      const path = parts[piece.part].path;
      const mark = bad.has(path) ? VIOLATED : spare.has(path) ? REDUNDANT : null;
      const look = {
        color: mark ?? piece.colour, transparent: piece.opacity < 1, opacity: piece.opacity, side: THREE.DoubleSide,
        depthWrite: piece.opacity >= 1,
      };
      const material = this.plain ? new THREE.MeshLambertMaterial(look)
        : new THREE.MeshStandardMaterial({ ...look, roughness: 0.55, metalness: 0.12 });
      const mesh = new THREE.Mesh(geometries[piece.mesh], material);
      mesh.castShadow = piece.opacity >= 1;
      mesh.receiveShadow = true;
      mesh.userData.part = piece.part;
      if (piece.target === null) {
        mesh.position.set(...piece.position);
        const [w, i, j, k] = piece.orientation;
        mesh.quaternion.set(i, j, k, w);
        this.carriers[piece.carrier].add(mesh);
      } else {
        mesh.matrixAutoUpdate = false;
        this.spans.push({ mesh, piece, start: new THREE.Vector3(...piece.position), end: new THREE.Vector3(...piece.end) });
        this.world.add(mesh);
      }
      this.meshes.push(mesh);
      this.byPart[piece.part].push(mesh);
    }
  }

  // Put everything where it is at `time`, between two recorded instants along the shortest turn.
  pose(time) {
    const { times, poses } = this.data.arrays;
    const [row, share] = locate(times, time);
    const count = this.carriers.length, a = row * count * 7, b = Math.min(row + 1, times.length - 1) * count * 7;
    const from = new THREE.Quaternion(), to = new THREE.Quaternion();
    for (let k = 0; k < count; k++) {
      const i = a + 7 * k, j = b + 7 * k, group = this.carriers[k];
      group.position.set(
        poses[i] + share * (poses[j] - poses[i]), poses[i + 1] + share * (poses[j + 1] - poses[i + 1]),
        poses[i + 2] + share * (poses[j + 2] - poses[i + 2]));
      from.set(poses[i + 4], poses[i + 5], poses[i + 6], poses[i + 3]);
      to.set(poses[j + 4], poses[j + 5], poses[j + 6], poses[j + 3]);
      group.quaternion.slerpQuaternions(from, to, share);
      group.updateMatrixWorld();
    }
    for (const span of this.spans) this.stretch(span);
    this.stale = true;
  }

  stretch({ mesh, piece, start, end }) {
    let a = start.clone().applyMatrix4(this.carriers[piece.carrier].matrixWorld);
    let b = end.clone().applyMatrix4(this.carriers[piece.target].matrixWorld);
    if (piece.hold === "second") [a, b] = [b, a];
    const z = b.sub(a), length = z.length();
    if (length > 1e-12) z.divideScalar(length); else z.set(0, 0, 1);
    const aside = Math.abs(z.x) < 0.9 ? new THREE.Vector3(1, 0, 0) : new THREE.Vector3(0, 1, 0);
    const x = new THREE.Vector3().crossVectors(aside, z).normalize(), y = new THREE.Vector3().crossVectors(z, x);
    const grown = Math.max(length, 1e-9);
    if (piece.hold === "both" || piece.hold === "all") z.multiplyScalar(grown);
    if (piece.hold === "all") { x.multiplyScalar(grown); y.multiplyScalar(grown); }
    mesh.matrix.makeBasis(x, y, z).setPosition(a);
    mesh.matrixWorldNeedsUpdate = true;
  }

  show(part, visible) {
    for (const mesh of this.byPart[part]) mesh.visible = visible;
    this.stale = true;
  }

  light(parts) {
    const chosen = new Set(parts);
    for (const mesh of this.meshes) {
      const lit = chosen.has(mesh.userData.part);
      mesh.material.emissive.setHex(lit ? LIT : 0);
      mesh.material.emissiveIntensity = lit ? 0.75 : 0;
    }
    this.stale = true;
  }

  // Bodies as if of glass, so that joints inside are seen.
  glass(yes) {
    this.data.pieces.forEach((piece, index) => {
      if (!["body", "ground"].includes(this.data.parts[piece.part].kind)) return;
      const material = this.meshes[index].material, opacity = yes ? 0.25 * piece.opacity : piece.opacity;
      Object.assign(material, { opacity, transparent: opacity < 1, depthWrite: opacity >= 1 });
      material.needsUpdate = true;
    });
    this.stale = true;
  }

  pick(x, y) {
    const box = this.canvas.getBoundingClientRect();
    const point = new THREE.Vector2(2 * (x - box.left) / box.width - 1, 1 - 2 * (y - box.top) / box.height);
    const ray = new THREE.Raycaster();
    ray.setFromCamera(point, this.camera);
    const hit = ray.intersectObjects(this.meshes.filter((mesh) => mesh.visible), false)[0];
    return hit ? hit.object.userData.part : null;
  }

  fit() {
    const [x, y, z] = this.basis();
    const centre = this.low.clone().add(this.high).multiplyScalar(0.5);
    const away = new THREE.Vector3().addScaledVector(x, 0.62).addScaledVector(y, -1.25).addScaledVector(z, 0.52).normalize();
    const right = new THREE.Vector3().crossVectors(z, away).normalize(), top = new THREE.Vector3().crossVectors(away, right);
    const tall = Math.tan(this.camera.fov * Math.PI / 360), wide = tall * this.camera.aspect;
    let distance = 0;
    for (let corner = 0; corner < 8; corner++) {
      const point = new THREE.Vector3(
        corner & 1 ? this.high.x : this.low.x, corner & 2 ? this.high.y : this.low.y, corner & 4 ? this.high.z : this.low.z).sub(centre);
      const depth = point.dot(away);
      distance = Math.max(distance, depth + Math.abs(point.dot(right)) / wide, depth + Math.abs(point.dot(top)) / tall);
    }
    distance = Math.max(1.08 * distance, 1e-3);
    this.camera.position.copy(centre).addScaledVector(away, distance);
    this.camera.near = distance / 200;
    this.camera.far = distance * 60;
    this.camera.updateProjectionMatrix();
    this.controls.target.copy(centre);
    this.controls.update();
    this.stale = true;
  }

  resize() {
    const width = this.canvas.clientWidth || 1, height = this.canvas.clientHeight || 1;
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
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
    if (!this.stale) return;
    this.stale = false;
    this.drawn += 1;
    this.renderer.render(this.world, this.camera);
  }

  sharpen(ratio) {
    if (ratio === this.sharpness) return;
    this.sharpness = ratio;
    this.slow = 0.03;
    this.renderer.setPixelRatio(ratio);
    this.renderer.render(this.world, this.camera);
  }
}

// The machine in 3D: carriers move, fixed pieces ride on them, spanned pieces follow two points. A machine of many pieces
// is drawn mesh by mesh, all instances of one at once.
"use strict";

const LIT = 0xffc220, REDUNDANT = 0x8e44ad, VIOLATED = 0xe0231c;
const SINGLE = 1500; // pieces up to which each is an object of its own

class Machine extends Stage {
  constructor(canvas, data) {
    super(canvas, data);
    this.hiddenParts = new Set();
    this.litParts = new Set();
    this.glassy = false;
    this.build();
    this.resize();
    this.fit();
  }

  geometries() {
    const { arrays, meshes } = this.data;
    return meshes.map(([vertex, vertices, face, faces]) => {
      const geometry = new THREE.BufferGeometry();
      geometry.setAttribute("position", new THREE.BufferAttribute(arrays.vertices.slice(3 * vertex, 3 * (vertex + vertices)), 3));
      geometry.setIndex(new THREE.BufferAttribute(arrays.faces.slice(3 * face, 3 * (face + faces)), 1));
      geometry.computeVertexNormals();
      return geometry;
    });
  }

  build() {
    const { pieces, parts } = this.data, geometries = this.geometries();
    const bad = new Set(Object.keys(this.data.violated)), spare = new Set(this.data.redundant);
    this.carriers = this.data.carriers.map(() => { const group = new THREE.Group(); group.matrixAutoUpdate = false; this.world.add(group); return group; });
    this.colours = pieces.map((piece) => new THREE.Color(bad.has(parts[piece.part].path) ? VIOLATED : spare.has(parts[piece.part].path) ? REDUNDANT : piece.colour));
    this.locals = pieces.map((piece) => {
      const [w, i, j, k] = piece.orientation;
      return new THREE.Matrix4().compose(new THREE.Vector3(...piece.position), new THREE.Quaternion(i, j, k, w), new THREE.Vector3(1, 1, 1));
    });
    this.byPart = parts.map(() => []);
    pieces.forEach((piece, index) => this.byPart[piece.part].push(index));
    this.meshes = [];
    this.crowds = null;
    if (pieces.length <= SINGLE) this.buildEach(geometries); else this.buildCrowds(geometries);
  }

  isSolid(piece) { return ["body", "ground"].includes(this.data.parts[piece.part].kind); }

  material(look) {
    const side = { side: THREE.DoubleSide, transparent: look.opacity < 1, depthWrite: look.opacity >= 1, ...look };
    return this.plain ? new THREE.MeshLambertMaterial(side) : new THREE.MeshStandardMaterial({ ...side, roughness: 0.55, metalness: 0.12 });
  }

  buildEach(geometries) {
    this.data.pieces.forEach((piece, index) => {
      const mesh = new THREE.Mesh(geometries[piece.mesh], this.material({ color: this.colours[index], opacity: piece.opacity }));
      mesh.castShadow = piece.opacity >= 1;
      mesh.receiveShadow = true;
      mesh.userData.part = piece.part;
      mesh.userData.piece = index;
      mesh.matrixAutoUpdate = false;
      if (piece.target === null) {
        mesh.matrix.copy(this.locals[index]);
        this.carriers[piece.carrier].add(mesh);
      } else {
        this.world.add(mesh);
      }
      this.meshes.push(mesh);
    });
  }

  buildCrowds(geometries) {
    const groups = new Map();
    this.data.pieces.forEach((piece, index) => {
      const key = `${piece.mesh} ${piece.opacity} ${this.isSolid(piece)}`;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(index);
    });
    this.crowds = [...groups.values()].map((indices) => {
      const { mesh: which, opacity } = this.data.pieces[indices[0]];
      const mesh = new THREE.InstancedMesh(geometries[which], this.material({ opacity }), indices.length);
      mesh.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
      mesh.frustumCulled = false;
      mesh.castShadow = opacity >= 1 && indices.length < 4000;
      mesh.receiveShadow = true;
      mesh.userData.pieces = indices;
      indices.forEach((index, slot) => mesh.setColorAt(slot, this.colours[index]));
      this.world.add(mesh);
      return mesh;
    });
  }

  // Put everything where a table of poses (x, y, z, e0, e1, e2, e3 of each carrier) says.
  place(table) {
    const position = new THREE.Vector3(), turn = new THREE.Quaternion(), one = new THREE.Vector3(1, 1, 1);
    this.carriers.forEach((group, k) => {
      const i = 7 * k;
      position.set(table[i], table[i + 1], table[i + 2]);
      turn.set(table[i + 4], table[i + 5], table[i + 6], table[i + 3]);
      group.matrix.compose(position, turn, one);
      group.matrixWorld.copy(group.matrix);
      group.position.copy(position);
      group.quaternion.copy(turn);
      for (const child of group.children) child.matrixWorldNeedsUpdate = true;
    });
    if (this.crowds) this.placeCrowds();
    else this.data.pieces.forEach((piece, index) => {
      if (piece.target === null) return;
      this.stretch(piece, this.meshes[index].matrix);
      this.meshes[index].matrixWorldNeedsUpdate = true;
    });
    this.stale = true;
  }

  placeCrowds() {
    const matrix = new THREE.Matrix4(), nothing = new THREE.Matrix4().makeScale(0, 0, 0), { pieces } = this.data;
    for (const mesh of this.crowds) {
      mesh.userData.pieces.forEach((index, slot) => {
        const piece = pieces[index];
        if (this.hiddenParts.has(piece.part)) { mesh.setMatrixAt(slot, nothing); return; }
        if (piece.target === null) matrix.multiplyMatrices(this.carriers[piece.carrier].matrix, this.locals[index]);
        else this.stretch(piece, matrix);
        mesh.setMatrixAt(slot, matrix);
      });
      mesh.instanceMatrix.needsUpdate = true;
      mesh.boundingSphere = null;
    }
  }

  stretch(piece, target) {
    let a = new THREE.Vector3(...piece.position).applyMatrix4(this.carriers[piece.carrier].matrix);
    let b = new THREE.Vector3(...piece.end).applyMatrix4(this.carriers[piece.target].matrix);
    if (piece.hold === "second") [a, b] = [b, a];
    const z = b.sub(a), length = z.length();
    if (length > 1e-12) z.divideScalar(length); else z.set(0, 0, 1);
    const aside = Math.abs(z.x) < 0.9 ? new THREE.Vector3(1, 0, 0) : new THREE.Vector3(0, 1, 0);
    const x = new THREE.Vector3().crossVectors(aside, z).normalize(), y = new THREE.Vector3().crossVectors(z, x);
    const grown = Math.max(length, 1e-9);
    if (piece.hold === "both" || piece.hold === "all") z.multiplyScalar(grown);
    if (piece.hold === "all") { x.multiplyScalar(grown); y.multiplyScalar(grown); }
    target.makeBasis(x, y, z).setPosition(a);
  }

  show(part, visible) {
    this.hiddenParts[visible ? "delete" : "add"](part);
    if (!this.crowds) for (const index of this.byPart[part]) this.meshes[index].visible = visible;
    this.stale = true;
  }

  // Light up parts; joints and forces among them are seen through whatever hides them.
  light(parts) {
    const chosen = new Set(parts), { pieces } = this.data;
    if (this.crowds) {
      for (const mesh of this.crowds) {
        mesh.userData.pieces.forEach((index, slot) => mesh.setColorAt(slot, chosen.has(pieces[index].part) ? new THREE.Color(LIT) : this.colours[index]));
        mesh.instanceColor.needsUpdate = true;
      }
    }
    this.meshes.forEach((mesh, index) => {
      const lit = chosen.has(pieces[index].part), above = lit && !this.isSolid(pieces[index]);
      mesh.material.emissive.setHex(lit ? LIT : 0);
      mesh.material.emissiveIntensity = lit ? 0.75 : 0;
      mesh.material.depthTest = !above;
      mesh.renderOrder = above ? 5 : 0;
    });
    this.litParts = chosen;
    this.stale = true;
  }

  // Bodies as if of glass, so that joints inside are seen.
  glass(yes) {
    this.glassy = yes;
    const dim = (material, opacity) => {
      Object.assign(material, { opacity, transparent: opacity < 1, depthWrite: opacity >= 1 });
      material.needsUpdate = true;
    };
    this.meshes.forEach((mesh, index) => {
      const piece = this.data.pieces[index];
      if (this.isSolid(piece)) dim(mesh.material, yes ? 0.25 * piece.opacity : piece.opacity);
    });
    for (const mesh of this.crowds || []) {
      const piece = this.data.pieces[mesh.userData.pieces[0]];
      if (this.isSolid(piece)) dim(mesh.material, yes ? 0.25 * piece.opacity : piece.opacity);
    }
    this.stale = true;
  }

  // What is under the mouse: its part, the carrier it rides on (null for what is spanned), and the point there.
  hit(x, y, wanted = () => true) {
    const targets = this.crowds || this.meshes.filter((mesh) => mesh.visible);
    for (const found of this.ray(x, y).intersectObjects(targets, false)) {
      const index = this.crowds ? found.object.userData.pieces[found.instanceId] : found.object.userData.piece;
      const piece = this.data.pieces[index];
      if (this.hiddenParts.has(piece.part) || !wanted(piece)) continue;
      if (this.renderer.clippingPlanes.some((plane) => plane.distanceToPoint(found.point) < 0)) continue;
      return { part: piece.part, carrier: piece.target === null ? piece.carrier : null, point: found.point, distance: found.distance };
    }
    return null;
  }

  pick(x, y) { return this.hit(x, y)?.part ?? null; }

  // A point of the world in the axes of a carrier, and back.
  inside(carrier, point) { return point.clone().applyMatrix4(this.carriers[carrier].matrix.clone().invert()); }
  outside(carrier, point) { return point.clone().applyMatrix4(this.carriers[carrier].matrix); }

  // The box around parts.
  around(parts) {
    const box = new THREE.Box3(), { pieces } = this.data;
    this.world.updateMatrixWorld();
    for (const part of parts) for (const index of this.byPart[part]) {
      if (!this.crowds) { box.expandByObject(this.meshes[index]); continue; }
      const piece = pieces[index];
      box.expandByPoint(this.outside(piece.carrier, new THREE.Vector3(...piece.position)));
    }
    if (box.isEmpty()) return null;
    const least = 0.04 * this.radius, size = box.max.clone().sub(box.min);
    if (Math.max(size.x, size.y, size.z) < least) box.expandByScalar(least);
    return box;
  }
}

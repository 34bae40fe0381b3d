// Measuring, cutting, links, pictures, movies.
"use strict";

// The distance of two points that were clicked; they stay on the bodies they were found on.
class Measure {
  constructor(machine) {
    Object.assign(this, { machine, on: false, ends: [] });
    const geometry = new THREE.BufferGeometry();
    this.points = new Float32Array(6);
    geometry.setAttribute("position", new THREE.BufferAttribute(this.points, 3));
    this.line = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: 0xe0231c, depthTest: false, transparent: true }));
    this.line.frustumCulled = false;
    this.line.renderOrder = 10;
    this.line.visible = false;
    machine.world.add(this.line);
  }

  turn(yes) {
    this.on = yes;
    this.ends = [];
    this.line.visible = false;
    get("measured").style.display = "none";
    this.machine.stale = true;
    if (yes) tell("Click two points of the machine.");
  }

  click(x, y) {
    const found = this.machine.hit(x, y);
    if (!found) return;
    if (this.ends.length === 2) this.ends = [];
    const { carrier, point } = found;
    this.ends.push(carrier === null ? { carrier, point } : { carrier, point: this.machine.inside(carrier, point) });
    this.update();
  }

  update() {
    if (this.ends.length < 2) { this.line.visible = false; get("measured").style.display = "none"; return; }
    const { machine } = this, [a, b] = this.ends.map(({ carrier, point }) => carrier === null ? point : machine.outside(carrier, point));
    this.points.set([...a.toArray(), ...b.toArray()]);
    this.line.geometry.attributes.position.needsUpdate = true;
    this.line.visible = true;
    const [x, y] = machine.onScreen(a.clone().add(b).multiplyScalar(0.5)), label = get("measured"), d = b.clone().sub(a);
    label.style.display = "block";
    label.style.transform = `translate(${x}px, ${y}px)`;
    label.textContent = `${brief(a.distanceTo(b), 5)} m  (${brief(d.x, 3)}, ${brief(d.y, 3)}, ${brief(d.z, 3)})`;
    machine.stale = true;
  }
}

// The axes of the world as they lie in the picture.
class Triad {
  constructor(machine) {
    this.machine = machine;
    this.canvas = get("triad");
  }

  draw() {
    const ratio = window.devicePixelRatio || 1, size = 64, pen = this.canvas.getContext("2d");
    if (this.canvas.width !== size * ratio) this.canvas.width = this.canvas.height = size * ratio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, size, size);
    pen.font = "bold 11px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.lineWidth = 2;
    const turn = this.machine.camera.quaternion.clone().invert();
    const axes = [["x", "#d62728", 1, 0, 0], ["y", "#2ca02c", 0, 1, 0], ["z", "#1f77b4", 0, 0, 1]].map(([name, colour, x, y, z]) => ({ name, colour, seen: new THREE.Vector3(x, y, z).applyQuaternion(turn) }));
    axes.sort((a, b) => a.seen.z - b.seen.z);
    for (const { name, colour, seen } of axes) {
      pen.strokeStyle = pen.fillStyle = colour;
      pen.beginPath();
      pen.moveTo(size / 2, size / 2);
      pen.lineTo(size / 2 + 20 * seen.x, size / 2 - 20 * seen.y);
      pen.stroke();
      pen.fillText(name, size / 2 + 27 * seen.x, size / 2 - 27 * seen.y + 4);
    }
  }
}

// What is seen as words of an address: time, choice, curves, camera. Whoever opens the link sees the same.
class Links {
  constructor(page) { this.page = page; }

  text() {
    const { state, tree, curves, machine, data, run } = this.page, words = new URLSearchParams();
    if (run.ends) words.set("t", Number(state.time.toPrecision(7)));
    if (tree.lit) words.set("sel", tree.lit);
    if (curves.chosen.join() !== data.chosen.join()) words.set("curves", curves.chosen.map((k) => data.channels[k].name).join(","));
    const numbers = [...machine.camera.position.toArray(), ...machine.controls.target.toArray()].map((v) => Number(v.toPrecision(5)));
    words.set("eye", numbers.join(","));
    if (machine.camera === machine.parallel) words.set("parallel", Number((machine.span / machine.parallel.zoom).toPrecision(5)));
    return `#${words}`;
  }

  // Do as the address says; words that mean nothing here are passed over.
  read() {
    const { tree, curves, machine, data, seek } = this.page, words = new URLSearchParams(location.hash.slice(1));
    if (words.has("curves")) {
      const names = new Map(data.channels.map(({ name }, k) => [name, k]));
      curves.chosen = words.get("curves").split(",").map((name) => names.get(name)).filter((k) => k !== undefined);
      curves.lay();
    }
    const eye = (words.get("eye") || "").split(",").map(Number);
    if (eye.length === 6 && eye.every(isFinite)) {
      if (words.has("parallel") && Number(words.get("parallel")) > 0) { get("parallel").checked = true; machine.orthographic(true); machine.span = Number(words.get("parallel")); machine.lens(); }
      machine.fitted = false;
      machine.camera.position.set(...eye.slice(0, 3));
      machine.controls.target.set(...eye.slice(3));
      machine.controls.update();
    }
    if (words.has("sel") && tree.below(words.get("sel")).length) tree.light(words.get("sel"));
    if (isFinite(Number(words.get("t"))) && words.has("t")) seek(Number(words.get("t")));
  }

  async copy() {
    const text = this.text(), address = location.href.split("#")[0] + text;
    if (!location.href.startsWith("about:")) history.replaceState(null, "", text);
    try {
      await navigator.clipboard.writeText(address);
      tell("The link is in the clipboard.");
    } catch {
      tell("The link is in the address line.");
    }
  }
}

// A picture of the machine as it is seen now.
function savePicture(page) {
  const { machine, data } = page;
  machine.renderer.render(machine.world, machine.camera);
  machine.canvas.toBlob((picture) => { download(`${data.model}.png`, picture); tell("A picture was saved."); }, "image/png");
}

// A movie of what is seen from now on, until it is asked for again.
class Movie {
  constructor(page) { this.page = page; this.recorder = null; }

  turn() {
    const button = get("movie");
    if (this.recorder) { this.recorder.stop(); return; }
    if (!window.MediaRecorder || !this.page.machine.canvas.captureStream) { tell("This browser records no movies."); return; }
    const pieces = [], stream = this.page.machine.canvas.captureStream(30);
    this.recorder = new MediaRecorder(stream, { videoBitsPerSecond: 8e6 });
    this.recorder.addEventListener("dataavailable", (event) => { if (event.data.size) pieces.push(event.data); });
    this.recorder.addEventListener("stop", () => {
      this.recorder = null;
      button.textContent = "Record movie";
      this.size = pieces.reduce((sum, piece) => sum + piece.size, 0);
      download(`${this.page.data.model}.webm`, new Blob(pieces, { type: "video/webm" }));
      tell("The movie was saved.");
    });
    this.recorder.start(500);
    button.textContent = "Stop recording";
    this.page.play(true);
  }
}

// Inputs and parameters of a living machine in hand: sliders, numbers, keys, gamepads.
"use strict";

const HANDLES = {
  "": "by hand", "ArrowLeft ArrowRight": "keys ← →", "ArrowDown ArrowUp": "keys ↓ ↑", "a d": "keys A D", "s w": "keys S W",
  "axis 0": "stick 1 x", "axis 1": "stick 1 y", "axis 2": "stick 2 x", "axis 3": "stick 2 y",
};

class Knobs {
  constructor(run) {
    this.run = run;
    this.pressed = new Set();
    this.handled = []; // inputs that keys or sticks steer
    const place = get("knobs");
    const sections = [
      ["Inputs", run.inputs, (k, value) => run.setInput(k, value), true],
      ["Parameters", run.parameters.filter((one) => !one.fixed), (k, value) => run.setParameter(run.parameters.indexOf(run.parameters.filter((one) => !one.fixed)[k]), value), false],
    ];
    for (const [title, list, set, steered] of sections) {
      if (!list.length) continue;
      const box = make("details", { className: "knobs", open: list.length <= 14 || steered }, make("summary", { textContent: `${title} (${list.length})` }));
      list.forEach((one, k) => box.append(this.knob(one, (value) => set(k, value), steered)));
      place.append(box);
    }
    const fixed = run.parameters.filter((one) => one.fixed).map(({ name }) => name);
    if (fixed.length) place.append(make("p", { className: "hint", textContent: `Not to be changed here, because the machine would have to be assembled anew: ${fixed.join(", ")}.` }));
    if (!run.inputs.length && !run.parameters.length) place.append(make("p", { className: "hint", textContent: "This machine has no inputs, parameters or springs to change. Pull it: drag a body with Alt or the middle button." }));
    place.hidden = false;
    document.addEventListener("keydown", (event) => this.key(event, true));
    document.addEventListener("keyup", (event) => this.key(event, false));
  }

  // Sliders of positive numbers over a range of a hundred go by factors.
  knob(one, set, steered) {
    const factors = one.low > 0 && one.high / one.low > 50;
    const toSlider = (value) => factors ? Math.log(value / one.low) / Math.log(one.high / one.low) : (value - one.low) / (one.high - one.low);
    const toValue = (share) => factors ? one.low * Math.pow(one.high / one.low, share) : one.low + share * (one.high - one.low);
    const slider = make("input", { type: "range", min: 0, max: 1, step: "any", value: toSlider(one.value), ariaLabel: one.name });
    const number = make("input", { type: "number", step: "any", value: Number(one.value.toPrecision(6)), ariaLabel: `${one.name} in ${one.unit || "no unit"}` });
    const give = (value, exact = false) => {
      if (!isFinite(value)) return;
      slider.value = toSlider(value);
      if (!exact) number.value = Number(value.toPrecision(6));
      set(value);
    };
    slider.addEventListener("input", () => give(toValue(Number(slider.value))));
    number.addEventListener("change", () => give(Number(number.value), true));
    number.addEventListener("keydown", (event) => event.stopPropagation());
    const back = make("button", { textContent: "↺", title: `back to ${brief(one.value, 6)}`, ariaLabel: `${one.name} back to ${one.value}`, onclick: () => { give(one.value); if (one.table) set(null); } });
    const name = make("span", { className: "channel", textContent: one.name, title: one.unit ? `${one.name} [${one.unit}]` : one.name });
    const head = make("div", { className: "knob-head" }, name, make("em", { textContent: one.unit }), back);
    if (steered) head.append(this.handle(one, give));
    return make("div", { className: "knob" }, head, make("div", { className: "knob-line" }, slider, number));
  }

  handle(one, give) {
    const entry = { one, give, by: "", value: one.value };
    this.handled.push(entry);
    const choice = make("select", { title: "what steers this input", ariaLabel: `what steers ${one.name}`, onchange: () => { entry.by = choice.value; } });
    for (const [value, text] of Object.entries(HANDLES)) choice.append(make("option", { value, textContent: text }));
    return choice;
  }

  // Whether a key is taken by an input.
  takes(key) { return this.handled.some(({ by }) => by.split(" ").includes(key)); }

  key(event, down) {
    if (event.target.matches?.("input[type=number], input[type=text], input:not([type]), select")) return;
    if (!this.takes(event.key)) return;
    event.preventDefault();
    this.pressed[down ? "add" : "delete"](event.key);
    this.steer();
  }

  // Let keys and sticks say what inputs are; called with every picture.
  steer() {
    const pads = navigator.getGamepads ? [...navigator.getGamepads()].filter(Boolean) : [];
    for (const entry of this.handled) {
      if (!entry.by) continue;
      let share = 0;
      if (entry.by.startsWith("axis")) {
        const value = pads[0]?.axes[Number(entry.by.slice(5))] ?? 0;
        share = Math.abs(value) < 0.08 ? 0 : value;
      } else {
        const [less, more] = entry.by.split(" ");
        share = (this.pressed.has(more) ? 1 : 0) - (this.pressed.has(less) ? 1 : 0);
      }
      const { low, high, value } = entry.one, wanted = share < 0 ? value + share * (value - low) : value + share * (high - value);
      if (wanted !== entry.value) { entry.value = wanted; entry.give(wanted); }
    }
  }
}

// Pull a body with the mouse: press on it with Alt or the middle button (or in the pulling mode), and drag.
class Pulling {
  constructor(machine, run) {
    Object.assign(this, { machine, run, mode: false, hand: null });
    const geometry = new THREE.BufferGeometry();
    this.points = new Float32Array(6);
    geometry.setAttribute("position", new THREE.BufferAttribute(this.points, 3));
    this.line = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: 0xe0231c, depthTest: false, transparent: true }));
    this.line.frustumCulled = false;
    this.line.visible = false;
    this.line.renderOrder = 10;
    machine.world.add(this.line);
    const { canvas } = machine;
    canvas.addEventListener("pointerdown", (event) => { if (this.mode || event.altKey || event.button === 1) this.begin(event); }, true);
    canvas.addEventListener("pointermove", (event) => { if (this.hand) this.move(event); }, true);
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => { if (this.hand) { event.stopImmediatePropagation(); this.end(); } }, true);
  }

  begin(event) {
    const { machine, run, data = machine.data } = this;
    const found = machine.hit(event.clientX, event.clientY, (piece) => piece.target === null && data.carriers[piece.carrier].kind === "body");
    if (!found) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    machine.canvas.setPointerCapture(event.pointerId);
    this.plane = new THREE.Plane().setFromNormalAndCoplanarPoint(machine.camera.getWorldDirection(new THREE.Vector3()), found.point);
    this.hand = run.grab(found.carrier, machine.inside(found.carrier, found.point), found.point.clone());
    if (!this.hand) { tell("This body cannot be pulled."); return; }
    this.hand.strength = event.shiftKey ? 10 : 1;
    machine.controls.enabled = false;
    this.line.visible = true;
    document.dispatchEvent(new Event("pulled"));
  }

  move(event) {
    event.stopImmediatePropagation();
    const target = new THREE.Vector3();
    if (this.machine.ray(event.clientX, event.clientY).ray.intersectPlane(this.plane, target)) this.hand.target.copy(target);
    this.run.moved?.();
  }

  end() {
    this.hand = null;
    this.run.letGo();
    this.machine.controls.enabled = true;
    this.line.visible = false;
    get("pull").textContent = "";
    this.machine.stale = true;
  }

  update() {
    if (!this.hand) return;
    const from = this.machine.outside(this.hand.carrier, this.hand.local);
    this.points.set([...from.toArray(), ...this.hand.target.toArray()]);
    this.line.geometry.attributes.position.needsUpdate = true;
    get("pull").textContent = `pull ${brief(this.hand.force.length(), 3)} N`;
    this.machine.stale = true;
  }
}

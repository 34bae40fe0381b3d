// The page: time runs here, everything else follows it.
"use strict";

const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

async function main() {
  const data = await unpack();
  const get = (id) => document.getElementById(id);
  const machine = new Machine(get("view"), data), tree = new Tree(data, machine);
  const times = data.arrays.times, first = times[0], last = times[times.length - 1];
  const state = { time: first, playing: false, speed: 1, ticks: 0 };
  const digits = last - first >= 10 ? 2 : 3;
  const slider = get("slider"), play = get("play"), speed = get("speed");
  const curves = new Curves(data, (time) => seek(time));

  function seek(time) {
    state.time = Math.min(last, Math.max(first, time));
    slider.value = state.time;
    get("clock").textContent = `${state.time.toFixed(digits)} / ${last.toFixed(digits)} s`;
    machine.pose(state.time);
    curves.at(state.time);
  }
  function run(yes) {
    if (yes && state.time >= last) seek(first);
    state.playing = yes && last > first;
    play.textContent = state.playing ? "Pause" : "Play";
  }
  let before = performance.now();
  function tick(now) {
    const passed = Math.min(0.25, Math.max(0, (now - before) / 1000));
    before = now;
    state.ticks += 1;
    if (state.playing) {
      let time = state.time + passed * state.speed;
      if (time >= last) { if (get("loop").checked) time = first; else { time = last; run(false); } }
      seek(time);
    }
    machine.draw(now, passed);
    requestAnimationFrame(tick);
  }

  [slider.min, slider.max] = [first, last];
  slider.disabled = play.disabled = !(last > first);
  slider.addEventListener("input", () => { run(false); seek(Number(slider.value)); });
  play.addEventListener("click", () => run(!state.playing));
  for (const value of SPEEDS) { const option = document.createElement("option"); option.value = value; option.textContent = `${value} ×`; speed.append(option); }
  speed.value = data.speed;
  state.speed = data.speed;
  speed.addEventListener("change", () => { state.speed = Number(speed.value); });
  get("fit").addEventListener("click", () => machine.fit());
  for (const [button, panel] of [["show-tree", "tree"], ["show-plots", "plots"]]) {
    const set = (yes) => {
      get(panel).classList.toggle("hidden", !yes);
      get(button).setAttribute("aria-pressed", String(yes));
      machine.resize();
      curves.resize();
    };
    get(button).addEventListener("click", () => set(get(panel).classList.contains("hidden")));
    if (window.innerWidth < 900 || (panel === "plots" && !(data.channels.length && last > first))) set(false);
  }
  document.addEventListener("keydown", (event) => {
    if (["INPUT", "SELECT", "BUTTON"].includes(event.target.tagName) && event.target.type !== "range") return;
    if (event.key === " ") { event.preventDefault(); run(!state.playing); }
  });
  let pressed = null;
  get("view").addEventListener("pointerdown", (event) => { pressed = [event.clientX, event.clientY]; });
  get("view").addEventListener("pointerup", (event) => {
    if (!pressed || Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 4) return;
    const part = machine.pick(event.clientX, event.clientY);
    tree.light(part === null ? null : data.parts[part].path);
  });
  new ResizeObserver(() => { machine.resize(); curves.resize(); }).observe(get("stage"));
  get("name").textContent = data.model;
  get("note").textContent = data.note;
  const legend = get("legend");
  for (const [name, colour, found] of [["not kept", "#e0231c", Object.keys(data.violated).length], ["redundant", "#8e44ad", data.redundant.length]]) {
    if (found) { const mark = document.createElement("span"); const dot = document.createElement("i"); dot.style.background = colour; mark.append(dot, `${found} ${name}`); legend.append(mark); }
  }
  machine.resize();
  machine.fit();
  seek(first);
  requestAnimationFrame(tick);
  window.kompono = { data, machine, tree, curves, state, seek, run };
  document.body.dataset.ready = "yes";
}

main().catch((error) => {
  document.getElementById("note").textContent = `cannot draw: ${error.message}`;
  console.error(error);
});

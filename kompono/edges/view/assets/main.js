// The page: time runs here, everything else follows it.
"use strict";

const LONG_WAY = 5; // sizes of a machine that its way is long
const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

async function main() {
  const data = await unpack();
  const run = !data.living ? new StoredRun(data) : data.living.places ? new PageRun(data, await Engine.make(data.living, data.arrays)) : new StreamedRun(data);
  const machine = new Machine(get("view"), data), state = { time: run.first, playing: false, speed: data.speed, ticks: 0 };
  const page = { data, run, machine, state };
  const slider = get("slider"), playing = get("play"), speed = get("speed");

  // Everything as the run is now.
  page.show = () => {
    state.time = run.time;
    const digits = run.last - run.first >= 10 ? 2 : 3;
    [slider.min, slider.max, slider.value] = [run.first, run.last, run.time];
    get("clock").textContent = run.ends ? `${run.time.toFixed(digits)} / ${run.last.toFixed(digits)} s` : `${run.time.toFixed(3)} s`;
    slider.setAttribute("aria-valuetext", `${run.time.toFixed(digits)} s`);
    machine.place(run.table);
    page.physics.update();
    page.curves.at(run.time);
    page.details.update();
    page.measure.update();
  };
  page.seek = (time) => { run.seek(time); page.show(); };
  page.play = (yes) => {
    if (yes && run.ends && state.time >= run.last) page.seek(run.first);
    if (yes && run.failure) { tell(run.failure); yes = false; }
    state.playing = yes && run.moves;
    playing.textContent = state.playing ? "Pause" : "Play";
    run.paused?.(!state.playing);
  };
  page.begin = () => { run.begin(); get("note").textContent = ""; page.show(); };
  page.physics = new Physics(data, machine, run);
  page.details = new Details(page);
  page.curves = new Curves(data, run, (time) => { if (!run.ends) page.play(false); page.seek(time); });
  page.curves.hurried = () => machine.slow > 0.02;
  page.tree = new Tree(data, machine, (path) => page.details.show(path));
  page.measure = new Measure(machine);
  page.search = new ChannelSearch(data, (channel) => page.curves.add(channel));
  page.links = new Links(page);
  page.movie = new Movie(page);
  machine.placeAgain = () => { machine.place(run.table); page.physics.update(); };
  const triad = new Triad(machine), living = !run.ends, steered = living && !run.watched;
  if (steered) {
    page.knobs = new Knobs(run);
    page.pulling = new Pulling(machine, run);
  }

  let before = performance.now();
  function tick(now) {
    const passed = Math.min(0.25, Math.max(0, (now - before) / 1000));
    before = now;
    state.ticks += 1;
    page.knobs?.steer();
    if (state.playing) {
      const more = run.advance(passed * state.speed, state.speed);
      if (!more && run.ends && get("loop").checked) run.seek(run.first);
      else if (!more) page.play(false);
      if (run.failure) get("note").textContent = run.failure;
      page.show();
      if (living) get("rate").textContent = run.rate < 0.95 ? `${Math.round(100 * run.rate)} % of the time` : "";
    } else if (run.news?.()) page.show();
    page.pulling?.update();
    if (machine.draw(now, passed)) triad.draw();
    requestAnimationFrame(tick);
  }

  slider.disabled = playing.disabled = !run.moves;
  slider.addEventListener("input", () => { const time = Number(slider.value); page.play(false); page.seek(time); });
  playing.addEventListener("click", () => page.play(!state.playing));
  for (const value of SPEEDS) speed.append(make("option", { value, textContent: `${value} ×` }));
  if (!SPEEDS.includes(data.speed)) speed.append(make("option", { value: data.speed, textContent: `${data.speed} ×` }));
  speed.value = data.speed;
  speed.addEventListener("change", () => { state.speed = Number(speed.value); run.paced?.(state.speed); });
  get("fit").addEventListener("click", () => machine.fit());
  arrange(page, living, steered);
  listen(page);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", () => { machine.theme(); page.physics.theme(); page.curves.redraw(); });
  let laid = false;
  new ResizeObserver(() => {
    machine.resize();
    page.curves.resize();
    if (!laid) accompany(page);
    laid = true;
  }).observe(get("stage"));
  get("name").textContent = data.model;
  get("note").textContent = data.note;
  get("scale").textContent = `grid ${data.cell >= 1 ? data.cell : brief(data.cell * (data.cell < 0.01 ? 1000 : 100))} ${data.cell >= 1 ? "m" : data.cell < 0.01 ? "mm" : "cm"}`;
  run.seek(run.first);
  page.show();
  page.links.read();
  requestAnimationFrame(tick);
  window.kompono = page;
  if (living && !window.matchMedia("(prefers-reduced-motion: reduce)").matches && !location.hash.includes("wait")) page.play(true);
  document.body.dataset.ready = "yes";
}

// A machine that goes far is a speck in the room it needs: look at it where it begins, and move along.
function accompany({ data, machine, physics }) {
  const bodies = data.parts.flatMap(({ kind }, k) => (kind === "body" ? [k] : [])), box = machine.around(bodies);
  if (!data.stored || !box || !machine.fitted || 2 * machine.radius < LONG_WAY * box.min.distanceTo(box.max)) return;
  machine.frame(box.min, box.max);
  physics.follow(data.carriers.filter(({ kind }) => kind === "body").reduce((a, b) => (b.mass > a.mass ? b : a)));
}

// Panels, menus and marks.
function arrange(page, living, steered) {
  const { data, machine, curves, physics, tree, run, measure } = page;
  for (const [button, panel] of [["show-tree", "tree"], ["show-plots", "plots"]]) {
    const set = (yes) => {
      get(panel).classList.toggle("hidden", !yes);
      get(button).setAttribute("aria-pressed", String(yes));
      machine.resize();
      curves.resize();
    };
    get(button).addEventListener("click", () => {
      const yes = get(panel).classList.contains("hidden");
      set(yes);
      const other = panel === "tree" ? "plots" : "tree"; // a small screen has room for one
      if (yes && window.innerWidth <= 720 && !get(other).classList.contains("hidden")) get(`show-${other}`).click();
    });
    if (window.innerWidth < 900 || (panel === "plots" && !(data.channels.length && run.moves))) set(false);
  }
  for (const id of ["step", "reset", "hand", "rate"]) get(id).hidden = !steered;
  get("repeat").hidden = living;
  get("pace").hidden = living && !steered;
  if (steered) {
    get("step").addEventListener("click", () => { page.play(false); run.step(); page.show(); });
    get("reset").addEventListener("click", () => page.begin());
    get("hand").addEventListener("click", () => {
      page.pulling.mode = !page.pulling.mode;
      get("hand").setAttribute("aria-pressed", String(page.pulling.mode));
      if (page.pulling.mode) tell("Drag a body to pull it.");
    });
  }
  const looks = get("draw"), box = (text, checked, change) => {
    const check = make("input", { type: "checkbox", checked, onchange: () => change(check.checked) });
    looks.append(make("label", {}, check, ` ${text}`));
    return check;
  };
  for (const group of physics.groups) box(group, false, (yes) => physics.show(group, yes)).dataset.draw = group;
  box("centres of mass", false, (yes) => physics.show("centres", yes)).dataset.draw = "centres";
  box("grid", true, (yes) => { machine.floor.visible = yes; machine.stale = true; });
  if (physics.signs.length) box("ground signs", true, (yes) => physics.show("ground signs", yes));
  const views = get("views");
  for (const [number, [name]] of Object.entries(VIEWS)) views.append(make("button", { textContent: name, title: `key ${number}`, onclick: () => machine.look(Number(number)) }));
  get("parallel").addEventListener("change", () => machine.orthographic(get("parallel").checked));
  get("measure").addEventListener("click", () => { measure.turn(!measure.on); get("measure").setAttribute("aria-pressed", String(measure.on)); });
  const cut = () => { const axis = get("cut").value; get("depth").hidden = axis === ""; machine.section(axis === "" ? null : Number(axis), Number(get("depth").value)); };
  get("cut").addEventListener("change", cut);
  get("depth").addEventListener("input", cut);
  get("link").addEventListener("click", () => page.links.copy());
  get("picture").addEventListener("click", () => savePicture(page));
  get("movie").addEventListener("click", () => page.movie.turn());
  get("shut").addEventListener("click", () => tree.light(null));
  get("more").addEventListener("toggle", () => page.details.update());
  let pressed = null;
  get("view").addEventListener("pointerdown", (event) => { pressed = [event.clientX, event.clientY]; });
  get("view").addEventListener("pointerup", (event) => {
    if (!pressed || Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 4) return;
    if (measure.on) { measure.click(event.clientX, event.clientY); return; }
    const part = machine.pick(event.clientX, event.clientY);
    tree.light(part === null ? null : data.parts[part].path);
  });
  for (const [name, colour, paths] of [["not kept", "#e0231c", Object.keys(data.violated)], ["redundant", "#8e44ad", data.redundant]]) {
    if (!paths.length) continue;
    const dot = make("i");
    dot.style.background = colour;
    get("legend").append(make("button", { title: "show them one after the other", onclick: () => tree.light(paths[(paths.indexOf(tree.lit) + 1) % paths.length]) }, dot, `${paths.length} ${name}`));
  }
  document.addEventListener("click", (event) => { for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false; });
}

main().catch((error) => {
  document.getElementById("note").textContent = `cannot draw: ${error.message}`;
  console.error(error);
});

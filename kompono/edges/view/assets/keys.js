// The keyboard, and a page that says what it does.
"use strict";

const KEYS = [
  ["Space", "play, pause"], ["← →", "a picture back or on (a living machine: a step on)"], ["Home End", "the first, the last instant"],
  ["R", "begin anew (living)"], ["F", "all in sight"], ["1 … 7", "perspective, front, back, left, right, top, bottom"], ["O", "parallel lines of sight"],
  ["C", "look at what is chosen"], ["H", "hide others, show all"], ["X", "x-ray"], ["M", "measure"], ["Esc", "choose nothing"],
  ["Alt + drag", "pull a body (living; Shift: ten times as hard)"], ["?", "this page"],
];

function listen(page) {
  const { machine, tree, run } = page, help = get("help");
  get("keys").replaceChildren(...KEYS.map(([key, what]) => make("tr", {}, make("th", { textContent: key }), make("td", { textContent: what }))));
  get("ask").addEventListener("click", () => help.showModal());
  get("done").addEventListener("click", () => help.close());
  const single = () => run.step ? run.step() : page.seek(page.state.time + 1 / 60);
  const deeds = {
    " ": () => page.play(!page.state.playing),
    ArrowRight: () => { page.play(false); single(); page.show(); },
    ArrowLeft: () => { page.play(false); page.seek(page.state.time - 1 / 60); },
    Home: () => page.seek(run.first), End: () => page.seek(run.last),
    f: () => machine.fit(), c: () => { const box = tree.lit && machine.around(tree.below(tree.lit)); if (box) machine.frame(box.min, box.max); },
    h: () => { tree.only(tree.hidden.size ? null : tree.lit); page.details.show(tree.lit); },
    x: () => document.querySelector("input[data-kind=glass]")?.click(), o: () => get("parallel").click(), m: () => get("measure").click(),
    r: () => run.begin && page.begin(), Escape: () => tree.light(null), "?": () => help.showModal(),
  };
  for (const number of Object.keys(VIEWS)) deeds[number] = () => machine.look(Number(number));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const { target } = event, typing = target.matches?.("input:not([type=range]):not([type=checkbox]), select, textarea");
    if (typing || (event.key === " " && target.matches?.("button, summary, input")) || page.knobs?.takes(event.key)) return;
    if (target.matches?.("input[type=range]") && event.key.startsWith("Arrow") && target.id !== "slider") return;
    const deed = deeds[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!deed) return;
    event.preventDefault();
    deed();
  });
}

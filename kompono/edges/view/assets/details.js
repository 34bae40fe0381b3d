// What is chosen: what it is, where it is, how it moves, what acts on it, its channels, and what one can do with it.
"use strict";

class Details {
  constructor(page) {
    Object.assign(this, { page, path: null, rows: [] });
    this.place = get("details");
  }

  // Channels that belong to a path itself, or to all below it.
  channels(path) {
    const found = [];
    this.page.data.channels.forEach(({ name }, k) => { if (name.startsWith(`${path}.`)) found.push(k); });
    return found;
  }

  show(path) {
    const { data, tree, curves, machine } = this.page, picked = get("picked");
    this.path = path;
    this.rows = [];
    this.place.hidden = path === null;
    picked.textContent = "";
    if (path === null) return;
    const part = data.parts.find((one) => one.path === path), carrier = data.carriers.find((one) => one.path === path);
    const miss = part && Object.hasOwn(data.violated, path) ? data.violated[path] : 0;
    picked.textContent = path + (part ? ` (${part.type})` : "");
    const facts = [];
    if (carrier?.mass) facts.push(`mass ${brief(carrier.mass)} kg`);
    if (miss) facts.push(`missed by ${miss.toPrecision(3)}`);
    if (data.redundant.includes(path)) facts.push("has conditions that others imply");
    get("facts").textContent = facts.join(", ");
    const own = this.channels(path), act = (text, title, action) => make("button", { textContent: text, title, onclick: action });
    get("deeds").replaceChildren(
      act("Plot", "draw what moves here", () => this.plot(own)),
      act(tree.hidden.size ? "Show all" : "Hide others", "see nothing else (H)", () => { tree.only(tree.hidden.size ? null : path); this.show(path); }),
      act("Centre", "look at it from near (C)", () => { const box = machine.around(tree.below(path)); if (box) machine.frame(box.min, box.max); }),
      act(this.page.physics.followed === carrier ? "Stop following" : "Follow", "let the eye move along", () => { this.page.physics.follow(this.page.physics.followed === carrier ? null : carrier); this.show(path); }),
      act(this.page.physics.traces.has(path) ? "No trace" : "Trace", "draw the way of its centre", () => { this.page.physics.trace(path); this.show(path); }),
    );
    for (const button of [...get("deeds").children].slice(3)) button.disabled = !carrier || carrier.kind !== "body";
    this.list(own);
  }

  list(own) {
    const { data, curves } = this.page;
    this.rows = own.slice(0, 120).map((channel) => {
      const { name, unit } = data.channels[channel], value = make("span", { className: "value" });
      const row = make("button", { className: "datum", title: `draw ${name}`, onclick: () => curves.add(channel) },
        make("span", { className: "channel", textContent: name.slice(this.path.length + 1) }), value, make("em", { textContent: unit }));
      return { channel, value, row };
    });
    get("data").replaceChildren(...this.rows.map(({ row }) => row));
    this.update();
  }

  // Draw up to four channels here that move: coordinates first, then the rest.
  plot(own) {
    const { run, data, curves } = this.page, names = new Set(data.channels.map(({ name }) => name));
    const moves = (channel) => {
      let low = Infinity, high = -Infinity;
      const stride = Math.max(1, Math.floor(run.count / 200));
      for (let k = 0; k < run.count; k += stride) { const v = run.valueAt(channel, k); low = Math.min(low, v); high = Math.max(high, v); }
      return high - low > 1e-9;
    };
    const lively = own.filter((channel) => run.has(channel) && moves(channel));
    const coordinates = lively.filter((channel) => names.has(`${data.channels[channel].name}.rate`));
    const places = lively.filter((channel) => /\.position\.[xyz]$/.test(data.channels[channel].name));
    const chosen = (coordinates.length ? coordinates : places.length ? places : lively).slice(0, 4);
    if (!chosen.length) { tell("Nothing moves here."); return; }
    get("plots").classList.contains("hidden") && get("show-plots").click();
    curves.add(...chosen);
  }

  update() {
    if (this.path === null || get("details").hidden || !get("more").open) return;
    for (const { channel, value } of this.rows) value.textContent = brief(this.page.run.value(channel));
  }
}

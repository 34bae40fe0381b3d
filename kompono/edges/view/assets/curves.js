// Channels over time, a panel for each unit (or each channel), with a line at the present time. A click goes to that
// time, the wheel zooms, dragging with Shift chooses a span, a double click shows all again.
"use strict";

const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A6D3B", "#7F7F7F"];
const SCROLL = 5; // s of a living run that are seen
const REDRAWN = [50, 150]; // ms between drawings of moving curves, where pictures are quick and where they are not

class Curves {
  constructor(data, run, seek) {
    Object.assign(this, { data, run, seek, time: run.time, chosen: data.chosen.slice(), panels: [], zoom: null, each: false });
    this.compared = run.ends ? null : data.stored ? new StoredRun(data) : null;
    get("each").addEventListener("click", () => this.option("each", this.each = !this.each));
    get("wide").addEventListener("click", () => this.option("wide", get("plots").classList.toggle("wide")));
    get("csv").addEventListener("click", () => this.save());
    this.lay();
  }

  option(id, yes) {
    get(id).setAttribute("aria-pressed", String(yes));
    this.lay();
    window.dispatchEvent(new Event("resize"));
  }

  add(...channels) {
    const fresh = channels.filter((channel) => !this.chosen.includes(channel));
    if (!fresh.length) return;
    this.chosen.push(...fresh);
    this.lay();
  }

  remove(channel) {
    this.chosen = this.chosen.filter((other) => other !== channel);
    this.lay();
  }

  // The span of time that is drawn.
  span() {
    const { run } = this;
    if (this.zoom) return this.zoom;
    if (run.ends) return [run.first, run.last];
    const last = run.follows ? run.last : Math.max(run.time, Math.min(run.first + SCROLL, run.last));
    return [Math.max(run.first, last - SCROLL), Math.max(last, run.first + SCROLL)];
  }

  lay() {
    const place = get("panels"), groups = new Map();
    place.replaceChildren();
    this.panels = [];
    this.chosen.forEach((channel, order) => {
      const { unit } = this.data.channels[channel], key = this.each ? channel : unit;
      if (!groups.has(key)) groups.set(key, { unit, curves: [] });
      groups.get(key).curves.push({ channel, colour: COLOURS[order % COLOURS.length] });
    });
    for (const { unit, curves } of groups.values()) place.append(this.panel(unit, curves));
    this.resize();
  }

  panel(unit, curves) {
    const names = curves.map(({ channel }) => this.data.channels[channel].name).join(", ");
    const canvas = make("canvas", { role: "img", ariaLabel: `${names} over time` }), note = make("div", { className: "readout" });
    const box = make("div", { className: "panel" }, make("div", { className: "plot" }, canvas, note), ...curves.map((curve) => this.label(curve)));
    const panel = { canvas, unit, curves, note, still: document.createElement("canvas") };
    const timeAt = (event) => {
      const edge = canvas.getBoundingClientRect(), [left, right] = panel.span, [first, last] = this.span();
      return first + Math.min(1, Math.max(0, (event.clientX - edge.left - left) / (right - left))) * (last - first);
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      panel.from = event.shiftKey ? timeAt(event) : null;
      if (panel.from === null) this.seek(timeAt(event));
    });
    canvas.addEventListener("pointermove", (event) => {
      const time = timeAt(event);
      if (event.buttons && panel.from === null) this.seek(time);
      panel.hover = time;
      this.readOut(panel, event.clientX - canvas.getBoundingClientRect().left);
      this.at(this.time);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (panel.from !== null && panel.from !== undefined) {
        const ends = [panel.from, timeAt(event)].sort((a, b) => a - b);
        if (ends[1] > ends[0]) { this.zoom = ends; this.redraw(); }
      }
      panel.from = null;
    });
    canvas.addEventListener("pointerleave", () => { panel.hover = undefined; note.textContent = ""; note.style.display = "none"; this.at(this.time); });
    canvas.addEventListener("dblclick", () => { this.zoom = null; this.redraw(); });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const middle = timeAt(event), [first, last] = this.span(), factor = Math.exp(0.0015 * event.deltaY);
      const ends = [Math.max(this.run.first, middle + factor * (first - middle)), Math.min(this.run.last, middle + factor * (last - middle))];
      this.zoom = ends[0] <= this.run.first && ends[1] >= this.run.last ? null : ends[1] > ends[0] ? ends : this.zoom;
      this.redraw();
    }, { passive: false });
    this.panels.push(panel);
    return box;
  }

  readOut(panel, x) {
    const lines = panel.curves.map(({ channel, colour }) => {
      const dot = make("i");
      dot.style.background = colour;
      return make("div", {}, dot, brief(this.run.value(channel, panel.hover), 6));
    });
    panel.note.replaceChildren(make("div", {}, `t = ${brief(panel.hover, 5)} s`), ...lines);
    panel.note.style.display = "block";
    panel.note.style.left = `${x + 12 + panel.note.offsetWidth > panel.canvas.clientWidth ? x - 12 - panel.note.offsetWidth : x + 12}px`;
  }

  label(curve) {
    const { name, unit } = this.data.channels[curve.channel], mark = make("i");
    mark.style.background = curve.colour;
    curve.value = make("span", { className: "value" });
    curve.apart = make("span", { className: "apart", title: "difference to the stored run at this time; that is linear between the instants the page holds" });
    const away = make("button", { textContent: "×", title: `remove ${name}`, ariaLabel: `remove ${name}`, onclick: () => this.remove(curve.channel) });
    return make("div", { className: "curve" }, mark, make("span", { className: "channel", textContent: name, title: unit ? `${name} [${unit}]` : name }), curve.apart, curve.value, away);
  }

  resize() { this.redraw(); }

  redraw() {
    const ratio = window.devicePixelRatio || 1;
    for (const panel of this.panels) {
      const width = panel.canvas.clientWidth, height = panel.canvas.clientHeight;
      for (const sheet of [panel.canvas, panel.still]) {
        if (sheet.width !== Math.round(width * ratio) || sheet.height !== Math.round(height * ratio)) {
          sheet.width = Math.round(width * ratio);
          sheet.height = Math.round(height * ratio);
        }
      }
      if (width) this.paint(panel, width, height, ratio);
    }
    this.drawn = this.run.version;
    this.painted = performance.now();
    this.at(this.time);
  }

  // Rows of a run within a span of time, with one beyond each end.
  rows(run, first, last) {
    const at = (k) => run.timeAt(k);
    return [locate(run.count, at, first)[0], Math.min(run.count - 1, locate(run.count, at, last)[0] + 1)];
  }

  range(panel, first, last) {
    let low = Infinity, high = -Infinity;
    for (const { channel } of panel.curves) for (const run of [this.run, this.compared]) {
      if (!run || !run.count || !run.has(channel)) continue;
      const [begin, end] = this.rows(run, first, last);
      for (let k = begin; k <= end; k++) {
        const v = run.valueAt(channel, k);
        if (isFinite(v)) { if (v < low) low = v; if (v > high) high = v; }
      }
    }
    if (!(high >= low)) [low, high] = [0, 1];
    if (high - low < 1e-9 * Math.max(1e-300, Math.abs(high))) { const pad = Math.abs(high) * 0.1 || 1; low -= pad; high += pad; }
    return [low, high];
  }

  paint(panel, width, height, ratio) {
    const pen = panel.still.getContext("2d"), [first, last] = this.span(), span = last - first || 1;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "11px system-ui, sans-serif";
    const [low, high] = this.range(panel, first, last);
    const ticks = nice(low, high, 4), labels = ticks.map((v) => short(v, ticks));
    const left = Math.max(...labels.map((text) => pen.measureText(text).width), 18) + 10, right = width - 8, top = 18, bottom = height - 18;
    const X = (t) => left + (t - first) / span * (right - left), Y = (v) => bottom - (v - low) / (high - low) * (bottom - top);
    panel.span = [left, right];
    panel.height = [top, bottom];
    pen.strokeStyle = paint("line");
    pen.fillStyle = paint("dim");
    pen.textAlign = "right";
    ticks.forEach((v, k) => { pen.beginPath(); pen.moveTo(left, Y(v)); pen.lineTo(right, Y(v)); pen.stroke(); pen.fillText(labels[k], left - 5, Y(v) + 4); });
    pen.textAlign = "center";
    const marks = nice(first, last, 5);
    marks.forEach((t) => { pen.beginPath(); pen.moveTo(X(t), top); pen.lineTo(X(t), bottom); pen.stroke(); pen.fillText(short(t, marks), Math.min(X(t), right - 10), height - 4); });
    pen.textAlign = "left";
    pen.fillText(panel.unit ? `[${panel.unit}]` : "[-]", left, 11);
    pen.save();
    pen.beginPath();
    pen.rect(left, top - 2, right - left, bottom - top + 4);
    pen.clip();
    for (const curve of panel.curves) {
      pen.strokeStyle = curve.colour;
      if (this.compared?.has(curve.channel)) {
        pen.setLineDash([5, 4]);
        pen.globalAlpha = 0.6;
        this.trace(pen, this.compared, curve.channel, X, Y, first, last);
        pen.setLineDash([]);
        pen.globalAlpha = 1;
      }
      pen.lineWidth = 1.4;
      if (this.run.has(curve.channel)) this.trace(pen, this.run, curve.channel, X, Y, first, last);
      pen.lineWidth = 1;
    }
    pen.restore();
  }

  // A curve; where many instants share a column of pixels, the lowest and the highest of them.
  trace(pen, run, channel, X, Y, first, last) {
    if (!run.count) return;
    const [begin, end] = this.rows(run, first, last);
    pen.beginPath();
    let down = false, column = null, low = 0, high = 0;
    for (let k = begin; k <= end; k++) {
      const v = run.valueAt(channel, k);
      if (!isFinite(v)) { down = false; column = null; continue; }
      const x = X(run.timeAt(k)), y = Y(v);
      if (column !== null && Math.floor(x) === column && k < end) {
        if (y < low) { low = y; pen.lineTo(x, y); } else if (y > high) { high = y; pen.lineTo(x, y); }
        continue;
      }
      if (down) pen.lineTo(x, y); else pen.moveTo(x, y);
      [down, column, low, high] = [true, Math.floor(x), y, y];
    }
    pen.stroke();
  }

  at(time) {
    this.time = time;
    if (!this.run.count) return;
    if (this.drawn !== this.run.version && !this.run.ends) {
      const wait = REDRAWN[this.hurried?.() ? 1 : 0] - (performance.now() - (this.painted || 0));
      if (wait <= 0) { this.redraw(); return; }
      this.later ||= setTimeout(() => { this.later = 0; this.redraw(); }, wait);
      if (this.run.follows) return; // the line of the present is where it was
    }
    const [first, last] = this.span(), span = last - first || 1, ratio = window.devicePixelRatio || 1;
    for (const panel of this.panels) {
      if (!panel.span || !panel.canvas.width) continue;
      const pen = panel.canvas.getContext("2d"), [left, right] = panel.span;
      pen.setTransform(1, 0, 0, 1, 0, 0);
      pen.clearRect(0, 0, panel.canvas.width, panel.canvas.height);
      pen.drawImage(panel.still, 0, 0);
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.hair(pen, panel, left + (time - first) / span * (right - left), "#c0392b");
      if (panel.hover !== undefined) this.hair(pen, panel, left + (panel.hover - first) / span * (right - left), paint("dim"));
      for (const curve of panel.curves) {
        const value = this.run.value(curve.channel);
        curve.value.textContent = brief(value, 5);
        if (this.compared?.has(curve.channel) && time <= this.compared.last && this.run.follows) {
          const apart = Math.abs(value - this.compared.value(curve.channel, time));
          curve.apart.textContent = isFinite(apart) ? `Δ ${brief(apart, 2)}` : "";
        } else curve.apart.textContent = "";
      }
    }
  }

  hair(pen, panel, x, colour) {
    if (x < panel.span[0] - 1 || x > panel.span[1] + 1) return;
    pen.strokeStyle = colour;
    pen.beginPath();
    pen.moveTo(x, panel.height[0]);
    pen.lineTo(x, panel.height[1]);
    pen.stroke();
  }

  // The drawn channels as text, one row for each instant that is here.
  csv() {
    const { run } = this, chosen = this.chosen.filter((channel) => run.has(channel));
    const quote = (text) => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    const lines = [["time", ...chosen.map((channel) => this.data.channels[channel].name)].map(quote).join(",")];
    for (let k = 0; k < run.count; k++) lines.push([run.timeAt(k), ...chosen.map((channel) => run.valueAt(channel, k))].join(","));
    return lines.join("\n") + "\n";
  }

  save() {
    if (!this.chosen.length) { tell("There is no curve to keep."); return; }
    download(`${this.data.model}.csv`, this.csv(), "text/csv");
    tell(`${this.chosen.length} channels at ${this.run.count} instants`);
  }
}

// Round numbers between two others, about `count` of them.
function nice(low, high, count) {
  if (!(high > low)) return [low];
  const raw = (high - low) / count, size = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((f) => f * size).find((f) => f >= raw * 0.999);
  const result = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) result.push(k * step);
  return result;
}

function short(value, among) {
  const step = among.length > 1 ? Math.abs(among[1] - among[0]) : Math.abs(value) || 1;
  const largest = Math.max(...among.map(Math.abs));
  if (largest >= 1e5 || largest < 1e-3 && largest > 0) return value === 0 ? "0" : value.toExponential(1);
  return value.toFixed(Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9))));
}

// Channels over time, a panel for each unit, with a line at the present time; a click there goes to that time.
"use strict";

const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A6D3B"];

class Curves {
  constructor(data, seek) {
    this.data = data;
    this.seek = seek;
    this.time = 0;
    this.times = data.arrays.instants;
    this.chosen = data.chosen.slice();
    this.panels = [];
    const list = document.getElementById("names"), add = document.getElementById("add");
    for (const { name } of data.channels) { const option = document.createElement("option"); option.value = name; list.append(option); }
    add.addEventListener("change", () => {
      const index = data.channels.findIndex((channel) => channel.name === add.value.trim());
      if (index >= 0 && !this.chosen.includes(index)) { this.chosen.push(index); this.lay(); }
      if (index >= 0) add.value = "";
    });
    this.lay();
  }

  values(index) {
    return this.data.arrays.curves.subarray(index * this.times.length, (index + 1) * this.times.length);
  }

  lay() {
    const place = document.getElementById("panels"), groups = new Map();
    place.replaceChildren();
    this.panels = [];
    this.chosen.forEach((index, order) => {
      const { unit } = this.data.channels[index];
      if (!groups.has(unit)) groups.set(unit, []);
      groups.get(unit).push({ index, colour: COLOURS[order % COLOURS.length] });
    });
    for (const [unit, curves] of groups) {
      const box = document.createElement("div"), canvas = document.createElement("canvas");
      box.className = "panel";
      box.append(canvas);
      for (const curve of curves) box.append(this.label(curve));
      place.append(box);
      const panel = { canvas, unit, curves, still: document.createElement("canvas") };
      const go = (event) => {
        const box = canvas.getBoundingClientRect(), [left, right] = panel.span;
        const share = Math.min(1, Math.max(0, (event.clientX - box.left - left) / (right - left)));
        this.seek(this.times[0] + share * (this.times[this.times.length - 1] - this.times[0]));
      };
      canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); go(event); });
      canvas.addEventListener("pointermove", (event) => { if (event.buttons) go(event); });
      this.panels.push(panel);
    }
    this.resize();
  }

  label(curve) {
    const row = document.createElement("div"), mark = document.createElement("i"), name = document.createElement("span");
    const value = document.createElement("span"), away = document.createElement("button");
    row.className = "curve";
    mark.style.background = curve.colour;
    name.className = "channel";
    name.textContent = name.title = this.data.channels[curve.index].name;
    value.className = "value";
    away.textContent = "×";
    away.title = "remove";
    away.addEventListener("click", () => { this.chosen = this.chosen.filter((index) => index !== curve.index); this.lay(); });
    curve.value = value;
    row.append(mark, name, value, away);
    return row;
  }

  resize() {
    for (const panel of this.panels) {
      const ratio = window.devicePixelRatio || 1, width = panel.canvas.clientWidth, height = panel.canvas.clientHeight;
      for (const sheet of [panel.canvas, panel.still]) { sheet.width = width * ratio; sheet.height = height * ratio; }
      if (width) this.paint(panel, width, height, ratio);
    }
    this.at(this.time);
  }

  paint(panel, width, height, ratio) {
    const pen = panel.still.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "11px system-ui, sans-serif";
    let low = Infinity, high = -Infinity;
    for (const { index } of panel.curves) for (const v of this.values(index)) if (isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
    if (!(high >= low)) [low, high] = [0, 1];
    if (high - low < 1e-12 * Math.max(1e-300, Math.abs(high))) { const pad = Math.abs(high) * 0.1 || 1; low -= pad; high += pad; }
    const ticks = nice(low, high, 4), labels = ticks.map((v) => short(v, ticks));
    const left = Math.max(...labels.map((text) => pen.measureText(text).width), 18) + 10, right = width - 8, top = 18, bottom = height - 18;
    const first = this.times[0], last = this.times[this.times.length - 1], span = last - first || 1;
    const X = (t) => left + (t - first) / span * (right - left), Y = (v) => bottom - (v - low) / (high - low) * (bottom - top);
    panel.span = [left, right];
    panel.height = [top, bottom];
    pen.strokeStyle = "#e1e6eb";
    pen.fillStyle = "#5a6470";
    pen.textAlign = "right";
    ticks.forEach((v, k) => { pen.beginPath(); pen.moveTo(left, Y(v)); pen.lineTo(right, Y(v)); pen.stroke(); pen.fillText(labels[k], left - 5, Y(v) + 4); });
    pen.textAlign = "center";
    const marks = nice(first, last, 5);
    marks.forEach((t) => { pen.beginPath(); pen.moveTo(X(t), top); pen.lineTo(X(t), bottom); pen.stroke(); pen.fillText(short(t, marks), Math.min(X(t), right - 6), height - 4); });
    pen.textAlign = "left";
    pen.fillText(panel.unit ? `[${panel.unit}]` : "[-]", left, 11);
    for (const { index, colour } of panel.curves) {
      const values = this.values(index);
      pen.strokeStyle = colour;
      pen.lineWidth = 1.4;
      pen.beginPath();
      let down = false;
      for (let k = 0; k < values.length; k++) {
        if (!isFinite(values[k])) { down = false; continue; }
        if (down) pen.lineTo(X(this.times[k]), Y(values[k])); else pen.moveTo(X(this.times[k]), Y(values[k]));
        down = true;
      }
      pen.stroke();
      pen.lineWidth = 1;
    }
  }

  at(time) {
    this.time = time;
    if (!this.times.length) return;
    const [row, share] = locate(this.times, time), next = Math.min(row + 1, this.times.length - 1);
    const span = this.times[this.times.length - 1] - this.times[0] || 1;
    for (const panel of this.panels) {
      if (!panel.span || !panel.canvas.width) continue;
      const pen = panel.canvas.getContext("2d"), ratio = window.devicePixelRatio || 1, [left, right] = panel.span;
      pen.setTransform(1, 0, 0, 1, 0, 0);
      pen.clearRect(0, 0, panel.canvas.width, panel.canvas.height);
      pen.drawImage(panel.still, 0, 0);
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      const x = left + (time - this.times[0]) / span * (right - left);
      pen.strokeStyle = "#c0392b";
      pen.beginPath();
      pen.moveTo(x, panel.height[0]);
      pen.lineTo(x, panel.height[1]);
      pen.stroke();
      for (const curve of panel.curves) {
        const values = this.values(curve.index);
        curve.value.textContent = (values[row] + share * (values[next] - values[row])).toPrecision(5);
      }
    }
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

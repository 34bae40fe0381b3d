// The components as a tree: show and hide them, and light up what is meant.
"use strict";

class Tree {
  constructor(data, machine) {
    this.data = data;
    this.machine = machine;
    this.hidden = new Set();
    this.kindsOff = new Set();
    this.lit = null;
    this.rows = new Map();
    const root = { name: "", path: "", inner: new Map(), part: null };
    data.parts.forEach((part, index) => {
      let node = root, path = "";
      for (const name of part.path.split(".")) {
        path = path ? `${path}.${name}` : name;
        if (!node.inner.has(name)) node.inner.set(name, { name, path, inner: new Map(), part: null });
        node = node.inner.get(name);
      }
      node.part = index;
    });
    const place = document.getElementById("nodes");
    for (const node of root.inner.values()) place.append(this.element(node, 0));
    this.kinds();
  }

  element(node, depth) {
    const box = document.createElement("div"), row = document.createElement("div"), caret = document.createElement("button");
    const check = document.createElement("input"), name = document.createElement("span"), type = document.createElement("span");
    box.className = "node";
    row.className = "row";
    caret.className = "caret";
    check.type = "checkbox";
    check.checked = true;
    check.dataset.path = node.path;
    check.title = `show ${node.path}`;
    name.className = "name";
    name.textContent = node.name;
    name.dataset.path = node.path;
    type.className = "type";
    type.textContent = node.part === null ? "" : this.data.parts[node.part].type;
    row.append(caret, check, name, type);
    box.append(row);
    this.rows.set(node.path, { row, check, box });
    check.addEventListener("change", () => this.show(node.path, check.checked));
    name.addEventListener("click", () => this.light(this.lit === node.path ? null : node.path));
    if (node.inner.size) {
      const inner = document.createElement("div");
      inner.className = "inner";
      for (const child of node.inner.values()) inner.append(this.element(child, depth + 1));
      box.append(inner);
      const open = (yes) => { box.classList.toggle("closed", !yes); caret.textContent = yes ? "▾" : "▸"; };
      open(depth < 1 && this.data.parts.length < 60);
      caret.addEventListener("click", () => open(box.classList.contains("closed")));
    }
    return box;
  }

  kinds() {
    const place = document.getElementById("kinds"), names = new Map([["body", "bodies"], ["joint", "joints"], ["force", "forces"]]);
    const groups = new Map([["ground", "body"], ["constraint", "joint"], ["coupling", "force"]]);
    const group = (kind) => groups.get(kind) || kind;
    this.group = group;
    const box = (kind, text, checked, change) => {
      const label = document.createElement("label"), check = document.createElement("input");
      check.type = "checkbox";
      check.checked = checked;
      check.dataset.kind = kind;
      check.addEventListener("change", () => change(check.checked));
      label.append(check, ` ${text}`);
      place.append(label);
    };
    for (const kind of new Set(this.data.parts.map((part) => group(part.kind)))) {
      box(kind, names.get(kind) || kind, true, (yes) => { this.kindsOff[yes ? "delete" : "add"](kind); this.apply(); });
    }
    box("glass", "x-ray", false, (yes) => this.machine.glass(yes));
  }

  below(path) {
    return this.data.parts.flatMap((part, index) => part.path === path || part.path.startsWith(`${path}.`) ? [index] : []);
  }

  show(path, visible) {
    for (const [other, { check }] of this.rows) {
      if (other === path || other.startsWith(`${path}.`)) check.checked = visible;
    }
    for (const part of this.below(path)) this.hidden[visible ? "delete" : "add"](part);
    this.apply();
  }

  apply() {
    this.data.parts.forEach((part, index) => {
      this.machine.show(index, !this.hidden.has(index) && !this.kindsOff.has(this.group(part.kind)));
    });
  }

  light(path) {
    this.lit = path;
    for (const [other, { row }] of this.rows) row.classList.toggle("lit", other === path);
    const picked = document.getElementById("picked");
    const parts = path ? this.below(path) : [];
    const one = path && parts.length === 1 && this.data.parts[parts[0]].path === path ? this.data.parts[parts[0]] : null;
    const miss = one && Object.hasOwn(this.data.violated, path) ? this.data.violated[path] : 0;
    picked.textContent = path ? path + (one ? ` (${one.type})` : "") + (miss ? `, missed by ${miss.toPrecision(3)}` : "") : "";
    picked.style.display = path ? "block" : "none";
    this.machine.light(parts);
  }
}

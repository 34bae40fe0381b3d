// The components as a tree: show and hide them, and say which is meant.
"use strict";

class Tree {
  constructor(data, machine, chosen) {
    Object.assign(this, { data, machine, chosen, hidden: new Set(), kindsOff: new Set(), lit: null, rows: new Map() });
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
    this.nodes = new Map();
    const place = get("nodes");
    for (const node of root.inner.values()) place.append(this.element(node, 0));
    this.kinds();
  }

  element(node, depth) {
    const type = node.part === null ? "" : this.data.parts[node.part].type;
    const caret = make("button", { className: "caret", ariaLabel: `open ${node.name}` });
    const check = make("input", { type: "checkbox", checked: true, title: `show ${node.path}`, ariaLabel: `show ${node.path}`, dataset: { path: node.path }, onchange: () => this.show(node.path, check.checked) });
    const name = make("button", { className: "name", textContent: node.name, dataset: { path: node.path }, onclick: () => this.light(this.lit === node.path ? null : node.path) });
    const row = make("div", { className: "row" }, caret, check, name, make("span", { className: "type", textContent: type }));
    const box = make("div", { className: "node", role: "treeitem", ariaSelected: "false" }, row);
    this.rows.set(node.path, { row, check, box });
    if (!node.inner.size) { caret.disabled = true; caret.setAttribute("aria-hidden", "true"); return box; }
    const inner = make("div", { className: "inner", role: "group" });
    let filled = false; // branches are made when they are opened: a machine may have thousands
    const open = (yes) => {
      if (yes && !filled) { filled = true; for (const child of node.inner.values()) inner.append(this.element(child, depth + 1)); this.refresh(); }
      box.classList.toggle("closed", !yes);
      box.setAttribute("aria-expanded", String(yes));
      caret.textContent = yes ? "▾" : "▸";
    };
    this.nodes.set(node.path, open);
    open(depth < 1 && this.data.parts.length < 60);
    caret.addEventListener("click", () => open(box.classList.contains("closed")));
    box.append(inner);
    return box;
  }

  kinds() {
    const place = get("kinds"), names = new Map([["body", "bodies"], ["joint", "joints"], ["force", "forces"]]);
    const groups = new Map([["ground", "body"], ["constraint", "joint"], ["coupling", "force"]]);
    this.group = (kind) => groups.get(kind) || kind;
    const box = (kind, text, checked, change) => {
      const check = make("input", { type: "checkbox", checked, dataset: { kind }, onchange: () => change(check.checked) });
      place.append(make("label", {}, check, ` ${text}`));
    };
    for (const kind of new Set(this.data.parts.map((part) => this.group(part.kind)))) {
      box(kind, names.get(kind) || kind, true, (yes) => { this.kindsOff[yes ? "delete" : "add"](kind); this.apply(); });
    }
    box("glass", "x-ray", false, (yes) => this.machine.glass(yes));
  }

  below(path) {
    return this.data.parts.flatMap((part, index) => part.path === path || part.path.startsWith(`${path}.`) ? [index] : []);
  }

  show(path, visible) {
    for (const part of this.below(path)) this.hidden[visible ? "delete" : "add"](part);
    this.apply();
  }

  // Only what lies below a path; null: everything.
  only(path) {
    const kept = path === null ? null : new Set(this.below(path));
    this.data.parts.forEach((_, part) => this.hidden[kept && !kept.has(part) ? "add" : "delete"](part));
    this.apply();
  }

  apply() {
    this.data.parts.forEach((part, index) => {
      this.machine.show(index, !this.hidden.has(index) && !this.kindsOff.has(this.group(part.kind)));
    });
    this.machine.placeAgain?.();
    this.refresh();
  }

  refresh() {
    for (const [path, { check, row, box }] of this.rows) {
      const parts = this.below(path);
      check.checked = parts.some((part) => !this.hidden.has(part));
      check.indeterminate = check.checked && parts.some((part) => this.hidden.has(part));
      row.classList.toggle("lit", path === this.lit);
      box.setAttribute("aria-selected", String(path === this.lit));
    }
  }

  light(path) {
    this.lit = path;
    if (path) {
      const names = path.split(".");
      names.slice(0, -1).forEach((_, k) => this.nodes.get(names.slice(0, k + 1).join("."))?.(true));
    }
    this.refresh();
    this.machine.light(path ? this.below(path) : []);
    if (path) this.rows.get(path)?.row.scrollIntoView({ block: "nearest" });
    this.chosen(path);
  }
}

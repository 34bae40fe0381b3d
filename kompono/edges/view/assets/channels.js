// Find channels by parts of their names, in any order, among all there are: "left force z".
"use strict";

const LISTED = 150;

class ChannelSearch {
  constructor(data, choose) {
    Object.assign(this, { data, choose, found: [], active: 0 });
    this.lower = data.channels.map(({ name }) => name.toLowerCase());
    this.field = get("add");
    this.list = get("found");
    this.field.placeholder = `find among ${data.channels.length} channels`;
    this.field.addEventListener("input", () => this.search());
    this.field.addEventListener("focus", () => this.search());
    this.field.addEventListener("blur", () => setTimeout(() => this.close(), 150));
    this.field.addEventListener("keydown", (event) => this.key(event));
  }

  matches(text) {
    const words = text.toLowerCase().split(/[\s*]+/).filter(Boolean), found = [];
    this.lower.forEach((name, k) => { if (words.every((word) => name.includes(word))) found.push(k); });
    return found;
  }

  search() {
    this.found = this.matches(this.field.value);
    this.active = 0;
    this.show();
  }

  show() {
    const rows = this.found.slice(0, LISTED).map((channel, k) => {
      const { name, unit } = this.data.channels[channel];
      return make("li", {
        role: "option", ariaSelected: String(k === this.active), title: name, className: k === this.active ? "active" : "",
        onpointerdown: (event) => { event.preventDefault(); this.take(channel); },
      }, make("span", { textContent: name }), make("em", { textContent: unit }));
    });
    if (!rows.length) rows.push(make("li", { className: "none", textContent: "no channel has all of these in its name" }));
    if (this.found.length > LISTED) rows.push(make("li", { className: "none", textContent: `and ${this.found.length - LISTED} more` }));
    this.list.replaceChildren(...rows);
    this.list.hidden = false;
    this.field.setAttribute("aria-expanded", "true");
  }

  close() {
    this.list.hidden = true;
    this.field.setAttribute("aria-expanded", "false");
  }

  take(channel) {
    this.choose(channel);
    this.field.select();
  }

  key(event) {
    event.stopPropagation();
    const last = Math.min(this.found.length, LISTED) - 1;
    if (event.key === "Escape") { this.field.value = ""; this.close(); this.field.blur(); }
    else if (event.key === "Enter" && this.found.length) this.take(this.found[this.active]);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      this.active = Math.max(0, Math.min(last, this.active + (event.key === "ArrowDown" ? 1 : -1)));
      this.show();
      this.list.children[this.active]?.scrollIntoView({ block: "nearest" });
    }
  }
}

// Small helpers for what is on the page. Names of a model are always text, never markup.
"use strict";

const get = (id) => document.getElementById(id);

// An element with properties, a class and children (elements or text).
function make(tag, { className, dataset, ...properties } = {}, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  Object.assign(made.dataset, dataset || {});
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name.startsWith("aria") || name === "role" || name === "list") made.setAttribute(name.replace(/^aria/, "aria-").toLowerCase(), value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

// A number in few letters.
function brief(value, digits = 4) {
  if (!isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size < 1e-12) return "0";
  return size >= 1e5 || size < 1e-3 ? value.toExponential(digits - 2) : String(Number(value.toPrecision(digits)));
}

// Let somebody keep bytes or text as a file.
function download(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// Say something for a while, also to those who listen.
function tell(text) {
  const place = get("said");
  place.textContent = text;
  place.classList.add("seen");
  clearTimeout(tell.timer);
  tell.timer = setTimeout(() => place.classList.remove("seen"), 3500);
}

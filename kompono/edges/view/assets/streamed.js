// A run that goes on in another process and is shown here: rows come as they are made, orders go back.
"use strict";

class StreamedRun extends LiveRun {
  constructor(data) {
    super(data, data.living);
    this.parameters = data.living.parameters;
    this.inputs = data.living.inputs;
    this.watched = data.living.watched; // nobody here can steer it
    this.hand = null;
    this.failure = "";
    this.fresh = false;
    this.rate = 1;
    this.waits = false;
    this.received = 0;
    this.source = new EventSource("/stream");
    this.source.addEventListener("message", (event) => this.hear(JSON.parse(event.data)));
    this.source.addEventListener("error", () => { document.getElementById("note").textContent = "no connection"; });
    this.source.addEventListener("open", () => { document.getElementById("note").textContent = ""; });
  }

  hear(message) {
    if (message.over) { location.reload(); return; }
    if (message.begin) { this.history.clear(); this.failure = ""; this.follows = true; this.begun = message.begin; }
    if (message.failure !== undefined) { this.failure = message.failure; this.fresh = true; tell(message.failure); }
    if (message.rate !== undefined) this.rate = message.rate;
    if (message.row === undefined) return;
    const bytes = Uint8Array.from(atob(message.row), (letter) => letter.charCodeAt(0));
    const row = new Float32Array(bytes.buffer);
    if (row.length !== this.width) return;
    this.note(message.time, row);
    this.received += 1;
    if (this.hand) this.hand.wrench(row, this.hand.strength); // what is written beside the mouse
    this.fresh = true;
  }

  // Whether something came since this was last asked.
  news() {
    if (!this.fresh) return false;
    this.fresh = false;
    if (this.follows || !this.waits) this.seek(this.last);
    return true;
  }

  advance() {
    this.news();
    return !this.failure;
  }

  order(words) { return fetch("/tell", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(words) }).catch(() => {}); }
  paused(yes) { if (this.waits !== yes) { this.waits = yes; if (!this.watched) this.order({ do: yes ? "pause" : "play" }); } }
  paced(speed) { this.order({ do: "speed", value: speed }); }
  step() { this.follows = true; this.order({ do: "step" }); }
  begin() { this.order({ do: "reset" }); }
  setInput(index, value) { this.order({ do: "input", name: this.inputs[index].name, value }); }
  setParameter(index, value) { this.order({ do: "parameter", name: this.parameters[index].name, value }); }

  grab(carrier, local, target) {
    const { path } = this.data.carriers[carrier];
    if (!this.facts.pulls.includes(path)) return null;
    this.hand = new Hand(this, carrier, local, target);
    this.order({ do: "grab", body: path, local: local.toArray(), target: target.toArray() });
    return this.hand;
  }

  moved() { this.order({ do: "move", target: this.hand.target.toArray(), strength: this.hand.strength }); }

  letGo() {
    this.hand = null;
    this.order({ do: "drop" });
  }
}

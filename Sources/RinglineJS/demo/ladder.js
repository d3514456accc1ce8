// The ladder of each call: who told whom what, row by row, while it happens.
import { verdict } from "./server.js";

const LANES = 4;
const SERVER = 1;
const PUSH = 2;
// Events at the server alone, in plain words.
const NOTES = {
  blocked: "blocked: not shown",
  dnd: "do not disturb",
  no_device: "no device to ring",
  name_taken: "callId is taken",
  crowded: "too many callers",
  restarted: "server restarted",
  "push.cancelled": "push cancelled",
  logged_out: "tokens revoked",
};

/** The ladders of all calls, the newest first. `people` are the two users, in the order of their lanes. */
export class Ladders {
  #root;
  #people;
  #calls = new Map();

  constructor(root, people) {
    this.#root = root;
    this.#people = people;
  }

  /** Adds an event of a call. */
  add(event) {
    const key = `${event.callId}/${event.epoch}`;
    let ladder = this.#calls.get(key);
    if (ladder === undefined) {
      for (const other of this.#calls.values()) if (other.isOver) other.fold();
      ladder = new Ladder(event, this.#people);
      this.#calls.set(key, ladder);
      this.#root.prepend(ladder.element);
    }
    ladder.add(event);
  }

  /** Adds what the page itself sees: the push service has woken a device for the call. */
  woken(callId, user) {
    for (const [key, ladder] of this.#calls) if (key.startsWith(`${callId}/`)) ladder.woken(user);
  }
}

class Ladder {
  element = element("details", "call");
  isOver = false;
  #people;
  #begin;
  #rows = element("ol", "rows");
  #verdict = element("div", "verdict");
  #last = null;
  #asked = 0;

  constructor(event, people) {
    this.#people = people;
    this.#begin = event;
    const [caller, callee] = [event.caller, event.callee].map((id) => people.find((user) => user.id === id)?.name ?? id);
    const lanes = element("div", "lanes");
    for (const name of [people[0].name, "Server", "Push service", people[1].name]) lanes.append(element("span", "", name));
    this.#verdict.hidden = true;
    this.#verdict.setAttribute("role", "status");
    this.element.open = true;
    this.element.append(element("summary", "", `${caller} calls ${callee}`), lanes, this.#rows, this.#verdict);
  }

  fold() {
    this.element.open = false;
  }

  add(event) {
    const mine = this.#laneOf(event.side === "caller" ? event.caller : event.callee);
    const device = this.#laneOf(this.#people.find((user) => user.device === event.device)?.id);
    const name = event.event.replace("signal.", "");
    if (event.event === "offer") this.#arrow(event, name, mine, SERVER);
    else if (event.event.startsWith("signal.")) this.#arrow(event, name, mine, LANES - 1 - mine);
    else if (event.event === "delivered.socket") this.#arrow(event, "offer", SERVER, device);
    else if (event.event === "fetched") this.#arrow(event, "fetch", device, SERVER);
    else if (event.event === "probe") this.#arrow(event, "ping", SERVER, device, "faint");
    else if (event.event === "probe.failed") this.#note(event, "no answer", device, "bad");
    else if (event.event === "push.sent") this.#arrow(event, event.kind === "voip" ? "push" : `${event.kind} push`, SERVER, PUSH);
    else if (event.event === "push.result") this.#result(event);
    else if (event.event === "ended") this.#note(event, `ended: ${event.reason.replace("_", " ")}`, SERVER, "end");
    else this.#note(event, NOTES[event.event] ?? event.event, SERVER, "bad");
    if (event.event === "ended") this.isOver = true;
    if (this.isOver) this.#judge();
  }

  woken(user) {
    this.#arrow({ offset: Date.now() - this.#begin.at + this.#begin.offset }, "wakes the app", PUSH, this.#laneOf(user));
  }

  #laneOf(user) {
    return user === this.#people[0].id ? 0 : LANES - 1;
  }

  #result(event) {
    const isGood = event.status === 200;
    this.#arrow(event, `${event.status ?? ""} ${event.reason ?? ""}`.trim(), PUSH, SERVER, isGood ? "good" : "bad");
  }

  #arrow(event, text, from, to, look = "") {
    // Many candidates in a row are one row.
    if (this.#last?.text === text && this.#last.from === from && text === "ice") {
      this.#last.count += 1;
      this.#last.label.textContent = `${text} ×${this.#last.count}`;
      return;
    }
    const line = element("div", `arrow ${to > from ? "right" : "left"} ${look}`);
    const label = element("span", "", text);
    line.append(label);
    this.#place(line, Math.min(from, to) + 1, Math.max(from, to) + 1);
    this.#row(event, line);
    this.#last = { text, from, label, count: 1 };
  }

  #note(event, text, lane, look) {
    const line = element("div", `note ${look}`);
    line.append(element("span", "", text));
    this.#place(line, lane + 1, lane + 2);
    this.#row(event, line);
    this.#last = null;
  }

  #place(line, from, to) {
    line.dataset.from = from;
    line.dataset.to = to;
  }

  #row(event, line) {
    const row = element("li", "row");
    row.append(element("time", "", `${(event.offset / 1000).toFixed(2)} s`), line);
    this.#rows.append(row);
  }

  async #judge() {
    const asked = ++this.#asked;
    const sentences = await verdict(this.#begin);
    if (asked !== this.#asked) return;
    this.#verdict.replaceChildren(element("b", "", "Verdict"), ...sentences.map((text) => element("p", "", text)));
    this.#verdict.hidden = false;
  }
}

function element(name, className = "", text) {
  const made = document.createElement(name);
  if (className !== "") made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

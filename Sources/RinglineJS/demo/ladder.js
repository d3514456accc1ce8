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

/**
 * The ladders of all calls, the newest first. `people` are the two users, in the order of their lanes, and `devices` all
 * their devices.
 */
export class Ladders {
  #root;
  #people;
  #devices;
  #calls = new Map();

  constructor(root, people, devices) {
    this.#root = root;
    this.#people = people;
    this.#devices = devices;
  }

  /** Adds an event of a call. */
  add(event) {
    const key = `${event.callId}/${event.epoch}`;
    let ladder = this.#calls.get(key);
    if (ladder === undefined) {
      for (const other of this.#calls.values()) if (other.isOver) other.fold();
      ladder = new Ladder(event, this.#people, this.#devices);
      this.#calls.set(key, ladder);
      this.#root.prepend(ladder.element);
    }
    ladder.add(event);
  }

  /** Adds what the page itself sees: the push service has woken a device for the call. */
  woken(callId, device) {
    for (const [key, ladder] of this.#calls) if (key.startsWith(`${callId}/`)) ladder.woken(device);
  }
}

class Ladder {
  element = element("details", "call");
  isOver = false;
  #people;
  #devices;
  #begin;
  #rows = element("ol", "rows");
  #verdict = element("div", "verdict");
  #last = null;
  #asked = 0;

  constructor(event, people, devices) {
    this.#people = people;
    this.#devices = devices;
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
    const device = this.#laneOfDevice(event.device);
    const name = event.event.replace("signal.", "");
    const arrow = (text, from, to, look) => this.#arrow(event, this.#named(text, event.device), from, to, look);
    const note = (text, lane, look) => this.#note(event, this.#named(text, event.device), lane, look);
    if (event.event === "offer") arrow(name, mine, SERVER);
    else if (event.event.startsWith("signal.")) arrow(name, mine, LANES - 1 - mine);
    else if (event.event === "delivered.socket") arrow("offer", SERVER, device);
    else if (event.event === "fetched") arrow("fetch", device, SERVER);
    else if (event.event === "probe") arrow("ping", SERVER, device, "faint");
    else if (event.event === "probe.failed") note("no answer", device, "bad");
    else if (event.event === "push.sent") arrow(event.kind === "voip" ? "push" : `${event.kind} push`, SERVER, PUSH);
    else if (event.event === "push.result") arrow(this.#result(event), PUSH, SERVER, event.status === 200 ? "good" : "bad");
    else if (event.event === "ended") note(`ended: ${event.reason.replace("_", " ")}`, SERVER, "end");
    else note(NOTES[event.event] ?? event.event, SERVER, "bad");
    if (event.event === "ended") this.isOver = true;
    if (this.isOver) this.#judge();
  }

  woken(device) {
    const offset = Date.now() - this.#begin.at + this.#begin.offset;
    this.#arrow({ offset }, this.#named("wakes the app", device), PUSH, this.#laneOfDevice(device));
  }

  /** Adds which device it is, unless it is the user's phone. */
  #named(text, device) {
    const kind = this.#devices.find((known) => known.device === device)?.kind ?? "phone";
    return kind === "phone" ? text : `${text} (${kind})`;
  }

  #laneOfDevice(device) {
    return this.#laneOf(this.#devices.find((known) => known.device === device)?.id);
  }

  #laneOf(user) {
    return user === this.#people[0].id ? 0 : LANES - 1;
  }

  #result({ status, reason }) {
    return `${status ?? ""} ${reason ?? ""}`.trim();
  }

  #arrow(event, text, from, to, look = "") {
    // Many candidates in a row are one row.
    if (this.#last?.text === text && this.#last.from === from && text.startsWith("ice")) {
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

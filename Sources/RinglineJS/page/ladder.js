// The ladder of one call: who told whom what, row by row.

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
const PUSHES = { voip: "push", firebase: "push", web: "push", alert: "alert", missed: "missed call", over: "call over" };
// Frequent events of little interest: those of one kind and device share a row, as long as nothing else happens.
const NUMEROUS = new Set(["signal.ice", "signal.info", "signal.dtmf", "signal.update", "fetched"]);

/** The ladder of one call. All texts come from outside, and are inserted as texts. */
export class Ladder {
  /** The element to show. */
  element = element("div", "ladder");
  /** Whether the call has ended. */
  isOver = false;
  #lanes;
  #laneOf;
  #isRelayed;
  #textOf;
  #rows = element("ol", "rows");
  #verdict = element("div", "verdict");
  #run = new Map();
  #last = null;

  /**
   * `lanes` are the names of the columns: the second one is the server, the third one the push service. `laneOf`
   * returns the column of the device that an event concerns. `isRelayed`: whether a signal's arrow goes on to the other
   * side, where there are two columns of devices only. `textOf` returns the text for an event, if more than the usual one
   * is to be shown.
   */
  constructor({ lanes, laneOf, isRelayed = false, textOf = (event, text) => text }) {
    this.#lanes = lanes;
    this.#laneOf = laneOf;
    this.#isRelayed = isRelayed;
    this.#textOf = textOf;
    this.element.style.setProperty("--lanes", lanes.length);
    this.element.style.setProperty("--columns", 2 * lanes.length);
    const heads = element("div", "lanes");
    for (const name of lanes) heads.append(element("span", "", name));
    this.#verdict.hidden = true;
    this.#verdict.setAttribute("role", "status");
    this.element.append(heads, this.#rows, this.#verdict);
  }

  /** Adds an event of the call's timeline. */
  add(event) {
    const lane = this.#laneOf(event);
    const { event: name, count } = event;
    if (name === "offer") this.arrow(event, "offer", lane, SERVER);
    else if (name.startsWith("signal.")) this.#signal(event, lane);
    else if (name === "delivered.socket") this.arrow(event, "offer", SERVER, lane);
    else if (name === "fetched") this.arrow(event, "fetch", lane, SERVER);
    else if (name === "probe") this.arrow(event, "ping", SERVER, lane, "faint");
    else if (name === "probe.failed") this.#note(event, "no answer", lane, "bad");
    else if (name === "device.silenced") this.arrow(event, `silenced: ${event.why}`, lane, SERVER, "bad");
    else if (name === "push.lowered") this.arrow(event, "low priority", lane, SERVER, "bad");
    else if (name === "push.sent") this.arrow(event, PUSHES[event.kind] ?? event.kind, SERVER, PUSH);
    else if (name === "push.result") this.#result(event);
    else if (name === "repeated") this.#note(event, `${event.of} ×${count} more`, lane, "");
    else if (name === "omitted") this.#note(event, `${count} events left out`, SERVER, "");
    else if (name === "ring.refused") this.#note(event, `ring of ${event.from} refused${times(count)}`, SERVER, "bad");
    else if (name === "scheduled") this.#note(event, `scheduled, ring ${event.ring}`, SERVER, "");
    else if (name === "blocked" && event.by === "number") this.#note(event, "number blocked", SERVER, "bad");
    else if (name === "ring.skipped") this.#note(event, `ring skipped: ${event.why}`, SERVER, "bad");
    else if (name === "taken_over") this.#note(event, `taken over by ${event.node}`, SERVER, "bad");
    else if (name === "ended") this.#note(event, `ended: ${event.reason.replaceAll("_", " ")}`, SERVER, "end");
    else this.#note(event, NOTES[name] ?? name, SERVER, "bad");
    if (name === "ended") this.isOver = true;
  }

  /** Shows the sentences of the verdict below the rows. */
  judge(sentences) {
    this.#verdict.replaceChildren(element("b", "", "Verdict"), ...sentences.map((text) => element("p", "", text)));
    this.#verdict.hidden = false;
  }

  /** Adds an arrow from one column to another; `event` has its `offset`, and for the timeline's events a name. */
  arrow(event, text, from, to, look = "") {
    const key = `${event.event} ${event.side} ${event.device}`;
    const shown = this.#textOf(event, text);
    const row = this.#run.get(key);
    if (row !== undefined) {
      row.count += 1;
      row.label.textContent = shown + times(row.count);
      return;
    }
    const line = element("div", `arrow ${to > from ? "right" : "left"} ${look}`);
    const label = element("span", "", shown);
    line.append(label);
    line.style.gridColumn = `${2 * Math.min(from, to) + 2} / ${2 * Math.max(from, to) + 2}`;
    this.#row(event, line);
    if (NUMEROUS.has(event.event)) this.#run.set(key, { label, count: 1 });
    else this.#run.clear();
  }

  #signal(event, lane) {
    const peer = this.#lanes.length - 1 - lane;
    this.arrow(event, event.event.replace("signal.", ""), lane, this.#isRelayed ? peer : SERVER);
  }

  #result(event) {
    const isGood = event.status === 200;
    const text = `${event.status ?? "failed"} ${event.status === undefined ? "" : (event.reason ?? "")}`.trim();
    this.arrow(event, text, PUSH, SERVER, isGood ? "good" : "bad");
  }

  #note(event, text, lane, look) {
    // A node that takes a call over also restarts it: one row says so.
    if (event.event === "taken_over" && this.#last?.event === "restarted") this.#last.row.remove();
    const line = element("div", `note ${look}`);
    line.append(element("span", "", this.#textOf(event, text)));
    line.style.gridColumn = `${2 * lane + 1} / ${2 * lane + 3}`;
    this.#row(event, line);
    this.#run.clear();
  }

  #row(event, line) {
    const row = element("li", "row");
    row.append(element("time", "", `${(event.offset / 1000).toFixed(2)} s`), line);
    this.#rows.append(row);
    this.#last = { event: event.event, row };
  }
}

/** Returns a new element with this class and this text. */
export function element(name, className = "", text) {
  const made = document.createElement(name);
  if (className !== "") made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function times(count) {
  return count > 1 ? ` ×${count}` : "";
}

// The ladders of all calls, while they happen.
import { Ladder, element } from "/page/ladder.js";
import * as server from "./server.js";

/** How long to wait before the call is read again, if the server has not yet stored all that it has told. */
const RETRY = 100;
const MOST_TRIES = 20;

/** The ladders of all calls, the newest first. `people` are the two users, in the order of their phones. */
export class Ladders {
  #root;
  #people;
  #calls = new Map();

  constructor(root, people) {
    this.#root = root;
    this.#people = people;
  }

  /** Takes an event of a call: its ladder has grown. */
  add(event) {
    this.#call(event).add();
  }

  /** Takes what the page itself sees: the push service has woken a device for a call. */
  async woken(event) {
    await server.woken(event.device, event.callId);
    this.#call(event).show();
  }

  /** The four lanes of a call that nobody has begun. */
  empty() {
    const [left, right] = this.#people.map(({ name, devices }) => ({ name: `${name}'s ${devices[0].kind}` }));
    const ladder = new Ladder();
    ladder.element.classList.add("empty");
    ladder.show({ lanes: [left, { name: "server" }, { name: "push service" }, right], rows: [], verdict: [], isOver: false });
    return ladder.element;
  }

  #call({ callId, epoch }) {
    const key = `${callId}/${epoch}`;
    let call = this.#calls.get(key);
    if (call === undefined) {
      for (const other of this.#calls.values()) if (other.isOver) other.element.open = false;
      call = new WatchedCall(callId, epoch, (lanes) => this.#order(lanes));
      this.#calls.set(key, call);
      this.#root.prepend(call.element);
    }
    return call;
  }

  /** Returns the columns of the lanes: those of the left phone's user come first, whoever calls. */
  #order(lanes) {
    const place = ({ user, kind }) => {
      if (user === undefined) return 1;
      const index = this.#people.findIndex(({ id }) => id === user);
      return 2 * (index === -1 ? Number(kind === "callee") : index);
    };
    const sorted = lanes.map((lane, index) => ({ index, place: place(lane) })).sort((a, b) => a.place - b.place);
    return lanes.map((_, index) => sorted.findIndex((each) => each.index === index));
  }
}

class WatchedCall {
  element = element("details", "call");
  isOver = false;
  #callId;
  #epoch;
  #ladder;
  #title = element("summary");
  #events = 0;
  #isReading = false;
  #isAskedAgain = false;

  constructor(callId, epoch, order) {
    this.#callId = callId;
    this.#epoch = epoch;
    this.#ladder = new Ladder(order);
    this.element.open = true;
    this.element.append(this.#title, this.#ladder.element);
  }

  add() {
    this.#events += 1;
    this.show();
  }

  /** Reads the call and draws it; once more if something has happened meanwhile. */
  async show() {
    this.#isAskedAgain = true;
    if (this.#isReading) return;
    this.#isReading = true;
    for (let tries = 0; this.#isAskedAgain && tries < MOST_TRIES; tries += 1) {
      this.#isAskedAgain = false;
      const call = await server.call(this.#callId, this.#epoch);
      if (call !== null) this.#draw(call);
      if (this.#isAskedAgain || (call?.count ?? 0) >= this.#events) continue;
      await new Promise((done) => setTimeout(done, RETRY));
      this.#isAskedAgain = true;
    }
    this.#isReading = false;
  }

  #draw(call) {
    this.isOver = call.isOver;
    const began = element("time", "", new Date(call.startedAt).toLocaleTimeString("en-GB"));
    began.dateTime = new Date(call.startedAt).toISOString();
    this.#title.replaceChildren(call.call, " · ", began, " · ", element("b", "", call.outcome));
    this.#ladder.show(call);
    this.#follow();
  }

  /** Keeps the newest row of a growing ladder in sight. */
  #follow() {
    const box = this.element.closest(".calls");
    const hidden = this.element.getBoundingClientRect().bottom - box.getBoundingClientRect().bottom;
    if (hidden > 0) box.scrollTop += hidden;
  }
}

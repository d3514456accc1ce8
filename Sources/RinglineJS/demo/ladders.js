// The ladders of all calls, while they happen.
import { Ladder, element } from "/page/ladder.js";
import { verdict } from "./server.js";

const CALLEE = 3;
const PUSH = 2;

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
    let call = this.#calls.get(key);
    if (call === undefined) {
      for (const other of this.#calls.values()) if (other.ladder.isOver) other.element.open = false;
      call = new WatchedCall(event, this.#people, this.#devices);
      this.#calls.set(key, call);
      this.#root.prepend(call.element);
    }
    call.add(event);
  }

  /** Adds what the page itself sees: the push service has woken a device for the call. */
  woken(callId, device) {
    for (const [key, call] of this.#calls) if (key.startsWith(`${callId}/`)) call.woken(device);
  }
}

class WatchedCall {
  element = element("details", "call");
  ladder;
  #people;
  #devices;
  #begin;
  #asked = 0;

  constructor(event, people, devices) {
    this.#people = people;
    this.#devices = devices;
    this.#begin = event;
    const [caller, callee] = [event.caller, event.callee].map((id) => people.find((user) => user.id === id)?.name ?? id);
    const lanes = [people[0].name, "Server", "Push service", people[1].name];
    this.ladder = new Ladder({
      lanes,
      laneOf: (other) => this.#laneOf(this.#partyOf(other)),
      isRelayed: true,
      textOf: (other, text) => this.#named(text, other.device),
    });
    this.element.open = true;
    this.element.append(element("summary", "", `${caller} calls ${callee}`), this.ladder.element);
  }

  add(event) {
    this.ladder.add(event);
    if (this.ladder.isOver) this.#judge();
  }

  woken(device) {
    const offset = Date.now() - this.#begin.at + this.#begin.offset;
    const lane = this.#laneOf(this.#ownerOf(device));
    this.ladder.arrow({ event: "woken", offset, device }, "wakes the app", PUSH, lane);
  }

  /** Adds which device it is, unless it is the user's phone. */
  #named(text, device) {
    const kind = this.#devices.find((known) => known.device === device)?.kind ?? "phone";
    return kind === "phone" ? text : `${text} (${kind})`;
  }

  /** Returns the user that an event concerns: who has sent the signal, or whose device it is. */
  #partyOf(event) {
    if (event.side !== undefined) return event[event.side];
    return this.#ownerOf(event.device);
  }

  #ownerOf(device) {
    return this.#devices.find((known) => known.device === device)?.id;
  }

  #laneOf(user) {
    return user === this.#people[0].id ? 0 : CALLEE;
  }

  async #judge() {
    const asked = ++this.#asked;
    const sentences = await verdict(this.#begin);
    if (asked === this.#asked) this.ladder.judge(sentences);
  }
}

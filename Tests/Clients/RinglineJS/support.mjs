// A server's socket and a media engine that do nothing by themselves, for the tests of the module.
import { readFile } from "node:fs/promises";
import { Ringline, compileCore } from "../../../Sources/Clients/RinglineJS/ringline.js";

const wasm = await compileCore(await readFile(new URL("../../../.build/wasm/ringline.wasm", import.meta.url)));

/** A token that expires in an hour. */
export const token = (exp = Math.floor(Date.now() / 1000) + 3600) =>
  ["e30", Buffer.from(JSON.stringify({ sub: "11", exp })).toString("base64url"), "signature"].join(".");

/** Returns a Ringline, of this class, with fakes: `sockets`, `requests` and `performed` show what it did. */
export async function device(options = {}, Kind = Ringline) {
  const sockets = [];
  const requests = [];
  const performed = [];
  const errors = [];
  let host;
  class FakeSocket {
    sent = [];
    isClosed = false;
    constructor(url, protocols) {
      Object.assign(this, { url, protocols });
      sockets.push(this);
    }
    send(text) {
      this.sent.push(JSON.parse(text));
    }
    close() {
      this.isClosed = true;
    }
    receive(frame) {
      this.onmessage({ data: typeof frame === "string" ? frame : JSON.stringify(frame) });
    }
    welcome(more = {}) {
      this.receive({ type: "welcome", v: 1, user: options.user ?? "11", device: "web-a", iceServers: [], ...more });
    }
    drop(code = 1006, reason = "") {
      this.onclose({ code, reason });
    }
  }
  const ringline = await Kind.create({
    url: "http://server.example:8080",
    user: "11",
    device: "web-a",
    token: async () => token(),
    wasm,
    WebSocket: FakeSocket,
    fetch: async (url, init) => {
      requests.push({ url: String(url), ...init });
      return { status: 503, text: async () => "" };
    },
    engine: (its) => {
      host = its;
      return { perform: (output) => performed.push(output), close: () => performed.push({ out: "close" }) };
    },
    ...options,
  });
  ringline.addEventListener("error", (event) => {
    event.preventDefault();
    errors.push(event.error);
  });
  await settled();
  return { ringline, sockets, requests, performed, errors, take: (input) => host.take(input) };
}

/** Waits until all promises that are ready have run. */
export const settled = () => new Promise((resolve) => setImmediate(resolve));

/** An offer of user 10 as the server relays it. */
export const offer = (more = {}) => ({
  type: "offer",
  callId: "6f9619ff-8b86-4d01-b42d-00cf4fc964f0",
  callUUID: "6f9619ff-8b86-4d01-b42d-00cf4fc964f0",
  epoch: 1,
  seq: 1,
  ts: Date.now(),
  from: "10",
  fromDevice: "phone-10",
  room: "p2p:10-11",
  id: "x-1",
  sdp: "v=0\r\n",
  hasVideo: false,
  displayName: "花子",
  ringUntil: Date.now() + 45_000,
  ...more,
});

/** Lets time pass only when the test says so. */
export function stopClock(context) {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  context.mock.timers.setTime(1_700_000_000_000);
}

/** Gives Node the events of a page that is visible. */
export function withPage(context) {
  const target = new EventTarget();
  const page = { document: Object.assign(new EventTarget(), { visibilityState: "visible" }) };
  for (const name of ["addEventListener", "removeEventListener", "dispatchEvent"]) page[name] = target[name].bind(target);
  const before = Object.keys(page).map((name) => [name, globalThis[name]]);
  Object.assign(globalThis, page);
  context.after(() => Object.assign(globalThis, Object.fromEntries(before)));
  return page;
}

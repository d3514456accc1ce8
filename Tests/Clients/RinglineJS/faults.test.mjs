// What an app, a server or a network may do to the module that no call of a normal course does.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { Server } from "../../../Sources/Clients/RinglineJS/server.js";
import { BridgeError } from "../../../Sources/Clients/RinglineJS/ringline.js";
import { device, offer, settled, token } from "./support.mjs";

/** Begins a test with an open connection. */
async function online(context, options) {
  const all = await device(options);
  context.after(() => all.ringline.close());
  all.sockets[0].welcome();
  return { ...all, socket: all.sockets[0] };
}

/** Another incoming call. */
const call = (number, more = {}) => {
  const callId = `6f9619ff-8b86-4d01-b42d-${String(number).padStart(12, "0")}`;
  return offer({ callId, callUUID: callId, from: String(100 + (number % 50)), room: `p2p:${100 + (number % 50)}-11`, ...more });
};

/** The `call` event that ends a call. */
const ended = ({ callId, epoch, room, ts }) => ({
  type: "call", callId, epoch, room, ts, seq: 9, state: "ended", reason: "cancelled",
});

// The token

test("a token that never comes is given up, and the app is asked again", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  context.mock.method(Math, "random", () => 0);
  let count = 0;
  const { ringline, sockets, errors } = await device({
    token: () => ((count += 1), count === 1 ? new Promise(() => {}) : token()),
  });
  context.after(() => ringline.close());
  context.mock.timers.tick(30_000);
  await settled();
  assert.equal(errors.length, 1);
  assert.match(errors[0].message, /^token: /);
  context.mock.timers.tick(1);
  await settled();
  assert.equal(count, 2);
  assert.equal(sockets.length, 1);
});

test("a token that cannot be one is not shown in the error", async (context) => {
  for (const bad of [undefined, null, 5, "", "secret token", "a.b", "a.b.c\n", "a.b.ç"]) {
    const { ringline, sockets, errors } = await device({ token: async () => bad });
    assert.match(errors[0]?.message ?? "", /^token: must/, String(bad));
    assert.doesNotMatch(errors[0].message, /secret/);
    assert.equal(sockets.length, 0);
    ringline.close();
  }
});

test("a token that comes after the end is not used, and one that fails then is not reported", async () => {
  for (const settle of ["resolve", "reject"]) {
    const waiting = [];
    const { ringline, sockets, errors } = await device({
      token: () => new Promise((resolve, reject) => waiting.push({ resolve, reject })),
    });
    ringline.close();
    waiting[0][settle](settle === "resolve" ? token() : new Error("late"));
    await settled();
    assert.deepEqual(errors, []);
    assert.equal(sockets.length, 0);
    assert.equal(ringline.connectionState, "closed");
  }
});

// The server

for (const iceServers of [null, {}, "stun:x", [null], [{ username: 5 }], 7]) {
  test(`a welcome whose ICE servers are ${JSON.stringify(iceServers)} opens the connection`, async (context) => {
    const { ringline, sockets, errors } = await device();
    context.after(() => ringline.close());
    sockets[0].welcome({ iceServers });
    assert.equal(ringline.connectionState, "open");
    assert.deepEqual(errors, []);
  });
}

test("a response without ICE servers leaves the ones that are known", async () => {
  for (const body of ["", "<html>", "null", "[]", "{}", '{"iceServers":null}', '{"iceServers":{},"ttl":5}']) {
    const fetch = async () => ({ status: 200, text: async () => body });
    const server = new Server({ url: "https://example.com/", token: async () => "a.b.c", fetch });
    server.welcomed({ iceServers: [{ urls: ["turn:x"], username: "1:u" }] });
    assert.deepEqual(await server.iceServers(), [{ urls: ["turn:x"], username: "1:u" }], body);
  }
});

test("a request that never ends is given up, so that the signal is sent again", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const signals = [];
  const fetch = (url, { signal }) => (signals.push(signal), new Promise(() => {}));
  const server = new Server({ url: "https://example.com/", token: async () => "a.b.c", fetch });
  const response = server.post("{}");
  await settled();
  context.mock.timers.tick(10_000);
  assert.deepEqual(await Promise.race([response, settled()]), { status: 0, body: "" });
  assert.equal(signals[0].aborted, true);
});

test("a body that never ends is given up as well", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const fetch = async () => ({ status: 200, text: () => new Promise(() => {}) });
  const server = new Server({ url: "https://example.com/", token: async () => "a.b.c", fetch });
  const response = server.post("{}");
  await settled();
  context.mock.timers.tick(10_000);
  assert.deepEqual(await Promise.race([response, settled()]), { status: 0, body: "" });
});

test("a response that no server gives counts as none", async (context) => {
  for (const response of [undefined, {}, { status: "x", text: async () => "" }, { status: 200, text: async () => 5 },
    { status: 1e9, text: async () => "" }, { status: 200.5, text: async () => "" }]) {
    const server = new Server({ url: "https://example.com/", token: async () => "a.b.c", fetch: async () => response });
    assert.deepEqual(await server.post("{}"), { status: 0, body: "" });
  }
});

test("frames that are no frames change nothing", async (context) => {
  const { ringline, socket, errors } = await online(context);
  const good = JSON.stringify(offer());
  let state = 1;
  const random = (below) => ((state = (state * 48271) % 2147483647), state % below);
  for (let round = 0; round < 3_000; round += 1) {
    const at = random(good.length);
    const junk = String.fromCharCode(random(0xd800));
    socket.receive(good.slice(0, at) + junk + good.slice(at + random(9)));
  }
  for (const data of [new ArrayBuffer(8), null, undefined, 5, {}, "[".repeat(100_000), "null", '{"type":5}']) {
    socket.onmessage({ data });
  }
  assert.deepEqual(errors, []);
  assert.equal(ringline.connectionState, "open");
});

test("a socket that cannot be made is tried again after a pause", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  context.mock.method(Math, "random", () => 0.999_999_9);
  let attempts = 0;
  class Broken {
    constructor() {
      attempts += 1;
      throw new Error("no socket");
    }
  }
  const { ringline, errors } = await device({ WebSocket: Broken });
  context.after(() => ringline.close());
  for (const pause of [250, 500, 1000, 2000, 4000, 8000, 8000]) {
    context.mock.timers.tick(pause + 1);
    await settled();
  }
  assert.equal(attempts, 8);
  assert.equal(errors.length, 8);
});

test("a socket that fails to send, and an engine that throws, lose no other output", async (context) => {
  const { ringline, sockets, errors } = await device({
    engine: () => ({
      perform: () => {
        throw new Error("engine");
      },
      close: () => {},
    }),
  });
  context.after(() => ringline.close());
  const [socket] = sockets;
  socket.welcome();
  socket.send = () => {
    throw new Error("send");
  };
  const calls = [];
  ringline.addEventListener("incoming", ({ call }) => calls.push(call));
  const one = offer();
  socket.receive(one);
  calls[0].answer();
  socket.receive(ended(one));
  assert.equal(calls[0].state, "ended");
  assert.ok(errors.some(({ message }) => message === "send"));
  assert.ok(errors.some(({ message }) => message === "engine"));
});

// The clock

test("a clock that is set back does not keep the device from a server that was shut down", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  context.mock.method(Math, "random", () => 0);
  const start = 1_700_000_000_000;
  context.mock.timers.setTime(start);
  const { sockets, socket } = await online(context, { token: async () => token(start / 1_000 + 90_000) });
  socket.receive({ type: "draining", reconnectAfterMs: 3000 });
  context.mock.timers.setTime(start - 3_600_000);
  socket.drop(1001);
  for (let second = 0; second < 70; second += 1) {
    context.mock.timers.tick(1_000);
    await settled();
  }
  assert.ok(sockets.length > 1, "it connects within the longest pause that a server may name");
});

test("clocks that leap to and fro cause no storm of timers", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const start = 1_700_000_000_000;
  context.mock.timers.setTime(start);
  const { ringline, socket } = await online(context, { token: async () => token(start / 1_000 + 900_000) });
  const timers = context.mock.method(globalThis, "setTimeout").mock;
  for (const leap of [3_600_000, -7_200_000, 86_400_000, -1_700_000_000_000, 5_000_000_000_000, -3_299_000_000_000]) {
    ringline.call("10");
    socket.receive(call(1, { ts: Date.now(), ringUntil: Date.now() + 45_000 }));
    context.mock.timers.setTime(Math.max(0, Date.now() + leap));
    for (let step = 0; step < 20; step += 1) {
      context.mock.timers.tick(100);
      await settled();
    }
  }
  assert.ok(timers.callCount() < 500, String(timers.callCount()));
});

// The app

test("a payload that is no JSON throws, and the device goes on", async (context) => {
  const { ringline, errors, sockets } = await online(context);
  const endless = {};
  endless.self = endless;
  for (const payload of [endless, { callId: 5n }, null, undefined, 5, "x", { toJSON: () => undefined }]) {
    assert.throws(() => ringline.pushed(payload), String(payload));
  }
  assert.throws(() => ringline.call("10").end(5n), BridgeError);
  ringline.pushed({ fromDisplayName: "\ud800", callId: "\udfff", type: "call.incoming" });
  assert.deepEqual(errors, []);
  assert.equal(sockets[0].isClosed, false);
  assert.equal(ringline.connectionState, "open");
});

test("an argument that is refused does not change what a call shows", async (context) => {
  const { ringline } = await online(context);
  const one = ringline.call("10");
  assert.throws(() => one.hold("yes"), /held/);
  assert.throws(() => one.mute({ audio: "yes" }), /audio/);
  assert.deepEqual([one.isHeld, one.isMuted], [false, { audio: false, video: false }]);
});

test("a call that holds another one shows that", async (context) => {
  const { ringline, socket, take } = await online(context);
  const calls = [];
  ringline.addEventListener("incoming", ({ call: one }) => calls.push(one));
  for (const number of [1, 2]) {
    socket.receive(call(number));
    calls.at(-1).answer();
    const { uuid } = calls.at(-1);
    take({ in: "localDescription", uuid, round: 1, kind: "answer", sdp: "v=0\r\n" });
  }
  assert.deepEqual(calls.map(({ isHeld }) => isHeld), [true, false]);
});

test("a wrong user id within an event does not leave a call behind", async (context) => {
  const { ringline, socket, errors } = await online(context);
  let made;
  ringline.addEventListener("incoming", () => (made = ringline.call("no user")));
  socket.receive(offer());
  assert.match(errors[0].message, /^to: /);
  assert.equal(made.state, "ended");
  assert.deepEqual([...ringline.calls.values()].filter(({ state }) => state === "calling"), []);
});

test("closing within an event ends the calls on the server", async () => {
  const { ringline, sockets, performed } = await device();
  const [socket] = sockets;
  socket.welcome();
  const states = [];
  ringline.addEventListener("incoming", ({ call: one }) => {
    one.addEventListener("ended", () => states.push(one.state));
    one.answer();
    ringline.close();
  });
  socket.receive(offer());
  assert.deepEqual(states, ["ended"]);
  assert.equal(socket.sent.at(-1)?.type, "end");
  assert.equal(socket.isClosed, true);
  assert.equal(performed.at(-1).out, "close");
});

test("closing within any event leaves nothing to do", async () => {
  for (const name of ["connection", "incoming", "error"]) {
    const { ringline, sockets, errors } = await device();
    ringline.addEventListener(name, () => ringline.close());
    sockets[0].welcome();
    if (name !== "connection") sockets[0].receive(offer());
    if (name === "error") sockets[0].drop(4409);
    await settled();
    assert.ok(sockets[0].isClosed, name);
    assert.equal(sockets.length, 1);
    assert.ok(errors.length <= 1);
  }
});

test("ended incoming calls do not pile up", async (context) => {
  const { ringline, socket } = await online(context);
  for (let number = 0; number < 500; number += 1) {
    const one = call(number);
    socket.receive(one);
    socket.receive(ended(one));
  }
  assert.ok(ringline.calls.size <= 1, String(ringline.calls.size));
});

test("two devices in one process do not know each other", async (context) => {
  const [one, two] = [await online(context), await online(context, { device: "web-b", user: "12" })];
  const first = one.ringline.call("10");
  assert.equal(two.ringline.calls.size, 0);
  one.ringline.close();
  assert.equal(first.state, "ended");
  two.socket.receive(offer({ room: "p2p:10-12" }));
  assert.equal(two.ringline.calls.size, 1);
  assert.equal(two.ringline.connectionState, "open");
});

/** A program that closes a device at some moment, and must then end by itself. */
const program = (steps) => `
import { device, offer, settled, token } from ${JSON.stringify(new URL("support.mjs", import.meta.url).href)};
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
${steps}
`;

for (const [moment, steps] of Object.entries({
  "before its token has come": `
    const { ringline } = await device({ token: async () => { await later(20); return token(); } });
    ringline.close();`,
  "before its token has failed": `
    const { ringline } = await device({ token: async () => { await later(20); throw new Error("late"); } });
    ringline.close();`,
  "while its token never comes": `
    const { ringline } = await device({ token: () => new Promise(() => {}) });
    ringline.close();`,
  "while its connection opens": `
    const { ringline } = await device();
    ringline.close();`,
  "while it waits to connect again": `
    const { ringline, sockets } = await device();
    sockets[0].drop();
    ringline.close();`,
  "while a token is renewed": `
    const { ringline, sockets } = await device({ token: async () => { await later(20); return token(); } });
    await later(30);
    sockets[0].welcome();
    sockets[0].drop(4401);
    ringline.close();`,
  "while a token is renewed in vain": `
    let count = 0;
    const { ringline, sockets } = await device({
      token: async () => { count += 1; if (count > 1) { await later(20); throw new Error("late"); } return token(); },
    });
    sockets[0].welcome();
    sockets[0].drop(4401);
    ringline.close();`,
  "while a token is renewed in time": `
    let count = 0;
    const { ringline, sockets } = await device({
      token: async () => {
        count += 1;
        if (count === 1) return token(Math.floor(Date.now() / 1000) + 61);
        ringline.close();
        await later(20);
        return token();
      },
    });
    sockets[0].welcome();`,
  "in a call": `
    const { ringline, sockets, take } = await device();
    sockets[0].welcome();
    const { uuid } = ringline.call("10");
    take({ in: "localDescription", uuid, round: 1, kind: "offer", sdp: "v=0" });
    ringline.close();`,
  "in a call without a connection": `
    const { ringline, take } = await device({ fetch: () => new Promise(() => {}) });
    const { uuid } = ringline.call("10");
    take({ in: "localDescription", uuid, round: 1, kind: "offer", sdp: "v=0" });
    ringline.close();`,
})) {
  test(`a process ends whose device was closed ${moment}`, async () => {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program(steps)], {
      stdio: ["ignore", "ignore", "pipe"],
      timeout: 14_000,
    });
    let text = "";
    child.stderr.on("data", (chunk) => (text += chunk));
    const begun = performance.now();
    const code = await new Promise((resolve) => child.on("exit", resolve));
    assert.equal(code, 0, text);
    assert.equal(text, "");
    assert.ok(performance.now() - begun < 12_000);
  });
}

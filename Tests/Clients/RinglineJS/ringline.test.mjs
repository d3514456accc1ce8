import assert from "node:assert/strict";
import { test } from "node:test";
import { PeerEngine } from "../../../Sources/Clients/RinglineJS/engine.js";
import { BridgeError, Ringline } from "../../../Sources/Clients/RinglineJS/ringline.js";
import { device, offer, settled, stopClock, token, withPage } from "./support.mjs";

/** Begins a test with an open connection. */
async function online(context, options) {
  const all = await device(options);
  context.after(() => all.ringline.close());
  all.sockets[0].welcome();
  return { ...all, socket: all.sockets[0] };
}

test("it connects with the token as a subprotocol, and is open at the welcome", async (context) => {
  const { ringline, sockets } = await device();
  context.after(() => ringline.close());
  assert.equal(sockets[0].url, "ws://server.example:8080/ws?device=web-a");
  assert.equal(sockets[0].protocols[0], "ringline.v1");
  assert.match(sockets[0].protocols[1], /^bearer\.e30\./);
  assert.equal(ringline.connectionState, "connecting");
  sockets[0].welcome();
  assert.equal(ringline.connectionState, "open");
});

test("a token of another user is reported and replaced, and nothing is sent in that user's name", async (context) => {
  stopClock(context);
  let asked = 0;
  const app = () => {
    asked += 1;
    return token();
  };
  const { ringline, sockets, errors, requests } = await device({ token: app });
  context.after(() => ringline.close());
  ringline.call("10");
  sockets[0].welcome({ user: 10 });
  await settled();
  assert.deepEqual(errors.map(({ message }) => message), ["token: is one of user 10, and this Ringline is for user 11"]);
  assert.deepEqual([sockets[0].isClosed, sockets[0].sent, requests], [true, [], []]);
  assert.notEqual(ringline.connectionState, "open");
  context.mock.timers.tick(5_000);
  await settled();
  assert.equal(asked, 2);
  sockets.at(-1).welcome({ user: "11" });
  assert.equal(ringline.connectionState, "open");
});

test("an outgoing call goes from the offer to connected", async (context) => {
  const { ringline, socket, performed, take } = await online(context);
  const call = ringline.call("10", { video: true });
  const states = [];
  for (const name of ["ringing", "connecting", "connected", "ended"]) {
    call.addEventListener(name, () => states.push(name));
  }
  const { uuid } = call;
  assert.deepEqual(performed.at(-1), { out: "makeOffer", uuid, round: 1, hasVideo: true, restartsICE: false });
  take({ in: "localDescription", uuid, round: 1, kind: "offer", sdp: "v=0\r\nmine" });
  const sent = socket.sent.at(-1);
  assert.equal(sent.type, "offer");
  assert.equal(sent.to, "10");
  assert.equal(sent.sdp, "v=0\r\nmine");
  const { callId } = sent;
  assert.notEqual(callId, uuid);
  socket.receive({ type: "ack", id: sent.id, callId, epoch: 1, seq: 1 });
  const log = { callId, epoch: 1, ts: Date.now(), from: "10", fromDevice: "p", room: "p2p:11-10" };
  socket.receive({ type: "ringing", seq: 2, id: "a", ...log });
  socket.receive({ type: "answer", seq: 3, id: "b", sdp: "v=0\r\ntheirs", ...log });
  assert.deepEqual(performed.filter(({ out }) => out === "setRemoteDescription"), [
    { out: "setRemoteDescription", uuid, kind: "answer", sdp: "v=0\r\ntheirs" },
  ]);
  take({ in: "mediaConnected", uuid });
  assert.deepEqual(states, ["ringing", "connecting", "connected"]);
  call.end();
  assert.equal(call.state, "ended");
  assert.equal(call.reason, "hangup");
  assert.equal(socket.sent.at(-1).type, "end");
});

test("an incoming call rings once, although its push comes as well", async (context) => {
  const { ringline, socket } = await online(context);
  const calls = [];
  ringline.addEventListener("incoming", ({ call }) => calls.push(call));
  socket.receive(offer());
  ringline.pushed({ type: "call.incoming", callId: offer().callId, callUUID: offer().callUUID, fromUserId: "10" });
  assert.equal(calls.length, 1);
  assert.equal(calls[0].name, "花子");
  assert.equal(calls[0].peer, "10");
  assert.equal(calls[0].direction, "incoming");
});

test("a call may be answered within the event that announces it", async (context) => {
  const { ringline, socket, performed } = await online(context);
  ringline.addEventListener("incoming", ({ call }) => call.answer());
  socket.receive(offer());
  assert.deepEqual(performed.map(({ out }) => out), ["setRemoteDescription", "makeAnswer"]);
});

test("the end of a call says why", async (context) => {
  const { ringline, socket } = await online(context);
  let ended;
  ringline.addEventListener("incoming", ({ call }) => call.addEventListener("ended", (event) => (ended = event)));
  const call = offer();
  socket.receive(call);
  const { callId, epoch, room, ts } = call;
  socket.receive({ type: "call", callId, epoch, room, ts, seq: 2, state: "ended", reason: "answered_elsewhere" });
  assert.equal(ended.reason, "answered_elsewhere");
  assert.equal(ended.target.state, "ended");
});

test("a number of the peer's data that JavaScript cannot hold does not spoil the frame", async (context) => {
  const { ringline, socket, errors } = await online(context);
  const calls = [];
  ringline.addEventListener("incoming", ({ call }) => calls.push(call));
  const text = JSON.stringify(offer());
  socket.receive(`${text.slice(0, -1)},"mine":12345678901234567890}`);
  socket.receive("no JSON at all");
  assert.equal(calls.length, 1);
  assert.deepEqual(errors, []);
});

test("without a connection, a call is made by REST with the token", async (context) => {
  const { ringline, requests, take } = await device();
  context.after(() => ringline.close());
  const { uuid } = ringline.call("10");
  take({ in: "localDescription", uuid, round: 1, kind: "offer", sdp: "v=0\r\n" });
  await settled();
  assert.equal(requests[0].url, "http://server.example:8080/api/calls/signal");
  assert.equal(requests[0].method, "POST");
  assert.match(requests[0].headers.Authorization, /^Bearer e30\./);
  assert.equal(JSON.parse(requests[0].body).action, "offer");
});

const PAST = [
  {
    id: 7, callId: "c-2", epoch: 1, room: "p2p:11-10", caller_id: 11, callee_id: 10, call_type: "audio", hasVideo: false,
    state: "active", reason: null, direction: "outgoing", startedAt: 1_795_284_807_519, answeredAt: 1_795_284_807_586,
    activeAt: null, endedAt: null,
  },
  {
    id: 6, callId: "c-1", epoch: 2, room: "p2p:wake-11", caller_id: "wake", callee_id: "11", hasVideo: true, state: "ended",
    reason: "a later reason", direction: "missed", startedAt: 1, answeredAt: null, endedAt: 2, scheduled: { schedule: "s" },
    later: {},
  },
];

test("the history has the server's calls, also those of a later version, page by page", async (context) => {
  const urls = [];
  const fetch = async (url) => {
    urls.push(String(url));
    return { status: 200, text: async () => JSON.stringify(PAST) };
  };
  const { ringline } = await device({ url: "http://server.example:8080/calls/", fetch });
  context.after(() => ringline.close());
  assert.deepEqual(await ringline.history(), [
    {
      id: 7, callId: "c-2", epoch: 1, caller: "11", callee: "10", peer: "10", direction: "outgoing", hasVideo: false,
      reason: null, startedAt: 1_795_284_807_519, answeredAt: 1_795_284_807_586, endedAt: null, schedule: null,
    },
    {
      id: 6, callId: "c-1", epoch: 2, caller: "wake", callee: "11", peer: "wake", direction: "missed", hasVideo: true,
      reason: "a later reason", startedAt: 1, answeredAt: null, endedAt: 2, schedule: "s",
    },
  ]);
  await ringline.history({ limit: 2, before: 6 });
  assert.deepEqual(urls, [
    "http://server.example:8080/calls/api/calls?limit=50", "http://server.example:8080/calls/api/calls?limit=2&before=6",
  ]);
});

test("a history that is refused, missing or malformed says so, and a refused token is replaced once", async (context) => {
  const responses = [[503, '{"code":"store_unavailable","message":"later"}'], [0], [200, "{}"], [502, "<html>"], [401, ""], [200, "[]"]];
  let tokens = 0;
  const { ringline } = await device({
    token: async () => token((tokens += 1) + 2_000_000_000),
    fetch: async () => {
      const [status, body] = responses.shift();
      if (status === 0) throw new Error("no network");
      return { status, text: async () => body };
    },
  });
  context.after(() => ringline.close());
  await assert.rejects(ringline.history(), { name: "Error", message: "api/calls: later", status: 503, code: "store_unavailable" });
  await assert.rejects(ringline.history(), { message: "api/calls: no response", status: 0, code: null });
  await assert.rejects(ringline.history(), { name: "TypeError", message: "api/calls: the response is no history" });
  await assert.rejects(ringline.history(), { message: "api/calls: status 502", status: 502 });
  const before = tokens;
  assert.deepEqual(await ringline.history(), []);
  assert.equal(tokens, before + 1);
  ringline.close();
  await assert.rejects(ringline.history(), { message: "this Ringline is closed" });
});

test("an argument that is wrong throws, and names itself", async (context) => {
  const { ringline } = await online(context);
  assert.throws(() => ringline.call("no user"), new BridgeError("to: must be a user id"));
  assert.equal(ringline.calls.size, 0);
  assert.throws(() => ringline.call("10").sendDTMF(5), /digits: must be a string/);
  for (const [option, value, message] of [
    ["url", "calls.example.com", "url: must be an http or https address"],
    ["user", 11, "user: must be a user id"],
    ["token", "x.y.z", "token: must be a function that returns a token"],
    ["WebSocket", {}, "WebSocket: must be a function"],
    ["ringTimeout", 45, "ringTimeout: must be 5000 to 120000"],
  ]) {
    await assert.rejects(device({ [option]: value }), { message });
  }
  await assert.rejects(Ringline.create(), { message: "url: must be an http or https address" });
});

test("a call of oneself is refused and ends", async (context) => {
  const { ringline } = await online(context);
  const call = ringline.call("11");
  assert.equal(call.state, "ended");
  assert.equal(call.reason, "callsOneself");
});

test("a lost connection is opened again after a pause, and not twice", async (context) => {
  stopClock(context);
  context.mock.method(Math, "random", () => 0.999_999_9);
  const { ringline, sockets, socket } = await online(context);
  socket.drop();
  assert.equal(ringline.connectionState, "closed");
  for (const [attempt, pause] of [249, 499, 999, 1999, 3999, 7999, 7999].entries()) {
    context.mock.timers.tick(pause - 1);
    await settled();
    assert.equal(sockets.length, 1 + attempt);
    context.mock.timers.tick(1);
    await settled();
    assert.equal(sockets.length, 2 + attempt, `attempt ${attempt} after ${pause} ms`);
    sockets.at(-1).drop();
  }
});

for (const [name, act] of [
  ["a call of the user", (ringline) => ringline.call("10")],
  ["an answer", (ringline) => [...ringline.calls.values()][0].answer()],
  ["a push", (ringline) => ringline.pushed({ type: "call.incoming", callId: "c", fromUserId: "10" })],
  ["a change of the network", (ringline) => ringline.networkChanged()],
  ["an online event", () => globalThis.dispatchEvent(new Event("online"))],
  ["a page that becomes visible", () => globalThis.document.dispatchEvent(new Event("visibilitychange"))],
]) {
  test(`${name} does not wait for the pause`, async (context) => {
    stopClock(context);
    withPage(context);
    context.mock.method(Math, "random", () => 0.5);
    const { ringline, sockets, socket } = await online(context);
    socket.receive(offer());
    socket.drop();
    await settled();
    assert.equal(sockets.length, 1);
    act(ringline);
    await settled();
    assert.equal(sockets.length, 2);
  });
}

test("a connection that does not open is given up, and its late events are ignored", async (context) => {
  stopClock(context);
  context.mock.method(Math, "random", () => 0);
  const { ringline, sockets } = await device();
  context.after(() => ringline.close());
  context.mock.timers.tick(10_000);
  assert.equal(sockets[0].isClosed, true);
  context.mock.timers.tick(1);
  await settled();
  assert.equal(sockets.length, 2);
  sockets[0].welcome();
  assert.equal(ringline.connectionState, "connecting");
  sockets[1].welcome();
  sockets[0].drop();
  assert.equal(ringline.connectionState, "open");
});

for (const name of ["online", "offline"]) {
  test(`the event ${name} gives the connection up, and its close is not waited for`, async (context) => {
    stopClock(context);
    withPage(context);
    const { ringline, sockets, socket, performed, take } = await online(context);
    const states = [];
    ringline.addEventListener("connection", ({ state }) => states.push(state));
    globalThis.dispatchEvent(new Event(name));
    await settled();
    assert.equal(socket.isClosed, true);
    assert.equal(sockets.length, 2);
    sockets[1].welcome();
    // The close of the earlier one comes at last.
    socket.drop();
    assert.deepEqual(states, ["closed", "connecting", "open"]);
    const { uuid } = ringline.call("10");
    take({ in: "localDescription", uuid, round: performed.at(-1).round, kind: "offer", sdp: "v=0\r\n" });
    assert.equal(sockets[1].sent.at(-1).type, "offer");
  });
}

test("a page that becomes visible checks its connection, which is given up if it is silent", async (context) => {
  stopClock(context);
  const { document } = withPage(context);
  const { ringline, sockets, socket } = await online(context);
  const show = () => document.dispatchEvent(new Event("visibilitychange"));
  document.visibilityState = "hidden";
  show();
  assert.deepEqual(socket.sent, []);
  document.visibilityState = "visible";
  show();
  assert.equal(socket.sent.at(-1).type, "sync");
  socket.receive({ type: "ack", id: "check" });
  context.mock.timers.tick(5_000);
  assert.equal(ringline.connectionState, "open");
  show();
  context.mock.timers.tick(4_000);
  assert.equal(socket.isClosed, true);
  context.mock.timers.tick(250);
  await settled();
  assert.equal(sockets.length, 2);
});

for (const [name, shutDown] of [
  ["frame", (socket) => (socket.receive({ type: "draining", reconnectAfterMs: 3000 }), socket.drop(1001))],
  ["close", (socket) => socket.drop(1001, "shutting down; reconnectAfterMs=3000")],
]) {
  test(`a server that shuts down is left alone until the moment that its ${name} names`, async (context) => {
    stopClock(context);
    context.mock.method(Math, "random", () => 0);
    const { ringline, sockets, socket } = await online(context);
    shutDown(socket);
    // Not even for a call or on another network: the core makes the call by REST.
    ringline.call("10");
    ringline.networkChanged();
    context.mock.timers.tick(2_999);
    await settled();
    assert.equal(sockets.length, 1);
    context.mock.timers.tick(1);
    await settled();
    assert.equal(sockets.length, 2);
  });
}

test("a pause of the server that is no number of milliseconds is ignored", async (context) => {
  stopClock(context);
  context.mock.method(Math, "random", () => 0);
  for (const reconnectAfterMs of [undefined, -1, 1.5, "3000", 1e300]) {
    const { sockets, socket, errors } = await online(context);
    socket.receive({ type: "draining", reconnectAfterMs });
    socket.drop(1001);
    await settled();
    assert.equal(sockets.length, 2);
    assert.deepEqual(errors, []);
  }
});

test("a socket whose close has no text as its reason, or that cannot send when it is checked, is replaced", async (context) => {
  stopClock(context);
  const { document } = withPage(context);
  context.mock.method(Math, "random", () => 0);
  const { sockets, socket, errors } = await online(context);
  socket.drop(1006, new Uint8Array(2));
  await settled();
  assert.equal(sockets.length, 2);
  sockets[1].welcome();
  sockets[1].send = () => {
    throw new Error("send");
  };
  document.dispatchEvent(new Event("visibilitychange"));
  context.mock.timers.tick(4_000);
  await settled();
  assert.equal(sockets.length, 3);
  assert.deepEqual(errors, []);
});

test("an attempt that was given up opens no socket when its token comes at last", async (context) => {
  stopClock(context);
  const tokens = [];
  const { ringline, sockets } = await device({ token: () => new Promise((resolve) => tokens.push(resolve)) });
  context.after(() => ringline.close());
  ringline.networkChanged();
  tokens[0](token());
  await settled();
  assert.equal(sockets.length, 1);
  assert.equal(tokens.length, 1);
});

test("a refused token is replaced before the next attempt", async (context) => {
  stopClock(context);
  context.mock.method(Math, "random", () => 0);
  let count = 0;
  const { sockets, socket } = await online(context, { token: async () => `e30.e30.${(count += 1)}` });
  socket.drop(4401);
  await settled();
  context.mock.timers.tick(1);
  await settled();
  assert.equal(count, 2);
  assert.equal(sockets[1].protocols[1], "bearer.e30.e30.2");
});

test("a token is renewed over the connection before it expires", async (context) => {
  stopClock(context);
  let count = 0;
  const fresh = async () => ((count += 1), token(Math.floor(Date.now() / 1000) + 600));
  const { socket } = await online(context, { token: fresh });
  context.mock.timers.tick(541_000);
  await settled();
  assert.equal(count, 2);
  assert.equal(socket.sent.at(-1).type, "auth");
});

test("a backend that gives no token is asked again, and the app hears of it", async (context) => {
  stopClock(context);
  context.mock.method(Math, "random", () => 0.5);
  let isDown = true;
  const { ringline, sockets, errors } = await device({
    token: async () => {
      if (isDown) throw new Error("backend is down");
      return token();
    },
  });
  context.after(() => ringline.close());
  assert.deepEqual(errors.map(({ message }) => message), ["backend is down"]);
  assert.equal(sockets.length, 0);
  isDown = false;
  context.mock.timers.tick(125);
  await settled();
  assert.equal(sockets.length, 1);
});

test("a server that refuses each token, and a backend that gives none, are asked again after a pause", async (context) => {
  stopClock(context);
  let count = 0;
  const { ringline, take } = await online(context, {
    token: async () => {
      count += 1;
      if (count === 2) throw new Error("backend is down");
      return token();
    },
    fetch: async () => ({ status: 401, text: async () => '{"code":"token_expired"}' }),
  });
  // Without a connection, the call is made by REST.
  ringline.networkChanged();
  const { uuid } = ringline.call("10");
  take({ in: "localDescription", uuid, round: 1, kind: "offer", sdp: "v=0\r\n" });
  await settled();
  for (const asked of [2, 3, 4]) {
    assert.equal(count, asked);
    context.mock.timers.tick(4_999);
    await settled();
    assert.equal(count, asked);
    context.mock.timers.tick(1);
    await settled();
  }
});

test("a device whose id is used twice does not fight for the connection", async (context) => {
  stopClock(context);
  withPage(context);
  const { ringline, sockets, socket, errors } = await online(context);
  // A live call makes the core ask for a connection.
  const call = ringline.call("10");
  socket.drop(4409);
  context.mock.timers.tick(60_000);
  globalThis.dispatchEvent(new Event("online"));
  globalThis.document.dispatchEvent(new Event("visibilitychange"));
  await settled();
  assert.equal(sockets.length, 1);
  assert.match(errors[0].message, /^device: another page or tab/);
  // The user makes a call here, so this page takes the connection.
  call.end();
  ringline.call("12");
  await settled();
  assert.equal(sockets.length, 2);
});

test("closing ends the calls and performs nothing afterwards", async () => {
  const { ringline, sockets, performed, take } = await device();
  sockets[0].welcome();
  const call = ringline.call("10");
  take({ in: "localDescription", uuid: call.uuid, round: 1, kind: "offer", sdp: "v=0\r\n" });
  ringline.close();
  assert.equal(call.state, "ended");
  assert.equal(sockets[0].isClosed, true);
  assert.equal(performed.at(-1).out, "close");
  take({ in: "mediaConnected", uuid: call.uuid });
  assert.throws(() => ringline.call("10"), /closed/);
});

/** An offer of the server itself, as a schedule asks. */
const scheduled = (more = {}) => {
  const { sdp: _, ...rest } = offer({ from: "wake", fromDevice: "scheduler", room: "p2p:wake-11", displayName: "Mina" });
  return { ...rest, media: "none", scheduled: true, schedule: "s-1", data: { sound: "birds" }, ...more };
};

test("a scheduled call is connected as soon as it is answered, without the engine, and can be confirmed", async (context) => {
  const { ringline, socket, performed } = await online(context);
  let call;
  const events = [];
  ringline.addEventListener("incoming", (event) => {
    ({ call } = event);
    for (const name of ["connecting", "connected", "ended", "update"]) call.addEventListener(name, () => events.push(name));
  });
  socket.receive(scheduled());
  assert.deepEqual([call.isScheduled, call.schedule, call.data], [true, "s-1", { sound: "birds" }]);
  assert.deepEqual([call.peer, call.name, call.state], ["wake", "Mina", "ringing"]);
  call.answer();
  assert.equal(call.state, "connected");
  assert.deepEqual(socket.sent.slice(-2).map(({ type, sdp }) => [type, sdp]), [["answer", undefined], ["connected", undefined]]);
  call.hold();
  assert.equal(call.isHeld, true);
  call.hold(false);
  call.mute({ audio: true });
  assert.equal(call.isHeld, false);
  call.confirm();
  const { id, type, confirm, callId, epoch } = socket.sent.at(-1);
  assert.deepEqual([type, confirm], ["info", true]);
  socket.receive({ type: "ack", id, callId, epoch, seq: 5, state: "ended", reason: "confirmed" });
  assert.deepEqual([call.state, call.reason], ["ended", "confirmed"]);
  assert.deepEqual(events, ["connecting", "connected", "update", "update", "ended"]);
  assert.deepEqual(performed, []);
  assert.equal(ringline.mediaConnection(call), null);
});

test("a scheduled call makes no RTCPeerConnection, and is held when another call is answered", async (context) => {
  const { ringline, socket, errors } = await online(context, { engine: (host) => new PeerEngine(host) });
  const calls = [];
  ringline.addEventListener("incoming", ({ call }) => calls.push(call));
  socket.receive(scheduled());
  // Node has no RTCPeerConnection: the engine would fail.
  calls[0].answer();
  calls[0].addVideo();
  calls[0].restartICE();
  await settled();
  assert.deepEqual([calls[0].state, errors], ["connected", []]);
  socket.receive(scheduled({ callId: "c-2", callUUID: undefined, id: "x-2", from: "later", room: "p2p:later-11" }));
  calls[1].answer();
  assert.deepEqual([calls[0].isHeld, calls[1].isHeld], [true, false]);
});

test("the data of a scheduled call that its push does not have comes with an update", async (context) => {
  const { ringline, socket } = await online(context);
  let call;
  ringline.addEventListener("incoming", (event) => ({ call } = event));
  const { callId, callUUID } = scheduled();
  ringline.pushed({ type: "call.incoming", scheduled: true, callId, callUUID, epoch: 1, fromUserId: "wake" });
  assert.deepEqual([call.isScheduled, call.data], [true, null]);
  let updates = 0;
  call.addEventListener("update", () => (updates += 1));
  socket.receive(scheduled());
  assert.deepEqual([call.data, call.schedule, updates > 0], [{ sound: "birds" }, "s-1", true]);
});

test("an ordinary call cannot be confirmed", async (context) => {
  const { ringline, socket } = await online(context);
  let why;
  ringline.addEventListener("incoming", ({ call }) => {
    call.addEventListener("refused", (event) => (why = event.why));
    assert.deepEqual([call.isScheduled, call.schedule, call.data], [false, null, null]);
    call.confirm();
  });
  socket.receive(offer());
  assert.equal(why, "notPossible");
});

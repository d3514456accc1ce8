import assert from "node:assert/strict";
import { test } from "node:test";
import { BridgeError, Ringline } from "../../Sources/RinglineJS/ringline.js";
import { device, offer, settled, token } from "./support.mjs";

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
  context.mock.timers.enable({ apis: ["setTimeout"] });
  context.mock.method(Math, "random", () => 1);
  const { ringline, sockets, socket } = await online(context);
  socket.drop();
  assert.equal(ringline.connectionState, "closed");
  for (const [attempt, pause] of [250, 500, 1000, 2000, 4000, 8000, 8000].entries()) {
    context.mock.timers.tick(pause - 1);
    await settled();
    assert.equal(sockets.length, 1 + attempt);
    context.mock.timers.tick(2);
    await settled();
    assert.equal(sockets.length, 2 + attempt, `attempt ${attempt} after ${pause} ms`);
    sockets.at(-1).drop();
  }
});

test("a call of the user does not wait for the pause", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { ringline, sockets, socket } = await online(context);
  socket.drop();
  ringline.call("10");
  await settled();
  assert.equal(sockets.length, 2);
});

test("a connection that does not open is given up, and its late events are ignored", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
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

test("a silent connection is given up after a change of the network", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { ringline, socket } = await online(context);
  ringline.networkChanged();
  assert.equal(socket.sent.at(-1).type, "sync");
  socket.receive({ type: "ack", id: "check" });
  context.mock.timers.tick(5_000);
  assert.equal(ringline.connectionState, "open");
  ringline.networkChanged();
  context.mock.timers.tick(5_000);
  assert.notEqual(ringline.connectionState, "open");
});

test("a server that shuts down is left alone until its moment", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  context.mock.method(Math, "random", () => 0);
  context.mock.timers.setTime(1_700_000_000_000);
  const { ringline, sockets, socket } = await online(context);
  socket.receive({ type: "draining", reconnectAfterMs: 3000 });
  socket.drop(1001);
  // Not even for a call: the core makes it by REST.
  ringline.call("10");
  context.mock.timers.tick(2_900);
  await settled();
  assert.equal(sockets.length, 1);
  context.mock.timers.tick(200);
  await settled();
  assert.equal(sockets.length, 2);
});

test("a refused token is replaced before the next attempt", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
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
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let count = 0;
  const fresh = async () => ((count += 1), token(Math.floor(Date.now() / 1000) + 600));
  const { socket } = await online(context, { token: fresh });
  context.mock.timers.tick(541_000);
  await settled();
  assert.equal(count, 2);
  assert.equal(socket.sent.at(-1).type, "auth");
});

test("a backend that gives no token is asked again, and the app hears of it", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  context.mock.method(Math, "random", () => 0);
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
  context.mock.timers.tick(1);
  await settled();
  assert.equal(sockets.length, 1);
});

test("a device whose id is used twice does not fight for the connection", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { sockets, socket, errors } = await online(context);
  socket.drop(4409);
  context.mock.timers.tick(60_000);
  await settled();
  assert.equal(sockets.length, 1);
  assert.match(errors[0].message, /^device: another connection/);
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

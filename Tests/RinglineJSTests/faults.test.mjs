// What an app, a server or a network may do to the module that no call of a normal course does.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Server } from "../../Sources/RinglineJS/server.js";
import { device, settled, token } from "./support.mjs";

// The token

test("a token that never comes is given up, and the app is asked again", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  context.mock.method(Math, "random", () => 0);
  let count = 0;
  const { ringline, sockets, errors } = await device({
    token: () => ((count += 1), count === 1 ? new Promise(() => {}) : token()),
  });
  context.after(() => ringline.close());
  context.mock.timers.tick(30_000);
  await settled();
  assert.match(errors[0]?.message ?? "", /^token: /);
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

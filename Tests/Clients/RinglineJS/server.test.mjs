import assert from "node:assert/strict";
import { test } from "node:test";
import { Server, expiryOf } from "../../../Sources/Clients/RinglineJS/server.js";

/** Returns a server whose responses come from `respond(path, init)`, and the requests that were made. */
function made(respond = () => [503, ""], token = async () => "a.b.c") {
  const requests = [];
  const fetch = async (url, init) => {
    requests.push({ path: url.pathname + url.search, ...init });
    const [status, body] = respond(url.pathname, init);
    return { status, text: async () => body };
  };
  return { server: new Server({ url: "https://example.com/calls/", token, fetch }), requests };
}

test("the addresses keep the path of the server", async () => {
  const { server, requests } = made();
  assert.equal(server.socketURL("web a"), "wss://example.com/calls/ws?device=web+a");
  await server.fetchCall({ callId: "11-10", peer: "a+b", epoch: 2, since: 5 }, "web-a");
  assert.equal(requests[0].path, "/calls/api/calls/signal/11-10?device=web-a&peer=a%2Bb&epoch=2&since=5");
});

test("a request has the token, or the capability of a push instead", async () => {
  const { server, requests } = made();
  await server.post("{}", undefined);
  await server.post("{}", "ring-me");
  assert.deepEqual(requests.map(({ headers }) => headers.Authorization), ["Bearer a.b.c", "Ring ring-me"]);
});

test("a request that fails has status 0", async () => {
  const { server } = made(() => {
    throw new Error("no network");
  });
  assert.deepEqual(await server.post("{}"), { status: 0, body: "" });
});

test("the ICE servers are those of the welcome, until their credential expires", async () => {
  const now = 1_700_000_000_000;
  const fresh = [{ urls: ["turn:example.com"], username: "x", credential: "y" }];
  const { server, requests } = made(() => [200, JSON.stringify({ iceServers: fresh, ttl: 600 })]);
  const first = [{ urls: ["stun:example.com"] }, { urls: ["turn:example.com"], username: "1700000100:11", credential: "z" }];
  server.welcomed({ iceServers: first });
  assert.deepEqual(await server.iceServers(now), first);
  assert.equal(requests.length, 0);
  assert.deepEqual(await server.iceServers(now + 50_000), fresh);
  assert.deepEqual(await server.iceServers(now + 500_000), fresh);
  assert.deepEqual(requests.map(({ path }) => path), ["/calls/api/turn-cred"]);
  await server.iceServers(now + 600_000);
  assert.equal(requests.length, 2);
});

test("without a welcome and without TURN there are no ICE servers", async () => {
  const { server } = made(() => [404, '{"code":"not_found"}']);
  assert.deepEqual(await server.iceServers(), []);
});

test("requests at the same time ask for one token", async () => {
  let count = 0;
  const { server } = made(undefined, async () => `a.b.${(count += 1)}`);
  assert.deepEqual(await Promise.all([server.token(), server.token()]), ["a.b.1", "a.b.1"]);
  server.tokenRefused();
  assert.equal(await server.token(), "a.b.2");
});

test("a token function that returns something else is named", async () => {
  await assert.rejects(made(undefined, async () => undefined).server.token(), { message: "token: must return a JWT" });
});

test("the expiry of a token is read from its claims", () => {
  const token = (claims) => `x.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.y`;
  assert.equal(expiryOf(token({ exp: 7, name: "??>>太郎" })), 7000);
  for (const bad of [token({}), token({ exp: "7" }), "x", null, "a.b.c"]) assert.equal(expiryOf(bad), null);
});

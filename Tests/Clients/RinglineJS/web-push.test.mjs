// Web Push in a page of fakes: the subscription, and what the page and the service worker tell each other.
import assert from "node:assert/strict";
import { test } from "node:test";
import { device, offer, settled, stopClock } from "./support.mjs";
import { Channel, incoming, notice } from "./worker-support.mjs";

const KEY = "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM";
const bytes = (key) => Uint8Array.from(Buffer.from(key, "base64url")).buffer;

/** A worker that replies to messages as `replies` says, by their type. */
class FakeWorker extends EventTarget {
  state = "activated";
  messages = [];

  constructor(replies = { "ringline.configure": true, "ringline.ready": {}, "ringline.forget": true }) {
    super();
    this.replies = replies;
  }

  postMessage(message, [port] = []) {
    this.messages.push(message);
    const reply = this.replies[message.type];
    if (reply !== undefined) port?.postMessage(reply);
  }

  /** The messages of a type. */
  of(type) {
    return this.messages.filter((message) => message.type === type);
  }
}

class FakeRegistration {
  waiting = null;
  installing = null;
  subscription = null;
  log = [];

  constructor(active = new FakeWorker()) {
    this.active = active;
  }

  pushManager = {
    getSubscription: async () => this.subscription,
    subscribe: async (options) => {
      this.log.push("subscribe");
      this.subscription = this.made(options.applicationServerKey);
      this.options = options;
      return this.subscription;
    },
  };

  made(key, id = this.log.length) {
    return {
      options: { applicationServerKey: bytes(key) },
      toJSON: () => ({ endpoint: `https://push.example.com/${id}`, keys: { p256dh: "p", auth: "a" } }),
      unsubscribe: async () => {
        this.log.push("unsubscribe");
        this.subscription = null;
      },
    };
  }
}

/** Gives Node the parts of a page that Web Push needs; returns the container of the workers. */
function withWorkers(context, { permission = "granted", registrations = [new FakeRegistration()] } = {}) {
  const container = Object.assign(new EventTarget(), {
    registered: [],
    registrations,
    async getRegistrations() {
      return this.registrations;
    },
    async register(url) {
      this.registered.push(String(url));
      return this.registrations[0];
    },
    /** Hands the page a message of the worker; returns whether the page has replied. */
    async receive(data) {
      const { port1, port2 } = new Channel();
      let reply;
      port1.onmessage = (event) => (reply = event.data);
      this.dispatchEvent(Object.assign(new Event("message"), { data, ports: [port2] }));
      await settled();
      return reply === true;
    },
  });
  const asked = [];
  const globals = {
    navigator: { serviceWorker: container },
    PushManager: class {},
    Notification: {
      requestPermission: async () => {
        asked.push(permission);
        return permission;
      },
    },
    MessageChannel: Channel,
    location: new URL("https://app.example.com/calls?code=secret#x"),
  };
  for (const [name, value] of Object.entries(globals)) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name);
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    context.after(() => (before ? Object.defineProperty(globalThis, name, before) : delete globalThis[name]));
  }
  return Object.assign(container, { asked });
}

/** Returns a device whose server answers requests by `respond(method, path, body)`, and the requests. */
async function online(context, respond = () => undefined, options = {}) {
  const sent = [];
  const made = await device({
    fetch: async (url, { method, headers, body }) => {
      const path = new URL(url).pathname;
      const json = body === undefined ? undefined : JSON.parse(body);
      sent.push({ method, path, authorization: headers.Authorization, body: json });
      const usual = path === "/api/web-push" ? [200, { applicationServerKey: KEY }] : [200, {}];
      const [status, response] = respond(method, path, json) ?? usual;
      return { status, text: async () => JSON.stringify(response) };
    },
    ...options,
  });
  context.after(() => made.ringline.close());
  made.sockets[0].welcome();
  await settled();
  return { ...made, sent };
}

const paths = (sent) => sent.map(({ method, path }) => `${method} ${path}`);

test("the device is registered with a subscription for the server's key", async (context) => {
  const container = withWorkers(context);
  const { ringline, sent } = await online(context);
  assert.equal(await ringline.enableWebPush({ icon: "/icon.png", texts: { answer: "応答" } }), "granted");
  assert.match(container.registered[0], /Sources\/Clients\/RinglineJS\/service-worker\.js$/);
  const [registration] = container.registrations;
  assert.deepEqual(registration.options, { userVisibleOnly: true, applicationServerKey: KEY });
  const [{ settings }] = registration.active.of("ringline.configure");
  assert.deepEqual(settings, {
    url: "http://server.example:8080/",
    user: "11",
    device: "web-a",
    clockSkew: null,
    page: "https://app.example.com/calls",
    icon: "https://app.example.com/icon.png",
    badge: undefined,
    texts: { answer: "応答" },
    applicationServerKey: KEY,
  });
  const { body } = sent.find(({ method }) => method === "PUT");
  assert.deepEqual(body, { platform: "web", deviceId: "web-a", webPush: registration.subscription.toJSON() });
});

test("the user is asked before anything else happens", async (context) => {
  const container = withWorkers(context, { permission: "denied" });
  const { ringline, sent } = await online(context);
  const result = ringline.enableWebPush();
  // Still in the click.
  assert.deepEqual(container.asked, ["denied"]);
  assert.equal(await result, "denied");
  assert.deepEqual([container.registered, sent], [[], []]);
});

test("a subscription with the server's key is kept, and one with another key is replaced", async (context) => {
  const container = withWorkers(context);
  const [registration] = container.registrations;
  const { ringline, sent } = await online(context);
  registration.subscription = registration.made(KEY);
  await ringline.enableWebPush({ serviceWorker: registration, page: "/phone" });
  assert.deepEqual([registration.log, container.registered], [[], []]);
  registration.subscription = registration.made(KEY.replace("BNcR", "BNcS"));
  await ringline.enableWebPush({ serviceWorker: "/worker.js", page: new URL("https://app.example.com/phone") });
  assert.deepEqual([registration.log, container.registered], [["unsubscribe", "subscribe"], ["/worker.js"]]);
  assert.deepEqual(paths(sent), ["GET /api/web-push", "PUT /api/me/devices", "GET /api/web-push", "PUT /api/me/devices"]);
  const pages = registration.active.of("ringline.configure").map(({ settings }) => settings.page);
  assert.deepEqual(pages, ["https://app.example.com/phone", "https://app.example.com/phone"]);
});

test("a worker that is being installed is waited for", async (context) => {
  const registration = new FakeRegistration(null);
  const worker = (registration.installing = Object.assign(new FakeWorker(), { state: "installing" }));
  withWorkers(context, { registrations: [registration] });
  const { ringline } = await online(context);
  const enabled = ringline.enableWebPush();
  await settled();
  assert.deepEqual(worker.messages, []);
  worker.state = "activated";
  worker.dispatchEvent(new Event("statechange"));
  await enabled;
  assert.equal(worker.of("ringline.configure").length, 1);
});

test("what keeps Web Push from working is named", async (context) => {
  const enable = async (change, respond) => {
    const container = withWorkers(context);
    const { ringline } = await online(context, respond);
    change(container.registrations[0]);
    return ringline.enableWebPush();
  };
  const replaced = (replies) => (registration) => (registration.active = new FakeWorker(replies));
  await assert.rejects(enable(replaced({ "ringline.configure": false })), /serviceWorker: cannot store its settings/);
  const gone = (registration) => {
    registration.active = null;
    registration.waiting = Object.assign(new FakeWorker(), { state: "redundant" });
  };
  await assert.rejects(enable(gone), /serviceWorker: cannot be installed/);
  const none = () => [404, { code: "not_found", message: "Web Push is off" }];
  await assert.rejects(enable(() => {}, none), { message: "api/web-push: Web Push is off" });
  await assert.rejects(enable(() => {}, () => [0, null]), { message: "api/web-push: no response" });
  const refused = (method) => (method === "PUT" ? [400, { message: "endpoint: host not allowed" }] : undefined);
  await assert.rejects(enable(() => {}, refused), { message: "api/me/devices: endpoint: host not allowed" });
  delete globalThis.PushManager;
  const { ringline } = await online(context);
  await assert.rejects(ringline.enableWebPush(), /this browser has none/);
});

test("a worker that does not import the kit's is named after a while", async (context) => {
  stopClock(context);
  withWorkers(context, { registrations: [new FakeRegistration(new FakeWorker({}))] });
  const { ringline } = await online(context);
  const enabled = assert.rejects(ringline.enableWebPush(), /does not import service-worker\.js/);
  for (let turn = 0; turn < 10; turn += 1) await settled();
  context.mock.timers.tick(5_000);
  await enabled;
});

test("a token that the server refuses is replaced once", async (context) => {
  withWorkers(context);
  let [count, tokens] = [0, 0];
  const expired = () => ((count += 1) === 1 ? [401, { code: "token_expired" }] : undefined);
  const { ringline, sent } = await online(context, expired, { token: () => `a.b.${(tokens += 1)}` });
  await ringline.registerWebPush({ endpoint: "https://push.example.com/1", keys: {} });
  assert.deepEqual(paths(sent), ["PUT /api/me/devices", "PUT /api/me/devices"]);
  assert.deepEqual(sent.map(({ authorization }) => authorization), ["Bearer a.b.1", "Bearer a.b.2"]);
  count = -Infinity;
  await assert.rejects((await online(context, () => [401, { message: "revoked" }])).ringline.registerWebPush({}), /revoked/);
});

test("a logout ends the subscription of the kit's worker, and no other", async (context) => {
  stopClock(context);
  const [own, other] = [new FakeRegistration(), new FakeRegistration(new FakeWorker({}))];
  const unused = new FakeRegistration(new FakeWorker({ "ringline.forget": false, "ringline.ready": {} }));
  const container = withWorkers(context, { registrations: [other, own, unused, new FakeRegistration(null)] });
  for (const registration of [own, other, unused]) registration.subscription = registration.made(KEY);
  const { ringline, sent } = await online(context, () => [404, { code: "not_found" }]);
  const disabled = ringline.disableWebPush();
  for (let turn = 0; turn < 10; turn += 1) await settled();
  context.mock.timers.tick(5_000);
  await disabled;
  assert.deepEqual([own.log, other.log, unused.log], [["unsubscribe"], [], []]);
  assert.deepEqual(paths(sent), ["DELETE /api/me/devices/web-a"]);
  container.registrations = [];
  const { ringline: offline } = await online(context, () => [0, null]);
  await assert.rejects(offline.disableWebPush(), { message: "api/me/devices: no response" });
});

/** Returns the calls that come to a device, with their events. */
function calls(ringline) {
  const seen = [];
  ringline.addEventListener("incoming", ({ call }) => {
    seen.push(call);
    call.seen = [];
    for (const name of ["update", "ended"]) call.addEventListener(name, () => call.seen.push([name, call.reason]));
  });
  return seen;
}

test("a page that the user has opened by answering answers the call", async (context) => {
  const push = incoming({ callUUID: offer().callUUID, callId: offer().callId });
  const worker = new FakeWorker({});
  let reply;
  worker.postMessage = ({ type, user }, ports) => {
    if (type === "ringline.ready" && user === "11") reply = () => ports[0].postMessage({ push, device: "web-a" });
  };
  withWorkers(context, { registrations: [new FakeRegistration(worker)] });
  const { ringline } = await device();
  context.after(() => ringline.close());
  const seen = calls(ringline);
  reply();
  await settled();
  assert.equal(seen.length, 1);
  assert.deepEqual([seen[0].state, seen[0].isAnswered, seen[0].seen], ["ringing", true, [["update", null]]]);
});

test("a page that has the call already answers it", async (context) => {
  const container = withWorkers(context);
  const { ringline, sockets, performed } = await online(context);
  const seen = calls(ringline);
  sockets[0].receive(offer());
  assert.equal(seen[0].isAnswered, false);
  const push = incoming({ callUUID: offer().callUUID, callId: offer().callId });
  for (let copy = 0; copy < 2; copy += 1) await container.receive({ type: "ringline.answer", push, device: "web-a" });
  assert.deepEqual([seen.length, seen[0].isAnswered, seen[0].seen], [1, true, [["update", null]]]);
  assert.equal(performed.filter(({ out }) => out === "makeAnswer").length, 1);
});

test("a call that is over by the time of the answer says so", async (context) => {
  const container = withWorkers(context);
  const { ringline } = await online(context);
  const seen = calls(ringline);
  const push = incoming({ ringUntil: Date.now() - 60_000, sentAt: Date.now() - 100_000 });
  await container.receive({ type: "ringline.answer", push, device: "web-a" });
  assert.deepEqual([seen[0].state, seen[0].isAnswered, seen[0].seen], ["ended", false, [["ended", "unanswered"]]]);
});

test("a push of the worker rings, unless the page knows that the call is over", async (context) => {
  const container = withWorkers(context);
  const { ringline, sockets } = await online(context);
  const seen = calls(ringline);
  const push = incoming({ callUUID: offer().callUUID, callId: offer().callId });
  assert.equal(await container.receive({ type: "ringline.push", push, device: "web-a" }), true);
  assert.deepEqual([seen.length, seen[0].state, seen[0].isAnswered], [1, "ringing", false]);
  seen[0].end();
  await container.receive({ type: "ringline.push", push, device: "web-a" });
  assert.equal(seen.length, 1);
  // A notice makes no call. The page looks whether its connection is alive.
  for (const type of ["call.over", "call.missed", "message", "test"]) {
    assert.equal(await container.receive({ type: "ringline.push", push: notice(type), device: "web-a" }), true);
  }
  assert.equal(seen.length, 1);
  assert.deepEqual(sockets[0].sent.filter(({ id }) => id === "check").length, 1);
});

test("messages for another user, and the app's own, are left alone", async (context) => {
  const container = withWorkers(context);
  const { ringline, errors } = await online(context);
  const seen = calls(ringline);
  const push = incoming({ toUserId: "12" });
  for (const message of [
    { type: "ringline.present", user: "12" },
    { type: "ringline.push", push },
    { type: "ringline.answer", push },
    { type: "news" },
    "news",
    null,
  ]) {
    assert.equal(await container.receive(message), false, JSON.stringify(message));
  }
  assert.equal(await container.receive({ type: "ringline.present", user: "11" }), true);
  ringline.close();
  assert.equal(await container.receive({ type: "ringline.present", user: "11" }), false);
  assert.deepEqual([seen, errors], [[], []]);
});

test("the capability of another device is not used", async (context) => {
  const container = withWorkers(context);
  for (const [id, authorization] of [["web-a", /^Ring capability$/], ["web-b", /^Bearer /]]) {
    const { ringline, sockets, sent } = await online(context);
    sockets.at(-1).drop(4401);
    await container.receive({ type: "ringline.push", push: incoming(), device: id });
    const ringing = sent.find(({ path }) => path.startsWith("/api/calls/signal"));
    assert.match(ringing.authorization, authorization, id);
    ringline.close();
  }
});

test("the worker closes the notification of a call that was answered or is over", async (context) => {
  const container = withWorkers(context);
  const { ringline, sockets } = await online(context);
  const [{ active }] = container.registrations;
  calls(ringline);
  sockets[0].receive(offer());
  assert.deepEqual(active.of("ringline.settled"), []);
  sockets[0].receive({ type: "call", callId: offer().callId, room: "p2p:10-11", epoch: 1, seq: 2, ts: 1, state: "ended", reason: "cancelled" });
  const call = { callId: offer().callId, fromUserId: "10", epoch: 1 };
  assert.deepEqual(active.of("ringline.settled"), [{ type: "ringline.settled", call }]);
});

test("a subscription that the worker has renewed is registered", async (context) => {
  const container = withWorkers(context);
  const { sent } = await online(context);
  const subscription = { endpoint: "https://push.example.com/2" };
  await container.receive({ type: "ringline.subscription", user: "11", subscription });
  await settled();
  assert.deepEqual(sent.map(({ body }) => body.webPush), [subscription]);
});

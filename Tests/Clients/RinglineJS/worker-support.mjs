// A browser that runs the service worker: its notifications, pages and database, for the tests of the worker.
import { readFile } from "node:fs/promises";
import { settled } from "./support.mjs";

const source = await readFile(new URL("../../../Sources/Clients/RinglineJS/service-worker.js", import.meta.url), "utf8");

/** The settings that a page sends. */
export const SETTINGS = {
  url: "https://calls.example.com/ringline/",
  user: "11",
  device: "web-a",
  page: "https://app.example.com/calls",
  applicationServerKey: "BKey",
};

/** A push that rings user 11. */
export const incoming = (more = {}) => ({
  type: "call.incoming",
  callId: "c-1",
  epoch: 1,
  fromUserId: "10",
  fromDisplayName: "花子",
  toUserId: "11",
  hasVideo: false,
  sentAt: Date.now(),
  ringUntil: Date.now() + 45_000,
  act: "capability",
  ...more,
});

/** A notice about the call of `incoming`. */
export const notice = (type, more = {}) => ({
  type,
  callId: "c-1",
  epoch: 1,
  fromUserId: "10",
  fromDisplayName: "花子",
  ...more,
});

/** The two ends of a channel, whose messages come in a later microtask. */
export class Channel {
  port1 = { close() {}, postMessage: (data) => queueMicrotask(() => this.port2.onmessage?.({ data })) };
  port2 = { close() {}, postMessage: (data) => queueMicrotask(() => this.port1.onmessage?.({ data })) };
}

/** A page of the app with a `Ringline` of `user`. `replies`: whether it answers the worker's questions. */
export class FakePage {
  messages = [];
  focused = 0;

  constructor({ user = "11", visibilityState = "hidden", replies = true } = {}) {
    Object.assign(this, { user, visibilityState, replies });
  }

  postMessage(message, [port] = []) {
    this.messages.push(message);
    const user = message.user ?? message.push?.toUserId ?? this.user;
    if (this.replies && user === this.user) port?.postMessage(true);
  }

  async focus() {
    this.focused += 1;
  }
}

/** The part of IndexedDB that the worker uses. */
class FakeDatabase {
  values = new Map();
  isBroken = false;

  open() {
    const opening = { result: this };
    queueMicrotask(() => (this.isBroken ? opening.onerror() : opening.onsuccess()));
    return opening;
  }

  transaction() {
    const { values } = this;
    const transaction = {
      objectStore: () => ({
        get: (key) => ({ result: structuredClone(values.get(key)) }),
        put: (value, key) => void values.set(key, structuredClone(value)),
        delete: (key) => void values.delete(key),
        clear: () => void values.clear(),
      }),
    };
    queueMicrotask(() => transaction.oncomplete());
    // The requests of writes are read, too.
    const store = transaction.objectStore();
    transaction.objectStore = () =>
      Object.fromEntries(Object.entries(store).map(([name, work]) => [name, (...all) => work(...all) ?? {}]));
    return transaction;
  }
}

/** A browser with one registered worker. */
export class FakeBrowser {
  database = new FakeDatabase();
  /** The notifications that are shown, by tag. */
  shown = new Map();
  /** Those that were shown, in order. */
  history = [];
  requests = [];
  pages = [];
  opened = [];
  subscriptions = [];
  isPermitted = true;
  /** Returns the response to a request. */
  respond = () => [200, { ok: true, state: "ringing" }];
  #listeners;

  /** Starts the worker, or starts it again after the browser has stopped it. */
  start() {
    this.#listeners = {};
    const self = {
      addEventListener: (type, listener) => (this.#listeners[type] = listener),
      clients: { matchAll: async () => this.pages, openWindow: async (url) => this.opened.push(url) },
      registration: {
        scope: "https://app.example.com/",
        showNotification: async (title, options) => this.#show(title, options),
        getNotifications: async () => [...this.shown.values()],
        pushManager: {
          subscribe: async (options) => {
            this.subscriptions.push(options);
            return { toJSON: () => ({ endpoint: "https://push.example.com/2" }) };
          },
        },
      },
    };
    const globals = { self, indexedDB: this.database, fetch: this.#fetch, MessageChannel: Channel };
    new Function(...Object.keys(globals), source)(...Object.values(globals));
    return this;
  }

  #show(title, options) {
    if (!this.isPermitted) throw new TypeError("no notification permission");
    const notification = { title, ...structuredClone(options), close: () => this.#close(notification) };
    this.history.push(notification);
    this.shown.set(options.tag, notification);
  }

  #close(notification) {
    if (this.shown.get(notification.tag) === notification) this.shown.delete(notification.tag);
  }

  #fetch = async (url, { method, headers, body }) => {
    this.requests.push({ method, url: String(url), authorization: headers.Authorization, ...JSON.parse(body) });
    const [status, response] = this.respond();
    if (status === 0) throw new TypeError("no network");
    return { status, json: async () => structuredClone(response) };
  };

  /** Hands the worker an event, and waits until it is done, as far as it is without time passing. */
  async dispatch(type, members) {
    const waiting = [];
    const event = { waitUntil: (work) => waiting.push(work), ...members };
    this.#listeners[type](event);
    let isDone = false;
    const done = Promise.all(waiting).finally(() => (isDone = true));
    for (let turn = 0; turn < 20 && !isDone; turn += 1) await settled();
    return isDone ? done : undefined;
  }

  push(payload) {
    const text = typeof payload === "string" ? payload : JSON.stringify(payload);
    return this.dispatch("push", { data: { json: () => JSON.parse(text) } });
  }

  /** Clicks on a notification; `action` is that of its button. */
  click(notification, action = "") {
    return this.dispatch("notificationclick", { notification, action });
  }

  /** Sends a message of a page; returns the worker's reply. */
  async tell(message) {
    const { port1, port2 } = new Channel();
    let reply;
    port1.onmessage = ({ data }) => (reply = data);
    await this.dispatch("message", { data: message, ports: [port2] });
    await settled();
    return reply;
  }

  /** The only notification that is shown. */
  get only() {
    if (this.shown.size !== 1) throw new Error(`${this.shown.size} notifications are shown`);
    return [...this.shown.values()][0];
  }
}

/** Returns a browser in which a page has enabled Web Push. */
export async function browser(settings = {}) {
  const made = new FakeBrowser().start();
  await made.tell({ type: "ringline.configure", settings: { ...SETTINGS, ...settings } });
  return made;
}

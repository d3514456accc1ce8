// Web Push in a page: the subscription, and what the page and the service worker tell each other.
import { RinglineEvent } from "./call.js";

// A worker that has not answered by then does not import service-worker.js. Browsers may have to start it.
const WORKER_TIMEOUT = 5_000;

/** The calls of one `Ringline` that come by Web Push. */
export class WebPush {
  #options;
  #server;
  #host;
  #container = globalThis.navigator?.serviceWorker;
  /** The workers that import service-worker.js. */
  #workers = new Set();
  #received = (event) => this.#receive(event);

  /**
   * `options` are those of the `Ringline`. `host` has `pushed(push)`, `failed(error)`, `states()` of the core's calls,
   * `callOf(uuid)` and `clockSkew()`.
   */
  constructor(options, server, host) {
    this.#options = options;
    this.#server = server;
    this.#host = host;
    this.#container?.addEventListener("message", this.#received);
    void this.#askForAnswered();
  }

  close() {
    this.#container?.removeEventListener("message", this.#received);
  }

  /** Asks for the permission, subscribes, and registers the device; see `ringline.d.ts`. */
  async enable({ serviceWorker = new URL("./service-worker.js", import.meta.url), page, icon, badge, texts } = {}) {
    if (this.#container === undefined || globalThis.PushManager === undefined || globalThis.Notification === undefined) {
      throw new Error("Web Push: this browser has none, or not for this page");
    }
    // Before anything else: browsers ask the user only while they handle a click.
    const permission = await Notification.requestPermission();
    if (permission !== "granted") return permission;
    const applicationServerKey = await this.#applicationServerKey();
    const isURL = typeof serviceWorker === "string" || serviceWorker instanceof URL;
    const registration = isURL ? await this.#container.register(serviceWorker) : serviceWorker;
    const address = (text) => (text === undefined ? undefined : new URL(text, location.href).href);
    await this.#configure(registration, {
      url: this.#options.url,
      user: this.#options.user,
      device: this.#options.device,
      clockSkew: this.#host.clockSkew(),
      page: address(page) ?? location.origin + location.pathname,
      icon: address(icon),
      badge: address(badge),
      texts,
      applicationServerKey,
    });
    await this.register(await subscribe(registration.pushManager, applicationServerKey));
    return permission;
  }

  /** Registers a subscription for this device. */
  async register(subscription) {
    const { device: deviceId } = this.#options;
    const webPush = typeof subscription.toJSON === "function" ? subscription.toJSON() : subscription;
    await this.#server.ask("PUT", "api/me/devices", JSON.stringify({ platform: "web", deviceId, webPush }));
  }

  /** Ends the subscription of this browser, and the registration of this device. */
  async disable() {
    await this.#askWorkers({ type: "ringline.forget" }, async (isOwn, { pushManager }) => {
      const subscription = isOwn === true ? await pushManager.getSubscription() : null;
      await subscription?.unsubscribe();
    });
    await this.#server.ask("DELETE", `api/me/devices/${encodeURIComponent(this.#options.device)}`);
  }

  /** Closes the notification of an incoming call when the call no longer rings. */
  watch(call) {
    const close = () => {
      const state = this.#host.states().findLast(({ uuid }) => uuid === call.uuid);
      if (state === undefined) return;
      const { callId, peer: fromUserId, epoch } = state;
      for (const worker of this.#workers) {
        worker.postMessage({ type: "ringline.settled", call: { callId, fromUserId, epoch } });
      }
    };
    for (const event of ["connecting", "ended"]) call.addEventListener(event, close);
  }

  async #applicationServerKey() {
    const { applicationServerKey } = await this.#server.ask("GET", "api/web-push");
    return applicationServerKey;
  }

  async #configure(registration, settings) {
    const worker = await activeWorker(registration);
    const isKept = await ask(worker, { type: "ringline.configure", settings });
    if (isKept === undefined) throw new Error("serviceWorker: does not import service-worker.js");
    if (!isKept) throw new Error("serviceWorker: cannot store its settings in IndexedDB");
    this.#workers.add(worker);
  }

  // The service worker.

  /** Asks the origin's workers, and calls `take(reply, registration)` for each reply. */
  async #askWorkers(message, take) {
    const registrations = (await this.#container?.getRegistrations()) ?? [];
    await Promise.all(registrations.map(async (registration) => {
      const { active } = registration;
      const reply = active === null ? undefined : await ask(active, message);
      if (reply === undefined) return;
      this.#workers.add(active);
      await take(reply, registration);
    }));
  }

  /** Takes the call that the user has answered in a notification, which has opened this page. */
  async #askForAnswered() {
    try {
      await this.#askWorkers({ type: "ringline.ready", user: this.#options.user }, (reply) => {
        if (reply.push !== undefined) this.#take(reply, true);
      });
    } catch (error) {
      this.#host.failed(error);
    }
  }

  #receive({ data, ports: [port] }) {
    if (!String(data?.type).startsWith("ringline.")) return;
    // Notices have no user.
    const user = data.user ?? data.push?.toUserId;
    if (user !== undefined && user !== this.#options.user) return;
    port?.postMessage(true);
    if (data.type === "ringline.push") this.#take(data, false);
    if (data.type === "ringline.answer") this.#take(data, true);
    if (data.type !== "ringline.subscription") return;
    this.register(data.subscription).catch((error) => this.#host.failed(error));
  }

  /** Takes a push to the device `device`. `isAnswered`: the user has answered the call in the notification. */
  #take({ push, device }, isAnswered) {
    const { act, ...rest } = push;
    const { callId, fromUserId, epoch } = push;
    const stateOfCall = () => this.#host.states().findLast((call) =>
      call.callId === callId && call.peer === fromUserId && (call.epoch ?? epoch) === epoch);
    // Only a user who answers a call that is over has to see it.
    if (!isAnswered && stateOfCall()?.reason !== undefined) return;
    try {
      // Several pages may have device ids of their own. The capability is one device's.
      this.#host.pushed(device === this.#options.device ? push : rest);
    } catch (error) {
      return this.#host.failed(error);
    }
    const call = this.#host.callOf(stateOfCall()?.uuid);
    if (!isAnswered || call?.state !== "ringing" || call.isAnswered) return;
    call.answer();
    call.dispatchEvent(new RinglineEvent("update"));
  }
}

/** Returns the active worker of a registration; waits for a new one to be installed. */
async function activeWorker(registration) {
  if (registration.active !== null) return registration.active;
  const worker = registration.waiting ?? registration.installing;
  return new Promise((resolve, reject) => {
    const update = () => {
      if (worker.state === "activated") resolve(worker);
      if (worker.state === "redundant") reject(new Error("serviceWorker: cannot be installed"));
    };
    worker.addEventListener("statechange", update);
    update();
  });
}

/** Sends a worker a message; returns its reply, `undefined` if there is none. */
async function ask(worker, message) {
  const { port1, port2 } = new MessageChannel();
  let timer;
  try {
    return await new Promise((resolve) => {
      port1.onmessage = ({ data }) => resolve(data);
      timer = setTimeout(resolve, WORKER_TIMEOUT);
      worker.postMessage(message, [port2]);
    });
  } finally {
    clearTimeout(timer);
    port1.close();
  }
}

/** Returns the subscription of a registration; makes a new one if there is none for the key. */
async function subscribe(pushManager, applicationServerKey) {
  const known = await pushManager.getSubscription();
  if (known !== null && textOf(known.options?.applicationServerKey) === applicationServerKey) return known;
  // A browser refuses a second key.
  await known?.unsubscribe();
  return pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
}

/** Returns bytes as base64url. */
function textOf(bytes) {
  if (!bytes) return null;
  return btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

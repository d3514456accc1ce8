// Calls over a Ringline server, for browsers and Node. README.md beside this file shows how to use it.
import { Call, RinglineEvent, applyOutput, endCall } from "./call.js";
import { Connection } from "./connection.js";
import { BridgeError, Core, compileCore } from "./core.js";
import { ENGINE_OUTPUTS, PeerEngine } from "./engine.js";
import { Reconnection } from "./reconnection.js";
import { Server } from "./server.js";

export { BridgeError, Call, RinglineEvent, compileCore };

/** The close code of a connection whose token is bad, expired or revoked. */
const UNAUTHENTICATED = 4401;
/** The close code of a connection that another one of the same device has replaced. */
const REPLACED = 4409;
/** The inputs after which a connection does not wait for the end of a pause: a call or an answer of the user, a push. */
const URGENT = new Set(["startCall", "answer", "pushed"]);
/** The longest time for which a server that shuts down may keep a device away, as the core has it. */
const LONGEST_RECONNECT_DELAY = 60_000;
/** The largest time that a timer of JavaScript can wait. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** The calls of one device of one user. Make it with `Ringline.create`. */
export class Ringline extends EventTarget {
  /** The live calls, and those that have ended since the last new call, by UUID. */
  calls = new Map();
  /** @type {"connecting" | "open" | "closed"} */
  connectionState = "closed";
  #core;
  #options;
  #server;
  #engine;
  #connection = null;
  #reconnection = new Reconnection();
  #reconnectTimer;
  #deadlineTimer;
  #renewalTimer;
  #retryTimer;
  #inputs = [];
  #isBusy = false;
  #isUrgent = false;
  #isClosing = false;
  #isClosed = false;
  #isConnecting = false;
  #networkChanged = () => this.networkChanged();

  /** Loads the core and begins to connect. */
  static async create(options) {
    const good = checked(options);
    return new Ringline(good, await compileCore(good.wasm));
  }

  constructor(options, module) {
    super();
    this.#options = options;
    const { user, device, displayName, ringTimeout, maximumCalls, clockSkew } = options;
    const signalIDPrefix = crypto.randomUUID();
    this.#core = new Core(module, {
      user, device, signalIDPrefix, displayName, ringTimeout, maximumCalls, clockSkew,
    });
    this.#server = new Server(options);
    this.#engine = options.engine(this.#engineHost());
    globalThis.addEventListener?.("online", this.#networkChanged);
    // A browser has no audio session that another app may hold.
    this.#take({ in: "audioActivated" });
    this.#connect();
  }

  /** How far this device's clock is ahead of the server's, in milliseconds; keep it for the next launch. */
  get clockSkew() {
    return this.#core.state.clockSkew ?? null;
  }

  /** Calls a user. Returns the call of that user that was answered instead, if they are calling this device already. */
  call(peer, { video = false } = {}) {
    this.#assertOpen();
    const uuid = crypto.randomUUID();
    // The callId is another random UUID: peers see it, and only this device knows the UUID.
    const start = { in: "startCall", uuid, callId: crypto.randomUUID(), to: peer, hasVideo: video };
    this.#forgetEndedCalls();
    const call = new Call({ uuid, peer, direction: "outgoing", hasVideo: video }, (input) => this.#take(input));
    this.calls.set(uuid, call);
    try {
      this.#take(start);
    } catch (error) {
      this.calls.delete(uuid);
      throw error;
    }
    return this.calls.get(call.instead) ?? call;
  }

  /** Hands in the payload of a push, whatever it contains. */
  pushed(payload) {
    this.#assertOpen();
    this.#take({ in: "pushed", payload });
  }

  /** The connection of a call's media, for `getStats`; `null` while there is none. */
  mediaConnection(call) {
    return this.#engine.connection?.(call.uuid) ?? null;
  }

  /** Connects at once, or checks the connection: the network has changed. `online` events do this by themselves. */
  networkChanged() {
    if (this.#isClosed) return;
    if (this.#connection?.isOpen) this.#connection.check();
    else this.#connect();
  }

  /** Ends all calls and the connection. */
  close() {
    if (this.#isClosing) return;
    this.#isClosing = true;
    for (const call of this.calls.values()) if (call.state !== "ended") this.#take({ in: "end", uuid: call.uuid });
    // Within an event, the ends still have to be sent.
    if (!this.#isBusy) this.#shutDown();
  }

  #shutDown() {
    if (this.#isClosed) return;
    this.#isClosing = true;
    this.#isClosed = true;
    globalThis.removeEventListener?.("online", this.#networkChanged);
    const timers = [this.#reconnectTimer, this.#deadlineTimer, this.#renewalTimer, this.#retryTimer];
    for (const timer of timers) clearTimeout(timer);
    this.#connection?.giveUp();
    this.#engine.close();
    this.#setConnectionState("closed");
  }

  #assertOpen() {
    if (this.#isClosing) throw new Error("this Ringline is closed");
  }

  #forgetEndedCalls() {
    for (const [uuid, call] of this.calls) if (call.state === "ended") this.calls.delete(uuid);
  }

  // The core.

  /** Hands in an input and carries out the outputs. An input that comes meanwhile waits for its turn. */
  #take(input) {
    if (this.#isClosed) return;
    this.#inputs.push(input);
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      for (let next = this.#inputs.shift(); next !== undefined; next = this.#inputs.shift()) this.#handle(next, input);
    } finally {
      this.#isBusy = false;
      if (this.#isClosing) this.#shutDown();
      else this.#setDeadline();
    }
  }

  #handle(input, own) {
    this.#isUrgent = URGENT.has(input.in);
    let outputs;
    try {
      outputs = this.#core.handle(input);
    } catch (error) {
      // A mistake in an argument of the app is the caller's to hear; one in an event handler has no caller here.
      if (error instanceof BridgeError && input === own) throw error;
      this.#fail(error);
      if (!(error instanceof BridgeError)) this.#coreFailed();
      else if (input.in === "startCall") this.#startFailed(input.uuid);
      return;
    }
    for (const output of outputs) {
      try {
        this.#perform(output);
      } catch (error) {
        // A socket or an engine that fails must not keep the other outputs from being carried out.
        this.#fail(error);
      }
    }
    const ended = input.in === "end" ? this.calls.get(input.uuid) : undefined;
    if (ended !== undefined) endCall(ended, this.#reasonOf(input.uuid));
  }

  /** Ends everything after a trap: the core's memory cannot be trusted any more. */
  #coreFailed() {
    this.#inputs.length = 0;
    for (const call of this.calls.values()) endCall(call, "failed");
    this.#shutDown();
  }

  /** Ends a call that was begun with a bad argument within an event, where nobody hears the error. */
  #startFailed(uuid) {
    const call = this.calls.get(uuid);
    this.calls.delete(uuid);
    if (call !== undefined) endCall(call, "notPossible");
  }

  #setDeadline() {
    clearTimeout(this.#deadlineTimer);
    const { deadline } = this.#core;
    if (deadline === null) return;
    const wait = Math.min(LONGEST_TIMER, Math.max(0, deadline - Date.now()));
    this.#deadlineTimer = setTimeout(() => this.#take({ in: "deadlineReached" }), wait);
  }

  #perform(output) {
    if (ENGINE_OUTPUTS.has(output.out)) {
      try {
        this.#engine.perform(output);
      } finally {
        const call = this.calls.get(output.uuid);
        if (call !== undefined) applyOutput(call, output);
      }
      return;
    }
    switch (output.out) {
      case "connect":
        // This device always wants a connection, so an attempt is planned already.
        return this.#isUrgent ? void this.#connect() : undefined;
      case "send":
        return this.#connection?.send(output.frame);
      case "post":
        return void this.#server.post(output.body, output.act).then((response) =>
          this.#take({ in: "posted", id: output.id, ...response }));
      case "fetch":
        return void this.#server.fetchCall(output, this.#options.device).then((response) =>
          this.#take({ in: "fetched", number: output.number, ...response }));
      case "renewToken":
        return void this.#renewToken();
      case "reportIncoming":
        return this.#reportIncoming(output);
      case "reportRepeated":
        return undefined;
    }
    const call = this.calls.get(output.uuid);
    if (call === undefined) return;
    if (output.out === "reportEnded") endCall(call, this.#reasonOf(call.uuid));
    else applyOutput(call, output);
    if (output.out !== "refused" || this.#stateOf(call.uuid) !== undefined) return;
    call.instead = output.instead;
    endCall(call, output.why);
  }

  #reportIncoming({ uuid, handle, name, hasVideo }) {
    this.#forgetEndedCalls();
    const peer = this.#stateOf(uuid)?.peer ?? handle;
    const call = new Call({ uuid, peer, direction: "incoming", name, hasVideo }, (input) => this.#take(input));
    this.calls.set(uuid, call);
    this.dispatchEvent(new RinglineEvent("incoming", { call }));
  }

  #stateOf(uuid) {
    return this.#core.state.calls.findLast((call) => call.uuid === uuid);
  }

  #reasonOf(uuid) {
    return this.#stateOf(uuid)?.reason ?? null;
  }

  #fail(error) {
    if (this.#isClosed) return;
    const event = new RinglineEvent("error", { error }, { cancelable: true });
    // An error that nobody handles must not pass unseen.
    if (this.dispatchEvent(event)) console.warn("Ringline:", error);
  }

  // The engine.

  #engineHost() {
    return {
      take: (input) => this.#take(input),
      failed: (uuid, error) => this.#fail(error),
      changed: (uuid, { local, remote }) => {
        const call = this.calls.get(uuid);
        if (call === undefined) return;
        call.localStream = local;
        call.remoteStream = remote;
        call.dispatchEvent(new RinglineEvent("media"));
      },
      media: (request) => this.#options.media(request),
      configuration: async () => ({
        ...this.#options.rtcConfiguration,
        iceServers: this.#options.rtcConfiguration?.iceServers ?? (await this.#server.iceServers()),
      }),
      sendsVideo: (uuid) => this.calls.get(uuid)?.sendsVideo ?? false,
    };
  }

  // The connection and the token.

  async #connect() {
    if (this.#isClosed || this.#isConnecting || this.#connection !== null) return;
    const { reconnectAt = 0 } = this.#core.state;
    const pause = reconnectAt - Date.now();
    // The moment is further away only if the clock was set back meanwhile.
    if (pause > 0 && pause <= LONGEST_RECONNECT_DELAY) return this.#connectAfter(pause);
    this.#isConnecting = true;
    clearTimeout(this.#reconnectTimer);
    this.#setConnectionState("connecting");
    try {
      const token = await this.#server.token();
      if (this.#isClosed) return;
      this.#connection = new Connection(this.#options.WebSocket, this.#server.socketURL(this.#options.device), token, {
        opened: (welcome) => this.#opened(welcome),
        received: (text) => this.#take({ in: "received", frame: text }),
        closed: (code) => this.#closed(code),
      });
    } catch (error) {
      if (this.#isClosed) return;
      this.#fail(error);
      this.#reconnectLater();
    } finally {
      this.#isConnecting = false;
    }
  }

  #opened(welcome) {
    this.#reconnection.opened();
    this.#server.welcomed(welcome);
    this.#renewInTime();
    this.#setConnectionState("open");
    this.#take({ in: "connectionOpened" });
  }

  #closed(code) {
    this.#connection = null;
    clearTimeout(this.#renewalTimer);
    if (this.#isClosed) return;
    this.#take({ in: "connectionClosed" });
    if (code === UNAUTHENTICATED) {
      this.#server.tokenRefused();
      this.#take({ in: "tokenExpired" });
    }
    if (code === REPLACED) {
      // Another page has the same device id. Two pages that reconnect would replace each other for ever.
      this.#setConnectionState("closed");
      return this.#fail(new Error("device: another connection has the same device id"));
    }
    this.#reconnectLater();
  }

  #reconnectLater() {
    this.#setConnectionState("closed");
    this.#connectAfter(this.#reconnection.closed());
  }

  #connectAfter(pause) {
    clearTimeout(this.#reconnectTimer);
    this.#reconnectTimer = setTimeout(() => this.#connect(), pause);
  }

  #setConnectionState(state) {
    if (this.connectionState === state) return;
    this.connectionState = state;
    this.dispatchEvent(new RinglineEvent("connection", { state }));
  }

  async #renewToken() {
    try {
      await this.#server.renewToken();
      this.#take({ in: "tokenRenewed" });
    } catch (error) {
      if (this.#isClosed) return;
      this.#fail(error);
      clearTimeout(this.#retryTimer);
      this.#retryTimer = setTimeout(() => this.#renewToken(), this.#reconnection.closed());
    }
  }

  /** Renews the token before it expires, so that the connection stays open. */
  #renewInTime() {
    clearTimeout(this.#renewalTimer);
    const at = this.#server.renewalMoment;
    if (at === null || at <= Date.now()) return;
    this.#renewalTimer = setTimeout(async () => {
      try {
        const token = await this.#server.renewToken();
        if (this.#isClosed) return;
        this.#connection?.send(JSON.stringify({ type: "auth", token }));
        this.#renewInTime();
      } catch (error) {
        // When the token has expired, the server closes the connection, and the next attempt asks again.
        this.#fail(error);
      }
    }, Math.min(LONGEST_TIMER, at - Date.now()));
  }
}

/** Returns the options with their defaults; throws a TypeError that names the option that is wrong. */
function checked(options) {
  const need = (name, isGood, what) => {
    if (!isGood(options?.[name])) throw new TypeError(`${name}: must be ${what}`);
  };
  const isText = (value) => typeof value === "string" && value !== "";
  const isFunction = (value) => typeof value === "function";
  const optional = (isGood) => (value) => value === undefined || isGood(value);
  need("url", (url) => URL.canParse(url) && /^https?:/.test(url), "an http or https address");
  need("user", isText, "a user id");
  need("device", isText, "a device id that this installation keeps");
  need("token", isFunction, "a function that returns a token");
  for (const name of ["media", "engine", "WebSocket", "fetch"]) need(name, optional(isFunction), "a function");
  const { url, WebSocket = globalThis.WebSocket, fetch = (...args) => globalThis.fetch(...args) } = options;
  if (!isFunction(WebSocket)) throw new TypeError("WebSocket: must be a class, because this platform has none");
  return {
    media: ({ audio, video }) => navigator.mediaDevices.getUserMedia({ audio, video }),
    engine: (host) => new PeerEngine(host),
    ...options,
    // A path without a final slash would lose its last part.
    url: url.endsWith("/") ? url : `${url}/`,
    WebSocket,
    fetch,
  };
}

// Calls over a Ringline server, for browsers and Node. README.md beside this file shows how to use it.
import { Call, RinglineEvent, applyOutput, applySchedule, endCall } from "./call.js";
import { Connection } from "./connection.js";
import { BridgeError, Core, compileCore } from "./core.js";
import { ENGINE_OUTPUTS } from "./engine.js";
import { history } from "./history.js";
import { checked } from "./options.js";
import { LONGEST_TIMER, RequestError, Server, TokenRenewal } from "./server.js";
import { WebPush } from "./web-push.js";

export { BridgeError, Call, RequestError, RinglineEvent, compileCore };

/** The close code of a connection whose token is bad, expired or revoked. */
const UNAUTHENTICATED = 4401;
/** The close code of a connection that another one of the same device has replaced. */
const REPLACED = 4409;
/** The types of the pushes that ring nothing. */
const NOTICES = new Set(["call.missed", "call.over", "message", "test"]);
/** The chance of an input of the connection's machine is a whole number below this one. */
const CHANCES = 1_000_000;

/** The calls of one device of one user. Make it with `Ringline.create`. */
export class Ringline extends EventTarget {
  /** The live calls, and those that have ended since the last new call, by UUID. */
  calls = new Map();
  /** @type {"connecting" | "open" | "closed"} */
  connectionState = "closed";
  #core;
  #options;
  #server;
  #renewal;
  #engine;
  #webPush;
  #connection = null;
  #reconnectTimer;
  #deadlineTimer;
  #inputs = [];
  #isBusy = false;
  #isClosing = false;
  #isClosed = false;
  /** Whether another connection of the same device has replaced this one. */
  #isReplaced = false;
  #networkChanged = () => this.networkChanged();
  #visibilityChanged = () => globalThis.document.visibilityState === "visible" && this.#becameVisible();

  /** Loads the core and begins to connect. */
  static async create(options) {
    const good = checked(options);
    return new Ringline(good, await compileCore(good.wasm));
  }

  constructor(options, module) {
    super();
    this.#options = options;
    const { user, device, displayName, handle, handleType, ringTimeout, maximumCalls, clockSkew } = options;
    const signalIDPrefix = crypto.randomUUID();
    this.#core = new Core(module, {
      user, device, signalIDPrefix, displayName, handle, handleType, ringTimeout, maximumCalls, clockSkew,
    });
    this.#server = new Server(options);
    this.#renewal = new TokenRenewal(this.#server, {
      replaced: () => this.#take({ in: "tokenRenewed" }),
      fresh: (token) => this.#connection?.send(JSON.stringify({ type: "auth", token })),
      failed: (error) => this.#fail(error),
    });
    this.#engine = options.engine(this.#engineHost());
    this.#webPush = new WebPush(options, this.#server, this.#webPushHost());
    for (const name of ["online", "offline"]) globalThis.addEventListener?.(name, this.#networkChanged);
    globalThis.document?.addEventListener("visibilitychange", this.#visibilityChanged);
    // A browser has no audio session that another app may hold.
    this.#take({ in: "audioActivated" });
    this.#reconnect({ in: "wanted", urgent: false });
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
    // A notice rings nothing: the connection brings what has happened.
    if (NOTICES.has(payload?.type)) this.#becameVisible();
    else this.#take({ in: "pushed", payload });
  }

  /** Gets calls of the user's history from the server, newest first. */
  async history({ limit = 50, before } = {}) {
    this.#assertOpen();
    return history(this.#server, limit, before);
  }

  /** Lets calls come to this browser when no page of the app is open. */
  async enableWebPush(options) {
    this.#assertOpen();
    return this.#webPush.enable(options);
  }

  /** Registers a subscription that the app has made. */
  async registerWebPush(subscription) {
    this.#assertOpen();
    return this.#webPush.register(subscription);
  }

  /** Ends what `enableWebPush` has begun, at logout. */
  async disableWebPush() {
    this.#assertOpen();
    return this.#webPush.disable();
  }

  /** The connection of a call's media, for `getStats`; `null` while there is none. */
  mediaConnection(call) {
    return this.#engine.connection?.(call.uuid) ?? null;
  }

  /**
   * Connects at once: the network has changed, and a connection on the earlier one may be dead without a sign. `online`
   * and `offline` events do this by themselves.
   */
  networkChanged() {
    this.#reconnect({ in: "pathChanged" });
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
    for (const name of ["online", "offline"]) globalThis.removeEventListener?.(name, this.#networkChanged);
    globalThis.document?.removeEventListener("visibilitychange", this.#visibilityChanged);
    for (const timer of [this.#reconnectTimer, this.#deadlineTimer]) clearTimeout(timer);
    this.#renewal.close();
    this.#connection?.giveUp();
    this.#webPush.close();
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
    for (const call of this.calls.values()) if (call.isScheduled) this.#applyHold(call);
    const ended = input.in === "end" ? this.calls.get(input.uuid) : undefined;
    if (ended !== undefined) endCall(ended, this.#reasonOf(input.uuid));
  }

  /** Tells the app of the hold of a scheduled call, whose sound is its own: the engine has no part in it. */
  #applyHold(call) {
    if (call.state === "ended") return;
    const { held = false } = this.#stateOf(call.uuid) ?? {};
    if (held !== call.isHeld) applyOutput(call, { out: "holdMedia", uuid: call.uuid, held });
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
    this.#deadlineTimer = this.#timerFor(this.#core, () => this.#take({ in: "deadlineReached" }));
  }

  /** Starts a timer for the deadline of a machine, if there is one. */
  #timerFor({ deadline }, work) {
    if (deadline === null || this.#isClosed) return undefined;
    return setTimeout(work, Math.min(LONGEST_TIMER, Math.max(0, deadline - Date.now())));
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
        // Two pages with the same device id that connect by themselves would replace each other for ever.
        if (this.#isReplaced && !output.urgent) return undefined;
        this.#isReplaced = false;
        return this.#reconnect({ in: "wanted", urgent: output.urgent });
      case "send":
        return this.#connection?.send(output.frame);
      case "post":
        return void this.#server.post(output.body, output.act).then((response) =>
          this.#take({ in: "posted", id: output.id, ...response }));
      case "fetch":
        return void this.#server.fetchCall(output, this.#options.device).then((response) =>
          this.#take({ in: "fetched", number: output.number, ...response }));
      case "renewToken":
        return void this.#renewal.replaceToken();
      case "tokenOfAnotherUser":
        return this.#disconnect(output.user);
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

  #reportIncoming({ uuid, handle, name, hasVideo, ...schedule }) {
    this.#forgetEndedCalls();
    const peer = this.#stateOf(uuid)?.peer ?? handle;
    const call = new Call({ uuid, peer, direction: "incoming", name, hasVideo }, (input) => this.#take(input));
    applySchedule(call, schedule);
    this.calls.set(uuid, call);
    this.#webPush.watch(call);
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
      media: (request) => this.#media(request),
      configuration: async () => ({
        ...this.#options.rtcConfiguration,
        iceServers: this.#options.rtcConfiguration?.iceServers ?? (await this.#server.iceServers()),
      }),
      sendsVideo: (uuid) => this.calls.get(uuid)?.sendsVideo ?? false,
    };
  }

  async #media(request) {
    try {
      return await this.#options.media(request);
    } catch (error) {
      // A user who refuses the camera must not be asked for it at each change of the call.
      const call = this.calls.get(request.uuid);
      if (request.video && call !== undefined) call.sendsVideo = false;
      throw error;
    }
  }

  #webPushHost() {
    return {
      pushed: (push) => this.pushed(push),
      failed: (error) => this.#fail(error),
      states: () => this.#core.state.calls,
      callOf: (uuid) => this.calls.get(uuid),
      clockSkew: () => this.clockSkew,
    };
  }

  // The connection and the token.

  /** Hands an input to the connection's machine and carries out the outputs. */
  #reconnect(input) {
    if (this.#isClosed) return;
    const { reconnection } = this.#core;
    const chance = Math.floor(Math.random() * CHANCES);
    let outputs;
    try {
      outputs = reconnection.handle({ ...input, chance });
    } catch (error) {
      this.#fail(error);
      return error instanceof BridgeError ? undefined : this.#coreFailed();
    }
    for (const output of outputs) this.#performConnection(output);
    if (this.#isClosed) return;
    if (reconnection.state.current === undefined) this.#setConnectionState("closed");
    clearTimeout(this.#reconnectTimer);
    this.#reconnectTimer = this.#timerFor(reconnection, () => this.#reconnect({ in: "deadlineReached" }));
  }

  #performConnection({ out, number }) {
    // An app may close the device within the event of an output before.
    if (this.#isClosed) return;
    switch (out) {
      case "open":
        return void this.#open(number);
      case "giveUp":
        return this.#connection?.number === number ? this.#connection.giveUp() : undefined;
      case "connectionOpened":
        this.#setConnectionState("open");
        return this.#take({ in: out });
      case "connectionClosed":
        this.#renewal.disconnected();
        this.#take({ in: out });
        return this.#setConnectionState("closed");
    }
  }

  async #open(number) {
    this.#setConnectionState("connecting");
    try {
      const token = await this.#server.token();
      // A token may take its time, and the attempt may have been given up by now.
      if (this.#isClosed || !this.#isCurrent(number)) return;
      const url = this.#server.socketURL(this.#options.device);
      this.#connection = new Connection(number, this.#options.WebSocket, url, token, {
        opened: (welcome, text) => this.#opened(number, welcome, text),
        received: (text) => this.#take({ in: "received", frame: text }),
        draining: (milliseconds) => this.#draining(milliseconds),
        closed: (code, reason) => this.#closed(number, code, reason),
      });
    } catch (error) {
      if (this.#isClosed) return;
      // A later attempt waits for the same token, and reports the error.
      const { current = number } = this.#core.reconnection.state;
      if (current !== number) return;
      this.#fail(error);
      this.#reconnect({ in: "closed", number });
    }
  }

  /** Closes a connection that was opened with the token of another user. */
  #disconnect(otherUser) {
    this.#server.tokenRefused();
    this.#connection?.giveUp();
    this.#fail(new Error(`token: is one of user ${otherUser}, and this Ringline is for user ${this.#options.user}`));
  }

  #isCurrent(number) {
    return this.#core.reconnection.state.current === number;
  }

  #opened(number, welcome, text) {
    this.#take({ in: "received", frame: text });
    // The core refuses a connection whose token is another user's.
    if (!this.#isCurrent(number)) return;
    this.#server.welcomed(welcome);
    this.#renewal.connected();
    this.#reconnect({ in: "opened", number });
  }

  /** The server shuts down and wants no connection of this device for a while. */
  #draining(reconnectAfterMs) {
    const isPause = Number.isSafeInteger(reconnectAfterMs) && reconnectAfterMs >= 0;
    if (isPause) this.#reconnect({ in: "draining", reconnectAfterMs });
  }

  #closed(number, code, reason) {
    // The machine does not wait for the close of a connection that it has given up.
    if (this.#isClosed || !this.#isCurrent(number)) return;
    if (code === REPLACED) {
      // Another page has the same device id. Two pages that reconnect would replace each other for ever.
      this.#isReplaced = true;
      this.#reconnect({ in: "unwanted" });
      return this.#fail(new Error("device: another page or tab is connected as this device; this one connects again when it calls or answers"));
    }
    if (code === UNAUTHENTICATED) {
      this.#server.tokenRefused();
      this.#take({ in: "tokenExpired" });
    }
    this.#reconnect({ in: "closed", number, reason });
  }

  /** The user looks at the page again. It may have been suspended, and its connection may be dead without a sign. */
  #becameVisible() {
    if (this.#connection?.isOpen) this.#connection.check();
    else if (!this.#isReplaced) this.#reconnect({ in: "wanted", urgent: true });
  }

  #setConnectionState(state) {
    if (this.connectionState === state) return;
    this.connectionState = state;
    this.dispatchEvent(new RinglineEvent("connection", { state }));
  }
}

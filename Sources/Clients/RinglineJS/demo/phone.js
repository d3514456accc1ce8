// One phone: its app with the kit, its screen, and what can go wrong with it.
import { Ringline } from "/ringline.js";
import { RingTone } from "./tone.js";
import { Ear, drawnMedia, realMedia } from "./media.js";
import { face } from "./face.js";
import { Network } from "./network.js";
import * as server from "./server.js";

const WORDS = {
  calling: "Calling…",
  ringing: "Incoming call",
  connecting: "Connecting…",
  connected: "Talking",
};
const DEAD_TOKEN = "dead".repeat(16);
const BUNDLE = "com.example.demo";
/** How long the dark screen shows the push that wakes the app, in milliseconds, before the app's own screen comes. */
const WAKING = 1_200;
/** How often a picture of the peer is kept for the time that the call is on hold, in milliseconds. */
const STILL = 500;

/**
 * One phone of a user, or a further device. `user` has the user's `id`, `name` and `settings`, which all devices of the user
 * share, and the device's own `device`, `title`, `pushToken`, `colour`, `hertz` and `keys`. `peer` is the other user, with a
 * `colour`.
 */
export class Phone {
  /** The call on the screen; `null` before the first one. */
  call = null;
  /** @type {Ringline | null} `null` = the app was killed. */
  ringline = null;
  #user;
  #peer;
  #options;
  #root;
  #network = new Network(true);
  #isOnline = true;
  #isRemoved = false;
  #ticker;
  #starting = null;
  #ear = null;
  #connectedAt = null;
  #waitingPushes = [];
  #isRefusing = false;
  #peerRings = false;
  #tone = new RingTone();
  #isWaking = false;
  #stills = [document.createElement("canvas"), document.createElement("canvas")];
  #stillAt = 0;

  constructor(root, user, peer, options) {
    this.#root = root;
    this.#user = user;
    this.#peer = peer;
    this.#options = options;
    root.append(document.getElementById("phone").content.cloneNode(true));
    root.setAttribute("aria-label", user.title);
    this.#part(".name").textContent = user.title;
    this.#part(".face").append(face(peer.colour));
    this.#setShortcuts();
    for (const button of root.querySelectorAll("[data-key]")) button.onclick = () => this.press(button.dataset.key);
    for (const button of root.querySelectorAll("[data-fault]")) button.onclick = () => this.fail(button.dataset.fault);
    this.#ticker = setInterval(() => this.#tick(), 250);
  }

  #setShortcuts() {
    const { main, end, suspend } = this.#user.keys;
    for (const name of ["call", "answer"]) this.#key(name).setAttribute("aria-keyshortcuts", main);
    this.#key("end").setAttribute("aria-keyshortcuts", end);
    this.#button("suspend").setAttribute("aria-keyshortcuts", suspend);
  }

  /** Starts the app. `payload`: the push that has woken it. */
  async boot(payload) {
    this.#starting ??= this.#start().finally(() => (this.#starting = null));
    await this.#starting;
    if (payload !== undefined) this.ringline?.pushed(payload);
    await this.#register();
    this.show();
  }

  async #start() {
    const network = (this.#network = new Network(this.#isOnline));
    const { id: user, device } = this.#user;
    // An app that starts is not suspended, whatever an earlier one was.
    await server.silence(device, false);
    const ringline = await Ringline.create({
      url: location.origin,
      user,
      device,
      token: () => server.token(user),
      media: (wish) => (this.#options.usesReal() ? realMedia(wish) : drawnMedia(wish, this.#user)),
      rtcConfiguration: this.#options.rtcConfiguration,
      WebSocket: network.WebSocket,
      fetch: network.fetch,
    });
    this.ringline = ringline;
    ringline.addEventListener("incoming", ({ call }) => this.#follow(call));
    ringline.addEventListener("connection", () => this.show());
    ringline.addEventListener("error", (event) => {
      event.preventDefault();
      this.banner(String(event.error.message ?? event.error));
    });
  }

  /** Takes the device away from its user: its app ends, and the server forgets the device. */
  async remove() {
    this.#isRemoved = true;
    clearInterval(this.#ticker);
    this.#tone.set(false);
    await this.#starting;
    if (this.ringline !== null) this.#kill();
    await server.remove(`/api/me/devices/${this.#user.device}`, await server.token(this.#user.id));
  }

  /** The main button of the phone: Call or Answer. */
  pressMain() {
    this.press(this.call?.state === "ringing" ? "answer" : "call");
  }

  /** Presses a button of the screen. For both phones in one turn, `call` is glare. */
  async press(key) {
    if (this.ringline === null) return;
    // Whoever uses the app has opened it.
    if (this.#isSuspended) await this.#resume();
    const { call } = this;
    if (key === "call" && !this.#isInCall) {
      this.#follow(this.ringline.call(this.#peer.id, { video: this.#options.wantsVideo() }));
    }
    if (!this.#isInCall) return;
    if (key === "answer" && call.state === "ringing") call.answer();
    if (key === "end") call.end();
    if (key === "hold") call.hold(!call.isHeld);
    if (key === "mute") call.mute({ audio: !call.isMuted.audio });
    this.show();
  }

  async fail(fault) {
    if (fault === "kill") return this.ringline === null ? this.boot() : this.#kill();
    if (fault === "suspend") return this.#isSuspended ? this.#resume() : this.#suspend();
    if (fault === "network") return this.#setNetwork(!this.#isOnline);
    if (fault === "focus") return this.#setFocus(!this.#user.settings.hasFocus);
    if (fault === "refuse") {
      this.#isRefusing = !this.#isRefusing;
      await this.#register();
    }
    if (fault === "expire") {
      this.#network.send({ type: "auth", token: await server.token(this.#user.id, 2) });
      this.banner("The token ends in 2 s");
    }
    this.show();
  }

  /** Fetches the pushes to this phone; returns whether one of them has woken the app. */
  async fetchPushes() {
    const arrived = await server.pushes(this.#user.pushToken);
    // A phone without a network gets its pushes later, if they are not too old by then.
    this.#waitingPushes.push(...arrived);
    return this.#isOnline && this.#receivePushes();
  }

  #receivePushes() {
    let hasWoken = false;
    for (const { kind, payload } of this.#waitingPushes.splice(0)) {
      if (kind !== "voip") {
        this.banner(payload.aps?.alert?.body ?? payload.aps?.alert ?? "Notification");
      } else if (payload.ringUntil === undefined || payload.ringUntil > Date.now()) {
        hasWoken ||= this.ringline === null || this.#isSuspended;
        this.#wake(payload);
      }
    }
    return hasWoken;
  }

  async #wake(payload) {
    if (this.ringline === null || this.#isSuspended) {
      this.banner("Woken by a push");
      this.#isWaking = true;
      this.show();
      setTimeout(() => {
        this.#isWaking = false;
        this.show();
      }, WAKING);
    }
    if (this.ringline === null) return this.boot(payload);
    if (this.#isSuspended) await this.#resume();
    this.ringline?.pushed(payload);
  }

  get #isSuspended() {
    return this.ringline !== null && this.#network.isSuspended;
  }

  async #suspend() {
    if (this.ringline === null) return;
    // A browser answers pings by itself, also for a page that does nothing. So the server is told not to hear them.
    await server.silence(this.#user.device, true);
    this.#network.suspend();
    this.show();
  }

  async #resume() {
    await server.silence(this.#user.device, false);
    this.#network.resume();
    this.show();
  }

  #kill() {
    const { ringline } = this;
    this.ringline = null;
    this.call = null;
    // Without a network, nothing of what the app says at its end leaves the phone.
    this.#network.cut();
    ringline.close();
    this.#showMedia();
    this.show();
  }

  #setNetwork(isUp) {
    this.#isOnline = isUp;
    if (isUp) {
      this.#network.isUp = this.ringline !== null;
      this.ringline?.networkChanged();
      this.#receivePushes();
    } else {
      this.#network.cut();
    }
    this.show();
  }

  async #setFocus(isOn) {
    const until = isOn ? Date.now() + 3_600_000 : null;
    await server.put("/api/me/dnd", await server.token(this.#user.id), { until });
    this.#user.settings.hasFocus = isOn;
    // Focus is a setting of the user, on all devices.
    this.#options.showAll();
  }

  /** Registers the device for pushes. */
  async #register() {
    if (this.#isRemoved) return;
    const token = this.#isRefusing ? DEAD_TOKEN : this.#user.pushToken;
    const body = { deviceId: this.#user.device, platform: "ios", bundleId: BUNDLE, voipDeviceToken: token };
    await server.put("/api/me/devices", await server.token(this.#user.id), body);
  }

  #follow(call) {
    this.call = call;
    this.#connectedAt = null;
    this.#peerRings = false;
    if (!this.#isWaking) this.banner(null);
    for (const name of ["connecting", "update", "peermedia"]) call.addEventListener(name, () => this.show());
    call.addEventListener("ringing", () => {
      this.#peerRings = true;
      this.show();
    });
    call.addEventListener("delayed", ({ code }) => this.banner(`The server does not ring now (${code}). Trying again…`));
    call.addEventListener("connected", () => {
      this.#connectedAt ??= Date.now();
      this.show();
    });
    call.addEventListener("ended", () => this.show());
    call.addEventListener("media", () => this.#showMedia());
    this.show();
  }

  #showMedia() {
    const isOver = !this.#isInCall;
    this.#part(".remote").srcObject = isOver ? null : this.call.remoteStream;
    this.#part(".own").srcObject = isOver ? null : this.call.localStream;
    const hears = !isOver && (this.call.remoteStream?.getAudioTracks().length ?? 0) > 0;
    this.#ear?.close();
    this.#ear = hears ? new Ear(this.call.remoteStream) : null;
  }

  // The screen.

  get #isInCall() {
    return this.call !== null && this.call.state !== "ended";
  }

  /** Shows a line at the top of the screen for a while; `null` removes it. */
  banner(text) {
    const line = this.#part(".banner");
    line.textContent = text ?? "";
    line.hidden = text === null;
    clearTimeout(line.timer);
    if (text !== null) line.timer = setTimeout(() => (line.hidden = true), 6_000);
  }

  /** Shows the present state. */
  show() {
    const { call, ringline } = this;
    const isInCall = this.#isInCall;
    if (!isInCall && (this.#part(".remote").srcObject ?? this.#part(".own").srcObject) !== null) this.#showMedia();
    const isSuspended = this.#isSuspended;
    this.#part(".screen").dataset.look = this.#look;
    this.#part(".screen").toggleAttribute("data-picture", isInCall && call.hasVideo);
    this.#tone.set(this.#look === "ringing" && this.#options.wantsTone());
    this.#part(".screen").toggleAttribute("data-tone", this.#tone.isOn);
    this.#part(".state").textContent = this.#words();
    this.#part(".net").textContent = this.#netWords();
    this.#part(".net").dataset.state = ringline === null || isSuspended ? "dead" : ringline.connectionState;
    const visible = {
      call: ringline !== null && !isInCall,
      answer: isInCall && call.state === "ringing" && !this.#isWaking,
      end: isInCall && !this.#isWaking,
      hold: isInCall && call.state === "connected",
      mute: isInCall && call.state === "connected",
    };
    for (const [key, isVisible] of Object.entries(visible)) this.#key(key).hidden = !isVisible;
    this.#key("end").textContent = call?.state === "ringing" ? "Decline" : "End";
    this.#key("hold").setAttribute("aria-pressed", call?.isHeld ?? false);
    this.#key("mute").setAttribute("aria-pressed", call?.isMuted.audio ?? false);
    this.#button("kill").textContent = ringline === null ? "Open app" : "Kill app";
    const pressed = {
      suspend: isSuspended,
      network: !this.#isOnline,
      focus: this.#user.settings.hasFocus,
      refuse: this.#isRefusing,
    };
    for (const [fault, isPressed] of Object.entries(pressed)) this.#button(fault).setAttribute("aria-pressed", isPressed);
    this.#button("suspend").disabled = ringline === null;
    this.#button("expire").disabled = ringline === null || isSuspended || !this.#isOnline;
    this.#tick();
  }

  /** What the screen looks like. */
  get #look() {
    if (this.#isWaking) return "waking";
    if (this.ringline === null || this.#isSuspended) return "dead";
    if (!this.#isInCall) return "idle";
    return this.#isOnHold ? "held" : this.call.state;
  }

  get #isOnHold() {
    return this.#isInCall && this.call.state === "connected" && (this.call.isHeld || this.call.peerMedia.held);
  }

  #words() {
    const { call } = this;
    if (this.#isWaking) return "Waking up…";
    if (this.ringline === null) return "App killed";
    if (this.#isSuspended) return "App suspended";
    if (call === null) return "Ready";
    if (call.state === "ended") return `Ended: ${(call.reason ?? "unknown").replaceAll("_", " ")}`;
    if (call.state === "ringing") return `${this.#peer.name} calls`;
    if (call.state === "calling" && this.#peerRings) return "Ringing…";
    if (call.isHeld) return "On hold";
    if (call.peerMedia.held) return `${this.#peer.name} holds`;
    return WORDS[call.state];
  }

  #netWords() {
    if (this.ringline === null) return "no process";
    if (this.#isSuspended) return "suspended";
    if (!this.#isOnline) return "no network";
    return { open: "connected", connecting: "connecting", closed: "disconnected" }[this.ringline.connectionState];
  }

  /** Keeps a picture of the peer: on hold, there is none but black ones. The older of two is from before the hold. */
  #keepStill() {
    if (this.#isOnHold || performance.now() - this.#stillAt < STILL) return;
    this.#stillAt = performance.now();
    const video = this.#part(".remote");
    if (!this.#isInCall || video.videoWidth === 0) return;
    const [newer, older] = this.#stills;
    this.#stills = [older, newer];
    Object.assign(older, { width: video.videoWidth, height: video.videoHeight });
    older.getContext("2d").drawImage(video, 0, 0);
    const still = this.#part(".still");
    Object.assign(still, { width: newer.width, height: newer.height });
    still.getContext("2d").drawImage(newer, 0, 0);
  }

  #tick() {
    this.#part(".clock").textContent = new Date().toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    this.#keepStill();
    // The page may have been clicked since the phone began to ring.
    if (this.#look === "ringing") this.#tone.set(this.#options.wantsTone());
    const parts = [];
    if (this.#isInCall && this.#connectedAt !== null) {
      const seconds = Math.floor((Date.now() - this.#connectedAt) / 1000);
      parts.push(`${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`);
    }
    const hertz = this.#isInCall ? (this.#ear?.hertz ?? 0) : 0;
    if (this.#isInCall && this.#ear !== null) {
      parts.push(this.#ear.isDeaf ? "no sound device" : hertz === 0 ? "silence" : `hears ${hertz} Hz`);
    }
    if (this.#isInCall && this.call.peerMedia.audio) parts.push(`${this.#peer.name} is muted`);
    this.#part(".detail").textContent = parts.join(" · ");
  }

  #part = (selector) => this.#root.querySelector(selector);
  #key = (name) => this.#part(`[data-key="${name}"]`);
  #button = (name) => this.#part(`[data-fault="${name}"]`);
}

// One call, as an app sees it.

/** An event of a call or of a `Ringline`, with the values that belong to it as members. */
export class RinglineEvent extends Event {
  constructor(type, members = {}, options) {
    super(type, options);
    Object.assign(this, members);
  }
}

/** One call of this device. */
export class Call extends EventTarget {
  /** @type {"calling" | "ringing" | "connecting" | "connected" | "ended"} */
  state;
  isAnswered = false;
  isHeld = false;
  isMuted = { audio: false, video: false };
  peerMedia = { held: false, audio: false, video: false };
  localStream = null;
  remoteStream = null;
  reason = null;
  isScheduled = false;
  schedule = null;
  data = null;
  sendsVideo;
  #take;

  constructor({ uuid, peer, direction, name = null, hasVideo }, take) {
    super();
    this.uuid = uuid;
    this.peer = peer;
    this.direction = direction;
    this.name = name;
    this.hasVideo = hasVideo;
    this.sendsVideo = hasVideo;
    this.state = direction === "outgoing" ? "calling" : "ringing";
    this.#take = (input) => take({ in: input.in, uuid, ...input });
  }

  /** Answers the call. `video`: whether to send video; by default if the caller offered it. */
  answer({ video = this.hasVideo } = {}) {
    this.sendsVideo = video;
    this.isAnswered = true;
    this.#take({ in: "answer" });
  }

  /** Hangs up, declines or cancels the call. The core finds the reason that fits, unless there is one. */
  end(reason) {
    if (this.state === "ended") return;
    this.#take(reason === undefined ? { in: "end" } : { in: "end", reason });
  }

  /** Puts the call on hold on this side, or resumes it. */
  hold(isHeld = true) {
    this.#take({ in: "setHeld", held: isHeld });
  }

  /** Switches the microphone or the camera off (`true`) or on. */
  mute({ audio, video } = {}) {
    this.#take({ in: "setMuted", audio, video });
  }

  /** Adds the camera to an answered call. */
  addVideo() {
    this.sendsVideo = true;
    this.#take({ in: "renegotiate", hasVideo: true });
  }

  /** Looks for a new way for the media. The engine does it by itself when the connection has failed. */
  restartICE() {
    this.#take({ in: "renegotiate", restartsICE: true });
  }

  /** Sends DTMF digits to the peer's app. */
  sendDTMF(digits) {
    this.#take({ in: "playDTMF", digits });
  }

  /** Confirms a scheduled call, which then ends and rings no more. */
  confirm() {
    this.#take({ in: "confirm" });
  }

  /** Sends any JSON value to the peer's app. */
  sendInfo(value) {
    const data = JSON.stringify(value);
    if (data === undefined) throw new TypeError("value: must be a JSON value");
    this.#take({ in: "sendInfo", data });
  }
}

/** Takes what an output of the core says about the schedule of a call. */
export function applySchedule(call, { scheduled = false, schedule = null, data }) {
  if (!scheduled) return;
  call.isScheduled = true;
  call.schedule = schedule;
  call.data = data === undefined ? null : JSON.parse(data);
}

/** Applies an output of the core to the call that it concerns. */
export function applyOutput(call, output) {
  const { out, uuid: _, ...rest } = output;
  const change = (state, event) => {
    call.state = state;
    call.dispatchEvent(new RinglineEvent(event));
  };
  switch (out) {
    case "reportConnecting":
      return change("connecting", "connecting");
    case "reportConnected":
      return change("connected", "connected");
    case "peerRinging":
      return call.dispatchEvent(new RinglineEvent("ringing"));
    case "delayed":
      return call.dispatchEvent(new RinglineEvent("delayed", { code: rest.code }));
    case "update":
      call.name = rest.name ?? null;
      call.hasVideo = rest.hasVideo;
      applySchedule(call, rest);
      return call.dispatchEvent(new RinglineEvent("update"));
    case "holdMedia":
      // Also a call that the user did not hold: an answer holds the other calls.
      call.isHeld = rest.held;
      return call.dispatchEvent(new RinglineEvent("update"));
    case "muteMedia":
      Object.assign(call.isMuted, rest);
      return call.dispatchEvent(new RinglineEvent("update"));
    case "peerMedia":
      Object.assign(call.peerMedia, rest);
      return call.dispatchEvent(new RinglineEvent("peermedia"));
    case "receivedDTMF":
      return call.dispatchEvent(new RinglineEvent("dtmf", { digits: rest.digits }));
    case "receivedInfo":
      return call.dispatchEvent(new RinglineEvent("info", { value: JSON.parse(rest.data) }));
    case "refused":
      return call.dispatchEvent(new RinglineEvent("refused", { why: rest.why }));
  }
}

/** Marks a call as ended, once. `reason` is one of the protocol's end reasons. */
export function endCall(call, reason) {
  if (call.state === "ended") return;
  call.state = "ended";
  call.reason = reason;
  call.dispatchEvent(new RinglineEvent("ended", { reason }));
}

/** Calls over a Ringline server, for browsers and Node. */

/** Why a call ended: the end reasons of the protocol, section 4. */
export type EndReason =
  | "hangup"
  | "cancelled"
  | "declined"
  | "busy"
  | "unanswered"
  | "answered_elsewhere"
  | "declined_elsewhere"
  | "glare"
  | "failed"
  | "disconnected"
  | "replaced"
  | "confirmed"
  | "missed"
  | "given_up";

/**
 * Why an action on a call is not possible.
 *
 * - `unknownCall`: there is no such call, or it has ended.
 * - `tooManyCalls`: there are `maximumCalls` calls already.
 * - `inUse`: the id of the call is in use.
 * - `answeredInstead`: the peer was calling already, and that call was answered.
 * - `callsOneself`: the peer is the user of this device.
 * - `notPossible`: the state of the call does not allow it, or a value is malformed or too large.
 */
export type Refusal = "unknownCall" | "tooManyCalls" | "inUse" | "answeredInstead" | "callsOneself" | "notPossible";

/** A value that JSON can hold. */
export type JSONValue = null | boolean | number | string | JSONValue[] | { [name: string]: JSONValue };

/** The local media that a call still needs. The stream must have exactly these tracks. */
export interface MediaRequest {
  /** `Call.uuid` of the call. */
  readonly uuid: string;
  /** Whether the stream must have an audio track. */
  readonly audio: boolean;
  /** Whether the stream must have a video track. */
  readonly video: boolean;
}

/** An output of the core for the media engine; see the page BridgeLanguage of the Swift module ClientBridge. */
export type EngineOutput = { readonly uuid: string } & (
  | { readonly out: "makeOffer"; readonly round: number; readonly hasVideo: boolean; readonly restartsICE: boolean }
  | { readonly out: "makeAnswer"; readonly round: number }
  | { readonly out: "setRemoteDescription"; readonly kind: "offer" | "answer"; readonly sdp: string }
  | { readonly out: "addRemoteCandidate"; readonly candidate: string | null }
  | { readonly out: "rollback" | "startAudio" | "stopAudio" | "closeMedia" }
  | { readonly out: "holdMedia"; readonly held: boolean }
  | { readonly out: "muteMedia"; readonly audio?: boolean; readonly video?: boolean }
);

/** An input of the core from the media engine; see the page BridgeLanguage of the Swift module ClientBridge. */
export type EngineInput = { readonly uuid: string } & (
  | { readonly in: "localDescription"; readonly round: number; readonly kind: "offer" | "answer"; readonly sdp: string }
  | { readonly in: "localCandidate"; readonly round: number; readonly candidate: string | null }
  | { readonly in: "mediaConnected" | "mediaFailed" }
  | { readonly in: "negotiationFailed"; readonly round: number }
  | { readonly in: "renegotiate"; readonly hasVideo?: boolean; readonly restartsICE?: boolean }
);

/** The functions of a `Ringline` for its media engine. */
export interface EngineHost {
  /** Hands in a result or an event. May be called at any time. */
  take(input: EngineInput): void;
  /** Reports an error of a call to the app, as an `error` event of the `Ringline`. The call goes on. */
  failed(uuid: string, error: unknown): void;
  /** Sets the streams of a call, which gets a `media` event. */
  changed(uuid: string, streams: { local: MediaStream | null; remote: MediaStream | null }): void;
  /** Gets local media from the app (`Options.media`). Rejects if the app does. */
  media(request: MediaRequest): Promise<MediaStream>;
  /** Returns the configuration for a new connection, with ICE servers that are valid now. */
  configuration(): Promise<RTCConfiguration>;
  /** Returns whether the user wants to send video in this call. */
  sendsVideo(uuid: string): boolean;
}

/** A media engine: it carries out the core's outputs for media. */
export interface Engine {
  /** Carries out an output. The outputs of one call must be carried out in the order in which they come. */
  perform(output: EngineOutput): void;
  /** Releases the media of all calls. */
  close(): void;
  /** Returns the connection of a call, for `getStats`; `null` while there is none. */
  connection?(uuid: string): RTCPeerConnection | null;
}

/** The part of the `WebSocket` class that this module uses. */
export interface WebSocketClass {
  new (url: string, protocols: string[]): {
    onmessage: ((event: any) => void) | null;
    onclose: ((event: any) => void) | null;
    onerror: ((event: any) => void) | null;
    send(text: string): void;
    close(): void;
  };
}

/** The part of `fetch` that this module uses. It rejects if no response comes. */
export type Fetch = (
  url: URL,
  init: { method: string; headers: Record<string, string>; body?: string; signal: AbortSignal },
) => Promise<{ status: number; text(): Promise<string> }>;

/** The options of `Ringline.create`. */
export interface Options {
  /** The server's address, `http` or `https`, such as `https://calls.example.com`; it may have a path. */
  readonly url: string;
  /** The id of the user whom the tokens name. */
  readonly user: string;
  /** The id of this installation. Keep it, for example in `localStorage`; two pages that are open need two ids. */
  readonly device: string;
  /**
   * Returns a fresh token (JWT) of the user, from your backend. Called at the start, a minute before the token expires, and
   * when the server refuses it. If it rejects, or if the token is another user's, there is an `error` event, and it is called
   * again after a pause.
   */
  readonly token: () => Promise<string> | string;
  /** The user's name as callees see it; by default the name in the token. */
  readonly displayName?: string;
  /** The address under which callees' systems show the user, such as a phone number; by default the user id. */
  readonly handle?: string;
  /** The kind of address in `handle` or, without it, in user ids; `generic` by default. */
  readonly handleType?: "generic" | "phoneNumber" | "emailAddress";
  /** How long callees are rung, in milliseconds: 5000 to 120000; 45000 by default. */
  readonly ringTimeout?: number;
  /** The largest number of calls at a time, one active and the others on hold: 1 to 16; 2 by default. */
  readonly maximumCalls?: number;
  /** `Ringline.clockSkew` of an earlier launch, in milliseconds; by default it is measured again. */
  readonly clockSkew?: number | null;
  /** The core, or its address; by default `ringline.wasm` beside the module. */
  readonly wasm?: string | URL | Response | BufferSource | WebAssembly.Module;
  /**
   * Returns local media; by default from `getUserMedia`. If it rejects, there is an `error` event, and a call that is
   * just beginning ends as `failed`; a call that has media goes on without the new ones.
   */
  readonly media?: (request: MediaRequest) => Promise<MediaStream>;
  /** Further settings of the media connections, such as `iceTransportPolicy`. `iceServers` replaces the server's. */
  readonly rtcConfiguration?: RTCConfiguration;
  /** Makes the media engine; by default it uses an `RTCPeerConnection` for each call. */
  readonly engine?: (host: EngineHost) => Engine;
  /** The class of the connection; by default the platform's, which Node has from version 22 on. */
  readonly WebSocket?: WebSocketClass;
  /** Sends requests; by default the platform's `fetch`. */
  readonly fetch?: Fetch;
}

/** The texts of the notifications that the service worker shows, in the user's language. */
export interface WebPushTexts {
  /** Below the caller's name; "Incoming call" by default. */
  readonly incomingCall?: string;
  /** The same for a call with video; "Incoming video call" by default. */
  readonly incomingVideoCall?: string;
  /** The button that answers; "Answer" by default. */
  readonly answer?: string;
  /** The button that declines; "Decline" by default. */
  readonly decline?: string;
  /** The user did not answer in time, or the caller has given up; "Missed call" by default. */
  readonly missedCall?: string;
  /** "Answered on another device" by default. */
  readonly answeredElsewhere?: string;
  /** "Declined on another device" by default. */
  readonly declinedElsewhere?: string;
  /** The call is over for another reason; "Call ended" by default. */
  readonly callOver?: string;
  /** The push of `ringline push-test`; "Calls can reach this browser" by default. */
  readonly test?: string;
}

/** The options of `Ringline.enableWebPush`. */
export interface WebPushOptions {
  /**
   * The address of `service-worker.js`, or the registration of a worker of the app that imports it. By default the file
   * beside the module.
   */
  readonly serviceWorker?: string | URL | ServiceWorkerRegistration;
  /** The page that a click on a notification opens if no page of the app is open; by default this one, without its query. */
  readonly page?: string | URL;
  /** The image of the notifications. */
  readonly icon?: string | URL;
  /** The small monochrome image with which Android marks the notifications. */
  readonly badge?: string | URL;
  /** The texts of the notifications, where they differ from the English ones. */
  readonly texts?: WebPushTexts;
}

/** A subscription to Web Push as `PushSubscription.toJSON()` returns it. */
export interface WebPushSubscription {
  /** The address to which the server sends pushes. */
  readonly endpoint?: string;
  /** When the subscription expires, in milliseconds since 1970; `null` = never. */
  readonly expirationTime?: number | null;
  /** The keys that encrypt the pushes: `p256dh` and `auth`. */
  readonly keys?: Record<string, string>;
}

/** An event of a call or of a `Ringline`; its values are members. */
export class RinglineEvent extends Event {}

/** The events of a call. */
export interface CallEvents {
  /** A device of the callee rings: play the ringback tone. */
  ringing: RinglineEvent;
  /**
   * The server does not ring the peer now, for the reason `code` (`rate_limited`); the kit tries again after a pause. It comes
   * once for each code.
   */
  delayed: RinglineEvent & { readonly code: string };
  /** The call was answered, and the media connection is being set up. */
  connecting: RinglineEvent;
  /** Media flows. */
  connected: RinglineEvent;
  /** The call has ended; the event comes once. `reason` is a `Refusal` if the call could not be made. */
  ended: RinglineEvent & { readonly reason: EndReason | Refusal | null };
  /**
   * The name, the video, the hold or the mute of the call changed, the data of a scheduled call arrived, or the user answered
   * in a notification.
   */
  update: RinglineEvent;
  /** The streams of the call changed. */
  media: RinglineEvent;
  /** `peerMedia` changed: the peer has put the call on hold or muted it, or no longer does. */
  peermedia: RinglineEvent;
  /** The peer entered DTMF digits. */
  dtmf: RinglineEvent & { readonly digits: string };
  /** The peer's app sent a value. */
  info: RinglineEvent & { readonly value: JSONValue };
  /** The last action on the call is not possible. */
  refused: RinglineEvent & { readonly why: Refusal };
}

/** A call of this device, made by `Ringline.call` or by an `incoming` event. */
export class Call {
  private constructor();
  /** The id of the call on this device. The peer does not know it. */
  readonly uuid: string;
  /** The id of the other user. */
  readonly peer: string;
  /** Who began the call: the peer (`incoming`) or this device's user (`outgoing`). */
  readonly direction: "incoming" | "outgoing";
  /** `calling` until the callee answers, or `ringing` until this user does; `connected` when media flows. */
  readonly state: "calling" | "ringing" | "connecting" | "connected" | "ended";
  /** The peer's name, if the peer or the server gave one. */
  readonly name: string | null;
  /** Whether the call has video. */
  readonly hasVideo: boolean;
  /**
   * Whether the user has answered the incoming call. `state` is `ringing` until the answer is made. If the user answered in
   * a notification, an `update` event says so.
   */
  readonly isAnswered: boolean;
  /** Whether this side has put the call on hold. */
  readonly isHeld: boolean;
  /** Whether this side has switched its microphone or its camera off. */
  readonly isMuted: { readonly audio: boolean; readonly video: boolean };
  /** Whether the peer has put the call on hold, or muted its microphone or camera; `true` = held or muted. */
  readonly peerMedia: { readonly held: boolean; readonly audio: boolean; readonly video: boolean };
  /** The media of this device; `null` until there is any. */
  readonly localStream: MediaStream | null;
  /** The media of the peer; `null` until there is any. */
  readonly remoteStream: MediaStream | null;
  /**
   * Whether the server itself began the call, at the time that a schedule names. Nobody is on the other side, and there is
   * no media: from the event `connected` on, the page plays what it likes, and pauses while `isHeld`.
   */
  readonly isScheduled: boolean;
  /** The id of the schedule; `null` until the server has sent it. */
  readonly schedule: string | null;
  /** The app's data in the schedule; `null` if there is none, or until an `update` event says that it has arrived. */
  readonly data: JSONValue;
  /** Why the call ended; `null` while it has not. */
  readonly reason: EndReason | Refusal | null;
  /** Answers an incoming call; `video`: whether to send video, by default if the call has video. */
  answer(options?: { video?: boolean }): void;
  /** Hangs up, declines or cancels; by default with the reason that fits the state of the call. */
  end(reason?: EndReason): void;
  /** Puts the call on hold (`true`, the default), so that neither side hears the other, or resumes it. */
  hold(isHeld?: boolean): void;
  /** Switches the microphone or the camera off (`true`) or on; what is absent stays as it is. */
  mute(media: { audio?: boolean; video?: boolean }): void;
  /** Adds the camera to an answered call. */
  addVideo(): void;
  /** Makes ICE look for another network path. A media connection that fails is restarted without this call. */
  restartICE(): void;
  /** Sends DTMF digits to the peer's app: at most 128 of `0` to `9`, `*`, `#`, `A` to `D`, and `,` for a pause. */
  sendDTMF(digits: string): void;
  /** Sends a value to the peer's app: at most 16 KiB as JSON, else `refused`. Throws a `TypeError` if JSON cannot hold it. */
  sendInfo(value: JSONValue): void;
  /**
   * Confirms a scheduled call, while it rings or after the answer: the server ends it as `confirmed`, and rings no more.
   * Another call cannot be confirmed, and gets `refused`.
   */
  confirm(): void;
  /** As of `EventTarget`. */
  addEventListener<Type extends keyof CallEvents>(
    type: Type,
    listener: (event: CallEvents[Type]) => void,
    options?: AddEventListenerOptions | boolean,
  ): void;
  /** As of `EventTarget`. */
  removeEventListener<Type extends keyof CallEvents>(type: Type, listener: (event: CallEvents[Type]) => void): void;
}

/** The events of a `Ringline`. */
export interface RinglineEvents {
  /** Somebody calls: show the call, and ring. */
  incoming: RinglineEvent & { readonly call: Call };
  /** `connectionState` changed. Calls go on without a connection. */
  connection: RinglineEvent & { readonly state: "connecting" | "open" | "closed" };
  /** An error that no function throws. It is logged as a warning unless a listener calls `preventDefault`. */
  error: RinglineEvent & { readonly error: unknown };
}

/**
 * The calls of one device of one user.
 *
 * ```js
 * const ringline = await Ringline.create({ url, user: "11", device, token: async () => fetchToken() });
 * ringline.addEventListener("incoming", ({ call }) => ring(call));
 * const call = ringline.call("10", { video: true });
 * call.addEventListener("connected", () => show(call.remoteStream));
 * ```
 */
export class Ringline {
  private constructor();
  /**
   * Loads the core and begins to connect. Rejects with a `TypeError` or a `BridgeError` that names a malformed option, or with
   * an `Error` if the core cannot be loaded.
   */
  static create(options: Options): Promise<Ringline>;
  /** The live calls, and those that have ended since the last new call, by their `uuid`. */
  readonly calls: ReadonlyMap<string, Call>;
  /**
   * The state of the connection to the server. It is `closed` between two attempts, and while another connection with the
   * same device id has replaced this one.
   */
  readonly connectionState: "connecting" | "open" | "closed";
  /** How far this device's clock is ahead of the server's, in milliseconds; `null` = unknown. Keep it for the next launch. */
  readonly clockSkew: number | null;
  /**
   * Calls a user, by default without video. If that user is calling this device already, answers and returns that call.
   *
   * Throws a `BridgeError` if `peer` is no user id, and an `Error` after `close`. If the call is not possible for another
   * reason, it ends with a `Refusal` as its `reason`, as a rule before this function returns.
   */
  call(peer: string, options?: { video?: boolean }): Call;
  /** Hands in the payload of a push, whatever it contains. Throws an `Error` after `close`. */
  pushed(payload: Record<string, JSONValue>): void;
  /**
   * Gets calls of the user's history from the server, newest first: at most `limit` (1 to 500, by default 50), and with
   * `before`, the `id` of a call, only those before it. There are no more if fewer than `limit` come.
   *
   * Rejects with a `RequestError` if the server refuses or cannot be reached, with a `TypeError` if the response is no history,
   * and with an `Error` after `close`.
   */
  history(options?: { limit?: number; before?: number }): Promise<PastCall[]>;
  /**
   * Lets calls come to this browser when no page of the app is open: asks the user for the permission, installs the service
   * worker, subscribes with the server's key, and registers this device. Call it when the user clicks on a button, and at
   * each later start if `Notification.permission` is `granted`, because subscriptions end and keys change.
   *
   * Returns the user's choice; nothing was done unless it is `granted`. Rejects with an `Error` if the browser has no Web
   * Push for this page, if the server has none, or if a step fails.
   */
  enableWebPush(options?: WebPushOptions): Promise<NotificationPermission>;
  /**
   * Registers this device with a subscription that the app has made, with the server's `applicationServerKey`.
   * `enableWebPush` does it by itself. Rejects with an `Error` if the server refuses it.
   */
  registerWebPush(subscription: PushSubscription | WebPushSubscription): Promise<void>;
  /**
   * Ends the subscription, closes the notifications and removes this device from the server. Call it at logout, before
   * `close`. Rejects with an `Error` if the server cannot be reached; no push comes here even then.
   */
  disableWebPush(): Promise<void>;
  /** Returns the connection of a call's media, for `getStats`; `null` while there is none. */
  mediaConnection(call: Call): RTCPeerConnection | null;
  /**
   * Gives up the connection and connects again at once, because the network has changed, but not before the moment that a
   * server names when it shuts down. The browser's `online` and `offline` events do the same.
   */
  networkChanged(): void;
  /** Ends all calls and closes the connection, for good. */
  close(): void;
  /** As of `EventTarget`. */
  addEventListener<Type extends keyof RinglineEvents>(
    type: Type,
    listener: (event: RinglineEvents[Type]) => void,
    options?: AddEventListenerOptions | boolean,
  ): void;
  /** As of `EventTarget`. */
  removeEventListener<Type extends keyof RinglineEvents>(
    type: Type,
    listener: (event: RinglineEvents[Type]) => void,
  ): void;
}

/** A call of the user's history. */
export interface PastCall {
  /** The server's number of the call. */
  readonly id: number;
  readonly callId: string;
  /** The number, from 1, that tells apart the calls with the same callId and peer. */
  readonly epoch: number;
  /** The id of the user who called. */
  readonly caller: string;
  /** The id of the user who was called. */
  readonly callee: string;
  /** The id of the other user. */
  readonly peer: string;
  /** `missed`: the call came in, and none of this user's devices answered it. */
  readonly direction: "outgoing" | "incoming" | "missed";
  readonly hasVideo: boolean;
  /** Why the call ended; `null` = it goes on. A later server may have further reasons. */
  readonly reason: EndReason | (string & {}) | null;
  /** When the call began, in milliseconds since 1970. */
  readonly startedAt: number;
  /** When it was answered; `null` = it was not. */
  readonly answeredAt: number | null;
  /** When it ended; `null` = it goes on. */
  readonly endedAt: number | null;
  /** The schedule by which the server itself called; `null` = a user called. */
  readonly schedule: string | null;
}

/** The server refused a request of the app, or did not respond. */
export class RequestError extends Error {
  private constructor();
  /** The HTTP status; 0 = no response came. */
  readonly status: number;
  /** The server's error code, such as `rate_limited`; `null` = it sent none. */
  readonly code: string | null;
}

/** Thrown by the core when a value is malformed, such as `to: must be a user id` for the peer of a call. */
export class BridgeError extends Error {}

/** Compiles the core once, for several `Ringline`s: hand the result in as `Options.wasm`. */
export function compileCore(source?: Options["wasm"]): Promise<WebAssembly.Module>;

/** Calls over a Ringline server, for browsers and Node. */

/** Why a call ended, as the protocol names it. */
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
  | "replaced";

/** Why an action on a call is not possible. */
export type Refusal = "unknownCall" | "tooManyCalls" | "inUse" | "answeredInstead" | "callsOneself" | "notPossible";

/** A value that JSON can hold. */
export type JSONValue = null | boolean | number | string | JSONValue[] | { [name: string]: JSONValue };

/** Media that a call needs: which tracks the stream must have. */
export interface MediaWish {
  readonly uuid: string;
  readonly audio: boolean;
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

/** What a media engine hands in. */
export type EngineInput = { readonly uuid: string } & (
  | { readonly in: "localDescription"; readonly round: number; readonly kind: "offer" | "answer"; readonly sdp: string }
  | { readonly in: "localCandidate"; readonly round: number; readonly candidate: string | null }
  | { readonly in: "mediaConnected" | "mediaFailed" }
  | { readonly in: "renegotiate"; readonly hasVideo?: boolean; readonly restartsICE?: boolean }
);

/** What an engine may ask of its `Ringline`. */
export interface EngineHost {
  /** Hands in a result or an event. */
  take(input: EngineInput): void;
  /** Reports an error to the app. */
  failed(uuid: string, error: unknown): void;
  /** Tells the app about the streams of a call. */
  changed(uuid: string, streams: { local: MediaStream | null; remote: MediaStream | null }): void;
  /** Asks the app for local media. */
  media(wish: MediaWish): Promise<MediaStream>;
  /** Returns the configuration for a new connection, with ICE servers that are valid now. */
  configuration(): Promise<RTCConfiguration>;
  /** Whether the user wants to send video in this call. */
  sendsVideo(uuid: string): boolean;
}

/** A media engine: carries out the core's outputs, in order. */
export interface Engine {
  perform(output: EngineOutput): void;
  /** Releases the media of all calls. */
  close(): void;
  /** The connection of a call, for `getStats`. */
  connection?(uuid: string): RTCPeerConnection | null;
}

/** The part of the `WebSocket` class that is used. */
export interface WebSocketClass {
  new (url: string, protocols: string[]): {
    onmessage: ((event: any) => void) | null;
    onclose: ((event: any) => void) | null;
    onerror: ((event: any) => void) | null;
    send(text: string): void;
    close(): void;
  };
}

/** The part of `fetch` that is used. */
export type Fetch = (
  url: URL,
  init: { method: string; headers: Record<string, string>; body?: string },
) => Promise<{ status: number; text(): Promise<string> }>;

export interface Options {
  /** The server's address, such as `https://calls.example.com`. */
  readonly url: string;
  /** The user that the tokens name. */
  readonly user: string;
  /** The id of this installation. Keep it, for example in `localStorage`; two open pages need two ids. */
  readonly device: string;
  /** Returns a fresh token of the user, from your backend. */
  readonly token: () => Promise<string> | string;
  /** The user's name as callees see it; by default the name in the token. */
  readonly displayName?: string;
  /** How long callees are rung: 5000 to 120000 milliseconds. */
  readonly ringTimeout?: number;
  /** How many calls there may be at a time; 2 by default. */
  readonly maximumCalls?: number;
  /** `Ringline.clockSkew` of an earlier launch. */
  readonly clockSkew?: number;
  /** Where the core is; by default `ringline.wasm` beside the module. */
  readonly wasm?: string | URL | Response | BufferSource | WebAssembly.Module;
  /** Returns local media; by default from `getUserMedia`. */
  readonly media?: (wish: MediaWish) => Promise<MediaStream>;
  /** Further settings of the media connections, such as `iceTransportPolicy`. `iceServers` replace the server's. */
  readonly rtcConfiguration?: RTCConfiguration;
  /** Makes the media engine; by default one of `RTCPeerConnection`s. */
  readonly engine?: (host: EngineHost) => Engine;
  /** The class of the connection; Node has one from version 22 on. */
  readonly WebSocket?: WebSocketClass;
  readonly fetch?: Fetch;
}

/** An event, with the values that belong to it as members. */
export class RinglineEvent extends Event {}

export interface CallEvents {
  /** A device of the callee alerts its user: play the ringback tone. */
  ringing: RinglineEvent;
  /** The call was answered, and the media connection is being set up. */
  connecting: RinglineEvent;
  /** Media flows. */
  connected: RinglineEvent;
  ended: RinglineEvent & { readonly reason: EndReason | Refusal | null };
  /** The name or the video of the call changed. */
  update: RinglineEvent;
  /** The streams of the call changed. */
  media: RinglineEvent;
  /** The peer holds or mutes, or no longer does. */
  peermedia: RinglineEvent;
  dtmf: RinglineEvent & { readonly digits: string };
  /** The peer's app sent a value. */
  info: RinglineEvent & { readonly value: JSONValue };
  /** The last action is not possible. */
  refused: RinglineEvent & { readonly why: Refusal };
}

export class Call {
  private constructor();
  readonly uuid: string;
  /** The other user. */
  readonly peer: string;
  readonly direction: "incoming" | "outgoing";
  readonly state: "calling" | "ringing" | "connecting" | "connected" | "ended";
  /** The peer's name, if the peer or the server gave one. */
  readonly name: string | null;
  readonly hasVideo: boolean;
  readonly isHeld: boolean;
  readonly isMuted: { readonly audio: boolean; readonly video: boolean };
  readonly peerMedia: { readonly held: boolean; readonly audio: boolean; readonly video: boolean };
  readonly localStream: MediaStream | null;
  readonly remoteStream: MediaStream | null;
  /** Why the call ended; `null` while it has not. */
  readonly reason: EndReason | Refusal | null;
  /** Answers an incoming call, with video by default if the caller offered it. */
  answer(options?: { video?: boolean }): void;
  /** Hangs up, declines or cancels. */
  end(reason?: EndReason): void;
  hold(isHeld?: boolean): void;
  /** Switches the microphone or the camera off (`true`) or on. */
  mute(media: { audio?: boolean; video?: boolean }): void;
  /** Adds the camera to an answered call. */
  addVideo(): void;
  /** Looks for a new way for the media, as happens by itself after a failure. */
  restartICE(): void;
  sendDTMF(digits: string): void;
  sendInfo(value: JSONValue): void;
  addEventListener<Type extends keyof CallEvents>(
    type: Type,
    listener: (event: CallEvents[Type]) => void,
    options?: AddEventListenerOptions | boolean,
  ): void;
  removeEventListener<Type extends keyof CallEvents>(type: Type, listener: (event: CallEvents[Type]) => void): void;
}

export interface RinglineEvents {
  incoming: RinglineEvent & { readonly call: Call };
  connection: RinglineEvent & { readonly state: "connecting" | "open" | "closed" };
  /** An error that no call of a function reports. It is logged as a warning unless the listener prevents the default. */
  error: RinglineEvent & { readonly error: unknown };
}

export class Ringline {
  private constructor();
  /** Loads the core and begins to connect. */
  static create(options: Options): Promise<Ringline>;
  readonly calls: ReadonlyMap<string, Call>;
  readonly connectionState: "connecting" | "open" | "closed";
  /** How far this device's clock is ahead of the server's, in milliseconds; keep it for the next launch. */
  readonly clockSkew: number | null;
  /** Calls a user. Returns the call of that user that was answered instead, if they are calling this device already. */
  call(peer: string, options?: { video?: boolean }): Call;
  /** Hands in the payload of a push. */
  pushed(payload: Record<string, JSONValue>): void;
  /** The connection of a call's media, for `getStats`. */
  mediaConnection(call: Call): RTCPeerConnection | null;
  /** Connects at once, or checks the connection; `online` events do this by themselves. */
  networkChanged(): void;
  /** Ends all calls and the connection. */
  close(): void;
  addEventListener<Type extends keyof RinglineEvents>(
    type: Type,
    listener: (event: RinglineEvents[Type]) => void,
    options?: AddEventListenerOptions | boolean,
  ): void;
  removeEventListener<Type extends keyof RinglineEvents>(
    type: Type,
    listener: (event: RinglineEvents[Type]) => void,
  ): void;
}

/** Thrown when an argument is malformed; the message names it. */
export class BridgeError extends Error {}

/** Compiles the core once, for several `Ringline`s. */
export function compileCore(source?: Options["wasm"]): Promise<WebAssembly.Module>;

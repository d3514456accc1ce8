// The media engine: one RTCPeerConnection for each call, behind the core's outputs for media. The core decides who makes
// which description when; the engine only carries that out, in order.
import { Descriptions } from "./descriptions.js";

// A call whose media stays away for this long after the first ICE restart has failed.
const RESTART_TIMEOUT = 30_000;
// A connection that has gathered no candidate for this time gathers again, and waits twice as long for the next attempt.
const GATHERING_TIMEOUT = 2_000;

/** The names of the outputs that the engine carries out. */
export const ENGINE_OUTPUTS = new Set([
  "makeOffer",
  "makeAnswer",
  "setRemoteDescription",
  "addRemoteCandidate",
  "rollback",
  "startAudio",
  "stopAudio",
  "holdMedia",
  "muteMedia",
  "closeMedia",
]);

/** The default engine. Any object with `perform(output)` and `close()` may take its place. */
export class PeerEngine {
  #host;
  #peers = new Map();

  /**
   * `host` has `take(input)`, `failed(uuid, error)`, `changed(uuid, {local, remote})`, `media(request)`,
   * `configuration()` (the promise of an RTCConfiguration), and `sendsVideo(uuid)`.
   */
  constructor(host) {
    this.#host = host;
  }

  /** Carries out one output of the core. */
  perform(output) {
    const { uuid } = output;
    if (output.out === "closeMedia") {
      this.#peers.get(uuid)?.close();
      this.#peers.delete(uuid);
      return;
    }
    let peer = this.#peers.get(uuid);
    if (peer === undefined) {
      peer = new Peer(uuid, this.#host);
      this.#peers.set(uuid, peer);
    }
    peer.perform(output);
  }

  /** The connection of a call, for `getStats`; `null` while there is none. */
  connection(uuid) {
    return this.#peers.get(uuid)?.connection ?? null;
  }

  /** Releases the media of all calls. */
  close() {
    for (const peer of this.#peers.values()) peer.close();
    this.#peers.clear();
  }
}

class Peer {
  connection = null;
  #uuid;
  #host;
  #queue = Promise.resolve();
  #local = new MediaStream();
  #remote = new MediaStream();
  #round = 0;
  /** The round of each of our descriptions, by its ICE user name: a candidate may come after a later description. */
  #rounds = new Map();
  #isClosed = false;
  #isAudioOn = false;
  #isHeld = false;
  #isMuted = { audio: false, video: false };
  #restartTimer;
  #hasConnected = false;
  #gatheringTimer;
  #gatheringTimeout = GATHERING_TIMEOUT;
  #descriptions = new Descriptions();
  /** Whether the connection has refused the peer's newest offer, which the core wants to be answered next. */
  #hasRefusedOffer = false;

  constructor(uuid, host) {
    this.#uuid = uuid;
    this.#host = host;
  }

  perform(output) {
    switch (output.out) {
      case "startAudio":
      case "stopAudio":
        this.#isAudioOn = output.out === "startAudio";
        return this.#applyTracks();
      case "holdMedia":
        this.#isHeld = output.held;
        return this.#applyTracks();
      case "muteMedia":
        this.#isMuted.audio = output.audio ?? this.#isMuted.audio;
        this.#isMuted.video = output.video ?? this.#isMuted.video;
        return this.#applyTracks();
    }
    this.#queue = this.#queue
      .then(() => this.#isClosed || this.#negotiate(output))
      .catch((error) => this.#isClosed || this.#negotiationFailed(output, error));
  }

  /** Reports an error, and goes back to what was negotiated before: media that flow go on flowing. */
  async #negotiationFailed({ out, kind, round }, error) {
    this.#host.failed(this.#uuid, error);
    // One candidate may be useless on this network; the others may still work.
    if (out === "addRemoteCandidate") return;
    if (!this.#isNegotiated) return this.#host.take({ in: "mediaFailed", uuid: this.#uuid });
    if (out === "setRemoteDescription" && kind === "offer") this.#hasRefusedOffer = true;
    else await this.#abandon(round ?? this.#round);
  }

  /** Ends an exchange of descriptions that has failed. `round` is that of this side's description in it. */
  async #abandon(round) {
    clearTimeout(this.#gatheringTimer);
    const { signalingState } = this.connection;
    const rollback = { type: "rollback" };
    try {
      if (signalingState === "have-local-offer") await this.connection.setLocalDescription(rollback);
      if (signalingState === "have-remote-offer") await this.connection.setRemoteDescription(rollback);
    } catch (error) {
      this.#host.failed(this.#uuid, error);
    }
    if (!this.#isClosed) this.#host.take({ in: "negotiationFailed", uuid: this.#uuid, round });
  }

  /** Whether an exchange of descriptions has succeeded. */
  get #isNegotiated() {
    return Boolean(this.connection?.currentRemoteDescription);
  }

  async #negotiate(output) {
    const connection = await this.#open();
    switch (output.out) {
      case "makeOffer": {
        // The credentials of the first connection may have expired by now.
        if (output.restartsICE) connection.setConfiguration(await this.#host.configuration());
        await this.#addMedia(output.hasVideo);
        if (this.#isClosed) return;
        const offer = await connection.createOffer({ iceRestart: output.restartsICE });
        return this.#setLocal(offer, output.round);
      }
      case "makeAnswer": {
        if (this.#hasRefusedOffer) return this.#abandon(output.round);
        await this.#addMedia(this.#host.sendsVideo(this.#uuid)).catch((error) => {
          // The peer's offer can be answered with what this side sends already.
          if (!this.#isNegotiated) throw error;
          this.#host.failed(this.#uuid, error);
        });
        if (this.#isClosed) return;
        return this.#setLocal(await connection.createAnswer(), output.round);
      }
      case "setRemoteDescription": {
        this.#hasRefusedOffer = false;
        const description = { type: output.kind, sdp: output.sdp };
        return connection.setRemoteDescription(this.#descriptions.acceptable(description, connection));
      }
      case "addRemoteCandidate":
        // It belongs to an offer that was refused, or to a connection that was replaced.
        if (this.#hasRefusedOffer || connection.remoteDescription === null) return;
        return connection.addIceCandidate(output.candidate === null ? undefined : JSON.parse(output.candidate));
      case "rollback":
        clearTimeout(this.#gatheringTimer);
        if (connection.signalingState !== "have-local-offer") return;
        if (this.#isNegotiated) return connection.setLocalDescription({ type: "rollback" });
        return this.#replaceConnection();
    }
  }

  /**
   * Takes a new connection in place of one that has connected nothing yet. Chromium on a busy machine sometimes gathers no
   * candidates after the rollback of a first offer, and a restart of ICE does not help.
   */
  async #replaceConnection() {
    const earlier = this.connection;
    // Media keep their order, as the peer may know it already.
    const media = earlier.getTransceivers().map(({ sender, receiver }) => [sender.track, receiver.track.kind]);
    for (const name of ["onicecandidate", "ontrack", "onconnectionstatechange"]) earlier[name] = null;
    earlier.close();
    this.connection = null;
    this.#descriptions = new Descriptions();
    this.#rounds.clear();
    this.#remote = new MediaStream();
    const connection = await this.#open();
    for (const [track, kind] of media) {
      if (track === null) connection.addTransceiver(kind, { direction: "recvonly" });
      else connection.addTrack(track, this.#local);
    }
  }

  async #open() {
    if (this.connection !== null) return this.connection;
    const connection = new RTCPeerConnection(await this.#host.configuration());
    this.connection = connection;
    if (this.#isClosed) connection.close();
    connection.onicecandidate = ({ candidate }) => {
      const round = this.#rounds.get(candidate?.usernameFragment) ?? this.#round;
      const text = candidate === null ? null : JSON.stringify(candidate.toJSON());
      if (round === this.#round) this.#gathered();
      this.#host.take({ in: "localCandidate", uuid: this.#uuid, round, candidate: text });
    };
    connection.ontrack = ({ track }) => {
      this.#remote.addTrack(track);
      this.#applyTracks();
      this.#host.changed(this.#uuid, { local: this.#local, remote: this.#remote });
    };
    connection.onconnectionstatechange = () => this.#connectionChanged(connection.connectionState);
    return connection;
  }

  /** Gathers again if no candidate comes in time. */
  #awaitCandidates() {
    clearTimeout(this.#gatheringTimer);
    this.#gatheringTimer = setTimeout(() => {
      // An offer that rings does not need them yet.
      if (!this.#isNegotiated) return this.#awaitCandidates();
      this.#gatheringTimeout *= 2;
      this.#queue = this.#queue.then(() => this.#isClosed || this.#gatherAnew());
    }, this.#gatheringTimeout);
    // It must not keep a process of Node running.
    this.#gatheringTimer.unref?.();
  }

  async #gatherAnew() {
    const isUnused = !this.#hasConnected && this.connection.signalingState === "stable";
    if (isUnused) await this.#replaceConnection().catch((error) => this.#host.failed(this.#uuid, error));
    if (!this.#isClosed) this.#host.take({ in: "renegotiate", uuid: this.#uuid, restartsICE: true });
  }

  #gathered() {
    clearTimeout(this.#gatheringTimer);
    this.#gatheringTimeout = GATHERING_TIMEOUT;
  }

  #connectionChanged(state) {
    if (this.#isClosed) return;
    if (state === "connected") {
      this.#hasConnected = true;
      this.#gathered();
      clearTimeout(this.#restartTimer);
      this.#restartTimer = undefined;
      this.#host.take({ in: "mediaConnected", uuid: this.#uuid });
    } else if (state === "failed") {
      this.#restartTimer ??= setTimeout(
        () => this.#host.take({ in: "mediaFailed", uuid: this.#uuid }),
        RESTART_TIMEOUT,
      );
      this.#host.take({ in: "renegotiate", uuid: this.#uuid, restartsICE: true });
    }
  }

  /** Asks the app for the media that is not sent yet. */
  async #addMedia(wantsVideo) {
    const sends = (kind) => this.connection.getSenders().some(({ track }) => track?.kind === kind);
    const request = { audio: !sends("audio"), video: wantsVideo && !sends("video") };
    if (!request.audio && !request.video) return;
    const stream = await this.#host.media({ uuid: this.#uuid, ...request });
    if (this.#isClosed) {
      for (const track of stream.getTracks()) track.stop();
      return;
    }
    for (const track of stream.getTracks()) {
      this.#local.addTrack(track);
      this.connection.addTrack(track, this.#local);
    }
    this.#applyTracks();
    this.#host.changed(this.#uuid, { local: this.#local, remote: this.#remote });
  }

  async #setLocal(description, round) {
    const user = /^a=ice-ufrag:(\S+)/m.exec(description.sdp)?.[1];
    const gathers = !this.#rounds.has(user);
    this.#round = round;
    this.#rounds.set(user, round);
    this.#descriptions.made(description.sdp);
    if (gathers) this.#awaitCandidates();
    await this.connection.setLocalDescription(description);
    if (this.#isClosed) return;
    const { type: kind, sdp } = this.connection.localDescription;
    this.#host.take({ in: "localDescription", uuid: this.#uuid, round, kind, sdp });
  }

  /** Lets each track send and play what hold, mute and the state of the call allow. */
  #applyTracks() {
    for (const track of this.#local.getTracks()) {
      const isOn = track.kind === "audio" ? this.#isAudioOn : true;
      track.enabled = isOn && !this.#isHeld && !this.#isMuted[track.kind];
    }
    for (const track of this.#remote.getTracks()) track.enabled = !this.#isHeld;
  }

  close() {
    this.#isClosed = true;
    clearTimeout(this.#restartTimer);
    clearTimeout(this.#gatheringTimer);
    this.connection?.close();
    for (const track of this.#local.getTracks()) track.stop();
  }
}

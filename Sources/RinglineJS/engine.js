// The media engine: one RTCPeerConnection for each call, behind the core's outputs for media. The core decides who makes
// which description when; the engine only carries that out, in order.

// A call whose media stays away for this long after the first ICE restart has failed.
const RESTART_TIMEOUT = 30_000;

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
    this.#queue = this.#queue.then(() => this.#isClosed || this.#negotiate(output)).catch((error) => {
      if (this.#isClosed) return;
      this.#host.failed(this.#uuid, error);
      // A candidate of another network may be useless here; the other candidates are not.
      if (output.out !== "addRemoteCandidate") this.#host.take({ in: "mediaFailed", uuid: this.#uuid });
    });
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
        await this.#addMedia(this.#host.sendsVideo(this.#uuid));
        if (this.#isClosed) return;
        return this.#setLocal(await connection.createAnswer(), output.round);
      }
      case "setRemoteDescription":
        return connection.setRemoteDescription({ type: output.kind, sdp: output.sdp });
      case "addRemoteCandidate":
        return connection.addIceCandidate(output.candidate === null ? undefined : JSON.parse(output.candidate));
      case "rollback":
        if (connection.signalingState !== "have-local-offer") return;
        return connection.setLocalDescription({ type: "rollback" });
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

  #connectionChanged(state) {
    if (this.#isClosed) return;
    if (state === "connected") {
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
    this.#round = round;
    this.#rounds.set(/^a=ice-ufrag:(\S+)/m.exec(description.sdp)?.[1], round);
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
    this.connection?.close();
    for (const track of this.#local.getTracks()) track.stop();
  }
}

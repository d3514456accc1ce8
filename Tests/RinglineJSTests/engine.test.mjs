import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { PeerEngine } from "../../Sources/RinglineJS/engine.js";
import { settled } from "./support.mjs";

const uuid = "u";
let connections;

class FakeTrack {
  enabled = true;
  isStopped = false;
  constructor(kind) {
    this.kind = kind;
  }
  stop() {
    this.isStopped = true;
  }
}

class FakeStream {
  #tracks = [];
  addTrack(track) {
    this.#tracks.push(track);
  }
  getTracks() {
    return this.#tracks;
  }
}

/** An RTCPeerConnection that notes what it is told. */
class FakeConnection {
  told = [];
  senders = [];
  signalingState = "stable";
  connectionState = "new";
  localDescription = null;
  constructor(configuration) {
    this.configuration = configuration;
    connections.push(this);
  }
  setConfiguration(configuration) {
    this.configuration = configuration;
  }
  getSenders() {
    return this.senders;
  }
  addTrack(track) {
    this.senders.push({ track });
  }
  async createOffer({ iceRestart }) {
    this.told.push(iceRestart ? "offer with restart" : "offer");
    return { type: "offer", sdp: `v=0\r\na=ice-ufrag:o${this.told.length}\r\n` };
  }
  async createAnswer() {
    this.told.push("answer");
    return { type: "answer", sdp: `v=0\r\na=ice-ufrag:a${this.told.length}\r\n` };
  }
  async setLocalDescription(description) {
    this.told.push(`local ${description.type}`);
    this.signalingState = description.type === "offer" ? "have-local-offer" : "stable";
    this.localDescription = description;
  }
  async setRemoteDescription({ type }) {
    this.told.push(`remote ${type}`);
  }
  async addIceCandidate(candidate) {
    if (candidate?.candidate === "bad") throw new Error("bad candidate");
    this.told.push(`candidate ${candidate?.candidate}`);
  }
  close() {
    this.told.push("close");
  }
  becomes(state) {
    this.connectionState = state;
    this.onconnectionstatechange();
  }
}

globalThis.MediaStream = FakeStream;
globalThis.RTCPeerConnection = FakeConnection;

beforeEach(() => {
  connections = [];
});

function made(more = {}) {
  const inputs = [];
  const errors = [];
  const tracks = [];
  const engine = new PeerEngine({
    take: (input) => inputs.push(input),
    failed: (_, error) => errors.push(error.message),
    changed: () => {},
    media: async (wish) => {
      const stream = new FakeStream();
      for (const kind of ["audio", "video"]) if (wish[kind]) stream.addTrack(new FakeTrack(kind));
      tracks.push(...stream.getTracks());
      return stream;
    },
    configuration: async () => ({ iceServers: [] }),
    sendsVideo: () => false,
    ...more,
  });
  const perform = (out, members = {}) => engine.perform({ out, uuid, ...members });
  return { engine, inputs, errors, tracks, perform };
}

const offer = { round: 1, hasVideo: true, restartsICE: false };

test("an offer is made with the media that the call needs, and handed in with its round", async () => {
  const { perform, inputs, tracks } = made();
  perform("makeOffer", offer);
  await settled();
  assert.deepEqual(tracks.map(({ kind }) => kind), ["audio", "video"]);
  assert.deepEqual(inputs, [
    { in: "localDescription", uuid, round: 1, kind: "offer", sdp: "v=0\r\na=ice-ufrag:o1\r\n" },
  ]);
});

test("outputs are carried out in order, although each takes its time", async () => {
  const { perform } = made();
  perform("makeOffer", offer);
  perform("rollback");
  perform("setRemoteDescription", { kind: "offer", sdp: "v=0\r\n" });
  perform("addRemoteCandidate", { candidate: '{"candidate":"c"}' });
  perform("addRemoteCandidate", { candidate: null });
  perform("makeAnswer", { round: 2 });
  await settled();
  assert.deepEqual(connections[0].told, [
    "offer", "local offer", "local rollback", "remote offer", "candidate c", "candidate undefined", "answer",
    "local answer",
  ]);
});

test("a rollback without an offer does nothing", async () => {
  const { perform, errors } = made();
  perform("rollback");
  await settled();
  assert.deepEqual(connections[0].told, []);
  assert.deepEqual(errors, []);
});

test("a candidate has the round of its description, also when it comes late", async () => {
  const { perform, inputs } = made();
  perform("makeOffer", offer);
  perform("makeOffer", { ...offer, round: 2 });
  await settled();
  const gathered = (name) => ({ usernameFragment: name, toJSON: () => ({ candidate: name }) });
  for (const candidate of [gathered("o1"), gathered("o3"), null]) connections[0].onicecandidate({ candidate });
  const candidates = inputs.filter((input) => input.in === "localCandidate");
  assert.deepEqual(candidates.map(({ round, candidate }) => [round, candidate]), [
    [1, '{"candidate":"o1"}'],
    [2, '{"candidate":"o3"}'],
    [2, null],
  ]);
});

test("sound is sent from startAudio on, and hold and mute stop what they name", async () => {
  const { perform, tracks } = made();
  perform("makeOffer", offer);
  await settled();
  const [audio, video] = tracks;
  const sent = () => [audio.enabled, video.enabled];
  assert.deepEqual(sent(), [false, true]);
  perform("startAudio");
  assert.deepEqual(sent(), [true, true]);
  perform("muteMedia", { video: true });
  assert.deepEqual(sent(), [true, false]);
  perform("holdMedia", { held: true });
  assert.deepEqual(sent(), [false, false]);
  perform("holdMedia", { held: false });
  assert.deepEqual(sent(), [true, false]);
  const track = new FakeTrack("audio");
  connections[0].ontrack({ track });
  perform("holdMedia", { held: true });
  assert.equal(track.enabled, false);
});

test("a connection that fails is restarted with fresh ICE servers, and given up after 30 s", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let servers = ["first"];
  const { perform, inputs } = made({ configuration: async () => ({ iceServers: servers }) });
  perform("makeOffer", offer);
  await settled();
  const [connection] = connections;
  connection.becomes("connected");
  connection.becomes("failed");
  assert.deepEqual(inputs.slice(1), [
    { in: "mediaConnected", uuid },
    { in: "renegotiate", uuid, restartsICE: true },
  ]);
  servers = ["second"];
  perform("makeOffer", { ...offer, round: 2, restartsICE: true });
  await settled();
  assert.ok(connection.told.includes("offer with restart"));
  assert.deepEqual(connection.configuration.iceServers, ["second"]);
  connection.becomes("connected");
  context.mock.timers.tick(60_000);
  assert.ok(!inputs.some((input) => input.in === "mediaFailed"));
  connection.becomes("failed");
  context.mock.timers.tick(30_000);
  assert.deepEqual(inputs.at(-1), { in: "mediaFailed", uuid });
});

test("a call without a microphone fails, and the app hears why", async () => {
  const { perform, inputs, errors } = made({
    media: async () => {
      throw new Error("permission denied");
    },
  });
  perform("makeOffer", offer);
  await settled();
  assert.deepEqual(inputs, [{ in: "mediaFailed", uuid }]);
  assert.deepEqual(errors, ["permission denied"]);
});

test("a candidate that the browser refuses does not end the call", async () => {
  const { perform, inputs, errors } = made();
  perform("addRemoteCandidate", { candidate: '{"candidate":"bad"}' });
  perform("addRemoteCandidate", { candidate: '{"candidate":"good"}' });
  await settled();
  assert.deepEqual(inputs, []);
  assert.deepEqual(errors, ["bad candidate"]);
  assert.deepEqual(connections[0].told, ["candidate good"]);
});

test("a call that ends while the user is asked for the camera leaves nothing on", async () => {
  let allow;
  const stream = new FakeStream();
  stream.addTrack(new FakeTrack("audio"));
  const { perform, inputs } = made({ media: () => new Promise((resolve) => (allow = () => resolve(stream))) });
  perform("makeOffer", offer);
  await settled();
  perform("closeMedia");
  allow();
  await settled();
  assert.equal(stream.getTracks()[0].isStopped, true);
  assert.deepEqual(connections[0].told, ["close"]);
  assert.deepEqual(inputs, []);
});

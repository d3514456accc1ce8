import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { PeerEngine } from "../../../Sources/Clients/RinglineJS/engine.js";
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
  currentLocalDescription = null;
  currentRemoteDescription = null;
  /** The descriptions of the peer that were set, and the types that are refused. */
  remote = [];
  refuses = new Set();
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
  getTransceivers() {
    return this.senders.map((sender) => ({ sender, receiver: { track: sender.track ?? { kind: "video" } } }));
  }
  addTrack(track) {
    this.senders.push({ track });
  }
  addTransceiver(kind, { direction }) {
    this.told.push(`${direction} ${kind}`);
    this.senders.push({ track: null });
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
    if (this.refuses.has(`local ${description.type}`)) throw new Error(`local ${description.type} refused`);
    this.told.push(`local ${description.type}`);
    this.signalingState = description.type === "offer" ? "have-local-offer" : "stable";
    this.localDescription = description;
    if (description.type === "answer") this.#agree(description, this.remote.at(-1));
  }
  async setRemoteDescription(description) {
    if (this.refuses.has(`remote ${description.type}`)) throw new Error(`remote ${description.type} refused`);
    this.told.push(`remote ${description.type}`);
    if (description.type === "rollback") this.signalingState = "stable";
    if (description.type === "rollback") return;
    this.remote.push(description);
    this.signalingState = description.type === "offer" ? "have-remote-offer" : "stable";
    if (description.type === "answer") this.#agree(this.localDescription, description);
  }
  #agree(local, remote) {
    this.currentLocalDescription = local;
    this.currentRemoteDescription = remote;
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
  // Before an exchange has succeeded, a new connection is the rollback.
  assert.deepEqual(connections.map(({ told }) => told), [
    ["offer", "local offer", "close"],
    ["remote offer", "candidate c", "candidate undefined", "answer", "local answer"],
  ]);
  assert.deepEqual(connections[1].senders, connections[0].senders);
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

/** Returns an engine whose call has exchanged an offer of its own and the peer's answer. */
async function negotiated(more) {
  const all = made(more);
  all.perform("makeOffer", { ...offer, hasVideo: false });
  all.perform("setRemoteDescription", { kind: "answer", sdp: "v=0\r\n" });
  await settled();
  all.inputs.length = 0;
  return { ...all, connection: connections.at(-1) };
}

for (const refused of ["local offer", "remote answer"]) {
  test(`a later exchange whose ${refused} is refused is rolled back, and the call goes on`, async () => {
    const { perform, inputs, errors, connection } = await negotiated();
    connection.refuses.add(refused);
    perform("makeOffer", { ...offer, round: 2 });
    perform("setRemoteDescription", { kind: "answer", sdp: "v=0\r\nlater" });
    await settled();
    assert.equal(connection.signalingState, "stable");
    assert.deepEqual(errors[0], `${refused} refused`);
    assert.ok(!inputs.some((input) => input.in === "mediaFailed"));
    assert.ok(inputs.some((input) => input.in === "negotiationFailed" && input.round === 2));
  });
}

test("a later offer of the peer that is refused gets no answer, and the one after it does", async () => {
  const { perform, inputs, errors, connection } = await negotiated();
  connection.refuses.add("remote offer");
  perform("setRemoteDescription", { kind: "offer", sdp: "v=0\r\nbad" });
  perform("makeAnswer", { round: 2 });
  perform("addRemoteCandidate", { candidate: '{"candidate":"bad"}' });
  await settled();
  assert.deepEqual(inputs, [{ in: "negotiationFailed", uuid, round: 2 }]);
  assert.deepEqual(errors, ["remote offer refused"]);
  connection.refuses.clear();
  perform("setRemoteDescription", { kind: "offer", sdp: "v=0\r\ngood" });
  perform("makeAnswer", { round: 3 });
  await settled();
  assert.equal(inputs.at(-1).in, "localDescription");
});

test("an answer that cannot be set is rolled back", async () => {
  const { perform, inputs, connection } = await negotiated();
  connection.refuses.add("local answer");
  perform("setRemoteDescription", { kind: "offer", sdp: "v=0\r\n" });
  perform("makeAnswer", { round: 2 });
  await settled();
  assert.equal(connection.told.at(-1), "remote rollback");
  assert.deepEqual(inputs, [{ in: "negotiationFailed", uuid, round: 2 }]);
});

test("a camera that is refused later ends no call: an offer is withdrawn, and an answer goes out without it", async () => {
  let isAllowed = true;
  const media = async () => {
    if (!isAllowed) throw new Error("permission denied");
    const stream = new FakeStream();
    stream.addTrack(new FakeTrack("audio"));
    return stream;
  };
  const { perform, inputs, errors } = await negotiated({ media, sendsVideo: () => true });
  isAllowed = false;
  perform("makeOffer", { ...offer, round: 2 });
  perform("setRemoteDescription", { kind: "offer", sdp: "v=0\r\n" });
  perform("makeAnswer", { round: 3 });
  await settled();
  assert.deepEqual(errors, ["permission denied", "permission denied"]);
  assert.deepEqual(inputs.map((input) => [input.in, input.round]), [["negotiationFailed", 2], ["localDescription", 3]]);
});

test("a first offer that is refused ends the call", async () => {
  const { perform, inputs } = made();
  perform("addRemoteCandidate", { candidate: null });
  await settled();
  connections[0].refuses.add("remote offer");
  perform("setRemoteDescription", { kind: "offer", sdp: "v=0\r\n" });
  await settled();
  assert.deepEqual(inputs, [{ in: "mediaFailed", uuid }]);
});

test("a connection that gathers nothing gathers anew, less and less often", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { perform, inputs } = made();
  const restarts = () => inputs.filter((input) => input.in === "renegotiate").length;
  perform("makeOffer", offer);
  await settled();
  context.mock.timers.tick(10_000);
  assert.equal(restarts(), 0, "nobody has answered yet");
  perform("setRemoteDescription", { kind: "answer", sdp: "v=0\r\n" });
  await settled();
  // A medium that only the peer sends comes before one of this side.
  connections[0].senders.unshift({ track: null });
  context.mock.timers.tick(2_000);
  await settled();
  assert.deepEqual(inputs.at(-1), { in: "renegotiate", uuid, restartsICE: true });
  assert.deepEqual([connections.length, connections[0].told.at(-1)], [2, "close"], "a restart alone would not help");
  assert.deepEqual(connections[1].senders, connections[0].senders);
  assert.equal(connections[1].told[0], "recvonly video");
  for (const [round, pause] of [[2, 4_000], [3, 8_000]]) {
    perform("makeOffer", { ...offer, round, restartsICE: true });
    perform("setRemoteDescription", { kind: "answer", sdp: "v=0\r\n" });
    await settled();
    context.mock.timers.tick(pause - 1);
    await settled();
    assert.equal(restarts(), round - 1);
    context.mock.timers.tick(1);
    await settled();
    assert.equal(restarts(), round);
  }
  perform("makeOffer", { ...offer, round: 4, restartsICE: true });
  await settled();
  connections.at(-1).onicecandidate({ candidate: { usernameFragment: "x", toJSON: () => ({}) } });
  context.mock.timers.tick(60_000);
  assert.equal(restarts(), 3);
});

test("a connection that has carried media is kept when it gathers nothing after a restart", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { perform, inputs, connection } = await negotiated();
  connection.becomes("connected");
  perform("makeOffer", { ...offer, round: 2, restartsICE: true });
  perform("setRemoteDescription", { kind: "answer", sdp: "v=0\r\n" });
  await settled();
  context.mock.timers.tick(2_000);
  await settled();
  assert.deepEqual(inputs.at(-1), { in: "renegotiate", uuid, restartsICE: true });
  assert.equal(connections.length, 1);
});

test("a later rollback keeps the connection", async () => {
  const { perform, connection } = await negotiated();
  perform("makeOffer", { ...offer, round: 2 });
  perform("rollback");
  await settled();
  assert.equal(connection.told.at(-1), "local rollback");
  assert.equal(connections.length, 1);
});

test("a rollback, a connection and the end of a call end the wait for candidates", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  for (const end of [
    ({ perform }) => perform("rollback"),
    ({ perform }) => perform("closeMedia"),
    ({ connection }) => connection.becomes("connected"),
  ]) {
    const all = await negotiated();
    end(all);
    await settled();
    context.mock.timers.tick(60_000);
    assert.ok(!all.inputs.some((input) => input.in === "renegotiate"));
  }
});

const lines = (...list) => list.map((line) => `${line}\r\n`).join("");
const description = (setup, { print = "AA", more = [] } = {}) =>
  lines("v=0", "a=group:BUNDLE 0 1", "m=audio 9 X 0", "a=mid:0", `a=fingerprint:sha-256 ${print}`, `a=setup:${setup}`, ...more);
const setups = (sdp) => [...sdp.matchAll(/^a=setup:(\S+)/gm)].map(([, role]) => role);

/** Hands the peer's description to a connection with these descriptions, and returns what the connection is told. */
async function handedIn(local, remote, { kind = "offer", sdp }) {
  const { perform, connection } = await negotiated();
  Object.assign(connection, { currentLocalDescription: local, currentRemoteDescription: remote });
  perform("setRemoteDescription", { kind, sdp });
  await settled();
  return connection.remote.at(-1).sdp;
}

test("a later description names the role that the peer has in DTLS, unless it begins another connection", async () => {
  const [offered, answered] = [(role) => ({ type: "offer", sdp: description(role) }), (role) => ({ type: "answer", sdp: description(role) })];
  const video = ["m=video 9 X 1", "a=mid:1", "a=fingerprint:sha-256 AA", "a=setup:actpass"];
  const cases = [
    [offered("actpass"), answered("active"), ["active"]],
    [offered("actpass"), answered("passive"), ["passive"]],
    [answered("active"), offered("actpass"), ["passive"]],
    [answered("passive"), offered("actpass"), ["active"]],
  ];
  for (const [local, remote, expected] of cases) {
    const later = (sdp, kind) => handedIn(local, remote, { kind, sdp });
    assert.deepEqual(setups(await later(description("actpass"))), expected);
    assert.deepEqual(setups(await later(description("actpass", { more: video }))), [...expected, ...expected]);
    const [other] = ["active", "passive"].filter((role) => role !== expected[0]);
    assert.deepEqual(setups(await later(description(other), "answer")), expected, "an answer that changes the role");
    assert.deepEqual(setups(await later(description("actpass", { print: "BB" }))), ["actpass"]);
  }
  const apart = description("actpass", { more: video }).replace("BUNDLE 0 1", "BUNDLE 0");
  const [local, remote] = cases[0];
  assert.deepEqual(setups(await handedIn(local, remote, { sdp: apart })), ["active", "actpass"]);
});

test("the first description of the peer is set as it comes", async () => {
  const { perform } = made();
  perform("setRemoteDescription", { kind: "offer", sdp: description("actpass") });
  await settled();
  assert.equal(connections[0].remote[0].sdp, description("actpass"));
});

test("an offer loses the header extensions whose ids stand for others here, also after a rollback", async () => {
  const { perform, connection } = await negotiated();
  const own = lines("v=0", "a=ice-ufrag:x", "m=audio 9 X 0", "a=extmap:1 urn:one", "a=extmap:3/sendonly urn:three");
  connection.createOffer = async () => ({ type: "offer", sdp: own });
  perform("makeOffer", { ...offer, round: 2 });
  perform("rollback");
  const theirs = ["a=extmap:1 urn:one", "a=extmap:2 urn:three", "a=extmap:3 urn:two", "a=extmap:4 urn:four attributes"];
  perform("setRemoteDescription", { kind: "offer", sdp: lines("v=0", "m=audio 9 X 0", ...theirs, "a=mid:0") });
  await settled();
  const kept = theirs.filter((line) => !line.startsWith("a=extmap:3"));
  assert.equal(connection.remote.at(-1).sdp, lines("v=0", "m=audio 9 X 0", ...kept, "a=mid:0"));
});

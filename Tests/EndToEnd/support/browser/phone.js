// One phone of the browser tests. `browsers.py` calls `boot` and the functions of `phone`.
import { Ringline } from "/ringline/ringline.js";

const video = document.getElementById("remote");
/** Firefox runs no AudioContext on a machine without a sound device. */
const hasSoundDevice = !navigator.userAgent.includes("Firefox");

/** A camera of one colour, and a microphone with a tone: of one frequency, or the browser's own. */
function drawnMedia(colour, hertz) {
  const canvas = new OffscreenCanvas(160, 120);
  const context = canvas.getContext("2d");
  const audio = new AudioContext();
  return async ({ audio: wantsAudio, video: wantsVideo }) => {
    await window.gate;
    const stream = new MediaStream();
    if (wantsVideo) {
      const shown = document.createElement("canvas");
      shown.width = 160;
      shown.height = 120;
      const picture = shown.getContext("2d");
      let count = 0;
      setInterval(() => {
        context.fillStyle = colour;
        context.fillRect(0, 0, 160, 120);
        // The encoder sends a picture only if it changes.
        context.fillStyle = count++ % 2 ? "white" : "black";
        context.fillRect(0, 0, 8, 8);
        picture.drawImage(canvas, 0, 0);
      }, 66);
      stream.addTrack(shown.captureStream(15).getVideoTracks()[0]);
    }
    if (wantsAudio && !hasSoundDevice) {
      const microphone = await navigator.mediaDevices.getUserMedia({ audio: true });
      stream.addTrack(microphone.getAudioTracks()[0]);
    } else if (wantsAudio) {
      const tone = audio.createOscillator();
      const output = audio.createMediaStreamDestination();
      tone.frequency.value = hertz;
      tone.connect(output);
      tone.start();
      stream.addTrack(output.stream.getAudioTracks()[0]);
    }
    return stream;
  };
}

/** Measures the tone of a stream. */
class Ear {
  #context = new AudioContext();
  #analyser = this.#context.createAnalyser();

  constructor(stream) {
    this.#analyser.fftSize = 8192;
    this.#analyser.smoothingTimeConstant = 0;
    this.#context.createMediaStreamSource(new MediaStream(stream.getAudioTracks())).connect(this.#analyser);
  }

  /** The loudest frequency in hertz; 0 = silence. */
  get hertz() {
    const levels = new Float32Array(this.#analyser.frequencyBinCount);
    this.#analyser.getFloatFrequencyData(levels);
    let loudest = 1;
    for (let bin = 2; bin < levels.length; bin += 1) if (levels[bin] > levels[loudest]) loudest = bin;
    if (levels[loudest] < -60) return 0;
    return (loudest * this.#context.sampleRate) / this.#analyser.fftSize;
  }
}

window.boot = async ({ colour, hertz, autoAnswer, tokens, ...options }) => {
  const ringline = await Ringline.create({
    media: drawnMedia(colour, hertz),
    token: () => tokens[0],
    ...options,
  });
  let ear = null;
  const phone = {
    ringline,
    /** The newest call. */
    call: null,
    /** The names of the calls' events, in order, and the ends with their reasons. */
    seen: [],
    errors: [],
    follow(call) {
      phone.call = call;
      for (const name of ["ringing", "connecting", "connected", "update", "peermedia", "refused"]) {
        call.addEventListener(name, () => phone.seen.push(name));
      }
      call.addEventListener("ended", ({ reason }) => phone.seen.push(`ended ${reason}`));
      call.addEventListener("dtmf", ({ digits }) => phone.seen.push(`dtmf ${digits}`));
      call.addEventListener("info", ({ value }) => phone.seen.push(`info ${JSON.stringify(value)}`));
      call.addEventListener("media", () => {
        video.srcObject = call.remoteStream;
        ear = null;
      });
    },
    dial(peer, video) {
      phone.follow(ringline.call(peer, { video }));
    },
    /** The loudest frequency that is heard; 0 = silence. */
    heard() {
      const stream = phone.call?.remoteStream;
      if (!stream?.getAudioTracks().length) return 0;
      ear ??= new Ear(stream);
      return ear.hertz;
    },
    /** Whether any sound arrives, also where the frequency cannot be measured. */
    async hasSound() {
      const stats = await phone.connection().getStats();
      return [...stats.values()].some(({ type, kind, audioLevel }) =>
        type === "inbound-rtp" && kind === "audio" && audioLevel > 0.001);
    },
    /** The colour in the middle of the remote picture. */
    picture() {
      if (video.videoWidth === 0) return null;
      const canvas = new OffscreenCanvas(3, 3);
      const context = canvas.getContext("2d");
      context.drawImage(video, 0, 0, 3, 3);
      return [...context.getImageData(1, 1, 1, 1).data].slice(0, 3);
    },
    /** The ICE user names of both sides. */
    iceUsers() {
      const { localDescription, remoteDescription } = ringline.mediaConnection(phone.call);
      return [localDescription, remoteDescription].map(({ sdp }) => /ice-ufrag:(\S+)/.exec(sdp)[1]);
    },
    connection: () => ringline.mediaConnection(phone.call),
    /** The addresses of the peer's candidates that the connection uses. */
    async remoteAddresses() {
      const stats = await phone.connection().getStats();
      return [...stats.values()].filter(({ type }) => type === "remote-candidate").map(({ address }) => address);
    },
    /** The types of the candidates that carry the media, such as `relay/relay`. */
    async path() {
      const stats = await phone.connection().getStats();
      for (const one of stats.values()) {
        if (one.type !== "transport" || !one.selectedCandidatePairId) continue;
        const pair = stats.get(one.selectedCandidatePairId);
        return [pair.localCandidateId, pair.remoteCandidateId].map((id) => stats.get(id).candidateType).join("/");
      }
      return null;
    },
  };
  ringline.addEventListener("incoming", ({ call }) => {
    phone.seen.push(`incoming ${call.peer}`);
    phone.follow(call);
    if (autoAnswer) call.answer();
  });
  ringline.addEventListener("error", (event) => {
    event.preventDefault();
    phone.errors.push(String(event.error));
  });
  window.phone = phone;
};
// A page that a notification opens has the options of the page before.
if (localStorage.options !== undefined) await window.boot(JSON.parse(localStorage.options));
window.isLoaded = true;

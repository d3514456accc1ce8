// Cameras and microphones: drawn ones, each with its own colour and tone, or the machine's.

const SIZE = { width: 320, height: 240 };
/** If sound has not started after this time, in milliseconds, there is no sound device. */
const LONGEST_START = 2_000;
let context;
let begunAt;

/** The page's sound; browsers allow it after the first touch of the page. */
function sound() {
  begunAt ??= performance.now();
  context ??= new AudioContext();
  if (context.state === "suspended") context.resume();
  return context;
}

/** Returns a stream with what `wish` asks for. `look` has `colour`, `hertz` and `name`. */
export async function drawnMedia(wish, look) {
  const stream = new MediaStream();
  if (wish.video) stream.addTrack(drawnCamera(look));
  if (wish.audio) stream.addTrack(toneOf(look.hertz));
  return stream;
}

export function realMedia({ audio, video }) {
  return navigator.mediaDevices.getUserMedia({ audio, video: video && SIZE });
}

function drawnCamera({ colour, name }) {
  const canvas = Object.assign(document.createElement("canvas"), SIZE);
  const picture = canvas.getContext("2d");
  const track = canvas.captureStream(15).getVideoTracks()[0];
  let step = 0;
  const draw = () => {
    if (track.readyState === "ended") return clearInterval(timer);
    step += 1;
    const { width, height } = SIZE;
    picture.fillStyle = colour;
    picture.fillRect(0, 0, width, height);
    // A wave shows that the picture moves.
    picture.strokeStyle = "rgb(255 255 255 / 35%)";
    picture.lineWidth = 6;
    picture.beginPath();
    for (let x = 0; x <= width; x += 8) picture.lineTo(x, height * 0.78 + 14 * Math.sin((x + step * 6) / 28));
    picture.stroke();
    picture.fillStyle = "white";
    picture.textAlign = "center";
    picture.font = "600 26px system-ui, sans-serif";
    picture.fillText(name, width / 2, height * 0.42);
    picture.font = "15px system-ui, sans-serif";
    picture.fillText(new Date().toLocaleTimeString("en-GB"), width / 2, height * 0.58);
  };
  const timer = setInterval(draw, 66);
  draw();
  return track;
}

function toneOf(hertz) {
  const tone = sound().createOscillator();
  const volume = context.createGain();
  const output = context.createMediaStreamDestination();
  tone.frequency.value = hertz;
  volume.gain.value = 0.3;
  tone.connect(volume).connect(output);
  tone.start();
  return output.stream.getAudioTracks()[0];
}

/** Measures the loudest tone of a stream. */
export class Ear {
  #source;
  #analyser = sound().createAnalyser();

  constructor(stream) {
    this.#analyser.fftSize = 8192;
    this.#analyser.smoothingTimeConstant = 0;
    this.#source = context.createMediaStreamSource(new MediaStream(stream.getAudioTracks()));
    this.#source.connect(this.#analyser);
  }

  /** In hertz; 0 = silence. */
  get hertz() {
    const levels = new Float32Array(this.#analyser.frequencyBinCount);
    this.#analyser.getFloatFrequencyData(levels);
    let loudest = 2;
    for (let bin = 3; bin < levels.length; bin += 1) if (levels[bin] > levels[loudest]) loudest = bin;
    return levels[loudest] < -70 ? 0 : Math.round((loudest * context.sampleRate) / this.#analyser.fftSize);
  }

  /** Whether nothing can be heard on this machine: Firefox starts no sound without a sound device. */
  get isDeaf() {
    return context.state !== "running" && performance.now() - begunAt > LONGEST_START;
  }

  close() {
    this.#source.disconnect();
  }
}

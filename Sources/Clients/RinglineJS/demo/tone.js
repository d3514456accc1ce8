// The ring tone of a phone: two soft notes, again and again.

const NOTES = [659.3, 784];
/** The length of a note and of a ring with its pause, in seconds. */
const NOTE = 0.22;
const RING = 1.6;
const VOLUME = 0.05;
let context;

/** The tone of one phone, which sounds while the phone rings. */
export class RingTone {
  #timer;

  /** Whether the tone sounds. */
  get isOn() {
    return this.#timer !== undefined;
  }

  /** Starts or ends the tone. A browser lets no page be heard before it is clicked or a key is pressed. */
  set(isOn) {
    const mayPlay = isOn && (navigator.userActivation?.hasBeenActive ?? true);
    if (mayPlay === this.isOn) return;
    if (!mayPlay) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    context ??= new AudioContext();
    if (context.state === "suspended") context.resume();
    ring();
    this.#timer = setInterval(ring, RING * 1_000);
  }
}

function ring() {
  for (const [index, hertz] of [...NOTES, ...NOTES].entries()) {
    const begin = context.currentTime + index * NOTE;
    const note = context.createOscillator();
    const volume = context.createGain();
    note.frequency.value = hertz;
    volume.gain.setValueAtTime(0, begin);
    volume.gain.linearRampToValueAtTime(VOLUME, begin + 0.02);
    volume.gain.exponentialRampToValueAtTime(0.001, begin + NOTE);
    note.connect(volume).connect(context.destination);
    note.start(begin);
    note.stop(begin + NOTE);
  }
}

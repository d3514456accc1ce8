// When to try to connect again. The only place of the back-off in this package.

const FIRST = 250;
const LONGEST = 8000;

/** The pauses between attempts to connect: 0.25 s doubling to 8 s, each with full jitter. */
export class Reconnection {
  #failures = 0;
  #random;

  /** `random` returns a number from 0 to 1, as `Math.random` does. */
  constructor(random = Math.random) {
    this.#random = random;
  }

  /** A connection is open: the next pause is a short one. */
  opened() {
    this.#failures = 0;
  }

  /** A connection was lost or an attempt has failed. Returns the pause before the next one, in milliseconds. */
  closed() {
    const longest = Math.min(LONGEST, FIRST * 2 ** this.#failures);
    this.#failures += 1;
    return this.#random() * longest;
  }
}

"""Makes the moving picture of the README from the demo itself: nobody has drawn it, so it shows what the page shows.

    pip install pillow
    python Tests/EndToEnd/support/moving_picture.py [FILE]    FILE: demo.gif of ringline.docc

Hanako's app is killed, Taro calls, a push wakes the app, it rings, Hanako answers, and the verdict says what happened.
"""

import io
import itertools
import pathlib
import sys
import time

import chromium
from demo import PICTURES, Demo, Phones
from PIL import Image

SIZE = {"width": 1040, "height": 680}
MOST_BYTES = 1_000_000
COLOURS = 128
# The time between two frames, as far as the machine can make them, and the shortest that browsers show as it is.
PAUSE = 0.16
SHORTEST_MILLISECONDS = 30
# A frame that a busy machine has made late does not stay for longer.
LONGEST_MILLISECONDS = 600
# The last frame stays for those who read the verdict.
LAST_MILLISECONDS = 3_500

# The page without what the picture does not need, and with a line that says what happens.
PREPARE = """() => {
  for (const part of document.querySelectorAll(".options, .faults, .help, .person > button, #calls-title, .steps")) part.hidden = true
  const line = document.querySelector(".bar p")
  line.style.cssText = "font-size: 1.15rem; color: var(--ink)"
  line.textContent = "Two phones, and what the server does for them."
}"""


class Film:
    """Takes frames of the page while things happen on it."""

    def __init__(self, phones: Phones):
        self.phones = phones
        self.frames: list[tuple[float, bytes]] = []
        self.seconds = 0.0

    def say(self, text: str):
        self.phones.page.evaluate("(text) => { document.querySelector('.bar p').textContent = text }", text)

    def run(self, seconds: float):
        end = time.monotonic() + seconds
        while (begun := time.monotonic()) < end:
            self.frames.append((begun, self.phones.page.screenshot()))
            time.sleep(max(0, PAUSE - (time.monotonic() - begun)))

    def save(self, path: pathlib.Path):
        """Writes the frames as a GIF, all with one palette, so that what has not changed is not stored again."""
        shots = [Image.open(io.BytesIO(shot)).convert("RGB") for _, shot in self.frames]
        # The palette has the colours of frames from all parts of the film.
        # The phones' screens have gradients, and need most of the colours; the page around them is of few.
        chosen = shots[:: max(1, len(shots) // 8)]
        width, height = SIZE["width"] // 4, SIZE["height"]
        sheet = Image.new("RGB", (2 * width, height * len(chosen)))
        for place, shot in enumerate(chosen):
            sheet.paste(shot.crop((0, 0, width, height)), (0, place * height))
            sheet.paste(shot.crop((SIZE["width"] - width, 0, SIZE["width"], height)), (width, place * height))
        palette = sheet.quantize(COLOURS, method=Image.Quantize.MEDIANCUT)
        times = [at for at, _ in self.frames]
        pauses = [round((later - sooner) * 100) * 10 for sooner, later in itertools.pairwise(times)]
        lengths = [min(LONGEST_MILLISECONDS, max(SHORTEST_MILLISECONDS, pause)) for pause in pauses]
        images = [shot.quantize(palette=palette, dither=Image.Dither.NONE) for shot in shots]
        lengths.append(LAST_MILLISECONDS)
        self.seconds = sum(lengths) / 1_000
        images[0].save(path, save_all=True, append_images=images[1:], duration=lengths, loop=0, optimize=False)


def play(film: Film):
    phones = film.phones
    phones.page.evaluate(PREPARE)
    film.run(0.8)
    film.say("Hanako's app is killed. Nothing of it runs.")
    phones.page.evaluate("() => demo.phones[1].fail('kill')")
    film.run(1.4)
    film.say("Taro calls. No connection leads to Hanako: the server sends a push.")
    phones.press("left", "Call")
    film.run(1.3)
    film.say("The push wakes the app, and it rings.")
    film.run(2.3)
    film.say("Hanako answers.")
    phones.press("right", "Answer")
    film.run(2.4)
    film.say("Why did it ring, or not? The verdict says it in words.")
    phones.press("left", "End")
    film.run(0.9)


def main():
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES / "demo.gif"
    with chromium.running() as browser:
        demo = Demo()
        phones = Phones(browser, demo.url, viewport=SIZE)
        film = Film(phones)
        play(film)
        assert "Hanako answered on the phone" in phones.verdict() and not phones.errors, phones.errors
        phones.close()
        demo.stop()
    film.save(path)
    print(f"{path.name}: {len(film.frames)} frames, {film.seconds:.1f} s, {path.stat().st_size} bytes")
    if path.stat().st_size > MOST_BYTES:
        sys.exit(f"{path}: more than {MOST_BYTES} bytes")


if __name__ == "__main__":
    main()

"""`ringline demo` and its page in Chromium, for the tests and for the pictures of the documentation.

    pip install pillow
    python Tests/EndToEnd/support/demo.py    makes the pictures of the page Demo in ringline.docc again
"""

import contextlib
import io
import pathlib
import re
import signal
import subprocess
import sys

import browsers
import chromium
from playwright.sync_api import Browser, Page
from ringline_server import ROOT, binary, clean_environment

PICTURES = ROOT / "Sources/Server/ringline/ringline.docc"
# A picture of the documentation is small.
MOST_BYTES = 100_000


class Demo:
    """A running demo with its own address."""

    def __init__(self, *options: str):
        command = [
            str(binary()),
            "demo",
            "--listen",
            "127.0.0.1:0",
            "--pages",
            str(browsers.PACKAGE),
            *map(str, options),
        ]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment()
        )
        line = self.process.stdout.readline()
        found = re.fullmatch(r"demo on (http://\S+)/\n", line)
        assert found, (line, self.process.stderr.read())
        self.url = found[1]

    def stop(self) -> str:
        """Ends the demo; returns what it has logged."""
        self.process.send_signal(signal.SIGTERM)
        _, log = self.process.communicate(timeout=15)
        assert self.process.returncode == 0, log
        return log


class Phones:
    """The page with its two phones: `left` is Taro's, `right` Hanako's. `left-second` and `right-second` are their tablets."""

    def __init__(self, browser: Browser, url: str, **options):
        self.errors: list[str] = []
        size = {"width": 1280, "height": 760}
        self.context = browser.new_context(permissions=["camera", "microphone"], **{"viewport": size, **options})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.page.on("pageerror", lambda error: self.errors.append(f"page: {error}"))
        self.page.on("console", lambda line: line.type in ("error", "warning") and self.errors.append(line.text))
        self.page.goto(f"{url}/")
        self.page.wait_for_function("() => window.demo?.isReady")
        for side in ("left", "right"):
            self.is_on(side, "connected")

    def press(self, side: str, name: str):
        self.page.locator(f"#{side}").get_by_role("button", name=name, exact=True).click()

    def press_second(self, side: str):
        """Gives this side's user a second device, or takes it away."""
        self.page.locator(f"#{side}-more").click()

    def says(self, side: str, state: str):
        """Waits until a phone's screen says this."""
        self.waits(f"#{side} .state", state)

    def is_on(self, side: str, network: str):
        self.waits(f"#{side} .net", network)

    def waits(self, selector: str, text: str):
        script = "([selector, text]) => document.querySelector(selector)?.textContent === text"
        try:
            self.page.wait_for_function(script, arg=[selector, text])
        except Exception as error:
            shown = self.page.locator(selector).all_text_contents()
            raise AssertionError(f"{selector} never said {text!r} but {shown}; {self.errors}; {self.rows}") from error

    def shows(self, text: str):
        """Waits until the newest ladder has a row with this text."""
        self.page.wait_for_function(
            "(text) => [...document.querySelectorAll('.call:first-child .row span')].some((row) => row.textContent === text)",
            arg=text,
        )

    @property
    def rows(self) -> list[str]:
        """The rows of the newest ladder."""
        return self.page.locator(".call:first-child .row span").all_text_contents()

    @property
    def lanes(self) -> list[str]:
        """The names above the lines of the newest ladder."""
        return self.page.locator(".call:first-child .lanes span").all_text_contents()

    @property
    def title(self) -> str:
        return self.page.locator(".call:first-child summary").inner_text()

    def second_of(self, text: str) -> float:
        """Returns when the first row with this text happened, in seconds after the beginning of the call."""
        row = self.page.locator(".call:first-child .row").filter(has=self.page.get_by_text(text, exact=True)).first
        return int(row.locator("time").inner_text().removesuffix(" ms")) / 1_000

    def verdict(self) -> str:
        verdict = self.page.locator(".call:first-child .verdict")
        verdict.wait_for()
        return verdict.inner_text()

    def hears(self, side: str, hertz: int):
        script = """([side, hertz]) => {
            const found = /hears (\\d+) Hz/.exec(document.querySelector(`#${side} .detail`).textContent);
            return found !== null && Math.abs(found[1] - hertz) < 25;
        }"""
        self.page.wait_for_function(script, arg=[side, hertz])

    def talk(self):
        """Lets Taro call Hanako, who answers."""
        self.press("left", "Call")
        self.says("right", "Taro calls")
        self.press("right", "Answer")
        for side in ("left", "right"):
            self.says(side, "Talking")

    def close(self):
        with contextlib.suppress(Exception):
            self.context.close()


def killed_app(phones: Phones):
    """Lets Taro call Hanako, whose app was killed and is woken by a push."""
    phones.press("right", "Kill app")
    phones.says("right", "App killed")
    phones.press("left", "Call")
    phones.says("right", "Taro calls")


def suspended_app(phones: Phones):
    """Lets Taro call Hanako, whose app is suspended: it does not answer the probe, and is woken by a push."""
    phones.press("right", "Suspend app")
    phones.says("right", "App suspended")
    phones.press("left", "Call")
    phones.says("right", "Taro calls")


def second_device(phones: Phones):
    """Lets Taro call Hanako, who has a phone and a tablet."""
    phones.press_second("right")
    phones.is_on("right-second", "connected")
    phones.press("left", "Call")
    for device in ("right", "right-second"):
        phones.says(device, "Taro calls")


def refused_push(phones: Phones):
    """Lets Taro call Hanako, whose app is no longer installed for Apple."""
    phones.press("right", "Refuse push")
    phones.press("right", "Kill app")
    phones.press("left", "Call")
    phones.shows("410 Unregistered")
    phones.press("left", "End")


def picture(phones: Phones, name: str):
    """Makes a picture of the documentation."""
    phones.page.wait_for_timeout(1_000)
    shoot(phones, PICTURES / f"{name}.png")


def shoot(phones: Phones, path: pathlib.Path):
    """Writes what the page shows; fewer colours make a smaller file."""
    # Only who makes pictures needs the package: pip install pillow
    from PIL import Image

    with Image.open(io.BytesIO(phones.page.screenshot())) as shot:
        shot.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.name}: {size} bytes")
    if size > MOST_BYTES:
        sys.exit(f"{path}: more than {MOST_BYTES} bytes")


def main():
    with chromium.running() as browser:

        def scene(name: str, play, **options):
            demo = Demo()
            phones = Phones(browser, demo.url, **{"viewport": {"width": 1120, "height": 700}, **options})
            play(phones)
            picture(phones, name)
            phones.close()
            demo.stop()

        def ringing(phones):
            phones.press("left", "Call")
            phones.says("right", "Taro calls")
            phones.shows("ringing")

        def held(phones):
            phones.talk()
            phones.page.wait_for_timeout(2_000)
            phones.press("left", "Hold")
            phones.says("right", "Taro holds")

        def unanswered(phones):
            refused_push(phones)
            phones.verdict()

        def answered_elsewhere(phones):
            second_device(phones)
            phones.press("right-second", "Answer")
            phones.says("right", "Ended: answered elsewhere")
            phones.hears("left", 1240)

        scene("demo-ringing", ringing)
        scene("demo-talking", Phones.talk)
        scene("demo-killed-app", killed_app)
        scene("demo-refused-push", unanswered)
        scene("demo-suspended-app", suspended_app)
        scene("demo-hold", held)
        scene("demo-second-device", answered_elsewhere, viewport={"width": 1120, "height": 1000})
        scene("demo-narrow", Phones.talk, viewport={"width": 390, "height": 844})


if __name__ == "__main__":
    main()

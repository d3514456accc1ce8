"""Makes one set of pictures of everything that Ringline shows, to be looked at before a release.

    python Tests/EndToEnd/support/screenshots.py FOLDER

They are the demo in each of its states on a narrow and on a wide screen, the operators' page with something wrong, and
`ringline try` in a terminal of 80 columns.
"""

import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

import chromium
from demo import Demo, Phones
from operators_page import bad_evening
from playwright.sync_api import Browser, Page
from ringline_server import binary, clean_environment

NARROW, WIDE = {"width": 390, "height": 844}, {"width": 1440, "height": 900}
# What fades in has come.
SETTLED_MILLISECONDS = 600
COLUMNS, LINES = 80, 40
TERMINAL = """<!doctype html><style>
  body { margin: 0; background: #14181f; }
  pre { width: 80ch; margin: 0; padding: 1.2rem; font: 15px/1.16 "DejaVu Sans Mono", monospace; color: #dde3ec; }
</style><pre></pre>"""
# What a program writes to draw lines again: so many lines up, and all from there on is cleared.
AGAIN = re.compile(r"\x1b\[(\d+)F\x1b\[J")


def shoot(page: Page, path: pathlib.Path):
    page.wait_for_timeout(SETTLED_MILLISECONDS)
    page.screenshot(path=path)
    print(path)


def course(phones: Phones, shown):
    """Lets a call take its course, and another one wake a killed app; calls `shown` with a word for each state."""
    shown("1-idle")
    phones.press("left", "Call")
    phones.says("right", "Taro calls")
    phones.shows("ringing")
    shown("2-ringing")
    phones.press("right", "Answer")
    phones.says("left", "Talking")
    phones.hears("left", 990)
    phones.shows("connected")
    # The picture is dimmed on hold, so there must have been one.
    phones.page.wait_for_timeout(1_500)
    shown("3-talking")
    phones.press("left", "Hold")
    phones.says("right", "Taro holds")
    shown("4-hold")
    phones.press("left", "End")
    phones.verdict()
    shown("5-ended")
    phones.press("right", "Kill app")
    phones.press("left", "Call")
    phones.page.wait_for_selector("#right .screen[data-look=waking]")
    shown("6-killed-and-waking")
    phones.says("right", "Taro calls")
    phones.shows("ringing")
    shown("7-killed-and-woken")


def demo(browser: Browser, folder: pathlib.Path):
    for size in (NARROW, WIDE):
        shown = Demo()
        phones = Phones(browser, shown.url, viewport=size)
        course(
            phones,
            lambda word, phones=phones, size=size: shoot(phones.page, folder / f"demo-{size['width']}-{word}.png"),
        )
        phones.close()
        shown.stop()


def operators(browser: Browser, folder: pathlib.Path):
    for size in (NARROW, WIDE):
        with bad_evening(browser, viewport=size) as page:
            shoot(page.page, folder / f"operators-{size['width']}-1-overview.png")
            page.page.get_by_role("button", name="noon").click()
            page.ladder()
            shoot(page.page, folder / f"operators-{size['width']}-2-call.png")


def on_screen(*arguments: str) -> list[str]:
    """Runs a command of the program in a terminal; returns the lines that are on its screen in the end."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    with tempfile.TemporaryDirectory() as empty:
        command = [str(binary()), *arguments]
        process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, cwd=empty, env=clean_environment())
        os.close(its)
        written = b""
        # When the last writer has gone, Linux reports an error.
        while chunk := read(ours):
            written += chunk
        os.close(ours)
        assert process.wait(15) == 0, written
    lines = [""]
    first, *rest = AGAIN.split(written.decode().replace("\r\n", "\n"))
    for up, text in [("0", first), *zip(rest[::2], rest[1::2], strict=True)]:
        del lines[len(lines) - 1 - int(up) :]
        lines += text.split("\n")
    return lines


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:
        return b""


def terminal(browser: Browser, folder: pathlib.Path):
    lines = on_screen("try")
    assert max(map(len, lines)) <= COLUMNS
    page = browser.new_page(viewport=WIDE)
    page.set_content(TERMINAL)
    screen = page.locator("pre")
    screen.evaluate("(screen, text) => { screen.textContent = text }", "\n".join(["$ ringline try", *lines]))
    path = folder / f"try-{COLUMNS}-columns.png"
    screen.screenshot(path=path)
    print(path)
    page.close()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with chromium.running() as browser:
        demo(browser, folder)
        operators(browser, folder)
        terminal(browser, folder)


if __name__ == "__main__":
    main()

"""Phones in real browsers: each is a page of its own browser context, with the JavaScript kit.

`chromium.py` and `firefox.py` start the browsers. Their pages have the same functions, as far as a phone uses them.
"""

import contextlib
import http.server
import pathlib
import threading

from ringline_server import ROOT, free_port

PACKAGE = ROOT / ".build/javascript"
NPM_PACKAGE = ROOT / ".build/npm"
PAGES = pathlib.Path(__file__).parent / "browser"
# What a phone shows and plays: its colour, and the frequency of its tone.
LOOKS = {
    "10": {"colour": "#0060d0", "rgb": (0, 96, 208), "hertz": 1000},
    "11": {"colour": "#d00000", "rgb": (208, 0, 0), "hertz": 440},
    "12": {"colour": "#00a000", "rgb": (0, 160, 0), "hertz": 700},
}


def safe_port() -> int:
    """Returns a free port to which a browser connects; it refuses some that other protocols use."""
    return next(port for port in iter(free_port, None) if port != 10080)


class Pages(http.server.SimpleHTTPRequestHandler):
    """Serves the pages of the tests, and under /ringline/ the package."""

    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".wasm": "application/wasm"}

    def translate_path(self, path):
        name = path.split("?")[0].rsplit("/", 1)[-1]
        return str((PACKAGE if path.startswith("/ringline/") else PAGES) / name)

    def end_headers(self):
        # The documentation says that an app's policy needs exactly this.
        self.send_header(
            "Content-Security-Policy",
            "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src *; img-src data:; media-src blob:",
        )
        super().end_headers()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def pages():
    """Yields the address of a server of the pages."""
    if not (PACKAGE / "ringline.wasm").exists():
        raise FileNotFoundError(f"{PACKAGE}/ringline.wasm: run Sources/Clients/RinglineJS/build")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@contextlib.contextmanager
def opening(page):
    """Yields a function that opens a page, made by `page`; closes the pages at the end, and fails if one had an error."""
    opened = []

    def make(*arguments, **options):
        opened.append(page(*arguments, **options))
        return opened[-1]

    yield make
    problems = [problem for each in opened for problem in each.errors]
    for each in opened:
        each.close()
    assert not problems


class Phone:
    """One page with one Ringline."""

    def __init__(self, page, user: str, device: str):
        self.user = user
        self.device = device
        self.errors: list[str] = []
        self.page = page
        self.page.set_default_timeout(20_000)
        self.page.on("pageerror", lambda error: self.errors.append(f"page: {error}"))
        self.page.on("console", lambda line: line.type in ("error", "warning") and self.errors.append(line.text))

    @classmethod
    def opened(cls, browser, pages: str, user: str, device: str):
        """Opens a page in a browser context of its own."""
        page = browser.new_context(permissions=["camera", "microphone"]).new_page()
        return cls(page, user, device).goes_to(f"{pages}/phone.html")

    def goes_to(self, address: str):
        self.page.goto(address)
        self.page.wait_for_function("() => window.isLoaded")
        return self

    def boot(self, **options):
        self.page.evaluate("options => boot(options)", self.options(**options))
        return self

    def options(self, **options) -> dict:
        looks = {name: LOOKS[self.user][name] for name in ("colour", "hertz")}
        return {"user": self.user, "device": self.device, **looks, **options}

    def do(self, script: str, argument=None):
        """Runs a statement in the page, where `phone` and `call` are the phone and its newest call."""
        return self.page.evaluate(f"argument => {{ const call = phone.call; {script} }}", argument)

    def wait(self, condition: str, argument=None):
        """Waits until a condition of the page is true."""
        try:
            self.page.wait_for_function(f"argument => {{ const call = phone.call; return {condition} }}", arg=argument)
        except Exception as error:
            raise AssertionError(
                f"{self.device}: never {condition} ({argument}); saw {self.seen}, {self.problems}"
            ) from error

    def wait_online(self):
        self.wait("phone.ringline.connectionState === 'open'")
        return self

    def sees(self, event: str):
        self.wait("phone.seen.includes(argument)", event)

    @property
    def seen(self) -> list[str]:
        return self.page.evaluate("() => phone.seen")

    @property
    def problems(self) -> list[str]:
        own = [] if self.page.is_closed() else self.page.evaluate("() => window.phone?.errors ?? []")
        return self.errors + own

    def hears(self, user: str):
        """Waits until the tone of this user is heard."""
        self.wait("Math.abs(phone.heard() - argument) < 25", LOOKS[user]["hertz"])

    def hears_nothing(self):
        self.wait("phone.heard() === 0")

    def hears_sound(self):
        """Waits until any sound is heard; for browsers that cannot measure a tone."""
        self.wait("phone.hasSound()")

    def hears_no_sound(self):
        self.wait("phone.hasSound().then((has) => !has)")

    def sees_colour(self, user: str):
        """Waits until the picture of this user is shown."""
        self.wait(
            "phone.picture()?.every((part, index) => Math.abs(part - argument[index]) < 40)", list(LOOKS[user]["rgb"])
        )

    def close(self):
        with contextlib.suppress(Exception):
            self.page.context.close()

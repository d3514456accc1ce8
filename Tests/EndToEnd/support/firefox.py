"""Debian's Firefox, driven by WebDriver BiDi, which it speaks itself: no driver is needed.

A `Page` has those functions of Playwright's page that `browsers.Phone` uses, so that a phone may be in either browser.
"""

import concurrent.futures
import contextlib
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
from types import SimpleNamespace

from websockets.sync.client import connect

# A busy machine takes its time for the start.
TIMEOUT = 120
SETTINGS = {
    # A camera and a microphone that need neither a device nor a question.
    "media.navigator.streams.fake": True,
    "media.navigator.permission.disabled": True,
    "media.autoplay.default": 0,
    "media.autoplay.blocking_policy": 0,
    # The machine may have no other network than loopback. Candidates of loopback are then the only ones.
    "media.peerconnection.ice.loopback": True,
    # Otherwise addresses would be hidden behind names that only a multicast network resolves.
    "media.peerconnection.ice.obfuscate_host_addresses": False,
    # A browser under test talks to nobody but the pages' servers.
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.safebrowsing.downloads.remote.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.push.connection.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "media.gmp-manager.updateEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "toolkit.telemetry.reportingpolicy.firstRun": False,
}
# Runs a function of the test in the page; values pass both ways as JSON.
CALL = "async (argument) => JSON.stringify(await (%s)(JSON.parse(argument))) ?? 'null'"
# Waits in the page until a function of the test returns something true; returns whether that happened in time.
WAIT = """async ({ argument, milliseconds }) => {
    for (const end = Date.now() + milliseconds; Date.now() < end;) {
        if (await (%s)(argument)) return true;
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return false;
}"""


@contextlib.contextmanager
def running():
    """Yields a headless browser."""
    path = shutil.which("firefox-esr")
    if path is None:
        raise FileNotFoundError("firefox-esr: apt-get install firefox-esr")
    # Firefox may still write into its folder while it ends.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in SETTINGS.items()]
        (pathlib.Path(folder) / "user.js").write_text("".join(lines))
        command = [path, "--headless", "--no-remote", "--profile", folder, "--remote-debugging-port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            with connect(f"{address(process)}/session", max_size=None, ping_interval=None) as socket:
                yield Browser(socket)
        finally:
            process.terminate()
            process.wait()


def address(process: subprocess.Popen) -> str:
    """Returns the address that Firefox says it listens on."""
    for line in process.stderr:
        if found := re.search(r"WebDriver BiDi listening on (ws://\S+)", line):
            # Nothing may stop Firefox from writing.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return found[1]
    raise RuntimeError(f"firefox-esr ended with {process.wait()}")


class Browser:
    """A session of WebDriver BiDi: https://www.w3.org/TR/webdriver-bidi/."""

    def __init__(self, socket):
        self.socket = socket
        self.numbers = itertools.count(1)
        self.waiting: dict[int, concurrent.futures.Future] = {}
        self.pages: dict[str, Page] = {}
        threading.Thread(target=self.read, daemon=True).start()
        self.do("session.new", capabilities={})
        self.do("session.subscribe", events=["log.entryAdded"])

    def read(self):
        for text in self.socket:
            message = json.loads(text)
            if message["type"] == "event":
                parameters = message["params"]
                page = self.pages.get(parameters.get("source", {}).get("context"))
                if page is not None:
                    page.logged(parameters)
            else:
                self.waiting.pop(message["id"]).set_result(message)

    def do(self, method: str, timeout: float = TIMEOUT, **parameters):
        """Carries out a command, and returns its result."""
        number = next(self.numbers)
        answer = self.waiting[number] = concurrent.futures.Future()
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        message = answer.result(timeout)
        if message["type"] == "error":
            raise RuntimeError(f"{method}: {message['error']}: {message['message']}")
        return message["result"]

    def new_context(self, **_):
        """Returns a context with storage of its own. The settings grant every permission already."""
        return Context(self, self.do("browser.createUserContext")["userContext"])


class Context:
    def __init__(self, browser: Browser, name: str):
        self.browser, self.name = browser, name

    def new_page(self):
        page = self.browser.do("browsingContext.create", type="tab", userContext=self.name)["context"]
        self.browser.pages[page] = Page(self, page)
        return self.browser.pages[page]

    def close(self):
        self.browser.do("browser.removeUserContext", userContext=self.name)
        for page in self.browser.pages.values():
            page.is_gone |= page.context is self


class Page:
    """A tab."""

    def __init__(self, context: Context, name: str):
        self.context, self.name = context, name
        self.timeout = 20.0
        self.is_gone = False
        self.handlers = {"pageerror": [], "console": []}

    def on(self, event: str, handler):
        self.handlers[event].append(handler)

    def logged(self, entry: dict):
        text, level = entry.get("text") or "", {"warn": "warning"}.get(entry["level"], entry["level"])
        if entry["type"] == "console":
            for handler in self.handlers["console"]:
                handler(SimpleNamespace(type=level, text=text))
        elif level == "error":
            for handler in self.handlers["pageerror"]:
                handler(text)

    def set_default_timeout(self, milliseconds: float):
        self.timeout = milliseconds / 1000

    def goto(self, url: str):
        self.context.browser.do("browsingContext.navigate", context=self.name, url=url, wait="complete")

    def evaluate(self, function: str, argument=None):
        """Calls a function with a value, and returns what it, or its promise, returns."""
        result = self.context.browser.do(
            "script.callFunction",
            # A function may wait itself.
            timeout=self.timeout + TIMEOUT,
            functionDeclaration=CALL % function,
            arguments=[{"type": "string", "value": json.dumps(argument)}],
            target={"context": self.name},
            awaitPromise=True,
        )
        if result["type"] == "exception":
            raise RuntimeError(result["exceptionDetails"]["text"])
        return json.loads(result["result"]["value"])

    def wait_for_function(self, function: str, arg=None):
        if not self.evaluate(WAIT % function, {"argument": arg, "milliseconds": self.timeout * 1000}):
            raise TimeoutError(f"not true within {self.timeout} s: {function}")

    def is_closed(self) -> bool:
        return self.is_gone

    def close(self):
        self.context.browser.do("browsingContext.close", context=self.name)
        self.is_gone = True

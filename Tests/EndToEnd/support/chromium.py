"""Debian's Chromium, driven by Playwright."""

import contextlib
import os
import pathlib
import shutil
import signal

from playwright.sync_api import Browser, BrowserType, sync_playwright

FLAGS = [
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
    "--autoplay-policy=no-user-gesture-required",
    # The machine may have no other network than loopback. Candidates of loopback are then the only ones.
    "--allow-loopback-in-peer-connection",
    # Without a camera's permission, addresses would be hidden behind names that only a multicast network resolves.
    "--disable-features=WebRtcHideLocalIpsWithMdns",
]


@contextlib.contextmanager
def running():
    """Yields a headless browser."""
    with sync_playwright() as playwright, launched(playwright.chromium) as browser:
        yield browser


@contextlib.contextmanager
def launched(chromium: BrowserType):
    """Yields one more browser with processes of its own, since a thread can have only one Playwright."""
    path = shutil.which("chromium")
    if path is None:
        raise FileNotFoundError("chromium: apt-get install chromium")
    browser = chromium.launch(executable_path=path, headless=True, args=FLAGS)
    try:
        yield browser
    finally:
        browser.close()


@contextlib.contextmanager
def suspended(browser: Browser):
    """Stops all processes of a browser: those of its pages, of its network and of its sound."""
    session = browser.new_browser_cdp_session()
    known = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    processes = [next(process["id"] for process in known if process["type"] == "browser")]
    for process in processes:
        # A process that ends meanwhile has nothing to stop.
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGSTOP)
            for thread in pathlib.Path(f"/proc/{process}/task").iterdir():
                processes += map(int, (thread / "children").read_text().split())
    try:
        yield
    finally:
        for process in processes:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGCONT)

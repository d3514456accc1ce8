"""The operators' page in Chromium, for the tests and for the pictures of the documentation.

    python Tests/EndToEnd/support/operators_page.py    makes the pictures of the page Run in ringline.docc again
"""

import contextlib
import pathlib
import tempfile

import browsers
import chromium
import httpx
import samples
from demo import picture
from playwright.sync_api import Browser, Page
from rest import TLS
from ringline_server import Server
from waiting import eventually
from world import World, push_options

OPTIONS = ["--operator-pages", browsers.PACKAGE]
# What Apple says of a key that was withdrawn.
REFUSED = {"status": 403, "reason": "InvalidProviderToken", "always": True}


class OperatorsPage:
    """The page of one server."""

    def __init__(self, browser: Browser, url: str, **options):
        self.errors: list[str] = []
        self.context = browser.new_context(**{"viewport": {"width": 1120, "height": 700}, **options})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.page.on("pageerror", lambda error: self.errors.append(f"page: {error}"))
        self.page.on("console", lambda line: line.type in ("error", "warning") and self.errors.append(line.text))
        self.page.goto(f"{url}/")

    def search(self, kind: str, text: str, token: str | None = None):
        self.page.get_by_label("Search by").select_option(kind)
        self.page.get_by_label("User or callId").fill(text)
        if token is not None:
            self.page.get_by_label("Token of a service").fill(token)
        self.page.get_by_role("button", name="Search").click()

    def rows(self, count: int) -> list[list[str]]:
        """Waits until the table has so many rows; returns the texts of their cells."""
        self.page.wait_for_function("count => document.querySelectorAll('#calls tr').length === count", arg=count)
        return self.page.locator("#calls tr").evaluate_all(
            "rows => rows.map((row) => [...row.cells].map((cell) => cell.innerText))"
        )

    def says(self, text: str):
        """Waits until the page says this."""
        self.page.wait_for_function("text => document.getElementById('message').textContent.includes(text)", arg=text)

    def ladder(self) -> list[str]:
        """Waits for the ladder of a call; returns its rows."""
        self.page.locator("#call .verdict").wait_for()
        return self.page.locator("#call .row span").all_text_contents()

    @property
    def lanes(self) -> list[str]:
        return self.page.locator("#call .lanes span").all_text_contents()

    @property
    def verdict(self) -> list[str]:
        return self.page.locator("#call .verdict p").all_text_contents()

    def close(self):
        with contextlib.suppress(Exception):
            self.context.close()


def service(world: World) -> str:
    return world.token("operator", scope="server")


def ask(world, path: str, *, method="GET", token=None, **headers) -> httpx.Response:
    bearer = {} if token == "none" else {"Authorization": f"Bearer {token or service(world)}"}
    url, headers = world.server.admin_url + path, bearer | headers
    return httpx.request(method, url, headers=headers, trust_env=False, verify=TLS, timeout=5)


def has_ended(world: World, call_id: str):
    """Waits until the ends of all calls under a callId are stored. An offer was stored before it was answered."""
    query = f"SELECT count(*), count(ended_at) FROM call WHERE id = '{call_id}'"

    def is_over() -> bool:
        all_calls, ended = world.server.rows(query)[0]
        return int(all_calls) > 0 and all_calls == ended

    eventually(is_over)


def register(world: World, user: str, device: str, token: str = "ab" * 32):
    body = {"deviceId": device, "platform": "ios", "bundleId": "com.example.chat", "voipDeviceToken": token}
    assert world.rest(user).put("/api/me/devices", body).status_code == 200


def calls_of_a_day(world: World):
    """Lets 10 miss a call without any device, hear of one that only a push could ring, and take one."""
    world.rest("11", name="Taro").signal("offer", "morning", sdp=samples.OFFER, to="10")
    has_ended(world, "morning")
    register(world, "10", "iphone-h")
    world.rest("12", name="Jiro").signal("offer", "noon", sdp=samples.OFFER, to="10")
    has_ended(world, "noon")
    taro, hanako = world.connect("11", "phone-11", claims={"name": "Taro"}), world.connect("10", "phone-10")
    taro.ring(hanako, "evening")
    hanako.ask(type="answer", callId="evening", sdp=samples.ANSWER)
    taro.ask(type="end", callId="evening")
    has_ended(world, "evening")


@contextlib.contextmanager
def bad_evening(browser: Browser, **options):
    """Yields the page of a server whose key Apple has withdrawn, and which has none for the phone of 12."""
    from fake_apns import FakeAPNs

    with tempfile.TemporaryDirectory() as folder, FakeAPNs(directory=pathlib.Path(folder) / "apns") as apns:
        server = Server(pathlib.Path(folder) / "data", *OPTIONS, *push_options(apns), "--ring-timeout", "1").start()
        world = World(server)
        calls_of_a_day(world)
        apns.script("*", [REFUSED])
        world.rest("12", name="Jiro").signal("offer", "night", sdp=samples.OFFER, to="10")
        has_ended(world, "night")
        android = {"deviceId": "pixel-j", "platform": "android", "fcm_token": "cd" * 32}
        assert world.rest("12").put("/api/me/devices", android).status_code == 200
        saburo = world.connect("13", "phone-13", claims={"name": "Saburo"})
        shiro = world.connect("14", "phone-14")
        saburo.ring(shiro, "midnight")
        shiro.ask(type="answer", callId="midnight", sdp=samples.ANSWER)
        page = OperatorsPage(browser, server.admin_url, **options)
        page.search("user", "", service(world))
        page.rows(5)
        yield page
        page.close()
        world.close()
        server.close()


def main():
    with chromium.running() as browser, bad_evening(browser, viewport={"width": 1120, "height": 960}) as page:
        picture(page, "operators-overview")
        page.search("user", "10")
        page.rows(4)
        page.page.get_by_role("button", name="noon").click()
        page.ladder()
        page.page.set_viewport_size({"width": 1120, "height": 1110})
        page.page.evaluate("() => scrollTo(0, 0)")
        picture(page, "operators-page")


if __name__ == "__main__":
    main()

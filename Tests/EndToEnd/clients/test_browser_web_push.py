"""Calls that come to Chromium by Web Push while no page of the app is open: the kit's service worker, and real clicks.

Chromium cannot subscribe here, because that needs Google's service. So the page gets a subscription to the fake in
Tests/FakePushServices, which decrypts what the server sends to it, and the test hands the messages to the service worker.
"""

import json
import shutil

import browsers
import chromium
import pytest
from fake_desktop import FakeDesktop
from postgres_server import one_process
from test_browser import Newcomer, browser, make_phone_of, pages  # noqa: F401 - fixtures
from test_monitoring import sample
from waiting import eventually
from world import web_push_options

pytestmark = one_process("the pages know the address of one server")

HANAKO, DEVICE = "10", "web-hanako"
# What Google's service does for Chromium; `subscribe` and `unsubscribe` are functions of this file.
PUSH_MANAGER = """
    const bytes = (text) => Uint8Array.fromBase64(text, { alphabet: "base64url" }).buffer;
    PushManager.prototype.getSubscription = async () => {
        if (localStorage.subscription === undefined) return null;
        const { key, json } = JSON.parse(localStorage.subscription);
        const gone = async () => { delete localStorage.subscription; await unsubscribe(); };
        return { options: { applicationServerKey: bytes(key) }, toJSON: () => json, unsubscribe: gone };
    };
    PushManager.prototype.subscribe = async function ({ applicationServerKey: key }) {
        localStorage.subscription = JSON.stringify({ key, json: await subscribe(key) });
        return this.getSubscription();
    };
"""


@pytest.fixture
def web_server(make_server, web_push):
    listen = ("--listen", f"127.0.0.1:{browsers.safe_port()}")
    return make_server("--allow-origin", "*", *listen, *web_push_options(web_push))


class Desktop(FakeDesktop):
    """Hanako's computer: Chromium with a folder of its own, because a private window gets no clicks."""

    def __init__(self, chromium, folder, origin: str, web_push, flags=chromium.FLAGS):
        super().__init__()
        self.origin, self.web_push = origin, web_push
        self.context = chromium.launch_persistent_context(
            folder,
            executable_path=shutil.which("chromium"),
            headless=True,
            args=flags,
            env=self.environment,
            permissions=["camera", "microphone", "notifications"],
        )
        # A page that is always there, and is not the app's.
        self.session = self.context.new_cdp_session(self.context.pages[0])
        self.registrations = []
        self.session.on("ServiceWorker.workerRegistrationUpdated", self.registered)
        self.session.send("ServiceWorker.enable")
        self.context.expose_function("subscribe", self.subscribe)
        self.context.expose_function("unsubscribe", self.unsubscribe)
        self.context.add_init_script(PUSH_MANAGER)
        self.phones: list[browsers.Phone] = []

    def registered(self, event):
        self.registrations = [each for each in event["registrations"] if not each["isDeleted"]] or self.registrations

    def opens_the_app(self, device=DEVICE) -> browsers.Phone:
        """Opens the app as its user does, logged in."""
        phone = self.phone(self.context.new_page(), device).goes_to(f"{self.origin}/phone.html")
        options = phone.options(url=self.url, tokens=[self.token])
        phone.page.evaluate("options => { localStorage.options = JSON.stringify(options) }", options)
        phone.goes_to(f"{self.origin}/phone.html")
        return phone.wait_online()

    def subscribe(self, application_server_key: str) -> dict:
        self.subscription = self.web_push.subscribe(application_server_key)
        self.delivered = 0
        return self.subscription.to_json()

    def unsubscribe(self):
        self.web_push.unsubscribe(self.subscription)

    def gets(self, kind: str) -> dict:
        """Waits for the next message of the push service, and hands it to the service worker."""
        payload = self.next(kind)
        self.deliver(payload)
        return payload

    def next(self, kind: str) -> dict:
        """Waits for the next message of the push service, and returns its text."""
        message = eventually(lambda: self.web_push.messages(self.subscription)[self.delivered :])[0]
        self.delivered += 1
        assert message["payload"]["type"] == kind
        return message["payload"]

    def deliver(self, payload: dict):
        (registration,) = self.registrations
        data = {"origin": self.origin, "registrationId": registration["registrationId"], "data": json.dumps(payload)}
        self.session.send("ServiceWorker.deliverPushMessage", data)

    def opened_by(self, click) -> browsers.Phone:
        """Returns the page of the app that a click opens."""
        with self.context.expect_page() as opening:
            click()
        opening.value.wait_for_function("() => window.isLoaded")
        return self.phone(opening.value)

    def phone(self, page, device=DEVICE) -> browsers.Phone:
        self.phones.append(browsers.Phone(page, HANAKO, device))
        return self.phones[-1]

    def __exit__(self, *problem):
        problems = [problem for phone in self.phones for problem in phone.problems]
        self.context.close()
        super().__exit__(*problem)
        # A page that answers before its connection is open asks for a TURN credential; this server has no TURN: 404.
        assert not [problem for problem in problems if "Failed to load resource" not in problem]


@pytest.fixture
def desktop(browser, pages, web_server, web_push, make_world, tmp_path):  # noqa: F811
    with Desktop(browser.browser_type, tmp_path / "chromium", pages, web_push) as desktop:
        desktop.url, desktop.token = web_server.url, make_world(web_server).token(HANAKO)
        yield desktop


@pytest.fixture
def closed(desktop, web_server):
    """Hanako's computer after she has closed the app, in which she had enabled Web Push."""
    connections = sample(web_server, "ringline_device_connections")
    phone = desktop.opens_the_app()
    assert phone.do("return phone.ringline.enableWebPush()") == "granted"
    phone.page.close()
    # A page that has got the offer and answered the probe is not pushed when it closes.
    eventually(lambda: sample(web_server, "ringline_device_connections") == connections)
    return desktop


@pytest.fixture
def taro(make_phone_of, web_server):  # noqa: F811
    return make_phone_of(web_server, "11", displayName="Taro")


def test_a_click_on_answer_opens_the_app_and_both_hear_each_other(taro, closed):
    taro.do("phone.dial('10', false)")
    push = closed.gets("call.incoming")
    ring = closed.sees("Taro", "Incoming call")
    assert ring.stays and not ring.is_silent
    # The worker has said so to the server, with the push's `act`.
    taro.sees("ringing")
    hanako = closed.opened_by(lambda: closed.click(ring, "Answer"))
    hanako.sees("incoming 11")
    for phone, peer in ((taro, "10"), (hanako, "11")):
        phone.sees("connected")
        phone.hears(peer)
    assert hanako.do("return call.isAnswered")
    closed.sees_nothing()
    # A second copy of the push does not ring.
    closed.deliver(push)
    assert closed.sees("Taro", "Call ended").is_silent
    taro.do("call.end()")
    hanako.sees("ended hangup")
    closed.sees_nothing()


def test_a_click_on_decline_ends_the_call_without_a_page(taro, closed):
    taro.do("phone.dial('10', true)")
    closed.gets("call.incoming")
    closed.click(closed.sees("Taro", "Incoming video call"), "Decline")
    taro.sees("ended declined")
    closed.sees_nothing()
    assert len(closed.context.pages) == 1


def test_a_call_that_another_device_answers_stops_ringing(taro, closed, make_phone_of, web_server):  # noqa: F811
    tablet = make_phone_of(web_server, HANAKO)
    taro.do("phone.dial('10', false)")
    closed.gets("call.incoming")
    closed.sees("Taro", "Incoming call")
    tablet.do("call.answer()")
    closed.gets("call.over")
    over = closed.sees("Taro", "Answered on another device")
    assert over.is_silent and not over.stays and "Answer" not in over.actions.values()
    closed.sees_nothing()


def test_a_call_that_the_caller_gives_up_becomes_a_missed_call(taro, closed):
    taro.do("phone.dial('10', false)")
    closed.gets("call.incoming")
    closed.sees("Taro", "Incoming call")
    taro.do("call.end()")
    closed.gets("call.missed")
    missed = closed.sees("Taro", "Missed call")
    assert missed.is_silent and not missed.stays and len(closed.shown) == 1
    hanako = closed.opened_by(lambda: closed.click(missed))
    hanako.wait_online()
    assert hanako.seen == []
    closed.sees_nothing()


def test_a_call_whose_end_comes_first_does_not_ring(taro, closed):
    taro.do("phone.dial('10', false)")
    ring = closed.next("call.incoming")
    taro.do("call.end()")
    closed.gets("call.missed")
    closed.sees("Taro", "Missed call")
    closed.deliver(ring)
    eventually(lambda: len(closed.history) == 2)
    closed.sees("Taro", "Missed call")
    assert all(shown.is_silent for shown in closed.history)


def test_a_call_that_the_open_app_answers_no_longer_rings(taro, closed):
    taro.do("phone.dial('10', false)")
    closed.gets("call.incoming")
    closed.sees("Taro", "Incoming call")
    hanako = closed.opens_the_app()
    hanako.sees("incoming 11")
    hanako.do("call.answer()")
    taro.sees("connected")
    closed.sees_nothing()


def test_a_click_shows_the_page_that_rings_already_and_answers_there(taro, closed):
    # Another device of Hanako for the server, which therefore pushes for the first one.
    hanako = closed.opens_the_app("web-hanako-2")
    taro.do("phone.dial('10', false)")
    hanako.sees("incoming 11")
    closed.gets("call.incoming")
    # She sees the page, which rings.
    ring = closed.sees("Taro", "Incoming call")
    assert ring.is_silent
    closed.click(ring)
    for phone, peer in ((taro, "10"), (hanako, "11")):
        phone.sees("connected")
        phone.hears(peer)
    assert len(closed.context.pages) == 2
    assert hanako.seen.count("incoming 11") == 1


def test_after_a_logout_no_call_comes(taro, closed, make_world, web_server):
    hanako = closed.opens_the_app()
    assert hanako.do("return phone.ringline.enableWebPush()") == "granted"
    hanako.do("return phone.ringline.disableWebPush()")
    assert closed.subscription.is_gone
    assert make_world(web_server).rest(HANAKO).get("/api/me/devices").json() == []


# Tells the test when the page plays sound, and whether anybody has clicked there.
# Muted pictures, such as the user's own, may play without a click.
REPORT_SOUND = """document.addEventListener("playing", ({ target }) => {
    if (!target.muted) plays(navigator.userActivation.hasBeenActive);
}, true)"""


@pytest.fixture
def newcomer(make_server, web_push, tmp_path):
    folder = tmp_path / "package"
    folder.mkdir()
    subject, host = ["--vapid-subject", "mailto:ops@example.com"], web_push_options(web_push)
    assert host[: len(subject)] == subject, "the page has another one"
    newcomer = Newcomer(make_server, folder, host[len(subject) :])
    yield newcomer
    newcomer.close()


def test_a_newcomer_is_rung_with_the_page_of_the_documentation(newcomer, browser, web_push, tmp_path):  # noqa: F811
    flags = [flag for flag in chromium.FLAGS if "autoplay" not in flag]
    taro = browser.new_context(permissions=["camera", "microphone"]).new_page()
    newcomer.opens(taro, "11", "Taro")
    origin = taro.evaluate("location.origin")
    with Desktop(browser.browser_type, tmp_path / "chromium", origin, web_push, flags) as its:
        played = []
        its.context.expose_function("plays", lambda was_clicked: played.append(was_clicked))
        its.context.add_init_script(REPORT_SOUND)
        hanako = its.context.new_page()
        newcomer.opens(hanako, HANAKO, "Hanako")
        hanako.click("text=Ring here while this page is closed")
        hanako.wait_for_selector("text=notifications: granted")
        connections = sample(newcomer.server, "ringline_device_connections")
        hanako.close()
        eventually(lambda: sample(newcomer.server, "ringline_device_connections") == connections - 1)
        taro.fill("#peer", HANAKO)
        taro.click("#call")
        its.gets("call.incoming")
        with its.context.expect_page() as opening:
            its.click(its.sees("Taro", "Incoming video call"), "Answer")
        taro.wait_for_function("() => document.getElementById('state').textContent.startsWith('connected')")
        # Looking at the page would count as a click.
        while not played:
            taro.wait_for_timeout(50)
        assert played[0] is False
        taro.wait_for_function("() => document.getElementById('remote').videoWidth > 0")
        assert opening.value.inner_text("#state") == "connected: Taro"
        taro.click("#end")
        opening.value.wait_for_selector("text=ended: hangup")
    taro.context.close()

"""Push services whose names hang, or which say nothing, delay no pushes to others, and cost few threads."""

import pathlib

import pytest
import slow_names
from conftest import firebase_options, web_push_options
from prometheus_client.parser import text_string_to_metric_families
from test_firebase import events, register_fcm
from test_firebase import rung as rung_by_firebase
from test_web_push import register_web, rung
from waiting import eventually

# The requests to browsers' push services that resolve a name or connect at a time.
BROWSERS_SHARE = 22


def threads(server) -> int:
    """Returns the number of the server's threads."""
    return len(list(pathlib.Path(f"/proc/{server.process.pid}/task").iterdir()))


def outbound(server, state: str, service: str = "web") -> float:
    """Returns how many requests to a service are in a state."""
    for family in text_string_to_metric_families(server.metrics_text()):
        for sample in family.samples:
            if sample.name == "ringline_outbound_requests" and sample.labels == {"service": service, "state": state}:
                return sample.value
    return 0


def subscriptions(fake, host: str, count: int) -> list:
    """Returns subscriptions whose endpoints have hosts of their own: `{}` in `host` is replaced by a number."""
    found = []
    for number in range(count):
        browser = fake.subscribe()
        browser.endpoint = browser.endpoint.replace(f"127.0.0.1:{fake.port}", host.format(number))
        found.append(browser)
    return found


def ring_browsers(world, fake, user: str, browsers: list):
    """Registers the browsers for a user, and rings the user."""
    for number, browser in enumerate(browsers):
        register_web(world, fake, user, number, browser=browser)
    caller = world.connect(f"caller-{user}")
    caller.ring(user, f"c-{user}")
    return caller


def test_a_push_service_that_accepts_and_says_nothing_delays_no_other_one(web_push_world):
    world, fake = web_push_world
    silent = subscriptions(fake, f"127.0.0.1:{fake.port}", 40)
    for browser in silent:
        fake.script(browser, [{"hang": True, "always": True}])
    healthy = subscriptions(fake, f"localhost:{fake.port}", 10)
    for number in range(4):
        ring_browsers(world, fake, f"silent-{number}", silent[number * 10 : number * 10 + 10])
    eventually(lambda: len(fake.attempts()) >= 4)
    ring_browsers(world, fake, "healthy", healthy)
    for browser in healthy:
        rung(fake, browser, seconds=4)
    # The others cannot run, and are not handed over.
    eventually(lambda: outbound(world.server, "waiting") > 0 and outbound(world.server, "sent") == 4)


@pytest.mark.timeout(120)
def test_names_that_hang_cost_few_threads_and_delay_no_other_push(web_push, make_server, make_world, tmp_path):
    fake = web_push
    options = [*web_push_options(fake), "--web-push-host", "*.hangs.test"]
    world = make_world(make_server(*options, environment=slow_names.environment(tmp_path)))
    fake.application_server_key = world.rest().get("/api/web-push").json()["applicationServerKey"]
    before = threads(world.server)
    for number in range(8):
        ring_browsers(world, fake, f"m{number}", subscriptions(fake, f"{number}-{{}}.hangs.test", 8))
    eventually(lambda: outbound(world.server, "resolving") >= 8)
    assert outbound(world.server, "resolving") + outbound(world.server, "connecting") <= BROWSERS_SHARE
    assert threads(world.server) <= before + BROWSERS_SHARE
    healthy = subscriptions(fake, f"127.0.0.1:{fake.port}", 2) + subscriptions(fake, f"localhost:{fake.port}", 2)
    ring_browsers(world, fake, "10", healthy)
    for browser in healthy:
        rung(fake, browser, seconds=5)
    assert threads(world.server) <= before + BROWSERS_SHARE


def test_names_that_hang_delay_neither_firebase_nor_its_tokens(
    web_push, firebase, make_server, make_world, tmp_path
):
    options = [*web_push_options(web_push), "--web-push-host", "*.hangs.test", *firebase_options(firebase)]
    world = make_world(make_server(*options, environment=slow_names.environment(tmp_path)))
    web_push.application_server_key = world.rest().get("/api/web-push").json()["applicationServerKey"]
    for number in range(8):
        ring_browsers(world, web_push, f"m{number}", subscriptions(web_push, f"{number}-{{}}.hangs.test", 4))
    device = register_fcm(world)
    world.connect("11").ring("10", "c-1")
    rung_by_firebase(firebase, device, seconds=4)


def test_a_name_without_an_address_is_said_in_the_timeline(web_push, make_server, make_world):
    fake = web_push
    world = make_world(make_server(*web_push_options(fake), "--web-push-host", "*.invalid"))
    fake.application_server_key = world.rest().get("/api/web-push").json()["applicationServerKey"]
    register_web(world, fake, browser=subscriptions(fake, "push-{}.invalid", 1)[0])
    world.connect("11").ring("10", "c-1")
    assert "resolve" in eventually(lambda: events(world, "push.result"))[0]["reason"]

"""Push services whose names hang, or which say nothing, delay no pushes to others, and cost few threads."""

import pathlib

import pytest
import slow_names
from prometheus_client.parser import text_string_to_metric_families
from push_services import running
from pushed_call import PushedCall
from waiting import eventually

SERVICE = "web-push"
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


def ring_browsers(call: PushedCall, browsers: list) -> PushedCall:
    """Registers the browsers for the callee of another call, and rings; returns the call."""
    other = call.another()
    for number, browser in enumerate(browsers):
        other.register(device=browser, deviceId=f"d-{number}")
    other.ring()
    return other


@pytest.fixture
def call_beside_names_that_hang(servers, make_server, make_world, tmp_path):
    """A call on a server that pushes to a fake, and that allows endpoints at names that hang."""
    options = [*servers.service.options(), "--web-push-host", "*.hangs.test"]

    def make(*more) -> PushedCall:
        world = make_world(make_server(*options, *more, environment=slow_names.environment(tmp_path)))
        servers.service.prepare(world)
        return PushedCall(world, servers.service)

    return make


def test_a_push_service_that_accepts_and_says_nothing_delays_no_other_one(make_call):
    call = make_call()
    fake = call.fake
    silent = subscriptions(fake, f"127.0.0.1:{fake.port}", 40)
    for browser in silent:
        fake.script(browser, [{"hang": True, "always": True}])
    healthy = subscriptions(fake, f"localhost:{fake.port}", 10)
    for number in range(4):
        ring_browsers(call, silent[number * 10 : number * 10 + 10])
    eventually(lambda: sum(bool(fake.attempts(browser)) for browser in silent) >= 4)
    healthy_call = ring_browsers(call, healthy)
    for browser in healthy:
        healthy_call.rung(browser, seconds=4)
    # The others cannot run, and are not handed over.
    eventually(lambda: outbound(call.world.server, "waiting") > 0 and outbound(call.world.server, "sent") == 4)


@pytest.mark.timeout(120)
def test_names_that_hang_cost_few_threads_and_delay_no_other_push(call_beside_names_that_hang):
    call = call_beside_names_that_hang()
    fake, server = call.fake, call.world.server
    before = threads(server)
    for number in range(8):
        ring_browsers(call, subscriptions(fake, f"{number}-{{}}.hangs.test", 8))
    eventually(lambda: outbound(server, "resolving") >= 8)
    assert outbound(server, "resolving") + outbound(server, "connecting") <= BROWSERS_SHARE
    assert threads(server) <= before + BROWSERS_SHARE
    healthy = subscriptions(fake, f"127.0.0.1:{fake.port}", 2) + subscriptions(fake, f"localhost:{fake.port}", 2)
    healthy_call = ring_browsers(call, healthy)
    for browser in healthy:
        healthy_call.rung(browser, seconds=5)
    assert threads(server) <= before + BROWSERS_SHARE


def test_names_that_hang_delay_neither_firebase_nor_its_tokens(call_beside_names_that_hang, tmp_path):
    with running("firebase", tmp_path / "firebase") as firebase:
        call = call_beside_names_that_hang(*firebase.options())
        for number in range(8):
            ring_browsers(call, subscriptions(call.fake, f"{number}-{{}}.hangs.test", 4))
        by_firebase = PushedCall(call.world, firebase)
        by_firebase.register()
        by_firebase.ring()
        by_firebase.rung(seconds=4)


def test_a_name_without_an_address_is_said_in_the_timeline(make_call):
    call = make_call("--web-push-host", "*.invalid")
    (browser,) = subscriptions(call.fake, "push-{}.invalid", 1)
    assert "resolve" in ring_browsers(call, [browser]).results()[0]["reason"]

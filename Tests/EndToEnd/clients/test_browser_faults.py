"""Calls of real browsers whose app or browser is gone for a while, or whose TURN server is."""

import contextlib
import os
import pathlib
import signal
import time

import browsers
import chromium
import pytest
from commands import wait_for
from postgres_server import one_process
from push_services import pushed, register
from test_browser import browser, make_phone_of, pages  # noqa: F401 - fixtures
from test_turn import secret_file, turn_server  # noqa: F401 - a fixture
from waiting import eventually
from world import push_options

pytestmark = one_process("the pages know the address of one server")

# How long the TURN server is gone: longer than a browser waits before it calls the connection failed.
TURN_OUTAGE = 24


@pytest.fixture
def push_server(make_server, apns):
    """A server that these pages may use, and that pushes to the fake."""
    return make_server(*push_options(apns), "--allow-origin", "*", "--listen", f"127.0.0.1:{browsers.safe_port()}")


def events(world, call_id: str, *names: str) -> list[dict]:
    """Waits until the timeline of a call has these events; returns them, in this order."""
    rest = world.rest("backend", scope="server")

    def found():
        all_events = rest.get(f"/api/calls/{call_id}/timeline").json()["events"]
        first = [next((event for event in all_events if event["event"] == name), None) for name in names]
        return first if all(first) else None

    return eventually(found, why=lambda: rest.get(f"/api/calls/{call_id}/timeline").text)


def talk(taro, hanako):
    for phone, peer in ((taro, "10"), (hanako, "11")):
        phone.sees("connected")
        phone.hears(peer)


def test_a_suspended_browser_is_pushed_and_answers_when_it_is_back(make_phone_of, make_world, push_server, apns, browser):  # noqa: F811
    world = make_world(push_server)
    with chromium.launched(browser.browser_type) as other:
        taro, hanako = make_phone_of(push_server, "11"), make_phone_of(push_server, "10", browser=other)
        token = register(world, deviceId=hanako.device)
        with chromium.suspended(other):
            taro.do("phone.dial('10', false)")
            push = pushed(apns, token)
            call_id = push["payload"]["callId"]
            failed, sent = events(world, call_id, "probe.failed", "push.sent")
            assert failed["device"] == sent["device"] == hanako.device
            assert 2_000 <= failed["offset"] <= sent["offset"] < 4_000
            assert not any(event.startswith("ringing") for event in taro.seen)
        hanako.sees("incoming 11")
        taro.sees("ringing")
        hanako.do("call.answer()")
        talk(taro, hanako)
        hanako.do("call.end()")
        taro.sees("ended hangup")
        wait_for(world, call_id, "a connection that did not answer its ping was closed first", "ended: hangup")


def test_a_killed_app_is_woken_by_a_push_and_answers(make_phone_of, make_world, push_server, apns):  # noqa: F811
    world = make_world(push_server)
    taro, killed = make_phone_of(push_server, "11"), make_phone_of(push_server, "10")
    token = register(world, deviceId=killed.device)
    killed.close()
    taro.do("phone.dial('10', true)")
    payload = pushed(apns, token)["payload"]
    hanako = make_phone_of(push_server, "10", device=killed.device)
    hanako.do("phone.ringline.pushed(argument)", payload)
    hanako.sees("incoming 11")
    hanako.do("call.answer()")
    talk(taro, hanako)
    taro.sees_colour("10")
    hanako.sees_colour("11")
    assert hanako.seen.count("incoming 11") == 1
    taro.do("call.end()")
    hanako.sees("ended hangup")


@contextlib.contextmanager
def stopped(process: int):
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


@pytest.mark.timeout(150)
def test_a_call_comes_back_after_its_turn_server_was_gone(make_phone_of, make_server, secret_file, tmp_path):  # noqa: F811
    folder = tmp_path / "coturn"
    folder.mkdir()
    with turn_server(folder) as port:
        url = f"turn:127.0.0.1:{port}?transport=udp"
        server = make_server("--allow-origin", "*", "--turn-secret-file", secret_file, "--turn-url", url)
        relayed = {"rtcConfiguration": {"iceTransportPolicy": "relay"}}
        taro, hanako = (make_phone_of(server, user, **relayed, autoAnswer=True) for user in ("11", "10"))
        taro.do("phone.dial('10', false)")
        talk(taro, hanako)
        before = taro.do("return phone.iceUsers()")
        with stopped(int(pathlib.Path(folder / "turnserver.pid").read_text())):
            back = time.monotonic() + TURN_OUTAGE
            for phone in (taro, hanako):
                phone.page.set_default_timeout(40_000)
                phone.wait("phone.connection().connectionState === 'failed'")
                assert phone.do("return call.state") == "connected", "the call outlives its media"
            # The length of the outage is what is tested; nothing happens at its end for which one could wait.
            time.sleep(max(0, back - time.monotonic()))
        for phone, peer in ((taro, "10"), (hanako, "11")):
            phone.wait("phone.connection().connectionState === 'connected'")
            phone.wait("phone.iceUsers().every((user) => !argument.includes(user))", before)
            phone.hears(peer)
            assert phone.do("return phone.path()") == "relay/relay"
        hanako.do("call.end()")
        taro.sees("ended hangup")

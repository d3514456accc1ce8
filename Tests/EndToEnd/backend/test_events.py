"""Events to the app's backend: their content, their delivery, and the feed (protocol, section 13)."""

import contextlib
import re
import socket
import threading
import time

import httpx
import pytest
import samples
from app_backend import AppBackend, read_feed
from commands import run
from postgres_server import sqlite_only
from rest import code
from waiting import eventually


@pytest.fixture
def backend(tmp_path):
    backend = AppBackend(tmp_path)
    yield backend
    backend.close()
    assert not backend.faults, backend.faults


@pytest.fixture
def start(make_server, make_world, backend):
    """Returns a function that starts a server which reports to the backend, and makes its world."""

    def start(*options, **more):
        return make_world(make_server(*backend.options, *options, **more))

    return start


def service(world):
    return world.rest("backend", scope="server")


def hang_up(caller, callee, call_id="c-1"):
    caller.ask(type="end", callId=call_id)
    callee.expect(type="call", callId=call_id, state="ended")


def test_a_call_is_reported_from_its_start_to_its_end_and_the_feed_shows_the_same(start, backend):
    world = start()
    caller, callee = world.call()
    callee.ask(type="connected", callId="c-1")
    hang_up(caller, callee)
    events = backend.expect(4)
    assert [event["type"] for event in events] == ["call.started", "call.answered", "call.active", "call.ended"]
    assert [event["data"]["n"] for event in events] == [1, 2, 3, 4]
    assert [event["id"] for event in events] == ["evt_1_1", "evt_1_2", "evt_1_3", "evt_1_4"]
    for event in events:
        call = event["data"]["call"]
        assert (call["callId"], call["epoch"], call["caller"], call["callee"]) == ("c-1", 1, "11", "10")
        assert call["group"] is None and call["data"] is None
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["timestamp"])
    end = events[-1]["data"]
    assert end["reason"] == "hangup" and end["by"] == {"user": "11", "device": "phone-11"}
    assert end["call"]["answeredBy"] == {"user": "10", "device": "phone-10"}
    history = world.rest("11").get("/api/calls").json()[0]
    for name in ["startedAt", "answeredAt", "activeAt", "endedAt"]:
        assert end["call"][name] == history[name]
    assert read_feed(service(world)) == events
    delivery = backend.deliveries[0]
    assert delivery.headers["user-agent"].startswith("ringline/") and delivery.path == "/ringline"
    assert delivery.headers["content-type"] == "application/json"


def test_no_event_has_an_sdp_a_candidate_a_token_or_an_address(start, backend):
    world = start()
    world.rest("10").put(
        "/api/me/devices", {"voipDeviceToken": "ab" * 32, "platform": "ios", "bundleId": "com.example.app"}
    )
    caller, callee = world.call()
    caller.ask(type="ice", callId="c-1", candidate={"candidate": "candidate:1 1 udp 1 192.0.2.77 9 typ host"})
    hang_up(caller, callee)
    backend.expect(4)
    for delivery in backend.deliveries:
        for secret in [b"v=0", b"192.0.2.77", b"ab" * 32, b"127.0.0.1", b"a=ice"]:
            assert secret not in delivery.body, delivery.body


def test_an_event_that_was_refused_comes_again_unchanged_and_other_calls_do_not_wait(start, backend):
    refused = []

    def answer(delivery):
        call = delivery.event["data"]["call"]["callId"]
        if call == "c-1" and len(refused) < 2:
            refused.append(delivery)
            return 500
        return 204

    backend.answer = answer
    world = start()
    world.call("c-1")
    world.call("c-2", "21", "20")
    eventually(lambda: len(backend.types("c-2")) == 2)
    events = eventually(lambda: len(backend.types("c-1")) == 2 and backend.events(), 20)
    assert [delivery.id for delivery in refused] == ["evt_1_1"] * 2
    assert len({delivery.body for delivery in backend.deliveries if delivery.id == "evt_1_1"}) == 1
    assert backend.types("c-1") == ["call.started", "call.answered"], events


def test_what_was_not_delivered_before_a_kill_is_delivered_after_it(start, backend):
    backend.answer = lambda delivery: 503
    world = start()
    world.call()
    eventually(lambda: backend.deliveries)
    world.server.kill()
    backend.answer = lambda delivery: 204
    world.server.start()
    assert [event["type"] for event in backend.expect(2)] == ["call.started", "call.answered"]
    # The two devices are gone, so the call ends when its grace is over.
    eventually(lambda: "call.ended" in backend.types("c-1"), 45)


@pytest.mark.parametrize("fault", ["redirect", "cut", "gone"])
def test_a_response_that_is_no_success_is_none(start, backend, fault):
    answers = {"redirect": (302, {"location": "/elsewhere"}), "cut": None, "gone": 410}
    backend.answer = lambda delivery: answers[fault]
    world = start()
    world.call()

    def metrics() -> str:
        return httpx.get(world.server.admin_url + "/metrics", trust_env=False).text

    # One that is gone gets one request, any other one gets the event again.
    if fault == "gone":
        eventually(lambda: 'ringline_events_endpoint_down{endpoint="1"} 1' in metrics())
    else:
        eventually(lambda: len(backend.deliveries) >= 2)
    assert not backend.accepted and {delivery.path for delivery in backend.deliveries} == {"/ringline"}
    if fault == "gone":
        count = len(backend.deliveries)
        world.call("c-2", "21", "20")
        eventually(lambda: len(read_feed(service(world), call="c-2")) == 2)
        assert len(backend.deliveries) == count, "nothing is sent to an endpoint that is gone"
        page = metrics()
        assert 'ringline_event_deliveries_total{endpoint="1",result="4xx"} 1' in page
        return
    backend.answer = lambda delivery: 200
    backend.expect(2, 20)


@contextlib.contextmanager
def rude_endpoint(behave):
    """Listens, and lets `behave(connection)` handle each connection in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=behave, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]


def hang(connection):
    with contextlib.suppress(OSError), connection:
        while connection.recv(65_536):
            pass  # No response, until the server gives up.


def gigabyte(connection):
    with contextlib.suppress(OSError), connection:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n")
        while True:
            connection.sendall(b"x" * 65_536)


def garbage(connection):
    with contextlib.suppress(OSError), connection:
        connection.recv(65_536)
        connection.sendall(b"\x00\x01 no protocol at all\r\n\r\n")


@pytest.mark.parametrize("behave", [hang, gigabyte, garbage])
def test_a_rude_endpoint_delays_neither_calls_nor_the_other_endpoint(make_server, make_world, backend, behave):
    with rude_endpoint(behave) as port:
        rude = ["--events-url", f"http://127.0.0.1:{port}/"]
        world = make_world(make_server(*backend.options, *rude))
        for number in range(20):
            began = time.monotonic()
            caller, callee = world.call(f"c-{number}", f"a{number}", f"b{number}")
            hang_up(caller, callee, f"c-{number}")
            assert time.monotonic() - began < 5
        backend.expect(60)


def test_a_server_without_the_settings_keeps_no_events(server, make_world):
    world = make_world(server)
    caller, callee = world.call()
    hang_up(caller, callee)
    assert server.rows("SELECT count(*) FROM app_event")[0][0] in (0, "0")
    assert code(service(world).get("/v1/events")) == (404, "not_found")


def test_the_feed_alone_needs_no_endpoint(make_server, make_world):
    world = make_world(make_server("--events-feed", "true"))
    caller, callee = world.call()
    hang_up(caller, callee)
    events = eventually(lambda: len(found := read_feed(service(world))) == 3 and found)
    assert [event["type"] for event in events] == ["call.started", "call.answered", "call.ended"]


def test_the_feed_waits_for_the_next_event(make_server, make_world):
    world = make_world(make_server("--events-feed", "true"))
    reader = service(world)
    end = reader.get("/v1/events").json()["next"]
    assert reader.get("/v1/events", after=end, wait=1).elapsed.total_seconds() >= 1
    found = []
    thread = threading.Thread(target=lambda: found.append(reader.get("/v1/events", after=end, wait=20).json()))
    thread.start()
    world.call()
    thread.join(10)
    assert found[0]["events"][0]["type"] == "call.started"


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"after": "x"}, "after"),
        ({"after": "1_-1"}, "after"),
        ({"after": "1_1_1"}, "after"),
        ({"after": "01_1"}, "after"),
        ({"types": "call.strated"}, "types"),
        ({"types": ""}, "types"),
        ({"call": ""}, "call"),
        ({"limit": "0"}, "limit"),
        ({"limit": "501"}, "limit"),
        ({"wait": "31"}, "wait"),
        ({"wait": "-1"}, "wait"),
        ({"until": "1"}, "until"),
    ],
)
def test_a_wrong_parameter_of_the_feed_is_named(make_server, make_world, params, field):
    world = make_world(make_server("--events-feed", "true"))
    response = service(world).get("/v1/events", **params)
    assert code(response) == (400, "invalid_field") and response.json()["field"] == field, response.text


def test_users_and_pushed_devices_do_not_read_the_feed(make_server, make_world):
    world = make_world(make_server("--events-feed", "true"))
    assert code(world.rest("11").get("/v1/events")) == (403, "forbidden")
    assert world.rest(token="x").get("/v1/events").status_code == 401


def test_the_feed_is_filtered_by_types_and_by_call(make_server, make_world):
    world = make_world(make_server("--events-feed", "true"))
    for number in (1, 2):
        caller, callee = world.call(f"c-{number}")
        hang_up(caller, callee, f"c-{number}")
    reader = service(world)
    eventually(lambda: len(read_feed(reader)) == 6)
    ended = read_feed(reader, types="call.ended")
    assert [event["data"]["call"]["callId"] for event in ended] == ["c-1", "c-2"]
    assert {event["data"]["call"]["callId"] for event in read_feed(reader, call="c-2")} == {"c-2"}
    assert len(read_feed(reader, types="call.*,device.removed", limit=1)) == 6


def test_only_the_wanted_types_are_reported_without_gaps(start, backend):
    world = start("--events-types", "call.started,call.ended")
    caller, callee = world.call()
    hang_up(caller, callee)
    assert [event["data"]["n"] for event in backend.expect(2)] == [1, 2]
    assert backend.types() == ["call.started", "call.ended"]


def test_nobody_can_be_rung_and_the_caller_still_waits(start, backend):
    world = start()
    caller = world.connect("11", "phone-11")
    caller.ask(type="offer", callId="c-1", to="10", sdp=samples.OFFER)
    events = backend.expect(2)
    assert [event["type"] for event in events] == ["call.started", "call.unreachable"]
    assert events[1]["data"]["why"] == "no_device" and events[1]["data"]["call"]["endedAt"] is None
    caller.ask(type="end", callId="c-1")
    events = backend.expect(4)
    assert [event["type"] for event in events[2:]] == ["call.ended", "call.missed"]
    assert events[2]["data"]["verdict"], "why it did not ring, in sentences"


@sqlite_only("a backup is restored")
def test_a_restored_backup_begins_a_new_incarnation(start, backend, tmp_path):
    world = start()
    world.call("c-1")
    backend.expect(2)
    reader = service(world)
    old = reader.get("/v1/events").json()["next"]
    copy = tmp_path / "copy"
    done = run("backup", str(copy), *world.server.store_options)
    assert done.returncode == 0, done.stderr
    world.call("c-2", "21", "20")
    backend.expect(4)
    world.server.terminate()
    assert world.server.exit_code() == 0
    done = run("restore", str(copy), "--data", str(world.server.data))
    assert done.returncode == 0, done.stderr
    world.server.start()
    reader = service(world)
    response = reader.get("/v1/events", after=old)
    assert code(response) == (410, "cursor_gone")
    events = reader.get("/v1/events", after=response.json()["oldest"]).json()["events"]
    assert [event["data"]["call"]["callId"] for event in events][:2] == ["c-1", "c-1"]
    assert "evt_1_1" == events[0]["id"]
    # The call of the backup ends, exactly once, and the new event has an id of the new incarnation.
    eventually(lambda: backend.types("c-1")[-1] == "call.ended", 45)
    assert not backend.events()[-1]["id"].startswith("evt_1_")

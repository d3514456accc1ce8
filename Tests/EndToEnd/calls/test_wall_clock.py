"""The machine's wall clock leaps: clients stay connected, nothing is deleted, and log and metrics report it."""

import itertools
import time

import pytest
from test_admin import get
from test_monitoring import sample
from waiting import eventually
from wall_clock import WallClock

DAY = 86_400


@pytest.fixture
def clock(clock_library, tmp_path) -> WallClock:
    return WallClock(clock_library, tmp_path / "clock")


@pytest.mark.parametrize("loops", [1, 2])
def test_a_wall_clock_a_day_ahead_for_a_second_and_a_half_disconnects_no_client(make_server, make_world, clock, loops):
    world = make_world(make_server("--loops", loops, environment=clock.environment))
    taro, hanako = world.call("c-1", answer=False)
    clock.set(DAY)
    ends = time.monotonic() + 1.5
    for number in itertools.count():
        if time.monotonic() >= ends:
            break
        # The server uses its own clock meanwhile, so it accepts the tokens of new clients.
        visitor = world.connect(f"visitor-{number}")
        visitor.fence()
        # Each is a user of its own, so that none comes too often.
        assert world.rest(f"visitor-{number}").get("/api/calls").status_code == 200
    clock.set(0)
    hanako.ask(type="ringing", callId="c-1")
    taro.expect(type="ringing")
    for number in range(3):
        late = world.connect("13", f"p-{number}")
        late.fence()
        assert late.ask(type="offer", to="14", callId=f"d-{number}", sdp="v=0\r\n")["type"] == "ack"
    visitor.fence()
    assert sample(world.server, "ringline_device_connection_closes_total", code="4401") == 0
    assert sample(world.server, "ringline_calls_ended_total", reason="unanswered") == 0


def test_a_leap_is_counted_and_logged_and_the_log_says_when_it_is_over(make_server, make_world, clock):
    server = make_world(make_server(environment=clock.environment)).server
    assert sample(server, "ringline_clock_leaps_total") == 0
    assert abs(sample(server, "ringline_clock_offset_seconds")) < 1
    clock.set(DAY)
    eventually(lambda: sample(server, "ringline_clock_leaps_total") == 1)
    assert sample(server, "ringline_clock_offset_seconds") == pytest.approx(DAY, abs=1)
    eventually(lambda: "the wall clock leapt" in server.errors())
    clock.set(0)
    eventually(lambda: "agree again" in server.errors())
    assert sample(server, "ringline_clock_leaps_total") == 1
    assert abs(sample(server, "ringline_clock_offset_seconds")) < 1
    lines = [line for line in server.errors().splitlines() if "wall clock leapt" in line]
    assert len(lines) == 1 and " error " in lines[0] and 'clock.ahead="86400 s"' in lines[0]


def kept_calls(server) -> list[tuple]:
    return server.rows("SELECT id FROM call ORDER BY number")


def test_a_wall_clock_40_days_ahead_for_little_more_than_a_second_deletes_no_history(make_server, make_world, clock):
    world = make_world(make_server(environment=clock.environment))
    taro, _ = world.call("c-1")
    taro.ask(type="end", callId="c-1")
    before = world.rest("11").get("/api/calls").json()
    assert [call["callId"] for call in before] == ["c-1"]
    clock.set(40 * DAY)
    ends = time.monotonic() + 1.2
    while time.monotonic() < ends:
        assert get(world.server, "/healthz").status_code == 200
    taro.fence()
    clock.set(0)
    # Each commit also deletes old history, so these commits would be more than enough for a deletion.
    for number in range(20):
        taro.ask(type="offer", to="15", callId=f"d-{number}", sdp="v=0\r\n")
        taro.ask(type="end", callId=f"d-{number}")
    assert ("c-1",) in kept_calls(world.server)
    response = world.rest("11").get("/api/calls/c-1")
    assert response.status_code == 200, response.text
    assert "c-1" in [call["callId"] for call in world.rest("10").get("/api/calls").json()]


def test_a_start_with_a_clock_40_days_ahead_deletes_nothing_at_first_and_reports_the_clock(
    make_server, make_world, clock_library, tmp_path
):
    world = make_world(make_server())
    taro, _ = world.call("c-1")
    taro.ask(type="end", callId="c-1")
    world.server.terminate()
    assert world.server.exit_code() == 0
    wrong = WallClock(clock_library, tmp_path / "clock", ahead=40 * DAY)
    server = make_server(data=world.server.data, environment=wrong.environment)
    eventually(lambda: "the clock is far from the newest record" in server.errors())
    # NTP corrects the wall clock. The server's own clock does not change, so nothing is deleted now either.
    wrong.set(0)
    eventually(lambda: "the wall clock leapt" in server.errors())
    assert kept_calls(server) == [("c-1",)]

"""A server that starts with a wrong clock rings at the true time, soon after the clock was set right."""

import time

import pytest
from scheduled import LEAD, Minute, call_rows, history, make, rung, schedules
from test_schedules_restarts import DAY_MS
from test_schedules_rings import decline
from waiting import eventually

# A wall clock is believed a minute after its leap.
STEADY = 60


class WrongStart:
    """A world whose schedules were made before a start with a clock that is `error` seconds ahead."""

    def __init__(self, world, minute: Minute, error: float):
        self.world, self.minute = world, minute
        make(world, minute.once(), schedule="once")
        make(world, minute.daily(), schedule="daily")
        world.server.kill()
        minute.clock.set(minute.ahead + error)
        world.server.start()
        make(world, minute.daily(), user="11", schedule="wrong")
        if error > 0:
            missed = [("daily", "missed"), ("once", "missed")]
            eventually(lambda: sorted(call_rows(world)) == missed)
            assert schedules(world, "11")[0]["next"] == minute.ms + DAY_MS
        minute.clock.set(minute.ahead)

    def becomes_right(self):
        world, minute = self.world, self.minute
        eventually(lambda: "has been steady since its leap" in world.server.errors(), STEADY + 2 * LEAD)
        expected = {"once": minute.ms, "daily": minute.ms}
        eventually(lambda: {each["id"]: each["next"] for each in schedules(world)} == expected)
        assert schedules(world, "11")[0]["next"] == minute.ms
        assert minute.left > 0, "the machine is too slow for this test"

    def rings_once(self):
        world, minute = self.world, self.minute
        hanako = world.connect("10", "iphone-h")
        for schedule in ("once", "daily"):
            offer = rung(hanako, schedule, max(0, minute.left) + LEAD)
            assert 0 <= time.time() + minute.ahead - minute.seconds < 60
            decline(hanako, offer["callId"])
        eventually(lambda: [each["id"] for each in schedules(world)] == ["daily"])
        assert schedules(world)[0]["next"] == minute.ms + DAY_MS
        assert [call.get("reason") for call in history(world)].count("declined") == 2
        world.server.kill()
        world.server.start()
        assert [each["id"] for each in schedules(world)] == ["daily"], "it stays gone"
        assert world.connect("10", "iphone-h").fence() == []


@pytest.mark.timeout(240)
def test_after_a_start_with_a_wrong_clock_schedules_ring_at_the_true_time_and_once(
    clock_library, tmp_path, make_server, make_world
):
    starts = []
    for error in (600, -600):
        minute = Minute(clock_library, tmp_path / f"clock{error}", lead=STEADY + 6 * LEAD)
        world = make_world(make_server("--loops", 1, environment=minute.environment))
        starts.append(WrongStart(world, minute, error))
    for start in starts:
        start.becomes_right()
    for start in starts:
        start.rings_once()

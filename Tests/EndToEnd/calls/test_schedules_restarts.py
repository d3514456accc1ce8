"""A server that was killed or down when a schedule was due rings exactly once, late, or not at all."""

import time

import pytest
from commands import wait_for
from push_services import pushed, register, token
from scheduled import LEAD, MIDDAY, become, call_rows, ended, history, make, rung, schedules
from test_explain import explain
from test_monitoring import sample
from test_openapi import check_timeline
from test_schedules_rings import AGAIN, decline
from waiting import eventually
from world import push_options

DAY_MS = 86_400_000


@pytest.fixture
def early(minute, make_server, make_world):
    """A world some seconds before a full minute."""
    return make_world(make_server("--loops", 1, environment=minute.environment))


def wait_until(minute, left: float):
    """Waits until the server's clock is `left` seconds before the minute."""
    time.sleep(max(0, minute.left - left))


@pytest.mark.parametrize("after_ms", [-5, 0, 1, 3, 10, 200])
def test_a_server_that_is_killed_in_the_due_second_rings_every_schedule_exactly_once(early, minute, after_ms):
    world = early
    service = world.rest("backend", scope="server")
    for number in range(40):
        assert service.put(f"/api/users/u{number}/schedules/s-1", minute.once(ring=60)).status_code == 200
    wait_until(minute, -after_ms / 1000)
    world.server.kill()
    world.server.start()
    eventually(lambda: len(call_rows(world)) == 40, 20, lambda: f"{len(call_rows(world))}")
    hanako = world.connect("u7", "iphone-h")
    call_id = rung(hanako)["callId"]
    decline(hanako, call_id)
    assert ended(hanako, call_id) == "declined"
    become(world, ["declined"], "u7")
    assert schedules(world, "u7") == []
    numbers = world.server.rows("SELECT callee, count(*), max(epoch) FROM call GROUP BY callee")
    assert len(numbers) == 40 and {int(row[1]) for row in numbers} == {1}


def test_a_ring_goes_on_after_a_kill_and_its_push_is_accepted_once(minute, apns, make_server, make_world):
    world = make_world(make_server(*push_options(apns), environment=minute.environment))
    device = register(world, deviceId="iphone-h")
    make(world, minute.once(**AGAIN))
    call_id = pushed(apns, device, LEAD + 8)["payload"]["callId"]
    eventually(lambda: world.rest("10").get(f"/api/calls/{call_id}").status_code == 200)
    eventually(lambda: "push.result" in world.rest("10").get(f"/api/calls/{call_id}/timeline").text)
    world.server.kill()
    world.server.start()
    hanako = world.connect("10", "iphone-h")
    offer = rung(hanako)
    assert offer["callId"] == call_id and offer["scheduled"] is True and offer["media"] == "none"
    hanako.ask(type="answer", callId=call_id)
    world.server.kill()
    world.server.start()
    hanako = world.connect("10", "iphone-h")
    hanako.expect(type="call", callId=call_id, state="answered")
    hanako.ask(type="info", callId=call_id, confirm=True)
    assert ended(hanako, call_id) == "confirmed"
    assert len([push for push in apns.pushes(token(1)) if push["accepted"]]) == 1
    become(world, ["confirmed"])
    assert schedules(world) == []


def test_a_user_is_rung_again_after_a_kill_between_two_rings(early, minute):
    world = early
    hanako = world.connect("10", "iphone-h")
    make(world, minute.once(**AGAIN))
    first = rung(hanako)["callId"]
    decline(hanako, first)
    again = eventually(lambda: schedules(world)[0].get("again"))
    world.server.kill()
    world.server.start()
    (kept,) = schedules(world)
    assert kept["again"] == again and kept["rings"] == 1
    hanako = world.connect("10", "iphone-h")
    second = rung(hanako, seconds=15)
    assert second["callId"] != first and again <= second["ts"] < again + 5_000
    decline(hanako, second["callId"])
    become(world, ["declined", "given_up"])


def test_a_server_that_was_down_for_less_than_a_minute_rings_late(early, minute):
    world = early
    make(world, minute.once(), schedule="once")
    make(world, minute.daily(), schedule="daily")
    world.server.kill()
    minute.shift(minute.left + 50)
    world.server.start()
    hanako = world.connect("10", "iphone-h")
    for schedule in ("once", "daily"):
        offer = rung(hanako, schedule)
        assert minute.ms + 50_000 <= offer["ts"] < minute.ms + 60_000
    (daily,) = [each for each in schedules(world) if each["id"] == "daily"]
    assert daily["next"] == minute.ms + DAY_MS
    assert len(call_rows(world)) == 2


def test_what_a_server_missed_by_more_than_a_minute_is_missed_in_the_history_and_does_not_ring(
    minute, apns, make_server, make_world
):
    world = make_world(make_server(*push_options(apns), environment=minute.environment))
    register(world, deviceId="iphone-h")
    make(world, minute.once(**AGAIN), schedule="s-2")
    make(world, minute.daily(), schedule="daily")
    world.server.kill()
    minute.shift(minute.left + 62)
    world.server.start()
    hanako = world.connect("10", "iphone-h")
    become(world, ["missed", "missed"])
    assert hanako.fence() == [] and apns.pushes(token(1)) == []
    assert [each["id"] for each in schedules(world)] == ["daily"]
    assert sample(world.server, "ringline_scheduled_rings_total") == 0
    first, second = history(world)
    assert first["started_at"] == second["started_at"], "the time of the schedule"
    ((call_id,),) = world.server.rows("SELECT id FROM call WHERE schedule = 's-2'")
    wait_for(world, call_id, "ended: missed")
    explain(world, call_id, "A schedule that the server missed")
    timeline = world.rest("backend", scope="server").get(f"/api/calls/{call_id}/timeline").json()
    assert [event["why"] for event in timeline["events"] if event["event"] == "ring.skipped"] == ["late"]
    check_timeline(timeline)
    world.server.kill()
    world.server.start()
    assert len(call_rows(world)) == 2, "it is told once"


def test_a_server_that_was_down_for_days_tells_of_each_day(early, minute):
    world = early
    make(world, minute.daily())
    world.server.kill()
    minute.shift(3 * 86_400 + 120)
    world.server.start()
    eventually(lambda: call_rows(world) == [("s-1", "missed")] * 4, why=lambda: f"{call_rows(world)}")
    began = world.server.rows("SELECT started_at FROM call ORDER BY number")
    assert [int(moment) for (moment,) in began] == [minute.ms + day * DAY_MS for day in range(4)]
    kept = world.server.rows("SELECT next FROM schedule WHERE occurrence IS NULL AND rings = 0")
    assert [int(moment) for (moment,) in kept] == [minute.ms + 4 * DAY_MS]


@pytest.mark.timeout(180)
def test_a_further_ring_that_is_late_after_a_start_waits_and_begins_if_the_clock_was_ahead(early, minute):
    world = early
    hanako = world.connect("10", "iphone-h")
    make(world, minute.once(confirm={"every": 10, "times": 2}))
    decline(hanako, rung(hanako)["callId"])
    again = eventually(lambda: schedules(world)[0].get("again"))
    world.server.kill()
    right = minute.ahead
    minute.clock.set(right + 120)
    world.server.start()
    hanako = world.connect("10", "iphone-h")
    assert hanako.fence() == [] and schedules(world)[0]["again"] == again
    assert call_rows(world) == [("s-1", "declined")]
    minute.clock.set(right)
    decline(hanako, rung(hanako, seconds=90)["callId"])
    become(world, ["declined", "given_up"])


def test_a_server_that_shuts_down_leaves_the_ring_to_the_next(early, minute):
    world = early
    make(world, minute.once())
    wait_until(minute, 0.05)
    world.server.terminate()
    assert world.server.exit_code(15) == 0
    world.server.start()
    hanako = world.connect("10", "iphone-h")
    decline(hanako, rung(hanako)["callId"])
    assert call_rows(world) == [("s-1", "declined")]


def test_a_start_computes_the_next_call_by_the_rules_of_today(world):
    """An update of tzdata may have changed them since the schedule was made."""
    made = make(world, MIDDAY | {"from": {"id": "wake"}, "days": None, "on": "2099-12-01", "timeZone": "Asia/Seoul"})
    world.server.kill()
    world.server.execute("UPDATE schedule SET next = next + 3600000")
    world.server.start()
    assert schedules(world) == [made]


def test_damaged_data_in_the_database_damages_no_response(world):
    make(world, MIDDAY | {"from": {"id": "wake"}, "data": {"voice": "a"}, "handle": "+1"})
    make(world, MIDDAY | {"from": {"id": "wake"}}, schedule="s-2")
    world.server.kill()
    world.server.execute("UPDATE schedule SET data = '{' WHERE id = 's-1'")
    world.server.start()
    assert "s-2" in [each["id"] for each in schedules(world)]
    eventually(lambda: "database.column=data" in world.server.errors())

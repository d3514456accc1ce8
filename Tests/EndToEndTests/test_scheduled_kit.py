"""Scheduled calls on devices with the Swift kit, against the real server: one by a connection, one by a push alone."""

import datetime
import json
import zoneinfo

from test_devices import devices
from test_push import pushed
from test_swift_kit import kit  # noqa: F401 - a fixture
from waiting import eventually

ZONE = "Asia/Seoul"
SCHEDULE = {
    "id": "s-1",
    "timeZone": ZONE,
    "from": {"id": "wake", "displayName": "Mina"},
    "handle": "+821012345678",
    "handleType": "phoneNumber",
    "data": {"sound": "birds"},
    "confirm": {"every": 10, "times": 3},
}


def next_minute() -> datetime.datetime:
    """Returns the next full minute, or the one after it if too little time is left to make schedules."""
    soon = datetime.datetime.now(zoneinfo.ZoneInfo(ZONE)) + datetime.timedelta(seconds=5)
    return soon.replace(second=0, microsecond=0) + datetime.timedelta(minutes=1)


def rings(device, seconds=10):
    """Waits until a device rings for the schedule, and checks what the app learns of it."""
    device.says("ringing wake", seconds)
    schedule, handle, data = device.says("scheduled").removeprefix("scheduled ").split(" ", 2)
    assert (schedule in ("s-1", "-"), handle, json.loads(data)) == (True, "+821012345678", {"sound": "birds"})


def test_a_kit_is_rung_by_schedules_answers_without_media_and_confirms(kit, push_world):  # noqa: F811
    world, fake = push_world
    awake, asleep = kit(world, "10"), kit(world, "12", "background")
    awake.says("connected")
    asleep.does(f"token {1:064x}")
    eventually(lambda: devices(world.rest("12")), 10, lambda: "the kit has not registered")
    due = next_minute()
    for user in ("10", "12"):
        schedule = {**SCHEDULE, "at": due.strftime("%H:%M"), "on": due.strftime("%Y-%m-%d")}
        response = world.rest(user).post("/api/schedules", schedule)
        assert response.status_code == 200, response.text
    rings(awake, seconds=75)
    payload = pushed(fake, f"{1:064x}")["payload"]
    assert payload["scheduled"] is True and "offer" not in payload
    asleep.does("push " + json.dumps(payload))
    rings(asleep)
    # One device answers before it confirms, the other one confirms while it rings.
    awake.does("answer")
    awake.says("active wake")
    for device in (awake, asleep):
        device.does("confirm")
        assert device.says("ended wake").endswith(" confirmed")
    for user in ("10", "12"):
        (call,) = world.rest(user).get("/api/calls").json()
        assert call["reason"] == "confirmed"
        # A schedule of one date is gone after its call.
        assert world.rest(user).get("/api/schedules").json()["schedules"] == []
    assert not [line for line in awake.said + asleep.said if line.startswith(("candidate", "set-", "refused"))]

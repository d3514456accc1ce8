"""Scheduled calls on devices with the Swift kit, against the real server: one by a connection, one by a push alone."""

import json

from push_services import pushed
from scheduled import Minute
from test_devices import devices
from test_swift_kit import kit  # noqa: F401 - a fixture
from waiting import eventually
from world import push_options

SCHEDULE = {
    "id": "s-1",
    "from": {"id": "wake", "displayName": "Mina"},
    "handle": "+821012345678",
    "handleType": "phoneNumber",
    "data": {"sound": "birds"},
    "confirm": {"every": 10, "times": 3},
}


def rings(device, seconds=10):
    """Waits until a device rings for the schedule, and checks what the app learns of it."""
    device.says("ringing wake", seconds)
    schedule, handle, data = device.says("scheduled").removeprefix("scheduled ").split(" ", 2)
    assert (schedule in ("s-1", "-"), handle, json.loads(data)) == (True, "+821012345678", {"sound": "birds"})


def test_a_kit_is_rung_by_schedules_answers_without_media_and_confirms(
    kit,  # noqa: F811
    clock_library,
    tmp_path,
    apns,
    make_server,
    make_world,
):
    minute = Minute(clock_library, tmp_path / "clock", lead=15)
    world, fake = make_world(make_server(*push_options(apns), environment=minute.environment)), apns
    awake, asleep = kit(world, "10"), kit(world, "12", "background")
    awake.says("connected")
    asleep.does(f"token {1:064x}")
    eventually(lambda: devices(world.rest("12")), 10, lambda: "the kit has not registered")
    for user in ("10", "12"):
        response = world.rest(user).post("/api/schedules", minute.once(**SCHEDULE))
        assert response.status_code == 200, response.text
    rings(awake, seconds=30)
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

"""Several users who are signed in on one installation share its push token (protocol, section 5.5)."""

import pytest
from push_services import pushed, token
from waiting import eventually

INSTALLATION = "install-0123456789abcdef"


def register(world, user, installation=INSTALLATION, number=1, device="phone"):
    body = {"voipDeviceToken": token(number), "bundleId": "com.example.chat", "platform": "ios", "deviceId": device}
    if installation:
        body["installation"] = installation
    response = world.rest(user).put("/api/me/devices", body)
    assert response.status_code == 200, response.text
    assert response.json()["installation"] == installation
    return token(number)


def devices(world, user) -> list:
    return world.rest(user).get("/api/me/devices").json()


def test_both_users_ring_each_by_a_push_of_its_own_and_over_a_restart(push_world):
    world, fake = push_world
    for user in ("10", "12"):
        phone = register(world, user)
    world.server.kill()
    world.server.start()
    for number, user in enumerate(("10", "12")):
        world.connect("11").ring(user, f"c-{number}")
    eventually(lambda: len(fake.pushes(phone)) == 2)
    assert [push["payload"]["toUserId"] for push in fake.pushes(phone)] == ["10", "12"]
    for push in fake.pushes(phone):
        payload = push["payload"]
        app = world.rest(payload["toUserId"])
        app.http.headers["Authorization"] = "Ring " + payload["act"]
        assert app.log(payload["callId"])["callId"] == payload["callId"]
        assert app.signal("ringing", payload["callId"]).status_code == 200


def test_a_call_between_two_users_of_one_installation_rings_and_is_answered(push_world):
    world, fake = push_world
    for user in ("10", "12"):
        phone = register(world, user)
    caller = world.connect("10", device="phone")
    caller.ring("12", "c-1")
    assert pushed(fake, phone)["payload"]["toUserId"] == "12"
    callee = world.connect("12", device="phone")
    callee.expect(type="offer")
    callee.ask(type="answer", callId="c-1", sdp="v=0\r\n")
    assert caller.expect(type="answer")["fromDevice"] == "phone"
    caller.ask(type="end", callId="c-1")
    callee.expect(type="call", state="ended", reason="hangup")


def test_a_logout_of_one_user_leaves_the_other(push_world):
    world, fake = push_world
    for user in ("10", "12"):
        phone = register(world, user)
    assert world.rest("10").delete("/api/me/devices/phone").status_code == 200
    assert devices(world, "10") == [] and len(devices(world, "12")) == 1
    world.connect("11").ring("10", "c-1")
    world.connect("11").ring("12", "c-2")
    assert pushed(fake, phone)["payload"]["callId"] == "c-2"
    assert len(fake.pushes(phone)) == 1


@pytest.mark.parametrize("installation", [None, "install-of-the-buyer"])
def test_a_device_that_was_sold_rings_for_nobody_of_before(push_world, installation):
    world, fake = push_world
    for user in ("10", "12"):
        register(world, user)
    phone = register(world, "13", installation)
    for number, user in enumerate(("10", "12", "13")):
        world.connect("11").ring(user, f"c-{number}")
    assert pushed(fake, phone)["payload"]["toUserId"] == "13"
    assert len(fake.pushes(phone)) == 1 and devices(world, "10") == devices(world, "12") == []


def test_a_dead_token_is_removed_from_all_users(push_world):
    world, fake = push_world
    for user in ("10", "12"):
        phone = register(world, user)
    fake.script(phone, [{"status": 410, "reason": "Unregistered"}])
    world.connect("11").ring("10", "c-1")
    eventually(lambda: devices(world, "10") == devices(world, "12") == [])


@pytest.mark.parametrize("wrong", ["short", "x" * 65, "with blanks in between", "", 7, {}], ids=str)
def test_an_installation_id_that_is_not_random_is_refused(push_world, wrong):
    world, _ = push_world
    body = {"voipDeviceToken": token(1), "bundleId": "com.example.chat", "platform": "ios", "installation": wrong}
    response = world.rest("10").put("/api/me/devices", body)
    assert response.status_code == 400 and response.json()["field"] == "installation", response.text
    assert devices(world, "10") == []

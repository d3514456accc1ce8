"""A user's devices and their push tokens (protocol, section 5.5)."""

import pytest
from rest import code

VOIP, ALERT = "a" * 64, "b" * 64


def devices(rest) -> list[dict]:
    response = rest.get("/api/me/devices")
    assert response.status_code == 200, response.text
    body = response.json()
    return body if isinstance(body, list) else body["devices"]


def body(**fields) -> dict:
    return {"platform": "ios", "bundleId": "com.example.chat"} | fields


def test_a_registered_device_is_listed(world):
    rest = world.rest("10")
    response = rest.put("/api/me/devices", body(voipDeviceToken=VOIP, deviceId="d-1"))
    assert response.status_code == 200
    assert response.json() == response.json() | {"deviceId": "d-1", "bundleId": "com.example.chat", "platform": "ios"}
    assert [device["deviceId"] for device in devices(rest)] == ["d-1"]


def test_registering_again_adds_no_device(world):
    rest = world.rest("10")
    for _ in range(3):
        assert rest.put("/api/me/devices", body(voipDeviceToken=VOIP)).status_code == 200
    assert len(devices(rest)) == 1


def test_a_device_without_an_id_gets_one_from_the_server(world):
    rest = world.rest("10")
    made = rest.put("/api/me/devices", body(voipDeviceToken=VOIP)).json()["deviceId"]
    assert made and devices(rest)[0]["deviceId"] == made


def test_both_tokens_together_are_one_device(world):
    rest = world.rest("10")
    assert rest.put("/api/me/devices", body(voipDeviceToken=VOIP, apnsDeviceToken=ALERT)).status_code == 200
    assert len(devices(rest)) == 1


@pytest.mark.parametrize(
    "first, second", [("voipDeviceToken", "apnsDeviceToken"), ("apnsDeviceToken", "voipDeviceToken")]
)
def test_two_tokens_registered_separately_without_a_device_id_are_one_device(world, first, second):
    rest = world.rest("10")
    rest.put("/api/me/devices", body(**{first: VOIP}))
    rest.put("/api/me/devices", body(**{second: ALERT}))
    assert len(devices(rest)) == 1


def test_a_second_installation_of_the_same_bundle_is_another_device(world):
    rest = world.rest("10")
    rest.put("/api/me/devices", body(voipDeviceToken=VOIP))
    rest.put("/api/me/devices", body(voipDeviceToken="c" * 64))
    assert len(devices(rest)) == 2


def test_a_token_moves_to_the_user_who_registers_it(world):
    taro, hanako = world.rest("11"), world.rest("10")
    taro.put("/api/me/devices", body(voipDeviceToken=VOIP))
    hanako.put("/api/me/devices", body(voipDeviceToken=VOIP))
    assert devices(taro) == []
    assert len(devices(hanako)) == 1


def test_a_new_token_of_a_named_device_replaces_the_old_one(world):
    rest = world.rest("10")
    rest.put("/api/me/devices", body(voipDeviceToken=VOIP, deviceId="d-1"))
    rest.put("/api/me/devices", body(voipDeviceToken="c" * 64, deviceId="d-1"))
    assert [(device["deviceId"], device["voipDeviceToken"]) for device in devices(rest)] == [("d-1", "c" * 64)]


def test_a_removed_device_is_gone(world):
    rest = world.rest("10")
    rest.put("/api/me/devices", body(voipDeviceToken=VOIP, deviceId="d-1"))
    assert rest.delete("/api/me/devices/d-1").status_code == 200
    assert devices(rest) == []
    assert code(rest.delete("/api/me/devices/d-1")) == (404, "not_found")


def test_another_users_devices_are_neither_seen_nor_removed(world):
    taro, hanako = world.rest("11"), world.rest("10")
    taro.put("/api/me/devices", body(voipDeviceToken=VOIP, deviceId="d-1"))
    assert devices(hanako) == []
    assert code(hanako.delete("/api/me/devices/d-1")) == (404, "not_found")
    assert len(devices(taro)) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"bundleId": None},
        {"bundleId": 5},
        {"platform": None},
        {"platform": ["ios"]},
        {"voipDeviceToken": 5},
        {"voipDeviceToken": ["a"]},
        {"deviceId": "a b"},
        {"deviceId": "a" * 129},
        {"voipDeviceToken": "x" * 5000},
    ],
    ids=str,
)
def test_a_registration_with_a_bad_field_is_refused_by_name_and_changes_nothing(world, fields):
    rest = world.rest("10")
    whole = {key: value for key, value in (body(voipDeviceToken=VOIP) | fields).items() if value is not None}
    response = rest.put("/api/me/devices", whole)
    assert code(response) == (400, "invalid_field")
    assert next(iter(fields)) in response.text
    assert devices(rest) == []


def test_the_33rd_device_replaces_the_one_unseen_longest(world):
    rest = world.rest("10")
    for number in range(33):
        assert (
            rest.put("/api/me/devices", body(voipDeviceToken=f"{number:064x}", deviceId=f"d-{number}")).status_code
            == 200
        )
    left = {device["deviceId"] for device in devices(rest)}
    assert left == {f"d-{number}" for number in range(1, 33)}


def test_devices_survive_a_restart(world):
    rest = world.rest("10")
    rest.put("/api/me/devices", body(voipDeviceToken=VOIP, deviceId="d-1"))
    world.server.kill()
    world.server.start()
    assert [device["deviceId"] for device in devices(world.rest("10"))] == ["d-1"]


def test_registering_only_a_firebase_token_changes_nothing_else(world):
    """Such a registration once turned an iPhone with Firebase into an Android device without a bundle id.

    This was found when the OpenAPI document was written.
    """
    rest = world.rest("10", device="d-1")
    rest.put("/api/me/devices", body(voipDeviceToken=VOIP))
    assert rest.post("/api/me/devices", {"fcm_token": "dGVzdA:APA91b"}).status_code == 200
    (device,) = devices(rest)
    assert (device["voipDeviceToken"], device["fcm_token"]) == (VOIP, "dGVzdA:APA91b")
    assert (device["bundleId"], device["platform"]) == ("com.example.chat", "ios")


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("com.example.app.voip", "com.example.app"),
        ("com.example.my_app", "com.example.my_app"),
        ("com.example.voip", "com.example.voip"),
        ("com.example.my-app.VOIP", "com.example.my-app"),
    ],
)
def test_a_bundle_id_is_stored_without_the_suffix_of_the_topic_of_voip_pushes(world, given, stored):
    response = world.rest("10").put("/api/me/devices", body(voipDeviceToken=VOIP) | {"bundleId": given})
    assert response.status_code == 200, response.text
    assert response.json()["bundleId"] == stored

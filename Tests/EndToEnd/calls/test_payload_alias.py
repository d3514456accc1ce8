"""Apps that read other keys than the standard ones from a push register them, or get them by `--payload-alias`."""

import pytest
from push_services import pushed, register, token
from world import push_options

# The keys of three apps, and how each reads its payload.
APPS = {
    "com.example.callkeep": (
        ["UUID=callUUID", "identifier=handle"],
        lambda payload: (payload["UUID"], payload["identifier"], payload["hasVideo"]),
    ),
    "com.example.twilio": (
        ["data.handle=fromDisplayName", "data.callUUID=callUUID", "data.video=hasVideo"],
        lambda payload: (payload["data"]["callUUID"], payload["fromUserId"], payload["data"]["video"]),
    ),
    "com.example.flutter": (
        ["id=callUUID", "nameCaller=callerName", "isVideo=hasVideo", "extra.userId=fromUserId"],
        lambda payload: (payload["id"], payload["extra"]["userId"], payload["isVideo"]),
    ),
}


@pytest.mark.parametrize("bundle", APPS)
def test_an_app_reads_its_own_keys(make_server, make_world, apns, bundle):
    options = [text for app, (keys, _) in APPS.items() for key in keys for text in ("--payload-alias", f"{app}:{key}")]
    world = make_world(make_server(*push_options(apns), *options))
    device = register(world, bundle=bundle)
    world.connect("11", claims={"name": "Taro"}).ring("10", "c-1")
    payload = pushed(apns, device)["payload"]
    read = APPS[bundle][1]
    assert read(payload) == (payload["callUUID"], "11", False)
    assert payload["toUserId"] == "10"
    others = {key.split("=")[0].split(".")[0] for app, (keys, _) in APPS.items() if app != bundle for key in keys}
    mine = {key.split("=")[0].split(".")[0] for key in APPS[bundle][0]}
    assert not (others - mine) & payload.keys(), "no key of another app"


@pytest.mark.parametrize("bundle", APPS)
def test_an_app_reads_the_keys_that_it_has_registered(push_world, bundle):
    world, apns = push_world
    keys, read = APPS[bundle]
    body = {"voipDeviceToken": token(1), "bundleId": bundle, "platform": "ios", "deviceId": "a"}
    response = world.rest("10").put("/api/me/devices", body | {"payload": dict(key.split("=") for key in keys)})
    assert response.status_code == 200 and response.json()["payload"] == dict(key.split("=") for key in keys)
    world.server.kill()
    world.server.start()
    world.connect("11", claims={"name": "Taro"}).ring("10", "c-1")
    payload = pushed(apns, token(1))["payload"]
    assert read(payload) == (payload["callUUID"], "11", False)


def test_keys_that_do_not_fit_are_left_out_and_the_push_comes(push_world):
    world, apns = push_world
    body = {"apnsDeviceToken": token(1), "bundleId": "com.example.chat", "platform": "ios", "deviceId": "a"}
    keys = {f"{'k' * 60}{number}": "act" for number in range(16)}
    assert world.rest("10").put("/api/me/devices", body | {"payload": keys}).status_code == 200
    call_id = "c" * 128
    world.connect("11").ring("10", call_id, displayName="名" * 100)
    payload = pushed(apns, token(1))["payload"]
    assert payload["callId"] == call_id and payload["fromDisplayName"] == "名" * 100
    assert not keys.keys() & payload.keys()


@pytest.mark.parametrize(
    "keys",
    [{"aps": "callId"}, {"callId": "room"}, {"k" * 65: "room"}, {"k": "offer"}, {"k.": "room"}, {"k": 1}, ["k"], "k"],
    ids=str,
)
def test_a_key_that_no_payload_may_have_is_refused_and_changes_nothing(push_world, keys):
    world, _ = push_world
    register(world)
    body = {"voipDeviceToken": token(1), "bundleId": "com.example.chat", "platform": "ios", "deviceId": "iphone-1"}
    response = world.rest("10").put("/api/me/devices", body | {"payload": keys})
    assert response.status_code == 400 and response.json()["field"] == "payload", response.text
    assert [each["payload"] for each in world.rest("10").get("/api/me/devices").json()] == [None]

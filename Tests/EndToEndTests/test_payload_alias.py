"""Apps that read other keys than the standard ones from a push get them by `--payload-alias`."""

import pytest
from conftest import push_options
from test_push import pushed, register

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

"""What only pushes through Apple's service have: their headers and topics, the environment, and the connection."""

import uuid

import pytest
from push_services import BUNDLE_ID

SERVICE = "apns"


def headers(push) -> dict:
    return push.record["headers"]


def test_a_push_has_the_headers_that_apple_demands(call):
    device = call.register()
    call.ring()
    push = call.rung()
    assert push.record["path"] == f"/3/device/{device}"
    assert headers(push)["apns-topic"] == f"{BUNDLE_ID}.voip"
    assert headers(push)["apns-push-type"] == "voip"
    assert headers(push)["apns-priority"] == "10"
    assert headers(push)["apns-expiration"] == "0"
    assert uuid.UUID(headers(push)["apns-id"]).version == 5
    assert headers(push)["authorization"].startswith("bearer ")
    assert push.record["payload"]["aps"] == {"content-available": 1}


def test_every_devices_own_bundle_id_makes_its_topic(call):
    one = call.register(bundleId="com.example.one")
    two = call.register(bundleId="com.example.two", deviceId="d-2")
    call.ring()
    first, second = call.rung(one), call.rung(two)
    assert headers(first)["apns-topic"] == "com.example.one.voip"
    assert headers(second)["apns-topic"] == "com.example.two.voip"
    assert headers(first)["apns-id"] != headers(second)["apns-id"]


@pytest.mark.parametrize("given", ["com.example.my_app", "com.example.my_app.voip"])
def test_a_bundle_id_that_is_the_topic_already_makes_the_same_topic(call, given):
    call.register(bundleId=given)
    call.ring()
    assert headers(call.rung())["apns-topic"] == "com.example.my_app.voip"


def test_many_pushes_share_one_connection_and_one_provider_token(make_call):
    call = make_call()
    devices = [call.register(deviceId=f"d-{number}") for number in range(20)]
    before = call.fake.stats()
    call.ring()
    for device in devices:
        call.rung(device)
    after = call.fake.stats()
    assert [after[name] - before[name] for name in ("connections", "providerTokens")] == [1, 1]


def test_the_production_environment_is_used_when_configured(servers, make_call):
    call = make_call(instead=servers.service.options("production"))
    call.register()
    call.ring()
    assert call.rung().record["environment"] == "production"


@pytest.mark.parametrize("trouble", [{"drop": True}, {"goaway": True}, {"goaway": True, "processed": True}], ids=str)
def test_a_push_on_a_connection_that_ends_is_sent_again_under_the_same_apns_id(make_call, trouble):
    call = make_call()
    call.register()
    call.script(trouble, trouble)
    call.ring()
    call.rung()
    call.fence()
    assert (len(call.rings()), len(call.tries())) == (1, 3) and call.is_registered
    assert len({push.identity for push in call.tries()}) == 1

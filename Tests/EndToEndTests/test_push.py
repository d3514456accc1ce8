"""A callee without a connection is woken by a push (protocol, section 6).

The fake verifies the signature of the provider token and refuses every push that Apple would refuse. So a push that it
has accepted was well-formed.
"""

import time
import uuid

import pytest
import samples
from conftest import push_options
from raw_socket import RawSocket
from test_monitoring import sample
from waiting import away_from_the_end_of_a_minute, eventually


def token(number: int) -> str:
    return f"{number:064x}"


def register(world, user="10", number=1, bundle="com.example.chat", **fields) -> str:
    """Registers a device for VoIP pushes; returns its token."""
    body = {"voipDeviceToken": token(number), "bundleId": bundle, "platform": "ios"} | fields
    response = world.rest(user).put("/api/me/devices", body)
    assert response.status_code == 200, response.text
    return token(number)


def pushed(fake, device: str, seconds=8) -> dict:
    """Waits until the first push to this device has got 200, and returns the push."""
    assert fake.wait_for_push(device, after=0, timeout=seconds) is not None, "no push"
    # The fake notes a push when it comes, and accepts it a little later.
    eventually(lambda: fake.pushes(device)[0]["accepted"], seconds, lambda: str(fake.pushes(device)[0]["answer"]))
    return fake.pushes(device)[0]


def test_an_offline_callee_gets_a_voip_push_with_everything_that_it_needs(push_world):
    world, fake = push_world
    device = register(world)
    before = int(time.time() * 1000)
    call_id = str(uuid.uuid4())
    world.connect("11", claims={"name": "Taro"}).ring(
        "10", call_id, sdp=samples.VIDEO_OFFER, displayName="山田太郎", room="p2p:11-10"
    )
    push = pushed(fake, device)
    after = int(time.time() * 1000)
    payload = push["payload"]
    assert payload["aps"] == {"content-available": 1}
    wanted = {
        "type": "call.incoming",
        "callId": call_id,
        "fromUserId": "11",
        "fromDisplayName": "山田太郎",
        "toUserId": "10",
        "room": "p2p:11-10",
        "hasVideo": True,
        "callUUID": call_id,
        "handle": "11",
        "handleType": "generic",
        "callerId": "11",
        "callerName": "山田太郎",
    }
    assert payload == payload | wanted
    assert before - 1000 <= payload["sentAt"] <= after + 1000
    assert before + 44_000 <= payload["ringUntil"] <= after + 46_000
    assert isinstance(payload["act"], str) and payload["act"]
    assert payload["offer"] == samples.VIDEO_OFFER, "it fits"


def test_a_push_has_the_headers_that_apple_demands(push_world):
    world, fake = push_world
    device = register(world, bundle="com.example.chat")
    world.connect("11").ring("10", "c-1")
    push = pushed(fake, device)
    headers = push["headers"]
    assert push["path"] == f"/3/device/{device}"
    assert headers["apns-topic"] == "com.example.chat.voip"
    assert headers["apns-push-type"] == "voip"
    assert headers["apns-priority"] == "10"
    assert headers["apns-expiration"] == "0"
    assert uuid.UUID(headers["apns-id"]).version == 5
    assert headers["authorization"].startswith("bearer ")


def test_an_offer_that_does_not_fit_is_left_out_of_the_push(push_world):
    world, fake = push_world
    device = register(world)
    world.connect("11").ring("10", "c-1", sdp=samples.padded(samples.VIDEO_OFFER, 40 * 1024), displayName="山" * 256)
    payload = pushed(fake, device)["payload"]
    assert "offer" not in payload
    assert payload["callId"] == "c-1" and payload["ringUntil"] and payload["act"]


def test_every_devices_own_bundle_id_makes_its_topic(push_world):
    world, fake = push_world
    one = register(world, number=1, bundle="com.example.one", deviceId="d-1")
    two = register(world, number=2, bundle="com.example.two", deviceId="d-2")
    world.connect("11").ring("10", "c-1")
    assert pushed(fake, one)["headers"]["apns-topic"] == "com.example.one.voip"
    assert pushed(fake, two)["headers"]["apns-topic"] == "com.example.two.voip"
    assert pushed(fake, one)["headers"]["apns-id"] != pushed(fake, two)["headers"]["apns-id"]


@pytest.mark.parametrize("given", ["com.example.my_app", "com.example.my_app.voip"])
def test_a_bundle_id_that_is_the_topic_already_makes_the_same_topic(push_world, given):
    world, fake = push_world
    device = register(world, bundle=given)
    world.connect("11").ring("10", "c-1")
    assert pushed(fake, device)["headers"]["apns-topic"] == "com.example.my_app.voip"


def test_the_woken_device_fetches_the_offer_answers_over_rest_and_the_caller_hears_it(push_world):
    world, fake = push_world
    device = register(world)
    taro = world.connect("11")
    taro.ring("10", "11-10", sdp=samples.VIDEO_OFFER)
    for candidate in samples.CANDIDATES[:3]:
        taro.ask(type="ice", callId="11-10", candidate=candidate)
    call_id = pushed(fake, device)["payload"]["callId"]
    woken = world.rest("10")
    log = woken.log(call_id)
    assert log["offer"]["sdp"] == samples.VIDEO_OFFER
    assert log["candidates"] == samples.CANDIDATES[:3]
    assert (
        woken.signal("answer", call_id, path_id=True, sdp=samples.VIDEO_ANSWER, **{"from": 10, "to": 11}).status_code
        == 200
    )
    assert taro.expect(type="answer")["sdp"] == samples.VIDEO_ANSWER
    woken.signal("ice", call_id, candidate=samples.CANDIDATES[4])
    assert taro.expect(type="ice")["candidate"] == samples.CANDIDATES[4]


def test_a_callee_with_a_live_connection_of_that_device_is_not_pushed(push_world):
    world, fake = push_world
    live = register(world, "10", number=1, deviceId="d-1")
    asleep = register(world, "20", number=2, deviceId="d-2")
    hanako, taro = world.connect("10", "d-1"), world.connect("11")
    half_open = RawSocket(world.server.port, world.token("20"), path="/ws?device=d-2")
    taro.ring(hanako, "c-1")
    hanako.expect(type="offer")
    # The second device answers no ping, and is pushed when its probe times out. The first was probed earlier, so a
    # wrong push to it would have come by then.
    taro.ring("20", "c-2")
    pushed(fake, asleep)
    assert fake.pushes(live) == []
    half_open.close()


def test_a_callee_whose_connection_has_gone_is_pushed(push_world):
    world, fake = push_world
    device = register(world, deviceId="d-1")
    hanako = world.connect("10", "d-1")
    hanako.close()
    world.connect("11").ring("10", "c-1")
    assert pushed(fake, device)["payload"]["callId"] == "c-1"


def test_a_callee_whose_connection_answers_the_ping_and_ends_is_pushed_unless_it_said_ringing(push_world):
    world, fake = push_world
    silent, ringing = register(world, "10", number=1, deviceId="d-1"), register(world, "20", number=2, deviceId="d-2")
    taro, others = world.connect("11"), [world.connect("10", "d-1"), world.connect("20", "d-2")]
    for number, callee in enumerate(others):
        taro.ring(callee.user, f"c-{number}")
        callee.expect(type="offer")
    others[1].ask(type="ringing", callId="c-1")
    for callee in others:
        callee.close()
    assert pushed(fake, silent)["payload"]["callId"] == "c-0"
    # The other device left at the same time.
    assert fake.pushes(ringing) == []


def test_a_device_that_said_ringing_is_not_pushed_after_a_crash(push_world):
    world, fake = push_world
    silent, ringing = register(world, number=1, deviceId="d-1"), register(world, number=2, deviceId="d-2")
    taro, others = world.connect("11"), [world.connect("10", "d-1"), world.connect("10", "d-2")]
    taro.ring("10", "c-1")
    for callee in others:
        callee.expect(type="offer")
        callee.fence()
    others[1].ask(type="ringing", callId="c-1")
    others[1].close()
    world.server.kill()
    world.server.start()
    assert pushed(fake, silent)["payload"]["callId"] == "c-1"
    # Both would be pushed at the same moment.
    world.connect("12").fence()
    assert fake.pushes(ringing) == []


def test_the_same_offer_twice_is_one_call_and_one_push(push_world):
    world, fake = push_world
    device, fence = register(world, "10", number=1), register(world, "20", number=2)
    rest, taro = world.rest("11"), world.connect("11")
    first = rest.post(
        "/api/calls/signal", {"callId": "11-10", "action": "offer", "data": {"sdp": samples.OFFER, "type": "offer"}}
    ).json()
    second = taro.ask(type="offer", callId="11-10", to="10", sdp=samples.OFFER)
    assert (second["seq"], second["epoch"]) == (first["seq"], first["epoch"])
    pushed(fake, device)
    taro.ring("20", "c-2")
    pushed(fake, fence)
    assert len(fake.pushes(device)) == 1


def test_a_new_epoch_of_a_call_id_is_pushed_again_under_another_apns_id(push_world):
    world, fake = push_world
    device = register(world)
    taro = world.connect("11")
    taro.ring("10", "11-10")
    first = pushed(fake, device)
    taro.ask(type="end", callId="11-10")
    taro.ring("10", "11-10", sdp=samples.changed(samples.OFFER, "2"))
    second = fake.wait_for_push(device, after=first["index"], timeout=8)
    assert second is not None
    assert second["headers"]["apns-id"] != first["headers"]["apns-id"]
    assert second["payload"]["callUUID"] == str(uuid.uuid5(uuid.NAMESPACE_URL, "ringline:11-10/2"))


def test_a_token_belongs_to_the_user_who_registered_it_last(push_world):
    world, fake = push_world
    device = register(world, "10", number=1)
    register(world, "20", number=1)
    register(world, "10", number=3)
    taro = world.connect("11")
    taro.ring("10", "c-1")
    pushed(fake, token(3))
    taro.ring("20", "c-2")
    assert pushed(fake, device)["payload"]["callId"] == "c-2"
    assert len(fake.pushes(device)) == 1


def test_a_removed_device_is_not_pushed(push_world):
    world, fake = push_world
    gone, stays = register(world, number=1, deviceId="d-1"), register(world, number=2, deviceId="d-2")
    assert world.rest("10").delete("/api/me/devices/d-1").status_code == 200
    world.connect("11").ring("10", "c-1")
    pushed(fake, stays)
    assert fake.pushes(gone) == []


def test_many_pushes_share_one_connection_and_one_provider_token(push_world):
    world, fake = push_world
    devices = [register(world, number=number, deviceId=f"d-{number}") for number in range(1, 21)]
    world.connect("11").ring("10", "c-1")
    for device in devices:
        pushed(fake, device)
    stats = fake.stats()
    assert stats["connections"] == 1
    assert stats["providerTokens"] == 1


def test_the_production_environment_is_used_when_configured(apns, make_server, make_world):
    world = make_world(make_server(*push_options(apns, "production")))
    device = register(world)
    world.connect("11").ring("10", "c-1")
    assert pushed(apns, device)["environment"] == "production"


def test_apples_last_response_is_shown_with_the_device(push_world):
    world, fake = push_world
    device = register(world)
    fake.script(device, [{"status": 400, "reason": "DeviceTokenNotForTopic", "always": True}])
    world.connect("11").ring("10", "c-1")
    rest = world.rest("10")
    last = eventually(lambda: rest.get("/api/me/devices").json()[0].get("lastPush"))
    assert (last["status"], last["reason"]) == (400, "DeviceTokenNotForTopic")


@pytest.mark.parametrize("trouble", [{"hang": True, "always": True}, {"delay": 5, "always": True}])
def test_a_slow_apns_never_delays_relaying(push_world, trouble):
    world, fake = push_world
    device = register(world)
    fake.script("*", [trouble])
    taro = world.connect("11")
    taro.ring("10", "c-1")
    assert fake.wait_for_push(device, after=0, timeout=8) is not None
    one, other = world.call("c-2", "21", "20")
    began = time.monotonic()
    for number in range(20):
        one.ask(type="info", callId="c-2", data=number)
        other.expect(type="info", data=number)
    assert time.monotonic() - began < 5


def test_a_dead_apns_never_delays_relaying(apns, make_server, make_world):
    options = push_options(apns)
    apns.stop()
    world = make_world(make_server(*options))
    register(world)
    began = time.monotonic()
    taro = world.connect("11")
    taro.ring("10", "c-1")
    one, other = world.call("c-2", "21", "20")
    one.ask(type="info", callId="c-2", data=1)
    other.expect(type="info", data=1)
    assert time.monotonic() - began < 5
    apns.stop = lambda: None


def test_a_push_that_fails_again_and_again_has_one_line_in_the_log(apns, make_server, make_world):
    options = push_options(apns)
    apns.stop()
    world = make_world(make_server(*options))
    for number in range(12):
        register(world, number=number, deviceId=f"d-{number}")
    away_from_the_end_of_a_minute()
    world.connect("11").ring("10", "c-1")
    rest = world.rest("10")

    def attempts() -> int:
        events = rest.get("/api/calls/c-1/timeline").json()["events"]
        return sum(event["event"] == "push.result" for event in events)

    eventually(lambda: attempts() >= 30)

    def lines() -> list[str]:
        return [line for line in world.server.usual_log().splitlines() if "warning push failed" in line]

    eventually(lambda: any("log.suppressed=2" in line for line in lines()), 15)
    assert len(lines()) == 11, "ten lines for the ten first devices of the user, and one with the sum of the others"
    assert sample(world.server, "ringline_log_lines_suppressed_total") == 2
    assert not [line for line in world.server.usual_log().splitlines() if "got no response" in line]
    apns.stop = lambda: None


def test_an_apns_server_with_an_untrusted_certificate_gets_no_push(apns, make_server, make_world):
    options = push_options(apns)
    at = options.index("--apns-ca-file")
    world = make_world(make_server(*options[:at], *options[at + 2 :]))
    register(world)
    world.connect("11").ring("10", "c-1")
    rest = world.rest("10")

    def results() -> list[str]:
        events = rest.get("/api/calls/c-1/timeline").json()["events"]
        return [event["reason"] for event in events if event["event"] == "push.result"]

    eventually(results)
    assert set(results()) == {"the server's certificate was refused"}
    assert apns.pushes() == [] and apns.stats()["connections"] == 0
    assert 'ringline_push_results_total{reason="accepted"} 0' in world.server.metrics_text()


def test_without_keys_the_server_runs_and_logs_each_push_that_it_does_not_send(world):
    register(world)
    assert world.connect("11").ring("10", "c-1")["type"] == "ack"
    eventually(lambda: "a push was not sent" in world.server.errors())
    (line,) = [line for line in world.server.usual_log().splitlines() if "a push was not sent" in line]
    assert "call.id=c-1" in line and "push.kind=voip" in line
    assert token(1) not in world.server.errors(), "the log must not contain device tokens"

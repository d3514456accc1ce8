"""A device without a VoIP token is rung by an alert (protocol, section 6.6)."""

import time

import pytest
import samples
from push_services import pushed, token
from waiting import eventually


def register_alert(world, user="10", number=1) -> str:
    """Registers a device that has an alert token only; returns the token."""
    body = {"apnsDeviceToken": token(number), "bundleId": "com.example.chat", "platform": "ios", "deviceId": f"b{number}"}
    response = world.rest(user).put("/api/me/devices", body)
    assert response.status_code == 200, response.text
    assert response.json()["pushHealth"] == {"unanswered": 0, "wakesBy": "alert"}
    return token(number)


def test_an_alert_expires_with_the_ring_and_act_fetches_rings_and_declines_from_the_lock_screen(push_world):
    world, fake = push_world
    device = register_alert(world)
    taro = world.connect("11")
    before = time.time()
    taro.ring("10", "c-1", displayName="山田太郎")
    push = pushed(fake, device)
    headers, payload = push["headers"], push["payload"]
    assert headers["apns-push-type"] == "alert" and headers["apns-priority"] == "10"
    assert headers["apns-topic"] == "com.example.chat"
    assert before + 40 < int(headers["apns-expiration"]) <= payload["ringUntil"] / 1000 + 1
    assert payload["aps"] == {
        "alert": {"title": "Incoming call", "body": "山田太郎"},
        "thread-id": "11",
        "category": "ringline.call",
        "interruption-level": "time-sensitive",
        "sound": "default",
    }
    assert payload["type"] == "call.incoming" and payload["callId"] == "c-1" and payload["offer"].startswith("v=0")
    # The action on the lock screen runs without the user's token.
    action = world.rest("10")
    action.http.headers["Authorization"] = "Ring " + payload["act"]
    assert action.log("c-1")["offer"]["sdp"] == samples.OFFER
    assert action.signal("ringing", "c-1").status_code == 200
    taro.expect(type="ringing")
    assert action.delete("/api/calls/signal/c-1").status_code == 200
    taro.expect(type="call", state="ended", reason="declined")
    assert len(fake.pushes(device)) == 1, "the device that declined needs no other alert"


def test_act_answers_from_the_lock_screen_and_candidates_flow_both_ways(push_world):
    world, fake = push_world
    device = register_alert(world)
    taro = world.connect("11")
    taro.ring("10", "c-1")
    payload = pushed(fake, device)["payload"]
    action = world.rest("10")
    action.http.headers["Authorization"] = "Ring " + payload["act"]
    answer = action.signal("answer", "c-1", sdp=samples.ANSWER)
    assert answer.status_code == 200 and answer.json()["state"] == "answered", answer.text
    assert taro.expect(type="answer")["fromDevice"] == "b1"
    assert action.signal("ice", "c-1", candidate=samples.candidate(1)).status_code == 200
    assert taro.expect(type="ice")["candidate"] == samples.candidate(1)
    taro.ask(type="ice", callId="c-1", candidate=samples.candidate(2))
    assert samples.candidate(2) in action.log("c-1", wait=5)["candidates"]
    assert action.signal("connected", "c-1").status_code == 200
    refused = action.signal("offer", "c-1", sdp=samples.OFFER)
    assert refused.status_code == 403 and refused.json()["code"] == "forbidden"
    assert action.delete("/api/calls/signal/c-1").status_code == 200
    taro.expect(type="call", state="ended", reason="hangup")


def test_an_alert_has_the_sound_that_its_device_has_registered(push_world):
    world, fake = push_world
    device = register_alert(world)
    body = {"apnsDeviceToken": device, "bundleId": "com.example.chat", "platform": "ios", "deviceId": "b1"}
    assert world.rest("10").put("/api/me/devices", body | {"sound": "ring.caf"}).json()["sound"] == "ring.caf"
    world.connect("11").ring("10", "c-1")
    assert pushed(fake, device)["payload"]["aps"]["sound"] == "ring.caf"


def test_a_missed_call_replaces_the_alert(push_world):
    world, fake = push_world
    device = register_alert(world)
    taro = world.connect("11")
    taro.ring("10", "c-1")
    ring = pushed(fake, device)
    taro.ask(type="end", callId="c-1")
    eventually(lambda: len(fake.pushes(device)) == 2)
    missed = fake.pushes(device)[1]
    assert missed["payload"]["type"] == "call.missed"
    assert missed["headers"]["apns-collapse-id"] == ring["headers"]["apns-collapse-id"]
    assert missed["headers"]["apns-id"] != ring["headers"]["apns-id"]


@pytest.mark.parametrize("status, reason", [(503, "ServiceUnavailable"), (429, "TooManyRequests")])
def test_a_notice_that_apns_does_not_take_is_sent_again(push_world, status, reason):
    world, fake = push_world
    device = register_alert(world)
    taro = world.connect("11")
    taro.ring("10", "c-1")
    pushed(fake, device)
    fake.script(device, [{"status": status, "reason": reason}] * 2)
    taro.ask(type="end", callId="c-1")
    eventually(lambda: len(found := fake.pushes(device)) == 4 and found[3]["accepted"], 12)
    notices = fake.pushes(device)[1:]
    assert {each["payload"]["type"] for each in notices} == {"call.missed"}
    assert len({each["headers"]["apns-id"] for each in notices}) == 1, "it is the same notice"


@pytest.mark.parametrize("silence", ["do-not-disturb", "block"])
def test_a_missed_call_that_its_user_does_not_want_to_hear_of_leaves_the_screen_all_the_same(push_world, silence):
    world, fake = push_world
    device = register_alert(world)
    taro = world.connect("11")
    taro.ring("10", "c-1")
    pushed(fake, device)
    fake.script(device, [{"status": 503, "reason": "ServiceUnavailable"}] * 3)
    taro.ask(type="end", callId="c-1")
    eventually(lambda: len(fake.pushes(device)) >= 2)
    hanako = world.rest("10")
    if silence == "block":
        assert hanako.post("/api/blocks", {"userId": "11"}).status_code == 200
    else:
        assert hanako.put("/api/me/dnd", {"until": int(time.time() * 1000) + 60_000}).status_code == 200
    eventually(lambda: fake.pushes(device)[-1]["accepted"], 12)
    last = fake.pushes(device)[-1]["payload"]
    assert last["type"] == "call.over" and "sound" not in last["aps"]


def test_an_answer_on_another_device_replaces_the_alert_without_a_sound(push_world):
    world, fake = push_world
    device = register_alert(world)
    world.connect("11").ring("10", "c-1")
    ring = pushed(fake, device)
    other = world.connect("10", device="b2")
    other.expect(type="offer")
    other.ask(type="answer", callId="c-1", sdp="v=0\r\n")
    eventually(lambda: len(fake.pushes(device)) == 2)
    over = fake.pushes(device)[1]
    assert over["payload"]["type"] == "call.over" and over["payload"]["reason"] == "answered_elsewhere"
    assert over["payload"]["aps"]["interruption-level"] == "passive" and "sound" not in over["payload"]["aps"]
    assert over["headers"]["apns-collapse-id"] == ring["headers"]["apns-collapse-id"]

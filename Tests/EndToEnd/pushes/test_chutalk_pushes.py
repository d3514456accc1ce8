"""The twelve problems that the existing app had with its old server. Each test acts as the app does.

A suspended app keeps its sockets open but does not read them; a killed app has none.
"""

import time

import pytest
import samples
from push_services import pushed, register, token
from sio_app import WAYS, App
from waiting import eventually
from world import push_options

WAY = pytest.mark.parametrize("way", WAYS)
ALERT = "cd" * 32


def put(app: App, **body) -> dict:
    """Registers the app's push tokens as the app does, without a device id."""
    response = app.rest.put("/api/me/devices", {"platform": "ios", "bundleId": "com.example.chat"} | body)
    assert response.status_code == 200, response.text
    return response.json()


@WAY
def test_a_suspended_app_is_detected_and_pushed(push_world, way):
    world, fake = push_world
    taro, hanako = App(world, 11, way), App(world, 10, way)
    put(hanako, voipDeviceToken=token(1))
    hanako.suspend()
    began = time.monotonic()
    taro.call(10)
    assert fake.wait_for_push(token(1), timeout=5)
    assert time.monotonic() - began < 3, "the push comes after seconds, not after a minute"
    hanako.resume()


def test_a_killed_app_is_pushed_at_once(push_world):
    world, fake = push_world
    taro, hanako = App(world, 11), App(world, 10)
    put(hanako, voipDeviceToken=token(1))
    hanako.kill()
    began = time.monotonic()
    taro.call(10)
    assert fake.wait_for_push(token(1), timeout=5)
    assert time.monotonic() - began < 1.9, "before the probe timeout"


@pytest.mark.parametrize("way", ["eio4-polling", "eio3-polling"])
def test_a_suspended_app_that_polls_is_pushed_too(push_world, way):
    world, fake = push_world
    taro, hanako = App(world, 11), App(world, 10, way)
    put(hanako, voipDeviceToken=token(1))
    hanako.suspend()
    taro.call(10)
    assert fake.wait_for_push(token(1), timeout=5)
    hanako.resume()


def test_a_connected_app_is_not_pushed(push_world):
    world, fake = push_world
    taro = App(world, 11)
    for number, way in enumerate([*WAYS, "eio4-polling", "eio3-polling"]):
        hanako = App(world, 30 + number, way)
        put(hanako, voipDeviceToken=token(100 + number))
        taro.emit("offer", {"to": hanako.user, "sdp": samples.OFFER})
        hanako.expect("offer")
    # The device that is called last is suspended, and is pushed when its probe times out. The other devices were
    # probed earlier, so a wrong push to one of them would have come by then.
    away = App(world, 20)
    put(away, voipDeviceToken=token(2))
    away.suspend()
    taro.emit("offer", {"to": away.user, "sdp": samples.OFFER})
    pushed(fake, token(2))
    away.resume()
    assert len(fake.pushes()) == 1


def test_the_woken_app_can_fetch_the_offer(push_world):
    world, fake = push_world
    taro, hanako = App(world, 11), App(world, 10, online=False)
    put(hanako, voipDeviceToken=token(1))
    taro.call(10, samples.VIDEO_OFFER)
    payload = pushed(fake, token(1))["payload"]
    offer = hanako.poll(payload["callId"], "offer", seconds=0)
    assert (offer["sdp"], offer["type"]) == (samples.VIDEO_OFFER, "offer")


def test_an_answer_before_the_socket_is_up_is_not_lost(push_world):
    world, fake = push_world
    taro, hanako = App(world, 11), App(world, 10, online=False)
    put(hanako, voipDeviceToken=token(1))
    taro.call(10)
    pushed(fake, token(1))
    hanako.answer_by_rest("11-10", 11)
    assert taro.expect("answer")["sdp"] == samples.ANSWER
    assert taro.poll("11-10", "answer", seconds=0)["sdp"] == samples.ANSWER


@WAY
def test_candidates_sent_while_the_callee_wakes_up_arrive(push_world, way):
    world, fake = push_world
    taro, hanako = App(world, 11, way), App(world, 10, way, online=False)
    put(hanako, voipDeviceToken=token(1))
    taro.call(10)
    for candidate in samples.CANDIDATES[:5]:
        taro.ice(10, candidate)
    pushed(fake, token(1))
    hanako.start()
    assert hanako.expect("offer")["sdp"] == samples.OFFER
    for candidate in samples.CANDIDATES[:5]:
        assert hanako.expect("ice", candidate=candidate)["from"] == 11
    assert len(hanako.events("ice")) == 5, "each candidate comes once"


def test_the_topic_is_the_devices_own(push_world):
    world, fake = push_world
    taro = App(world, 11)
    for number, bundle in enumerate(["com.example.one", "com.example.two"]):
        hanako = App(world, 20 + number, online=False)
        put(hanako, voipDeviceToken=token(number), bundleId=bundle)
        taro.call(20 + number)
        assert pushed(fake, token(number))["headers"]["apns-topic"] == f"{bundle}.voip"


@pytest.mark.parametrize(("configured", "own"), [("sandbox", "production"), ("production", "sandbox")])
def test_a_token_of_the_other_environment_is_tried_there_and_remembered(apns, make_server, make_world, configured, own):
    world, fake = make_world(make_server(*push_options(apns, configured))), apns
    fake.device(token(1), environment=own)
    taro, hanako = App(world, 11), App(world, 10, online=False)
    put(hanako, voipDeviceToken=token(1))
    taro.call(10)
    eventually(lambda: [push["environment"] for push in fake.pushes(token(1))] == [configured, own])
    taro.hang_up(10)
    eventually(lambda: taro.rest.log("11-10")["state"] == "ended")
    taro.call(10, samples.FIREFOX_OFFER)
    eventually(lambda: len(fake.pushes(token(1))) == 3)
    assert fake.pushes(token(1))[2]["environment"] == own


def test_the_payload_has_both_pairs_of_keys(push_world):
    world, fake = push_world
    taro, hanako = App(world, 11), App(world, 10, online=False)
    put(hanako, voipDeviceToken=token(1))
    taro.emit("offer", {"to": 10, "sdp": samples.OFFER, "displayName": "山田太郎"})
    payload = pushed(fake, token(1))["payload"]
    assert (payload["callerId"], payload["callerName"]) == ("11", "山田太郎")
    assert (payload["fromUserId"], payload["fromDisplayName"]) == ("11", "山田太郎")


def test_an_offer_with_m_video_0_begins_a_voice_call(push_world):
    world, fake = push_world
    taro, hanako, asleep = App(world, 11), App(world, 10), App(world, 12, online=False)
    put(asleep, voipDeviceToken=token(1))
    assert "m=video 0" in samples.VIDEO_REJECTED_OFFER
    taro.emit("offer", {"to": 10, "sdp": samples.VIDEO_REJECTED_OFFER})
    assert hanako.expect("offer")["hasVideo"] is False
    taro.emit("offer", {"to": 12, "sdp": samples.VIDEO_REJECTED_OFFER})
    assert pushed(fake, token(1))["payload"]["hasVideo"] is False


@pytest.mark.parametrize("has_video", [True, False])
def test_has_video_reaches_the_callee_unchanged(push_world, has_video):
    world, fake = push_world
    taro, hanako, asleep = App(world, 11), App(world, 10), App(world, 12, online=False)
    put(asleep, voipDeviceToken=token(1))
    # The client's `hasVideo` contradicts its description, and takes precedence.
    sdp = samples.OFFER if has_video else samples.VIDEO_OFFER
    taro.emit("offer", {"to": 10, "sdp": sdp, "hasVideo": has_video})
    assert hanako.expect("offer")["hasVideo"] is has_video
    assert hanako.rest.log("11-10")["offer"]["hasVideo"] is has_video
    taro.emit("offer", {"to": 12, "sdp": sdp, "hasVideo": has_video})
    assert pushed(fake, token(1))["payload"]["hasVideo"] is has_video


def test_after_the_token_expired_the_device_still_rings(push_world):
    """Registrations remain after the token has expired, so the device is pushed.

    The refusal of the connection names the reason. The push's `act` authorises the requests that the call needs.
    """
    world, fake = push_world
    taro, hanako = App(world, 11), App(world, 10)
    put(hanako, voipDeviceToken=token(1))
    hanako.leave()
    old = world.token(None, uid=10, ttl=-3600)
    refused = App(world, 10, token=old, online=False, register=None, reconnection=False)
    refused.start()
    why = refused.wait(lambda said: "refused" in said)["refused"]
    assert why["data"]["code"] == "token_expired" and "expired" in why["message"]
    taro.call(10)
    act = pushed(fake, token(1))["payload"]["act"]
    expired = refused.rest
    assert expired.get("/api/calls/signal/11-10").status_code == 401
    expired.http.headers["Authorization"] = f"Ring {act}"
    assert expired.log("11-10")["offer"]["sdp"] == samples.OFFER
    fresh = App(world, 10)
    fresh.expect("offer")
    fresh.answer(11)
    taro.expect("answer")


def test_no_push_for_a_call_that_has_ended(push_world):
    world, fake = push_world
    fake.script(token(1), [{"status": 503, "reason": "ServiceUnavailable"}] * 8)
    device = register(world, "20", number=2)
    taro, hanako = App(world, 11), App(world, 10, online=False)
    put(hanako, voipDeviceToken=token(1))
    taro.call(10)
    eventually(lambda: fake.pushes(token(1)))
    assert taro.ask("call-end", {"to": 10})["ok"]
    count = len([event for event in timeline(hanako) if event["event"] == "push.sent"])
    taro.emit("offer", {"to": 20, "sdp": samples.OFFER})
    pushed(fake, device)
    assert fake.wait_for_push(token(1), after=count, timeout=1.5) is None
    # A device that still receives the push late can find out immediately that the call has ended.
    assert hanako.rest.log("11-10")["state"] == "ended"


def timeline(app: App, call_id="11-10") -> list[dict]:
    return app.rest.get(f"/api/calls/{call_id}/timeline").json()["events"]


def test_the_timeline_shows_why_a_device_did_not_ring(push_world):
    world, fake = push_world
    fake.script(token(1), [{"status": 400, "reason": "DeviceTokenNotForTopic", "always": True}])
    taro, hanako = App(world, 11), App(world, 10)
    put(hanako, voipDeviceToken=token(1))
    hanako.suspend()
    taro.call(10)
    eventually(lambda: fake.pushes(token(1)))
    eventually(lambda: any(event["event"] == "push.result" for event in timeline(hanako)))
    told = [event["event"] for event in timeline(hanako)]
    for event in ("offer", "delivered.socket", "probe", "probe.failed", "push.sent", "push.result"):
        assert event in told
    result = next(event for event in timeline(hanako) if event["event"] == "push.result")
    assert (result["status"], result["reason"]) == (400, "DeviceTokenNotForTopic")
    hanako.resume()

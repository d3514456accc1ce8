"""An app without a device id renews its token, and the server still treats it as the same device.

Either its connection stays open under the old token, or it reconnects under the new token during a call.
"""

import time

import pytest
import samples
from push_services import pushed, token
from sio_app import WAYS, App
from test_chutalk import talk
from test_chutalk_pushes import put

WAY = pytest.mark.parametrize("way", WAYS)


def renew(app: App) -> str:
    """Gives the app's requests a new token and returns it; its connection stays open under the old one."""
    fresh = app.world.token(None, uid=app.user, u=f"User {app.user}", exp=int(time.time()) + 7200)
    app.rest.http.headers["Authorization"] = f"Bearer {fresh}"
    return fresh


@WAY
def test_requests_under_a_renewed_token_belong_to_the_device_with_the_open_socket(world, way):
    taro, hanako = App(world, 11, way), App(world, 10, way)
    renew(taro), renew(hanako)
    taro.call(10)
    hanako.expect("offer")
    # The answer comes by both ways, first by the request.
    hanako.answer_by_rest("11-10", 11)
    assert hanako.ask("answer", {"to": 11, "sdp": samples.ANSWER})["ok"]
    assert taro.expect("answer")["sdp"] == samples.ANSWER
    taro.ice(10, samples.CANDIDATES[0]), hanako.ice(11, samples.CANDIDATES[1])
    assert hanako.expect("ice")["candidate"] == samples.CANDIDATES[0]
    assert taro.expect("ice")["candidate"] == samples.CANDIDATES[1]
    assert hanako.events("call-ended") == [] and taro.events("call-ended") == []
    assert len(hanako.events("offer")) == 1 and len(taro.rest.get("/api/calls").json()) == 1
    taro.hang_up(10)
    assert hanako.expect("call-ended")["reason"] == "hangup"


def test_offer_and_answer_by_socket_and_then_by_rest_count_once(world):
    taro, hanako = App(world, 11), App(world, 10)
    renew(taro), renew(hanako)
    assert taro.ask("offer", {"to": 10, "sdp": samples.OFFER})["ok"]
    body = {"callId": "11-10", "action": "offer", "data": {"sdp": samples.OFFER, "type": "offer"}}
    assert taro.rest.post("/api/calls/signal", body).json()["epoch"] == 1
    hanako.expect("offer")
    assert hanako.ask("answer", {"to": 11, "sdp": samples.ANSWER})["ok"]
    hanako.answer_by_rest("11-10", 11)
    assert taro.poll("11-10", "answer", seconds=0)["sdp"] == samples.ANSWER
    assert taro.rest.delete("/api/calls/signal/11-10").status_code == 200
    assert hanako.expect("call-ended")["reason"] == "hangup"


@WAY
@pytest.mark.parametrize("who", ["caller", "callee"])
def test_a_device_that_reconnects_under_a_renewed_token_keeps_its_call(world, way, who):
    taro, hanako = App(world, 11, way), App(world, 10, way)
    talk(taro, hanako)
    one, other = (taro, hanako) if who == "caller" else (hanako, taro)
    one.fence()
    one.kill()
    back = App(world, one.user, way, token=renew(one))
    other.ice(back.user, samples.CANDIDATES[0])
    assert back.expect("ice")["candidate"] == samples.CANDIDATES[0]
    back.ice(other.user, samples.CANDIDATES[1])
    assert other.expect("ice")["candidate"] == samples.CANDIDATES[1]
    assert back.events("call-ended") == [] and back.events("offer") == []
    other.hang_up(back.user)
    assert back.expect("call-ended")["reason"] == "hangup"


@pytest.mark.parametrize("who", ["caller", "callee"])
def test_a_device_that_changes_networks_under_a_renewed_token_keeps_its_call(world, who):
    taro, hanako = App(world, 11), App(world, 10)
    one, other = (taro, hanako) if who == "caller" else (hanako, taro)
    put(one, voipDeviceToken=token(1))
    talk(taro, hanako)
    one.fence()
    one.suspend()  # Its old connection is now half open, but the server does not know that yet.
    back = App(world, one.user, token=renew(one))
    other.ice(back.user, samples.CANDIDATES[0])
    assert back.expect("ice")["candidate"] == samples.CANDIDATES[0]
    back.ice(other.user, samples.CANDIDATES[1])
    assert other.expect("ice")["candidate"] == samples.CANDIDATES[1]
    other.hang_up(back.user)
    assert back.expect("call-ended")["reason"] == "hangup"
    one.resume()


def test_a_woken_device_that_answered_under_its_old_token_keeps_its_call_under_the_new_one(world):
    taro, hanako = App(world, 11), App(world, 10, online=False)
    taro.call(10)
    hanako.poll("11-10", "offer")
    hanako.answer_by_rest("11-10", 11)
    taro.expect("answer")
    taro.ice(10, samples.CANDIDATES[0])
    up = App(world, 10, token=renew(hanako))
    assert up.expect("ice")["candidate"] == samples.CANDIDATES[0]
    assert up.events("call-ended") == []


def test_a_users_second_device_is_told_that_the_first_has_answered(world):
    taro, hanako, tablet = App(world, 11), App(world, 10), App(world, 10, token=world.token(None, uid=10, jti="tablet"))
    taro.call(10)
    hanako.expect("offer"), tablet.expect("offer")
    hanako.answer(11)
    assert tablet.expect("call-ended")["reason"] == "answered_elsewhere"
    assert hanako.events("call-ended") == []


def test_a_second_registered_device_is_not_confused_with_the_one_that_answered(push_world):
    world, fake = push_world
    taro, hanako = App(world, 11), App(world, 10, online=False)
    tablet = App(world, 10, token=world.token(None, uid=10, jti="tablet"), online=False)
    put(hanako, voipDeviceToken=token(1)), put(tablet, voipDeviceToken=token(2))
    taro.call(10)
    pushed(fake, token(1)), pushed(fake, token(2))
    hanako.answer_by_rest("11-10", 11)
    taro.expect("answer")
    tablet.start()
    tablet.wait(lambda said: "registered" in said)
    taro.ice(10, samples.CANDIDATES[0])
    assert tablet.events("ice") == [], "the tablet did not answer, so it gets no candidates"
    assert tablet.rest.log("11-10")["reason"] == "answered_elsewhere"
    hanako.start()
    assert hanako.expect("ice")["candidate"] == samples.CANDIDATES[0]

"""The call flows of the app in production (its contract), with the original Socket.IO client library.

The tests with `WAY` run with both Engine.IO versions, with WebSocket only and with polling that is upgraded to
WebSocket.
"""

import pytest
import samples
from push_services import pushed, register
from sio_app import POLLING, WAYS, App

WAY = pytest.mark.parametrize("way", WAYS)


def begin(caller: App, callee: App, sdp=samples.OFFER, **more) -> dict:
    """Makes the caller call; returns the `offer` event that the callee receives."""
    caller.call(callee.user, sdp, **more)
    return callee.expect("offer", **{"from": caller.user})


def talk(caller: App, callee: App, sdp=samples.OFFER, answer=samples.ANSWER):
    begin(caller, callee, sdp)
    callee.answer(caller.user, answer)
    assert caller.expect("answer", **{"from": callee.user})["sdp"] == answer


@pytest.mark.parametrize("way", WAYS | POLLING)
def test_a_call_between_two_online_apps(world, way):
    taro, hanako = App(world, 11, way), App(world, 10, way)
    offer = begin(taro, hanako, samples.VIDEO_OFFER, hasVideo=True)
    assert (offer["from"], offer["sdp"]) == (11, samples.VIDEO_OFFER)
    assert (offer["displayName"], offer["hasVideo"], offer["callId"]) == ("User 11", True, "11-10")
    taro.ice(10, samples.CANDIDATES[0])
    assert hanako.expect("ice") | {"from": 11, "candidate": samples.CANDIDATES[0]} == hanako.heard[-1]["data"]
    hanako.answer(11)
    answer = taro.expect("answer")
    assert (answer["from"], answer["sdp"]) == (10, samples.ANSWER)
    hanako.ice(11, samples.CANDIDATES[1])
    assert taro.expect("ice")["candidate"] == samples.CANDIDATES[1]
    taro.hang_up(10)
    ended = hanako.expect("call-ended")
    assert (ended["from"], ended["reason"]) == (11, "hangup")
    assert len(hanako.events("offer")) == 1, "the call rang once"
    assert len(taro.events("answer")) == 1, "the answer came twice and counts once"
    assert taro.events("call-ended") == [], "the app that hangs up is not notified"
    expected = "polling" if way in POLLING else "websocket"
    assert (taro.transport(), hanako.transport()) == (expected, expected)


@WAY
def test_a_callee_that_was_killed_is_pushed_and_answers(push_world, way):
    world, fake = push_world
    device = register(world, "10")
    taro, hanako = App(world, 11, way), App(world, 10, way)
    hanako.kill()
    taro.call(10)
    payload = pushed(fake, device)["payload"]
    assert (payload["callId"], payload["callerId"]) == ("11-10", "11")
    woken = App(world, 10, way, token=hanako.token)
    assert woken.poll("11-10", "offer")["sdp"] == samples.OFFER
    assert woken.expect("offer")["sdp"] == samples.OFFER, "the offer comes over the socket, too"
    woken.answer(11)
    assert taro.expect("answer")["sdp"] == samples.ANSWER
    assert len(fake.pushes(device)) == 1


@WAY
def test_a_woken_callee_answers_before_its_socket_is_up(push_world, way):
    world, fake = push_world
    device = register(world, "10")
    taro, hanako = App(world, 11, way), App(world, 10, way, online=False)
    taro.call(10)
    for candidate in samples.CANDIDATES[:3]:
        taro.ice(10, candidate)
    taro.fence()
    pushed(fake, device)
    hanako.poll("11-10", "offer")
    hanako.answer_by_rest("11-10", 11)
    assert taro.expect("answer")["sdp"] == samples.ANSWER
    hanako.start()
    for candidate in samples.CANDIDATES[:3]:
        hanako.expect("ice", candidate=candidate)
    hanako.emit("answer", {"to": 11, "sdp": samples.ANSWER})
    hanako.ice(11, samples.CANDIDATES[4])
    assert taro.expect("ice")["candidate"] == samples.CANDIDATES[4]
    assert hanako.events("offer") == [], "a call that the app has answered does not ring again"
    assert len(taro.events("answer")) == 1


@WAY
def test_an_answer_by_rest_alone_reaches_the_caller(world, way):
    taro, hanako = App(world, 11, way), App(world, 10, way, online=False)
    taro.call(10)
    hanako.poll("11-10", "offer")
    hanako.answer_by_rest("11-10", 11)
    assert taro.expect("answer")["from"] == 10
    assert taro.rest.log("11-10")["answer"]["sdp"] == samples.ANSWER


@WAY
def test_a_caller_whose_socket_died_polls_for_the_answer(world, way):
    taro, hanako = App(world, 11, way), App(world, 10, way)
    begin(taro, hanako)
    taro.kill()
    hanako.emit("answer", {"to": 11, "sdp": samples.ANSWER})
    assert taro.poll("11-10", "answer")["sdp"] == samples.ANSWER


@WAY
@pytest.mark.parametrize("who", ["caller", "callee"])
@pytest.mark.parametrize("when", ["ringing", "answered"])
def test_a_hang_up_reaches_the_other_app_with_its_reason(world, way, who, when):
    taro, hanako = App(world, 11, way), App(world, 10, way)
    begin(taro, hanako)
    if when == "answered":
        hanako.answer(11)
        taro.expect("answer")
    one, other = (taro, hanako) if who == "caller" else (hanako, taro)
    one.hang_up(other.user)
    reason = "hangup" if when == "answered" else "cancelled" if who == "caller" else "declined"
    ended = other.expect("call-ended")
    assert (ended["from"], ended["reason"]) == (one.user, reason)
    assert one.rest.log("11-10")["reason"] == reason


@pytest.mark.parametrize("by", ["post", "delete"])
def test_a_hang_up_over_rest_reaches_the_other_app(world, by):
    taro, hanako = App(world, 11), App(world, 10)
    talk(taro, hanako)
    if by == "post":
        assert taro.rest.post("/api/calls/signal/11-10", {"action": "end", "data": {}}).status_code == 200
    else:
        assert taro.rest.delete("/api/calls/signal/11-10").status_code == 200
    assert hanako.expect("call-ended")["from"] == 11


@WAY
def test_a_callers_next_call_with_the_same_call_id_is_a_new_call(world, way):
    taro, hanako = App(world, 11, way), App(world, 10, way)
    for number in range(1, 4):
        sdp, answer = samples.changed(samples.OFFER, str(number)), samples.changed(samples.ANSWER, str(number))
        taro.call(10, sdp)
        offer = hanako.expect("offer")
        assert (offer["sdp"], offer["callId"], offer["epoch"]) == (sdp, "11-10", number)
        assert taro.rest.log("11-10")["answer"] is None, "nothing of an earlier call is shown"
        hanako.answer(11, answer)
        assert taro.expect("answer")["sdp"] == answer
        taro.hang_up(10)
        hanako.expect("call-ended", epoch=number)
    assert len(hanako.events("offer")) == 3


def test_calling_again_right_after_hanging_up_begins_a_new_call(world):
    taro, hanako = App(world, 11), App(world, 10)
    talk(taro, hanako)
    taro.hang_up(10)
    taro.emit("offer", {"to": 10, "sdp": samples.FIREFOX_OFFER})
    assert hanako.expect("call-ended")["epoch"] == 1
    assert hanako.expect("offer")["epoch"] == 2
    assert taro.events("call-ended") == []


def test_calling_again_without_hanging_up_replaces_the_call(world):
    taro, hanako = App(world, 11), App(world, 10)
    talk(taro, hanako)
    taro.emit("offer", {"to": 10, "sdp": samples.FIREFOX_OFFER})
    assert hanako.expect("call-ended")["reason"] == "replaced"
    assert hanako.expect("offer")["epoch"] == 2
    assert taro.events("call-ended") == []
    assert [event["reason"] for event in taro.events("call-replaced")] == ["replaced"]


def test_two_users_who_call_each_other_at_once_have_one_call(world):
    taro, hanako = App(world, 11), App(world, 10)
    taro.emit("offer", {"to": 10, "sdp": samples.OFFER})
    hanako.emit("offer", {"to": 11, "sdp": samples.FIREFOX_OFFER})
    assert taro.expect("offer")["callId"] == "10-11"
    assert taro.expect("call-replaced")["replacedBy"] == "10-11"
    taro.answer(10)
    assert hanako.expect("answer")["callId"] == "10-11"
    assert taro.events("call-ended") == [] and hanako.events("call-ended") == []


@WAY
def test_the_double_offer_is_one_call_and_one_push(push_world, way):
    world, fake = push_world
    device = register(world, "10")
    taro = App(world, 11, way)
    taro.call(10)
    # Newer builds of the app send the offer with the callId.
    again = taro.ask("offer", {"to": 10, "sdp": samples.OFFER, "callId": "11-10"})
    assert (again["ok"], again["epoch"], again["seq"]) == (True, 1, 1)
    pushed(fake, device)
    history = taro.rest.get("/api/calls").json()
    assert len(history) == 1
    assert len(fake.pushes(device)) == 1


@WAY
def test_a_client_that_reconnects_gets_what_it_missed_and_nothing_twice(world, way):
    taro, hanako = App(world, 11, way), App(world, 10, way)
    talk(taro, hanako)
    hanako.ice(11, samples.CANDIDATES[0])
    taro.expect("ice")
    taro.fence()
    taro.kill()
    hanako.ice(11, samples.CANDIDATES[1])
    hanako.fence()
    back = App(world, 11, way, token=taro.token)
    assert back.expect("ice")["candidate"] == samples.CANDIDATES[1]
    assert back.events("answer") == [], "the app had received the answer before"
    assert len(back.events("ice")) == 1

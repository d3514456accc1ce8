"""Ringing times out, and so does a call with a side that has lost its connection (protocol, sections 4 and 6)."""

import time

import pytest
import samples
from commands import wait_for


@pytest.fixture
def world(make_server, make_world):
    return make_world(make_server("--ring-timeout", 1, "--disconnect-grace", 1))


def test_an_unanswered_call_ends_as_unanswered_for_both_sides(world):
    taro, hanako, tablet = world.connect("11"), world.connect("10", "phone"), world.connect("10", "tablet")
    began = time.monotonic()
    taro.ring("10", "c-1")
    for connection in (taro, hanako, tablet):
        ended = connection.expect(type="call", state="ended", callId="c-1", seconds=5)
        assert ended["reason"] == "unanswered"
    assert 0.9 <= time.monotonic() - began < 3
    assert world.rest("11").log("c-1")["reason"] == "unanswered"


def test_a_call_rung_over_rest_ends_too(world):
    world.rest("11").signal("offer", "c-1", sdp=samples.OFFER, to="10")
    hanako = world.rest("10")
    log = hanako.log("c-1")
    log = hanako.log("c-1", since=log["next"], wait=5)
    assert (log["state"], log["reason"]) == ("ended", "unanswered")


def test_an_answer_after_the_ring_timeout_is_refused(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring("10", "c-1")
    hanako.expect(type="call", state="ended")
    assert hanako.refused(type="answer", callId="c-1", sdp=samples.ANSWER)["code"] == "call_ended"


def test_the_ring_timeout_does_not_end_an_answered_call(world):
    taro, hanako = world.call("c-1")
    # A call that begins later runs out first.
    later = world.connect("12")
    later.ring("13", "c-2")
    assert later.expect(type="call", callId="c-2", state="ended")["reason"] == "unanswered"
    taro.ask(type="info", callId="c-1", data=1)
    hanako.expect(type="info")
    assert world.rest("11", device="phone-11").log("c-1")["state"] == "answered"


def test_an_offer_may_set_its_own_ring_time(world):
    taro, hanako = world.connect("11"), world.connect("10")
    before = time.time() * 1000
    taro.ring("10", "c-1", ringTimeout=30)
    assert hanako.expect(type="offer")["ringUntil"] >= before + 29_000


def test_a_side_gone_longer_than_its_grace_is_disconnected(world):
    taro, hanako = world.call("c-1")
    hanako.close()
    ended = taro.expect(type="call", state="ended", seconds=6)
    assert ended["reason"] == "disconnected"


@pytest.mark.parametrize("who", ["caller", "callee"])
def test_a_side_whose_app_has_lost_the_call_ends_it_as_disconnected(world, who):
    taro, hanako = world.call("c-1")
    ender, peer = (taro, hanako) if who == "caller" else (hanako, taro)
    ender.ask(type="end", callId="c-1", reason="disconnected")
    assert peer.expect(type="call", state="ended")["reason"] == "disconnected"
    user = "11" if who == "caller" else "10"
    wait_for(world, "c-1", f"because the app of {user} was restarted and had lost the call")


def test_a_caller_whose_app_has_lost_a_ringing_call_has_cancelled_it(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring("10", "c-1")
    taro.ask(type="end", callId="c-1", reason="disconnected")
    assert hanako.expect(type="call", state="ended")["reason"] == "cancelled"


def test_a_side_that_reconnects_within_its_grace_stays_in_the_call(make_server, make_world):
    world = make_world(make_server("--disconnect-grace", 3))
    taro, hanako = world.call("c-1")
    for _ in range(3):
        hanako.close()
        hanako = world.connect("10", "phone-10")
    # The grace of a side that leaves later, and does not come back, is over first.
    ichiro, jiro = world.call("c-2", "12", "13")
    jiro.close()
    assert ichiro.expect(type="call", callId="c-2", state="ended")["reason"] == "disconnected"
    taro.ask(type="info", callId="c-1", data=1)
    hanako.expect(type="info")
    assert not [message for message in taro.fence() if message.get("state") == "ended"]


def test_a_side_that_polls_over_rest_is_not_gone(world):
    taro = world.connect("11")
    hanako = world.rest("10")
    taro.ring("10", "c-1")
    hanako.signal("answer", "c-1", sdp=samples.ANSWER)
    began = time.monotonic()
    while time.monotonic() - began < 2.5:
        assert hanako.log("c-1")["state"] == "answered"
        time.sleep(0.2)

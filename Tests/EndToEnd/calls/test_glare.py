"""Glare: two users call each other at the same time (protocol, sections 5.2 and 7.2)."""

import pytest
import samples


@pytest.mark.parametrize("first, second", [("a", "b"), ("b", "a")])
def test_the_smaller_call_id_wins_whichever_came_first(world, first, second):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, first)
    hanako.ring(taro, second)
    winner, loser = sorted([first, second])
    for connection in (taro, hanako):
        connection.fence()
    losers_caller = taro if first == loser else hanako
    ended = losers_caller.expect(type="call", callId=loser, state="ended")
    assert (ended["reason"], ended["replacedBy"]) == ("glare", winner)
    assert world.rest("11").log(winner)["state"] == "ringing"
    lost = world.rest("11").log(loser)
    assert (lost["state"], lost["reason"]) == ("ended", "glare")


def test_a_losing_offer_over_rest_is_accepted_and_names_the_winning_call(world):
    taro, hanako = world.rest("11"), world.rest("10")
    taro.signal("offer", "a", sdp=samples.OFFER, to="10")
    response = hanako.signal("offer", "b", sdp=samples.OFFER, to="11")
    assert response.status_code == 200
    body = response.json()
    assert (body["state"], body["reason"], body["replacedBy"]) == ("ended", "glare", "a")


def test_the_losing_caller_answers_the_winning_call(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, "a")
    hanako.ring(taro, "b")
    hanako.expect(type="call", callId="b", state="ended")
    hanako.expect(type="offer", callId="a")
    hanako.ask(type="answer", callId="a", sdp=samples.ANSWER)
    assert taro.expect(type="answer", callId="a")["sdp"] == samples.ANSWER


def test_call_ids_are_compared_by_bytes(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, "a")
    hanako.ring(taro, "B")
    assert taro.expect(type="call", callId="a", state="ended")["replacedBy"] == "B"


def test_the_room_names_of_the_two_directions_are_the_same_pair(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, "11-10", room="p2p:11-10")
    hanako.ring(taro, "10-11", room="p2p:10-11")
    assert taro.expect(type="call", callId="11-10", state="ended")["replacedBy"] == "10-11"


def test_two_calls_in_the_same_direction_are_no_glare_and_the_later_one_replaces_the_first(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, "a")
    taro.ring(hanako, "b")
    assert {hanako.expect(type="offer")["callId"], hanako.expect(type="offer")["callId"]} == {"a", "b"}
    assert world.rest("10").log("a")["reason"] == "replaced"
    assert world.rest("10").log("b")["state"] == "ringing"


def test_an_answered_call_takes_no_part_in_a_glare(world):
    taro, hanako = world.call("b")
    hanako.ask(type="offer", callId="a", to="11", sdp=samples.OFFER)
    assert world.rest("11", device="phone-11").log("b")["state"] == "answered"


def test_calls_of_other_pairs_take_no_part_in_a_glare(world):
    taro, hanako, ichiro = world.connect("11"), world.connect("10"), world.connect("12")
    taro.ring(hanako, "b")
    hanako.ring(ichiro, "a")
    assert world.rest("11").log("b")["state"] == world.rest("12").log("a")["state"] == "ringing"

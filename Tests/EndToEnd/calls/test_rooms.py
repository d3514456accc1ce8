"""Joining and leaving rooms without a call (protocol, sections 1.4 and 3.7)."""

import pytest
import samples

CLAIM = {"rooms": ["room:tea", "room:sake"]}


def test_members_hear_of_each_arrival_and_departure(world):
    taro, hanako = world.connect("11", "t", claims=CLAIM), world.connect("10", "h", claims=CLAIM)
    taro.ask(type="join", room="room:tea")
    hanako.ask(type="join", room="room:tea")
    came = taro.expect(type="peer", user="10")
    assert came == came | {"room": "room:tea", "user": "10", "device": "h", "present": True}
    hanako.ask(type="leave", room="room:tea")
    went = taro.expect(type="peer", user="10", present=False)
    assert (went["room"], went["device"]) == ("room:tea", "h")


def test_the_two_people_of_a_pair_may_join_its_room(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ask(type="join", room="p2p:11-10")
    hanako.ask(type="join", room="p2p:11-10")
    assert taro.expect(type="peer", user="10")["present"] is True


def test_other_rooms_hear_nothing(world):
    taro, hanako = world.connect("11", claims=CLAIM), world.connect("10", claims=CLAIM)
    taro.ask(type="join", room="room:sake")
    hanako.ask(type="join", room="room:tea")
    assert not [message for message in taro.fence() if message["type"] == "peer" and message["user"] == "10"]


def test_a_user_who_left_a_room_hears_no_more_of_it(world):
    taro, hanako = world.connect("11", claims=CLAIM), world.connect("10", claims=CLAIM)
    taro.ask(type="join", room="room:tea")
    taro.ask(type="leave", room="room:tea")
    taro.fence()
    taro.heard.clear()
    hanako.ask(type="join", room="room:tea")
    taro.fence()
    assert not [message for message in taro.heard if message["type"] == "peer"]


@pytest.mark.parametrize("room", ["room:whisky", "p2p:12-13", "p2p:1-10"])
def test_rooms_of_other_users_and_groups_outside_the_token_are_forbidden(world, room):
    assert world.connect("11", claims=CLAIM).refused(type="join", room=room)["code"] == "forbidden"


def test_without_the_rooms_claim_every_group_room_is_forbidden(world):
    assert world.connect("11").refused(type="join", room="room:tea")["code"] == "forbidden"


def test_a_call_in_a_group_room_is_forbidden(world):
    connection = world.connect("11", claims=CLAIM)
    assert connection.refused(type="offer", callId="c-1", room="room:tea", sdp=samples.OFFER)["code"] == "forbidden"


def test_a_pair_room_that_names_one_user_twice_is_refused(world):
    taro = world.connect("11")
    for kind in ("join", "leave"):
        refused = taro.refused(type=kind, room="p2p:11-11")
        assert (refused["code"], refused["field"]) == ("invalid_field", "room")


def test_each_member_of_a_pair_room_hears_the_name_that_it_used(world):
    taro, hanako = world.connect("11"), world.connect("10", "tablet")
    taro.ask(type="join", room="p2p:11-10")
    hanako.ask(type="join", room="p2p:10-11")
    assert taro.expect(type="peer", user="10")["room"] == "p2p:11-10"
    assert hanako.expect(type="peer", user="11")["room"] == "p2p:10-11"
    hanako.close()
    gone = taro.expect(type="peer", user="10", present=False)
    assert (gone["room"], gone["device"]) == ("p2p:11-10", "tablet")


def test_both_names_of_a_pair_room_mean_the_same_room(world):
    taro, hanako = world.connect("11"), world.connect("10")
    hanako.ask(type="join", room="p2p:10-11")
    taro.ask(type="join", room="p2p:11-10")
    taro.ask(type="join", room="p2p:10-11")
    taro.ask(type="leave", room="p2p:10-11")
    hanako.fence()
    told = [message["present"] for message in hanako.heard if message["type"] == "peer"]
    assert told == [True, False]


def test_join_without_a_room_is_an_invalid_field(world):
    assert world.connect("11").refused(type="join")["code"] == "invalid_field"

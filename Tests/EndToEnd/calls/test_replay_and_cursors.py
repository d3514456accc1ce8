"""A reconnect, a cold start and a second device all read the log from a cursor (protocol, sections 0, 3 and 5)."""

import samples
from connection import signals


def test_an_offer_sent_while_the_callee_was_away_is_replayed_after_the_welcome(world):
    taro = world.connect("11")
    taro.ring("10", "c-1", sdp=samples.VIDEO_OFFER)
    for candidate in samples.CANDIDATES:
        taro.ask(type="ice", callId="c-1", candidate=candidate)
    hanako = world.connect("10")
    hanako.fence()
    assert hanako.heard[0]["type"] == "welcome"
    assert hanako.expect(type="offer")["sdp"] == samples.VIDEO_OFFER
    assert [m["candidate"] for m in hanako.heard if m["type"] == "ice"] == samples.CANDIDATES
    numbers = [message["seq"] for message in signals(hanako.heard, "c-1")]
    assert numbers == sorted(set(numbers))


def test_an_answer_sent_while_the_caller_was_away_is_replayed(world):
    taro, hanako = world.connect("11", "iphone-a"), world.connect("10")
    taro.ring(hanako, "c-1")
    taro.close()
    hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    hanako.ask(type="ice", callId="c-1", candidate=samples.CANDIDATES[0])
    again = world.connect("11", "iphone-a")
    assert again.expect(type="answer")["sdp"] == samples.ANSWER
    assert again.expect(type="ice")["candidate"] == samples.CANDIDATES[0]


def test_a_replayed_signal_is_the_same_object_as_the_live_one(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, "c-1", x="mine")
    live = hanako.expect(type="offer")
    assert world.connect("10").expect(type="offer") == live


def test_an_ended_call_is_not_replayed(world):
    taro = world.connect("11")
    taro.ring("10", "c-1")
    taro.ask(type="end", callId="c-1")
    hanako = world.connect("10")
    hanako.fence()
    assert not [message for message in hanako.heard if message["type"] == "offer"]


def test_only_the_users_own_live_calls_are_replayed(world):
    world.connect("11").ring("10", "c-1")
    world.connect("12").ring("10", "c-2")
    world.connect("13").ring("14", "c-3")
    hanako = world.connect("10")
    hanako.fence()
    assert {message["callId"] for message in hanako.heard if message["type"] == "offer"} == {"c-1", "c-2"}


def test_sync_replays_from_the_cursors_given(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, "c-1")
    acks = [taro.ask(type="ice", callId="c-1", candidate=samples.candidate(n)) for n in range(6)]
    hanako.fence()
    hanako.heard.clear()
    hanako.inbox.clear()
    hanako.ask(type="sync", calls={"c-1": acks[2]["seq"]})
    heard = signals(hanako.heard, "c-1")
    assert [m["candidate"] for m in heard if m["type"] == "ice"] == [samples.candidate(n) for n in (3, 4, 5)]
    assert not [m for m in heard if m["type"] == "offer"]


def test_sync_takes_a_cursor_with_its_epoch(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, "c-1")
    acks = [taro.ask(type="ice", callId="c-1", candidate=samples.candidate(n)) for n in range(3)]
    hanako.fence()
    hanako.heard.clear()
    hanako.ask(type="sync", calls={"c-1": {"epoch": 1, "seq": acks[1]["seq"]}})
    assert [m["candidate"] for m in hanako.heard if m["type"] == "ice"] == [samples.candidate(2)]
    hanako.heard.clear()
    hanako.ask(type="sync", calls={"c-1": {"epoch": 7, "seq": acks[1]["seq"]}})
    assert len([m for m in hanako.heard if m["type"] == "ice"]) == 3, "a cursor of another epoch counts as 0"


def test_sync_by_a_third_party_shows_nothing(world):
    world.connect("11").ring("10", "c-1")
    third = world.connect("12")
    third.send(type="sync", id="s", calls={"c-1": 0, "c-unknown": 0})
    third.reply_to("s")
    assert not signals(third.heard, "c-1")


def test_a_second_device_that_comes_late_rings_too(world):
    taro, hanako = world.connect("11"), world.connect("10", "phone")
    taro.ring(hanako, "c-1")
    tablet = world.connect("10", "tablet")
    assert tablet.expect(type="offer")["callId"] == "c-1"


def test_a_device_that_did_not_answer_is_not_shown_the_answered_legs_signals(world):
    taro, hanako = world.call("c-1")
    taro.ask(type="ice", callId="c-1", candidate=samples.CANDIDATES[0])
    tablet = world.connect("10", "tablet")
    tablet.fence()
    assert not [message for message in tablet.heard if message["type"] in ("ice", "answer")]


def test_no_signal_is_lost_between_two_connections_of_one_device(world):
    taro, hanako = world.call("c-1")
    sent = []
    for round_number in range(5):
        for number in range(4):
            taro.ask(type="ice", callId="c-1", candidate=samples.candidate(10 * round_number + number))
        hanako.drop()
        taro.ask(type="ice", callId="c-1", candidate=samples.candidate(10 * round_number + 9))
        sent += [samples.candidate(10 * round_number + number) for number in (0, 1, 2, 3, 9)]
        hanako = world.connect("10", "phone-10")
        hanako.fence()
        assert [message["candidate"] for message in hanako.heard if message["type"] == "ice"] == sent


def test_each_state_change_is_a_log_entry_with_a_seq(world):
    taro, hanako = world.call("c-1")
    taro.ask(type="connected", callId="c-1")
    hanako.expect(type="call", state="active")
    taro.fence()
    for connection in (taro, hanako):
        numbers = [(message["epoch"], message["seq"]) for message in signals(connection.heard, "c-1")]
        assert numbers == sorted(set(numbers))

"""Signals reach the peer unchanged and in order, with the members that the server adds (protocol, section 3)."""

import json
import time
import uuid

import pytest
import samples
from connection import signals


def test_a_whole_call_over_the_websocket_in_room_p2p_11_10(world):
    taro, hanako = world.connect("11", "iphone-a", claims={"name": "Taro"}), world.connect("10", "iphone-b")
    began = int(time.time() * 1000)
    ack = taro.ask(type="offer", callId="c-1", room="p2p:11-10", sdp=samples.VIDEO_OFFER, displayName="山田太郎")
    offer = hanako.expect(type="offer")
    assert offer["sdp"] == samples.VIDEO_OFFER
    assert (offer["from"], offer["fromDevice"]) == ("11", "iphone-a")
    assert (offer["room"], offer["callId"], offer["epoch"]) == ("p2p:11-10", "c-1", 1)
    assert offer["displayName"] == "山田太郎"
    assert offer["seq"] == ack["seq"] == 1
    assert began - 1000 <= offer["ts"] <= int(time.time() * 1000) + 1000

    hanako.ask(type="ringing", callId="c-1")
    assert taro.expect(type="ringing")["from"] == "10"
    for candidate in samples.CANDIDATES:
        taro.ask(type="ice", callId="c-1", candidate=candidate)
    heard = [hanako.expect(type="ice")["candidate"] for _ in samples.CANDIDATES]
    assert heard == samples.CANDIDATES

    hanako.ask(type="answer", callId="c-1", sdp=samples.VIDEO_ANSWER)
    answer = taro.expect(type="answer")
    assert answer["sdp"] == samples.VIDEO_ANSWER
    answered = taro.expect(type="call", state="answered")
    assert answered["answeredBy"] == {"user": "10", "device": "iphone-b"}
    hanako.ask(type="ice", callId="c-1", candidate=samples.CANDIDATES[0])
    assert taro.expect(type="ice")["candidate"] == samples.CANDIDATES[0]

    taro.ask(type="connected", callId="c-1")
    assert taro.expect(type="call", state="active")["callId"] == "c-1"
    assert hanako.expect(type="call", state="active")["callId"] == "c-1"

    hanako.ask(type="end", callId="c-1")
    assert taro.expect(type="end")["from"] == "10"
    ended = taro.expect(type="call", state="ended")
    assert ended["reason"] == "hangup"
    assert hanako.expect(type="call", state="ended")["reason"] == "hangup"
    for connection in (taro, hanako):
        seen = [message["seq"] for message in signals(connection.heard, "c-1")]
        assert seen == sorted(set(seen)), "a receiver's seq only grows"


def test_acks_carry_id_call_seq_and_epoch(world):
    taro, hanako = world.connect("11"), world.connect("10")
    ack = taro.ring(hanako, "c-1", id="my-id")
    assert ack == ack | {"type": "ack", "id": "my-id", "callId": "c-1", "seq": 1, "epoch": 1}


def test_the_server_makes_a_call_id_when_there_is_none(world):
    taro, hanako = world.connect("11"), world.connect("10")
    ack = taro.ring(hanako)
    assert ack["callId"]
    assert hanako.expect(type="offer")["callId"] == ack["callId"]


def test_a_call_by_to_has_the_room_of_caller_and_callee(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, "c-1")
    assert hanako.expect(type="offer")["room"] == "p2p:11-10"


def test_a_call_keeps_the_room_name_that_its_caller_used(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, "c-1", room="p2p:10-11")
    assert hanako.expect(type="offer")["room"] == "p2p:10-11"


@pytest.mark.parametrize("caller, callee", [("a-b", "c"), ("c", "a-b"), ("user-1", "user-2")])
def test_user_ids_may_contain_a_dash(world, caller, callee):
    one, other = world.connect(caller), world.connect(callee)
    one.ring(other, "c-1", room=f"p2p:{caller}-{callee}")
    offer = other.expect(type="offer")
    assert (offer["from"], offer["room"]) == (caller, f"p2p:{caller}-{callee}")


def test_a_room_that_could_be_split_in_two_ways_is_forbidden(world):
    # The name can mean `a` and `b-a`, or `a-b` and `a`. The authenticated user `a` is at both ends of it.
    assert (
        world.connect("a").refused(type="offer", callId="c-1", room="p2p:a-b-a", sdp=samples.OFFER)["code"]
        == "forbidden"
    )


def test_an_integer_user_id_in_json_names_the_same_user(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ask(type="offer", callId="c-1", to=10, sdp=samples.OFFER)
    assert hanako.expect(type="offer")["from"] == "11"


@pytest.mark.parametrize("size", [40 * 1024, 48 * 1024])
def test_a_large_description_arrives_byte_for_byte(world, size):
    taro, hanako = world.connect("11", "phone-11"), world.connect("10", "phone-10")
    offer = samples.padded(samples.VIDEO_OFFER, size)
    taro.ring(hanako, "c-1", sdp=offer)
    assert hanako.expect(type="offer")["sdp"] == offer
    answer = samples.padded(samples.VIDEO_ANSWER, size)
    hanako.ask(type="answer", callId="c-1", sdp=answer)
    assert taro.expect(type="answer")["sdp"] == answer
    assert world.rest("10", device="phone-10").log("c-1")["offer"]["sdp"] == offer
    assert world.rest("11", device="phone-11").log("c-1")["answer"]["sdp"] == answer


TEXTS = {
    "raw-utf8": "山田太郎 ünïcödé 😀 \u200b\ufeff\ufffd\uffff",
    "escaped-utf8": None,
    "surrogate-pairs": r"\ud83d\ude00\uD834\uDD1E",
    "slashes": r"a\/b/c\\d\"e",
    "controls": r"\b\f\n\r\t",
    "line-separators": "\u2028\u2029\u0085\u007f",
    "mixed-case-hex": r"\u00e9\u00E9\u4E2d",
}
TEXTS |= {f"u{number:04x}": f"\\u{number:04x}" for number in range(0x20)}


@pytest.mark.parametrize("name", TEXTS)
def test_a_description_with_any_text_arrives_byte_for_byte(world, name):
    written = TEXTS[name] or json.dumps("山田 😀 é")[1:-1]
    base = json.dumps(samples.OFFER)[1:-1]
    description = f"{base}a=x-text:{written}end\\r\\n"
    wanted = json.loads(f'"{description}"')
    taro, hanako = world.connect("11"), world.connect("10")
    taro.send_raw(f'{{"type":"offer","id":"o","callId":"c-1","to":"10","sdp":"{description}"}}')
    assert taro.reply_to("o")["type"] == "ack"
    assert hanako.expect(type="offer")["sdp"] == wanted
    assert world.rest("10").log("c-1")["offer"]["sdp"] == wanted
    late = world.connect("10", "late")
    assert late.expect(type="offer")["sdp"] == wanted, "a replay must not change the description either"


def test_payload_bytes_are_relayed_and_not_re_encoded(world):
    taro, hanako = world.call("c-1")
    data = r'{"n":1.50e+3,"big":123456789012345678901234567890,"t":"\u0041\/é","a":[ 1 , {"deep":[null,true]} ],"e":{}}'
    taro.send_raw('{"type":"info","id":"i","callId":"c-1","data":' + data + "}")
    assert taro.reply_to("i")["type"] == "ack"
    assert hanako.expect(type="info")["data"] == json.loads(data)
    assert data in hanako.raw[-1]


@pytest.mark.parametrize("data", ["null", "true", "0", '"text"', "[]", "{}", "-1.5e-7", '{"a":{"a":{"a":[[[[1]]]]}}}'])
def test_info_carries_any_json(world, data):
    taro, hanako = world.call("c-1")
    taro.send_raw('{"type":"info","id":"i","callId":"c-1","data":' + data + "}")
    assert taro.reply_to("i")["type"] == "ack"
    message = hanako.expect(type="info")
    assert "data" in message and message["data"] == json.loads(data)


def test_unknown_fields_are_relayed_untouched(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, "c-1", x={"mine": [1, "two", None]}, **{"日本": "語"})
    offer = hanako.expect(type="offer")
    assert offer["x"] == {"mine": [1, "two", None]} and offer["日本"] == "語"


@pytest.mark.parametrize("field", ["from", "fromDevice", "seq", "ts"])
def test_members_that_the_server_adds_cannot_be_forged(world, field):
    taro, hanako = world.call("c-1")
    forged = {"from": "12", "fromDevice": "stolen", "seq": 999999, "ts": 1}[field]
    began = int(time.time() * 1000)
    ack = taro.ask(type="info", callId="c-1", data=1, **{field: forged})
    message = hanako.expect(type="info")
    assert (message["from"], message["fromDevice"], message["seq"]) == ("11", "phone-11", ack["seq"])
    assert ack["seq"] < 100 and began - 1000 <= message["ts"] <= int(time.time() * 1000) + 1000


@pytest.mark.parametrize("candidate", [None, *samples.CANDIDATES])
def test_candidates_arrive_unchanged_also_null(world, candidate):
    taro, hanako = world.call("c-1")
    taro.ask(type="ice", callId="c-1", candidate=candidate)
    message = hanako.expect(type="ice")
    assert "candidate" in message and message["candidate"] == candidate


@pytest.mark.parametrize("fields", [{"hold": True}, {"audioMuted": True, "videoMuted": False}])
def test_updates_reach_the_other_side(world, fields):
    taro, hanako = world.call("c-1")
    hanako.ask(type="update", callId="c-1", **fields)
    assert taro.expect(type="update").items() >= fields.items()


def test_dtmf_reaches_the_other_side(world):
    taro, hanako = world.call("c-1")
    taro.ask(type="dtmf", callId="c-1", digits="0123456789*#,ABCD")
    assert hanako.expect(type="dtmf")["digits"] == "0123456789*#,ABCD"


def test_a_signal_is_not_sent_back_to_its_sender(world):
    taro, hanako = world.call("c-1")
    taro.ask(type="info", callId="c-1", data=1)
    assert not [message for message in taro.fence() if message["type"] == "info"]


def test_hundreds_of_signals_both_ways_arrive_once_and_in_order(world):
    taro, hanako = world.call("c-1")
    count = 150
    for number in range(count):
        taro.send(type="ice", callId="c-1", candidate=samples.candidate(number))
        hanako.send(type="ice", callId="c-1", candidate=samples.candidate(1000 + number))
    # The first two fences wait until the server has received all signals, the other two until each client has them.
    for connection in (taro, hanako, taro, hanako):
        connection.fence()
    for connection, first in ((hanako, 0), (taro, 1000)):
        heard = [message for message in connection.heard if message["type"] == "ice"]
        assert [message["candidate"] for message in heard] == [samples.candidate(first + n) for n in range(count)]
        numbers = [message["seq"] for message in heard]
        assert numbers == sorted(set(numbers))


@pytest.mark.parametrize(
    "description, wanted",
    [
        (samples.OFFER, False),
        (samples.VIDEO_OFFER, True),
        (samples.VIDEO_REJECTED_OFFER, False),
        (samples.FIREFOX_OFFER, True),
    ],
    ids=["audio", "video", "video-rejected", "firefox-video"],
)
def test_has_video_is_read_from_the_description_when_the_offer_does_not_say(world, description, wanted):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, "c-1", sdp=description)
    assert hanako.expect(type="offer")["hasVideo"] is wanted


@pytest.mark.parametrize("said", [True, False])
def test_has_video_is_taken_from_the_offer(world, said):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, "c-1", sdp=samples.OFFER if said else samples.VIDEO_OFFER, hasVideo=said)
    assert hanako.expect(type="offer")["hasVideo"] is said


def test_the_callers_name_comes_from_the_token_when_the_offer_has_none(world):
    taro, hanako = world.connect("11", claims={"name": "山田太郎"}), world.connect("10")
    taro.ring(hanako, "c-1")
    assert hanako.expect(type="offer")["displayName"] == "山田太郎"


def test_a_display_name_over_256_characters_is_cut_at_a_character(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, "c-1", displayName="山" * 400)
    assert hanako.expect(type="offer")["displayName"] == "山" * 256


def test_a_relayed_offer_says_until_when_it_rings(world):
    taro, hanako = world.connect("11"), world.connect("10")
    before = time.time() * 1000
    taro.ring(hanako, "c-1", ringTimeout=60)
    until = hanako.expect(type="offer")["ringUntil"]
    assert before + 60_000 - 1000 <= until <= time.time() * 1000 + 60_000 + 1000


def test_a_ring_lasts_45_seconds_unless_told_otherwise(world):
    taro, hanako = world.connect("11"), world.connect("10")
    before = time.time() * 1000
    taro.ring(hanako, "c-1")
    until = hanako.expect(type="offer")["ringUntil"]
    assert before + 45_000 - 1000 <= until <= time.time() * 1000 + 45_000 + 1000


def test_the_call_uuid_is_the_call_id_when_that_is_a_uuid(world):
    taro, hanako = world.connect("11"), world.connect("10")
    call_id = str(uuid.uuid4()).upper()
    taro.ring(hanako, call_id)
    offer = hanako.expect(type="offer")
    assert offer["callId"] == call_id
    assert offer["callUUID"] == call_id.lower()


def test_any_other_call_id_is_hashed_into_a_version_5_uuid(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, "11-10")
    assert hanako.expect(type="offer")["callUUID"] == str(uuid.uuid5(uuid.NAMESPACE_URL, "ringline:11-10/1"))


def test_the_callee_can_renegotiate_a_live_call(world):
    taro, hanako = world.call("c-1")
    again = samples.changed(samples.OFFER, "restart")
    hanako.ask(type="offer", callId="c-1", sdp=again)
    assert taro.expect(type="offer")["sdp"] == again
    reply = samples.changed(samples.ANSWER, "restart")
    taro.ask(type="answer", callId="c-1", sdp=reply)
    message = hanako.expect(type="answer")
    assert (message["sdp"], message["epoch"]) == (reply, 1)


def test_a_second_offer_to_a_user_in_a_call_is_marked_as_waiting(world):
    taro, hanako, jiro = world.connect("11"), world.connect("10"), world.connect("12")
    taro.ring(hanako, "c-1")
    assert "waiting" not in hanako.expect(type="offer", callId="c-1")
    hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    taro.ask(type="connected", callId="c-1")
    jiro.ring(hanako, "c-2")
    assert hanako.expect(type="offer", callId="c-2")["waiting"] is True


def test_two_calls_of_different_people_do_not_mix(world):
    taro, hanako = world.call("c-1")
    ichiro, jiro = world.call("c-2", "21", "20")
    taro.ask(type="info", callId="c-1", data="one")
    ichiro.ask(type="info", callId="c-2", data="two")
    assert hanako.expect(type="info")["data"] == "one"
    assert jiro.expect(type="info")["data"] == "two"
    for connection in (taro, hanako, ichiro, jiro):
        others = {"c-1": "c-2", "c-2": "c-1"}["c-1" if connection in (taro, hanako) else "c-2"]
        connection.fence()
        assert not signals(connection.heard, others)


def test_the_reason_of_an_end_fits_role_and_state(world):
    taro, hanako = world.call("cancel", answer=False)
    taro.ask(type="end", callId="cancel")
    assert hanako.expect(type="call", state="ended")["reason"] == "cancelled"
    taro.ring(hanako, "decline")
    hanako.ask(type="end", callId="decline")
    assert taro.expect(type="call", state="ended", callId="decline")["reason"] == "declined"
    taro.ring(hanako, "busy")
    hanako.ask(type="end", callId="busy", reason="busy")
    assert taro.expect(type="call", state="ended", callId="busy")["reason"] == "busy"
    taro.ring(hanako, "failed")
    taro.ask(type="end", callId="failed", reason="failed")
    assert hanako.expect(type="call", state="ended", callId="failed")["reason"] == "failed"


@pytest.mark.parametrize(
    "who, claimed, wanted",
    [("caller", "declined", "cancelled"), ("callee", "hangup", "declined"), ("callee", "unanswered", "declined")],
)
def test_a_reason_that_does_not_fit_becomes_the_default(world, who, claimed, wanted):
    taro, hanako = world.call("c-1", answer=False)
    (taro if who == "caller" else hanako).ask(type="end", callId="c-1", reason=claimed)
    assert (hanako if who == "caller" else taro).expect(type="call", state="ended")["reason"] == wanted


def test_signals_after_the_end_are_refused_with_call_ended(world):
    taro, hanako = world.call("c-1")
    taro.ask(type="end", callId="c-1")
    for connection in (taro, hanako):
        for fields in (
            {"type": "ice", "candidate": None},
            {"type": "end"},
            {"type": "info", "data": 1},
            {"type": "connected"},
        ):
            assert connection.refused(callId="c-1", **fields)["code"] == "call_ended"

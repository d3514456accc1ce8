"""Each kind of bad input is refused with its documented code and changes nothing (protocol, sections 3, 5, 8 and 12)."""

import json

import pytest
import samples
from rest import code

BAD_JSON = [
    "",
    " ",
    "{",
    "}",
    "nonsense",
    '{"type":"sync"',
    '{"type":"sync",}',
    "{'type':'sync'}",
    '{"type":sync}',
    '{"a":1}{"b":2}',
    '{"a":"\t"}',
    '{"a":"\\x41"}',
    '{"a":"\\u12"}',
    '{"a":01}',
    '{"a":1.}',
    '{"a":+1}',
    '{"a":NaN}',
    '{"a":tru}',
    "[1,2",
    '"text',
]

NOT_OBJECTS = ["[]", "5", '"text"', "null", "true", '[{"type":"sync"}]']

# Invalid fields of a frame for a live call: name → (the frame's fields, the code of the refusal).
BAD_FIELDS = {
    "ice-candidate-number": ({"type": "ice", "candidate": 5}, "invalid_field"),
    "ice-candidate-text": ({"type": "ice", "candidate": "candidate:1"}, "invalid_field"),
    "ice-candidate-list": ({"type": "ice", "candidate": []}, "invalid_field"),
    "ice-candidate-missing": ({"type": "ice"}, "invalid_field"),
    "ice-candidate-too-large": (
        {"type": "ice", "candidate": {"candidate": "c" * 4097}},
        "too_large",
    ),
    "update-hold-text": ({"type": "update", "hold": "yes"}, "invalid_field"),
    "update-muted-number": ({"type": "update", "audioMuted": 1}, "invalid_field"),
    "update-video-object": ({"type": "update", "videoMuted": {}}, "invalid_field"),
    "dtmf-letters": ({"type": "dtmf", "digits": "12E"}, "invalid_field"),
    "dtmf-number": ({"type": "dtmf", "digits": 12}, "invalid_field"),
    "dtmf-missing": ({"type": "dtmf"}, "invalid_field"),
    "info-too-large": ({"type": "info", "data": "d" * 16385}, "too_large"),
    "info-missing": ({"type": "info"}, "invalid_field"),
    "offer-sdp-number": ({"type": "offer", "sdp": 5}, "invalid_field"),
    "offer-sdp-missing": ({"type": "offer"}, "invalid_field"),
    "offer-sdp-no-sdp": ({"type": "offer", "sdp": "hello"}, "invalid_sdp"),
    "offer-sdp-empty": ({"type": "offer", "sdp": ""}, "invalid_sdp"),
    "offer-sdp-too-large": (
        {"type": "offer", "sdp": samples.padded(samples.OFFER, 48 * 1024 + 1)},
        "too_large",
    ),
    "offer-has-video-text": (
        {"type": "offer", "sdp": samples.changed(samples.OFFER, "x"), "hasVideo": "no"},
        "invalid_field",
    ),
    "offer-name-number": (
        {"type": "offer", "sdp": samples.changed(samples.OFFER, "x"), "displayName": 5},
        "invalid_field",
    ),
    "answer-sdp-object": ({"type": "answer", "sdp": {}}, "invalid_field"),
    "answer-sdp-no-sdp": ({"type": "answer", "sdp": "hello"}, "invalid_sdp"),
    "end-reason-number": ({"type": "end", "reason": 5}, "invalid_field"),
    "unknown-type": ({"type": "dance"}, "unknown_type"),
    "server-type": ({"type": "welcome"}, "unknown_type"),
    "type-number": ({"type": 5}, "invalid_field"),
    "epoch-text": ({"type": "info", "data": 1, "epoch": "one"}, "invalid_field"),
}

STATUS = {"invalid_json": 400, "invalid_field": 400, "unknown_type": 400, "too_large": 413, "invalid_sdp": 422}


def undisturbed(world, call_id="c-1"):
    """Checks that the call which `world.call` made is unchanged for both users, and so is its log."""
    for user in ("11", "10"):
        log = world.rest(user, device=f"phone-{user}").log(call_id)
        assert log["state"] == "answered", log["state"]
        assert {signal["type"] for signal in log["signals"]} <= {"offer", "answer", "call"}


@pytest.mark.parametrize("name", BAD_FIELDS)
def test_a_bad_field_is_refused_on_the_socket_and_nothing_is_relayed(world, name):
    fields, wanted = BAD_FIELDS[name]
    taro, hanako = world.call("c-1")
    refusal = taro.refused(callId="c-1", **fields)
    assert refusal["code"] == wanted, refusal
    assert isinstance(refusal["message"], str) and refusal["message"]
    assert hanako.fence() == [] and taro.fence() == []
    undisturbed(world)


@pytest.mark.parametrize("name", BAD_FIELDS)
def test_a_bad_field_is_refused_over_rest_and_nothing_is_relayed(world, name):
    fields, wanted = BAD_FIELDS[name]
    taro, hanako = world.call("c-1")
    data = {key: value for key, value in fields.items() if key != "type"}
    response = world.rest("11", device="phone-11").post(
        "/api/calls/signal/c-1", {"action": fields["type"], "data": data}
    )
    assert code(response) == (STATUS[wanted], wanted), response.text
    assert hanako.fence() == [] and taro.fence() == []
    undisturbed(world)


@pytest.mark.parametrize("text", BAD_JSON)
def test_bad_json_on_the_socket_is_invalid_json_and_the_socket_stays(world, text):
    connection = world.connect("11")
    connection.send_raw(text)
    assert connection.expect(type="error")["code"] == "invalid_json"
    assert connection.fence() == []


@pytest.mark.parametrize("text", NOT_OBJECTS)
def test_json_other_than_an_object_is_refused_on_the_socket(world, text):
    connection = world.connect("11")
    connection.send_raw(text)
    assert connection.expect(type="error")["code"] == "invalid_json"
    assert connection.fence() == []


def test_ten_frames_of_bad_json_in_a_row_close_with_4400(world):
    connection = world.connect("11")
    for _ in range(10):
        connection.send_raw("{")
    assert connection.close_code() == 4400
    assert len([message for message in connection.heard if message.get("code") == "invalid_json"]) == 10


def test_a_good_frame_resets_the_count_of_bad_frames(world):
    connection = world.connect("11")
    for _ in range(3):
        for _ in range(9):
            connection.send_raw("{")
        connection.fence()
    assert len([message for message in connection.heard if message.get("code") == "invalid_json"]) == 27


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def test_json_nested_too_deep_is_refused(world):
    taro, hanako = world.call("c-1")
    taro.send_raw('{"type":"info","id":"deep","callId":"c-1","data":' + nested(33) + "}")
    assert taro.expect(type="error")["code"] == "invalid_json"
    taro.send_raw('{"type":"info","id":"x","callId":"c-1","data":' + nested(20000) + "}")
    assert taro.expect(type="error")["code"] == "invalid_json"
    taro.send_raw('{"type":"info","id":"fine","callId":"c-1","data":' + nested(20) + "}")
    assert taro.reply_to("fine")["type"] == "ack"
    hanako.fence()
    assert [message["data"] for message in hanako.heard if message["type"] == "info"] == [json.loads(nested(20))]


def test_a_lone_surrogate_does_not_disturb_later_signals(world):
    taro, hanako = world.call("c-1")
    taro.send_raw('{"type":"info","id":"s","callId":"c-1","data":"\\ud800"}')
    assert taro.reply_to("s")["type"] == "ack"
    assert hanako.expect(type="info")["data"] == "\ud800"
    taro.ask(type="info", callId="c-1", data="after")
    hanako.expect(type="info", data="after")


IDS = ["a b", "", "a" * 129, "a/b", "日本", "a\n", "a\u0000b"]


@pytest.mark.parametrize("call_id", IDS)
def test_an_invalid_call_id_is_an_invalid_field(world, call_id):
    connection = world.connect("11")
    assert connection.refused(type="offer", callId=call_id, to="10", sdp=samples.OFFER)["code"] == "invalid_field"
    response = world.rest("11").post(
        "/api/calls/signal", {"callId": call_id, "action": "offer", "to": "10", "data": {"sdp": samples.OFFER}}
    )
    assert code(response) == (400, "invalid_field")


@pytest.mark.parametrize("user", [*IDS, -1, 1.5, True, [], {}])
def test_an_invalid_user_id_is_an_invalid_field(world, user):
    connection = world.connect("11")
    assert connection.refused(type="offer", callId="c-1", to=user, sdp=samples.OFFER)["code"] == "invalid_field"
    assert world.rest("11").get("/api/calls/signal/c-1").status_code == 404


@pytest.mark.parametrize("size", [1, 128])
def test_ids_of_1_and_of_128_characters_are_good(world, size):
    call_id, user = ("aZ9._:-" * 20)[:size], ("aZ9._@:+-" * 20)[:size]
    world.connect("11").ring(user, call_id)
    assert world.connect(user).expect(type="offer")["callId"] == call_id


@pytest.mark.parametrize("room", ["p2p:12-13", "p2p:110-10", "p2p:1-110", "p2p:-", "p2p:11-", "p2p:-11", "p2p:12-1"])
def test_a_pair_room_that_is_not_one_of_the_users_own_is_forbidden(world, room):
    connection = world.connect("11")
    assert connection.refused(type="offer", callId="c-1", room=room, sdp=samples.OFFER)["code"] == "forbidden"
    response = world.rest("11").signal("offer", "c-1", sdp=samples.OFFER, top={"room": room})
    assert code(response) == (403, "forbidden")


def test_a_pair_room_of_one_user_is_an_invalid_field(world):
    connection = world.connect("11")
    refusal = connection.refused(type="offer", callId="c-1", room="p2p:11", sdp=samples.OFFER)
    assert (refusal["code"], refusal["field"]) == ("invalid_field", "room")
    response = world.rest("11").signal("offer", "c-1", sdp=samples.OFFER, top={"room": "p2p:11"})
    assert code(response) == (400, "invalid_field") and response.json()["field"] == "room"


def test_an_offer_to_a_room_of_others_is_forbidden_and_rings_no_device(world):
    ichiro, jiro, third = world.connect("12"), world.connect("13"), world.connect("11")
    assert third.refused(type="offer", callId="c-1", room="p2p:12-13", sdp=samples.OFFER)["code"] == "forbidden"
    assert ichiro.fence() == [] and jiro.fence() == []


def test_a_signal_for_an_unknown_call_is_not_found(world):
    connection = world.connect("11")
    for fields in (
        {"type": "ice", "candidate": None},
        {"type": "end"},
        {"type": "answer", "sdp": samples.ANSWER},
        {"type": "ringing"},
    ):
        assert connection.refused(callId="c-unknown", **fields)["code"] == "not_found"


# REST


@pytest.mark.parametrize("text", [text for text in BAD_JSON])
def test_bad_json_in_a_body_is_invalid_json(world, text):
    rest = world.rest("11")
    for method, path in (("POST", "/api/calls/signal"), ("PUT", "/api/me/devices")):
        response = rest.request(method, path, content=text.encode(), headers={"Content-Type": "application/json"})
        assert code(response) == (400, "invalid_json")


@pytest.mark.parametrize("text", NOT_OBJECTS)
def test_a_body_other_than_an_object_is_refused(world, text):
    response = world.rest("11").request(
        "POST", "/api/calls/signal", content=text, headers={"Content-Type": "application/json"}
    )
    assert code(response) == (400, "invalid_json")


def test_a_body_that_is_not_utf8_is_invalid_json(world):
    body = b'{"callId":"c-1","action":"offer","to":"10","data":{"sdp":"v=0\xff"}}'
    response = world.rest("11").request(
        "POST", "/api/calls/signal", content=body, headers={"Content-Type": "application/json"}
    )
    assert code(response) == (400, "invalid_json")


@pytest.mark.parametrize("size", [65537, 300_000])
def test_a_body_over_64_kib_is_too_large(world, size):
    response = world.rest("11").request(
        "POST",
        "/api/calls/signal",
        content=b'{"x":"' + b"x" * (size - 8) + b'"}',
        headers={"Content-Type": "application/json"},
    )
    assert code(response) == (413, "too_large")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"])
def test_another_content_type_is_415(world, kind):
    response = world.rest("11").request("POST", "/api/calls/signal", content=b"{}", headers={"Content-Type": kind})
    assert code(response) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "path", ["/x", "/api", "/api/calls/signal/a/b", "/api/nothing", "/etc/passwd", "/api/../etc/passwd"]
)
def test_an_unknown_path_is_not_found(world, path):
    assert code(world.rest("11").get(path)) == (404, "not_found")


@pytest.mark.parametrize(
    "method, path", [("PUT", "/api/calls/signal"), ("PATCH", "/api/me/devices"), ("DELETE", "/api/calls")]
)
def test_another_method_is_405(world, method, path):
    assert world.rest("11").request(method, path).status_code == 405


@pytest.mark.parametrize("query", [{"since": "x"}, {"since": "-1"}, {"wait": "x"}, {"wait": "-1"}, {"epoch": "x"}])
def test_a_bad_query_value_is_an_invalid_field(world, query):
    world.rest("11").signal("offer", "c-1", sdp=samples.OFFER, to="10")
    assert code(world.rest("10").get("/api/calls/signal/c-1", **query)) == (400, "invalid_field")


def test_a_bad_field_is_named(world):
    response = world.rest("11").signal("offer", "c-1", sdp=samples.OFFER, hasVideo="no", to="10")
    assert code(response) == (400, "invalid_field")
    assert "hasVideo" in response.text


def test_an_action_that_is_missing_or_unknown_is_400(world):
    rest = world.rest("11")
    for body, wanted in (
        ({"callId": "c-1", "data": {}}, "invalid_field"),
        ({"callId": "c-1", "action": "dance", "data": {}}, "unknown_type"),
        ({"callId": "c-1", "action": 5, "data": {}}, "invalid_field"),
    ):
        assert code(rest.post("/api/calls/signal", body)) == (400, wanted)


def test_a_refused_offer_changes_nothing(world):
    hanako = world.connect("10")
    rest = world.rest("11")
    rest.signal("offer", "c-1", sdp="hello", to="10")
    rest.signal("offer", "c-1", sdp=samples.OFFER, hasVideo=7, to="10")
    assert hanako.fence() == []
    assert rest.get("/api/calls/signal/c-1").status_code == 404
    assert rest.get("/api/calls").json() == []
    assert rest.signal("offer", "c-1", sdp=samples.OFFER, to="10").json()["seq"] == 1


def test_only_the_callee_answers_and_rings(world):
    taro, hanako = world.call("c-1", answer=False)
    for fields in ({"type": "answer", "sdp": samples.ANSWER}, {"type": "ringing"}):
        assert taro.refused(callId="c-1", **fields)["code"] == "forbidden"
    assert hanako.fence() == []
    assert world.rest("10").log("c-1")["state"] == "ringing"

"""The REST requests of the app in production, by its contract: bodies as it sends them, integers as it reads them.

The app's token has `uid` (an integer) and `u`, but no device id and no `jti`.
"""

import json
import re
import time

import jwt
import pytest
import samples
from push_services import pushed, register
from rest import Rest, code
from test_monitoring import sample
from test_socketio import Raw

FRACTION = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")
TARO, HANAKO = 11, 10


def app_token(world, user: int, name="山田太郎", **claims) -> str:
    """Returns a token as the app's backend issues it."""
    body = {"uid": user, "u": name, "exp": int(time.time()) + 3600} | claims
    return jwt.encode(body, world.server.secret, algorithm="HS256")


def app(world, user: int, **claims) -> Rest:
    return world.rest(token=app_token(world, user, **claims))


def offer(rest: Rest, sdp=samples.OFFER, call_id="11-10") -> dict:
    """Posts an offer as the app does; returns the body of the response, which must be 200."""
    body = {"callId": call_id, "action": "offer", "data": {"sdp": sdp, "type": "offer"}}
    response = rest.post("/api/calls/signal", body)
    assert response.status_code == 200, response.text
    return response.json()


def answer(rest: Rest, sdp=samples.ANSWER, call_id="11-10", caller=TARO, callee=HANAKO):
    """Posts an answer as the app does; returns the response."""
    body = {"action": "answer", "data": {"sdp": sdp, "from": callee, "to": caller}}
    return rest.post(f"/api/calls/signal/{call_id}", body)


# An offer that comes twice, by REST and by the socket


@pytest.mark.parametrize("first", ["rest", "socket"])
def test_the_offer_by_rest_and_by_socket_is_one_call_one_ring_and_one_push(push_world, first):
    world, fake = push_world
    device, fence = register(world, "10", number=1), register(world, "20", number=2)
    token = app_token(world, TARO)
    rest, socket, hanako = world.rest(token=token), world.connect(token=token), world.connect("10", "tablet")

    def by_socket():
        # The copy that comes by the socket has more members than the one by REST.
        return socket.ask(
            type="offer", callId="11-10", to="10", sdp=samples.OFFER, displayName="山田太郎", hasVideo=False
        )

    one, other = (offer(rest), by_socket()) if first == "rest" else (by_socket(), offer(rest))
    assert (one["epoch"], one["seq"]) == (other["epoch"], other["seq"])
    assert pushed(fake, device)["payload"]["callerName"] == "山田太郎"
    rings = [message for message in hanako.fence() if message["type"] == "offer"]
    assert [ring["callId"] for ring in rings] == ["11-10"]
    socket.ring("20", "c-2")
    pushed(fake, fence)
    assert len(fake.pushes(device)) == 1
    assert len(rest.get("/api/calls").json()) == 2


def test_the_answer_to_a_double_offer_comes_by_the_socket_and_by_rest(world):
    token = app_token(world, TARO)
    rest, socket = world.rest(token=token), world.connect(token=token)
    offer(rest)
    socket.ask(type="offer", callId="11-10", to="10", sdp=samples.OFFER)
    assert answer(app(world, HANAKO)).status_code == 200
    assert socket.expect(type="answer")["sdp"] == samples.ANSWER
    assert rest.log("11-10")["answer"]["sdp"] == samples.ANSWER


# Bodies without `to`


def test_a_call_id_that_begins_with_the_users_own_id_names_the_callee(world):
    hanako = world.connect("10")
    assert offer(app(world, TARO))["callId"] == "11-10"
    heard = hanako.expect(type="offer")
    assert (heard["callId"], heard["from"], heard["room"]) == ("11-10", "11", "p2p:11-10")


@pytest.mark.parametrize("call_id", ["10-11", "12-10", "11-", "1-10", "111-10", "11-11"])
def test_a_call_id_other_than_the_users_own_id_and_a_peers_names_no_callee(world, call_id):
    body = {"callId": call_id, "action": "offer", "data": {"sdp": samples.OFFER, "type": "offer"}}
    refused = app(world, TARO).post("/api/calls/signal", body)
    assert code(refused) == (400, "invalid_field")


def test_from_and_to_inside_an_answer_are_ignored(world):
    taro = world.connect("11")
    taro.ring("10", "11-10")
    assert answer(app(world, HANAKO), caller=99, callee=98).status_code == 200
    heard = taro.expect(type="answer")
    assert (heard["from"], heard["sdp"]) == ("10", samples.ANSWER)


def test_candidates_and_the_hang_up_need_no_to(world):
    taro, hanako = app(world, TARO), app(world, HANAKO)
    offer(taro)
    for number in range(3):
        body = {"callId": "11-10", "action": "ice", "data": {"candidate": samples.candidate(number)}}
        assert taro.post("/api/calls/signal", body).status_code == 200
    assert hanako.log("11-10")["candidates"] == [samples.candidate(number) for number in range(3)]
    assert hanako.post("/api/calls/signal/11-10", {"action": "end", "data": {}}).status_code == 200
    assert (taro.log("11-10")["state"], taro.log("11-10")["reason"]) == ("ended", "declined")


# The same callId for every call


def test_the_answer_of_an_earlier_call_is_never_shown_to_a_caller_who_polls(world):
    taro, hanako = app(world, TARO), app(world, HANAKO)
    for number in range(1, 4):
        sdp = samples.changed(samples.ANSWER, str(number))
        assert offer(taro)["epoch"] == number, "the same description begins a new call, too"
        log = taro.log("11-10")
        assert (log["answer"], log["epoch"], log["candidates"]) == (None, number, [])
        assert answer(hanako, sdp).status_code == 200
        assert taro.log("11-10")["answer"]["sdp"] == sdp
        assert taro.delete("/api/calls/signal/11-10").status_code == 200


@pytest.mark.parametrize("token", ["the same token", "another token"])
def test_an_offer_over_an_answered_call_that_was_never_hung_up_begins_a_new_call(world, token):
    """The app was killed during the call, so it did not end the call. After its restart it calls again."""
    taro, hanako = app(world, TARO), app(world, HANAKO)
    offer(taro)
    answer(hanako)
    again = taro if token == "the same token" else app(world, TARO, iat=1)
    assert offer(again, samples.changed(samples.OFFER, "2"))["epoch"] == 2
    assert again.log("11-10")["answer"] is None
    assert hanako.log("11-10")["offer"]["sdp"] == samples.changed(samples.OFFER, "2")


# Both forms of GET


def test_both_forms_of_get_show_a_woken_device_the_offer(world):
    offer(app(world, TARO), samples.VIDEO_OFFER)
    hanako = app(world, HANAKO)
    shown = hanako.log("11-10")["offer"]
    assert (shown["sdp"], shown["type"]) == (samples.VIDEO_OFFER, "offer")
    listed = hanako.get("/api/calls/signal/11-10", format="array").json()
    assert [(entry["action"], entry["data"]["sdp"]) for entry in listed] == [("offer", samples.VIDEO_OFFER)]


def test_both_forms_of_get_write_users_as_the_asking_token_does(world):
    taro, hanako = app(world, TARO), app(world, HANAKO)

    def check(asks: Rest, text: Rest, kind: str, user: int):
        assert (asks.log("11-10")[kind]["from"], text.log("11-10")[kind]["from"]) == (user, str(user))
        for rest, written in [(asks, user), (text, str(user))]:
            listed = rest.get("/api/calls/signal/11-10", format="array").json()
            assert [entry["from"] for entry in listed] == [written]
        # `signals` has the frames as they were relayed on sockets.
        relayed = [signal["from"] for signal in asks.log("11-10")["signals"] if signal["type"] == kind]
        assert relayed == [str(user)]

    offer(taro)
    check(hanako, world.rest("10"), "offer", TARO)
    assert answer(hanako).status_code == 200
    check(taro, world.rest("11"), "answer", HANAKO)


def test_before_the_answer_both_forms_of_get_show_the_caller_no_answer(world):
    taro = app(world, TARO)
    offer(taro)
    assert taro.log("11-10")["answer"] is None
    assert "answer" not in [
        entry["action"] for entry in taro.get("/api/calls/signal/11-10", format="array").json()
    ]


# The record of a call


def place(rest: Rest, callee=HANAKO, kind="audio"):
    return rest.post("/api/calls", {"callee_id": callee, "call_type": kind})


def test_posting_a_call_returns_the_servers_record_of_the_live_call(world):
    taro = app(world, TARO)
    offer(taro, samples.VIDEO_OFFER)
    made = place(taro, kind="video")
    assert made.status_code == 200, made.text
    record = made.json()
    assert (record["caller_id"], record["callee_id"], record["call_type"]) == (TARO, HANAKO, "video")
    assert isinstance(record["id"], int) and isinstance(record["duration"], int)
    assert FRACTION.fullmatch(record["started_at"])
    assert (record["callId"], record["state"], record["epoch"]) == ("11-10", "ringing", 1), (
        "the fields of the protocol are there, too"
    )
    assert place(taro, kind="video").json()["id"] == record["id"]
    assert [entry["id"] for entry in taro.get("/api/calls").json()] == [record["id"]], "no second record is made"


def test_a_record_has_the_type_of_the_call_not_that_of_the_request(world):
    taro = app(world, TARO)
    offer(taro, samples.OFFER)
    assert place(taro, kind="video").json()["call_type"] == "audio"


def test_posting_a_call_that_has_ended_returns_its_record(world):
    taro, hanako = app(world, TARO), app(world, HANAKO)
    offer(taro)
    hanako.delete("/api/calls/signal/11-10")
    record = place(taro).json()
    assert (record["state"], record["reason"]) == ("ended", "declined")


def test_posting_a_call_returns_a_live_call_rather_than_a_later_ended_one(world):
    taro = app(world, TARO)
    offer(taro)
    # Answer the first call, because a second ringing call would replace it.
    answer(app(world, HANAKO))
    taro.post("/api/calls/signal", {"callId": "x", "action": "offer", "to": 10, "data": {"sdp": samples.OFFER}})
    taro.delete("/api/calls/signal/x")
    assert place(taro).json()["callId"] == "11-10"


def test_posting_a_call_that_does_not_exist_is_not_found_and_creates_none(world):
    taro = app(world, TARO)
    offer(taro, call_id="11-12")
    refused = place(taro)
    assert code(refused) == (404, "not_found")
    assert "offer" in refused.json()["message"]
    assert len(taro.get("/api/calls").json()) == 1


def test_posting_a_call_shows_nothing_of_calls_between_others(world):
    offer(app(world, TARO))
    assert code(place(app(world, 12))) == (404, "not_found")
    assert code(place(app(world, 12), callee=TARO)) == (404, "not_found")


@pytest.mark.parametrize(
    "body, field",
    [
        ({"call_type": "audio"}, "callee_id"),
        ({"callee_id": True, "call_type": "audio"}, "callee_id"),
        ({"callee_id": TARO, "call_type": "audio"}, "callee_id"),
        ({"callee_id": HANAKO, "call_type": "fax"}, "call_type"),
        ({"callee_id": HANAKO, "call_type": 1}, "call_type"),
    ],
    ids=str,
)
def test_posting_a_call_with_a_bad_field_is_refused_by_name(world, body, field):
    taro = app(world, TARO)
    offer(taro)
    refused = taro.post("/api/calls", body)
    assert code(refused) == (400, "invalid_field")
    assert refused.json()["field"] == field


def test_the_history_is_an_array_in_the_apps_shape_with_the_protocols_fields_beside_it(world):
    taro, hanako = app(world, TARO), app(world, HANAKO)
    offer(taro, samples.VIDEO_OFFER)
    answer(hanako, samples.VIDEO_ANSWER)
    taro.delete("/api/calls/signal/11-10")
    (entry,) = taro.get("/api/calls").json()
    assert {key: type(entry[key]) for key in ("id", "caller_id", "callee_id", "call_type", "started_at", "duration")} == {
        "id": int,
        "caller_id": int,
        "callee_id": int,
        "call_type": str,
        "started_at": str,
        "duration": int,
    }
    assert FRACTION.fullmatch(entry["started_at"])
    assert (entry["caller_id"], entry["callee_id"], entry["call_type"]) == (TARO, HANAKO, "video")
    assert (entry["callId"], entry["state"], entry["reason"]) == ("11-10", "ended", "hangup")
    assert abs(entry["startedAt"] - time.time() * 1000) < 60_000
    (seen,) = hanako.get("/api/calls").json()
    assert (seen["id"], seen["direction"], entry["direction"]) == (entry["id"], "incoming", "outgoing")


def test_a_user_with_a_string_id_reads_string_ids(world):
    rest = world.rest("11")
    offer(rest)
    record = place(rest, callee="10").json()
    assert (record["caller_id"], record["callee_id"]) == ("11", "10")


# Blocks


def test_blocks_are_contacts_with_integer_ids(world):
    hanako = app(world, HANAKO)
    made = hanako.post("/api/blocks", {"blocked_user_id": TARO})
    assert made.status_code == 200 and made.json()["id"] == TARO
    assert hanako.get("/api/blocks").json() == [{"id": TARO, "user_id": TARO}]
    gone = hanako.delete(f"/api/blocks/{TARO}")
    assert (gone.status_code, gone.json()["ok"]) == (200, True)
    assert hanako.get("/api/blocks").json() == []
    assert hanako.delete(f"/api/blocks/{TARO}").json()["ok"] is True, "a second removal succeeds, too"


def test_a_blocked_caller_hears_an_ordinary_ring_and_the_app_gets_no_push(push_world):
    world, fake = push_world
    device, fence = register(world, "10", number=1), register(world, "20", number=2)
    app(world, HANAKO).post("/api/blocks", {"blocked_user_id": TARO})
    taro = app(world, TARO)
    assert offer(taro)["state"] == "ringing"
    offer(taro, call_id="11-20")
    pushed(fake, fence)
    assert fake.pushes(device) == []
    assert place(taro).json()["state"] == "ringing"


# Devices

VOIP, ALERT = "a" * 64, "b" * 64


@pytest.mark.parametrize(
    "steps",
    [
        [{"voipDeviceToken": VOIP}],
        [{"apnsDeviceToken": ALERT}],
        [{"voipDeviceToken": VOIP, "apnsDeviceToken": ALERT}],
        [{"voipDeviceToken": VOIP}, {"apnsDeviceToken": ALERT}],
        [{"apnsDeviceToken": ALERT}, {"voipDeviceToken": VOIP}],
        [{"voipDeviceToken": VOIP}, {"voipDeviceToken": VOIP, "apnsDeviceToken": ALERT}, {"apnsDeviceToken": ALERT}],
        [{"apnsDeviceToken": ALERT}, {"voipDeviceToken": VOIP, "apnsDeviceToken": ALERT}],
    ],
    ids=lambda steps: "+".join("".join(key[0] for key in step) for step in steps),
)
def test_tokens_of_one_installation_are_one_device_in_any_order(world, steps):
    hanako = app(world, HANAKO)
    for step in steps:
        response = hanako.put("/api/me/devices", {"platform": "ios", "bundleId": "com.example.chutalk"} | step)
        assert response.status_code == 200 and isinstance(response.json(), dict)
    (device,) = hanako.get("/api/me/devices").json()
    wanted = {key: value for step in steps for key, value in step.items()}
    assert {key: device[key] for key in wanted} == wanted


def test_a_registration_with_one_known_token_replaces_the_other_token(world):
    hanako = app(world, HANAKO)
    body = {"platform": "ios", "bundleId": "com.example.chutalk"}
    hanako.put("/api/me/devices", body | {"voipDeviceToken": VOIP, "apnsDeviceToken": ALERT})
    hanako.put("/api/me/devices", body | {"voipDeviceToken": "c" * 64, "apnsDeviceToken": ALERT})
    (device,) = hanako.get("/api/me/devices").json()
    assert (device["voipDeviceToken"], device["apnsDeviceToken"]) == ("c" * 64, ALERT)


def test_an_android_build_registers_its_firebase_token_and_gets_a_notice_that_it_is_unused(world):
    hanako = app(world, HANAKO)
    made = hanako.post("/api/me/devices", {"fcm_token": "dGVzdA:APA91b"})
    assert made.status_code == 200
    assert (made.json()["fcm_token"], made.json()["platform"]) == ("dGVzdA:APA91b", "android")
    assert "cannot push to it" in made.json()["message"]
    hanako.post("/api/me/devices", {"fcm_token": "dGVzdA:APA91b"})
    (device,) = hanako.get("/api/me/devices").json()
    assert device["fcm_token"] == "dGVzdA:APA91b"


def test_an_ios_registration_gets_no_such_notice(world):
    made = app(world, HANAKO).put(
        "/api/me/devices", {"platform": "ios", "bundleId": "com.example.chutalk", "voipDeviceToken": VOIP}
    )
    assert "message" not in made.json()


# Errors


@pytest.mark.parametrize(
    "method, path, body, status",
    [
        ("GET", "/api/calls/signal/11-10", None, 404),
        ("POST", "/api/calls/signal/11-10", {"action": "answer", "data": {"sdp": samples.ANSWER}}, 404),
        ("POST", "/api/calls/signal", {"callId": "11-10", "action": "offer", "data": {"sdp": "no"}}, 422),
        ("POST", "/api/calls/signal", {"callId": "11-10", "data": {}}, 400),
        ("POST", "/api/blocks", {}, 400),
        ("PUT", "/api/me/devices", {}, 400),
        ("GET", "/api/turn-cred", None, 404),
        ("GET", "/api/nothing", None, 404),
        ("PATCH", "/api/calls", None, 405),
    ],
    ids=lambda value: str(value)[:30],
)
def test_every_error_has_a_message_to_show(world, method, path, body, status):
    # `Rest` checks the properties that all errors share.
    refused = app(world, TARO).request(method, path, json=body)
    assert refused.status_code == status and refused.json()["message"]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_sockets_path_without_an_upgrade_names_the_missing_header(world, method):
    refused = Rest(world.server.url, None).request(method, "/ws")
    assert code(refused) == (426, "upgrade_required")
    assert refused.headers["upgrade"] == "websocket"
    assert "upgrade" in refused.headers["connection"].lower()


def test_an_error_without_a_token_has_a_message_too(world):
    assert code(Rest(world.server.url, None).get("/api/calls")) == (401, "unauthenticated")


@pytest.mark.parametrize(
    ("path", "parameter"),
    [
        ("/api/calls?state=missed", "state"),
        ("/api/calls?limit=5&user=11", "user"),
        ("/api/calls?before=1&offset=2", "offset"),
        ("/api/calls?Limit=5", "Limit"),
        ("/api/blocks?userId=11", "userId"),
        ("/api/me/devices?platform=ios", "platform"),
        ("/api/me/directory?list=blocks&q=1", "q"),
        ("/api/schedules?next=1", "next"),
        ("/api/users/10/schedules?next=1", "next"),
        ("/api/calls?a%20b=1", "query"),
    ],
)
def test_a_filter_that_a_list_does_not_have_is_refused_by_name(world, path, parameter):
    rest = world.rest("10")
    assert rest.request("HEAD", path).status_code == 400
    response = rest.request("GET", path)
    assert code(response) == (400, "invalid_field")
    assert response.json()["field"] == parameter and "unknown parameter" in response.json()["message"]


def test_every_request_may_name_the_device_and_the_token_in_its_address(world):
    token = world.token("10")
    anonymous = world.rest("10", token="none")
    del anonymous.http.headers["Authorization"]
    for path in ("/api/calls", "/api/blocks", "/api/me/devices", "/api/me/directory", "/api/schedules"):
        assert anonymous.get(path, token=token, device="d-1").status_code == 200
    # Requests that are no lists ignore what they do not know, as ever.
    world.call("c-1")
    assert world.rest("10").log("c-1", mine="x")["callId"] == "c-1"


@pytest.mark.parametrize("field", ["action", "type", "signalType"])
def test_an_unknown_kind_is_refused_by_the_member_and_the_value_that_are_wrong(world, field):
    response = world.rest("11").post("/api/calls/signal", {field: "ofer", "callId": "c-1"})
    assert code(response) == (400, "unknown_type")
    assert (response.json()["field"], response.json()["message"]) == (field, f"{field}: unknown: ofer")
    if field == "type":
        refused = world.connect("11").refused(type="ofer")
        assert (refused["field"], refused["message"]) == ("type", "type: unknown: ofer")


def test_names_that_the_server_does_not_know_are_ignored_counted_and_logged_once(world):
    taro, hanako = world.connect("11"), world.connect("10")
    for number in range(3):
        taro.ring(hanako, f"c-{number}", displayname="x", sdp=samples.changed(samples.OFFER, str(number)))
        assert hanako.expect(type="offer", callId=f"c-{number}")["displayname"] == "x"
    rest = world.rest("10")
    assert rest.put("/api/me/devices", {"platform": "android", "fcm_token": "f", "fcmToken": "g"}).status_code == 200
    assert rest.signal("ringing", "c-2", top={"callid": "x"}).status_code == 200
    app = Raw(world, user=12)
    app.hear(), app.say("40"), app.hear()
    for number in range(2):
        app.say(f'42{number}["offer",' + json.dumps({"to": 13, "sdp": samples.OFFER, "displayname": "x", "vidoe": True}) + "]")
        assert json.loads(app.hear()[3:])[0]["callId"] == "12-13"
    counts = {place: sample(world.server, "ringline_unknown_members_total", place=place) for place in PLACES}
    assert counts == {"ws": 3, "socketio": 4, "signal": 1, "registration": 1}
    lines = [line for line in world.server.usual_log().splitlines() if "a client sent an unknown member" in line]
    assert len(lines) == 5 and sum("displayname" in line for line in lines) == 2


PLACES = ["ws", "socketio", "signal", "registration"]

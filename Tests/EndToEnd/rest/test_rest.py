"""Calls and their logs over the REST API (protocol, section 5)."""

import json
import time

import pytest
import samples
from rest import code


def test_an_offer_over_rest_rings_the_callee(world):
    taro, hanako = world.rest("11"), world.connect("10")
    response = taro.signal("offer", "c-1", sdp=samples.OFFER, top={"to": "10"})
    assert response.status_code == 200
    assert response.headers["content-type"].split(";")[0] == "application/json"
    body = response.json()
    assert body == body | {"ok": True, "callId": "c-1", "seq": 1, "epoch": 1, "state": "ringing"}
    offer = hanako.expect(type="offer")
    assert (offer["sdp"], offer["from"], offer["callId"]) == (samples.OFFER, "11", "c-1")


def test_a_request_is_from_the_device_that_its_address_names(world):
    hanako = world.connect("10")
    body = {"action": "offer", "to": "10", "id": "1", "data": {"sdp": samples.OFFER}}
    begun = []
    for token in (world.token("11"), world.token("11")):
        begun.append(world.rest(token=token).post("/api/calls/signal?device=phone-a", body).json()["callId"])
    assert begun[0] == begun[1], "the second one is a retry by the same device, with a renewed token"
    assert hanako.expect(type="offer")["fromDevice"] == "phone-a"
    refused = world.rest("11").post("/api/calls/signal?device=a%20b", body)
    assert code(refused) == (400, "invalid_field") and refused.json()["field"] == "device"


def test_a_service_reads_every_call(world):
    world.call("c-1", "11", "10")
    world.call("12-13", "12", "13")[0].ask(type="end", callId="12-13")
    service = world.rest("backend", scope="server")
    for call_id in ("c-1", "12-13"):
        assert service.get(f"/api/calls/{call_id}").json()["callId"] == call_id
    assert service.get("/api/calls/c-1", peer="12").status_code == 404


def test_a_parameter_that_passes_caches_by_is_no_filter(world):
    assert world.rest("11").get("/api/calls", _="1795852786").status_code == 200


@pytest.mark.parametrize("name", ["action", "type", "signalType"])
def test_the_action_may_be_called_type_or_signal_type(world, name):
    response = world.rest("11").post(
        "/api/calls/signal", {"callId": "c-1", name: "offer", "to": "10", "data": {"sdp": samples.OFFER}}
    )
    assert response.status_code == 200, response.text
    assert world.rest("10").log("c-1")["offer"]["sdp"] == samples.OFFER


def test_the_call_id_may_stand_in_the_path(world):
    assert world.rest("11").signal("offer", "c-1", path_id=True, sdp=samples.OFFER, to="10").status_code == 200
    assert world.rest("10").log("c-1")["callId"] == "c-1"


def test_the_callee_may_be_named_within_data(world):
    assert world.rest("11").signal("offer", "c-1", sdp=samples.OFFER, to=10).status_code == 200
    assert world.rest("10").log("c-1")["room"] == "p2p:11-10"


def test_the_callee_may_be_named_by_the_room(world):
    assert world.rest("11").signal("offer", "c-1", sdp=samples.OFFER, top={"room": "p2p:10-11"}).status_code == 200
    assert world.rest("10").log("c-1")["room"] == "p2p:10-11"


def test_a_call_id_of_the_form_me_peer_names_the_callee(world):
    taro, hanako = world.rest("11"), world.connect("10")
    assert taro.signal("offer", "11-10", sdp=samples.OFFER, type="offer").status_code == 200
    assert hanako.expect(type="offer")["callId"] == "11-10"


def test_an_offer_without_a_callee_is_an_invalid_field(world):
    assert code(world.rest("11").signal("offer", "c-1", sdp=samples.OFFER)) == (400, "invalid_field")


def test_the_server_makes_a_call_id_when_there_is_none(world):
    response = world.rest("11").signal("offer", sdp=samples.OFFER, to="10").json()
    assert world.rest("10").log(response["callId"])["state"] == "ringing"


def test_a_woken_device_gets_everything_in_one_round_trip(world):
    taro = world.rest("11", name="山田太郎")
    before = time.time() * 1000
    taro.signal("offer", "c-1", sdp=samples.VIDEO_OFFER, to="10")
    for candidate in samples.CANDIDATES[:3]:
        taro.signal("ice", "c-1", candidate=candidate)
    taro.signal("ice", "c-1", candidate=None)
    log = world.rest("10").log("c-1")
    assert (log["callId"], log["epoch"], log["room"], log["state"]) == ("c-1", 1, "p2p:11-10", "ringing")
    assert log["reason"] is None
    assert log["offer"] == log["offer"] | {
        "sdp": samples.VIDEO_OFFER,
        "type": "offer",
        "from": "11",
        "hasVideo": True,
        "displayName": "山田太郎",
    }
    assert log["answer"] is None
    assert log["candidates"] == samples.CANDIDATES[:3], "candidates contains no null"
    assert [signal["type"] for signal in log["signals"] if signal["type"] != "call"] == [
        "offer",
        "ice",
        "ice",
        "ice",
        "ice",
    ]
    assert isinstance(log["iceServers"], list)
    assert before + 44_000 <= log["ringUntil"] <= time.time() * 1000 + 46_000
    assert log["next"] >= log["signals"][-1]["seq"]


def test_the_call_id_may_stand_in_the_query(world):
    world.rest("11").signal("offer", "c-1", sdp=samples.OFFER, to="10")
    hanako = world.rest("10")
    assert hanako.get("/api/calls/signal", callId="c-1").json()["offer"] == hanako.log("c-1")["offer"]


def test_the_answer_by_rest_reaches_the_callers_socket(world):
    taro, hanako = world.connect("11"), world.rest("10")
    taro.ring("10", "c-1")
    response = hanako.signal("answer", "c-1", path_id=True, sdp=samples.ANSWER)
    assert response.status_code == 200
    assert response.json()["state"] == "answered"
    heard = taro.expect(type="answer")
    assert (heard["sdp"], heard["from"]) == (samples.ANSWER, "10")
    assert taro.expect(type="call", state="answered")["answeredBy"]["user"] == "10"


def test_the_caller_finds_the_answer_by_polling(world):
    taro, hanako = world.rest("11"), world.rest("10")
    taro.signal("offer", "c-1", sdp=samples.OFFER, to="10")
    assert taro.log("c-1")["answer"] is None
    hanako.signal("answer", "c-1", sdp=samples.ANSWER)
    log = taro.log("c-1")
    assert log["answer"]["sdp"] == samples.ANSWER
    assert log["offer"] is None, "the offer is not addressed to the caller"
    hanako.signal("ice", "c-1", candidate=samples.CANDIDATES[0])
    assert taro.log("c-1")["candidates"] == [samples.CANDIDATES[0]]


def test_since_gives_only_later_signals_and_all_other_fields(world):
    taro, hanako = world.rest("11"), world.rest("10")
    taro.signal("offer", "c-1", sdp=samples.OFFER, to="10")
    taro.signal("ice", "c-1", candidate=samples.CANDIDATES[0])
    cursor = hanako.log("c-1")["next"]
    nothing = hanako.log("c-1", since=cursor)
    assert nothing["signals"] == []
    assert nothing["offer"]["sdp"] == samples.OFFER
    assert nothing["candidates"] == [samples.CANDIDATES[0]]
    taro.signal("ice", "c-1", candidate=samples.CANDIDATES[1])
    more = hanako.log("c-1", since=cursor)
    assert [signal["candidate"] for signal in more["signals"]] == [samples.CANDIDATES[1]]
    assert more["next"] > cursor


def test_the_array_format_lists_actions_with_their_data(world):
    taro, hanako = world.rest("11"), world.rest("10")
    taro.signal("offer", "c-1", sdp=samples.OFFER, to="10")
    taro.signal("ice", "c-1", candidate=samples.CANDIDATES[0])
    array = hanako.get("/api/calls/signal/c-1", format="array").json()
    by_action = {entry["action"]: entry["data"] for entry in array}
    assert by_action["offer"]["sdp"] == samples.OFFER
    assert by_action["ice"]["candidate"] == samples.CANDIDATES[0]


def test_the_log_shows_only_what_is_addressed_to_the_asking_user(world):
    taro, hanako = world.call("c-1")
    taro.ask(type="ice", callId="c-1", candidate=samples.CANDIDATES[0])
    hanako.ask(type="ice", callId="c-1", candidate=samples.CANDIDATES[1])
    for user, wanted in (("11", samples.CANDIDATES[1]), ("10", samples.CANDIDATES[0])):
        log = world.rest(user, device=f"phone-{user}").log("c-1")
        assert log["candidates"] == [wanted]
        shown = {signal["from"] for signal in log["signals"] if signal["type"] != "call"}
        assert shown == {"10" if user == "11" else "11"}


def test_replay_and_get_show_the_same_log(world):
    world.rest("11").signal("offer", "c-1", sdp=samples.OFFER, to="10")
    world.rest("11").signal("ice", "c-1", candidate=samples.CANDIDATES[0])
    late = world.connect("10")
    replayed = [message for message in late.fence() if message.get("callId") == "c-1"]
    assert [m for m in replayed if m["type"] != "call"] == [
        s for s in world.rest("10").log("c-1")["signals"] if s["type"] != "call"
    ]


@pytest.mark.parametrize(
    "method, path", [("GET", "/api/calls/signal/{}"), ("DELETE", "/api/calls/signal/{}"), ("GET", "/api/calls/{}")]
)
def test_a_third_party_gets_the_response_for_an_unknown_call(world, method, path):
    world.rest("11").signal("offer", "c-1", sdp=samples.OFFER, to="10")
    third = world.rest("12")
    seen, unknown = third.request(method, path.format("c-1")), third.request(method, path.format("c-2"))
    assert code(seen) == code(unknown) == (404, "not_found")
    assert seen.text.replace("c-1", "c-2") == unknown.text
    assert world.rest("10").log("c-1")["state"] == "ringing"


@pytest.mark.parametrize(
    "action, data",
    [("ice", {"candidate": None}), ("answer", {"sdp": samples.ANSWER}), ("end", {}), ("info", {"data": 1})],
)
def test_a_third_partys_signals_are_not_found_and_change_nothing(world, action, data):
    taro = world.connect("11")
    taro.ring("10", "c-1")
    assert code(world.rest("12").signal(action, "c-1", **data)) == (404, "not_found")
    assert world.connect("12").refused(type=action, callId="c-1", **data)["code"] == "not_found"
    assert world.rest("10").log("c-1")["state"] == "ringing"
    assert not [
        message for message in taro.fence() if message["type"] in (action, "call") and message.get("state") != "ringing"
    ]


def test_a_call_id_in_use_between_others_is_free_for_everybody_else(world):
    world.rest("11").signal("offer", "c-1", sdp=samples.OFFER, to="10")
    assert world.rest("12").signal("offer", "c-1", sdp=samples.VIDEO_OFFER, to="13").json()["epoch"] == 1
    assert world.rest("13").log("c-1")["offer"]["sdp"] == samples.VIDEO_OFFER
    assert world.rest("10").log("c-1")["offer"]["sdp"] == samples.OFFER


@pytest.mark.parametrize(
    "who, answered, reason",
    [("11", False, "cancelled"), ("10", False, "declined"), ("11", True, "hangup"), ("10", True, "hangup")],
)
def test_delete_ends_the_call_by_role_and_state(world, who, answered, reason):
    devices = {user: {"device": f"phone-{user}"} for user in ("10", "11")}
    taro, hanako = world.rest("11", **devices["11"]), world.rest("10", **devices["10"])
    listener = world.connect("10" if who == "11" else "11", claims=devices["10" if who == "11" else "11"])
    taro.signal("offer", "c-1", sdp=samples.OFFER, to="10")
    if answered:
        hanako.signal("answer", "c-1", sdp=samples.ANSWER)
    deleting = taro if who == "11" else hanako
    assert deleting.delete("/api/calls/signal/c-1").status_code == 200
    assert listener.expect(type="call", state="ended")["reason"] == reason
    assert (deleting.log("c-1")["state"], deleting.log("c-1")["reason"]) == ("ended", reason)


def test_an_ended_call_can_still_be_fetched_with_its_reason(world):
    taro, hanako = world.rest("11"), world.rest("10")
    taro.signal("offer", "c-1", sdp=samples.OFFER, to="10")
    taro.signal("end", "c-1")
    log = hanako.log("c-1")
    assert (log["state"], log["reason"]) == ("ended", "cancelled")


def test_after_the_end_a_signal_is_409_call_ended(world):
    taro = world.rest("11")
    taro.signal("offer", "c-1", sdp=samples.OFFER, to="10")
    taro.signal("end", "c-1")
    assert code(taro.signal("ice", "c-1", candidate=None)) == (409, "call_ended")
    assert code(taro.signal("end", "c-1")) == (409, "call_ended")


def test_a_second_answer_is_409_already_answered(world):
    world.rest("11").signal("offer", "c-1", sdp=samples.OFFER, to="10")
    assert world.rest("10").signal("answer", "c-1", sdp=samples.ANSWER).status_code == 200
    other = world.rest("10").signal("answer", "c-1", sdp=samples.changed(samples.ANSWER, "other"))
    assert code(other) == (409, "already_answered")
    assert world.rest("11").log("c-1")["answer"]["sdp"] == samples.ANSWER


def test_the_history_is_newest_first_for_both_people(world):
    taro, hanako = world.rest("11"), world.rest("10")
    for number, callee in enumerate(["10", "20", "10"]):
        taro.signal("offer", f"h-{number}", sdp=samples.OFFER, to=callee)
        taro.signal("end", f"h-{number}")
    mine, hers = taro.get("/api/calls").json(), hanako.get("/api/calls").json()
    assert [entry["callee_id"] for entry in mine] == ["10", "20", "10"]
    assert [entry["caller_id"] for entry in hers] == ["11", "11"]
    assert [entry["started_at"] for entry in mine] == sorted((entry["started_at"] for entry in mine), reverse=True)
    assert len(taro.get("/api/calls", limit=1).json()) == 1
    assert world.rest("12").get("/api/calls").json() == []


def test_ids_in_the_history_are_integers_when_the_tokens_claim_is_one(world):
    import jwt

    token = jwt.encode({"uid": 11, "exp": int(time.time()) + 60}, world.server.secret, algorithm="HS256")
    taro = world.rest(token=token)
    taro.signal("offer", "11-10", sdp=samples.OFFER)
    entry = taro.get("/api/calls").json()[0]
    assert (entry["caller_id"], entry["callee_id"]) == (11, 10)


def test_a_calls_record_shows_its_state(world):
    taro = world.rest("11")
    taro.signal("offer", "c-1", sdp=samples.OFFER, to="10")
    assert taro.get("/api/calls/c-1").json()["state"] == "ringing"
    taro.signal("end", "c-1")
    assert taro.get("/api/calls/c-1").json()["state"] == "ended"


def test_a_body_may_use_whitespace_escapes_and_integers_as_json_allows(world):
    written = json.dumps(samples.OFFER)[1:-1] + r"a=x:\u5c71\/\ud83d\ude00\r\n"
    body = '\n{ "action" : "offer","callId":"c-1","to":10 ,"data":{"sdp":"' + written + '"}}\t'
    response = world.rest("11").request(
        "POST", "/api/calls/signal", content=body.encode(), headers={"Content-Type": "application/json; charset=utf-8"}
    )
    assert response.status_code == 200, response.text
    assert world.rest("10").log("c-1")["offer"]["sdp"] == samples.OFFER + "a=x:山/😀\r\n"


def test_many_requests_on_one_connection_get_responses(world):
    rest = world.rest("11")
    rest.signal("offer", "c-1", sdp=samples.OFFER, to="10")
    for _ in range(100):
        assert rest.get("/api/calls/signal/c-1").status_code == 200

"""Ids as apps and identity services write them: their alphabet, the case of UUIDs, numbers (protocol, section 1)."""

import urllib.parse
import uuid

import pytest
import samples
from push_services import pushed, register
from rest import code

# User ids of Auth0, Google, SAML, Cognito, phone numbers, e-mail addresses, Matrix, Firebase and others.
USERS = [
    *("auth0|5f7c8ec7c33c6c004bbafe82", "google-oauth2|103547991597142817347", "samlp|corp|a.b@example.com"),
    *("us-east-1:0a1b2c3d-4e5f-6789-abcd-ef0123456789", "+821012345678", "ada.lovelace+test@example.co.uk"),
    *("@user:matrix.org", "user#1234", "Zk3vT9xQpLhYw2JmN8sR5uB1oC7d", "~ada"),
]


def spelled(call_id: str) -> list[str]:
    """Returns a UUID in lower, upper and mixed case."""
    return [call_id.lower(), call_id.upper(), call_id[:13].upper() + call_id[13:].lower()]


@pytest.fixture
def lettered() -> str:
    """A UUID with letters in all its parts, so that its cases differ."""
    return "abcd" + str(uuid.uuid4())[4:9] + "abcd-4bcd-abcd-" + "ef" + str(uuid.uuid4())[-10:]


# The alphabet


@pytest.mark.parametrize("user", USERS)
def test_a_users_id_works_in_tokens_call_ids_rooms_paths_and_queries(world, user):
    caller, callee = world.connect(user, "phone|1"), world.connect("10", "phone~2")
    assert caller.user == user
    call_id = f"{user}-10"
    caller.ask(type="offer", callId=call_id, sdp=samples.OFFER)
    offer = callee.expect(type="offer")
    assert (offer["from"], offer["fromDevice"], offer["callId"]) == (user, "phone|1", call_id)
    assert offer["room"] == f"p2p:{user}-10"
    path = urllib.parse.quote(call_id, safe="")
    rest = world.rest("10")
    assert rest.log(path, peer=user, device="phone~2")["callId"] == call_id
    room = f"p2p:10-{user}"
    answer = rest.signal("answer", path, path_id=True, sdp=samples.ANSWER, top={"room": room, "deviceId": "phone~2"})
    assert answer.status_code == 200, answer.text
    assert caller.expect(type="answer")["from"] == "10"
    assert rest.get(f"/api/calls/{path}").json()["caller_id"] == user
    assert rest.get(f"/api/calls/{path}/timeline").json()["callId"] == call_id
    assert world.rest(user).delete(f"/api/calls/signal/{path}", peer="10").status_code == 200
    callee.expect(type="call", state="ended")
    assert [call["callId"] for call in world.rest(user).get("/api/calls").json()] == [call_id]
    assert rest.post("/api/blocks", {"userId": user}).status_code == 200
    assert rest.delete(f"/api/blocks/{urllib.parse.quote(user, safe='')}").status_code == 200
    assert rest.get("/api/blocks").json() == []


@pytest.mark.parametrize("user", USERS)
def test_two_users_with_such_ids_call_each_other(world, user):
    other = f"{user}2"
    caller, callee = world.connect(user, "a"), world.connect(other, "b")
    caller.ask(type="offer", room=f"p2p:{user}-{other}", callId=f"{user}-{other}", sdp=samples.OFFER)
    assert callee.expect(type="offer")["callId"] == f"{user}-{other}"
    callee.ask(type="answer", callId=f"{user}-{other}", sdp=samples.ANSWER)
    assert caller.expect(type="answer")["from"] == other


@pytest.mark.parametrize(
    "user", ["a b", "a/b", "a%b", "a?b", 'a"b', "a\\b", "a=b", "a>b", "a,b", "a;b", "é", "", "a" * 129]
)
def test_other_characters_are_refused_and_the_message_names_the_alphabet(world, user):
    response = world.rest("11").signal("offer", "c-1", sdp=samples.OFFER, top={"to": user})
    assert code(response) == (400, "invalid_field")
    assert response.json()["field"] == "to" and "| # ~" in response.json()["message"]


# UUIDs


@pytest.mark.parametrize("ways", [(0, 1), (1, 0), (2, 0), (0, 2), (2, 1), (1, 2)], ids=str)
def test_a_live_call_is_found_by_its_uuid_in_any_case(world, lettered, ways):
    written, other = spelled(lettered)[ways[0]], spelled(lettered)[ways[1]]
    taro, hanako = world.connect("11", "phone-11"), world.connect("10", "phone-10")
    assert taro.ring(hanako, written)["callId"] == written
    rest = world.rest("10")
    assert rest.log(other)["callId"] == written
    assert rest.log(other)["callUUID"] == lettered.lower()
    assert rest.get(f"/api/calls/{other}").json()["callId"] == written
    answer = rest.signal("answer", other, sdp=samples.ANSWER, top={"deviceId": "phone-10"})
    assert answer.status_code == 200 and answer.json()["callId"] == written
    assert taro.expect(type="answer")["callId"] == written
    # A resend, and a renegotiation, in the other case belong to the same call.
    assert taro.ask(type="offer", callId=other, sdp=samples.changed(samples.OFFER, "again"))["epoch"] == 1
    assert hanako.expect(type="offer", sdp=samples.changed(samples.OFFER, "again"))["callId"] == written
    hanako.ask(type="sync", calls={other: 0})
    assert rest.delete(f"/api/calls/signal/{other}").status_code == 200
    assert taro.expect(type="call", state="ended")["callId"] == written


@pytest.mark.parametrize("case", [0, 1, 2])
def test_an_ended_call_is_found_after_a_restart_by_its_uuid_in_any_case(world, lettered, case):
    written = spelled(lettered)[case]
    taro, _ = world.call(written)
    taro.ask(type="end", callId=written)
    world.server.kill()
    world.server.start()
    rest = world.rest("10")
    for other in spelled(lettered):
        assert rest.get(f"/api/calls/{other}").json()["state"] == "ended"
        events = rest.get(f"/api/calls/{other}/timeline").json()["events"]
        assert events[-1]["event"] == "ended"
        assert rest.log(other)["reason"] == "hangup"
        service = world.rest("backend", scope="server")
        assert service.get(f"/api/calls/{other}/timeline").json()["events"]


def test_a_second_call_under_a_uuid_in_the_other_case_has_the_next_epoch(world, lettered):
    taro, hanako = world.connect("11", "phone-11"), world.connect("10", "phone-10")
    taro.ring(hanako, lettered)
    taro.ask(type="end", callId=lettered)
    ack = taro.ask(type="offer", callId=lettered.upper(), to="10", sdp=samples.changed(samples.OFFER, "2"))
    assert (ack["callId"], ack["epoch"]) == (lettered.upper(), 2)
    offer = hanako.expect(type="offer", epoch=2)
    assert offer["callUUID"] == str(uuid.uuid5(uuid.NAMESPACE_URL, f"ringline:{lettered.lower()}/2"))


def test_a_glare_of_one_uuid_in_two_cases_is_one_call(world, lettered):
    taro, hanako = world.connect("11", "phone-11"), world.connect("10", "phone-10")
    taro.ring(hanako, lettered)
    refused = hanako.refused(type="offer", callId=lettered.upper(), to="11", sdp=samples.FIREFOX_OFFER)
    assert refused["code"] == "call_exists"


@pytest.mark.parametrize("case", [0, 1])
def test_the_act_of_a_push_works_for_its_call_in_either_case(push_world, case):
    world, fake = push_world
    token = register(world, deviceId="iphone-h")
    written = "abcdef01-2345-4789-abcd-ef0123456789"
    world.rest("11").signal("offer", spelled(written)[case], sdp=samples.OFFER, to="10")
    payload = pushed(fake, token)["payload"]
    assert payload["callId"] == spelled(written)[case] and payload["callUUID"] == written
    act = world.rest("10", token="none")
    act.http.headers["Authorization"] = f"Ring {payload['act']}"
    for other in spelled(written):
        assert act.log(other)["callId"] == spelled(written)[case]
    assert act.signal("ringing", spelled(written)[1 - case]).status_code == 200
    assert act.delete(f"/api/calls/signal/{spelled(written)[1 - case]}").status_code == 200
    assert world.rest("11").log(written)["reason"] == "declined"


# The callUUID of an offer


@pytest.mark.parametrize("upper", [False, True])
def test_an_offers_call_uuid_finds_its_call(world, upper):
    taro, hanako = world.connect("11", "phone-11"), world.connect("10", "phone-10")
    taro.ring(hanako, "11-10")
    known = hanako.expect(type="offer")["callUUID"]
    known = known.upper() if upper else known
    rest = world.rest("10")
    assert rest.log(known)["callId"] == "11-10"
    assert rest.log(known, peer="11")["callId"] == "11-10"
    assert rest.get(f"/api/calls/{known}").json()["callId"] == "11-10"
    assert rest.get(f"/api/calls/{known}/timeline").json()["callId"] == "11-10"
    answer = rest.signal("answer", known, sdp=samples.ANSWER, top={"deviceId": "phone-10"})
    assert answer.json()["callId"] == "11-10"
    assert taro.expect(type="answer")["callId"] == "11-10"
    assert hanako.ask(type="ice", callId=known, candidate=samples.CANDIDATES[0])["callId"] == "11-10"
    assert taro.ask(type="offer", callId=known, to="10", sdp=samples.changed(samples.OFFER, "2"))["callId"] == "11-10"
    assert code(world.rest("66").get(f"/api/calls/{known}")) == (404, "not_found")
    assert rest.delete(f"/api/calls/signal/{known}").status_code == 200
    assert taro.expect(type="call", state="ended")["reason"] == "hangup"


def test_a_third_party_does_not_come_between_by_an_offers_call_uuid(world):
    taro, hanako = world.connect("11", "phone-11"), world.connect("10", "phone-10")
    taro.ring(hanako, "11-10")
    known = hanako.expect(type="offer")["callUUID"]
    third = world.connect("66", "iphone-x")
    assert third.ring("10", known, sdp=samples.FIREFOX_OFFER)["callId"] == known
    assert hanako.fence() == []
    hanako.ask(type="answer", callId=known, sdp=samples.ANSWER)
    assert taro.expect(type="answer")["callId"] == "11-10"


# Numbers

LARGE = 9007199254740993


@pytest.mark.parametrize("user", [LARGE, 2**63 - 1, 2**63, 2**64, int("1" * 128)])
def test_large_ids_are_written_as_strings_in_history_also_for_a_token_with_numbers(world, user):
    assert world.connect(user, "phone").user == str(user)
    caller = world.rest(user)
    assert caller.signal("offer", "c-1", sdp=samples.OFFER, top={"to": str(LARGE + 2)}).status_code == 200
    assert caller.signal("offer", "c-2", sdp=samples.OFFER, top={"to": LARGE - 2}).status_code == 200
    users = {each["callId"]: (each["caller_id"], each["callee_id"]) for each in caller.get("/api/calls").json()}
    assert users == {"c-1": (str(user), str(LARGE + 2)), "c-2": (str(user), LARGE - 2)}
    assert caller.post("/api/blocks", {"userId": str(LARGE + 2)}).json()["id"] == str(LARGE + 2)
    assert caller.get("/api/blocks").json()[0]["user_id"] == str(LARGE + 2)


@pytest.mark.parametrize("user", [-11, 1.5, 1e30, -(2**63) - 1, 10**128])
def test_a_claim_that_is_no_id_is_refused(world, user):
    assert code(world.rest(user).get("/api/calls")) == (401, "unauthenticated")


@pytest.mark.parametrize("number", [LARGE - 1, LARGE, 2**63, 10**20])
def test_a_large_number_in_a_request_is_refused_with_the_reason(world, number):
    rest = world.rest("11")
    refused = [
        (rest.signal("offer", "c-1", sdp=samples.OFFER, top={"to": number}), "to"),
        (rest.signal("offer", "c-1", sdp=samples.OFFER, to=number), "to"),
        (rest.signal("offer", "c-1", sdp=samples.OFFER, top={"to": "10", "from": number}), "from"),
        (rest.post("/api/calls", {"callee_id": number}), "callee_id"),
        (rest.post("/api/blocks", {"userId": number}), "userId"),
        (rest.post("/api/blocks", {"blocked_user_id": number}), "blocked_user_id"),
        (rest.post("/api/logout-all", {"userId": number}), "userId"),
        (rest.put("/api/schedules/s", {"from": {"id": number}}), "from.id"),
    ]
    for response, field in refused:
        assert code(response) == (400, "invalid_field") and response.json()["field"] == field
        assert "JavaScript rounds larger numbers" in response.json()["message"], response.text
    taro = world.connect("11")
    for frame in (
        {"type": "offer", "callId": "c", "to": number, "sdp": samples.OFFER},
        {"type": "presence", "userId": number},
    ):
        assert "JavaScript rounds larger numbers" in taro.refused(**frame)["message"]


# Phone numbers

SPELLINGS = [
    *(
        "+821012345678",
        "\u202a+82 10-1234-5678\u202c",
        "+82\u00a010\u00a01234\u00a05678",
        "+82\u201010\u20111234\u20135678",
    ),
    *("＋８２１０１２３４５６７８", "+٨٢١٠١٢٣٤٥٦٧٨", "(+82) 10.1234.5678", "0082 10 1234 5678", "tel:+82-10-1234-5678"),
]


@pytest.mark.parametrize("blocked", SPELLINGS)
def test_a_blocked_number_does_not_ring_however_it_is_written(world, blocked):
    hanako = world.connect("10", "phone-10")
    rest = world.rest("10")
    assert rest.post("/api/blocks", {"number": blocked}).json()["number"] == "821012345678"
    for index, spelling in enumerate(SPELLINGS):
        taro = world.connect(f"1{index}1", "phone")
        taro.ring("10", f"c-{index}", handle=spelling, handleType="phoneNumber")
        taro.close()
    assert hanako.fence() == []
    path = urllib.parse.quote(f"number:{blocked}", safe="")
    if "/" not in blocked:
        assert rest.delete(f"/api/blocks/{path}").status_code == 200
        assert rest.get("/api/blocks").json() == []


EXTENDED = [
    *("+82-10-1234-5678;ext=5", "tel:+82-10-1234-5678;phone-context=+82", "+821012345678,5", "+821012345678;5"),
    *("+82 10 1234 5678 x5", "+82 10-1234-5678 ext. 5", "\u202a+82 10-1234-5678 #5\u202c", "0082 10 1234 5678 내선 5"),
]


@pytest.mark.parametrize("blocked", ["+82-10-1234-5678", *EXTENDED])
def test_a_blocked_number_does_not_ring_from_any_of_its_extensions(world, blocked):
    hanako = world.connect("10", "phone-10")
    assert world.rest("10").post("/api/blocks", {"number": blocked}).json()["number"] == "821012345678"
    for index, spelling in enumerate(["+821012345678", *EXTENDED]):
        taro = world.connect(f"1{index}1", "phone")
        taro.ring("10", f"c-{index}", handle=spelling, handleType="phoneNumber")
        taro.close()
    assert hanako.fence() == []
    assert world.rest("10").delete("/api/blocks/number:821012345678").status_code == 200


def test_other_numbers_and_ids_that_look_like_numbers_still_ring(world):
    hanako = world.connect("10", "phone-10")
    world.rest("10").post("/api/blocks", {"number": "+12"})
    for user, fields in (("12", {}), ("11", {"handle": "12"}), ("13", {"handle": "+1 3", "handleType": "phoneNumber"})):
        world.connect(user, "phone").ring(hanako, f"c-{user}", **fields)
        hanako.expect(type="offer", callId=f"c-{user}")

"""A signal that a client sends again takes effect only once (protocol, sections 0, 3.3 and 9.3)."""

import pytest
import samples
from rest import code

FIELDS = {
    "ice": {"candidate": samples.CANDIDATES[0]},
    "info": {"data": {"x": 1}},
    "connected": {},
    "update": {"hold": True},
    "dtmf": {"digits": "1"},
    "end": {},
}


def count(connection, kind: str) -> int:
    connection.fence()
    return len([message for message in connection.heard if message["type"] == kind])


@pytest.mark.parametrize("kind", FIELDS)
def test_the_same_id_gets_the_same_ack_and_is_relayed_once(world, kind):
    taro, hanako = world.call("c-1")
    first = taro.ask(type=kind, callId="c-1", id="same", **FIELDS[kind])
    again = taro.ask(type=kind, callId="c-1", id="same", **FIELDS[kind])
    assert again == first
    assert count(hanako, kind) == 1


def test_the_same_offer_id_rings_once(world):
    taro, hanako = world.connect("11"), world.connect("10")
    assert taro.ring(hanako, "c-1", id="o") == taro.ring(hanako, "c-1", id="o")
    assert count(hanako, "offer") == 1


def test_the_same_answer_id_answers_once(world):
    taro, hanako = world.call("c-1", answer=False)
    first = hanako.ask(type="answer", callId="c-1", id="a", sdp=samples.ANSWER)
    assert hanako.ask(type="answer", callId="c-1", id="a", sdp=samples.ANSWER) == first
    assert count(taro, "answer") == 1


def test_the_same_answer_again_under_another_id_is_the_same_answer(world):
    taro, hanako = world.call("c-1", answer=False)
    first = hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    assert hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)["seq"] == first["seq"]
    assert count(taro, "answer") == 1


def test_the_same_answer_by_socket_and_by_rest_is_one_answer(world):
    claims = {"device": "iphone"}
    taro, hanako = world.connect("11"), world.connect("10", claims=claims)
    taro.ring(hanako, "c-1")
    first = hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    again = world.rest("10", **claims).signal("answer", "c-1", sdp=samples.ANSWER)
    assert again.status_code == 200, again.text
    assert again.json()["seq"] == first["seq"]
    assert count(taro, "answer") == 1


def test_a_signal_under_the_id_of_another_type_is_another_signal(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, "c-1", id="same")
    for kind in ("ringing", "answer"):
        hanako.ask(type=kind, callId="c-1", id="same", **({"sdp": samples.ANSWER} if kind == "answer" else {}))
    for kind, fields in FIELDS.items():
        taro.ask(type=kind, callId="c-1", id="same", **fields)
        if kind != "end":
            assert count(hanako, kind) == 1, kind
    assert hanako.expect(type="call", callId="c-1", state="ended")["reason"] == "hangup"
    assert count(taro, "ringing") == 1 and count(taro, "answer") == 1


def test_another_signal_of_the_type_under_a_used_id_is_refused_and_the_id_is_named(world):
    taro, hanako = world.call("c-1")
    taro.ask(type="ice", callId="c-1", id="same", candidate=samples.CANDIDATES[0])
    refusal = taro.refused(type="ice", callId="c-1", id="same", candidate=samples.CANDIDATES[1])
    assert refusal["code"] == "invalid_field" and refusal["field"] == "id"
    taro.ask(type="ice", callId="c-1", id="other", candidate=samples.CANDIDATES[1])
    assert count(hanako, "ice") == 2


def test_the_same_id_over_rest_is_one_signal(world):
    taro, hanako = world.connect("11"), world.rest("10")
    taro.ring("10", "c-1")
    bodies = [hanako.signal("info", "c-1", top={"id": "same"}, data=1).json() for _ in range(3)]
    assert bodies[0] == bodies[1] == bodies[2]
    assert count(taro, "info") == 1


def test_the_same_id_by_socket_and_by_rest_of_one_device_is_one_signal(world):
    claims = {"device": "iphone"}
    taro, hanako = world.connect("11", claims=claims), world.connect("10")
    taro.ring(hanako, "c-1")
    ack = taro.ask(type="info", callId="c-1", id="same", data=1)
    assert world.rest("11", **claims).signal("info", "c-1", top={"id": "same"}, data=1).json()["seq"] == ack["seq"]
    assert count(hanako, "info") == 1


def test_the_same_id_of_two_devices_is_two_signals(world):
    taro, hanako = world.call("c-1")
    one = taro.ask(type="info", callId="c-1", id="same", data=1)
    two = hanako.ask(type="info", callId="c-1", id="same", data=2)
    assert one["seq"] != two["seq"]
    assert count(hanako, "info") == count(taro, "info") == 1


def test_ids_are_remembered_over_a_reconnect(world):
    taro, hanako = world.call("c-1")
    first = taro.ask(type="info", callId="c-1", id="same", data=1)
    taro.close()
    again = world.connect("11", "phone-11")
    assert again.ask(type="info", callId="c-1", id="same", data=1)["seq"] == first["seq"]
    assert count(hanako, "info") == 1


@pytest.mark.parametrize("kind", ["info", "end"])
def test_ids_are_remembered_over_a_crash(world, kind):
    taro, hanako = world.call("c-1")
    first = taro.ask(type=kind, callId="c-1", id="same", **FIELDS[kind])
    world.server.kill()
    world.server.start()
    again = world.connect("11", "phone-11").ask(type=kind, callId="c-1", id="same", **FIELDS[kind])
    assert (again["seq"], again["epoch"]) == (first["seq"], first["epoch"])
    log = world.rest("10", device="phone-10").log("c-1")
    assert len([signal for signal in log["signals"] if signal["type"] == kind]) == 1


def test_the_same_end_id_after_the_end_gets_the_same_ack_and_another_id_is_refused(world):
    taro, hanako = world.call("c-1")
    first = taro.ask(type="end", callId="c-1", id="bye")
    assert taro.ask(type="end", callId="c-1", id="bye") == first
    assert taro.refused(type="end", callId="c-1")["code"] == "call_ended"


def test_the_same_offer_again_under_another_id_is_not_relayed(world):
    taro, hanako = world.connect("11", "d"), world.connect("10")
    first = taro.ring(hanako, "c-1")
    assert taro.ring(hanako, "c-1")["seq"] == first["seq"]
    assert count(hanako, "offer") == 1


def test_a_relayed_signal_carries_the_senders_id(world):
    taro, hanako = world.call("c-1")
    taro.ask(type="info", callId="c-1", id="mine", data=1)
    assert hanako.expect(type="info")["id"] == "mine"


def test_an_id_of_64_characters_is_good_and_a_longer_one_is_not(world):
    taro, hanako = world.call("c-1")
    assert taro.ask(type="info", callId="c-1", id="i" * 64, data=1)["id"] == "i" * 64
    taro.send(type="info", callId="c-1", id="i" * 65, data=2)
    refusal = taro.wait(lambda message: message["type"] in ("error", "ack"))
    assert (refusal["type"], refusal["code"]) == ("error", "invalid_field")
    hanako.fence()
    assert [message["data"] for message in hanako.heard if message["type"] == "info"] == [1]


def test_an_offer_without_a_call_id_that_comes_again_is_the_same_call(world):
    hanako = world.connect("10", "iphone-h")
    taro = world.connect("11", "iphone-t")
    first = taro.ask(type="offer", id="once", to="10", sdp=samples.OFFER)
    assert taro.ask(type="offer", id="once", to="10", sdp=samples.OFFER) == first
    taro.close()
    taro = world.connect("11", "iphone-t")
    assert taro.ask(type="offer", id="once", to="10", sdp=samples.OFFER) == first, (
        "the ack is the same after a reconnect"
    )
    assert count(hanako, "offer") == 1
    world.server.kill()
    world.server.start()
    assert world.connect("11", "iphone-t").ask(type="offer", id="once", to="10", sdp=samples.OFFER) == first, (
        "the ack is the same after a kill"
    )
    hanako = world.connect("10", "iphone-h")
    assert count(hanako, "offer") == 1, "replayed once to a new connection"
    rest = world.rest("12")
    one = rest.signal("offer", top={"id": "z", "to": "10"}, sdp=samples.OFFER).json()
    assert rest.signal("offer", top={"id": "z", "to": "10"}, sdp=samples.OFFER).json() == one
    assert rest.signal("offer", top={"id": "z", "to": "13"}, sdp=samples.OFFER).json()["callId"] != one["callId"]


# The header


@pytest.mark.parametrize("key", ["8e03978e-40d5-43e8-bc93-6894a57f9324", '"8e03978e-40d5-43e8-bc93-6894a57f9324"'])
def test_an_idempotency_key_counts_as_the_id_of_the_signal(world, key):
    taro, hanako = world.rest("11"), world.connect("10")
    body = {"action": "offer", "to": "10", "data": {"sdp": samples.OFFER}}
    responses = [
        taro.request("POST", "/api/calls/signal", json=body, headers={"Idempotency-Key": key}) for _ in range(2)
    ]
    assert [each.status_code for each in responses] == [200, 200]
    assert responses[0].json() == responses[1].json()
    assert count(hanako, "offer") == 1
    assert hanako.heard[-1]["id"] == key.strip('"') or any(each.get("id") == key.strip('"') for each in hanako.heard)
    call_id = responses[0].json()["callId"]
    info = {"action": "info", "data": {"data": 1}}
    for _ in range(2):
        sent = taro.request("POST", f"/api/calls/signal/{call_id}", json=info, headers={"Idempotency-Key": "i"})
        assert sent.status_code == 200, sent.text
    assert count(hanako, "info") == 1


def test_an_idempotency_key_and_an_id_must_be_equal(world):
    world.call("c-1")
    rest = world.rest("11")
    body = {"action": "info", "callId": "c-1", "id": "a", "data": {"data": 1}}
    for key in ("b", '"b"', "", '""', "x" * 65):
        refused = rest.request("POST", "/api/calls/signal", json=body, headers={"Idempotency-Key": key})
        assert code(refused) == (400, "invalid_field"), key
        assert refused.json()["field"] == "Idempotency-Key"
    for key in ("a", '"a"'):
        sent = rest.request("POST", "/api/calls/signal", json=body, headers={"Idempotency-Key": key})
        assert sent.status_code == 200, sent.text


def test_a_schedule_that_is_made_twice_under_one_idempotency_key_is_one(world):
    rest = world.rest("10")
    body = {"at": "06:30", "timeZone": "Asia/Seoul", "days": ["mon"], "from": {"id": "wake", "displayName": "Wake-up"}}
    made = [rest.request("POST", "/api/schedules", json=body, headers={"Idempotency-Key": "k-1"}) for _ in range(2)]
    assert [each.status_code for each in made] == [200, 200], made[0].text
    assert made[0].json()["id"] == made[1].json()["id"] == "k-1"
    assert len(rest.get("/api/schedules").json()["schedules"]) == 1
    refused = rest.request("POST", "/api/schedules", json=body | {"id": "k-2"}, headers={"Idempotency-Key": "k-1"})
    assert code(refused) == (400, "invalid_field")


def test_a_schedule_that_is_rung_twice_under_one_idempotency_key_rings_once(world):
    rest, hanako = world.rest("10"), world.connect("10", "iphone-h")
    body = {"at": "06:30", "timeZone": "Asia/Seoul", "days": ["mon"], "from": {"id": "wake", "displayName": "Wake-up"}}
    assert rest.put("/api/schedules/s-1", body).status_code == 200

    def ring(key: str):
        return rest.request("POST", "/api/schedules/s-1/ring", headers={"Idempotency-Key": key})

    first = ring("k-1")
    assert first.status_code == 200, first.text
    assert ring('"k-1"').json() == first.json()
    assert code(ring("k-2")) == (409, "call_exists")
    world.server.kill()
    world.server.start()
    rest, hanako = world.rest("10"), world.connect("10", "iphone-h")
    assert ring("k-1").json() == first.json()
    hanako.ask(type="end", callId=first.json()["callId"])
    assert ring("k-1").json() == first.json()
    second = ring("k-2")
    assert second.status_code == 200 and second.json()["callId"] != first.json()["callId"]
    for key in ("", '""', "x" * 65):
        refused = ring(key)
        assert code(refused) == (400, "invalid_field") and refused.json()["field"] == "Idempotency-Key", key

"""Who is rung by a schedule and who is not: the caller is only a name, and blocks and do-not-disturb hold."""

import uuid

import pytest
import samples
from push_services import pushed, register
from raw_socket import RawSocket
from rest import code
from scheduled import LEAD, MIDDAY, become, call_rows, ended, history, make, make_for, reasons, rung, schedules
from test_schedules_rings import AGAIN, decline
from waiting import eventually

NAME = {"from": {"id": "11", "displayName": "Taro"}}


# --- The name of the caller ------------------------------------------------------------------------------------------


def test_the_user_whose_id_is_named_as_the_caller_takes_no_part(early, minute):
    world = early
    hanako, taro = world.connect("10", "iphone-h"), world.connect("11", "iphone-t")
    make(world, minute.daily(**NAME, **AGAIN))
    call_id = rung(hanako)["callId"]
    name = f"ringline:schedule/10/s-1/{minute.ms}/1"
    assert call_id != str(uuid.uuid5(uuid.NAMESPACE_URL, name)), "nobody can work it out"
    rest = world.rest("11")
    assert code(rest.get(f"/api/calls/signal/{call_id}")) == (404, "not_found")
    assert code(rest.get(f"/api/calls/signal/{call_id}", peer="10")) == (404, "not_found")
    assert code(rest.get(f"/api/calls/{call_id}")) == (404, "not_found")
    assert code(rest.get(f"/api/calls/{call_id}/timeline")) == (404, "not_found")
    assert code(rest.delete(f"/api/calls/signal/{call_id}")) == (404, "not_found")
    assert code(rest.delete(f"/api/calls/signal/{call_id}", peer="10")) == (404, "not_found")
    for kind in ("end", "answer", "ringing", "connected"):
        assert taro.refused(type=kind, callId=call_id, sdp="v=0\r\n")["code"] == "not_found", kind
        assert taro.refused(type=kind, callId=call_id, to="10", sdp="v=0\r\n")["code"] == "not_found", kind
    assert taro.refused(type="info", callId=call_id, confirm=True)["code"] == "not_found"
    hanako.ask(type="ringing", callId=call_id)
    hanako.ask(type="answer", callId=call_id)
    hanako.ask(type="info", callId=call_id, data={"for": "nobody"})
    again = world.connect("11", "ipad-t")
    for connection in (taro, again):
        assert [each for each in connection.fence() if each["type"] not in ("ack", "error")] == []
    hanako.ask(type="end", callId=call_id)
    ended(hanako, call_id)
    taro.close()
    taro = world.connect("11", "iphone-t")
    assert taro.fence() == []
    assert history(world, "11") == [] and reasons(world) == ["hangup"]
    assert code(rest.get(f"/api/calls/{call_id}")) == (404, "not_found")
    assert code(rest.post("/api/calls", {"callee_id": "10", "call_type": "audio"})) == (404, "not_found")


def test_users_are_not_in_touch_because_of_a_schedule(early, minute):
    world = early
    hanako, taro = world.connect("10", "iphone-h"), world.connect("11", "iphone-t")
    make(world, minute.once(**NAME))
    rung(hanako)
    assert taro.ask(type="presence", userId="10")["online"] is False
    assert hanako.ask(type="presence", userId="11")["online"] is False


def test_real_calls_of_the_named_user_are_calls_of_their_own(early, minute):
    world = early
    hanako, taro = world.connect("10", "iphone-h"), world.connect("11", "iphone-t")
    make(world, minute.once(**NAME))
    call_id = rung(hanako)["callId"]
    taro.ring(hanako, "c-1")
    hanako.expect(type="offer", callId="c-1")
    taro.ask(type="end", callId="c-1")
    hanako.ring(taro, "c-2")
    taro.expect(type="offer", callId="c-2")
    taro.ask(type="answer", callId="c-2", sdp=samples.ANSWER)
    hanako.expect(type="answer", callId="c-2")
    assert world.rest("10").log(call_id)["state"] == "ringing", "it takes part in no glare, and nothing replaces it"
    decline(hanako, call_id)
    become(world, ["declined", "cancelled", None])
    assert [call["callId"] for call in history(world, "11")] == ["c-2", "c-1"]


def test_the_named_user_cannot_take_the_call_over_by_its_call_id(early, minute):
    world = early
    hanako, taro = world.connect("10", "iphone-h"), world.connect("11", "iphone-t")
    make(world, minute.once(**NAME, **AGAIN))
    call_id = rung(hanako)["callId"]
    reply = taro.reply_to(taro.send(type="offer", to="10", callId=call_id, sdp=samples.OFFER))
    assert world.rest("10").get("/api/schedules/s-1").json()["rings"] == 1
    told = [(each["type"], each.get("state"), each.get("sdp")) for each in hanako.fence() if "callId" in each]
    assert told == [], f"the scheduled call is untouched; the caller was told {reply}"
    hanako.ask(type="info", callId=call_id, confirm=True)
    assert ended(hanako, call_id) == "confirmed"
    assert schedules(world) == []


def test_another_user_can_not_do_anything_with_it(early, minute):
    world = early
    hanako, other = world.connect("10", "iphone-h"), world.connect("12", "iphone-o")
    make(world, minute.once(**NAME))
    call_id = rung(hanako)["callId"]
    assert other.refused(type="end", callId=call_id)["code"] == "not_found"
    assert code(world.rest("12").get(f"/api/calls/signal/{call_id}")) == (404, "not_found")
    assert world.rest("10").log(call_id)["state"] == "ringing"


# --- Blocks and do-not-disturb ------------------------------------------------------------------------------------


def test_ones_own_schedule_rings_through_do_not_disturb_and_a_services_does_not(early, minute):
    world = early
    hanako = world.connect("10", "iphone-h")
    make(world, minute.once(), schedule="own")
    make_for(world, minute.once(ring=5), schedule="service")
    world.rest("10").put("/api/me/dnd", {"until": minute.ms + 3_600_000})
    rung(hanako, "own")
    assert [each for each in hanako.fence() if each["type"] == "offer"] == []
    eventually(lambda: ("service", "missed") in call_rows(world))
    assert [each for each in hanako.fence() if each.get("schedule") == "service"] == []
    assert [each["id"] for each in schedules(world)] == ["own"]
    assert [call.get("reason") for call in history(world)].count("missed") == 1


def set_do_not_disturb(world, minute):
    response = world.rest("10").put("/api/me/dnd", {"until": minute.ms + 3_600_000})
    assert response.status_code == 200, response.text


def test_during_do_not_disturb_ones_own_schedule_wakes_a_killed_device(early_with_pushes, minute):
    world, fake = early_with_pushes
    device = register(world, deviceId="iphone-h")
    make(world, minute.once(ring=5))
    make_for(world, minute.once(ring=5), schedule="service")
    set_do_not_disturb(world, minute)
    assert pushed(fake, device, LEAD + 8)["payload"]["scheduled"] is True
    eventually(lambda: [row[1] for row in call_rows(world)] == ["missed", "missed"], 10)
    assert len([push for push in fake.pushes(device) if push["headers"]["apns-push-type"] == "voip"]) == 1


def test_during_do_not_disturb_ones_own_schedule_wakes_a_device_with_a_dead_connection(early_with_pushes, minute):
    world, fake = early_with_pushes
    device = register(world, deviceId="iphone-h")
    half_open = RawSocket(world.server.port, world.token("10"), path="/ws?device=iphone-h")
    make(world, minute.once())
    set_do_not_disturb(world, minute)
    assert pushed(fake, device, LEAD + 10)["payload"]["scheduled"] is True
    half_open.close()


def test_during_do_not_disturb_the_push_of_ones_own_schedule_is_tried_again(early_with_pushes, minute):
    world, fake = early_with_pushes
    device = register(world, deviceId="iphone-h")
    fake.script(device, [{"status": 503}, {"status": 200}])
    make(world, minute.once())
    set_do_not_disturb(world, minute)
    eventually(lambda: [push["accepted"] for push in fake.pushes(device)] == [False, True], LEAD + 8)


@pytest.mark.parametrize("by", [make, make_for], ids=["own", "of a service"])
def test_a_blocked_caller_does_not_ring(early, minute, by):
    world = early
    hanako = world.connect("10", "iphone-h")
    world.rest("10").post("/api/blocks", {"userId": "11"})
    by(world, minute.once(ring=5, **NAME, **AGAIN))
    by(world, minute.once(), schedule="other")
    rung(hanako, "other")
    eventually(lambda: dict(call_rows(world)).get("s-1", "live") != "live", 15)
    assert [each for each in hanako.fence() if each.get("schedule") == "s-1"] == []
    assert [each["id"] for each in schedules(world)] == ["other"], "it rings no second time"


def test_a_user_in_a_call_is_told_that_the_call_waits(early, minute):
    world = early
    make(world, minute.once())
    _, hanako = world.call("c-1")
    assert rung(hanako)["waiting"] is True


def test_the_clock_of_these_tests_is_that_of_the_schedules(early, minute):
    assert make(early, MIDDAY | NAME | {"days": ["mon"]})["next"] > minute.server_now_ms

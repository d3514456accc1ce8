"""A schedule that is due rings its user: the server begins a call without a description (protocol, section 5.11)."""

import uuid

import pytest
import samples
from commands import wait_for
from push_services import pushed, register, token
from rest import code
from scheduled import (
    LEAD,
    become,
    call_rows,
    ended,
    history,
    make,
    make_for,
    rung,
    schedules,
)
from test_explain import explain
from test_monitoring import sample
from waiting import eventually

DATA = {"voice": "a", "texts": ["おはよう"]}
# A user who does not confirm is rung again after ten seconds, the shortest time that a schedule may name.
AGAIN = {"confirm": {"every": 10, "times": 2}}


# --- The ring --------------------------------------------------------------------------------------------------


def test_a_connected_device_gets_an_offer_without_a_description(early, minute):
    world = early
    hanako = world.connect("10", "iphone-h")
    body = minute.once(handle="+82212345678", handleType="phoneNumber", data=DATA, ring=60)
    assert make(world, body)["next"] == minute.ms
    offer = rung(hanako)
    assert minute.left > -2, "it rings at once"
    assert minute.ms <= offer.pop("ts") < minute.ms + 2_000
    assert minute.ms + 60_000 <= offer.pop("ringUntil") < minute.ms + 62_000
    call_id = offer["callId"]
    assert uuid.UUID(call_id).version == 5
    assert offer == {
        "type": "offer",
        "callId": call_id,
        "callUUID": call_id,
        "epoch": 1,
        "seq": 1,
        "from": "wake",
        "fromDevice": "scheduler",
        "room": "p2p:wake-10",
        "hasVideo": False,
        "displayName": "Wake-up",
        "media": "none",
        "scheduled": True,
        "schedule": "s-1",
        "handle": "+82212345678",
        "handleType": "phoneNumber",
        "data": DATA,
    }
    assert sample(world.server, "ringline_scheduled_rings_total") == 1
    log = world.rest("10").log(call_id)
    assert log["state"] == "ringing" and log["answer"] is None and log["candidates"] == []
    assert [each["type"] for each in log["signals"]] == ["offer"]
    assert log["signals"][0]["media"] == "none" and log["signals"][0]["data"] == DATA
    assert log["offer"] is None, "there is no description"
    late = world.connect("10", "ipad-h")
    assert rung(late)["callId"] == call_id, "a device that connects later is rung, too"


def test_a_one_time_schedule_is_gone_after_its_call_and_a_daily_one_stays(early, minute):
    world = early
    hanako = world.connect("10", "iphone-h")
    make(world, minute.once(), schedule="once")
    make(world, minute.daily(), schedule="daily")
    once, daily = rung(hanako, "once"), rung(hanako, "daily")
    ringing = {each["id"]: each for each in schedules(world)}
    assert ringing["once"]["rings"] == 1 and ringing["once"]["next"] is None
    assert ringing["daily"]["rings"] == 1 and ringing["daily"]["next"] == minute.ms + 86_400_000
    for offer in (once, daily):
        hanako.ask(type="end", callId=offer["callId"])
        assert ended(hanako, offer["callId"]) == "declined"
    (left,) = schedules(world)
    assert left["id"] == "daily" and "rings" not in left and left["next"] == minute.ms + 86_400_000
    become(world, ["declined", "declined"])
    assert sample(world.server, "ringline_schedules") == 1


def test_it_is_answered_without_a_description_and_hung_up(early, minute):
    world = early
    hanako, ipad = world.connect("10", "iphone-h"), world.connect("10", "ipad-h")
    make(world, minute.once())
    call_id = rung(hanako)["callId"]
    rung(ipad)
    hanako.ask(type="ringing", callId=call_id)
    answer = hanako.ask(type="answer", callId=call_id)
    assert answer["seq"] > 1
    hanako.expect(type="call", callId=call_id, state="answered")
    assert ended(ipad, call_id) == "answered_elsewhere"
    assert ipad.refused(type="answer", callId=call_id)["code"] == "already_answered"
    hanako.ask(type="connected", callId=call_id)
    hanako.expect(type="call", callId=call_id, state="active")
    assert hanako.refused(type="offer", callId=call_id, to="wake", sdp=samples.OFFER)["code"] == "forbidden"
    hanako.ask(type="end", callId=call_id)
    assert ended(hanako, call_id) == "hangup"
    become(world, ["hangup"])
    assert schedules(world) == []


def test_a_missed_one_is_missed_in_the_history(early, minute):
    world = early
    hanako = world.connect("10", "iphone-h")
    make(world, minute.once(ring=5))
    call_id = rung(hanako)["callId"]
    assert ended(hanako, call_id) == "missed"
    become(world, ["missed"])
    (call,) = history(world)
    assert call["callId"] == call_id and call["caller_id"] == "wake" and call["direction"] == "missed"
    wait_for(world, call_id, "ended: missed")
    assert "ring 1 of the schedule s-1" in explain(world, call_id, "A schedule that nobody answered")


def test_a_killed_device_is_pushed_and_answers_with_act(early_with_pushes, minute):
    world, fake = early_with_pushes
    device = register(world, deviceId="iphone-h")
    make(world, minute.once(handle="+82212345678", handleType="phoneNumber", data=DATA))
    payload = pushed(fake, device, LEAD + 8)["payload"]
    app = world.rest("10")
    app.http.headers["Authorization"] = "Ring " + payload.pop("act")
    assert minute.ms <= payload.pop("sentAt") < minute.ms + 3_000
    assert minute.ms + 45_000 <= payload.pop("ringUntil") < minute.ms + 47_000
    call_id = payload["callId"]
    assert payload == {
        "aps": {"content-available": 1},
        "type": "call.incoming",
        "callId": call_id,
        "epoch": 1,
        "fromUserId": "wake",
        "fromDisplayName": "Wake-up",
        "toUserId": "10",
        "room": "p2p:wake-10",
        "hasVideo": False,
        "callUUID": call_id,
        "handle": "+82212345678",
        "handleType": "phoneNumber",
        "callerId": "wake",
        "callerName": "Wake-up",
        "scheduled": True,
        "data": DATA,
    }
    assert app.log(call_id)["state"] == "ringing"
    assert app.signal("answer", call_id).status_code == 200
    assert app.log(call_id)["state"] == "answered"
    assert app.delete(f"/api/calls/signal/{call_id}").status_code == 200
    become(world, ["hangup"])


def test_a_handle_that_is_absent_is_the_callers_id_and_large_data_stays_out_of_a_push_that_is_full(
    early_with_pushes, minute
):
    world, fake = early_with_pushes
    device = register(world, deviceId="iphone-h")
    world_from = {"id": "w" * 128, "displayName": "\\" * 256}
    make(world, minute.once(data="\u0001" * 160, **{"from": world_from}))
    payload = pushed(fake, device, LEAD + 8)["payload"]
    assert payload["handle"] == "w" * 128 and payload["scheduled"] is True


# --- Confirmation -------------------------------------------------------------------------------------------------


def confirm_over_websocket(world, device, call_id):
    device.ask(type="info", callId=call_id, confirm=True)


def confirm_over_rest(world, device, call_id):
    response = world.rest("10").signal("info", call_id, confirm=True, deviceId=device.device)
    assert response.status_code == 200, response.text


def confirm_the_schedule(world, device, call_id):
    response = world.rest("10").request("POST", "/api/schedules/s-1/confirm")
    assert response.status_code == 200 and response.json()["ok"] is True, response.text


def confirm_as_a_service(world, device, call_id):
    response = world.rest("backend", scope="server").request("POST", "/api/users/10/schedules/s-1/confirm")
    assert response.status_code == 200, response.text


WAYS = [confirm_over_websocket, confirm_over_rest, confirm_the_schedule, confirm_as_a_service]


@pytest.mark.parametrize("answers", [False, True], ids=["while it rings", "after the answer"])
@pytest.mark.parametrize("confirm", WAYS, ids=lambda way: way.__name__)
def test_a_call_that_is_confirmed_is_over_for_good(early, minute, confirm, answers):
    world = early
    hanako, ipad = world.connect("10", "iphone-h"), world.connect("10", "ipad-h")
    make(world, minute.once(**AGAIN))
    call_id = rung(hanako)["callId"]
    rung(ipad)
    if answers:
        hanako.ask(type="answer", callId=call_id)
        assert ended(ipad, call_id) == "answered_elsewhere"
    confirm(world, hanako, call_id)
    assert ended(hanako, call_id) == "confirmed"
    if not answers:
        assert ended(ipad, call_id) == "confirmed"
    become(world, ["confirmed"])
    assert schedules(world) == []
    assert code(world.rest("10").request("POST", "/api/schedules/s-1/confirm")) == (404, "not_found")


def test_a_confirmation_by_act(early_with_pushes, minute):
    world, fake = early_with_pushes
    device = register(world, deviceId="iphone-h")
    make(world, minute.daily(**AGAIN))
    payload = pushed(fake, device, LEAD + 8)["payload"]
    app = world.rest("10")
    app.http.headers["Authorization"] = "Ring " + payload["act"]
    assert code(app.signal("info", payload["callId"], data={"a": 1})) == (403, "forbidden")
    assert app.signal("info", payload["callId"], confirm=True).status_code == 200
    become(world, ["confirmed"])
    (left,) = schedules(world)
    assert "rings" not in left and "again" not in left and left["next"] == minute.ms + 86_400_000
    wait_for(world, payload["callId"], "ended: confirmed")
    explain(world, payload["callId"], "A schedule that was confirmed")


def decline(device, call_id):
    device.ask(type="end", callId=call_id)
    return "declined"


def hang_up(device, call_id):
    device.ask(type="answer", callId=call_id)
    device.ask(type="end", callId=call_id)
    return "hangup"


def say_failed(device, call_id):
    device.ask(type="end", callId=call_id, reason="failed")
    return "failed"


def say_nothing(device, call_id):
    return "unanswered"


@pytest.mark.parametrize("leave", [decline, hang_up, say_failed, say_nothing], ids=lambda way: way.__name__)
def test_whoever_does_not_confirm_is_rung_again_and_given_up_after_the_last_ring(early, minute, leave):
    world = early
    hanako = world.connect("10", "iphone-h")
    make(world, minute.once(ring=5, data=DATA, **AGAIN))
    first = rung(hanako)["callId"]
    reason = leave(hanako, first)
    left_at = hanako.expect(10, type="call", callId=first, state="ended")
    assert left_at["reason"] == reason
    (between,) = schedules(world)
    # A ring that nobody answers ends when its time is over, and is noticed a little later.
    assert between["rings"] == 1 and abs(left_at["ts"] - (between["again"] - 10_000)) < 3_000
    second = rung(hanako, seconds=15)
    assert second["callId"] != first and second["data"] == DATA
    assert between["again"] <= second["ts"] < between["again"] + 5_000
    leave(hanako, second["callId"])
    assert ended(hanako, second["callId"], 10) == "given_up"
    become(world, [reason, "given_up"])
    assert schedules(world) == []
    assert call_rows(world) == [("s-1", reason), ("s-1", "given_up")]
    wait_for(world, second["callId"], "ended: given up")
    if leave is decline:
        explain(world, second["callId"], "A schedule that was never confirmed")


def test_between_two_rings_the_schedule_can_be_confirmed(early, minute):
    world = early
    hanako = world.connect("10", "iphone-h")
    make(world, minute.daily(**AGAIN))
    call_id = rung(hanako)["callId"]
    decline(hanako, call_id)
    eventually(lambda: "again" in schedules(world)[0])
    assert world.rest("10").request("POST", "/api/schedules/s-1/confirm").status_code == 200
    become(world, ["declined", "confirmed"])
    (left,) = schedules(world)
    assert "again" not in left and "rings" not in left
    confirmed = history(world)[0]["callId"]
    wait_for(world, confirmed, "ended: confirmed")


def test_a_ring_that_needs_no_confirmation_may_be_confirmed(early, minute):
    world = early
    hanako = world.connect("10", "iphone-h")
    make(world, minute.once())
    call_id = rung(hanako)["callId"]
    confirm_over_websocket(world, hanako, call_id)
    assert ended(hanako, call_id) == "confirmed"
    become(world, ["confirmed"])


# --- A schedule that changes while it rings -----------------------------------------------------------------------


@pytest.mark.parametrize("by", ["10", "backend"])
def test_a_schedule_that_is_deleted_while_it_rings_rings_no_more(early, minute, by):
    world = early
    hanako = world.connect("10", "iphone-h")
    make(world, minute.daily(**AGAIN))
    call_id = rung(hanako)["callId"]
    rest = world.rest("backend", scope="server") if by == "backend" else world.rest("10")
    assert rest.delete("/api/users/10/schedules/s-1").status_code == 200
    assert ended(hanako, call_id) == "cancelled"
    become(world, ["cancelled"])
    assert schedules(world) == []
    wait_for(world, call_id, "ended: cancelled")
    explain(world, call_id, "A schedule that was removed while it rang")


def test_a_schedule_that_is_deleted_between_two_rings_rings_no_more(early, minute):
    world = early
    hanako = world.connect("10", "iphone-h")
    make(world, minute.once(**AGAIN))
    decline(hanako, rung(hanako)["callId"])
    eventually(lambda: "again" in schedules(world)[0])
    world.rest("10").delete("/api/schedules/s-1")
    with pytest.raises(AssertionError, match="not heard"):
        rung(hanako, seconds=11)
    assert len(call_rows(world)) == 1


def test_a_schedule_that_is_replaced_while_it_rings_rings_on_and_again_as_it_now_says(early, minute):
    world = early
    hanako = world.connect("10", "iphone-h")
    make(world, minute.daily(data=DATA, **AGAIN))
    call_id = rung(hanako)["callId"]
    changed = world.rest("10").request("PATCH", "/api/schedules/s-1", json={"data": {"voice": "b"}})
    assert changed.json()["rings"] == 1
    decline(hanako, call_id)
    assert rung(hanako, seconds=15)["data"] == {"voice": "b"}


def test_a_schedule_that_is_moved_before_it_is_due_does_not_ring_at_its_old_time(early, minute):
    world = early
    hanako = world.connect("10", "iphone-h")
    make(world, minute.daily(), schedule="moved")
    make(world, minute.daily(), schedule="gone")
    make(world, minute.daily(), schedule="stays")
    world.rest("10").request("PATCH", "/api/schedules/moved", json={"timeZone": "Asia/Kolkata"})
    world.rest("10").delete("/api/schedules/gone")
    rung(hanako, "stays")
    assert [each for each in hanako.fence() if each["type"] == "offer"] == []


# --- Ordinary calls -----------------------------------------------------------------------------------------------


def test_ordinary_calls_need_descriptions_as_before(world):
    taro, hanako = world.connect("11", "iphone-t"), world.connect("10", "iphone-h")
    for told in ({}, {"media": "none"}, {"media": "none", "scheduled": True, "schedule": "s-1"}):
        refused = taro.refused(type="offer", to="10", callId="c-1", **told)
        assert refused["code"] == "invalid_field" and refused["field"] == "sdp" and "missing" in refused["message"]
    taro.ring(hanako, "c-1", scheduled=True, media="none")
    offer = hanako.expect(type="offer")
    assert "scheduled" not in offer
    refused = hanako.refused(type="answer", callId="c-1")
    assert refused["code"] == "invalid_field" and refused["field"] == "sdp"
    response = world.rest("10").signal("answer", "c-1")
    assert code(response) == (400, "invalid_field") and response.json()["field"] == "sdp"
    assert hanako.refused(type="info", callId="c-1", confirm=True)["code"] == "forbidden"
    assert code(world.rest("10").signal("info", "c-1", confirm=True)) == (403, "forbidden")
    hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    taro.expect(type="answer")
    assert taro.refused(type="info", callId="c-1", confirm=True)["code"] == "forbidden"
    hanako.ask(type="info", callId="c-1", confirm=False, data=1)
    assert taro.expect(type="info")["data"] == 1


def test_the_reasons_of_scheduled_calls_are_not_for_ordinary_ones(world):
    taro, hanako = world.call("c-1")
    hanako.ask(type="end", callId="c-1", reason="confirmed")
    assert taro.expect(type="call", callId="c-1", state="ended")["reason"] == "hangup"
    for number, reason in enumerate(["missed", "given_up", "confirmed"]):
        taro.ring(hanako, f"d-{number}")
        hanako.expect(type="offer", callId=f"d-{number}")
        hanako.ask(type="end", callId=f"d-{number}", reason=reason)
        assert taro.expect(type="call", callId=f"d-{number}", state="ended")["reason"] == "declined"


def test_pushes_of_ordinary_calls_say_nothing_of_schedules(push_world):
    world, fake = push_world
    register(world)
    world.connect("11").ring("10", "c-1", handle="+1", data={"a": 1}, scheduled=True)
    payload = pushed(fake, token(1))["payload"]
    assert payload["handle"] == "+1" and not payload.keys() & {"scheduled", "data", "schedule"}


def test_a_service_makes_a_ring_for_a_user(early, minute):
    hanako = early.connect("10", "iphone-h")
    make_for(early, minute.once())
    offer = rung(hanako)
    assert offer["from"] == "wake"
    hanako.ask(type="answer", callId=offer["callId"], sdp=samples.ANSWER)
    for more in ({"type": "ice", "candidate": None}, {"type": "update", "hold": True}, {"type": "dtmf", "digits": "1"}):
        assert hanako.ask(callId=offer["callId"], **more)["seq"] > 1, "an app may send what it sends in every call"

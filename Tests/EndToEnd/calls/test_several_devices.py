"""One user with several devices (protocol, section 7)."""

import samples


def three(world, call_id="c-1"):
    """Rings the two devices of a callee; returns (caller, device, device)."""
    taro, phone, tablet = world.connect("11"), world.connect("10", "phone"), world.connect("10", "tablet")
    taro.ring("10", call_id)
    phone.expect(type="offer")
    tablet.expect(type="offer")
    return taro, phone, tablet


def test_every_device_rings(world):
    three(world)


def test_the_first_answer_wins_and_the_others_are_told(world):
    taro, phone, tablet = three(world)
    phone.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    assert tablet.expect(type="call", state="ended")["reason"] == "answered_elsewhere"
    assert taro.expect(type="call", state="answered")["answeredBy"] == {"user": "10", "device": "phone"}
    assert (
        tablet.refused(type="answer", callId="c-1", sdp=samples.changed(samples.ANSWER, "t"))["code"]
        == "already_answered"
    )
    taro.fence()
    assert len([message for message in taro.heard if message["type"] == "answer"]) == 1


def test_one_devices_decline_declines_for_all(world):
    taro, phone, tablet = three(world)
    phone.ask(type="end", callId="c-1")
    assert tablet.expect(type="call", state="ended")["reason"] == "declined_elsewhere"
    assert taro.expect(type="call", state="ended")["reason"] == "declined"


def test_the_cancel_reaches_every_device(world):
    taro, phone, tablet = three(world)
    taro.ask(type="end", callId="c-1")
    for device in (phone, tablet):
        assert device.expect(type="call", state="ended")["reason"] == "cancelled"


def test_a_late_decline_of_another_device_does_not_kill_an_answered_call(world):
    taro, phone, tablet = three(world)
    phone.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    tablet.expect(type="call", state="ended")
    assert tablet.ask(type="end", callId="c-1")["type"] == "ack"
    taro.ask(type="info", callId="c-1", data="still here")
    assert phone.expect(type="info")["data"] == "still here"
    assert not [message for message in taro.fence() if message.get("state") == "ended"]


def test_after_the_answer_the_call_is_between_two_devices(world):
    taro, phone, tablet = three(world)
    phone.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    tablet.fence()
    tablet.heard.clear()
    taro.ask(type="ice", callId="c-1", candidate=samples.CANDIDATES[0])
    phone.expect(type="ice")
    phone.ask(type="info", callId="c-1", data=1)
    taro.expect(type="info")
    tablet.fence()
    assert not [message for message in tablet.heard if message["type"] in ("ice", "info", "answer")]


def test_the_answer_goes_only_to_the_callers_device_that_called(world):
    mobile, desktop = world.connect("11", "mobile"), world.connect("11", "desktop")
    hanako = world.connect("10")
    mobile.ring("10", "c-1")
    hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    assert mobile.expect(type="answer")["sdp"] == samples.ANSWER
    desktop.fence()
    assert not [message for message in desktop.heard if message["type"] == "answer"]


def test_a_device_that_does_not_show_the_call_declines_nothing(world):
    taro, phone, tablet = three(world)
    ack = phone.ask(type="ringing", callId="c-1", shown=False, why="focus")
    assert ack["type"] == "ack" and "seq" not in ack
    assert phone.ask(type="ringing", callId="c-1", shown=False, why="focus")["type"] == "ack"
    assert not [message for message in taro.fence() if message["type"] == "ringing"]
    tablet.ask(type="ringing", callId="c-1")
    assert taro.expect(type="ringing")["fromDevice"] == "tablet"
    tablet.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    assert taro.expect(type="call", state="answered")["answeredBy"] == {"user": "10", "device": "tablet"}


def test_ringing_of_each_device_is_relayed(world):
    taro, phone, tablet = three(world)
    phone.ask(type="ringing", callId="c-1")
    tablet.ask(type="ringing", callId="c-1")
    assert {taro.expect(type="ringing")["fromDevice"], taro.expect(type="ringing")["fromDevice"]} == {"phone", "tablet"}


def test_the_hang_up_of_an_answered_call_reaches_the_answering_device(world):
    taro, phone, tablet = three(world)
    phone.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    taro.ask(type="end", callId="c-1")
    assert phone.expect(type="call", state="ended")["reason"] == "hangup"
    tablet.fence()
    assert [m["reason"] for m in tablet.heard if m.get("state") == "ended"] == ["answered_elsewhere"]

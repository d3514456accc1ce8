"""Limits on how often, and by how many callers, a device is made to ring (protocol, sections 7.4 and 8.4)."""

import subprocess

import samples
from push_services import pushed, register
from rest import code
from ringline_server import binary
from world import push_options


def test_thirty_rings_of_one_pair_are_limited_and_so_are_their_pushes(apns, make_server, make_world):
    world = make_world(make_server(*push_options(apns), "--rings-per-pair", 6, "--rings-per-callee", 30))
    device = register(world)
    taro = world.connect("11")
    replies = []
    for number in range(30):
        replies.append(taro.reply_to(taro.send(type="offer", callId=f"c-{number}", to="10", sdp=samples.OFFER)))
        if number == 0:
            pushed(apns, device)
        if replies[-1]["type"] == "ack":
            taro.ask(type="end", callId=f"c-{number}")
    taken = [reply for reply in replies if reply["type"] == "ack"]
    assert [reply["type"] for reply in replies[:6]] == ["ack"] * 6
    assert len(taken) <= 7, "six rings at once, then one in ten seconds"
    assert {reply["code"] for reply in replies if reply["type"] == "error"} == {"rate_limited"}
    assert 1 <= replies[-1]["retryAfter"] <= 10
    pushes = [push["payload"]["callId"] for push in apns.pushes(device)]
    assert "c-0" in pushes and set(pushes) <= {reply["callId"] for reply in taken}
    assert len(pushes) == len(set(pushes)), "at most one push a ring"
    refused = world.rest("11").signal("offer", "c-rest", sdp=samples.OFFER, to="10")
    assert code(refused) == (429, "rate_limited")
    assert 1 <= int(refused.headers["retry-after"]) <= 10
    metrics = world.server.metrics_text()
    assert f'ringline_limited_total{{limit="rings_per_pair"}} {31 - len(taken)}' in metrics
    world.server.terminate()
    world.server.exit_code()
    last = taken[-1]["callId"]
    told = subprocess.run(
        [binary(), "explain", last, *world.server.store_options], capture_output=True, text=True, check=True
    ).stdout
    assert "more rings were refused" in told and "--rings-per-pair" in told


def test_rings_a_minute_to_a_callee_are_limited_over_all_callers(make_server, make_world):
    world = make_world(make_server("--rings-per-callee", 3))
    rests = [world.rest(f"c{number}") for number in range(5)]
    # Each caller uses a different callId, because an offer under a callId in use rings no device.
    responses = [rest.signal("offer", f"x{number}", sdp=samples.OFFER, to="10") for number, rest in enumerate(rests)]
    assert [response.status_code for response in responses] == [200] * 3 + [429] * 2
    assert 1 <= int(responses[-1].headers["retry-after"]) <= 20
    events = world.rest("10").get("/api/calls/x2/timeline", peer="c2").json()["events"]
    refused = [event for event in events if event["event"] == "ring.refused"]
    assert [(event["from"], event["count"]) for event in refused] == [("c3", 1), ("c4", 2)]
    assert world.rest("11").signal("offer", "y", sdp=samples.OFFER, to="12").status_code == 200, (
        "the limit is per callee, so 12 still rings"
    )


def test_the_sixth_caller_at_once_is_told_busy(world):
    hanako = world.connect("10")
    callers = [world.connect(f"c{number}") for number in range(6)]
    for caller in callers[:5]:
        assert "state" not in caller.ring(hanako, caller.user)
    ack = callers[5].ring(hanako, "c5")
    assert (ack["state"], ack["reason"]) == ("ended", "busy")
    offers = [message["callId"] for message in hanako.fence() if message["type"] == "offer"]
    assert offers == [f"c{number}" for number in range(5)]
    assert 'ringline_limited_total{limit="crowded"} 1' in world.server.metrics_text()
    events = [event["event"] for event in world.rest("10").get("/api/calls/c5/timeline").json()["events"]]
    assert "crowded" in events
    callers[0].ask(type="end", callId="c0")
    assert "state" not in callers[5].ring(hanako, "c5-again")


def test_a_newer_call_of_the_same_caller_to_the_same_callee_replaces_the_ringing_one(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, "c-1")
    hanako.expect(type="offer", callId="c-1")
    taro.ring(hanako, "c-2")
    for connection in (taro, hanako):
        ended = connection.expect(type="call", callId="c-1", state="ended")
        assert (ended["reason"], ended["replacedBy"]) == ("replaced", "c-2")
    hanako.expect(type="offer", callId="c-2")
    assert hanako.refused(type="answer", callId="c-1", sdp=samples.ANSWER)["code"] == "call_ended"
    hanako.ask(type="answer", callId="c-2", sdp=samples.ANSWER)
    assert taro.expect(type="answer", callId="c-2")
    log = world.rest("10").log("c-1")
    assert (log["state"], log["reason"], log["replacedBy"]) == ("ended", "replaced", "c-2")

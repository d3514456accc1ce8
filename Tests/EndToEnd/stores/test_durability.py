"""After a `kill -9` at any moment, everything that was acked is still there (protocol, section 0)."""

import itertools
import os
import random
import threading
import time

import pytest
import samples
from waiting import eventually
from websockets.exceptions import ConnectionClosed

# RINGLINE_KILLS=1000 makes a long run that takes some minutes.
KILLS = int(os.environ.get("RINGLINE_KILLS", "20"))
# Before the answer, a log can hold 64 signals.
SIGNALS = 60


def strictly_growing(numbers) -> bool:
    return all(one < other for one, other in itertools.pairwise(numbers))


def ices(rest, call_id: str) -> list[dict]:
    return [signal for signal in rest.log(call_id)["signals"] if signal["type"] == "ice"]


def next_reply(connection) -> dict | None:
    """Returns the next ack or error, or None if the connection has closed or no message comes for 2 s."""
    try:
        return connection.wait(lambda message: message["type"] in ("ack", "error"), 2)
    except AssertionError:
        return None


@pytest.mark.timeout(150 + KILLS)
def test_many_kills_under_traffic_lose_nothing_that_was_acked(make_server, make_world):
    chance = random.Random(11)
    server = make_server("--ring-timeout", 3600)
    world = make_world(server)
    registered = {"bundleId": "com.example.chat", "platform": "ios", "voipDeviceToken": "a" * 64, "deviceId": "d-1"}
    world.rest("10").put("/api/me/devices", registered)
    taken: dict[tuple[str, int], str] = {}  # (callId, seq) → the id of the signal with that seq
    deadlines: dict[str, int] = {}
    acked: dict[str, list[tuple[int, str]]] = {}

    def given(call_id: str, seq: int, mark: str):
        assert taken.setdefault((call_id, seq), mark) == mark, f"seq {seq} of {call_id} was given to two signals"

    for round_number in range(KILLS):
        caller, callee, call_id = f"c{round_number}", f"b{round_number}", f"call-{round_number}"
        hanako = world.connect(callee, "listener")
        taro = world.connect(caller, "phone")
        ack = taro.ring(callee, call_id)
        deadlines[call_id] = hanako.expect(type="offer", callId=call_id)["ringUntil"]
        acked[call_id] = []
        marks = {f"{call_id}-{number}": number for number in range(SIGNALS)}
        # The kill comes at a random moment while signals are sent, committed and acked.
        moment, killer = chance.randrange(1, SIGNALS), threading.Timer(chance.uniform(0, 0.01), server.kill)

        def hears_an_ack(taro=taro, call_id=call_id) -> bool:
            if (reply := next_reply(taro)) is None:
                return False
            assert reply["type"] == "ack", reply
            acked[call_id].append((reply["seq"], reply["id"]))
            given(call_id, reply["seq"], reply["id"])
            return True

        try:
            for mark, number in marks.items():
                if number == moment:
                    killer.start()
                taro.send(type="ice", callId=call_id, id=mark, candidate=samples.candidate(number))
                # Each commit releases its acks together. Reading them here spreads the traffic over several commits.
                while number - len(acked[call_id]) > 20 and hears_an_ack():
                    pass
        except ConnectionClosed:
            pass
        while hears_an_ack():
            pass
        killer.join()
        # The callee has seen the seq of a signal that was relayed but not acked: no other signal may get that seq.
        assert hanako.close_code(5) == 1006
        for message in hanako.heard:
            if message["type"] == "ice" and message.get("callId") == call_id:
                given(call_id, message["seq"], message["id"])

        server.start()
        rest = world.rest(callee, device="checker")
        log = rest.log(call_id)
        kept = [(signal["seq"], signal["id"]) for signal in ices(rest, call_id)]
        assert set(acked[call_id]) <= set(kept), f"round {round_number}: lost {sorted(set(acked[call_id]) - set(kept))}"
        assert strictly_growing([seq for seq, _ in kept])
        assert log["state"] == "ringing" and log["epoch"] == ack["epoch"]
        assert log["ringUntil"] == deadlines[call_id]
        for seq, mark in kept:
            given(call_id, seq, mark)

        # The sender reconnects and resends everything under the same ids. The log then has each signal once, in order.
        taro = world.connect(caller, "phone")
        for mark, number in marks.items():
            taro.send(type="ice", callId=call_id, id=mark, candidate=samples.candidate(number))
        for mark in marks:
            reply = taro.reply_to(mark)
            assert reply["type"] == "ack", reply
            given(call_id, reply["seq"], mark)
        kept = ices(rest, call_id)
        assert sorted(signal["id"] for signal in kept) == sorted(marks)
        assert strictly_growing([signal["seq"] for signal in kept])
        assert all(signal["candidate"] == samples.candidate(marks[signal["id"]]) for signal in kept)
        taro.close()
        hanako.close()

    assert [call for call in acked.values() if 0 < len(call) < SIGNALS], (
        "no kill came while signals were acked: the run proved nothing"
    )
    # At the end, the call of every round is still ringing with its own deadline, and the device is still registered.
    for call_id, until in deadlines.items():
        log = world.rest(call_id.replace("call-", "b"), device="checker").log(call_id)
        assert (log["state"], log["ringUntil"]) == ("ringing", until)
        assert set(acked[call_id]) <= {
            (signal["seq"], signal["id"]) for signal in log["signals"] if signal["type"] == "ice"
        }
    assert [device["deviceId"] for device in world.rest("10").get("/api/me/devices").json()] == ["d-1"]


def test_an_answered_call_continues_after_a_kill(world):
    taro, hanako = world.call("c-1")
    taro.ask(type="connected", callId="c-1")
    world.server.kill()
    world.server.start()
    taro, hanako = world.connect("11", "phone-11"), world.connect("10", "phone-10")
    assert world.rest("11", device="phone-11").log("c-1")["state"] == "active"
    taro.ask(type="info", callId="c-1", data="still here")
    assert hanako.expect(type="info")["data"] == "still here"
    hanako.ask(type="end", callId="c-1")
    assert taro.expect(type="call", state="ended")["reason"] == "hangup"


def test_an_ended_call_stays_ended_after_a_kill(world):
    taro, _ = world.call("c-1")
    taro.ask(type="end", callId="c-1")
    world.server.kill()
    world.server.start()
    log = world.rest("10", device="phone-10").log("c-1")
    assert (log["state"], log["reason"]) == ("ended", "hangup")
    assert world.connect("10", "phone-10").refused(type="info", callId="c-1", data=1)["code"] == "call_ended"


def test_a_call_answered_before_a_kill_is_not_answered_again_after_it(world):
    world.call("c-1")
    world.server.kill()
    world.server.start()
    assert (
        world.connect("10", "tablet").refused(type="answer", callId="c-1", sdp=samples.changed(samples.ANSWER, "t"))[
            "code"
        ]
        == "already_answered"
    )


def test_a_ring_that_ran_out_while_the_server_was_down_is_unanswered(make_server, make_world):
    world = make_world(make_server("--ring-timeout", 2))
    world.connect("11").ring("10", "c-1")
    until = world.rest("10").log("c-1")["ringUntil"]
    world.server.kill()
    while time.time() * 1000 <= until:
        time.sleep(0.05)
    world.server.start()
    taro = world.rest("11")
    # It ends at the start, not after another two seconds of ringing.
    eventually(lambda: taro.log("c-1")["state"] == "ended", 1.5)
    assert taro.log("c-1")["reason"] == "unanswered"


def test_the_original_ring_deadline_holds_after_a_restart(make_server, make_world):
    world = make_world(make_server("--ring-timeout", 4))
    world.connect("11", "a").ring("10", "c-1")
    until = world.rest("10").log("c-1")["ringUntil"]
    world.server.kill()
    world.server.start()
    taro = world.connect("11", "a")
    ended = taro.expect(type="call", state="ended", seconds=8)
    assert ended["reason"] == "unanswered"
    assert -100 <= time.time() * 1000 - until < 1500


def test_seq_continues_above_the_values_from_before_the_kill(world):
    taro, _ = world.call("c-1")
    before = taro.ask(type="info", callId="c-1", data=1)["seq"]
    world.server.kill()
    world.server.start()
    assert world.connect("11", "phone-11").ask(type="info", callId="c-1", data=2)["seq"] > before


def test_the_history_survives_a_kill(world):
    taro, _ = world.call("c-1")
    taro.ask(type="end", callId="c-1")
    before = world.rest("11").get("/api/calls").json()
    world.server.kill()
    world.server.start()
    assert world.rest("11").get("/api/calls").json() == before != []


@pytest.mark.release_build
def test_a_fatal_signal_ends_the_process_at_once(make_server):
    import signal

    # Swift's own handler is switched off, because it writes a backtrace and returns. A real fault then raises its
    # signal again and ends the process. A signal from another process comes only once, so the process would live on.
    server = make_server(environment={"SWIFT_BACKTRACE": "enable=no"})
    os.kill(server.pid, signal.SIGSEGV)
    assert server.exit_code(2) == -signal.SIGSEGV
    server.start()

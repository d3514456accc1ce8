"""A data folder of an earlier build that was killed during calls: this build opens, continues and explains it.

`kept_folder.py` describes how the folder was written.
"""

import json
import time

import kept_folder
import pytest
import samples
from kept_folder import FOLDER, description
from postgres_server import sqlite_only
from wall_clock import WallClock

pytestmark = sqlite_only("the folder was written by SQLite")

TOLD = json.loads((FOLDER / "answers.json").read_text())


@pytest.fixture
def kept(make_server, tmp_path, clock_library):
    """A world with the kept folder and a server that was started one second after the kill, by its wall clock."""
    moment = kept_folder.lay(tmp_path / "kept")
    explanations = kept_folder.explanations(tmp_path / "kept")
    clock = WallClock(clock_library, tmp_path / "clock", ahead=moment + 1 - time.time())
    world = kept_folder.people(make_server(data=tmp_path / "kept", environment=clock.environment), moment)
    world.moment, world.explanations = moment, explanations
    yield world
    world.close()


def test_every_query_has_the_result_of_the_earlier_build(kept):
    told = kept.explanations | kept_folder.results(kept, kept.moment)
    assert told.keys() == TOLD.keys()
    assert {question for question in TOLD if meant(told[question]) != meant(TOLD[question])} == set()


def meant(result):
    """Returns a result; of an explanation only the verdict, because the form of the ladder is for people."""
    text = result if isinstance(result, str) else ""
    return text[text.index("Verdict:") :] if "Verdict:" in text else result


def test_the_server_reports_nothing_wrong_with_the_folder(kept):
    logged = [line for line in kept.server.errors().splitlines() if " error " in line or "damaged" in line]
    assert logged == []


def test_a_ringing_call_rings_on_and_is_answered(kept):
    taro, hanako = kept.connect("11", "phone-11"), kept.connect("10", "iphone-10")
    offer = hanako.expect(type="offer", callId="c-ringing")
    assert offer["sdp"] == description("offer of c-ringing") and offer["displayName"] == "Taro"
    assert offer["ringUntil"] == TOLD["10 GET /api/calls/signal/c-ringing"]["body"]["ringUntil"]
    heard = [hanako.expect(type="ice", callId="c-ringing")["candidate"] for _ in range(3)]
    assert heard == [samples.candidate(number) for number in range(3)]
    hanako.ask(type="answer", callId="c-ringing", sdp=description("at last"))
    assert taro.expect(type="answer", callId="c-ringing")["sdp"] == description("at last")


def test_an_active_call_continues_with_seqs_that_were_never_used(kept):
    one, other = kept.connect("16", "phone-16"), kept.connect("17", "phone-17")
    before = [signal["seq"] for signal in TOLD["17 GET /api/calls/signal/c-active"]["body"]["signals"]]
    one.ask(type="offer", callId="c-active", sdp=description("third offer"))
    offer = other.wait(lambda each: each["type"] == "offer" and each["sdp"] == description("third offer"))
    assert offer["epoch"] == 1 and offer["from"] == "16" and offer["seq"] > max(before)
    other.ask(type="end", callId="c-active")
    assert one.expect(type="call", callId="c-active", state="ended")["reason"] == "hangup"


def test_a_signal_resent_after_the_kill_gets_the_same_ack(kept):
    one, caller = kept.connect("14", "phone-14"), kept.connect("30", "phone-30")
    rest = kept.rest("14", device="phone-14").log("c-answered")
    (seq,) = [signal["seq"] for signal in rest["signals"] if signal.get("id") == "c-answered-15-1"]
    assert seq > 0
    again = one.ask(type="ice", callId="c-answered", id="c-answered-14-1", candidate=samples.candidate(1))
    log = kept.rest("15", device="phone-15").log("c-answered")
    assert again["seq"] in [signal["seq"] for signal in log["signals"] if signal.get("id") == "c-answered-14-1"]
    ended = caller.ask(type="end", callId="c-cancelled", id="c-cancelled-end")
    assert (ended["epoch"], kept.rest("30").get("/api/calls/c-cancelled").json()["reason"]) == (1, "cancelled")


def test_a_call_id_used_three_times_gets_epoch_4(kept):
    one, other = kept.connect("18", "phone-18"), kept.connect("19", "phone-19")
    assert one.ring("19", "19-18", room="p2p:19-18")["epoch"] == 4
    assert other.expect(type="offer", callId="19-18")["epoch"] == 4


def test_blocks_do_not_disturb_and_revocations_still_hold(kept):
    blocked, quiet = kept.connect("22", "phone-22"), kept.connect("23", "phone-23")
    kept.connect("21", "phone-21").ring("22", "b-1")
    kept.connect("30", "phone-30").ring("23", "d-1")
    assert [each for each in blocked.fence() + quiet.fence() if each["type"] == "offer"] == []
    assert kept.rest("24").get("/api/me/devices").status_code == 401


def test_the_folder_is_opened_again_after_an_orderly_stop(kept):
    kept.server.terminate()
    assert kept.server.exit_code() == 0
    kept.server.start()
    assert kept.rest("11").log("c-ringing")["state"] == "ringing"
    assert kept.rest("30").get("/api/calls/c-hangup").status_code == 200

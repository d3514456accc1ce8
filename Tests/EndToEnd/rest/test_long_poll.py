"""Long polls: `GET …?wait=S` (protocol, section 5)."""

import threading
import time

import samples
from rest import code


class Polling:
    """A long poll on a separate thread."""

    def __init__(self, rest, call_id: str, **params):
        self.response = None
        self.began = time.monotonic()

        def poll():
            self.response = rest.get(f"/api/calls/signal/{call_id}", **params)
            self.seconds = time.monotonic() - self.began

        self.thread = threading.Thread(target=poll, daemon=True)
        self.thread.start()

    def result(self, seconds=10) -> dict:
        self.thread.join(seconds)
        assert self.response is not None, "the poll still waits"
        assert self.response.status_code == 200
        return self.response.json()


def test_a_poll_returns_as_soon_as_there_is_a_new_entry(world):
    taro, hanako = world.connect("11"), world.rest("10")
    taro.ring("10", "c-1")
    polling = Polling(hanako, "c-1", since=hanako.log("c-1")["next"], wait=20)
    taro.ask(type="ice", callId="c-1", candidate=samples.CANDIDATES[0])
    log = polling.result()
    assert [signal["candidate"] for signal in log["signals"]] == [samples.CANDIDATES[0]]
    assert polling.seconds < 5


def test_a_poll_returns_at_once_if_there_is_a_new_entry(world):
    taro, hanako = world.connect("11"), world.rest("10")
    taro.ring("10", "c-1")
    polling = Polling(hanako, "c-1", since=0, wait=20)
    assert polling.result()["offer"]["sdp"] == samples.OFFER
    assert polling.seconds < 5


def test_a_poll_returns_empty_when_its_time_is_over(world):
    taro, hanako = world.connect("11"), world.rest("10")
    taro.ring("10", "c-1")
    cursor = hanako.log("c-1")["next"]
    polling = Polling(hanako, "c-1", since=cursor, wait=1)
    log = polling.result()
    assert log["signals"] == [] and log["next"] >= cursor
    assert 0.9 <= polling.seconds < 5


def test_a_callers_poll_returns_with_the_answer(world):
    taro, hanako = world.rest("11"), world.rest("10")
    taro.signal("offer", "c-1", sdp=samples.OFFER, to="10")
    polling = Polling(taro, "c-1", since=taro.log("c-1")["next"], wait=20)
    hanako.signal("answer", "c-1", sdp=samples.ANSWER)
    assert polling.result()["answer"]["sdp"] == samples.ANSWER


def test_a_poll_returns_when_its_call_ends(world):
    taro, hanako = world.rest("11"), world.rest("10")
    taro.signal("offer", "c-1", sdp=samples.OFFER, to="10")
    polling = Polling(hanako, "c-1", since=hanako.log("c-1")["next"], wait=20)
    taro.signal("end", "c-1")
    log = polling.result()
    assert (log["state"], log["reason"]) == ("ended", "cancelled")


def test_a_poll_does_not_return_for_a_signal_of_its_own_user(world):
    taro, hanako = world.rest("11"), world.rest("10")
    taro.signal("offer", "c-1", sdp=samples.OFFER, to="10")
    polling = Polling(hanako, "c-1", since=hanako.log("c-1")["next"], wait=2)
    hanako.signal("info", "c-1", data="mine")
    assert polling.result()["signals"] == []
    assert polling.seconds >= 1.9


def test_a_poll_of_an_unknown_call_does_not_wait(world):
    began = time.monotonic()
    assert code(world.rest("10").get("/api/calls/signal/c-unknown", wait=20)) == (404, "not_found")
    assert time.monotonic() - began < 10


def test_many_polls_wait_at_once(world):
    callers = [world.connect(f"c{number}") for number in range(5)]
    polls = []
    for caller in callers:
        caller.ring("10", caller.user)
        cursor = world.rest("10").log(caller.user)["next"]
        # One user may have at most four long polls for one call.
        polls += [Polling(world.rest("10"), caller.user, since=cursor, wait=20) for _ in range(4)]
    for caller in callers:
        caller.ask(type="ice", callId=caller.user, candidate=samples.CANDIDATES[0])
    for poll in polls:
        assert poll.result()["candidates"] == [samples.CANDIDATES[0]]

"""An ended call is removed from memory and read from the store; the responses stay the same (Decision 0012)."""

import time

import samples
from rest import code

# An ended call is removed from memory 15 s after its end, once all connected devices have confirmed the end.
RESTED = 16


def test_a_call_at_rest_is_fetched_as_before_and_its_call_id_can_be_used_again(world):
    taro, hanako = world.call("11-10")
    for number in range(5):
        taro.ask(type="ice", callId="11-10", candidate=samples.candidate(number))
    end = taro.send(type="end", callId="11-10")
    ack = taro.reply_to(end)
    hanako.drop()
    taro.close()
    before = world.rest("10", device="phone-10").log("11-10")
    timeline = world.rest("10").get("/api/calls/11-10/timeline").json()
    time.sleep(RESTED)

    assert world.rest("10", device="phone-10").log("11-10") == before
    assert len(before["candidates"]) == 5 and before["reason"] == "hangup"
    assert world.rest("10").get("/api/calls/11-10/timeline").json() == timeline
    assert code(world.rest("12").get("/api/calls/signal/11-10")) == (404, "not_found")
    back = world.connect("10", "phone-10")
    assert back.expect(type="call", callId="11-10", state="ended")["reason"] == "hangup"
    again = world.connect("11", "phone-11")
    assert again.reply_to(again.send(type="end", callId="11-10", id=end)) == ack, "the same id gets the same ack"
    assert again.refused(type="ice", callId="11-10", candidate=None)["code"] == "call_ended"
    assert again.ring(back, "11-10")["epoch"] == 2
    assert back.expect(type="offer", callId="11-10")["epoch"] == 2


def test_a_call_at_rest_can_be_fetched_after_kill_9(make_server, make_world):
    server = make_server()
    world = make_world(server)
    taro, hanako = world.call("c-1")
    taro.ask(type="end", callId="c-1")
    taro.close()
    hanako.close()
    before = world.rest("10", device="phone-10").log("c-1")
    time.sleep(RESTED)
    server.kill()
    server.start()
    world = make_world(server)
    assert world.rest("10", device="phone-10").log("c-1") == before
    time.sleep(2)
    assert world.rest("11", device="phone-11").log("c-1")["reason"] == "hangup"

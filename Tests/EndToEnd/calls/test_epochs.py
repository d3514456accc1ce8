"""A callId that is used again, and an offer for a live call (protocol, sections 1.2 and 3.6)."""

import samples

AGAIN = samples.changed(samples.OFFER, "again")


def test_a_call_id_used_again_after_the_end_is_a_new_call(world):
    taro, hanako = world.call("11-10")
    taro.ask(type="end", callId="11-10")
    hanako.expect(type="call", state="ended")
    ack = taro.ring(hanako, "11-10", sdp=AGAIN)
    assert (ack["epoch"], ack["seq"]) == (2, 1)
    offer = hanako.expect(type="offer")
    assert (offer["epoch"], offer["seq"], offer["sdp"]) == (2, 1, AGAIN)


def test_the_same_description_after_the_end_begins_a_new_call(world):
    taro, hanako = world.call("11-10")
    taro.ask(type="end", callId="11-10")
    assert taro.ring(hanako, "11-10")["epoch"] == 2


def test_nothing_of_the_earlier_call_shows_in_the_new_one(world):
    taro, hanako = world.rest("11"), world.rest("10")
    taro.signal("offer", "11-10", sdp=samples.OFFER)
    hanako.signal("answer", "11-10", sdp=samples.ANSWER)
    hanako.signal("ice", "11-10", candidate=samples.CANDIDATES[0])
    taro.signal("end", "11-10")
    taro.signal("offer", "11-10", sdp=AGAIN)
    mine = taro.log("11-10")
    assert (mine["epoch"], mine["state"], mine["reason"], mine["answer"], mine["candidates"]) == (
        2,
        "ringing",
        None,
        None,
        [],
    )
    hers = hanako.log("11-10")
    assert hers["offer"]["sdp"] == AGAIN
    assert all(signal["epoch"] == 2 for signal in hers["signals"])


def test_each_use_of_a_call_id_has_its_own_record_and_timeline(world):
    taro, hanako = world.rest("11"), world.rest("10")
    taro.signal("offer", "11-10", sdp=samples.OFFER)
    hanako.signal("end", "11-10")
    taro.signal("offer", "11-10", to="12", sdp=samples.OFFER)
    taro.signal("offer", "11-10", to="10", sdp=AGAIN)

    def told(path, **query):
        response = hanako.get(f"/api/calls/11-10{path}", **query)
        return response.status_code, response.json().get("epoch"), response.json().get("field")

    for path in ("", "/timeline"):
        assert told(path) == told(path, epoch=2) == told(path, peer="11") == (200, 2, None)
        assert told(path, epoch=1) == told(path, epoch=1, peer="11") == (200, 1, None)
        assert told(path, epoch=3) == told(path, peer="12") == (404, None, None)
        assert told(path, epoch=0) == (400, None, "epoch") and told(path, peer="a/b") == (400, None, "peer")
    first = hanako.get("/api/calls/11-10/timeline", epoch=1).json()
    assert first["events"][-1]["reason"] == "declined"
    assert taro.get("/api/calls/11-10", peer="12").json()["callee_id"] == "12"


def test_a_cursor_of_another_epoch_counts_as_zero(world):
    taro, hanako = world.rest("11"), world.rest("10")
    taro.signal("offer", "11-10", sdp=samples.OFFER)
    for number in range(5):
        taro.signal("ice", "11-10", candidate=samples.candidate(number))
    cursor = hanako.log("11-10")["next"]
    taro.signal("end", "11-10")
    taro.signal("offer", "11-10", sdp=AGAIN)
    log = hanako.log("11-10", since=cursor, epoch=1)
    assert [signal["sdp"] for signal in log["signals"] if signal["type"] == "offer"] == [AGAIN]


def test_a_signal_for_an_earlier_epoch_is_refused_with_call_ended(world):
    taro, hanako = world.call("11-10")
    taro.ask(type="end", callId="11-10")
    taro.ring(hanako, "11-10")
    hanako.expect(type="offer", epoch=2)
    assert taro.refused(type="ice", callId="11-10", epoch=1, candidate=None)["code"] == "call_ended"
    assert taro.ask(type="ice", callId="11-10", epoch=2, candidate=None)["epoch"] == 2
    hanako.fence()
    assert [message["epoch"] for message in hanako.heard if message["type"] == "ice"] == [2]


def test_a_late_end_of_the_earlier_epoch_does_not_end_the_new_call(world):
    taro, hanako = world.call("11-10")
    taro.ask(type="end", callId="11-10")
    taro.ring(hanako, "11-10")
    assert hanako.refused(type="end", callId="11-10", epoch=1)["code"] == "call_ended"
    assert world.rest("10").log("11-10")["state"] == "ringing"


def test_a_new_description_during_the_ring_replaces_the_old_one_in_the_same_epoch(world):
    taro = world.connect("11", "d-1")
    first = taro.ring("10", "c-1")
    second = taro.ring("10", "c-1", sdp=AGAIN)
    assert second["epoch"] == first["epoch"] == 1
    assert world.rest("10").log("c-1")["offer"]["sdp"] == AGAIN


def test_an_offer_from_another_device_of_the_caller_replaces_an_answered_call(world):
    taro, hanako = world.call("11-10")
    tablet = world.connect("11", "tablet")
    tablet.fence()
    ack = tablet.ring(hanako, "11-10", sdp=AGAIN)
    assert ack["epoch"] == 2
    ended = hanako.expect(type="call", state="ended")
    assert (ended["reason"], ended["epoch"]) == ("replaced", 1)
    assert taro.expect(type="call", state="ended")["reason"] == "replaced"
    assert hanako.expect(type="offer", epoch=2)["sdp"] == AGAIN


def test_an_offer_from_a_device_in_the_answered_call_is_a_renegotiation(world):
    taro, hanako = world.call("c-1")
    assert taro.ring(hanako, "c-1", sdp=AGAIN)["epoch"] == 1
    assert hanako.expect(type="offer")["epoch"] == 1
    assert not [message for message in hanako.fence() if message.get("state") == "ended"]


def test_epochs_continue_after_a_restart(world):
    taro, hanako = world.call("11-10")
    taro.ask(type="end", callId="11-10")
    world.server.kill()
    world.server.start()
    assert world.connect("11").ring("10", "11-10")["epoch"] == 2

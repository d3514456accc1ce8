"""A callId that several users use: to which call an answer, an end or a push's `act` belongs."""

import subprocess

import pytest
import samples
from commands import wait_for
from push_services import pushed, register
from rest import code
from ringline_server import binary, clean_environment


def ring_of_a_third_party(world, call_id="c-1", to="10"):
    third = world.connect("66", "iphone-x")
    assert third.ring(to, call_id, sdp=samples.FIREFOX_OFFER)["seq"]
    assert third.expect(type="call", callId=call_id)["state"] == "ringing"
    return third


@pytest.mark.parametrize("way", ["socket", "rest"])
def test_an_answer_without_a_peer_goes_to_the_true_caller(world, way):
    taro, hanako = world.call(answer=False)
    third = ring_of_a_third_party(world)
    assert hanako.fence() == []
    rest = world.rest("10")
    log = rest.log("c-1")
    assert (log["room"], log["offer"]["from"]) == ("p2p:11-10", "11")
    if way == "socket":
        hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    else:
        assert rest.signal("answer", "c-1", sdp=samples.ANSWER, top={"deviceId": "phone-10"}).status_code == 200
    assert taro.expect(type="answer", callId="c-1")["from"] == "10"
    assert third.fence() == []
    assert world.rest("66").log("c-1")["answer"] is None
    third.ask(type="end", callId="c-1")
    assert rest.get("/api/calls/c-1").json()["state"] == "answered"


def test_a_third_party_sees_an_ordinary_unanswered_ring(make_server, make_world):
    world = make_world(make_server("--ring-timeout", 1))
    taro, hanako = world.call()
    third = ring_of_a_third_party(world)
    assert third.expect(type="call", state="ended")["reason"] == "unanswered"
    assert hanako.fence() == [] and taro.fence() == []
    events = world.rest("66").get("/api/calls/c-1/timeline").json()["events"]
    assert {each["event"] for each in events} == {"offer", "ended"}
    assert 'ringline_calls_hidden_total{reason="name_taken"} 1\n' in world.server.metrics_text()
    wait_for(world, "c-1", "ended: unanswered")
    command = [binary(), "explain", "c-1", *world.server.store_options, "--user", "66"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=20, env=clean_environment()).stdout
    assert "was in a call with this callId with another user" in said


def test_a_third_party_cannot_keep_two_users_apart_by_using_their_call_id_first(world):
    hanako = world.connect("10", "phone-10")
    third = ring_of_a_third_party(world, "11-10")
    hanako.expect(type="offer")
    taro = world.connect("11", "phone-11")
    taro.ask(type="offer", callId="11-10", sdp=samples.OFFER)
    assert hanako.expect(type="offer")["from"] == "11"
    hanako.ask(type="answer", callId="11-10", sdp=samples.ANSWER)
    taro.expect(type="answer", callId="11-10")
    assert third.fence() == []


def test_late_signals_of_a_call_do_not_reach_a_third_party_with_the_same_call_id(world):
    taro, hanako = world.call(answer=False)
    taro.ask(type="end", callId="c-1")
    third = ring_of_a_third_party(world)
    assert hanako.expect(type="offer")["from"] == "66"
    assert hanako.refused(type="answer", callId="c-1", sdp=samples.ANSWER)["code"] == "call_ended"
    assert third.fence() == []
    hanako.ask(type="answer", callId="c-1", to="66", sdp=samples.ANSWER)
    third.expect(type="answer", callId="c-1")


def test_the_act_of_a_push_is_valid_for_no_other_call_of_that_call_id(push_world):
    world, fake = push_world
    device = register(world, deviceId="iphone-h")
    taro = world.connect("11", "iphone-t")
    taro.ring("10", "c-1")
    act = pushed(fake, device)["payload"]["act"]
    # Hanako (10) herself calls Jiro under the same callId.
    hanako, jiro = world.connect("10", "ipad-h"), world.connect("12", "pixel-j")
    hanako.expect(type="offer", callId="c-1")
    hanako.ring("12", "c-1", sdp=samples.VIDEO_OFFER)
    jiro.expect(type="offer")
    jiro.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    jiro.fence(), jiro.inbox.clear(), taro.fence(), taro.inbox.clear()
    rest = world.rest("10")
    rest.http.headers["Authorization"] = f"Ring {act}"
    for top in ({"to": "12"}, {"room": "p2p:10-12"}):
        for action in ("end", "ringing"):
            assert rest.signal(action, "c-1", top=top).status_code == 404, (action, top)
    assert rest.get("/api/calls/signal/c-1", peer="12").status_code == 404
    assert rest.signal("end", "c-1", top={"epoch": 2}).status_code == 409
    assert rest.log("c-1")["room"] == "p2p:11-10"
    assert rest.delete("/api/calls/signal/c-1").status_code == 200
    assert taro.expect(type="call", state="ended")["reason"] == "declined"
    assert jiro.fence() == []


def test_a_delete_that_names_the_peer_ends_the_call_with_that_peer(world):
    taro, hanako = world.call("n")
    jiro = world.connect("12", "pixel-j")
    hanako.ring("12", "n", sdp=samples.VIDEO_OFFER)
    jiro.expect(type="offer")
    jiro.ask(type="answer", callId="n", sdp=samples.VIDEO_ANSWER)
    jiro.fence(), jiro.inbox.clear(), taro.fence(), taro.inbox.clear()
    rest = world.rest("10")
    assert rest.delete("/api/calls/signal/n", peer="66").status_code == 404
    assert code(rest.delete("/api/calls/signal/n", peer="")) == (400, "invalid_field")
    assert rest.delete("/api/calls/signal/n", peer="12").json()["state"] == "ended"
    assert jiro.expect(type="call", state="ended")["reason"] == "hangup"
    assert taro.fence() == []


def test_the_act_of_a_push_deletes_no_call_with_another_peer(push_world):
    world, fake = push_world
    device = register(world, deviceId="iphone-h")
    taro = world.connect("11", "iphone-t")
    taro.ring("10", "c-1")
    rest = world.rest("10")
    rest.http.headers["Authorization"] = f"Ring {pushed(fake, device)['payload']['act']}"
    taro.fence(), taro.inbox.clear()
    assert rest.delete("/api/calls/signal/c-1", peer="12").status_code == 404
    assert taro.fence() == []
    assert rest.delete("/api/calls/signal/c-1", peer="11").status_code == 200


@pytest.mark.parametrize("restart", [False, True])
def test_a_resent_end_does_not_end_the_next_call(world, restart):
    taro, hanako = world.call("11-10")
    first = hanako.ask(type="end", callId="11-10", id="e")
    taro.expect(type="call", state="ended")
    taro.ring("10", "11-10", sdp=samples.FIREFOX_OFFER)
    hanako.expect(type="offer", epoch=2)
    if restart:
        world.server.kill()
        world.server.start()
        taro, hanako = world.connect("11", "phone-11"), world.connect("10", "phone-10")
    again = hanako.ask(type="end", callId="11-10", id="e")
    assert again == first
    by_rest = world.rest("10").signal("end", "11-10", top={"id": "e", "deviceId": "phone-10"}).json()
    assert by_rest == by_rest | {"epoch": 1, "seq": first["seq"], "state": "ended", "reason": "hangup"}
    hanako.ask(type="answer", callId="11-10", sdp=samples.VIDEO_ANSWER)
    assert taro.expect(type="answer")["epoch"] == 2

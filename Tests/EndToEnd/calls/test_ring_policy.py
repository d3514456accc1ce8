"""Each call is delivered or pushed, and one device answers, with the real binary (protocol, sections 6 and 7)."""

import threading
import time

import pytest
import samples
from push_services import pushed, register, token
from raw_socket import RawSocket
from rest import Rest
from waiting import eventually

ALERT = "cd" * 32


def test_a_half_open_socket_is_pushed_after_the_probe_timeout(push_world):
    world, fake = push_world
    device = register(world, deviceId="iphone-h")
    corpse = RawSocket(world.server.port, world.token("10"), path="/ws?device=iphone-h")
    assert corpse.status == 101
    began = time.monotonic()
    world.connect("11").ring("10", "c-1")
    assert fake.wait_for_push(device, timeout=5)
    assert time.monotonic() - began > 1.9


def test_a_socket_that_drops_before_it_answers_its_ping_is_pushed_at_once(push_world):
    world, fake = push_world
    device = register(world, deviceId="iphone-h")
    corpse = RawSocket(world.server.port, world.token("10"), path="/ws?device=iphone-h")
    world.connect("11").ring("10", "c-1")
    began = time.monotonic()
    corpse.socket.close()
    assert fake.wait_for_push(device, timeout=5)
    assert time.monotonic() - began < 1.9, "before the probe timeout"


@pytest.mark.parametrize("round_number", range(20))
def test_two_devices_that_answer_in_the_same_instant_over_two_transports_have_one_winner(world, round_number):
    taro = world.connect("11", "iphone-t")
    one, two, three = (world.connect("10", f"d-{number}") for number in (1, 2, 3))
    taro.ring("10", "c-1")
    for connection in (one, two, three):
        connection.expect(type="offer")
    rest, barrier, accepted = world.rest("10", device="d-2"), threading.Barrier(2), {}

    def by_socket():
        barrier.wait()
        accepted["d-1"] = one.reply_to(one.send(type="answer", callId="c-1", sdp=samples.ANSWER))["type"] == "ack"

    def by_rest():
        barrier.wait()
        accepted["d-2"] = rest.signal("answer", "c-1", sdp=samples.VIDEO_ANSWER).status_code == 200

    threads = [threading.Thread(target=each) for each in (by_socket, by_rest)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(accepted.values()) == [False, True]
    answering_device = next(device for device, is_accepted in accepted.items() if is_accepted)
    assert taro.expect(type="call", state="answered")["answeredBy"] == {"user": "10", "device": answering_device}
    assert three.expect(type="call", state="ended")["reason"] == "answered_elsewhere"
    assert taro.expect(type="answer")["fromDevice"] == answering_device
    taro.fence()
    assert [message for message in taro.inbox if message["type"] == "answer"] == []


@pytest.mark.parametrize("ids", [("a", "b"), ("b", "a")])
def test_glare_over_both_transports_leaves_one_call_with_both_users_in_it(world, ids):
    taro, hanako = world.connect("11", "iphone-t"), world.connect("10", "iphone-h")
    rest, barrier, said = world.rest("10", device="iphone-h"), threading.Barrier(2), {}

    def by_socket():
        barrier.wait()
        taro.ring("10", ids[0])

    def by_rest():
        barrier.wait()
        said["rest"] = rest.signal("offer", ids[1], sdp=samples.OFFER, to="11")

    threads = [threading.Thread(target=each) for each in (by_socket, by_rest)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert said["rest"].status_code == 200
    loser, winner_connection, loser_connection = ("b", taro, hanako) if ids[0] == "a" else ("b", hanako, taro)
    lost = loser_connection.expect(type="call", callId=loser, state="ended")
    assert (lost["reason"], lost["replacedBy"]) == ("glare", "a")
    loser_connection.expect(type="offer", callId="a")
    loser_connection.ask(type="answer", callId="a", sdp=samples.ANSWER)
    winner_connection.expect(type="answer", callId="a")


def test_a_token_of_the_other_environment_is_found_out_once_and_remembered(push_world):
    world, fake = push_world
    fake.device(token(1), environment="production")
    device = register(world, deviceId="iphone-h")
    world.connect("11").ring("10", "c-1")
    eventually(lambda: [push["environment"] for push in fake.pushes(device)] == ["sandbox", "production"])
    eventually(lambda: world.rest("10").get("/api/me/devices").json()[0]["environment"] == "production")
    world.connect("12").ring("10", "c-2")
    eventually(lambda: len(fake.pushes(device)) == 3)
    assert fake.pushes(device)[2]["environment"] == "production", "the environment was remembered"


def test_a_device_that_registered_after_apples_timestamp_keeps_its_token(push_world):
    world, fake = push_world
    fake.script(token(1), [{"status": 410, "reason": "Unregistered", "timestamp": 1_000}])
    register(world, deviceId="iphone-h")
    world.connect("11").ring("10", "c-1")
    last = eventually(lambda: world.rest("10").get("/api/me/devices").json()[0]["lastPush"])
    assert last["status"] == 410
    assert world.rest("10").get("/api/me/devices").json()[0]["voipDeviceToken"] == token(1)


def test_the_act_of_a_push_allows_fetching_ringing_and_declining_without_a_token(push_world):
    world, fake = push_world
    device = register(world, deviceId="iphone-h")
    taro = world.connect("11")
    taro.ring("10", "c-1")
    act = pushed(fake, device)["payload"]["act"]
    woken = Rest(world.server.url, None)
    woken.http.headers["Authorization"] = f"Ring {act}"
    assert woken.log("c-1")["offer"]["sdp"] == samples.OFFER
    assert woken.signal("ringing", "c-1").status_code == 200
    assert taro.expect(type="ringing")["fromDevice"] == "iphone-h"
    for refused in (woken.get("/api/calls"), woken.signal("update", "c-1", hold=True), woken.get("/api/me/devices")):
        assert refused.status_code == 403
    assert woken.get("/api/calls/signal/c-2").status_code == 404
    world.server.kill()
    world.server.start()
    woken = Rest(world.server.url, None)
    woken.http.headers["Authorization"] = f"Ring {act}"
    assert woken.delete("/api/calls/signal/c-1").status_code == 200, "the act is still valid after a restart"
    assert world.rest("11").log("c-1")["reason"] == "declined"
    woken.http.headers["Authorization"] = f"Ring {act[:-2]}AA"
    assert woken.get("/api/calls/signal/c-1").status_code == 401


def test_a_missed_call_is_announced_by_an_alert_push_to_the_devices_that_rang(short_rings):
    world, fake = short_rings
    register(world, deviceId="iphone-h", apnsDeviceToken=ALERT)
    world.connect("11", claims={"name": "Taro"}).ring("10", "c-1")
    push = fake.wait_for_push(ALERT, timeout=5)
    assert push["headers"]["apns-push-type"] == "alert" and push["headers"]["apns-topic"] == "com.example.chat"
    payload = push["payload"]
    assert payload == payload | {"type": "call.missed", "callId": "c-1", "fromUserId": "11", "fromDisplayName": "Taro"}
    assert payload["aps"]["sound"] == "default" and "Taro" in payload["aps"]["alert"]["body"]


def test_after_three_pushes_without_a_sign_of_life_a_device_gets_alerts_until_it_connects(short_rings):
    world, fake = short_rings
    register(world, deviceId="iphone-h", apnsDeviceToken=ALERT)
    taro = world.connect("11")
    for number in range(3):
        taro.ring("10", f"c-{number}")
        taro.expect(type="call", callId=f"c-{number}", state="ended")
    assert len(fake.pushes(token(1))) == 3
    taro.ring("10", "c-3")
    incoming = eventually(lambda: [push for push in fake.pushes(ALERT) if push["payload"]["type"] == "call.incoming"])
    assert incoming[0]["payload"]["callId"] == "c-3" and len(fake.pushes(token(1))) == 3
    taro.expect(type="call", callId="c-3", state="ended")
    world.connect("10", "iphone-h").close()
    taro.ring("10", "c-4")
    eventually(lambda: len(fake.pushes(token(1))) == 4)


def test_a_device_that_does_not_reconnect_after_a_restart_is_pushed(push_world):
    world, fake = push_world
    device = register(world, deviceId="iphone-h")
    hanako = world.connect("10", "iphone-h")
    world.connect("11").ring("10", "c-1")
    hanako.expect(type="offer")
    world.server.kill()
    world.server.start()
    assert fake.wait_for_push(device, timeout=5), "a device that is not reached must be pushed"

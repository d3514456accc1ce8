"""A device with a Firebase token is rung by a data message through Firebase Cloud Messaging.

The fake verifies the assertion of the service account and refuses every message that Google would refuse. So a message
that it has accepted was well-formed.
"""

import base64
import hashlib
import random
import subprocess
import time
import uuid

import pytest
import samples
from conftest import firebase_options, push_options
from raw_socket import RawSocket
from rest import Rest
from ringline_server import binary, clean_environment
from secrets_in_logs import findings
from test_doctor import doctor
from test_explain import wait_for
from test_push import pushed, token
from waiting import eventually

# A request that gets no answer is given up before the ring ends, and the next one gets through.
HANG_SECONDS = 40
LARGEST_DATA = 4096
# These go away by themselves, so the server tries again while it rings.
TEMPORARY = {
    "429": {"status": 429},
    "500": {"status": 500},
    "503": {"status": 503},
    "503 in HTML": {"status": 503, "raw": "<html>Error 503</html>"},
    "closed": {"close": True},
}
DEAD_TOKEN = {
    "UNREGISTERED": {"status": 404},
    "INVALID_REGISTRATION_TOKEN": {"status": 400, "field": "message.token"},
}
# The operator has to act, and the token may be good.
REFUSED = {
    "SENDER_ID_MISMATCH": {"status": 403},
    "INVALID_ARGUMENT": {"status": 400, "field": "message.data"},
}


def fcm_token(number: int) -> str:
    """Returns a token of the form of Firebase's: an id of the installation, and 134 characters."""
    digest = hashlib.sha512(str(number).encode()).digest()
    text = base64.urlsafe_b64encode(digest + digest).decode()
    return f"{text[:22]}:APA91b{text[22:]}"[:163]


def register_fcm(world, user="10", number=1, **fields) -> str:
    """Registers a device with a Firebase token; returns the token."""
    body = {"fcm_token": fcm_token(number), "platform": "android", "deviceId": f"a{number}"} | fields
    response = world.rest(user).put("/api/me/devices", body)
    assert response.status_code == 200, response.text
    return fcm_token(number)


def devices(world, user="10") -> list[dict]:
    return world.rest(user).get("/api/me/devices").json()


def fcm_tokens(world, user="10") -> list[str]:
    """Returns the Firebase tokens of a user's devices. A device without any token is no longer listed."""
    return [device["fcm_token"] for device in devices(world, user) if device["fcm_token"] is not None]


def events(world, name: str, user="10", call_id="c-1") -> list[dict]:
    """Returns the events of this name in the timeline of a call."""
    timeline = world.rest(user).get(f"/api/calls/{call_id}/timeline").json()["events"]
    return [event for event in timeline if event["event"] == name]


def is_settled(world) -> bool:
    """Returns whether a call that no longer rings has a result for every message."""
    return len(events(world, "push.result")) + len(events(world, "push.cancelled")) >= len(events(world, "push.sent"))


def incoming(messages: list[dict]) -> list[dict]:
    return [each for each in messages if each["message"]["data"]["type"] == "call.incoming"]


def rings(fake, device: str) -> list[dict]:
    """Returns the accepted messages that ring this device."""
    return incoming(fake.messages(device))


def tries(fake, device: str) -> list[dict]:
    """Returns the messages that were to ring this device, accepted or not."""
    return incoming(fake.attempts(device))


def rung(fake, device: str, seconds=8) -> dict:
    """Waits until a message that rings this device was accepted; returns the message."""

    def why() -> str:
        return f"answers: {[each['answer'] for each in tries(fake, device)]}, refusals: {fake.refusals}"

    return eventually(lambda: rings(fake, device), seconds, why)[0]["message"]


def types(fake, device: str) -> list[str]:
    """Returns the types of the accepted messages to this device."""
    return [each["message"]["data"]["type"] for each in fake.messages(device)]


def notice(fake, device: str, kind: str) -> dict:
    """Waits for a message of this type that follows the ring; returns the message."""
    eventually(lambda: kind in types(fake, device), why=lambda: f"accepted: {types(fake, device)}, {fake.refusals}")
    assert types(fake, device) == ["call.incoming", kind]
    return fake.messages(device)[1]["message"]


def fence(world, fake):
    """Rings another user and waits for that message: a wrong message that was due earlier would have come by then."""
    device = register_fcm(world, "90", 90)
    world.connect("91").ring("90", "c-fence")
    rung(fake, device)


def size(data: dict) -> int:
    """Returns the size of a message's data as Firebase counts it."""
    return sum(len(key.encode()) + len(value.encode()) for key, value in data.items())


def app_of(world, message: dict) -> Rest:
    """Returns the client of an app that a message has just started: it has only the capability of that message."""
    app = Rest(world.server.url, None)
    app.http.headers["Authorization"] = "Ring " + message["data"]["act"]
    world.closing.append(app)
    return app


def explained(world, call_id: str) -> str:
    """Returns what `ringline explain` prints."""
    command = [str(binary()), "explain", call_id, *world.server.store_options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=20, env=clean_environment())
    assert run.returncode == 0, run.stderr
    return run.stdout


# --- The message that rings --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{}, {"bundleId": "com.example.chat"}], ids=["without", "with a bundleId"])
def test_a_device_with_a_firebase_token_is_woken_by_firebase(firebase_world, fields):
    world, fake = firebase_world
    body = {"fcm_token": "f-1", "platform": "android", "deviceId": "a1"} | fields
    response = world.rest("10").put("/api/me/devices", body)
    assert response.status_code == 200, response.text
    registered = response.json()
    assert registered["pushHealth"]["wakesBy"] == "firebase" and registered["fcm_token"] == "f-1"
    assert "message" not in registered, "the server does send to the token"
    assert devices(world)[0]["pushHealth"]["wakesBy"] == "firebase"
    world.connect("11").ring("10", "c-1")
    rung(fake, "f-1")


def test_an_offline_callee_gets_one_message_with_everything_that_it_needs(firebase_world):
    world, fake = firebase_world
    device = register_fcm(world)
    before = int(time.time() * 1000)
    call_id = str(uuid.uuid4())
    world.connect("11").ring("10", call_id, sdp=samples.OFFER, displayName="山田太郎", room="p2p:11-10")
    message = rung(fake, device)
    after = int(time.time() * 1000)
    assert set(message) == {"token", "data", "android"} and message["token"] == device
    assert message["android"]["priority"] == "HIGH" and message["android"]["ttl"] in ("44s", "45s")
    data = dict(message["data"])
    assert before - 1000 <= int(data.pop("sentAt")) <= after + 1000
    assert before + 44_000 <= int(data.pop("ringUntil")) <= after + 46_000
    assert data.pop("act")
    assert data == {
        "type": "call.incoming",
        "callId": call_id,
        "epoch": "1",
        "fromUserId": "11",
        "fromDisplayName": "山田太郎",
        "toUserId": "10",
        "room": "p2p:11-10",
        "hasVideo": "false",
        "callUUID": call_id,
        "handle": "11",
        "handleType": "generic",
        "callerId": "11",
        "callerName": "山田太郎",
        "offer": samples.OFFER,
    }
    fence(world, fake)
    assert len(fake.messages(device)) == 1


@pytest.mark.parametrize("has_video, sdp", [("true", samples.VIDEO_OFFER), ("false", samples.VIDEO_REJECTED_OFFER)])
def test_the_message_says_whether_the_call_has_video(firebase_world, has_video, sdp):
    world, fake = firebase_world
    device = register_fcm(world)
    world.connect("11").ring("10", "c-1", sdp=sdp)
    assert rung(fake, device)["data"]["hasVideo"] == has_video


def test_the_time_to_live_is_never_zero_seconds(short_firebase_rings):
    """With "0s" Firebase would drop a message to a phone that it cannot reach at once."""
    world, fake = short_firebase_rings
    device = register_fcm(world)
    world.connect("11").ring("10", "c-1")
    assert rung(fake, device)["android"]["ttl"] == "1s"


def test_the_offer_is_in_the_message_as_long_as_the_data_fits(firebase_world):
    world, fake = firebase_world
    device = register_fcm(world)
    taro = world.connect("11")

    def data_of(call_id: str, sdp: str) -> dict:
        taro.ring("10", call_id, sdp=sdp)

        def found() -> list[dict]:
            messages = [each["message"]["data"] for each in rings(fake, device)]
            return [data for data in messages if data["callId"] == call_id]

        (data,) = eventually(found, why=lambda: f"refusals: {fake.refusals}")
        taro.ask(type="end", callId=call_id)
        return data

    data = data_of("c-1", samples.OFFER)
    room_for_offer = LARGEST_DATA - size(data) + len(data["offer"])
    fits, exceeds = samples.padded(samples.OFFER, room_for_offer), samples.padded(samples.OFFER, room_for_offer + 1)
    data = data_of("c-2", fits)
    assert data["offer"] == fits and size(data) == LARGEST_DATA
    data = data_of("c-3", exceeds)
    assert "offer" not in data and data["act"]


def test_a_long_name_is_cut_only_when_the_data_does_not_fit_without_the_offer(firebase_world):
    world, fake = firebase_world
    one, two = register_fcm(world, "10", 1), register_fcm(world, "20", 2)
    taro = world.connect("11")
    taro.ring("10", "c-1", sdp=samples.padded(samples.OFFER, 40 * 1024), displayName="山" * 256)
    data = rung(fake, one)["data"]
    assert "offer" not in data and data["callerName"] == data["fromDisplayName"] == "山" * 256
    # A single character of 25 bytes, which must not be cut in half.
    family = "👨‍👩‍👧‍👦"
    taro.ring("20", "c-2", displayName=family * 256)
    data = rung(fake, two)["data"]
    name = data["callerName"]
    assert "offer" not in data and data["fromDisplayName"] == name
    assert name and name == family * (len(name) // len(family))
    assert LARGEST_DATA - 4 * len(family.encode()) < size(data) <= LARGEST_DATA, "no more is cut than necessary"


def test_the_killed_app_fetches_rings_answers_and_ends_by_rest(firebase_world):
    world, fake = firebase_world
    device = register_fcm(world)
    taro = world.connect("11")
    taro.ring("10", "c-1", sdp=samples.VIDEO_OFFER)
    for candidate in samples.CANDIDATES[:3]:
        taro.ask(type="ice", callId="c-1", candidate=candidate)
    app = app_of(world, rung(fake, device))
    log = app.log("c-1")
    assert log["offer"]["sdp"] == samples.VIDEO_OFFER and log["candidates"] == samples.CANDIDATES[:3]
    assert app.signal("ringing", "c-1").status_code == 200
    assert taro.expect(type="ringing")["fromDevice"] == "a1"
    assert app.signal("answer", "c-1", sdp=samples.VIDEO_ANSWER).status_code == 200
    assert taro.expect(type="answer")["sdp"] == samples.VIDEO_ANSWER
    assert app.delete("/api/calls/signal/c-1").status_code == 200
    taro.expect(type="call", state="ended", reason="hangup")
    fence(world, fake)
    assert types(fake, device) == ["call.incoming"], "the device that answered needs no other message"


def test_the_killed_app_declines_by_rest(firebase_world):
    world, fake = firebase_world
    device = register_fcm(world)
    taro = world.connect("11")
    taro.ring("10", "c-1")
    assert app_of(world, rung(fake, device)).delete("/api/calls/signal/c-1").status_code == 200
    taro.expect(type="call", state="ended", reason="declined")
    fence(world, fake)
    assert types(fake, device) == ["call.incoming"], "the device that declined needs no other message"


def test_a_callee_with_a_live_connection_of_that_device_gets_no_message(firebase_world):
    world, fake = firebase_world
    live, asleep = register_fcm(world, "10", 1), register_fcm(world, "20", 2)
    hanako, taro = world.connect("10", "a1"), world.connect("11")
    half_open = RawSocket(world.server.port, world.token("20"), path="/ws?device=a2")
    taro.ring(hanako, "c-1")
    hanako.expect(type="offer")
    # The second device answers no ping, and is pushed when its probe times out. The first was probed earlier, so a
    # wrong message to it would have come by then.
    taro.ring("20", "c-2")
    rung(fake, asleep)
    assert fake.attempts(live) == []
    half_open.close()


def test_every_device_of_the_callee_gets_a_message_with_a_capability_of_its_own(firebase_world):
    world, fake = firebase_world
    one, two = register_fcm(world, number=1), register_fcm(world, number=2)
    world.connect("11").ring("10", "c-1")
    assert rung(fake, one)["data"]["act"] != rung(fake, two)["data"]["act"]


def test_do_not_disturb_lets_no_message_through(firebase_world):
    world, fake = firebase_world
    device = register_fcm(world)
    world.rest("10").put("/api/me/dnd", {"until": int(time.time() * 1000) + 60_000})
    taro = world.connect("11")
    taro.ring("10", "c-1")
    taro.ask(type="end", callId="c-1")
    fence(world, fake)
    assert fake.attempts(device) == []


def test_a_firebase_token_belongs_to_the_user_who_registered_it_last(firebase_world):
    world, fake = firebase_world
    device = register_fcm(world, "10", 1)
    register_fcm(world, "20", 1)
    own = register_fcm(world, "10", 3)
    assert fcm_tokens(world, "10") == [own] and fcm_tokens(world, "20") == [device]
    taro = world.connect("11")
    taro.ring("10", "c-1")
    rung(fake, own)
    taro.ring("20", "c-2")
    assert rung(fake, device)["data"]["callId"] == "c-2"
    assert len(rings(fake, device)) == 1


def test_a_ring_that_outlives_a_restart_gets_one_message(firebase_world):
    world, fake = firebase_world
    device = register_fcm(world)
    world.connect("11").ring("10", "c-1")
    rung(fake, device)
    eventually(lambda: devices(world)[0]["lastPush"])
    world.server.kill()
    world.server.start()
    fence(world, fake)
    assert len(tries(fake, device)) == 1


# --- The messages after the ring ---------------------------------------------------------------------------------


def test_a_call_that_nobody_answers_is_missed(short_firebase_rings):
    world, fake = short_firebase_rings
    device = register_fcm(world)
    world.connect("11").ring("10", "c-1", displayName="山田太郎")
    missed = notice(fake, device, "call.missed")
    assert missed["android"]["ttl"] == "86400s"
    assert missed["data"] == {
        "type": "call.missed",
        "callId": "c-1",
        "epoch": "1",
        "fromUserId": "11",
        "fromDisplayName": "山田太郎",
    }


def test_a_call_that_its_caller_cancels_is_missed(firebase_world):
    world, fake = firebase_world
    device = register_fcm(world)
    taro = world.connect("11")
    taro.ring("10", "c-1")
    rung(fake, device)
    taro.ask(type="end", callId="c-1")
    missed = notice(fake, device, "call.missed")
    assert missed["data"]["callId"] == "c-1" and missed["android"]["ttl"] == "86400s"


@pytest.mark.parametrize("reason", ["answered_elsewhere", "declined_elsewhere"])
def test_a_call_that_another_device_answers_or_declines_is_over(firebase_world, reason):
    world, fake = firebase_world
    device = register_fcm(world)
    world.connect("11").ring("10", "c-1")
    rung(fake, device)
    other = world.connect("10", device="b2")
    other.expect(type="offer")
    if reason == "answered_elsewhere":
        other.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    else:
        other.ask(type="end", callId="c-1")
    data = notice(fake, device, "call.over")["data"]
    assert data == data | {"callId": "c-1", "epoch": "1", "fromUserId": "11", "reason": reason}


# --- Firebase's refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", DEAD_TOKEN)
def test_a_dead_token_is_removed_and_not_tried_again(short_firebase_rings, reason):
    world, fake = short_firebase_rings
    device = register_fcm(world)
    fake.script(device, [DEAD_TOKEN[reason]])
    taro = world.connect("11")
    taro.ring("10", "c-1")
    eventually(lambda: fcm_tokens(world) == [])
    (result,) = events(world, "push.result")
    assert (result["status"], result["reason"]) == (DEAD_TOKEN[reason]["status"], reason)
    taro.expect(type="call", state="ended")
    fence(world, fake)
    assert len(fake.attempts(device)) == 1


def test_a_token_that_is_registered_again_before_its_refusal_is_kept(firebase_world):
    world, fake = firebase_world
    device = register_fcm(world)
    fake.script(device, [{"status": 404, "delay": 1}])
    world.connect("11").ring("10", "c-1")
    eventually(lambda: fake.attempts(device))
    register_fcm(world)
    last = eventually(lambda: devices(world)[0]["lastPush"])
    assert (last["status"], last["reason"], last["environment"]) == (404, "UNREGISTERED", None)
    assert " " in last["hint"]
    assert fcm_tokens(world) == [device], "the app has the token now, whatever Firebase knew before"


@pytest.mark.parametrize("reason", REFUSED)
def test_a_refusal_that_is_not_about_the_token_removes_nothing_and_is_not_tried_again(short_firebase_rings, reason):
    world, fake = short_firebase_rings
    device = register_fcm(world)
    fake.script(device, [REFUSED[reason]])
    taro = world.connect("11")
    taro.ring("10", "c-1")
    last = eventually(lambda: devices(world)[0]["lastPush"])
    assert (last["status"], last["reason"], last["environment"]) == (REFUSED[reason]["status"], reason, None)
    assert " " in last["hint"], "a hint is a sentence"
    taro.expect(type="call", state="ended")
    fence(world, fake)
    assert len(tries(fake, device)) == 1 and fcm_tokens(world) == [device]


def test_an_accepted_message_is_shown_with_the_device(firebase_world):
    world, fake = firebase_world
    register_fcm(world)
    world.connect("11").ring("10", "c-1")
    last = eventually(lambda: devices(world)[0]["lastPush"])
    assert (last["status"], last["environment"]) == (200, None)
    assert devices(world)[0]["environment"] is None


@pytest.mark.parametrize("fault", TEMPORARY)
def test_a_temporary_fault_is_tried_again_until_one_message_is_accepted(firebase_world, fault):
    world, fake = firebase_world
    device = register_fcm(world)
    fake.script(device, [TEMPORARY[fault]] * 2)
    world.connect("11").ring("10", "c-1")
    rung(fake, device)
    assert len(tries(fake, device)) == 3
    fence(world, fake)
    assert len(rings(fake, device)) == 1 and fcm_tokens(world) == [device]


@pytest.mark.parametrize("status", [429, 503])
def test_no_message_is_sent_again_before_the_time_that_firebase_named(firebase_world, status):
    world, fake = firebase_world
    device = register_fcm(world)
    fake.script(device, [{"status": status, "retry_after": 3}])
    world.connect("11").ring("10", "c-1")
    message = rung(fake, device)
    refused, accepted = tries(fake, device)
    assert accepted["at"] - refused["at"] >= 2_990, "the two moments are whole milliseconds"
    assert int(message["android"]["ttl"].removesuffix("s")) <= 42, "it lives for the rest of the ring"


def test_a_message_that_may_be_sent_again_only_after_the_ring_is_not_sent_again(short_firebase_rings):
    world, fake = short_firebase_rings
    device = register_fcm(world)
    fake.script(device, [{"status": 503, "retry_after": 2}])
    taro = world.connect("11")
    taro.ring("10", "c-1")
    taro.expect(type="call", state="ended")
    assert not events(world, "push.cancelled"), "the route was given up at once"
    fence(world, fake)
    assert len(tries(fake, device)) == 1


@pytest.mark.timeout(90)
def test_a_message_without_an_answer_is_sent_again_while_it_rings(firebase_world):
    world, fake = firebase_world
    device = register_fcm(world)
    fake.script(device, [{"hang": True}])
    world.connect("11").ring("10", "c-1")
    rung(fake, device, HANG_SECONDS)
    assert len(tries(fake, device)) == 2 and len(rings(fake, device)) == 1


def test_no_message_is_sent_again_after_the_ring_has_ended(firebase_world):
    world, fake = firebase_world
    device = register_fcm(world)
    fake.script(device, [{"status": 503, "always": True}])
    taro = world.connect("11")
    taro.ring("10", "c-1")
    eventually(lambda: len(tries(fake, device)) >= 2)
    taro.ask(type="end", callId="c-1")
    # A message that was under way at the end may still come.
    eventually(lambda: is_settled(world))
    count = len(tries(fake, device))
    fence(world, fake)
    assert len(tries(fake, device)) == count


def test_a_slow_firebase_never_delays_relaying(firebase_world):
    world, fake = firebase_world
    device = register_fcm(world)
    fake.script(device, [{"hang": True, "always": True}])
    world.connect("11").ring("10", "c-1")
    eventually(lambda: fake.attempts(device))
    one, other = world.call("c-2", "21", "20")
    began = time.monotonic()
    for number in range(20):
        one.ask(type="info", callId="c-2", data=number)
        other.expect(type="info", data=number)
    assert time.monotonic() - began < 5


# --- The access token --------------------------------------------------------------------------------------------


def test_many_messages_at_once_share_one_access_token(firebase_world):
    world, fake = firebase_world
    # All calls begin before the access token is there.
    fake.script_token([{"delay": 1}])
    found = [register_fcm(world, str(number), number) for number in range(100, 120)]
    taro = world.connect("11")
    for number in range(100, 120):
        taro.ring(str(number), f"c-{number}")
    for device in found:
        rung(fake, device)
    assert fake.token_requests == 1
    fake.revoke_tokens()
    for number in range(100, 120):
        taro.ask(type="end", callId=f"c-{number}")
    for device in found:
        notice(fake, device, "call.missed")
    assert fake.token_requests == 2, "the renewed access token is shared, too"


def test_an_access_token_is_renewed_when_it_expires(firebase_world):
    world, fake = firebase_world
    one, two = register_fcm(world, "10", 1), register_fcm(world, "20", 2)
    fake.script_token([{"expires_in": 3}])
    taro = world.connect("11")
    taro.ring("10", "c-1")
    rung(fake, one)
    eventually(lambda: time.monotonic() >= max(fake.access_tokens.values()))
    taro.ring("20", "c-2")
    rung(fake, two)
    assert fake.token_requests == 2


def test_a_revoked_access_token_is_renewed_and_the_message_sent_once_more(firebase_world):
    world, fake = firebase_world
    one, two = register_fcm(world, "10", 1), register_fcm(world, "20", 2)
    taro = world.connect("11")
    taro.ring("10", "c-1")
    rung(fake, one)
    fake.revoke_tokens()
    taro.ring("20", "c-2")
    rung(fake, two)
    assert fake.token_requests == 2 and len(rings(fake, two)) == 1


def test_a_message_that_is_refused_with_the_renewed_access_token_is_given_up(short_firebase_rings):
    world, fake = short_firebase_rings
    device = register_fcm(world)
    fake.script(device, [{"status": 401}] * 20)
    taro = world.connect("11")
    taro.ring("10", "c-1")
    taro.expect(type="call", state="ended")
    first, second = tries(fake, device)
    assert first["headers"]["authorization"] != second["headers"]["authorization"]
    assert devices(world)[0]["lastPush"]["status"] == 401 and fcm_tokens(world) == [device]


def test_after_two_refused_access_tokens_no_further_one_is_fetched_for_a_while(firebase_world):
    world, fake = firebase_world
    found = [register_fcm(world, str(number), number) for number in range(100, 130)]
    for device in found:
        fake.script(device, [{"status": 401, "always": True}])
    taro = world.connect("11")
    for number in range(100, 130):
        taro.ring(str(number), f"c-{number}")
        eventually(lambda: devices(world, str(number))[0]["lastPush"])  # noqa: B023
        assert devices(world, str(number))[0]["lastPush"]["status"] == 401
    assert fake.token_requests <= 3, "the second one after a pause of 10 s, if the test took that long"
    assert all(fcm_tokens(world, str(number)) for number in range(100, 130))


@pytest.mark.parametrize("error", [{}, {"error": "THIRD_PARTY_AUTH_ERROR"}], ids=["401", "third-party"])
def test_a_device_that_google_refuses_alone_keeps_no_other_device_from_ringing(firebase_world, error):
    world, fake = firebase_world
    refused = register_fcm(world, "99", 99)
    fake.script(refused, [{"status": 401, "always": True} | error])
    taro = world.connect("11")
    for number in range(100, 106):
        found = register_fcm(world, str(number), number)
        taro.ring("99", f"refused-{number}")
        taro.ring(str(number), f"c-{number}")
        # The shortest pause of Firebase is 10 s.
        rung(fake, found)
        taro.ask(type="end", callId=f"refused-{number}")
    taro.ring("99", "refused")
    reason = error.get("error", "refused_for_device")
    last = eventually(lambda: (last := devices(world, "99")[0]["lastPush"])["reason"] == reason and last)
    assert last["status"] == 401 and last["hint"]
    assert fake.token_requests <= (1 if error else 2)
    assert fcm_tokens(world, "99") == [refused]


@pytest.mark.timeout(90)
def test_a_device_is_rung_by_its_next_route_while_the_token_endpoint_does_not_answer(both_world):
    world, apns, fake = both_world
    fake.script_token([{"hang": True, "always": True}])
    device = register_fcm(world, bundleId="com.example.chat", apnsDeviceToken=token(1))
    world.connect("11").ring("10", "c-1")
    (ring,) = eventually(lambda: apns.pushes(token(1)), 4)
    assert ring["headers"]["apns-push-type"] == "alert"
    (unsent,) = [each for each in events(world, "push.result") if each["kind"] == "firebase"]
    assert "has not responded yet" in unsent["reason"] and fake.attempts(device) == []


@pytest.mark.parametrize("end, kind", [("cancel", "call.missed"), ("answer", "call.over")])
def test_a_notice_that_firebase_does_not_take_is_sent_again(firebase_world, end, kind):
    world, fake = firebase_world
    device = register_fcm(world)
    fake.script(device, [{}, {"status": 503}, {"status": 500}, {"status": 429, "retry_after": 1}])
    taro = world.connect("11")
    taro.ring("10", "c-1")
    rung(fake, device)
    if end == "answer":
        other = world.connect("10", device="b2")
        other.expect(type="offer")
        other.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    else:
        taro.ask(type="end", callId="c-1")
    eventually(lambda: kind in types(fake, device), 12)
    assert types(fake, device) == ["call.incoming", kind]


@pytest.mark.parametrize("fault", [{"status": 503}, {"status": 500}, {"close": True}], ids=str)
def test_a_temporary_fault_of_the_token_endpoint_is_tried_again_while_it_rings(firebase_world, fault):
    world, fake = firebase_world
    device = register_fcm(world)
    fake.script_token([fault] * 2)
    world.connect("11").ring("10", "c-1")
    rung(fake, device)
    assert len(tries(fake, device)) == 1 and fcm_tokens(world) == [device]


@pytest.mark.parametrize("status", [200, 201, 204, 302])
def test_a_token_endpoint_that_gives_no_token_is_asked_again_and_nothing_counts_as_accepted(firebase_world, status):
    world, fake = firebase_world
    device = register_fcm(world)
    fake.script_token([{"status": status, "raw": ""}])
    world.connect("11").ring("10", "c-1")
    rung(fake, device)
    *failed, last = eventually(lambda: "status" in (found := events(world, "push.result"))[-1] and found)
    assert all(f"the token endpoint's response with {status} has none" in each["reason"] for each in failed) and failed
    assert not any("status" in each for each in failed)
    assert last["status"] == 200 and len(rings(fake, device)) == 1


def test_a_page_instead_of_the_token_endpoint_is_named_as_such(firebase_world):
    world, fake = firebase_world
    device = register_fcm(world)
    fake.script_token([{"status": 404, "raw": "<html>"}] * 3)
    world.connect("11").ring("10", "c-1")
    (result,) = eventually(lambda: events(world, "push.result"))
    assert (result["status"], result["reason"]) == (404, "no_access_token")
    assert fcm_tokens(world) == [device] and fake.attempts(device) == []
    assert "token_uri" in explained(world, "c-1")


def test_doctor_says_whose_response_it_is(firebase, tmp_path):
    subject = f"Firebase, project {firebase.account['project_id']}"
    options = firebase_options(firebase)
    assert doctor(tmp_path, *options)[subject] == ("ok", "accepts the service account")
    firebase.script_token([{"status": 404, "raw": "<html>"}])
    grade, text = doctor(tmp_path, *options, code=1)[subject]
    assert grade == "error" and "404 no_access_token" in text and "token_uri" in text
    firebase.script_token([{"status": 200, "raw": "<html>"}])
    grade, text = doctor(tmp_path, *options, code=1)[subject]
    assert grade == "error" and "the token endpoint's response with 200 has none" in text and "token_uri" in text


@pytest.mark.parametrize("long", [{"cut": 10}, {"raw": "x" * 70_000}], ids=["cut", "too long"])
def test_an_acceptance_counts_without_its_body(short_firebase_rings, long):
    world, fake = short_firebase_rings
    device = register_fcm(world)
    fake.script(device, [long])
    taro = world.connect("11")
    taro.ring("10", "c-1")
    taro.expect(type="call", state="ended")
    assert len(tries(fake, device)) == 1


@pytest.mark.timeout(90)
def test_a_token_endpoint_that_does_not_answer_is_asked_again_while_it_rings(firebase_world):
    world, fake = firebase_world
    device = register_fcm(world)
    fake.script_token([{"hang": True}])
    world.connect("11").ring("10", "c-1")
    rung(fake, device, HANG_SECONDS)
    assert len(rings(fake, device)) == 1


def test_a_service_account_that_google_refuses_is_not_tried_again_for_the_same_call(short_firebase_rings):
    world, fake = short_firebase_rings
    device = register_fcm(world)
    # A second request would get an access token.
    fake.script_token([{"status": 400, "error": "invalid_grant"}])
    taro = world.connect("11")
    taro.ring("10", "c-1")
    assert "invalid_grant" in eventually(lambda: events(world, "push.result"))[0]["reason"]
    taro.expect(type="call", state="ended")
    assert fake.token_requests == 1 and fake.attempts(device) == []
    assert fcm_tokens(world) == [device], "the operator is at fault, so the token is kept"


def test_a_firebase_server_with_an_untrusted_certificate_gets_nothing(firebase, make_server, make_world):
    options = firebase_options(firebase)
    at = options.index("--fcm-ca-file")
    world = make_world(make_server(*options[:at], *options[at + 2 :]))
    register_fcm(world)
    world.connect("11").ring("10", "c-1")
    assert "certificate" in eventually(lambda: events(world, "push.result"))[0]["reason"]
    assert firebase.token_requests == 0 and firebase.attempts() == []


# --- Beside APNs -------------------------------------------------------------------------------------------------


@pytest.fixture
def both_world(apns, firebase, make_server, make_world):
    """A world with a server that pushes to both fakes: (world, fake APNs, fake Firebase)."""
    return make_world(make_server(*push_options(apns), *firebase_options(firebase))), apns, firebase


APPLE = {"platform": "ios", "bundleId": "com.example.chat"}


@pytest.mark.parametrize("kind, wakes_by", [("voipDeviceToken", "voip"), ("apnsDeviceToken", "alert")])
def test_an_iphone_with_a_token_of_apple_is_rung_through_apns_only(both_world, kind, wakes_by):
    world, apns, firebase = both_world
    device = register_fcm(world, **APPLE, **{kind: token(1)})
    assert devices(world)[0]["pushHealth"]["wakesBy"] == wakes_by
    world.connect("11").ring("10", "c-1")
    assert pushed(apns, token(1))["headers"]["apns-push-type"] == wakes_by
    fence(world, firebase)
    assert firebase.attempts(device) == [] and len(apns.pushes(token(1))) == 1


def test_when_apns_reports_the_voip_token_as_dead_the_ring_goes_on_through_firebase_at_once(both_world):
    world, apns, firebase = both_world
    apns.script(token(1), [{"status": 410, "reason": "Unregistered", "timestamp": int(time.time() * 1000) + 60_000}])
    device = register_fcm(world, **APPLE, voipDeviceToken=token(1))
    world.connect("11").ring("10", "c-1")
    rung(firebase, device, seconds=3)
    assert apns.pushes()[0]["at"] <= rings(firebase, device)[0]["at"] < apns.pushes()[0]["at"] + 1_000
    (left,) = devices(world)
    assert (left["voipDeviceToken"], left["fcm_token"], left["pushHealth"]["wakesBy"]) == (None, device, "firebase")
    assert [event["kind"] for event in events(world, "push.sent")] == ["voip", "firebase"]
    fence(world, firebase)
    assert len(apns.pushes()) == 1 and len(rings(firebase, device)) == 1


def test_a_callee_with_an_iphone_and_an_android_phone_is_rung_on_both(both_world):
    world, apns, firebase = both_world
    android = register_fcm(world, number=1)
    body = APPLE | {"voipDeviceToken": token(2), "deviceId": "i2"}
    assert world.rest("10").put("/api/me/devices", body).status_code == 200
    world.connect("11").ring("10", "c-1")
    assert rung(firebase, android)["data"]["callUUID"] == pushed(apns, token(2))["payload"]["callUUID"]


# --- What is seen of it ------------------------------------------------------------------------------------------


def test_the_timeline_has_the_push_without_an_environment(firebase_world):
    world, fake = firebase_world
    register_fcm(world)
    world.connect("11").ring("10", "c-1")
    (result,) = eventually(lambda: events(world, "push.result"))
    (sent,) = events(world, "push.sent")
    assert sent["kind"] == result["kind"] == "firebase" and result["status"] == 200
    assert sent["device"] == "a1" and "environment" not in sent and "environment" not in result


def test_explain_names_firebase(short_firebase_rings):
    world, fake = short_firebase_rings
    register_fcm(world)
    world.connect("11").ring("10", "c-1")
    wait_for(world, "c-1", "ended: unanswered", "200")
    text = explained(world, "c-1")
    assert "Firebase" in text and "APNs" not in text and "sandbox" not in text and "iPhone" not in text


def test_explain_says_why_firebase_refused_a_push(short_firebase_rings):
    world, fake = short_firebase_rings
    fake.script(register_fcm(world), [{"status": 403}])
    world.connect("11").ring("10", "c-1")
    wait_for(world, "c-1", "ended: unanswered", "403 SENDER_ID_MISMATCH")
    text = explained(world, "c-1")
    assert "Firebase" in text and "APNs" not in text


def test_no_secret_of_firebase_is_in_the_log(firebase, make_server, make_world):
    server = make_server(*firebase_options(firebase), "--log-level", "trace", "--ring-timeout", "5")
    world = make_world(server)
    firebase.script_token([{"status": 503}, {"expires_in": 3}])
    taro = world.connect("11")
    faults = [{}, {"status": 401}, *TEMPORARY.values(), *DEAD_TOKEN.values(), *REFUSED.values()]
    found = []
    for number, fault in enumerate(faults, 1):
        found.append(register_fcm(world, str(100 + number), number))
        firebase.script(found[-1], [fault])
        taro.ring(str(100 + number), f"c-{number}")
    for number in range(1, len(faults) + 1):
        taro.expect(type="call", callId=f"c-{number}", state="ended")
    # The first token was accepted, and its owner has also missed the call.
    notice(firebase, found[0], "call.missed")
    log = server.errors()
    assert all(f"call.id=c-{number}" in log for number in range(1, len(faults) + 1))
    secrets = [line for line in firebase.account["private_key"].splitlines() if len(line) > 20]
    secrets += [each[10:] for each in found]
    secrets += [access_token.removeprefix("ya29.c.")[:16] for access_token in firebase.access_tokens]
    secrets += [part for assertion in firebase.assertions for part in assertion.split(".")]
    assert [secret for secret in secrets if secret in log] == []
    assert [line for line in log.splitlines() if findings(line)] == []


def test_without_a_service_account_the_push_is_only_logged(world):
    register_fcm(world)
    world.connect("11").ring("10", "c-1")
    (result,) = eventually(lambda: events(world, "push.result"))
    assert result["reason"] == "no Firebase service account is configured: pushes are only logged"
    assert fcm_tokens(world) == [fcm_token(1)]


def test_without_a_service_account_the_log_has_each_push_without_its_token(world):
    register_fcm(world)
    world.connect("11").ring("10", "c-1")
    eventually(lambda: "a push was not sent" in world.server.errors())
    (line,) = [line for line in world.server.usual_log().splitlines() if "a push was not sent" in line]
    assert "call.id=c-1" in line and "push.kind=firebase" in line
    assert fcm_token(1)[10:] not in world.server.errors()


# --- Many calls with faults --------------------------------------------------------------------------------------

CALLS = 50


@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", range(2))
def test_fifty_calls_with_random_faults_are_each_rung_exactly_once(firebase_world, seed):
    world, fake = firebase_world
    chance = random.Random(seed)
    temporary = [{}, {"hang": True}, {"status": 401}, {"status": 503, "retry_after": 1}, *TEMPORARY.values()]
    lasting = [*DEAD_TOKEN.values(), *REFUSED.values()]
    kinds = temporary + lasting
    faults = [kinds[number % len(kinds)] for number in range(CALLS)]
    chance.shuffle(faults)
    endpoint = [{"status": 503}, {"expires_in": 3}, {"status": 500}, {"close": True}, {"expires_in": 3}]
    chance.shuffle(endpoint)
    fake.script_token(endpoint)
    found = [register_fcm(world, f"u{number}", number) for number in range(CALLS)]
    # One user may begin 30 calls a minute.
    callers = [world.connect(f"caller-{number}") for number in range(5)]
    for number, (device, fault) in enumerate(zip(found, faults, strict=True)):
        fake.script(device, [fault])
        callers[number % 5].ring(f"u{number}", f"c-{number}")
        time.sleep(chance.uniform(0, 0.2))
    to_ring = [device for device, fault in zip(found, faults, strict=True) if fault in temporary]
    refused = [device for device in found if device not in to_ring]

    def unsettled() -> list:
        waiting = [device for device in to_ring if not rings(fake, device)]
        waiting += [device for device in refused if not tries(fake, device)]
        return [faults[found.index(device)] for device in waiting]

    eventually(lambda: not unsettled(), HANG_SECONDS, lambda: f"seed {seed}: {unsettled()}")
    # A second message would come within the second.
    time.sleep(1)
    counts = {str(fault): [] for fault in kinds}
    for device, fault in zip(found, faults, strict=True):
        counts[str(fault)].append((len(rings(fake, device)), len(tries(fake, device))))
    for fault in temporary:
        assert {accepted for accepted, _ in counts[str(fault)]} == {1}, f"seed {seed}, {fault}: {counts}"
    for fault in lasting:
        assert set(counts[str(fault)]) == {(0, 1)}, f"seed {seed}, {fault}: {counts}"

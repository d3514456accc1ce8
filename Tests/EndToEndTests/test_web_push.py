"""A browser with a push subscription is rung by Web Push, even if it is closed.

The fake verifies the server's token, decrypts each message with the browser's keys, and refuses what the push services
of the browsers' makers would refuse. So a message that it has accepted was well-formed. test_fake_web_push.py shows that.
"""

import json
import re
import time
import uuid
from typing import NamedTuple

import pytest
import samples
from conftest import firebase_options, push_options, web_push_options
from connection import Connection
from prometheus_client.parser import text_string_to_metric_families
from raw_socket import RawSocket
from test_command_line import run
from test_explain import wait_for
from test_firebase import app_of, devices, events, explained, fcm_token, is_settled
from test_push import pushed, token
from waiting import eventually

# The text of a message is padded to one of these sizes. The last one makes the largest body that is allowed.
PADDED_SIZES = (1024, 2048, 3072, 3993)
LARGEST_TEXT = PADDED_SIZES[-1]
A_DAY = 86_400


def register_web(world, fake, user="10", number=1, browser=None, **fields):
    """Registers a device with a subscription, or with this one; returns the subscription."""
    browser = browser or fake.subscribe()
    body = {"platform": "web", "deviceId": f"w{number}", "webPush": browser.to_json()} | fields
    response = world.rest(user).put("/api/me/devices", body)
    assert response.status_code == 200, response.text
    return browser


def endpoints(world, user="10") -> list[str]:
    """Returns the endpoints of a user's devices. A device without any token is no longer listed."""
    return [device["webPush"]["endpoint"] for device in devices(world, user) if device["webPush"] is not None]


def is_ring(message: dict) -> bool:
    """Returns whether a message is to ring. One that a script did not let the fake read counts as well."""
    return message["payload"] is None or message["payload"]["type"] == "call.incoming"


def rings(fake, browser) -> list[dict]:
    """Returns the accepted messages that ring this browser."""
    return [each for each in fake.messages(browser) if is_ring(each)]


def tries(fake, browser) -> list[dict]:
    """Returns the messages that were to ring this browser, accepted or not."""
    return [each for each in fake.attempts(browser) if is_ring(each)]


def rung(fake, browser, seconds=8) -> dict:
    """Waits until a message that rings this browser was accepted; returns the message."""

    def why() -> str:
        return f"answers: {[each['answer'] for each in tries(fake, browser)]}, refusals: {fake.refusals}"

    return eventually(lambda: rings(fake, browser), seconds, why)[0]


def types(fake, browser) -> list[str]:
    """Returns the types of the accepted messages to this browser."""
    return [each["payload"]["type"] for each in fake.messages(browser)]


def notice(fake, browser, kind: str) -> dict:
    """Waits for a message of this type that follows the ring; returns the message."""
    eventually(lambda: kind in types(fake, browser), why=lambda: f"{types(fake, browser)}, {fake.refusals}")
    assert types(fake, browser) == ["call.incoming", kind]
    return fake.messages(browser)[1]


def fence(world, fake):
    """Rings another user and waits for that message: a wrong message that was due earlier would have come by then."""
    browser = register_web(world, fake, "90", 90)
    world.connect("91").ring("90", "c-fence")
    rung(fake, browser)


class Ringing(NamedTuple):
    """A call to a user with one browser."""

    caller: Connection
    user: str
    call_id: str
    browser: object

    def last_push(self, world) -> dict | None:
        found = devices(world, self.user)
        return found[0]["lastPush"] if found else None

    def events(self, world, name: str) -> list[dict]:
        return events(world, name, self.user, self.call_id)


def ring_each(world, fake, scripts: dict[str, list[dict]], **fields) -> dict[str, Ringing]:
    """Rings one user for each script, which decides the answers to that user's browser; returns the calls."""
    caller, calls = world.connect("11"), {}
    for number, (name, script) in enumerate(scripts.items()):
        browser = register_web(world, fake, f"u{number}", number)
        fake.script(browser, script)
        caller.ring(f"u{number}", f"c-{number}", **fields)
        calls[name] = Ringing(caller, f"u{number}", f"c-{number}", browser)
    return calls


def all_end(calls: dict[str, Ringing]):
    """Waits until the calls have ended."""
    for each in calls.values():
        each.caller.expect(type="call", callId=each.call_id, state="ended")


def results(world, metric: str) -> dict[str, float]:
    """Returns the values of a counter by `reason`, added up over its other labels."""
    counted: dict[str, float] = {}
    for family in text_string_to_metric_families(world.server.metrics_text()):
        for sample in family.samples:
            if sample.name == metric:
                reason = sample.labels.get("reason", "")
                counted[reason] = counted.get(reason, 0) + sample.value
    return counted


# --- The message that rings --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{}, {"bundleId": "com.example.chat"}], ids=["without", "with a bundleId"])
def test_a_device_with_a_subscription_is_woken_by_web_push(web_push_world, fields):
    world, fake = web_push_world
    browser = fake.subscribe()
    body = {"platform": "web", "deviceId": "w1", "webPush": browser.to_json()} | fields
    response = world.rest("10").put("/api/me/devices", body)
    assert response.status_code == 200, response.text
    registered = response.json()
    wanted = {name: value for name, value in browser.to_json().items() if name != "expirationTime"}
    assert registered["pushHealth"]["wakesBy"] == "web" and registered["webPush"] == wanted
    assert "message" not in registered, "the server does push to the subscription"
    (device,) = devices(world)
    assert device["pushHealth"]["wakesBy"] == "web" and device["webPush"] == wanted
    world.connect("11").ring("10", "c-1")
    rung(fake, browser)


def test_a_device_without_a_subscription_says_so(web_push_world):
    world, _ = web_push_world
    response = world.rest("10").put("/api/me/devices", {"fcm_token": "f-1", "platform": "android"})
    assert response.json()["webPush"] is None and devices(world)[0]["webPush"] is None


def test_a_closed_browser_gets_one_message_with_everything_that_it_needs(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake)
    before = int(time.time() * 1000)
    call_id = str(uuid.uuid4())
    world.connect("11").ring("10", call_id, sdp=samples.OFFER, displayName="山田太郎", room="p2p:11-10")
    message = rung(fake, browser)
    after = int(time.time() * 1000)
    assert message["urgency"] == "high" and re.fullmatch(r"[A-Za-z0-9_-]{32}", message["topic"])
    assert message["headers"]["content-type"] == "application/octet-stream"
    assert message["ttl"] in (44, 45)
    assert message["claims"]["sub"] == "mailto:ops@example.com"
    assert message["key"] == fake.application_server_key
    payload = dict(message["payload"])
    assert before - 1000 <= payload.pop("sentAt") <= after + 1000
    assert before + 44_000 <= payload.pop("ringUntil") <= after + 46_000
    assert payload.pop("act")
    assert payload == {
        "type": "call.incoming",
        "callId": call_id,
        "epoch": 1,
        "fromUserId": "11",
        "fromDisplayName": "山田太郎",
        "toUserId": "10",
        "room": "p2p:11-10",
        "hasVideo": False,
        "callUUID": call_id,
        "handle": "11",
        "handleType": "generic",
        "callerId": "11",
        "callerName": "山田太郎",
        "offer": samples.OFFER,
    }
    assert payload["hasVideo"] is False and type(payload["epoch"]) is int
    fence(world, fake)
    assert len(fake.attempts(browser)) == 1


def test_a_message_with_video_says_so(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake)
    world.connect("11").ring("10", "c-1", sdp=samples.VIDEO_OFFER)
    assert rung(fake, browser)["payload"]["hasVideo"] is True


def test_the_time_to_live_is_never_zero_seconds(short_web_push_rings):
    """With 0 the push service would drop a message to a browser that it cannot reach at once."""
    world, fake = short_web_push_rings
    browser = register_web(world, fake)
    world.connect("11").ring("10", "c-1")
    assert rung(fake, browser)["ttl"] == 1


def test_the_text_is_padded_to_the_next_of_four_sizes(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake)
    taro = world.connect("11")
    offers = [samples.padded(samples.OFFER, size) for size in (1_300, 2_000, 3_000, 20_000)]
    for number, sdp in enumerate(offers):
        taro.ring("10", f"c-{number}", sdp=sdp)
        eventually(lambda: len(rings(fake, browser)) == number + 1)  # noqa: B023
        taro.ask(type="end", callId=f"c-{number}")
        # Its notice is small.
        eventually(lambda: types(fake, browser).count("call.missed") == number + 1)  # noqa: B023
    for message in fake.messages(browser):
        assert message["padded"] == next(size for size in PADDED_SIZES if size >= len(message["text"]))
        assert len(message["body"]) <= 4096 and message["body"][16:21] == (4096).to_bytes(4, "big") + bytes([65])
    assert len({message["padded"] for message in fake.messages(browser)}) > 2


def test_no_two_messages_have_a_salt_or_a_key_in_common(web_push_world):
    world, fake = web_push_world
    one, two = register_web(world, fake, number=1), register_web(world, fake, number=2)
    world.connect("11").ring("10", "c-1")
    bodies = [rung(fake, browser)["body"] for browser in (one, two)]
    assert bodies[0][:16] != bodies[1][:16] and bodies[0][21:86] != bodies[1][21:86]


def json_size(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode())


def test_the_offer_is_in_the_message_as_long_as_the_text_fits(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake)
    taro = world.connect("11")

    def message_of(call_id: str, sdp: str) -> dict:
        taro.ring("10", call_id, sdp=sdp)

        def found() -> list[dict]:
            return [each for each in rings(fake, browser) if each["payload"]["callId"] == call_id]

        (message,) = eventually(found, why=lambda: f"refusals: {fake.refusals}")
        taro.ask(type="end", callId=call_id)
        return message

    message = message_of("c-1", samples.OFFER)
    room_for_offer = LARGEST_TEXT - len(message["text"]) + json_size(samples.OFFER)
    sizes = range(len(samples.OFFER), LARGEST_TEXT)
    fits = max(size for size in sizes if json_size(samples.padded(samples.OFFER, size)) <= room_for_offer)
    message = message_of("c-2", samples.padded(samples.OFFER, fits))
    assert message["payload"]["offer"] == samples.padded(samples.OFFER, fits)
    assert LARGEST_TEXT - 3 < len(message["text"]) <= LARGEST_TEXT and len(message["body"]) == 4096
    payload = message_of("c-3", samples.padded(samples.OFFER, fits + 3))["payload"]
    assert "offer" not in payload and payload["act"]


def test_a_long_name_is_cut_only_when_the_text_does_not_fit_without_the_offer(web_push_world):
    world, fake = web_push_world
    one, two = register_web(world, fake, "10", 1), register_web(world, fake, "20", 2)
    taro = world.connect("11")
    taro.ring("10", "c-1", sdp=samples.padded(samples.OFFER, 40 * 1024), displayName="山" * 256)
    payload = rung(fake, one)["payload"]
    assert "offer" not in payload and payload["callerName"] == payload["fromDisplayName"] == "山" * 256
    # A single character of 25 bytes, which must not be cut in half.
    family = "👨‍👩‍👧‍👦"
    taro.ring("20", "c-2", displayName=family * 256)
    message = rung(fake, two)
    name = message["payload"]["callerName"]
    assert "offer" not in message["payload"] and message["payload"]["fromDisplayName"] == name
    assert name and name == family * (len(name) // len(family))
    assert LARGEST_TEXT - 4 * len(family.encode()) < len(message["text"]) <= LARGEST_TEXT, "no more is cut than needed"


def test_the_woken_page_fetches_rings_answers_and_ends_by_rest(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake)
    taro = world.connect("11")
    taro.ring("10", "c-1", sdp=samples.VIDEO_OFFER)
    for candidate in samples.CANDIDATES[:3]:
        taro.ask(type="ice", callId="c-1", candidate=candidate)
    worker = app_of(world, {"data": rung(fake, browser)["payload"]})
    log = worker.log("c-1")
    assert log["offer"]["sdp"] == samples.VIDEO_OFFER and log["candidates"] == samples.CANDIDATES[:3]
    assert worker.signal("ringing", "c-1").status_code == 200
    assert taro.expect(type="ringing")["fromDevice"] == "w1"
    assert worker.signal("answer", "c-1", sdp=samples.VIDEO_ANSWER).status_code == 200
    assert taro.expect(type="answer")["sdp"] == samples.VIDEO_ANSWER
    assert worker.delete("/api/calls/signal/c-1").status_code == 200
    taro.expect(type="call", state="ended", reason="hangup")
    fence(world, fake)
    assert types(fake, browser) == ["call.incoming"], "the device that answered needs no other message"


def test_the_service_worker_declines_by_rest(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake)
    taro = world.connect("11")
    taro.ring("10", "c-1")
    worker = app_of(world, {"data": rung(fake, browser)["payload"]})
    assert worker.delete("/api/calls/signal/c-1").status_code == 200
    taro.expect(type="call", state="ended", reason="declined")
    fence(world, fake)
    assert types(fake, browser) == ["call.incoming"], "the device that declined needs no other message"


def test_a_callee_with_a_live_connection_of_that_device_gets_no_message(make_web_push_world, web_push):
    world, fake = make_web_push_world("--probe-timeout", "0.3"), web_push
    live, asleep = register_web(world, fake, "10", 1), register_web(world, fake, "20", 2)
    hanako, taro = world.connect("10", "w1"), world.connect("11")
    half_open = RawSocket(world.server.port, world.token("20"), path="/ws?device=w2")
    taro.ring(hanako, "c-1")
    hanako.expect(type="offer")
    # The second device answers no ping, and is pushed when its probe times out. The first was probed earlier, so a
    # wrong message to it would have come by then.
    taro.ring("20", "c-2")
    rung(fake, asleep)
    assert fake.attempts(live) == []
    half_open.close()


def test_every_browser_of_the_callee_gets_a_message_with_a_capability_of_its_own(web_push_world):
    world, fake = web_push_world
    one, two = register_web(world, fake, number=1), register_web(world, fake, number=2)
    world.connect("11").ring("10", "c-1")
    assert rung(fake, one)["payload"]["act"] != rung(fake, two)["payload"]["act"]
    assert rung(fake, one)["payload"]["callUUID"] == rung(fake, two)["payload"]["callUUID"]


@pytest.mark.parametrize("hides", ["do-not-disturb", "a block"])
def test_no_call_and_no_text_comes_through(web_push_world, hides):
    world, fake = web_push_world
    browser = register_web(world, fake)
    if hides == "a block":
        response = world.rest("10").post("/api/blocks", {"userId": "11"})
    else:
        response = world.rest("10").put("/api/me/dnd", {"until": int(time.time() * 1000) + 60_000})
    assert response.status_code < 300
    taro = world.connect("11")
    taro.ring("10", "c-1")
    taro.ask(type="end", callId="c-1")
    taro.ask(type="message", to="10", body="hello")
    fence(world, fake)
    assert fake.attempts(browser) == []


def test_a_subscription_belongs_to_the_user_who_registered_it_last(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake, "10", 1)
    register_web(world, fake, "20", 1, browser=browser)
    own = register_web(world, fake, "10", 3)
    assert endpoints(world, "10") == [own.endpoint] and endpoints(world, "20") == [browser.endpoint]
    taro = world.connect("11")
    taro.ring("10", "c-1")
    rung(fake, own)
    taro.ring("20", "c-2")
    assert rung(fake, browser)["payload"]["callId"] == "c-2"
    assert len(rings(fake, browser)) == 1


def test_a_new_subscription_of_a_device_replaces_the_old_one_even_while_it_rings(web_push_world):
    world, fake = web_push_world
    old = register_web(world, fake)
    fake.script(old, [{"status": 503, "always": True}])
    world.connect("11").ring("10", "c-1")
    eventually(lambda: tries(fake, old))
    new = register_web(world, fake)
    assert endpoints(world) == [new.endpoint]
    rung(fake, new)
    count = len(tries(fake, old))
    fence(world, fake)
    assert len(tries(fake, old)) == count and len(rings(fake, new)) == 1


def test_a_device_that_was_removed_is_not_tried_again(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake)
    fake.script(browser, [{"status": 503, "always": True}])
    world.connect("11").ring("10", "c-1")
    eventually(lambda: tries(fake, browser))
    assert world.rest("10").delete("/api/me/devices/w1").status_code == 200
    # A message that was under way may still come.
    eventually(lambda: is_settled(world))
    count = len(tries(fake, browser))
    fence(world, fake)
    assert len(tries(fake, browser)) == count


def test_a_ring_that_outlives_a_restart_gets_one_message(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake)
    world.connect("11").ring("10", "c-1")
    rung(fake, browser)
    eventually(lambda: devices(world)[0]["lastPush"])
    world.server.kill()
    world.server.start()
    assert endpoints(world) == [browser.endpoint], "the subscription is kept over restarts"
    fence(world, fake)
    assert len(tries(fake, browser)) == 1


# --- The messages after the ring, and texts ----------------------------------------------------------------------


def test_a_call_that_nobody_answers_is_missed(short_web_push_rings):
    world, fake = short_web_push_rings
    browser = register_web(world, fake)
    world.connect("11").ring("10", "c-1", displayName="山田太郎")
    missed = notice(fake, browser, "call.missed")
    assert missed["ttl"] == A_DAY and missed["urgency"] == "high"
    assert missed["topic"] == rung(fake, browser)["topic"], "it replaces the ring"
    assert missed["payload"] == {
        "type": "call.missed",
        "callId": "c-1",
        "epoch": 1,
        "fromUserId": "11",
        "fromDisplayName": "山田太郎",
    }


def test_a_call_that_its_caller_cancels_is_missed(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake)
    taro = world.connect("11")
    taro.ring("10", "c-1")
    ring = rung(fake, browser)
    taro.ask(type="end", callId="c-1")
    missed = notice(fake, browser, "call.missed")
    assert missed["payload"]["callId"] == "c-1" and missed["ttl"] == A_DAY and missed["topic"] == ring["topic"]


@pytest.mark.parametrize("reason", ["answered_elsewhere", "declined_elsewhere"])
def test_a_call_that_another_device_answers_or_declines_is_over(web_push_world, reason):
    world, fake = web_push_world
    browser = register_web(world, fake)
    world.connect("11").ring("10", "c-1")
    ring = rung(fake, browser)
    other = world.connect("10", device="b2")
    other.expect(type="offer")
    if reason == "answered_elsewhere":
        other.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    else:
        other.ask(type="end", callId="c-1")
    over = notice(fake, browser, "call.over")
    assert over["ttl"] == A_DAY and over["topic"] == ring["topic"]
    wanted = {"callId": "c-1", "epoch": 1, "fromUserId": "11", "reason": reason}
    assert over["payload"] == over["payload"] | wanted


def test_an_unreachable_browser_is_told_only_how_each_call_ended(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake)
    fake.offline(browser)
    taro = world.connect("11")
    for number in range(2):
        taro.ring("10", f"c-{number}")
        eventually(lambda: len(rings(fake, browser)) == number + 1)  # noqa: B023
        taro.ask(type="end", callId=f"c-{number}")
        eventually(lambda: types(fake, browser).count("call.missed") == number + 1)  # noqa: B023
    delivered = [(each["payload"]["type"], each["payload"]["callId"]) for each in fake.deliver(browser)]
    assert delivered == [("call.missed", "c-0"), ("call.missed", "c-1")], "each call has a topic of its own"


def test_another_call_under_the_same_call_id_has_another_topic(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake)
    taro = world.connect("11")
    for number in range(2):
        taro.ring("10", "11-10", sdp=samples.changed(samples.OFFER, str(number)))
        eventually(lambda: len(rings(fake, browser)) == number + 1)  # noqa: B023
        taro.ask(type="end", callId="11-10")
        eventually(lambda: types(fake, browser).count("call.missed") == number + 1)  # noqa: B023
    assert [each["payload"]["epoch"] for each in fake.messages(browser)] == [1, 1, 2, 2]
    one, _, two, _ = [each["topic"] for each in fake.messages(browser)]
    assert one != two and [each["topic"] for each in fake.messages(browser)] == [one, one, two, two]


def test_texts_to_an_unreachable_browser_do_not_replace_each_other(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake)
    fake.offline(browser)
    taro = world.connect("11")
    before = int(time.time() * 1000)
    for body in ("こんにちは", "one more"):
        assert taro.ask(type="message", to="10", body=body, displayName="山田太郎")["online"] is False
    eventually(lambda: len(fake.messages(browser)) == 2)
    texts = sorted((each["payload"] for each in fake.deliver(browser)), key=lambda text: text["body"])
    assert all(before - 1000 <= text.pop("sentAt") <= time.time() * 1000 + 1000 for text in texts)
    usual = {"type": "message", "fromUserId": "11", "fromDisplayName": "山田太郎"}
    assert texts == [usual | {"body": "one more"}, usual | {"body": "こんにちは"}]
    assert {(each["ttl"], each["urgency"]) for each in fake.messages(browser)} == {(A_DAY, "high")}


@pytest.mark.parametrize("text", ["x" * 8000, "👨‍👩‍👧‍👦" * 200], ids=["of letters", "of families"])
def test_a_long_text_is_cut_between_two_characters(web_push_world, text):
    world, fake = web_push_world
    browser = register_web(world, fake)
    world.connect("11").ask(type="message", to="10", body=text)
    (message,) = eventually(lambda: fake.messages(browser), why=lambda: str(fake.refusals))
    body = message["payload"]["body"].removesuffix("…")
    assert body and text.startswith(body) and len(message["text"]) <= LARGEST_TEXT
    assert text[0] == "x" or len(body) % len("👨‍👩‍👧‍👦") == 0


# --- Beside other push services ----------------------------------------------------------------------------------


@pytest.fixture
def all_world(apns, firebase, web_push, make_web_push_world):
    """A world with a server that pushes to all fakes: (world, fake APNs, fake Firebase, fake of a browser's)."""
    world = make_web_push_world(*push_options(apns), *firebase_options(firebase))
    return world, apns, firebase, web_push


APPLE = {"bundleId": "com.example.chat", "platform": "ios"}


def test_a_device_is_rung_by_the_best_of_its_routes_only(all_world):
    world, apns, firebase, fake = all_world
    iphone = register_web(world, fake, "10", 1, **APPLE, voipDeviceToken=token(1))
    android = register_web(world, fake, "20", 2, platform="android", fcm_token=fcm_token(2))
    browser = register_web(world, fake, "30", 3, bundleId="com.example.chat", apnsDeviceToken=token(3))
    routes = [devices(world, user)[0]["pushHealth"]["wakesBy"] for user in ("10", "20", "30")]
    assert routes == ["voip", "firebase", "web"]
    taro = world.connect("11")
    for user in ("10", "20", "30"):
        taro.ring(user, f"c-{user}")
    rung(fake, browser)
    assert pushed(apns, token(1))["headers"]["apns-push-type"] == "voip"
    eventually(lambda: firebase.messages(fcm_token(2)))
    fence(world, fake)
    assert fake.attempts(iphone) == fake.attempts(android) == [] and apns.pushes(token(3)) == []


# What web push says for good, at the first try and at the second one.
FOR_GOOD = {
    "dead": [{"status": 410}],
    "refused": [{"status": 403, "reason": "BadJwtToken"}],
    "redirected": [{"status": 307}],
    "too large": [{"status": 413}, {"status": 413}],
}


def test_a_device_that_web_push_refuses_for_good_is_rung_by_an_alert_at_once(all_world):
    world, apns, _, fake = all_world
    taro, browsers = world.connect("11"), {}
    for number, (name, script) in enumerate(FOR_GOOD.items()):
        fields = {"bundleId": "com.example.chat", "apnsDeviceToken": token(number)}
        browsers[name] = register_web(world, fake, f"u{number}", number, **fields)
        fake.script(browsers[name], script)
        taro.ring(f"u{number}", f"c-{number}")
    for number, (name, browser) in enumerate(browsers.items()):
        alert = pushed(apns, token(number))
        assert alert["headers"]["apns-push-type"] == "alert" and alert["payload"]["callId"] == f"c-{number}"
        assert alert["at"] < tries(fake, browser)[-1]["at"] + 1000, name
        kinds = [event["kind"] for event in events(world, "push.sent", f"u{number}", f"c-{number}")]
        assert kinds == ["web"] * len(FOR_GOOD[name]) + ["alert"], name
    fence(world, fake)
    for number, (name, browser) in enumerate(browsers.items()):
        assert (len(apns.pushes(token(number))), rings(fake, browser)) == (1, []), name
        assert len(tries(fake, browser)) == len(FOR_GOOD[name]), name
        assert len(endpoints(world, f"u{number}")) == (name != "dead"), name


def test_a_device_under_a_temporary_fault_of_web_push_gets_no_alert_besides(all_world):
    world, apns, _, fake = all_world
    browser = register_web(world, fake, bundleId="com.example.chat", apnsDeviceToken=token(1))
    fake.script(browser, [{"status": 503}, {"close": "read"}])
    world.connect("11").ring("10", "c-1")
    rung(fake, browser)
    fence(world, fake)
    assert apns.pushes(token(1)) == [] and len(rings(fake, browser)) == 1


def test_when_firebase_reports_its_token_as_dead_the_ring_goes_on_by_web_push(all_world):
    world, _, firebase, fake = all_world
    browser = register_web(world, fake, platform="android", fcm_token=fcm_token(1))
    firebase.script(fcm_token(1), [{"status": 404}])
    world.connect("11").ring("10", "c-1")
    rung(fake, browser, seconds=3)
    assert [event["kind"] for event in events(world, "push.sent")] == ["firebase", "web"]
    (left,) = devices(world)
    assert (left["fcm_token"], left["pushHealth"]["wakesBy"]) == (None, "web")


# --- What is seen of it ------------------------------------------------------------------------------------------


def test_the_timeline_has_the_push_without_an_environment(web_push_world):
    world, fake = web_push_world
    register_web(world, fake)
    world.connect("11").ring("10", "c-1")
    (result,) = eventually(lambda: events(world, "push.result"))
    (sent,) = events(world, "push.sent")
    assert sent["kind"] == result["kind"] == "web" and result["status"] in (200, 201)
    assert sent["device"] == "w1" and "environment" not in sent and "environment" not in result


def test_explain_names_web_push(short_web_push_rings):
    world, fake = short_web_push_rings
    browser = register_web(world, fake)
    world.connect("11").ring("10", "c-1")
    wait_for(world, "c-1", "ended: unanswered", "20")
    text = explained(world, "c-1")
    assert re.search("[Ww]eb( [Pp]ush)?", text)
    assert not re.search("APNs|Firebase|sandbox|iPhone", text), text
    assert [secret for secret in browser.secrets() if secret in text] == []


def test_explain_says_why_a_push_was_refused(short_web_push_rings):
    world, fake = short_web_push_rings
    fake.script(register_web(world, fake), [{"status": 403, "reason": "BadJwtToken"}])
    world.connect("11").ring("10", "c-1")
    wait_for(world, "c-1", "ended: unanswered", "403 BadJwtToken")
    text = explained(world, "c-1")
    assert not re.search("APNs|Firebase|iPhone", text), text


def test_the_results_of_pushes_are_counted(web_push_world):
    world, fake = web_push_world
    refused, failed = {"status": 403, "reason": "BadJwtToken"}, {"status": 503}
    calls = ring_each(world, fake, {"accepted": [], "also": [], "refused": [refused], "failed": [failed]})
    for name in ("accepted", "also", "failed"):
        rung(fake, calls[name].browser)
    eventually(lambda: results(world, "ringline_push_results_total").get("accepted") == 3)
    counted = {name: value for name, value in results(world, "ringline_push_results_total").items() if value}
    assert counted == {"accepted": 3, "BadJwtToken": 1, "other": 1}
    assert results(world, "ringline_pushes_sent_total") == {"": 5}


def test_a_reason_that_a_push_service_makes_up_is_no_label_of_a_metric(web_push_world):
    world, fake = web_push_world
    fake.script(register_web(world, fake), [{"status": 403, "reason": "MadeUpByAThirdParty"}])
    world.connect("11").ring("10", "c-1")
    eventually(lambda: results(world, "ringline_push_results_total").get("other") == 1)
    assert "MadeUp" not in world.server.metrics_text()


def test_a_test_push_goes_by_web_push(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake)
    command = ["push-test", "--user", "10", *world.server.folder_options, *web_push_options(fake)]
    result = run(*command)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "w1: " in result.stdout and "accepted" in result.stdout and not re.search("APNs|Firebase", result.stdout)
    (message,) = fake.messages(browser)
    assert message["payload"]["type"] == "call.incoming" and message["payload"]["fromUserId"] == "ringline-test"
    fake.script(browser, [{"status": 403, "reason": "BadJwtToken"}])
    result = run(*command)
    assert result.returncode == 1 and "403 BadJwtToken" in result.stdout
    assert [secret for secret in browser.secrets() if secret in result.stdout + result.stderr] == []


def test_the_list_of_devices_shows_a_subscription_without_its_secrets(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake)
    world.connect("11").ring("10", "c-1")
    rung(fake, browser)

    def listed() -> str:
        return run("devices", "--user", "10", *world.server.store_options).stdout

    eventually(lambda: re.search(r"\b20[01]\b", listed()), why=listed)
    text = listed()
    assert "w1" in text and "web" in text and not re.search("Firebase|sandbox|production", text), text
    assert [secret for secret in browser.secrets() if secret in text] == []

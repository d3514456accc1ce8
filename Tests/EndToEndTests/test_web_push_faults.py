"""Web Push under every fault of a push service: each call rings a browser once, and a dead subscription is removed."""

import random
import re
import time

import httpx
import pytest
import samples
from conftest import import_from, web_push_options
from cryptography.hazmat.primitives.asymmetric import ec
from rest import code
from secrets_in_logs import findings
from test_firebase import devices, events, is_settled
from test_web_push import all_end, endpoints, fence, notice, register_web, results, ring_each, rings, rung, tries, types
from test_web_push_registration import registered
from waiting import eventually

import_from("FakeWebPush")
from fake_web_push import base64url, point  # noqa: E402

# The body of a message of 2,048 bytes of text: the header, the text, a delimiter and a tag.
SECOND_BODY = 86 + 2048 + 1 + 16
# A request that gets no answer is given up after 10 s.
HANG_SECONDS = 40
# These go away by themselves, so the server tries again while it rings.
TEMPORARY = {
    "429": {"status": 429, "error": "TooManyRequests"},
    "429 for 1 s": {"status": 429, "retry_after": 1},
    "429 until a date": {"status": 429, "retry_date": 1},
    "500": {"status": 500},
    "502 in HTML": {"status": 502, "raw": "<html>Bad gateway</html>"},
    "503": {"status": 503},
    "503 for 1 s": {"status": 503, "retry_after": 1},
    "503 until a date": {"status": 503, "retry_date": 1},
    "closed before the message is read": {"close": "unread"},
    "closed after the message was read": {"close": "read"},
    "no HTTP": {"garbage": "SSH-2.0-OpenSSH_9.2\r\n"},
}
DEAD_SUBSCRIPTION = {"404": {"status": 404}, "410": {"status": 410, "error": "Gone"}}
# The operator has to act, and the subscription may be good: the answer, and the reason that is kept.
REFUSED = {
    "400": ({"status": 400, "raw": ""}, None),
    "400 in HTML": ({"status": 400, "raw": "<html>Bad request</html>"}, None),
    "401 of Mozilla": ({"status": 401, "error": "Unauthorized"}, "Unauthorized"),
    "403 of Apple": ({"status": 403, "reason": "BadJwtToken"}, "BadJwtToken"),
    "403 with two words": ({"status": 403, "error": "Not Allowed"}, None),
    "403 with markup": ({"status": 403, "reason": "<script>alert(1)</script>"}, None),
    "403 with a number": ({"status": 403, "reason": 7}, None),
    "405": ({"status": 405}, None),
    "301": ({"status": 301}, None),
    "302": ({"status": 302}, None),
    "303": ({"status": 303}, None),
    "307": ({"status": 307}, None),
    "308": ({"status": 308}, None),
}


# --- The push service's refusals ---------------------------------------------------------------------------------


def test_a_dead_subscription_is_removed_and_not_tried_again(short_web_push_rings):
    world, fake = short_web_push_rings
    calls = ring_each(world, fake, {name: [step] for name, step in DEAD_SUBSCRIPTION.items()})
    for name, call in calls.items():
        eventually(lambda: endpoints(world, call.user) == [])  # noqa: B023
        (result,) = call.events(world, "push.result")
        assert (result["kind"], result["status"]) == ("web", DEAD_SUBSCRIPTION[name]["status"])
    all_end(calls)
    fence(world, fake)
    for name, call in calls.items():
        assert len(fake.attempts(call.browser)) == 1, name


def test_a_subscription_that_the_browser_has_ended_is_removed_by_a_notice_as_well(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake)
    fake.unsubscribe(browser)
    world.connect("11").ask(type="message", to="10", body="hello")
    eventually(lambda: endpoints(world) == [])


def test_a_subscription_that_is_registered_again_before_its_refusal_is_kept(web_push_world):
    world, fake = web_push_world
    calls = ring_each(world, fake, {name: [step | {"delay": 0.5}] for name, step in DEAD_SUBSCRIPTION.items()})
    for number, call in enumerate(calls.values()):
        eventually(lambda: fake.attempts(call.browser))  # noqa: B023
        register_web(world, fake, call.user, number, browser=call.browser)
    for name, call in calls.items():
        last = eventually(lambda: call.last_push(world))  # noqa: B023
        status = DEAD_SUBSCRIPTION[name]["status"]
        assert (last["status"], last["environment"]) == (status, None) and " " in last["hint"]
        assert endpoints(world, call.user) == [call.browser.endpoint], "the app has it now, whatever was known before"


def test_the_deletion_stops_when_too_many_subscriptions_are_dead(web_push_world):
    world, fake = web_push_world
    dead, callers = 30, [world.connect(f"caller-{number}") for number in range(2)]
    browsers = [register_web(world, fake, f"u{number}", number) for number in range(dead)]
    for number, browser in enumerate(browsers):
        fake.script(browser, [{"status": 410}])
        callers[number % 2].ring(f"u{number}", f"c-{number}")
    eventually(lambda: sum(results(world, "ringline_push_results_total").values()) >= dead)
    kept = [number for number in range(dead) if endpoints(world, f"u{number}")]
    assert len(kept) == dead - 19, "the 20th one is evidence of a fault of the server's"
    assert "ringline_push_deletions_stopped 1" in world.server.metrics_text()
    last = devices(world, f"u{kept[0]}")[0]["lastPush"]
    assert last["status"] == 410
    # After that the server still pushes to the others.
    fence(world, fake)


def test_a_refusal_that_is_not_about_the_subscription_removes_nothing_and_is_not_tried_again(web_push_world):
    world, fake = web_push_world
    calls, without_hint = ring_each(world, fake, {name: [step] for name, (step, _) in REFUSED.items()}), []
    for name, call in calls.items():
        last = eventually(lambda: call.last_push(world), why=lambda: name)  # noqa: B023
        step, reason = REFUSED[name]
        assert (last["status"], last["reason"], last["environment"]) == (step["status"], reason, None), name
        without_hint += [] if " " in (last["hint"] or "") else [name]
    for call in calls.values():
        call.caller.ask(type="end", callId=call.call_id)
    fence(world, fake)
    for name, call in calls.items():
        assert call.events(world, "push.cancelled") == [], f"{name}: no other try was planned"
        assert len(tries(fake, call.browser)) == 1 and endpoints(world, call.user) == [call.browser.endpoint], name
    assert fake.followed == []
    assert without_hint == [], "a hint is a sentence"


def test_a_redirect_to_the_same_service_is_not_followed_either(web_push_world):
    world, fake = web_push_world
    browser, other = register_web(world, fake), fake.subscribe()
    fake.script(browser, [{"status": 307, "location": other.endpoint}])
    world.connect("11").ring("10", "c-1")
    assert eventually(lambda: devices(world)[0]["lastPush"])["status"] == 307
    fence(world, fake)
    assert fake.attempts(other) == [] and len(tries(fake, browser)) == 1


def test_a_subscription_to_another_key_is_refused_with_a_hint(web_push_world):
    world, fake = web_push_world
    # The server has lost its key, or the page has subscribed with that of another server.
    other = ec.generate_private_key(ec.SECP256R1()).public_key()
    browser = register_web(world, fake, browser=fake.subscribe(base64url(point(other))))
    world.connect("11").ring("10", "c-1")
    last = eventually(lambda: devices(world)[0]["lastPush"])
    assert (last["status"], last["reason"]) == (403, "VapidPkHashMismatch") and " " in last["hint"]
    assert endpoints(world) == [browser.endpoint]
    assert fake.refusals == ["token: k is not the key of the subscription"]
    fake.refusals.clear()


def test_an_accepted_message_is_shown_with_the_device_whatever_the_body_says(web_push_world):
    world, fake = web_push_world
    body = "<html>whatever</html>"
    calls = ring_each(world, fake, {str(status): [{"status": status, "raw": body}] for status in (200, 201, 202)})
    for status, call in calls.items():
        last = eventually(lambda: call.last_push(world))  # noqa: B023
        assert last["status"] in (200, int(status)) and last["environment"] is None and last["hint"] is None
        assert devices(world, call.user)[0]["environment"] is None
    fence(world, fake)
    assert [len(tries(fake, call.browser)) for call in calls.values()] == [1, 1, 1]


def test_a_message_that_is_too_large_is_sent_again_at_once_without_the_offer(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake)
    fake.script(browser, [{"status": 413, "larger_than": SECOND_BODY, "always": True}])
    world.connect("11").ring("10", "c-1", sdp=samples.padded(samples.OFFER, 2_200))
    message = rung(fake, browser)
    refused, accepted = tries(fake, browser)
    assert refused["payload"]["offer"] and "offer" not in message["payload"] and message["payload"]["act"]
    assert len(accepted["body"]) <= SECOND_BODY < len(refused["body"])
    assert accepted["at"] - refused["at"] < 1000 and accepted["topic"] == refused["topic"]
    fence(world, fake)
    assert len(tries(fake, browser)) == 2 and endpoints(world) == [browser.endpoint]


@pytest.mark.parametrize("long", [{"cut": 10}, {"raw": "x" * 70_000}], ids=["cut", "too long"])
def test_the_status_of_a_response_counts_without_its_body(short_web_push_rings, long):
    world, fake = short_web_push_rings
    accepted, dead = register_web(world, fake, "10"), register_web(world, fake, "20")
    fake.script(accepted, [long])
    fake.script(dead, [{"status": 410} | long])
    taro = world.connect("11")
    taro.ring("10", "c-1")
    taro.ring("20", "c-2")
    eventually(lambda: endpoints(world, "20") == [])
    taro.expect(type="call", callId="c-1", state="ended")
    assert len(tries(fake, accepted)) == 1 and endpoints(world) == [accepted.endpoint]
    assert [each["status"] for each in events(world, "push.result")][0] == 201


@pytest.mark.parametrize("size", [2_200, 40_000], ids=["first with", "always without the offer"])
def test_a_message_that_is_too_large_even_without_the_offer_is_refused_for_good(short_web_push_rings, size):
    world, fake = short_web_push_rings
    browser = register_web(world, fake)
    fake.script(browser, [{"status": 413, "always": True}])
    taro = world.connect("11")
    taro.ring("10", "c-1", sdp=samples.padded(samples.OFFER, size))
    taro.expect(type="call", state="ended")
    last = eventually(lambda: devices(world)[0]["lastPush"])
    assert last["status"] == 413 and " " in last["hint"]
    fence(world, fake)
    assert len(tries(fake, browser)) <= 2 and "offer" not in tries(fake, browser)[-1]["payload"]
    assert endpoints(world) == [browser.endpoint]


# --- Temporary faults --------------------------------------------------------------------------------------------


def test_no_message_is_sent_again_before_the_time_that_the_push_service_named(web_push_world):
    world, fake = web_push_world
    waits = [{"status": status} | wait for status in (429, 503) for wait in ({"retry_after": 3}, {"retry_date": 3})]
    calls = ring_each(world, fake, {str(wait): [wait] for wait in waits})
    for name, call in calls.items():
        message = rung(fake, call.browser)
        refused, accepted = tries(fake, call.browser)
        assert accepted["at"] - refused["at"] >= 2_990, f"{name}: the two moments are whole milliseconds"
        left = (message["payload"]["ringUntil"] - message["at"]) / 1000
        assert left - 1 <= message["ttl"] <= left + 0.1, f"{name}: it lives for the rest of the ring"


def test_a_message_that_may_be_sent_again_only_after_the_ring_is_not_sent_again(short_web_push_rings):
    world, fake = short_web_push_rings
    browser = register_web(world, fake)
    fake.script(browser, [{"status": 503, "retry_after": 2}])
    taro = world.connect("11")
    taro.ring("10", "c-1")
    taro.expect(type="call", state="ended")
    assert not events(world, "push.cancelled"), "the route was given up at once"
    fence(world, fake)
    assert len(tries(fake, browser)) == 1


def test_no_message_is_sent_again_after_the_ring_has_ended(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake)
    fake.script(browser, [{"status": 503, "always": True}])
    taro = world.connect("11")
    taro.ring("10", "c-1")
    eventually(lambda: len(tries(fake, browser)) >= 2)
    taro.ask(type="end", callId="c-1")
    # A message that was under way at the end may still come.
    eventually(lambda: is_settled(world))
    count = len(tries(fake, browser))
    fence(world, fake)
    assert len(tries(fake, browser)) == count


def test_a_message_whose_acceptance_was_lost_reaches_an_unreachable_browser_once(web_push_world):
    world, fake = web_push_world
    browser = register_web(world, fake)
    fake.offline(browser)
    fake.script(browser, [{"close": "accepted"}])
    world.connect("11").ring("10", "c-1")
    eventually(lambda: len(rings(fake, browser)) == 2)
    one, two = rings(fake, browser)
    assert one["topic"] == two["topic"] and one["payload"]["callUUID"] == two["payload"]["callUUID"]
    assert [each["payload"]["callId"] for each in fake.deliver(browser)] == ["c-1"], "the second replaced the first"


def test_a_push_service_that_does_not_answer_delays_neither_signals_nor_other_services(web_push_world):
    world, fake = web_push_world
    hanging = [register_web(world, fake, "10", number) for number in range(10)]
    for browser in hanging:
        fake.script(browser, [{"hang": True, "always": True}])
    world.connect("11").ring("10", "c-1")
    eventually(lambda: len(fake.attempts()) >= 4)
    one, other = world.call("c-2", "21", "20")
    began = time.monotonic()
    for number in range(20):
        one.ask(type="info", callId="c-2", data=number)
        other.expect(type="info", data=number)
    assert time.monotonic() - began < 5
    elsewhere = fake.subscribe()
    elsewhere.endpoint = elsewhere.endpoint.replace("127.0.0.1", "localhost")
    register_web(world, fake, "30", 30, browser=elsewhere)
    world.connect("31").ring("30", "c-3")
    rung(fake, elsewhere, seconds=3)


@pytest.mark.parametrize("fault", ["503", "429 for 1 s", "closed after the message was read"])
def test_a_notice_that_the_push_service_does_not_take_is_sent_again(web_push_world, fault):
    world, fake = web_push_world
    browser = register_web(world, fake)
    taro = world.connect("11")
    taro.ring("10", "c-1")
    rung(fake, browser)
    fake.script(browser, [TEMPORARY[fault]] * 3)
    taro.ask(type="end", callId="c-1")
    eventually(lambda: "call.missed" in types(fake, browser), 12)
    assert types(fake, browser) == ["call.incoming", "call.missed"]


@pytest.mark.timeout(90)
def test_a_message_without_an_answer_is_sent_again_while_it_rings(web_push_world):
    world, fake = web_push_world
    calls = ring_each(world, fake, {str(number): [{"hang": True}] for number in range(4)})
    for call in calls.values():
        rung(fake, call.browser, HANG_SECONDS)
        refused, accepted = tries(fake, call.browser)
        assert 9_000 < accepted["at"] - refused["at"] < 15_000
    fence(world, fake)
    for call in calls.values():
        assert len(tries(fake, call.browser)) == 2 and endpoints(world, call.user) == [call.browser.endpoint]


def test_a_push_service_with_an_untrusted_certificate_gets_nothing(web_push, make_server, make_world):
    options = web_push_options(web_push)
    at = options.index("--web-push-ca-file")
    world = make_world(make_server(*options[:at], *options[at + 2 :]))
    register_web(world, web_push)
    world.connect("11").ring("10", "c-1")
    assert "certificate" in eventually(lambda: events(world, "push.result"))[0]["reason"]
    assert web_push.attempts() == []


# --- Many calls with faults --------------------------------------------------------------------------------------

CALLS = 50


@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", [17])
def test_fifty_calls_under_each_temporary_fault_are_each_rung_exactly_once(web_push_world, seed):
    world, fake = web_push_world
    chance = random.Random(seed)
    faults = [name for name in TEMPORARY for _ in range(CALLS)]
    chance.shuffle(faults)
    counts = [chance.choice((1, 1, 2)) for _ in faults]
    browsers = [fake.subscribe() for _ in faults]
    with httpx.Client(base_url=world.server.url, trust_env=False, timeout=20) as client:
        for number, (browser, fault, count) in enumerate(zip(browsers, faults, counts, strict=True)):
            fake.script(browser, [TEMPORARY[fault]] * count)
            body = {"platform": "web", "deviceId": "w", "webPush": browser.to_json()}
            headers = {"Authorization": f"Bearer {world.token(f'u{number}')}"}
            assert client.put("/api/me/devices", json=body, headers=headers).status_code == 200
    # One user may begin 30 calls a minute.
    callers = [world.connect(f"caller-{number}") for number in range(len(faults) // 25)]

    def silent(until: int) -> list[str]:
        accepted = {each["subscription"] for each in fake.messages()}
        return [faults[number] for number in range(until) if browsers[number].id not in accepted]

    # On a busy machine more calls at once would wait so long for their turn that the server gives a response up, and sends
    # a message again that the fake has accepted.
    for first in range(0, len(faults), CALLS):
        offers = []
        for number in range(first, first + CALLS):
            caller = callers[number % len(callers)]
            offers.append((caller, caller.send(type="offer", callId=f"c-{number}", to=f"u{number}", sdp=samples.OFFER)))
        for caller, mark in offers:
            assert caller.reply_to(mark)["type"] == "ack"
        end = first + CALLS
        eventually(lambda end=end: not silent(end), HANG_SECONDS, lambda end=end: f"seed {seed}: {silent(end)}")

    def is_quiet() -> bool:
        sent = results(world, "ringline_pushes_sent_total")[""]
        return sum(results(world, "ringline_push_results_total").values()) == sent

    # A second message would follow a result that came after that of the accepted one.
    eventually(is_quiet)
    fence(world, fake)
    wrong = [
        (fault, count, len(rings(fake, browser)), len(tries(fake, browser)))
        for browser, fault, count in zip(browsers, faults, counts, strict=True)
        if (len(rings(fake, browser)), len(tries(fake, browser))) != (1, count + 1)
    ]
    assert wrong == [], f"seed {seed}: fault, times, accepted, tries"
    topics = {rung(fake, browser)["topic"] for browser in browsers}
    assert len(topics) == len(browsers), "no call's message replaces that of another one"
    for browser in browsers:
        message = rung(fake, browser)
        left = (message["payload"]["ringUntil"] - message["at"]) / 1000
        # With so many messages at once, some wait in the server or in the fake.
        assert left - 1 <= message["ttl"] <= left + 5, "seconds left to ring"


def test_no_secret_of_a_subscription_or_of_the_server_is_in_the_log(web_push, make_web_push_world):
    world, fake = make_web_push_world("--log-level", "trace", "--ring-timeout", "2"), web_push
    faults = [*TEMPORARY.values(), *DEAD_SUBSCRIPTION.values(), *(step for step, _ in REFUSED.values())]
    scripts = {"accepted": []} | {str(number): [fault] for number, fault in enumerate(faults)}
    calls = ring_each(world, fake, scripts)
    refused = registered(world, "10", endpoint="https://evil.example/Zm9yIG5vYm9keQ", auth="Zm9yIG5vYm9keSBlbHNl")
    assert code(refused) == (400, "invalid_field")
    all_end(calls)
    # The first message was accepted, and its owner has also missed the call.
    notice(fake, calls["accepted"].browser, "call.missed")
    log = world.server.errors()
    assert all(f"call.id={call.call_id}" in log for call in calls.values())
    secrets = [secret for call in calls.values() for secret in call.browser.secrets()]
    secrets += ["Zm9yIG5vYm9keQ", "Zm9yIG5vYm9keSBlbHNl"]
    secrets += [line for line in (fake.directory / "vapid.pem").read_text().splitlines() if len(line) > 20]
    for message in fake.attempts():
        if message["payload"] is not None:
            secrets += re.findall(r"[A-Za-z0-9_-]{20,}", message["headers"]["authorization"])[:3]
            secrets += [message["payload"].get("act", message["topic"])]
    assert [secret for secret in secrets if secret in log] == []
    assert [line for line in log.splitlines() if findings(line)] == []

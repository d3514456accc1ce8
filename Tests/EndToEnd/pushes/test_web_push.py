"""What only Web Push has: the form of a message, topics, texts, redirects, and the key of a subscription.

The fake verifies the server's token, decrypts each message with the browser's keys, and refuses what the push services
of the browsers' makers would refuse. test_fake_web_push.py shows that.
"""

import re
import time

import pytest
import samples
from cryptography.hazmat.primitives.asymmetric import ec
from fake_web_push import base64url, point
from push_services import A_DAY
from waiting import eventually

SERVICE = "web-push"
# The text of a message is padded to one of these sizes. The last one makes the largest body that is allowed.
PADDED_SIZES = (1024, 2048, 3072, 3993)
LARGEST_TEXT = PADDED_SIZES[-1]
# The body of a message of 2,048 bytes of text: the header, the text, a delimiter and a tag.
SECOND_BODY = 86 + 2048 + 1 + 16
FAMILY = "👨‍👩‍👧‍👦"


def ring_and_cancel(call, number: int, **fields):
    """Rings the browser for the call with this number, and cancels it; waits for both messages."""
    call.ring(**fields)
    eventually(lambda: len(call.rings()) == number + 1)
    call.end()
    eventually(lambda: call.types().count("call.missed") == number + 1)


# --- The form of a message ---------------------------------------------------------------------------------------


def test_a_message_is_urgent_and_identifies_the_server(call):
    call.register()
    call.ring()
    message = call.rung().record
    assert message["urgency"] == "high" and re.fullmatch(r"[A-Za-z0-9_-]{32}", message["topic"])
    assert message["headers"]["content-type"] == "application/octet-stream"
    assert message["claims"]["sub"] == "mailto:ops@example.com"
    assert message["key"] == call.fake.application_server_key
    assert message["payload"]["hasVideo"] is False and type(message["payload"]["epoch"]) is int
    call.end()
    assert call.notice("call.missed").record["urgency"] == "high"


def test_the_text_is_padded_to_the_next_of_four_sizes(call):
    call.register()
    for number, size in enumerate((1_300, 2_000, 3_000, 20_000)):
        call.id = f"{call.callee}-{number}"
        ring_and_cancel(call, number, sdp=samples.padded(samples.OFFER, size))
    messages = [push.record for push in call.accepted()]
    for message in messages:
        assert message["padded"] == next(size for size in PADDED_SIZES if size >= len(message["text"]))
        assert len(message["body"]) <= 4096 and message["body"][16:21] == (4096).to_bytes(4, "big") + bytes([65])
    assert len({message["padded"] for message in messages}) > 2


def test_no_two_messages_have_a_salt_or_a_key_in_common(call):
    devices = [call.register(), call.register(deviceId="d-2")]
    call.ring()
    one, two = [call.rung(device).record["body"] for device in devices]
    assert one[:16] != two[:16] and one[21:86] != two[21:86]


# --- Topics ------------------------------------------------------------------------------------------------------


def test_an_unreachable_browser_is_told_only_how_each_call_ended(call):
    browser = call.register()
    call.fake.offline(browser)
    ids = [f"{call.callee}-{number}" for number in range(2)]
    for number, call.id in enumerate(ids):
        ring_and_cancel(call, number)
    delivered = [(each["payload"]["type"], each["payload"]["callId"]) for each in call.fake.deliver(browser)]
    assert delivered == [("call.missed", call_id) for call_id in ids], "each call has a topic of its own"


def test_another_call_under_the_same_call_id_has_another_topic(call):
    call.register()
    for number in range(2):
        ring_and_cancel(call, number, sdp=samples.changed(samples.OFFER, str(number)))
    assert [push.data["epoch"] for push in call.accepted()] == [1, 1, 2, 2]
    one, _, two, _ = topics = [push.identity for push in call.accepted()]
    assert one != two and topics == [one, one, two, two]


def test_a_message_whose_acceptance_was_lost_reaches_an_unreachable_browser_once(call):
    browser = call.register()
    call.fake.offline(browser)
    call.script({"close": "accepted"})
    call.ring()
    eventually(lambda: len(call.rings()) == 2)
    one, two = call.rings()
    assert one.identity == two.identity and one.data["callUUID"] == two.data["callUUID"]
    delivered = [each["payload"]["callId"] for each in call.fake.deliver(browser)]
    assert delivered == [call.id], "the second replaced the first"


# --- Texts -------------------------------------------------------------------------------------------------------


def test_texts_to_an_unreachable_browser_do_not_replace_each_other(call):
    browser = call.register()
    call.fake.offline(browser)
    before = int(time.time() * 1000)
    for body in ("こんにちは", "one more"):
        text = {"to": call.callee, "body": body, "displayName": "山田太郎"}
        assert call.connection.ask(type="message", **text)["online"] is False
    eventually(lambda: len(call.accepted()) == 2)
    texts = sorted((each["payload"] for each in call.fake.deliver(browser)), key=lambda text: text["body"])
    assert all(before - 1000 <= text.pop("sentAt") <= time.time() * 1000 + 1000 for text in texts)
    usual = {"type": "message", "fromUserId": call.caller, "fromDisplayName": "山田太郎"}
    assert texts == [usual | {"body": "one more"}, usual | {"body": "こんにちは"}]
    assert {(push.ttl, push.record["urgency"]) for push in call.accepted()} == {(A_DAY, "high")}


@pytest.mark.parametrize("text", ["x" * 8000, FAMILY * 200], ids=["of letters", "of families"])
def test_a_long_text_is_cut_between_two_characters(call, text):
    call.register()
    call.connection.ask(type="message", to=call.callee, body=text)
    (push,) = eventually(call.accepted)
    body = push.data["body"].removesuffix("…")
    assert body and text.startswith(body) and push.size <= LARGEST_TEXT
    assert text[0] == "x" or len(body) % len(FAMILY) == 0


def test_a_subscription_that_the_browser_has_ended_is_removed_by_a_text_as_well(call):
    browser = call.register()
    call.fake.unsubscribe(browser)
    call.connection.ask(type="message", to=call.callee, body="hello")
    eventually(lambda: call.addresses() == [])


# --- Answers that only this service gives ------------------------------------------------------------------------


def test_a_redirect_to_the_same_service_is_not_followed_either(call):
    other = call.fake.subscribe()
    call.register()
    call.script({"status": 307, "location": other.endpoint})
    call.ring()
    assert call.last_push()["status"] == 307
    call.fence()
    assert call.heard(other) == [] and len(call.tries()) == 1


def test_a_subscription_to_another_key_is_refused_with_a_hint(servers, call):
    # The server has lost its key, or the page has subscribed with that of another server.
    other = ec.generate_private_key(ec.SECP256R1()).public_key()
    call.register(device=call.fake.subscribe(base64url(point(other))))
    call.ring()
    last = call.last_push()
    assert (last["status"], last["reason"]) == (403, "VapidPkHashMismatch") and " " in last["hint"]
    assert call.is_registered
    assert servers.service.faults() == ["token: k is not the key of the subscription"]


def test_a_message_that_is_too_large_is_sent_again_at_once_without_the_offer(call):
    call.register()
    call.script({"status": 413, "larger_than": SECOND_BODY, "always": True})
    call.ring(sdp=samples.padded(samples.OFFER, 2_200))
    push = call.rung()
    refused, accepted = call.tries()
    assert refused.data["offer"] and "offer" not in push.data and push.data["act"]
    assert len(accepted.record["body"]) <= SECOND_BODY < len(refused.record["body"])
    assert accepted.at - refused.at < 1000 and accepted.identity == refused.identity
    call.fence()
    assert len(call.tries()) == 2 and call.is_registered


@pytest.mark.parametrize("size", [2_200, 40_000], ids=["first with", "always without the offer"])
def test_a_message_that_is_too_large_even_without_the_offer_is_refused_for_good(short_call, size):
    call = short_call
    call.register()
    call.script({"status": 413, "always": True})
    call.ring(sdp=samples.padded(samples.OFFER, size))
    call.is_over()
    last = call.last_push()
    assert last["status"] == 413 and " " in last["hint"]
    call.fence()
    assert len(call.tries()) <= 2 and "offer" not in call.tries()[-1].data
    assert call.is_registered

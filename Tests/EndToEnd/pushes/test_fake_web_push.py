"""The fake of a browser's push service accepts what `pywebpush` sends, and refuses what the real services refuse.

`pywebpush` is another implementation of the sender's side. It shows that the fake's checks are those of the standards,
so that the tests of this server's pushes mean something.
"""

import json
import time

import http_ece
import jwt
import pytest
import requests
from cryptography.hazmat.primitives.asymmetric import ec
from fake_web_push import base64url, point
from py_vapid import Vapid02
from pywebpush import WebPusher, WebPushException, webpush

HEADERS = {"Topic": "t" * 32, "Urgency": "high", "Content-Type": "application/octet-stream"}


@pytest.fixture
def sender(web_push):
    """Returns a sender with a key of its own, which trusts the fake: (requests session, key)."""
    key = Vapid02()
    key.generate_keys()
    with requests.Session() as session:
        session.verify, session.trust_env = web_push.ca, False
        yield session, key


def public_key(key) -> str:
    return base64url(point(key.public_key))


def send(sender, browser, payload, ttl=30) -> requests.Response:
    session, key = sender
    return webpush(
        browser.to_json(),
        json.dumps(payload),
        vapid_private_key=key,
        vapid_claims={"sub": "mailto:ops@example.com"},
        ttl=ttl,
        headers=HEADERS,
        requests_session=session,
    )


def test_a_message_of_pywebpush_is_accepted_and_decrypted(web_push, sender):
    browser = web_push.subscribe(public_key(sender[1]))
    response = send(sender, browser, {"callId": "c-1"})
    assert response.status_code == 201 and response.headers["Location"].startswith(web_push.origin)
    (message,) = web_push.messages(browser)
    assert message["payload"] == {"callId": "c-1"} and message["text"] == b'{"callId": "c-1"}'
    assert message["padded"] == len(message["text"]), "pywebpush pads nothing"
    assert (message["ttl"], message["urgency"], message["topic"]) == (30, "high", "t" * 32)
    assert message["claims"]["sub"] == "mailto:ops@example.com" and message["key"] == public_key(sender[1])
    assert browser.delivered == [message]


def test_an_unreachable_browser_gets_the_newest_message_of_each_topic_that_has_not_expired(web_push, sender):
    browser = web_push.subscribe()
    web_push.offline(browser)
    for number in range(3):
        send(sender, browser, {"number": number})
    send(sender, browser, {"number": "kept for no time"}, ttl=0)
    assert browser.delivered == []
    assert [each["payload"]["number"] for each in web_push.deliver(browser)] == [2]
    assert [each["payload"]["number"] for each in browser.delivered] == [2]
    send(sender, browser, {"number": 3})
    assert [each["payload"]["number"] for each in browser.delivered] == [2, 3]


def test_a_message_to_an_ended_subscription_is_answered_with_410(web_push, sender):
    browser = web_push.subscribe()
    web_push.unsubscribe(browser)
    with pytest.raises(WebPushException) as refused:
        send(sender, browser, {})
    assert refused.value.response.status_code == 410 and web_push.attempts() == web_push.refusals == []


ANSWERS = {
    "a reason in Apple's form": ({"status": 403, "reason": "BadJwtToken"}, 403, {"reason": "BadJwtToken"}),
    "seconds to wait": ({"status": 429, "retry_after": 3}, 429, None),
    "only for large bodies": ({"status": 413, "larger_than": 100}, 413, None),
    "not for small bodies": ({"status": 413, "larger_than": 4000}, 201, None),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_script_decides_the_answer(web_push, sender, answer):
    step, status, body = ANSWERS[answer]
    browser = web_push.subscribe()
    web_push.script(browser, [step])
    try:
        response = send(sender, browser, {})
    except WebPushException as refused:
        response = refused.response
    assert response.status_code == status and (body is None or response.json() == body)
    assert response.headers.get("Retry-After") == (str(step["retry_after"]) if "retry_after" in step else None)
    assert len(web_push.attempts(browser)) == 1 and len(web_push.messages(browser)) == (status == 201)


def test_a_followed_redirect_is_noted(web_push, sender):
    browser = web_push.subscribe()
    web_push.script(browser, [{"status": 307}])
    assert send(sender, browser, {}).status_code == 201
    assert web_push.messages(browser) == [] and web_push.followed == [f"POST /wpush/v2/{browser.id}"]
    web_push.followed.clear()


BREAKS = [{"close": "unread"}, {"close": "read"}, {"close": "accepted"}, {"garbage": "a"}]


@pytest.mark.parametrize("step", BREAKS, ids=str)
def test_a_script_breaks_a_connection(web_push, sender, step):
    browser = web_push.subscribe()
    web_push.script(browser, [step])
    with pytest.raises(requests.RequestException):
        send(sender, browser, {})
    assert [each["answer"] for each in web_push.attempts(browser)] == [step]
    assert len(web_push.messages(browser)) == (step.get("close") == "accepted")


def token(web_push, key, *, header=None, **claims) -> str:
    """Returns a token for the fake, with these claims instead of the usual ones; None leaves a claim out."""
    usual = {"aud": web_push.origin, "exp": int(time.time()) + 3600, "sub": "mailto:ops@example.com"}
    kept = {name: value for name, value in (usual | claims).items() if value is not None}
    return jwt.encode(kept, key.private_pem(), algorithm="ES256", headers=header)


def vapid(fake, key, **claims) -> dict:
    return {"Authorization": f"vapid t={token(fake, key, **claims)}, k={public_key(key)}"}


def damaged(text: str) -> str:
    """Returns a token with another signature."""
    head, _, signature = text.rpartition(".")
    return f"{head}.{signature[:-4]}{'AAAA' if signature[-4:] != 'AAAA' else 'BBBB'}"


def in_an_hour(hours=1) -> int:
    return int(time.time()) + hours * 3600


# What the request has instead of the usual headers, the status of the answer, and the beginning of the reason.
REFUSED_HEADERS = {
    "no authorization": (lambda fake, key: {"Authorization": None}, 401, "authorization"),
    "another scheme": (lambda fake, key: {"Authorization": f"WebPush {token(fake, key)}"}, 401, "authorization"),
    "no key": (lambda fake, key: {"Authorization": f"vapid t={token(fake, key)}"}, 401, "authorization"),
    "another signature": (
        lambda fake, key: {"Authorization": f"vapid t={damaged(token(fake, key))}, k={public_key(key)}"},
        403,
        "token: no token, or not signed",
    ),
    "another audience": (lambda fake, key: vapid(fake, key, aud="https://fcm.googleapis.com"), 403, "token: aud"),
    "an audience with a path": (lambda fake, key: vapid(fake, key, aud=fake.origin + "/"), 403, "token: aud"),
    "no audience": (lambda fake, key: vapid(fake, key, aud=None), 403, "token: aud"),
    "expired": (lambda fake, key: vapid(fake, key, exp=in_an_hour(-1)), 403, "token: exp"),
    "expires too late": (lambda fake, key: vapid(fake, key, exp=in_an_hour(25)), 403, "token: exp"),
    "never expires": (lambda fake, key: vapid(fake, key, exp=None), 403, "token: exp"),
    "no subject": (lambda fake, key: vapid(fake, key, sub=None), 403, "token: sub"),
    "a plain address": (lambda fake, key: vapid(fake, key, sub="ops@example.com"), 403, "token: sub"),
    "a subject without a domain": (lambda fake, key: vapid(fake, key, sub="mailto:ops@localhost"), 403, "token: sub"),
    "no TTL": (lambda fake, key: {"TTL": None}, 400, "ttl"),
    "a fraction as TTL": (lambda fake, key: {"TTL": "1.5"}, 400, "ttl"),
    "a negative TTL": (lambda fake, key: {"TTL": "-1"}, 400, "ttl"),
    "an unknown urgency": (lambda fake, key: {"Urgency": "urgent"}, 400, "urgency"),
    "a long topic": (lambda fake, key: {"Topic": "t" * 33}, 400, "topic"),
    "a topic that is not base64url": (lambda fake, key: {"Topic": "a/b"}, 400, "topic"),
    "a draft's encoding": (lambda fake, key: {"Content-Encoding": "aesgcm"}, 400, "content-encoding"),
    "a draft's header": (lambda fake, key: {"Crypto-Key": "dh=AA"}, 400, "crypto-key"),
    "JSON": (lambda fake, key: {"Content-Type": "application/json"}, 400, "content-type"),
}


def post(fake, sender, browser, body: bytes, changed: dict | None = None) -> requests.Response:
    """Sends a message with these headers instead of the usual ones; None leaves a header out."""
    session, key = sender
    usual = HEADERS | vapid(fake, key) | {"TTL": "30", "Content-Encoding": "aes128gcm"}
    return session.post(browser.endpoint, data=body, headers=usual | (changed or {}), allow_redirects=False)


def encrypted(browser, text: bytes = b"{}") -> bytes:
    return WebPusher(browser.to_json()).encode(text)["body"]


def is_refused(fake, response: requests.Response, status: int, reason: str):
    """Checks that the last request was refused for this reason, and forgets that."""
    assert response.status_code == status, (response.text, fake.refusals)
    (found,) = fake.refusals
    assert found.startswith(reason) and fake.attempts() == []
    fake.refusals.clear()


@pytest.mark.parametrize("fault", REFUSED_HEADERS)
def test_a_message_with_wrong_headers_is_refused(web_push, sender, fault):
    change, status, reason = REFUSED_HEADERS[fault]
    browser = web_push.subscribe()
    response = post(web_push, sender, browser, encrypted(browser), change(web_push, sender[1]))
    is_refused(web_push, response, status, reason)


def other_record_size(browser) -> bytes:
    """Returns a message that says that its records are smaller than its only one."""
    body = encrypted(browser, b"{}" + b" " * 100)
    return body[:16] + (64).to_bytes(4, "big") + body[20:]


# The body, the status of the answer, and the beginning of the reason.
REFUSED_BODIES = {
    "empty": (lambda browser, other: b"", 400, "body: no header"),
    "too large": (lambda browser, other: bytes(4097), 413, "body: has 4097"),
    "for another browser": (lambda browser, other: encrypted(other), 400, "body: cannot be decrypted"),
    "one bit flipped": (
        lambda browser, other: (body := encrypted(browser))[:-1] + bytes([body[-1] ^ 1]),
        400,
        "body: cannot be decrypted",
    ),
    "several records": (lambda browser, other: other_record_size(browser), 400, "body: 119 bytes are not one record"),
    "no key": (lambda browser, other: (body := encrypted(browser))[:20] + b"\0" + body[21:], 400, "body: no header"),
    "not JSON": (lambda browser, other: encrypted(browser, b"hello"), 400, "text: not JSON"),
}


@pytest.mark.parametrize("fault", REFUSED_BODIES)
def test_a_message_with_a_wrong_body_is_refused(web_push, sender, fault):
    make, status, reason = REFUSED_BODIES[fault]
    browser, other = web_push.subscribe(), web_push.subscribe()
    is_refused(web_push, post(web_push, sender, browser, make(browser, other)), status, reason)


def test_a_message_signed_by_another_key_than_that_of_the_subscription_is_refused(web_push, sender):
    other = Vapid02()
    other.generate_keys()
    browser = web_push.subscribe(public_key(other))
    response = post(web_push, sender, browser, encrypted(browser))
    assert response.json() == {"reason": "VapidPkHashMismatch"}
    is_refused(web_push, response, 403, "token: k is not the key of the subscription")


def test_a_message_to_an_unknown_endpoint_is_refused(web_push, sender):
    browser = web_push.subscribe()
    body, browser.endpoint = encrypted(browser), browser.endpoint + "x"
    is_refused(web_push, post(web_push, sender, browser, body), 404, "path")


@pytest.mark.parametrize("part", ["salt", "key"])
def test_another_message_with_the_salt_or_the_key_of_an_earlier_one_is_refused(web_push, sender, part):
    browser = web_push.subscribe()

    def body(text: bytes, salt: bytes, key) -> bytes:
        receiver = point(browser.private_key.public_key())
        return http_ece.encrypt(text, salt=salt, private_key=key, dh=receiver, auth_secret=browser.auth)

    salt, key = b"0" * 16, ec.generate_private_key(ec.SECP256R1())
    message = body(b"{}", salt, key)
    for _ in range(2):
        assert post(web_push, sender, browser, message).status_code == 201, "the same message may come again"
    if part == "salt":
        other = body(b"[]", salt, ec.generate_private_key(ec.SECP256R1()))
    else:
        other = body(b"[]", b"1" * 16, key)
    assert post(web_push, sender, browser, other).status_code == 400
    assert web_push.refusals == [f"body: the {part} of another message"] and len(web_push.messages(browser)) == 2
    web_push.refusals.clear()

"""A fake of a browser maker's push service (RFC 8030), over real TLS, and of the browsers that subscribe to it.

    with FakeWebPush(directory=tmp_path) as service:
        browser = service.subscribe(application_server_key)
        ...                                             # a server with service.hosts and service.ca pushes to browser
        (message,) = service.messages(browser)
        assert message["payload"]["callId"] == "11-10"

It checks every request as the services of Google, Mozilla, Microsoft and Apple do, and decrypts it as the browser does,
with the package `http_ece`. It listens on 127.0.0.1 only. README.md in this folder lists the checks and the scripted
answers.
"""

import base64
import re
import secrets
import struct
import time

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from fake_service import FakeService, Handler, Refusal, es256_token, from_base64url, next_step, parsed

LONGEST_TOKEN_SECONDS = 24 * 60 * 60
LARGEST_BODY = 4096
PUBLIC_KEY_SIZE = 65
# Salt, record size, length of the key id, and the key id, which is the sender's public key (RFC 8188, RFC 8291).
HEADER_SIZE = 16 + 4 + 1 + PUBLIC_KEY_SIZE
TAG_SIZE = 16
DELIMITER_SIZE = 1
URGENCIES = ("very-low", "low", "normal", "high")
PATH = "/wpush/v2/"
# The errors in the form of Mozilla's service, by HTTP status.
MOZILLA_ERRORS = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    410: "Gone",
    413: "Payload Too Large",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
}


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def point(public_key):
    """Returns a public key as an uncompressed point of 65 bytes."""
    return public_key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def on_curve(data):
    """Returns the public key of an uncompressed point; a ValueError if there is none."""
    if len(data) != PUBLIC_KEY_SIZE or data[0] != 4:
        raise ValueError("no uncompressed point")
    return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), data)


# --- Answers -----------------------------------------------------------------------------------------------------


def refusal(status, reason, body=None, is_of_form=True):
    """Returns a refusal, in the form of Mozilla's service unless it has a body."""
    return Refusal(status, mozilla_error(status, reason) if body is None else body, reason, is_of_form)


def mozilla_error(status, message, error=None):
    """Returns an error in the form of Mozilla's service."""
    return {
        "code": status,
        "errno": 999,
        "error": error or MOZILLA_ERRORS.get(status, "Unknown"),
        "message": message,
        "more_info": "http://autopush.readthedocs.io/en/latest/http.html#error-codes",
    }


def bad_token(why):
    return refusal(403, f"token: {why}", {"reason": "BadJwtToken"})


# --- The services' checks ----------------------------------------------------------------------------------------


def one(headers, name):
    """Returns the value of a header that may come at most once; None if it is absent."""
    values = headers.get_all(name) or []
    if len(values) > 1:
        raise refusal(400, f"{name}: comes {len(values)} times")
    return values[0] if values else None


def check_vapid(authorization, origin):
    """Checks the sender's identification (RFC 8292); returns the claims and the public key as base64url."""
    if authorization is None:
        raise refusal(401, "authorization: missing")
    scheme, _, rest = authorization.partition(" ")
    parameters = dict(pairs := [part.strip().partition("=")[::2] for part in rest.split(",")])
    if scheme.lower() != "vapid" or len(pairs) != 2 or set(parameters) != {"t", "k"}:
        raise refusal(401, "authorization: must be vapid t=…, k=…", {"reason": "BadAuthorizationHeader"})
    try:
        key = on_curve(from_base64url(parameters["k"]))
    except ValueError:
        raise bad_token("k is no public key") from None
    claims = verified(parameters["t"], key)
    if claims.get("aud") != origin:
        raise bad_token(f"aud must be {origin}, not {claims.get('aud')!r}")
    expires, now = claims.get("exp"), time.time()
    if type(expires) is not int or not now < expires <= now + LONGEST_TOKEN_SECONDS:
        raise bad_token(f"exp must be in the future, and at most 24 hours from now, not {expires!r}")
    # Apple's service refuses an address without a domain, such as mailto:ops@localhost.
    if not re.fullmatch(r"mailto:[^\s<>@,]+@[^\s<>@,.]+(\.[^\s<>@,.]+)+|https://[^\s/]+\S*", str(claims.get("sub"))):
        raise bad_token(f"sub must be a mailto: or https: URL, not {claims.get('sub')!r}")
    return claims, parameters["k"]


def verified(token, key):
    """Returns the claims of a token; raises a refusal unless it is one with a signature by this key."""
    try:
        header, claims = es256_token(token, key)
    except ValueError:
        raise bad_token("no token, or not signed by k") from None
    if header.get("typ", "JWT") != "JWT":
        raise bad_token("the header must have typ JWT")
    return claims


def check_headers(headers):
    """Checks the headers of a message (RFC 8030); returns its time to live, urgency and topic."""
    ttl = one(headers, "TTL")
    if ttl is None or not re.fullmatch(r"[0-9]{1,10}", ttl, re.ASCII):
        raise refusal(400, f"ttl: must be whole seconds, not {ttl!r}")
    urgency = one(headers, "Urgency")
    if urgency is not None and urgency not in URGENCIES:
        raise refusal(400, f"urgency: unknown: {urgency!r}")
    topic = one(headers, "Topic")
    if topic is not None and not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", topic, re.ASCII):
        raise refusal(400, f"topic: must be 1 to 32 characters of base64url, not {topic!r}")
    if one(headers, "Content-Encoding") != "aes128gcm":
        raise refusal(400, "content-encoding: must be aes128gcm")
    for name in ("Encryption", "Crypto-Key"):
        if name in headers:
            raise refusal(400, f"{name.lower()}: belongs to a draft of the encryption")
    if one(headers, "Content-Type") not in (None, "application/octet-stream"):
        raise refusal(400, f"content-type: {headers['Content-Type']!r}")
    return int(ttl), urgency, topic


def decrypted(body, subscription):
    """Decrypts a message as the browser does (RFC 8188, RFC 8291); returns its text and the size of the padded text."""
    if len(body) > LARGEST_BODY:
        raise refusal(413, f"body: has {len(body)} bytes, more than {LARGEST_BODY}")
    if len(body) < HEADER_SIZE + DELIMITER_SIZE + TAG_SIZE or body[20] != PUBLIC_KEY_SIZE:
        raise refusal(400, "body: no header with a public key, or no record")
    (record_size,) = struct.unpack("!L", body[16:20])
    # "Greater than the sum of the lengths of the plaintext, the padding delimiter, any padding, and the tag".
    if len(body) - HEADER_SIZE >= record_size:
        raise refusal(400, f"body: {len(body) - HEADER_SIZE} bytes are not one record of {record_size}")
    try:
        on_curve(body[21:HEADER_SIZE])
        text = http_ece.decrypt(body, private_key=subscription.private_key, auth_secret=subscription.auth)
    except (ValueError, http_ece.ECEException) as error:
        raise refusal(400, f"body: cannot be decrypted: {error}") from None
    return text, len(body) - HEADER_SIZE - DELIMITER_SIZE - TAG_SIZE


# --- Browsers ----------------------------------------------------------------------------------------------------


class Subscription:
    """A browser's subscription: its endpoint and keys, and what the service has delivered to the browser."""

    def __init__(self, origin, application_server_key):
        self.id = secrets.token_urlsafe(32)
        self.endpoint = f"{origin}{PATH}{self.id}"
        self.private_key = ec.generate_private_key(ec.SECP256R1())
        self.auth = secrets.token_bytes(16)
        self.application_server_key = application_server_key
        self.is_online, self.is_gone = True, False
        # The records of the messages that the browser got, and of those that wait until it is online.
        self.delivered, self.waiting = [], []

    def to_json(self):
        """Returns what `PushSubscription.toJSON()` returns in the browser."""
        keys = {"p256dh": base64url(point(self.private_key.public_key())), "auth": base64url(self.auth)}
        return {"endpoint": self.endpoint, "expirationTime": None, "keys": keys}

    def secrets(self):
        """Returns the texts that no log may contain."""
        return [self.id, *self.to_json()["keys"].values()]


# --- The service -------------------------------------------------------------------------------------------------


class ElsewhereHandler(Handler):
    """The server to which redirects lead. It only notes who comes."""

    def do_POST(self):  # noqa: N802
        self.fake.followed.append(f"{self.command} {self.path}")
        self.close_connection = True
        self.answer({"status": 201})

    do_GET = do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815


class FakeWebPush(FakeService):
    """A fake of a browser maker's push service; its devices are subscriptions.

    `origin` is the service's own, `hosts` the values of `--web-push-host` that allow it. `followed` are the requests
    that followed a redirect.
    """

    success = 201

    def __init__(self, directory=None):
        super().__init__(directory)
        self.followed = []
        self.subscriptions = {}
        # The body of each salt, and of each public key of a message: no other message may have it.
        self.salts, self.message_keys = {}, {}
        # The key to which the subscriptions are bound that are made without a key.
        self.application_server_key = None
        self.port = self.serve(Handler).server_port
        self.origin = f"https://127.0.0.1:{self.port}"
        self.origins = {self.origin, f"https://localhost:{self.port}"}
        self.elsewhere = f"https://127.0.0.1:{self.serve(ElsewhereHandler).server_port}"
        self.hosts = [f"127.0.0.1:{self.port}", f"localhost:{self.port}"]

    def address(self, device):
        return device.id

    # What a test scripts and reads

    def subscribe(self, application_server_key=None):
        """Returns a new subscription, bound to this public key of a server (base64url), as browsers demand it."""
        subscription = Subscription(self.origin, application_server_key or self.application_server_key)
        with self.lock:
            self.subscriptions[subscription.id] = subscription
        return subscription

    def unsubscribe(self, subscription):
        """Ends a subscription: messages to it are answered with 410."""
        with self.lock:
            subscription.is_gone = True

    def offline(self, subscription):
        """Makes the browser unreachable: accepted messages wait, and one with a topic replaces the one before."""
        with self.lock:
            subscription.is_online = False

    def deliver(self, subscription):
        """Makes the browser reachable again; returns the messages that it gets now: those that have not expired."""
        with self.lock:
            due = [each for each in subscription.waiting if each["at"] + each["ttl"] * 1000 > time.time() * 1000]
            subscription.is_online, subscription.waiting = True, []
            subscription.delivered += due
            return due

    # Requests

    def closes_unread(self, path):
        """Takes the step of a script that closes the connection before the message is read, if it is the next one."""
        subscription = self.subscriptions.get(path.removeprefix(PATH))
        script = self.scripts[subscription.id] if subscription else None
        if not script or script[0].get("close") != "unread":
            return False
        self.note(subscription.id, {"subscription": subscription.id, "payload": None}, next_step(script))
        return True

    def receive(self, method, path, headers, body):
        """Returns the answer to a request to deliver a message."""
        subscription, record = self.checked(method, path, headers, body)
        script = self.script_of(subscription.id)
        # A step for larger messages lets the smaller ones pass.
        step = {} if script and len(body) <= script[0].get("larger_than", 0) else next_step(script)
        if 300 <= step.get("status", 201) < 400:
            step.setdefault("location", self.elsewhere + path)
        answer = self.scripted(step)
        self.note(subscription.id, record, answer)
        if record["accepted"]:
            self.accept(record, subscription)
        return answer

    def accepts(self, answer):
        return answer.get("status") in (200, 201, 202) or answer.get("close") == "accepted"

    def checked(self, method, path, headers, body):
        """Returns the subscription of a message and the message's record, or raises the service's refusal."""
        subscription = self.subscriptions.get(path.removeprefix(PATH)) if path.startswith(PATH) else None
        if subscription is None:
            raise refusal(404, f"path: no subscription: {path}")
        if method != "POST":
            raise refusal(405, f"method: {method}")
        origin = f"https://{one(headers, 'Host')}".lower()
        if origin not in self.origins:
            raise refusal(400, f"host: {origin} is not this service")
        claims, key = check_vapid(one(headers, "Authorization"), origin)
        if subscription.application_server_key not in (None, key):
            raise refusal(403, "token: k is not the key of the subscription", {"reason": "VapidPkHashMismatch"})
        ttl, urgency, topic = check_headers(headers)
        text, padded = decrypted(body, subscription)
        self.check_fresh(body, key)
        try:
            payload = parsed(text.decode())
        except ValueError as error:
            raise refusal(400, f"text: not JSON: {error}") from None
        if subscription.is_gone:
            raise refusal(410, "unsubscribed", is_of_form=False)
        return subscription, {
            "subscription": subscription.id,
            "payload": payload,
            "text": text,
            "padded": padded,
            "body": body,
            "headers": {name.lower(): value for name, value in headers.items()},
            "ttl": ttl,
            "urgency": urgency,
            "topic": topic,
            "claims": claims,
            "key": key,
        }

    def check_fresh(self, body, key):
        """Raises a refusal if the salt or the key of a message was used for another one, or is the server's own."""
        salt, message_key = body[:16], body[21:HEADER_SIZE]
        if self.salts.setdefault(salt, body) != body:
            raise refusal(400, "body: the salt of another message")
        if self.message_keys.setdefault(message_key, body) != body:
            raise refusal(400, "body: the key of another message")
        if base64url(message_key) == key:
            raise refusal(400, "body: the key that signs tokens")

    def accept(self, record, subscription):
        if subscription.is_online:
            subscription.delivered.append(record)
        elif record["ttl"] > 0:
            topic = record["topic"]
            kept = [each for each in subscription.waiting if topic is None or each["topic"] != topic]
            subscription.waiting = [*kept, record]

    def answer_with(self, status, step):
        if status < 300:
            return {"headers": {"Location": f"{self.origin}/m/{secrets.token_urlsafe(16)}"}, "body": None}
        if status < 400:
            return {"headers": {"Location": step["location"]}, "body": None}
        if "reason" in step:
            return {"body": {"reason": step["reason"]}}
        return {"body": mozilla_error(status, "scripted", step.get("error"))}

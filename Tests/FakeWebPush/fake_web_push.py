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
import collections
import email.utils
import http.server
import json
import pathlib
import re
import secrets
import ssl
import struct
import sys
import threading
import time

import http_ece
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

for folder in ("FakeAPNs", "FakeFirebase"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / folder))
from fake_apns import from_base64url, make_certificates  # noqa: E402
from fake_firebase import HTTPSServer, next_step, parsed  # noqa: E402

LONGEST_TOKEN_SECONDS = 24 * 60 * 60
LARGEST_BODY = 4096
LARGEST_READ = 64 << 10
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


class Refusal(Exception):
    """An answer that is no success. `is_of_form`: the request itself was wrong, so the sender is at fault."""

    def __init__(self, status, reason, body=None, is_of_form=True):
        super().__init__(reason)
        self.status, self.reason, self.is_of_form = status, reason, is_of_form
        self.body = mozilla_error(status, reason) if body is None else body


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
    return Refusal(403, f"token: {why}", {"reason": "BadJwtToken"})


# --- The services' checks ----------------------------------------------------------------------------------------


def one(headers, name):
    """Returns the value of a header that may come at most once; None if it is absent."""
    values = headers.get_all(name) or []
    if len(values) > 1:
        raise Refusal(400, f"{name}: comes {len(values)} times")
    return values[0] if values else None


def check_vapid(authorization, origin):
    """Checks the sender's identification (RFC 8292); returns the claims and the public key as base64url."""
    if authorization is None:
        raise Refusal(401, "authorization: missing")
    scheme, _, rest = authorization.partition(" ")
    parameters = dict(pairs := [part.strip().partition("=")[::2] for part in rest.split(",")])
    if scheme.lower() != "vapid" or len(pairs) != 2 or set(parameters) != {"t", "k"}:
        raise Refusal(401, "authorization: must be vapid t=…, k=…", {"reason": "BadAuthorizationHeader"})
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
        head, claims, signature = token.split(".")
        header, payload, raw = parsed(from_base64url(head)), parsed(from_base64url(claims)), from_base64url(signature)
        if not isinstance(header, dict) or header.get("alg") != "ES256" or header.get("typ", "JWT") != "JWT":
            raise bad_token("the header must have alg ES256 and typ JWT")
        if len(raw) != 64:
            raise bad_token("the signature must have 64 bytes")
        der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
        key.verify(der, f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
    except (ValueError, InvalidSignature):
        raise bad_token("no token, or not signed by k") from None
    if not isinstance(payload, dict):
        raise bad_token("the claims must be an object")
    return payload


def check_headers(headers):
    """Checks the headers of a message (RFC 8030); returns its time to live, urgency and topic."""
    ttl = one(headers, "TTL")
    if ttl is None or not re.fullmatch(r"[0-9]{1,10}", ttl, re.ASCII):
        raise Refusal(400, f"ttl: must be whole seconds, not {ttl!r}")
    urgency = one(headers, "Urgency")
    if urgency is not None and urgency not in URGENCIES:
        raise Refusal(400, f"urgency: unknown: {urgency!r}")
    topic = one(headers, "Topic")
    if topic is not None and not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", topic, re.ASCII):
        raise Refusal(400, f"topic: must be 1 to 32 characters of base64url, not {topic!r}")
    if one(headers, "Content-Encoding") != "aes128gcm":
        raise Refusal(400, "content-encoding: must be aes128gcm")
    for name in ("Encryption", "Crypto-Key"):
        if name in headers:
            raise Refusal(400, f"{name.lower()}: belongs to a draft of the encryption")
    if one(headers, "Content-Type") not in (None, "application/octet-stream"):
        raise Refusal(400, f"content-type: {headers['Content-Type']!r}")
    return int(ttl), urgency, topic


def decrypted(body, subscription):
    """Decrypts a message as the browser does (RFC 8188, RFC 8291); returns its text and the size of the padded text."""
    if len(body) > LARGEST_BODY:
        raise Refusal(413, f"body: has {len(body)} bytes, more than {LARGEST_BODY}")
    if len(body) < HEADER_SIZE + DELIMITER_SIZE + TAG_SIZE or body[20] != PUBLIC_KEY_SIZE:
        raise Refusal(400, "body: no header with a public key, or no record")
    (record_size,) = struct.unpack("!L", body[16:20])
    # "Greater than the sum of the lengths of the plaintext, the padding delimiter, any padding, and the tag".
    if len(body) - HEADER_SIZE >= record_size:
        raise Refusal(400, f"body: {len(body) - HEADER_SIZE} bytes are not one record of {record_size}")
    try:
        on_curve(body[21:HEADER_SIZE])
        text = http_ece.decrypt(body, private_key=subscription.private_key, auth_secret=subscription.auth)
    except (ValueError, http_ece.ECEException) as error:
        raise Refusal(400, f"body: cannot be decrypted: {error}") from None
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


# --- The server --------------------------------------------------------------------------------------------------


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection of a sender; `fake` is set by a subclass."""

    fake: "FakeWebPush"
    protocol_version = "HTTP/1.1"
    # Buffered, so that an answer is one write.
    wbufsize = -1

    def do_POST(self):  # noqa: N802
        if self.fake.stopped.is_set() or self.fake.closes_unread(self.path):
            # This connection was open before the fake ended, or a script closes it.
            self.close_connection = True
            return
        length = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not length.isdigit() or int(length) > LARGEST_READ:
            self.close_connection = True
            self.answer(self.fake.refused(Refusal(413, f"a body of another length: {self.headers.items()}")))
            return
        self.answer(self.fake.receive(self.command, self.path, self.headers, self.rfile.read(int(length))))

    do_GET = do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815

    def answer(self, answer):
        if answer.get("delay"):
            self.fake.stopped.wait(answer["delay"])
        if answer.get("hang"):
            self.fake.stopped.wait()
        if "garbage" in answer:
            self.wfile.write(answer["garbage"].encode())
        if answer.keys() & {"hang", "close", "garbage"}:
            self.close_connection = True
            return
        body = answer["raw"] if "raw" in answer else json.dumps(answer["body"]) if answer.get("body") else ""
        self.send_response(answer["status"])
        for name, value in answer.get("headers", {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "text/html" if "raw" in answer else "application/json")
        self.send_header("Content-Length", str(len(body.encode()) + answer.get("cut", 0)))
        self.end_headers()
        self.wfile.write(body.encode())
        if "cut" in answer:
            self.close_connection = True

    def log_message(self, *_):
        pass


class ElsewhereHandler(Handler):
    """The server to which redirects lead. It only notes who comes."""

    def do_POST(self):  # noqa: N802
        self.fake.followed.append(f"{self.command} {self.path}")
        self.close_connection = True
        self.answer({"status": 201})

    do_GET = do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815


class FakeWebPush:
    """A context manager that serves in threads of this process.

    `origin` is the service's own, `hosts` the values of `--web-push-host` that allow it, `ca` the path of its CA.
    `refusals` are the reasons for which requests were refused for their form: a sender in order causes none.
    `followed` are the requests that followed a redirect.
    """

    def __init__(self, directory):
        directory = pathlib.Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.ca, certificate, key = make_certificates(str(directory))
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.attempted, self.accepted, self.refusals, self.followed = [], [], [], []
        self.subscriptions = {}
        self.scripts = collections.defaultdict(collections.deque)
        # The body of each salt, and of each public key of a message: no other message may have it.
        self.salts, self.message_keys = {}, {}
        # The key to which the subscriptions are bound that are made without a key.
        self.application_server_key = None

        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.load_cert_chain(certificate, key)
        self.context.set_alpn_protocols(["http/1.1"])
        self.server, self.other_server = self.serve(Handler), self.serve(ElsewhereHandler)
        self.port = self.server.server_port
        self.origin = f"https://127.0.0.1:{self.port}"
        self.origins = {self.origin, f"https://localhost:{self.port}"}
        self.elsewhere = f"https://127.0.0.1:{self.other_server.server_port}"
        self.hosts = [f"127.0.0.1:{self.port}", f"localhost:{self.port}"]

    def serve(self, handler):
        server = HTTPSServer(("127.0.0.1", 0), type("Handler", (handler,), {"fake": self}))
        # The thread of a connection does the handshake, so that a slow sender delays no other one.
        server.socket = self.context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        # `stop` waits for this interval at most.
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return server

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ends the fake: later requests find nobody, and those that hang are cut off."""
        if not self.stopped.is_set():
            self.stopped.set()
            for server in (self.server, self.other_server):
                server.shutdown()
                server.server_close()

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

    def script(self, subscription, answers):
        """Queues answers for the next messages to this subscription; messages after them get the usual answer."""
        with self.lock:
            self.scripts[subscription.id].extend(answers)

    def messages(self, subscription=None):
        """Returns the records of the messages accepted for delivery; README.md lists their members."""
        return self.of(self.accepted, subscription)

    def attempts(self, subscription=None):
        """Returns the records of all well-formed messages, and of those that a script did not let the fake read."""
        return self.of(self.attempted, subscription)

    def of(self, records, subscription):
        with self.lock:
            return [each for each in records if subscription is None or each["subscription"] == subscription.id]

    # Requests

    def closes_unread(self, path):
        """Takes the step of a script that closes the connection before the message is read, if it is the next one."""
        with self.lock:
            subscription = self.subscriptions.get(path.removeprefix(PATH))
            script = self.scripts[subscription.id] if subscription else None
            if not script or script[0].get("close") != "unread":
                return False
            record = {"subscription": subscription.id, "payload": None, "at": int(time.time() * 1000)}
            self.attempted.append(record | {"answer": dict(next_step(script))})
            return True

    def receive(self, method, path, headers, body):
        """Returns the answer to a request to deliver a message."""
        with self.lock:
            try:
                subscription, record = self.checked(method, path, headers, body)
            except Refusal as refusal:
                return self.refused(refusal)
            script = self.scripts[subscription.id]
            # A step for larger messages lets the smaller ones pass.
            step = {} if script and len(body) <= script[0].get("larger_than", 0) else next_step(script)
            record["answer"] = answer = self.scripted(step, path)
            self.attempted.append(record)
            if answer.get("status") in (200, 201, 202) or answer.get("close") == "accepted":
                self.accept(record, subscription)
            return answer

    def checked(self, method, path, headers, body):
        """Returns the subscription of a message and the message's record, or raises the service's refusal."""
        subscription = self.subscriptions.get(path.removeprefix(PATH)) if path.startswith(PATH) else None
        if subscription is None:
            raise Refusal(404, f"path: no subscription: {path}")
        if method != "POST":
            raise Refusal(405, f"method: {method}")
        origin = f"https://{one(headers, 'Host')}".lower()
        if origin not in self.origins:
            raise Refusal(400, f"host: {origin} is not this service")
        claims, key = check_vapid(one(headers, "Authorization"), origin)
        if subscription.application_server_key not in (None, key):
            raise Refusal(403, "token: k is not the key of the subscription", {"reason": "VapidPkHashMismatch"})
        ttl, urgency, topic = check_headers(headers)
        text, padded = decrypted(body, subscription)
        self.check_fresh(body, key)
        try:
            payload = parsed(text.decode())
        except ValueError as error:
            raise Refusal(400, f"text: not JSON: {error}") from None
        if subscription.is_gone:
            raise Refusal(410, "unsubscribed", is_of_form=False)
        return subscription, {
            "subscription": subscription.id,
            "payload": payload,
            "text": text,
            "padded": padded,
            "body": body,
            "at": int(time.time() * 1000),
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
            raise Refusal(400, "body: the salt of another message")
        if self.message_keys.setdefault(message_key, body) != body:
            raise Refusal(400, "body: the key of another message")
        if base64url(message_key) == key:
            raise Refusal(400, "body: the key that signs tokens")

    def accept(self, record, subscription):
        self.accepted.append(record)
        if subscription.is_online:
            subscription.delivered.append(record)
        elif record["ttl"] > 0:
            topic = record["topic"]
            kept = [each for each in subscription.waiting if topic is None or each["topic"] != topic]
            subscription.waiting = [*kept, record]

    def scripted(self, step, path):
        """Returns the answer that a step of a script describes; the usual one if it does not describe any."""
        if step.keys() & {"hang", "close", "garbage"}:
            return dict(step)
        status, headers, body = step.get("status", 201), {}, None
        if status == 201:
            headers["Location"] = f"{self.origin}/m/{secrets.token_urlsafe(16)}"
        elif 300 <= status < 400:
            headers["Location"] = step.get("location", self.elsewhere + path)
        elif status >= 400:
            error = mozilla_error(status, "scripted", step.get("error"))
            body = {"reason": step["reason"]} if "reason" in step else error
        if "retry_after" in step:
            headers["Retry-After"] = str(step["retry_after"])
        if "retry_date" in step:
            # The date has whole seconds; rounded up, it is never early.
            headers["Retry-After"] = email.utils.formatdate(int(time.time()) + 1 + step["retry_date"], usegmt=True)
        return {"status": status, "headers": headers, "body": body} | step

    def refused(self, refusal):
        if refusal.is_of_form:
            self.refusals.append(refusal.reason)
        return {"status": refusal.status, "body": refusal.body}

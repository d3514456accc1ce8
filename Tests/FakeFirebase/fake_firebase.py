"""A fake of Google's token endpoint and of Firebase Cloud Messaging (FCM HTTP v1), over real TLS, with Google's checks.

    with FakeFirebase(directory=tmp_path) as firebase:
        firebase.script(token, [{"status": 503, "retry_after": 1}])
        ...                                             # a server with firebase.service_account, .endpoint and .ca
        (message,) = firebase.messages(token)
        assert message["message"]["data"]["callId"] == "11-10"

It listens on 127.0.0.1 only. README.md in this folder lists the checks and the scripted answers.
"""

import collections
import http.server
import json
import os
import pathlib
import re
import secrets
import ssl
import sys
import threading
import time
import urllib.parse

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "FakeAPNs"))
from fake_apns import from_base64url, make_certificates, private_pem, write  # noqa: E402

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"
SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
LONGEST_ASSERTION_SECONDS = 3600
LARGEST_CLOCK_ERROR_SECONDS = 300
ACCESS_TOKEN_SECONDS = 3599
LARGEST_DATA = 4096
LONGEST_TTL_SECONDS = 28 * 24 * 60 * 60
LARGEST_BODY = 64 << 10
# The usual `status` and `errorCode` of Google's errors, by HTTP status.
ERRORS = {
    400: ("INVALID_ARGUMENT", "INVALID_ARGUMENT"),
    401: ("UNAUTHENTICATED", None),
    403: ("PERMISSION_DENIED", "SENDER_ID_MISMATCH"),
    404: ("NOT_FOUND", "UNREGISTERED"),
    429: ("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"),
    500: ("INTERNAL", "INTERNAL"),
    503: ("UNAVAILABLE", "UNAVAILABLE"),
}


# --- Answers -----------------------------------------------------------------------------------------------------


class Refusal(Exception):
    """An answer that is no success. `is_of_form`: the request itself was wrong, so the sender is at fault."""

    def __init__(self, status, body, reason, is_of_form=True):
        super().__init__(reason)
        self.status, self.body, self.reason, self.is_of_form = status, body, reason, is_of_form


def error_body(status, message, code=None, field=None, description=None):
    """Returns an error in the form of FCM; `code` is its `errorCode`, `field` the member of the request at fault."""
    name, usual_code = ERRORS.get(status, ("UNKNOWN", None))
    details = []
    if field is not None:
        violation = {"field": field, "description": description or message}
        details.append({"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]})
    if code := code or usual_code:
        details.append({"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": code})
    error = {"code": status, "message": message, "status": name}
    return {"error": error | ({"details": details} if details else {})}


def invalid_argument(field, description):
    message = f"Invalid value at '{field}': {description}"
    return Refusal(400, error_body(400, message, field=field, description=description), f"{field}: {description}")


def unauthenticated(reason, is_of_form):
    message = "Request had invalid authentication credentials. Expected OAuth 2 access token."
    return Refusal(401, error_body(401, message), f"access token: {reason}", is_of_form)


def invalid_grant(description):
    return Refusal(400, {"error": "invalid_grant", "error_description": description}, f"assertion: {description}")


def parsed(text):
    """Returns the value of a JSON text; a ValueError if it is not JSON, or has a name twice in one object."""

    def once(pairs):
        names = [name for name, _ in pairs]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"the name {twice[0]} comes twice")
        return dict(pairs)

    def refuse(text):
        raise ValueError(f"{text} is not JSON")

    return json.loads(text, object_pairs_hook=once, parse_constant=refuse)


# --- Google's checks ---------------------------------------------------------------------------------------------


def check_assertion(assertion, account, public_key):
    """Raises the refusal that Google would give for the assertion of a service account, if any."""
    try:
        head, claims, signature = assertion.split(".")
        header, payload = parsed(from_base64url(head)), parsed(from_base64url(claims))
        if header != {"alg": "RS256", "typ": "JWT", "kid": account["private_key_id"]}:
            raise invalid_grant("Invalid JWT header.")
        public_key.verify(from_base64url(signature), f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256())
    except (ValueError, InvalidSignature):
        raise invalid_grant("Invalid JWT Signature.") from None
    if not isinstance(payload, dict):
        raise invalid_grant("Invalid JWT: the claims must be an object.")
    wanted = {"iss": account["client_email"], "scope": SCOPE, "aud": account["token_uri"]}
    for name, value in wanted.items():
        if payload.get(name) != value:
            raise invalid_grant(f"Invalid JWT: {name} must be {value}.")
    issued, expires, now = payload.get("iat"), payload.get("exp"), time.time()
    if type(issued) is not int or type(expires) is not int:
        raise invalid_grant("Invalid JWT: iat and exp must be integers.")
    if abs(now - issued) > LARGEST_CLOCK_ERROR_SECONDS:
        raise invalid_grant("Invalid JWT: iat is not the present time.")
    if expires <= now or not 0 < expires - issued <= LONGEST_ASSERTION_SECONDS:
        raise invalid_grant("Invalid JWT: Token must be a short-lived token (60 minutes).")


def check_members(value, known, field):
    """Raises a refusal unless the value is an object without other members than the known ones."""
    if not isinstance(value, dict):
        raise invalid_argument(field or "body", "must be an object")
    for name in value:
        if name not in known:
            raise invalid_argument(f"{field}.{name}" if field else name, "unknown member")


def check_request(request):
    """Raises the refusal for a body that Google would refuse, or that would not ring a phone well."""
    check_members(request, {"message", "validate_only"}, "")
    if not isinstance(request.get("validate_only", False), bool):
        raise invalid_argument("validate_only", "must be a boolean")
    message = request.get("message")
    check_members(message, {"token", "data", "android", "notification"}, "message")
    if not isinstance(message.get("token"), str) or not message["token"]:
        raise invalid_argument("message.token", "missing")
    # Android would show a message with this block by itself, and would not start a killed app.
    if "notification" in message:
        raise invalid_argument("message.notification", "a call is rung by a data message")
    check_data(message.get("data", {}))
    if "android" in message or not request.get("validate_only"):
        check_android(message.get("android", {}))


def check_data(data):
    if not isinstance(data, dict):
        raise invalid_argument("message.data", "must be an object")
    size = 0
    for key, value in data.items():
        if not isinstance(value, str):
            raise invalid_argument(f"message.data.{key}", "must be a string")
        if key in ("from", "message_type") or key.startswith(("google", "gcm")):
            raise invalid_argument(f"message.data.{key}", "reserved key")
        try:
            size += len(key.encode()) + len(value.encode())
        except UnicodeEncodeError:
            raise invalid_argument(f"message.data.{key}", "half of a surrogate pair") from None
    if size > LARGEST_DATA:
        raise invalid_argument("message.data", f"has {size} bytes, more than {LARGEST_DATA}")


def check_android(android):
    check_members(android, {"priority", "ttl", "collapse_key"}, "message.android")
    # Of the messages with one collapse key, FCM keeps the newest: a second call would replace the first.
    if "collapse_key" in android:
        raise invalid_argument("message.android.collapse_key", "a call must not replace another one")
    if android.get("priority") != "HIGH":
        raise invalid_argument("message.android.priority", "must be HIGH")
    ttl = android.get("ttl")
    if not isinstance(ttl, str) or not re.fullmatch(r"[0-9]+s", ttl, re.ASCII):
        raise invalid_argument("message.android.ttl", "must be whole seconds, such as 45s")
    if not 0 < int(ttl[:-1]) <= LONGEST_TTL_SECONDS:
        raise invalid_argument("message.android.ttl", "must be between 1 second and 4 weeks")


# --- The server --------------------------------------------------------------------------------------------------


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection of a sender; `fake` is set by a subclass."""

    fake: "FakeFirebase"
    protocol_version = "HTTP/1.1"
    # Buffered, so that an answer is one write.
    wbufsize = -1

    def do_POST(self):  # noqa: N802
        if self.fake.stopped.is_set():
            # This connection was open before the fake ended.
            self.close_connection = True
            return
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdigit() or int(length) > LARGEST_BODY:
            self.close_connection = True
            self.answer(self.fake.refused(Refusal(413, {}, f"a body of another length: {self.headers.items()}")))
            return
        body = self.rfile.read(int(length))
        if self.path == self.fake.token_path:
            self.answer(self.fake.receive_assertion(self.command, self.headers, body))
        else:
            self.answer(self.fake.receive_message(self.command, self.path, self.headers, body))

    do_GET = do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815

    def answer(self, answer):
        if answer.get("delay"):
            time.sleep(answer["delay"])
        if answer.get("hang"):
            self.fake.stopped.wait()
        if answer.get("hang") or answer.get("close"):
            self.close_connection = True
            return
        body = answer["raw"] if "raw" in answer else json.dumps(answer["body"])
        self.send_response(answer["status"])
        self.send_header("Content-Type", "text/html" if "raw" in answer else "application/json; charset=UTF-8")
        self.send_header("Content-Length", str(len(body.encode()) + answer.get("cut", 0)))
        if "retry_after" in answer:
            self.send_header("Retry-After", str(answer["retry_after"]))
        self.end_headers()
        self.wfile.write(body.encode())
        if "cut" in answer:
            self.close_connection = True

    def log_message(self, *_):
        pass


class HTTPSServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    # Many senders may connect at once.
    request_queue_size = 128

    def handle_error(self, *_):
        pass  # The sender has closed the connection, or has refused the certificate.


class FakeFirebase:
    """A context manager that serves in threads of this process.

    `service_account` is the path of the service account's JSON file, `endpoint` the base URL of FCM, `ca` the path of
    the CA of both. `refusals` are the reasons for which requests were refused for their form: a sender in order causes
    none.
    """

    def __init__(self, directory):
        directory = pathlib.Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        self.ca, certificate, key = make_certificates(str(directory))
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.attempted, self.accepted, self.validated, self.refusals = [], [], [], []
        self.scripts = collections.defaultdict(collections.deque)
        self.token_script = collections.deque()
        self.token_requests, self.assertions = 0, []
        # The moment at which each access token given out expires; 0 if it was revoked.
        self.access_tokens = {}

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(["http/1.1"])
        self.server = HTTPSServer(("127.0.0.1", 0), type("Handler", (Handler,), {"fake": self}))
        # The thread of a connection does the handshake, so that a slow sender delays no other one.
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.endpoint = f"https://localhost:{self.server.server_port}"
        self.token_path = "/token"
        self.make_service_account(directory)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def make_service_account(self, directory):
        """Makes the file that Google's console offers as "generate new private key"."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.public_key = key.public_key()
        self.account = {
            "type": "service_account",
            "project_id": "ringline-test",
            "private_key_id": secrets.token_hex(20),
            "private_key": private_pem(key).decode(),
            "client_email": "firebase-adminsdk@ringline-test.iam.gserviceaccount.com",
            "client_id": "100000000000000000001",
            "auth_uri": "https://accounts.google.com/o/oauth2/auth",
            "token_uri": self.endpoint + self.token_path,
            "universe_domain": "googleapis.com",
        }
        self.service_account = str(directory / "service-account.json")
        write(self.service_account, json.dumps(self.account, indent=2).encode())
        os.chmod(self.service_account, 0o600)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ends the fake: later requests find nobody, and those that hang are cut off."""
        if not self.stopped.is_set():
            self.stopped.set()
            self.server.shutdown()
            self.server.server_close()

    # What a test scripts and reads

    def script(self, token, answers):
        """Queues answers for the next messages to this device token; messages after them get the usual answer."""
        with self.lock:
            self.scripts[token].extend(answers)

    def script_token(self, answers):
        """Queues answers for the next requests to the token endpoint."""
        with self.lock:
            self.token_script.extend(answers)

    def revoke_tokens(self):
        """Makes FCM refuse all access tokens given out so far with 401."""
        with self.lock:
            self.access_tokens = dict.fromkeys(self.access_tokens, 0)

    def messages(self, token=None):
        """Returns the messages accepted for delivery: `message`, `at` (ms), `headers` (lower case), `name`."""
        with self.lock:
            return [each for each in self.accepted if token in (None, each["message"]["token"])]

    def attempts(self, token=None):
        """Returns all well-formed messages that came, with the `answer` to each: `message`, `at` (ms), `headers`."""
        with self.lock:
            return [each for each in self.attempted if token in (None, each["message"]["token"])]

    # Requests

    def receive_assertion(self, method, headers, body):
        """Returns the answer to a request for an access token."""
        with self.lock:
            self.token_requests += 1
            try:
                self.check_assertion_request(method, headers, body)
            except Refusal as refusal:
                return self.refused(refusal)
            step = next_step(self.token_script)
            if "status" in step or "hang" in step or "close" in step:
                error = {"error": step.get("error", "internal_failure"), "error_description": "scripted"}
                return {"body": error} | step
            token = "ya29.c." + secrets.token_urlsafe(150)
            seconds = step.get("expires_in", ACCESS_TOKEN_SECONDS)
            self.access_tokens[token] = time.monotonic() + seconds
            body = {"access_token": token, "expires_in": seconds, "token_type": "Bearer"}
            return {"status": 200, "body": body} | step

    def check_assertion_request(self, method, headers, body):
        if method != "POST":
            raise Refusal(405, {"error": "invalid_request"}, "token endpoint: the method is not POST")
        kind = headers.get_content_type()
        if kind != "application/x-www-form-urlencoded":
            raise Refusal(400, {"error": "invalid_request"}, f"token endpoint: content type {kind}")
        try:
            form = dict(pairs := urllib.parse.parse_qsl(body.decode("ascii"), strict_parsing=True))
        except ValueError:
            raise Refusal(400, {"error": "invalid_request"}, "token endpoint: not a form") from None
        if len(pairs) != 2 or form.get("grant_type") != GRANT_TYPE:
            raise Refusal(400, {"error": "unsupported_grant_type"}, "token endpoint: grant_type")
        assertion = form.get("assertion", "")
        self.assertions.append(assertion)
        check_assertion(assertion, self.account, self.public_key)

    def receive_message(self, method, path, headers, body):
        """Returns the answer to a request to send a message."""
        with self.lock:
            try:
                request = self.checked(method, path, headers, body)
            except Refusal as refusal:
                return self.refused(refusal)
            message = request["message"]
            record = {
                "message": message,
                "at": int(time.time() * 1000),
                "headers": {name.lower(): value for name, value in headers.items()},
            }
            if request.get("validate_only"):
                self.validated.append(record)
                return {"status": 200, "body": {"name": self.name("fake_message_id")}}
            step = next_step(self.scripts[message["token"]])
            record["answer"] = answer = self.scripted(step)
            self.attempted.append(record)
            if answer.get("status") == 200:
                record["name"] = answer["body"]["name"]
                self.accepted.append(record)
            return answer

    def checked(self, method, path, headers, body):
        """Returns the parsed body of a request to send a message, or raises Google's refusal."""
        if method != "POST" or path != f"/v1/projects/{self.account['project_id']}/messages:send":
            error = {"code": 404, "message": "not found", "status": "NOT_FOUND"}
            raise Refusal(404, {"error": error}, f"{method} {path}")
        self.check_access_token(headers.get("Authorization"))
        if headers.get_content_type() != "application/json":
            raise invalid_argument("content-type", f"is {headers.get_content_type()}")
        try:
            request = parsed(body.decode())
        except ValueError as error:
            raise invalid_argument("body", f"not JSON: {error}") from None
        check_request(request)
        return request

    def check_access_token(self, authorization):
        scheme, _, token = (authorization or "").partition(" ")
        if scheme != "Bearer":
            raise unauthenticated("missing", is_of_form=True)
        if token not in self.access_tokens:
            raise unauthenticated("unknown", is_of_form=True)
        # The sender could not know this, or only by its clock.
        if time.monotonic() >= self.access_tokens[token]:
            raise unauthenticated("expired or revoked", is_of_form=False)

    def scripted(self, step):
        """Returns the answer that a step of a script describes; the usual one if it does not describe any."""
        if "hang" in step or "close" in step:
            return dict(step)
        status = step.get("status", 200)
        if status == 200:
            return {"status": 200, "body": {"name": self.name(f"0:{len(self.accepted) + 1}")}} | step
        return {"body": error_body(status, "scripted", step.get("error"), step.get("field"))} | step

    def name(self, message):
        return f"projects/{self.account['project_id']}/messages/{message}"

    def refused(self, refusal):
        if refusal.is_of_form:
            self.refusals.append(refusal.reason)
        return {"status": refusal.status, "body": refusal.body}


def next_step(script):
    """Takes the next step of a script; one with `always` stays. Without a step the answer is the usual one."""
    if not script:
        return {}
    return script[0] if script[0].get("always") else script.popleft()

"""A fake of Google's token endpoint and of Firebase Cloud Messaging (FCM HTTP v1), over real TLS, with Google's checks.

    with FakeFirebase(directory=tmp_path) as firebase:
        firebase.script(token, [{"status": 503, "retry_after": 1}])
        ...                                             # a server with firebase.service_account, .endpoint and .ca
        (message,) = firebase.messages(token)
        assert message["message"]["data"]["callId"] == "11-10"

It listens on 127.0.0.1 only. README.md in this folder lists the checks and the scripted answers.
"""

import collections
import json
import os
import re
import secrets
import time
import urllib.parse

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from fake_service import FakeService, Handler, Refusal, from_base64url, next_step, parsed, private_pem, write

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"
SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
LONGEST_ASSERTION_SECONDS = 3600
LARGEST_CLOCK_ERROR_SECONDS = 300
ACCESS_TOKEN_SECONDS = 3599
LARGEST_DATA = 4096
LONGEST_TTL_SECONDS = 28 * 24 * 60 * 60
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


# --- The service -------------------------------------------------------------------------------------------------


class FakeFirebase(FakeService):
    """A fake of Firebase and of Google's token endpoint.

    `service_account` is the path of the service account's JSON file, `endpoint` the base URL of FCM.
    """

    def __init__(self, directory=None):
        super().__init__(directory)
        self.validated = []
        self.token_script = collections.deque()
        self.token_requests, self.assertions = 0, []
        # The moment at which each access token given out expires; 0 if it was revoked.
        self.access_tokens = {}
        self.endpoint = f"https://localhost:{self.serve(Handler).server_port}"
        self.token_path = "/token"
        self.make_service_account()

    def make_service_account(self):
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
        self.service_account = str(self.directory / "service-account.json")
        write(self.service_account, json.dumps(self.account, indent=2).encode())
        os.chmod(self.service_account, 0o600)

    # What a test scripts

    def script_token(self, answers):
        """Queues answers for the next requests to the token endpoint."""
        with self.lock:
            self.token_script.extend(answers)

    def revoke_tokens(self):
        """Makes FCM refuse all access tokens given out so far with 401."""
        with self.lock:
            self.access_tokens = dict.fromkeys(self.access_tokens, 0)

    # Requests

    def receive(self, method, path, headers, body):
        if path == self.token_path:
            return self.receive_assertion(method, headers, body)
        return self.receive_message(method, path, headers, body)

    def receive_assertion(self, method, headers, body):
        """Returns the answer to a request for an access token."""
        self.token_requests += 1
        self.check_assertion_request(method, headers, body)
        step = next_step(self.token_script)
        if step.keys() & {"status", "hang", "close"}:
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
        request = self.checked(method, path, headers, body)
        message = request["message"]
        record = {"message": message, "headers": {name.lower(): value for name, value in headers.items()}}
        if request.get("validate_only"):
            self.validated.append(record)
            return {"status": 200, "body": {"name": self.name("fake_message_id")}}
        answer = self.scripted(next_step(self.script_of(message["token"])))
        self.note(message["token"], record, answer)
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

    def answer_with(self, status, step):
        if status == 200:
            return {"body": {"name": self.name(f"0:{len(self.records) + 1}")}}
        return {"body": error_body(status, "scripted", step.get("error"), step.get("field"))}

    def name(self, message):
        return f"projects/{self.account['project_id']}/messages/{message}"

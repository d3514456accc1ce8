"""Hooks that tell schemathesis about this server: users, existing calls, and rules that no schema can express.

Loaded by `st run` (test_openapi.py), not by pytest. `ST_URL` is the server's URL, `ST_SECRET_FILE` the file with its
key, `ST_SCOPE` the scope of all tokens, if they have one.
"""

import datetime
import itertools
import os
import pathlib
import string
import uuid

import jwt
import requests
import schemathesis
from hypothesis import strategies as st
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import TestPhase

URL = os.environ["ST_URL"]
SECRET = pathlib.Path(os.environ["ST_SECRET_FILE"]).read_bytes().removesuffix(b"\n")
SCOPE = {"scope": os.environ["ST_SCOPE"]} if os.environ.get("ST_SCOPE") else {}
SDP = "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\n"
POINT = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
# Enough users that none of them exceeds a rate limit: the limits are per user, and test_limits.py tests them.
USERS = [f"user-{number}" for number in range(24)]

_session = requests.Session()
_session.trust_env = False
_turn = itertools.count()
_leavers = itertools.count()
_calls = itertools.count()
_tokens: dict[str, str] = {}
# The owners of the calls, devices and blocks that links lead to.
_owners: dict[str, str] = {}

# Lengths in bytes of UTF-8, which JSON Schema cannot count.
for _bytes in (32, 64, 256, 4096):
    schemathesis.openapi.format(
        f"utf8-{_bytes}",
        st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=_bytes).filter(
            lambda text, most=_bytes: len(text.encode()) <= most
        ),
    )
# An address at a push service that every server allows.
schemathesis.openapi.format(
    "web-push-endpoint", st.from_regex(r"https://fcm\.googleapis\.com/[A-Za-z0-9_:/-]{1,200}", fullmatch=True)
)
# No pattern can tell the points of the curve from others.
schemathesis.openapi.format("p256-point", st.just(POINT))
# Zones that every tzdata has, and dates that have not come yet in any of them.
schemathesis.openapi.format("time-zone", st.sampled_from(["Asia/Seoul", "Europe/Berlin", "America/New_York", "UTC"]))
schemathesis.openapi.format("future-date", st.dates(datetime.date(2090, 1, 1), datetime.date(2099, 12, 31)).map(str))
# Numbers in several spellings, of which the server knows more than a pattern can say.
schemathesis.openapi.format("phone-number", st.from_regex(r"\+?[ (.-]*[1-9][ ).-]*([0-9][ -]*){0,17}", fullmatch=True))
# What headers carry as it is: ASCII without spaces around it. A quoted key is the text between its quotes.
schemathesis.openapi.format(
    "idempotency-key",
    st.from_regex(r"[!#-~]([ !#-~]{0,62}[!#-~])?", fullmatch=True).flatmap(lambda key: st.sampled_from([key, f'"{key}"'])),
)
# Keys of which none is the name of a member, or a part of another one.
schemathesis.openapi.format("payload-key", st.from_regex(r"x[A-Za-z0-9_-]{3,20}", fullmatch=True))


def token(user: str) -> str:
    if user not in _tokens:
        claims = {"sub": user, "exp": 4102444800, "jti": uuid.uuid5(uuid.NAMESPACE_URL, user).hex} | SCOPE
        _tokens[user] = jwt.encode(claims, SECRET, algorithm="HS256")
    return _tokens[user]


def ring(callee: str) -> str:
    """Begins a new call that rings this user; returns its callId."""
    number = next(_calls)
    # A caller may begin at most 30 new calls a minute.
    caller = f"caller-{number // 25}"
    response = _session.post(
        f"{URL}/api/calls/signal",
        json={"callId": f"live-{number}", "action": "offer", "to": callee, "data": {"sdp": SDP}},
        headers={"Authorization": f"Bearer {token(caller)}"},
        timeout=5,
    )
    assert response.status_code == 200, response.text
    return response.json()["callId"]


@schemathesis.auth(refresh_interval=None)
class OneOfTheUsers:
    """Chooses who makes a request: the owner of the object that the path names, else the next user."""

    def get(self, case, _context):
        if case.operation.path == "/api/logout-all":
            # The server refuses a user's tokens after this request, so each such request is made by a different user.
            return f"leaver-{next(_leavers)}"
        for value in (case.path_parameters or {}).values():
            if value in _owners:
                return _owners[value]
        return USERS[next(_turn) % len(USERS)]

    def set(self, case, user, _context):
        case.headers["Authorization"] = f"Bearer {token(user)}"


def asker(case) -> str | None:
    """Returns the user of the token that a case carries, or None if it is not one of ours."""
    kind, _, text = (case.headers or {}).get("Authorization", "").partition(" ")
    return next((user for user, known in _tokens.items() if known == text), None) if kind == "Bearer" else None


def without_points(value):
    """Returns the value with each float such as 5.0 as an integer.

    To JSON Schema 5.0 is an integer, too; the server accepts only integers without a decimal point.
    """
    if isinstance(value, dict):
        return {name: without_points(part) for name, part in value.items()}
    if isinstance(value, list):
        return [without_points(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def names_callee(body: dict) -> bool:
    data = body.get("data")
    return any(body.get(name) is not None for name in ("to", "room")) or (
        isinstance(data, dict) and data.get("to") is not None
    )


def without_breaks(value):
    """Returns the value without line breaks.

    The server refuses line breaks in a URL (test_raw_http.py), and no schema can express what `?token=` may contain.
    """
    if isinstance(value, dict):
        return {without_breaks(name): without_breaks(part) for name, part in value.items()}
    if isinstance(value, list):
        return [without_breaks(part) for part in value]
    return value.replace("\r", "").replace("\n", "") if isinstance(value, str) else value


def is_lost(name: str) -> bool:
    """Returns whether libwebsockets mishandles headers with this name.

    If a header's name is a prefix of a name that libwebsockets knows, libwebsockets loses the next line. Only a
    short random name can be such a prefix. If a header is named like a method, libwebsockets ends the connection.
    """
    return len(name) < 4 or name.upper() in ("PATCH", "DELETE", "POST", "HEAD", "OPTIONS", "CONNECT")


@schemathesis.hook
def before_call(_context, case, _kwargs):
    """Points half of the valid requests at an existing call, because otherwise most of them would get 404."""
    meta = case.meta
    if meta is None:
        return
    for name in [name for name in case.headers or {} if is_lost(name)]:
        del case.headers[name]

    def good(location):
        return not meta.is_negative_at(location)

    if case.query and good(ParameterLocation.QUERY):
        case.query = without_breaks(dict(case.query))
    if case.query and good(ParameterLocation.QUERY) and isinstance(case.query.get("wait"), int | float):
        # A poll may wait for 30 s; test_long_poll.py tests that.
        case.query["wait"] = min(case.query["wait"], 0.05)
    body = case.body if isinstance(case.body, dict) and good(ParameterLocation.BODY) else None
    signal = case.operation.path.startswith("/api/calls/signal") and case.method == "POST"
    path = case.path_parameters or {}
    if body is not None:
        case.body = body = without_points(body)
    if body is not None and body.get("id") is not None and case.headers and good(ParameterLocation.HEADER):
        # The key must equal the body's id; no schema can express this.
        case.headers.pop("Idempotency-Key", None)
    if signal and body is not None and "callId" in path:
        # The body must not name a different call than the path does; no schema can express this.
        body.pop("callId", None)
    kind = (body.get("action") or body.get("type") or body.get("signalType")) if signal and body is not None else None
    if kind == "offer" and not names_callee(body):
        # An offer that names no callee is valid only under the callId of a live call, or under <me>-<peer>.
        body["to"] = "callee"
    user = asker(case)
    if user is None or meta.phase.name == TestPhase.STATEFUL or next(_turn) % 2:
        return
    if signal and body is not None:
        for name in ("from", "epoch", "deviceId", "room" if body.get("to") is not None else "from"):
            body.pop(name, None)
        if kind != "offer" and good(ParameterLocation.PATH):
            body.pop("to", None)
            body.pop("room", None)
            if isinstance(body.get("data"), dict):
                body["data"].pop("to", None)
            target = path if "callId" in path else body
            target["callId"] = ring(user)
    elif "callId" in path and good(ParameterLocation.PATH):
        path["callId"] = ring(user)
    elif case.operation.definition.raw.get("operationId") == "fetchCallByQuery" and good(ParameterLocation.QUERY):
        case.query["callId"] = ring(user)


@schemathesis.hook
def after_call(_context, case, response):
    """Remembers the owner of a new object, for the links that lead to it."""
    user = asker(case)
    if user is None or response.status_code != 200 or case.method not in ("POST", "PUT"):
        return
    try:
        body = response.json()
    except ValueError:
        return
    if isinstance(body, dict):
        for name in ("callId", "id", "user_id"):
            if isinstance(body.get(name), str) and set(body[name]) <= set(string.printable):
                _owners[body[name]] = user

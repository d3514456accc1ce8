"""Authentication: which tokens and origins the server accepts, and for how long (protocol, section 2)."""

import base64
import json
import time

import jwt
import pytest
import samples
from connection import Connection
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from raw_socket import RawSocket
from rest import Rest, code
from tokens import mint
from waiting import eventually
from websockets.exceptions import InvalidStatus

LEEWAY = 60


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def forged(header: dict, claims: dict, signature: bytes = b"") -> str:
    return ".".join([b64(json.dumps(header).encode()), b64(json.dumps(claims).encode()), b64(signature)])


def later() -> int:
    return int(time.time()) + 3600


def upgrade_status(url: str, token: str | None = None, **options) -> int:
    with pytest.raises(InvalidStatus) as refusal:
        Connection(url, token, **options)
    return refusal.value.response.status_code


# Accepted tokens


def test_a_bearer_header_lets_a_socket_in(world):
    assert world.connect("11").user == "11"


def test_a_browser_offers_its_token_as_a_subprotocol(world):
    connection = Connection(world.server.ws_url, subprotocols=["ringline.v1", "bearer." + world.token("11")])
    assert connection.user == "11"
    assert connection.socket.subprotocol == "ringline.v1", "the token is never echoed"
    connection.close()


def test_a_token_in_the_query_lets_a_socket_in(world):
    connection = Connection(world.server.ws_url + "?token=" + world.token("11"))
    assert connection.user == "11"
    connection.close()


def test_the_query_may_name_the_device_beside_the_token(world):
    connection = Connection(world.server.ws_url + "?token=" + world.token("11") + "&device=d-1")
    assert (connection.user, connection.device) == ("11", "d-1")
    connection.close()


def test_a_large_token_is_read(world):
    assert world.connect("11", claims={"padding": "x" * 4000}).user == "11"
    assert world.rest("11", padding="x" * 4000).get("/api/me/devices").status_code == 200


def test_the_user_is_the_subject_else_uid(world):
    assert world.connect(token=mint(world.server.secret, None, uid="77")).user == "77"
    assert world.connect(token=mint(world.server.secret, "78", uid="77")).user == "78"


@pytest.mark.parametrize("claims", [{"uid": 11}, {"sub": 11}])
def test_an_integer_user_claim_is_the_user_of_that_name(world, claims):
    token = jwt.encode({"exp": later()} | claims, world.server.secret, algorithm="HS256")
    assert world.connect(token=token).user == "11"


def test_another_claim_may_name_the_user(make_server, make_world):
    world = make_world(make_server("--jwt-user-claim", "account"))
    assert world.connect(token=mint(world.server.secret, None, account="a1")).user == "a1"


# Refused tokens


def bad_tokens(secret: bytes) -> dict[str, str | None]:
    good = {"sub": "11", "exp": later()}
    other_key = mint(b"another secret of thirty-two bytes", "11")
    signed = mint(secret, "11")
    head, body, signature = signed.split(".")
    rsa_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return {
        "none": None,
        "empty": "",
        "not-a-token": "abc",
        "two-parts": "a.b",
        "another-key": other_key,
        "alg-none": forged({"alg": "none", "typ": "JWT"}, good),
        "alg-None": forged({"alg": "None"}, good),
        "no-alg": forged({"typ": "JWT"}, good),
        "signature-cut": f"{head}.{body}.{signature[:-4]}",
        "signature-empty": f"{head}.{body}.",
        "signature-of-other-claims": f"{head}.{b64(json.dumps(good | {'sub': '10'}).encode())}.{signature}",
        "alg-rs256": jwt.encode(good, rsa_key, algorithm="RS256"),
        "alg-hs512": jwt.encode(good, secret, algorithm="HS512"),
        "not-yet": mint(secret, "11", nbf=int(time.time()) + LEEWAY + 30),
        "no-expiry": mint(secret, "11", exp=None),
        "no-user": mint(secret, None),
        "user-with-a-space": mint(secret, "a b"),
        "user-too-long": mint(secret, "a" * 129),
        "user-empty": mint(secret, ""),
        "user-is-a-list": mint(secret, None, uid=["11"]),
        "user-is-negative": mint(secret, None, uid=-11),
        "expiry-is-text": mint(secret, "11", exp="tomorrow"),
        "critical-extension": jwt.encode(good, secret, algorithm="HS256", headers={"crit": ["x"], "x": 1}),
    }


BAD = list(bad_tokens(b"only for the names, long enough for it"))


@pytest.mark.parametrize("name", BAD)
def test_a_bad_token_gets_401_everywhere(world, name):
    token = bad_tokens(world.server.secret)[name]
    url = world.server.ws_url
    assert upgrade_status(url, token) == 401
    if token:
        assert upgrade_status(url + "?token=" + token) == 401
        connection = Connection(url, subprotocols=["ringline.v1", "bearer." + token], welcome=False)
        assert connection.close_code() == 4401, "browsers cannot see a 401"
    rest = world.rest(token=token or "-")
    if token is None:
        rest = Rest(world.server.url, None)
    assert code(rest.get("/api/me/devices")) == (401, "unauthenticated")


def test_the_refusal_of_an_expired_token_says_that_it_expired(world):
    token = world.token("11", ttl=-LEEWAY - 5)
    assert upgrade_status(world.server.ws_url, token) == 401
    assert code(world.rest(token=token).get("/api/me/devices")) == (401, "token_expired")
    connection = Connection(world.server.ws_url, subprotocols=["ringline.v1", "bearer." + token], welcome=False)
    assert connection.close_code() == 4401


def test_a_token_expired_within_the_leeway_is_good(world):
    assert world.rest("11", ttl=-20).get("/api/me/devices").status_code == 200


def test_not_before_within_the_leeway_is_good(world):
    assert world.connect("11", claims={"nbf": int(time.time()) + 20}).user == "11"


@pytest.mark.parametrize("claims", [{"exp": 1e300}, {"exp": 2**63}, {"exp": 10**400}, {"nbf": -1, "iat": 2**64}])
def test_dates_far_away_count_as_far_away(world, claims):
    assert world.connect("11", claims=claims).user == "11"
    assert world.rest("11", **claims).get("/api/me/devices").status_code == 200


def test_a_refused_token_changes_nothing(world):
    caller = world.rest(token=mint(b"another secret of thirty-two bytes", "11"))
    assert caller.signal("offer", "c-1", to="10", sdp=samples.OFFER).status_code == 401
    assert world.rest("10").get("/api/calls/signal/c-1").status_code == 404


# A socket may outlive its token only by the leeway


def test_at_expiry_the_socket_gets_an_error_and_is_closed_with_4401(world):
    connection = world.connect("11", claims={"exp": int(time.time()) - LEEWAY + 3})
    assert connection.expect(type="error", seconds=10)["code"] == "token_expired"
    assert connection.close_code() == 4401


def test_a_renewed_token_keeps_the_socket_open(world):
    ends = int(time.time()) - LEEWAY + 3
    connection = world.connect("11", claims={"exp": ends})
    connection.ask(type="auth", token=world.token("11"))
    bystander = world.connect("10", claims={"exp": ends + 1})
    assert bystander.close_code(10) == 4401, "by now the first token has expired, too"
    assert connection.fence() == []


def test_renewal_with_a_bad_token_is_refused(world):
    connection = world.connect("11")
    assert connection.refused(type="auth", token="nonsense")["code"] == "unauthenticated"


def test_renewal_does_not_change_the_user(world):
    connection = world.connect("11")
    assert connection.refused(type="auth", token=world.token("12"))["code"] == "forbidden"
    hanako = world.connect("10")
    connection.ring(hanako, "c-1")
    assert hanako.expect(type="offer")["from"] == "11"


# Origin


def test_a_client_without_an_origin_is_not_a_browser_and_is_accepted(make_server, make_world):
    world = make_world(make_server("--allow-origin", "https://app.example"))
    assert world.connect("11").user == "11"


def test_a_page_of_the_same_host_is_let_in(world):
    assert world.connect("11", origin=world.server.url).user == "11"


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1.evil.example", "null"])
def test_a_page_from_elsewhere_is_forbidden(world, origin):
    assert upgrade_status(world.server.ws_url, world.token(), origin=origin) == 403


def test_an_allowed_origin_is_let_in(make_server, make_world):
    world = make_world(make_server("--allow-origin", "https://app.example"))
    assert world.connect("11", origin="https://app.example").user == "11"
    assert upgrade_status(world.server.ws_url, world.token(), origin="https://other.example") == 403


# Issuer, audience and expiry


def test_issuer_and_audience_are_checked_when_configured(make_server, make_world):
    world = make_world(make_server("--jwt-issuer", "chat.example", "--jwt-audience", "calls"))
    for claims in ({"aud": "calls"}, {"aud": ["other", "calls"]}):
        assert world.connect("11", claims={"iss": "chat.example"} | claims).user == "11"
    for claims in (
        {},
        {"iss": "chat.example"},
        {"aud": "calls"},
        {"iss": "x", "aud": "calls"},
        {"iss": "chat.example", "aud": "x"},
    ):
        assert upgrade_status(world.server.ws_url, world.token("11", **claims)) == 401


def test_a_token_without_expiry_is_good_when_that_is_configured(make_server, make_world):
    world = make_world(make_server("--jwt-require-expiry", "false"))
    assert world.connect("11", claims={"exp": None}).user == "11"
    assert upgrade_status(world.server.ws_url, world.token("11", ttl=-LEEWAY - 5)) == 401, (
        "an expired token is still refused"
    )


# Keys of other kinds


def pem(key) -> bytes:
    return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
KEYS = {"RS256": RSA_KEY, "ES256": EC_KEY}


@pytest.mark.parametrize("algorithm", KEYS)
def test_a_public_key_file_lets_its_own_tokens_in_and_nothing_else(make_server, tmp_path, algorithm):
    key = KEYS[algorithm]
    path = tmp_path / "key.pem"
    path.write_bytes(pem(key))
    server = make_server("--jwt-public-key-file", path)
    connection = Connection(server.ws_url, mint(key, "11", algorithm=algorithm))
    assert connection.user == "11"
    connection.close()
    other = "ES256" if algorithm == "RS256" else "RS256"
    assert upgrade_status(server.ws_url, mint(KEYS[other], "11", algorithm=other)) == 401
    fresh = (
        rsa.generate_private_key(public_exponent=65537, key_size=2048)
        if algorithm == "RS256"
        else ec.generate_private_key(ec.SECP256R1())
    )
    assert upgrade_status(server.ws_url, mint(fresh, "11", algorithm=algorithm)) == 401


@pytest.mark.parametrize("algorithm", KEYS)
def test_the_public_key_is_not_accepted_as_an_hs256_secret(make_server, tmp_path, algorithm):
    # The algorithm confusion attack: an HS256 token is signed with the bytes of the public key.
    import hashlib
    import hmac

    path = tmp_path / "key.pem"
    path.write_bytes(pem(KEYS[algorithm]))
    server = make_server("--jwt-public-key-file", path)
    for secret in (pem(KEYS[algorithm]), pem(KEYS[algorithm]).strip()):
        unsigned = forged({"alg": "HS256", "typ": "JWT"}, {"sub": "11", "exp": later()}).rsplit(".", 1)[0]
        token = unsigned + "." + b64(hmac.new(secret, unsigned.encode(), hashlib.sha256).digest())
        assert upgrade_status(server.ws_url, token) == 401


def test_a_jwks_file_holds_several_keys_told_apart_by_kid(make_server, tmp_path):
    rsa_jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(RSA_KEY.public_key())) | {
        "kid": "r",
        "alg": "RS256",
        "use": "sig",
    }
    ec_jwk = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(EC_KEY.public_key())) | {
        "kid": "e",
        "alg": "ES256",
        "use": "sig",
    }
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [rsa_jwk, ec_jwk]}))
    server = make_server("--jwks-file", path)
    for algorithm, kid in (("RS256", "r"), ("ES256", "e")):
        connection = Connection(server.ws_url, mint(KEYS[algorithm], "11", algorithm=algorithm, headers={"kid": kid}))
        assert connection.user == "11"
        connection.close()
    assert upgrade_status(server.ws_url, mint(RSA_KEY, "11", algorithm="RS256", headers={"kid": "e"})) == 401
    assert upgrade_status(server.ws_url, mint(RSA_KEY, "11", algorithm="RS256", headers={"kid": "x"})) == 401


@pytest.mark.parametrize("ending", [b"", b"\n"])
def test_a_secret_file_is_used_raw_but_for_one_trailing_newline(make_server, tmp_path, ending):
    secret = b"exactly these bytes: \xff\x00\x01 are the secret!!"
    path = tmp_path / "secret"
    path.write_bytes(secret + ending)
    server = make_server("--jwt-secret-file", path)
    connection = Connection(server.ws_url, mint(secret, "11"))
    assert connection.user == "11"
    connection.close()


# Tokens of a service


def test_a_service_may_name_any_user(world):
    service = world.rest("backend", scope="server")
    hanako = world.connect("10")
    response = service.post(
        "/api/calls/signal",
        {"from": "11", "callId": "c-1", "action": "offer", "to": "10", "data": {"sdp": samples.OFFER}},
    )
    assert response.status_code == 200, response.text
    assert hanako.expect(type="offer")["from"] == "11"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/api/me/devices", {"from": "10", "platform": "android", "fcm_token": "f"}),
        ("POST", "/api/me/devices", {"from": "10", "platform": "android", "fcm_token": "f"}),
        ("GET", "/api/me/devices", None),
        ("DELETE", "/api/me/devices/d-1", None),
        ("PUT", "/api/me/dnd", {"from": "10", "until": 4102444800000}),
        ("GET", "/api/me/directory", None),
        ("GET", "/api/blocks", None),
        ("POST", "/api/blocks", {"from": "10", "userId": "11"}),
        ("DELETE", "/api/blocks/11", None),
        ("GET", "/api/calls?user=11", None),
        ("GET", "/api/calls", None),
        ("POST", "/api/calls", {"callee_id": "10"}),
        ("GET", "/api/schedules", None),
        ("POST", "/api/schedules", {"at": "06:30"}),
        ("DELETE", "/api/schedules/s-1", None),
        ("POST", "/api/schedules/s-1/confirm", None),
        ("GET", "/api/calls/signal/c-1", None),
        ("DELETE", "/api/calls/signal/c-1", None),
        ("DELETE", "/api/calls/signal/c-1?peer=10", None),
        ("POST", "/api/calls/signal", {"callId": "c-1", "action": "end", "data": {}}),
    ],
    ids=str,
)
def test_a_service_is_told_what_it_may_do_where_a_request_means_the_user_of_its_token(world, method, path, body):
    taro, hanako = world.call("c-1")
    service = world.rest("backend", scope="server")
    response = service.request(method, path, **({} if body is None else {"json": body}))
    assert code(response) == (403, "forbidden")
    assert "a service token may send signals for the user in from" in response.json()["message"]
    assert taro.fence() == [] and hanako.fence() == []
    assert world.rest("backend").get("/api/me/devices").json() == []
    assert world.rest("backend").get("/api/blocks").json() == []


def test_other_tokens_may_not_name_another_user(world):
    rest, hanako = world.rest("12"), world.connect("10")
    refused = rest.post(
        "/api/calls/signal",
        {"from": "11", "callId": "c-1", "action": "offer", "to": "10", "data": {"sdp": samples.OFFER}},
    )
    assert code(refused) == (403, "forbidden") and refused.json()["field"] == "from"
    assert hanako.fence() == []


def test_tokens_never_show_in_the_log(make_server, make_world):
    world = make_world(make_server("--log-level", "trace"))
    token = world.token("11")
    RawSocket(world.server.port, token).close()
    world.connect(token=token)
    Connection(world.server.ws_url + "?token=" + token).close()
    world.rest(token=token).get("/api/me/devices", token=token)
    # The log holds a line for each use.
    eventually(lambda: "request.name=devices" in world.server.errors())
    assert world.server.errors().count("a connection was opened") == 3
    assert token not in world.server.errors()
    assert token.rsplit(".", 1)[1] not in world.server.errors()

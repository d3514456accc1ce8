"""The issuer's key set from a URL: fetched over HTTPS, fetched again when due, and used to verify tokens."""

import os
import signal

import httpx
import pytest
from commands import one_clear_line, run, serve
from connection import Connection
from jwks_server import Issuer
from postgres_server import one_process
from rest import code
from test_admin import get
from test_auth import upgrade_status
from test_monitoring import sample
from tokens import mint
from waiting import eventually


@pytest.fixture
def issuer(tmp_path):
    issuer = Issuer(tmp_path / "issuer")
    issuer.add("one")
    yield issuer
    issuer.close()


def token(issuer, kid="one", user="11", **claims) -> str:
    return mint(issuer.keys[kid], user, algorithm="ES256", headers={"kid": kid}, **claims)


def ready(server):
    eventually(lambda: get(server, "/readyz").status_code == 200)


def test_tokens_of_published_keys_are_let_in(issuer, make_server, make_world):
    server = make_server(*issuer.options)
    ready(server)
    world = make_world(server)
    assert world.connect(token=token(issuer)).user == "11"
    assert world.rest(token=token(issuer, user="10")).get("/api/me/devices").status_code == 200
    assert issuer.fetches == 1
    assert sample(server, "ringline_jwks_keys") == 1
    assert sample(server, "ringline_jwks_failures_total") == 0
    assert 0 <= sample(server, "ringline_jwks_age_seconds") < 20
    assert not (server.data / "development-jwt-secret").exists()


def test_a_new_key_is_fetched_when_a_token_names_it(issuer, make_server, make_world):
    server = make_server(*issuer.options)
    ready(server)
    issuer.add("two")
    rest = make_world(server).rest(token=token(issuer, "two"), allow_5xx=True)
    response = rest.get("/api/me/devices")
    assert code(response) == (503, "keys_unavailable") and response.headers["retry-after"] == "1"
    eventually(lambda: rest.get("/api/me/devices").status_code == 200)
    assert issuer.fetches == 2
    assert sample(server, "ringline_jwks_keys") == 2


def test_a_key_that_is_no_longer_published_is_refused_from_the_next_fetch_on(issuer, make_server, make_world):
    server = make_server(*issuer.options)
    ready(server)
    old = token(issuer)
    del issuer.keys["one"]
    issuer.add("two")
    rest = make_world(server).rest(token=old, allow_5xx=True)
    assert rest.get("/api/me/devices").status_code == 200
    os.kill(server.pid, signal.SIGHUP)
    # The unknown kid may belong to a newer key, so the server fetches once more before it refuses the token.
    eventually(lambda: rest.get("/api/me/devices").status_code == 401)
    assert code(rest.get("/api/me/devices")) == (401, "unauthenticated")
    assert issuer.fetches == 3


def test_a_token_of_an_unknown_key_causes_one_fetch_and_is_then_refused(issuer, make_server, make_world):
    server = make_server(*issuer.options)
    ready(server)
    forged = mint(issuer.keys["one"], "11", algorithm="ES256", headers={"kid": "none"})
    rest = make_world(server).rest(token=forged, allow_5xx=True)
    eventually(lambda: rest.get("/api/me/devices").status_code == 401)
    for _ in range(50):
        assert code(rest.get("/api/me/devices")) == (401, "unauthenticated")
    assert issuer.fetches == 2


@pytest.mark.parametrize("fault", ["stall", "error", "noise", "empty", "huge", "redirect", "secret"])
def test_without_a_key_set_the_server_is_not_ready_and_refuses_tokens_with_503(issuer, make_server, fault):
    body = {
        "error": (500, b"{}"),
        "noise": (200, b"<html>"),
        "empty": (200, b'{"keys":[]}'),
        "huge": (200, b'{"keys":[' + b" " * (256 << 10) + b"]}"),
        "redirect": (302, b""),
        "secret": (200, b'{"keys":[{"kty":"oct","kid":"one","k":"' + b"c" * 43 + b'"}]}'),
    }
    issuer.response = body.get(fault, "stall")
    if fault == "redirect":
        issuer.headers["Location"] = issuer.url
    server = make_server(*issuer.options)
    eventually(lambda: issuer.fetches > 0)
    response = get(server, "/readyz")
    assert (response.status_code, response.json()["status"]) == (503, "keys unavailable")
    assert get(server, "/healthz").status_code == 200
    assert upgrade_status(server.ws_url, token(issuer)) == 503
    refused = httpx.get(
        server.url + "/api/me/devices", headers={"Authorization": f"Bearer {token(issuer)}"}, trust_env=False
    )
    assert code(refused) == (503, "keys_unavailable")
    assert sample(server, "ringline_jwks_keys") == 0
    if fault != "stall":
        eventually(lambda: sample(server, "ringline_jwks_failures_total") > 0)
        eventually(lambda: "the key set cannot be fetched" in server.errors() and issuer.url in server.errors())
    issuer.response = None
    if fault == "stall":
        issuer.released.set()
    eventually(lambda: get(server, "/readyz").status_code == 200, 20, server.errors)
    assert Connection(server.ws_url, token(issuer)).user == "11"
    server.terminate()
    assert server.exit_code() == 0


@pytest.mark.parametrize("fault", ["error", "noise", "gone"])
def test_the_last_good_key_set_stays_in_force(issuer, make_server, make_world, fault):
    issuer.headers["Connection"] = "close"
    server = make_server(*issuer.options)
    ready(server)
    if fault == "gone":
        issuer.close()
    else:
        issuer.response = (500, b"{}") if fault == "error" else (200, b"noise")
    os.kill(server.pid, signal.SIGHUP)
    eventually(lambda: sample(server, "ringline_jwks_failures_total") > 0)
    assert make_world(server).connect(token=token(issuer)).user == "11"
    assert get(server, "/readyz").status_code == 200
    assert sample(server, "ringline_jwks_keys") == 1
    issuer.released.set()


@one_process("each node fetches the key set")
def test_after_failures_the_key_set_is_fetched_less_and_less_often(issuer, make_server):
    issuer.response = (500, b"{}")
    make_server(*issuer.options)
    eventually(lambda: issuer.fetches == 3, 12)
    first, second, third = issuer.fetched_at
    # The server waits 2 s, then 4 s. A fetch may be up to one second late, and as much more as the machine is slow.
    assert 1.9 < second - first < 4 < third - second + 0.1 < 7


def test_a_key_server_with_an_untrusted_certificate_is_refused(issuer, make_server):
    server = make_server("--jwks-url", issuer.url)
    eventually(lambda: "certificate was refused" in server.errors())
    assert issuer.fetches == 0
    assert upgrade_status(server.ws_url, token(issuer)) == 503


def test_keys_from_files_hold_beside_the_key_set_and_before_its_first_fetch(issuer, make_server, make_world, tmp_path):
    (tmp_path / "jwt").write_bytes(b"a" * 40)
    issuer.response = (500, b"{}")
    server = make_server("--jwt-secret-file", tmp_path / "jwt", *issuer.options)
    world = make_world(server)
    assert world.connect(token=mint(b"a" * 40, "11")).user == "11"
    assert upgrade_status(server.ws_url, token(issuer)) == 503
    issuer.response = None
    ready(server)
    assert world.connect("10", token=token(issuer, user="10")).user == "10"
    assert upgrade_status(server.ws_url, mint(b"b" * 40, "11")) == 401


def test_a_connection_that_renews_its_token_gets_keys_unavailable(issuer, make_server, make_world):
    server = make_server(*issuer.options)
    ready(server)
    connection = make_world(server).connect(token=token(issuer))
    issuer.add("two")
    assert connection.refused(type="auth", token=token(issuer, "two"))["code"] == "keys_unavailable"
    eventually(lambda: connection.reply_to(connection.send(type="auth", token=token(issuer, "two")))["type"] == "ack")


@pytest.mark.parametrize(
    "url", ["http://auth.example.com/keys", "auth.example.com", "https://user:s3cret@auth.example.com/", "https://"]
)
def test_an_unsafe_or_invalid_url_is_reported_in_one_line(tmp_path, url):
    result = serve(tmp_path, "--jwks-url", url)
    one_clear_line(result, "--jwks-url", "https://")
    assert "s3cret" not in result.stderr


def test_a_missing_ca_file_is_reported_in_one_line(tmp_path):
    result = serve(tmp_path, "--jwks-url", "https://localhost/", "--jwks-ca-file", tmp_path / "none.pem")
    one_clear_line(result, "--jwks-ca-file", "none.pem")


def test_the_doctor_fetches_the_key_set(issuer, tmp_path):
    options = ["doctor", "--data", tmp_path / "data", *issuer.options]
    result = run(*options)
    assert f"JWKS {issuer.url}: 1 keys (ES256)" in result.stdout, result.stdout
    issuer.response = (200, b"noise")
    result = run(*options)
    assert result.returncode == 1 and f"error    JWKS {issuer.url}: " in result.stdout, result.stdout
    assert "JWKS" not in run(*options, "--offline").stdout

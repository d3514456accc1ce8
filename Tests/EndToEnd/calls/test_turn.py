"""Credentials for the TURN server (protocol, section 5): Debian's coturn accepts them for a real allocation."""

import base64
import contextlib
import hashlib
import hmac
import os
import re
import signal
import socket
import subprocess
import time

import jwt
import pytest
from commands import one_clear_line, serve
from rest import code
from ringline_server import free_port
from test_rest_habits import app, offer

SECRET = "a secret that is coturn's, too"
SECONDS = 10
ALLOCATED = re.compile(r"allocate response received:\s*(?:\d+: : )?success")


def responds_to_stun(port: int) -> bool:
    """Returns whether a STUN Binding request (RFC 8489) to this port gets a response."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.settimeout(0.2)
        udp.connect(("127.0.0.1", port))
        try:
            udp.send(bytes.fromhex("00010000" "2112a442") + os.urandom(12))
            return udp.recv(2048)[:2] == bytes.fromhex("0101")
        except OSError:
            return False


@contextlib.contextmanager
def turn_server(folder, certificate=None):
    """Runs a TURN server with the secret on a free loopback port, and yields the port.

    With the folder of a certificate it accepts TLS, too.
    """
    port = free_port()
    tls = [f"cert={certificate}/c.pem", f"pkey={certificate}/k.pem", f"tls-listening-port={free_port()}"]
    configuration = folder / "turnserver.conf"
    configuration.write_text(
        "\n".join(
            [
                f"listening-port={port}",
                "listening-ip=127.0.0.1",
                "relay-ip=127.0.0.1",
                "realm=ringline.test",
                "use-auth-secret",
                f"static-auth-secret={SECRET}",
                "allow-loopback-peers",
                *(tls if certificate else ["no-tls"]),
                "no-dtls",
                "no-cli",
                "no-rfc5780",
                f"userdb={folder}/turndb",
                f"pidfile={folder}/turnserver.pid",
                f"log-file={folder}/turnserver.log",
                "simple-log",
                "",
            ]
        )
    )
    with open(folder / "output", "wb") as output:
        process = subprocess.Popen(
            ["turnserver", "-c", str(configuration), "-m", "1"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
        )
    try:
        deadline = time.monotonic() + SECONDS
        while not responds_to_stun(port):
            assert process.poll() is None and time.monotonic() < deadline, (folder / "output").read_text()[-2000:]
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(SECONDS)


@pytest.fixture(scope="module")
def coturn(tmp_path_factory):
    """The port of a TURN server with the secret on the loopback."""
    with turn_server(tmp_path_factory.mktemp("coturn")) as port:
        yield port


@pytest.fixture
def secret_file(tmp_path):
    path = tmp_path / "turn-secret"
    path.write_text(SECRET + "\n")
    return path


@pytest.fixture
def turn_world(coturn, secret_file, make_server, make_world):
    """A world with a server that gives out credentials for the coturn: (world, coturn's port)."""
    url = f"turn:127.0.0.1:{coturn}?transport=udp"
    return make_world(make_server("--turn-secret-file", secret_file, "--turn-url", url)), coturn


def exchanges_packets(port: int, username: str, credential: str) -> tuple[bool, str]:
    """Tries to exchange packets between allocations of two clients with this credential; returns (success, output)."""
    command = ["turnutils_uclient", "-v", "-y", "-c", "-m", "1", "-n", "3", "-p", str(port)]
    try:
        result = subprocess.run(
            command + ["-u", username, "-w", credential, "127.0.0.1"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=2 * SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as late:
        return False, (late.stdout or b"").decode(errors="replace")
    said = result.stdout + result.stderr
    carried = "tot_send_msgs=6, tot_recv_msgs=6" in said
    return result.returncode == 0 and ALLOCATED.search(said) is not None and carried, said


def credential(rest) -> dict:
    response = rest.get("/api/turn-cred")
    assert response.status_code == 200, response.text
    return response.json()


def signed(username: str, secret=SECRET) -> str:
    return base64.b64encode(hmac.new(secret.encode(), username.encode(), hashlib.sha1).digest()).decode()


def test_coturn_gives_an_allocation_for_the_credential_and_relays(turn_world):
    world, port = turn_world
    given = credential(app(world, 11))
    assert given["urls"] == [f"turn:127.0.0.1:{port}?transport=udp"]
    works, said = exchanges_packets(port, given["username"], given["credential"])
    assert works, said[-3000:]


@pytest.mark.parametrize("fault", ["expired", "another user", "a later end", "another secret", "noise"])
def test_coturn_refuses_an_expired_or_forged_credential(turn_world, fault):
    world, port = turn_world
    given = credential(app(world, 11))
    username, password = given["username"], given["credential"]
    end, user = username.split(":")
    match fault:
        case "expired":
            username = f"{int(time.time()) - 10}:{user}"
            password = signed(username)
        case "another user":
            username = f"{end}:10"
        case "a later end":
            username = f"{int(end) + 1}:{user}"
        case "another secret":
            password = signed(username, "guessed")
        case "noise":
            password = "AAAAAAAAAAAAAAAAAAAAAAAAAAA="
    works, said = exchanges_packets(port, username, password)
    assert not works and not ALLOCATED.search(said), said[-3000:]
    assert "Cannot complete Allocation" in said, said[-3000:]


def test_the_credential_follows_coturns_scheme_and_is_valid_for_a_day(turn_world):
    world, _ = turn_world
    given = credential(app(world, 11))
    assert set(given) >= {"username", "credential", "ttl", "urls", "iceServers"}
    assert given["ttl"] == 86_400 and isinstance(given["ttl"], int)
    end, user = given["username"].split(":")
    assert user == "11"
    assert abs(int(end) - (time.time() + 86_400)) < 10
    assert given["credential"] == signed(given["username"])
    assert given["iceServers"] == [
        {"urls": given["urls"], "username": given["username"], "credential": given["credential"]}
    ]


def test_every_turn_setting_can_come_from_the_environment(make_server, make_world, secret_file):
    environment = {
        "RINGLINE_TURN_SECRET_FILE": str(secret_file),
        "RINGLINE_TURN_URL": "turn:a.example:3478?transport=udp,turns:a.example:5349",
        "RINGLINE_TURN_TTL": "600",
        "RINGLINE_STUN_URL": "stun:b.example:3478",
    }
    world = make_world(make_server(environment=environment))
    given = credential(world.rest("11"))
    assert given["urls"] == ["turn:a.example:3478?transport=udp", "turns:a.example:5349"]
    assert given["ttl"] == 600
    assert abs(int(given["username"].split(":")[0]) - (time.time() + 600)) < 10
    assert [server["urls"] for server in given["iceServers"]] == [["stun:b.example:3478"], given["urls"]]


def test_welcome_and_a_fetched_call_name_the_turn_server_with_a_credential(turn_world):
    world, _ = turn_world
    offer(app(world, 11))
    for servers in (world.connect("11").welcome["iceServers"], app(world, 10).log("11-10")["iceServers"]):
        (server,) = servers
        assert server["credential"] == signed(server["username"])
    assert app(world, 10).log("11-10")["iceServers"][0]["username"].endswith(":10")


def test_without_a_turn_server_a_credential_is_not_found(world):
    refused = world.rest("11").get("/api/turn-cred")
    assert code(refused) == (404, "not_found") and "TURN" in refused.json()["message"]


def test_a_credential_needs_a_valid_token(turn_world):
    world, _ = turn_world
    expired = jwt.encode({"uid": 11, "exp": 1}, world.server.secret, algorithm="HS256")
    assert code(world.rest(token=expired).get("/api/turn-cred")) == (401, "token_expired")
    assert code(world.rest(token="x").get("/api/turn-cred")) == (401, "unauthenticated")
    assert code(world.rest("11").post("/api/turn-cred", {})) == (405, "method_not_allowed")


def test_neither_secret_nor_credential_shows_in_the_log(make_server, make_world, secret_file):
    server = make_server(
        "--turn-secret-file", secret_file, "--turn-url", "turn:a.example", "--log-level", "trace"
    )
    world = make_world(server)
    given = credential(world.rest("11"))
    world.call("c-1")
    world.rest("10").log("c-1")
    server.terminate()
    assert server.exit_code() == 0
    for secret in (SECRET, given["credential"], given["username"]):
        assert secret not in server.errors()


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example",
        "turn://a.example:3478",
        "turn:",
        "a.example:3478",
        "turn:a.example:0",
        "turn:a.example:70000",
        "turn:a.example:port",
        "turn:a b",
        "turn:a.example?transport=sctp",
        "stun:a.example?transport=udp",
        "turn:[::1",
        "stun:a.example",
    ],
)
def test_a_wrong_url_is_reported_in_one_line_that_names_the_option(tmp_path, secret_file, url):
    one_clear_line(serve(tmp_path, "--turn-secret-file", secret_file, "--turn-url", url), "--turn-url")


def test_a_secret_without_a_url_or_the_reverse_is_reported_in_one_line(tmp_path, secret_file):
    one_clear_line(serve(tmp_path, "--turn-secret-file", secret_file), "--turn-secret-file", "--turn-url")
    one_clear_line(serve(tmp_path, "--turn-url", "turn:a.example"), "--turn-secret-file", "--turn-url")


def test_a_missing_or_empty_secret_and_a_bad_ttl_are_reported_in_one_line_with_the_option(tmp_path, secret_file):
    turn = ["--turn-url", "turn:a.example", "--turn-secret-file"]
    one_clear_line(serve(tmp_path, *turn, tmp_path / "missing"), "--turn-secret-file", str(tmp_path / "missing"))
    empty = tmp_path / "empty"
    empty.write_text("\n")
    one_clear_line(serve(tmp_path, *turn, empty), "--turn-secret-file", "empty")
    one_clear_line(serve(tmp_path, *turn, secret_file, "--turn-ttl", "soon"), "--turn-ttl")

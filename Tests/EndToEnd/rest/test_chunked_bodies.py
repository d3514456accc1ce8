"""Bodies in chunks, as clients and proxies send them that do not know the length in advance."""

import json
import random
import socket

import httpx
import pytest
import samples
from test_admin import families
from test_raw_http import alive, talk
from tokens import mint

OFFER = json.dumps({"callId": "c-1", "action": "offer", "to": "10", "data": {"sdp": samples.OFFER}}).encode()
HIDDEN = b"GET /api/me/devices HTTP/1.1\r\nHost: x\r\n\r\n"


def head(server, method: str = "POST", path: str = "/api/calls/signal", more: str = "") -> bytes:
    return (
        f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {mint(server.secret, '11')}\r\n"
        f"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n{more}\r\n"
    ).encode()


def chunked(body: bytes, size: int = 100, extension: bytes = b"", trailer: bytes = b"") -> bytes:
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    chunks = b"".join(b"%x%s\r\n%s\r\n" % (len(piece), extension, piece) for piece in pieces)
    return chunks + b"0\r\n" + trailer + b"\r\n"


def test_a_body_in_chunks_is_read(world):
    def pieces():
        for start in range(0, len(OFFER), 50):
            yield OFFER[start : start + 50]

    rest = world.rest("11")
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {world.token('11')}"}
    response = httpx.post(world.server.url + "/api/calls/signal", content=pieces(), headers=headers, trust_env=False)
    assert response.status_code == 200, response.text
    assert response.headers["connection"] == "close"
    assert rest.get("/api/calls/signal/c-1").json()["state"] == "ringing"


def test_a_body_in_chunks_is_read_over_tls(make_server, certificate):
    server = make_server("--tls-cert", certificate / "c.pem", "--tls-key", certificate / "k.pem")
    headers = {"Authorization": f"Bearer {mint(server.secret, '11')}"}
    body = iter([OFFER[:100], OFFER[100:]])
    url = server.url + "/api/calls/signal"
    assert httpx.post(url, content=body, headers=headers, verify=False, trust_env=False).status_code == 200
    response = httpx.get(server.url + "/api%2fcalls", headers=headers, verify=False, trust_env=False)
    assert response.status_code == 404
    cookie = {"Cookie": "c" * 20_000} | headers
    assert httpx.get(server.url + "/api/calls", headers=cookie, verify=False, trust_env=False).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        chunked(OFFER, 7),
        chunked(OFFER, extension=b";a=b"),
        chunked(OFFER, trailer=b"Digest: x\r\nY: z\r\n"),
        chunked(OFFER) + HIDDEN,
        chunked(OFFER) + b"x" * 100,
    ],
    ids=["small", "extensions", "trailers", "hidden-request", "garbage"],
)
def test_extensions_trailers_and_whatever_follows_are_ignored(world, body):
    response = talk(world.server.port, head(world.server) + body, to_the_end=True)
    assert response.startswith(b"HTTP/1.1 200 ") and response.count(b"HTTP/1.1 ") == 1, response
    alive(world)


@pytest.mark.parametrize(
    "body, status",
    [
        (b"x\r\nhello", 400),
        (b"5\nhello\n0\n\n", 400),
        (b"5\r\nhelloX\r\n", 400),
        (b"-5\r\nhello\r\n", 400),
        (b"5;" + b"x" * 300 + b"\r\nhello\r\n0\r\n\r\n", 400),
        (b"0\r\nX: " + b"y" * 5_000 + b"\r\n\r\n", 400),
        (b"fffffffffffffffff\r\n", 400),
        (b"ffffffff\r\n", 413),
        (chunked(b"x" * 65_537, 1_000), 413),
        (chunked(b"x" * 65_536, 1_000), 400),  # It is no JSON.
    ],
)
def test_malformed_and_long_chunks_get_one_refusal(world, body, status):
    response = talk(world.server.port, head(world.server) + body + HIDDEN, to_the_end=True)
    assert response.startswith(b"HTTP/1.1 %d " % status), response[:80]
    assert response.count(b"HTTP/1.1 ") == 1
    alive(world)


def test_a_service_may_write_names_in_chunks(world):
    lines = "".join(f"+{15550000000 + number}\tName {number}\n" for number in range(5_000)).encode()
    assert len(lines) > 100_000
    url = world.server.url + "/api/directory"
    for token, status in ((world.token("backend", scope="server"), 200), (world.token("11"), 403)):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "text/plain"}
        body = iter([lines[:70_000], lines[70_000:]])
        assert httpx.put(url, content=body, headers=headers, trust_env=False).status_code == status


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_request_that_needs_no_body_may_have_one_in_chunks(world, method):
    for number, body in enumerate((b"0\r\n\r\n", chunked(b"hello") + HIDDEN)):
        world.rest("11").signal("offer", f"c-{number}", sdp=samples.OFFER, to="10")
        request = head(world.server, method, f"/api/calls/signal/c-{number}") + body
        response = talk(world.server.port, request, to_the_end=True)
        assert response.startswith(b"HTTP/1.1 200 ") and response.count(b"HTTP/1.1 ") == 1


def test_a_client_that_waits_for_100_continue_gets_it(world):
    with socket.create_connection(("127.0.0.1", world.server.port), timeout=5) as plain:
        plain.sendall(head(world.server, more="Expect: 100-continue\r\n"))
        assert plain.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
        plain.sendall(chunked(OFFER))
        assert plain.recv(65536).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("seed", range(15))
def test_the_packets_of_a_request_make_no_difference(world, seed):
    """No byte behind the last chunk is ever read as a request, wherever the packets end."""
    chance = random.Random(seed)
    data = b"GET /api/calls?peer=+1 HTTP/1.1\r\nHost: x\r\nCookie: a\r\nAuthorization: Bearer x\r\n\r\n"
    data += head(world.server) + chunked(OFFER, chance.randint(1, 300)) + HIDDEN * 3
    with socket.create_connection(("127.0.0.1", world.server.port), timeout=5) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        cuts = sorted(chance.sample(range(1, len(data)), 12))
        try:
            for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
                plain.sendall(data[start:end])
        except OSError:
            pass  # The server has responded and closed.
        heard = b""
        try:
            while more := plain.recv(65536):
                heard += more
        except ConnectionResetError:
            pass
    statuses = [line[9:12] for line in heard.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
    assert statuses in ([b"401", b"200"], [b"401"]), heard
    alive(world)


def test_a_large_head_gets_431_and_counts(world):
    def refused() -> float:
        family = families(world.server)["ringline_http_refused"]
        return next(each.value for each in family.samples if each.labels["code"] == "headers_too_large")

    before = refused()
    token = world.token("11")
    for lines in (f"Authorization: Bearer {'x' * 17_000}", "\r\n".join(["X-Forwarded-For: 1.2.3.4"] * 70), "X: " + "y" * 70_000):
        request = f"GET /api/calls HTTP/1.1\r\nHost: x\r\n{lines}\r\n\r\n".encode()
        response = talk(world.server.port, request, to_the_end=True)
        assert response.startswith(b"HTTP/1.1 431 ") and b"headers_too_large" in response, response[:80]
    assert refused() == before + 3
    # A browser on a shared domain sends the cookies of all its hosts, and tracing libraries any number of headers.
    for more in ({"Cookie": "c" * 16_300}, {"Cookie": "c" * 60_000}, {f"X-{number}": "y" * 100 for number in range(100)}):
        headers = more | {"Authorization": f"Bearer {token}"}
        assert httpx.get(world.server.url + "/api/calls", headers=headers, trust_env=False).status_code == 200
    upgrade = b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX: " + b"y" * 70_000
    assert talk(world.server.port, upgrade + b"\r\n\r\n").startswith(b"HTTP/1.1 431 ")

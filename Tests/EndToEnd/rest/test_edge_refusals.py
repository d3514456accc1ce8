"""What the HTTP edge refuses before it looks at the path: a page can read it, HEAD has no body, pipelining goes on."""

import random
import socket
import time

import pytest
from ringline_server import connection_ends_behind_bodies
from test_admin import families
from test_raw_http import talk
from tokens import mint

ORIGIN = "https://app.example"
FROM = f"Origin: {ORIGIN}\r\n"


@pytest.fixture
def allowing(make_server, make_world):
    return make_world(make_server("--allow-origin", ORIGIN))


def heads_and_bodies(received: bytes, methods: list[str]) -> list[tuple[bytes, bytes]]:
    """Splits the responses to requests with these methods; a byte that belongs to none fails."""
    found = []
    for method in methods:
        if not received:
            break
        head, end, received = received.partition(b"\r\n\r\n")
        assert end and head.startswith(b"HTTP/1.1 "), head[:80]
        lengths = [int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")]
        length = 0 if method == "HEAD" or not lengths else lengths[0]
        found.append((head, received[:length]))
        assert len(received) >= length
        received = received[length:]
    assert not received, received[:80]
    return found


def field(head: bytes, name: str) -> str | None:
    values = [
        line.partition(b":")[2].strip() for line in head.split(b"\r\n") if line.lower().startswith(name.encode() + b":")
    ]
    assert len(values) <= 1, head
    return values[0].decode() if values else None


LARGE = "c" * 70_000
# The lines of requests that are refused: before the origin's line, and after it; then what follows the head.
REFUSED = {
    "target": ("/a%zz HTTP/1.1", "", "", b"", 400),
    "dots": ("/api/../x HTTP/1.1", "", "", b"", 400),
    "line break": ("/api/calls?a=%0d HTTP/1.1", "", "", b"", 400),
    "header": ("/ HTTP/1.1", "", "no colon\r\n", b"", 400),
    "folded": ("/ HTTP/1.1", "", " folded\r\n", b"", 400),
    "two hosts": ("/ HTTP/1.1", "Host: y\r\n", "", b"", 400),
    "length": ("/ HTTP/1.1", "Content-Length: x\r\n", "", b"", 400),
    "two lengths": ("/ HTTP/1.1", "", "Content-Length: 1\r\nContent-Length: 2\r\n", b"", 400),
    "coding": ("/ HTTP/1.1", "Transfer-Encoding: gzip\r\n", "", b"", 411),
    "both": ("/ HTTP/1.1", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", b"", 411),
    "large body": ("/ HTTP/1.1", "Content-Length: 70000\r\n", "", LARGE.encode(), 413),
    "version": ("/ HTTP/1.9", "", "", b"", 505),
    "cookie": ("/ HTTP/1.1", "", f"Cookie: {LARGE}\r\n", b"", 431),
    "headers": ("/ HTTP/1.1", "", f"Authorization: {LARGE[:20_000]}\r\n", b"", 431),
    "many": ("/ HTTP/1.1", "", "Accept-Encoding: x\r\n" * 70, b"", 431),
}


def refused(server, name: str, method: str, origin: str = FROM) -> tuple[bytes, bytes]:
    target, before, after, body, status = REFUSED[name]
    request = f"{method} {target}\r\nHost: x\r\n{before}{origin}{after}\r\n".encode() + body
    ((head, rest),) = heads_and_bodies(talk(server.port, request, to_the_end=True), [method])
    assert head.startswith(b"HTTP/1.1 %d " % status), head
    return head, rest


@pytest.mark.parametrize("name", REFUSED)
def test_a_page_of_an_allowed_origin_can_read_why_its_request_was_refused(allowing, name):
    head, body = refused(allowing.server, name, "POST")
    assert field(head, "access-control-allow-origin") == ORIGIN and field(head, "vary") == "Origin"
    assert field(head, "access-control-allow-credentials") == "true" and field(head, "cache-control") == "no-store"
    assert "Retry-After" in field(head, "access-control-expose-headers")
    assert body.startswith(b"{")
    for origin in ("", "Origin: https://evil.example\r\n", "Origin: null\r\n", FROM + FROM):
        other, _ = refused(allowing.server, name, "POST", origin)
        assert b"access-control" not in other.lower() and b"vary" not in other.lower()


@pytest.mark.parametrize("chunk, status", [(b"zz\r\n", 400), (b"ffffffff\r\n", 413), (b"1;" + b"e" * 5_000, 400)])
def test_so_can_a_page_that_sends_a_body_in_wrong_chunks(allowing, chunk, status):
    request = f"POST /api/calls HTTP/1.1\r\nHost: x\r\n{FROM}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk
    response = talk(allowing.server.port, request, to_the_end=True)
    assert response.startswith(b"HTTP/1.1 %d " % status)
    assert field(response, "access-control-allow-origin") == ORIGIN


@pytest.mark.parametrize(
    "request_line",
    [b"TRACE / HTTP/1.1", b"get / HTTP/1.1", b"GET http://x/ HTTP/1.1", b"GET /" + b"p" * 20_000 + b" HTTP/1.1"],
)
def test_a_head_that_was_not_read_up_to_the_origin_has_no_headers_for_pages(allowing, request_line):
    request = request_line + b"\r\nHost: x\r\n" + FROM.encode() + b"\r\n"
    assert b"access-control" not in talk(allowing.server.port, request, to_the_end=True).lower()


def test_the_preflight_of_a_request_with_a_wrong_path_is_accepted_so_that_the_page_sees_the_refusal(allowing):
    lines = f"Host: x\r\n{FROM}Access-Control-Request-Method: GET\r\n\r\n"
    for path in ("/api/calls/100%", "/api/calls/%zz", "/api/./calls"):
        response = talk(allowing.server.port, f"OPTIONS {path} HTTP/1.1\r\n{lines}".encode())
        assert response.startswith(b"HTTP/1.1 204 ") and field(response, "access-control-allow-origin") == ORIGIN
    evil = lines.replace(ORIGIN, "https://evil.example")
    assert talk(allowing.server.port, f"OPTIONS /%zz HTTP/1.1\r\n{evil}".encode()).startswith(b"HTTP/1.1 403 ")


def test_the_admin_listeners_refusals_have_no_headers_for_pages(make_server):
    server = make_server("--allow-origin", ORIGIN)
    port = int(server.admin_url.rsplit(":", 1)[1])
    response = talk(port, f"GET /%zz HTTP/1.1\r\nHost: localhost\r\n{FROM}\r\n".encode())
    assert response.startswith(b"HTTP/1.1 400 ") and b"access-control" not in response.lower()


# HEAD


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_of_head_has_the_headers_of_get_and_no_body(allowing, name):
    get, body = refused(allowing.server, name, "GET")
    head, nothing = refused(allowing.server, name, "HEAD")
    assert head == get and body and not nothing


@pytest.mark.parametrize(
    "request_line",
    [
        "http://x/ HTTP/1.1",
        "AAAAAAAA/x HTTP/1.1",
        "* HTTP/1.1",
        " / HTTP/1.1",
        "/a b HTTP/1.1",
        "/a",
        "/" + "p" * 20_000 + " HTTP/1.1",
    ],
)
def test_head_has_no_body_even_if_the_rest_of_its_line_cannot_be_read(server, request_line):
    received = [
        talk(server.port, f"{method} {request_line}\r\nHost: x\r\n\r\n".encode(), to_the_end=True)
        for method in ("GET", "HEAD")
    ]
    get, head = (heads_and_bodies(each, [method])[0] for each, method in zip(received, ("GET", "HEAD"), strict=True))
    assert get[0] == head[0] and get[1] and not head[1]


HANDSHAKE = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"


@pytest.mark.parametrize("lines", [HANDSHAKE, HANDSHAKE.replace("13", "8"), HANDSHAKE.replace("websocket", "foo")])
@pytest.mark.parametrize("path", ["/ws", "/nothing", "/%zz", "/socket.io/?EIO=4&transport=websocket"])
def test_a_refused_upgrade_by_head_has_no_body(server, path, lines):
    response = talk(server.port, f"HEAD {path} HTTP/1.1\r\nHost: x\r\n{lines}\r\n".encode(), to_the_end=True)
    ((head, body),) = heads_and_bodies(response, ["HEAD"])
    assert head.startswith(b"HTTP/1.1 4") and not body and field(head, "content-length") != "0"


def test_head_on_every_kind_of_path_has_no_body_and_the_connection_goes_on(make_server):
    server = make_server("--allow-origin", ORIGIN)
    token = f"Authorization: Bearer {mint(server.secret, '11')}\r\n"
    for port, paths in (
        (
            server.port,
            [
                "/healthz",
                "/readyz",
                "/metrics",
                "/nothing",
                "/ws",
                "/api/calls",
                "/api/me/dnd",
                "/api/directory",
                "/socket.io/",
            ],
        ),
        (int(server.admin_url.rsplit(":", 1)[1]), ["/healthz", "/readyz", "/nothing", "/api/calls", "/"]),
    ):
        for path in paths:
            for lines in ("", token, "Origin: https://evil.example\r\n", f"{token}{FROM}"):
                end = "HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                both = [
                    heads_and_bodies(
                        talk(
                            port,
                            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n{end}".encode(),
                            to_the_end=True,
                        ),
                        [method, "HEAD"],
                    )
                    for method in ("GET", "HEAD")
                ]
                get, head = both
                assert len(get) == len(head) == 2 and get[0][0] == head[0][0], (path, lines)


# Pipelining


def pipelined(world, parts: list[tuple[str, bytes]], sizes: random.Random | None = None) -> list[int]:
    """Sends requests at once, or in small pieces; returns the status of each response until the end of the connection."""
    data = b"".join(request for _, request in parts)
    with socket.create_connection(("127.0.0.1", world.server.port), timeout=10) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while data:
                size = len(data) if sizes is None else sizes.choice((1, 1, 2, 7, 100))
                plain.sendall(data[:size])
                data = data[size:]
        except OSError:
            pass  # The server has ended the connection, after a response that is read below.
        received = b""
        try:
            while more := plain.recv(65536):
                received += more
        except ConnectionResetError:
            pass
    return [int(head[9:12]) for head, _ in heads_and_bodies(received, [method for method, _ in parts])]


def request(
    world, method: str = "GET", path: str = "/api/calls", cookie: int = 0, lines: str = "", body: bytes = b""
) -> tuple[str, bytes]:
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {world.token('11')}\r\n{lines}"
    return method, f"{head}Cookie: {'c' * cookie}\r\n\r\n".encode() + body


def last(world) -> tuple[str, bytes]:
    return request(world, lines="Connection: close\r\n")


@pytest.mark.parametrize("count", [2, 3, 5, 20])
@pytest.mark.parametrize(
    "method, lines, body", [("GET", "", b""), ("HEAD", "", b""), ("PUT", "Content-Length: 2\r\n", b"{}")]
)
def test_pipelined_requests_with_large_cookies_each_get_a_response(world, count, method, lines, body):
    path = "/api/me/devices"
    parts = [request(world, method, path, 60_000, lines, body) for _ in range(count)] + [last(world)]
    statuses = [400 if method == "PUT" else 200] * count + [200]
    assert pipelined(world, parts) == (statuses[:1] if body and connection_ends_behind_bodies() else statuses)


def test_a_client_that_pipelines_much_costs_no_time_while_its_request_waits(world):
    """A long poll waits; the server must not be told again and again that there is something to read."""
    world.rest("11").signal("offer", "c-1", sdp="v=0\r\n", to="10")
    waiting = request(world, path="/api/calls/signal/c-1?since=99&wait=2")
    parts = [waiting, *(request(world, cookie=60_000) for _ in range(4)), last(world)]
    before = families(world.server)["process_cpu_seconds"].samples[0].value
    began = time.monotonic()
    assert pipelined(world, parts) == [200] * 6
    assert time.monotonic() - began > 1.5
    assert families(world.server)["process_cpu_seconds"].samples[0].value - before < 1


def test_nothing_is_served_behind_a_refused_head(world):
    large = request(world, cookie=70_000)
    assert pipelined(world, [large, request(world)]) == [431]
    assert pipelined(world, [request(world), large, request(world)]) == [200, 431]
    assert pipelined(world, [request(world, cookie=60_000), large, request(world, cookie=60_000)]) == [200, 431]


def test_nothing_is_served_behind_a_body_in_chunks(world):
    chunks = request(
        world, "POST", "/api/calls/signal", lines="Transfer-Encoding: chunked\r\n", body=b"2\r\n{}\r\n0\r\n\r\n"
    )
    for cookie in (0, 60_000):
        assert pipelined(
            world, [request(world), chunks, request(world, cookie=cookie), request(world, cookie=cookie)]
        ) == [200, 400]


@pytest.mark.parametrize("seed", range(3))
def test_the_pieces_in_which_pipelined_requests_arrive_make_no_difference(world, seed):
    sizes = random.Random(seed)
    kinds = [
        request(world, cookie=300),
        request(world, "HEAD", "/nothing"),
        request(world, "DELETE", "/api/calls", lines="Connection: keep-alive, x\r\n"),
    ]
    if not connection_ends_behind_bodies():
        kinds.append(request(world, "PUT", "/api/me/devices", lines="Content-Length: 2\r\n", body=b"{}"))
    parts = [sizes.choice(kinds) for _ in range(6)] + [last(world)]
    assert pipelined(world, parts, sizes) == pipelined(world, parts)
    assert len(pipelined(world, parts)) == 7


# Connection


@pytest.mark.parametrize(
    "version, lines, is_kept",
    [
        ("1.1", [], True),
        ("1.1", ["TE"], True),
        ("1.1", ["keep-alive"], True),
        ("1.1", ["closed"], True),
        ("1.1", ["close"], False),
        ("1.1", ["TE, close"], False),
        ("1.1", ["close,TE"], False),
        ("1.1", ["CLOSE ,\tTE"], False),
        ("1.1", [",, close,"], False),
        ("1.1", ["TE", "Close"], False),
        ("1.1", ["close", "keep-alive"], False),
        ("1.1", ["keep-alive, close"], False),
        ("1.0", [], False),
        ("1.0", ["keep-alive"], True),
        ("1.0", ["Keep-Alive"], True),
        ("1.0", ["keep-alive, close"], False),
        ("1.0", ["close", "keep-alive"], False),
        ("1.0", ["TE, close"], False),
        ("1.0", ["TE"], False),
        # Such a client may be kept, and is not.
        ("1.0", ["keep-alive, TE"], False),
    ],
)
@pytest.mark.parametrize("path", ["/healthz", "/api/calls", "/nothing"])
def test_connection_is_a_list(world, version, lines, is_kept, path):
    token = f"Authorization: Bearer {world.token('11')}\r\n"
    first = f"GET {path} HTTP/{version}\r\nHost: x\r\n{token}" + "".join(f"Connection: {line}\r\n" for line in lines)
    second = "GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    received = talk(world.server.port, f"{first}\r\n{second}".encode(), to_the_end=True)
    responses = heads_and_bodies(received, ["GET", "GET"])
    assert len(responses) == (2 if is_kept else 1)
    assert field(responses[0][0], "connection") == (None if is_kept else "close")

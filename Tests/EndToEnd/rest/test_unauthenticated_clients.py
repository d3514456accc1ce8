"""Unauthenticated clients are limited, and do not keep other clients out.

They connect from several loopback addresses. The other clients connect from one of these or from a different address.
"""

import contextlib
import json
import resource
import select
import socket
import time

import httpx
import pytest
from postgres_server import one_process
from raw_socket import TEXT, RawSocket
from test_monitoring import sample
from test_raw_bytes import request
from test_socketio import get, opened, post
from waiting import eventually

pytestmark = one_process("each node limits the clients that connect to it, and sees the proxy's address")
HALF = b"GET /ws HTTP/1.1\r\nHost: x\r\nUpg"


@contextlib.contextmanager
def crowd(port: int, count: int, addresses: list[str], text: bytes = HALF):
    """Opens this number of connections that send the text and nothing more; yields their sockets."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    sockets = []
    try:
        for number in range(count):
            one = socket.socket()
            sockets.append(one)
            one.settimeout(20)
            one.bind((addresses[number % len(addresses)], 0))
            one.connect(("127.0.0.1", port))
            # The server may have closed the connection already.
            with contextlib.suppress(OSError):
                one.sendall(text)
        yield sockets
    finally:
        for one in sockets:
            one.close()


def honest(port: int, address: str) -> float:
    """Makes a complete request without a token; returns the seconds until its response."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(address, 0)) as one:
        one.sendall(request("GET", "/api/calls"))
        assert one.recv(65536).startswith(b"HTTP/1.1 401 ")
    return time.monotonic() - began


def dropped(server, reason: str) -> float:
    return sample(server, "ringline_unauthenticated_dropped_total", reason=reason)


# Incomplete requests, and the number of connections


@pytest.mark.timeout(60)
def test_bodies_that_trickle_get_408_and_keep_no_client_out(world):
    def refused() -> float:
        return sample(world.server, "ringline_http_refused_total", code="request_timeout")

    before, waiting, heard = refused(), [], []
    for line in (b"Content-Length: 60000", b"Transfer-Encoding: chunked"):
        one = socket.create_connection(("127.0.0.1", world.server.port), timeout=10)
        one.sendall(b"POST /api/calls/signal HTTP/1.1\r\nHost: x\r\n" + line + b"\r\n\r\nea60\r\n{")
        waiting.append(one)
    while waiting:
        honest(world.server.port, "127.0.0.1")
        for one in select.select(waiting, [], [], 0.05)[0]:
            heard.append(one.recv(65536))
            waiting.remove(one)
            one.close()
        for one in waiting:
            one.sendall(b" ")
    assert len(heard) == 2
    for response in heard:
        assert response.startswith(b"HTTP/1.1 408 ") and b"request_timeout" in response, response
    assert refused() == before + 2


@pytest.mark.timeout(120)
@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["127.0.0.2"], [f"127.0.0.{last}" for last in range(2, 12)]])
def test_twelve_thousand_half_requests_keep_no_client_out(world, addresses):
    """A client that connected after such a crowd once waited 8 to 11 s."""
    connection = world.connect("11")
    with crowd(world.server.port, 12_000, addresses):
        for address in ("127.0.0.1", "127.0.0.2", "127.0.0.99"):
            assert honest(world.server.port, address) < 15
        assert connection.fence() == [], "an open connection is not disturbed"
        assert sum(dropped(world.server, reason) for reason in ("handshakes", "slow")) > 8_000
        assert sample(world.server, "ringline_tcp_connections") < 4_000


def test_a_slow_client_of_another_address_is_not_dropped(world):
    with socket.create_connection(
        ("127.0.0.1", world.server.port), timeout=20, source_address=("127.0.0.3", 0)
    ) as slow:
        slow.sendall(b"GET /api/calls HT")
        with crowd(world.server.port, 4_000, ["127.0.0.2"]):
            slow.sendall(b"TP/1.1\r\nHost: x\r\n\r\n")
            assert slow.recv(65536).startswith(b"HTTP/1.1 401 ")


def test_unauthenticated_sockets_make_room_for_new_clients(make_server, make_world):
    world = make_world(make_server("--max-tcp-connections", 20))
    connections = [world.connect(f"u{number}") for number in range(5)]
    client = httpx.Client(
        base_url=world.server.url, trust_env=False, headers={"Authorization": f"Bearer {world.token()}"}
    )
    assert client.get("/api/calls").status_code == 200
    with crowd(world.server.port, 100, ["127.0.0.2"], b""):
        assert honest(world.server.port, "127.0.0.3") < 15
        connections.append(world.connect("late"))
        for connection in connections:
            assert connection.fence() == []
        assert client.get("/api/calls").status_code == 200
        connection = client._transport._pool.connections[0]
        assert "Request Count: 2" in connection.info(), "its authenticated connection was kept"
        client.close()
        assert dropped(world.server, "connections") > 80


# Unidentified Socket.IO sessions


def handshakes(port: int, count: int, address: str):
    """Makes this number of handshakes, pipelined on one connection, and waits for all responses."""
    with socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(address, 0)) as one:
        text = request("GET", "/socket.io/?EIO=4&transport=polling")
        heard = 0
        for first in range(0, count, 64):
            one.sendall(text * min(64, count - first))
            while heard < min(first + 64, count):
                heard += one.recv(1 << 20).count(b"HTTP/1.1 200 ")


@pytest.mark.timeout(120)
@pytest.mark.parametrize("address", ["127.0.0.2", "127.0.0.1"])
def test_a_client_of_version_4_is_let_in_beside_thousands_of_handshakes_of_one_connection(world, address):
    """4,096 handshakes without a token once kept out all clients that send their token in CONNECT, for 45 s."""
    early = opened(world)
    handshakes(world.server.port, 6_000, address)
    began = time.monotonic()
    sid = opened(world)
    assert post(world, sid, "40" + json.dumps({"token": world.token()})).text == "ok"
    assert get(world, sid=sid).text.startswith('40{"sid":"')
    raw = RawSocket(world.server.port, path="/socket.io/?EIO=4&transport=websocket")
    assert raw.read_until(TEXT).startswith(b"0{")
    raw.frame(TEXT, b'40{"token":"%s"}' % world.token().encode())
    assert raw.read_until(TEXT).startswith(b"40{")
    assert time.monotonic() - began < 15
    assert dropped(world.server, "socketio") > 1_900
    if address != "127.0.0.1":
        assert post(world, early, "40" + json.dumps({"token": world.token()})).text == "ok", (
            "it was the only session of its address"
        )


def test_behind_a_trusted_proxy_clients_are_counted_by_the_forwarded_address(make_server, make_world):
    world = make_world(make_server("--trusted-proxy", "127.0.0.0/8"))
    path, headers = "/socket.io/?EIO=4&transport=polling", {"X-Forwarded-For": "192.0.2.1"}
    sid = json.loads(httpx.get(world.server.url + path, headers=headers, trust_env=False).text[1:])["sid"]
    text = request("GET", path, "X-Forwarded-For: 192.0.2.1, 192.0.2.2")
    with socket.create_connection(("127.0.0.1", world.server.port), timeout=60) as one:
        for _ in range(100):
            one.sendall(text * 50)
            heard = 0
            while heard < 50:
                heard += one.recv(1 << 20).count(b"HTTP/1.1 200 ")
    assert post(world, sid, "40" + json.dumps({"token": world.token()})).text == "ok"


def test_no_more_than_sixteen_sessions_of_a_user_wait_for_their_connect(make_server, make_world):
    """Before there was this limit, all of 30,000 handshakes with one token got 200."""
    world = make_world(make_server("--connects-per-minute", 1_000))
    token = world.token(None, uid=11)
    sids = [opened(world, token=token) for _ in range(16)]
    for _ in range(10):
        refused = get(world, token=token)
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert refused.headers["retry-after"] == "1"
    assert RawSocket(world.server.port, path=f"/socket.io/?EIO=4&transport=websocket&token={token}").status == 429
    assert sample(world.server, "ringline_limited_total", limit="unjoined") == 11
    assert get(world, token=world.token(None, uid=12)).status_code == 200, "the limit does not concern another user"
    assert post(world, sids[0], "40").text == "ok"
    assert get(world, token=token).status_code == 200, "one session has joined, so one more may wait"
    assert get(world, token=token).status_code == 429


def test_the_limit_of_unjoined_sessions_holds_for_all_loops(make_server, make_world):
    world = make_world(make_server("--connects-per-minute", 1_000, "--loops", 3))
    token = world.token(None, uid=11)
    raws = [
        RawSocket(world.server.port, path=f"/socket.io/?EIO=4&transport=websocket&token={token}") for _ in range(16)
    ]
    assert all(raw.read_until(TEXT).startswith(b"0{") for raw in raws)

    def is_refused() -> bool:
        return RawSocket(world.server.port, path=f"/socket.io/?EIO=4&transport=websocket&token={token}").status == 429

    assert all(is_refused() for _ in range(8))
    for raw in raws:
        raw.close()
    eventually(lambda: not is_refused())

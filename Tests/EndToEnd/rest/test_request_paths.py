"""Paths and queries are read as they are written, so that no client bypasses a proxy's rule for a path."""

import contextlib
import json
import re
import socket

import pytest
import samples
from raw_socket import RawSocket
from test_raw_http import talk
from tokens import mint


def get(world, target: str, method: str = "GET", user: str = "11") -> tuple[int, dict]:
    request = f"{method} {target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {mint(world.server.secret, user)}\r\n\r\n"
    head, _, body = talk(world.server.port, request.encode()).partition(b"\r\n\r\n")
    return int(head[9:12]), json.loads(body) if body else {}


def statuses(port: int, packets: list[bytes]) -> list[str]:
    """Sends packets on one connection; returns the statuses of all responses until its end."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        heard = b""
        # The server may close while the test is still sending; what it said before can still be read.
        with contextlib.suppress(OSError):
            for packet in packets:
                plain.sendall(packet)
        with contextlib.suppress(OSError):
            while more := plain.recv(65536):
                heard += more
        return re.findall(r"HTTP/1\.1 (\d+) ", heard.decode())


@pytest.mark.parametrize(
    "target",
    [
        "/api%2fcalls", "/api%2Fcalls", "//api/calls", "/api//calls", "/api/calls//", "/ws/../api/calls", "/api/./calls",
        "/api/calls/.", "/x/%2e%2e/api/calls", "/x/%2E%2E/api/calls", "/x/.%2e/api/calls", "/api/%2e/calls",
        "/api/calls;x=1", "/api;x=1/calls", "/;x/api/calls", "\\api\\calls", "/api\\calls", "/api%5ccalls", "/%61pi/calls",
        "/api/c%61lls", "/api/calls%3Flimit=1", "/api/calls%00", "/api/calls%00/x", "/%00/api/calls", "/api/calls%20",
        "/API/calls", "/api/calls%23", "/api/calls#x", "http://x/api/calls", "HTTP://x/api/calls", "/api/calls%",
        "/api/calls%2", "/api/calls%zz", "/api/calls/..;/calls", "/..%2fapi/calls", "/api/calls/%2e%2e", "/../api/calls",
        "/healthz/../api/calls", "/ws%2f..%2fapi/calls", "api/calls", "*", "/%2e/api/calls", "/api/calls%2f", "/é/../api/calls",
    ],
)  # fmt: skip
def test_no_other_spelling_of_a_path_is_taken_for_it(world, target):
    assert get(world, "/api/calls")[0] == 200
    assert get(world, target)[0] in (400, 404)
    # Neither behind another request, nor when the address arrives in pieces.
    last = f" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {world.token()}\r\n\r\n"
    data = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + f"GET {target}{last}".encode()
    assert statuses(world.server.port, [data])[1:] in (["400"], ["404"])
    assert statuses(world.server.port, [data[start : start + 1] for start in range(len(data))])[1:] in (["400"], ["404"])


@pytest.mark.parametrize("target", ["/%77s", "//ws", "/x/../ws", "/ws;x", "/ws%00", "/socket%2eio/", "//socket.io/"])
def test_no_other_spelling_leads_to_a_websocket(world, target):
    upgrade = (
        f"GET {target} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nAuthorization: Bearer {world.token()}\r\n\r\n"
    )
    assert talk(world.server.port, upgrade.encode())[9:12] in (b"400", b"404")


@pytest.mark.parametrize("target", ["/metrics%3f", "//metrics", "/x/../metrics", "/%6detrics", "/metrics;x"])
def test_no_other_spelling_leads_to_a_page_of_operators(world, target):
    port = int(world.server.admin_url.rsplit(":", 1)[1])
    response = talk(port, f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert response[9:12] in (b"400", b"404")


@pytest.mark.parametrize("call", ["c:1", "a.b_c-d", "..x"])
def test_escapes_in_ids_are_resolved(world, call):
    world.rest("11").signal("offer", call, sdp=samples.OFFER, to="10")
    escaped = "".join(f"%{byte:02x}" for byte in call.encode())
    for written in (call, escaped, escaped.upper().replace("%3A", ":")):
        for path in (f"/api/calls/signal/{written}", f"/api/calls/{written}", f"/api/calls/{written}/timeline"):
            assert get(world, path, user="10")[0] == 200, path
        assert get(world, f"/api/calls/signal?callId={written}")[0] == 200


@pytest.mark.parametrize("user", ["+821012345678", "a@b.example", "a:b", "x+y"])
def test_ids_of_every_alphabet_work_in_paths_and_queries(world, user):
    rest = world.rest("11")
    assert rest.request("POST", "/api/blocks", json={"userId": user}).status_code == 200
    world.rest("11").signal("offer", "c-1", sdp=samples.OFFER, to=user)
    escaped = "".join(f"%{byte:02X}" if chr(byte) in "+@:" else chr(byte) for byte in user.encode())
    for written in (user, escaped):
        for path in (
            f"/api/calls/c-1?peer={written}", f"/api/calls/c-1/timeline?peer={written}", f"/api/calls/signal/c-1?peer={written}",
            f"/api/calls/signal/c-1?device={written}", f"/api/calls/signal?callId=c-1&peer={written}",
        ):  # fmt: skip
            assert get(world, path)[0] == 200, path
    assert get(world, f"/api/blocks/{escaped}", "DELETE")[0] == 200
    assert rest.get("/api/blocks").json() == []


def test_a_plus_in_the_query_of_a_websocket_is_no_blank(world):
    handshake = RawSocket(world.server.port, world.token("11"), path="/ws?device=+82-1")
    assert handshake.status == 101
    assert world.rest("11").get("/api/calls/signal/none?device=+82-1").status_code == 404
    handshake.close()
    assert get(world, "/api/calls/signal?callId=c+1")[0] == 404, "c+1 is a callId, and c 1 is none"
    assert get(world, "/api/calls/c-1?peer=a%20b")[1]["field"] == "peer"

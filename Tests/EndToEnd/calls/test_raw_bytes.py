"""Mutated HTTP, WebSocket and Engine.IO bytes that are written to the socket, without a token and with one.

Tests/sanitize runs this under valgrind. RINGLINE_RAW_CONNECTIONS=20000 makes a long run. A failure prints its seed, and
RINGLINE_SEED repeats it.
"""

import base64
import os
import random
import socket

import httpx
import pytest
from ringline_server import LAUNCHER

CONNECTIONS = int(os.environ.get("RINGLINE_RAW_CONNECTIONS", "400"))
SEED = int(os.environ.get("RINGLINE_SEED") or random.SystemRandom().randrange(1 << 32))
KEY = base64.b64encode(b"0123456789abcdef").decode()
BODY = '{"callId":"11-10","action":"offer","data":{"sdp":"v=0\\r\\n","type":"offer"}}'


def request(method: str, path: str, *headers: str, body: str = "") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: a", *headers]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def frame(opcode: int, payload: bytes) -> bytes:
    mask = b"\x01\x02\x03\x04"
    size = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + len(payload).to_bytes(2, "big")
    return bytes([0x80 | opcode]) + size + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))


def pieces(token: str) -> list[bytes]:
    """Returns the texts from which each connection sends a random sequence."""
    bearer = f"Authorization: Bearer {token}"
    upgrade = [f"Sec-WebSocket-Key: {KEY}", "Sec-WebSocket-Version: 13", "Connection: Upgrade", "Upgrade: websocket"]
    return [
        request("GET", "/api/calls", bearer),
        request("GET", "/api/calls?limit=5&before=9", bearer),
        request("POST", "/api/calls/signal", bearer, body=BODY),
        request("GET", "/api/calls/signal/11-10?wait=0&format=array&since=1", bearer),
        request("DELETE", "/api/calls/signal/11-10", bearer),
        request("PUT", "/api/me/devices", bearer, body='{"platform":"ios","bundleId":"a.b"}'),
        request("HEAD", "/api/turn-cred"),
        request("OPTIONS", "/api/calls", "Origin: https://a", "Access-Control-Request-Method: GET"),
        request("GET", "/ws", bearer, *upgrade),
        request("GET", "/ws", *upgrade, f"Sec-WebSocket-Protocol: ringline.v1, bearer.{token}"),
        request("GET", "/x", "Connection: Upgrade", "Upgrade: foobarbaz"),
        request("GET", "/ws", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"),
        request("GET", f"/signal/socket.io/?EIO=4&transport=websocket&token={token}", *upgrade),
        request("GET", "/socket.io/?EIO=3&transport=polling"),
        request("POST", "/socket.io/?EIO=4&transport=polling&sid=x", body="40"),
        frame(1, b'{"type":"offer","callId":"c-1","to":"10","id":"1","sdp":"v=0"}'),
        frame(1, b'{"type":"sync","calls":{}}'),
        frame(2, b"\x00\x01"),
        frame(9, b"ping"),
        frame(8, b"\x03\xe8bye"),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ]


def mutated(chance: random.Random, text: bytes) -> bytes:
    text = bytearray(text)
    for _ in range(chance.choice([0, 0, 1, 1, 2, 5])):
        place = chance.randrange(len(text) + 1)
        match chance.randrange(5):
            case 0:
                text[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                del text[place : place + chance.randint(1, 20)]
            case 2:
                text[place:place] = chance.choice(
                    [b"\r\n", b"\r", b"\n ", b"\0", b"%00", b"%", b":", b" ", b"Content-Length: 5\r\n", b"Upgrade: x\r\n"]
                    + [b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"A" * chance.choice([100, 5000, 20000])]
                )
            case 3:
                text[place:place] = text[place : place + 60]
            case _:
                del text[place:]
    return bytes(text)


@pytest.mark.timeout(120 + CONNECTIONS // (1 if LAUNCHER else 50))
def test_the_server_keeps_serving_after_any_bytes(make_server, make_world):
    server = make_server("--max-tcp-connections", 300)
    world = make_world(server)
    kinds = pieces(world.token("11"))
    answered = 0
    print(f"RINGLINE_SEED={SEED}")
    for number in range(CONNECTIONS):
        chance = random.Random(SEED + number)
        text = b"".join(mutated(chance, chance.choice(kinds)) for _ in range(chance.randint(1, 5)))
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
            connection.settimeout(1 if LAUNCHER else 0.05)
            try:
                cut = chance.randrange(len(text) + 1)
                connection.sendall(text[:cut])
                connection.sendall(text[cut:])
                if chance.random() < 0.8:
                    connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    answered += 1
            except OSError:
                pass  # The server may end or ignore the connection at any byte.
        assert server.alive(), f"RINGLINE_SEED={SEED} connection {number}: {text!r}\n{server.errors()[-3000:]}"
    assert answered > CONNECTIONS / 4, "hardly any connection was answered: the run proved nothing"
    assert httpx.get(server.admin_url + "/readyz", trust_env=False, timeout=30).status_code == 200
    world.call("c-9", caller="taro", callee="hanako")
    assert len(server.usual_log()) < 200_000, f"RINGLINE_SEED={SEED}: unauthenticated bytes flood the log"
    # Under valgrind, a memory error changes the exit code.
    server.terminate()
    assert server.exit_code(60) == 0, server.errors()[-3000:]

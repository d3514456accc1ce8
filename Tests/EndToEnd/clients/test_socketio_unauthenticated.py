"""Socket.IO clients that have not joined cost little memory, and every refused packet is counted."""

import contextlib
import socket

import pytest
from raw_socket import TEXT, RawSocket
from test_monitoring import sample
from test_raw_bytes import KEY, request
from test_socketio import Raw
from waiting import eventually

UPGRADE = [f"Sec-WebSocket-Key: {KEY}", "Sec-WebSocket-Version: 13", "Connection: Upgrade", "Upgrade: websocket"]


def resident(server) -> float:
    return sample(server, "process_resident_memory_bytes")


@pytest.mark.release_build
@pytest.mark.timeout(120)
def test_unauthenticated_socketio_clients_cost_little_memory(world):
    """The server once echoed the namespace's name through a queue of 1 MiB; 200 such clients took 198 MB."""
    before = resident(world.server)
    clients = []
    for _ in range(200):
        one = socket.create_connection(("127.0.0.1", world.server.port), timeout=10)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
        one.sendall(request("GET", "/socket.io/?EIO=4&transport=websocket", *UPGRADE))
        assert one.recv(15).startswith(b"HTTP/1.1 101 ")
        clients.append(one)
    text = RawSocket._framed(TEXT, b"40/" + b"n" * 12_000 + b",")
    for one in clients:
        # The server closes each connection at some point.
        with contextlib.suppress(OSError):
            for _ in range(40):
                one.sendall(text)
    peak = 0.0

    def refused() -> float:
        nonlocal peak
        peak = max(peak, resident(world.server))
        return sample(world.server, "ringline_socketio_packets_refused_total", reason="namespace")

    eventually(lambda: refused() >= 200 * 10, seconds=20)
    assert refused() == 200 * 10, "each packet is counted, and the tenth ends its connection"
    assert peak - before < 20_000_000
    for one in clients:
        one.close()
    world.call("c-1")


def test_a_packet_for_another_namespace_is_refused_without_its_name(world):
    raw = Raw(world)
    raw.hear(), raw.say("40/look-for-me,")
    assert raw.hear() == '44{"message":"Invalid namespace"}'
    raw.say("40"), raw.hear()
    error = '42["signal-error",{"code":"not_found","message":"only the default namespace exists"}]'
    for packet in ("40/look-for-me,", '42/look-for-me,["offer",{"to":10}]', '42/look-for-me,7["offer",{"to":10}]'):
        raw.say(packet)
        assert raw.hear() == error
    assert sample(world.server, "ringline_socketio_packets_refused_total", reason="namespace") == 4

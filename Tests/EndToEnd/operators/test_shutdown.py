"""SIGTERM: no new work, connections closed with 1001, everything on disk, exit code 0 within 10 s."""

import http.client
import os
import signal
import socket
import threading
import time

import httpx
import pytest
import samples
from postgres_server import one_process
from rest import Rest, code
from waiting import eventually


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_connections_are_closed_with_1001_and_the_exit_is_clean(world, number):
    connections = [world.connect(user, f"d-{user}") for user in ("10", "11", "12")]
    began = time.monotonic()
    os.kill(world.server.pid, number)
    assert [connection.close_code() for connection in connections] == [1001] * 3
    assert world.server.exit_code(10) == 0
    assert time.monotonic() - began < 10


def test_every_connection_learns_when_to_reconnect_from_a_frame_and_from_the_close_reason(world):
    connections = [world.connect(str(user), "d") for user in range(40)]
    connections[38].ring("39", "c-1")
    world.server.terminate()
    pauses = []
    for connection in connections:
        assert connection.close_code() == 1001
        frame = connection.heard[-1]
        assert frame["type"] == "draining", "draining is the last frame"
        assert (
            connection.socket.close_reason
            == f"the server is shutting down; reconnectAfterMs={frame['reconnectAfterMs']}"
        )
        pauses.append(frame["reconnectAfterMs"])
    # The 40 connections are spread over one second, one in each 25 ms, and the two in the call come first.
    assert sorted((pause - 500) // 25 for pause in pauses) == list(range(40))
    assert sorted(pauses)[:2] == sorted(pauses[38:])
    assert world.server.exit_code(10) == 0


def test_an_idle_server_stops_at_once(server):
    began = time.monotonic()
    server.terminate()
    assert server.exit_code(10) == 0
    assert time.monotonic() - began < 9


def test_connections_that_wait_for_a_request_end_at_once(world):
    """A client that does not read keeps the server up for five seconds meanwhile."""
    from raw_socket import RawSocket

    stuck = RawSocket(world.server.port, world.token("11"), receive_buffer=4096)
    connection = world.connect("12")
    used = http.client.HTTPConnection("127.0.0.1", world.server.port, timeout=4)
    used.request("GET", "/api/me/devices", headers={"Authorization": f"Bearer {world.token('12')}"})
    response = used.getresponse()
    assert (response.status, response.will_close) == (200, False)
    response.read()
    fresh = socket.create_connection(("127.0.0.1", world.server.port), timeout=4)
    world.server.terminate()
    assert connection.close_code() == 1001
    assert (used.sock.recv(1), fresh.recv(1)) == (b"", b"")
    assert world.server.process.poll() is None, "the server is still up"
    stuck.close()
    used.close()
    fresh.close()
    assert world.server.exit_code(10) == 0


def test_new_clients_are_refused_while_draining(world):
    """While a client that does not read keeps the server up, all others are refused."""
    from raw_socket import RawSocket

    stuck = RawSocket(world.server.port, world.token("11"), receive_buffer=4096)
    connection = world.connect("12")
    world.server.terminate()
    assert connection.close_code() == 1001
    with pytest.raises((httpx.TransportError, OSError)):
        Rest(world.server.url, None).get("/api/me/devices")
    with pytest.raises(OSError):
        world.connect("13")
    assert world.server.process.poll() is None, "the server is still up"
    stuck.close()
    assert world.server.exit_code(10) == 0


@one_process("the test waits for its server's log while a thread polls")
def test_a_waiting_long_poll_gets_503_and_does_not_delay_the_stop(make_server, make_world):
    world = make_world(make_server("--log-level", "trace"))
    world.connect("11").ring("10", "c-1")
    rest = world.rest("10", allow_5xx=True)
    cursor = rest.log("c-1")["next"]
    outcome = []

    def poll():
        outcome.append(code(rest.get("/api/calls/signal/c-1", since=cursor, wait=30)))

    waiting = threading.Thread(target=poll)
    waiting.start()
    # The first request was for the cursor.
    eventually(lambda: world.server.errors().count("a request is carried out") == 2)
    world.server.terminate()
    assert world.server.exit_code(10) == 0
    waiting.join(5)
    assert outcome == [(503, "draining")]


def test_a_client_that_does_not_read_does_not_delay_the_stop(world):
    from raw_socket import RawSocket

    stuck = [RawSocket(world.server.port, world.token(f"u{n}"), receive_buffer=4096) for n in range(5)]
    world.server.terminate()
    assert world.server.exit_code(10) == 0
    for each in stuck:
        each.close()


def test_acked_signals_are_in_the_log_after_the_next_start(world):
    taro = world.connect("11")
    taro.ring("10", "c-1")
    for number in range(50):
        taro.ask(type="ice", callId="c-1", candidate=samples.candidate(number))
    world.server.terminate()
    assert world.server.exit_code(10) == 0
    world.server.start()
    log = world.rest("10").log("c-1")
    assert log["state"] == "ringing"
    assert log["candidates"] == [samples.candidate(number) for number in range(50)]


def test_a_call_continues_over_a_restart(world):
    world.call("c-1")
    world.server.terminate()
    assert world.server.exit_code(10) == 0
    world.server.start()
    taro, hanako = world.connect("11", "phone-11"), world.connect("10", "phone-10")
    taro.ask(type="info", callId="c-1", data="again")
    assert hanako.expect(type="info")["data"] == "again"


def test_a_second_sigterm_does_no_harm(world):
    world.connect("11")
    world.server.terminate()
    try:
        world.server.terminate()
    except ProcessLookupError:
        pass
    assert world.server.exit_code(10) == 0

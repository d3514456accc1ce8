"""Several event loops (`--loops 2`): they share the connections, one owns all calls, clients see no difference."""

import pathlib
import socket
import ssl
import threading
import time

import httpx
import pytest
import samples
from commands import one_clear_line, serve
from connection import Connection, signals
from raw_socket import RawSocket
from rest import Rest
from test_admin import connections, total
from test_durability import ices
from test_socketio import Raw, get, joined, post
from waiting import eventually

LOOPS = ("--loops", 2)


@pytest.fixture
def world(make_server, make_world):
    return make_world(make_server(*LOOPS))


def worked(server) -> dict[str, int]:
    """Returns how often the kernel has scheduled the thread of each event loop."""
    found = {}
    for task in pathlib.Path(f"/proc/{server.pid}/task").iterdir():
        try:
            name = (task / "comm").read_text().strip()
        except FileNotFoundError:  # a thread of the system's resolver, say, that has ended since
            continue
        if task.name == str(server.pid) or name.startswith("loop "):
            found["owner" if task.name == str(server.pid) else name] = int((task / "schedstat").read_text().split()[2])
    return found


def open_connections(world, pairs: int) -> list[tuple[Connection, Connection]]:
    # The kernel spreads connections by a hash of their ports. The probability that 2 × 20 of them are all on one of two
    # event loops is about 10⁻¹².
    return [(world.connect(f"a{pair}", "p"), world.connect(f"b{pair}", "p")) for pair in range(pairs)]


def test_a_hundred_pairs_call_each_other_in_order_and_nothing_is_lost(world):
    # A thread sets its name when it first runs.
    eventually(lambda: sorted(worked(world.server)) == ["loop 1", "owner"])
    before = worked(world.server)
    pairs, each = open_connections(world, 100), 20
    for number, (caller, callee) in enumerate(pairs):
        caller.send(type="offer", callId=f"c-{number}", to=callee.user, sdp=samples.OFFER)
    for number, (_, callee) in enumerate(pairs):
        callee.expect(type="offer", callId=f"c-{number}")
        callee.send(type="answer", callId=f"c-{number}", sdp=samples.ANSWER)
    # All send at the same time, so that many messages are on their way between the event loops.
    for candidate in range(each):
        for number, pair in enumerate(pairs):
            for connection in pair:
                connection.send(type="ice", callId=f"c-{number}", candidate=samples.candidate(candidate))
    expected = [samples.candidate(candidate) for candidate in range(each)]
    for pair in pairs:
        for connection in pair:
            for _ in range(each + 1):
                connection.expect(type="ack")
    for number, pair in enumerate(pairs):
        for connection in pair:
            connection.fence()
            heard = signals(connection.heard, f"c-{number}")
            assert [message["candidate"] for message in heard if message["type"] == "ice"] == expected
            seen = [message["seq"] for message in heard]
            assert seen == sorted(set(seen)), "a receiver's seq only grows"
            assert not [message for message in connection.heard if message["type"] == "error"]
            acks = [message["seq"] for message in connection.heard if message["type"] == "ack" and "seq" in message]
            assert len(acks) == each + 1 and acks == sorted(acks)
    after = worked(world.server)
    assert all(after[name] > before[name] + 50 for name in before), f"{before} {after}"
    assert total(world.server, "ringline_tcp_connections") >= 200


def test_requests_and_connections_on_different_loops_reach_each_other(world):
    pairs = open_connections(world, 10)
    for number, (caller, callee) in enumerate(pairs):
        # Each request has a separate connection, which may be on either event loop.
        posted = Rest(world.server.url, world.token(caller.user))
        assert posted.signal("offer", f"c-{number}", sdp=samples.OFFER, to=callee.user).status_code == 200
        posted.close()
        callee.expect(type="offer", callId=f"c-{number}")
        waiting = Rest(world.server.url, world.token(caller.user))
        since, responses = waiting.log(f"c-{number}")["next"], []

        def poll(rest=waiting, call_id=f"c-{number}", since=since, responses=responses):
            responses.append(rest.log(call_id, since=since, wait=20)["signals"])

        polling = threading.Thread(target=poll)
        polling.start()
        callee.ask(type="answer", callId=f"c-{number}", sdp=samples.ANSWER)
        polling.join(10)
        waiting.close()
        assert responses[0][0]["type"] == "answer"


def test_an_unauthorised_client_is_refused_on_every_loop(world):
    for _ in range(20):
        assert RawSocket(world.server.port, "a.b.c").status == 401
        assert RawSocket(world.server.port, world.token("11"), headers=["Origin: https://evil.example"]).status == 403
        assert httpx.get(f"{world.server.url}/api/me/devices", trust_env=False).status_code == 401
        assert httpx.get(f"{world.server.url}/nowhere", trust_env=False).status_code == 404
    assert total(world.server, "ringline_device_connections_opened") == 0


def test_an_abandoned_long_poll_is_forgotten(world):
    world.connect("11").ring("10", "c-1")
    cursor = world.rest("10").log("c-1")["next"]
    for _ in range(20):
        with pytest.raises(httpx.ReadTimeout):
            httpx.get(
                f"{world.server.url}/api/calls/signal/c-1",
                params={"since": cursor, "wait": 20},
                headers={"Authorization": f"Bearer {world.token('10')}"},
                trust_env=False,
                timeout=0.05,
            )
    eventually(lambda: total(world.server, "ringline_tcp_connections") <= 3)


def test_on_every_loop_a_reader_that_stops_reading_is_closed_and_its_sender_refused(world):
    port, token = world.server.port, world.token("10")
    stuck = [RawSocket(port, token, path=f"/ws?device=d{n}", receive_buffer=4096) for n in range(12)]
    sender = world.connect("11")
    accepted = 0
    while (reply := sender.reply_to(sender.send(type="message", to="10", body="x" * 8000)))["type"] == "ack":
        accepted += 1
        assert accepted < 100
    assert reply["code"] == "rate_limited"
    # The stuck connections do not answer pings either, so the server closes them.
    eventually(lambda: connections(world.server) == 1, 10)
    for each in stuck:
        each.socket.close()


def test_one_socketio_session_may_use_any_loop(world):
    for user in range(11, 21):
        sid = joined(world, user)
        raw = RawSocket(world.server.port, path=f"/socket.io/?EIO=4&transport=websocket&sid={sid}")
        assert raw.status == 101
        raw.frame(0x1, b"2probe")
        assert raw.read_until(0x1) == b"3probe"
        # The owner loop knows of this transport now, so it refuses a second one on either event loop.
        for _ in range(6):
            assert RawSocket(world.server.port, path=f"/socket.io/?EIO=4&transport=websocket&sid={sid}").status == 400
        raw.frame(0x1, b"5")
        raw.frame(0x1, b'420["is-online",{"userId":%d}]' % user)
        while not (text := raw.read_until(0x1)).startswith(b"430"):
            pass
        assert b'"online":true' in text
        raw.socket.close()


def test_an_unknown_socketio_session_is_refused_on_every_loop(world):
    for _ in range(20):
        refused = RawSocket(world.server.port, path="/socket.io/?EIO=4&transport=websocket&sid=nobody")
        assert refused.status == 400 and "application/json" in refused.head
        assert get(world, sid="nobody").json()["code"] == 1
        assert post(world, "nobody", "40").status_code == 400


def test_socketio_and_websocket_call_each_other(world):
    for user in range(11, 21):
        app, connection = Raw(world, user=user), world.connect(f"b{user}")
        assert app.hear().startswith("0")
        app.say("40")
        assert app.hear().startswith("40")
        connection.ring(str(user), f"c-{user}")
        while f"c-{user}" not in app.hear():
            pass
        app.socket.close()


def test_every_client_is_closed_with_1001_when_the_server_stops(world):
    connections = [world.connect(f"u{number}") for number in range(40)]
    stuck = [RawSocket(world.server.port, world.token(f"s{n}"), receive_buffer=4096) for n in range(10)]
    began = time.monotonic()
    world.server.terminate()
    assert [connection.close_code() for connection in connections] == [1001] * 40
    for each in stuck:
        each.socket.close()
    assert world.server.exit_code(10) == 0
    assert time.monotonic() - began < 9


def test_a_server_without_clients_stops_at_once(world):
    began = time.monotonic()
    world.server.terminate()
    assert world.server.exit_code(10) == 0
    assert time.monotonic() - began < 9


def test_waiting_long_polls_get_503_and_do_not_delay_the_stop(make_server, make_world):
    world = make_world(make_server(*LOOPS, "--log-level", "trace"))
    world.connect("11").ring("10", "c-1")
    cursor = world.rest("10").log("c-1")["next"]
    statuses = []

    def poll():
        with Rest(world.server.url, world.token("10"), allow_5xx=True).http as client:
            response = client.get("/api/calls/signal/c-1", params={"since": cursor, "wait": 30})
            statuses.append(response.status_code)

    polls = [threading.Thread(target=poll) for _ in range(4)]
    for each in polls:
        each.start()
    # The first request was for the cursor.
    eventually(lambda: world.server.errors().count("a request is carried out") == 5)
    world.server.terminate()
    assert world.server.exit_code(10) == 0
    for each in polls:
        each.join(5)
    assert statuses == [503] * 4


def test_acked_signals_survive_kill_9(world):
    for life in range(5):
        connections = open_connections(world, 10)
        acked: dict[str, list[int]] = {}
        for number, (caller, callee) in enumerate(connections):
            call_id = f"c-{life}-{number}"
            caller.ring(callee, call_id)
            for candidate in range(40):
                caller.send(type="ice", callId=call_id, candidate=samples.candidate(candidate))
        for number, (caller, _) in enumerate(connections):
            # At the kill, some signals are acked and others are on their way.
            for _ in range(4 * number):
                caller.wait(lambda message: message["type"] == "ack")
        world.server.kill()
        for number, (caller, _) in enumerate(connections):
            assert caller.close_code(3) == 1006
            acked[f"c-{life}-{number}"] = [m["seq"] for m in caller.heard if m["type"] == "ack" and "seq" in m]
        assert all(acked[f"c-{life}-{number}"] for number in range(1, 10)), "the run proves nothing without acks"
        world.server.start()
        for number in range(10):
            kept = [signal["seq"] for signal in world.rest(f"b{number}").log(f"c-{life}-{number}")["signals"]]
            assert set(acked[f"c-{life}-{number}"]) <= set(kept)
            ice = [signal["candidate"] for signal in ices(world.rest(f"b{number}"), f"c-{life}-{number}")]
            assert ice == [samples.candidate(candidate) for candidate in range(len(ice))], (
                "the first candidates are there, in order"
            )


@pytest.mark.parametrize("options", [(), LOOPS])
def test_a_second_server_reports_that_the_port_is_taken(world, tmp_path, options):
    result = serve(tmp_path / "other", "--listen", f"127.0.0.1:{world.server.port}", *options)
    one_clear_line(result, "--listen", "another process listens there", str(world.server.port))


def test_the_limit_of_connections_holds_over_all_loops(make_server, make_world):
    world = make_world(make_server(*LOOPS, "--max-tcp-connections", 30))
    sockets = [RawSocket(world.server.port, world.token(f"u{number}")) for number in range(29)]
    for _ in range(20):
        with pytest.raises((AssertionError, OSError)):
            for number in range(2):
                sockets.append(RawSocket(world.server.port, world.token(f"v{number}")))
    assert 29 <= len(sockets) <= 30
    sockets[0].socket.close()

    def is_let_in() -> bool:
        try:
            sockets.append(RawSocket(world.server.port, world.token("w")))
        except (AssertionError, OSError):
            # The server may not have noticed the closed connection yet.
            return False
        return True

    eventually(is_let_in)


def test_tls_is_served_on_every_loop(make_server, certificate):
    server = make_server(*LOOPS, "--tls-cert", certificate / "c.pem", "--tls-key", certificate / "k.pem")
    for _ in range(20):
        assert httpx.get(server.url, verify=False, trust_env=False).status_code == 200
    times = worked(server)
    assert sorted(times) == ["loop 1", "owner"] and min(times.values()) > 5, times


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_tls_session_is_resumed_on_every_loop(make_server, certificate, version):
    server = make_server(*LOOPS, "--tls-cert", certificate / "c.pem", "--tls-key", certificate / "k.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version

    def connect(session=None) -> ssl.SSLSocket:
        plain = socket.create_connection(("127.0.0.1", server.port), 8)
        secure = context.wrap_socket(plain, session=session)
        # In TLS 1.3 the session tickets come after the handshake, at the latest with the first response.
        secure.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert secure.recv(4096).startswith(b"HTTP/1.1 200")
        return secure

    first = connect()
    again = [connect(first.session) for _ in range(20)]
    assert all(each.session_reused for each in again)
    for each in [first, *again]:
        each.close()


@pytest.mark.parametrize("count", ["0", "17", "two"])
def test_there_are_1_to_16_loops(tmp_path, count):
    one_clear_line(serve(tmp_path, "--loops", count), "--loops", "1 to 16")

"""A client that exceeds a limit gets a clear error, and the server never crashes (protocol, section 8)."""

import concurrent.futures
import time

import httpx
import pytest
import raw_socket
import samples
from raw_socket import TEXT, RawSocket
from rest import code
from waiting import eventually
from websockets.exceptions import ConnectionClosed


def test_above_200_at_once_signals_are_rate_limited_and_an_end_is_not(world):
    taro, hanako = world.call("c-1")
    marks = [taro.send(type="ice", callId="c-1", candidate=samples.candidate(number)) for number in range(400)]
    replies = [taro.reply_to(mark) for mark in marks]
    refused = [reply for reply in replies if reply["type"] == "error"]
    assert {reply["code"] for reply in refused} == {"rate_limited"}
    assert 50 <= len(refused) <= 202, "a burst of 200 (the offer was one), then 50 a second"
    taro.ask(type="end", callId="c-1")
    hanako.fence()
    accepted = [reply["seq"] for reply in replies if reply["type"] == "ack"]
    assert [message["seq"] for message in hanako.heard if message["type"] == "ice"] == accepted


def test_a_thousand_refused_frames_close_with_4429(world):
    taro, hanako = world.call("c-1")
    try:
        for number in range(3000):
            taro.send(type="info", callId="c-1", data=number)
    except ConnectionClosed:
        pass  # The server closes while the client still sends, as it should.
    assert taro.close_code() == 4429
    hanako.fence()
    relayed = [message["data"] for message in hanako.heard if message["type"] == "info"]
    assert relayed[:150] == list(range(150)) and len(relayed) < 2000


def test_the_31st_new_call_in_a_minute_is_rate_limited(world):
    rest = world.rest("11")
    began = time.monotonic()
    responses = [rest.signal("offer", f"c-{number}", sdp=samples.OFFER, to=f"b{number}") for number in range(36)]
    more = int((time.monotonic() - began) / 2)  # one more call for every two seconds that it took
    assert more < 4, "the machine is too slow for this test"
    accepted = sum(response.status_code == 200 for response in responses)
    assert 30 <= accepted <= 30 + more
    assert [response.status_code for response in responses[:30]] == [200] * 30
    assert code(responses[35]) == (429, "rate_limited")
    assert int(responses[35].headers["retry-after"]) >= 1
    assert rest.signal("end", "c-0").status_code == 200, "a hang-up always gets through"
    assert world.rest("12").signal("offer", "c-1", sdp=samples.OFFER, to="13").status_code == 200, (
        "the limit does not concern another user"
    )


def test_a_log_holds_64_signals_before_the_answer_and_the_answer_still_fits(world):
    taro, hanako = world.call("c-1", answer=False)
    marks = [taro.send(type="ice", callId="c-1", candidate=samples.candidate(number)) for number in range(66)]
    replies = [taro.reply_to(mark) for mark in marks]
    assert [reply["type"] for reply in replies] == ["ack"] * 64 + ["error"] * 2
    assert {reply["code"] for reply in replies[64:]} == {"log_full"}
    hanako.ask(type="ringing", callId="c-1")
    hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    taro.ask(type="ice", callId="c-1", candidate=samples.candidate(70))


def test_a_log_holds_64_kib_before_the_answer(world):
    taro, hanako = world.call("c-1", answer=False)
    accepted = 0
    while taro.reply_to(taro.send(type="info", callId="c-1", data="x" * 16000))["type"] == "ack":
        accepted += 1
        assert accepted < 6
    assert accepted == 4
    taro.ask(type="end", callId="c-1")
    assert hanako.expect(type="call", state="ended")["reason"] == "cancelled"


def test_a_log_is_full_at_512_entries_and_the_end_still_fits(world):
    taro, hanako = world.call("c-1")
    replies = []
    # Every new connection may send 200 signals at once, so the rate limit refuses none of these.
    for start in (0, 300):
        for connection, first in ((taro, start), (hanako, start + 150)):
            numbers = range(first, first + 150)
            marks = [
                connection.send(type="ice", callId="c-1", candidate=samples.candidate(number)) for number in numbers
            ]
            replies += [connection.reply_to(mark) for mark in marks]
        for connection in (taro, hanako):
            connection.close()
        taro, hanako = world.connect("11", "phone-11"), world.connect("10", "phone-10")
    acked = [reply["seq"] for reply in replies if reply["type"] == "ack"]
    assert acked == [reply["seq"] for reply in replies[: len(acked)]], "once the log is full, no signal fits"
    assert 500 <= len(acked) and acked[-1] == 512, "the server's own entries count too"
    assert {reply["code"] for reply in replies[len(acked) :]} == {"log_full"}
    for connection in (taro, hanako):
        assert connection.refused(type="ice", callId="c-1", candidate=None)["code"] == "log_full"
    taro.ask(type="end", callId="c-1")
    assert hanako.expect(type="call", state="ended")["reason"] == "hangup"


def test_a_log_holds_512_kib(world):
    taro, hanako = world.call("c-1")
    large = "x" * 16000
    accepted = 0
    while taro.reply_to(taro.send(type="info", callId="c-1", data=large))["type"] == "ack":
        accepted += 1
        assert accepted < 40
    assert 28 <= accepted <= 33
    assert code(world.rest("11", device="phone-11").signal("info", "c-1", data=large)) == (409, "log_full")
    taro.ask(type="end", callId="c-1")
    assert hanako.expect(type="call", state="ended")


def test_the_17th_connection_of_a_user_is_closed_with_4429(world):
    connections = [world.connect("11", f"d-{number}") for number in range(16)]
    from connection import Connection

    extra = Connection(world.server.ws_url, world.token("11"), device="d-16", welcome=False)
    assert extra.close_code() == 4429
    for connection in connections:
        assert connection.fence() == []
    assert world.connect("10").fence() == [], "the limit does not concern another user"


def test_a_flood_is_refused_to_its_sender_and_the_reader_that_stops_is_not_closed(make_server, make_world):
    # The reader does not answer pings either. With the default probe timeout, a server on a slow machine might
    # close it with code 1001 for that reason.
    world = make_world(make_server("--probe-timeout", 60))
    stuck = RawSocket(world.server.port, world.token("10"), path="/ws?device=stuck", receive_buffer=4096)
    assert stuck.status == 101
    large = "x" * 8000
    for user in range(3):
        sender = world.connect(f"c{user}")
        accepted = 0
        while (reply := sender.reply_to(sender.send(type="message", to="10", body=large)))["type"] == "ack":
            accepted += 1
            assert accepted < 100
        assert reply["code"] == "rate_limited"
        assert accepted <= 40, "all senders share 256 KiB"
        # A call and its end still get through.
        sender.ask(type="offer", callId=f"c{user}", to="10", sdp=samples.OFFER)
        sender.ask(type="end", callId=f"c{user}")
    stuck.socket.settimeout(5)
    kinds = []
    while not any(b'"c2"' in payload and b'"ended"' in payload for _, payload in kinds):
        kinds.append(stuck.read())
    assert raw_socket.CLOSE not in [kind for kind, _ in kinds]


def test_a_victim_of_large_ringing_logs_connects_and_answers(make_server, make_world):
    world = make_world(make_server("--probe-timeout", 60))
    callers = [world.connect(f"c{number}") for number in range(5)]
    for caller in callers:
        caller.ring("10", caller.user)
        while caller.reply_to(caller.send(type="info", callId=caller.user, data="x" * 15000))["type"] == "ack":
            pass
    victim = world.connect("10", "victim")
    victim.expect(type="info", callId="c4")
    victim.ask(type="answer", callId="c4", sdp=samples.ANSWER)
    assert callers[4].expect(type="answer")["fromDevice"] == "victim"


def test_a_user_who_connects_too_often_gets_429_with_retry_after(make_server, make_world):
    world = make_world(make_server("--connects-per-minute", 3))
    token = world.token("11")
    heads = [RawSocket(world.server.port, token).head for _ in range(4)]
    assert [head.split(" ")[1] for head in heads] == ["101", "101", "101", "429"]
    assert "retry-after: 20" in heads[3].lower() or "retry-after: 19" in heads[3].lower()
    response = httpx.get(
        world.server.url + "/socket.io/",
        params={"EIO": 4, "transport": "polling", "token": token},
        trust_env=False,
    )
    assert (response.status_code, response.json()["code"]) == (429, "rate_limited")
    assert int(response.headers["retry-after"]) >= 1
    assert RawSocket(world.server.port, world.token("12")).status == 101, "the limit does not concern another user"
    assert 'ringline_limited_total{limit="connects"} 2' in world.server.metrics_text()


def test_a_socketio_client_with_its_token_in_connect_has_the_same_limit(make_server, make_world):
    """Such a handshake has no token. It was once not counted, so a user could connect without a limit."""
    world = make_world(make_server("--connects-per-minute", 3))
    token = world.token(None, uid=11)
    replies = []
    for _ in range(5):
        raw = RawSocket(world.server.port, path="/socket.io/?EIO=4&transport=websocket")
        raw.read_until(TEXT)
        raw.frame(TEXT, b'40{"token":"' + token.encode() + b'"}')
        replies.append(raw.read_until(TEXT).decode())
    assert [reply[:2] for reply in replies] == ["40", "40", "40", "44", "44"]
    assert '"code":"rate_limited"' in replies[4]
    assert 'ringline_limited_total{limit="connects"} 2' in world.server.metrics_text()


@pytest.mark.parametrize("kind", [raw_socket.PING, raw_socket.PONG])
def test_a_flood_of_pings_or_pongs_closes_with_4429(world, kind):
    flood = RawSocket(world.server.port, world.token("11"))
    closed = []

    def read():
        try:
            while not closed:
                opcode, payload = flood.read()
                if opcode == raw_socket.CLOSE:
                    closed.append(int.from_bytes(payload[:2], "big"))
        except OSError:
            closed.append(None)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        deadline = time.monotonic() + 60
        while not closed and time.monotonic() < deadline:
            try:
                # Pongs have a payload, because the library drops empty pongs. Pings have none, because the library
                # would put it where the close code belongs.
                flood.frame(kind, b"" if kind == raw_socket.PING else b"x")
            except OSError:
                break
        reading.result()
    assert closed == [4429]
    assert world.connect("12").fence() == []


def test_the_fifth_long_poll_of_a_call_is_429(world):
    taro, _ = world.call("c-1")
    rests = [world.rest("10", device="phone-10") for _ in range(5)]
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        polls = [pool.submit(rest.get, "/api/calls/signal/c-1", since=100, wait=5) for rest in rests]
        done, waiting = concurrent.futures.wait(polls, return_when=concurrent.futures.FIRST_COMPLETED)
        assert [code(poll.result()) for poll in done] == [(429, "rate_limited")]
        assert len(waiting) == 4
        taro.ask(type="end", callId="c-1")
        assert {poll.result().status_code for poll in waiting} == {200}


def test_a_user_over_the_daily_quota_only_takes_and_ends_calls(make_server, make_world):
    world = make_world(make_server("--stored-bytes-per-day", 100_000))
    taro, hanako = world.call("c-1")
    while (reply := taro.reply_to(taro.send(type="info", callId="c-1", data="x" * 9000)))["type"] == "ack":
        pass
    assert reply["code"] == "rate_limited"
    refused = world.rest("11").signal("offer", "c-2", sdp=samples.OFFER, to="12")
    assert code(refused) == (429, "rate_limited")
    assert int(refused.headers["retry-after"]) > 1
    hanako.ask(type="ice", callId="c-1", candidate=samples.candidate(1))
    hanako.ring("11", "c-3")
    taro.ask(type="ringing", callId="c-3")
    taro.ask(type="answer", callId="c-3", sdp=samples.ANSWER)
    for call in ("c-3", "c-1"):
        taro.ask(type="end", callId=call)


@pytest.mark.parametrize("connections", [200])
def test_connections_that_come_and_go_leave_no_descriptors_open(make_server, make_world, connections):
    world = make_world(make_server("--connects-per-minute", 1000))

    def descriptors() -> int:
        import os

        return len(os.listdir(f"/proc/{world.server.pid}/fd"))

    world.connect("11", "a").close()
    before = descriptors()
    for number in range(connections):
        connection = world.connect("11", f"d-{number % 8}")
        connection.close() if number % 2 else connection.drop()
    eventually(lambda: descriptors() <= before + 10, 10)

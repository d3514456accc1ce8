"""The log at `trace` follows a call through the server by its id; at `debug` it says why something was refused."""

import json
import os
import re
import signal
import time

import httpx
import pytest
import samples
from connection import Connection
from push_services import pushed, register
from push_services import token as push_token
from raw_socket import TEXT, RawSocket
from ringline_server import ROOT
from test_auth import forged, later, upgrade_status
from tokens import mint
from waiting import eventually
from world import push_options

PAGE = (ROOT / "Sources/Server/ringline/ringline.docc/LogLines.md").read_text()
KEYS = set(re.findall(r"`([a-z]+(?:\.[a-z]+)?)`", PAGE))


def log(server) -> list[dict]:
    """Returns the lines of a server's log, each with documented keys only."""
    text = server.errors()
    lines = [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
    unknown = {key for line in lines for key in line} - KEYS - {"time", "level", "message"}
    assert not unknown, unknown
    return lines


def having(server, **fields) -> list[dict]:
    """Returns the lines with these fields; `call_id` stands for `call.id`."""
    wanted = {name.replace("_", "."): value for name, value in fields.items()}
    return [line for line in log(server) if wanted.items() <= line.items()]


def found(server, count: int = 1, **fields) -> list[dict]:
    """Returns the lines with these fields, once there are that many; the server writes its log with a delay."""
    eventually(lambda: len(having(server, **fields)) >= count)
    return having(server, **fields)


@pytest.fixture
def tracing(make_server, make_world):
    return make_world(make_server("--log-level", "trace", "--log-format", "json"))


@pytest.fixture
def debugging(make_server, make_world):
    def make(*options):
        return make_world(make_server("--log-level", "debug", "--log-format", "json", *options))

    return make


def way(lines: list[dict], *names: str) -> list[tuple]:
    """Returns the message of each line, with those of the named fields that the line has."""
    return [(line["message"], *(line[name] for name in names if name in line)) for line in lines]


# A call's way


def test_a_calls_whole_way_is_found_by_its_id(tracing):
    taro, hanako = tracing.connect("11", "phone-11"), tracing.connect("10", "iphone-10")
    taro.ring(hanako, "c-1", sdp=samples.OFFER)
    offer = hanako.expect(type="offer", callId="c-1")
    hanako.ask(type="ringing", callId="c-1")
    hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    taro.ask(type="ice", callId="c-1", candidate=samples.CANDIDATES[0])
    again = taro.send(type="offer", callId="c-1", sdp=samples.VIDEO_OFFER)
    assert taro.reply_to(again)["type"] == "ack"
    taro.ask(type="end", callId="c-1")
    end = int(found(tracing.server, message="an entry was relayed", call_id="c-1", call_state="ended")[0]["call.seq"])
    found(tracing.server, call_id="c-1", message="an event is in the timeline", event_name="ended")
    # The acknowledgement of the end has come, so its commit is done; the line is written before the frame is sent.
    assert end > offer["seq"]
    lines = having(tracing.server, call_id="c-1")
    sessions = [each.welcome["session"] for each in (taro, hanako)]

    received = [line for line in lines if line["message"] == "a signal was received"]
    kinds = ["offer", "ringing", "answer", "ice", "offer", "end"]
    assert [line["signal.kind"] for line in received] == kinds
    senders = [sessions[0], sessions[1], sessions[1], sessions[0], sessions[0], sessions[0]]
    assert [line["connection.id"] for line in received] == senders
    assert [(line["user.id"], line["device.id"]) for line in received[:2]] == [("11", "phone-11"), ("10", "iphone-10")]

    decided = [line for line in lines if "offer.meaning" in line or "call.start" in line]
    assert way(decided, "offer.meaning", "call.start") == [
        ("an offer begins a call", "first"),
        ("a call is begun", "rings"),
        ("an offer is for a known call", "renegotiation"),
    ]

    relayed = [line for line in lines if line["message"] == "an entry was relayed"]
    assert [line.get("signal.kind") or line["call.state"] for line in relayed] == [
        *("offer", "ringing", "ringing", "answer", "answered", "ice", "offer", "end", "ended"),
    ]
    assert (relayed[0]["relay.count"], relayed[0]["relay.to"]) == (1, sessions[1])
    assert relayed[0]["call.seq"] == offer["seq"]
    assert relayed[-1]["relay.count"] == 2 and relayed[-1]["relay.to"].split(",") == sessions

    acknowledged = [line for line in lines if line["message"].startswith("a signal is acknowledged")]
    assert [line["connection.id"] for line in acknowledged] == senders
    of_call = [line for line in lines if line["level"] == "trace" and "call.epoch" in line]
    assert {(line["call.epoch"], line["call.number"]) for line in of_call} == {(1, 1)}

    commits = [line["commit.number"] for line in lines if line["message"] == "changes of the call go to the store"]
    durable = [line["commit.number"] for line in lines if line["message"] == "changes of the call are durable"]
    assert commits and durable == commits[: len(durable)]
    assert [line["message"] for line in lines if line["level"] == "info"] == ["call began", "call ended"]
    events = [line["event.name"] for line in lines if line["message"] == "an event is in the timeline"]
    assert events[:2] == ["delivered.socket", "probe"] and events[-1] == "ended"


def test_a_refused_signal_and_a_call_that_ends_at_once_are_in_the_calls_way(tracing):
    taro, hanako = tracing.call("c-1", answer=False)
    hanako.refused(type="offer", callId="c-1", sdp=samples.VIDEO_OFFER)
    refused = found(tracing.server, call_id="c-1", message="a frame was refused")
    assert [(line["refusal.code"], line["connection.id"]) for line in refused] == [
        ("call_exists", hanako.welcome["session"])
    ]
    assert found(tracing.server, call_id="c-1", offer_meaning="refused")
    # Both users call each other: the two calls cross, and one of them continues.
    two, other = tracing.connect("12", "phone-12"), tracing.connect("13", "phone-13")
    two.ring(other, "a-1")
    other.ring(two, "b-1")
    assert [line["call.start"] for line in found(tracing.server, call_id="b-1", message="a call is begun")] == ["glare"]


def test_a_push_a_fetch_and_an_end_by_request_are_in_the_calls_way(apns, make_server, make_world):
    server = make_server(*push_options(apns), "--log-level", "trace", "--log-format", "json")
    world = make_world(server)
    device = register(world)
    world.connect("11").ring("10", "c-1", sdp=samples.OFFER)
    act = pushed(apns, device)["payload"]["act"]
    rest = world.rest("10")
    rest.log("c-1")
    assert rest.signal("end", "c-1").status_code == 200
    found(server, message="APNs responded to a push")
    found(server, message="an event is in the timeline", event_name="ended")
    lines = having(server, call_id="c-1")
    events = [line["event.name"] for line in lines if "event.name" in line]
    assert {"push.sent", "push.result", "fetched", "ended"} <= set(events)
    (sent,) = [line for line in lines if line["message"] == "a push is sent to APNs"]
    (responded,) = [line for line in lines if line["message"] == "APNs responded to a push"]
    assert sent["push.id"] == responded["push.id"] and responded["push.status"] == 200
    assert [line["request.name"] for line in lines if "request.name" in line] == ["fetch", "signal"]
    text = server.errors()
    assert act not in text and push_token(1) not in text and "v=0" not in text


def test_the_timer_of_a_call_that_nobody_answers_is_in_its_way(make_server, make_world):
    world = make_world(make_server("--log-level", "trace", "--log-format", "json", "--ring-timeout", 1))
    taro, _ = world.call("c-1", answer=False)
    taro.expect(type="call", state="ended")
    found(world.server, call_id="c-1", message="call ended")
    lines = having(world.server, call_id="c-1")
    assert [line["message"] for line in lines].index("the call's timer fired") > 0
    assert "deadline" in [line.get("call.input") for line in lines]


def test_the_level_of_a_running_server_decides(make_server, make_world):
    server = make_server("--log-level", "info", "--log-format", "json")
    world = make_world(server)
    taro, _ = world.call("c-1")
    assert {line["level"] for line in log(server)} <= {"info", "notice", "warning"}
    for wanted in ("debug", "trace"):
        os.kill(server.pid, signal.SIGUSR1)
        eventually(lambda wanted=wanted: having(server, log_level=wanted))
    taro.ask(type="ice", callId="c-1", candidate=samples.CANDIDATES[0])
    assert found(server, call_id="c-1", signal_kind="ice", level="trace")


# Why something was refused


def test_the_log_shows_why_a_token_was_refused_and_no_part_of_the_token(debugging):
    world = debugging("--jwt-issuer", "https://auth.example.com", "--jwt-audience", "ringline")
    good = {"iss": "https://auth.example.com", "aud": "ringline"}
    secret = world.server.secret
    tokens = [
        mint(secret, "11", **good | {"exp": int(time.time()) - 3_600}),
        mint(secret, "11", **good | {"iss": "https://evil.example.com", "name": "Taro"}),
        mint(secret, "11", **good | {"aud": "other"}),
        mint(secret, "11", **good | {"nbf": later()}),
        mint(b"w" * 32, "11", **good, headers={"kid": "key-7"}),
        mint(secret, "11", **good, algorithm="HS512"),
        mint(secret, "11", **good | {"exp": "soon"}),
        forged({"alg": "none"}, {"sub": "11"}),
        "nonsense",
    ]
    for token in tokens:
        assert upgrade_status(world.server.ws_url, token) == 401
    lines = found(world.server, len(tokens), message="a token was refused")
    facts = [{key: value for key, value in line.items() if key.startswith("token.")} for line in lines]
    assert 3_595 <= int(facts[0].pop("token.expired").split()[0]) <= 3_700
    assert 3_000 <= int(facts[3].pop("token.early").split()[0]) <= 3_600
    assert facts == [
        {"token.cause": "expired"},
        {"token.cause": "issuer", "token.issuer": "https://evil.example.com"},
        {"token.cause": "audience", "token.audience": "other"},
        {"token.cause": "not_yet_valid"},
        {"token.cause": "signature", "token.key": "key-7", "token.algorithm": "HS256"},
        {"token.cause": "algorithm", "token.algorithm": "HS512"},
        {"token.cause": "claim", "token.claim": "exp"},
        {"token.cause": "malformed"},
        {"token.cause": "malformed"},
    ]
    refused = found(world.server, len(tokens), message="an upgrade was refused")
    assert [line["refusal.code"] for line in refused] == ["token_expired"] + ["unauthenticated"] * 8
    assert {line["request.path"] for line in refused} == {"/ws"} and all("connection.id" in line for line in refused)
    text = world.server.errors()
    for token in tokens[:-1]:
        for part in token.split("."):
            assert len(part) < 8 or part not in text
    assert "Taro" not in text and "soon" not in text and "user.id" not in text


def test_a_refused_capability_and_a_revoked_token_show_their_cause(debugging):
    world = debugging()
    old = world.token("11", iat=int(time.time()) - 10)
    assert world.rest("11").post("/api/logout-all", {}).status_code == 200
    assert upgrade_status(world.server.ws_url, old) == 401
    act = "AQNjLTECMTACMTEKcGhvbmUtMTAtMQAAAAAAAAABAAABnPp9VAA4qTGnRcGkCPPJ2u6Xcw"
    headers = {"Authorization": f"Ring {act}"}
    httpx.get(world.server.url + "/api/calls/signal/c-1", headers=headers, trust_env=False)
    lines = found(world.server, 2, message="a token was refused")
    assert way(lines, "token.cause", "user.id") == [
        ("a token was refused", "revoked", "11"),
        ("a token was refused", "act"),
    ]
    assert act not in world.server.errors()


def test_a_refused_upgrade_shows_why(debugging):
    world = debugging("--connects-per-minute", 3)
    port, token = world.server.port, world.token("11")
    assert RawSocket(port, token, headers=["Origin: https://evil.example.com"]).status == 403
    assert RawSocket(port).status == 401
    assert RawSocket(port, token, path="/ws?device=a%20b").status == 400
    assert RawSocket(port, token, path="/signal/ws").status == 404
    assert RawSocket(port, token, path="/eyJhbGciOi/ws").status == 404
    for _ in range(3):
        assert RawSocket(port, token).status == 101
    assert RawSocket(port, token).status == 429
    lines = found(world.server, 6, message="an upgrade was refused")
    assert way(lines, "refusal.code", "request.path") == [
        ("an upgrade was refused", "forbidden", "/ws"),
        ("an upgrade was refused", "unauthenticated", "/ws"),
        ("an upgrade was refused", "invalid_field", "/ws"),
        ("an upgrade was refused", "not_found", "/signal/ws"),
        ("an upgrade was refused", "not_found", "/*/ws"),
        ("an upgrade was refused", "rate_limited", "/ws"),
    ]
    assert lines[0]["refusal.why"] == "this Origin is not allowed"
    (page,) = found(world.server, message="a page was refused because of its Origin; see --allow-origin")
    assert page["request.origin"] == "https://evil.example.com"


def test_a_refused_request_shows_why(debugging):
    world = debugging()
    rest = world.rest("11")
    assert rest.get("/api/calls/c-7").status_code == 404
    assert rest.get("/api/unknown/eyJhbGciOi").status_code == 404
    assert rest.get("/api/calls", limit=0).status_code == 400
    lines = found(world.server, 3, message="a request was refused")
    assert way(lines, "request.method", "request.path", "refusal.code") == [
        ("a request was refused", "not_found"),
        ("a request was refused", "GET", "/api/*/*", "not_found"),
        ("a request was refused", "GET", "/api/calls", "invalid_field"),
    ]


# Connections


def test_a_connection_shows_its_beginning_and_its_end(debugging):
    world = debugging()
    connection = world.connect("11", "d-1")
    world.connect("11", "d-1").close()
    assert connection.close_code() == 4409
    found(world.server, 2, message="a connection has ended")
    names = ("connection.code", "connection.transport", "user.id", "device.id")
    lines = [line for line in log(world.server) if "connection.id" in line]
    assert way(lines, *names) == [
        ("a connection was opened", "websocket", "11", "d-1"),
        ("the server closes a connection", 4409),
        ("a connection has ended", 4409, "websocket", "11", "d-1"),
        ("a connection was opened", "websocket", "11", "d-1"),
        ("a connection has ended", 1000, "websocket", "11", "d-1"),
    ]
    assert lines[0]["connection.id"] == lines[2]["connection.id"] == connection.welcome["session"]
    assert all(int(line["connection.seconds"]) < 30 for line in lines if line["message"] == "a connection has ended")


@pytest.mark.timeout(90)
def has_answer(caller) -> bool:
    return any(message["type"] == "answer" for message in caller.fence())


def test_a_slow_reader_shows_how_much_waits_for_it(debugging):
    world = debugging("--probe-timeout", 600)
    stuck = RawSocket(world.server.port, world.token("10"), receive_buffer=4096)
    slowly = {"message": "a connection reads slowly: signals and texts to it may be refused"}
    too_slowly = {"message": "a connection reads too slowly and is closed"}
    deadline = time.monotonic() + 60
    number = 0
    while not having(world.server, **too_slowly):
        assert time.monotonic() < deadline
        # The server never refuses a renegotiation, however much waits for its receiver.
        caller = world.connect(f"c{number}")
        caller.ring("10", f"c{number}")
        stuck.frame(TEXT, json.dumps({"type": "answer", "callId": f"c{number}", "sdp": samples.ANSWER}).encode())
        # The server may close the connection before it reads the answer.
        eventually(lambda caller=caller: has_answer(caller) or having(world.server, **too_slowly))
        for round in range(9 if has_answer(caller) else 0):
            caller.ask(type="offer", callId=f"c{number}", sdp=samples.OFFER + f"a=x-{round}:{'x' * 44_000}\r\n")
        number += 1
    (first, last) = having(world.server, **slowly)[0], having(world.server, **too_slowly)[0]
    assert first["connection.id"] == last["connection.id"]
    assert 50_000 < first["connection.bytes"] < last["connection.bytes"] <= 1 << 20
    found(world.server, message="a connection has ended", connection_code=4408)
    stuck.close()


def test_shutting_down_shows_how_many_connections_are_left(debugging):
    world = debugging()
    world.connect("11")
    # This client never answers the server's close.
    silent = RawSocket(world.server.port, world.token("10"))
    world.server.terminate()
    assert world.server.exit_code(20) == 0
    messages = [line["message"] for line in log(world.server)]
    assert messages.index("shutting down") < messages.index("connections are still being closed")
    assert messages.index("connections are still being closed") < messages.index("stopped")
    assert {"all connections are closed", "the time for closing is over: connections are cut off"} & set(messages)
    silent.close()


def test_a_log_at_info_contains_none_of_these_lines(make_server, make_world):
    world = make_world(make_server("--log-level", "info", "--log-format", "json"))
    upgrade_status(world.server.ws_url, "nonsense")
    Connection(world.server.ws_url, world.token("11")).close()
    world.call("c-1")
    assert {line["level"] for line in log(world.server)} <= {"info", "notice", "warning"}

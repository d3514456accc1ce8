"""`watch` on /ws: timelines of calls while they happen (protocol, section 3.11), with odd clients and odd moments."""

import json
import re

import pytest
import samples
from connection import Connection
from test_monitoring import sample

SERVICE = {"scope": "server"}


def watching(world, device="console", user="support", **fields) -> Connection:
    """Returns the connection of a service that watches."""
    connection = world.connect(user, device, claims=SERVICE)
    connection.ask(type="watch", **fields)
    return connection


def timeline(world, call_id: str, **params) -> list[dict]:
    response = world.rest("support", **SERVICE).get(f"/api/calls/{call_id}/timeline", **params)
    assert response.status_code == 200, response.text
    return response.json()["events"]


def events(messages: list[dict]) -> list[dict]:
    """Returns the events of the frames as the timeline of a request has them."""
    others = {"type", "callId", "epoch", "caller", "callee"}
    return [
        {name: value for name, value in each.items() if name not in others}
        for each in messages
        if each["type"] == "timeline"
    ]


def unordered(events: list[dict]) -> list[dict]:
    """Returns events without an order among those of one millisecond: a request merges them from two places."""
    return sorted(events, key=lambda each: (each["at"], json.dumps(each, sort_keys=True)))


def watches(world) -> float:
    return sample(world.server, "ringline_watches")


# Who may watch


@pytest.mark.parametrize("scope", ["", "serv", "SERVER", "server:read", "user servers", ["Server"], [], None])
def test_other_scopes_are_forbidden(world, scope):
    connection = world.connect("support", "d", claims={"scope": scope})
    refusal = connection.refused(type="watch")
    assert (refusal["code"], refusal["field"]) == ("forbidden", "type")
    world.call()
    assert not events(connection.fence())
    assert watches(world) == 0


@pytest.mark.parametrize("scope", ["server", "user server", ["user", "server"]])
def test_a_word_of_the_scope_is_enough(world, scope):
    connection = world.connect("support", "d", claims={"scope": scope})
    connection.ask(type="watch")
    assert watches(world) == 1


def test_a_watch_ends_with_the_token_that_allowed_it(world):
    renewed, kept = watching(world, "a"), watching(world, "b")
    renewed.ask(type="auth", token=world.token("support"))
    kept.ask(type="auth", token=world.token("support", **SERVICE))
    assert watches(world) == 1
    world.call()
    assert not events(renewed.fence())
    assert len(events(kept.fence())) > 3
    # The same connection may watch again as soon as it is a service's.
    assert renewed.refused(type="watch")["code"] == "forbidden"
    renewed.ask(type="auth", token=world.token("support", **SERVICE))
    renewed.ask(type="watch", callId="c-1")
    assert unordered(events(renewed.fence())) == unordered(timeline(world, "c-1"))


def test_logging_out_everywhere_closes_a_watch(world):
    connection = watching(world)
    other = watching(world, user="other")
    assert world.rest("boss", **SERVICE).post("/api/logout-all", {"userId": "support"}).status_code == 200
    assert connection.close_code() == 4401
    world.call()
    assert events(other.fence()) and watches(world) == 1


# Frames

ODD = [
    True,
    False,
    0,
    -1,
    1.5,
    10**30,
    "",
    " ",
    "a b",
    "\0",
    "c\0d",
    "ä",
    "c" * 129,
    "x" * 60_000,
    [],
    ["c-1"],
    {},
    "\ud800",
    "../..",
]


@pytest.mark.parametrize("member", ["callId", "userId"])
def test_odd_values_are_refused_by_name_and_begin_nothing(world, member):
    connection = world.connect("support", "console", claims=SERVICE)
    for value in ODD:
        mark = connection.send(type="watch", **{member: value})
        reply = connection.reply_to(mark)
        if reply["type"] == "ack":
            # A user's id may be a number, as everywhere.
            assert member == "userId" and type(value) is int, value
            connection.ask(type="watch", userId="nobody")
        else:
            assert (reply["code"], reply["field"]) == ("invalid_field", member), (value, reply)
    assert watches(world) <= 1
    for text in (
        '{"type":"watch","id":"t","callId":"c","callId":"d"}',
        '{"type":"watch","id":"t","c\\u0061llId":"c","callId":"d"}',
    ):
        connection.send_raw(text)
        assert connection.expect(type="error")["code"] == "invalid_json"


def test_null_counts_as_absent_and_an_id_is_not_needed(world):
    connection = world.connect("support", "console", claims=SERVICE)
    connection.send_raw('{"type":"watch","callId":null,"userId":null,"id":null}')
    connection.fence()
    assert watches(world) == 1


# Moments


def test_watching_again_and_again_ends_with_the_last_watch(world):
    world.call()
    connection = world.connect("support", "console", claims=SERVICE)
    marks = [connection.send(type="watch", callId="c-1") for _ in range(20)]
    marks.append(connection.send(type="watch", userId="nobody"))
    for mark in marks:
        assert connection.reply_to(mark)["type"] == "ack"
    assert watches(world) == 1
    connection.fence()
    connection.inbox.clear()
    world.connect("11", "phone-11").ask(type="end", callId="c-1")
    assert not events(connection.fence())


def test_a_watch_of_a_call_with_all_its_epochs_shows_each_epoch(world):
    one, other = world.call()
    early = watching(world, "early", callId="c-1")
    for epoch in (2, 3):
        one.ask(type="end", callId="c-1")
        other.expect(type="call", state="ended")
        one.ring(other, "c-1", sdp=samples.changed(samples.OFFER, str(epoch)))
        other.expect(type="offer", callId="c-1")
        other.ask(type="answer", callId="c-1", sdp=samples.changed(samples.ANSWER, str(epoch)))
    late = watching(world, "late", callId="c-1")
    frames = early.fence()
    for epoch in (1, 2, 3):
        of_epoch = events([each for each in frames if each.get("epoch") == epoch])
        assert unordered(of_epoch) == unordered(timeline(world, "c-1", epoch=epoch)), epoch
    assert unordered(events(late.fence())) == unordered(timeline(world, "c-1"))


def test_two_pairs_with_one_call_id_are_told_apart_by_the_user(world):
    world.call("c-1")
    world.call("c-1", "21", "20")
    first, second = (
        watching(world, "first", callId="c-1", userId="10"),
        watching(world, "second", callId="c-1", userId="21"),
    )
    assert {each["caller"] for each in first.fence() if each["type"] == "timeline"} == {"11"}
    assert {each["caller"] for each in second.fence() if each["type"] == "timeline"} == {"21"}
    assert not events(watching(world, "third", callId="c-1", userId="33").fence())


def test_no_event_has_a_description_an_address_or_a_token(world):
    connection = watching(world)
    one, other = world.call()
    one.ask(type="ice", callId="c-1", candidate={"candidate": "candidate:1 1 udp 1 192.0.2.77 9 typ host"})
    one.ask(type="info", callId="c-1", data={"secret": "do-not-show"})
    one.ask(type="update", callId="c-1", hold=True, mine="do-not-show")
    one.ask(type="end", callId="c-1", note="do-not-show")
    connection.fence()
    text = "\n".join(connection.raw)
    assert '"timeline"' in text
    for secret in ("192.0.2.77", "do-not-show", "v=0", "eyJ", "a=fingerprint"):
        assert secret not in text, re.findall(f".{{80}}{secret}.{{20}}", text)

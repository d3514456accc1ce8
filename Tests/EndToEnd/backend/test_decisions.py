"""Decisions of the app's backend about new calls (protocol, section 14)."""

import concurrent.futures
import contextlib
import itertools
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
import samples
from app_backend import AppDecider, read_feed
from commands import one_clear_line, run, serve, wait_for
from postgres_server import sqlite_only
from push_services import pushed, register
from ringline_server import ROOT, free_port
from waiting import eventually
from world import push_options

PAGE = ROOT / "Sources/Server/ringline/ringline.docc/WhoMayCallWhom.md"
TRANSPORTS = ["websocket", "rest"]


@pytest.fixture
def decider(tmp_path):
    decider = AppDecider(tmp_path)
    yield decider
    decider.gate.set()
    decider.close()
    assert not decider.faults, decider.faults


@pytest.fixture
def start(make_server, make_world, decider):
    """Returns a function that starts a server which asks the backend, and makes its world."""

    def start(*options, **more):
        return make_world(make_server(*decider.options, *options, **more))

    return start


def offer(world, transport="websocket", call_id="c-1", caller="11", to="10", claims=None, **fields) -> dict:
    """Offers a call, and returns the ack or the error; over REST with the HTTP status."""
    fields = {"to": to, "sdp": samples.OFFER} | fields
    if transport == "rest":
        response = world.rest(caller, allow_5xx=True, **(claims or {})).signal("offer", call_id, **fields)
        return response.json() | {"status": response.status_code}
    connection = world.connect(caller, f"phone-{caller}", claims=claims)
    return connection.reply_to(connection.send(type="offer", callId=call_id, **fields))


def explain(world, call_id="c-1", *words: str) -> str:
    """Waits until the explanation contains all these words, and returns it on one line."""
    wait_for(world, call_id, *words)
    return " ".join(run("explain", call_id, *world.server.store_options).stdout.split())


def outcomes(world) -> dict[str, int]:
    """Returns the decisions by outcome, without those that are 0."""
    prefix = 'ringline_decisions_total{outcome="'
    lines = [line[len(prefix) :] for line in world.server.metrics_text().splitlines() if line.startswith(prefix)]
    counts = {line.split('"')[0]: int(line.split()[-1]) for line in lines}
    assert len(counts) == 9
    return {outcome: count for outcome, count in counts.items() if count}


def metric(world, name: str) -> float:
    return next(float(line.split()[1]) for line in world.server.metrics_text().splitlines() if line.startswith(name + " "))


def nothing_came(callee):
    assert [each for each in callee.fence() if each["type"] not in ("ack", "presence")] == []


# MARK: The answers


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_an_allowed_call_rings(start, decider, transport):
    world = start()
    callee = world.connect("10", "phone-10")
    reply = offer(world, transport)
    assert "code" not in reply, reply
    assert callee.expect(type="offer", callId="c-1")["sdp"] == samples.OFFER
    (question,) = decider.questions
    assert question.call == {"caller": "11", "to": ["10"], "callId": "c-1", "hasVideo": False, "token": {}}
    assert question.path == "/decide" and question.id.startswith("dec_")
    assert question.headers["content-type"] == "application/json"
    assert question.headers["user-agent"].startswith("ringline/")
    assert outcomes(world) == {"allowed": 1} and metric(world, "ringline_decision_seconds_count") == 1
    explain(world, "c-1", "The app's backend allowed the call after")


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_backend_names_the_caller_and_shortens_the_ring(start, decider, apns, transport):
    decider.answer = lambda question: {
        "allow": True,
        "displayName": "Dr Kim",
        "handle": "+82212345678",
        "handleType": "phoneNumber",
        "ringTimeout": 7,
    }
    world = start(*push_options(apns), "--probe-timeout", "0.3")
    token = register(world)
    assert "code" not in offer(world, transport, ringTimeout=30, displayName="The Bank")
    payload = pushed(apns, token)["payload"]
    assert payload["callerName"] == payload["fromDisplayName"] == "Dr Kim", payload
    assert (payload["handle"], payload["handleType"]) == ("+82212345678", "phoneNumber"), payload
    frame = world.connect("10", "phone-10").expect(type="offer", callId="c-1")
    assert (frame["displayName"], frame["handle"], frame["handleType"]) == ("Dr Kim", "+82212345678", "phoneNumber")
    assert frame["ringUntil"] - frame["ts"] <= 7_000, frame


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_call_that_is_refused_openly_begins_nowhere(start, decider, transport):
    decider.answer = lambda question: {"allow": False, "code": "not_a_contact", "message": "Ask Hanako first."}
    world = start("--events-feed", "true")
    callee = world.connect("10", "phone-10")
    reply = offer(world, transport)
    assert (reply["code"], reply["appCode"], reply["message"]) == ("refused_by_app", "not_a_contact", "Ask Hanako first.")
    if transport == "rest":
        assert reply["status"] == 403
    nothing_came(callee)
    explain(world, "c-1", "The app's backend refused the call (not_a_contact) after", "the caller was told")
    assert read_feed(world.rest("backend", scope="server")) == []
    for user in ("10", "11"):
        assert world.rest(user).get("/api/calls").json() == []
    assert outcomes(world) == {"refused": 1}
    line = next(line for line in world.server.usual_log().splitlines() if "the app's backend refused a call" in line)
    for field in ("call.id=c-1", "decision.code=not_a_contact", "decision.outcome=refused", "decision.milliseconds="):
        assert field in line


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_hidden_call_looks_to_its_caller_like_one_that_nobody_answers(start, decider, transport):
    world = start()
    callee = world.connect("10", "phone-10")
    allowed = offer(world, transport, "c-1")
    callee.expect(type="offer", callId="c-1")
    callee.inbox.clear()
    decider.answer = lambda question: {"allow": False, "show": "nothing", "code": "stranger"}
    hidden = offer(world, transport, "c-2")
    assert hidden.keys() == allowed.keys() and "code" not in hidden
    assert [each for each in callee.fence() if each.get("callId") == "c-2"] == []
    explain(world, "c-2", "The app's backend refused the call (stranger) after", "The caller saw an ordinary ring")
    assert outcomes(world) == {"allowed": 1, "hidden": 1}


# MARK: No decision


@pytest.mark.parametrize("failure", ["allow", "refuse"])
def test_a_late_decision_changes_nothing(start, decider, failure):
    decider.hold({"allow": False})
    world = start("--decide-timeout", "0.3", "--decide-failure", failure)
    callee = world.connect("10", "phone-10")
    began = time.monotonic()
    reply = offer(world, "rest")
    assert time.monotonic() - began < 2
    if failure == "allow":
        callee.expect(type="offer", callId="c-1")
        explain(world, "c-1", "The app's backend did not decide within", "the call was allowed, as --decide-failure says")
    else:
        assert (reply["status"], reply["code"]) == (503, "decision_unavailable"), reply
        nothing_came(callee)
        explain(world, "c-1", "The app's backend did not decide within", "the call was refused, as --decide-failure says")
    decider.gate.set()
    eventually(lambda: metric(world, "ringline_decisions_ignored_total") == 1)
    assert outcomes(world) == {"late": 1}
    assert "decision.outcome=late" in world.server.usual_log()


def endless(handler):
    """Responds with a gigabyte, as far as the server reads it."""
    handler.send_response(200)
    handler.send_header("content-length", str(1 << 30))
    handler.end_headers()
    handler.sent = 0
    with contextlib.suppress(OSError):
        while handler.sent < 1 << 30:
            handler.sent += handler.wfile.write(b" " * (1 << 16))
    handler.close_connection = True
    endless.sent = handler.sent


WRONG = {
    "500": (500, "unreachable"),
    "503": ((503, {"retry-after": "60"}), "unreachable"),
    "302": ((302, {"location": "/elsewhere"}), "malformed"),
    "204": (204, "malformed"),
    "410": (410, "malformed"),
    "no-json": (b"yes", "malformed"),
    "no-allow": ({"show": "refused"}, "malformed"),
    "another-callee": ({"allow": True, "to": ["12"]}, "malformed"),
    "gigabyte": (lambda handler: endless(handler), "unreachable"),
    "cut": (None, "unreachable"),
}


@pytest.mark.parametrize("failure", ["allow", "refuse"])
def test_a_response_that_is_no_decision_is_none(start, decider, failure):
    world = start("--decide-failure", failure, "--decide-timeout", "5")
    callee = world.connect("10", "phone-10")
    expected = {}
    for number, (name, (answer, outcome)) in enumerate(WRONG.items()):
        decider.answer = lambda question, answer=answer: answer
        reply = offer(world, "rest", f"c-{name}", caller=f"2{number}")
        expected[outcome] = expected.get(outcome, 0) + 1
        if failure == "allow":
            assert "code" not in reply, (name, reply)
            callee.expect(type="offer", callId=f"c-{name}")
            # Of six callers at a time, the last would be told that the callee is busy.
            callee.ask(type="end", callId=f"c-{name}")
        else:
            assert (reply["status"], reply["code"]) == (503, "decision_unavailable"), (name, reply)
        assert outcomes(world) == expected, name
    assert {question.path for question in decider.questions} == {"/decide"}, "no redirect is followed"
    assert len(decider.questions) == len(WRONG), "nobody is asked twice"
    assert endless.sent < 64 << 20 and metric(world, "process_resident_memory_bytes") < 400 << 20
    log = world.server.usual_log()
    assert log.count("gave a response that no decision can be read from") <= 2, "at most one in each of two minutes"
    assert "the response body is larger than the limit" in log
    if failure == "refuse":
        nothing_came(callee)


def test_nobody_listens(make_server, make_world, decider):
    options = ["--decide-url", f"http://127.0.0.1:{free_port()}/", "--events-secret-file", decider.secret_file]
    world = make_world(make_server(*options))
    callee = world.connect("10", "phone-10")
    assert "code" not in offer(world, "rest")
    callee.expect(type="offer")
    explain(world, "c-1", "The app's backend could not be reached, or failed")
    assert "the host cannot be reached" in world.server.usual_log()


@pytest.mark.parametrize("trusted", [True, False])
def test_the_backends_certificate_is_checked(make_server, make_world, decider, certificate, trusted):
    decider.use_tls(certificate / "c.pem", certificate / "k.pem")
    authority = certificate / ("c.pem" if trusted else "other-c.pem")
    options = ["--decide-url", f"https://localhost:{decider.port}/decide", "--events-secret-file", decider.secret_file]
    world = make_world(make_server(*options, "--events-ca-file", authority, "--decide-failure", "refuse"))
    reply = offer(world, "rest")
    if trusted:
        assert "code" not in reply and len(decider.questions) == 1
    else:
        assert reply["code"] == "decision_unavailable" and not decider.questions
        assert "the server's certificate was refused" in world.server.usual_log()


# MARK: While nothing is decided


def test_a_caller_who_gives_up_withdraws_the_offer(start, decider, apns):
    decider.hold({"allow": True})
    world = start(*push_options(apns), "--decide-timeout", "10")
    token = register(world)
    callee, caller = world.connect("10", "phone-10"), world.connect("11", "phone-11")
    mark = caller.send(type="offer", callId="c-1", to="10", sdp=samples.OFFER)
    decider.expect_questions(1)
    caller.send(type="end", callId="c-1")
    assert caller.reply_to(mark)["code"] == "call_ended"
    decider.gate.set()
    eventually(lambda: outcomes(world) == {"withdrawn": 1})
    nothing_came(callee)
    assert apns.pushes(token) == []


def test_candidates_wait_for_the_decision_behind_the_offer(start, decider):
    decider.hold({"allow": True})
    world = start("--decide-timeout", "10")
    callee, caller = world.connect("10", "phone-10"), world.connect("11", "phone-11")
    marks = [caller.send(type="offer", callId="c-1", to="10", sdp=samples.OFFER)]
    marks += [caller.send(type="ice", callId="c-1", candidate=samples.candidate(number)) for number in range(3)]
    decider.expect_questions(1)
    caller.fence()
    nothing_came(callee)
    decider.gate.set()
    for mark in marks:
        assert caller.reply_to(mark)["type"] == "ack"
    eventually(lambda: len([each for each in callee.fence() if each.get("callId") == "c-1"]) == 4)
    came = [each for each in callee.heard if each.get("callId") == "c-1"]
    assert [each["type"] for each in came] == ["offer", "ice", "ice", "ice"]
    assert [each["candidate"]["candidate"] for each in came[1:]] == [
        samples.candidate(number)["candidate"] for number in range(3)
    ]


def test_an_offer_that_is_repeated_asks_once(start, decider):
    decider.hold({"allow": True})
    world = start("--decide-timeout", "10")
    callee, caller = world.connect("10", "phone-10"), world.connect("11", "phone-11")
    for _ in range(3):
        caller.send(type="offer", id="o-1", callId="c-1", to="10", sdp=samples.OFFER)
    decider.expect_questions(1)
    caller.fence()
    decider.gate.set()
    acks = [caller.reply_to("o-1") for _ in range(3)]
    assert {ack["type"] for ack in acks} == {"ack"} and len({ack["seq"] for ack in acks}) == 1
    callee.expect(type="offer", callId="c-1")
    nothing_came(callee)
    assert len(decider.questions) == 1


def test_a_caller_has_at_most_four_undecided_calls(start, decider):
    decider.hold({"allow": True})
    world = start("--decide-timeout", "10")
    caller, other = world.connect("11", "phone-11"), world.connect("12", "phone-12")
    marks = [caller.send(type="offer", callId=f"c-{n}", to=f"2{n}", sdp=samples.OFFER) for n in range(4)]
    decider.expect_questions(4)
    assert caller.refused(type="offer", callId="c-4", to="24", sdp=samples.OFFER)["code"] == "rate_limited"
    marks.append(other.send(type="offer", callId="c-5", to="25", sdp=samples.OFFER))
    decider.expect_questions(5)
    decider.gate.set()
    assert {caller.reply_to(mark)["type"] for mark in marks[:4]} == {other.reply_to(marks[4])["type"]} == {"ack"}
    assert 'ringline_limited_total{limit="decisions"} 1' in world.server.metrics_text()


def test_one_account_does_not_stop_the_decisions_but_five_do_until_a_probe_succeeds(start, decider):
    decider.answer = lambda question: 500
    world = start()
    caller = world.connect("11", "phone-11")
    for number in range(25):
        caller.ring("10", f"c-{number}")
    assert outcomes(world) == {"unreachable": 25} and metric(world, "ringline_decisions_stopped") == 0
    for number in range(4):
        offer(world, caller=f"3{number}", to=f"4{number}", call_id=f"d-{number}")
    assert metric(world, "ringline_decisions_stopped") == 1
    assert "the app's backend does not decide about calls; it is asked again in 10 s" in world.server.usual_log()
    decider.answer = lambda question: {"allow": False}
    count = len(decider.questions)
    assert "code" not in offer(world, caller="50", to="51", call_id="e-0")
    assert len(decider.questions) == count and outcomes(world)["unasked"] == 1
    explain(world, "e-0", "The app's backend was not asked, because it had failed shortly before")
    callers = itertools.count(60)

    def is_refused() -> bool:
        caller = str(next(callers))
        return offer(world, "rest", call_id=f"f-{caller}", caller=caller, to="53").get("code") == "refused_by_app"

    eventually(is_refused, 20)
    assert metric(world, "ringline_decisions_stopped") == 0
    assert "the app's backend decides about calls again" in world.server.usual_log()
    assert offer(world, "rest", call_id="e-2", caller="54", to="55")["code"] == "refused_by_app"


# MARK: Ends of the server


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_drain_does_not_wait_for_a_decision(start, decider, transport):
    decider.hold({"allow": True})
    world = start("--decide-timeout", "10")
    callee, caller = world.connect("10", "phone-10"), world.connect("11", "phone-11")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        if transport == "rest":
            reply = pool.submit(offer, world, "rest", caller="12")
        else:
            caller.send(type="offer", callId="c-1", to="10", sdp=samples.OFFER)
        decider.expect_questions(1)
        world.server.terminate()
        if transport == "rest":
            assert (reply.result(10)["status"], reply.result()["code"]) == (503, "draining")
    assert caller.close_code() == 1001 and world.server.exit_code() == 0
    # The client of the WebSocket repeats its offer when it is connected again.
    assert not [each for each in caller.heard if each["type"] in ("ack", "error")]
    callee.close_code()
    assert not [each for each in callee.heard if each["type"] == "offer"]


@sqlite_only("the server is killed")
def test_after_a_kill_the_repeated_offer_is_asked_about_again(start, decider):
    decider.hold({"allow": True})
    world = start("--decide-timeout", "10")
    caller = world.connect("11", "phone-11")
    caller.send(type="offer", id="o-1", callId="c-1", to="10", sdp=samples.OFFER)
    decider.expect_questions(1)
    world.server.kill()
    decider.gate.set()
    decider.answer = lambda question: {"allow": True}
    world.server.start()
    callee, caller = world.connect("10", "phone-10"), world.connect("11", "phone-11")
    assert caller.ask(type="offer", id="o-1", callId="c-1", to="10", sdp=samples.OFFER)["epoch"] == 1
    callee.expect(type="offer", callId="c-1")
    assert [question.call["callId"] for question in decider.questions] == ["c-1", "c-1"]
    assert len({question.id for question in decider.questions}) == 2


# MARK: Who is asked about what


def test_what_the_server_decides_itself_asks_nobody(start, decider):
    world = start()
    caller, callee = world.call()
    assert len(decider.questions) == 1
    caller.ask(type="offer", callId="c-1", to="10", sdp=samples.changed(samples.OFFER, "again"))
    callee.expect(type="offer", callId="c-1")
    assert world.rest("20").post("/api/blocks", {"userId": "11"}).status_code in (200, 201)
    caller.ring("20", "c-2")
    until = int(time.time() * 1_000) + 3_600_000
    assert world.rest("30").put("/api/me/dnd", {"until": until}).status_code == 200
    caller.ring("30", "c-3")
    assert len(decider.questions) == 1 and outcomes(world) == {"allowed": 1}


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_backend_is_told_the_named_claims_of_the_token(start, decider, transport):
    world = start("--decide-claims", "role,tenant,ward,née,missing")
    claims = {"role": "nurse", "tenant": 12345678901234567890, "ward": {"b": 1.50, "a": [True, None]}, "née": "Ä\n"}
    offer(world, transport, claims=claims | {"pin": "1234"})
    assert decider.questions[0].call["token"] == claims
    offer(world, transport, "c-2", claims=claims | {"ward": "x" * 2_000})
    assert decider.questions[1].call["token"] == {}, "claims that are too long are left out, all of them"


def test_a_callers_name_is_the_backends_alone(start, decider):
    world = start("--caller-name", "decision")
    callee = world.connect("10", "phone-10")
    offer(world, claims={"name": "Taro"}, displayName="The Bank")
    assert "displayName" not in callee.expect(type="offer", callId="c-1")
    decider.answer = lambda question: {"allow": True, "displayName": "Dr Kim"}
    offer(world, call_id="c-2", claims={"name": "Taro"}, displayName="The Bank")
    assert callee.expect(type="offer", callId="c-2")["displayName"] == "Dr Kim"


# MARK: Settings


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--decide-url", "https://app.example/"], ["--decide-url", "--events-secret-file"]),
        (["--decide-url", "http://93.184.216.34/", "SECRET"], ["--decide-url", "must be https"]),
        (["--decide-url", "https://user:secret@app.example/", "SECRET"], ["--decide-url", "no user name"]),
        (["SECRET"], ["--events-secret-file", "--events-url or --decide-url"]),
        (["--decide-timeout", "0.05", "URL"], ["--decide-timeout", "from 0.1 to 10"]),
        (["--decide-timeout", "11", "URL"], ["--decide-timeout", "from 0.1 to 10"]),
        (["--decide-failure", "ring", "URL"], ["--decide-failure", "allow, refuse"]),
        (["--decide-claims", ",".join(f"c{n}" for n in range(17)), "URL"], ["--decide-claims", "at most 16"]),
        (["--decide-claims", "a,,b", "URL"], ["--decide-claims", "1 to 64 bytes"]),
        (["--decide-claims", "a,b,a", "URL"], ["--decide-claims", "twice"]),
        (["--caller-name", "decision"], ["--caller-name", "--decide-url"]),
    ],
)
def test_a_setting_that_cannot_be_is_refused_at_the_start(tmp_path, decider, options, words):
    secret = ["--events-secret-file", str(decider.secret_file)]
    given = []
    for option in options:
        given += {"SECRET": secret, "URL": decider.options}.get(option, [option])
    result = serve(tmp_path, *given)
    one_clear_line(result, *words)
    assert "secret@" not in result.stderr


def test_a_new_secret_signs_after_sighup(start, decider):
    world = start()
    offer(world)
    new = run("events", "secret").stdout.strip()
    decider.secret_file.write_text(new + "\n")
    decider.secret = new
    os.kill(world.server.pid, signal.SIGHUP)
    eventually(lambda: "keys=events" in world.server.errors())
    offer(world, call_id="c-2")
    assert len(decider.questions) == 2


def examine(tmp_path, decider, *options) -> str:
    options = (*decider.options, *options, "--listen", "127.0.0.1:0")
    return run("doctor", "--data", tmp_path / "data", *options, seconds=40).stdout


def test_the_doctor_asks_a_question_and_posts_an_event_each_with_the_right_and_with_a_false_signature(tmp_path, decider):
    decider.answer = lambda question: 401 if decider.faults else {"allow": True}
    said = examine(tmp_path, decider)
    assert f"{decider.url} accepts the server's signature, and no other" in said, said
    assert [question.call["caller"] for question in decider.questions] == ["ringline-doctor"] * 2
    assert len(decider.faults) == 1
    decider.faults.clear()
    decider.answer = lambda question: {"allow": True}
    said = examine(tmp_path, decider, "--events-url", decider.url)
    assert said.count(f"{decider.url} accepts a request with a false signature") == 2, said
    decider.faults.clear()


@pytest.mark.parametrize(
    "answer, fault, fix",
    [
        (401, "with the status 401", "give your backend the secret"),
        (404, "with the status 404", "check the path"),
        (500, "with the status 500", "your backend's log"),
        ({"allow": "yes"}, "is no decision: allow: must be true or false", "respond with a decision"),
        (None, "cannot be reached", "start your backend"),
    ],
)
def test_the_doctor_says_what_is_wrong_with_a_backend_that_does_not_decide(tmp_path, decider, answer, fault, fix):
    decider.answer = lambda question: answer
    said = examine(tmp_path, decider)
    assert fault in said and fix in said, said
    decider.faults.clear()


def test_without_the_setting_nobody_is_asked_and_nothing_is_counted(world, decider):
    world.call()
    assert "ringline_decision" not in world.server.metrics_text()


# MARK: The page's examples


def examples() -> list[str]:
    """Returns the Python of the page, in its order."""
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


@contextlib.contextmanager
def contacts_only(folder: pathlib.Path):
    """Runs the page's first example beside its file `events.secret`, and gives the port."""
    port = free_port()
    text, count = re.subn(r"\b9998\b", str(port), examples()[0])
    assert count == 1
    process = subprocess.Popen([sys.executable, "-c", text], cwd=folder, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: listens(port))
        yield port
    finally:
        process.kill()
        process.wait(10)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_page_lets_only_contacts_call(tmp_path, make_server, make_world):
    secret = tmp_path / "events.secret"
    secret.write_text(run("events", "secret").stdout)
    secret.chmod(0o600)
    with contacts_only(tmp_path) as port:
        options = ["--decide-url", f"http://127.0.0.1:{port}/", "--events-secret-file", secret, "--decide-failure", "refuse"]
        world = make_world(make_server(*options, "--decide-timeout", "5"))
        callee = world.connect("10", "phone-10")
        assert "code" not in offer(world, "rest")
        callee.expect(type="offer", callId="c-1")
        refused = offer(world, call_id="c-2", caller="12")
    assert refused.pop("id")
    assert json.dumps({"type": "error", "id": "1", **refused} | {"callId": "c-1"}, separators=(",", ":")) in PAGE.read_text()


def test_the_pages_opening_hours_decide():
    names = {}
    exec(compile(examples()[1], "WhoMayCallWhom.md", "exec"), names)  # The example itself.
    assert names["decide"]({"to": ["10"]}) == {"allow": True}
    assert names["decide"]({"to": ["clinic"]}).keys() in ({"allow"}, {"allow", "code", "message"})

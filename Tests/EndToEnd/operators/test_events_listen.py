"""`ringline events secret` and `listen`, and the receivers of the page YourBackend, against a library of Standard Webhooks."""

import contextlib
import datetime
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading

import httpx
import pytest
from commands import one_clear_line, run
from postgres_server import sqlite_only
from ringline_server import ROOT, binary, clean_environment, free_port
from standardwebhooks import Webhook
from waiting import eventually

pytestmark = sqlite_only("no server takes part")
PAGE = (ROOT / "Sources/Server/ringline/ringline.docc/YourBackend.md").read_text()
EVENT = {
    "type": "call.ended",
    "timestamp": "2026-11-28T00:17:40.697Z",
    "id": "evt_1_88213",
    "cursor": "1_88213",
    "data": {"n": 3, "call": {"callId": "c-1", "epoch": 1}},
}


class Receiver:
    """A process that receives events, and the lines that it prints."""

    def __init__(self, command: list[str], folder, port: int | None = None):
        self.process = subprocess.Popen(
            command, cwd=folder, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        if port is None:
            self.url = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+/)", self.line())[1]
        else:
            self.url = f"http://127.0.0.1:{port}/"
            eventually(self._listens, 20)

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def _listens(self) -> bool:
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(self.url).status_code > 0
        return False

    def line(self) -> str:
        return self.lines.get(timeout=10)

    def post(self, headers: dict, body: str, seconds=10) -> httpx.Response:
        return httpx.post(self.url + "ringline", headers=headers, content=body, timeout=seconds)

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(10)


@pytest.fixture
def secret(tmp_path) -> str:
    done = run("events", "secret")
    assert done.returncode == 0 and re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=\n", done.stdout)
    (tmp_path / "events.secret").write_text(done.stdout)
    return done.stdout.strip()


@pytest.fixture
def receive(tmp_path):
    """Returns a function that starts a receiver."""
    with contextlib.ExitStack() as started:

        def start(command, port=None) -> Receiver:
            receiver = Receiver([str(part) for part in command], tmp_path, port)
            started.callback(receiver.process.wait)
            started.callback(receiver.process.kill)
            return receiver

        yield start


def listen(*options) -> list:
    return [binary(), "events", "listen", "--port", "0", "--secret-file", "events.secret", *options]


def signed(secret: str, event: dict = EVENT, seconds_ago: int = 0) -> tuple[dict, str]:
    """Returns the headers and the body of a delivery, signed by the library."""
    body = json.dumps(event, separators=(",", ":"))
    moment = datetime.datetime.now(tz=datetime.UTC) - datetime.timedelta(seconds=seconds_ago)
    headers = {
        "webhook-id": event["id"],
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": Webhook(secret).sign(event["id"], moment, body),
        "content-type": "application/json",
    }
    return headers, body


def test_a_delivery_signed_by_the_library_is_verified_and_printed_on_one_line(secret, receive):
    receiver = receive(listen())
    for again in ("", " (again)"):
        assert receiver.post(*signed(secret)).status_code == 200
        assert receiver.line() == f'200 call.ended evt_1_88213{again} {{"n":3,"call":{{"callId":"c-1","epoch":1}}}}'
    assert receiver.end() == 0


def test_a_delivery_that_is_not_valid_is_refused_with_its_reason(secret, receive):
    receiver = receive(listen())
    other = run("events", "secret").stdout.strip()
    headers, body = signed(secret)
    for wrong_headers, wrong_body, why in [
        (*signed(other), "no signature in webhook-signature is of this secret and these bytes"),
        (headers, body + " ", "no signature in webhook-signature is of this secret and these bytes"),
        (headers | {"webhook-id": "evt_1_1"}, body, "no signature in webhook-signature is of this secret"),
        (headers | {"webhook-signature": "v2,AAAA"}, body, "webhook-signature has no signature that begins with v1,"),
        (*signed(secret, seconds_ago=310), "s behind this clock"),
        (*signed(secret, seconds_ago=-310), "s ahead of this clock"),
        (headers | {"webhook-timestamp": "now"}, body, "webhook-timestamp is no number of seconds since 1970"),
        ({}, body, "the header webhook-id is missing"),
    ]:
        response = receiver.post(wrong_headers, wrong_body)
        assert response.status_code == 401 and why in response.json()["message"], response.text
        line = receiver.line()
        assert line.startswith("401 refused: ") and why in line
    assert httpx.get(receiver.url).status_code == 405


def test_either_of_two_secrets_is_enough(secret, receive, tmp_path):
    new = run("events", "secret").stdout
    (tmp_path / "events.secret").write_text(f"# since today\n{new}{secret}\n")
    receiver = receive(listen())
    for one in (secret, new.strip()):
        assert receiver.post(*signed(one)).status_code == 200
    headers, body = signed(secret)
    both = f"{signed(run('events', 'secret').stdout.strip())[0]['webhook-signature']} {headers['webhook-signature']}"
    assert receiver.post(headers | {"webhook-signature": both}, body).status_code == 200


def test_it_fails_hangs_and_is_slow_on_purpose(secret, receive):
    failing = receive(listen("--answer", "503"))
    assert failing.post(*signed(secret)).status_code == 503
    assert failing.line().startswith("503 call.ended")
    slow = receive(listen("--slow", "0.4"))
    response = slow.post(*signed(secret))
    assert response.status_code == 200 and response.elapsed.total_seconds() >= 0.4
    hanging = receive(listen("--hang"))
    with pytest.raises(httpx.ReadTimeout):
        hanging.post(*signed(secret), seconds=0.5)
    assert hanging.line().startswith("--- call.ended")


def test_once_ends_with_the_outcome_of_the_first_delivery(secret, receive):
    receiver = receive(listen("--once"))
    assert receiver.post(*signed(secret)).status_code == 200
    assert receiver.process.wait(10) == 0
    receiver = receive(listen("--once"))
    assert receiver.post(*signed(run("events", "secret").stdout.strip())).status_code == 401
    assert receiver.process.wait(10) == 1


def test_a_mistake_in_the_command_is_one_clear_line(secret, tmp_path):
    (tmp_path / "short").write_text("whsec_c2hvcnQ=\n")
    (tmp_path / "none").write_text("# later\n")
    here = ["events", "listen", "--secret-file"]
    one_clear_line(run(*here, tmp_path / "gone"), "--secret-file", "gone")
    one_clear_line(run(*here, tmp_path / "none"), "--secret-file", "no secret in it", "ringline events secret")
    wrong = run(*here, tmp_path / "short")
    one_clear_line(wrong, "line 1: a secret must have 24 to 64 bytes, not 5")
    assert "c2hvcnQ" not in wrong.stderr
    file = tmp_path / "events.secret"
    one_clear_line(run(*here, file, "--port", "70000"), "--port must be a number from 0 to 65535")
    one_clear_line(run(*here, file, "--answer", "99"), "--answer must be a status from 200 to 599")
    one_clear_line(run(*here, file, "--slow", "601"), "--slow must be a number of seconds from 0 to 600")


# MARK: With a server


def deliveries(receiver: Receiver, last: str) -> list[tuple[str, dict]]:
    """Returns the types and the data of the deliveries that have come, up to one of a type."""
    found = []
    while not found or found[-1][0] != last:
        status, kind, _, data = receiver.line().split(" ", 3)
        assert status == "200", found
        found.append((kind, json.loads(data)))
    return found


def test_a_server_posts_the_events_of_a_call_in_order(make_server, make_world, secret, receive, tmp_path):
    receiver = receive(listen())
    options = ["--events-url", receiver.url, "--events-secret-file", tmp_path / "events.secret"]
    world = make_world(make_server(*options, "--events-types", "call.*"))
    taro, _ = world.call("c-1")
    taro.send(type="end", callId="c-1", to="10")
    found = deliveries(receiver, "call.ended")
    assert [kind for kind, _ in found][:1] == ["call.started"] and "call.answered" in [kind for kind, _ in found]
    assert [data["n"] for _, data in found] == list(range(1, len(found) + 1))
    call = found[-1][1]["call"]
    assert (call["callId"], call["caller"], call["callee"], call["state"]) == ("c-1", "11", "10", "ended")
    listed = run("events", "list", "--call", "c-1", *world.server.store_options).stdout
    assert [row.split()[2] for row in listed.splitlines()[1:]] == [kind for kind, _ in found], listed


def test_a_new_secret_signs_after_sighup(make_server, make_world, secret, receive, tmp_path):
    receiver = receive(listen())
    file = tmp_path / "server.secret"
    file.write_text(run("events", "secret").stdout)
    server = make_server("--events-url", receiver.url, "--events-secret-file", file, "--events-types", "call.started")
    world = make_world(server)
    world.connect("11").ring("10", "c-1")
    assert receiver.line().startswith("401 refused: no signature")
    file.write_text(f"{secret}\n")
    os.kill(server.pid, signal.SIGHUP)
    # The server tries again after a second, and then after five.
    while (line := receiver.line()).startswith("401 "):
        pass
    assert line.startswith("200 call.started ") and '"callId":"c-1"' in line


# MARK: The page YourBackend.md


def block(language: str) -> str:
    """Returns the page's code in a language."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)
    return text


@pytest.mark.parametrize("language", ["python", "js"])
def test_the_receivers_of_the_page_take_what_is_signed_and_nothing_else(language, secret, receive, tmp_path):
    if language == "js" and not shutil.which("node"):
        pytest.skip("Node is not installed")
    port = free_port()
    name = {"python": "receiver.py", "js": "receiver.mjs"}[language]
    (tmp_path / name).write_text(block(language).replace("9999", str(port)))
    receiver = receive([sys.executable if language == "python" else "node", name], port)
    for _ in range(2):
        assert receiver.post(*signed(secret)).status_code == 200
    second = EVENT | {"id": "evt_1_88214", "type": "device.removed", "data": {"user": "10"}}
    assert receiver.post(*signed(secret, second)).status_code == 200
    headers, body = signed(secret)
    for wrong in [{}, headers | {"webhook-id": "evt_1_1"}, headers | {"webhook-timestamp": "x"}]:
        assert receiver.post(wrong, body).status_code == 401
    assert receiver.post(*signed(secret, seconds_ago=310)).status_code == 401
    assert receiver.post(*signed(run("events", "secret").stdout.strip())).status_code == 401
    printed = [line for line in iter_lines(receiver) if line.startswith(("call.", "device."))]
    assert printed[0] == "call.ended c-1" and printed[1].startswith("device.removed "), printed


def iter_lines(receiver: Receiver) -> list[str]:
    """Returns the lines until the receiver ends."""
    receiver.process.terminate()
    receiver.process.wait(10)
    lines = []
    with contextlib.suppress(queue.Empty):
        while True:
            lines.append(receiver.lines.get(timeout=0.5))
    return lines


def test_the_commands_of_the_page_are_taken(receive, tmp_path):
    blocks = re.findall(r"<!-- run by Tests/EndToEnd/operators/test_events_listen.py -->\n```\n(.*?)```", PAGE, re.S)
    lines = "".join(blocks).splitlines()
    assert lines[0].startswith("(umask 077; ringline events secret") and len(lines) == 5, lines
    (tmp_path / "ringline").symlink_to(binary())
    environment = clean_environment(PATH=f"{tmp_path}:{os.environ['PATH']}")
    subprocess.run(["bash", "-euc", lines[0]], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "events.secret").stat().st_mode & 0o777 == 0o600
    for line in lines[1:]:
        receiver = receive(["./" + line.replace("9999", "0").split()[0], *line.replace("9999", "0").split()[1:]])
        assert receiver.end() == 0

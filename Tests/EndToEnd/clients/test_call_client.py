"""`ringline call` and `ringline answer`, the server's own command-line clients."""

import functools
import queue
import signal
import subprocess
import threading
import time

import pytest
import samples
from commands import one_clear_line, run
from ringline_server import binary, clean_environment, free_port


class Client:
    """One run of `ringline call` or `ringline answer`; collects the lines that it prints."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [str(binary()), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=clean_environment(),
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.said: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)

    def says(self, words: str, seconds=10) -> str:
        """Waits for a line that contains these words, and returns it."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                line = self.lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no line with {words!r} in {self.said}") from None
            self.said.append(line)
            if words in line:
                return line

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@pytest.fixture
def client_of():
    clients = []

    def start(world, kind: str, user: str, *arguments) -> Client:
        clients.append(Client(kind, "--url", world.server.ws_url, "--token", world.token(user), *arguments))
        return clients[-1]

    yield start
    for each in clients:
        each.stop()


@pytest.fixture
def client(world, client_of):
    return functools.partial(client_of, world)


def test_two_terminals_set_up_a_call(world, client):
    answering = client("answer", "10")
    watcher = world.connect("10", "watcher")
    calling = client("call", "11", "--to", "10")
    watcher.expect(type="offer", **{"from": "11"})
    answering.says("← offer: call")
    calling.says("← answer from 10")
    answering.says("call is active")
    calling.says("call is active")
    assert watcher.expect(type="call", state="ended")["reason"] == "answered_elsewhere"


def test_the_calling_client_sends_a_real_offer(world, client):
    hanako = world.connect("10")
    client("call", "11", "--to", "10")
    offer = hanako.expect(type="offer")
    assert offer["sdp"].startswith("v=0\r\n") and "m=audio" in offer["sdp"]
    hanako.ask(type="answer", callId=offer["callId"], sdp=samples.ANSWER)


def test_the_answering_client_answers_a_device(world, client):
    client("answer", "10")
    taro = world.connect("11")
    taro.ring("10", "c-1")
    answer = taro.expect(type="answer")
    assert answer["sdp"].startswith("v=0\r\n") and answer["from"] == "10"


FAULTS = [
    ("ws://127.0.0.1:{plain}/ws", "nonsense", "the server refuses the token: "),
    ("127.0.0.1:{plain}/calls/ws", None, "no WebSocket at /calls/ws"),
    ("wss://127.0.0.1:{plain}/ws", None, "speaks no TLS on this port: use ws://"),
    ("ws://127.0.0.1:{tls}/ws", None, "speaks TLS on this port: use wss://"),
    ("http://127.0.0.1:{tls}", None, "speaks TLS on this port: use wss://"),
    ("ws://127.0.0.1:{closed}/ws", None, "accepts no connection on port {closed}; is a server running there?"),
    # No host can have this name, because a label has at most 63 characters.
    (f"https://{'x' * 64}/ws", None, "cannot resolve xxx"),
    ("ftp://127.0.0.1/ws", None, "--url must be like ws://"),
    ("ws://127.0.0.1:99999/ws", None, "--url must be like ws://"),
    ("ws://taro@127.0.0.1:{plain}/ws", None, "--url must be like ws://"),
    ("ws://[::1", None, "--url must be like ws://"),
    ("ws://127.0.0.1:{plain}/ws", "nonsense\n", "--token must be the token alone"),
    ("ws://127.0.0.1:{plain}/ws", "Bearer nonsense", "--token must be the token alone"),
]


def test_why_there_is_no_connection_is_told_in_words(world, make_server, certificate):
    secure = make_server("--tls-cert", certificate / "c.pem", "--tls-key", certificate / "k.pem")
    ports = {"plain": world.server.port, "tls": secure.port, "closed": free_port()}
    token = world.token("11")
    for url, other, words in FAULTS:
        result = run("call", "--url", url.format(**ports), "--token", other or token, "--to", "10")
        assert result.returncode == 1, result.stdout
        one_clear_line(result, words.format(**ports))
        assert token not in result.stderr and "nonsense" not in result.stderr


@pytest.mark.parametrize("form", ["http://127.0.0.1:{}", "http://127.0.0.1:{}/", "127.0.0.1:{}", "WS://127.0.0.1:{}/ws"])
def test_the_address_of_the_server_is_enough(world, form):
    answering = Client("answer", "--url", form.format(world.server.port), "--token", world.token("10"))
    answering.says(f"connecting to ws://127.0.0.1:{world.server.port}/ws")
    assert "device terminal-" in answering.says("connected as 10")
    answering.stop()


def test_a_call_goes_on_after_the_connection_was_lost(make_server, make_world, client_of):
    world = make_world(make_server("--listen", f"127.0.0.1:{free_port()}"))
    answering = client_of(world, "answer", "10", "--once")
    answering.says("waiting for calls")
    calling = client_of(world, "call", "11", "--to", "10", "--talk", "2")
    for each in (answering, calling):
        each.says("call is active")
    world.server.kill()
    calling.says("connecting again, for 30 s at most")
    world.server.start()
    for each in (answering, calling):
        each.says("connected as")
        each.says("call is ended (hangup)")
        assert each.process.wait(10) == 0
    assert "".join(answering.said).count("← offer") == 1, "what the server repeats is not taken twice"


def test_a_connection_that_is_replaced_is_not_opened_again(world, client):
    first = client("answer", "10", "--device", "desk")
    first.says("waiting for calls")
    second = client("answer", "10", "--device", "desk")
    second.says("waiting for calls")
    first.says("closed the connection for good")
    assert first.process.wait(10) == 1 and second.process.poll() is None


@pytest.mark.parametrize("kind", ["answer", "call"])
def test_a_server_that_is_killed_is_a_failure(world, client, kind):
    waiting = client(kind, "11", "--reconnect", "1", *([] if kind == "answer" else ["--to", "10"]))
    waiting.says("connected as 11")
    world.server.kill()
    waiting.says("connecting again")
    waiting.says("ringline: cannot connect to")
    assert waiting.process.wait(15) == 1


def test_a_client_that_is_stopped_is_no_failure(client):
    answering = client("answer", "10")
    answering.says("waiting for calls")
    answering.process.send_signal(signal.SIGINT)
    assert answering.process.wait(10) == 0


def test_try_plays_a_call_in_the_terminal_and_fits_80_columns(tmp_path):
    began = time.monotonic()
    result = run("try", environment={"COLUMNS": "80"}, cwd=tmp_path)
    assert time.monotonic() - began < 12
    assert result.returncode == 0 and result.stderr == ""
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    for words in ("── offer ─", "── push ─", "◀─ 200 ─", "◀─ fetch ─", "◀─ ringing ─", "◀─ answer ─", "ended: hangup"):
        assert result.stdout.count(words) >= 1, words
    assert sum("── push ─" in line for line in lines) == 1, "each line is printed once"
    verdict = " ".join(result.stdout.partition("Verdict: ")[2].split())
    assert verdict.startswith("10 answered on ") and "APNs accepted it" in verdict and "it came back at" in verdict
    assert result.stdout.index("Verdict:") < result.stdout.index("ringline demo")
    assert list(tmp_path.iterdir()) == []


def test_two_tries_at_a_time_do_not_meet(tmp_path):
    commands = [subprocess.Popen([str(binary()), "try"], stdout=subprocess.DEVNULL, cwd=tmp_path) for _ in range(2)]
    assert [command.wait(30) for command in commands] == [0, 0]

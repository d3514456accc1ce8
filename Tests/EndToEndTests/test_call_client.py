"""`ringline call` and `ringline answer`, the server's own command-line clients."""

import queue
import signal
import subprocess
import threading
import time

import pytest
import samples
from ringline_server import binary, clean_environment


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
def client(world):
    clients = []

    def start(kind: str, user: str, *arguments) -> Client:
        clients.append(Client(kind, "--url", world.server.ws_url, "--token", world.token(user), *arguments))
        return clients[-1]

    yield start
    for each in clients:
        each.stop()


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


def test_a_wrong_token_is_reported_as_a_failure(world):
    bad = Client("call", "--url", world.server.ws_url, "--token", "nonsense", "--to", "10")
    assert bad.process.wait(10) == 1
    bad.says("ws upgrade unauthorized")


@pytest.mark.parametrize("kind", ["answer", "call"])
def test_a_server_that_is_killed_is_a_failure(world, client, kind):
    waiting = client(kind, "11", *([] if kind == "answer" else ["--to", "10"]))
    waiting.says("connected as 11")
    world.server.kill()
    assert waiting.process.wait(15) == 1


def test_a_client_that_is_stopped_is_no_failure(client):
    answering = client("answer", "10")
    answering.says("waiting for calls")
    answering.process.send_signal(signal.SIGINT)
    assert answering.process.wait(10) == 0


def test_a_missing_server_is_reported_as_a_failure(world):
    url = world.server.ws_url
    world.server.kill()
    lost = Client("call", "--url", url, "--token", world.token(), "--to", "10")
    assert lost.process.wait(15) == 1
    lost.says("ringline: Unable to connect")

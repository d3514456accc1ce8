"""`Deploy/up --nodes` with a real Docker engine: the owner is killed while it rings, and the phone answers."""

import re
import time

import httpx
import pytest
import samples
from conftest import DEPLOY
from connection import Connection
from test_compose import COMPOSE, OPTIONS, run
from tokens import mint
from waiting import eventually
from websockets.exceptions import ConnectionClosed, InvalidHandshake

PROJECT = [*COMPOSE, "-p", "ringline-nodes", "-f", "compose.nodes.yaml"]
NODES = ["node-1", "node-2", "node-3"]
URL = "http://127.0.0.1:8080"
# A container that was started reports that it is healthy within some seconds.
SECONDS = 60


def container(service: str) -> str:
    return run(*PROJECT, "ps", "-q", service).strip()


def in_node(node: str, *command: str) -> str:
    return run("docker", "exec", container(node), *command)


def owner(asked: str = "node-1") -> str:
    """Returns the node that `ringline doctor` on one of the nodes names as the owner."""
    said = in_node(asked, "sh", "-c", "ringline doctor --offline || true")
    line = next(line for line in said.splitlines() if "owner" in line)
    return re.search(r"node-\d", line)[0]


def connections(node: str) -> int:
    """Returns the number of WebSockets of a node, whose admin port only the balancer and this host reach."""
    networks = "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}"
    address = run("docker", "inspect", "--format", networks, container(node)).split()[0]
    text = httpx.get(f"http://{address}:9090/metrics", trust_env=False, timeout=5).text
    return int(float(re.search(r"^ringline_tcp_connections(?:{[^}]*})? (\S+)$", text, re.M)[1]))


class Phone:
    """A client that connects again through the balancer, and sends what was not acked again under the same `id`."""

    def __init__(self, user: str):
        self.user = user
        secret = (DEPLOY / "secrets/jwt-secret").read_bytes().removesuffix(b"\n")
        self.token = mint(secret, user)
        self.heard: list[dict] = []
        self.connection = self._connect()

    def _connect(self) -> Connection:
        return Connection("ws" + URL.removeprefix("http") + "/ws", self.token, device=f"phone-{self.user}")

    def again(self, action):
        """Performs an action with the connection, on new ones until it succeeds."""
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                return action(self.connection)
            except (AssertionError, OSError, ConnectionClosed, InvalidHandshake):
                assert time.monotonic() < deadline, f"user {self.user} gets no connection that works"
                self._reconnect()

    def _reconnect(self):
        try:
            self.connection.close()
            self.connection = self._connect()
        except (AssertionError, OSError, ConnectionClosed, InvalidHandshake):
            time.sleep(0.2)

    def ask(self, **frame) -> dict:
        return self.again(lambda connection: connection.ask(**frame))

    def expect(self, **fields) -> dict:
        return self.again(lambda connection: connection.expect(**fields))


@pytest.fixture(scope="module")
def up():
    yield run("./up", "--nodes", *OPTIONS, NOFILE="20000")
    run(*PROJECT, "down", "-v")


@pytest.mark.timeout(1500)
def test_the_owner_is_killed_while_a_call_between_two_nodes_rings(up):
    before = {node: connections(node) for node in NODES}
    taro, hanako = Phone("11"), Phone("10")
    # The balancer gives a new connection to the node with the fewest.
    assert sum(connections(node) > before[node] for node in NODES) == 2, "the phones are on two nodes"
    taro.ask(type="offer", id="offer", callId="c-1", to="10", sdp=samples.OFFER)
    hanako.expect(type="offer", callId="c-1")
    hanako.ask(type="ringing", id="ringing", callId="c-1")

    old = owner()
    run("docker", "kill", container(old))
    hanako.ask(type="answer", id="answer", callId="c-1", sdp=samples.ANSWER)
    taro.expect(type="answer", callId="c-1")
    asked = next(node for node in NODES if node != old)
    assert owner(asked) != old
    taro.ask(type="end", id="end", callId="c-1")
    hanako.expect(type="call", callId="c-1", state="ended")

    shown = eventually(lambda: "ended" in (text := in_node(asked, "ringline", "explain", "c-1")) and text, 10)
    print(shown)
    ladder, verdict = shown.split("Verdict:")
    assert re.search("taken over by node-[123]", ladder) and "10 answered on phone-10" in verdict

    run("docker", "start", container(old))
    state = ["docker", "inspect", "--format", "{{.State.Health.Status}}", container(old)]
    eventually(lambda: run(*state).strip() == "healthy", SECONDS)
    assert owner(old) != old

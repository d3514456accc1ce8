"""Several nodes on one database, behind a proxy that gives each new connection to the next node.

With `RINGLINE_TEST_STORE=cluster` each server of a test is such a cluster. A test that asks for something that only one
process has, such as its log or its data folder, is then skipped.
"""

import math
import os
import pathlib
import secrets
import signal

import httpx
import postgres_server
import pytest
from postgres_server import ON_CLUSTER, PostgresServer
from resending_client import metrics
from rest import TLS
from ringline_server import Server, free_port
from tcp_proxy import Proxy
from waiting import eventually

# A new owner serves within this time: the lease, the claim, and the load.
TAKE_OVER_SECONDS = 12
# Options that name something of one process, or a limit that each node applies to its own clients.
OF_ONE_PROCESS = {
    "--listen", "--admin-listen", "--data", "--store", "--store-password-file", "--config", "--loops", "--audit-log",
    "--wait-for-data", "--max-tcp-connections", "--connects-per-minute", "--trusted-proxy",
}  # fmt: skip
# Options that name the keys of tokens. A test that sets one mints its tokens itself.
OF_KEYS = {"--jwt-secret-file", "--jwt-public-key-file", "--jwks-file", "--jwks-url"}


class Node(Server):
    """One node: a server with the database of all nodes and a data folder of its own.

    With hops, `database_hop` is the proxy between the node and PostgreSQL, and `link_hop` the one between the other
    nodes and this node.
    """

    has_database = True

    def __init__(self, cluster: "Cluster", number: int, hops: bool):
        self.cluster = cluster
        self.node_port = address = free_port()
        self.store = cluster.store
        self.database_hop = self.link_hop = None
        self.is_suspended = False
        if hops:
            self.database_hop = Proxy(lambda: [cluster.postgres.port])
            self.link_hop = Proxy(lambda: [self.node_port], free_port())
            self.store = cluster.store.replace(f":{cluster.postgres.port}/", f":{self.database_hop.port}/")
            address = self.link_hop.port
        data = cluster.folder.with_name(f"{cluster.folder.name}-node-{number}")
        options = ["--node-listen", f"127.0.0.1:{self.node_port}", "--node-address", f"127.0.0.1:{address}"]
        # A node that was deposed replaces its process by a new run of the same command, with the same ports.
        options += ["--listen", f"127.0.0.1:{free_port()}", "--admin-listen", f"127.0.0.1:{free_port()}"]
        super().__init__(data, *options, *cluster.options, environment=cluster.environment)

    @property
    def postgres(self) -> PostgresServer:
        return self.cluster.postgres

    @property
    def database(self) -> str:
        return self.cluster.database

    @property
    def folder_options(self) -> list[str]:
        return ["--data", str(self.data), "--store", self.store]

    @property
    def secret(self) -> bytes:
        return self.cluster.secret

    def start(self) -> "Node":
        if self.link_hop is not None:
            self.link_hop.accept()
        super().start()
        return self

    def kill(self):
        # The system refuses connections as soon as the process is gone.
        if self.link_hop is not None:
            self.link_hop.refuse()
        super().kill()
        self.is_suspended = False

    def suspend(self):
        """Stops the process; its connections stay open, and the system even accepts new ones."""
        os.kill(self.pid, signal.SIGSTOP)
        self.is_suspended = True

    def resume(self):
        os.kill(self.pid, signal.SIGCONT)
        self.is_suspended = False

    @property
    def serves(self) -> bool:
        return self.alive() and not self.is_suspended and bool(self.url and self.admin_url)

    def figure(self, name: str) -> float:
        """Returns the value of a metric, such as `owner` for `ringline_node_owner`.

        It is not a number if the node has ended, or starts and has no metrics yet.
        """
        try:
            return metrics(self).get((f"ringline_node_{name}",), math.nan)
        except httpx.TransportError:
            return math.nan

    def metrics_text(self) -> str:
        """Returns the text of `/metrics`; empty if the node starts."""
        response = httpx.get(self.admin_url + "/metrics", trust_env=False, verify=TLS, timeout=5)
        return "" if response.status_code == 503 else response.text

    def readiness(self) -> tuple[int, str]:
        """Returns the status and the body of `/readyz`; (0, …) if the node has ended."""
        try:
            response = httpx.get(self.admin_url + "/readyz", trust_env=False, verify=TLS, timeout=5)
            return response.status_code, response.json()["status"]
        except httpx.TransportError as error:
            return 0, str(error)

    def close(self) -> str | None:
        crash = super().close()
        for hop in (self.database_hop, self.link_hop):
            if hop is not None:
                hop.close()
        return crash


class Cluster:
    """Nodes on one database, and the proxy that clients connect to. It has the part of `Server` that clients need."""

    def __init__(
        self,
        folder: pathlib.Path,
        *options: str,
        environment: dict[str, str] | None = None,
        nodes: int = 3,
        hops: bool = False,
        postgres: PostgresServer | None = None,
    ):
        self.folder, self.environment = folder, environment
        self.postgres = postgres or postgres_server.running()
        self.database = self.postgres.database(folder)
        self.store = self.postgres.url(self.database)
        self.secret = secrets.token_hex(32).encode()
        self.options = [str(option) for option in options]
        if not OF_KEYS.intersection(self.options):
            key = folder.with_name(f"{folder.name}-jwt-secret")
            key.touch(mode=0o600)
            key.write_bytes(self.secret)
            self.options += ["--jwt-secret-file", str(key)]
        self.proxy = Proxy(lambda: [node.port for node in self.nodes if node.serves], free_port())
        self.nodes = [Node(self, number, hops) for number in range(nodes)]

    def __getattr__(self, name: str):
        if ON_CLUSTER and not name.startswith("_"):
            pytest.skip(f"one process only: the test uses its server's `{name}`")
        raise AttributeError(name)

    # As a server

    def start(self) -> "Cluster":
        for node in self.nodes:
            if not node.alive():
                node.start()
        self.proxy.accept()
        self.ready()
        return self

    def alive(self) -> bool:
        return all(node.alive() for node in self.nodes)

    def kill(self):
        """Kills all nodes at once, so that none takes over in between."""
        self.proxy.refuse()
        for node in self.nodes:
            if node.alive():
                os.kill(node.pid, signal.SIGKILL)
        for node in self.nodes:
            node.kill()

    def close(self) -> str | None:
        """Ends everything; returns how nodes had ended before, if that was a crash."""
        crashes = [crash for node in self.nodes if (crash := node.close())]
        self.proxy.close()
        return "; ".join(crashes) or None

    @property
    def port(self) -> int:
        return self.proxy.port

    @property
    def url(self) -> str:
        scheme = "https" if "--tls-cert" in self.options else "http"
        return f"{scheme}://127.0.0.1:{self.port}"

    @property
    def ws_url(self) -> str:
        return "ws" + self.url.removeprefix("http") + "/ws"

    @property
    def store_options(self) -> list[str]:
        return ["--store", self.store]

    def rows(self, query: str) -> list[tuple]:
        return self.nodes[0].rows(query)

    def execute(self, statement: str):
        self.nodes[0].execute(statement)

    # Who owns the calls

    def owner(self) -> Node | None:
        """Returns the node that says that it owns the calls; of two, the one with the higher epoch."""
        owners = [(node.figure("epoch"), node) for node in self.nodes if node.serves and node.figure("owner") == 1]
        return max(owners, key=lambda found: found[0])[1] if owners else None

    def edges(self) -> list[Node]:
        """Returns the nodes that serve, except the owner."""
        owner = self.owner()
        return [node for node in self.nodes if node.serves and node is not owner]

    def new_owner(self, old: Node, seconds: float = TAKE_OVER_SECONDS) -> Node:
        """Waits until another node than `old` owns the calls, and returns it."""

        def found() -> Node | None:
            owner = self.owner()
            return owner if owner is not old else None

        return eventually(found, seconds, lambda: f"no new owner; {self.told()}")

    def ready(self, seconds: float = TAKE_OVER_SECONDS):
        """Waits until one node owns the calls and every other node that serves has a link to it."""

        def is_ready() -> bool:
            serving = [node for node in self.nodes if node.serves]
            owners = [node for node in serving if node.figure("owner") == 1]
            # A key set that cannot be fetched has nothing to do with the other nodes.
            return len(owners) == 1 and all(node.readiness()[1] in ("ok", "keys unavailable") for node in serving)

        eventually(is_ready, seconds, lambda: f"not ready; {self.told()}")

    def settled(self):
        """Waits until no edge has an event that the owner has not confirmed: no socket is then closed by a take-over."""
        eventually(lambda: not any(node.figure("unconfirmed_events") > 0 for node in self.edges()))

    def told(self) -> str:
        """Returns the state of every node, and the end of its log, for the text of a failure."""
        states = []
        for node in self.nodes:
            state = "ended" if not node.alive() else "suspended" if node.is_suspended else str(node.readiness())
            states.append(f"{node.data.name}: {state}: {node.usual_log()[-800:]}")
        return "\n".join(states)


def instead_of_a_server(folder, *options, data=None, environment=None) -> Cluster:
    """Returns the cluster that stands in for the server of a test; skips a test that needs one process."""
    variables = ["--" + name.removeprefix("RINGLINE_").lower().replace("_", "-") for name in environment or {}]
    own = [option for option in (*options, *variables) if option in OF_ONE_PROCESS]
    own += ["the data folder"] * (data is not None)
    if own:
        pytest.skip(f"one process only: the test sets {', '.join(own)}")
    return Cluster(folder, *options, environment=environment)


@pytest.fixture
def make_cluster(tmp_path):
    """Returns a function that starts clusters with hops. Fails if one of their nodes has crashed by the end of the test."""
    clusters = []

    def make(*options, **more) -> Cluster:
        clusters.append(Cluster(tmp_path / f"cluster-{len(clusters)}", *options, hops=True, **more))
        return clusters[-1].start()

    yield make
    crashes = [crash for cluster in clusters if (crash := cluster.close())]
    for cluster in clusters:
        cluster.postgres.drop([cluster.folder])
    assert not crashes, crashes

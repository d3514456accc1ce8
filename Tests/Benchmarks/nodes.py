"""Several nodes on one PostgreSQL, measured together as one server."""

import socket
import time
import urllib.error
import urllib.request

import servers

# Server → (the number of its nodes, whether clients connect to the owner too).
SHAPES = {
    "ringline-nodes-2": (2, True),
    "ringline-nodes-2-edge": (2, False),
    "ringline-nodes-3": (3, False),
    "ringline-nodes-3-even": (3, True),
    "ringline-nodes-4": (4, True),
    "ringline-nodes-4-edges": (4, False),
}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def status(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


class Nodes:
    """The nodes of a cluster, with the members of `servers.Server` that measuring needs. The first one is the owner."""

    dialect, allocations = "ringline", None

    def __init__(self, name, ringline, *extra):
        self.nodes = []
        count, self.owner_has_clients = SHAPES[name]
        store = servers.postgres().new_database()
        try:
            for number in range(count):
                secret = self.secret if self.nodes else None
                address = f"127.0.0.1:{free_port()}"
                options = ["--node-listen", address, "--node-address", address, *extra]
                label = f"{name}-{number}"
                node = servers.Server(name, ringline, *options, label=label, store=store, secret=secret)
                self.nodes.append(node)
                # The first one that is ready owns the calls.
                self.await_ready(node)
        except BaseException:
            self.close()
            raise

    @property
    def secret(self):
        return self.nodes[0].secret

    @property
    def ports(self):
        return [node.port for node in self.nodes[0 if self.owner_has_clients else 1 :]]

    @property
    def pids(self):
        return [node.process.pid for node in self.nodes]

    @staticmethod
    def await_ready(node):
        deadline = time.monotonic() + 30
        while status(f"{node.admin}/readyz") != 200:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{node.label} is not ready; see {node.log.name}")
            time.sleep(0.05)

    def close(self):
        # The owner ends last, so that no node takes over.
        for node in reversed(self.nodes):
            node.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def start(name, ringline, before, *extra, counts_allocations=False):
    """Starts the server of this name."""
    if name in SHAPES:
        return Nodes(name, ringline, *extra)
    if name == "ringline-sqlite-before":
        ringline = before
    return servers.Server(name, ringline, *extra, counts_allocations=counts_allocations)

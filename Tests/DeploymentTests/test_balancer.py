"""HAProxy with haproxy.cfg in front of three stand-ins for nodes, each on a loopback address of its own."""

import http.server
import os
import socket
import subprocess
import threading

import pytest
from conftest import DEPLOY, replaced
from ringline_server import free_port
from waiting import eventually

HOSTS = {"node-1": "127.1.0.1", "node-2": "127.1.0.2", "node-3": "127.1.0.3"}


class Node:
    """Sends its name to each client, and answers /readyz."""

    def __init__(self, name: str, port: int, admin_port: int):
        self.name, self.is_ready, self.clients = name, True, []
        self.listener = socket.create_server((HOSTS[name], port))
        threading.Thread(target=self.serve, daemon=True).start()
        node = self

        class Admin(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200 if node.is_ready and self.path == "/readyz" else 503)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.admin = http.server.ThreadingHTTPServer((HOSTS[name], admin_port), Admin)
        threading.Thread(target=self.admin.serve_forever, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.clients.append(client)
            client.sendall(self.name.encode())

    def stop(self):
        if self.listener.fileno() < 0:
            return
        self.listener.shutdown(socket.SHUT_RDWR)
        for each in (self.listener, *self.clients):
            each.close()
        self.admin.shutdown()
        self.admin.server_close()


class Balancer:
    def __init__(self, port: int):
        self.port = port
        self.open = []
        self.last_nodes: set[str] = set()

    def connect(self) -> tuple[str, socket.socket]:
        """Opens a connection that stays open, and returns the node that it leads to."""
        client = socket.create_connection(("127.0.0.1", self.port), timeout=5)
        self.open.append(client)
        return client.recv(16).decode(), client

    def nodes(self, count: int) -> set[str]:
        self.last_nodes = {self.connect()[0] for _ in range(count)}
        return self.last_nodes

    def accepts(self) -> bool:
        try:
            return bool(self.connect())
        except OSError:
            return False

    def await_nodes(self, wanted: set[str]):
        eventually(lambda: self.nodes(9) == wanted, 15, lambda: f"the last connections led to {self.last_nodes}")


@pytest.fixture
def nodes():
    port, admin_port = free_port(), free_port()
    made = [Node(name, port, admin_port) for name in HOSTS]
    yield made
    for node in made:
        node.stop()


@pytest.fixture
def balancer(nodes, tmp_path):
    front = free_port()
    port = nodes[0].listener.getsockname()[1]
    text = replaced(
        (DEPLOY / "balancer/haproxy.cfg").read_text(),
        ("bind :8080", f"bind 127.0.0.1:{front}"),
        ("port 9090", f"port {nodes[0].admin.server_address[1]}"),
        *((f"{name}:8080", f"{host}:{port}") for name, host in HOSTS.items()),
    )
    (tmp_path / "haproxy.cfg").write_text(text)
    program = os.environ["HAPROXY_PROGRAM"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([program, "-W", "-db", "-f", tmp_path / "haproxy.cfg"], stdout=log, stderr=log)
    made = Balancer(front)
    eventually(lambda: process.poll() is not None or made.accepts(), 10, (tmp_path / "log").read_text)
    assert process.poll() is None, (tmp_path / "log").read_text()
    yield made
    for client in made.open:
        client.close()
    process.terminate()
    process.wait(10)


def test_connections_of_one_client_go_to_all_nodes(balancer):
    assert balancer.nodes(9) == set(HOSTS)


def test_a_node_that_is_not_ready_gets_no_new_connection_and_keeps_its_open_ones(balancer, nodes):
    balancer.await_nodes(set(HOSTS))
    kept = next(client for name, client in (balancer.connect() for _ in range(9)) if name == "node-2")
    other_end = nodes[1].clients[-1]
    nodes[1].is_ready = False
    balancer.await_nodes({"node-1", "node-3"})
    other_end.sendall(b"still here")
    assert kept.recv(16) == b"still here"
    nodes[1].is_ready = True
    balancer.await_nodes(set(HOSTS))


def test_a_node_that_is_gone_is_left_out_at_once(balancer, nodes):
    balancer.await_nodes(set(HOSTS))
    nodes[2].stop()
    # `option redispatch` and `retries` bridge the time until the checks notice it.
    assert balancer.nodes(12) <= {"node-1", "node-2"}

"""The measured servers: how each is built, started and ended."""

import functools
import os
import re
import selectors
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "Tests" / "Benchmarks"
BUILT = ROOT / ".build" / "benchmarks"
COMPILE = ["gcc", "-std=c17", "-O2", "-Wall", "-Wextra"]
PACKAGES = ["gcc", "libc6-dev", "libssl-dev", "openssl", "libwebsockets-dev", "libwebsockets-evlib-uv", "libuv1-dev"]
# The folder of Debian's packages, in which a Node from another source does not look.
NODE_MODULES = "/usr/share/nodejs"

# Server → (its name in the tables, its dialect).
NAMES = {
    "epoll": ("minimal C epoll relay (the limit)", "plain"),
    "lws-uv": ("bare libwebsockets + libuv, C", "plain"),
    "lws-uv-direct": ("the same, writing directly", "plain"),
    "lws-poll": ("bare libwebsockets, default poll()", "plain"),
    "node-ws": ("a plain Node `ws` relay", "plain"),
    # These take part only in `churn`, `calls` and `calls-20`, or if --servers names them.
    "nats": ("nats-server (WebSocket)", "nats"),
    "spreed": ("nextcloud-spreed-signaling", "spreed"),
    "ringline-memory": ("Ringline, `--data :memory:`", "ringline"),
    "ringline-sqlite": ("Ringline, SQLite", "ringline"),
    # Those with a database take part only in the scenarios `nodes-…`, or if --servers names them.
    "ringline-postgres": ("Ringline, PostgreSQL", "ringline"),
    "ringline-nodes-2": ("two nodes", "ringline"),
    "ringline-nodes-2-edge": ("two nodes, no clients at the owner", "ringline"),
    "ringline-nodes-3": ("three nodes, no clients at the owner", "ringline"),
    "ringline-nodes-3-even": ("three nodes", "ringline"),
    "ringline-nodes-4": ("four nodes", "ringline"),
    "ringline-nodes-4-edges": ("four nodes, no clients at the owner", "ringline"),
    "ringline-sqlite-before": ("Ringline, SQLite, the binary of `--before`", "ringline"),
    # These take part only in the scenarios `loops-…`, or if --servers names them.
    "ringline-memory-2": ("Ringline, `--data :memory:`, 2 loops", "ringline"),
    "ringline-sqlite-2": ("Ringline, SQLite, 2 loops", "ringline"),
}
# The servers that take part only in scenarios that name them, or if --servers does.
NAMED_ONLY = [name for name in NAMES if name.startswith("ringline-") and name not in ("ringline-memory", "ringline-sqlite")]

# Debian's packages of the peers that are servers of their own, and their configurations. Each connection of the generator
# gives a secret, as those of Ringline give a token.
PEER_PACKAGES = {"nats": "nats-server", "spreed": "nextcloud-spreed-signaling"}
NAMED_ONLY += PEER_PACKAGES
NATS = """listen: "127.0.0.1:-1"
websocket {{ listen: "127.0.0.1:{port}", no_tls: true, compression: false }}
authorization {{ token: "secret" }}
"""
SPREED = """[http]
listen = 127.0.0.1:{port}
[sessions]
hashkey = 0123456789abcdef0123456789abcdef
blockkey = 0123456789abcdef0123456789abcdef
[clients]
internalsecret = secret
[backend]
backends = one
[one]
url = http://127.0.0.1/
secret = secret
[nats]
url = :loopback:
"""


def install(packages):
    """Installs the Debian packages that are missing, as Deploy/run does; returns whether that worked."""
    script = '. Deploy/packages.bash && install_missing "$@"'
    return subprocess.run(["bash", "-c", script, "install", *packages], cwd=ROOT, stdout=2).returncode == 0


def build_tools():
    BUILT.mkdir(parents=True, exist_ok=True)
    peers = HERE / "peers"
    load = sorted(str(path) for path in (HERE / "load").glob("*.c"))
    subprocess.run([*COMPILE, "-o", BUILT / "load", *load, "-lssl", "-lcrypto"], check=True)
    subprocess.run([*COMPILE, "-shared", "-fPIC", "-o", BUILT / "allocations.so", HERE / "allocations.c"], check=True)
    subprocess.run([*COMPILE, "-o", BUILT / "relay-epoll", peers / "relay-epoll.c", "-lcrypto"], check=True)
    subprocess.run(
        [*COMPILE, "-o", BUILT / "relay-lws", peers / "relay-lws.c", "-lwebsockets", "-luv", "-lcrypto"], check=True
    )


def build_ringline():
    """Returns the release binary: the one in RINGLINE_BINARY, else one that is built here."""
    given = os.environ.get("RINGLINE_BINARY")
    if given:
        return Path(given).resolve()
    subprocess.run(["swift", "build", "-c", "release", "--product", "ringline"], cwd=ROOT, check=True, stdout=2)
    return ROOT / ".build" / "release" / "ringline"


def certificate():
    """Makes a self-signed P-256 certificate, the kind that Let's Encrypt issues; returns the server's TLS options."""
    key, chain = BUILT / "tls-key.pem", BUILT / "tls-cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", "/CN=localhost", "-days", "30", "-keyout", key, "-out", chain]
    subprocess.run(command, check=True, capture_output=True)
    return ["--tls-cert", chain, "--tls-key", key]


def peer_is_there(name):
    """Returns whether a peer that is a server of its own is installed, after trying to install it."""
    return install([PEER_PACKAGES[name]])


def node_is_there():
    if not shutil.which("node") or not (Path(NODE_MODULES) / "ws").exists():
        install(["node-ws"])
    test = ["node", "-e", "require('ws').WebSocketServer || process.exit(1)"]
    try:
        return subprocess.run(test, env={**os.environ, "NODE_PATH": NODE_MODULES}, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


class PostgresServer:
    """A temporary PostgreSQL server, which Tests/postgres ends with this process. It writes to the disk as by default."""

    def __init__(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        # PostgreSQL's own user must be able to reach the folder; Tests/postgres removes it.
        command = [ROOT / "Tests" / "postgres", tempfile.mkdtemp(prefix="ringline-postgres-"), str(port)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.process.stdout.readline() != b"ready\n":
            raise RuntimeError("PostgreSQL did not start; is the package postgresql installed?")
        self.address = f"postgres://ring@127.0.0.1:{port}"
        self.databases = 0

    def new_database(self):
        """Creates a database and returns its URL."""
        self.databases += 1
        name = f"bench{self.databases}"
        psql = sorted(Path("/usr/lib/postgresql").glob("*/bin/psql"))[-1]
        command = [psql, "-Xq", "-d", f"{self.address}/postgres", "-c", f"CREATE DATABASE {name} TEMPLATE template0"]
        subprocess.run(command, check=True)
        return f"{self.address}/{name}"

    def close(self):
        self.process.stdin.close()
        # It removes all its databases, which takes a while on a busy disk.
        self.process.wait(300)
        self.process.stdout.close()


@functools.cache
def postgres():
    """Returns the PostgreSQL server of all measurements, which starts at its first use."""
    return PostgresServer()


def end_postgres():
    if postgres.cache_info().currsize:
        postgres().close()
        postgres.cache_clear()


class Server:
    """A server on a free port of 127.0.0.1; a context manager that ends it."""

    def __init__(self, name, ringline, *extra, counts_allocations=False, label=None, store=None, secret=None):
        self.name, self.ringline, self.extra, self.label = name, ringline, extra, label or name
        self.folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=BUILT))
        self.allocations = self.folder / "allocations" if counts_allocations else None
        self.secret = secret or self.folder / "secret"
        if not secret:
            self.secret.write_text(os.urandom(24).hex())
        self.store = postgres().new_database() if name == "ringline-postgres" else store
        self.start()

    @property
    def ports(self):
        return [self.port]

    @property
    def pids(self):
        return [self.process.pid]

    def start(self):
        name = self.name
        self.dialect = NAMES[name][1]
        environment = dict(os.environ)
        if name == "epoll":
            command = [BUILT / "relay-epoll", "--port", "0"]
        elif name in PEER_PACKAGES:
            command = self._peer_command()
        elif name == "node-ws":
            command = ["node", HERE / "peers" / "relay-ws.js", "--port", "0"]
            environment["NODE_PATH"] = NODE_MODULES
        elif self.dialect == "plain":
            loop = "poll" if name == "lws-poll" else "uv"
            command = [BUILT / "relay-lws", "--port", "0", "--loop", loop]
            command += ["--direct"] if name == "lws-uv-direct" else []
        else:
            # The user's environment must not configure the measured server.
            environment = {key: value for key, value in environment.items() if not key.startswith("RINGLINE_")}
            data = ":memory:" if name.startswith("ringline-memory") else self.folder / "data"
            command = [self.ringline, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]
            command += ["--data", data, "--jwt-secret-file", self.secret, *self.extra]
            command += ["--store", self.store] if self.store else []
            # Each pair calls as often as it can, so there must be no limit on rings.
            command += ["--rings-per-pair", "0", "--rings-per-callee", "0"]
            command += ["--loops", "2"] if name in ("ringline-memory-2", "ringline-sqlite-2") else []
        if self.allocations:
            environment |= {"LD_PRELOAD": str(BUILT / "allocations.so"), "COUNT_ALLOCATIONS_IN": str(self.allocations)}
        self.log = open(BUILT / f"{self.label}.log", "wb")
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=self.log)
        try:
            self.port = self._port()
        except BaseException:
            self.close()
            raise

    def _peer_command(self):
        """Writes the configuration of a peer that is a server of its own, with a free port; returns its command."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.given_port = free.getsockname()[1]
        settings = self.folder / "peer.conf"
        settings.write_text((NATS if self.name == "nats" else SPREED).format(port=self.given_port))
        if self.name == "nats":
            return ["nats-server", "-c", settings]
        return ["nextcloud-spreed-signaling-server", "-config", settings]

    def _port(self):
        if self.name in PEER_PACKAGES:
            return self._await_given_port()
        waiting = selectors.DefaultSelector()
        waiting.register(self.process.stdout, selectors.EVENT_READ)
        deadline, text = time.monotonic() + 60, b""
        while waiting.select(max(0, deadline - time.monotonic())):
            piece = os.read(self.process.stdout.fileno(), 4096)
            text += piece
            listening = re.search(rb"listening on https?://127\.0\.0\.1:(\d+)\n", text)
            admin = re.search(rb"admin on (http://127\.0\.0\.1:\d+)\n", text)
            if listening and (admin or self.dialect == "plain"):
                self.admin = admin and admin[1].decode()
                return int(listening[1])
            if not piece:
                break
        raise RuntimeError(f"{self.process.args[0]} did not start; see {self.log.name}")

    def _await_given_port(self):
        """Waits until a server listens that does not print its port."""
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.given_port)) == 0:
                    return self.given_port
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"{self.process.args[0]} did not start; see {self.log.name}")

    def again(self):
        """Kills the server and starts it with the same data.

        Returns the seconds until it listens, and the CPU seconds and the number of calls at that time.
        """
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()
        began = time.monotonic()
        self.start()
        took = time.monotonic() - began
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return {"cold_start_seconds": round(took, 3), "cold_start_cpu_seconds": cpu, "cold_start_calls": self._calls()}

    def _calls(self):
        with urllib.request.urlopen(f"{self.admin}/metrics", timeout=30) as response:
            lines = response.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("ringline_calls{"))

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

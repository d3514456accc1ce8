"""The real server, started on port 0 with a new data folder (and database) and stopped by its process id."""

import contextlib
import functools
import itertools
import json
import os
import pathlib
import queue
import re
import shlex
import signal
import socket
import sqlite3
import subprocess
import threading
import time

import httpx
import postgres_server
from postgres_server import ON_POSTGRES
from rest import TLS

ROOT = pathlib.Path(__file__).resolve().parents[3]
# `RINGLINE_LAUNCHER` is put before the server's command. For example, `valgrind -q --undef-value-errors=no
# --error-exitcode=99` checks for reads and writes out of bounds. (Undefined values are not reported, because Swift's
# own code copies uninitialised bytes of enums.)
LAUNCHER = shlex.split(os.environ.get("RINGLINE_LAUNCHER", ""))
# With `RINGLINE_TRACE_LOGS=FOLDER` every server that no test gives a level logs at `trace`, into that folder. Afterwards
# secrets_in_logs.py looks there for what no log may contain. Tests/run does that.
TRACE_LOGS = os.environ.get("RINGLINE_TRACE_LOGS")


# Each pytest worker has ports of its own, so that none is given twice before its user listens. They are below those that the
# system gives to outgoing connections. Another run of pytest begins elsewhere.
WORKER_PORTS = 2_700
FIRST_PORT = 10_000 + WORKER_PORTS * (int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 8)
_turns = itertools.count(os.getpid())


def free_port() -> int:
    """Returns a port that is free for both UDP and TCP, and that nobody else gets while its user restarts."""
    while True:
        port = FIRST_PORT + next(_turns) % WORKER_PORTS
        with socket.socket() as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            with contextlib.suppress(OSError):
                tcp.bind(("127.0.0.1", port))
                udp.bind(("127.0.0.1", port))
                return port


def binary() -> pathlib.Path:
    """Returns the path of the program under test: `RINGLINE_BINARY`, else the release build."""
    return pathlib.Path(os.environ.get("RINGLINE_BINARY") or ROOT / ".build/release/ringline").resolve()


@functools.cache
def connection_ends_behind_bodies() -> bool:
    """Returns whether libwebsockets is newer than Debian 12's: then a connection ends behind a request with a body, if the
    next request came in the same packet.
    """
    linked = subprocess.run(["ldd", str(binary())], capture_output=True, text=True)
    return "libwebsockets.so.17" not in linked.stdout


def clean_environment(**more: str) -> dict[str, str]:
    """Returns this process's environment without the variables that configure the server, except `RINGLINE_LOOPS`."""
    # All tests must also pass with several event loops; `RINGLINE_LOOPS=2` runs them that way.
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RINGLINE_") or key == "RINGLINE_LOOPS"}
    return kept | more


class Server:
    """One server process. `start` may be called again after the process has ended; it uses the same data folder."""

    def __init__(self, data: pathlib.Path, *options: str, environment: dict[str, str] | None = None):
        self.data = data
        self.options = [str(option) for option in options]
        self.environment = environment or {}
        self.process: subprocess.Popen | None = None
        self.url = self.admin_url = ""
        self.starts = 0
        # A file descriptor that receives the server's log; if None, the log goes to a file.
        self.stderr: int | None = None
        self.launcher = LAUNCHER

    def start(self) -> "Server":
        self.starts += 1
        folder, name = self.data.parent, f"{self.data.name}.stderr.{self.starts}"
        if TRACE_LOGS and self.stderr is None:
            folder, name = pathlib.Path(TRACE_LOGS), f"{os.environ.get('PYTEST_XDIST_WORKER', 'gw')}.{folder.name}.{name}"
            folder.mkdir(parents=True, exist_ok=True)
        self.error_path = folder / name
        command = [*self.launcher, str(binary()), "serve", *self.folder_options]
        if "--listen" not in self.options:
            command += ["--listen", "127.0.0.1:0"]
        # Rings are unlimited, except in tests that set a limit.
        for limit in ("--rings-per-pair", "--rings-per-callee"):
            if limit not in self.options:
                command += [limit, "0"]
        if "--admin-listen" not in self.options:
            command += ["--admin-listen", "127.0.0.1:0"]
        if TRACE_LOGS and self.stderr is None and "--log-level" not in self.options:
            command += ["--log-level", "trace"]
        with open(self.error_path, "wb") as errors:
            self.process = subprocess.Popen(
                command + self.options,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors if self.stderr is None else self.stderr,
                env=clean_environment(**self.environment),
            )
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read_output, args=(self.process.stdout, self.lines), daemon=True).start()
        self.url = self.admin_url = ""
        # The lines of stdout until the server was ready.
        self.printed: list[str] = []
        start_seconds = 120 if self.launcher else 20
        deadline = time.monotonic() + start_seconds
        while not (self.url and self.admin_url):
            try:
                line = self.lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                self.kill()
                raise AssertionError(f"not ready after {start_seconds} s: {self.errors()}") from None
            if line is None:
                raise AssertionError(f"ended before it was ready, code {self.process.wait(10)}: {self.errors()}")
            self.printed.append(line)
            # With --log-format json, the sentences stand in a line of JSON.
            text = json.loads(line)["message"] if line.startswith("{") else line
            if text.startswith("listening on "):
                self.url = text.removeprefix("listening on ").strip()
            elif text.startswith("admin on "):
                self.admin_url = text.removeprefix("admin on ").strip()
        return self

    @staticmethod
    def _read_output(stream, lines):
        for line in stream:
            lines.put(line.decode(errors="replace"))
        lines.put(None)
        stream.close()

    @property
    def ws_url(self) -> str:
        return "ws" + self.url.removeprefix("http") + "/ws"

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def has_database(self) -> bool:
        """Whether the calls are in PostgreSQL, in the database that belongs to the data folder."""
        told = any(option.startswith(("--store", "--data")) for option in self.options)
        return ON_POSTGRES and not told and str(self.data) != ":memory:"

    @property
    def postgres(self) -> postgres_server.PostgresServer:
        return postgres_server.running()

    @property
    def database(self) -> str:
        return self.postgres.database(self.data)

    @property
    def database_url(self) -> str:
        return self.postgres.url(self.database)

    @property
    def store_options(self) -> list[str]:
        """The options with which a command of an operator finds this server's calls."""
        return ["--store", self.database_url] if self.has_database else ["--data", str(self.data)]

    @property
    def folder_options(self) -> list[str]:
        """The options of a command that also needs the data folder: they are those of the server itself."""
        return ["--data", str(self.data), *(["--store", self.database_url] if self.has_database else [])]

    def rows(self, query: str) -> list[tuple]:
        """Returns the rows of a query to the store; over PostgreSQL all values are text."""
        if self.has_database:
            lines = self.postgres.sql(f"SET search_path TO ringline; {query}", database=self.database)
            return [tuple(line.split("\t")) for line in lines.splitlines()]
        with sqlite3.connect(f"file:{self.data}/ringline.sqlite?mode=ro", uri=True) as database:
            return database.execute(query).fetchall()

    def execute(self, statement: str):
        """Changes the store behind the server's back."""
        if self.has_database:
            self.postgres.sql(f"SET search_path TO ringline; {statement}", database=self.database)
            return
        with sqlite3.connect(self.data / "ringline.sqlite") as database:
            database.execute(statement)
        database.close()

    @property
    def secret(self) -> bytes:
        """The development key that the server generated: the file's bytes without the trailing newline."""
        return (self.data / "development-jwt-secret").read_bytes().removesuffix(b"\n")

    def errors(self) -> str:
        return self.error_path.read_text(errors="replace")

    def usual_log(self) -> str:
        """Returns the lines that a server logs at its default level, `info`, whatever the level of this run."""
        return "".join(
            line
            for line in self.errors().splitlines(keepends=True)
            if not re.match(r'(\S+ |\{"time":"[^"]+","level":")(trace|debug)\b', line)
        )

    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """Kills the process with SIGKILL, so that the process flushes nothing and closes no connection properly."""
        if self.alive():
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(10)

    def terminate(self):
        """Sends SIGTERM, without waiting for the end of the process."""
        os.kill(self.process.pid, signal.SIGTERM)

    def exit_code(self, seconds: float = 10) -> int:
        return self.process.wait(seconds)

    def close(self) -> str | None:
        """Ends the process; returns how it had ended before, if that was a crash."""
        if self.process is None:
            return None
        code = self.process.poll()
        self.kill()
        return None if code in (None, 0, -signal.SIGKILL) else f"code {code}: {self.errors()[-2000:]}"

    def metrics_text(self) -> str:
        response = httpx.get(self.admin_url + "/metrics", trust_env=False, verify=TLS, timeout=5)
        assert response.status_code == 200, response.text
        return response.text

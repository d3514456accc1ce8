"""PostgreSQL for the tests: one throw-away server for each process of pytest, with a database for each data folder."""

import contextlib
import functools
import hashlib
import os
import pathlib
import socket
import subprocess
import tempfile
import uuid

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
# With `RINGLINE_TEST_STORE=postgres` every server that has a data folder keeps its calls in a database of its own. With
# `RINGLINE_TEST_STORE=cluster` each server is a cluster of three nodes; see cluster.py.
STORE = os.environ.get("RINGLINE_TEST_STORE", "sqlite")
ON_CLUSTER = STORE == "cluster"
ON_POSTGRES = STORE == "postgres" or ON_CLUSTER


def sqlite_only(reason: str):
    """Returns the mark of a test, or of a module, that is about SQLite itself and not about the server's calls."""
    return pytest.mark.skipif(ON_POSTGRES, reason=f"SQLite only: {reason}")


def one_process(reason: str):
    """Returns the mark of a test, or of a module, that is about one process; others are skipped by cluster.py itself."""
    return pytest.mark.skipif(ON_CLUSTER, reason=f"one process only: {reason}")


def psql() -> pathlib.Path:
    """Returns the path of the program itself: Debian's /usr/bin/psql is a script that takes longer than the query."""
    return sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/psql"))[-1]


class PostgresServer:
    """A throw-away PostgreSQL server; Tests/postgres ends it with this process."""

    def __init__(self, *settings: str, primary: int | None = None):
        """Starts the server; with `primary`, as a standby of the server on that port."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        # PostgreSQL's own user must be able to reach the folder; Tests/postgres removes it.
        folder = tempfile.mkdtemp(prefix="ringline-postgres-")
        self.address = f"postgres://ring@127.0.0.1:{self.port}"
        self.databases: dict[pathlib.Path, str] = {}
        standby = ["--standby-of", str(primary)] if primary else []
        self.process = subprocess.Popen(
            [ROOT / "Tests/postgres", folder, str(self.port), *standby, *settings],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._is_ready()

    def _is_ready(self):
        assert self.process.stdout.readline() == "ready\n", "is the package postgresql installed?"

    def _command(self, text: str):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        self._is_ready()

    def crash(self):
        """Kills all processes of the server with SIGKILL, and starts it again."""
        self._command("crash")

    def kill(self):
        """Kills all processes of the server with SIGKILL."""
        self._command("kill")

    def promote(self):
        """Makes this standby a primary."""
        self._command("promote")

    def become_standby(self, primary: int):
        """Begins again, with the data of the server on that port, as its standby; this server must have been killed."""
        self._command(f"standby-of {primary}")

    def sql(self, *commands: str, database="postgres") -> str:
        """Runs commands, each in a transaction of its own; returns the rows as psql prints them, with tabs."""
        options = ["-XqAt", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-d", f"{self.address}/{database}"]
        options += [word for command in commands for word in ("-c", command)]
        result = subprocess.run([psql(), *options], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return result.stdout.rstrip("\n")

    @contextlib.contextmanager
    def holding(self, lock: str, database: str):
        """Takes a lock by a statement, and holds it until the block ends."""
        command = [psql(), "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", self.url(database)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session:
            session.stdin.write(f"BEGIN; {lock}; SELECT 'held';\n")
            session.stdin.flush()
            assert "held\n" in iter(session.stdout.readline, ""), lock
            try:
                yield
            finally:
                session.communicate("COMMIT;\n")

    def url(self, name: str) -> str:
        return f"{self.address}/{name}"

    def database(self, data: pathlib.Path) -> str:
        """Returns the name of the database that belongs to a data folder; creates it at the first use."""
        if data not in self.databases:
            name = "e2e_" + hashlib.sha256(str(data).encode()).hexdigest()[:16]
            self.sql(f"CREATE DATABASE {name} TEMPLATE template0")
            self.databases[data] = name
        return self.databases[data]

    def new_database(self) -> str:
        """Creates a database that belongs to no data folder, and returns its URL."""
        name = "t" + uuid.uuid4().hex
        self.sql(f"CREATE DATABASE {name} TEMPLATE template0")
        return self.url(name)

    def drop(self, folders):
        names = [self.databases.pop(data) for data in set(folders) if data in self.databases]
        if names:
            self.sql(*[f"DROP DATABASE {name} WITH (FORCE)" for name in names])

    def end(self):
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


@functools.cache
def running() -> PostgresServer:
    """Returns this process's server, which starts at its first use; `end` ends it."""
    # No test ends the machine, so nothing needs to reach the disk. Databases are then made and dropped in 0.1 s.
    return PostgresServer("fsync=off", "full_page_writes=off")


def drop(folders):
    """Drops the databases that belong to these data folders."""
    if running.cache_info().currsize:
        running().drop(folders)


def end():
    if running.cache_info().currsize:
        running().end()
        running.cache_clear()


@pytest.fixture
def database() -> PostgresServer:
    return running()


@pytest.fixture
def store(database) -> str:
    """The URL of a new, empty database."""
    return database.new_database()


def database_name(store: str) -> str:
    return store.rsplit("/", 1)[1]

"""A start that waits: SIGTERM and SIGINT end it, whatever it waits for."""

import contextlib
import os
import signal
import socket
import subprocess
import time

import pytest
import slow_names
from postgres_server import one_process
from ringline_server import binary, clean_environment
from waiting import eventually

# The start has 1.5 s to end in good order. The rest is for a machine that is busy.
LIMIT = 5
BLOCKED_SIGNALS = sum(1 << (number - 1) for number in (signal.SIGTERM, signal.SIGINT))


@contextlib.contextmanager
def starting(tmp_path, *options, environment=None, stdin=subprocess.DEVNULL):
    """Starts a server that will wait; returns its process once signals no longer end it by themselves."""
    command = [binary(), "serve", "--data", tmp_path / "data", "--listen", "127.0.0.1:0", "--admin-listen", "none"]
    process = subprocess.Popen(
        [*map(str, command), *map(str, options)],
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(**(environment or {})),
    )
    try:
        eventually(lambda: blocked(process.pid) & BLOCKED_SIGNALS == BLOCKED_SIGNALS)
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def blocked(process: int) -> int:
    """Returns the set of signals that the main thread of a process blocks."""
    status = open(f"/proc/{process}/status").read()
    return int(status.split("SigBlk:")[1].split()[0], 16)


def ends(process, number: int):
    """Asserts that a signal ends the start in time and in good order, with a line that says so."""
    begun = time.monotonic()
    process.send_signal(number)
    assert process.wait(60) == 0
    assert time.monotonic() - begun < LIMIT
    assert "stopped" in process.stderr.read()


@pytest.fixture
def silent_port():
    """The port of a server that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=50) as listener:
        yield listener.getsockname()[1]


SIGNALS = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])


@one_process("it starts each server by itself")
@SIGNALS
@pytest.mark.parametrize("options", [[], ["--node-listen", "127.0.0.1:{free}"]], ids=["alone", "as a node"])
def test_a_signal_ends_a_start_whose_database_says_nothing(tmp_path, silent_port, number, options):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    store = f"postgres://a@127.0.0.1:{silent_port}/x?connect_timeout=40"
    options = [option.format(free=free) for option in options]
    with starting(tmp_path, "--store", store, *options) as process:
        eventually(lambda: has_connection(silent_port))
        ends(process, number)


def has_connection(port: int) -> bool:
    """Returns whether a socket of this machine is connected to a port of IPv4."""
    lines = open("/proc/net/tcp").read().splitlines()[1:]
    return any(line.split()[2].endswith(f":{port:04X}") and line.split()[3] == "01" for line in lines)


@one_process("it starts each server by itself")
@SIGNALS
def test_a_signal_ends_a_start_that_looks_up_a_name(tmp_path, number):
    environment = slow_names.environment(tmp_path)
    with starting(tmp_path, "--store", "postgres://a@db.hangs.test:5432/x", environment=environment) as process:
        eventually(lambda: "data" in os.listdir(tmp_path) and (tmp_path / "data/ringline.lock").exists())
        ends(process, number)


@one_process("it starts each server by itself")
@SIGNALS
def test_a_signal_ends_a_start_that_waits_for_the_data_folder(tmp_path, make_server, number):
    server = make_server()
    with starting(tmp_path, "--data", server.data, "--wait-for-data", "60") as process:
        assert "waiting for the data folder" in process.stderr.readline()
        ends(process, number)


@SIGNALS
def test_a_signal_ends_a_start_that_reads_a_silent_pipe(tmp_path, number):
    with starting(tmp_path, "--jwt-secret-file", "/dev/stdin", stdin=subprocess.PIPE) as process:
        ends(process, number)

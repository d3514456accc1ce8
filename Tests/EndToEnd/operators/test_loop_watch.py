"""A server whose event loop is stalled: the service manager learns of it, and SIGTERM ends the process."""

import os
import pathlib
import signal
import socket
import time

import pytest
from postgres_server import one_process
from ringline_server import Server
from test_admin import get
from thread_stop import stopped_thread
from waiting import eventually
from world import push_options


class ServiceManager:
    """The socket of a service manager with `Type=notify`."""

    def __init__(self, path: str):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + path[1:] if path.startswith("@") else path)
        self.socket.setblocking(False)
        self.told: list[str] = []

    def read(self) -> list[str]:
        """Returns all that it was told so far."""
        try:
            while True:
                self.told.append(self.socket.recv(4096).decode())
        except BlockingIOError:
            return self.told


@pytest.fixture(params=["path", "abstract name"])
def manager(request, tmp_path):
    path = str(tmp_path / "notify") if request.param == "path" else f"@ringline-{os.getpid()}-{tmp_path.name}"
    manager = ServiceManager(path)
    manager.environment = {"NOTIFY_SOCKET": path}
    return manager


def test_the_service_manager_is_told_the_start_the_pings_and_the_end(make_server, manager):
    server = make_server(environment=manager.environment | {"WATCHDOG_USEC": "30000000"})
    eventually(lambda: manager.read().count("WATCHDOG=1") >= 2)
    assert manager.told[0] == "READY=1"
    server.terminate()
    assert server.exit_code(10) == 0
    assert "STOPPING=1" in manager.read()


def test_without_a_watchdog_only_the_start_and_the_end_are_told(make_server, manager):
    elsewhere = {"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}
    server = make_server(environment=manager.environment | elsewhere)
    eventually(lambda: manager.read() == ["READY=1"])
    server.terminate()
    assert server.exit_code(10) == 0
    assert manager.read() == ["READY=1", "STOPPING=1"]


@one_process("it stops the thread of one process")
def test_a_stalled_loop_sends_no_ping_and_goes_on_where_it_was(make_server, manager):
    server = make_server(environment=manager.environment | {"WATCHDOG_USEC": "30000000"})
    eventually(lambda: "WATCHDOG=1" in manager.read())
    with stopped_thread(server.pid):
        # The thread of signals goes on. A ping that the loop sent before it was stopped has arrived after one second.
        before = ticks(server)
        eventually(lambda: ticks(server) >= before + 2)
        count = len(manager.read())
        eventually(lambda: ticks(server) >= before + 5)
        assert len(manager.read()) == count
    eventually(lambda: len(manager.read()) > count)
    assert get(server, "/readyz").status_code == 200


@one_process("it stops the thread of one process")
def test_sigterm_ends_a_server_whose_loop_is_stalled(tmp_path):
    server = Server(tmp_path / "data").start()
    try:
        eventually(lambda: get(server, "/readyz").status_code == 200)
        with stopped_thread(server.pid):
            os.kill(server.pid, signal.SIGTERM)
            assert server.exit_code(20) == 1
    finally:
        server.kill()
    assert "an event loop is stalled: the process ends" in server.errors()


@one_process("it stops a thread of one process")
@pytest.mark.parametrize("loop", ["loop 1", "loop 2", "apns"])
def test_each_loop_of_the_process_is_watched(apns, make_server, tmp_path, loop):
    manager = ServiceManager(str(tmp_path / "notify"))
    environment = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "30000000"}
    server = make_server("--loops", 3, *push_options(apns), environment=environment)
    eventually(lambda: "WATCHDOG=1" in manager.read())
    with stopped_thread(thread(server, loop)):
        before = ticks(server)
        eventually(lambda: ticks(server) >= before + 2)
        count = manager.read().count("WATCHDOG=1")
        eventually(lambda: ticks(server) >= before + 5)
        assert manager.read().count("WATCHDOG=1") == count
    eventually(lambda: manager.read().count("WATCHDOG=1") > count)


@one_process("it stops a thread of one process")
@pytest.mark.parametrize("loop", ["loop 1", "loop 2", "apns"])
def test_sigterm_ends_a_server_of_which_one_loop_is_stalled(apns, tmp_path, loop):
    server = Server(tmp_path / "data", "--loops", 3, *push_options(apns)).start()
    try:
        eventually(lambda: get(server, "/readyz").status_code == 200)
        with stopped_thread(thread(server, loop)):
            begun = time.monotonic()
            os.kill(server.pid, signal.SIGTERM)
            eventually(lambda: has_ended(server.pid), seconds=20)
            # The limit is 8 s, and the watch looks once a second. Without it, the drain's 5 s come first.
            assert time.monotonic() - begun < 11
        assert server.exit_code(5) == 1
    finally:
        server.kill()
    assert "an event loop is stalled: the process ends" in server.errors()


def has_ended(process: int) -> bool:
    """Returns whether the main thread of a process has ended, although another thread is still traced."""
    return open(f"/proc/{process}/stat").read().rpartition(")")[2].split()[0] in "ZX"


def thread(server, name: str) -> int:
    """Returns the id of the thread with this name."""
    tasks = pathlib.Path(f"/proc/{server.pid}/task")
    return next(int(task.name) for task in tasks.iterdir() if (task / "comm").read_text().strip() == name)


def ticks(server) -> int:
    """Returns how often the thread of signals has slept: about once a second."""
    status = open(f"/proc/{server.pid}/task/{thread(server, 'signals')}/status").read()
    return int(status.split("voluntary_ctxt_switches:")[1].split()[0])

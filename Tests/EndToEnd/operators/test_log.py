"""The server writes its log on a separate thread, so a slow or stalled reader of the log does not stop calls."""

import fcntl
import os
import signal
import socket
import ssl
import threading
import time

import pytest
from ringline_server import Server
from test_admin import get
from test_monitoring import sample
from waiting import away_from_the_end_of_a_minute, eventually

# With this callId the log of a call takes about 400 bytes, in two lines.
NAME = "c" * 110


class StalledLog:
    """A pipe with a buffer of one page, which nothing reads until `read_on`."""

    def __init__(self):
        self.reading, self.writing = os.pipe()
        fcntl.fcntl(self.writing, fcntl.F_SETPIPE_SZ, 4096)
        self.text = ""

    def read_on(self):
        """Starts to read everything that the server has written and will write."""
        self.close_writing()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with open(self.reading, "rb", buffering=0) as pipe:
            while more := pipe.read(65536):
                self.text += more.decode(errors="replace")

    def close_writing(self):
        """Closes the writing end in this process, so that only the server has it open."""
        if self.writing >= 0:
            os.close(self.writing)
        self.writing = -1


@pytest.fixture
def stalled():
    return StalledLog()


@pytest.fixture
def world_without_reader(make_server, make_world, stalled):
    server = make_server("--log-format", "json", start=False)
    server.stderr = stalled.writing
    return make_world(server.start())


def make_calls(world, count: int):
    """Begins and ends this number of calls, with enough callers that each stays below its rate limit."""
    for number in range(count):
        if number % 25 == 0:
            caller = world.connect(f"u{number}")
        caller.ask(type="offer", to="10", callId=f"{NAME}-{number}", sdp="v=0\r\n")
        caller.ask(type="end", callId=f"{NAME}-{number}")


@pytest.mark.timeout(90)
def test_a_reader_of_the_log_that_has_stalled_stops_neither_calls_nor_health(world_without_reader, stalled):
    world = world_without_reader
    make_calls(world, 400)
    assert get(world.server, "/healthz").status_code == 200
    assert sample(world.server, "ringline_calls_begun_total") == 400


@pytest.mark.timeout(90)
def test_dropped_lines_are_counted_and_reported_once_the_reader_continues(world_without_reader, stalled):
    world = world_without_reader
    make_calls(world, 1_000)
    dropped = sample(world.server, "ringline_log_lines_dropped_total")
    assert dropped > 0
    stalled.read_on()
    eventually(lambda: "log lines were dropped" in stalled.text)
    (line,) = [line for line in stalled.text.splitlines() if "log lines were dropped" in line]
    assert f'"log.dropped":{int(dropped)}' in line and '"level":"warning"' in line
    # No later line is missing.
    make_calls(world, 1)
    eventually(lambda: stalled.text.count(f"{NAME}-0") >= 2)
    assert sample(world.server, "ringline_log_lines_dropped_total") == dropped


def test_a_server_whose_log_is_not_read_ends_on_sigterm(world_without_reader):
    server = world_without_reader.server
    make_calls(world_without_reader, 40)
    began = time.monotonic()
    server.terminate()
    assert server.exit_code(10) == 0
    assert time.monotonic() - began < 8


def test_the_last_lines_before_the_end_are_written(make_server, make_world):
    server = make_server()
    make_calls(make_world(server), 25)
    server.terminate()
    assert server.exit_code() == 0
    lines = server.errors().splitlines()
    assert len([line for line in lines if "call ended" in line]) == 25
    assert lines[-1].split(maxsplit=2)[1:] == ["notice", "stopped"]


@pytest.mark.release_build
def test_the_lines_before_a_crash_are_written(tmp_path, make_world):
    # The backtrace of Swift's runtime takes time, and this test is not about it.
    server = Server(tmp_path / "data", environment={"SWIFT_BACKTRACE": "enable=no"}).start()
    try:
        world = make_world(server)
        make_calls(world, 25)
        os.kill(server.pid, signal.SIGSEGV)
        assert server.exit_code(20) == -signal.SIGSEGV
        assert len([line for line in server.errors().splitlines() if "call ended" in line]) == 25
    finally:
        server.kill()


# They trust nobody. `ssl.create_default_context` would read the system's certificates, which takes long.
CAREFUL, CARELESS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
CARELESS.check_hostname, CARELESS.verify_mode = False, ssl.CERT_NONE


def probe(port: int, number: int):
    """Connects to a port with TLS as those do who look for services, each time in another way."""
    garbage = [b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"SSH-2.0-x\r\n", b"\x16\x03\x01\x00\x05hello", b"\0" * 2_000]
    with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
        try:
            match number % 7:
                case 5:  # It refuses the certificate.
                    CAREFUL.wrap_socket(plain, server_hostname="localhost")
                case 6:
                    CARELESS.wrap_socket(plain).sendall(b"\0" * 2_000)
                case kind:
                    plain.sendall(garbage[kind])
                    plain.shutdown(socket.SHUT_WR)
                    plain.recv(4_096)
        except OSError:
            pass


def test_probes_of_a_port_with_tls_leave_few_lines_and_a_sum(make_server, certificate):  # noqa: F811
    server = make_server("--tls-cert", certificate / "c.pem", "--tls-key", certificate / "k.pem")
    away_from_the_end_of_a_minute()
    before = len(server.usual_log().splitlines())
    for number in range(210):
        probe(server.port, number)
    assert get(server, "/healthz").status_code == 200
    lines = server.usual_log().splitlines()[before:]
    # Ten lines of each kind, a sum of each in 5 s.
    assert len(lines) <= 40, lines
    server.terminate()
    assert server.exit_code(10) == 0

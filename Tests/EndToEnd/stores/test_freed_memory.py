"""The server does not read memory that libwebsockets 4.1.6 has freed.

The server runs under valgrind, which makes the exit code 99 if it reads such memory. Decision 0011 lists the library's
faults that the server avoids, and how it avoids them.
"""

import shutil
import socket

import pytest
from ringline_server import connection_ends_behind_bodies
from test_raw_bytes import request

pytestmark = pytest.mark.release_build
VALGRIND = ["valgrind", "-q", "--undef-value-errors=no", "--error-exitcode=99"]
UNKNOWN = request("GET", "/x", "Connection: Upgrade", "Upgrade: foobarbaz")


def everything(connection: socket.socket) -> bytes:
    heard = b""
    while more := connection.recv(65536):
        heard += more
    return heard


@pytest.mark.timeout(180)
@pytest.mark.parametrize("piecewise", [False, True])
def test_an_unknown_upgrade_after_another_request_is_refused_and_reads_no_freed_memory(make_server, piecewise):
    """CVE-2025-11677: for the second request, the library called back with a pointer into headers that it had freed."""
    assert shutil.which("valgrind"), "valgrind is missing; Tests/run installs it"
    server = make_server(start=False)
    server.launcher = VALGRIND
    server.start()
    for first in (request("GET", "/api/calls"), request("POST", "/x", body="{}"), b""):
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
            connection.sendall(first)
            if piecewise and first:
                assert connection.recv(65536).startswith(b"HTTP/1.1 4")
            connection.sendall(UNKNOWN)
            heard = everything(connection)
            if b"{}" in first and not piecewise and connection_ends_behind_bodies():
                assert heard.count(b"HTTP/1.1 ") == 1
                continue
            assert b"HTTP/1.1 400 " in heard and b'"bad_handshake"' in heard, heard
    server.terminate()
    assert server.exit_code(60) == 0, server.errors()[-3000:]

"""`Expect: 100-continue`: a client that asks before it sends a body, and one that closes before the response.

A preloaded library makes the write of `100 Continue` fail, as it does for a client that has closed its connection.
"""

import socket
import subprocess
import time

import pytest

FAULT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

ssize_t send(int fd, const void *bytes, size_t count, int flags) {
    static ssize_t (*next)(int, const void *, size_t, int);
    if (!next) next = dlsym(RTLD_NEXT, "send");
    if (count > 12 && !memcmp(bytes, "HTTP/1.1 100", 12)) {
        errno = EPIPE;
        return -1;
    }
    return next(fd, bytes, count, flags);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("expect")
    (folder / "fault.c").write_text(FAULT)
    made = folder / "fault.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", made, folder / "fault.c", "-ldl"], check=True, capture_output=True)
    return made


def connected(port: int) -> socket.socket:
    plain = socket.create_connection(("127.0.0.1", port), timeout=5)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return plain


def request(world, line: str, body: str = "", more: str = "") -> bytes:
    head = f"{line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {world.token('11', jti='raw')}\r\n{more}"
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    return f"{head}{length}\r\n{body}".encode()


def read(plain: socket.socket, responses: int, seconds: float = 4) -> bytes:
    """Reads until this number of responses has come or the time is over; returns the bytes that came."""
    plain.settimeout(0.1)
    got, deadline = b"", time.monotonic() + seconds
    while got.count(b"HTTP/1.1 ") < responses and time.monotonic() < deadline:
        try:
            got += plain.recv(65536)
        except TimeoutError:
            pass
    return got


def test_a_client_that_leaves_before_100_continue_does_not_disturb_others(make_server, make_world, library):
    world = make_world(make_server(environment={"LD_PRELOAD": str(library)}))
    world.call("c-1")
    log = world.rest("11", device="phone-11").log("c-1", device="phone-11")
    with connected(world.server.port) as waiting:
        # A request with a body that follows a long poll waits in the server's own buffer.
        poll = f"GET /api/calls/signal/c-1?device=phone-11&wait=1&since={log['next']}"
        body = '{"userId":"77"}'
        json = "Content-Type: application/json\r\n"
        waiting.sendall(request(world, poll) + request(world, "POST /api/blocks", body, json))
        # A server with one loop reads in order: when it has replied to a later request, it has read these two.
        world.rest("12").get("/api/calls")
        with connected(world.server.port) as gone:
            asks = f"{json}Expect: 100-continue\r\nContent-Length: 15\r\n"
            gone.sendall(request(world, "POST /api/blocks", more=asks))
            assert read(gone, 1, 0.2) == b"", "100 Continue was written although the library makes the write fail"
        got = read(waiting, 2)
        assert got.count(b"HTTP/1.1 200") == 2 and b'"user_id":77' in got.replace(b'"77"', b"77"), got


def test_a_client_that_expects_100_continue_gets_it(world):
    with connected(world.server.port) as plain:
        body = '{"userId":"77"}'
        asks = f"Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: {len(body)}\r\n"
        plain.sendall(request(world, "POST /api/blocks", more=asks))
        assert read(plain, 1).startswith(b"HTTP/1.1 100 ")
        plain.sendall(body.encode())
        assert read(plain, 1).startswith(b"HTTP/1.1 200 ")

"""While the disk fails, at any moment and in any way, the server keeps running and loses no acknowledged signal.

A preloaded library makes C library calls on the database's files fail. A setting names the call, the error, the number
of the first call that fails, and how many calls fail from there. Calls are counted from the moment when the test writes
the setting. RINGLINE_DISK_FAULTS=180 tries all settings, which takes some minutes.
"""

import errno
import itertools
import os
import pathlib
import random
import subprocess
import time

import httpx
import pytest
import samples
from connection import Refused
from postgres_server import sqlite_only
from waiting import eventually
from websockets.exceptions import ConnectionClosed

pytestmark = sqlite_only("the disk is PostgreSQL's; see PostgresStoreFailureTests")

SETTINGS = int(os.environ.get("RINGLINE_DISK_FAULTS", "8"))
CALLS = ["pwrite", "fdatasync", "fsync", "ftruncate", "pread"]
ERRORS = [errno.EIO, errno.ENOSPC, errno.EDQUOT]
FIRST = [1, 2, 5, 11]
COUNT = [1, 3, 1000]
SIGNALS = 60

FAULTS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* The setting is a file, so that a test can change it while the server runs. It contains "CALL ERRNO FIRST COUNT";
   without the file, nothing fails. */
static int fails(const char *call, int fd) {
    static __thread int inside;
    static int seen, was_armed;
    char place[64], path[PATH_MAX], name[32];
    int error = 0, first = 0, count = 0;
    if (inside) return 0;
    inside = 1;
    FILE *setting = fopen(getenv("DISK_FAULT"), "r");
    int armed = setting && fscanf(setting, "%31s %d %d %d", name, &error, &first, &count) == 4;
    if (setting) fclose(setting);
    if (!armed || !was_armed) seen = 0;
    was_armed = armed;
    int result = 0;
    if (armed && !strcmp(name, call)) {
        snprintf(place, sizeof place, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(place, path, sizeof path - 1);
        path[length > 0 ? length : 0] = 0;
        if (strstr(path, "ringline.sqlite")) {
            seen++;
            if (seen >= first && seen < first + count) result = error;
        }
    }
    inside = 0;
    return result;
}

#define STAND_IN(result, name, as, fd, parameters, arguments)                 \
    result name parameters {                                                 \
        static result(*next) parameters;                                     \
        if (!next) next = dlsym(RTLD_NEXT, #name);                           \
        int error = fails(as, fd);                                           \
        if (error) { errno = error; return -1; }                             \
        return next arguments;                                               \
    }
STAND_IN(ssize_t, pwrite64, "pwrite", fd, (int fd, const void *b, size_t n, off64_t at), (fd, b, n, at))
STAND_IN(ssize_t, pwrite, "pwrite", fd, (int fd, const void *b, size_t n, off_t at), (fd, b, n, at))
STAND_IN(ssize_t, pread64, "pread", fd, (int fd, void *b, size_t n, off64_t at), (fd, b, n, at))
STAND_IN(ssize_t, pread, "pread", fd, (int fd, void *b, size_t n, off_t at), (fd, b, n, at))
STAND_IN(int, fdatasync, "fdatasync", fd, (int fd), (fd))
STAND_IN(int, fsync, "fsync", fd, (int fd), (fd))
STAND_IN(int, ftruncate64, "ftruncate", fd, (int fd, off64_t n), (fd, n))
STAND_IN(int, ftruncate, "ftruncate", fd, (int fd, off_t n), (fd, n))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("faults")
    (folder / "faults.c").write_text(FAULTS)
    made = folder / "faults.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O1", "-o", made, folder / "faults.c", "-ldl"], check=True, capture_output=True
    )
    return made


def settings() -> list[tuple[str, int, int, int]]:
    every = list(itertools.product(CALLS, ERRORS, FIRST, COUNT))
    random.Random(7).shuffle(every)
    return every[:SETTINGS]


def acked_marks(connection, call_id: str, marks: list[str]) -> set[str]:
    """Sends a signal for each mark; returns the marks that were acked before the replies stopped for 1.5 s."""
    for number, mark in enumerate(marks):
        try:
            connection.send(type="ice", callId=call_id, id=mark, candidate=samples.candidate(number))
        except ConnectionClosed:
            break
    acked = set()
    for _ in marks:
        try:
            reply = connection.wait(lambda message: message["type"] in ("ack", "error"), 1.5)
        except AssertionError:
            break
        if reply["type"] == "ack":
            acked.add(reply["id"])
    return acked


@pytest.mark.timeout(60 + 12 * SETTINGS)
def test_a_failing_disk_loses_nothing_that_was_acked(make_server, make_world, tmp_path, library):
    setting = tmp_path / "setting"
    environment = {"LD_PRELOAD": str(library), "DISK_FAULT": str(setting)}
    failed_at_all = 0
    for number, (call, error, first, count) in enumerate(settings()):
        where = f"{call} fails with {errno.errorcode[error]}, {count} times from the {first}. on"
        server = make_server(environment=environment, data=tmp_path / f"disk-{number}")
        world = make_world(server)
        taro, _ = world.call("c-1")
        before = acked_marks(taro, "c-1", [f"before-{index}" for index in range(5)])
        assert len(before) == 5, where

        setting.write_text(f"{call} {error} {first} {count}")
        during = acked_marks(taro, "c-1", [f"during-{index}" for index in range(SIGNALS)])
        assert server.alive(), f"{where}: {server.errors()[-2000:]}"
        assert httpx.get(server.admin_url + "/healthz", trust_env=False).status_code == 200, where
        failed_at_all += "cannot" in server.errors() or len(during) < SIGNALS

        # The disk works again. The server accepts signals again without a restart, also those that it had refused.
        setting.unlink()
        again = [f"again-{index}" for index in range(3)]
        for mark in [*again, *sorted({f"during-{index}" for index in range(SIGNALS)} - during)[:5]]:
            ask_until_taken(taro, mark, where)

        server.kill()
        server.start()
        log = world.rest("10", device="phone-10").log("c-1")
        kept = {signal.get("id") for signal in log["signals"]}
        lost = (before | during | set(again)) - kept
        assert not lost, f"{where}: acked and lost: {sorted(lost)}"
        assert log["state"] == "answered", where
        server.kill()
    # Not every setting causes a fault. Three of the five calls are rare. A busy machine writes few large batches, so
    # there may be no 11th write.
    assert failed_at_all > len(settings()) / 8, "hardly any setting caused a fault: the run proved nothing"


def ask_until_taken(connection, mark: str, where: str, **signal):
    """Resends a signal under the same `id` until it is acked, as a client does after `store_unavailable`."""
    ice = {"type": "ice", "callId": "c-1", "candidate": samples.candidate(1)}

    def is_taken() -> bool:
        try:
            connection.ask(id=mark, **(signal or ice))
        except Refused as refused:
            assert refused.code == "store_unavailable", f"{where}: {refused}"
            return False
        return True

    eventually(is_taken, 15, lambda: f"{where}: still refused 15 s after the disk was whole again")


def test_an_end_by_request_gets_its_response_at_once_while_the_disk_is_full(make_server, make_world, tmp_path, library):
    """The response once waited for the disk: the app's hang-up button did not react, and the peer's call did not end."""
    setting = tmp_path / "setting"
    server = make_server(environment={"LD_PRELOAD": str(library), "DISK_FAULT": str(setting)})
    world = make_world(server)
    taro, hanako = world.call("c-1")
    app = world.rest("11", device="phone-11", allow_5xx=True)
    setting.write_text(f"pwrite {errno.ENOSPC} 1 1000000")
    began = time.monotonic()
    response = app.delete("/api/calls/signal/c-1")
    assert time.monotonic() - began < 4, f"it waited {time.monotonic() - began:.2f} s"
    assert response.status_code == 503 and response.json()["code"] == "store_unavailable", response.text
    assert "retry-after" in response.headers
    # The peer receives the end although the store cannot write. A repeated request gets its response without delay, too.
    hanako.expect(type="end", callId="c-1")
    began = time.monotonic()
    assert app.delete("/api/calls/signal/c-1").json()["code"] in ("call_ended", "store_unavailable")
    assert time.monotonic() - began < 4
    setting.unlink()
    caller = world.connect("21", "phone-21")
    ask_until_taken(caller, "later", "the disk is whole again", type="offer", to="20", sdp=samples.OFFER)
    server.kill()
    server.start()
    assert world.rest("10", device="phone-10").log("c-1")["state"] == "ended"

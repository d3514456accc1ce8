"""A process that crashes ends quickly, with or without a backtrace.

Until the process has ended, its connections stay open without a response, and its data folder stays locked.
"""

import pathlib
import shutil
import signal
import time

import pytest

# A sanitizer would handle the crash, too, and interfere with the backtracer.
pytestmark = pytest.mark.release_build


def backtracer() -> str | None:
    swift = shutil.which("swift")
    if not swift:
        return None
    found = pathlib.Path(swift).resolve().parents[1] / "libexec/swift/linux/swift-backtrace"
    return str(found) if found.exists() else None


@pytest.mark.parametrize("loops", [1, 3])
@pytest.mark.skipif(not backtracer(), reason="no Swift toolchain")
def test_after_a_crash_with_swifts_backtracer_the_folder_is_free_within_2_s(make_server, loops):
    """The end of the process took 32 s before this was fixed.

    Swift's backtracer stops threads with SIGUSR1. The server's signal thread took this signal for the operator's
    request to log more.
    """
    backtrace = f"enable=yes,swift-backtrace={backtracer()},interactive=no"
    server = make_server("--loops", loops, "--wait-for-data", 0, environment={"SWIFT_BACKTRACE": backtrace})
    began = time.monotonic()
    server.process.send_signal(signal.SIGSEGV)
    assert server.exit_code(10) == -signal.SIGSEGV
    assert time.monotonic() - began < 6
    assert "the log level was changed" not in server.errors()
    # The machine's speed decides how much of the backtrace is written in that time.
    assert "Signal 11" in server.errors(), "the backtrace has been begun"
    server.start()


@pytest.mark.skipif(not backtracer(), reason="no Swift toolchain")
def test_the_server_does_not_wait_for_a_slow_backtracer(make_server, tmp_path):
    slow = tmp_path / "swift-backtrace"
    slow.write_text("#!/bin/sh\nsleep 8\n")
    slow.chmod(0o755)
    server = make_server(environment={"SWIFT_BACKTRACE": f"enable=yes,swift-backtrace={slow},interactive=no"})
    began = time.monotonic()
    server.process.send_signal(signal.SIGSEGV)
    assert server.exit_code(10) == -signal.SIGSEGV
    assert time.monotonic() - began < 6
    server.start()

"""Stops one thread of a process, while the other threads go on (ptrace)."""

import contextlib
import ctypes
import os

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WAIT_ALL = 0x40000000

_library = ctypes.CDLL(None, use_errno=True)
_library.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_library.ptrace.restype = ctypes.c_long


def _ptrace(request: int, thread: int):
    if _library.ptrace(request, thread, None, None) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@contextlib.contextmanager
def stopped_thread(thread: int):
    """Stops the thread with this id until the end of the block. The main thread's id is the process's."""
    status = open(f"/proc/{thread}/status").read()
    is_main = f"\nTgid:\t{thread}\n" in status
    _ptrace(PTRACE_SEIZE, thread)
    _ptrace(PTRACE_INTERRUPT, thread)
    os.waitpid(thread, WAIT_ALL)
    try:
        yield
    finally:
        try:
            _ptrace(PTRACE_DETACH, thread)
        except OSError:
            # The process has ended. Its end is seen once its other threads are waited for by whoever traces them.
            if not is_main:
                os.waitpid(thread, WAIT_ALL)

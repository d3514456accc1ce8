"""Waits for a condition instead of a time."""

import time


def eventually(condition, seconds: float = 8, why=lambda: "the condition did not come true in time"):
    """Calls `condition` every 20 ms until it is true; returns what it returned. `why` makes the text of a failure."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, why()
        time.sleep(0.02)
    return found

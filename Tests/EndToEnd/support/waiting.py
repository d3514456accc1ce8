"""Waits for a condition instead of a time."""

import time


def eventually(condition, seconds: float = 8, why=lambda: "the condition did not come true in time"):
    """Calls `condition` every 20 ms until it is true; returns what it returned. `why` makes the text of a failure."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, why()
        time.sleep(0.02)
    return found


def away_from_the_end_of_a_minute(seconds: float = 20):
    """Waits until a minute of the server's log limits, which count by the boot clock, has at least this long to go."""
    eventually(lambda: time.clock_gettime(time.CLOCK_BOOTTIME) % 60 < 60 - seconds, seconds + 1)

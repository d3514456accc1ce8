"""One asyncio event loop on a thread of its own, for helpers that work while the test's thread waits."""

import asyncio
import functools
import threading


@functools.cache
def loop() -> asyncio.AbstractEventLoop:
    """Returns the loop, which starts at its first use and is not started in every pytest worker."""
    started = asyncio.new_event_loop()
    threading.Thread(target=started.run_forever, name="background loop", daemon=True).start()
    return started


def run(coroutine):
    """Runs a coroutine on the loop and returns its result."""
    return asyncio.run_coroutine_threadsafe(coroutine, loop()).result()

"""A WebSocket over TLS for tests that wait as they go: asyncio's client, on the loop of one thread.

`websockets.sync` reads on a thread of its own and writes on the caller's. Over TLS both are calls on one SSL object, and
OpenSSL forbids two at a time: with TLS 1.3 a read also takes up session tickets and key updates, and changes what the write
is using. Of 82 runs against another server two failed by it, and none of 16,657 with asyncio's client, which has one thread.
"""

import asyncio
import threading

from websockets.asyncio.client import connect


class _Loop:
    """The loop that all such sockets of the process share."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="tls sockets", daemon=True).start()

    def run(self, coroutine):
        """Runs it there, and waits for what it returns."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()


_shared: _Loop | None = None


def _loop() -> _Loop:
    global _shared  # noqa: PLW0603 - made with the first socket, not in every worker of pytest
    _shared = _shared or _Loop()
    return _shared


class OneThreadSocket:
    """What `Phone` needs of a connection, with the names and errors of `websockets.sync`."""

    def __init__(self, url: str, **options):
        async def open_it():
            return await connect(url, **options)

        self._connection = _loop().run(open_it())

    def recv(self, timeout: float | None = None) -> str | bytes:
        return _loop().run(asyncio.wait_for(self._connection.recv(), timeout))

    def send(self, message):
        _loop().run(self._connection.send(message))

    def close(self, code: int = 1000, reason: str = ""):
        _loop().run(self._connection.close(code, reason))

    @property
    def subprotocol(self) -> str | None:
        return self._connection.subprotocol

    @property
    def close_code(self) -> int | None:
        return self._connection.close_code

    @property
    def close_reason(self) -> str | None:
        return self._connection.close_reason

    @property
    def socket(self) -> "OneThreadSocket._Raw":
        return self._Raw(self._connection)

    class _Raw:
        """The way to drop a connection without a word."""

        def __init__(self, connection):
            self._connection = connection

        def close(self):
            async def abort():
                self._connection.transport.abort()

            _loop().run(abort())

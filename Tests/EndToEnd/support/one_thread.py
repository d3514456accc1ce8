"""A WebSocket client over TLS with blocking calls, which runs the asyncio client on the event loop of one thread.

`websockets.sync` reads on a separate thread and writes on the caller's thread. Over TLS both threads use the same SSL
object, but OpenSSL forbids two calls on it at a time. With TLS 1.3 a read also handles session tickets and key updates,
and so changes state that the write is using. Two of 82 runs against another server failed because of this. With the
asyncio client, which has one thread, none of 16,657 runs failed.
"""

import asyncio

from background_loop import run
from websockets.asyncio.client import connect


class OneThreadSocket:
    """The part of a connection that `Connection` needs, with the names and errors of `websockets.sync`."""

    def __init__(self, url: str, **options):
        async def open_it():
            return await connect(url, **options)

        self._connection = run(open_it())

    def recv(self, timeout: float | None = None) -> str | bytes:
        return run(asyncio.wait_for(self._connection.recv(), timeout))

    def send(self, message):
        run(self._connection.send(message))

    def close(self, code: int = 1000, reason: str = ""):
        run(self._connection.close(code, reason))

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

            run(abort())

"""A TCP proxy in front of nodes, or between nodes, or in front of PostgreSQL, with the faults of a network."""

import asyncio
import contextlib

from background_loop import loop, run


class Proxy:
    """Gives each new connection to the next of its targets, as a balancer without stickiness does.

    `targets` returns the ports on 127.0.0.1 that take connections now. A target that refuses is passed over. The proxy
    listens on `port`, or on any free one.
    """

    def __init__(self, targets, port: int = 0):
        self.targets = targets
        self.port = port
        self.delay = 0.0
        self.connections = 0
        self._passes = asyncio.Event()
        self._passes.set()
        self._open: dict[asyncio.Task, list[asyncio.StreamWriter]] = {}
        self._server: asyncio.Server | None = None
        self.accept()

    def accept(self):
        """Listens for connections, as at the beginning."""
        if self._server is None:
            self._server = run(asyncio.start_server(self._serve, "127.0.0.1", self.port, backlog=1_000))
            self.port = self._server.sockets[0].getsockname()[1]

    def refuse(self):
        """Refuses new connections, as the system of a process that has ended does; open connections stay."""
        if self._server is not None:
            run(self._stop_listening(self._server))
            self._server = None

    def hole(self):
        """Passes nothing on from now on, as a network that loses every packet; connections stay open."""
        loop().call_soon_threadsafe(self._passes.clear)

    def babble(self, message: bytes):
        """Passes nothing on from now on, and sends this message to the clients again and again."""
        self.hole()
        asyncio.run_coroutine_threadsafe(self._babble(message), loop())

    def heal(self):
        """Ends `hole` and `babble`: what was sent meanwhile is passed on."""
        loop().call_soon_threadsafe(self._passes.set)

    def cut(self):
        """Resets all connections; new ones are accepted."""
        loop().call_soon_threadsafe(self._reset)

    def close(self):
        self.refuse()
        self.cut()
        self.heal()

    async def _stop_listening(self, server: asyncio.Server):
        # Not `wait_closed`: since Python 3.12 it also waits until the open connections have ended.
        server.close()

    def _reset(self):
        for task, writers in self._open.items():
            for writer in writers:
                writer.transport.abort()
            task.cancel()

    async def _serve(self, reader, writer):
        task, writers = asyncio.current_task(), [writer]
        self._open[task] = writers
        try:
            await self._passes.wait()
            there, back = await self._connect()
            writers.append(back)
            await asyncio.gather(self._pass(reader, back), self._pass(there, writer))
        except (OSError, asyncio.CancelledError):
            # One end has reset its connection, so the other end is reset as well.
            for each in writers:
                each.transport.abort()
        finally:
            del self._open[task]
            for each in writers:
                each.close()

    async def _babble(self, message: bytes):
        while not self._passes.is_set():
            for client, *_ in self._open.values():
                client.write(message)
            await asyncio.sleep(0.02)

    async def _connect(self):
        ports = list(self.targets())
        self.connections += 1
        for turn in range(len(ports)):
            with contextlib.suppress(OSError):
                return await asyncio.open_connection("127.0.0.1", ports[(self.connections + turn) % len(ports)])
        raise ConnectionRefusedError

    async def _pass(self, reader, writer):
        while True:
            chunk = await reader.read(65536)
            if self.delay:
                await asyncio.sleep(self.delay)
            await self._passes.wait()
            if not chunk:
                break
            writer.write(chunk)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()

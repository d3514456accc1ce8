"""Socket.IO clients that poll over all nodes of a cluster, for the tests that break nodes, links and the database."""

import asyncio
import collections
import contextlib
import itertools
import logging
import time

import aiohttp
import engineio
import socketio
from cluster import Cluster
from tokens import mint


class RecentLines(logging.Handler):
    """The newest lines of loggers, for the text of a failure."""

    def __init__(self):
        super().__init__()
        self.setFormatter(logging.Formatter("%(asctime)s %(name)s %(message).300s"))
        self.lines = collections.deque(maxlen=400)

    def logger(self, name: str) -> logging.Logger:
        made = logging.Logger(name)
        made.addHandler(self)
        return made

    def emit(self, record):
        self.lines.append(self.format(record))


class PollingClient(engineio.AsyncClient):
    """An Engine.IO client that ends its session when a POST fails, as the JavaScript client does.

    python-engineio's own client then sends nothing any more, and waits up to 30 s for the response to its poll.
    """

    async def _send_request(self, method, *arguments, **options):
        request = asyncio.ensure_future(super()._send_request(method, *arguments, **options))
        if method == "GET":
            self.poll = request
        await asyncio.wait({request})
        if request.cancelled():
            return "the POST beside this poll has failed"
        response = request.result()
        if method == "POST" and getattr(response, "status", 0) != 200:
            self.poll.cancel()
        return response


class RejoiningClient(socketio.AsyncClient):
    """A Socket.IO client that tries again at once when its session ends before it has joined, and otherwise gives the join
    10 s.

    python-socketio's own client waits for one second in both cases; a loaded machine may need longer to join.
    """

    def _engineio_client_class(self):
        return PollingClient

    async def connect(self, *arguments, **options):
        await super().connect(*arguments, **options | {"wait": False})
        deadline = time.monotonic() + 10
        while not self.namespaces:
            if self.eio.state != "connected" or time.monotonic() > deadline:
                await self.disconnect()
                raise socketio.exceptions.ConnectionError("the session has ended before it had joined")
            await asyncio.sleep(0.02)


class Chat:
    """Two Socket.IO clients that poll; each of their requests goes to the next node."""

    def __init__(self, cluster: Cluster, users: tuple[int, int]):
        self.cluster, self.users = cluster, users
        self.log = RecentLines()
        self.heard: set[str] = set()
        self.has_heard = asyncio.Event()
        self.clients: list[socketio.AsyncClient] = []
        self.sessions: list[aiohttp.ClientSession] = []

    async def begin(self):
        for user in self.users:
            # A connection is not used for a second request.
            self.sessions.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)))
            log = self.log.logger(f"chat.{user}")
            client = RejoiningClient(
                logger=log,
                engineio_logger=log,
                http_session=self.sessions[-1],
                reconnection_delay=0.1,
                reconnection_delay_max=0.5,
            )
            client.on("message", self.hear)
            token = mint(self.cluster.secret, None, uid=user)
            await client.connect(
                self.cluster.url, auth={"token": token}, socketio_path="socket.io", transports=["polling"]
            )
            self.clients.append(client)

    def hear(self, message: dict):
        self.heard.add(message["body"])
        self.has_heard.set()

    async def exchange(self, mark: str):
        """Sends a text both ways, again and again until it is heard."""
        for client, user, other in zip(self.clients, self.users, reversed(self.users), strict=True):
            body, deadline = f"{mark} from {user}", time.monotonic() + 30
            while body not in self.heard:
                assert time.monotonic() < deadline, f"{other} did not hear {body}; {self.told()}"
                self.has_heard.clear()
                with contextlib.suppress(socketio.exceptions.SocketIOError):
                    await client.emit("message", {"to": other, "body": body})
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.has_heard.wait(), 0.2)

    def told(self) -> str:
        """Returns the state of each client, for the text of a failure."""
        states = [(user, client.eio.state, client.connected) for user, client in zip(self.users, self.clients, strict=True)]
        return "\n".join([f"clients: {states}", *self.log.lines])

    async def leave(self):
        for client, session in itertools.zip_longest(self.clients, self.sessions):
            if client is not None:
                await client.disconnect()
            await session.close()

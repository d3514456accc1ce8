"""A client that loses nothing while servers come and go, and their metrics as a table."""

import asyncio
import json
import time

from prometheus_client.parser import text_string_to_metric_families
from tokens import mint
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake


class Client:
    """A client that resends unacked signals under the same `id`, and reconnects at the time that the server sets."""

    def __init__(self, user: str, secret: bytes, device: str = "d"):
        self.user, self.device = user, device
        self.headers = {"Authorization": f"Bearer {mint(secret, self.user)}"}
        self.unacked: dict[str, dict] = {}
        self.acked: set[str] = set()
        self.refused: list[dict] = []
        self.heard: list[dict] = []
        self.pause: float | None = None
        self.code: int | None = None
        self.returned: float | None = None
        self.socket = None
        self.changed = asyncio.Event()

    async def open(self, url: str):
        address = f"{url}/ws?device={self.device}".replace("http", "ws", 1)
        self.socket = await connect(
            address,
            additional_headers=self.headers,
            compression=None,
            proxy=None,
            ping_interval=None,
            open_timeout=30,
            close_timeout=3,
            max_queue=None,
        )
        assert json.loads(await self.socket.recv())["type"] == "welcome"
        for frame in list(self.unacked.values()):
            await self.socket.send(json.dumps(frame))

    async def live(self, old: str, new: str):
        """Reads from the old server until it drains, then from the new one, to which it returns whenever it is closed.

        On a busy machine the new server may close it once more, because it answered a ping too late.
        """
        await self.listen()
        assert self.pause is not None, f"{self.user} was not told when to come back"
        await asyncio.sleep(self.pause - time.monotonic())
        while True:
            try:
                await self.open(new)
            except (OSError, InvalidHandshake, ConnectionClosed):
                await asyncio.sleep(0.2)
                continue
            self.returned = self.returned or time.monotonic()
            self.changed.set()
            await self.listen()

    async def listen(self):
        try:
            async for text in self.socket:
                self.take(json.loads(text))
        except ConnectionClosed:
            pass
        self.code = self.code or self.socket.close_code

    def take(self, frame: dict):
        kind = frame["type"]
        if kind == "ack":
            if self.unacked.pop(frame["id"], None):
                self.acked.add(frame["id"])
        elif kind == "error":
            # A signal that is refused with `draining` stays unacked, and is sent again on the next connection.
            if frame["code"] != "draining":
                self.refused.append(frame)
        elif kind == "draining":
            self.pause = time.monotonic() + frame["reconnectAfterMs"] / 1_000
            self.pause_ms = frame["reconnectAfterMs"]
        else:
            self.heard.append(frame)
        self.changed.set()

    async def send(self, **frame):
        self.unacked[frame["id"]] = frame
        try:
            await self.socket.send(json.dumps(frame))
        except ConnectionClosed:
            pass  # It is sent again on the next connection.

    async def until(self, condition, what: str, seconds: float = 30):
        deadline = time.monotonic() + seconds
        while not condition():
            self.changed.clear()
            try:
                await asyncio.wait_for(self.changed.wait(), max(0.01, deadline - time.monotonic()))
            except TimeoutError:
                raise AssertionError(f"{self.user}: {what}; unacked {list(self.unacked)}, {self.refused}") from None

    def signals(self, kind: str) -> list[dict]:
        return [frame for frame in self.heard if frame["type"] == kind]


def metrics(server) -> dict:
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(server.metrics_text())
        for sample in family.samples
    }

"""Calls between clients that use different transports: Socket.IO, `/ws`, or REST polling alone.

The last test makes 200 calls at once between Socket.IO clients.
"""

import asyncio
import time

import pytest
import samples
import socketio
from sio_app import App


class SocketIO:
    """The app in production, by its socket alone."""

    def __init__(self, world, user):
        self.app, self.user = App(world, user), user

    def offer(self, to, sdp):
        self.app.emit("offer", {"to": to, "sdp": sdp})

    def answer(self, to, sdp):
        self.app.emit("answer", {"to": to, "sdp": sdp})

    def ice(self, to, candidate):
        self.app.ice(to, candidate)

    def end(self, to):
        self.app.hang_up(to)

    def hears_offer(self):
        return self.app.expect("offer")["sdp"]

    def hears_answer(self):
        return self.app.expect("answer")["sdp"]

    def hears_candidate(self):
        return self.app.expect("ice")["candidate"]

    def hears_end(self):
        return self.app.expect("call-ended")["reason"]


class WebSocket:
    """A client of Ringline's own protocol."""

    def __init__(self, world, user):
        self.connection = world.connect(str(user), f"phone-{user}")
        self.user, self.call = user, None

    def offer(self, to, sdp):
        self.call = f"{self.user}-{to}"
        self.connection.ask(type="offer", to=str(to), callId=self.call, sdp=sdp)

    def answer(self, _, sdp):
        self.connection.ask(type="answer", callId=self.call, sdp=sdp)

    def ice(self, _, candidate):
        self.connection.ask(type="ice", callId=self.call, candidate=candidate)

    def end(self, _):
        self.connection.ask(type="end", callId=self.call)

    def hears_offer(self):
        offer = self.connection.expect(type="offer")
        self.call = offer["callId"]
        return offer["sdp"]

    def hears_answer(self):
        return self.connection.expect(type="answer")["sdp"]

    def hears_candidate(self):
        return self.connection.expect(type="ice")["candidate"]

    def hears_end(self):
        return self.connection.expect(type="call", state="ended")["reason"]


class Polling:
    """The app without a socket, which only makes requests."""

    def __init__(self, world, user):
        self.rest = world.rest(None, uid=user)
        self.user, self.call, self.seen = user, None, 0

    def _post(self, action, **data):
        response = self.rest.signal(action, self.call, path_id=True, **data)
        assert response.status_code == 200, response.text

    def offer(self, to, sdp):
        self.call = f"{self.user}-{to}"
        self._post("offer", sdp=sdp, type="offer")

    def answer(self, to, sdp):
        self._post("answer", sdp=sdp, to=to)

    def ice(self, _, candidate):
        self._post("ice", candidate=candidate)

    def end(self, _):
        self._post("end")

    def _next(self, wanted, seconds=8):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            response = self.rest.get(f"/api/calls/signal/{self.call}", since=self.seen, wait=1)
            for signal in response.json().get("signals", []) if response.status_code == 200 else []:
                if signal["seq"] > self.seen and wanted(signal):
                    self.seen = signal["seq"]
                    return signal
        raise AssertionError("nothing came")

    def hears_offer(self):
        return self._next(lambda signal: signal["type"] == "offer")["sdp"]

    def hears_answer(self):
        return self._next(lambda signal: signal["type"] == "answer")["sdp"]

    def hears_candidate(self):
        return self._next(lambda signal: signal["type"] == "ice")["candidate"]

    def hears_end(self):
        return self._next(lambda signal: signal["type"] == "call" and signal["state"] == "ended")["reason"]


WAYS = [SocketIO, WebSocket, Polling]


@pytest.mark.parametrize("caller", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("callee", WAYS, ids=lambda way: way.__name__)
def test_every_pairing_sets_up_a_call_with_late_candidates_and_hangs_up(world, caller, callee):
    set_up_and_hang_up(caller(world, 11), callee(world, 10))


def set_up_and_hang_up(taro, hanako):
    """Makes a call between two clients, each of one of the WAYS."""
    one, other = taro.user, hanako.user
    if isinstance(hanako, Polling):
        # A push would have given the callId to the polling app.
        hanako.call = f"{one}-{other}"
    taro.offer(other, samples.OFFER)
    assert hanako.hears_offer() == samples.OFFER
    taro.ice(other, samples.candidate(1))
    assert hanako.hears_candidate() == samples.candidate(1)
    hanako.answer(one, samples.ANSWER)
    assert taro.hears_answer() == samples.ANSWER
    for number in range(2, 6):
        hanako.ice(one, samples.candidate(number))
        taro.ice(other, samples.candidate(100 + number))
    # The client library handles each event on a separate thread, so the order of events is random.
    heard = [(taro.hears_candidate(), hanako.hears_candidate()) for _ in range(4)]
    for index, first in ((0, 2), (1, 102)):
        wanted = [samples.candidate(number) for number in range(first, first + 4)]
        assert sorted((pair[index] for pair in heard), key=str) == wanted
    hanako.end(one)
    assert taro.hears_end() == "hangup"


CALLS, CANDIDATES = 200, 10


class Client:
    def __init__(self, world, user):
        self.world, self.user = world, user
        self.socket = socketio.AsyncClient(reconnection=False)
        self.candidates, self.offered, self.answered, self.ended = [], asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.complete = asyncio.Event()
        self.socket.on("offer", lambda _: self.offered.set())
        self.socket.on("answer", lambda _: self.answered.set())
        self.socket.on("call-ended", lambda _: self.ended.set())
        self.socket.on("ice", self.heard)

    def heard(self, data):
        self.candidates.append(data["candidate"]["candidate"])
        if len(self.candidates) == CANDIDATES:
            self.complete.set()

    async def connect(self):
        token = self.world.token(None, uid=self.user)
        # 400 clients share one thread, and by default a client waits for one second.
        await self.socket.connect(
            self.world.server.url,
            auth={"token": token},
            socketio_path="socket.io",
            transports=["websocket"],
            wait_timeout=30,
        )

    async def send_candidates(self, to):
        for number in range(CANDIDATES):
            await self.socket.emit("ice", {"to": to, "candidate": samples.candidate(number)})


async def one_call(world, number, everybody):
    taro, hanako = Client(world, 1_000 + number), Client(world, 5_000 + number)
    await taro.connect()
    await hanako.connect()
    await everybody.wait()
    await taro.socket.emit("offer", {"to": hanako.user, "sdp": samples.OFFER})
    await taro.send_candidates(hanako.user)
    await hanako.offered.wait()
    await hanako.socket.emit("answer", {"to": taro.user, "sdp": samples.ANSWER})
    await hanako.send_candidates(taro.user)
    await asyncio.gather(taro.answered.wait(), taro.complete.wait(), hanako.complete.wait())
    wanted = [samples.candidate(number)["candidate"] for number in range(CANDIDATES)]
    assert taro.candidates == wanted and hanako.candidates == wanted
    await hanako.socket.emit("call-end", {"to": taro.user})
    await taro.ended.wait()
    assert not hanako.ended.is_set()
    await taro.socket.disconnect()
    await hanako.socket.disconnect()


def test_two_hundred_calls_at_once_lose_nothing(make_server, make_world):
    # One Python thread sends the pongs of 400 clients. On a busy machine some pongs take longer than the default
    # probe timeout.
    world = make_world(make_server("--probe-timeout", 20))

    async def run():
        everybody = asyncio.Barrier(CALLS)
        async with asyncio.timeout(50):
            await asyncio.gather(*(one_call(world, number, everybody) for number in range(CALLS)))

    asyncio.run(run())
    assert world.server.alive()

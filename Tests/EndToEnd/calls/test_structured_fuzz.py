"""Tens of thousands of frames with valid forms and random contents, from users who know each other's callIds.

RINGLINE_FRAMES=1000000 makes a long run that takes some minutes. A failure prints its seed; RINGLINE_SEED repeats it.
"""

import asyncio
import collections
import json
import os
import random

import httpx
import pytest
import samples
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

FRAMES = int(os.environ.get("RINGLINE_FRAMES", "20000"))
SEED = int(os.environ.get("RINGLINE_SEED") or random.SystemRandom().randrange(1 << 32))
# One connection may send a burst of 200 signals.
FRAMES_A_CONNECTION = 180
ROUNDS_AT_A_TIME = 8
# The watches of a round's service, each of which replaces the one before.
WATCHES = 60
# The WebSocket layer closes with 1003 (binary), 1007 (not UTF-8) and 1009 (too large). The 44xx codes mean: bad frames,
# a bad token, forbidden, too slow, replaced by the same device, too fast.
KNOWN_CLOSES = {1003, 1007, 1009, 4400, 4401, 4403, 4408, 4409, 4429}
ODD_VALUES = [
    None, True, 0, -1, 1.5, 2**63, 1e308, "", " ", "\0", "é" * 200, "x" * 5000, [], {}, [[[]]], {"a": {"b": []}}, "11", "p2p:",
    "room:x", "..", "\u202e", "😀" * 70, "v=0",
]  # fmt: skip


class Frames:
    """Makes the frames of one round's users: a caller, a callee, and a third user who guesses the callIds."""

    def __init__(self, chance: random.Random, round_number: int):
        self.chance = chance
        self.users = [f"r{round_number}{letter}" for letter in "abc"]
        a, b, c = self.users
        self.call_ids = [f"{a}-{b}", f"{b}-{a}", f"call-{round_number}", f"other-{round_number}", f"{c}-{b}"]
        self.number = 0

    def make(self, user: str) -> tuple[str | bytes, str | None]:
        """Returns a frame and the `id` that its reply must have, or None if it may be unreadable."""
        chance = self.chance
        self.number += 1
        mark = f"m{self.number}" if chance.random() < 0.95 else f"m{chance.randrange(max(1, self.number))}"
        fields = {"type": self.kind(), "id": mark}
        peer = chance.choice([other for other in self.users if other != user])
        if chance.random() < 0.9:
            fields["callId"] = chance.choice(self.call_ids)
        if chance.random() < 0.5:
            fields["to"] = peer
        if chance.random() < 0.1:
            fields["room"] = f"p2p:{user}-{peer}"
        if chance.random() < 0.1:
            fields["epoch"] = chance.choice([0, 1, 2, 3])
        fields |= self.contents(fields["type"], user, peer)
        if chance.random() < 0.1:
            fields[chance.choice([*fields, "x", "from", "seq", "ts", "deviceId"])] = chance.choice(ODD_VALUES)
        text = json.dumps(fields, ensure_ascii=chance.random() < 0.5)
        if chance.random() < 0.02:
            return self.damaged(text), None
        return text, fields["id"] if isinstance(fields["id"], str) and 0 < len(fields["id"]) <= 64 else None

    def kind(self) -> str:
        kinds = {
            "offer": 10, "answer": 10, "ice": 30, "ringing": 6, "connected": 6, "end": 4, "update": 8, "dtmf": 5, "info": 10,
            "sync": 2, "join": 2, "leave": 2, "message": 2, "presence": 2, "auth": 1, "watch": 1, "offerr": 1,
        }  # fmt: skip
        return self.chance.choices(list(kinds), list(kinds.values()))[0]

    def contents(self, kind: str, user: str, peer: str) -> dict:
        chance = self.chance
        match kind:
            case "offer" | "answer":
                sdp = samples.changed(samples.OFFER if kind == "offer" else samples.ANSWER, str(chance.randrange(4)))
                more = {"hasVideo": chance.random() < 0.5} if chance.random() < 0.3 else {}
                return {"sdp": sdp, "ringTimeout": chance.choice([5, 30, 120])} | more
            case "ice":
                return {"candidate": None if chance.random() < 0.05 else samples.candidate(chance.randrange(9))}
            case "end":
                return {"reason": chance.choice(["hangup", "busy", "declined", "failed", "x"])}
            case "update":
                return {chance.choice(["hold", "audioMuted", "videoMuted"]): chance.random() < 0.5}
            case "dtmf":
                return {"digits": chance.choice(["1", "*#", "12A,", "x"])}
            case "info":
                return {"data": "d" * chance.choice([0, 1, 100, 4000, 17000])}
            case "sync":
                return {"calls": {call_id: chance.randrange(9) for call_id in self.call_ids[:2]}}
            case "join" | "leave":
                return {"room": chance.choice([f"p2p:{user}-{peer}", "room:x"])}
            case "message":
                return {"body": "hello", "to": peer}
            case "presence":
                return {"userId": peer}
            case "auth":
                return {"token": "no.token.atall"}
            case "watch":
                return {"userId": peer} if chance.random() < 0.5 else {}
        return {}

    def damaged(self, text: str) -> str | bytes:
        """Returns the text with characters changed, removed or inserted.

        The result is still UTF-8; otherwise the library would end the connection.
        """
        letters = list(text)
        for _ in range(self.chance.randint(1, 3)):
            place = self.chance.randrange(len(letters))
            match self.chance.randrange(4):
                case 0:
                    letters[place] = self.chance.choice('{}[]",:\\u0tf\0é')
                case 1:
                    del letters[place]
                case 2:
                    letters.insert(place, self.chance.choice('{}[]",:\\'))
                case 3:
                    del letters[place : place + self.chance.randint(1, 40)]
            letters = letters or ["{"]
        return "".join(letters)


class Tally:
    """The numbers of frames that all connections together sent and received."""

    def __init__(self):
        self.sent = self.answered = self.relayed = self.watched = 0
        self.codes = collections.Counter()
        self.closes = collections.Counter()


async def talk(url: str, token: str, user: str, device: str, frames: Frames, tally: Tally, where: str):
    """Opens one connection, sends its share of the frames, and checks every frame that it receives."""
    expected, replies = collections.Counter(), collections.Counter()
    last_seq: dict[tuple, int] = {}
    asked_again = False

    def hear(text: str):
        message = json.loads(text)
        kind = message["type"]
        if kind in ("ack", "error"):
            tally.answered += 1
            if kind == "error":
                tally.codes[message["code"]] += 1
                assert message["code"] != "internal_error", f"{where}: {message}"
            if "id" in message:
                replies[message["id"]] += 1
        elif kind == "timeline":
            raise AssertionError(f"{where}: {user} is no service and was told of {message}")
        elif "seq" in message:
            tally.relayed += 1
            # A user receives only frames of calls that it takes part in, even if it knows other callIds.
            assert user in message["room"].removeprefix("p2p:").split("-"), f"{where}: {user} was told of {message}"
            place = (message["callId"], message["room"], message["epoch"])
            if not asked_again:
                assert message["seq"] > last_seq.get(place, 0), f"{where}: {place} goes back to {message['seq']}"
            last_seq[place] = message["seq"]

    async with connect(
        f"{url}?device={device}", additional_headers={"Authorization": f"Bearer {token}"}, compression=None, proxy=None,
        max_size=None, max_queue=None, ping_interval=None,
    ) as socket:  # fmt: skip
        try:
            for _ in range(FRAMES_A_CONNECTION):
                frame, mark = frames.make(user)
                asked_again = asked_again or '"sync"' in frame
                await socket.send(frame)
                tally.sent += 1
                if mark is not None:
                    expected[mark] += 1
                if frames.chance.random() < 0.1:
                    await asyncio.sleep(0)
            while missing := expected - replies:
                try:
                    hear(await asyncio.wait_for(socket.recv(), 30))
                except TimeoutError:
                    raise AssertionError(f"{where}: never answered: {dict(missing)}") from None
        except ConnectionClosed as closed:
            code = closed.rcvd.code if closed.rcvd else 1006
            tally.closes[code] += 1
            assert code in KNOWN_CLOSES, f"{where}: closed with {code}"


async def watch(url: str, token: str, frames: Frames, tally: Tally, where: str):
    """Watches calls of all kinds, one watch after the other, while the users of this round send their frames."""
    chance = frames.chance
    async with connect(
        f"{url}?device=watcher", additional_headers={"Authorization": f"Bearer {token}"}, compression=None, proxy=None,
        max_size=None, max_queue=None, ping_interval=None,
    ) as socket:  # fmt: skip
        for number in range(WATCHES):
            fields = {"callId": chance.choice(frames.call_ids)} if chance.random() < 0.4 else {}
            fields |= {"userId": chance.choice(frames.users)} if chance.random() < 0.3 else {}
            fields |= {chance.choice(["callId", "userId", "x"]): chance.choice(ODD_VALUES)} if chance.random() < 0.2 else {}
            await socket.send(json.dumps({"type": "watch", "id": f"w{number}", **fields}))
            reply = {}
            while reply.get("id") != f"w{number}":
                reply = json.loads(await asyncio.wait_for(socket.recv(), 30))
                if reply["type"] == "error":
                    assert reply["code"] != "internal_error", f"{where}: {reply}"
                    tally.codes[reply["code"]] += 1
                if reply["type"] == "timeline":
                    tally.watched += 1
                    assert reply["event"] and reply["callId"] and reply["epoch"] > 0, f"{where}: {reply}"
                    assert not {"sdp", "candidate"} & reply.keys(), f"{where}: {reply}"


@pytest.mark.timeout(120 + FRAMES // 1000)
def test_frames_with_any_contents_get_replies_and_reach_no_other_user(make_server, make_world, capsys):
    server = make_server("--max-tcp-connections", 500)
    world = make_world(server)
    tally = Tally()

    async def one_round(number: int):
        frames = Frames(random.Random(SEED + number), number)
        a, b, c = frames.users
        connections = [(a, "a-1"), (a, "a-2"), (b, "b-1"), (b, "b-2"), (c, "c-1")]
        where = f"RINGLINE_SEED={SEED} round {number}"
        service = world.token(f"service-{number}", scope="server")
        await asyncio.gather(
            *(talk(server.ws_url, world.token(user), user, device, frames, tally, where) for user, device in connections),
            watch(server.ws_url, service, frames, tally, where),
        )

    async def everything():
        number = 0
        while tally.sent < FRAMES:
            await asyncio.gather(*(one_round(number + index) for index in range(ROUNDS_AT_A_TIME)))
            number += ROUNDS_AT_A_TIME

    asyncio.run(everything())
    with capsys.disabled():
        print(
            f"\n{tally.sent} frames (seed {SEED}): {tally.answered} replies, {tally.relayed} relayed, {tally.watched} watched,"
            f" refused {dict(tally.codes.most_common())}, closed {dict(tally.closes)}"
        )
    assert httpx.get(server.admin_url + "/readyz", trust_env=False).status_code == 200
    taro, hanako = world.call("after-all-that", caller="taro", callee="hanako")
    taro.ask(type="end", callId="after-all-that")
    assert hanako.expect(type="call", state="ended")["reason"] == "hangup"
    assert tally.relayed > tally.sent / 20, "too few frames were relayed: the run proved nothing"
    assert tally.watched > tally.sent / 20, "too few events were watched: the run proved nothing"
    # The server logs a line when a call begins or ends, but none for a refused frame.
    assert len(server.usual_log()) < 10 * max(FRAMES, 20_000), "refused frames flood the log"

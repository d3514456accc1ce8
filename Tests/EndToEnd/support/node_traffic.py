"""Traffic over all nodes of a cluster, which checks itself; for the tests that break nodes, links and the database."""

import asyncio
import collections
import contextlib
import itertools
import json
import random
import re
import time

import httpx
import samples
from cluster import Cluster
from commands import run
from resending_client import Client
from rest import Rest
from tokens import mint
from waiting import eventually
from websockets.exceptions import ConnectionClosed, InvalidHandshake

# A log holds 64 signals before the answer, and 512 in all.
EARLY, MOST = 12, 150
# A client repeats what was refused with one of these codes.
REPEATED = {"draining", "store_unavailable"}


class Phone(Client):
    """A client that connects to one node while that serves, otherwise to any, and sends what was not acked again under the
    same `id`.
    """

    def __init__(self, cluster: Cluster, user: str, device: str, node: int):
        super().__init__(user, cluster.secret, device)
        self.cluster = cluster
        self.node = cluster.nodes[node % len(cluster.nodes)]
        self.acks: dict[str, dict] = {}
        self.life = asyncio.create_task(self.live_on())

    async def live_on(self):
        while True:
            with contextlib.suppress(OSError, InvalidHandshake, ConnectionClosed):
                await self.open(self.node.url if self.node.serves else self.cluster.url)
                await self.listen()
            await asyncio.sleep(0.1)

    def take(self, frame: dict):
        if frame["type"] == "error" and frame["code"] in REPEATED:
            asyncio.get_running_loop().call_later(0.3, asyncio.ensure_future, self.repeat(frame["id"]))
            return
        if frame["type"] == "error":
            self.unacked.pop(frame.get("id"), None)
        if frame["type"] == "ack":
            self.acks[frame["id"]] = frame
        super().take(frame)

    async def repeat(self, mark: str):
        if frame := self.unacked.get(mark):
            await self.send(**frame)

    async def send(self, **frame):
        self.unacked[frame["id"]] = frame
        with contextlib.suppress(ConnectionClosed):
            if self.socket is not None:
                await self.socket.send(json.dumps(frame))

    async def until(self, condition, what: str, seconds: float = 40):
        try:
            await super().until(condition, what, seconds)
        except AssertionError:
            if self.life.done():
                self.life.result()
            raise

    def of(self, call: str, kind: str) -> list[dict]:
        return [frame for frame in self.signals(kind) if frame.get("callId") == call]

    async def leave(self):
        self.life.cancel()
        await asyncio.gather(self.life, return_exceptions=True)
        if self.socket is not None:
            await self.socket.close()


class Call:
    """A call to two devices that answer at once. The caller also signals over REST, and polls.

    The three devices are on nodes of their own, beginning with the caller's. Each request goes to the next node.
    """

    def __init__(self, cluster: Cluster, name: str, chance: random.Random, first_node: int):
        self.cluster, self.name, self.chance = cluster, name, chance
        self.caller = Phone(cluster, f"caller-{name}", "phone", first_node)
        devices = enumerate(("phone", "tablet"), first_node + 1)
        self.callees = [Phone(cluster, f"callee-{name}", device, node) for node, device in devices]
        self.phones = [self.caller, *self.callees]
        self.winner: Phone | None = None
        self.by_rest: dict[str, int] = {}
        self.polled: list[dict] = []
        self.is_over = asyncio.Event()

    async def request(self, method: str, path: str, **options) -> dict | None:
        """Makes a request on a connection of its own, so at the next node; returns the body, or None if it failed."""
        token = mint(self.cluster.secret, self.caller.user, device=self.caller.device)
        headers = {"Authorization": f"Bearer {token}"}
        try:
            async with httpx.AsyncClient(headers=headers, trust_env=False, timeout=6) as client:
                response = await client.request(method, self.cluster.url + path, **options)
        except httpx.TransportError:
            return None
        assert response.status_code in (200, 503), response.text
        if response.status_code == 503:
            assert response.headers.get("Retry-After"), response.text
            return None
        return response.json()

    async def until(self, phone: Phone, condition, what: str):
        await phone.until(condition, f"{self.name}: {what}")

    async def ring(self):
        await self.caller.send(
            type="offer", id="offer", callId=self.name, to=self.callees[0].user, sdp=samples.OFFER
        )
        for callee in self.callees:
            await self.until(callee, lambda callee=callee: callee.of(self.name, "offer"), "was not rung")
            await callee.send(type="ringing", id="ringing", callId=self.name)
        await self.until(self.caller, lambda: "offer" in self.caller.acks, "the offer has no ack")

    async def answer(self):
        """Both devices answer in the same moment; one wins."""
        for callee in self.callees:
            sdp = samples.changed(samples.ANSWER, callee.device)
            await callee.send(type="answer", id="answer", callId=self.name, sdp=sdp)
        for callee in self.callees:
            await self.until(callee, lambda callee=callee: "answer" not in callee.unacked, "the answer has no reply")
        winners = [callee for callee in self.callees if "answer" in callee.acks]
        assert len(winners) == 1, f"{self.name}: {len(winners)} devices won"
        self.winner = winners[0]
        await self.until(self.caller, lambda: self.caller.of(self.name, "answer"), "was not answered")

    async def talk(self):
        """Signals from all sides until the call is over."""
        await asyncio.gather(self._candidates(), self._by_rest(), self._poll())

    async def has_talked(self):
        """Waits until candidates of both sides have been acked."""
        for phone, side in ((self.caller, "caller"), (self.winner, "callee")):
            await self.until(
                phone,
                lambda phone=phone, side=side: sum(f"-{side}-" in mark for mark in phone.acks) >= 3,
                f"{phone.device} gets no acks",
            )

    async def _pause(self, seconds: float):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.is_over.wait(), seconds)

    async def _candidates(self):
        sent = 0
        while not self.is_over.is_set():
            is_early = self.winner is None
            if sent < (EARLY if is_early else MOST):
                sent += 1
                for phone in (self.caller, self.winner):
                    if phone is not None:
                        mark = f"{phone.device}-{'caller' if phone is self.caller else 'callee'}-{sent}"
                        candidate = samples.candidate(sent)
                        await phone.send(type="ice", id=mark, callId=self.name, candidate=candidate)
            await self._pause(self.chance.uniform(0.2, 0.4) if is_early else self.chance.uniform(0.05, 0.15))

    async def _by_rest(self):
        sent = 0
        while not self.is_over.is_set():
            if self.winner is not None or sent < EARLY:
                sent += 1
                mark = f"rest-{sent}"
                body = {"action": "ice", "id": mark, "data": {"candidate": samples.candidate(10_000 + sent)}}
                while (reply := await self.request("POST", f"/api/calls/signal/{self.name}", json=body)) is None:
                    await asyncio.sleep(0.2)
                self.by_rest[mark] = reply["seq"]
            await self._pause(0.4)

    async def _poll(self):
        since = 0
        while not self.is_over.is_set():
            path = f"/api/calls/signal/{self.name}"
            log = await self.request("GET", path, params={"since": since, "wait": 1})
            if log is None:
                await self._pause(0.2)
            else:
                self.polled += log["signals"]
                since = log["next"]

    async def end(self):
        for phone in (self.caller, self.winner):
            await self.until(phone, lambda phone=phone: not phone.unacked, f"{phone.device} has signals without an ack")
        await self.caller.send(type="end", id="end", callId=self.name)
        for phone in (self.caller, self.winner):
            await self.until(phone, lambda phone=phone: self._ends(phone), f"{phone.device} did not hear the end")
        await self.until(self.caller, lambda: "end" in self.caller.acks, "the end has no ack")
        self.ended_at = time.time()

    def _ends(self, phone: Phone) -> list[dict]:
        return [frame for frame in phone.of(self.name, "call") if frame["state"] == "ended"] or phone.of(
            self.name, "end"
        )

    # After the end

    def check(self, log_of) -> collections.Counter:
        """Fails if an acked signal is missing, a number was given twice, or two devices were told that they won.

        Returns how much was looked at.
        """
        caller, winner = self.caller, self.winner
        from_caller = {mark for mark in caller.acks if "-caller-" in mark} | set(self.by_rest)
        from_winner = {mark for mark in winner.acks if "-callee-" in mark}
        assert from_caller and from_winner, f"{self.name}: nothing was acked"
        for sent, phone in ((from_caller, winner), (from_winner, caller)):
            heard = {frame["id"] for frame in phone.of(self.name, "ice")}
            assert sent <= heard, f"{self.name}: {phone.device} lacks {sorted(sent - heard)}"
            kept = {signal.get("id") for signal in log_of(phone)["signals"]}
            assert sent <= kept, f"{self.name}: the log of {phone.device} lacks {sorted(sent - kept)}"
        polled = {signal.get("id") for signal in self.polled}
        assert {frame["fromDevice"] for frame in caller.of(self.name, "answer")} == {winner.device}
        assert {error["code"] for phone in self.phones for error in phone.refused} <= {"already_answered"}
        assert "answer" in polled, f"{self.name}: no poll has brought the answer"

        names: dict[tuple, tuple] = {}
        for frame in itertools.chain(self.polled, *(phone.heard for phone in self.phones)):
            if "seq" in frame and frame.get("callId", self.name) == self.name:
                sender = (frame.get("from"), frame.get("fromDevice"), frame.get("id"))
                place = (frame["epoch"], frame["seq"])
                assert names.setdefault(place, sender) == sender, f"{self.name}: {place} was given to two signals"
        for mark, seq in self.by_rest.items():
            assert [sender for (_, number), sender in names.items() if number == seq] in ([], [(caller.user, "phone", mark)])
        for phone in self.callees:
            of_call = [frame for frame in phone.heard if frame.get("callId") == self.name]
            states = [frame.get("state") for frame in of_call]
            after = of_call[states.index("ended") :] if "ended" in states else []
            assert not [frame for frame in after if frame["type"] == "offer"], f"{self.name}: rang after its end"
        return collections.Counter(calls=1, acked=len(from_caller) + len(from_winner), numbers=len(names))

    def check_explanation(self):
        """Fails if `ringline explain`, which reads the database, shows fewer candidates than were acked."""

        def explained():
            result = run("explain", self.name, *self.cluster.store_options)
            return result if "ended: hangup" in result.stdout else None

        explained = eventually(explained, why=lambda: f"{self.name} has not ended in the database")
        ladder = explained.stdout.partition("Verdict:")[0]
        acked = [sum("-caller-" in mark for mark in self.caller.acks) + len(self.by_rest)]
        acked.append(sum("-callee-" in mark for mark in self.winner.acks))
        for pattern, count in zip((r"── ice(?: ×(\d+))? ─*▶", r"◀─ ice(?: ×(\d+))? ─"), acked, strict=True):
            shown = sum(int(times or 1) for times in re.findall(pattern, ladder))
            assert shown >= count, f"{count} candidates were acked:\n{explained.stdout}"
        for word in ("offer", "answer", "end"):
            assert f"─ {word} ─" in ladder, explained.stdout


class PushedCall:
    """A call to a device that is offline. APNs refuses its first pushes, and a later one wakes it."""

    def __init__(self, cluster: Cluster, name: str, apns):
        self.cluster, self.name, self.apns = cluster, name, apns
        self.token, self.callee = name.encode().hex().ljust(64, "0"), f"callee-{name}"
        self.caller = Phone(cluster, f"caller-{name}", "phone", node=0)
        self.phones = [self.caller]
        apns.script(self.token, [{"status": 503, "reason": "ServiceUnavailable"}] * 2)

        rest = Rest(cluster.url, mint(cluster.secret, self.callee))
        body = {"platform": "ios", "bundleId": "com.example.chat", "deviceId": "phone", "voipDeviceToken": self.token}
        response = rest.put("/api/me/devices", body)
        assert response.status_code == 200, response.text
        rest.close()

    async def ring(self):
        await self.caller.send(type="offer", id="offer", callId=self.name, to=self.callee, sdp=samples.OFFER)
        await self.caller.until(lambda: "offer" in self.caller.acks, f"{self.name}: the offer has no ack")

    async def end(self):
        def woken() -> bool:
            return any(push["accepted"] for push in self.apns.pushes(self.token))

        await asyncio.to_thread(eventually, woken, 30, lambda: f"{self.name}: {self.apns.pushes(self.token)}")
        device = Phone(self.cluster, self.callee, "phone", node=1)
        self.phones.append(device)
        await device.until(lambda: device.of(self.name, "offer"), f"{self.name}: the woken device was not rung")
        await device.send(type="answer", id="answer", callId=self.name, sdp=samples.ANSWER)
        await self.caller.until(lambda: self.caller.of(self.name, "answer"), f"{self.name}: was not answered")
        await self.caller.send(type="end", id="end", callId=self.name)
        await device.until(lambda: "answer" in device.acks, f"{self.name}: the answer has no ack")
        await self.caller.until(lambda: "end" in self.caller.acks, f"{self.name}: the end has no ack")
        self.ended_at = time.time()

    def check(self) -> collections.Counter:
        """Fails if the pushes of the ring differ in their id, or one came after the end; returns how many there were."""
        pushes = [push for push in self.apns.pushes(self.token) if push["payload"]["type"] == "call.incoming"]
        assert len({push["headers"]["apns-id"] for push in pushes}) == 1, f"{self.name}: several ids"
        assert len({push["payload"]["callUUID"] for push in pushes}) == 1
        late = [push["at"] for push in pushes if push["at"] > self.ended_at * 1_000]
        assert not late, f"{self.name}: pushed after its end"
        return collections.Counter(rings=1, pushes=len(pushes))

"""Events over kill -9 and take-overs: feed = deliveries (without doubles) = history (protocol, section 13.4).

By default a few kills; `RINGLINE_EVENT_KILLS=100 RINGLINE_EVENT_CALLS=1000` is the long run.
"""

import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import samples
from app_backend import AppBackend, read_feed
from postgres_server import sqlite_only
from ringline_server import free_port
from waiting import eventually

KILLS = int(os.environ.get("RINGLINE_EVENT_KILLS", "6"))
TAKE_OVERS = int(os.environ.get("RINGLINE_EVENT_TAKE_OVERS", "2"))
CALLS = int(os.environ.get("RINGLINE_EVENT_CALLS", "60"))


def insist(send, deadline: float):
    """Sends a request until it has a response that is final."""
    while True:
        try:
            response = send()
            if response.status_code not in (429, 503):
                return response
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline, "the server does not come back"
        time.sleep(0.05)


class Traffic:
    """Calls by requests, each of which is sent until it has its response, and what must be true of their events."""

    def __init__(self, make_world, make, folder, *options):
        self.chance = random.Random(7)
        # The backend fails now and then.
        self.backend = AppBackend(folder, lambda delivery: 500 if self.chance.random() < 0.02 else 204)
        self.world = make_world(make(*self.backend.options, "--disconnect-grace", "5", *options))
        self.count = 0

    def call(self, number: int):
        name, caller, callee = f"c-{number}", f"a{number % 50}", f"b{number}"
        deadline = time.monotonic() + 240
        with httpx.Client(trust_env=False, timeout=10) as http:

            def post(user, action, **data):
                body = {"action": action, "callId": name, "data": {"id": f"{action}-{number}"} | data}
                headers = {"Authorization": f"Bearer {self.world.token(user)}"}
                return http.post(f"{self.world.server.url}/api/calls/signal", json=body, headers=headers)

            response = insist(lambda: post(caller, "offer", to=callee, sdp=samples.OFFER), deadline)
            assert response.status_code == 200, response.text
            if number % 4:
                insist(lambda: post(callee, "ringing"), deadline)
                insist(lambda: post(callee, "answer", sdp=samples.ANSWER), deadline)
                insist(lambda: post(callee, "connected"), deadline)
            insist(lambda: post(caller, "end"), deadline)

    def during(self, faults, calls: int):
        """Makes calls for as long as `faults` runs, and at least so many."""
        ended, broken = threading.Event(), []

        def run():
            try:
                faults()
            except Exception as error:
                broken.append(error)
            ended.set()

        thread = threading.Thread(target=run)
        thread.start()
        with ThreadPoolExecutor(8) as pool:
            while self.count < calls or not ended.is_set():
                list(pool.map(self.call, range(self.count, self.count + 8)))
                self.count += 8
        thread.join()
        assert not broken, broken

    def feed(self) -> list[dict]:
        return read_feed(self.world.rest("backend", scope="server"))

    def check(self):
        """Checks that the feed, the deliveries and the history agree."""

        def all_ended() -> bool:
            types = [event["type"] for event in self.feed()]
            return types.count("call.started") == types.count("call.ended") == self.count

        eventually(all_ended, 60, lambda: f"{self.count} calls, {len(self.feed())} events")
        feed = {event["id"]: event for event in self.feed()}
        eventually(
            lambda: len(self.backend.events()) >= len(feed), 120, lambda: f"{len(self.backend.events())} of {len(feed)}"
        )
        assert {event["id"]: event for event in self.backend.events()} == feed and not self.backend.faults, (
            self.backend.faults
        )
        calls, order, history = {}, {}, {}
        for event in feed.values():
            calls.setdefault(event["data"]["call"]["callId"], []).append(event)
        for event in self.backend.events():
            order.setdefault(event["data"]["call"]["callId"], []).append(event["data"]["n"])
        for name, events in calls.items():
            types = [event["type"] for event in events]
            numbers = list(range(1, len(events) + 1))
            assert [event["data"]["n"] for event in events] == numbers, events
            assert order[name] == numbers, "a call's events are delivered in their order"
            assert types[0] == "call.started" and types.count("call.ended") == 1, types
        for user in {event["data"]["call"]["caller"] for event in feed.values()}:
            for record in self.world.rest(user).get("/api/calls", limit=500).json():
                history[record["callId"]] = record
        assert set(history) == set(calls)
        for name, record in history.items():
            (end,) = [event["data"] for event in calls[name] if event["type"] == "call.ended"]
            assert end["reason"] == record["reason"] and end["call"]["endedAt"] == record["endedAt"]
            assert end["call"]["answeredAt"] == record["answeredAt"]
        print(f"{self.count} calls, {len(feed)} events, {len(self.backend.deliveries)} deliveries")
        self.backend.close()


@sqlite_only("the node's own test is below")
def test_feed_deliveries_and_history_agree_over_kills(make_server, make_world, tmp_path):
    traffic = Traffic(make_world, make_server, tmp_path, "--listen", f"127.0.0.1:{free_port()}")

    def kill():
        for _ in range(KILLS):
            time.sleep(traffic.chance.uniform(0.05, 0.8))
            traffic.world.server.kill()
            traffic.world.server.start()

    traffic.during(kill, CALLS)
    traffic.check()


def test_feed_deliveries_and_history_agree_over_take_overs(make_cluster, make_world, tmp_path):
    traffic = Traffic(make_world, make_cluster, tmp_path)
    cluster = traffic.world.server

    def take_over():
        for _ in range(TAKE_OVERS):
            time.sleep(traffic.chance.uniform(0.2, 1))
            owner = eventually(cluster.owner, 20)
            owner.kill()
            cluster.new_owner(owner)
            owner.start()

    traffic.during(take_over, CALLS // 2)
    traffic.check()

"""Schedules for the tests, and servers whose clock reaches a full minute soon.

A schedule names a minute. So that no test waits for one, the server's clock is set to some seconds before a full
minute.
"""

import pathlib
import time

from connection import Connection
from postgres_server import ON_CLUSTER
from waiting import eventually
from wall_clock import WallClock

# The time that a test has for its preparations, from the start of the server to the full minute. Nodes start slowly.
LEAD = 15 if ON_CLUSTER else 10
WEEK = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
MIDDAY = {"at": "12:00", "timeZone": "UTC", "days": WEEK}


class Minute:
    """A full minute of a server's clock that comes `lead` seconds after this object was made."""

    def __init__(self, library: pathlib.Path, path: pathlib.Path, lead=LEAD):
        self.seconds = (int(time.time()) // 60 + 1) * 60
        self.ahead = self.seconds - lead - time.time()
        self.clock = WallClock(library, path, self.ahead)
        self.environment = self.clock.environment

    @property
    def ms(self) -> int:
        return self.seconds * 1000

    @property
    def left(self) -> float:
        """The time until the server's clock shows the minute."""
        return self.seconds - self.ahead - time.time()

    @property
    def server_now_ms(self) -> int:
        return int((time.time() + self.ahead) * 1000)

    def shift(self, seconds: float):
        """Sets the clock of the server's next process ahead, as if it had been down for so long."""
        self.ahead += seconds
        self.clock.set(self.ahead)

    def once(self, **members) -> dict:
        """Returns the body of a schedule for this minute alone."""
        there = time.gmtime(self.seconds)
        return self._body(on=time.strftime("%Y-%m-%d", there)) | members

    def daily(self, **members) -> dict:
        """Returns the body of a schedule for this minute of every day."""
        return self._body(days=WEEK) | members

    def _body(self, **dates) -> dict:
        at = time.strftime("%H:%M", time.gmtime(self.seconds))
        return {"at": at, "timeZone": "UTC", "from": {"id": "wake", "displayName": "Wake-up"}} | dates


def make(world, body: dict, user="10", schedule="s-1") -> dict:
    """Makes a schedule as its user; returns it."""
    response = world.rest(user).put(f"/api/schedules/{schedule}", body)
    assert response.status_code == 200, response.text
    return response.json()


def make_for(world, body: dict, user="10", schedule="s-1") -> dict:
    """Makes a schedule for a user as a service; returns it."""
    response = world.rest("backend", scope="server").put(f"/api/users/{user}/schedules/{schedule}", body)
    assert response.status_code == 200, response.text
    return response.json()


def rung(device: Connection, schedule="s-1", seconds=LEAD + 8) -> dict:
    """Waits until a schedule rings this device; returns the offer."""
    return device.expect(seconds, type="offer", schedule=schedule)


def ended(device: Connection, call_id: str, seconds=8) -> str:
    """Waits for the end of a call; returns the reason."""
    return device.expect(seconds, type="call", callId=call_id, state="ended")["reason"]


def history(world, user="10") -> list[dict]:
    response = world.rest(user).get("/api/calls")
    assert response.status_code == 200, response.text
    return response.json()


def reasons(world, user="10") -> list[str | None]:
    """Returns the reasons of a user's calls, the oldest first."""
    return [call.get("reason") for call in reversed(history(world, user))]


def become(world, wanted: list[str], user="10", seconds=8):
    """Waits until the calls of a user's history have these reasons."""
    eventually(lambda: reasons(world, user) == wanted, seconds, lambda: f"{reasons(world, user)}")


def schedules(world, user="10") -> list[dict]:
    return world.rest(user).get("/api/schedules").json()["schedules"]


def call_rows(world) -> list[tuple]:
    """Returns the schedule and the reason, or `live`, of all scheduled calls in the database."""
    query = "SELECT schedule, coalesce(reason, 'live') FROM call WHERE schedule IS NOT NULL ORDER BY number"
    return world.server.rows(query)

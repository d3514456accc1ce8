"""A data folder of an earlier build that was killed in the middle of its calls.

It is kept as SQL, together with the results of queries to the build that wrote it. `test_kept_folder.py` opens it with
the current build and compares the results.

    python Tests/EndToEnd/support/kept_folder.py [FOLDER]    writes both anew with the release build, into Tests/Samples/kept

The folder is never written again. A later version of the schema adds its step to `MIGRATIONS`, and a member that responses
have since then is added to `answers.json` by hand. Another folder, of another build, goes beside this one.
"""

import base64
import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

import samples
from commands import wait_for
from ringline_server import Server, binary, clean_environment
from wall_clock import WallClock, build
from world import World, push_options

FOLDER = samples.FOLDER / "kept"
SECRET = b"the key of the kept folder, 32 bytes"
SERVER_KEY = base64.b64encode(bytes(range(32))) + b"\n"
DATABASE = "ringline.sqlite"
IPHONE = "ab" * 32

# What each version of the tables adds, as in Schema.swift; the kept folders have at least version 2.
# Its device rows need no other change.
MIGRATIONS = [
    "",
    "",
    "ALTER TABLE device ADD COLUMN fcm_token_at INTEGER",
    """
    ALTER TABLE device ADD COLUMN web_endpoint TEXT;
    ALTER TABLE device ADD COLUMN web_p256dh TEXT;
    ALTER TABLE device ADD COLUMN web_auth TEXT;
    ALTER TABLE device ADD COLUMN web_push_at INTEGER;
    ALTER TABLE device ADD COLUMN sound TEXT;
    ALTER TABLE device ADD COLUMN payload_keys TEXT;
    ALTER TABLE device ADD COLUMN installation TEXT
    """,
    """
    ALTER TABLE call ADD COLUMN schedule TEXT;
    CREATE TABLE schedule (
        user         TEXT    NOT NULL,
        id           TEXT    NOT NULL,
        at           TEXT    NOT NULL,
        dates        TEXT    NOT NULL,
        zone         TEXT    NOT NULL,
        caller       TEXT    NOT NULL,
        display_name TEXT,
        handle       TEXT,
        handle_type  TEXT,
        data         TEXT,
        ring         INTEGER NOT NULL,
        every        INTEGER,
        times        INTEGER,
        is_own       INTEGER NOT NULL,
        created_at   INTEGER NOT NULL,
        next         INTEGER,
        occurrence   INTEGER,
        rings        INTEGER NOT NULL,
        again        INTEGER,
        salt         INTEGER NOT NULL,
        last_occurrence INTEGER,
        PRIMARY KEY (user, id)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE directory (owner TEXT NOT NULL, list INTEGER NOT NULL, number INTEGER NOT NULL, label TEXT,
        version INTEGER NOT NULL, removed_at INTEGER, PRIMARY KEY (owner, list, number)) STRICT, WITHOUT ROWID;
    CREATE INDEX directory_by_version ON directory (owner, list, version);
    CREATE INDEX directory_removed ON directory (removed_at) WHERE removed_at IS NOT NULL;
    CREATE INDEX directory_blocked ON directory (owner, number) WHERE list = 1 AND removed_at IS NULL
    """,
    """
    CREATE TABLE app_event (position INTEGER PRIMARY KEY, incarnation INTEGER NOT NULL, at INTEGER NOT NULL,
        type TEXT NOT NULL, call INTEGER, number INTEGER NOT NULL, user TEXT, data BLOB NOT NULL, total INTEGER NOT NULL
        ) STRICT;
    CREATE INDEX app_event_by_call ON app_event (call) WHERE call IS NOT NULL;
    CREATE TABLE event_endpoint (url TEXT PRIMARY KEY, settled_up_to INTEGER NOT NULL, stopped_at INTEGER,
        parked INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE held_event (url TEXT NOT NULL, position INTEGER NOT NULL, call INTEGER, state TEXT NOT NULL,
        retry_at INTEGER, attempts INTEGER NOT NULL, since INTEGER NOT NULL, PRIMARY KEY (url, position)
        ) STRICT, WITHOUT ROWID;
    CREATE INDEX held_event_by_retry ON held_event (url, retry_at, position) WHERE state = 'retry';
    CREATE INDEX held_event_by_call ON held_event (url, call, position);
    CREATE INDEX held_event_by_state ON held_event (url, state, position);
    CREATE INDEX held_event_by_position ON held_event (position)
    """,
]

# For each call, the users whose view of it `results` asks for.
CALLS = {
    "c-ringing": "11 10 12",
    "c-shown": "12 13",
    "c-answered": "14 15",
    "c-active": "16 17 20",
    "19-18": "19 18",
    "c-hangup": "30 31",
    "c-declined": "30 32",
    "c-cancelled": "30 33",
    "c-failed": "30 34",
    "c-unanswered": "30 35",
    "c-elsewhere": "30 36",
    "c-blocked": "21 22",
    "c-replaced": "37 38",
}


def description(text: str) -> str:
    return f"v=0\r\no=- {len(text)} 2 IN IP4 127.0.0.1\r\ns={text}\r\nt=0 0\r\n"


def people(server: Server, moment: float) -> World:
    """Returns a world with tokens that are valid at this moment, whatever the clock of this machine shows."""
    world = World(server)
    plain = world.token
    times = {"iat": int(moment) - 60, "exp": int(moment) + 3600}
    world.token = lambda user="11", **claims: plain(user, **(times | claims))
    return world


class Story:
    """The calls that are made before the server is killed."""

    def __init__(self, world: World):
        self.world = world

    def ring(self, call_id: str, caller: str, callee: str, **fields):
        """Rings the callee; returns the caller's client."""
        connection = self.world.connect(caller, f"phone-{caller}")
        connection.ring(
            callee, call_id, sdp=description(f"offer of {call_id}"), **({"id": f"{call_id}-offer"} | fields)
        )
        return connection

    def meet(self, call_id: str, caller: str, callee: str, answer=True, **fields):
        """Makes a call that rings or is answered; returns the clients of both sides."""
        other = self.world.connect(callee, f"phone-{callee}")
        one = self.ring(call_id, caller, callee, **fields)
        other.expect(type="offer", callId=call_id)
        other.ask(type="ringing", callId=call_id, id=f"{call_id}-ringing")
        if answer:
            other.ask(type="answer", callId=call_id, id=f"{call_id}-answer", sdp=description(f"answer of {call_id}"))
        return one, other

    def candidates(self, connection, call_id: str, count: int):
        for number in range(count):
            mark = f"{call_id}-{connection.user}-{number}"
            connection.ask(type="ice", callId=call_id, id=mark, candidate=samples.candidate(number))

    def over(self):
        """Makes calls that end in each possible way."""
        one, other = self.meet("c-hangup", "30", "31", displayName="Taro 太郎", hasVideo=True)
        self.candidates(one, "c-hangup", 3)
        self.candidates(other, "c-hangup", 2)
        one.ask(type="connected", callId="c-hangup")
        other.ask(type="dtmf", callId="c-hangup", digits="1#")
        other.ask(type="end", callId="c-hangup", id="c-hangup-end")
        _, other = self.meet("c-declined", "30", "32", answer=False)
        other.ask(type="end", callId="c-declined", id="c-declined-end")
        one, _ = self.meet("c-cancelled", "30", "33", answer=False)
        one.ask(type="end", callId="c-cancelled", id="c-cancelled-end")
        one, _ = self.meet("c-failed", "30", "34")
        one.ask(type="end", callId="c-failed", id="c-failed-end", reason="failed")
        self.ring("c-unanswered", "30", "35").expect(type="call", callId="c-unanswered", state="ended")
        second = self.world.connect("36", "tablet-36")
        self.meet("c-elsewhere", "30", "36")
        second.expect(type="call", callId="c-elsewhere", state="ended")
        # Three calls under one callId, the second in the other direction.
        for use, (caller, callee) in enumerate([("19", "18"), ("18", "19"), ("19", "18")]):
            one, _ = self.meet("19-18", caller, callee, answer=False, id=f"use-{use}", room="p2p:19-18")
            one.ask(type="end", callId="19-18")
        # The caller begins the call anew while it rings.
        one, _ = self.meet("c-replaced", "37", "38", answer=False)
        one.ask(type="offer", to="38", callId="c-replaced", id="c-replaced-again", sdp=description("begun anew"))
        one.ask(type="end", callId="c-replaced")

    def live(self):
        """Makes the calls that are live when the server is killed; returns the client that calls user 10."""
        rest = self.world.rest
        rest("22").post("/api/blocks", {"userId": "21"})
        rest("23").put("/api/me/dnd", {"until": int((time.time() + 3600) * 1000)})
        iphone = {"platform": "ios", "bundleId": "com.example.chat", "deviceId": "iphone-10"}
        android = {"platform": "android", "bundleId": "com.example.chat", "deviceId": "pixel-15"}
        for user, device in (
            ("10", iphone | {"voipDeviceToken": IPHONE, "apnsDeviceToken": "cd" * 32}),
            ("15", android | {"fcm_token": "fcm:token"}),
        ):
            response = rest(user).put("/api/me/devices", device)
            assert response.status_code == 200, response.text
        assert rest("24").post("/api/logout-all", {}).status_code == 200
        taro = self.ring("c-ringing", "11", "10", displayName="Taro", room="p2p:11-10")
        self.candidates(taro, "c-ringing", 3)
        self.meet("c-shown", "12", "13", answer=False)
        one, other = self.meet("c-answered", "14", "15")
        self.candidates(one, "c-answered", 2)
        self.candidates(other, "c-answered", 2)
        one, other = self.meet("c-active", "16", "17")
        for connection in (one, other):
            connection.ask(type="connected", callId="c-active")
        one.ask(type="offer", callId="c-active", id="c-active-second", sdp=description("second offer"))
        other.ask(type="answer", callId="c-active", id="c-active-reply", sdp=description("second answer"))
        # Neither of these offers rings a device: the first has the callId of a live call between other users, the
        # second goes to a user who has blocked the caller.
        self.ring("c-active", "20", "17")
        self.ring("c-blocked", "21", "22")
        return taro


def write(folder: pathlib.Path):
    """Plays the story, kills the server, and writes its database and the reopened server's results to the folder."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "FakePushServices"))
    from fake_apns import FakeAPNs

    with tempfile.TemporaryDirectory() as place, FakeAPNs(directory=pathlib.Path(place) / "apns") as fake:
        data = pathlib.Path(place) / "data"
        lay_keys(data)
        server = Server(data, *push_options(fake), "--ring-timeout", "1").start()
        Story(people(server, time.time())).over()
        server.terminate()
        assert server.exit_code() == 0
        server = Server(data, *push_options(fake)).start()
        world = people(server, time.time())
        Story(world).live()
        assert fake.wait_for_push(IPHONE, timeout=5)
        # Acknowledged signals are committed. APNs' response to the push is not acknowledged, so wait for it.
        wait_for(world, "c-ringing", "accepted")
        server.kill()
        moment = time.time()
        with sqlite3.connect(data / DATABASE) as database:
            version = database.execute("PRAGMA user_version").fetchone()[0]
            lines = [f"PRAGMA user_version = {version};", *database.iterdump()]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "folder.sql").write_text("\n".join([f"-- killed at {moment:.3f}", *lines, ""]))
    with tempfile.TemporaryDirectory() as place:
        told = reopened(pathlib.Path(place), build(pathlib.Path(place)), folder)
    (folder / "answers.json").write_text(json.dumps(told, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def lay_keys(data: pathlib.Path):
    data.mkdir(parents=True, mode=0o700)
    for name, text in (("development-jwt-secret", SECRET + b"\n"), ("server-key", SERVER_KEY)):
        (data / name).write_bytes(text)
        (data / name).chmod(0o600)


def lay(data: pathlib.Path, folder: pathlib.Path = FOLDER) -> float:
    """Restores the data folder as it was left; returns the moment of the kill, in seconds since 1970."""
    lay_keys(data)
    text = (folder / "folder.sql").read_text()
    with sqlite3.connect(data / DATABASE) as database:
        database.executescript(text)
    return float(text.split("\n", 1)[0].removeprefix("-- killed at "))


def reopened(place: pathlib.Path, library: pathlib.Path, folder: pathlib.Path = FOLDER) -> dict[str, object]:
    """Returns the release build's results about all calls, with the server's clock one second after the kill."""
    data = place / "data"
    moment = lay(data, folder)
    told = explanations(data)
    clock = WallClock(library, place / "clock", ahead=moment + 1 - time.time())
    server = Server(data, environment=clock.environment).start()
    try:
        return told | results(people(server, moment), moment)
    finally:
        server.kill()


def results(world: World, moment: float) -> dict[str, object]:
    """Returns the results about every call to each of its users, without the events after the kill."""
    told = {}
    for call_id, users in CALLS.items():
        for user in users.split():
            rest = world.rest(user, device=f"phone-{user}")
            paths = [
                f"/api/calls/signal/{call_id}",
                f"/api/calls/{call_id}",
                f"/api/calls/{call_id}/timeline",
                "/api/calls",
            ]
            if call_id == "19-18":
                paths += [f"/api/calls/19-18/timeline?epoch={epoch}" for epoch in (1, 2)]
            for path in paths:
                response = rest.request("GET", path)
                told[f"{user} GET {path}"] = {"status": response.status_code, "body": before(moment, response.json())}
    for user in ("10", "15", "22"):
        told[f"{user} devices"] = before(moment, world.rest(user).get("/api/me/devices").json())
        told[f"{user} blocks"] = before(moment, world.rest(user).get("/api/blocks").json())
    told["24 is logged out"] = world.rest("24").get("/api/me/devices").status_code
    return told


def explanations(data: pathlib.Path) -> dict[str, str]:
    """Returns the output of `explain` for every call, before a server opens the folder.

    The command refuses tables of an earlier version until a server has migrated them. So it reads a copy with the tables
    of today, as a server that was killed right after its migrations would leave it.
    """
    copy = data.with_name(data.name + "-migrated")
    shutil.copytree(data, copy)
    with sqlite3.connect(copy / DATABASE) as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        for migration in MIGRATIONS[version:]:
            database.executescript(migration)
        database.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    return {f"explain {call_id}": explained(copy, call_id) for call_id in CALLS}


def before(moment: float, value):
    """Returns a body without the events that are later than the moment."""
    if isinstance(value, list):
        return [before(moment, each) for each in value if not (isinstance(each, dict) and is_later(each, moment))]
    if isinstance(value, dict):
        return {name: before(moment, each) for name, each in value.items()}
    return value


def is_later(event: dict, moment: float) -> bool:
    return isinstance(event.get("at"), int) and "event" in event and event["at"] > moment * 1000


def explained(data: pathlib.Path, call_id: str) -> str:
    run = subprocess.run(
        [str(binary()), "explain", call_id, "--data", str(data)],
        capture_output=True,
        text=True,
        timeout=20,
        env=clean_environment(),
    )
    return run.stdout + run.stderr


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)

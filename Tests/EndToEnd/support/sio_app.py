"""A model of the existing app: the original Socket.IO client library, and REST requests as that app makes them."""

import itertools
import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading
import time

import recording
import samples
from connection import brief
from rest import Rest
from ringline_server import ROOT
from waiting import eventually

SECONDS = 10
DRIVER = pathlib.Path(__file__).with_name("sio_driver.py")
_numbers = itertools.count(1)

# Name → (Engine.IO version, transports): how the clients of the tests connect.
WAYS = {
    "eio4-websocket": (4, ["websocket"]),
    "eio4-upgrade": (4, None),
    "eio3-websocket": (3, ["websocket"]),
    "eio3-upgrade": (3, None),
}
POLLING = {"eio4-polling": (4, ["polling"]), "eio3-polling": (3, ["polling"])}


def interpreter(version: int) -> str:
    """Returns the Python interpreter that has the client of this Engine.IO version.

    Version 4 is in the tests' own environment, version 3 in the one with the old releases.
    """
    if version == 4:
        return sys.executable
    return os.environ.get("RINGLINE_PYTHON_EIO3") or str(ROOT / ".build/venv-eio3/bin/python")


class App:
    """One installation of the app. `heard` holds every event received, `inbox` those that the test has not taken."""

    def __init__(
        self,
        world,
        user: int,
        way: str = "eio4-websocket",
        *,
        token: str | None = None,
        auth: str | None = "best",
        path: str = "/signal/socket.io/",
        register="own",
        reconnection: bool = True,
        online: bool = True,
        query: str = "",
    ):
        self.world, self.user, self.way = world, user, way
        self.token = token if token is not None else world.token(None, uid=user, u=f"User {user}")
        self.auth, self.path, self.query = auth, path, query
        self.register = user if register == "own" else register
        self.reconnection = reconnection
        self.rest = Rest(world.server.url, self.token)
        self.process = None
        self.heard: list[dict] = []
        self.inbox: list[dict] = []
        self.acks: dict[int, list] = {}
        world.closing.append(self)
        if online:
            self.start()
            self.wait(lambda said: "registered" in said if self.register is not None else "connected" in said)

    # The socket

    def start(self):
        """Starts to open the socket, without waiting until it is open."""
        version, transports = (WAYS | POLLING)[self.way]
        auth = ("auth" if version == 4 else "header") if self.auth == "best" else self.auth
        url = self.world.server.url
        if auth == "query":
            url += f"?token={self.token}"
        if self.query:
            url += ("&" if "?" in url else "?") + self.query
        config = {
            "url": url,
            "path": self.path,
            "transports": transports,
            "headers": {"Authorization": f"Bearer {self.token}"} if auth == "header" else {},
            "auth": {"token": self.token} if auth == "auth" else None,
            "register": self.register,
            "reconnection": self.reconnection,
        }
        self.process = subprocess.Popen(
            [interpreter(version), str(DRIVER), json.dumps(config)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read_lines, args=(self.process.stdout, self.lines), daemon=True).start()

    @staticmethod
    def _read_lines(stream, lines):
        for line in stream:
            lines.put(line)
        lines.put(None)

    def _read(self, deadline: float):
        try:
            line = self.lines.get(timeout=max(0.001, deadline - time.monotonic()))
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            self.lines.put(None)
            raise TimeoutError
        said = json.loads(line)
        if "event" in said:
            recording.heard(f"event {said['event']}", json.dumps(said.get("data")))
        self.heard.append(said)
        if "ack" in said:
            self.acks[said["ack"]] = said["data"]
        else:
            self.inbox.append(said)

    def wait(self, wanted, seconds: float = SECONDS) -> dict:
        deadline = time.monotonic() + seconds
        while True:
            for said in self.inbox:
                if wanted(said):
                    self.inbox.remove(said)
                    return said
            try:
                self._read(deadline)
            except TimeoutError:
                said = [brief(each) for each in self.heard[-8:]]
                raise AssertionError(f"user {self.user}: not heard; last heard: {said}") from None

    def expect(self, event: str, seconds: float = SECONDS, **fields) -> dict:
        """Takes the first event of this name that has these members and has not been taken yet; returns its payload."""

        def wanted(said):
            data = said.get("data")
            return said.get("event") == event and all(data.get(key) == value for key, value in fields.items())

        try:
            return self.wait(wanted, seconds)["data"]
        except AssertionError as failure:
            raise AssertionError(f"{event} {fields}: {failure}") from None

    def events(self, name: str) -> list[dict]:
        """Reads the events that are on their way; returns all events of a name that have arrived, taken or not."""
        self.fence()
        return [said["data"] for said in self.heard if said.get("event") == name]

    def fence(self):
        """Reads everything that the server sent before this call, and makes sure that its pings are answered."""
        # Another thread of the client sends the pongs. When an event is sent, that thread has answered every ping that came
        # before the ack of the event before it. So the server has the pong to its present ping by the second event. Only
        # then does it send a ping for what came after, perhaps behind the ack; the fourth event follows the pong to that.
        for _ in range(4):
            self.ask("is-online", {"userId": self.user})
        self.inbox = [said for said in self.inbox if said.get("event") != "user-online"]

    def emit(self, event: str, data):
        """Sends an event as the app does, without asking for an ack."""
        self._command(emit=event, data=data)

    def ask(self, event: str, data, seconds: float = SECONDS) -> dict:
        """Sends an event and waits for its ack; returns the payload."""
        number = next(_numbers)
        self._command(emit=event, data=data, ack=number)
        deadline = time.monotonic() + seconds
        while number not in self.acks:
            try:
                self._read(deadline)
            except TimeoutError:
                raise AssertionError(f"user {self.user}: {event} was not answered") from None
        return self.acks.pop(number)[0]

    def transport(self) -> str:
        self._command(ask="transport")
        return self.wait(lambda said: "transport" in said)["transport"]

    def _command(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def leave(self):
        """Closes the socket cleanly."""
        self._command(ask="leave")
        self.process.wait(10)

    def kill(self):
        """Kills the app, which sends nothing more."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def suspend(self):
        """Suspends the app as iOS does: its sockets stay open, but it does not read from them."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def close(self):
        self.rest.close()
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)

    # The app's actions

    def call(self, to: int, sdp: str = samples.OFFER, **more) -> dict:
        """Begins a call as the app does, over REST and then by the socket; returns the response to the REST offer."""
        body = {"callId": f"{self.user}-{to}", "action": "offer", "data": {"sdp": sdp, "type": "offer"}}
        response = self.rest.post("/api/calls/signal", body)
        assert response.status_code == 200, response.text
        self.emit("offer", {"to": to, "sdp": sdp, "displayName": f"User {self.user}"} | more)
        return response.json()

    def poll(self, call_id: str, what: str, seconds: float = 4) -> dict:
        """Polls until the call has an offer or an answer (`what`), and returns the description."""

        def found() -> dict | None:
            response = self.rest.get(f"/api/calls/signal/{call_id}")
            description = response.json().get(what) if response.status_code == 200 else None
            return description if description and description.get("sdp") else None

        return eventually(found, seconds, lambda: f"{call_id} has no {what}")

    def answer_by_rest(self, call_id: str, to: int, sdp: str = samples.ANSWER):
        body = {"action": "answer", "data": {"sdp": sdp, "from": self.user, "to": to}}
        response = self.rest.post(f"/api/calls/signal/{call_id}", body)
        assert response.status_code == 200, response.text

    def answer(self, to: int, sdp: str = samples.ANSWER):
        """Answers as the app does, by the socket and over REST."""
        self.emit("answer", {"to": to, "sdp": sdp})
        self.answer_by_rest(f"{to}-{self.user}", to, sdp)

    def ice(self, to: int, candidate: dict):
        self.emit("ice", {"to": to, "candidate": candidate})

    def hang_up(self, to: int):
        self.emit("call-end", {"to": to})

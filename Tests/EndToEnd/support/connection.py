"""A WebSocket client that keeps every message it receives and waits for those that a test expects."""

import itertools
import json
import time

import recording
from one_thread import OneThreadSocket
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

SECONDS = 8
_numbers = itertools.count(1)


class Refused(Exception):
    """Raised when the server replies with an `error`."""

    def __init__(self, message: dict):
        super().__init__(f"{message.get('code')}: {message.get('message')}")
        self.message = message
        self.code = message.get("code")


class Connection:
    """One connection of a device. `heard` holds every message received, `inbox` those that the test has not taken yet."""

    def __init__(
        self, url: str, token: str | None = None, *, device: str | None = None, welcome: bool = True, **options
    ):
        headers = dict(options.pop("additional_headers", {}))
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if device is not None:
            url += ("&" if "?" in url else "?") + f"device={device}"
        options |= {
            "additional_headers": headers,
            "compression": None,
            "proxy": None,
            "ping_interval": None,
            "max_queue": None,
            "max_size": None,
            "close_timeout": 3,
        }
        # Over TLS the client with two threads is not safe; see one_thread.py.
        secure = url.startswith("wss:")
        self.socket = OneThreadSocket(url, **options) if secure else connect(url, legacy=True, **options)
        self.heard: list[dict] = []
        self.raw: list[str] = []
        self.inbox: list[dict] = []
        self.welcome = self.expect(type="welcome") if welcome else None

    # Receiving

    def _read(self, deadline: float) -> dict:
        raw = self.socket.recv(timeout=max(0.001, deadline - time.monotonic()))
        message = json.loads(raw)
        recording.heard("frame", raw)
        self.raw.append(raw)
        self.heard.append(message)
        self.inbox.append(message)
        return message

    def wait(self, wanted, seconds: float = SECONDS) -> dict:
        """Takes the first message that satisfies `wanted` and has not been taken yet; waits for it."""
        deadline = time.monotonic() + seconds
        for message in self.inbox:
            if wanted(message):
                self.inbox.remove(message)
                return message
        while True:
            try:
                message = self._read(deadline)
            except TimeoutError:
                heard = [brief(other) for other in self.heard[-12:]]
                raise AssertionError(f"not heard within {seconds} s; last heard: {heard}") from None
            except ConnectionClosed as closed:
                heard = [brief(other) for other in self.heard[-12:]]
                raise AssertionError(f"closed ({closed.rcvd}) before it came; last heard: {heard}") from None
            if wanted(message):
                self.inbox.remove(message)
                return message

    def expect(self, seconds: float = SECONDS, **fields) -> dict:
        """Takes the first message that has these fields and has not been taken yet; waits for it."""
        try:
            return self.wait(lambda message: all(message.get(key) == value for key, value in fields.items()), seconds)
        except AssertionError as failure:
            raise AssertionError(f"{fields}: {failure}") from None

    def fence(self) -> list[dict]:
        """Reads everything that the server sent before its ack of a `sync`; returns the inbox.

        A message that is not in the inbox now was not sent before that ack.
        """
        mark = self.send(type="sync", calls={})
        self.expect(type="ack", id=mark)
        return self.inbox

    def close_code(self, seconds: float = SECONDS) -> int:
        """Reads until the server closes the connection; returns the close code, 1006 if there was no close frame."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                self._read(deadline)
            except ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd is not None else 1006
            except TimeoutError:
                raise AssertionError(f"still open after {seconds} s") from None

    # Sending

    def send(self, **fields) -> str:
        """Sends one message, with a new `id` unless the fields have one; returns the `id`."""
        fields.setdefault("id", f"m{next(_numbers)}")
        self.socket.send(json.dumps(fields))
        return fields["id"]

    def send_raw(self, text: str):
        self.socket.send(text)

    def reply_to(self, mark: str) -> dict:
        """Waits for the `ack` or `error` of the message with this `id` and returns it."""
        return self.wait(lambda message: message.get("type") in ("ack", "error") and message.get("id") == mark)

    def ask(self, **fields) -> dict:
        """Sends a message and returns its ack; raises `Refused` if the reply is an error."""
        reply = self.reply_to(self.send(**fields))
        if reply["type"] == "error":
            raise Refused(reply)
        return reply

    def refused(self, **fields) -> dict:
        """Sends a message that the server must refuse; returns the error."""
        reply = self.reply_to(self.send(**fields))
        assert reply["type"] == "error", f"accepted: {brief(reply)}"
        return reply

    # Calls

    def ring(self, to: "Connection | str", call_id: str | None = None, **fields) -> dict:
        """Offers a call and returns the ack."""
        import samples

        fields.setdefault("sdp", samples.OFFER)
        if "room" not in fields:
            fields.setdefault("to", to if isinstance(to, str) else to.user)
        if call_id is not None:
            fields["callId"] = call_id
        return self.ask(type="offer", **fields)

    @property
    def user(self) -> str:
        return self.welcome["user"]

    @property
    def device(self) -> str:
        return self.welcome["device"]

    def close(self):
        self.socket.close()

    def drop(self):
        """Closes the TCP socket without a close frame, as when the network fails."""
        self.socket.socket.close()


def brief(message: dict) -> dict:
    """Returns a message with long values cut, for the text of a failure."""
    return {key: (value if len(str(value)) < 60 else str(value)[:57] + "…") for key, value in message.items()}


def signals(messages: list[dict], call_id: str) -> list[dict]:
    """Returns the messages that belong to one call, without acks and errors."""
    return [each for each in messages if each.get("callId") == call_id and each["type"] not in ("ack", "error")]

"""A client on the WebSocket: keeps all that it hears and waits for what a test asks for."""

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
    """The server answered with an `error`."""

    def __init__(self, message: dict):
        super().__init__(f"{message.get('code')}: {message.get('message')}")
        self.message = message
        self.code = message.get("code")


class Phone:
    """One connection. `heard` holds every message, `inbox` those which nobody has asked for yet."""

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
        # Over TLS the one with two threads is not to be had, see one_thread.py.
        secure = url.startswith("wss:")
        self.socket = OneThreadSocket(url, **options) if secure else connect(url, legacy=True, **options)
        self.heard: list[dict] = []
        self.raw: list[str] = []
        self.inbox: list[dict] = []
        self.welcome = self.expect(type="welcome") if welcome else None

    # Listening

    def _read(self, deadline: float) -> dict:
        raw = self.socket.recv(timeout=max(0.001, deadline - time.monotonic()))
        message = json.loads(raw)
        recording.heard("frame", raw)
        self.raw.append(raw)
        self.heard.append(message)
        self.inbox.append(message)
        return message

    def wait(self, wanted, seconds: float = SECONDS) -> dict:
        """The first message not asked for yet that satisfies `wanted`."""
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
        """The first message not asked for yet that has these fields."""
        try:
            return self.wait(lambda message: all(message.get(key) == value for key, value in fields.items()), seconds)
        except AssertionError as failure:
            raise AssertionError(f"{fields}: {failure}") from None

    def fence(self) -> list[dict]:
        """Everything that the server had sent before it answered this: what is not in the inbox now was not sent."""
        mark = self.send(type="sync", calls={})
        self.expect(type="ack", id=mark)
        return self.inbox

    def close_code(self, seconds: float = SECONDS) -> int:
        """Reads on until the server closes; its close code."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                self._read(deadline)
            except ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd is not None else 1006
            except TimeoutError:
                raise AssertionError(f"still open after {seconds} s") from None

    # Speaking

    def send(self, **fields) -> str:
        """Sends one message, with an id of its own unless there is one; returns the id."""
        fields.setdefault("id", f"m{next(_numbers)}")
        self.socket.send(json.dumps(fields))
        return fields["id"]

    def send_raw(self, text: str):
        self.socket.send(text)

    def answer_to(self, mark: str) -> dict:
        """The `ack` or `error` for the message with this id."""
        return self.wait(lambda message: message.get("type") in ("ack", "error") and message.get("id") == mark)

    def ask(self, **fields) -> dict:
        """Sends and waits for the ack; raises `Refused` for an error."""
        answer = self.answer_to(self.send(**fields))
        if answer["type"] == "error":
            raise Refused(answer)
        return answer

    def refused(self, **fields) -> dict:
        """Sends what must be refused; the error."""
        answer = self.answer_to(self.send(**fields))
        assert answer["type"] == "error", f"accepted: {brief(answer)}"
        return answer

    # Calls

    def ring(self, to: "Phone | str", call_id: str | None = None, **fields) -> dict:
        """Offers a call; the ack."""
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
        """Gone without a word, as when the network fails."""
        self.socket.socket.close()


def brief(message: dict) -> dict:
    """A message for a failure's text."""
    return {key: (value if len(str(value)) < 60 else str(value)[:57] + "…") for key, value in message.items()}


def signals(messages: list[dict], call_id: str) -> list[dict]:
    """Those of one call, without acks and errors."""
    return [each for each in messages if each.get("callId") == call_id and each["type"] not in ("ack", "error")]

"""The users of a server, and the options with which a server pushes to a fake."""

import push_services
import samples
from connection import Connection
from rest import Rest
from ringline_server import Server
from tokens import mint


class World:
    """The users of one server: makes their tokens and clients."""

    def __init__(self, server: Server):
        self.server = server
        self.closing = []

    def token(self, user="11", **claims) -> str:
        return mint(self.server.secret, user, **claims)

    def connect(
        self, user="11", device: str | None = None, *, token: str | None = None, claims=None, **options
    ) -> Connection:
        """Returns a WebSocket client of this user that has received its `welcome`."""
        connection = Connection(
            self.server.ws_url, token or self.token(user, **(claims or {})), device=device, **options
        )
        self.closing.append(connection)
        return connection

    def rest(self, user="11", *, token: str | None = None, allow_5xx=False, **claims) -> Rest:
        client = Rest(self.server.url, token or self.token(user, **claims), allow_5xx)
        self.closing.append(client)
        return client

    def call(self, call_id="c-1", caller="11", callee="10", answer=True):
        """Returns the two WebSocket clients of a call, (caller, callee), each with an empty inbox."""
        one, other = self.connect(caller, f"phone-{caller}"), self.connect(callee, f"phone-{callee}")
        one.ring(other, call_id)
        other.expect(type="offer", callId=call_id)
        if answer:
            other.ask(type="answer", callId=call_id, sdp=samples.ANSWER)
            one.expect(type="answer", callId=call_id)
        for connection in (one, other):
            connection.fence()
            connection.inbox.clear()
        return one, other

    def close(self):
        for each in self.closing:
            try:
                each.close()
            except OSError:
                pass  # The test has dropped this connection.


def push_options(fake, environment="sandbox") -> list[str]:
    """Returns the options of `ringline serve` that make it push to the fake."""
    return push_services.APNs(fake).options(environment)


def web_push_options(fake) -> list[str]:
    """Returns the options of `ringline serve` that make it push to the fake of a browser's push service."""
    return push_services.WebPush(fake).options()

"""A call to a user whose device is woken by one push service."""

import itertools

from commands import run
from push_services import Push, PushService
from rest import Rest
from waiting import eventually

_numbers = itertools.count(1)


class PushedCall:
    """The users, the device and the call of a test.

    No other test has the same ones, so tests can share a server and a fake. The methods are about this call's callee,
    call id and device unless others are given.
    """

    def __init__(self, world, service: PushService):
        number = next(_numbers)
        self.world, self.service, self.fake = world, service, service.fake
        self.caller, self.callee, self.id = f"taro{number}", f"hanako{number}", f"c-{number}"
        # The device that was registered last, and the caller's connection.
        self.device = self._connection = None

    def another(self) -> "PushedCall":
        """Returns a call of other users on the same server."""
        return PushedCall(self.world, self.service)

    # Devices

    def register(self, user: str | None = None, device=None, **fields):
        """Registers a device of the callee, or of this user; returns the device."""
        device = self.service.register(self.world, user or self.callee, device, **fields)
        self.device = self.device if user else device
        return device

    def script(self, *answers: dict):
        """Queues answers for the next pushes to the device."""
        self.service.script(self.device, list(answers))

    def devices(self, user: str | None = None) -> list[dict]:
        """Returns the callee's devices as the server lists them."""
        return self.world.rest(user or self.callee).get("/api/me/devices").json()

    def addresses(self, user: str | None = None) -> list[str]:
        """Returns the callee's push tokens or endpoints. A device without any token is no longer listed."""
        return [found for device in self.devices(user) if (found := self.service.shown_address(device))]

    @property
    def is_registered(self) -> bool:
        """Whether the callee has the device and no other one."""
        return self.addresses() == [self.service.address(self.device)]

    def last_push(self) -> dict:
        """Waits for the result of a push; returns what the server shows of it with the device."""
        return eventually(lambda: self.devices()[0]["lastPush"])

    def last_push_or_removal(self):
        """Waits for the result of a push, or until the push has cost the callee the device."""
        eventually(lambda: not (found := self.devices()) or found[0]["lastPush"])

    # The call

    @property
    def connection(self):
        """The caller's connection."""
        self._connection = self._connection or self.world.connect(self.caller)
        return self._connection

    def ring(self, **fields):
        """Rings the callee; returns the caller's connection."""
        self.connection.ring(self.callee, self.id, **fields)
        return self.connection

    def end(self):
        """Ends the call by the caller."""
        self.connection.ask(type="end", callId=self.id)

    def is_over(self) -> dict:
        """Waits until the call has ended."""
        return self.connection.expect(type="call", callId=self.id, state="ended")

    def events(self, name: str) -> list[dict]:
        """Returns the events of this name in the timeline of the call."""
        timeline = self.world.rest(self.callee).get(f"/api/calls/{self.id}/timeline").json()["events"]
        return [event for event in timeline if event["event"] == name]

    def results(self) -> list[dict]:
        """Waits for the result of a push; returns the results in the timeline."""
        return eventually(lambda: self.events("push.result"))

    def settle(self):
        """Waits until every push of a call that no longer rings has a result."""

        def is_settled() -> bool:
            ended = len(self.events("push.result")) + len(self.events("push.cancelled"))
            return ended >= len(self.events("push.sent"))

        eventually(is_settled)

    def explained(self) -> str:
        """Returns what `ringline explain` prints."""
        result = run("explain", self.id, *self.world.server.store_options, seconds=20)
        assert result.returncode == 0, result.stderr
        return result.stdout

    # Pushes

    def heard(self, device=None) -> list[Push]:
        """Returns all pushes to the device."""
        return self.service.heard(device or self.device)

    def accepted(self, device=None) -> list[Push]:
        return [push for push in self.heard(device) if push.accepted]

    def types(self, device=None) -> list[str]:
        """Returns what the accepted pushes to the device say."""
        return [push.type for push in self.accepted(device)]

    def tries(self, device=None) -> list[Push]:
        """Returns the pushes that were to ring the device, accepted or not."""
        return [push for push in self.heard(device) if push.type == "call.incoming"]

    def rings(self, device=None) -> list[Push]:
        """Returns the accepted pushes that ring the device."""
        return [push for push in self.tries(device) if push.accepted]

    def rung(self, device=None, seconds=8, call_id: str | None = None) -> Push:
        """Waits until a push that rings the device, for this call or for any, was accepted; returns the push."""

        def found() -> list[Push]:
            return [push for push in self.rings(device) if call_id in (None, push.data["callId"])]

        return eventually(found, seconds, lambda: f"{[push.record['answer'] for push in self.heard(device)]}")[0]

    def notice(self, kind: str, seconds=8) -> Push:
        """Waits for a push of this type that follows the ring; returns the push."""
        eventually(lambda: kind in self.types(), seconds, lambda: f"{self.types()}")
        assert self.types() == ["call.incoming", kind]
        return self.accepted()[1]

    def fence(self):
        """Rings another user and waits for that push: a wrong push that was due earlier would have come by then."""
        other = self.another()
        other.register()
        other.ring()
        other.rung()
        other.end()

    def woken_app(self, device=None) -> Rest:
        """Waits for the ring; returns the client of the app that it has started, which has only the push's capability."""
        app = Rest(self.world.server.url, None)
        app.http.headers["Authorization"] = "Ring " + self.rung(device).data["act"]
        self.world.closing.append(app)
        return app


def ring_each(call: PushedCall, scripts: dict[str, list[dict]], **fields) -> dict[str, PushedCall]:
    """Rings one user for each script, which decides the answers to that user's device; returns the calls."""
    calls = {}
    for name, script in scripts.items():
        calls[name] = call.another()
        calls[name].register()
        calls[name].script(*script)
        calls[name].ring(**fields)
    return calls

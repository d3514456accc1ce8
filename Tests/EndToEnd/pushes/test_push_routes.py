"""A device with tokens of several push services, and a user with devices of several services."""

import itertools
import time

import pytest
from conftest import open_worlds, servers_in
from push_services import BUNDLE_ID, SERVICES, running
from pushed_call import PushedCall
from waiting import eventually

_numbers = itertools.count(1)


class Route:
    """One way to wake a device: a service, the kind of push, and the member of the registration with the push token."""

    def __init__(self, service, kind: str | None = None, field: str | None = None):
        self.service, self.kind, self.field = service, kind or service.kind, field or service.field


class RoutedCall(PushedCall):
    """A call to a user whose device has tokens of several services."""

    def __init__(self, world, services: dict):
        apns, firebase, web = services.values()
        super().__init__(world, apns)
        self.services = services
        self.id = f"r-{next(_numbers)}"
        self.routes = {
            "voip": Route(apns),
            "alert": Route(apns, "alert", "apnsDeviceToken"),
            "firebase": Route(firebase),
            "web": Route(web),
        }
        self.tokens: dict[str, object] = {}

    def another(self) -> "RoutedCall":
        return RoutedCall(self.world, self.services)

    def register_for(self, *kinds: str, device_id="d-1"):
        """Registers a device with a new token for each kind of push on the platform of the first kind."""
        platform = self.routes[kinds[0]].service.about["platform"]
        body = {"deviceId": device_id, "platform": platform, "bundleId": BUNDLE_ID}
        for kind in kinds:
            route = self.routes[kind]
            self.tokens[kind] = route.service.new_device()
            body[route.field] = route.service.registration(self.tokens[kind])
        response = self.world.rest(self.callee).put("/api/me/devices", body)
        assert response.status_code == 200, response.text

    def answer(self, kind: str, *answers: dict):
        """Queues answers for the pushes of this kind."""
        self.routes[kind].service.script(self.tokens[kind], list(answers))

    def pushes(self, kind: str):
        """Returns the pushes of this kind, accepted or not."""
        return self.routes[kind].service.heard(self.tokens[kind])

    def rung_by(self, kind: str, seconds=8):
        """Waits until a push of this kind was accepted; returns the push."""
        return eventually(lambda: [push for push in self.pushes(kind) if push.accepted], seconds)[0]

    def wakes_by(self) -> str:
        (device,) = self.devices()
        return device["pushHealth"]["wakesBy"]

    def sent_kinds(self) -> list[str]:
        return [event["kind"] for event in self.events("push.sent")]

    def fence(self):
        """Rings another user by each service: a wrong push that was due earlier would have come by then."""
        for service in self.services.values():
            other = PushedCall(self.world, service)
            other.register()
            other.ring()
            other.rung()
            other.end()


@pytest.fixture(scope="module")
def all_services(tmp_path_factory):
    """A world with a server that pushes to the fakes of all services, and the services by their names."""
    folder = tmp_path_factory.mktemp("routes")
    services = {}
    with servers_in(folder) as make_server, open_worlds() as make_world:
        apns, firebase, web = (running(name, folder / name) for name in SERVICES)
        with apns as services["apns"], firebase as services["firebase"], web as services["web-push"]:
            world = make_world(make_server(*(word for each in services.values() for word in each.options())))
            services["web-push"].prepare(world)
            yield world, services


@pytest.fixture
def call(all_services) -> RoutedCall:
    world, services = all_services
    yield RoutedCall(world, services)
    assert [fault for each in services.values() for fault in each.faults()] == []


# The tokens of a device, and the route by which it is rung.
BEST = {
    "an iPhone with all tokens": (("voip", "firebase", "web", "alert"), "voip"),
    "an iPhone without a VoIP token": (("alert", "firebase"), "alert"),
    "an Android phone": (("firebase", "web"), "firebase"),
    "a browser": (("web", "alert"), "web"),
}


@pytest.mark.parametrize("device", BEST)
def test_a_device_is_rung_by_the_best_of_its_routes_only(call, device):
    kinds, best = BEST[device]
    call.register_for(*kinds)
    assert call.wakes_by() == best
    call.ring()
    push = call.rung_by(best)
    if call.routes[best].service.name == "apns":
        assert push.record["headers"]["apns-push-type"] == best
    call.fence()
    assert {kind: len(call.pushes(kind)) for kind in kinds} == {kind: int(kind == best) for kind in kinds}


def test_a_callee_with_devices_of_all_services_is_rung_on_each(call):
    for kind in ("voip", "firebase", "web"):
        call.register_for(kind, device_id=kind)
    call.ring()
    assert len({call.rung_by(kind).data["callUUID"] for kind in ("voip", "firebase", "web")}) == 1


# The route that its service reports as dead, and the next one.
NEXT = [("voip", "firebase"), ("voip", "web"), ("firebase", "web"), ("web", "alert")]


@pytest.mark.parametrize("dead, then", NEXT)
def test_when_a_service_reports_the_token_as_dead_the_ring_goes_on_by_the_next_route_at_once(call, dead, then):
    call.register_for(dead, then)
    service = call.routes[dead].service
    answers, *_ = next(iter(service.dead.values()))
    call.answer(dead, *answers)
    call.ring()
    push = call.rung_by(then)
    assert call.pushes(dead)[-1].at <= push.at < call.pushes(dead)[-1].at + 1_000
    (left,) = call.devices()
    assert service.shown_address(left) is None and left["pushHealth"]["wakesBy"] == then
    assert call.sent_kinds() == [dead, then]
    call.fence()
    assert (len(call.pushes(dead)), len(call.pushes(then))) == (1, 1)


# What Web Push says for good, at the first try and at the second one.
FOR_GOOD = {
    "refused": [{"status": 403, "reason": "BadJwtToken"}],
    "redirected": [{"status": 307}],
    "too large": [{"status": 413}, {"status": 413}],
}


@pytest.mark.parametrize("answers", FOR_GOOD.values(), ids=FOR_GOOD)
def test_a_device_that_web_push_refuses_for_good_is_rung_by_an_alert_at_once(call, answers):
    call.register_for("web", "alert")
    call.answer("web", *answers)
    call.ring()
    alert = call.rung_by("alert")
    assert alert.record["headers"]["apns-push-type"] == "alert" and alert.data["callId"] == call.id
    assert alert.at < call.pushes("web")[-1].at + 1000
    assert call.sent_kinds() == ["web"] * len(answers) + ["alert"]
    call.fence()
    assert (len(call.pushes("web")), len(call.pushes("alert"))) == (len(answers), 1)
    assert call.routes["web"].service.shown_address(call.devices()[0]), "the subscription may be good"


@pytest.mark.parametrize("best, next_one", [("voip", "firebase"), ("firebase", "web"), ("web", "alert")])
def test_a_device_under_a_temporary_fault_gets_no_push_by_another_route_besides(call, best, next_one):
    call.register_for(best, next_one)
    call.answer(best, {"status": 503}, {"status": 500})
    call.ring()
    call.rung_by(best)
    call.fence()
    assert (len(call.pushes(best)), call.pushes(next_one)) == (3, [])


@pytest.mark.timeout(90)
def test_a_device_is_rung_by_its_next_route_while_the_token_endpoint_does_not_answer(tmp_path, make_server, make_world):
    with running("apns", tmp_path / "apns") as apns, running("firebase", tmp_path / "firebase") as firebase:
        world = make_world(make_server(*apns.options(), *firebase.options()))
        call = RoutedCall(world, {"apns": apns, "firebase": firebase, "web-push": firebase})
        firebase.fake.script_token([{"hang": True, "always": True}])
        call.register_for("firebase", "alert")
        began = time.monotonic()
        call.ring()
        ring = call.rung_by("alert")
        assert ring.record["headers"]["apns-push-type"] == "alert" and time.monotonic() - began < 4
        (unsent,) = [each for each in call.events("push.result") if each["kind"] == "firebase"]
        assert "has not responded yet" in unsent["reason"] and call.pushes("firebase") == []

"""A service watches timelines while they happen (protocol, section 3.11)."""

import pytest
import samples
from connection import Refused
from push_services import pushed, register


@pytest.fixture
def service(world):
    return world.connect("backend", claims={"scope": "server"})


def happened(service) -> list[dict]:
    """Returns the events that the server has sent so far, and forgets them."""
    events = [message for message in service.fence() if message["type"] == "timeline"]
    service.inbox.clear()
    return events


def recorded(world, call_id: str) -> list[dict]:
    return world.rest("backend", scope="server").get(f"/api/calls/{call_id}/timeline").json()["events"]


def test_a_service_watches_a_call_from_its_offer_to_its_end(world, service):
    service.ask(type="watch")
    taro, hanako = world.call("c-1")
    hanako.ask(type="ringing", callId="c-1")
    taro.ask(type="ice", callId="c-1", candidate=samples.CANDIDATES[0])
    for device in (taro, hanako):
        device.ask(type="connected", callId="c-1")
    taro.ask(type="dtmf", callId="c-1", digits="1")
    hanako.ask(type="end", callId="c-1")
    service.expect(type="timeline", event="ended", reason="hangup")
    frames = [message for message in service.heard if message["type"] == "timeline"]
    assert all((frame["callId"], frame["epoch"]) == ("c-1", 1) for frame in frames)
    assert all((frame["caller"], frame["callee"]) == ("11", "10") for frame in frames)
    common = ("type", "callId", "epoch", "caller", "callee")
    events = [{name: frame[name] for name in frame if name not in common} for frame in frames]
    assert [event["offset"] for event in events] == sorted(event["offset"] for event in events)
    # The recorded timeline has signals before other events of the same millisecond.
    assert sorted(map(str, events)) == sorted(map(str, recorded(world, "c-1")))


def test_a_call_that_is_watched_late_is_replayed_once(world, service):
    taro, hanako = world.call("c-1")
    service.ask(type="watch", callId="c-1")
    replayed = [event["event"] for event in happened(service)]
    assert replayed[0] == "offer" and "signal.answer" in replayed
    world.call("c-2", caller="12", callee="13")
    taro.ask(type="end", callId="c-1")
    service.expect(type="timeline", event="ended")
    assert [event["event"] for event in service.inbox if event["type"] == "timeline"] == ["signal.end"]
    assert not [message for message in service.heard if message.get("callId") == "c-2"]


def test_the_calls_of_a_user_are_watched(world, service):
    service.ask(type="watch", userId="13")
    world.call("c-1")
    world.call("c-2", caller="12", callee="13")
    assert {event["callId"] for event in happened(service)} == {"c-2"}


def test_a_new_watch_replaces_the_old_one(world, service):
    service.ask(type="watch")
    service.ask(type="watch", callId="c-2")
    world.call("c-1")
    world.call("c-2", caller="12", callee="13")
    assert {event["callId"] for event in happened(service)} == {"c-2"}


def test_a_push_and_its_result_are_watched(push_world):
    world, fake = push_world
    device = register(world, deviceId="iphone-h")
    service = world.connect("backend", claims={"scope": "server"})
    service.ask(type="watch", userId="10")
    taro = world.connect("11", "iphone-t")
    taro.ring("10", "c-1")
    pushed(fake, device)
    assert service.expect(type="timeline", event="push.sent")["device"] == "iphone-h"
    assert service.expect(type="timeline", event="push.result")["status"] == 200
    taro.ask(type="end", callId="c-1")
    assert service.expect(type="timeline", event="ended")["reason"] == "cancelled"


def test_a_user_may_not_watch(world):
    taro = world.connect("11")
    for fields in ({}, {"callId": "c-1"}, {"userId": "11"}):
        with pytest.raises(Refused, match="forbidden"):
            taro.ask(type="watch", **fields)
    world.call("c-1", caller="12", callee="13")
    assert not [message for message in taro.fence() if message["type"] == "timeline"]


def test_a_connection_that_is_no_longer_a_services_watches_nothing(world, service):
    service.ask(type="watch")
    service.ask(type="auth", token=world.token("backend"))
    world.call("c-1")
    assert happened(service) == []

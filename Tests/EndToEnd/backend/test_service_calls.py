"""Calls as the app's backend reads them under /v1 (protocol, section 15)."""

import pytest
import samples
from app_backend import AppBackend
from rest import Rest, code


@pytest.fixture
def backend(tmp_path):
    backend = AppBackend(tmp_path)
    yield backend
    backend.close()
    assert not backend.faults, backend.faults


def service(world):
    return world.rest("backend", scope="server")


def read(rest, path, **params):
    response = rest.get(path, **params)
    assert response.status_code == 200, response.text
    return response.json()


def listed(rest, **params) -> list[str]:
    """Returns the callIds of all pages of a list."""
    found = []
    while True:
        page = read(rest, "/v1/calls", **params)
        assert page.keys() == {"calls", "next"} and len(page["calls"]) <= params.get("limit", 50)
        found += [call["callId"] for call in page["calls"]]
        if page["next"] is None:
            return found
        params["before"] = page["next"]


def hang_up(caller, callee, call_id):
    caller.ask(type="end", callId=call_id)
    callee.expect(type="call", callId=call_id, state="ended")


def test_a_call_is_the_same_as_in_its_events_while_it_lives_and_when_it_has_ended(make_server, make_world, backend):
    world = make_world(make_server(*backend.options))
    rest = service(world)
    caller, callee = world.call(answer=False)
    assert read(rest, "/v1/calls/c-1")["state"] == "ringing"
    callee.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    caller.expect(type="answer", callId="c-1")
    assert read(rest, "/v1/calls/c-1")["answeredBy"] == {"user": "10", "device": "phone-10"}
    hang_up(caller, callee, "c-1")
    in_event = backend.expect(3)[-1]["data"]["call"]
    in_event.pop("ringingAt")
    assert read(rest, "/v1/calls/c-1") == in_event
    assert read(rest, "/v1/calls") == {"calls": [in_event], "next": None}
    timeline = read(rest, "/v1/calls/c-1/timeline")
    assert timeline["events"][-1]["event"] == "ended" and timeline["verdict"]
    assert timeline == read(rest, "/api/calls/c-1/timeline")


def test_a_list_leads_through_all_calls_of_all_users_and_filters_them(world):
    rest = service(world)
    pairs = [("11", "10"), ("12", "13"), ("11", "14"), ("15", "11"), ("12", "10")]
    moments = []
    for number, (caller, callee) in enumerate(pairs):
        one, other = world.call(f"c-{number}", caller, callee, answer=number % 2 == 0)
        moments.append(read(rest, f"/v1/calls/c-{number}")["startedAt"])
        if number < 4:
            hang_up(one, other, f"c-{number}")
        one.close()
        other.close()
    assert listed(rest) == ["c-4", "c-3", "c-2", "c-1", "c-0"]
    for limit in range(1, 7):
        assert listed(rest, limit=limit) == ["c-4", "c-3", "c-2", "c-1", "c-0"]
        assert listed(rest, limit=limit, user="11") == ["c-3", "c-2", "c-0"]
        assert listed(rest, limit=limit, state="ended") == ["c-3", "c-2", "c-1", "c-0"]
        assert listed(rest, limit=limit, reason="cancelled") == ["c-3", "c-1"]
        assert listed(rest, limit=limit, reason="cancelled", user="11") == ["c-3"]
        assert listed(rest, limit=limit, since=moments[2]) == ["c-4", "c-3", "c-2"]
    assert listed(rest, state="live") == ["c-4"]
    assert listed(rest, user="nobody") == []
    assert listed(rest, reason="busy") == []


def test_a_call_is_chosen_by_its_users_and_its_epoch(world):
    rest = service(world)
    for caller, callee in [("11", "10"), ("11", "10"), ("12", "13")]:
        phone = world.rest(caller)
        for action, data in [("offer", {"sdp": samples.OFFER}), ("end", {})]:
            body = {"action": action, "to": callee, "data": data}
            assert phone.post("/api/calls/signal/same", body).status_code == 200
    assert read(rest, "/v1/calls/same")["caller"] == "12"
    assert read(rest, "/v1/calls/same", user="10")["epoch"] == 2
    assert read(rest, "/v1/calls/same", user="10", epoch=1)["epoch"] == 1
    assert read(rest, "/v1/calls/same/timeline", user="10", epoch=1)["epoch"] == 1
    assert code(rest.get("/v1/calls/same", user="14")) == (404, "not_found")
    assert code(rest.get("/v1/calls/same", user="10", epoch=3)) == (404, "not_found")


def test_a_request_of_a_user_or_with_a_wrong_parameter_is_refused_with_its_name(world):
    world.call()
    for path in ["/v1/calls", "/v1/calls/c-1", "/v1/calls/c-1/timeline"]:
        assert code(world.rest("11").get(path)) == (403, "forbidden")
        assert code(Rest(world.server.url, None).get(path))[0] == 401
        assert service(world).request("POST", path, json={}).status_code == 405
    rest = service(world)
    wrong = [
        ("/v1/calls", {"state": "missed"}, "state"),
        ("/v1/calls", {"state": ""}, "state"),
        ("/v1/calls", {"reason": "because"}, "reason"),
        ("/v1/calls", {"since": "2026-12-01"}, "since"),
        ("/v1/calls", {"since": -1}, "since"),
        ("/v1/calls", {"before": "c-1"}, "before"),
        ("/v1/calls", {"limit": 0}, "limit"),
        ("/v1/calls", {"limit": 501}, "limit"),
        ("/v1/calls", {"user": "x" * 300}, "user"),
        ("/v1/calls", {"users": "10"}, "users"),
        ("/v1/calls/c-1", {"peer": "10"}, "peer"),
        ("/v1/calls/c-1", {"epoch": 0}, "epoch"),
        ("/v1/calls/c-1/timeline", {"verdict": "true"}, "verdict"),
    ]
    for path, params, field in wrong:
        response = rest.get(path, **params)
        assert code(response) == (400, "invalid_field"), (path, params)
        assert response.json()["field"] == field
    assert code(rest.get("/v1/calls/nothing")) == (404, "not_found")
    assert code(rest.get("/v1/nothing")) == (404, "not_found")

"""The revocation of a user's tokens: by the user, by a service, or by the operator."""

import os
import signal
import time

import pytest
from commands import one_clear_line, run
from connection import Connection
from push_services import pushed, register
from rest import code
from test_auth import upgrade_status
from test_monitoring import sample
from waiting import eventually


def log_out(rest, **body):
    response = rest.post("/api/logout-all", body)
    assert response.status_code == 200, response.text
    return response.json()["before"]


def fresh(world, user="10", *, after: int) -> str:
    """Waits for the second after a revocation; returns a token that is issued in that second."""
    eventually(lambda: time.time() >= after // 1000 + 1)
    return world.token(user)


def test_tokens_from_before_a_revocation_are_refused_everywhere(world):
    old = world.token("10")
    before = log_out(world.rest("10"))
    assert abs(before / 1000 - time.time()) < 5
    url = world.server.ws_url
    assert upgrade_status(url, old) == 401
    browser = Connection(url, subprotocols=["ringline.v1", "bearer." + old], welcome=False)
    assert browser.close_code() == 4401, "browsers cannot see a 401"
    response = world.rest(token=old).get("/api/me/devices")
    assert code(response) == (401, "unauthenticated")
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert world.rest("11").get("/api/me/devices").status_code == 200, "another user's token is still accepted"
    new = fresh(world, after=before)
    assert world.rest(token=new).get("/api/me/devices").status_code == 200
    assert world.connect(token=new).user == "10"
    assert sample(world.server, "ringline_revocations_total") == 1


def test_a_token_without_iat_is_accepted_only_until_a_revocation(world):
    nameless = world.token("10", iat=None)
    assert world.rest(token=nameless).get("/api/me/devices").status_code == 200
    log_out(world.rest(token=nameless))
    assert code(world.rest("10", iat=None).get("/api/me/devices")) == (401, "unauthenticated")


def test_every_connection_of_the_user_is_closed_with_4401(world):
    connections = [world.connect("10", "b-1"), world.connect("10", "b-2")]
    other = world.connect("11", "a-1")
    log_out(world.rest("10"))
    for connection in connections:
        assert connection.expect(type="error")["code"] == "unauthenticated"
        assert connection.close_code() == 4401
    assert other.fence() == []


def test_the_act_of_a_push_is_void_and_the_device_is_not_pushed_again(push_world):
    world, apns = push_world
    device = register(world)
    caller = world.connect("11", "a-1")
    caller.ring("10", "c-1")
    act = pushed(apns, device)["payload"]["act"]
    ring = world.rest(token="-")
    ring.http.headers["Authorization"] = f"Ring {act}"
    assert ring.get("/api/calls/signal/c-1").status_code == 200
    log_out(world.rest("10"))
    assert code(ring.get("/api/calls/signal/c-1")) == (401, "unauthenticated")
    assert code(ring.delete("/api/calls/signal/c-1")) == (401, "unauthenticated")
    caller.ask(type="end", callId="c-1")
    caller.ring("10", "c-2")
    # A push for the second call would leave before that for the third.
    asleep = register(world, "20", number=2)
    caller.ring("20", "c-3")
    pushed(apns, asleep)
    assert [push["payload"]["callId"] for push in apns.pushes(device)] == ["c-1"]
    events = world.rest("11").get("/api/calls/c-2/timeline").json()["events"]
    assert [event["event"] for event in events] == ["offer"]


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_a_revocation_holds_over_restarts(world, how):
    old = world.token("10")
    log_out(world.rest("10"))
    if how == "killed":
        world.server.kill()
    else:
        world.server.terminate()
        assert world.server.exit_code() == 0
    world.server.start()
    assert code(world.rest(token=old).get("/api/me/devices")) == (401, "unauthenticated")
    assert upgrade_status(world.server.ws_url, old) == 401


def test_only_a_service_may_revoke_another_users_tokens(world):
    refused = world.rest("11").post("/api/logout-all", {"userId": "10"})
    assert code(refused) == (403, "forbidden") and refused.json()["field"] == "userId"
    connection = world.connect("10")
    service = world.rest("backend", scope="server")
    log_out(service, userId="10")
    assert connection.close_code() == 4401
    # A service is no user that could mean itself.
    assert code(service.post("/api/logout-all", {})) == (403, "forbidden")
    # The service's own token is still accepted: a revoked one would be 401.
    assert code(service.get("/api/me/devices")) == (403, "forbidden")


def test_a_live_call_ends_for_the_peer_as_disconnected(make_server, make_world):
    world = make_world(make_server("--disconnect-grace", 1))
    taro, _ = world.call("c-1")
    log_out(world.rest("10"))
    assert taro.expect(type="call", state="ended")["reason"] == "disconnected"
    result = run("explain", "c-1", *world.server.store_options)
    assert "10 logged out everywhere at +" in result.stdout, result.stdout


# By the operator


def test_the_operator_revokes_tokens_while_the_server_runs(world):
    old = world.token("10")
    connection = world.connect("10")
    result = run("revoke", "--user", "10", *world.server.folder_options)
    assert (result.returncode, result.stdout) == (0, "10 is logged out everywhere\n"), result.stderr
    assert connection.close_code() == 4401
    assert upgrade_status(world.server.ws_url, old) == 401
    assert not list(world.server.data.glob("revoke-*"))
    world.server.kill()
    world.server.start()
    assert upgrade_status(world.server.ws_url, old) == 401


def test_the_operator_revokes_tokens_while_no_server_runs(world):
    old = world.token("10")
    world.server.terminate()
    assert world.server.exit_code() == 0
    result = run("revoke", "--user", "10", *world.server.folder_options)
    assert result.returncode == 0 and result.stdout.startswith("no server runs on "), result
    world.server.start()
    assert upgrade_status(world.server.ws_url, old) == 401


def test_a_command_that_the_server_does_not_carry_out_is_reported(world):
    os.kill(world.server.pid, signal.SIGSTOP)
    try:
        result = run("revoke", "--user", "10", *world.server.folder_options, seconds=30)
    finally:
        os.kill(world.server.pid, signal.SIGCONT)
    assert result.returncode == 1
    one_clear_line(result, "has not carried out the command yet")


@pytest.mark.parametrize("user", ["", "a b", "../x", "a" * 129])
def test_an_invalid_user_id_is_refused(world, user):
    result = run("revoke", "--user", user, *world.server.folder_options)
    assert result.returncode != 0
    one_clear_line(result, "--user")


def test_a_folder_without_a_database_is_refused(tmp_path):
    result = run("revoke", "--user", "10", "--data", tmp_path)
    assert result.returncode == 1
    one_clear_line(result, "No database")
    assert list(tmp_path.iterdir()) == []

"""What only Google's Firebase has: the form of a message, and the access token that a service account gets.

The fake verifies the assertion of the service account and refuses every message that Google would refuse.
"""

import re
import time

import pytest
from commands import run
from push_services import running
from pushed_call import ring_each
from test_doctor import doctor
from waiting import eventually

SERVICE = "firebase"
# A request that gets no answer is given up before the ring ends, and the next one gets through.
HANG_SECONDS = 40


@pytest.fixture
def own_call(servers, tmp_path, make_call):
    """Returns a function that makes a call on a server and a fake of its own: no other test sees its access tokens."""
    with running(servers.service.name, tmp_path / "own") as service:
        yield lambda *options: make_call(*options, service=service)


# --- The message -------------------------------------------------------------------------------------------------


def test_a_message_is_data_of_texts_with_high_priority(call):
    device = call.register()
    call.ring()
    message = call.rung().record["message"]
    assert set(message) == {"token", "data", "android"} and message["token"] == device
    assert set(message["android"]) == {"priority", "ttl"} and message["android"]["priority"] == "HIGH"
    assert message["android"]["ttl"] in ("44s", "45s")
    assert (message["data"]["hasVideo"], message["data"]["epoch"]) == ("false", "1")
    assert all(re.fullmatch("[0-9]{13}", message["data"][name]) for name in ("sentAt", "ringUntil"))


def test_a_test_push_is_only_checked_by_google(call):
    device = call.register()
    command = ["push-test", "--user", call.callee, *call.world.server.folder_options, *call.service.options()]
    result = run(*command)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "d-1: Firebase accepts the message and its token; it only checked them" in result.stdout
    (message,) = [each["message"] for each in call.fake.validated if each["message"]["token"] == device]
    assert message["data"]["type"] == "call.incoming" and message["data"]["fromUserId"] == "ringline-test"
    assert call.heard() == []


# --- The access token --------------------------------------------------------------------------------------------


def test_many_messages_at_once_share_one_access_token(own_call):
    call = own_call()
    # All calls begin before the access token is there.
    call.fake.script_token([{"delay": 1}])
    calls = ring_each(call, {str(number): [] for number in range(20)})
    for each in calls.values():
        each.rung()
    assert call.fake.token_requests == 1
    call.fake.revoke_tokens()
    for each in calls.values():
        each.end()
    for each in calls.values():
        each.notice("call.missed")
    assert call.fake.token_requests == 2, "the renewed access token is shared, too"


def test_an_access_token_is_renewed_when_it_expires(own_call):
    call = own_call()
    call.fake.script_token([{"expires_in": 3}])
    call.register()
    call.ring()
    call.rung()
    eventually(lambda: time.monotonic() >= max(call.fake.access_tokens.values()))
    call.fence()
    assert call.fake.token_requests == 2


def test_a_revoked_access_token_is_renewed_and_the_message_sent_once_more(own_call):
    call = own_call()
    call.fence()
    call.fake.revoke_tokens()
    call.register()
    call.ring()
    call.rung()
    assert call.fake.token_requests == 2 and len(call.rings()) == 1


def test_a_message_that_is_refused_with_the_renewed_access_token_is_given_up(own_call):
    call = own_call("--ring-timeout", "1")
    call.register()
    call.script(*[{"status": 401}] * 20)
    call.ring()
    call.is_over()
    first, second = call.tries()
    assert first.record["headers"]["authorization"] != second.record["headers"]["authorization"]
    assert call.last_push()["status"] == 401 and call.is_registered


def test_after_two_refused_access_tokens_no_further_one_is_fetched_for_a_while(own_call):
    call = own_call()
    calls = []
    for _ in range(30):
        (each,) = ring_each(call, {"": [{"status": 401, "always": True}]}).values()
        assert each.last_push()["status"] == 401
        calls.append(each)
    assert call.fake.token_requests <= 3, "the second one after a pause of 10 s, if the test took that long"
    assert all(each.is_registered for each in calls)


@pytest.mark.parametrize("error", [{}, {"error": "THIRD_PARTY_AUTH_ERROR"}], ids=["401", "third-party"])
def test_a_device_that_google_refuses_alone_keeps_no_other_device_from_ringing(own_call, error):
    call = own_call()
    call.register()
    call.script({"status": 401, "always": True} | error)
    for number in range(6):
        call.id = f"refused-{number}"
        call.ring()
        # The shortest pause of Firebase is 10 s.
        call.fence()
        call.end()
    call.id = "refused"
    call.ring()
    reason = error.get("error", "refused_for_device")
    last = eventually(lambda: (last := call.last_push())["reason"] == reason and last)
    assert last["status"] == 401 and last["hint"]
    assert call.fake.token_requests <= (1 if error else 2)
    assert call.is_registered


# --- The token endpoint ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [{"status": 503}, {"status": 500}, {"close": True}], ids=str)
def test_a_temporary_fault_of_the_token_endpoint_is_tried_again_while_it_rings(own_call, fault):
    call = own_call()
    call.fake.script_token([fault] * 2)
    call.register()
    call.ring()
    call.rung()
    assert len(call.tries()) == 1 and call.is_registered


@pytest.mark.timeout(90)
def test_a_token_endpoint_that_does_not_answer_is_asked_again_while_it_rings(own_call):
    call = own_call()
    call.fake.script_token([{"hang": True}])
    call.register()
    call.ring()
    call.rung(seconds=HANG_SECONDS)
    assert len(call.rings()) == 1


@pytest.mark.parametrize("status", [200, 201, 204, 302])
def test_a_token_endpoint_that_gives_no_token_is_asked_again_and_nothing_counts_as_accepted(own_call, status):
    call = own_call()
    call.fake.script_token([{"status": status, "raw": ""}])
    call.register()
    call.ring()
    call.rung()
    *failed, last = eventually(lambda: "status" in (found := call.results())[-1] and found)
    assert all(f"the token endpoint's response with {status} has none" in each["reason"] for each in failed) and failed
    assert not any("status" in each for each in failed)
    assert last["status"] == 200 and len(call.rings()) == 1


def test_a_page_instead_of_the_token_endpoint_is_named_as_such(own_call):
    call = own_call()
    call.fake.script_token([{"status": 404, "raw": "<html>"}] * 3)
    call.register()
    call.ring()
    (result,) = call.results()
    assert (result["status"], result["reason"]) == (404, "no_access_token")
    assert call.is_registered and call.heard() == []
    assert "token_uri" in call.explained()


def test_a_service_account_that_google_refuses_is_not_tried_again_for_the_same_call(own_call):
    call = own_call("--ring-timeout", "1")
    # A second request would get an access token.
    call.fake.script_token([{"status": 400, "error": "invalid_grant"}])
    call.register()
    call.ring()
    assert "invalid_grant" in call.results()[0]["reason"]
    call.is_over()
    assert call.fake.token_requests == 1 and call.heard() == []
    assert call.is_registered, "the operator is at fault, so the token is kept"


def test_no_access_token_and_no_assertion_is_in_the_log(own_call):
    call = own_call("--log-level", "trace", "--ring-timeout", "5")
    call.fake.script_token([{"status": 503}, {"expires_in": 3}])
    calls = ring_each(call, {"accepted": [], "401": [{"status": 401}]})
    for each in calls.values():
        each.is_over()
    calls["accepted"].notice("call.missed")
    log, secrets = call.world.server.errors(), call.service.own_secrets()
    assert len(call.fake.access_tokens) > 1 and [secret for secret in secrets if secret in log] == []


def test_doctor_says_whose_response_it_is(servers, tmp_path):
    with running("firebase", tmp_path / "own") as service:
        fake, options = service.fake, service.options()
        subject = f"Firebase, project {fake.account['project_id']}"
        assert doctor(tmp_path, *options)[subject] == ("ok", "accepts the service account")
        fake.script_token([{"status": 404, "raw": "<html>"}])
        grade, text = doctor(tmp_path, *options, code=1)[subject]
        assert grade == "error" and "404 no_access_token" in text and "token_uri" in text
        fake.script_token([{"status": 200, "raw": "<html>"}])
        grade, text = doctor(tmp_path, *options, code=1)[subject]
        assert grade == "error" and "the token endpoint's response with 200 has none" in text and "token_uri" in text

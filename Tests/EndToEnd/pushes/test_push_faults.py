"""Each push service under its faults: a call rings a device once, a dead push token is removed, and no other one is.

What the services answer is in push_services.py. Scripts of the fakes never hide a fault of the sender: a push that the
service would refuse is refused whatever the script says.
"""

import random
import time

import pytest
import samples
from push_services import TELLING_THE_END, running
from pushed_call import ring_each
from secrets_in_logs import findings
from test_monitoring import sample
from waiting import away_from_the_end_of_a_minute, eventually

tells_the_end = pytest.mark.parametrize("servers", TELLING_THE_END, indirect=True)
# These name the moment of the next attempt, and are given up when they do not answer; of APNs neither is known.
over_http_1 = tells_the_end
# A request that gets no answer is given up after 10 s, and the next one gets through before the ring ends.
HANG_SECONDS = 40


@pytest.fixture
def stopped_service(servers, tmp_path):
    """The service with a fake of its own that has ended: nobody listens at its address."""
    with running(servers.service.name, tmp_path / "stopped") as service:
        service.fake.stop()
        yield service


# --- Dead tokens -------------------------------------------------------------------------------------------------


def test_a_dead_token_is_removed_and_not_tried_again(short_call):
    dead = short_call.service.dead
    calls = ring_each(short_call, {name: answers for name, (answers, *_) in dead.items()})
    for name, each in calls.items():
        answers, status, reason = dead[name]
        eventually(lambda: each.addresses() == [], why=lambda: name)  # noqa: B023
        results = each.events("push.result")
        assert len(results) == len(answers)
        assert results[-1]["kind"] == each.service.kind
        assert (results[-1]["status"], results[-1].get("reason")) == (status, reason), name
    for each in calls.values():
        each.is_over()
    short_call.fence()
    assert {name: len(each.heard()) for name, each in calls.items()} == {
        name: len(answers) for name, (answers, *_) in dead.items()
    }


def test_a_token_that_is_registered_again_before_its_refusal_is_kept(call):
    # A token that is tried in two environments is dead if the second one refuses it, too, after it was registered.
    dead = {name: kind for name, kind in call.service.dead.items() if len(kind[0]) == 1}
    calls = ring_each(call, {name: [answers[0] | {"delay": 0.5}] for name, (answers, *_) in dead.items()})
    for each in calls.values():
        eventually(each.heard)
        each.register(device=each.device)
    for name, each in calls.items():
        last, (_, status, reason) = each.last_push(), dead[name]
        assert (last["status"], last["reason"], last["environment"]) == (status, reason, each.service.environment)
        assert " " in last["hint"]
        assert each.is_registered, "the app has the token now, whatever the service knew before"


@tells_the_end
def test_a_token_that_has_died_since_the_ring_is_removed_by_the_notice_as_well(call):
    call.register()
    call.ring()
    call.rung()
    call.script(*next(iter(call.service.dead.values()))[0])
    call.end()
    eventually(lambda: call.addresses() == [])


def test_the_deletion_stops_when_too_many_tokens_are_dead(make_call):
    call, dead = make_call(), 30
    answers, status, _ = next(iter(call.service.dead.values()))
    calls = ring_each(call, {str(number): answers for number in range(dead)})
    for each in calls.values():
        each.last_push_or_removal()
    kept = [each for each in calls.values() if each.addresses()]
    assert len(kept) == dead - 19, "the 20th one is evidence of a fault of the server's"
    assert "ringline_push_deletions_stopped 1" in call.world.server.metrics_text()
    assert kept[0].last_push()["status"] == status
    # After that the server still pushes to the others.
    call.fence()


# --- Refusals that are not about the token -----------------------------------------------------------------------


def test_a_refusal_that_is_not_about_the_token_removes_nothing_and_is_not_tried_again(call):
    refused, without_hint = call.service.refused, []
    calls = ring_each(call, {name: answers for name, (answers, *_) in refused.items()})
    for name, each in calls.items():
        last, (_, status, reason) = each.last_push(), refused[name]
        assert (last["status"], last["reason"], last["environment"]) == (status, reason, call.service.environment), name
        without_hint += [] if " " in (last["hint"] or "") else [name]
    for each in calls.values():
        each.end()
    call.fence()
    for name, each in calls.items():
        assert each.events("push.cancelled") == [], f"{name}: no other try was planned"
        assert len(each.tries()) == 1 and each.is_registered, name
    assert without_hint == call.service.without_hint, "a hint is a sentence"


def test_a_service_with_an_untrusted_certificate_gets_nothing(tmp_path, servers, make_call):
    with running(servers.service.name, tmp_path / "untrusted") as service:
        call = make_call(instead=service.options_without(service.ca_option), service=service)
        call.register()
        call.ring()
        assert all(result["reason"].endswith("the server's certificate was refused") for result in call.results())
        assert not service.connected()
        assert 'ringline_push_results_total{reason="accepted"} 0' in call.world.server.metrics_text()


# --- Temporary faults --------------------------------------------------------------------------------------------


def test_a_temporary_fault_is_tried_again_until_one_push_is_accepted(call):
    calls = ring_each(call, {name: [answer] * 2 for name, answer in call.service.temporary.items()})
    for each in calls.values():
        each.rung()
    call.fence()
    counts = {name: (len(each.rings()), len(each.tries())) for name, each in calls.items()}
    assert counts == dict.fromkeys(calls, (1, 3))
    for name, each in calls.items():
        # A message that the fake has not read has none.
        identities = {push.identity for push in each.tries() if push.data is not None}
        assert len(identities) == 1, f"{name}: a try repeats the one before"
    assert all(each.is_registered for each in calls.values())


@over_http_1
def test_no_push_is_sent_again_before_the_time_that_the_service_named(call):
    waits = [answer for answer in call.service.temporary.values() if answer.keys() & {"retry_after", "retry_date"}]
    waits = [answer | dict.fromkeys(answer.keys() - {"status"}, 3) for answer in waits]
    calls = ring_each(call, {str(answer): [answer] for answer in waits})
    for name, each in calls.items():
        push = each.rung()
        refused, accepted = each.tries()
        assert accepted.at - refused.at >= 2_990, f"{name}: the two moments are whole milliseconds"
        left = (push.data["ringUntil"] - push.at) / 1000
        assert left - 1 <= push.ttl <= left + 0.1, f"{name}: it lives for the rest of the ring"


@over_http_1
def test_a_push_that_may_be_sent_again_only_after_the_ring_is_not_sent_again(short_call):
    short_call.register()
    short_call.script({"status": 503, "retry_after": 2})
    short_call.ring()
    short_call.is_over()
    assert not short_call.events("push.cancelled"), "the route was given up at once"
    short_call.fence()
    assert len(short_call.tries()) == 1


@over_http_1
@pytest.mark.timeout(90)
def test_a_push_without_an_answer_is_sent_again_while_it_rings(call):
    calls = ring_each(call, {str(number): [{"hang": True}] for number in range(4)})
    for each in calls.values():
        each.rung(seconds=HANG_SECONDS)
        refused, accepted = each.tries()
        assert 9_000 < accepted.at - refused.at < 15_000
    call.fence()
    for each in calls.values():
        assert len(each.tries()) == 2 and each.is_registered


def test_no_push_is_sent_again_after_the_ring_has_ended(call):
    call.register()
    call.script({"status": 503, "always": True})
    call.ring()
    eventually(lambda: len(call.tries()) >= 2)
    call.end()
    # A push that was under way at the end may still come.
    call.settle()
    count = len(call.tries())
    call.fence()
    assert len(call.tries()) == count


@tells_the_end
@pytest.mark.parametrize("end, kind", [("cancel", "call.missed"), ("answer", "call.over")])
def test_a_notice_that_the_service_does_not_take_is_sent_again(call, end, kind):
    call.register()
    call.ring()
    call.rung()
    call.script(*(call.service.temporary[name] for name in ("503", "closed", "500", "429 for 1 s")))
    if end == "answer":
        other = call.world.connect(call.callee, device="b2")
        other.expect(type="offer")
        other.ask(type="answer", callId=call.id, sdp=samples.ANSWER)
    else:
        call.end()
    call.notice(kind, seconds=12)


# --- Services that do not answer ---------------------------------------------------------------------------------


def relays_quickly(call, rounds=20):
    """Checks that signals of another call are relayed at once."""
    other = call.another()
    caller, callee = call.world.call(other.id, other.caller, other.callee)
    began = time.monotonic()
    for number in range(rounds):
        caller.ask(type="info", callId=other.id, data=number)
        callee.expect(type="info", data=number)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("trouble", [{"hang": True}, {"delay": 5}], ids=["hangs", "slow"])
def test_a_slow_service_never_delays_relaying(make_call, trouble):
    call = make_call()
    calls = ring_each(call, {str(number): [trouble | {"always": True}] for number in range(5)})
    eventually(lambda: any(each.heard() for each in calls.values()))
    relays_quickly(call)


def test_a_service_that_nobody_runs_never_delays_relaying(stopped_service, make_call):
    call = make_call(service=stopped_service)
    call.register()
    began = time.monotonic()
    call.ring()
    relays_quickly(call, rounds=1)
    assert time.monotonic() - began < 5


def test_a_push_that_fails_again_and_again_has_one_line_in_the_log(stopped_service, make_call):
    call = make_call(service=stopped_service)
    for number in range(12):
        call.register(deviceId=f"d-{number}")
    away_from_the_end_of_a_minute()
    call.ring()
    eventually(lambda: len(call.events("push.result")) >= 30)

    def lines() -> list[str]:
        return [line for line in call.world.server.usual_log().splitlines() if "warning push failed" in line]

    eventually(lambda: any("log.suppressed=2" in line for line in lines()), 15)
    assert len(lines()) == 11, "ten lines for the ten first devices of the user, and one with the sum of the others"
    assert sample(call.world.server, "ringline_log_lines_suppressed_total") == 2
    assert not [line for line in call.world.server.usual_log().splitlines() if "got no response" in line]


# --- Many calls with faults --------------------------------------------------------------------------------------

CALLS_OF_EACH_FAULT = 5


def count(call) -> tuple[int, int]:
    """Returns how many pushes rang the device, and how many were to ring it."""
    tries = call.tries()
    return sum(push.accepted for push in tries), len(tries)


def all_get(calls: list, wanted: dict[str, tuple[int, int]]):
    """Waits until each of the calls, which come with their faults, has the pushes that its fault wants."""
    waiting = calls[:]

    def is_done() -> bool:
        waiting[:] = [(fault, call) for fault, call in waiting if count(call) != wanted[fault]]
        return not waiting

    eventually(is_done, HANG_SECONDS, lambda: f"{[(fault, count(call)) for fault, call in waiting]}")


@pytest.mark.timeout(120)
def test_many_calls_with_random_faults_are_each_rung_exactly_once(make_call):
    call, chance = make_call(), random.Random(17)
    service = call.service
    answers = {name: [answer] for name, answer in service.temporary.items()}
    answers |= {f"{name}, twice": [answer] * 2 for name, answer in service.temporary.items()}
    answers |= {"none": [], **service.more_faults}
    wanted = {fault: (1, len(script) + 1) for fault, script in answers.items()}
    # The server would stop the deletion of more dead tokens.
    lasting = {f"lasting: {name}": script for name, (script, *_) in (service.refused | service.dead).items()}
    wanted |= {fault: (0, len(script)) for fault, script in lasting.items()}
    faults = list(answers) * CALLS_OF_EACH_FAULT + list(lasting)
    chance.shuffle(faults)
    calls = []
    # With more calls at once the pushes would wait so long for their turn that the server gives a response up, and
    # sends a push again that the fake has accepted.
    for first in range(0, len(faults), 50):
        for fault in faults[first : first + 50]:
            each = call.another()
            each.register()
            each.script(*(answers | lasting)[fault])
            each.ring()
            calls.append((fault, each))
        all_get(calls[first:], wanted)
    # A second push would follow a result that came after that of the accepted one.
    for _, each in calls:
        each.last_push_or_removal()
    call.fence()
    wrong = [(fault, count(each)) for fault, each in calls if count(each) != wanted[fault]]
    assert wrong == [], "fault, (accepted, tries)"
    rung = [each.rings()[0] for fault, each in calls if fault in answers]
    identities = {push.identity for push in rung}
    assert len(identities) == len(rung) or identities == {None}, "no call's push replaces that of another one"
    for push in rung:
        left = (push.data["ringUntil"] - push.at) / 1000
        # With so many pushes at once, some wait in the server or in the fake, for an access token as well.
        assert push.ttl is None or left - 1 <= push.ttl <= left + 12, "seconds left to ring"


def test_no_secret_of_a_service_or_of_a_device_is_in_the_log(servers, make_call):
    call = make_call("--log-level", "trace", "--ring-timeout", "2")
    service = call.service
    scripts = {f"temporary: {name}": [answer] for name, answer in service.temporary.items()}
    for kinds in (service.dead, service.refused):
        scripts |= {name: answers for name, (answers, *_) in kinds.items()}
    calls = ring_each(call, {"accepted": []} | scripts)
    for each in calls.values():
        each.is_over()
    if service.tells_the_end:
        # The first push was accepted, and its owner has also missed the call.
        calls["accepted"].notice("call.missed")
    log = call.world.server.errors()
    assert all(f"call.id={each.id}" in log for each in calls.values())
    secrets = [secret for each in calls.values() for secret in service.secrets(each.device)] + service.own_secrets()
    secrets += [push.data["act"] for each in calls.values() for push in each.tries() if push.data is not None]
    assert len(secrets) > 2 * len(calls) and [secret for secret in secrets if secret in log] == []
    assert [line for line in log.splitlines() if findings(line)] == []

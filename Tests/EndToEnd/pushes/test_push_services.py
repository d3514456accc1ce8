"""A callee without a connection is woken by a push, through each of the push services (protocol, section 6).

The fakes refuse every push that the real services would refuse. So a push that a fake has accepted was well-formed.
What only one service has is in test_apns.py, test_firebase.py and test_web_push.py; how a service fails, in
test_push_faults.py; devices with several services, in test_push_routes.py.
"""

import json
import re
import time
import uuid

import pytest
import samples
from commands import run, wait_for
from prometheus_client.parser import text_string_to_metric_families
from push_services import A_DAY, TELLING_THE_END
from pushed_call import ring_each
from raw_socket import RawSocket
from waiting import eventually

tells_the_end = pytest.mark.parametrize("servers", TELLING_THE_END, indirect=True)
# A single character of 25 bytes, which must not be cut in half.
FAMILY = "👨‍👩‍👧‍👦"


# --- Registration ------------------------------------------------------------------------------------------------


def test_a_registered_device_is_woken_by_its_push_service(call):
    service, device = call.service, call.service.new_device()
    body = service.about | {service.field: service.registration(device), "deviceId": "d-1"}
    response = call.world.rest(call.callee).put("/api/me/devices", body)
    assert response.status_code == 200, response.text
    for shown in (response.json(), *call.devices()):
        assert shown["pushHealth"]["wakesBy"] == service.kind
        assert service.shown_address(shown) == service.address(device)
    assert "message" not in response.json(), "the server does push to the device"
    call.ring()
    call.rung(device)


def test_a_token_belongs_to_the_user_who_registered_it_last(call):
    moved, last = call.register(), call.another()
    last.register(device=moved)
    own = call.register()
    assert call.is_registered and last.is_registered
    call.ring()
    call.rung(own)
    last.ring()
    assert last.rung().data["callId"] == last.id
    assert len(last.rings()) == 1


def test_a_new_token_of_a_device_replaces_the_old_one_even_while_it_rings(call):
    old = call.register()
    call.script({"status": 503, "always": True})
    call.ring()
    eventually(call.tries)
    new = call.register()
    assert call.is_registered
    call.rung(new)
    count = len(call.tries(old))
    call.fence()
    assert len(call.tries(old)) == count and len(call.rings(new)) == 1


def test_a_removed_device_is_not_pushed(call):
    gone, stays = call.register(), call.register(deviceId="d-2")
    assert call.world.rest(call.callee).delete("/api/me/devices/d-1").status_code == 200
    call.ring()
    call.rung(stays)
    assert call.heard(gone) == []


def test_a_device_that_is_removed_while_it_is_tried_is_not_tried_again(call):
    call.register()
    call.script({"status": 503, "always": True})
    call.ring()
    eventually(call.tries)
    assert call.world.rest(call.callee).delete("/api/me/devices/d-1").status_code == 200
    # A push that was under way may still come.
    call.settle()
    count = len(call.tries())
    call.fence()
    assert len(call.tries()) == count


# --- The push that rings -----------------------------------------------------------------------------------------


def test_an_offline_callee_gets_one_push_with_everything_that_it_needs(call):
    call.register()
    call.id = call_id = str(uuid.uuid4())
    before = int(time.time() * 1000)
    room = f"p2p:{call.caller}-{call.callee}"
    call.ring(sdp=samples.OFFER, displayName="山田太郎", room=room)
    push = call.rung()
    after = int(time.time() * 1000)
    data = dict(push.data)
    assert before - 1000 <= data.pop("sentAt") <= after + 1000
    assert before + 44_000 <= data.pop("ringUntil") <= after + 46_000
    assert data.pop("act")
    assert data == {
        "type": "call.incoming",
        "callId": call_id,
        "epoch": 1,
        "fromUserId": call.caller,
        "fromDisplayName": "山田太郎",
        "toUserId": call.callee,
        "room": room,
        "hasVideo": False,
        "callUUID": call_id,
        "handle": call.caller,
        "handleType": "generic",
        "callerId": call.caller,
        "callerName": "山田太郎",
        "offer": samples.OFFER,
    }
    assert push.ttl in (44, 45, None)
    call.fence()
    assert len(call.heard()) == 1


@pytest.mark.parametrize("has_video, sdp", [(True, samples.VIDEO_OFFER), (False, samples.VIDEO_REJECTED_OFFER)])
def test_the_push_says_whether_the_call_has_video(call, has_video, sdp):
    call.register()
    call.ring(sdp=sdp)
    assert call.rung().data["hasVideo"] is has_video


def test_the_offer_is_in_the_push_as_long_as_it_fits(call):
    call.register()

    def push_with(sdp: str):
        call.id = str(uuid.uuid4())
        call.ring(sdp=sdp)
        push = call.rung(call_id=call.id)
        call.end()
        return push

    def size(sdp: str) -> int:
        """Returns the bytes of an offer in a push; Firebase counts them before they are in JSON."""
        is_json = call.service.largest_is_of_json
        return len(json.dumps(sdp, ensure_ascii=False).encode()) if is_json else len(sdp.encode())

    room = call.service.largest - push_with(samples.OFFER).size + size(samples.OFFER)
    lengths = range(len(samples.OFFER), room)
    fits = max(length for length in lengths if size(samples.padded(samples.OFFER, length)) <= room)
    push = push_with(samples.padded(samples.OFFER, fits))
    assert push.data["offer"] == samples.padded(samples.OFFER, fits)
    # A further line of the offer may take two bytes more in JSON.
    assert call.service.largest - 3 < push.size <= call.service.largest
    data = push_with(samples.padded(samples.OFFER, fits + 3)).data
    assert "offer" not in data and data["act"]


def test_a_long_name_is_cut_only_when_the_push_does_not_fit_without_the_offer(call):
    call.register()
    call.ring(sdp=samples.padded(samples.OFFER, 40 * 1024), displayName="山" * 256)
    data = call.rung().data
    assert "offer" not in data and data["callerName"] == data["fromDisplayName"] == "山" * 256
    other = call.another()
    other.register()
    other.ring(displayName=FAMILY * 256)
    push = other.rung()
    name = push.data["callerName"]
    assert "offer" not in push.data and push.data["fromDisplayName"] == name
    assert name and name == FAMILY * (len(name) // len(FAMILY))
    largest = call.service.largest
    assert largest - 4 * len(FAMILY.encode()) < push.size <= largest, "no more is cut than necessary"


def test_every_device_gets_a_capability_of_its_own_for_the_same_call(call):
    one, two = call.register(), call.register(deviceId="d-2")
    call.ring()
    first, second = call.rung(one), call.rung(two)
    assert first.data["act"] != second.data["act"] and first.data["callUUID"] == second.data["callUUID"]


def test_the_woken_app_fetches_rings_answers_and_ends_by_rest(call):
    call.register()
    taro = call.ring(sdp=samples.VIDEO_OFFER)
    for candidate in samples.CANDIDATES[:3]:
        taro.ask(type="ice", callId=call.id, candidate=candidate)
    app = call.woken_app()
    log = app.log(call.id)
    assert log["offer"]["sdp"] == samples.VIDEO_OFFER and log["candidates"] == samples.CANDIDATES[:3]
    assert app.signal("ringing", call.id).status_code == 200
    assert taro.expect(type="ringing")["fromDevice"] == "d-1"
    answer = {"sdp": samples.VIDEO_ANSWER, "from": call.callee, "to": call.caller}
    assert app.signal("answer", call.id, path_id=True, **answer).status_code == 200
    assert taro.expect(type="answer")["sdp"] == samples.VIDEO_ANSWER
    app.signal("ice", call.id, candidate=samples.CANDIDATES[4])
    assert taro.expect(type="ice")["candidate"] == samples.CANDIDATES[4]
    assert app.delete(f"/api/calls/signal/{call.id}").status_code == 200
    assert call.is_over()["reason"] == "hangup"
    call.fence()
    assert call.types() == ["call.incoming"], "the device that answered needs no other push"


def test_the_woken_app_declines_by_rest(call):
    call.register()
    call.ring()
    assert call.woken_app().delete(f"/api/calls/signal/{call.id}").status_code == 200
    assert call.is_over()["reason"] == "declined"
    call.fence()
    assert call.types() == ["call.incoming"], "the device that declined needs no other push"


# --- Who is pushed, and how often --------------------------------------------------------------------------------


def test_a_callee_with_a_live_connection_of_that_device_is_not_pushed(call):
    asleep = call.another()
    call.register(deviceId="d-1")
    asleep.register(deviceId="d-2")
    hanako = call.world.connect(call.callee, "d-1")
    half_open = RawSocket(call.world.server.port, call.world.token(asleep.callee), path="/ws?device=d-2")
    call.ring()
    hanako.expect(type="offer")
    # The second device answers no ping, and is pushed when its probe times out. The first was probed earlier, so a
    # wrong push to it would have come by then.
    asleep.ring()
    asleep.rung()
    assert call.heard() == []
    half_open.close()


def test_a_callee_whose_connection_has_gone_is_pushed(call):
    call.register()
    call.world.connect(call.callee, "d-1").close()
    call.ring()
    call.rung()


def test_a_callee_whose_connection_answers_the_ping_and_ends_is_pushed_unless_it_said_ringing(call):
    silent, ringing = call, call.another()
    connections = []
    for each in (silent, ringing):
        each.register()
        connections.append(each.world.connect(each.callee, "d-1"))
        each.ring()
        connections[-1].expect(type="offer")
    connections[1].ask(type="ringing", callId=ringing.id)
    for connection in connections:
        connection.close()
    silent.rung()
    # The other device left at the same time.
    assert ringing.heard() == []


def test_a_device_that_said_ringing_is_not_pushed_after_a_crash(make_call):
    call = make_call()
    silent, ringing = call.register(), call.register(deviceId="d-2")
    connections = [call.world.connect(call.callee, device) for device in ("d-1", "d-2")]
    call.ring()
    for connection in connections:
        connection.expect(type="offer")
        connection.fence()
    connections[1].ask(type="ringing", callId=call.id)
    connections[1].close()
    call.world.server.kill()
    call.world.server.start()
    call.rung(silent)
    # Both would be pushed at the same moment.
    call.world.connect("12").fence()
    assert call.heard(ringing) == []


def test_a_ring_that_outlives_a_restart_gets_one_push(make_call):
    call = make_call()
    call.register()
    call.ring()
    call.rung()
    call.last_push()
    call.world.server.kill()
    call.world.server.start()
    assert call.is_registered, "the device is kept over restarts"
    call.fence()
    assert len(call.tries()) == 1


def test_the_same_offer_twice_is_one_call_and_one_push(call):
    call.register()
    body = {"callId": call.id, "action": "offer", "data": {"sdp": samples.OFFER, "type": "offer", "to": call.callee}}
    first = call.world.rest(call.caller).post("/api/calls/signal", body).json()
    second = call.connection.ask(type="offer", callId=call.id, to=call.callee, sdp=samples.OFFER)
    assert (second["seq"], second["epoch"]) == (first["seq"], first["epoch"])
    call.rung()
    call.fence()
    assert len(call.heard()) == 1


def test_another_call_under_the_same_call_id_is_pushed_again_as_another_one(call):
    call.register()
    for number in range(2):
        call.ring(sdp=samples.changed(samples.OFFER, str(number)))
        eventually(lambda: len(call.rings()) == number + 1)  # noqa: B023
        call.end()
    one, two = call.rings()
    assert [push.data["epoch"] for push in (one, two)] == [1, 2]
    urls = [f"ringline:{call.id}/{epoch}" for epoch in (1, 2)]
    assert [push.data["callUUID"] for push in (one, two)] == [str(uuid.uuid5(uuid.NAMESPACE_URL, url)) for url in urls]
    assert one.identity != two.identity or call.service.name == "firebase", "no push replaces that of another call"


@pytest.mark.parametrize("hides", ["do-not-disturb", "a block"])
def test_no_call_and_no_text_comes_through(call, hides):
    call.register()
    rest = call.world.rest(call.callee)
    if hides == "a block":
        response = rest.post("/api/blocks", {"userId": call.caller})
    else:
        response = rest.put("/api/me/dnd", {"until": int(time.time() * 1000) + 60_000})
    assert response.status_code < 300
    call.ring()
    call.end()
    call.connection.ask(type="message", to=call.callee, body="hello")
    call.fence()
    assert call.heard() == []


# --- The pushes after the ring -----------------------------------------------------------------------------------


@tells_the_end
def test_the_push_of_a_short_ring_is_kept_for_a_second_and_the_missed_call_for_a_day(short_call):
    """With 0 the service would drop a push to a device that it cannot reach at once."""
    call = short_call
    call.register()
    call.ring(displayName="山田太郎")
    missed = call.notice("call.missed")
    assert call.rung().ttl == 1 and missed.ttl == A_DAY
    assert missed.identity == call.rung().identity, "it replaces the ring"
    assert missed.data == {
        "type": "call.missed",
        "callId": call.id,
        "epoch": 1,
        "fromUserId": call.caller,
        "fromDisplayName": "山田太郎",
    }


@tells_the_end
def test_a_call_that_its_caller_cancels_is_missed(call):
    call.register()
    call.ring()
    call.rung()
    call.end()
    missed = call.notice("call.missed")
    assert missed.data["callId"] == call.id and missed.ttl == A_DAY and missed.identity == call.rung().identity


@tells_the_end
@pytest.mark.parametrize("reason", ["answered_elsewhere", "declined_elsewhere"])
def test_a_call_that_another_device_answers_or_declines_is_over(call, reason):
    call.register()
    call.ring()
    call.rung()
    other = call.world.connect(call.callee, device="b2")
    other.expect(type="offer")
    if reason == "answered_elsewhere":
        other.ask(type="answer", callId=call.id, sdp=samples.ANSWER)
    else:
        other.ask(type="end", callId=call.id)
    over = call.notice("call.over")
    assert over.ttl == A_DAY and over.identity == call.rung().identity
    wanted = {"callId": call.id, "epoch": 1, "fromUserId": call.caller, "reason": reason}
    assert over.data == over.data | wanted


# --- What is seen of it ------------------------------------------------------------------------------------------


def test_an_accepted_push_is_shown_with_the_device_whatever_the_body_of_the_response_says(call):
    calls = ring_each(call, {name: [answer] for name, (answer, _) in call.service.accepting.items()})
    for name, each in calls.items():
        last = each.last_push()
        assert last["status"] == call.service.accepting[name][1] and last["hint"] is None, name
        assert last["environment"] == each.devices()[0]["environment"] == call.service.environment
        each.end()
    call.fence()
    assert {name: len(each.tries()) for name, each in calls.items()} == dict.fromkeys(calls, 1)


def test_the_timeline_has_the_push_with_its_service(call):
    call.register()
    call.ring()
    (result,) = call.results()
    (sent,) = call.events("push.sent")
    assert sent["kind"] == result["kind"] == call.service.kind and result["status"] in (200, 201)
    assert sent["device"] == "d-1"
    assert sent.get("environment") == result.get("environment") == call.service.environment


def test_explain_names_the_service_and_its_refusal_and_no_other_service(short_call):
    (answers, status, reason) = short_call.service.refused["403"]
    accepted, refused = ring_each(short_call, {"accepted": [], "refused": answers}).values()
    others = {"APNs|sandbox|iPhone": "apns", "Firebase": "firebase", "[Ww]eb [Pp]ush": "web-push"}
    for each, words in ((accepted, "20"), (refused, f"{status} {reason}")):
        wait_for(each.world, each.id, "ended: unanswered", words)
        text = each.explained()
        for name, service in others.items():
            assert bool(re.search(name, text)) == (service == each.service.name), f"{name}: {text}"
        assert [secret for secret in each.service.secrets(each.device) if secret in text] == []


def test_the_results_of_pushes_are_counted_without_words_of_third_parties(make_call):
    call = make_call()
    (answers, _, reason) = call.service.refused["403"]
    failed, made_up = call.service.temporary["503"], call.service.made_up
    scripts = {"accepted": [], "also": [], "refused": answers, "failed": [failed], "made up": [made_up]}
    calls = ring_each(call, scripts)
    for name in ("accepted", "also", "failed"):
        calls[name].rung()

    def counted(metric="ringline_push_results_total") -> dict[str, float]:
        """Returns the values of a counter by `reason`, added up over its other labels, without zeros."""
        values: dict[str, float] = {}
        for family in text_string_to_metric_families(call.world.server.metrics_text()):
            for sample in family.samples:
                if sample.name == metric and sample.value:
                    label = sample.labels.get("reason", "")
                    values[label] = values.get(label, 0) + sample.value
        return values

    # The service's own word for a passing fault, if it has one that the server knows.
    passing = call.service.word_for_503
    wanted = {"accepted": 3.0, reason: 1.0, "other": 1.0}
    wanted[passing] = wanted.get(passing, 0) + 1
    eventually(lambda: counted() == wanted, why=lambda: str(counted()))
    assert counted("ringline_pushes_sent_total") == {"": 6}
    assert "MadeUp" not in call.world.server.metrics_text()


@pytest.mark.parametrize("servers", ["apns", "web-push"], indirect=True)
def test_a_test_push_goes_by_the_service_of_the_device(call):
    call.register()
    command = ["push-test", "--user", call.callee, *call.world.server.folder_options, *call.service.options()]
    result = run(*command)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "d-1: " in result.stdout and "accepted" in result.stdout
    (push,) = call.accepted()
    assert push.type == "call.incoming" and push.data["fromUserId"] == "ringline-test"
    (answers, status, reason) = call.service.refused["403"]
    call.script(*answers)
    result = run(*command)
    assert result.returncode == 1 and f"{status} {reason}" in result.stdout
    assert [secret for secret in call.service.secrets(call.device) if secret in result.stdout + result.stderr] == []


def test_the_list_of_devices_shows_the_service_and_no_secrets(call):
    call.register()
    call.ring()
    call.rung()

    def listed() -> str:
        return run("devices", "--user", call.callee, *call.world.server.store_options).stdout

    eventually(lambda: re.search(r"\b20[01]\b", listed()), why=listed)
    text = listed()
    assert "d-1" in text and call.service.kind in text.lower()
    shown = {word for word in ("Firebase", "sandbox", "production") if word in text}
    assert shown <= {call.service.title, call.service.environment}, text
    assert [secret for secret in call.service.secrets(call.device) if secret in text] == []


def test_without_credentials_a_push_is_only_logged_without_its_token(servers, make_call):
    call = make_call(instead=servers.service.options_without_credentials())
    call.register()
    assert call.ring()
    (result,) = call.results()
    assert result["reason"] == f"no {call.service.credentials} is configured: pushes are only logged"
    assert call.is_registered
    (line,) = eventually(
        lambda: [line for line in call.world.server.usual_log().splitlines() if "a push was not sent" in line]
    )
    assert f"call.id={call.id}" in line and f"push.kind={call.service.kind}" in line
    assert [secret for secret in call.service.secrets(call.device) if secret in call.world.server.errors()] == []

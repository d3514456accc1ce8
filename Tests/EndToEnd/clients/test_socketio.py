"""Socket.IO: authentication, refusals, heartbeats, texts, presence, and the details of Engine.IO."""

import json
import time

import httpx
import pytest
import samples
from push_services import token
from raw_socket import BINARY, PING, PONG, TEXT, RawSocket
from rest import TLS
from sio_app import POLLING, WAYS, App
from test_chutalk_pushes import ALERT, put
from waiting import eventually

WAY = pytest.mark.parametrize("way", WAYS | POLLING)
PATHS = ["/signal/socket.io/", "/signal/socket.io", "/socket.io/", "/socket.io"]


def get(world, path="/socket.io/", **params):
    params = {"EIO": "4", "transport": "polling"} | params
    return httpx.get(world.server.url + path, params=params, trust_env=False, verify=TLS, timeout=40)


def post(world, sid, body, version="4"):
    params = {"EIO": version, "transport": "polling", "sid": sid}
    url = world.server.url + "/socket.io/"
    return httpx.post(url, params=params, content=body, trust_env=False, verify=TLS, timeout=10)


def opened(world, **params) -> str:
    return json.loads(get(world, **params).text[1:])["sid"]


def joined(world, user=11, **params) -> str:
    """Opens a Socket.IO session that polls and has joined; returns its `sid`."""
    sid = opened(world, token=world.token(None, uid=user), **params)
    assert post(world, sid, "40").text == "ok"
    assert get(world, sid=sid).text.startswith('40{"sid":"')
    return sid


class Raw(RawSocket):
    """A Socket.IO session on a raw WebSocket."""

    def __init__(self, world, query="", version=4, user=11):
        token = world.token(None, uid=user)
        super().__init__(world.server.port, path=f"/socket.io/?EIO={version}&transport=websocket&token={token}{query}")

    def say(self, text: str):
        self.frame(TEXT, text.encode())

    def hear(self) -> str:
        """Returns the next packet. Answers pings of Engine.IO 4, which may come at any time."""
        while (text := self.read_until(TEXT).decode()) == "2":
            self.say("3")
        return text


# Authentication


@WAY
@pytest.mark.parametrize("auth", ["auth", "header", "query"])
def test_a_token_may_come_in_three_ways(world, way, auth):
    if auth == "auth" and "eio3" in way:
        pytest.skip("version 3 has no auth")
    app = App(world, 11, way, auth=auth)
    assert app.ask("is-online", {"userId": 11}) == {"ok": True, "online": True}


@WAY
@pytest.mark.parametrize("bad", ["none", "nonsense", "expired"])
def test_without_a_valid_token_a_client_is_refused(world, way, bad):
    token = {"none": "", "nonsense": "a.b.c", "expired": world.token(None, uid=11, ttl=-3600)}[bad]
    app = App(world, 11, way, token=token, auth="best" if bad != "none" else None, online=False, register=None, reconnection=False)
    app.start()
    why = app.wait(lambda said: "refused" in said)["refused"]
    code = {"none": "unauthenticated", "nonsense": "unauthenticated", "expired": "token_expired"}[bad]
    if "eio4" in way:
        assert why["data"]["code"] == code and why["message"]
    else:
        assert why.startswith(f"{code}: ")


@WAY
def test_register_as_somebody_else_is_refused_and_ends_the_session(world, way):
    app = App(world, 11, way, register=None, reconnection=False)
    app.emit("register", {"userId": 10})
    assert app.expect("signal-error")["code"] == "forbidden"
    app.wait(lambda said: "disconnected" in said)
    assert world.rest("10").get("/api/calls").json() == []


@WAY
def test_with_trust_register_no_token_is_needed(make_server, make_world, way):
    world = make_world(make_server("--trust-register"))
    assert "trust-register" in world.server.errors()
    taro, hanako = App(world, 11, way, auth=None), App(world, 10, way, auth=None)
    taro.call(10)
    offer = hanako.expect("offer")
    assert offer["from"] == 11, "the id is an integer, as it was registered"
    hanako.answer(11)
    assert taro.expect("answer")["from"] == 10
    hanako.ice(11, samples.CANDIDATES[0])
    taro.expect("ice")
    taro.ice(10, samples.CANDIDATES[1])
    hanako.expect("ice")
    taro.hang_up(10)
    assert hanako.expect("call-ended")["reason"] == "hangup"
    assert len(taro.events("answer")) == 1 and len(hanako.events("offer")) == 1


@pytest.mark.parametrize("name", ["socketio-trust-register", "socketio.trust-register"])
def test_trust_register_may_be_set_in_the_settings_file(make_server, make_world, tmp_path, name):
    path = tmp_path / "ringline.conf"
    path.write_text(f"{name} = true\n")
    world = make_world(make_server("--config", path))
    assert "trust-register" in world.server.errors()
    assert App(world, 11, auth=None).ask("is-online", {"userId": 11})["online"]


def test_a_woken_app_without_a_token_answers_over_rest_before_it_connects(make_server, make_world):
    world = make_world(make_server(environment={"RINGLINE_SOCKETIO_TRUST_REGISTER": "true"}))
    taro, hanako = App(world, 11, auth=None), App(world, 10, auth=None, online=False)
    taro.call(10)
    hanako.poll("11-10", "offer")
    hanako.answer_by_rest("11-10", 11)
    hanako.start()
    taro.expect("answer")
    taro.ice(10, samples.CANDIDATES[0])
    hanako.expect("ice")
    assert hanako.events("call-ended") == []
    assert hanako.ask("answer", {"to": 11, "sdp": samples.ANSWER})["ok"]


def test_trust_register_is_off_by_default(world):
    app = App(world, 11, auth=None, online=False, reconnection=False)
    app.start()
    assert app.wait(lambda said: "refused" in said)["refused"]["data"]["code"] == "unauthenticated"


def test_ids_are_written_as_the_token_writes_them(world):
    text = App(world, 11, token=world.token("11"), register="11")
    taro = App(world, 10)
    taro.emit("offer", {"to": "11", "sdp": samples.OFFER})
    assert text.expect("offer")["from"] == "10"
    text.emit("call-end", {"to": 10})
    assert taro.expect("call-ended")["from"] == 11


# Events


@WAY
def test_an_event_with_an_acknowledgement_function_is_acknowledged(world, way):
    taro = App(world, 11, way)
    reply = taro.ask("offer", {"to": 10, "sdp": samples.OFFER})
    assert reply == {"ok": True, "callId": "11-10", "epoch": 1, "seq": 1}
    refused = taro.ask("answer", {"to": 12, "sdp": samples.ANSWER})
    assert (refused["ok"], refused["code"]) == (False, "not_found")
    refused = taro.ask("offer", {"to": 10, "sdp": "nonsense", "callId": "x"})
    assert (refused["ok"], refused["code"], refused["field"]) == (False, "invalid_sdp", "sdp")
    assert taro.ask("no-such-event", {})["code"] == "unknown_type"
    assert taro.ask("offer", {"sdp": samples.OFFER})["ok"] is False
    assert taro.ask("offer", [1, 2])["ok"] is False


def test_a_refusal_without_an_acknowledgement_function_comes_as_an_event(world):
    taro = App(world, 11)
    taro.emit("ice", {"to": 10, "candidate": samples.CANDIDATES[0]})
    error = taro.expect("signal-error")
    assert (error["event"], error["code"]) == ("ice", "not_found")


@WAY
def test_descriptions_and_extra_members_arrive_as_they_were_sent(world, way):
    sdp = samples.padded(samples.changed(samples.OFFER, "héé 😀 山田 \\ \" /"), 20_000)
    taro, hanako = App(world, 11, way), App(world, 10, way)
    taro.emit("offer", {"to": 10, "sdp": sdp, "displayName": "山田😀太郎", "extra": {"a": [1, 2.50, None]}})
    offer = hanako.expect("offer")
    assert offer["sdp"] == sdp and offer["displayName"] == "山田😀太郎" and offer["extra"] == {"a": [1, 2.5, None]}


def test_a_too_large_event_and_a_binary_event_are_refused(world):
    taro = App(world, 11, reconnection=False)
    assert taro.ask("offer", {"to": 10, "sdp": samples.padded(samples.OFFER, 50 * 1024)})["code"] == "too_large"
    taro.emit("offer", {"to": 10, "sdp": samples.padded(samples.OFFER, 70 * 1024)})
    taro.wait(lambda said: "disconnected" in said)
    raw = Raw(world)
    raw.hear(), raw.say("40"), raw.hear()
    raw.say('451-["blob",{"_placeholder":true,"num":0}]')
    assert json.loads(raw.hear()[2:])[1]["code"] == "unsupported_media_type"
    raw.frame(BINARY, b"abc")
    assert raw.close_code() == 1003


def test_too_many_events_are_refused_as_on_ws(world):
    raw = Raw(world)
    raw.hear(), raw.say("40"), raw.hear()
    for number in range(400):
        raw.say(f'42{number}["is-online",{{"userId":10}}]')
    codes = []
    while len(codes) < 400:
        text = raw.hear()
        if text.startswith("43"):
            codes.append(json.loads(text[text.index("[") :])[0].get("code"))
    assert codes.count("rate_limited") > 100 and codes.count(None) >= 200
    raw.say('42999["call-end",{"to":10}]')
    assert "not_found" in raw.hear(), "a hang-up always gets through"


def test_ten_packets_that_are_nonsense_end_the_session(world):
    raw = Raw(world)
    raw.hear(), raw.say("40"), raw.hear()
    for _ in range(10):
        raw.say('42["offer",{')
    assert raw.close_code() == 4400


# Texts and presence


@WAY
def test_a_text_is_relayed_to_an_online_user(world, way):
    taro, hanako, ws = App(world, 11, way), App(world, 10, way), world.connect("10", "laptop")
    assert taro.ask("message", {"to": 10, "body": "Hallo 😀", "displayName": "Taro"}) == {"ok": True, "online": True}
    text = hanako.expect("message")
    assert (text["from"], text["body"], text["displayName"]) == (11, "Hallo 😀", "Taro")
    assert text["timestamp"].endswith("Z") and "." in text["timestamp"]
    assert ws.expect(type="message")["body"] == "Hallo 😀"
    ws.ask(type="message", to="11", body="back")
    assert taro.expect("message")["body"] == "back"


@pytest.mark.parametrize("name", ["Taro", " "])
def test_a_text_to_an_offline_user_is_pushed_as_an_alert(push_world, name):
    world, fake = push_world
    # A `displayName` of blanks counts as missing, so the push shows the token's name.
    taro, hanako = App(world, 11, token=world.token(None, uid=11, u="Taro")), App(world, 10, online=False)
    put(hanako, voipDeviceToken=token(1), apnsDeviceToken=ALERT)
    taro.emit("message", {"to": 10, "body": "Hallo", "displayName": name})
    push = fake.wait_for_push(ALERT, timeout=5)
    assert (push["headers"]["apns-push-type"], push["headers"]["apns-topic"]) == ("alert", "com.example.chat")
    payload = push["payload"]
    assert payload["aps"] == {"alert": {"title": "Taro", "body": "Hallo"}, "sound": "default"}
    assert payload == payload | {"type": "message", "fromUserId": "11", "fromDisplayName": "Taro"}
    assert fake.pushes(token(1)) == [], "a text causes no VoIP push"


def test_a_text_to_a_suspended_app_is_pushed_and_one_that_arrived_is_not(push_world):
    world, fake = push_world
    taro, hanako = App(world, 11), App(world, 10)
    put(hanako, apnsDeviceToken=ALERT)
    taro.emit("message", {"to": 10, "body": "one"})
    hanako.expect("message")
    hanako.fence()
    hanako.suspend()
    taro.emit("message", {"to": 10, "body": "two"})
    push = fake.wait_for_push(ALERT, timeout=5)
    assert push["payload"]["aps"]["alert"]["body"] == "two"
    hanako.resume()
    assert len(fake.pushes(ALERT)) == 1


@pytest.mark.parametrize("way", POLLING)
def test_many_texts_at_once_reach_a_client_that_polls(world, way):
    hanako, taro = App(world, 10, way), RawSocket(world.server.port, world.token("11"))
    texts = [str(number) for number in range(40)]
    frames = [json.dumps({"type": "message", "to": "10", "body": text}) for text in texts]
    # All texts go out in one packet, because python-socketio accepts only 16 Engine.IO packets, pings included, from
    # one poll.
    taro.frames([(TEXT, frame.encode()) for frame in frames])
    # The client library's threads may report the texts in another order.
    assert sorted(hanako.expect("message")["body"] for _ in texts) == sorted(texts)
    assert not any("disconnected" in said for said in hanako.heard)


def test_a_pong_to_the_newest_ping_confirms_all_texts_before_it(push_world):
    world, fake = push_world
    put(App(world, 10, online=False), apnsDeviceToken=ALERT)
    hanako, taro = RawSocket(world.server.port, world.token("10")), RawSocket(world.server.port, world.token("11"))
    seen = json.dumps({"type": "message", "to": "10", "body": "seen"}).encode()
    for _ in range(10):
        taro.frame(TEXT, seen)
    newest, texts = None, 0
    while texts < 10 or newest is None:
        opcode, payload = hanako.read()
        texts += b'"seen"' in payload
        if opcode == PING or b'"seen"' in payload:
            newest = payload if opcode == PING else None
    hanako.frame(PONG, newest)
    hanako.frame(TEXT, b'{"type":"ping","id":"fence"}')
    while b'"fence"' not in hanako.read_until(TEXT):
        pass
    hanako.socket.close()
    unseen = {"type": "message", "id": "m", "to": "10", "body": "unseen"}
    assert eventually(lambda: not ask_raw(taro, unseen)["online"])
    fake.wait_for_push(ALERT, timeout=5)
    assert {push["payload"]["aps"]["alert"]["body"] for push in fake.pushes(ALERT)} == {"unseen"}


def ask_raw(socket, message) -> dict:
    socket.frame(TEXT, json.dumps(message).encode())
    while (reply := json.loads(socket.read_until(TEXT))).get("id") != message["id"]:
        pass
    return reply


def test_texts_of_a_blocked_user_are_not_delivered(push_world):
    world, fake = push_world
    taro, hanako, asleep = App(world, 11), App(world, 10), App(world, 12, online=False)
    put(asleep, apnsDeviceToken=ALERT)
    for app in (hanako, asleep):
        assert app.rest.post("/api/blocks", {"blocked_user_id": 11}).status_code == 200
    assert taro.ask("message", {"to": 10, "body": "x"})["ok"], "the sender cannot notice the block"
    assert taro.ask("message", {"to": 12, "body": "x"})["ok"]
    assert hanako.events("message") == [] and fake.pushes(ALERT) == []
    assert taro.ask("is-online", {"userId": 10}) == {"ok": True, "online": False}


# Polling clients are left out: such a client may leave without closing its session, which then ends only after
# Engine.IO's 45 s.
@pytest.mark.parametrize("way", WAYS)
def test_presence_goes_only_to_users_who_asked_or_share_a_call(world, way):
    curious, taro, third = App(world, 12, way), App(world, 11, way), App(world, 13, way)
    curious.ask("message", {"to": 10, "body": "hello"})
    assert curious.ask("is-online", {"userId": 10}) == {"ok": True, "online": False}
    assert curious.expect("user-offline") == {"userId": 10}
    taro.emit("offer", {"to": 10, "sdp": samples.OFFER})
    hanako = App(world, 10, way)
    assert curious.expect("user-online") == {"userId": 10}
    assert taro.expect("user-online") == {"userId": 10}
    hanako.leave()
    assert curious.expect("user-offline") == {"userId": 10}
    assert taro.expect("user-offline") == {"userId": 10}
    third.fence()
    assert [said for said in third.heard if said.get("event") == "user-online" and said["data"]["userId"] == 10] == []


# Sessions


@WAY
def test_a_client_reconnects_by_itself_after_a_restart(world, way):
    taro, hanako = App(world, 11, way), App(world, 10, way)
    world.server.terminate()
    assert world.server.exit_code() == 0
    port = world.server.port
    world.server.options += ["--listen", f"127.0.0.1:{port}"]
    world.server.start()
    for app in (taro, hanako):
        # The client waits longer before each attempt.
        app.wait(lambda said: "registered" in said, seconds=60)
    taro.emit("offer", {"to": 10, "sdp": samples.OFFER})
    hanako.expect("offer")


def test_heartbeats_are_asked_for_by_the_server_in_version_4(world):
    raw = Raw(world)
    welcome = json.loads(raw.hear()[1:])
    assert welcome == welcome | {"pingInterval": 25000, "pingTimeout": 20000, "maxPayload": 65536, "upgrades": []}
    raw.say("40")
    raw.hear()
    raw.socket.settimeout(30)
    assert raw.read_until(TEXT, 30) == b"2"
    raw.say("3")


def test_heartbeats_are_answered_by_the_server_in_version_3(world):
    raw = Raw(world, version=3)
    assert raw.hear().startswith("0{") and raw.hear() == "40"
    raw.say("2")
    assert raw.hear() == "3"
    raw.say("2probe")
    assert raw.hear() == "3probe"


def test_a_client_that_answers_no_ping_is_closed_when_the_ping_times_out(world):
    raw = Raw(world)
    raw.hear(), raw.say("40"), raw.hear()
    began = time.monotonic()
    raw.socket.settimeout(60)
    while True:
        try:
            raw.read()
        except ConnectionError:
            break
    assert 19 < time.monotonic() - began < 25 + 20 + 8


@pytest.mark.parametrize("path", PATHS)
def test_socketio_is_served_at_both_paths_with_and_without_the_slash(world, path):
    response = get(world, path)
    assert response.status_code == 200 and response.headers["content-type"].startswith("text/plain")
    assert response.text.startswith('0{"sid":"')
    raw = RawSocket(world.server.port, path=f"{path}?EIO=4&transport=websocket")
    assert raw.status == 101 and raw.read_until(TEXT).startswith(b'0{"sid":"')


@pytest.mark.parametrize(
    ("params", "status", "code", "message"),
    [
        ({"transport": "pigeon"}, 400, 0, "Transport unknown"),
        ({"sid": "nobody"}, 400, 1, "Session ID unknown"),
        ({"transport": "websocket"}, 400, 3, "Bad request"),
        ({"j": "0"}, 400, 3, "Bad request"),
        ({"EIO": "5"}, 400, 5, "Unsupported protocol version"),
        ({"device": "a&b"}, 400, 3, "Bad request"),
    ],
)
def test_invalid_requests_get_the_codes_and_messages_of_engine_io(world, params, status, code, message):
    response = get(world, **params)
    assert (response.status_code, response.json()) == (status, {"code": code, "message": message})


def test_a_session_begins_with_get(world):
    response = httpx.post(world.server.url + "/socket.io/?EIO=4&transport=polling", content="40", trust_env=False)
    assert (response.status_code, response.json()["code"]) == (400, 2)


def test_other_methods_and_foreign_origins_are_refused(world):
    url = world.server.url + "/socket.io/?EIO=4&transport=polling"
    assert httpx.put(url, content="", trust_env=False).status_code == 400
    assert httpx.get(url, headers={"Origin": "https://evil.example"}, trust_env=False).status_code == 403


def test_a_browser_of_an_allowed_origin_may_read_the_response(make_server, make_world):
    world = make_world(make_server("--allow-origin", "https://app.example"))
    response = httpx.get(
        world.server.url + "/socket.io/?EIO=4&transport=polling", headers={"Origin": "https://app.example"}, trust_env=False
    )
    assert response.headers["access-control-allow-origin"] == "https://app.example"


def test_two_polls_at_a_time_end_the_session(world):
    import threading

    text = "2"
    # The first ping of a session comes at a random moment, and may answer the first poll; then another session is tried.
    while text == "2":
        sid, first = joined(world), {}
        thread = threading.Thread(target=lambda sid=sid, first=first: first.update(response=get(world, sid=sid)))
        thread.start()
        eventually(lambda sid=sid: get(world, sid=sid).status_code == 400)
        thread.join(10)
        text = first["response"].text
    assert first["response"].status_code == 400
    assert get(world, sid=sid).json()["code"] == 1


def test_a_poll_waits_until_there_is_a_packet(world):
    import threading

    sid, heard = joined(world, 10), {}
    thread = threading.Thread(target=lambda: heard.update(response=get(world, sid=sid)))
    thread.start()
    App(world, 11).emit("message", {"to": 10, "body": "wake up"})
    thread.join(10)
    text = heard["response"].text
    while text == "2":
        # The first ping of a session comes at a random moment.
        post(world, sid, "3")
        text = get(world, sid=sid).text
    assert '42["message",{"from":11' in text


@pytest.mark.parametrize("body", ["", "x", "9", "40\x1e", "42[\x1ex", "bYWJj"])
def test_an_invalid_payload_ends_the_session(world, body):
    sid = joined(world)
    assert post(world, sid, body).json() == {"code": 3, "message": "Bad request"}
    assert get(world, sid=sid).json()["code"] == 1


def test_only_the_default_namespace_exists(world):
    raw = Raw(world)
    raw.hear()
    raw.say("40/admin,{}")
    assert raw.hear() == '44{"message":"Invalid namespace"}'
    raw.say("40")
    assert raw.hear().startswith("40{")


def test_an_upgrade_ends_the_waiting_poll_and_continues_on_the_websocket(world):
    import threading

    sid, heard = joined(world, 10), {}

    def poll():
        heard["response"] = get(world, sid=sid)
        # A ping may come before the packet `6`: the server sends one after the packets of the join.
        while heard["response"].text == "2":
            heard["response"] = get(world, sid=sid)

    thread = threading.Thread(target=poll)
    thread.start()
    raw = RawSocket(world.server.port, path=f"/socket.io/?EIO=4&transport=websocket&sid={sid}")
    raw.frame(TEXT, b"2probe")
    assert raw.read_until(TEXT) == b"3probe"
    thread.join(10)
    assert heard["response"].text == "6"
    App(world, 11).ask("message", {"to": 10, "body": "meanwhile"})
    raw.frame(TEXT, b"5")
    # The event that the sender is online comes before the text, and so may a ping.
    while b"meanwhile" not in (text := raw.read_until(TEXT)):
        if text == b"2":
            raw.frame(TEXT, b"3")
    assert get(world, sid=sid).json()["code"] == 3


def test_the_connection_of_a_slow_reader_is_closed(world):
    reader = Raw(world, user=10)
    reader.hear(), reader.say("40"), reader.hear()
    taro = world.connect("11", "a")
    for _ in range(190):
        taro.send(type="message", to="10", body="x" * 15_000)
    eventually(lambda: not taro.ask(type="presence", userId="10")["online"], seconds=5)

"""Socket.IO clients that die, flood or send nonsense: the limits of both transports, and the effects on calls."""

import json
import socket
import time

import httpx
import pytest
import samples
from postgres_server import ON_CLUSTER
from raw_socket import BINARY, TEXT, RawSocket
from sio_app import POLLING, WAYS, App
from test_chutalk import talk
from test_socketio import Raw, get, joined, post
from waiting import eventually

ASK = '["is-online",{"userId":10}]'


def entered(world, version=4) -> Raw:
    raw = Raw(world, version=version)
    raw.hear()
    if version == 4:
        raw.say("40")
    raw.hear()
    return raw


def reply(raw: Raw, number: int) -> str:
    """Reads until the ack with this number; returns all packets read, joined."""
    said = ""
    while not (heard := raw.hear()).startswith(f"43{number}["):
        said += heard
    return said + heard


# Clients that disappear without closing


def test_after_a_reconnect_the_end_of_another_call_does_not_look_like_the_live_calls_end(world):
    """The server once forgot the client's live call when its connection ended.

    When another device of the peer then cancelled a call, the server reported that as the end of the live call, and
    the app hung up.
    """
    taro, hanako = entered(world), world.connect("10", "iphone-h")
    taro.say(f'421["offer",{{"to":10,"sdp":{json.dumps(samples.OFFER)}}}]')
    hanako.expect(type="offer", callId="11-10")
    hanako.ask(type="answer", callId="11-10", sdp=samples.ANSWER)
    heard = ""
    while not ('"answer"' in heard and "431[" in heard):
        heard += taro.hear()
    # The client's pongs confirm that everything has arrived.
    for number in (2, 3, 4):
        taro.say(f'42{number}{ASK}')
        reply(taro, number)
        time.sleep(0.1)
    taro.socket.close()
    # Of several nodes, the new session's may be heard before the old one's. It names no device, so it would be another one.
    eventually(lambda: not hanako.ask(type="presence", userId="11")["online"])
    taro = entered(world)
    ipad = world.connect("10", "ipad-h")
    ipad.ring("11", "other", sdp=samples.VIDEO_OFFER)
    ipad.ask(type="end", callId="other")
    heard = ""
    while '"callId":"other"' not in heard or '"reason":"cancelled"' not in heard:
        heard = taro.hear()
    assert heard.startswith('42["call-replaced",'), "the live call with that user goes on"


@pytest.mark.parametrize("way", WAYS)
def test_a_client_that_is_killed_is_offline_at_once(world, way):
    curious, hanako = App(world, 12), App(world, 10, way)
    curious.ask("message", {"to": 10, "body": "hello"})
    curious.ask("is-online", {"userId": 10})
    curious.expect("user-online")
    hanako.kill()
    assert curious.expect("user-offline", seconds=3) == {"userId": 10}


def test_a_client_whose_waiting_poll_breaks_is_offline_at_once(world):
    """A client that dies between two polls has no connection that could break; its session ends after 45 s."""
    curious, sid = App(world, 12), joined(world, 10)
    assert post(world, sid, '42["message",{"to":12,"body":"hello"}]').text == "ok"
    curious.expect("message")
    curious.ask("is-online", {"userId": 10})
    curious.expect("user-online")
    # First fetch the event that the other user is online, so that the next poll waits.
    while "user-online" not in get(world, sid=sid).text:
        pass
    with socket.create_connection(("127.0.0.1", world.server.port)) as poll:
        poll.sendall(f"GET /socket.io/?EIO=4&transport=polling&sid={sid} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        curious.fence()
    assert curious.expect("user-offline", seconds=3) == {"userId": 10}


@pytest.mark.parametrize("way", WAYS | POLLING)
def test_a_call_continues_after_the_server_was_killed(world, way):
    taro, hanako = App(world, 11, way), App(world, 10, way)
    talk(taro, hanako)
    taro.fence(), hanako.fence()
    port = world.server.port
    world.server.kill()
    world.server.options += ["--listen", f"127.0.0.1:{port}"]
    world.server.start()
    for app in (taro, hanako):
        app.wait(lambda said: "registered" in said, seconds=20)
    taro.ice(10, samples.CANDIDATES[0])
    assert hanako.expect("ice")["candidate"] == samples.CANDIDATES[0]
    taro.hang_up(10)
    assert hanako.expect("call-ended")["reason"] == "hangup"
    assert len(hanako.events("offer")) == 1, "the answered call does not ring again"


def test_an_abandoned_upgrade_ends_and_polling_continues(world):
    sid = joined(world)
    path = f"/socket.io/?EIO=4&transport=websocket&sid={sid}"
    silent = RawSocket(world.server.port, path=path)
    second = RawSocket(world.server.port, path=path)
    # A node that is not the owner upgrades, and the owner closes the WebSocket.
    assert second.status == 400 or ON_CLUSTER and second.close_code() == 1000, "only one upgrade at a time"
    silent.socket.settimeout(20)
    assert silent.close_code() == 1000
    probed = RawSocket(world.server.port, path=path)
    probed.frame(TEXT, b"2probe")
    assert probed.read_until(TEXT) == b"3probe"
    probed.close()
    assert post(world, sid, f"420{ASK}").text == "ok"
    heard = ""
    while "430[" not in heard:
        heard += get(world, sid=sid).text
    assert '430[{"ok":true,"online":false}]' in heard


# Limits


def test_too_many_events_by_polling_are_refused_as_on_ws(world):
    sid = joined(world)
    for first in range(0, 400, 100):
        assert post(world, sid, "\x1e".join(f"42{first + number}{ASK}" for number in range(100))).text == "ok"
    heard = ""
    while heard.count("}]") < 400 or heard.count('"ok"') < 400:
        heard += get(world, sid=sid).text
    assert heard.count('"rate_limited"') > 100 and heard.count('"ok":true') >= 200


def test_the_session_of_a_client_that_polls_too_slowly_is_closed(world):
    sid, taro = joined(world, 10), world.connect("11", "a")
    for _ in range(190):
        taro.send(type="message", to="10", body="x" * 15_000)
    eventually(lambda: not taro.ask(type="presence", userId="10")["online"], seconds=5)
    assert get(world, sid=sid).json()["code"] == 1


def test_a_post_that_is_too_large_is_refused_and_the_session_continues(world):
    sid = joined(world)
    refused = post(world, sid, "4" + "x" * 70_000)
    assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
    assert post(world, sid, "\x1e".join(["3"] * 513)).json()["code"] == 3, "a payload may hold 512 packets"
    assert get(world, sid=sid).json()["code"] == 1
    sid = joined(world)
    assert post(world, sid, "\x1e".join(["3"] * 512)).text == "ok"


def test_the_seventeenth_session_of_a_user_is_closed_with_4429(world):
    raws = []
    # One session after the other joins, because at most 16 may wait for their CONNECT.
    for number in range(17):
        raws.append(Raw(world, query=f"&device=phone-{number}"))
        raws[-1].hear(), raws[-1].say("40"), raws[-1].hear()
    assert raws[16].hear() == "41" and raws[16].close_code() == 4429
    raws[0].say(f"427{ASK}")
    assert '"ok":true' in reply(raws[0], 7)


@pytest.mark.parametrize("version", [3, 4])
def test_binary_is_refused_in_both_versions(world, version):
    raw = entered(world, version)
    for packet in ('451-7["blob",{"_placeholder":true,"num":0}]', '461-7[{"_placeholder":true,"num":0}]'):
        raw.say(packet)
        assert json.loads(reply(raw, 7)[3:])[0]["code"] == "unsupported_media_type"
    raw.frame(BINARY, b"\x04abc")
    assert raw.close_code() == 1003
    raw = entered(world, version)
    raw.say("b4AAEC")
    assert raw.close_code() == 4400
    with httpx.Client(base_url=world.server.url, trust_env=False) as client:
        params = {"EIO": version, "transport": "polling", "token": world.token(None, uid=11)}
        text = client.get("/socket.io/", params=params).text
        params["sid"] = json.loads(text[text.index("{") : text.index("}") + 1])["sid"]
        refused = client.post("/socket.io/", params=params, content={3: "6:b4AAEC", 4: "bAAEC"}[version])
        assert (refused.status_code, refused.json()["code"]) == (400, 3)


# Nonsense


@pytest.mark.parametrize("version", [3, 4])
def test_malformed_packets_are_refused_and_the_session_continues(world, version):
    raw = entered(world, version)
    for number, (packet, code) in enumerate(
        [
            ('42["connect",{}]', "unknown_type"),
            ('42["disconnect"]', "unknown_type"),
            ("42[]", "invalid_json"),
            ("42{}", "invalid_field"),
            ('42[[["x"]]]', "invalid_json"),
            ('42["offer",NaN]', "invalid_json"),
            ('42["offer",[[[]]]]', "invalid_field"),
            ('42["offer",' + "[" * 9_000 + "]" * 9_000 + "]", "invalid_json"),
            ('42["offer",{"to":-1,"sdp":"v=0"}]', "invalid_field"),
            ('42["offer",{"to":10.5,"sdp":"v=0"}]', "invalid_field"),
            ('42["offer",{"to":10,"to":11,"sdp":"v=0"}]', "invalid_json"),
            ('42["register",{}]', "invalid_field"),
            ('42["ice",{"to":10,"candidate":"x"}]', "invalid_field"),
        ]
    ):
        raw.say(packet)
        # Ack numbers beyond 32 bits are returned unchanged.
        raw.say(f"42{7_777_777_777 + number}{ASK}")
        said = reply(raw, 7_777_777_777 + number)
        assert f'"code":"{code}"' in said, packet[:60]
    for packet in ("43[]", "430[]", "44", "6", "5", "3", "43/nsp,1[]", "41/nsp,", "40"):
        raw.say(packet)
    raw.say(f"421{ASK}")
    assert '"code"' not in reply(raw, 1)


@pytest.mark.parametrize("scheme", ["wss", "ws", "https"])
def test_an_origin_with_the_servers_own_host_is_accepted_with_any_scheme(world, scheme):
    port, token = world.server.port, world.token(None, uid=11)
    raw = RawSocket(
        port,
        path=f"/signal/socket.io/?transport=websocket&EIO=4&token={token}",
        headers=[
            f"Origin: {scheme}://127.0.0.1:{port}",
            "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits; server_max_window_bits=15",
        ],
    )
    assert raw.status == 101 and raw.read_until(TEXT).startswith(b'0{"sid"')


# Calls in a hurry


def test_calling_and_hanging_up_many_times_in_a_row_ends_in_the_last_call(world):
    taro, hanako = App(world, 11), App(world, 10)
    for number in range(1, 21):
        taro.emit("offer", {"to": 10, "sdp": samples.changed(samples.OFFER, str(number))})
        taro.emit("call-end", {"to": 10})
    taro.emit("offer", {"to": 10, "sdp": samples.FIREFOX_OFFER})
    assert hanako.expect("offer", sdp=samples.FIREFOX_OFFER)["epoch"] == 21
    hanako.emit("answer", {"to": 11, "sdp": samples.ANSWER})
    assert taro.expect("answer")["epoch"] == 21
    assert taro.events("call-ended") == [] and taro.events("signal-error") == []
    # The client library's threads may report the events in another order.
    assert sorted(ended["epoch"] for ended in hanako.events("call-ended")) == list(range(1, 21))


def test_a_block_during_a_call_hides_only_the_next_call(world):
    taro, hanako = App(world, 11), App(world, 10)
    talk(taro, hanako)
    assert hanako.rest.post("/api/blocks", {"blocked_user_id": 11}).status_code == 200
    taro.ice(10, samples.CANDIDATES[0])
    assert hanako.expect("ice")["candidate"] == samples.CANDIDATES[0]
    taro.hang_up(10)
    assert hanako.expect("call-ended")["reason"] == "hangup"
    assert taro.ask("offer", {"to": 10, "sdp": samples.FIREFOX_OFFER})["ok"], "the caller cannot notice the block"
    assert len(hanako.events("offer")) == 1


def test_a_session_whose_token_expires_gets_an_error_and_ends(world):
    # The server allows for clocks that differ by 60 s, so this token is valid for 9 s. The client, a process, has to start
    # in that time.
    token = world.token(None, uid=11, ttl=-51)
    app = App(world, 11, token=token, reconnection=False)
    began = time.monotonic()
    assert app.expect("signal-error")["code"] == "token_expired"
    app.wait(lambda said: "disconnected" in said)
    assert time.monotonic() - began < 13

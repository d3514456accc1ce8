"""The WebSocket: welcome, frames, pings and closes (protocol, section 3)."""

import json
import socket

import pytest
import raw_socket
from connection import Connection
from raw_socket import RawSocket
from websockets.exceptions import ConnectionClosed, InvalidStatus


def test_the_welcome_comes_first_and_names_user_device_and_limits(world):
    connection = world.connect("11", "iphone-a")
    welcome = connection.heard[0]
    assert welcome["type"] == "welcome"
    assert welcome["v"] == 1
    assert welcome["user"] == "11"
    assert welcome["device"] == "iphone-a"
    assert welcome["session"].startswith("s_")
    assert welcome["heartbeat"] == 25
    assert isinstance(welcome["iceServers"], list)
    assert welcome["limits"]["frame"] == 65536
    assert welcome["limits"]["signalsPerSecond"] == 50


def test_each_socket_that_names_no_device_gets_another_device_id(world):
    one, other = world.connect("11"), world.connect("11")
    assert one.device and other.device
    assert one.device != other.device


def test_the_device_claim_names_the_device(world):
    assert world.connect("11", claims={"device": "tablet"}).device == "tablet"


def test_two_connections_have_different_session_ids(world):
    assert world.connect("11", "a").welcome["session"] != world.connect("11", "b").welcome["session"]


def test_the_subprotocol_is_selected_when_it_is_offered(world):
    connection = world.connect("11", subprotocols=["ringline.v1"])
    assert connection.socket.subprotocol == "ringline.v1"


def test_a_binary_frame_closes_with_1003(world):
    connection = world.connect()
    connection.socket.send(b"{}")
    assert connection.close_code() == 1003


@pytest.mark.parametrize(
    "payload",
    [b'{"type":"\xff"}', b"\xc0\xaf", b'{"type":"\xed\xa0\x80"}', b'{"a":"\xf5\x80\x80\x80"}', b'{"a":"\xe3\x81'],
    ids=["not-utf8", "overlong", "surrogate", "above-the-last", "cut-short"],
)
def test_invalid_utf8_closes_with_1007(world, payload):
    raw = RawSocket(world.server.port, world.token())
    raw.read_until(raw_socket.TEXT)
    raw.frame(raw_socket.TEXT, payload)
    assert raw.close_code() == 1007


def test_utf8_cut_at_the_end_of_a_fragmented_message_closes_with_1007(world):
    raw = RawSocket(world.server.port, world.token())
    raw.read_until(raw_socket.TEXT)
    raw.frame(raw_socket.TEXT, b'{"type":"', fin=False)
    raw.frame(raw_socket.CONTINUATION, "山".encode()[:2])
    assert raw.close_code() == 1007


def test_a_character_split_over_fragments_is_one_character(world):
    raw = RawSocket(world.server.port, world.token())
    raw.read_until(raw_socket.TEXT)
    data = json.dumps({"type": "sync", "id": "山", "calls": {}}, ensure_ascii=False).encode()
    cut = data.index("山".encode()) + 1
    raw.frame(raw_socket.TEXT, data[:cut], fin=False)
    raw.frame(raw_socket.CONTINUATION, data[cut:])
    assert json.loads(raw.read_until(raw_socket.TEXT))["id"] == "山"


def test_a_frame_of_exactly_64_kib_is_read(world):
    connection = world.connect()
    frame = {"type": "sync", "id": "big", "calls": {}, "x": ""}
    frame["x"] = "x" * (65536 - len(json.dumps(frame)))
    text = json.dumps(frame)
    assert len(text) == 65536
    connection.send_raw(text)
    assert connection.reply_to("big")["type"] == "ack"


def test_a_frame_over_64_kib_closes_with_1009(world):
    connection = world.connect()
    connection.send_raw(json.dumps({"type": "sync", "id": "big", "x": "x" * 65536}))
    assert connection.close_code() == 1009


def test_a_fragmented_message_over_64_kib_closes_with_1009(world):
    connection = world.connect()
    try:
        connection.socket.send(["x" * 1000] * 70)
    except ConnectionClosed:
        pass  # The server closed before the last fragment was sent, which is correct, too.
    assert connection.close_code() == 1009


def test_a_frame_that_announces_2_to_the_62_bytes_is_refused_without_waiting_for_them(world):
    raw = RawSocket(world.server.port, world.token())
    raw.read_until(raw_socket.TEXT)
    # The payload is short, so that the server has read all of it when it closes: unread bytes would reset the connection.
    raw.frame(raw_socket.TEXT, b"x" * 100, length=1 << 62)
    assert raw.close_code() == 1009


def test_a_message_in_many_fragments_is_one_message(world):
    connection = world.connect()
    text = json.dumps({"type": "sync", "id": "parts", "calls": {}})
    connection.socket.send(list(text))
    assert connection.reply_to("parts")["type"] == "ack"


def test_a_ping_between_fragments_is_answered_and_does_not_disturb_them(world):
    raw = RawSocket(world.server.port, world.token())
    raw.read_until(raw_socket.TEXT)
    raw.frame(raw_socket.TEXT, b'{"type":"sync",', fin=False)
    raw.frame(raw_socket.PING, b"are you there")
    raw.frame(raw_socket.CONTINUATION, b'"calls":{},', fin=False)
    raw.frame(raw_socket.CONTINUATION, b'"id":"f"}')
    # The pong may follow the reply to a message that came in the same packet.
    frames = dict(raw.read() for _ in range(2))
    assert frames[raw_socket.PONG] == b"are you there"
    assert json.loads(frames[raw_socket.TEXT])["id"] == "f"


def test_a_message_byte_by_byte_on_the_wire_is_read(world):
    raw = RawSocket(world.server.port, world.token())
    raw.read_until(raw_socket.TEXT)
    sent = []
    real = raw.socket

    class Recorder:
        def sendall(self, data):
            sent.append(data)

    raw.socket = Recorder()
    raw.frame(raw_socket.TEXT, b'{"type":"sync","id":"slow","calls":{}}')
    raw.socket = real
    for byte in b"".join(sent):
        real.send(bytes([byte]))
    assert json.loads(raw.read_until(raw_socket.TEXT))["id"] == "slow"


def test_many_messages_in_one_segment_get_replies_in_order(world):
    raw = RawSocket(world.server.port, world.token())
    raw.read_until(raw_socket.TEXT)
    sent = []
    real = raw.socket
    raw.socket = type("Recorder", (), {"sendall": staticmethod(sent.append)})()
    for number in range(40):
        raw.frame(raw_socket.TEXT, json.dumps({"type": "sync", "id": f"n{number}", "calls": {}}).encode())
    raw.socket = real
    real.sendall(b"".join(sent))
    replies = [json.loads(raw.read_until(raw_socket.TEXT))["id"] for _ in range(40)]
    assert replies == [f"n{number}" for number in range(40)]


def test_a_close_is_answered(world):
    connection = world.connect()
    connection.socket.close(1000)
    assert connection.socket.close_code == 1000


def test_the_same_device_connecting_again_replaces_the_older_socket_with_4409(world):
    old = world.connect("11", "iphone-a")
    new = world.connect("11", "iphone-a")
    assert old.close_code() == 4409
    assert new.fence() == []


def test_the_same_device_id_of_another_user_is_another_device(world):
    one, other = world.connect("11", "iphone"), world.connect("10", "iphone")
    assert one.fence() == [] and other.fence() == []


@pytest.mark.parametrize("header, value", [("Sec-WebSocket-Version", "8")])
def test_another_websocket_version_gets_426(world, header, value):
    with socket.create_connection(("127.0.0.1", world.server.port), timeout=5) as plain:
        plain.sendall(
            f"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{header}: {value}\r\n"
            f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer {world.token()}\r\n\r\n".encode()
        )
        assert plain.recv(4096).startswith(b"HTTP/1.1 426")


def test_an_upgrade_elsewhere_than_ws_is_not_found(world):
    with pytest.raises(InvalidStatus) as refusal:
        Connection(world.server.url.replace("http", "ws") + "/elsewhere", world.token())
    assert refusal.value.response.status_code == 404

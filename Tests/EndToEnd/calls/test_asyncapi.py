"""The AsyncAPI document (in CallWire.docc) describes exactly the frames that are sent on a WebSocket.

Its examples are replayed: each client frame is sent in a situation where it is valid, and every frame that the server
sends meanwhile must conform to the document.
"""

import copy
import json
import re

import json_schema
import pytest
import samples
from connection import Connection
from raw_socket import BINARY, TEXT, RawSocket
from ringline_server import ROOT
from scheduled import Minute, make, rung
from test_openapi import codes_in_sources, load

PATH = ROOT / "Sources/Core/CallWire/CallWire.docc/asyncapi.yaml"
SIGNALS = {"offer", "ringing", "answer", "ice", "connected", "update", "dtmf", "info", "end"}
DOCUMENT = load(PATH)
MESSAGES = DOCUMENT["components"]["messages"]


def named(side: str, kind: str) -> str:
    return side + kind[:1].upper() + kind[1:]


def errors(side: str, frame: dict) -> list[str]:
    """Returns the violations of the document in a frame."""
    message = named(side, str(frame.get("type")))
    if message not in MESSAGES:
        return [f"no such frame: {frame.get('type')}"]
    # In draft 7 a `$ref` hides its siblings. So the payload goes into `allOf`, and the components beside it.
    schema = {"allOf": [MESSAGES[message]["payload"]], "components": DOCUMENT["components"]}
    return [f"{message}: {error}" for error in json_schema.errors(schema, frame, 7)]


def examples(side: str):
    for key, message in MESSAGES.items():
        if key.startswith(side):
            for example in message["examples"]:
                yield pytest.param(key, example["name"], example["payload"], id=f"{key}-{example['name']}")


# The document alone: the rules of AsyncAPI 3.0 for the objects that this document uses

OBJECTS = {
    "root": ({"asyncapi", "info", "channels", "operations"}, {"id", "servers", "components", "defaultContentType"}),
    "info": ({"title", "version"}, {"description", "termsOfService", "contact", "license", "tags", "externalDocs"}),
    "server": (
        {"host", "protocol"},
        {"protocolVersion", "pathname", "description", "title", "summary", "variables", "security", "bindings"},
    ),
    "channel": (
        set(),
        {"address", "messages", "title", "summary", "description", "servers", "parameters", "tags", "bindings"},
    ),
    "operation": (
        {"action", "channel"},
        {"title", "summary", "description", "security", "tags", "bindings", "traits", "messages", "reply"},
    ),
    "reply": (set(), {"address", "channel", "messages"}),
    "message": (
        set(),
        {"headers", "payload", "correlationId", "contentType", "name", "title", "summary", "description", "examples"},
    ),
    "example": ({"payload"}, {"name", "summary", "headers"}),
    "components": (set(), {"schemas", "messages", "securitySchemes", "servers", "channels", "operations"}),
}


def is_object(kind: str, value: dict, where: str):
    required, optional = OBJECTS[kind]
    names = {name for name in value if not name.startswith("x-")}
    assert required <= names <= required | optional, f"{where}: {sorted(names ^ (names & (required | optional)))}"


def references(value):
    if isinstance(value, dict):
        for name, part in value.items():
            if name == "$ref":
                assert len(value) == 1, f"a reference must have no siblings: {value}"
                yield part
            else:
                yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def test_the_document_is_asyncapi():
    assert DOCUMENT["asyncapi"] == "3.0.0"
    is_object("root", DOCUMENT, "root")
    is_object("info", DOCUMENT["info"], "info")
    is_object("components", DOCUMENT["components"], "components")
    for name, server in DOCUMENT["servers"].items():
        is_object("server", server, name)
    for name, channel in DOCUMENT["channels"].items():
        is_object("channel", channel, name)
    for name, operation in DOCUMENT["operations"].items():
        is_object("operation", operation, name)
        assert operation["action"] in ("send", "receive")
        if "reply" in operation:
            is_object("reply", operation["reply"], name)
        for part in (operation, operation.get("reply", {"messages": []})):
            for reference in part["messages"]:
                assert reference["$ref"].startswith("#/channels/socket/messages/"), "the reference leads elsewhere"
    for name, message in MESSAGES.items():
        is_object("message", message, name)
        for example in message["examples"]:
            is_object("example", example, name)
    for schema in DOCUMENT["components"]["schemas"].values():
        json_schema.check_schema(schema, 7)
    for reference in references(DOCUMENT):
        found = DOCUMENT
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]


def test_every_frame_is_taken_or_sent_by_one_operation_and_every_schema_is_used():
    used = [
        (operation["action"], reference["$ref"].rsplit("/", 1)[1])
        for operation in DOCUMENT["operations"].values()
        for reference in operation["messages"]
    ]
    used += [("send", reference) for reference in ("serverAck", "serverError")]
    assert sorted(name for _, name in used) == sorted(MESSAGES) == sorted(DOCUMENT["channels"]["socket"]["messages"])
    for action, name in used:
        assert name.startswith("client" if action == "receive" else "server")
    pointed = set(references(DOCUMENT))
    for name in DOCUMENT["components"]["schemas"]:
        assert f"#/components/schemas/{name}" in pointed, name


@pytest.mark.parametrize("key, name, payload", [*examples("client"), *examples("server")])
def test_every_example_conforms_to_its_schema(key, name, payload):
    assert errors(key[:6], payload) == []


def test_the_schemas_reject_wrong_frames():
    """Leaves out each required member in turn, because a schema that accepts everything would check nothing."""
    for side in ("client", "server"):
        for parameter in examples(side):
            key, name, payload = parameter.values
            assert errors(side, {**payload, "type": "nothing"})
            required = {
                word
                for part in [MESSAGES[key]["payload"]]
                for schema in [DOCUMENT["components"]["schemas"][part["$ref"].rsplit("/", 1)[1]]]
                for each in schema.get("allOf", [schema])
                for word in each.get("required", [])
            }
            for word in required:
                assert errors(side, {other: payload[other] for other in payload if other != word}), (key, word)


# Against the sources


def test_the_document_has_every_frame_of_the_sources_and_no_other():
    wire = ROOT / "Sources/Core/CallWire"
    message = (wire / "Messages/ClientMessage.swift").read_text()
    cases = re.search(r"enum MessageType\b.*?\n((?:    case [\w, ]+\n)+)", message, re.DOTALL)[1]
    kinds = {name for line in cases.splitlines() for name in line.removeprefix("    case ").split(", ")}
    signal = (ROOT / "Sources/Core/CallCore/Signals/Signal.swift").read_text()
    kinds_of_signals = set(re.findall(r"^    case (\w+)$", signal[signal.index("enum SignalKind") :], re.MULTILINE))
    assert kinds_of_signals == SIGNALS
    frames = (wire / "Encoding/ServerFrame.swift").read_text()
    own = set(re.findall(r'json\.type\("(\w+)"\)|"type":"(\w+)"', frames))
    own = {name for names in own for name in names if name}
    for side, known in (("client", kinds), ("server", own | SIGNALS)):
        assert {message["name"] for key, message in MESSAGES.items() if key.startswith(side)} == known


def test_the_document_has_every_code_that_an_error_can_carry():
    http = {"method_not_allowed", "unsupported_media_type", "upgrade_required", "cursor_gone"}
    http |= {"bad_request", "bad_handshake", "request_timeout", "length_required", "headers_too_large", "http_version", "websocket_version"}
    assert set(DOCUMENT["components"]["schemas"]["code"]["enum"]) == set(codes_in_sources()) - http


def test_the_document_has_every_close_code_of_the_sources():
    text = "\n".join(
        path.read_text()
        for folder in ("Gateway", "Switchboard", "LibWebSockets")
        for path in sorted(ROOT.glob(f"Sources/*/{folder}/**/*.swift"))
    )
    sent = set(re.findall(r"\b(?:code: |fail\(wsi, slot, |close\(\w+(?:\.\w+)?, code: )(1\d{3}|4[0-9]{3})\b", text))
    described = set(DOCUMENT["channels"]["socket"]["x-close-codes"])
    assert len(sent) >= 8 and sent <= described, sent - described
    # Clients send 1000; the server sends 4403 only to Socket.IO clients.
    assert described - sent <= {"1000", "4403"}


# Against the running server


class Stage:
    """The users Taro (11) and Hanako (10) with one device each, on a separate server."""

    def __init__(self, world, minute: Minute):
        self.world = world
        self.minute = minute
        # The callId of the scheduled call, which the server chooses.
        self.scheduled: str | None = None
        self.connections: list[Connection] = []
        self.taro = self.connect("11", "iphone-a", name="Taro", rooms=["room:lobby"])
        self.hanako = self.connect("10", "iphone-h", name="Hanako", rooms=["room:lobby"])

    def connect(self, user: str, device: str, **claims) -> Connection:
        self.connections.append(self.world.connect(user, device, claims=claims))
        return self.connections[-1]

    def ring(self):
        self.taro.ring(self.hanako, "c-1", id="0")
        self.hanako.expect(type="offer")

    def talk(self):
        self.ring()
        self.hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER, id="0")
        self.taro.expect(type="call", state="answered")


def alone(stage: Stage) -> Connection:
    return stage.taro


def called(stage: Stage) -> Connection:
    stage.ring()
    return stage.hanako


def calling(stage: Stage) -> Connection:
    stage.ring()
    return stage.taro


def talking(stage: Stage) -> Connection:
    stage.talk()
    return stage.taro


def woken(stage: Stage) -> Connection:
    own = {"ring": 60, "handle": "+82212345678", "handleType": "phoneNumber", "data": {"voice": "a"}}
    make(stage.world, stage.minute.once(**own), "10", "morning")
    stage.scheduled = rung(stage.hanako, "morning")["callId"]
    return stage.hanako


def present(stage: Stage) -> Connection:
    for connection in (stage.hanako, stage.taro):
        connection.ask(type="join", room="p2p:11-10")
    return stage.taro


def together(stage: Stage) -> Connection:
    """Lets Hanako join both rooms; returns Taro's client."""
    stage.hanako.ask(type="join", room="p2p:11-10")
    stage.hanako.ask(type="join", room="room:lobby")
    return stage.taro


def watching(stage: Stage) -> Connection:
    stage.ring()
    return stage.connect("support", "console", scope="server")


# For each example of a client frame, the function that prepares a valid situation and returns the sender.
PLACES = {
    "clientOffer": {
        "begin": alone,
        "byRoom": alone,
        "withoutCallId": alone,
        "anew": talking,
        "renegotiate": talking,
    },
    "clientRinging": {"ringing": called, "silenced": called},
    "clientAnswer": {"answer": called, "scheduled": woken},
    "clientIce": {"candidate": calling, "end": calling},
    "clientConnected": {"connected": talking},
    "clientUpdate": {"hold": talking},
    "clientDtmf": {"digits": talking},
    "clientInfo": {"reaction": talking, "confirm": woken},
    "clientEnd": {"hangup": talking, "declined": called, "busy": called, "failed": talking},
    "clientJoin": {"pair": together, "group": together},
    "clientLeave": {"pair": present},
    "clientAuth": {"renew": alone},
    "clientSync": {"seq": called, "epoch": talking, "fence": alone},
    "clientMessage": {"text": alone},
    "clientPresence": {"watch": talking},
    "clientWatch": {"call": watching, "user": watching, "all": watching},
}


def replay(stage: Stage, key: str, name: str, payload: dict):
    """Sends one example in its situation; the server must accept it and relay it unchanged."""
    sender = PLACES[key][name](stage)
    other = stage.hanako if sender is stage.taro else stage.taro
    for connection in stage.connections:
        connection.fence()
        connection.inbox.clear()
    frame = copy.deepcopy(payload)
    if key == "clientAuth":
        frame["token"] = stage.world.token("11")
    if stage.scheduled:
        frame["callId"] = stage.scheduled
    sender.send_raw(json.dumps(frame))
    if "id" in frame:
        reply = sender.reply_to(frame["id"])
        assert reply["type"] == "ack", reply
    sender.fence()
    assert not [each for each in sender.inbox if each["type"] == "error"], sender.inbox
    if frame.get("shown") is False:
        assert not [each for each in other.inbox if each["type"] == "ringing"], "nobody is told"
    elif stage.scheduled:
        assert other.fence() == [], "nobody is at the other end"
    elif frame["type"] in SIGNALS | {"message"}:
        relayed = other.expect(type=frame["type"])
        # The server leaves out or replaces these members. The relayed `message` has no `id`.
        left = {"room", "begin", "reason"} | ({"id"} if frame["type"] == "message" else set())
        own = {name: frame[name] for name in frame if name not in left}
        assert relayed == relayed | own
    other.fence()
    if key == "clientSync" and name != "fence":
        assert [each for each in sender.heard if each.get("callId") == "c-1"]
    if key in ("clientJoin", "clientLeave"):
        assert other.expect(type="peer")["present"] == (key == "clientJoin")
    if key == "clientWatch":
        if name == "call":
            assert sender.expect(type="timeline", callId="c-1")["event"] == "offer", "the call is replayed"
        stage.hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
        assert sender.expect(type="timeline", event="signal.answer")["device"] == "iphone-h"
    if key == "clientPresence":
        assert sender.expect(type="presence")["online"]


def more(stage: Stage):
    """Causes the server frames that the examples do not cause: refusals, a second device, glare, and a waiting call."""
    tablet = stage.connect("10", "ipad-h")
    stage.ring()
    stage.taro.refused(type="dtmf", callId="c-1", digits="x", id="6")
    stage.taro.send_raw("{")
    stage.taro.expect(type="error", code="invalid_json")
    stage.taro.refused(type="auth", token="x", id="11")
    stage.taro.refused(type="nothing", id="n")
    stage.hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    tablet.expect(type="call", state="ended", reason="answered_elsewhere")
    tablet.refused(type="answer", callId="c-1", sdp=samples.VIDEO_ANSWER)
    stage.hanako.ask(type="ringing", callId="c-1")
    stage.taro.ask(type="connected", callId="c-1")
    stage.hanako.expect(type="call", state="active")
    third = stage.connect("12", "pixel-j", name="Jiro")
    third.ring("10", "c-2")
    stage.hanako.expect(type="offer", waiting=True)
    third.ask(type="end", callId="c-2")
    stage.taro.ask(type="end", callId="c-1")
    stage.taro.refused(type="ice", callId="c-1", candidate=None, id="3")
    # Glare: two users call each other, and the second callId is the smaller one, so the first call ends.
    stage.hanako.ring("11", "c-4")
    assert stage.taro.ring("10", "c-3")["seq"]
    stage.hanako.expect(type="call", callId="c-4", reason="glare", replacedBy="c-3")
    stage.hanako.ring("11", "c-5")
    stage.taro.ask(type="presence", userId="10")
    for connection in stage.connections:
        connection.fence()
    stage.world.server.terminate()
    for connection in stage.connections:
        assert connection.close_code() == 1001


@pytest.mark.timeout(180)
def test_the_server_accepts_every_example_and_sends_only_documented_frames(
    make_server, make_world, clock_library, tmp_path
):
    heard: list[dict] = []
    places = {key: set(names) for key, names in PLACES.items()}
    written: dict[str, set] = {}
    for parameter in examples("client"):
        key, name, _ = parameter.values
        written.setdefault(key, set()).add(name)
    assert places == written, "PLACES must have an entry for each example"

    def perform(what):
        minute = Minute(clock_library, tmp_path / "clock")
        server = make_server("--stun-url", "stun:stun.example.com:3478", environment=minute.environment)
        world = make_world(server)
        stage = Stage(world, minute)
        what(stage)
        for connection in stage.connections:
            heard.extend(connection.heard)
        world.close()
        server.kill()

    for parameter in examples("client"):
        perform(lambda stage, parameter=parameter: replay(stage, *parameter.values))
    perform(more)

    assert [wrong for frame in heard for wrong in errors("server", frame)] == []
    assert {named("server", frame["type"]) for frame in heard} == {key for key in MESSAGES if key.startswith("server")}
    # The examples of server frames come from such runs: for each, the run must contain a frame with the same members.
    seen = {members(frame) for frame in heard}
    missing = [parameter.id for parameter in examples("server") if members(parameter.values[2]) not in seen]
    assert missing == []


def members(frame: dict) -> tuple:
    """Returns the shape of a frame: its type, state and reason, and the names of its members."""
    return (frame["type"], frame.get("state"), frame.get("reason"), *sorted(frame))


def test_close_codes_are_sent_for_the_documented_reasons(make_server, make_world):
    world = make_world(make_server())
    closes = DOCUMENT["channels"]["socket"]["x-close-codes"]

    def raw(opcode, payload):
        socket = RawSocket(world.server.port, world.token("11"))
        socket.frame(opcode, payload)
        return str(socket.close_code())

    assert raw(BINARY, b"{}") == "1003" and "binary" in closes["1003"].lower()
    assert raw(TEXT, b'{"type":"\xff"}') == "1007" and "UTF-8" in closes["1007"]
    assert raw(TEXT, b'"' + b"x" * 70_000 + b'"') == "1009" and "64 KiB" in closes["1009"]
    connection = world.connect("11", "d-1")
    world.connect("11", "d-1")
    assert connection.close_code() == 4409 and "same device" in closes["4409"]
    connection = world.connect("12")
    for _ in range(10):
        connection.send_raw("{")
    assert connection.close_code() == 4400 and "Ten" in closes["4400"]
    connection = Connection(world.server.ws_url, welcome=False, subprotocols=["ringline.v1", "bearer.x"])
    assert connection.close_code() == 4401 and "token" in closes["4401"]
    crowd = [world.connect("13", f"d-{number}") for number in range(16)]
    late = Connection(world.server.ws_url, world.token("13"), device="d-16", welcome=False)
    assert late.close_code() == 4429 and "17th" in closes["4429"]
    world.server.terminate()
    assert crowd[0].close_code() == 1001 and "shuts down" in closes["1001"]

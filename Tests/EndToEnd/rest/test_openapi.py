"""The OpenAPI documents (in CallWire.docc) describe exactly what the server does."""

import json
import os
import re
import subprocess
import sys

import json_schema
import pytest
import samples
import yaml
from ringline_server import ROOT
from scheduled import Minute, make, rung

FOLDER = ROOT / "Sources/Core/CallWire/CallWire.docc"
DOCUMENTS = ["openapi.yaml", "openapi-admin.yaml"]
METHODS = {"get", "put", "post", "delete", "patch", "head", "options", "trace"}


class Strict(yaml.SafeLoader):
    """A YAML loader that refuses duplicate keys; PyYAML's own loader silently takes the last one."""

    def construct_mapping(self, node, deep=False):
        names = [self.construct_object(name, deep=True) for name, _ in node.value]
        assert len(names) == len(set(names)), f"duplicate key, {node.start_mark}: {names}"
        return super().construct_mapping(node, deep)


def load(path) -> dict:
    return yaml.load(path.read_text(), Strict)


def document(name: str = "openapi.yaml") -> dict:
    return load(FOLDER / name)


def operations(api: dict):
    for path, item in api["paths"].items():
        for method in METHODS & set(item):
            yield method.upper(), path, item[method]


def resolved(api: dict, node: dict) -> dict:
    while "$ref" in node:
        found = api
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        node = found
    return node


def check(api: dict, schema: dict, value, what: str):
    whole = schema | {"components": api["components"]}
    errors = json_schema.errors(whole, value, 202012)
    assert not errors, f"{what}: {errors}"


def check_timeline(timeline: dict):
    """Fails if a response with a timeline does not conform to the document."""
    api = document()
    check(api, api["components"]["schemas"]["Timeline"], timeline, "timeline")


def responses(api: dict):
    """Yields every described response: (method, path, status, response)."""
    for method, path, operation in operations(api):
        for status, response in operation["responses"].items():
            yield method, path, status, resolved(api, response)


# The documents alone


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_document_is_openapi(name):
    json_schema.check_openapi(document(name))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_example_conforms_to_its_schema(name):
    api = document(name)
    count = 0
    for method, path, operation in operations(api):
        parts = [(status, response) for m, p, status, response in responses(api) if (m, p) == (method, path)]
        if "requestBody" in operation:
            parts.append(("body", operation["requestBody"]))
        for what, part in parts:
            for media in part.get("content", {}).values():
                examples = [example["value"] for example in media.get("examples", {}).values()]
                examples += [media["example"]] if "example" in media else []
                assert examples, f"{method} {path} {what}: no example"
                for example in examples:
                    check(api, media["schema"], example, f"{method} {path} {what}")
                    count += 1
    assert count > 3


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_component_of_the_document_is_used(name):
    api = document(name)
    text = json.dumps(api)
    # Any path may give these responses before its request is read. OpenAPI has no place for them, so the document
    # describes them in prose.
    anywhere = {"MethodNotAllowed", "VersionNotSupported", "Problem408", "Problem431", "Problem500"}
    for kind in ("schemas", "responses", "parameters", "headers"):
        for part in api["components"].get(kind, {}):
            assert f'"#/components/{kind}/{part}"' in text or part in anywhere, f"{kind}/{part}"


# Against the sources


def test_every_list_of_end_reasons_is_complete():
    text = (ROOT / "Sources/Core/CallCore/EndReason.swift").read_text().split("extension EndReason")[0]
    reasons = [raw or name for name, raw in re.findall(r'case (\w+)(?: = "(\w+)")?$', text, re.MULTILINE)]
    assert "given_up" in reasons and "busy" in reasons
    for name in [*DOCUMENTS, "asyncapi.yaml"]:
        lists = re.findall(r"enum: \[(.*answered_elsewhere.*)\]", (FOLDER / name).read_text())
        assert lists and all(each.split(", ") == reasons for each in lists), name


def routes_in_sources() -> set[tuple[str, str]]:
    """Returns the methods and paths in the sources, with `{}` for each variable part of a path."""
    found = schedule_routes()
    for path in (ROOT / "Sources/Server/Gateway/Operations").glob("Operation+*.swift"):
        for method, template in re.findall(r'Operation\(\s*"([A-Z]+)",\s*"([^"]+)"', path.read_text()):
            found.add((method, re.sub(r"\{\w+\}", "{}", template)))
    assert len(found) >= 34, found
    return found | {("GET", "/ws")}


def schedule_routes() -> set[tuple[str, str]]:
    """Returns the methods and paths in Operation+Schedules.swift, which are there for oneself and for a service."""
    text = (ROOT / "Sources/Server/Gateway/Operations/Operation+Schedules.swift").read_text()
    operations = re.findall(r'asking\("([A-Z]+)", (path|one)(?: \+ "(\w+)")?,', text)
    assert len(operations) == 8, operations
    return {
        (method, start + "/schedules" + ("/{}" if place == "one" else "") + (f"/{word}" if word else ""))
        for method, place, word in operations
        for start in ("/api", "/api/users/{}")
    }


def test_the_document_has_every_route_of_the_server_and_no_other():
    described = {(method, re.sub(r"\{\w+\}", "{}", path)) for method, path, _ in operations(document())}
    assert described == routes_in_sources()


def test_the_admin_document_has_every_page_of_the_admin_listener():
    text = (ROOT / "Sources/Server/Gateway/Gateway+Admin.swift").read_text()
    described = {path for _, path, _ in operations(document("openapi-admin.yaml"))}
    requests = re.findall(r'= "(/api/\w+)"', (ROOT / "Sources/Server/Gateway/OperatorPage.swift").read_text())
    assert len(requests) == 4 and described == set(re.findall(r'case "(/\w+)"', text)) | set(requests)


def codes_in_sources() -> dict[str, int]:
    """Returns every error code with its status: those of the protocol, and those of the HTTP layer."""
    text = (ROOT / "Sources/Core/CallWire/WireCode.swift").read_text()
    listed = text[: text.index("public var status")]
    raw = {case: value or case for case, value in re.findall(r'^ +case (\w+)(?: = "(\w+)")?$', listed, re.MULTILINE)}
    table = text[text.index("public var status") : text.index("public var retryAfterSeconds")]
    codes = {}
    for cases, status in re.findall(r"case ([^:]+): (\d+)", table):
        for case in re.findall(r"\.(\w+)", cases):
            codes[raw[case]] = int(status)
    assert set(codes) == set(raw.values())
    for path in sorted((ROOT / "Sources/Server/LibWebSockets").glob("*.swift")):
        for status, code in re.findall(r'\.problem\(\s*(\d+),\s*code: "(\w+)"', path.read_text()):
            assert codes.setdefault(code, int(status)) == int(status), code
    return codes


def test_the_document_has_every_event_of_a_timeline_and_no_other():
    source = (ROOT / "Sources/Core/CallPorts/TimelineEvent.swift").read_text()
    names = source[source.index("package var name: String {") : source.index("package enum Detail")]
    repeatable = source[source.index("enum Repeatable") : source.index("package enum Audience")]
    written = set(re.findall(r'case \.\w+: "([a-z_.]+)"', names)) | {"offer"}
    written |= {value or case for case, value in re.findall(r'case (\w+)(?: = "([a-z_.]+)")?\n', repeatable)}
    assert {"logged_out", "repeated", "push.sent", "ended", "probe", "probe.failed"} <= written, (
        "the pattern finds the events in the sources"
    )
    event = document()["components"]["schemas"]["Timeline"]["properties"]["events"]["items"]["properties"]["event"]
    described = {name for name in event["enum"] if not name.startswith("signal.")}
    assert written == described


def test_the_document_has_every_code_of_the_server_with_its_status_and_no_other():
    api = document()
    schemas = api["components"]["schemas"]
    assert sorted(schemas["Code"]["enum"]) == sorted(codes_in_sources())
    described = {}
    for name, schema in schemas.items():
        if re.fullmatch(r"Problem\d+", name):
            narrowed = schema["allOf"][1]["properties"]
            assert narrowed["status"]["const"] == int(name.removeprefix("Problem"))
            for code in narrowed["code"].get("enum", [narrowed["code"].get("const")]):
                described[code] = narrowed["status"]["const"]
    assert described == codes_in_sources()


# Against the running server


def turn_options(folder) -> list[str]:
    secret = folder / "turn-secret"
    secret.write_text("north\n")
    return ["--turn-secret-file", secret, "--turn-url", "turn:turn.example.com:3478?transport=udp"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_schemathesis_finds_no_failure_over_the_whole_document(make_server, tmp_path, name):
    is_admin = "admin" in name
    server = make_server(*turn_options(tmp_path), *(["--operator-pages", ROOT / ".build/javascript"] if is_admin else []))
    here = os.path.dirname(samples.__file__)
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")} | {
        "ST_URL": server.url,
        "ST_SECRET_FILE": str(server.data / "development-jwt-secret"),
        "ST_SCOPE": "server" if is_admin else "",
        "SCHEMATHESIS_HOOKS": "schemathesis_hooks",
        "PYTHONPATH": here,
        "NO_COLOR": "1",
    }
    url = server.admin_url if is_admin else server.url
    command = [os.path.join(os.path.dirname(sys.executable), "st"), "--config-file", f"{here}/schemathesis.toml", "run"]
    run = subprocess.run(
        [*command, str(FOLDER / name), "--url", url],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert run.returncode == 0, run.stdout[-20000:] + run.stderr[-2000:]
    count = len(list(operations(document(name))))
    assert f"Selected: {count}/{count}" in run.stdout and f"Tested: {count}" in run.stdout, run.stdout[-3000:]
    cases = int(re.search(r"(\d+) generated, \1 passed", run.stdout).group(1))
    assert cases > (5 if is_admin else 100) * count, "too few cases to prove anything"


def test_the_examples_have_the_members_that_the_server_sends(make_server, make_world, clock_library, tmp_path):
    """Compares the members of each response with its example.

    The examples were copied from an earlier run. Since then the server may have gained or lost members.
    """
    options = [*turn_options(tmp_path), "--stun-url", "stun:stun.example.com:3478"]
    options += ["--vapid-subject", "mailto:ops@example.com", "--vapid-key-file", str(tmp_path / "vapid-key.pem")]
    options += ["--events-feed", "true"]
    minute = Minute(clock_library, tmp_path / "clock")
    world = make_world(make_server(*options, environment=minute.environment))
    for base in ("/api/schedules", "/api/users/10/schedules"):
        make(world, minute.once(), schedule=f"z-{len(base)}")
    api = document()
    taro, hanako = world.rest("11", name="Taro"), world.rest("10", device="iphone-h")
    seen = set()

    def story(rest, method: str, path: str, described: str, example=None, **options):
        response = rest.request(method, path, **options)
        assert response.status_code == 200, response.text
        shape = resolved(api, api["paths"][described][method.lower()]["responses"]["200"])
        media = shape["content"]["application/json"]
        check(api, media["schema"], response.json(), f"{method} {path}")
        shown = media["examples"][example]["value"] if example else media["example"]
        assert members(response.json()) == members(shown), f"{method} {path}"
        seen.add((method, described))

    def members(value):
        """Returns the names of all members, also of inner objects, and for a list those of its first element."""
        if isinstance(value, list):
            return [members(value[0])] if value else []
        return {name: members(inner) for name, inner in value.items()} if isinstance(value, dict) else None

    signal, one = "/api/calls/signal", "/api/calls/signal/{callId}"
    body = api["paths"][signal]["post"]["requestBody"]["content"]["application/json"]["examples"]
    devices = api["paths"]["/api/me/devices"]["put"]["requestBody"]["content"]["application/json"]["examples"]
    story(hanako, "PUT", "/api/me/devices", "/api/me/devices", json=devices["iphone"]["value"])
    unnamed = world.rest("10")
    story(unnamed, "POST", "/api/me/devices", "/api/me/devices", json=devices["android"]["value"])
    story(taro, "POST", signal, signal, "begun", json=body["offer"]["value"])
    story(taro, "POST", signal, signal, "begun", json=body["ice"]["value"])
    story(hanako, "GET", f"{signal}?callId=c-1", signal, "object")
    story(hanako, "GET", f"{signal}/c-1?since=2&format=array", one, "array")
    for kind, rest in (("ringing", hanako), ("answer", hanako), ("connected", taro), ("update", taro)):
        story(rest, "POST", f"{signal}/c-1", one, "begun", json=body[kind]["value"])
    story(taro, "POST", "/api/calls", "/api/calls", json={"callee_id": "10"})
    story(hanako, "GET", "/api/calls/c-1", "/api/calls/{callId}")
    story(taro, "DELETE", f"{signal}/c-1", one)
    story(taro, "GET", "/api/calls", "/api/calls")
    story(hanako, "GET", "/api/calls/c-1/timeline", "/api/calls/{callId}/timeline")
    story(hanako, "GET", "/api/me/devices", "/api/me/devices")
    story(hanako, "DELETE", "/api/me/devices/iphone-h", "/api/me/devices/{deviceId}")
    story(taro, "GET", "/api/turn-cred", "/api/turn-cred")
    story(taro, "GET", "/api/web-push", "/api/web-push")
    service = world.rest("backend", scope="server")
    story(service, "GET", "/v1/events", "/v1/events")
    story(service, "GET", "/v1/calls", "/v1/calls")
    story(service, "GET", "/v1/calls/c-1", "/v1/calls/{callId}")
    story(service, "GET", "/v1/calls/c-1/timeline", "/v1/calls/{callId}/timeline")
    story(taro, "POST", "/api/blocks", "/api/blocks", json={"blocked_user_id": 12})
    story(taro, "GET", "/api/blocks", "/api/blocks")
    story(taro, "DELETE", "/api/blocks/12", "/api/blocks/{userId}")
    lines = {"content": "+15551234567\tPizza\n", "headers": {"Content-Type": "text/plain"}}
    backend = world.rest("backend", scope="server")
    story(backend, "PUT", "/api/directory", "/api/directory", **lines)
    story(backend, "PUT", "/api/users/11/directory", "/api/users/{userId}/directory", **lines)
    assert taro.get("/api/me/directory").text == "i2\tcomplete\tend\t1\n+15551234567\tPizza\n"
    seen.add(("GET", "/api/me/directory"))
    story(taro, "PUT", "/api/me/dnd", "/api/me/dnd", json={"until": 1795288407661})
    for rest, base, described in (
        (hanako, "/api/schedules", "/api/schedules"),
        (world.rest("backend", scope="server"), "/api/users/10/schedules", "/api/users/{userId}/schedules"),
    ):
        bodies = {
            method: {name: example["value"] for name, example in media["application/json"]["examples"].items()}
            for path in (described, described + "/{scheduleId}")
            for method, operation in api["paths"][path].items()
            if method != "parameters" and (media := operation.get("requestBody", {}).get("content"))
        }
        story(rest, "POST", base, described, json=bodies["post"]["weekdays"])
        story(rest, "PUT", f"{base}/morning", described + "/{scheduleId}", json=bodies["put"]["weekdays"])
        story(rest, "PATCH", f"{base}/morning", described + "/{scheduleId}", json=bodies["patch"]["voice"])
        story(rest, "GET", base, described)
        story(rest, "GET", f"{base}/morning", described + "/{scheduleId}")
        story(rest, "POST", f"{base}/morning/ring", described + "/{scheduleId}/ring")
        story(rest, "DELETE", f"{base}/morning", described + "/{scheduleId}")
        rung(world.connect("10", "ipad-h"), name := f"z-{len(base)}")
        story(rest, "POST", f"{base}/{name}/confirm", described + "/{scheduleId}/confirm")
    story(taro, "POST", "/api/logout-all", "/api/logout-all", json={})
    assert seen == {(method, path) for method, path, _ in operations(api)} - {("GET", "/ws")}


def test_every_example_of_a_request_body_is_accepted(world):
    """Sends the examples in the document's order; in that order they make up whole calls."""
    api = document()
    examples = {
        path: api["paths"][path]["post"]["requestBody"]["content"]["application/json"]["examples"]
        for path in ("/api/calls/signal", "/api/calls/signal/{callId}")
    }
    taro, hanako = world.rest("11"), world.rest("10")
    for name, example in examples["/api/calls/signal"].items():
        rest = hanako if name in ("ringing", "silenced", "answer") else taro
        response = rest.post("/api/calls/signal", example["value"])
        assert response.status_code == 200, f"{name}: {response.text}"
    for name, example in examples["/api/calls/signal/{callId}"].items():
        rest = taro if name == "offer" else hanako
        response = rest.post("/api/calls/signal/c-2", example["value"])
        assert response.status_code == 200, f"{name}: {response.text}"
    assert hanako.log("c-2")["reason"] == "declined"


def test_a_push_capability_allows_the_documented_requests(push_world):
    """Exactly the operations that accept a push's capability list it (`ring`) in their security."""
    world, apns = push_world
    token = "ab" * 32
    world.rest("10").put(
        "/api/me/devices", {"platform": "ios", "bundleId": "com.example.chat", "voipDeviceToken": token}
    )
    api = document()
    asked = sorted((each for each in operations(api) if each[1] != "/ws"), key=lambda each: each[:2])
    for number, (method, path, operation) in enumerate(asked):
        call = f"c-{number}"
        world.rest(f"caller-{number}").signal("offer", call, sdp=samples.OFFER, to="10")
        payload = apns.wait_for_push(token, after=number)["payload"]
        assert payload["callId"] == call
        ring = {"Authorization": f"Ring {payload['act']}"}
        address = path.replace("{callId}", call)
        for name in ("{deviceId}", "{userId}", "{scheduleId}"):
            address = address.replace(name, "x")
        if path == "/api/calls/signal" and method == "GET":
            address += f"?callId={call}"
        bodies = {
            "/api/calls/signal": {"action": "ringing", "callId": call},
            "/api/calls/signal/{callId}": {"action": "ringing"},
            "/api/calls": {"callee_id": "10"},
            "/api/blocks": {"userId": "12"},
            "/api/me/dnd": {"until": None},
            "/api/me/devices": {"fcm_token": "x"},
            "/api/logout-all": {},
        }
        body = {"json": bodies.get(path, {})} if method in ("POST", "PUT", "PATCH") else {}
        if path.endswith("/directory") and method == "PUT":
            body = {"content": "-1"}
        response = world.rest(token="none").request(method, address, headers=ring, **body)
        assert response.status_code == (200 if {"ring": []} in operation.get("security", []) else 403), (method, path)
        # The number of callers that ring one callee at a time is limited.
        world.rest(f"caller-{number}").signal("end", call)

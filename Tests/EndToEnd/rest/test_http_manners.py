"""General rules of HTTP: HEAD, 405 with `Allow`, `Upgrade: h2c`, and the requests and headers of CORS."""

import socket

import httpx
import pytest
import samples
from raw_socket import RawSocket
from rest import code
from test_admin import families
from test_openapi import document, operations, resolved
from test_raw_http import talk
from waiting import eventually

ORIGIN = "https://app.example"


@pytest.mark.parametrize(
    "path",
    ["/api/calls", "/api/calls/c-1", "/api/calls/c-1/timeline", "/api/calls/signal/c-1", "/api/me/devices", "/api/blocks"],
)
def test_head_is_get_without_the_body(world, path):
    world.rest("11").signal("offer", "c-1", sdp=samples.OFFER, to="10")
    rest = world.rest("10")
    rest.get(path)  # The first request may add an event to the timeline.
    get, head = rest.get(path), rest.request("HEAD", path)
    assert (head.status_code, head.content) == (200, b"")
    assert abs(int(head.headers["content-length"]) - len(get.content)) < 200
    assert head.headers["content-type"] == get.headers["content-type"]
    assert rest.get(path).status_code == 200, "the connection can still be used"


def test_head_is_refused_as_get_is(world):
    assert world.rest(token="none").request("HEAD", "/api/calls").status_code == 401
    assert world.rest("11").request("HEAD", "/api/calls/none").status_code == 404
    assert world.rest("11").request("HEAD", "/nothing").status_code == 404
    assert world.rest("11").request("HEAD", "/ws").status_code == 426
    assert world.rest("11").request("HEAD", "/api/me/dnd").status_code == 405


@pytest.mark.parametrize(
    "method, path, allowed",
    [
        ("PUT", "/api/calls/signal", "GET, HEAD, POST"),
        ("PUT", "/api/calls/signal/c-1", "GET, HEAD, POST, DELETE"),
        ("DELETE", "/api/calls", "GET, HEAD, POST"),
        ("PATCH", "/api/me/devices", "GET, HEAD, PUT, POST"),
        ("GET", "/api/me/dnd", "PUT"),
        ("POST", "/api/turn-cred", "GET, HEAD"),
        ("GET", "/api/blocks/12", "DELETE"),
    ],
)
def test_a_method_that_a_path_does_not_allow_is_405_with_the_allowed_methods(world, method, path, allowed):
    response = world.rest("11").request(method, path)
    assert code(response) == (405, "method_not_allowed")
    assert response.headers["allow"] == allowed


def test_an_upgrade_to_http_2_is_ignored(world):
    """Java's HttpClient makes this offer with every unencrypted request (RFC 9110, section 7.8)."""
    offer = {
        "Connection": "Upgrade, HTTP2-Settings",
        "Upgrade": "h2c",
        "HTTP2-Settings": "AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA",
    }
    body = {"callId": "c-1", "action": "offer", "to": "10", "data": {"sdp": samples.OFFER}}
    rest = world.rest("11")
    assert rest.request("POST", "/api/calls/signal", json=body, headers=offer).status_code == 200
    response = rest.request("GET", "/api/calls/signal/c-1", headers=offer)
    assert response.http_version == "HTTP/1.1" and response.json()["state"] == "ringing"
    assert httpx.get(world.server.admin_url + "/healthz", headers=offer, trust_env=False).status_code == 200


def test_the_admin_listener_has_get_and_head(server):
    for path in ("/healthz", "/readyz", "/metrics"):
        head = httpx.head(server.admin_url + path, trust_env=False)
        assert (head.status_code, head.content) == (200, b"")
        response = httpx.post(server.admin_url + path, trust_env=False)
        assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD")


def test_a_browsers_preflight_is_accepted_only_for_an_allowed_origin(make_server, make_world):
    world = make_world(make_server("--allow-origin", ORIGIN))
    asks = {"Access-Control-Request-Method": "DELETE", "Access-Control-Request-Headers": "authorization,content-type"}
    response = httpx.options(
        world.server.url + "/api/calls/signal/c-1", headers=asks | {"Origin": ORIGIN}, trust_env=False
    )
    assert response.status_code == 204 and not response.content
    assert response.headers["access-control-allow-origin"] == ORIGIN and response.headers["vary"] == "Origin"
    assert "DELETE" in response.headers["access-control-allow-methods"]
    assert {"authorization", "content-type"} <= {
        name.strip().lower() for name in response.headers["access-control-allow-headers"].split(",")
    }
    refused = httpx.options(
        world.server.url + "/api/calls", headers=asks | {"Origin": "https://evil.example"}, trust_env=False
    )
    assert refused.status_code == 403 and "access-control-allow-origin" not in refused.headers


def test_a_page_may_read_retry_after_and_www_authenticate(make_server, make_world):
    world = make_world(make_server("--allow-origin", ORIGIN))
    for rest in (world.rest("11"), world.rest(token="none")):
        response = rest.request("GET", "/api/calls", headers={"Origin": ORIGIN})
        assert response.headers["access-control-allow-origin"] == ORIGIN
        exposed = {name.strip() for name in response.headers["access-control-expose-headers"].split(",")}
        assert exposed == {"Retry-After", "WWW-Authenticate", "Allow", "ETag"}
    assert "access-control-expose-headers" not in world.rest("11").get("/api/calls").headers


def names(response: httpx.Response, header: str) -> set[str]:
    return {name.strip().lower() for name in response.headers[header].split(",")}


def request_headers(api: dict, path: str, operation: dict) -> set[str]:
    """Returns the names of the headers that an operation's requests may have, besides those of all operations."""
    parameters = [resolved(api, one) for one in api["paths"][path].get("parameters", []) + operation.get("parameters", [])]
    return {parameter["name"].lower() for parameter in parameters if parameter["in"] == "header"}


@pytest.fixture
def allowing(make_server, make_world):
    return make_world(make_server("--allow-origin", ORIGIN + "/"))


def preflight(world, path: str, method: str, headers: str = "authorization", origin: str = ORIGIN) -> httpx.Response:
    asks = {"Origin": origin, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": headers}
    return httpx.options(world.server.url + path, headers=asks, trust_env=False)


def test_a_page_may_use_every_method_and_header_of_the_document(allowing):
    api = document()
    methods, headers, readable = {"head", "options"}, {"authorization", "content-type"}, set()
    for method, path, operation in operations(api):
        methods.add(method.lower())
        headers |= request_headers(api, path, operation)
        for response in operation["responses"].values():
            readable |= set(resolved(api, response).get("headers", {}))
    for response in api["components"]["responses"].values():
        readable |= set(response.get("headers", {}))
    # Every page may read these, or they concern no page.
    readable = {name.lower() for name in readable} - {"cache-control", "vary", "upgrade", "connection", "sec-websocket-version"}
    response = preflight(allowing, "/api/schedules/x", "PATCH", "x")
    assert names(response, "access-control-allow-methods") == methods
    assert names(response, "access-control-allow-headers") == headers | {"x"}
    response = allowing.rest("11").request("GET", "/api/calls", headers={"Origin": ORIGIN})
    assert names(response, "access-control-expose-headers") >= readable


def test_the_document_declares_an_idempotency_key_where_the_server_reads_one(world):
    api, reading, declared = document(), set(), set()
    for number, (method, path, operation) in enumerate(operations(api)):
        if method != "POST":
            continue
        user = f"user-{number}"  # One of these requests revokes its user's tokens.
        body = operation.get("requestBody", {"content": {}})["content"].get("application/json", {})
        examples = [body["example"]] if "example" in body else [each["value"] for each in body.get("examples", {}).values()]
        address = path.replace("{userId}", user).replace("{callId}", "c-1").replace("{scheduleId}", "s-1")
        response = world.rest(user).request(
            method, address, json=examples[0] if examples else None, headers={"Idempotency-Key": "x" * 65}
        )
        if response.status_code == 400 and response.json().get("field") == "Idempotency-Key":
            reading.add(operation["operationId"])
        if "idempotency-key" in request_headers(api, path, operation):
            declared.add(operation["operationId"])
    assert reading == declared and {"postSignal", "makeSchedule", "ringSchedule"} <= declared


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_the_headers_of_tracing_libraries_are_allowed(allowing, method):
    asked = (
        "authorization,content-type,sentry-trace,baggage,traceparent,tracestate,x-requested-with,x-datadog-trace-id,"
        "x-datadog-origin,x-b3-traceid,b3,x-request-id,newrelic,x-amzn-trace-id,idempotency-key,uber-trace-id"
    )
    response = preflight(allowing, "/api/schedules/x", method, asked)
    assert response.status_code == 204
    assert set(asked.split(",")) <= names(response, "access-control-allow-headers")
    refused = preflight(allowing, "/api/schedules/x", method, asked, origin="https://evil.example")
    assert refused.status_code == 403 and "access-control-allow-headers" not in refused.headers


@pytest.mark.parametrize("origins", [ORIGIN, "*"])
@pytest.mark.parametrize("path", ["/socket.io/", "/signal/socket.io/"])
@pytest.mark.parametrize("version", ["3", "4"])
def test_a_page_with_the_old_client_may_poll_with_credentials(make_server, make_world, origins, path, version):
    world = make_world(make_server("--allow-origin", origins))
    url = f"{world.server.url}{path}?EIO={version}&transport=polling&token={world.token()}"
    response = httpx.get(url, headers={"Origin": ORIGIN}, trust_env=False)
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == ORIGIN
    assert response.headers["access-control-allow-credentials"] == "true"
    for wrong in (url.replace("EIO=" + version, "EIO=9"), url + "&sid=none"):
        response = httpx.get(wrong, headers={"Origin": ORIGIN}, trust_env=False)
        assert response.status_code == 400 and response.headers["access-control-allow-credentials"] == "true"
    assert preflight(world, path, "POST").headers["access-control-allow-credentials"] == "true"


def test_only_a_named_origin_may_use_the_api_with_credentials(make_server, make_world, allowing):
    anybody = make_world(make_server("--allow-origin", "*"))
    for world, has in ((allowing, True), (anybody, False)):
        response = world.rest("11").request("GET", "/api/calls", headers={"Origin": ORIGIN})
        assert ("access-control-allow-credentials" in response.headers) == has
        assert ("access-control-allow-credentials" in preflight(world, "/api/calls", "GET").headers) == has


@pytest.mark.parametrize(
    "host, origin, status",
    [
        ("call.example.com:443", "https://call.example.com", 200),
        ("Call.Example.com:443", "https://call.example.com", 200),
        ("call.example.com.", "https://call.example.com", 200),
        ("call.example.com:80", "http://call.example.com", 200),
        ("call.example.com", "https://call.example.com:443", 200),
        ("[::1]:443", "https://[::1]", 200),
        ("call.example.com:8443", "https://call.example.com", 403),
        ("other.example.com:443", "https://call.example.com", 403),
    ],
)
def test_the_schemes_own_port_is_no_port(world, host, origin, status):
    response = world.rest("11").request("GET", "/api/calls", headers={"Host": host, "Origin": origin})
    assert response.status_code == status
    handshake = RawSocket(world.server.port, world.token(), host=host, headers=[f"Origin: {origin}"])
    assert handshake.status == (101 if status == 200 else status)
    handshake.close()


def test_refused_origins_leave_lines_with_a_limit_and_a_metric(make_server, make_world):
    world = make_world(make_server())

    def refused() -> float:
        return families(world.server)["ringline_origins_refused"].samples[0].value

    before = refused()
    for _ in range(20):
        assert world.rest("11").request("GET", "/api/calls", headers={"Origin": "https://evil.example"}).status_code == 403
    handshake = RawSocket(world.server.port, world.token(), headers=["Origin: https://evil.example"])
    assert handshake.status == 403
    assert refused() == before + 21
    lines = [line for line in world.server.usual_log().splitlines() if "because of its Origin" in line]
    # As for every line that strangers cause, there are at most ten a minute, here of two minutes.
    assert 10 <= len(lines) <= 20
    assert all("request.origin=https://evil.example" in line and "warning" in line for line in lines)


# The health checks of the clients' port


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_clients_port_has_health_checks_with_any_host(world, path, method):
    for headers in ({"Host": "10.0.0.7:8080"}, {"Host": "evil.example"}, {"Origin": "https://evil.example"}):
        response = httpx.request(method, world.server.url + path, headers=headers, trust_env=False)
        assert (response.status_code, response.content) == (200, b"")
        assert response.headers["cache-control"] == "no-store"
    response = talk(world.server.port, f"{method} {path} HTTP/1.0\r\n\r\n".encode(), to_the_end=True)
    assert response.startswith(b"HTTP/1.1 200 ") and response.endswith(b"\r\n\r\n")


def test_a_health_check_has_no_other_methods_and_no_limit_and_leaves_no_line(world):
    for path in ("/healthz", "/readyz"):
        for method in ("POST", "PUT", "DELETE"):
            response = httpx.request(method, world.server.url + path, trust_env=False)
            assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD")
    with httpx.Client(base_url=world.server.url, trust_env=False) as client:
        assert {client.get("/readyz").status_code for _ in range(500)} == {200}
    assert "/readyz" not in world.server.usual_log() and "/healthz" not in world.server.usual_log()


def test_a_person_who_opens_the_servers_address_reads_what_it_is(world):
    eventually(lambda: " started " in world.server.usual_log())
    log = world.server.usual_log()
    for host in (f"127.0.0.1:{world.server.port}", "calls.example.com", "evil.example"):
        response = httpx.get(world.server.url, headers={"Host": host}, trust_env=False)
        assert (response.status_code, response.headers["content-type"]) == (200, "text/plain; charset=utf-8")
        assert response.headers["cache-control"] == "no-store"
        for words in ("Ringline 0.", "/ws", "/api/calls/signal", "ringline demo", "ringline try", "Documentation"):
            assert words in response.text
        assert len(response.text.splitlines()) <= 13 and max(map(len, response.text.splitlines())) <= 80
    head = httpx.head(world.server.url, trust_env=False)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == response.headers["content-length"]
    for method in ("POST", "PUT", "DELETE"):
        refused = httpx.request(method, world.server.url, trust_env=False)
        assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")
    assert world.server.usual_log() == log


def test_no_response_names_the_software_in_a_header(world):
    answered = [httpx.request("GET", world.server.url + path, trust_env=False) for path in ("/", "/readyz", "/x", "/ws")]
    answered += [httpx.get(world.server.admin_url + path, trust_env=False) for path in ("/healthz", "/metrics", "/x")]
    assert all("server" not in response.headers for response in answered)
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    upgrade = f"Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{key}\r\n"
    for request in (
        f"GET /ws?token={world.token()} HTTP/1.1\r\n{upgrade}",
        f"GET /ws HTTP/1.1\r\n{upgrade}",
        "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        "FETCH / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/3.0\r\nHost: x\r\n\r\n",
        "nonsense\r\n\r\n",
    ):
        head = talk(world.server.port, request.encode()).partition(b"\r\n\r\n")[0]
        assert b"\r\nserver:" not in head.lower(), (request, head)


def test_an_idle_connection_is_kept_for_the_time_of_the_setting(make_server, make_world):
    """A load balancer that sends a request on a connection that the server is closing answers with 502."""
    world = make_world(make_server("--keep-alive", "1"))
    with socket.create_connection(("127.0.0.1", world.server.port), timeout=10) as plain:
        plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert plain.recv(4096).startswith(b"HTTP/1.1 200 ")
        assert plain.recv(4096) == b"", "the server ends the idle connection"

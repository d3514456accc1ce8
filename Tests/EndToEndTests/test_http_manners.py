"""General rules of HTTP: HEAD, 405 with `Allow`, `Upgrade: h2c`, and the requests and headers of CORS."""

import httpx
import pytest
import samples
from rest import code

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
        assert exposed == {"Retry-After", "WWW-Authenticate"}
    assert "access-control-expose-headers" not in world.rest("11").get("/api/calls").headers

"""The admin listener: health, readiness and metrics."""

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from raw_socket import RawSocket
from rest import TLS, Rest
from waiting import eventually


def get(server, path: str) -> httpx.Response:
    return httpx.get(server.admin_url + path, trust_env=False, verify=TLS, timeout=5)


def families(server) -> dict:
    return {family.name: family for family in text_string_to_metric_families(server.metrics_text())}


def total(server, word: str, **labels) -> float:
    """Returns the sum of all counters and gauges that have the word in their name and these labels."""
    return sum(
        sample.value
        for family in families(server).values()
        if word in family.name and family.type in ("counter", "gauge")
        for sample in family.samples
        if all(sample.labels.get(name) == value for name, value in labels.items())
        and not sample.name.endswith("_created")
    )


def connections(server) -> int:
    """Returns the number of open connections of devices."""
    return int(families(server)["ringline_device_connections"].samples[0].value)


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_running_server_is_healthy_and_ready(server, path):
    assert get(server, path).status_code == 200


def test_metrics_are_prometheus_text(world):
    taro, hanako = world.call("c-1")
    taro.ask(type="end", callId="c-1")
    response = get(world.server, "/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    found = families(world.server)
    assert len(found) > 30
    for family in found.values():
        assert family.documentation, f"{family.name} has no HELP"
        assert family.type != "unknown", f"{family.name} has no TYPE"
    names = [sample.name + str(sorted(sample.labels.items())) for family in found.values() for sample in family.samples]
    assert len(names) == len(set(names)), "a sample occurs twice"


def test_there_are_metrics_of_connections_calls_signals_acks_pushes_and_the_store(world):
    taro, hanako = world.call("c-1")
    text = world.server.metrics_text()
    for word in ("connection", "call", "signal", "ack", "push", "store"):
        assert any(word in name for name in families(world.server)), f"nothing about {word}:\n{text}"
    histograms = [family for family in families(world.server).values() if family.type == "histogram"]
    assert any("ack" in family.name for family in histograms)


def test_connections_of_devices_are_counted_up_and_down(world):
    assert connections(world.server) == 0
    connection = world.connect("11")
    assert connections(world.server) == 1
    other = world.connect("10")
    assert connections(world.server) == 2
    other.close()
    eventually(lambda: connections(world.server) == 1)
    assert connection.fence() == []


def test_histograms_are_consistent(world):
    world.call("c-1")
    histograms = [family for family in families(world.server).values() if family.type == "histogram"]
    assert histograms
    for family in histograms:
        buckets = [sample for sample in family.samples if sample.name.endswith("_bucket")]
        by_labels = {}
        for sample in buckets:
            labels = tuple(sorted((k, v) for k, v in sample.labels.items() if k != "le"))
            by_labels.setdefault(labels, []).append((float(sample.labels["le"]), sample.value))
        assert by_labels, f"{family.name} has no buckets"
        for values in by_labels.values():
            counts = [count for _, count in sorted(values)]
            assert counts == sorted(counts) and sorted(values)[-1][0] == float("inf")


def test_the_admin_pages_are_not_on_the_public_listener(server):
    rest = Rest(server.url, None)
    assert rest.get("/metrics").status_code == 404
    # The health check of the clients' port says nothing but its status.
    assert rest.get("/readyz").content == b""


def test_the_rest_api_is_not_on_the_admin_listener(world):
    assert Rest(world.server.admin_url, world.token(), allow_5xx=False).http.get("/api/me/devices").status_code == 404


@pytest.mark.parametrize(
    "path", ["/ws", "/socket.io/?EIO=4&transport=websocket", "/signal/socket.io/?EIO=4&transport=websocket"]
)
def test_the_admin_listener_accepts_no_client(world, path):
    """Where clients use TLS, a client on the admin listener would be unencrypted."""
    token = world.token()
    port = int(world.server.admin_url.rsplit(":", 1)[1])
    headers = [f"Authorization: Bearer {token}", f"Sec-WebSocket-Protocol: ringline.v1, bearer.{token}"]
    for given in ([], headers[:1], headers[1:]):
        raw = RawSocket(port, path=path, headers=given)
        assert raw.status == 404, raw.head
    polled = get(world.server, f"/socket.io/?EIO=4&transport=polling&token={token}")
    assert polled.status_code == 404
    assert total(world.server, "ringline_device_connections") == 0


def test_no_metric_carries_a_user_or_a_call(world):
    taro, hanako = world.call("call-to-look-for", "user-to-look-for", "10")
    assert "to-look-for" not in world.server.metrics_text()

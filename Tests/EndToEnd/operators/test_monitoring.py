"""Monitoring: the metrics, the Grafana dashboard, the alert rules and the log.

`promtool` checks the metrics and the rules. Tests/run unpacks it from Debian's package prometheus without installing
that package, because its server must not be started.
"""

import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest
import raw_socket
import samples
import yaml
from prometheus_client.parser import text_string_to_metric_families
from raw_socket import RawSocket
from ringline_server import ROOT, Server
from waiting import eventually

DASHBOARD = json.loads((ROOT / "Deploy/grafana.json").read_text())
RULES_PATH = ROOT / "Deploy/alerts.yaml"
RULES = yaml.safe_load(RULES_PATH.read_text())
ALERTS = {rule["alert"]: rule for group in RULES["groups"] for rule in group["rules"]}
TESTS_PATH = ROOT / "Tests/Monitoring/alerts.test.yaml"
PAGES = ROOT / "Sources/Server/ringline/ringline.docc"
# The renamed metrics, by their old names.
FORMER = dict(
    re.findall(r'\("(ringline_\w+)", "(ringline_\w+)"\)', (ROOT / "Sources/Server/Gateway/MetricsPage.swift").read_text())
)


@pytest.fixture(scope="session")
def promtool() -> str:
    unpacked = ROOT / ".build/promtool/usr/bin/promtool"
    found = os.environ.get("RINGLINE_PROMTOOL") or shutil.which("promtool") or (unpacked.exists() and str(unpacked))
    if not found:
        assert not os.environ.get("CI"), "promtool is missing"
        pytest.skip("promtool is not there: Tests/run unpacks it")
    return found


def judge(*command: str | pathlib.Path, text: str = "") -> str:
    done = subprocess.run(
        [str(word) for word in command], input=text, capture_output=True, text=True, timeout=50, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def panels() -> list[dict]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def dashboard_expressions() -> list[str]:
    asked = [target["expr"] for panel in panels() for target in panel["targets"]]
    return asked + [each["expr"] for each in DASHBOARD["annotations"]["list"]]


def names_in(expression: str) -> set[str]:
    return set(re.findall(r"\b(?:ringline|process)_[a-z_]+\b", expression))


@pytest.fixture
def page(world) -> str:
    """The metrics page after calls, a refused signal, a push without an APNs key, and a replaced connection."""
    taro, hanako = world.call("c-1")
    taro.refused(type="dtmf", callId="c-1", digits="x")
    world.rest("12").put("/api/me/devices", {"voipDeviceToken": "ab" * 32, "bundleId": "a.b", "platform": "ios"})
    taro.ring("12", "c-2")
    world.connect("10", hanako.device)
    return world.server.metrics_text()


def test_promtool_finds_nothing_wrong_with_the_metrics(page, promtool):
    assert judge(promtool, "check", "metrics", text=page) == ""


def test_the_rules_are_valid_and_fire_as_their_tests_demand(promtool):
    assert "SUCCESS" in judge(promtool, "check", "rules", RULES_PATH)
    assert "SUCCESS" in judge(promtool, "test", "rules", TESTS_PATH)


def test_every_alert_is_tested_firing_and_silent_and_is_explained():
    fires, silent = set(), set()
    for each in yaml.safe_load(TESTS_PATH.read_text())["tests"]:
        for test in each["alert_rule_test"]:
            (fires if test.get("exp_alerts") else silent).add(test["alertname"])
    assert set(ALERTS) == fires == silent
    page = (PAGES / "Metrics.md").read_text()
    for name, rule in ALERTS.items():
        assert f"| `{name}` |" in page, f"{name} stands in the page's table of alerts"
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert {"summary", "description"} == set(rule["annotations"])


def test_dashboard_and_rules_query_only_served_metrics(page, make_server, certificate, tmp_path):
    # Some metrics are served only with TLS, with the keys of an issuer, or with an app's backend.
    secret = tmp_path / "events.secret"
    secret.write_text("whsec_" + base64.b64encode(bytes(32)).decode() + "\n")
    nowhere = "https://127.0.0.1:1/"
    more = ["--jwks-url", nowhere, "--events-url", nowhere, "--decide-url", nowhere, "--events-secret-file", secret]
    secure = make_server("--tls-cert", certificate / "c.pem", "--tls-key", certificate / "k.pem", *more).metrics_text()
    families = [*text_string_to_metric_families(page), *text_string_to_metric_families(secure)]
    # Those of nodes are served by one node of several only; NodeMetricsTests checks them on the page.
    of_nodes = set(re.findall(r'"(ringline_node_[a-z_]+)"', (ROOT / "Sources/Server/Gateway/MetricsPage.swift").read_text()))
    assert len(of_nodes) == 8
    families = [family for family in families if family.name not in {name.removesuffix("_total") for name in FORMER}]
    served = {sample.name for family in families for sample in family.samples} | of_nodes
    asked = {name for expression in dashboard_expressions() for name in names_in(expression)}
    in_rules = {name for rule in ALERTS.values() for name in names_in(rule["expr"])}
    assert len(asked) > 15 and len(in_rules) > 8
    assert asked - served == set() and in_rules - served == set()
    # In the other direction: the dashboard shows every metric that is served.
    shown = {name.removesuffix("_bucket").removesuffix("_total") for name in asked}
    wanted = {family.name for family in families} | of_nodes
    assert {name.removesuffix("_total") for name in wanted} - shown == set()
    # The labels that the expressions group by exist, too.
    labels = {label for family in families for sample in family.samples for label in sample.labels}
    for expression in dashboard_expressions() + [rule["expr"] for rule in ALERTS.values()]:
        for group in re.findall(r"by \(([^)]*)\)", expression):
            assert set(re.split(r",\s*", group)) <= labels | {"job", "instance"}, expression


def test_a_renamed_metric_is_also_served_under_its_old_name(page):
    families = {family.name: family for family in text_string_to_metric_families(page)}
    assert len(FORMER) == 6
    for old, new in FORMER.items():
        former, family = families[old.removesuffix("_total")], families[new.removesuffix("_total")]
        assert former.documentation == f"Old name of {new}; goes in the next release."
        assert former.type == family.type
        assert [(each.name, each.labels, each.value) for each in former.samples] == [
            (each.name.replace(new, old), each.labels, each.value) for each in family.samples
        ]
        assert f"| `{new}" in (PAGES / "Metrics.md").read_text() and f"| `{old}` | `{new}` |" in (PAGES / "Metrics.md").read_text()
    assert sample_of(families, "ringline_sessions") == sample_of(families, "ringline_device_connections") > 0
    assert sample_of(families, "ringline_connections") == sample_of(families, "ringline_tcp_connections") > 0


def sample_of(families: dict, name: str) -> float:
    return families[name].samples[0].value


def test_the_dashboard_has_a_valid_layout_and_valid_expressions(promtool, tmp_path):
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    taken = set()
    for panel in DASHBOARD["panels"]:
        grid = panel["gridPos"]
        cells = {
            (x, y) for x in range(grid["x"], grid["x"] + grid["w"]) for y in range(grid["y"], grid["y"] + grid["h"])
        }
        assert grid["x"] + grid["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
    for panel in panels():
        assert panel["description"] and panel["fieldConfig"]["defaults"]["unit"]
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    # With Grafana's variables replaced, the expressions are valid PromQL.
    expressions = [each.replace("$__rate_interval", "1m") for each in dashboard_expressions()]
    assert all('job=~"$job",instance=~"$instance"' in each for each in expressions)
    rules = [{"record": f"a:b:c{number}", "expr": each} for number, each in enumerate(expressions)]
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in judge(promtool, "check", "rules", path)


def sample(server: Server, name: str, **labels) -> float:
    for family in text_string_to_metric_families(server.metrics_text()):
        for each in family.samples:
            if each.name == name and each.labels.items() >= labels.items():
                return each.value
    raise AssertionError(f"{name}{labels} is not there")


def test_the_process_is_described(world):
    server = world.server
    assert abs(sample(server, "process_start_time_seconds") - time.time()) < 60
    assert sample(server, "ringline_build_info") == 1
    assert 1_000_000 < sample(server, "process_resident_memory_bytes") < 1_000_000_000
    before = sample(server, "process_open_fds")
    assert before == pytest.approx(len(list(pathlib.Path(f"/proc/{server.pid}/fd").iterdir())), abs=3)
    for number in range(30):
        world.connect(str(number))
    # Connections of the start and of an earlier scrape may have been open, and may have ended meanwhile.
    assert 27 <= sample(server, "process_open_fds") - before <= 33
    assert sample(server, "process_max_fds") > 100
    spent = sample(server, "process_cpu_seconds_total")
    assert 0 < spent < 60


@pytest.mark.timeout(90)
def test_a_connection_that_reads_too_slowly_is_closed_and_counted_as_a_queue_drop(make_server, make_world):
    world = make_world(make_server("--probe-timeout", 600))
    assert sample(world.server, "ringline_queue_drops_total") == 0
    stuck = RawSocket(world.server.port, world.token("10"), receive_buffer=4096)
    deadline = time.monotonic() + 60
    number = 0
    while not sample(world.server, "ringline_queue_drops_total"):
        assert time.monotonic() < deadline
        # When a connection does not keep up, the server refuses most signals to it. It never refuses a renegotiation.
        caller = world.connect(f"c{number}")
        caller.ring("10", f"c{number}")
        stuck.frame(raw_socket.TEXT, json.dumps({"type": "answer", "callId": f"c{number}", "sdp": samples.ANSWER}).encode())
        caller.expect(type="answer")
        for round in range(9):
            caller.ask(type="offer", callId=f"c{number}", sdp=samples.OFFER + f"a=x-{round}:{'x' * 44_000}\r\n")
        number += 1
    assert sample(world.server, "ringline_device_connection_closes_total", code="4408") == 1
    stuck.close()


# The log


def test_json_log_lines_contain_the_call_id(make_server, make_world):
    world = make_world(make_server("--log-format", "json"))
    taro, _ = world.call("call-to-look-for")
    taro.ask(type="end", callId="call-to-look-for")
    eventually(lambda: "call ended" in world.server.errors())
    lines = [json.loads(line) for line in world.server.usual_log().splitlines()]
    assert all({"time", "level", "message"} <= set(line) for line in lines)
    of_call = [line for line in lines if line.get("call.id") == "call-to-look-for"]
    assert [line["message"] for line in of_call] == ["call began", "call ended"]
    assert of_call[0]["call.epoch"] == 1 and of_call[1]["call.reason"] == "hangup"


def test_text_log_lines_contain_the_call_id(world):
    taro, _ = world.call("call-to-look-for")
    taro.ask(type="end", callId="call-to-look-for")
    eventually(lambda: "call ended" in world.server.errors())
    lines = [line for line in world.server.usual_log().splitlines() if "call.id=call-to-look-for" in line]
    assert len(lines) == 2
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info call ended call\.epoch=1 call\.id=\S+ call\.reason=hangup",
        lines[1],
    )


def test_the_page_explains_every_line_of_the_log():
    """Its table has every constant message that the sources log."""
    page = (PAGES / "LogLines.md").read_text()
    sentences = set()
    for path in sorted((ROOT / "Sources").rglob("*.swift")):
        text = path.read_text()
        # What stands before the fields: a level, a message or a choice of two.
        for call in re.findall(r"\blog\.(?:log|trace|debug|info|notice|warning|error)\(([^\[)]*)", text):
            sentences |= set(re.findall(r'"([^"\\]+)"', call))
    assert len(sentences) > 60
    assert [sentence for sentence in sorted(sentences) if f"`{sentence}`" not in page] == []

"""Consistency of the files that run several nodes: compose.nodes.yaml with its images, and kubernetes/nodes."""

import re

import pytest
import yaml
from conftest import DEPLOY

COMPOSE = yaml.safe_load((DEPLOY / "compose.nodes.yaml").read_text())
SERVICES = COMPOSE["services"]
NODES = {name: service for name, service in SERVICES.items() if name.startswith("node-")}
BALANCER = (DEPLOY / "balancer/haproxy.cfg").read_text()
KUBERNETES = DEPLOY / "kubernetes"


def objects(*paths) -> list[dict]:
    return [one for path in paths for one in yaml.safe_load_all(path.read_text()) if one]


OBJECTS = objects(*sorted((KUBERNETES / "nodes").glob("*.yaml")))
# What serves both one pod and several nodes.
SHARED = objects(KUBERNETES / "service.yaml", KUBERNETES / "servicemonitor.yaml")


def only(kind: str, among=OBJECTS) -> dict:
    (one,) = [one for one in among if one["kind"] == kind]
    return one


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


# Compose


@pytest.mark.parametrize("name", SERVICES)
def test_no_service_runs_as_root_or_has_needless_rights(name):
    service = SERVICES[name]
    assert service["read_only"] and service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["mem_limit"] and service["cpus"] and service["pids_limit"] and service["healthcheck"]


@pytest.mark.parametrize("folder", ["balancer", "database"])
def test_no_image_runs_as_root(folder):
    (user,) = re.findall(r"^USER (.*)$", (DEPLOY / folder / "Dockerfile").read_text(), re.M)
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user)


def test_the_nodes_differ_only_in_their_address_and_their_folder():
    assert len(NODES) == 3
    for name, node in NODES.items():
        settings = node["environment"]
        address = settings["RINGLINE_NODE_ADDRESS"]
        assert address == f"{name}:{port_of(settings['RINGLINE_NODE_LISTEN'])}"
        assert node["hostname"] == name, "the database and the log name the owner by its host name"
        assert node["volumes"] == [f"{name}:/data"] and name in COMPOSE["volumes"]
    rest = [
        {key: value for key, value in node.items() if key not in ("environment", "hostname", "volumes")}
        | {
            "environment": {
                key: node["environment"][key] for key in sorted(node["environment"]) if key != "RINGLINE_NODE_ADDRESS"
            }
        }
        for node in NODES.values()
    ]
    assert rest[0] == rest[1] == rest[2]


def test_only_the_balancer_can_be_reached_from_outside():
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["balancer"]
    assert COMPOSE["networks"]["inside"]["internal"] is True
    assert SERVICES["database"]["networks"] == ["inside"], "only nodes reach the database"
    assert "inside" not in SERVICES["balancer"]["networks"], "the links are not encrypted"


def test_the_nodes_wait_for_the_database_and_get_the_passwords_as_files():
    for node in NODES.values():
        assert node["depends_on"] == {"database": {"condition": "service_healthy"}}
        settings = node["environment"]
        assert settings["RINGLINE_STORE_PASSWORD_FILE"] == "/run/secrets/store-password"
        assert {"jwt-secret", "store-password"} == set(node["secrets"])
    assert all(set(secret) == {"file"} for secret in COMPOSE["secrets"].values())


def test_the_supervisors_wait_longer_than_a_node_takes_to_stop():
    for node in NODES.values():
        assert int(node["stop_grace_period"].removesuffix("s")) > 10
    assert only("StatefulSet")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > 10


def test_the_balancer_knows_exactly_the_nodes_and_asks_whether_they_are_ready():
    servers = dict(re.findall(r"^ *server (\S+) (\S+)$", BALANCER, re.M))
    assert servers == {name: f"{name}:8080" for name in NODES}
    (check,) = re.findall(r"^ *default-server port (\d+) check", BALANCER, re.M)
    for node in NODES.values():
        assert port_of(node["environment"]["RINGLINE_ADMIN_LISTEN"]) == int(check)
    assert "option httpchk GET /readyz" in BALANCER
    assert "mode tcp" in BALANCER
    assert not re.search(r"^ *(mode http|stick|balance source|cookie)", BALANCER, re.M), (
        "a device's connections are spread"
    )


def test_up_knows_the_secrets_and_the_services():
    script = (DEPLOY / "up").read_text()
    (named,) = re.findall(r"compose\.nodes\.yaml\) services=\(([^)]*)\)\n +secrets=\(([^)]*)\)", script)
    assert set(named[0].split()) == set(SERVICES) and set(named[1].split()) == set(COMPOSE["secrets"])


# Kubernetes


def pod() -> dict:
    return only("StatefulSet")["spec"]["template"]


def container() -> dict:
    (one,) = pod()["spec"]["containers"]
    return one


def ports() -> dict[str, int]:
    return {port["name"]: port["containerPort"] for port in container()["ports"]}


def test_every_selector_finds_the_pods():
    labels = pod()["metadata"]["labels"].items()
    assert only("StatefulSet")["spec"]["selector"]["matchLabels"].items() <= labels
    for service in [one for one in OBJECTS + SHARED if one["kind"] == "Service"]:
        assert service["spec"]["selector"].items() <= labels
        assert all(port["targetPort"] in ports() for port in service["spec"]["ports"])
    assert only("PodDisruptionBudget")["spec"]["selector"]["matchLabels"].items() <= labels
    assert only("NetworkPolicy")["spec"]["podSelector"]["matchLabels"].items() <= labels
    (rule,) = pod()["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert rule["labelSelector"]["matchLabels"].items() <= labels and rule["topologyKey"] == "kubernetes.io/hostname"
    assert {one["metadata"].get("namespace", "ringline") for one in OBJECTS} == {"ringline"}


def test_prometheus_finds_the_admin_port_and_not_the_links():
    wanted = only("ServiceMonitor", SHARED)["spec"]["selector"]["matchLabels"].items()
    found = [
        one for one in OBJECTS + SHARED if one["kind"] == "Service" and wanted <= one["metadata"]["labels"].items()
    ]
    assert [[port["name"] for port in one["spec"]["ports"]] for one in found] == [["admin"]]


def test_each_pod_listens_for_links_and_tells_its_own_address():
    settings = only("ConfigMap")["data"]
    assert settings["RINGLINE_NODE_LISTEN"] == f"0.0.0.0:{ports()['links']}"
    own = {one["name"]: one for one in container()["env"]}
    assert own["POD_IP"]["valueFrom"]["fieldRef"]["fieldPath"] == "status.podIP"
    assert own["RINGLINE_NODE_ADDRESS"]["value"] == f"$(POD_IP):{ports()['links']}"
    # Kubernetes replaces $(NAME) only if NAME was defined before.
    assert list(own) == ["POD_IP", "RINGLINE_NODE_ADDRESS"]
    assert settings["RINGLINE_LISTEN"] == f"0.0.0.0:{ports()['http']}"
    assert settings["RINGLINE_ADMIN_LISTEN"] == f"0.0.0.0:{ports()['admin']}"
    assert 2 <= only("StatefulSet")["spec"]["replicas"] <= 8


def test_only_nodes_reach_the_links():
    labels = pod()["metadata"]["labels"]
    for direction, side in (("ingress", "from"), ("egress", "to")):
        rules = only("NetworkPolicy")["spec"][direction]
        (links,) = [rule for rule in rules if {"protocol": "TCP", "port": "links"} in rule["ports"]]
        assert links[side] == [{"podSelector": {"matchLabels": labels}}] and len(links["ports"]) == 1


def test_the_pods_are_those_of_one_server_but_for_the_nodes():
    (single,) = [one for one in objects(KUBERNETES / "ringline.yaml") if one["kind"] == "StatefulSet"]
    (of_single,) = single["spec"]["template"]["spec"]["containers"]
    for key in (
        "image",
        "startupProbe",
        "livenessProbe",
        "readinessProbe",
        "resources",
        "securityContext",
        "volumeMounts",
    ):
        assert container()[key] == of_single[key], key
    plain = only("ConfigMap", objects(KUBERNETES / "ringline.yaml"))["data"]
    settings = only("ConfigMap")["data"]
    added = {"RINGLINE_STORE", "RINGLINE_STORE_PASSWORD_FILE", "RINGLINE_NODE_LISTEN"}
    assert {key: value for key, value in settings.items() if key not in added} == plain and added <= set(settings)

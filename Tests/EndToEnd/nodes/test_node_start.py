"""What a node says of itself while it starts without a database, and while its owner's database stands still."""

import threading

import httpx
import pytest
from commands import run
from rest import TLS
from waiting import eventually


def asked(url: str, page: str) -> tuple[int, str]:
    """Returns the status and the body's status of a page for operators; (0, …) if nobody answers."""
    try:
        response = httpx.get(url + page, trust_env=False, verify=TLS, timeout=5)
        return response.status_code, response.json()["status"]
    except httpx.TransportError as error:
        return 0, str(error)


@pytest.mark.parametrize("fault", ["refused", "silent"])
def test_a_node_that_starts_while_the_database_is_away_lives_and_is_not_ready(make_cluster, fault):
    cluster = make_cluster(nodes=2)
    node = cluster.edges()[0]
    operators = node.admin_url
    node.terminate()
    assert node.exit_code(15) == 0
    if fault == "refused":
        node.database_hop.refuse()
    else:
        node.database_hop.hole()
    starting = threading.Thread(target=node.start)
    starting.start()
    eventually(lambda: asked(operators, "/healthz") == (200, "ok"), 8, lambda: str(asked(operators, "/healthz")))
    for page in ("/readyz", "/metrics"):
        eventually(
            lambda page=page: asked(operators, page) == (503, "store unavailable"),
            8,
            lambda page=page: str(asked(operators, page)),
        )
    assert httpx.get(operators + "/other", trust_env=False).status_code == 404
    assert httpx.post(operators + "/healthz", trust_env=False).status_code == 405
    if fault == "refused":
        node.database_hop.accept()
    else:
        node.database_hop.heal()
    starting.join()
    assert node.admin_url == operators
    cluster.ready()


def test_every_node_is_not_ready_while_the_owners_database_stands_still(make_cluster):
    cluster = make_cluster()
    for node in cluster.nodes:
        node.database_hop.hole()
    for node in cluster.nodes:
        eventually(lambda node=node: node.readiness() == (503, "store unavailable"), 8, cluster.told)
        assert node.figure("ready") == 0
    for node in cluster.nodes:
        node.database_hop.heal()
    cluster.ready(20)


def test_the_doctor_says_which_settings_differ_between_which_nodes(make_cluster, tmp_path):
    cluster = make_cluster()
    node = cluster.edges()[0]

    def doctor() -> str:
        result = run("doctor", *node.folder_options, *node.options, "--listen", "127.0.0.1:0")
        return next(line for line in (result.stdout + result.stderr).splitlines() if "node settings" in line)

    eventually(lambda: "the same on the 3 running nodes" in doctor(), 8, doctor)
    # A copy of a file, and another order of values, is no difference.
    copy = tmp_path / "copy"
    copy.write_bytes(cluster.secret)
    copy.chmod(0o600)
    node.terminate()
    assert node.exit_code(15) == 0
    node.options[node.options.index("--jwt-secret-file") + 1] = str(copy)
    node.options += ["--ring-timeout", "33", "--loops", "2"]
    node.start()
    cluster.ready()
    others = sorted(f"127.0.0.1:{other.link_hop.port}" for other in cluster.nodes if other is not node)
    own = f"127.0.0.1:{node.link_hop.port}"
    shown = " | ".join(sorted([", ".join(others), own]))
    eventually(lambda: f"ring-timeout ({shown})" in doctor(), 8, doctor)
    assert doctor().startswith("error") and "jwt-secret-file" not in doctor() and "loops" not in doctor()

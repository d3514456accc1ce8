"""What a node says of itself while it starts without a database, and while its owner's database stands still."""

import threading

import httpx
import pytest
from waiting import eventually


def asked(url: str, page: str) -> tuple[int, str]:
    """Returns the status and the body's status of a page for operators; (0, …) if nobody answers."""
    try:
        response = httpx.get(url + page, trust_env=False, timeout=5)
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

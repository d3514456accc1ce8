"""SIGTERM to one node of several: its own clients are told when to reconnect, and those of the other nodes notice nothing.

An owner that was deposed ends its run in the same way, and begins anew.
"""

import datetime

import httpx
import pytest
import samples
from raw_socket import CLOSE, RawSocket
from test_take_over import TAKE_OVER_SECONDS
from waiting import eventually


def pauses(connections) -> list[int]:
    """Returns the pauses that connections were told, once they are closed."""
    found = []
    for connection in connections:
        assert connection.close_code(TAKE_OVER_SECONDS) == 1001
        frame = connection.heard[-1]
        assert frame["type"] == "draining", "draining is the last frame"
        pause = frame["reconnectAfterMs"]
        assert connection.socket.close_reason == f"the server is shutting down; reconnectAfterMs={pause}"
        found.append(pause)
    return found


@pytest.mark.parametrize("role", ["an edge", "the owner"])
@pytest.mark.parametrize("options", [(), ("--loops", "2")])
def test_the_clients_of_a_node_that_stops_learn_when_to_reconnect(make_cluster, make_world, role, options):
    cluster = make_cluster(*options)
    edges = cluster.edges()
    node, other = (cluster.owner(), edges[0]) if role == "the owner" else edges
    stopping, staying = make_world(node), make_world(other)
    own = [stopping.connect(str(user), "d") for user in range(100, 120)]
    stay = [staying.connect(str(user), "d") for user in range(200, 205)]
    own[18].ring(own[19], "c-1")
    own[19].expect(type="offer", callId="c-1")
    own[19].ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    own[18].expect(type="answer", callId="c-1")
    # A socket with state that only the owner has is told, too.
    own[0].ask(type="presence", userId="200")
    polling = RawSocket(node.port, path=f"/socket.io/?EIO=4&transport=websocket&token={stopping.token('130')}")
    cluster.settled()
    node.terminate()
    found = pauses(own)
    # The 20 connections are spread over one second, one in each 50 ms, and the two in the call come first.
    assert sorted((pause - 500) // 50 for pause in found) == list(range(20))
    assert sorted(found)[:2] == sorted(found[18:])
    polling.read_until(CLOSE)
    polling.close()
    assert node.exit_code(15) == 0
    if role == "the owner":
        cluster.new_owner(node)
    for connection in stay:
        connection.fence()
        assert {message["type"] for message in connection.heard} <= {"welcome", "ack"}


def test_a_client_that_was_not_welcomed_yet_is_told_by_the_close_reason_alone(make_cluster, make_world):
    cluster = make_cluster()
    edge = cluster.edges()[0]
    # The owner does not hear of the client.
    cluster.owner().link_hop.hole()
    client = make_world(edge).connect("100", "d", welcome=False)
    edge.terminate()
    assert client.close_code() == 1001
    assert client.heard == []
    assert "reconnectAfterMs=" in client.socket.close_reason
    assert edge.exit_code(15) == 0


def test_the_clients_of_an_owner_that_was_deposed_learn_when_to_reconnect(make_cluster, make_world):
    cluster = make_cluster()
    owner = cluster.owner()
    own = [make_world(owner).connect(str(user), "d") for user in range(100, 110)]
    cluster.settled()
    owner.suspend()
    cluster.new_owner(owner)
    owner.resume()
    assert sorted((pause - 500) // 100 for pause in pauses(own)) == list(range(10))
    cluster.ready()


def test_an_owner_that_was_deposed_does_not_wait_long_for_idle_connections(make_cluster):
    cluster = make_cluster()
    owner = cluster.owner()

    def logged(text: str) -> datetime.datetime | None:
        lines = [line for line in owner.errors().splitlines() if text in line]
        return datetime.datetime.fromisoformat(lines[0].split()[0]) if lines else None

    with httpx.Client(trust_env=False) as idle:
        idle.get(owner.url)
        owner.suspend()
        cluster.new_owner(owner)
        owner.resume()
        began = eventually(lambda: logged("the process begins anew"))
    # It waits for one second, and a loaded machine may be late. A server that stops waits for five seconds.
    assert began - logged("this node begins anew") < datetime.timedelta(seconds=4)
    cluster.ready()

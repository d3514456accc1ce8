"""Limits of several nodes: what one client, one stranger or one node too many may take from the others."""

import socket
import threading

import pytest
import samples
from cluster import Node
from raw_socket import TEXT, RawSocket
from test_nodes import WRONG_PROOF, hello
from test_take_over import TAKE_OVER_SECONDS
from waiting import eventually

UNREACHABLE = "this node cannot reach the owner of the calls at its --node-address"


# Without an owner


def test_a_client_that_floods_an_edge_without_an_owner_takes_no_room_from_others(make_cluster, make_world):
    cluster = make_cluster()
    owner, edge = cluster.owner(), cluster.edges()[0]
    world = make_world(edge)
    others = [world.connect(f"other-{number}") for number in range(5)]
    floods = [RawSocket(edge.port, world.token("flood"), path=f"/ws?device=d{number}") for number in range(4)]
    strangers = [RawSocket(edge.port, path="/socket.io/?EIO=4&transport=websocket") for _ in range(4)]
    cluster.settled()
    owner.suspend()
    eventually(lambda: edge.figure("links") == 0)
    frame = RawSocket._framed(TEXT, b'{"type":"message","to":"x","id":"f","body":"%s"}' % (b"x" * 60_000))

    def flood(client: RawSocket):
        try:
            for _ in range(200):
                client.socket.sendall(frame)
        except OSError:
            pass

    threads = [threading.Thread(target=flood, args=(client,)) for client in floods + strangers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    marks = [other.send(type="sync", calls={}) for other in others]
    assert edge.figure("waiting_refused_total") >= len(floods)
    for other, mark in zip(others, marks, strict=True):
        other.expect(type="ack", id=mark, seconds=TAKE_OVER_SECONDS)
    assert edge.figure("waiting_bytes") == 0
    owner.resume()
    for client in floods + strangers:
        client.close()


# An owner that cannot be reached


@pytest.mark.timeout(90)
def test_an_edge_that_cannot_reach_the_owner_warns_once_and_says_where(make_cluster):
    cluster = make_cluster(nodes=2)
    owner, edge = cluster.owner(), cluster.edges()[0]
    assert UNREACHABLE not in edge.usual_log()
    linked = edge.usual_log().count("linked to the owner of the calls")
    for count in (1, 2):
        owner.link_hop.hole()
        eventually(lambda count=count: edge.usual_log().count(UNREACHABLE) == count, 12, edge.usual_log)
        line = next(line for line in edge.usual_log().splitlines() if UNREACHABLE in line)
        assert f"node.address=127.0.0.1:{owner.link_hop.port}" in line and " node=" in line
        assert edge.readiness() == (503, "no owner")
        owner.link_hop.heal()
        cluster.ready()
        assert edge.usual_log().count("linked to the owner of the calls") == linked + count
    assert edge.usual_log().count(UNREACHABLE) == 2


# One node too many


@pytest.mark.timeout(120)
def test_a_ninth_node_is_refused_says_why_and_joins_when_there_is_room(make_cluster, make_world):
    cluster = make_cluster(nodes=8)
    ninth = Node(cluster, 8, True)
    cluster.nodes.append(ninth)
    ninth.start()
    eventually(lambda: ninth.readiness() == (503, "too many nodes"), 8, lambda: str(ninth.readiness()))
    eventually(lambda: "the owner of the calls has no place for this node" in ninth.usual_log(), 8, ninth.usual_log)
    assert ninth.usual_log().count("the owner of the calls has no place for this node") == 1
    assert "lost" not in ninth.usual_log() and UNREACHABLE not in ninth.usual_log()
    eventually(lambda: "a node was refused" in cluster.owner().usual_log(), 8, cluster.owner().usual_log)
    assert cluster.owner().usual_log().count("a node was refused") == 1
    one, other = (make_world(node).connect(user) for node, user in zip(cluster.edges()[:2], ("11", "10"), strict=True))
    one.ring(other, "c-1")
    assert other.expect(type="offer")["sdp"] == samples.OFFER
    leaving = next(node for node in cluster.edges() if node is not ninth)
    leaving.terminate()
    assert leaving.exit_code(15) == 0
    eventually(lambda: ninth.readiness()[0] == 200, 8, lambda: str(ninth.readiness()))


# Strangers


def test_silent_strangers_of_one_address_keep_no_node_out(make_cluster):
    """They have connected before a node does, and as soon as one of them is cut off, others are there."""
    cluster = make_cluster(nodes=2)
    owner, edge = cluster.owner(), cluster.edges()[0]
    ended = threading.Event()

    def occupy(number: int):
        while not ended.is_set():
            try:
                with socket.create_connection(
                    ("127.0.0.1", owner.node_port), timeout=3, source_address=(f"127.0.0.{2 + number % 4}", 0)
                ) as stranger:
                    stranger.sendall((b"", hello(), hello() + WRONG_PROOF)[number % 3])
                    while stranger.recv(4096):
                        pass
            except OSError:
                pass

    threads = [threading.Thread(target=occupy, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            owner.link_hop.cut()
            eventually(lambda: edge.readiness()[0] == 200 and edge.figure("links") == 1, 8, cluster.told)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert cluster.owner() is owner

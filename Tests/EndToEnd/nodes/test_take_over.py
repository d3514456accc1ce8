"""Nodes that end, stand still or are cut off: the calls continue at another owner."""

import time

import pytest
import samples
from cluster import TAKE_OVER_SECONDS
from commands import run
from connection import Connection
from push_services import pushed, register
from raw_socket import TEXT, RawSocket
from waiting import eventually
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from world import push_options

LEASE_SECONDS = 3
# A signal to an owner that has been deposed and does not know it.
LATE = {"type": "ice", "callId": "c-2", "candidate": samples.candidate(77), "id": "late"}


class Scene:
    """A caller and a callee at two edges, and a client without a call at each node."""

    def __init__(self, cluster, make_world, call_id="c-1"):
        self.cluster, self.call_id = cluster, call_id
        self.owner = cluster.owner()
        self.worlds = [make_world(node) for node in cluster.edges()]
        self.of_owner = make_world(self.owner)
        self.taro = self.worlds[0].connect("11", "phone-11")
        self.hanako = self.worlds[1].connect("10", "phone-10")
        self.idle = [world.connect(f"idle-{number}") for number, world in enumerate(self.worlds)]
        self.at_owner = self.of_owner.connect("12", "phone-12")

    def ring(self):
        self.taro.ring(self.hanako, self.call_id)
        self.hanako.expect(type="offer", callId=self.call_id)
        self.hanako.ask(type="ringing", callId=self.call_id)
        self.taro.expect(type="ringing", callId=self.call_id)
        self.cluster.settled()

    def answer(self):
        self.hanako.ask(type="answer", callId=self.call_id, sdp=samples.ANSWER)
        assert self.taro.expect(type="answer", callId=self.call_id)["sdp"] == samples.ANSWER
        self.cluster.settled()

    def talk(self, first: int, count: int = 5) -> list[int]:
        """Sends candidates both ways; returns the values of `seq` of the caller's."""
        seqs = []
        for number in range(first, first + count):
            seqs.append(self.taro.ask(type="ice", callId=self.call_id, candidate=samples.candidate(number))["seq"])
            self.hanako.expect(type="ice", candidate=samples.candidate(number))
            self.hanako.ask(type="ice", callId=self.call_id, candidate=samples.candidate(1_000 + number))
            self.taro.expect(type="ice", candidate=samples.candidate(1_000 + number))
        return seqs

    def end(self):
        self.taro.ask(type="end", callId=self.call_id)
        assert self.hanako.expect(type="call", callId=self.call_id, state="ended")["reason"] == "hangup"

    def reconnect(self):
        self.taro = self.worlds[0].connect("11", "phone-11")
        self.hanako = self.worlds[1].connect("10", "phone-10")

    def stayed_open(self):
        """Fails unless the clients at the edges have the connections that they had at the beginning."""
        for connection in (self.taro, self.hanako, *self.idle):
            connection.fence()
            assert [message["type"] for message in connection.heard].count("welcome") == 1
            assert not [message for message in connection.heard if message["type"] == "draining"]

    def explained(self, *words: str) -> str:
        """Waits until `ringline explain` shows the call with these words; returns its output."""
        result = None

        def is_explained() -> bool:
            nonlocal result
            result = run("explain", self.call_id, *self.cluster.store_options)
            return result.returncode == 0 and all(word in result.stdout for word in words)

        eventually(is_explained, 8, lambda: result.stdout + result.stderr)
        return result.stdout


@pytest.fixture
def scene(make_cluster, make_world) -> Scene:
    return Scene(make_cluster(), make_world)


def resent(world, user: str, device: str, frame: dict, seconds: float = TAKE_OVER_SECONDS) -> tuple[Connection, dict]:
    """Connects anew and resends a signal under its `id`; returns the connection and the reply."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            connection = world.connect(user, device)
            return connection, connection.reply_to(connection.send(**frame))
        except (AssertionError, OSError, InvalidHandshake, ConnectionClosed):
            assert time.monotonic() < deadline, f"{frame['id']} was not answered"


def assert_no_number_is_given_twice(*connections):
    """Fails if two different signals of a call have the same `seq`."""
    names: dict[tuple, str] = {}
    for connection in connections:
        for message in connection.heard:
            if message["type"] not in ("ack", "error", "call") and "seq" in message:
                place = (message["callId"], message["epoch"], message["seq"])
                assert names.setdefault(place, message["id"]) == message["id"], place


# The owner is killed


def test_the_owner_is_killed_while_it_rings(scene):
    scene.ring()
    scene.owner.kill()
    # The system refuses new links, so the process is gone, and nobody waits for the end of its lease.
    scene.cluster.new_owner(scene.owner, LEASE_SECONDS - 1)
    scene.answer()
    scene.talk(0)
    scene.stayed_open()
    scene.end()
    shown = scene.explained("ended: hangup", "answer")
    ladder, verdict = shown.split("Verdict:")
    owner = scene.cluster.owner()
    address = f"127.0.0.1:{owner.link_hop.port}"
    assert f"taken over by {address}" in ladder and "restarted" not in ladder
    assert "10 answered on phone-10" in verdict and f"was taken over by the node {address}" in verdict
    assert_no_number_is_given_twice(scene.taro, scene.hanako)


def test_an_answer_in_the_very_moment_of_the_kill_is_acked_once(scene):
    """The answer is confirmed, or its connection is closed with 1001 and the client sends it again."""
    scene.ring()
    frame = {"type": "answer", "callId": scene.call_id, "sdp": samples.ANSWER, "id": "the-answer"}
    scene.owner.kill()
    scene.hanako.send(**frame)
    try:
        reply = scene.hanako.wait(lambda message: message.get("id") == "the-answer", TAKE_OVER_SECONDS)
    except AssertionError:
        assert scene.hanako.close_code() == 1001
        scene.hanako, reply = resent(scene.worlds[1], "10", "phone-10", frame)
    assert reply["type"] == "ack"
    assert scene.taro.expect(type="answer", seconds=TAKE_OVER_SECONDS)["seq"] == reply["seq"]
    scene.end()
    assert len([message for message in scene.taro.heard if message["type"] == "answer"]) == 1


def test_the_owner_is_killed_while_a_call_is_answered(scene):
    scene.ring()
    scene.answer()
    before = scene.talk(0)
    scene.cluster.settled()
    scene.owner.kill()
    scene.cluster.new_owner(scene.owner)
    after = scene.talk(10)
    assert after[0] > before[-1]
    scene.stayed_open()
    scene.end()
    assert_no_number_is_given_twice(scene.taro, scene.hanako)
    # A fetch shows a device the signals of its peer.
    for world, user, side in zip(scene.worlds, ("11", "10"), (1_000, 0), strict=True):
        signals = world.rest(user, device=f"phone-{user}").log(scene.call_id)["signals"]
        kept = [signal["candidate"] for signal in signals if signal["type"] == "ice"]
        assert kept == [samples.candidate(side + number) for number in (*range(5), *range(10, 15))]


def test_a_killed_owner_comes_back_as_an_edge(scene, make_world):
    scene.ring()
    scene.owner.kill()
    new = scene.cluster.new_owner(scene.owner)
    scene.owner.start()
    scene.cluster.ready()
    assert scene.cluster.owner() is new
    back = make_world(scene.owner).connect("10", "tablet")
    assert back.expect(type="offer", callId=scene.call_id)["sdp"] == samples.OFFER
    scene.answer()
    back.expect(type="call", state="ended", reason="answered_elsewhere")


def test_a_push_goes_on_under_its_id_at_the_new_owner(apns, make_cluster, make_world):
    cluster = make_cluster(*push_options(apns))
    scene = Scene(cluster, make_world)
    device = register(scene.worlds[0], "13", deviceId="iphone-13")
    apns.script(device, [{"status": 503, "reason": "ServiceUnavailable"}] * 2)
    scene.taro.ring("13", "c-2")
    eventually(lambda: apns.pushes(device))
    scene.owner.kill()
    cluster.new_owner(scene.owner)
    eventually(lambda: any(push["accepted"] for push in apns.pushes(device)), 15, lambda: str(apns.pushes(device)))
    pushes = apns.pushes(device)
    assert len({push["headers"]["apns-id"] for push in pushes}) == 1
    assert len({push["payload"]["callUUID"] for push in pushes}) == 1
    # The push's capability was made by the old owner.
    woken = scene.worlds[1].rest(None)
    woken.http.headers["Authorization"] = f"Ring {pushes[0]['payload']['act']}"
    assert woken.log("c-2")["offer"]["sdp"] == samples.OFFER


# The owner stops


def test_an_owner_that_is_stopped_releases_the_calls_without_a_gap(scene):
    scene.ring()
    scene.answer()
    before = scene.talk(0)
    scene.cluster.settled()
    began = time.monotonic()
    scene.owner.terminate()
    new = scene.cluster.new_owner(scene.owner, LEASE_SECONDS)
    assert time.monotonic() - began < LEASE_SECONDS - 1, "the lease was waited for"
    after = scene.talk(10)
    # Each of the caller's candidates is followed by one of the callee's.
    assert after[0] == before[-1] + 2
    scene.stayed_open()
    assert scene.at_owner.close_code() == 1001
    assert scene.owner.exit_code() == 0
    assert "did not shut down cleanly" not in new.errors()
    scene.end()


def test_in_a_rolling_restart_a_call_goes_on(scene, make_world):
    scene.ring()
    scene.answer()
    world = make_world(scene.cluster)
    for number, node in enumerate(scene.cluster.nodes):
        was_owner = node is scene.cluster.owner()
        node.terminate()
        assert node.exit_code(15) == 0
        if was_owner:
            scene.cluster.new_owner(node)
        node.start()
        scene.cluster.ready()
        # The clients of this node were told to reconnect, and the others may.
        scene.taro, scene.hanako = world.connect("11", "phone-11"), world.connect("10", "phone-10")
        scene.talk(10 * number)
    scene.end()


# An edge is killed


def test_a_client_of_a_killed_edge_reconnects_elsewhere_and_replays(scene):
    scene.ring()
    scene.worlds[1].server.kill()
    assert scene.hanako.close_code() == 1006
    scene.hanako = scene.worlds[0].connect("10", "phone-10")
    assert scene.hanako.expect(type="offer", callId=scene.call_id)["sdp"] == samples.OFFER
    scene.answer()
    scene.talk(0)
    scene.end()
    assert scene.at_owner.fence() == []
    assert_no_number_is_given_twice(scene.taro, scene.hanako)


def test_a_ring_at_a_killed_edge_goes_on_by_push(apns, make_cluster, make_world):
    """The device has not responded to the ping that followed the offer, so nobody knows whether it rings."""
    scene = Scene(make_cluster(*push_options(apns), "--probe-timeout", 20), make_world)
    edge = scene.worlds[1]
    device = register(edge, "13", deviceId="phone-13")
    suspended = RawSocket(edge.server.port, edge.token("13"), path="/ws?device=phone-13")
    scene.taro.ring("13", scene.call_id)
    while b"offer" not in suspended.read_until(TEXT):
        pass
    assert not apns.pushes(device)
    edge.server.kill()
    assert pushed(apns, device, 4)["payload"]["callId"] == scene.call_id
    back = scene.of_owner.connect("13", "phone-13")
    back.expect(type="offer", callId=scene.call_id)
    back.ask(type="answer", callId=scene.call_id, sdp=samples.ANSWER)
    scene.taro.expect(type="answer", callId=scene.call_id)
    scene.taro.ask(type="end", callId=scene.call_id)
    assert len(apns.pushes(device)) == 1


# The owner stands still, or is cut off


def test_an_owner_that_stood_still_acknowledges_nothing_and_comes_back_as_an_edge(scene):
    scene.ring()
    scene.at_owner.ring("13", "c-2")
    scene.cluster.settled()
    pid, began = scene.owner.pid, time.monotonic()
    scene.owner.suspend()
    scene.at_owner.send(**LATE)
    new = scene.cluster.new_owner(scene.owner)
    scene.answer()
    # The old owner goes on as if nothing had happened, five seconds later.
    eventually(lambda: time.monotonic() - began >= 5)
    scene.owner.resume()
    assert scene.at_owner.close_code() == 1001
    assert not [message for message in scene.at_owner.heard if message.get("id") == "late"]
    scene.cluster.ready()
    assert scene.cluster.owner() is new and scene.owner.pid == pid
    _, reply = resent(scene.of_owner, "12", "phone-12", LATE)
    assert reply["type"] == "ack"
    scene.talk(0)
    scene.stayed_open()
    scene.end()


def test_a_node_that_stood_still_for_a_moment_keeps_its_link_and_still_notices_its_end(scene):
    scene.ring()
    for node in scene.cluster.edges():
        node.suspend()
        # A node takes it that it stood still if its timer is 0.5 s late, and the timer is due within 0.5 s. A link may be
        # silent for 1.5 s.
        time.sleep(1.05)
        node.resume()
    scene.stayed_open()
    scene.owner.link_hop.hole()
    for world in scene.worlds:
        eventually(lambda world=world: world.server.readiness() == (503, "no owner"))
    scene.owner.link_hop.heal()
    scene.cluster.ready()


def test_an_owner_that_is_cut_off_from_the_database_is_replaced_when_its_lease_has_ended(scene):
    scene.ring()
    scene.at_owner.ring("13", "c-2")
    scene.cluster.settled()
    began = time.monotonic()
    scene.owner.database_hop.hole()
    scene.at_owner.send(**LATE)
    new = scene.cluster.new_owner(scene.owner)
    assert time.monotonic() - began > LEASE_SECONDS - 1.5, "the lease was not waited for"
    assert scene.at_owner.close_code(TAKE_OVER_SECONDS) == 1001
    assert not [message for message in scene.at_owner.heard if message.get("id") == "late"]
    scene.answer()
    scene.owner.database_hop.heal()
    scene.cluster.ready()
    assert scene.cluster.owner() is new
    scene.talk(0)
    scene.stayed_open()
    scene.end()


def test_an_edge_that_is_cut_off_from_the_database_serves_on(scene):
    scene.ring()
    for world in scene.worlds:
        world.server.database_hop.hole()
    scene.answer()
    scene.talk(0)
    # The other nodes have a sound link, so nobody claims.
    began = time.monotonic()
    eventually(lambda: time.monotonic() - began > LEASE_SECONDS + 1)
    assert scene.cluster.owner() is scene.owner
    scene.talk(10)
    scene.stayed_open()
    scene.end()


def test_edges_whose_links_were_reset_attach_to_the_same_owner(scene):
    scene.ring()
    scene.owner.link_hop.cut()
    scene.cluster.ready()
    assert scene.cluster.owner() is scene.owner
    scene.reconnect()
    scene.answer()
    scene.talk(0)
    scene.end()


def test_edges_that_are_cut_off_from_the_owner_wait_for_it(scene):
    """The owner renews its lease, so no other node claims."""
    scene.ring()
    epoch = scene.owner.figure("epoch")
    scene.owner.link_hop.hole()
    for world in scene.worlds:
        eventually(lambda world=world: world.server.readiness() == (503, "no owner"))
    scene.at_owner.ring("13", "c-2")
    assert scene.owner.readiness()[0] == 200
    scene.owner.link_hop.heal()
    scene.cluster.ready()
    assert scene.cluster.owner() is scene.owner and scene.owner.figure("epoch") == epoch
    scene.reconnect()
    scene.answer()
    scene.talk(0)
    scene.end()


@pytest.mark.timeout(90)
def test_without_an_owner_a_node_is_not_ready_and_closes_its_sockets(scene):
    edges = [world.server for world in scene.worlds]
    for node in edges:
        node.database_hop.hole()
    scene.cluster.settled()
    scene.owner.kill()
    for node in edges:
        eventually(lambda node=node: node.readiness() == (503, "no owner"), 5, lambda node=node: str(node.readiness()))
    for connection in scene.idle:
        assert connection.close_code(12) == 1001
    for node in edges:
        node.database_hop.heal()
    scene.cluster.ready()
    assert scene.worlds[0].connect("11", "phone-11").fence() == []

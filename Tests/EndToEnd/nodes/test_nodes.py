"""Several nodes: a call's devices are on any of them, and one of the nodes owns the calls.

Worlds are at one node each; `cluster.proxy` gives each new connection to the next node.
"""

import itertools
import os
import socket

import pytest
import samples
from push_services import pushed, register
from sio_app import App
from test_long_poll import Polling
from test_mixed_calls import WAYS, set_up_and_hang_up
from test_monitoring import sample
from test_socketio import get, joined, post
from waiting import eventually
from world import push_options


@pytest.fixture
def cluster(make_cluster):
    return make_cluster()


@pytest.fixture
def worlds(cluster, make_world):
    """The worlds of the two edges and of the owner."""
    return [make_world(node) for node in (*cluster.edges(), cluster.owner())]


@pytest.fixture
def push_cluster(apns, make_cluster, make_world):
    """As `worlds`, and the fake of APNs and the cluster that pushes to it."""
    cluster = make_cluster(*push_options(apns))
    return [make_world(node) for node in (*cluster.edges(), cluster.owner())], apns, cluster


# Calls


def test_one_node_owns_the_calls_and_every_node_is_ready(cluster):
    assert [node.figure("owner") for node in cluster.nodes].count(1) == 1
    assert len({node.figure("epoch") for node in cluster.nodes}) == 1
    for node in cluster.nodes:
        assert node.readiness()[0] == 200
        assert node.figure("ready") == 1
        assert node.figure("links") == (2 if node is cluster.owner() else 1)
        assert node.figure("waiting_bytes") == 0
    assert sum(node.figure("takeovers_total") for node in cluster.nodes) == 1


def test_a_call_whose_caller_callee_and_owner_are_on_three_nodes(worlds):
    a, b, owner = worlds
    taro, hanako = a.connect("11", "phone-11"), b.connect("10", "phone-10")
    ack = taro.ring(hanako, "c-1", displayName="Taro")
    offer = hanako.expect(type="offer", callId="c-1")
    assert (offer["sdp"], offer["seq"]) == (samples.OFFER, ack["seq"])
    hanako.ask(type="ringing", callId="c-1")
    taro.expect(type="ringing", callId="c-1")
    taro.ask(type="ice", callId="c-1", candidate=samples.candidate(0))
    assert hanako.expect(type="ice")["candidate"] == samples.candidate(0)
    hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    assert taro.expect(type="answer", callId="c-1")["sdp"] == samples.ANSWER
    assert taro.expect(type="call", state="answered")["answeredBy"] == {"user": "10", "device": "phone-10"}
    for number in range(1, 20):
        taro.send(type="ice", callId="c-1", candidate=samples.candidate(number))
        hanako.send(type="ice", callId="c-1", candidate=samples.candidate(100 + number))
    for number in range(1, 20):
        assert hanako.expect(type="ice")["candidate"] == samples.candidate(number)
        assert taro.expect(type="ice")["candidate"] == samples.candidate(100 + number)
    taro.ask(type="connected", callId="c-1")
    hanako.expect(type="connected", callId="c-1")
    hanako.ask(type="end", callId="c-1")
    assert taro.expect(type="call", state="ended")["reason"] == "hangup"

    logs = [world.rest("11", device="phone-11").log("c-1") for world in worlds]
    assert logs[0] == logs[1] == logs[2] and len(logs[0]["signals"]) > 20
    seqs = [signal["seq"] for signal in logs[0]["signals"]]
    assert all(one < other for one, other in itertools.pairwise(seqs))
    for user in ("10", "11"):
        histories = [world.rest(user).get("/api/calls").json() for world in worlds]
        assert histories[0] == histories[1] == histories[2]
        assert [(call["callId"], call["reason"]) for call in histories[0]] == [("c-1", "hangup")]


def test_every_pairing_of_clients_calls_from_one_node_to_another(worlds):
    for number, (caller, callee) in enumerate(itertools.product(WAYS, WAYS)):
        one, other = [worlds[(number + place) % 3] for place in (0, 1)]
        set_up_and_hang_up(caller(one, 100 + 2 * number), callee(other, 101 + 2 * number))


def test_an_offer_by_rest_at_one_node_is_answered_at_another_and_ended_at_the_third(worlds):
    a, b, owner = worlds
    taro, hanako = a.rest("11"), b.rest("10")
    assert taro.signal("offer", "c-1", sdp=samples.OFFER, to="10").status_code == 200
    polling = Polling(taro, "c-1", since=taro.log("c-1")["next"], wait=20)
    assert hanako.log("c-1")["offer"]["sdp"] == samples.OFFER
    assert hanako.signal("answer", "c-1", sdp=samples.ANSWER).status_code == 200
    assert polling.result()["answer"]["sdp"] == samples.ANSWER
    assert owner.rest("11").signal("end", "c-1").status_code == 200
    assert hanako.log("c-1")["state"] == "ended"


def test_of_two_devices_on_two_nodes_that_answer_at_once_one_wins(worlds):
    a, b, owner = worlds
    taro, phone, tablet = owner.connect("11"), a.connect("10", "phone"), b.connect("10", "tablet")
    for number in range(10):
        call_id = f"c-{number}"
        taro.ring("10", call_id)
        marks = {}
        for device in (phone, tablet):
            device.expect(type="offer", callId=call_id)
        for device in (phone, tablet):
            sdp = samples.changed(samples.ANSWER, device.device)
            marks[device] = device.send(type="answer", callId=call_id, sdp=sdp)
        replies = {device: device.reply_to(mark) for device, mark in marks.items()}
        winners = [device for device, reply in replies.items() if reply["type"] == "ack"]
        assert len(winners) == 1, replies
        assert {reply.get("code") for reply in replies.values()} == {None, "already_answered"}
        answered = taro.expect(type="call", callId=call_id, state="answered")
        assert answered["answeredBy"]["device"] == winners[0].device
        taro.ask(type="end", callId=call_id)
        winners[0].expect(type="call", callId=call_id, state="ended")


def test_an_offline_callee_is_pushed_once_and_answers_at_any_node(push_cluster):
    (a, b, owner), fake, _ = push_cluster
    device = register(a, deviceId="iphone-h")
    taro = b.connect("11")
    taro.ring("10", "c-1", sdp=samples.VIDEO_OFFER)
    act = pushed(fake, device)["payload"]["act"]
    for world in (a, b, owner):
        woken = world.rest(None)
        woken.http.headers["Authorization"] = f"Ring {act}"
        assert woken.log("c-1")["offer"]["sdp"] == samples.VIDEO_OFFER
    hanako = a.connect("10", "iphone-h")
    hanako.expect(type="offer", callId="c-1")
    hanako.ask(type="answer", callId="c-1", sdp=samples.VIDEO_ANSWER)
    taro.expect(type="answer")
    taro.ask(type="end", callId="c-1")
    hanako.expect(type="call", state="ended")
    assert len(fake.pushes(device)) == 1


# Without stickiness


@pytest.mark.parametrize("way", ["eio4-polling", "eio3-polling"])
def test_socketio_clients_that_poll_call_each_other_through_the_balancer(cluster, make_world, way):
    world = make_world(cluster)
    taro, hanako = App(world, 11, way), App(world, 10, way)
    taro.call(10)
    hanako.expect("offer")
    hanako.answer(11)
    assert taro.expect("answer")["sdp"] == samples.ANSWER
    for number in range(5):
        taro.ice(10, samples.candidate(number))
    heard = [hanako.expect("ice")["candidate"] for _ in range(5)]
    assert sorted(heard, key=str) == [samples.candidate(number) for number in range(5)]
    hanako.hang_up(11)
    taro.expect("call-ended")


def test_each_request_of_a_polling_session_may_go_to_another_node(cluster, make_world):
    world = make_world(cluster)
    sid = joined(world)
    taro = world.connect("12")
    for number in range(6):
        taro.ask(type="message", to="11", body=f"hello {number}")
        # Each of these requests has a connection of its own, so it comes to another node than the one before it.
        assert f"hello {number}" in get(world, sid=sid).text
        assert post(world, sid, f'42["message",{{"to":12,"body":"reply {number}"}}]').text == "ok"
        assert taro.expect(type="message")["body"] == f"reply {number}"


def test_a_client_continues_at_the_next_node(cluster, make_world):
    world = make_world(cluster)
    taro, hanako = world.call("c-1")
    for number in range(6):
        hanako.close()
        taro.ask(type="ice", callId="c-1", candidate=samples.candidate(number))
        hanako = world.connect("10", "phone-10")
        hanako.expect(type="ice", candidate=samples.candidate(number))
    hanako.ask(type="end", callId="c-1")
    taro.expect(type="call", state="ended")


# Rooms, texts and presence


def test_rooms_and_texts_reach_the_other_nodes(worlds):
    claim = {"rooms": ["room:tea"]}
    members = [
        world.connect(user, user, claims=claim) for world, user in zip(worlds, ("11", "10", "12"), strict=True)
    ]
    for index, connection in enumerate(members):
        connection.ask(type="join", room="room:tea")
        for other in members[:index]:
            assert other.expect(type="peer", user=connection.user)["present"] is True
    members[0].ask(type="leave", room="room:tea")
    for other in members[1:]:
        other.expect(type="peer", user="11", present=False)
    for one, other in itertools.permutations(members, 2):
        one.ask(type="message", to=other.user, body=f"from {one.user}")
        assert other.expect(type="message")["body"] == f"from {one.user}"


def test_presence_is_the_same_on_every_node(worlds):
    a, b, owner = worlds
    taro, hanako = a.connect("11"), b.connect("10", "h")
    taro.ask(type="message", to="10", body="a text makes the two users contacts")
    observers = [world.connect("11", f"observer-{number}") for number, world in enumerate(worlds)]
    for observer in observers:
        assert observer.ask(type="presence", userId="10")["online"] is True
        observer.expect(type="presence", online=True)
    hanako.close()
    for observer in observers:
        observer.expect(type="presence", userId="10", online=False)
    owner.connect("10", "h")
    for observer in observers:
        observer.expect(type="presence", userId="10", online=True)


def test_a_device_that_connects_to_another_node_replaces_its_connection(worlds):
    a, b, _ = worlds
    before = a.connect("11", "phone")
    after = b.connect("11", "phone")
    assert before.close_code() == 4409
    assert after.fence() == []


# Requests and an owner that ends


def polls_under_way(world, user: str) -> list[Polling]:
    """Returns four long polls that the owner has; a user may have four for one call, so a fifth one is refused."""
    since = world.rest(user).log("c-1")["next"]
    polls = [Polling(world.rest(user, allow_5xx=True), "c-1", since=since, wait=25) for _ in range(5)]
    eventually(lambda: [poll.response.status_code for poll in polls if poll.response is not None] == [429])
    return [poll for poll in polls if poll.response is None]


def test_requests_under_way_when_the_owner_dies_get_503_and_can_be_repeated(cluster, make_world):
    """One of the two edges becomes the owner."""
    owner, worlds = cluster.owner(), [make_world(node) for node in cluster.edges()]
    worlds[0].connect("11").ring("10", "c-1")
    polls = [(world, user, polls_under_way(world, user)) for world, user in zip(worlds, ("11", "10"), strict=True)]
    owner.kill()
    new = cluster.new_owner(owner)
    for world, user, waiting in polls:
        place = "the new owner" if world.server is new else "an edge"
        for poll in waiting:
            poll.thread.join(5)
            assert poll.response is not None, f"a request at {place} still waits"
            assert poll.response.status_code == 503
            assert poll.response.headers["Retry-After"] == "1"
        again = world.rest(user, allow_5xx=True)
        response = eventually(lambda again=again: (it := again.get("/api/calls/signal/c-1")).status_code == 200 and it)
        assert response.json()["state"] == "ringing"


# Strangers at the port for nodes


def read_to_end(connection: socket.socket) -> bytes:
    """Reads until the node has closed the connection."""
    heard = b""
    try:
        while more := connection.recv(65536):
            heard += more
    except ConnectionResetError:
        pass
    return heard


def field(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def frame(kind: int, fields: bytes) -> bytes:
    return field(bytes([kind]) + fields)


def hello(name: bytes = b"stranger", is_owner: bool = False) -> bytes:
    """The first frame of a node: two versions, its id, the newest epoch that it knows, and a challenge."""
    epoch = (2**40).to_bytes(8, "big")
    return frame(1, b"\x00\x01\x00\x01" + field(name) + epoch + bytes([is_owner]) + field(os.urandom(32)))


WRONG_PROOF = frame(2, field(bytes(32)))
STRANGERS = {
    "silence": b"",
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "noise": os.urandom(4096),
    "a huge length": b"\xff\xff\xff\xff" + bytes(4096),
    "an empty frame": bytes(4),
    "half a hello": hello()[:20],
    "a hello alone": hello(),
    "a wrong proof": hello() + WRONG_PROOF,
    "an owner with a wrong proof": hello(is_owner=True) + WRONG_PROOF,
    "a proof without a hello": WRONG_PROOF,
    "events without a proof": hello() + frame(7, bytes(4096)),
}


def test_a_stranger_at_the_port_for_nodes_is_closed_and_changes_nothing(cluster, worlds):
    epochs = [node.figure("epoch") for node in cluster.nodes]
    for name, sent in STRANGERS.items():
        for node in cluster.nodes:
            with socket.create_connection(("127.0.0.1", node.node_port), timeout=8) as stranger:
                stranger.sendall(sent)
                assert len(read_to_end(stranger)) < 1_000, name
    a, b, _ = worlds
    taro, hanako = a.connect("11"), b.connect("10")
    taro.ring(hanako, "c-1")
    hanako.expect(type="offer")
    assert [node.figure("epoch") for node in cluster.nodes] == epochs
    assert cluster.owner().figure("links") == 2


def test_a_thousand_strangers_neither_disturb_the_nodes_nor_fill_memory_or_log(cluster, worlds):
    owner, (a, b, _) = cluster.owner(), worlds
    taro, hanako = a.connect("11"), b.connect("10")
    taro.ring(hanako, "c-1")
    hanako.expect(type="offer")
    memory, lines = sample(owner, "process_resident_memory_bytes"), len(owner.usual_log().splitlines())
    strangers = []
    try:
        for number in range(1_000):
            strangers.append(socket.create_connection(("127.0.0.1", owner.node_port), timeout=15))
            strangers[-1].sendall((b"", hello(), hello() + WRONG_PROOF, os.urandom(2_000))[number % 4])
            if number % 100 == 0:
                taro.ask(type="ice", callId="c-1", candidate=samples.candidate(number))
                hanako.expect(type="ice", candidate=samples.candidate(number))
        for stranger in strangers:
            assert len(read_to_end(stranger)) < 1_000
    finally:
        for stranger in strangers:
            stranger.close()
    hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    taro.expect(type="answer")
    assert owner.figure("links") == 2
    assert sample(owner, "process_resident_memory_bytes") - memory < 16_000_000
    assert len(owner.usual_log().splitlines()) - lines < 100


def test_a_node_of_another_database_does_not_get_in(make_cluster, make_world):
    """Its key is another one, because the key comes from the database."""
    cluster, other = make_cluster(nodes=2), make_cluster(nodes=2)
    stray, (owner, port) = other.edges()[0], (cluster.owner(), cluster.owner().node_port)
    links = other.owner().link_hop
    links.targets = lambda: [port]
    links.cut()
    eventually(lambda: stray.figure("links") == 0)
    taro, hanako = (make_world(node).connect(user) for node, user in zip(cluster.nodes, ("11", "10"), strict=True))
    taro.ring(hanako, "c-1")
    hanako.expect(type="offer")
    assert owner.figure("links") == 1

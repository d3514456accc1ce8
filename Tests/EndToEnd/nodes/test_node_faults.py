"""Faults of nodes, links and the database under traffic over all nodes: no acked signal is lost, and one device answers.

The database has a synchronous standby. 50 cycles of each fault, with the seed and the times:

    RINGLINE_FAULTS=50 .build/venv/bin/python -m pytest -c Tests/EndToEnd/pytest.ini -s \\
        Tests/EndToEnd/nodes/test_node_faults.py

RINGLINE_FAULT_KINDS=kill_owner,kill_edge limits the faults, and RINGLINE_FAULT_SEED sets the seed.
"""

import asyncio
import collections
import os
import random
import time

import pytest
from cluster import TAKE_OVER_SECONDS, Cluster
from node_chat import Chat
from node_traffic import Call, Phone, PushedCall
from replicated_postgres import ReplicatedPostgres
from rest import Rest
from tokens import mint
from waiting import eventually
from world import push_options

FAULTS = int(os.environ.get("RINGLINE_FAULTS", "1"))
SEED = int(os.environ.get("RINGLINE_FAULT_SEED", "14"))
CALLS = 4


# The faults; each returns when the cause is gone, and is followed by a wait until all nodes are ready.


def kill_owner(cluster: Cluster, _):
    owner = cluster.owner()
    owner.kill()
    cluster.new_owner(owner)
    owner.start()


def kill_edge(cluster: Cluster, chance: random.Random):
    edge = chance.choice(cluster.edges())
    edge.kill()
    time.sleep(chance.uniform(0, 1))
    edge.start()


def kill_primary(cluster: Cluster, chance: random.Random):
    """Kills the primary, and promotes its standby."""
    cluster.postgres.fail_over(after=chance.choice([0, 0.5, 4]))
    cluster.postgres.restore_standby()


def restart_primary(cluster: Cluster, _):
    """Kills the primary, and starts it again."""
    cluster.postgres.crash()


def cut_off_from_database(cluster: Cluster, _):
    owner = cluster.owner()
    owner.database_hop.hole()
    cluster.new_owner(owner)
    owner.database_hop.heal()


def cut_off_standby(cluster: Cluster, chance: random.Random):
    """Keeps the primary from its standby, so that no commit is confirmed, for less or more than a store may stand still."""
    cluster.postgres.replication_hop.hole()
    time.sleep(chance.choice([1, 5]))
    cluster.postgres.replication_hop.heal()


def promote_cut_off_standby(cluster: Cluster, chance: random.Random):
    """Promotes a standby that lacks what the primary has committed without its confirmation."""
    cluster.postgres.replication_hop.hole()
    time.sleep(chance.choice([0.5, 2, 5]))
    cluster.postgres.fail_over()
    # Nothing that the old primary had sent may reach the new one.
    cluster.postgres.replication_hop.cut()
    cluster.postgres.replication_hop.heal()
    cluster.postgres.restore_standby()


def cut_off_from_edges(cluster: Cluster, chance: random.Random):
    owner, edge = cluster.owner(), chance.choice(cluster.edges())
    owner.link_hop.hole()
    eventually(lambda: edge.readiness()[0] == 503, TAKE_OVER_SECONDS)
    owner.link_hop.heal()


def suspend_owner(cluster: Cluster, _):
    owner, began = cluster.owner(), time.monotonic()
    owner.suspend()
    cluster.new_owner(owner)
    time.sleep(max(0, began + 5 - time.monotonic()))
    owner.resume()


def rolling_restart(cluster: Cluster, _):
    for node in cluster.nodes:
        node.terminate()
        assert node.exit_code(15) == 0
        node.start()
        cluster.ready()


KINDS = [
    kill_owner, kill_edge, kill_primary, cut_off_from_database, cut_off_standby, cut_off_from_edges, suspend_owner,
    rolling_restart,
]  # fmt: skip
# Faults that RINGLINE_FAULT_KINDS may name in addition.
MORE_KINDS = [restart_primary, promote_cut_off_standby]
CHOSEN = os.environ.get("RINGLINE_FAULT_KINDS", ",".join(kind.__name__ for kind in KINDS)).split(",")


async def cycle(cluster: Cluster, apns, fault, name: str, chance: random.Random, times: dict[str, float]):
    """Makes calls while a fault happens, and checks them; records in `times` when each part was over.

    Returns the call that was pushed, and how much was looked at.
    """
    began = time.monotonic()

    def over(part: str):
        times[part] = time.monotonic() - began

    calls = [Call(cluster, f"{name}-{index}", chance, first_node=index) for index in range(CALLS)]
    pushed = PushedCall(cluster, f"{name}-pushed", apns)
    chat = Chat(cluster, (chance.randrange(10_000, 10**6), chance.randrange(10**6, 10**7)))
    try:
        await chat.begin()
        await chat.exchange("before the fault")
        await asyncio.gather(*(call.ring() for call in calls))
        # Half of the calls are answered before the fault, the others while it lasts.
        await asyncio.gather(*(call.answer() for call in calls[::2]))
        talks = [asyncio.create_task(call.talk()) for call in calls]
        await asyncio.sleep(chance.uniform(0.2, 0.6))
        # The push is under way, or refused, in the moment of the fault.
        ringing = asyncio.create_task(pushed.ring())
        await asyncio.sleep(chance.uniform(0, 0.1))
        failing = asyncio.create_task(asyncio.to_thread(fault, cluster, chance))
        await asyncio.sleep(chance.choice([0, 0.01, 0.1, 0.5, 2]))
        await asyncio.gather(*(call.answer() for call in calls[1::2]))
        over("answers")
        await failing
        over("fault")
        await asyncio.to_thread(cluster.ready, TAKE_OVER_SECONDS)
        over("ready")
        await ringing
        await asyncio.gather(*(call.has_talked() for call in calls))
        over("signals")
        await chat.exchange("after the fault")
        over("chat")
        for call in calls:
            call.is_over.set()
        await asyncio.gather(*talks)
        over("talks")
        await asyncio.gather(*(call.end() for call in calls))
        over("ends")
        await pushed.end()
        over("push")
    finally:
        await asyncio.gather(chat.leave(), *(phone.leave() for call in (*calls, pushed) for phone in call.phones))

    def log_of(phone: Phone, call: Call) -> dict:
        rest = Rest(cluster.url, mint(cluster.secret, phone.user, device=phone.device))
        try:
            return rest.log(call.name)
        finally:
            rest.close()

    looked_at = pushed.check()
    for call in calls:
        looked_at += call.check(lambda phone, call=call: log_of(phone, call))
        call.check_explanation()
    return pushed, looked_at


@pytest.fixture
def own_postgres():
    """A primary and its synchronous standby, which a test may crash."""
    server = ReplicatedPostgres()
    yield server
    server.end()


@pytest.mark.timeout(60 + 40 * FAULTS * len(CHOSEN))
def test_no_fault_loses_a_signal_or_lets_two_devices_win(own_postgres, apns, make_cluster):
    chance = random.Random(SEED)
    cluster = make_cluster(*push_options(apns), "--ring-timeout", 110, postgres=own_postgres)
    kinds = [kind for kind in KINDS + MORE_KINDS if kind.__name__ in CHOSEN] * FAULTS
    chance.shuffle(kinds)
    print(f"seed {SEED}")
    pushed, seconds, looked_at = [], collections.defaultdict(list), collections.defaultdict(collections.Counter)
    failures = []
    for number, kind in enumerate(kinds):
        name, began, times = f"{number}-{kind.__name__}", time.monotonic(), {}
        cluster.ready()
        try:
            call, found = asyncio.run(cycle(cluster, apns, kind, name, chance, times))
        except AssertionError as failure:
            # The other cycles are still worth their time.
            failures.append(f"cycle {name}, seed {SEED}: {failure}\n{cluster.told()}")
            print(failures[-1])
            continue
        pushed.append(call)
        looked_at[kind.__name__] += found
        seconds[kind.__name__].append(time.monotonic() - began)
        parts = ", ".join(f"{part} {at:.1f}" for part, at in times.items())
        print(f"{name}: {seconds[kind.__name__][-1]:.1f} s ({parts})")
    # No call has rung in a later cycle.
    for call in pushed:
        call.check()
    for kind, lengths in seconds.items():
        found = ", ".join(f"{count} {what}" for what, count in looked_at[kind].items())
        print(f"{kind}: {len(lengths)} cycles, {min(lengths):.1f} to {max(lengths):.1f} s: {found}")
    assert not failures, "\n".join(failures)

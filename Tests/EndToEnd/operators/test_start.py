"""A start and a take-over read what lives, and not the past: counted in rows, and shown by a claim that takes long."""

import threading
import time

from cluster import TAKE_OVER_SECONDS
from postgres_server import database_name
from waiting import eventually

# Ended calls of a month without logs, each pair of users under one callId again and again.
OLD = """
INSERT INTO call (number, id, epoch, room, caller, callee, has_video, started_at, ring_until, ended_at, reason, legs, state,
    log_kept)
SELECT g, 'u' || g % 10 || '-v', 1 + g / 10, 'p2p:u-v', 'u' || g % 10, 'v', false, {now} - 60000, {now} - 50000, {now} - 40000,
    'hangup', '[{{"device":"a","mark":"ff","caller":true,"phase":"left"}}]', '{{}}', {has_log}
FROM generate_series({first}, {last}) g
"""
LOG = """
INSERT INTO entry (call, seq, at, kind, device, mark, audience, signal_id, digest, object)
SELECT g, s, {now}, 'ice', 'a', 255, 'caller>both', convert_to('s' || s, 'UTF8'), s, '{{"candidate":"x"}}'
FROM generate_series({first}, {last}) g, generate_series(1, 20) s
"""
READ = """
SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0) FROM pg_stat_user_tables
WHERE schemaname = 'ringline' AND relname = '{table}'
"""


def test_a_start_reads_no_more_with_a_longer_past(make_server, make_world, store, database):
    name = database_name(store)

    def sql(*commands):
        return database.sql("SET search_path TO ringline", *commands, database=name)

    def rows_read_by_a_start():
        """Starts and stops the server; returns the rows of calls and of entries that were read."""
        sql("SELECT pg_stat_reset()")
        server = make_server("--store", store)
        server.terminate()
        assert server.exit_code() == 0
        server.process = None

        def ended():
            return sql(f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'") == "1"

        eventually(ended, 10)
        return [int(sql(READ.format(table=table))) for table in ("call", "entry")]

    rows_read_by_a_start()
    now = int(time.time() * 1000)
    sql(OLD.format(now=now, has_log="false", first=1, last=200), "ANALYZE")
    few = rows_read_by_a_start()
    sql(OLD.format(now=now, has_log="false", first=201, last=6_000), "ANALYZE")
    many = rows_read_by_a_start()
    assert many[0] <= few[0] + 20, (few, many)
    sql(
        OLD.format(now=now, has_log="true", first=6_001, last=6_100),
        LOG.format(now=now, first=6_001, last=6_100),
        "ANALYZE",
    )
    recent = rows_read_by_a_start()
    # The planner itself may read a row.
    assert recent[1] < 10, f"{recent[1]} entries of ended calls were read"
    assert recent[0] < 1_000, recent
    # The epoch is that of the newest call, and is read when the callId is used.
    server = make_server("--store", store)
    taro = make_world(server).connect("u3")
    assert taro.ring("v", "u3-v")["epoch"] == 1 + 6_093 // 10 + 1
    assert taro.ring("v", "fresh")["epoch"] == 1


def test_an_ended_call_is_known_after_a_kill(make_server, make_world):
    server = make_server()
    world = make_world(server)
    taro, hanako = world.call("11-10")
    end = taro.ask(type="end", callId="11-10", id="the-end")
    hanako.expect(type="call", state="ended")
    log = world.rest("11").log("11-10")
    server.kill()
    server.start()
    world = make_world(server)
    again = world.rest("11").log("11-10")
    assert (again["state"], again["reason"], again["signals"]) == (log["state"], log["reason"], log["signals"])
    taro = world.connect("11", "phone-11")
    assert taro.ask(type="end", callId="11-10", id="the-end")["seq"] == end["seq"]
    assert taro.refused(type="ice", callId="11-10", candidate=None)["code"] == "call_ended"
    assert taro.ring("10", "11-10")["epoch"] == 2


def test_nodes_wait_for_one_that_reads_the_calls(make_cluster, make_world):
    """For 12 s nothing can be read of the registered devices: longer than a node without an owner keeps its sockets."""
    cluster = make_cluster()
    owner, edges = cluster.owner(), cluster.edges()
    idle = [make_world(edge).connect(f"idle-{number}") for number, edge in enumerate(edges)]
    cluster.settled()
    postgres, is_over = cluster.postgres, threading.Event()
    lock = "BEGIN; LOCK TABLE ringline.device IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(14); COMMIT"
    holder = threading.Thread(target=lambda: (postgres.sql(lock, database=cluster.database), is_over.set()))
    holder.start()
    held = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND locktype = 'relation'"
    eventually(lambda: postgres.sql(held, database=cluster.database) != "0", 10)
    owner.kill()
    eventually(lambda: cluster.owner() is not None, 14 + TAKE_OVER_SECONDS)
    holder.join()
    assert is_over.is_set()
    cluster.ready()
    for connection in idle:
        connection.fence()

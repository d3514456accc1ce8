"""The tables and the targets of the scenarios `nodes-…`. Ratios are medians over the rounds of each round's own ratio."""

import statistics

from servers import NAMES

SQLITE, POSTGRES, THREE = "ringline-sqlite", "ringline-postgres", "ringline-nodes-3"
CPU, BUSIEST = "cpu_us_per_message", "busiest_thread_us_per_message"


def paired(medians, compare, scenario, server, other, *path, other_path=()):
    """Returns the median over the rounds of `compare` for the values of two servers in the same round, or None."""
    values = []
    for turn in sorted({result["round"] for result in medians.results}):
        one = medians.get(scenario, server, *path, turn=turn)
        two = medians.get(scenario, other, *(other_path or path), turn=turn)
        if one is not None and two:
            values.append(compare(one, two))
    return statistics.median(values) if values else None


def ratio(medians, scenario, server, other, *path, other_path=()):
    return paired(medians, lambda one, two: one / two, scenario, server, other, *path, other_path=other_path)


def more(medians, scenario, server, other, *path):
    """Returns by how many milliseconds a value in µs is higher."""
    return paired(medians, lambda one, two: (one - two) / 1000, scenario, server, other, *path)


def tables(medians, number, table):
    def columns(head, listed):
        rows = []
        for server in medians.servers:
            values = [medians.get(scenario, server, *path) for _, scenario, path, _, _ in listed]
            if any(value is not None for value in values):
                shown = [number(None if value is None else value * factor, digits)
                         for value, (_, _, _, factor, digits) in zip(values, listed, strict=True)]
                rows.append([NAMES[server][0], *shown])
        return table([head, *(title for title, *_ in listed)], rows) if rows else []

    lines = columns("one node, and several: CPU µs", [
        ("/ message", "nodes-throughput", (CPU,), 1, 1),
        ("… of the owner", "nodes-throughput", ("owner_cpu_us_per_message",), 1, 1),
        ("… of its busiest thread", "nodes-throughput", ("owner_thread_us_per_message",), 1, 1),
        ("… of the busiest thread", "nodes-throughput", (BUSIEST,), 1, 1),
        ("at 2,000/s", "nodes-rate-2000", (CPU,), 1, 1),
        ("at 10,000/s", "nodes-rate-10000", (CPU,), 1, 1),
        ("/ TLS connect", "nodes-tls", ("cpu_us_per_connect",), 1, 0),
        ("… of the busiest thread", "nodes-tls", ("busiest_thread_us_per_connect",), 1, 0),
    ])
    for rate in ("2000", "10000"):
        scenario = f"nodes-rate-{rate}"
        lines += columns(f"ms at {int(rate):,} msg/s", [
            ("one-way p50", scenario, ("one_way_us", "p50"), 0.001, 2),
            ("p99", scenario, ("one_way_us", "p99"), 0.001, 2),
            ("of it the generator's, p99", scenario, ("generator_late_us", "p99"), 0.001, 2),
            ("ack p50", scenario, ("ack_us", "p50"), 0.001, 2),
            ("ack p99", scenario, ("ack_us", "p99"), 0.001, 2),
        ])
    scenario = "nodes-take-over"
    return lines + columns("`kill -9` of the owner", [
        ("sessions", scenario, ("sessions",), 1, 0),
        ("… of the owner", scenario, ("closed_of_owner",), 1, 0),
        ("… of others, closed", scenario, ("closed_of_others",), 1, 0),
        ("idle, closed by others", scenario, ("gone",), 1, 0),
        ("calls", scenario, ("calls",), 1, 0),
        ("next signal: s, p50", scenario, ("through_us", "p50"), 1e-6, 2),
        ("p99", scenario, ("through_us", "p99"), 1e-6, 2),
        ("max", scenario, ("through_us", "max"), 1e-6, 2),
        ("calls that kept both sockets", scenario, ("kept_calls",), 1, 0),
        ("p99 of these", scenario, ("kept_through_us", "p99"), 1e-6, 2),
    ])


def targets(medians, add):
    """Passes each target to `add`: name, measured value, limit, unit, and whether the limit is the least value."""
    fast, slow, ten = "nodes-throughput", "nodes-rate-2000", "nodes-rate-10000"
    ack99 = ("ack_us", "p99")
    add("one node, PostgreSQL to SQLite: CPU per message", ratio(medians, fast, POSTGRES, SQLITE, CPU), 1.15, "×")
    add("… ack p99 at 10,000 msg/s", ratio(medians, ten, POSTGRES, SQLITE, *ack99), 2.0, "×")
    add("three nodes to one: CPU per message", ratio(medians, fast, THREE, POSTGRES, CPU), 2.0, "×")
    add("… at 2,000 msg/s", ratio(medians, slow, THREE, POSTGRES, CPU), 2.5, "×")
    owner = ratio(medians, fast, THREE, POSTGRES, "owner_cpu_us_per_message", other_path=(CPU,))
    add("… the owner's process alone", owner, 0.5, "×")
    for scenario, rate in ((slow, "2,000"), (ten, "10,000")):
        add(f"… one-way p50 at {rate} msg/s, more", more(medians, scenario, THREE, POSTGRES, "one_way_us", "p50"), 0.15, "ms")
        add(f"… one-way p99 at {rate} msg/s, more", more(medians, scenario, THREE, POSTGRES, "one_way_us", "p99"), 2.0, "ms")
        add(f"… ack p99 at {rate} msg/s", ratio(medians, scenario, THREE, POSTGRES, *ack99), 1.3, "×")
    two, four = ["ringline-nodes-2", "ringline-nodes-2-edge"], ["ringline-nodes-4", "ringline-nodes-4-edges"]
    for what, scenario, key, limits in (
        ("signals/s", fast, BUSIEST, dict.fromkeys(two, 1.5) | dict.fromkeys(four, 2.5)),
        ("TLS connects/s", "nodes-tls", "busiest_thread_us_per_connect", {"ringline-nodes-2": 1.8, "ringline-nodes-4": 3.5}),
    ):
        for server, limit in limits.items():
            value = ratio(medians, scenario, POSTGRES, server, key)
            add(f"{what} by the busiest thread: {NAMES[server][0]} to one", value, limit, "×", True)
    for scenario, where in ((fast, ""), (slow, " at 2,000 msg/s")):
        value = ratio(medians, scenario, SQLITE, "ringline-sqlite-before", CPU)
        add(f"SQLite to the binary of `--before`: CPU per message{where}", value, 1.05, "×")
    through = medians.get("nodes-take-over", "ringline-nodes-3-even", "through_us", "p99")
    add("`kill -9` of the owner: next signal through, p99", through / 1e6 if through is not None else None, 1.0, "s")
    add("… idle sessions of other nodes closed", medians.get("nodes-take-over", "ringline-nodes-3-even", "gone"), 0, "")

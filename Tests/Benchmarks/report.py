"""Tables and targets from the results of `run`. `report.py RESULTS.json` prints those of a file again."""

import json
import os
import statistics
import subprocess
import sys

import report_nodes
from servers import NAMES

FAULTS = ["lost", "duplicated", "out_of_order", "foreign", "unacked", "errors", "gone"]


def commit(root):
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True).stdout.strip()


def machine():
    model = "?"
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
    return f"{len(os.sched_getaffinity(0))} × {model}, Linux {os.uname().release}"


def gist(result):
    if "failed" in result:
        return f"FAILED: {result['failed']}"
    keys = ["cpu_us_per_message", "allocations_per_message", "rss_bytes_per_session", "cpu_us_per_connect"]
    keys += ["cpu_us_per_call", "back_seconds"]
    keys += ["owner_cpu_us_per_message", "busiest_thread_us_per_message", "busiest_thread_us_per_connect"]
    text = ", ".join(f"{key} {result[key]:g}" for key in keys if key in result)
    if "through_us" in result:
        text += f"through {result['through_us']}"
    faults = ", ".join(f"{key} {result[key]}" for key in FAULTS if result.get(key))
    return f"{text} ({result['took']} s)" + (f" FAULTS: {faults}" if faults else "")


class Medians:
    def __init__(self, record):
        self.results = record["results"]
        self.servers = [name for name in NAMES if any(r["server"] == name for r in self.results)]
        self.scenarios = list(dict.fromkeys(r["scenario"] for r in self.results))

    def get(self, scenario, server, *path, turn=None):
        """Returns the median over the rounds, or the value of one round; None if there is no value."""
        values = []
        for result in self.results:
            if result["scenario"] != scenario or result["server"] != server or turn not in (None, result["round"]):
                continue
            value = result
            for key in path:
                value = value.get(key) if isinstance(value, dict) else None
            if value is not None:
                values.append(value)
        return statistics.median(values) if values else None

    def ratio(self, scenario, server, other, *path):
        one, two = self.get(scenario, server, *path), self.get(scenario, other, *path)
        return None if one is None or not two else one / two


def number(value, digits=None):
    if value is None:
        return "–"
    if digits is None:
        digits = 2 if abs(value) < 1 else 1 if abs(value) < 100 else 0
    return f"{value:,.{digits}f}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


COST = [
    ("CPU µs / message", "throughput", "cpu_us_per_message"),
    ("… beside {idle} idle", "throughput-idle", "cpu_us_per_message"),
    ("… at 2,000 msg/s", "rate-2000", "cpu_us_per_message"),
    ("… at 10,000 msg/s", "rate-10000", "cpu_us_per_message"),
    ("bytes / idle session", "idle", "rss_bytes_per_session"),
    ("CPU µs / connect", "churn", "cpu_us_per_connect"),
    ("CPU µs / whole call", "calls", "cpu_us_per_call"),
    ("… without its connects", "calls", "cpu_us_per_call_alone"),
]
# The columns of the table of calls at a low rate.
CALLS_AT_A_RATE = [("offer to answer µs, p50", ("answer_us", "p50")), ("p99", ("answer_us", "p99")), ("CPU µs / whole call", ("cpu_us_per_call",))]


def cost_tables(medians):
    columns = [c for c in COST if c[1] in medians.scenarios]
    if not columns:
        return []
    idle = next((r.get("idle") for r in medians.results if r["scenario"] == "throughput-idle" and "idle" in r), 0)
    head = ["relay", *(title.format(idle=f"{idle:,}") for title, _, _ in columns)]
    measured = [s for s in medians.servers if any(medians.get(c, s, key) is not None for _, c, key in columns)]
    figures = [[NAMES[s][0], *(number(medians.get(c, s, key)) for _, c, key in columns)] for s in measured]
    lines = table(head, figures)
    if "epoll" in medians.servers:
        ratios = [
            [NAMES[s][0], *(number(medians.ratio(c, s, "epoll", key), 2) for _, c, key in columns)] for s in measured
        ]
        lines += ["As ratios to the limit:", "", *table(head, ratios)]
    return lines


def calls_at_a_rate_table(medians):
    rows = [[NAMES[s][0], *(number(medians.get("calls-20", s, *path), 0) for _, path in CALLS_AT_A_RATE)] for s in medians.servers
            if medians.get("calls-20", s, "answer_us", "p50") is not None]
    return table(["20 calls a second", *(title for title, _ in CALLS_AT_A_RATE)], rows) if rows else []


def latency_table(medians):
    if "rate-10000" not in medians.scenarios:
        return []
    rows = []
    for s in medians.servers:
        if medians.get("rate-10000", s, "one_way_us", "p50") is None:
            continue
        values = [medians.get("rate-10000", s, *path) for path in (
            ("one_way_us", "p50"), ("one_way_us", "p99"), ("one_way_us", "max"), ("generator_late_us", "p99"),
            ("ack_us", "p50"), ("ack_us", "p99"))]
        rows.append([NAMES[s][0], *(number(v / 1000 if v is not None else None, 2) for v in values)])
    head = ["ms at 10,000 msg/s", "one-way p50", "p99", "max", "of it the generator's, p99", "ack p50", "ack p99"]
    return table(head, rows)


def allocation_table(medians):
    keys = ["allocations_per_message", "loop_allocations_per_message", "allocated_bytes_per_message"]
    rows = [[NAMES[s][0], *(number(medians.get("allocations", s, key)) for key in keys)]
            for s in medians.servers if s.startswith("ringline")]
    head = ["the heap, with `throughput`", "allocations / message", "of it the loop's", "bytes / message"]
    return table(head, rows) if "allocations" in medians.scenarios else []


def tls_table(medians):
    if not {"tls-idle", "tls-churn"} & set(medians.scenarios):
        return []
    rows = [[NAMES[s][0], number(medians.get("tls-idle", s, "rss_bytes_per_session")),
             number(medians.get("tls-churn", s, "cpu_us_per_connect"))] for s in medians.servers
            if medians.get("tls-idle", s, "rss_bytes_per_session") or medians.get("tls-churn", s, "cpu_us_per_connect")]
    return table(["TLS 1.3, P-256", "bytes / idle session", "CPU µs / connect"], rows)


def loops_table(medians):
    columns = [("TLS storm: s", "loops-tls", "seconds", 2), ("connects / s", "loops-tls", "connects_per_second", 0),
               ("CPU µs / connect", "loops-tls", "cpu_us_per_connect", 0),
               ("… of the busiest thread", "loops-tls", "busiest_thread_us_per_connect", 0),
               ("… of the generator", "loops-tls", "generator_cpu_us_per_connect", 0),
               ("throughput: messages / s", "loops-throughput", "messages_per_second", 0),
               ("CPU µs / message", "loops-throughput", "cpu_us_per_message", 1),
               ("… of the busiest thread", "loops-throughput", "busiest_thread_us_per_message", 1),
               ("… of the generator", "loops-throughput", "generator_cpu_us_per_message", 1)]
    rows = [[NAMES[s][0], *(number(medians.get(c, s, key), digits) for _, c, key, digits in columns)] for s in medians.servers
            if any(medians.get(c, s, key) is not None for _, c, key, _ in columns)]
    # The generator needs a core for itself. The CPU time of the busiest thread shows what more cores would bring.
    return table(["one loop, and two", *(title for title, *_ in columns)], rows) if rows else []


def storm_table(medians):
    if "storm" not in medians.scenarios:
        return []
    rows = [[NAMES[s][0], number(medians.get("storm", s, "sessions"), 0), number(medians.get("storm", s, "back_seconds"), 2),
             number(medians.get("storm", s, "replayed_seconds"), 2), number(medians.get("storm", s, "cpu_us_per_session"))]
            for s in medians.servers if medians.get("storm", s, "sessions")]
    return table(["reconnect storm", "sessions", "s until all are back", "s until all is replayed", "CPU µs / session"], rows)


def growth_table(medians):
    sizes = sorted(int(s.split("-")[1]) for s in medians.scenarios if s.startswith("growth-") and "idle" not in s)
    rows = []
    for title, prefix, key in [("CPU µs / message", "growth-", "cpu_us_per_message"),
                               ("bytes / idle session", "growth-idle-", "rss_bytes_per_session"),
                               ("CPU µs / session opened", "growth-idle-", "open_cpu_us_per_session")]:
        for s in medians.servers:
            values = [medians.get(f"{prefix}{size}", s, key) for size in sizes]
            if any(v is not None for v in values):
                rows.append([NAMES[s][0], title, *(number(v) for v in values)])
    return table(["all sessions busy, or all idle", "", *(f"{size:,}" for size in sizes)], rows) if rows else []


def live_table(medians):
    sizes = sorted(int(s.split("-")[1]) for s in medians.scenarios if s.startswith("live-"))
    if not sizes:
        return []
    rows = []
    for title, key in [("CPU µs / message beside them", "cpu_us_per_message"), ("CPU µs / call begun", "cpu_us_per_begun_call"),
                       ("bytes / live call", "rss_bytes_per_call"), ("s of a cold start after `kill -9`", "cold_start_seconds"),
                       ("… CPU s", "cold_start_cpu_seconds"), ("… calls that are known again", "cold_start_calls")]:
        for s in medians.servers:
            values = [medians.get(f"live-{size}", s, key) for size in sizes]
            if any(v is not None for v in values):
                # The growth of the heap by a single call is not meaningful.
                values = [None if key == "rss_bytes_per_call" and size < 1000 else v for size, v in zip(sizes, values, strict=True)]
                rows.append([NAMES[s][0], title, *(number(v) for v in values)])
    return table(["live calls", "", *(f"{size:,}" for size in sizes)], rows)


def targets(medians):
    """Returns the performance targets, each as (name, measured value, limit, unit, whether it is the least value)."""
    memory, sqlite = "ringline-memory", "ringline-sqlite"
    message, found = "cpu_us_per_message", []

    def add(what, value, limit, unit, is_least=False):
        if value is not None:
            found.append((what, value, limit, unit, is_least))

    # In memory and with SQLite.
    least = {memory: (1.5, 1.5, 1.2), sqlite: (2.2, 2.0, 1.8)}
    for name, (limit, _, _) in least.items():
        add(f"CPU per message, to the limit ({name})", medians.ratio("throughput", name, "epoll", message), limit, "×")
    for name in (memory, sqlite):
        alone, beside = medians.get("throughput", name, message), medians.get("throughput-idle", name, message)
        add(f"beside idle sessions, to that without ({name})", beside / alone if alone and beside else None, 1.1, "×")
    for name in (memory, sqlite):
        _, at_rate, whole = least[name]
        add(f"at 2,000 msg/s, to bare libwebsockets ({name})", medians.ratio("rate-2000", name, "lws-uv", message), at_rate, "×")
        bytes_each = medians.get("idle", name, "rss_bytes_per_session")
        add(f"an idle session ({name})", bytes_each / 1024 if bytes_each is not None else None, 8, "KiB")
        add(f"a connect, to bare libwebsockets ({name})", medians.ratio("churn", name, "lws-uv", "cpu_us_per_connect"), 1.2, "×")
        add(f"a whole call, to bare libwebsockets ({name})", medians.ratio("calls", name, "lws-uv", "cpu_us_per_call"), whole, "×")
        add(f"a whole call, to nats-server ({name})", medians.ratio("calls", name, "nats", "cpu_us_per_call"), 1.0, "×")
        answer = medians.ratio("calls-20", name, "lws-uv", "answer_us", "p50")
        add(f"offer to answer at 20 calls/s, p50, to bare libwebsockets ({name})", answer, 2.0, "×")
        p99 = medians.get("rate-10000", name, "one_way_us", "p99")
        add(f"one-way p99 at 10,000 msg/s ({name})", p99 / 1000 if p99 is not None else None, 1.0, "ms")
        secure = medians.get("tls-idle", name, "rss_bytes_per_session")
        # Two allocations are the buffers of the relayed frame and of its ack. The call's log grows now and then.
        heap = medians.get("allocations", name, "loop_allocations_per_message")
        add(f"allocations per message on the loop ({name})", heap, 2.1, "")
        add(f"an idle TLS session ({name})", secure / 1024 if secure is not None else None, 30, "KiB")
    ack = medians.get("rate-10000", sqlite, "ack_us", "p99")
    add("ack p99 at 10,000 msg/s, SQLite", ack / 1000 if ack is not None else None, 10.0, "ms")
    sizes = sorted(int(s.split("-")[1]) for s in medians.scenarios if s.startswith("growth-") and "idle" not in s)
    if len(sizes) > 1:
        for name in (memory, sqlite):
            for what, prefix, key in [("CPU per message", "growth-", message),
                                      ("bytes per session", "growth-idle-", "rss_bytes_per_session")]:
                # With only 100 connections, other changes of the server's heap hide the bytes of a connection.
                first = sizes[1] if "idle" in prefix else sizes[0]
                small, large = medians.get(f"{prefix}{first}", name, key), medians.get(f"{prefix}{sizes[-1]}", name, key)
                add(f"{what} at {sizes[-1]:,} sessions, to {first:,} ({name})", large / small if small and large else None, 1.2, "×")
                # The limit shows the effect of the kernel and the caches on any server with so many sockets.
                few, many = medians.get(f"{prefix}{first}", "epoll", key), medians.get(f"{prefix}{sizes[-1]}", "epoll", key)
                if key == message and small and large and few and many:
                    add(f"… beside the limit's own growth ({name})", large / small / (many / few), 1.2, "×")
    live = sorted(int(s.split("-")[1]) for s in medians.scenarios if s.startswith("live-"))
    if len(live) > 1:
        for name in (memory, sqlite):
            small, large = medians.get(f"live-{live[0]}", name, message), medians.get(f"live-{live[-1]}", name, message)
            add(f"CPU per message beside {live[-1]:,} live calls, to {live[0]} ({name})", large / small if small and large else None, 1.2, "×")
    report_nodes.targets(medians, add)
    return found


def fault_lines(medians):
    lines = []
    for r in medians.results:
        bad = ", ".join(f"{key} {r[key]}" for key in FAULTS if r.get(key))
        if bad or "failed" in r:
            said = "; ".join(r.get("said", []))
            lines.append(f"- round {r['round']}, {r['scenario']}, {r['server']}: {r.get('failed') or bad}{': ' + said if said else ''}")
    return lines


def markdown(record):
    medians = Medians(record)
    load = record["load_at_start"]
    # The load that the generator read before each scenario; it includes the load of the measurement itself.
    seen = [r["load"] for r in record["results"] if "load" in r] or [load]
    rounds = max((r["round"] for r in record["results"]), default=0)
    lines = [
        f"{record['date']}, commit {record['commit']}"
        + (" (the binary was given)" if record.get("binary") else "") + f", {record['machine']}; {rounds} interleaved round(s), medians"
        + (", quick" if record["quick"] else "") + f"; load {load:.1f} at the start, {min(seen):.1f} to {max(seen):.1f} within (the measuring's own included).",
        "",
    ]
    if load > 1:
        lines += [f"**The machine was not quiet: its load was {load:.1f} at the start. Ratios may hold, figures and latencies do not.**", ""]
    lines += cost_tables(medians) + calls_at_a_rate_table(medians) + latency_table(medians) + allocation_table(medians) + tls_table(medians) + loops_table(medians) + storm_table(medians) + growth_table(medians) + live_table(medians)
    lines += report_nodes.tables(medians, number, table)
    rows = []
    for what, value, limit, unit, is_least in targets(medians):
        is_met = value >= limit if is_least else value <= limit
        rows.append([what, f"{number(value, 2)} {unit}".strip(), f"{'≥' if is_least else '≤'} {limit:g} {unit}".strip(),
                     "met" if is_met else "**missed**"])
    if rows:
        lines += table(["target", "measured", "wanted", ""], rows)
    faults = fault_lines(medians)
    lines += faults or [f"Lost, duplicated, out of order, unacknowledged, refused: 0 in all {len(medians.results)} runs."]
    return "\n".join(lines)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        print(markdown(json.load(file)))

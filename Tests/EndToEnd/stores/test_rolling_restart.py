"""A rolling restart: the old server drains while the new one waits for the data folder that the old one holds.

With 1,000 connections, 200 ringing calls and a constant flow of signals, every call continues, no acked signal is lost,
and the clients reconnect at different times.
"""

import asyncio
import os
import signal
import threading
import time
from collections import Counter

import httpx
import pytest
import samples
from resending_client import Client, metrics
from ringline_server import free_port
from waiting import eventually

CONNECTIONS = 1_000
CALLS = 200


def waits(server) -> bool:
    """Returns whether a server has logged that it waits for its data folder or database."""
    path = getattr(server, "error_path", None)
    return path is not None and path.exists() and "waiting for the data" in path.read_text()


async def in_batches(works, size: int = 50):
    works = list(works)
    for start in range(0, len(works), size):
        await asyncio.gather(*works[start : start + size])


async def talk(caller: Client, call: str, stop: asyncio.Event):
    """Sends a candidate every 0.4 s until `stop`, even while its connection is closed."""
    number = 0
    while not stop.is_set():
        number += 1
        await caller.send(type="ice", id=f"{call}-{number}", callId=call, candidate=samples.candidate(number))
        try:
            await asyncio.wait_for(stop.wait(), 0.4)
        except TimeoutError:
            pass


async def restart(old, new, new_url: str) -> list[Client]:
    clients = [Client(f"u{number}", old.secret) for number in range(CONNECTIONS)]
    callers, callees = clients[:CALLS], clients[CALLS : 2 * CALLS]
    await in_batches(client.open(old.url) for client in clients)
    lives = [asyncio.create_task(client.live(old.url, new_url)) for client in clients]

    async def ring(number: int):
        caller, callee = callers[number], callees[number]
        await caller.send(type="offer", id="offer", callId=f"c{number}", to=callee.user, sdp=samples.OFFER)
        await callee.until(lambda: callee.signals("offer"), "was not rung")
        await callee.send(type="ringing", id="ringing", callId=f"c{number}")
        await caller.until(lambda: "offer" in caller.acked and caller.signals("ringing"), "rings nobody")

    await in_batches(ring(number) for number in range(CALLS))
    stop = asyncio.Event()
    talks = [asyncio.create_task(talk(caller, f"c{number}", stop)) for number, caller in enumerate(callers)]

    # The new server starts before the old one ends, and waits.
    starting = asyncio.create_task(asyncio.to_thread(new.start))
    await asyncio.to_thread(eventually, lambda: waits(new) or starting.done(), 10)
    assert not starting.done(), new.errors()
    assert f"process={old.pid}" in new.errors()
    began = time.monotonic()
    old.terminate()
    await starting
    assert await asyncio.to_thread(old.exit_code, 10) == 0
    away = time.monotonic() - began

    for client in clients:
        await client.until(lambda client=client: client.returned, "did not come back")
    back = time.monotonic() - began
    assert {client.code for client in clients} == {1001}
    acked = {caller: len(caller.acked) for caller in callers}
    for caller in callers:
        await caller.until(lambda caller=caller: len(caller.acked) > acked[caller], "gets no more acks")
    stop.set()
    await asyncio.gather(*talks)
    await asyncio.to_thread(eventually, lambda: metrics(new)["ringline_device_connections",] == CONNECTIONS, 30)
    assert metrics(new)["ringline_calls", "ringing"] == CALLS, "every call still rings"

    async def finish(number: int):
        caller, callee, call = callers[number], callees[number], f"c{number}"
        await caller.until(lambda: not caller.unacked, "has signals that nobody acked")
        await callee.send(type="answer", id="answer", callId=call, sdp=samples.ANSWER)
        await caller.until(lambda: caller.signals("answer"), "was not answered")
        await caller.send(type="connected", id="connected", callId=call)
        await callee.until(lambda: callee.signals("connected"), "did not hear `connected`")
        await callee.send(type="end", id="end", callId=call)
        await caller.until(lambda: caller.signals("end"), "did not hear the end")
        await callee.until(lambda: not callee.unacked, "has signals that nobody acked")

    await in_batches(finish(number) for number in range(CALLS))
    assert metrics(new)["ringline_calls_ended_total", "hangup"] == CALLS
    print(f"the old one was gone after {away:.2f} s, the last connection back after {back:.2f} s")
    for task in lives:
        task.cancel()
    await asyncio.gather(*lives, return_exceptions=True)
    await in_batches(client.socket.close() for client in clients)
    return clients


@pytest.mark.timeout(120)
def test_1000_connections_and_200_ringing_calls_survive_a_rolling_restart(make_server):
    port = free_port()
    old = make_server("--ring-timeout", 110)
    new = make_server("--ring-timeout", 110, "--listen", f"127.0.0.1:{port}", data=old.data, start=False)
    # The new server's log goes to another file than the old server's.
    new.starts = 1
    clients = asyncio.run(restart(old, new, f"http://127.0.0.1:{port}"))
    callers, callees = clients[:CALLS], clients[CALLS : 2 * CALLS]

    # No acked signal is lost, and no seq was used for two different signals.
    for caller, callee in zip(callers, callees, strict=True):
        assert not caller.refused and not callee.refused
        sent = {name for name in caller.acked if "-" in name}
        assert sent and sent <= {frame["id"] for frame in callee.signals("ice")}
        names: dict[tuple, str] = {}
        for frame in callee.heard:
            if "seq" in frame:
                name = names.setdefault((frame["epoch"], frame["seq"]), frame.get("id"))
                assert name == frame.get("id"), "two signals have the same seq"
        assert {frame.get("reason") for frame in callee.signals("call")} <= {None, "hangup"}

    # Each client got its own time, clients in calls got the earliest times, and no client reconnected too early.
    pauses = sorted(client.pause_ms for client in clients)
    assert all(abs(pause - (500 + 2 * place)) <= 2 for place, pause in enumerate(pauses))
    talking = [client.pause_ms for client in callers + callees]
    assert max(talking) <= min(client.pause_ms for client in clients[2 * CALLS :])
    assert all(client.returned >= client.pause for client in clients)
    windows = Counter(int(client.returned * 4) for client in clients)
    print("connections back in each quarter of a second:", [windows[key] for key in sorted(windows)])


def test_a_server_that_waits_for_its_data_is_stopped_by_sigterm(make_server):
    old = make_server()
    new = make_server("--wait-for-data", 600, data=old.data, start=False)
    new.starts = 1
    starting = threading.Thread(target=lambda: pytest.raises(AssertionError, new.start))
    starting.start()
    eventually(lambda: waits(new), 10)
    os.kill(new.pid, signal.SIGTERM)
    assert new.exit_code(5) == 0
    starting.join(5)
    assert "stopped" in new.errors()
    assert httpx.get(old.admin_url + "/readyz", trust_env=False).status_code == 200

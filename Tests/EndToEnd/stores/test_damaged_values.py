"""Invalid values in the database: the server starts, reports them, and calls go through.

A failing disk, or a person using `sqlite3`, may leave any integer in any column. The tests put the smallest and the
largest integer into each column of `COLUMNS`.
"""

import shutil
import sqlite3
import time

import httpx
import pytest
import samples
from commands import run
from postgres_server import sqlite_only
from push_services import register
from world import World

pytestmark = sqlite_only("see DamageContract")

COLUMNS = {
    "call": "number epoch has_video started_at ring_until answered_at active_at ended_at log_kept".split(),
    "entry": "call seq at mark digest".split(),
    "event": "position call at".split(),
    "device": "is_named voip_token_at created_at seen_at unanswered_pushes push_at push_status".split(),
    "block": ["at"],
    "do_not_disturb": ["until"],
    "revocation": ["before"],
    "meta": ["crashes", "last_call_number", "forgetting_before"],
}
# Columns in which every integer is valid, or in which a wrong integer cannot be detected.
FREE = {
    *("call.has_video", "call.log_kept", "entry.call", "entry.mark", "entry.digest", "event.call", "device.is_named"),
    *("event.position", "event.at"),
}
VALUES = [-(2**63), 2**63 - 1]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A data folder with rows in every table, and with two live calls."""
    from ringline_server import Server

    folder = tmp_path_factory.mktemp("filled") / "data"
    server = Server(folder).start()
    world = World(server)
    register(world)
    world.rest("10").post("/api/blocks", {"userId": "14"})
    world.rest("15").put("/api/me/dnd", {"until": int(time.time() * 1000) + 600_000})
    assert world.rest("16").post("/api/logout-all", {}).status_code == 200
    taro, _ = world.call("c-0")
    taro.ask(type="end", callId="c-0")
    world.call("c-1")
    world.connect("12", "phone-12").ring("13", "c-2")
    world.close()
    server.terminate()
    assert server.exit_code() == 0
    return folder


def damage(folder, table: str, column: str, value: int):
    database = sqlite3.connect(folder / "ringline.sqlite")
    if table == "meta":
        database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (column, value))
    else:
        only = {"call": "WHERE id = ?", "entry": "WHERE rowid = 1 OR '' = ?", "event": "WHERE rowid = 1 OR '' = ?"}
        database.execute(f"UPDATE {table} SET {column} = {value} {only.get(table, 'WHERE ? <> 1')}", ("c-1",))
    assert database.total_changes >= 1
    database.commit()
    database.close()


def commands(folder, tmp_path, where: str):
    """Runs the commands of operators: each must end with exit code 0 or 1, and `backup` with 0."""
    for number, command in enumerate(
        [["explain", "c-0"], ["explain", "c-1"], ["calls"], ["devices", "--user", "10"], ["backup", tmp_path / "copy"]]
    ):
        result = run(*command, "--data", folder)
        assert result.returncode in (0, 1), f"{where}: {command}: {result.returncode} {result.stderr}"
        assert number < 4 or result.returncode == 0, f"{where}: {result.stderr}"
    (tmp_path / "copy").unlink()


def a_call_goes_through(world, call_id: str, caller: str, callee: str):
    one, other = world.connect(caller, f"new-{caller}"), world.connect(callee, f"new-{callee}")
    one.ring(other, call_id)
    other.expect(type="offer", callId=call_id)
    other.ask(type="answer", callId=call_id, sdp=samples.ANSWER)
    one.expect(type="answer", callId=call_id)
    one.ask(type="connected", callId=call_id)
    one.ask(type="end", callId=call_id)
    other.expect(type="end", callId=call_id)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("table", COLUMNS)
def test_calls_go_through_with_an_extreme_integer_in_a_column(make_server, make_world, tmp_path, filled, table):
    for column in COLUMNS[table]:
        for value in VALUES:
            where = f"{table}.{column} = {value}"
            folder = tmp_path / f"{column}{value}"
            shutil.copytree(filled, folder)
            damage(folder, table, column, value)
            commands(folder, tmp_path, where)
            server = make_server(data=folder)
            world = make_world(server)
            assert httpx.get(server.admin_url + "/readyz", trust_env=False).status_code == 200, where
            # The first call is between users without damaged rows. The second has a user with damaged rows. A third
            # call follows below, after a restart.
            a_call_goes_through(world, "c-8", "21", "20")
            a_call_goes_through(world, "c-9", "11", "17")
            for user in ("10", "11"):
                assert world.rest(user).get("/api/calls").status_code == 200, where
            # A start reads no signals of ended calls; a fetch does.
            for call_id in ("c-0", "c-1"):
                assert world.rest("10").get(f"/api/calls/signal/{call_id}").status_code in (200, 404), where
            commands(folder, tmp_path, where)
            if f"{table}.{column}" not in FREE:
                assert total(server) >= 1, f"{where}: {server.errors()}"
                shown = "value" if table == "meta" else column
                line = next(line for line in server.errors().splitlines() if "database.column" in line)
                assert f"database.table={table}" in line and f"database.column={shown}" in line, line
            server.kill()
            server.start()
            a_call_goes_through(make_world(server), "c-10", "21", "20")
            assert server.alive(), where
            server.kill()
            shutil.rmtree(folder)


def total(server) -> float:
    lines = server.metrics_text().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("ringline_database_damages_total{"))


def test_commands_report_the_damaged_rows_that_they_read(filled, tmp_path):
    folder = tmp_path / "data"
    shutil.copytree(filled, folder)
    damage(folder, "call", "started_at", -(2**63))
    result = run("calls", "--data", folder)
    assert result.returncode == 0 and "c-1" in result.stdout and "c-2" in result.stdout
    assert "started_at" in result.stderr and len(result.stderr.splitlines()) == 1
    damage(folder, "call", "epoch", -1)
    result = run("calls", "--data", folder)
    assert "c-1" not in result.stdout and "c-2" in result.stdout
    assert "epoch" in result.stderr and "left out" in result.stderr

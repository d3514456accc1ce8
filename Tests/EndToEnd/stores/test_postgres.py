"""Servers that keep their calls in PostgreSQL (`--store`): crashes, lost connections, and the ownership of the database."""

import re
import socket

import httpx
import pytest
from commands import one_clear_line, run, serve
from postgres_server import database_name
from rest import TLS
from tcp_proxy import Proxy
from waiting import eventually


def seqs(rest, call_id: str) -> list[int]:
    """Returns the `seq` of each signal in the log of a call."""
    return [signal["seq"] for signal in rest.log(call_id)["signals"]]


def ended(server) -> int:
    """Returns the exit code of a server that was expected to end; the fixture then does not report it as crashed."""
    code = server.exit_code()
    server.process = None
    return code


def test_after_a_kill_a_call_goes_on_with_its_log_and_a_higher_seq(make_server, make_world, store):
    server = make_server("--store", store, "--wait-for-data", 0)
    world = make_world(server)
    world.call("c-1")
    known = seqs(world.rest("11"), "c-1")
    for _ in range(3):
        server.kill()
        server.start()
        world = make_world(server)
        caller = world.connect("11", "phone-11")
        found = seqs(world.rest("11"), "c-1")
        assert found[: len(known)] == known
        assert caller.ask(type="ice", callId="c-1", candidate={"candidate": "x"})["seq"] > max(known)
        known = seqs(world.rest("11"), "c-1")
    assert "did not shut down cleanly" in server.errors()


def test_a_clean_stop_is_not_counted_as_a_crash(make_server, make_world, store):
    server = make_server("--store", store)
    make_world(server).call("c-1")
    for _ in range(2):
        server.terminate()
        assert server.exit_code() == 0
        server.start()
        assert "did not shut down cleanly" not in server.errors()


def test_if_postgresql_closes_the_connections_no_signal_is_lost(make_server, make_world, store, database):
    server = make_server("--store", store)
    world = make_world(server)
    caller, _ = world.call("c-1")
    for number in range(10):
        database.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            f" WHERE datname = '{database_name(store)}' AND pid <> pg_backend_pid()"
        )
        caller.ask(type="ice", callId="c-1", candidate={"candidate": f"x{number}"})
    candidates = [s["candidate"]["candidate"] for s in world.rest("10").log("c-1")["signals"] if s["type"] == "ice"]
    assert candidates == [f"x{number}" for number in range(10)]
    assert "cannot write" not in server.errors()


def test_a_postgresql_that_sends_notices_for_ever_makes_readyz_503_until_it_responds_again(
    make_server, make_world, store, database
):
    hop = Proxy(lambda: [database.port])
    try:
        server = make_server("--store", store.replace(f":{database.port}/", f":{hop.port}/"))
        world = make_world(server)
        caller, callee = world.call("c-1")
        body = b"SNOTICE\0C00000\0Mstill busy\0\0"
        hop.babble(b"N" + (len(body) + 4).to_bytes(4, "big") + body)
        waiting = caller.send(type="ice", callId="c-1", candidate={"candidate": "x"})
        callee.expect(type="ice", callId="c-1")
        ready = server.admin_url + "/readyz"
        eventually(lambda: httpx.get(ready, trust_env=False, verify=TLS).status_code == 503, 10, server.errors)
        assert "the store cannot write" in server.errors()
        hop.heal()
        eventually(lambda: httpx.get(ready, trust_env=False, verify=TLS).status_code == 200, 30, server.errors)
        assert caller.reply_to(waiting)["type"] == "ack"
    finally:
        hop.close()


def test_a_second_server_is_refused_and_names_the_owners_machine(make_server, store):
    make_server("--store", store)
    second = make_server("--store", store, "--wait-for-data", 0, start=False)
    with pytest.raises(AssertionError, match="in use by another ringline, on " + re.escape(socket.gethostname())):
        second.start()
    assert ended(second) == 1


def test_a_server_whose_database_another_has_claimed_stores_nothing_more_and_ends_with_an_error(
    make_server, make_world, store, database
):
    server = make_server("--store", store)
    caller, _ = make_world(server).call("c-1")
    database.sql("UPDATE ringline.owner SET epoch = epoch + 1", database=database_name(store))
    caller.send(type="ice", callId="c-1", candidate={"candidate": "late"})
    assert ended(server) == 1
    assert "has taken over the database" in server.errors()
    condition = "convert_from(object, 'UTF8') LIKE '%late%'"
    found = database.sql(f"SELECT count(*) FROM ringline.entry WHERE {condition}", database=database_name(store))
    assert found == "0"


def test_in_a_rolling_restart_the_next_server_waits_for_the_release_of_the_database(make_server, store):
    first = make_server("--store", store)
    second = make_server("--store", store, start=False)
    first.terminate()
    second.start()
    assert first.exit_code() == 0
    assert "did not shut down cleanly" not in second.errors()


def test_a_server_that_waits_for_the_database_logs_the_owners_machine(make_server, store):
    make_server("--store", store)
    second = make_server("--store", store, "--wait-for-data", 1, start=False)
    with pytest.raises(AssertionError, match="in use by another ringline"):
        second.start()
    assert ended(second) == 1
    waiting = next(line for line in second.errors().splitlines() if "waiting for the database" in line)
    assert f"database.owner={socket.gethostname()}" in waiting


@pytest.mark.parametrize("has_database", [True, False])
def test_no_second_server_starts_on_the_data_folder(make_server, store, database, tmp_path, has_database):
    server = make_server("--store", store)
    options = ["--store", database.new_database()] if has_database else []
    result = serve(tmp_path, "--data", server.data, "--wait-for-data", "0", *options)
    one_clear_line(result, f"{server.data} is in use by another ringline (process {server.pid})")
    assert not (server.data / "ringline.sqlite").exists()
    server.kill()
    server.start()


def test_in_a_rolling_restart_on_one_data_folder_the_next_server_waits_for_it(make_server, store):
    first = make_server("--store", store)
    second = make_server("--store", store, data=first.data, start=False)
    first.terminate()
    second.start()
    assert first.exit_code() == 0
    assert "did not shut down cleanly" not in second.errors()


def test_a_command_on_the_data_folder_is_in_the_audit_log(make_server, store, tmp_path):
    path = tmp_path / "audit.jsonl"
    server = make_server("--store", store, "--audit-log", path)
    assert run("token", "--user", "10", "--data", server.data).returncode == 0
    eventually(lambda: '"command":"token"' in path.read_text())
    assert not list(server.data.glob("ran-*"))


@pytest.mark.parametrize(
    "options, words",
    [
        (["--store", "mysql://u:hunter2@h/x"], "does not begin with postgres://"),
        (["--store", "postgres://u:hunter2@h/x"], "--store-password-file"),
        (["--store", "postgres://u@h/x", "--data", ":memory:"], ":memory:"),
        (["--store-password-file", "/dev/null"], "needs --store"),
        (["--store", "postgres://u@127.0.0.1:1/x"], "cannot be reached"),
    ],
)
def test_an_unusable_store_is_explained_without_its_password(make_server, options, words):
    server = make_server(*options, start=False)
    with pytest.raises(AssertionError, match=re.escape(words)) as failure:
        server.start()
    assert ended(server) == 1
    assert "hunter2" not in str(failure.value)

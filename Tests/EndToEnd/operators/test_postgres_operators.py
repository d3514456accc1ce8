"""The commands of an operator on the database of a server with `--store`, and the move of a data folder into one."""

import re
import shutil
import socket
import sqlite3
import subprocess

import pytest
import samples
from commands import one_clear_line, run
from postgres_server import PostgresServer, database_name, sqlite_only
from push_services import pushed, register
from test_operators import rows
from waiting import eventually
from world import push_options


def shown_when(holds: str, *arguments, **more):
    """Runs a command until its output contains this text, because commits take time; returns the result."""
    result = None

    def is_shown() -> bool:
        nonlocal result
        result = run(*arguments, **more)
        return holds in result.stdout

    eventually(is_shown, 8, lambda: result.stdout + result.stderr)
    return result


def doctor(tmp_path, store, *more, code=0, **options) -> dict[str, tuple[str, str]]:
    """Returns the doctor's findings about the database, by subject: (grade, text).

    The exit code is 1 for a database of the server that all tests share, because that one does not sync to the disk.
    """
    result = run("doctor", "--offline", "--data", tmp_path / "data-0", "--store", store, *more, **options)
    assert result.returncode == code, result.stdout + result.stderr
    lines = [re.fullmatch(r"(\w+) +([^:]+): (.*)", line).groups() for line in result.stdout.splitlines()]
    assert all(grade == "ok" or " Fix: " in text for grade, _, text in lines), result.stdout
    found = {}
    for grade, subject, text in lines:
        if subject.startswith("data"):
            found[f"{subject}, 2" if subject in found else subject] = (grade, text)
    return found


# Reading


def test_calls_devices_and_explain_read_the_database_of_a_running_server(make_server, make_world, store):
    server = make_server("--store", store)
    world = make_world(server)
    register(world, deviceId="iphone-h")
    world.call("c-1")
    shown = shown_when("answered", "calls", "--store", store)
    assert [row[:4] for row in rows(shown)] == [["c-1", "1", "11", "10"]]
    assert rows(run("calls", "--store", store, "--user", "12")) == []
    assert rows(run("devices", "--store", store, "--user", "10"))[0][0] == "iPhone iphone-h"
    told = run("explain", "c-1", "--store", store)
    assert "Verdict: 10 answered on phone-10" in told.stdout and "the call goes on" in told.stdout, told.stderr
    assert told.stdout.splitlines()[-1].startswith(
        f"The database is owned by the server on {socket.gethostname()} (process {server.pid}), connected since 20"
    )
    assert not told.stderr
    one_clear_line(run("explain", "c-2", "--store", store), "No call c-2", store.replace("ring@", ""))
    one_clear_line(run("devices", "--store", store, "--user", "11"), "11 has no registered device")


def test_explain_says_that_no_server_owns_the_database(make_server, make_world, store, database):
    server = make_server("--store", store)
    make_world(server).call("c-1")
    shown_when("answered", "calls", "--store", store)
    server.kill()
    database.sql("UPDATE ringline.owner SET until = now() - interval '1 s'", database=database_name(store))
    told = run("explain", "c-1", "--store", store).stdout
    assert "it was going on when the server stopped or was killed" in told
    assert re.match(r"No server owns the database: the last one, on \S+, was killed or cut off; ", told.splitlines()[-1])
    server.start()
    server.terminate()
    assert server.exit_code() == 0
    assert run("explain", "c-1", "--store", store).stdout.splitlines()[-1].endswith("stopped in good order.")
    database.sql("INSERT INTO ringline.meta VALUES ('claims_lost_at', 1700000000000)", database=database_name(store))
    last = run("explain", "c-1", "--store", store).stdout.splitlines()[-1]
    assert "; at 2023-11-14T22:13:20.000Z the database had lost claims: a backup was restored, or a standby" in last


def test_options_and_variables_name_the_database_as_they_name_the_folder(make_server, make_world, store, tmp_path):
    server = make_server("--store", store)
    make_world(server).call("c-1")
    variable = {"RINGLINE_STORE": store, "RINGLINE_DATA": str(tmp_path / "none")}
    shown_when("c-1", "calls", environment=variable)
    # An option precedes the environment.
    one_clear_line(run("calls", "--data", tmp_path, environment=variable), "No database in")
    one_clear_line(run("calls", "--data", tmp_path, "--store", store), "--data and --store")
    one_clear_line(run("calls", "--store-password-file", "/dev/null"), "needs --store")
    one_clear_line(run("calls", "--data", tmp_path, "--store-password-file", "/dev/null"), "needs --store")
    password = tmp_path / "password"
    password.write_text("hunter2\n")
    assert "c-1" in run("calls", "--store", store, "--store-password-file", password).stdout
    for url, words in [
        ("mysql://u:hunter2@h/x", "does not begin with postgres://"),
        ("postgres://u:hunter2@h/x", "--store-password-file"),
        ("postgres://u@127.0.0.1:1/x", "cannot be reached"),
    ]:
        result = run("explain", "c-1", "--store", url)
        one_clear_line(result, words)
        assert "hunter2" not in result.stderr
    # These two are for folders; in the environment of such a server they would touch the wrong database.
    one_clear_line(run("backup", tmp_path / "copy", environment=variable), "RINGLINE_STORE", "pg_dump")
    one_clear_line(run("restore", tmp_path / "copy", environment=variable), "RINGLINE_STORE", "pg_dump")


def test_a_database_without_tables_or_of_another_version_is_refused(make_server, store, database):
    one_clear_line(run("calls", "--store", store), "name the database of a server that has run")
    server = make_server("--store", store)
    server.terminate()
    assert server.exit_code() == 0
    for version, words in [(0, "start the server once"), (9, "newer ringline")]:
        database.sql(f"UPDATE ringline.schema_version SET version = {version}", database=database_name(store))
        one_clear_line(run("calls", "--store", store), words)


def test_impossible_values_are_reported_as_those_of_a_folder_are(make_server, make_world, store, database, tmp_path):
    server = make_server("--store", store)
    make_world(server).call("c-1")
    shown_when("c-1", "calls", "--store", store)
    server.terminate()
    assert server.exit_code() == 0
    database.sql("UPDATE ringline.call SET started_at = -1", database=database_name(store))
    result = run("calls", "--store", store)
    assert result.returncode == 0 and "c-1" in result.stdout
    assert "column started_at of table call, row 1, holds an invalid value" in result.stderr
    grade, text = doctor(tmp_path, store, code=1)["database values"]
    assert grade == "warning" and "column started_at of table call, row 1" in text


def test_a_test_push_goes_to_the_devices_of_the_database(apns, make_server, make_world, store):
    server = make_server("--store", store, *push_options(apns))
    device = register(make_world(server), deviceId="iphone-h")
    more = ["--store", store, "--data", server.data, *push_options(apns)]
    result = shown_when("accepted", "push-test", "--user", "10", *more)
    assert result.returncode == 0 and "iphone-h: APNs sandbox accepted the push" in result.stdout
    # The app presents this capability to the server, whose key is in the data folder.
    assert pushed(apns, device)["payload"]["act"]


def test_a_user_is_logged_out_of_a_server_with_a_database(make_server, make_world, store):
    server = make_server("--store", store)
    world = make_world(server)
    phone = world.connect("10", "phone-10")
    result = run("revoke", "--user", "10", "--data", server.data, "--store", store)
    assert result.returncode == 0 and "10 is logged out everywhere" in result.stdout, result.stderr
    assert phone.close_code(8) == 4401
    server.terminate()
    assert server.exit_code() == 0
    result = run("revoke", "--user", "11", "--data", server.data, environment={"RINGLINE_STORE": store})
    assert "will be logged out by its next start" in result.stdout


# The doctor


@pytest.fixture(scope="module")
def durable_database():
    """A server that syncs to the disk, unlike the one that the other tests use."""
    server = PostgresServer()
    yield server
    server.end()


@pytest.fixture
def durable_store(durable_database) -> str:
    return durable_database.new_database()


def test_the_doctor_tells_about_the_database(make_server, durable_store, tmp_path, durable_database):
    store, database = durable_store, durable_database
    found = doctor(tmp_path, store)
    assert found["database"][0] == "ok" and re.match(r"PostgreSQL \d+\.\d+ at postgres://127", found["database"][1])
    assert found["database schema"] == ("ok", "there is none yet; the first start makes it")
    assert found["database disk"][0] == found["database clock"][0] == "ok"
    assert found["database standby"][0] == "warning" and "loses the newest commits" in found["database standby"][1]
    assert "database owner" not in found
    assert database.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'ringline'", database=database_name(store)) == "0"
    server = make_server("--store", store)
    found = doctor(tmp_path, store)
    assert found["database schema"] == ("ok", "version 7")
    assert found["database owner"][0] == "ok" and f"(process {server.pid})" in found["database owner"][1]
    assert found["database values"] == ("ok", "all that a start reads are valid")
    assert found["data folder"][0] in ("ok", "warning")


def test_the_doctor_warns_of_settings_that_lose_commits(durable_store, tmp_path, durable_database):
    store, database = durable_store, durable_database

    def change(command: str):
        database.sql(command)
        database.sql("SELECT pg_reload_conf()")

    # While the names are set, no transaction could commit.
    database.sql(f"ALTER DATABASE {database_name(store)} SET synchronous_commit = remote_write")
    names = ["fsync", "full_page_writes", "synchronous_standby_names"]
    try:
        for setting, value in zip(names, ["off", "off", "'FIRST 1 (b)'"], strict=True):
            change(f"ALTER SYSTEM SET {setting} = {value}")
        eventually(lambda: database.sql("SHOW synchronous_standby_names") == "FIRST 1 (b)")
        found = doctor(tmp_path, store, code=1)
        assert found["database standby"][0] == "warning" and "remote_write" in found["database standby"][1]
        assert found["database disk"][0] == "error" and "fsync is off" in found["database disk"][1]
        assert found["database disk, 2"][0] == "warning" and "full_page_writes" in found["database disk, 2"][1]
    finally:
        for setting in names:
            change(f"ALTER SYSTEM RESET {setting}")
    eventually(lambda: database.sql("SHOW synchronous_standby_names") == "")


def test_the_doctor_explains_a_database_that_a_server_cannot_use(store, tmp_path, database):
    database.sql(f"ALTER DATABASE {database_name(store)} SET default_transaction_read_only = on")
    grade, text = doctor(tmp_path, store, code=1)["database"]
    assert grade == "error" and "is read-only" in text
    grade, text = doctor(tmp_path, store + "-none", code=1)["database"]
    assert grade == "error" and "createdb" in text
    grade, text = doctor(tmp_path, store, "--store-password-file", tmp_path / "none", code=1)["database"]
    assert grade == "error" and "--store-password-file" in text


# The move


def move(server, store, *more):
    return run("move", "--from", server.data, "--store", store, *more)


@sqlite_only("the calls are moved out of a folder")
def test_a_moved_call_goes_on_and_its_numbers_are_never_given_again(make_server, make_world, store):
    server = make_server()
    world = make_world(server)
    register(world, deviceId="iphone-h")
    world.call("c-1")
    caller, _ = world.call("c-2", "21", "20")
    caller.ask(type="end", callId="c-2")
    assert world.rest("10").post("/api/blocks", {"userId": "13"}).status_code == 200
    known = [signal["seq"] for signal in world.rest("11").log("c-1")["signals"]]
    shown_when("c-1", "calls", "--data", server.data)
    one_clear_line(move(server, store), "in use by another ringline")
    server.kill()
    result = move(server, store)
    assert result.returncode == 0, result.stderr
    assert "1 live call, 1 ended call, 1 device, 1 block, 0 schedules, 0 do-not-disturb, 0 revocations." in result.stdout
    assert "start the server with --store postgres://127.0.0.1" in result.stdout
    assert "server-key and development-jwt-secret" in result.stdout

    one_clear_line(move(server, store), "has calls already")
    assert "c-1" in run("calls", "--data", server.data).stdout, "the folder is not changed"
    server.options += ["--store", store]
    server.start()
    assert "did not shut down cleanly" in server.errors()
    world = make_world(server)
    caller, callee = world.connect("11", "phone-11"), world.connect("10", "phone-10")
    found = [signal["seq"] for signal in world.rest("11").log("c-1")["signals"]]
    assert found[: len(known)] == known
    # The folder names the database, for commands that are given only the folder.
    for command in (["calls"], ["explain", "c-1"], ["devices", "--user", "10"]):
        one_clear_line(run(*command, "--data", server.data), f"are in the database {store}: give --store")
    assert "c-1" in run("calls", "--data", server.data / "ringline.sqlite").stdout
    one_clear_line(run("backup", server.data / "copy", "--data", server.data), f"are in the database {store}", "pg_dump")
    one_clear_line(move(server, store), "are in the database", "delete")
    assert "is logged out everywhere" in run("revoke", "--user", "99", "--data", server.data).stdout
    ack = caller.ask(type="ice", callId="c-1", candidate=samples.candidate(1))
    assert ack["seq"] > max(known) + 512, "numbers that a killed server may have given are skipped"
    callee.expect(type="ice", callId="c-1")
    assert rows(run("devices", "--store", store, "--user", "10"))[0][0] == "iPhone iphone-h"
    assert "hangup" in run("explain", "c-2", "--store", store).stdout


@sqlite_only("the calls are moved out of a folder")
def test_a_move_is_refused_in_one_line(make_server, store, tmp_path):
    server = make_server()
    server.terminate()
    assert server.exit_code() == 0
    one_clear_line(run("move", "--from", tmp_path / "none", "--store", store), str(tmp_path / "none"))
    one_clear_line(run("move", "--from", tmp_path, "--store", store), "No database in")
    one_clear_line(run("move", "--from", server.data), "--store is missing")
    one_clear_line(run("move", "--from", server.data / "ringline.sqlite", "--store", store), "is a file")
    old = tmp_path / "old"
    shutil.copytree(server.data, old)
    with sqlite3.connect(old / "ringline.sqlite") as tables:
        tables.execute("PRAGMA user_version = 1")
    one_clear_line(run("move", "--from", old, "--store", store), "start the server once")
    one_clear_line(run("calls", "--store", store), "No tables of ringline")
    assert move(server, store).returncode == 0
    assert run("calls", "--store", store).stdout == "No live calls.\n"


@sqlite_only("the calls are moved out of a folder")
def test_commands_that_wait_in_the_folder_are_mentioned(make_server, store):
    server = make_server()
    server.kill()
    run("revoke", "--user", "10", "--data", server.data)
    assert "1 command 'ringline revoke' waits" in move(server, store).stdout


@sqlite_only("the calls are moved out of a folder")
def test_a_folder_with_a_database_elsewhere_says_so(make_server, store, tmp_path):
    server = make_server("--store", store)
    one_clear_line(run("explain", "c-1", "--data", server.data), f"are in the database {store}: give --store")
    (server.data / "store-url").unlink()
    one_clear_line(run("explain", "c-1", "--data", server.data), "its calls are elsewhere: give --store")
    one_clear_line(run("revoke", "--user", "10", "--data", server.data), "its calls are elsewhere: give --store")
    server.terminate()
    assert server.exit_code() == 0
    server.start()
    assert (server.data / "store-url").read_text() == f"{store}\n"
    server.terminate()
    assert server.exit_code() == 0
    assert "no server runs" in run("revoke", "--user", "10", "--data", server.data).stdout
    found = run("doctor", "--offline", "--data", server.data).stdout
    assert f"are in the database {store}. Fix: give --store" in found
    place = server.options.index("--store")
    del server.options[place : place + 2]
    server.start()
    assert "goes on with the older ones in the data folder" in server.errors()
    assert not (server.data / "store-url").exists()


@sqlite_only("a server is started with a mistake in its options")
def test_a_start_that_cannot_use_its_database_leaves_no_note_of_it(store, tmp_path):
    folder, wrong = tmp_path / "data", f"{store}_missing"
    result = run("serve", "--data", folder, "--store", wrong, "--listen", "127.0.0.1:0", "--admin-listen", "none")
    one_clear_line(result, "does not exist")
    assert folder.is_dir() and not (folder / "store-url").exists()


# Backups, as the page BackUpAndMove describes them


def test_a_dump_of_a_running_server_is_restored_and_its_calls_go_on(make_server, make_world, store, tmp_path):
    def client(*command):
        result = subprocess.run([*command, f"--dbname={store}"], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr

    server = make_server("--store", store)
    world = make_world(server)
    world.call("c-1")
    known = [signal["seq"] for signal in world.rest("11").log("c-1")["signals"]]
    dump = tmp_path / "ringline.dump"
    client("pg_dump", "--format=custom", "--schema=ringline", f"--file={dump}")
    world.call("c-2", "21", "20")
    server.terminate()
    assert server.exit_code() == 0
    client("psql", "--command=ALTER SCHEMA ringline RENAME TO before_restore")
    client("pg_restore", "--single-transaction", dump)
    assert "c-1" in run("calls", "--store", store).stdout
    server.start()
    assert "did not shut down cleanly" in server.errors()
    caller = make_world(server).connect("11", "phone-11")
    assert caller.ask(type="ice", callId="c-1", candidate=samples.candidate(1))["seq"] > max(known)
    assert [row[0] for row in rows(run("calls", "--store", store))] == ["c-1"]

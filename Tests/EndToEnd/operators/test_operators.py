"""The commands of an operator on a data folder while its server runs: calls, devices, test pushes, backup, restore."""

import os
import re
import shutil
import signal
import sqlite3
import stat
import subprocess

import pytest
from commands import one_clear_line, run
from postgres_server import sqlite_only
from push_services import pushed, register, token
from ringline_server import binary, clean_environment
from waiting import eventually
from world import push_options


def rows(result) -> list[list[str]]:
    """Returns the cells of a command's table, without the header line."""
    assert result.returncode == 0, result.stderr
    return [re.split(r" {2,}", line) for line in result.stdout.splitlines()[1:]]


def wait_for(world, *arguments, holds, seconds=8):
    """Runs a command until its output contains this text, because commits take time; returns the result."""
    result = None

    def is_shown() -> bool:
        nonlocal result
        result = run(*arguments, *world.server.store_options)
        return holds in result.stdout

    eventually(is_shown, seconds, lambda: result.stdout + result.stderr)
    return result


COMMANDS = "init config doctor calls devices push-test revoke events backup restore move serve explain health token".split()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_explains_itself(command):
    result = run(command, "--help")
    assert result.returncode == 0
    assert "USAGE" in result.stdout and f"ringline {command} " in result.stdout


# Calls


def test_live_calls_are_listed_with_their_users_and_states(world):
    taro, hanako = world.call("c-1")
    world.connect("21", "phone-21").ring("20", "c-2")
    result = wait_for(world, "calls", holds="c-2")
    found = {row[0]: row for row in rows(result)}
    assert found["c-1"][1:6] == ["1", "11", "10", "audio", "answered"]
    assert "phone-11" in found["c-1"][7] and "phone-10" in found["c-1"][7]
    assert found["c-2"][1:6] == ["1", "21", "20", "audio", "ringing"]
    assert [row[0] for row in rows(run("calls", "--user", "10", *world.server.store_options))] == ["c-1"]
    assert [row[0] for row in rows(run("calls", "--limit", 1, *world.server.store_options))] == ["c-2"], (
        "only the newest call is listed"
    )
    taro.ask(type="end", callId="c-1")
    eventually(lambda: "c-1" not in run("calls", *world.server.store_options).stdout)


def test_ended_calls_are_listed_newest_first_with_their_outcomes(world):
    taro, _ = world.call("c-1")
    world.connect("21").ring("20", "c-2")
    caller = world.connect("12", "phone-12")
    caller.ring("10", "c-3")
    caller.ask(type="end", callId="c-3")
    taro.ask(type="end", callId="c-1")
    result = wait_for(world, "calls", "--ended", holds="hung up")
    found = rows(result)
    assert [row[0] for row in found] == ["c-3", "c-1"], "the live call is not listed"
    assert found[0][1:5] == ["1", "12", "10", "audio"]
    assert found[0][7] == "-" and found[0][8].startswith("The caller gave up")
    assert re.fullmatch(r"\d+s", found[1][7]) and "11 hung up" in found[1][8]
    listed = [run("calls", "--ended", *more, *world.server.store_options) for more in (("--user", "11"), ("--limit", 1))]
    assert [[row[0] for row in rows(one)] for one in listed] == [["c-1"], ["c-3"]]


def test_ended_calls_of_a_user_with_a_live_call_are_found_behind_it(world):
    caller = world.connect("12")
    for number in range(3):
        caller.ring("10", f"c-{number}")
        caller.ask(type="end", callId=f"c-{number}")
    caller.ring("10", "c-live")
    wait_for(world, "calls", holds="c-live")
    result = run("calls", "--ended", "--user", "10", "--limit", 1, *world.server.store_options)
    assert [row[0] for row in rows(result)] == ["c-2"]


def test_the_list_is_shown_again_when_it_changes(world):
    command = [str(binary()), "calls", "--watch", *world.server.store_options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment()) as watching:
        assert watching.stdout.readline() == "No live calls.\n"
        world.connect("11", "iphone-t").ring("10", "c-1")
        while "c-1" not in (line := watching.stdout.readline()):
            assert line
        watching.send_signal(signal.SIGINT)
        assert watching.wait(10) == 0


def test_a_registered_device_is_shown_with_what_it_is(push_world):
    world, _ = push_world
    register(world, deviceId="iphone-h")
    world.connect("10", "iphone-h")
    world.connect("11", "browser-t").ring("10", "c-1")
    found = wait_for(world, "calls", holds="c-1")
    assert "browser-t (caller)" in found.stdout and "iPhone iphone-h (" in found.stdout
    assert rows(wait_for(world, "devices", "--user", "10", holds="iphone-h"))[0][0] == "iPhone iphone-h"


def test_without_calls_a_line_says_that_there_are_none(server):
    assert run("calls", *server.store_options).stdout == "No live calls.\n"
    assert run("calls", "--ended", *server.store_options).stdout == "No ended calls.\n"


@sqlite_only("the folder is the only place of the calls")
def test_the_data_folder_may_come_from_the_environment(server, tmp_path):
    result = run("calls", environment={"RINGLINE_DATA": str(server.data)}, cwd=tmp_path)
    assert result.stdout == "No live calls.\n", result.stderr
    token = run("token", "--user", "11", environment={"RINGLINE_DATA": str(server.data)}, cwd=tmp_path)
    assert token.returncode == 0 and not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    "command", [["calls"], ["devices", "--user", "10"], ["backup", "copy.sqlite"], ["explain", "c-1"]]
)
def test_a_folder_without_a_database_is_reported_in_one_line_that_names_it(tmp_path, command):
    one_clear_line(run(*command, "--data", tmp_path, cwd=tmp_path), str(tmp_path))
    assert list(tmp_path.iterdir()) == []


# Devices


def test_devices_are_listed_with_the_results_of_their_pushes(push_world):
    world, fake = push_world
    device = register(world, deviceId="iphone-h")
    fake.script(device, [{"status": 400, "reason": "DeviceTokenNotForTopic", "always": True}])
    world.connect("11").ring("10", "c-1")
    result = wait_for(world, "devices", "--user", "10", holds="DeviceTokenNotForTopic")
    assert "iphone-h" in result.stdout and "com.example.chat" in result.stdout
    assert "the token belongs to another app" in result.stdout, "the reason is explained in words"
    assert device not in result.stdout and f"voip {device[:6]}…" in result.stdout


def test_a_user_without_devices_is_reported_in_one_line(server):
    one_clear_line(run("devices", "--user", "10", *server.store_options), "10")
    one_clear_line(run("devices", "--user", "a b", *server.store_options), "--user")


# A test push


def push_test(world, fake, *more, user="10"):
    return run("push-test", "--user", user, *world.server.folder_options, *push_options(fake), *more)


def test_a_test_push_is_a_real_voip_push(push_world):
    world, fake = push_world
    device = register(world, deviceId="iphone-h")
    result = push_test(world, fake)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "iphone-h: APNs sandbox accepted the push" in result.stdout
    push = pushed(fake, device)
    assert push["headers"]["apns-topic"] == "com.example.chat.voip" and push["headers"]["apns-push-type"] == "voip"
    payload = push["payload"]
    assert payload["type"] == "call.incoming" and payload["fromDisplayName"] == "Ringline test"
    assert payload["callUUID"] == payload["callId"] and payload["ringUntil"] > payload["sentAt"]
    # The woken app fetches a call that does not exist, with the push's `act`.
    rest = world.rest("10")
    response = rest.http.get(
        f"/api/calls/signal/{payload['callId']}", headers={"Authorization": f"Ring {payload['act']}"}
    )
    assert response.status_code == 404, response.text


def test_push_test_finds_out_the_environment_of_a_token(push_world):
    world, fake = push_world
    device = register(world, deviceId="iphone-h")
    fake.device(device, environment="production")
    result = push_test(world, fake)
    assert result.returncode == 0
    first, second = result.stdout.splitlines()
    assert "APNs sandbox refused the push with 400 BadDeviceToken" in first and "Xcode" in first
    assert "APNs production accepted the push" in second


@pytest.mark.parametrize(
    "response, words",
    [
        (
            {"status": 410, "reason": "Unregistered", "timestamp": 1700000000000},
            ["410 Unregistered since 2023-11-14", "deleted"],
        ),
        ({"status": 400, "reason": "DeviceTokenNotForTopic"}, ["belongs to another app"]),
        ({"status": 429, "reason": "TooManyRequests"}, ["too many pushes"]),
        ({"drop": True}, ["gave no response"]),
    ],
)
def test_a_refusal_is_reported_in_words_and_by_the_exit_code(push_world, response, words):
    world, fake = push_world
    device = register(world, deviceId="iphone-h")
    fake.script(device, [response | {"always": True}])
    result = push_test(world, fake)
    assert result.returncode == 1
    for word in words:
        assert word in result.stdout


def test_a_test_push_that_cannot_be_sent_is_reported_in_one_line(push_world):
    world, fake = push_world
    one_clear_line(push_test(world, fake), "no registered device")
    register(world, deviceId="iphone-h")
    one_clear_line(push_test(world, fake, "--device", "other"), "other")
    one_clear_line(run("push-test", "--user", "10", *world.server.folder_options), "--apns-key-file")
    assert fake.pushes(token(1)) == []


# Back-ups


@sqlite_only("PostgreSQL has pg_dump and pg_restore")
def test_a_copy_made_during_calls_can_be_read_and_restored(world, make_server, make_world, tmp_path):
    taro, hanako = world.call("c-1")
    register(world, user="10", deviceId="iphone-h")
    wait_for(world, "calls", holds="answered")
    wait_for(world, "devices", "--user", "10", holds="iphone-h")
    copy = tmp_path / "copy.sqlite"
    result = run("backup", copy, "--data", world.server.data)
    assert result.returncode == 0, result.stderr
    assert "checked" in result.stdout
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir() if "part" in each.name] == []
    taro.ask(type="ice", callId="c-1", candidate={"candidate": "after the copy"})
    hanako.expect(type="ice")
    explained = run("explain", "c-1", "--data", copy)
    assert explained.returncode == 0 and "10 answered" in explained.stdout, explained.stderr
    assert [row[0] for row in rows(run("calls", "--data", copy))] == ["c-1"]
    restored = tmp_path / "restored"
    assert run("restore", copy, "--data", restored).returncode == 0
    key = "development-jwt-secret"
    (restored / key).write_bytes((world.server.data / key).read_bytes())
    other = make_world(make_server(data=restored))
    assert other.rest("10").log("c-1")["offer"]["sdp"]


@sqlite_only("PostgreSQL has pg_dump and pg_restore")
def test_an_existing_file_is_not_overwritten(server, tmp_path):
    copy = tmp_path / "copy.sqlite"
    copy.write_text("precious")
    one_clear_line(run("backup", copy, "--data", server.data), str(copy))
    assert copy.read_text() == "precious"
    one_clear_line(run("backup", tmp_path / "none" / "copy", "--data", server.data), "none")


@sqlite_only("PostgreSQL has pg_dump and pg_restore")
def test_a_damaged_copy_does_not_appear_under_its_name(server, tmp_path):
    server.terminate()
    server.exit_code()
    database = sqlite3.connect(server.data / "ringline.sqlite", isolation_level=None)
    database.execute("PRAGMA writable_schema = 1")
    # The integers of the table `meta` are then of the wrong type, and SQLite copies them nevertheless.
    database.execute("UPDATE sqlite_schema SET sql = replace(sql, 'INTEGER', 'TEXT') WHERE name = 'meta'")
    database.close()
    one_clear_line(run("backup", tmp_path / "copy.sqlite", "--data", server.data), "damaged")
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("copy")] == []


@sqlite_only("PostgreSQL has pg_dump and pg_restore")
def test_every_backup_made_under_load_is_intact(world, tmp_path):
    taro, hanako = world.call("c-1")
    for number in range(5):
        process = subprocess.Popen(
            [str(binary()), "backup", str(tmp_path / f"{number}"), "--data", str(world.server.data)],
            stdout=subprocess.PIPE,
            env=clean_environment(),
        )
        while process.poll() is None:
            taro.ask(type="ice", callId="c-1", candidate={"candidate": os.urandom(64).hex()})
        assert process.returncode == 0 and b"checked" in process.stdout.read()
        process.stdout.close()


@pytest.mark.parametrize("how", ["kill", "terminate"])
@sqlite_only("PostgreSQL has pg_dump and pg_restore")
def test_restore_replaces_the_database_and_keeps_the_old_one(world, tmp_path, how):
    """After a kill there is a -wal file, which belongs to the replaced database only."""
    server = world.server
    world.call("c-1")
    wait_for(world, "calls", holds="answered")
    copy = tmp_path / "copy.sqlite"
    assert run("backup", copy, "--data", server.data).returncode == 0
    world.connect("21", "phone-21").ring("20", "c-2")
    wait_for(world, "calls", holds="c-2")
    getattr(server, how)()
    server.process.wait(10)
    assert (server.data / "ringline.sqlite-wal").exists() == (how == "kill")
    result = run("restore", copy, "--data", server.data)
    assert result.returncode == 0, result.stderr
    (replaced,) = server.data.glob("replaced-*.sqlite")
    assert str(replaced) in result.stdout
    assert [row[0] for row in rows(run("calls", "--data", server.data))] == ["c-1"]
    assert [row[0] for row in rows(run("calls", "--data", replaced))] == ["c-2", "c-1"]
    assert stat.S_IMODE((server.data / "ringline.sqlite").stat().st_mode) == 0o600
    assert not list(server.data.glob("*.part-*"))
    server.start()
    assert world.rest("10").log("c-1")["offer"]["sdp"]
    assert world.rest("20").get("/api/calls/signal/c-2").status_code == 404


@sqlite_only("PostgreSQL has pg_dump and pg_restore")
def test_restore_refuses_a_running_server_and_a_file_that_is_not_a_backup(world, tmp_path):
    data = world.server.data
    copy, text, other = tmp_path / "copy.sqlite", tmp_path / "text", tmp_path / "other.sqlite"
    assert run("backup", copy, "--data", data).returncode == 0
    one_clear_line(run("restore", copy, "--data", data), "in use by another ringline")
    world.server.terminate()
    assert world.server.exit_code(10) == 0

    def kept():
        """Returns the contents of all files except `ringline.lock`, which has the id of the last process."""
        return {each.name: each.read_bytes() for each in data.iterdir() if each.name != "ringline.lock"}

    before = kept()
    text.write_text("no database " * 1000)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    damaged = bytearray(copy.read_bytes())
    damaged[4096:8192] = os.urandom(4096)
    (tmp_path / "damaged").write_bytes(damaged)
    for file in (text, other, tmp_path / "damaged", tmp_path / "none"):
        one_clear_line(run("restore", file, "--data", data), str(file))
    assert kept() == before


DEATH = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Kills the process instead of its n-th rename, link or unlink of the database or of a file beside it. */
static void change(const char *path) {
    static int left = -1;
    if (left < 0) left = atoi(getenv("DIES_AT"));
    if (strstr(path, "/ringline.sqlite") && --left == 0) raise(SIGKILL);
}
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
int rename(const char *from, const char *to) { change(to); return NEXT(rename)(from, to); }
int link(const char *from, const char *to) { change(from); return NEXT(link)(from, to); }
int unlink(const char *path) { change(path); return NEXT(unlink)(path); }
"""


@sqlite_only("PostgreSQL has pg_dump and pg_restore")
def test_a_crash_during_restore_leaves_the_old_or_the_new_database_complete(world, tmp_path):
    library = tmp_path / "death.so"
    (tmp_path / "death.c").write_text(DEATH)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "death.c", "-ldl"], check=True)
    copy, before = tmp_path / "copy.sqlite", tmp_path / "before"
    assert run("backup", copy, "--data", world.server.data).returncode == 0
    world.connect("21", "phone-21").ring("20", "c-2")
    wait_for(world, "calls", holds="c-2")
    world.server.kill()
    world.server.process.wait(10)
    shutil.copytree(world.server.data, before)
    assert (before / "ringline.sqlite-wal").stat().st_size > 0
    found = []
    for number in range(1, 100):
        data = tmp_path / f"data-{number}"
        shutil.copytree(before, data)
        dying = {"LD_PRELOAD": str(library), "DIES_AT": str(number)}
        result = run("restore", copy, "--data", data, environment=dying)
        found.append([row[0] for row in rows(run("calls", "--data", data))])
        if result.returncode == 0:
            break
        assert result.returncode == -signal.SIGKILL, result.stderr
    assert found[0] == ["c-2"] and found[-1] == [] and len(found) > 3
    assert all(calls in (["c-2"], []) for calls in found), found


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
@sqlite_only("PostgreSQL has pg_dump and pg_restore")
def test_a_folder_that_root_creates_in_a_restore_belongs_to_the_parents_owner(server, tmp_path):
    copy, above, roots = tmp_path / "copy.sqlite", tmp_path / "above", tmp_path / "roots"
    assert run("backup", copy, "--data", server.data).returncode == 0
    above.mkdir()
    os.chown(above, 10001, 10002)
    result = run("restore", copy, "--data", above / "a/b")
    assert result.returncode == 0 and "chown" not in result.stdout, result.stdout + result.stderr
    for path in ("a", "a/b", "a/b/ringline.sqlite", "a/b/ringline.lock"):
        status = (above / path).stat()
        assert (status.st_uid, status.st_gid) == (10001, 10002), path
    result = run("restore", copy, "--data", roots)
    assert result.returncode == 0 and f"chown -R USER {roots}" in result.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
@sqlite_only("PostgreSQL has pg_dump and pg_restore")
def test_files_restored_by_root_belong_to_the_server(server, tmp_path):
    copy, folder = tmp_path / "copy.sqlite", tmp_path / "other"
    assert run("backup", copy, "--data", server.data).returncode == 0
    folder.mkdir()
    os.chown(folder, 10001, 10002)
    assert run("restore", copy, "--data", folder).returncode == 0
    kept = {each.name: (each.stat().st_uid, each.stat().st_gid) for each in folder.iterdir()}
    (trace,) = [name for name in kept if name.startswith("ran-")]
    assert kept.pop(trace)[0] == 0, "the audit log learns from its owner who ran the command"
    assert kept == {"ringline.sqlite": (10001, 10002), "ringline.lock": (10001, 10002)}

"""The audit log: refused tokens, moved push tokens, blocks, revocations and operators' commands, in a separate file."""

import datetime
import json
import os
import signal
import time

import httpx
import pytest
from commands import one_clear_line, run, serve
from postgres_server import sqlite_only
from push_services import pushed, register, token
from test_auth import upgrade_status
from test_monitoring import sample
from tokens import mint
from waiting import away_from_the_end_of_a_minute, eventually
from world import push_options


class Audited:
    """A world with a server that writes an audit log."""

    def __init__(self, world, path):
        self.world, self.server, self.path = world, world.server, path

    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def expect(self, **wanted) -> dict:
        """Waits for the one line that has all these members; returns it without `time` and `event`."""

        def found():
            return [line for line in self.lines() if line.items() >= wanted.items()]

        eventually(found)
        (line,) = found()
        written = datetime.datetime.fromisoformat(line["time"])
        assert abs(written.timestamp() - time.time()) < 60
        return {name: value for name, value in line.items() if name not in ("time", "event")}


@pytest.fixture
def audited(make_server, make_world, tmp_path):
    path = tmp_path / "audit.jsonl"
    return Audited(make_world(make_server("--audit-log", path)), path)


# Refused tokens, by cause


@pytest.mark.parametrize(
    "cause, change",
    [
        ("expired", {"ttl": -3600}),
        ("no_expiry", {"exp": None}),
        ("not_yet_valid", {"nbf": 4_000_000_000}),
        ("no_user", {"sub": None}),
        ("claim", {"exp": "soon"}),
        ("algorithm", {"algorithm": "HS512"}),
    ],
)
def test_a_refused_token_is_logged_with_its_cause(audited, cause, change):
    bad = mint(audited.server.secret, **({"user": "10"} | change))
    assert upgrade_status(audited.server.ws_url, bad) == 401
    assert audited.expect(event="token_refused") == {"cause": cause}
    assert sample(audited.server, "ringline_tokens_refused_total", cause=cause) == 1


@pytest.mark.parametrize("where", ["upgrade", "request", "auth", "socketio"])
def test_a_forged_token_is_logged_wherever_it_is_used(audited, where):
    forged = mint(b"guessed" * 8, "10")
    world = audited.world
    if where == "upgrade":
        assert upgrade_status(audited.server.ws_url, forged) == 401
    elif where == "request":
        assert world.rest(token=forged).get("/api/me/devices").status_code == 401
    elif where == "auth":
        connection = world.connect("10")
        connection.refused(type="auth", token=forged)
    else:
        url = f"{audited.server.url}/socket.io/?EIO=4&transport=polling&token={forged}"
        assert httpx.get(url, trust_env=False).status_code == 200, "the token is refused later, at the namespace"
    assert audited.expect(event="token_refused") == {"cause": "signature"}


def test_a_revoked_token_is_logged_with_its_user(audited):
    old = audited.world.token("10")
    assert audited.world.rest(token=old).post("/api/logout-all", {}).status_code == 200
    assert upgrade_status(audited.server.ws_url, old) == 401
    assert audited.expect(event="token_refused") == {"cause": "revoked", "user": "10"}


def test_a_refused_act_is_logged(audited):
    ring = audited.world.rest(token="-")
    ring.http.headers["Authorization"] = "Ring AAAA"
    assert ring.get("/api/calls/signal/c-1").status_code == 401
    assert audited.expect(event="token_refused") == {"cause": "act"}


def test_a_flood_of_refused_tokens_is_summed_up(audited):
    world, forged = audited.world, mint(b"guessed" * 8, "10")
    client = world.rest(token=forged)
    began = time.monotonic()
    for _ in range(300):
        assert client.get("/api/me/devices").status_code == 401
    seconds = time.monotonic() - began + 2
    name = "ringline_tokens_refused_total"
    assert sample(audited.server, name, cause="signature") == 300

    def said() -> int:
        return sum(line.get("suppressed", 1) for line in audited.lines() if line["event"] == "token_refused")

    eventually(lambda: said() == 300)
    assert len(audited.lines()) <= 1 + 11 * seconds
    assert sample(audited.server, "ringline_audit_lines_dropped_total") == 0


# Push tokens that move between users, and blocks


def test_a_push_token_that_moves_between_users_is_logged(audited):
    world = audited.world
    register(world, "10", deviceId="iphone-a")
    register(world, "10", deviceId="iphone-b")
    register(world, "12", deviceId="iphone-c")
    assert audited.expect(event="push_token_moved") == {
        "kind": "voip",
        "from": "10",
        "to": "12",
        "device": "iphone-c",
    }


def test_an_account_that_moves_a_push_token_to_and_fro_fills_no_log(audited):
    world = audited.world
    away_from_the_end_of_a_minute()
    for _ in range(30):
        register(world, "10", deviceId="iphone-a")
        register(world, "12", deviceId="iphone-c")

    def moves() -> list[dict]:
        return [line for line in audited.lines() if line["event"] == "push_token_moved"]

    eventually(lambda: sum(line.get("suppressed", 1) for line in moves()) == 59)
    assert len([line for line in moves() if "suppressed" not in line]) == 20, "ten lines of each account"
    assert sample(audited.server, "ringline_audit_lines_suppressed_total") == 39


def test_a_block_is_logged(audited):
    assert audited.world.rest("10").post("/api/blocks", {"userId": "11"}).status_code == 200
    assert audited.expect(event="blocked") == {"user": "10", "blocked": "11"}


def test_the_end_of_a_block_is_logged(audited):
    rest = audited.world.rest("10")
    rest.post("/api/blocks", {"userId": "11"})
    assert rest.delete("/api/blocks/11").status_code == 200
    assert audited.expect(event="unblocked") == {"user": "10", "blocked": "11"}


# Revocations, by the user, a service or the operator


def test_a_revocation_by_the_user_is_logged(audited):
    assert audited.world.rest("10").post("/api/logout-all", {}).status_code == 200
    assert audited.expect(event="revoked") == {"user": "10", "by": "user"}


def test_a_revocation_by_a_service_is_logged_with_the_services_name(audited):
    response = audited.world.rest("backend", scope="server").post("/api/logout-all", {"userId": "10"})
    assert response.status_code == 200
    assert audited.expect(event="revoked") == {"user": "10", "by": "service", "service": "backend"}


def test_a_revocation_by_the_operator_is_logged(audited):
    assert run("revoke", "--user", "10", *audited.server.folder_options).returncode == 0
    assert audited.expect(event="revoked") == {"user": "10", "by": "operator"}
    ran = audited.expect(event="command", command="revoke")
    assert (ran["user"], ran["uid"]) == ("10", os.geteuid())


# Commands of operators

readers = ["backup", "devices", "calls", "explain"]
without_trace = sqlite_only("a command that reads a database leaves no trace in the folder")


@pytest.mark.parametrize("command", ["token", *(pytest.param(each, marks=without_trace) for each in readers)])
def test_an_operators_command_is_logged_with_the_user_who_ran_it(audited, tmp_path, command):
    world = audited.world
    register(world, "10")
    world.call("c-1")
    more = {
        "backup": [tmp_path / "copy.sqlite"],
        "devices": ["--user", "10"],
        "calls": [],
        "explain": ["c-1"],
        "token": ["--user", "10"],
    }
    result = run(command, *more[command], "--data", audited.server.data)
    assert result.returncode == 0, result.stderr
    line = audited.expect(event="command")
    assert line.pop("ran")
    user = {"user": "10"} if command in ("devices", "token") else {}
    assert line == {"command": command, "uid": os.geteuid()} | user
    eventually(lambda: not list(audited.server.data.glob("ran-*")))


def test_a_push_test_is_logged(apns, make_server, make_world, tmp_path):
    path = tmp_path / "audit.jsonl"
    audited = Audited(make_world(make_server("--audit-log", path, *push_options(apns))), path)
    register(audited.world)
    result = run("push-test", "--user", "10", *push_options(apns), *audited.server.folder_options)
    assert result.returncode == 0, result.stderr + result.stdout
    assert pushed(apns, token(1))
    assert audited.expect(event="command")["command"] == "push-test"


@sqlite_only("PostgreSQL has pg_dump and pg_restore")
def test_a_restored_backup_is_logged_by_the_next_start(audited, tmp_path):
    server = audited.server
    assert run("backup", tmp_path / "copy.sqlite", "--data", server.data).returncode == 0
    server.terminate()
    assert server.exit_code() == 0
    assert run("restore", tmp_path / "copy.sqlite", "--data", server.data).returncode == 0
    assert not [line for line in audited.lines() if line.get("command") == "restore"]
    server.start()
    assert audited.expect(event="command", command="restore")["uid"] == os.geteuid()


@without_trace
def test_a_command_leaves_nothing_where_no_server_runs(audited):
    server = audited.server
    register(audited.world, "10")
    server.terminate()
    assert server.exit_code() == 0
    assert run("devices", "--user", "10", "--data", server.data).returncode == 0
    assert not list(server.data.glob("ran-*"))


def test_start_and_end_are_logged(audited):
    audited.server.terminate()
    assert audited.server.exit_code() == 0
    lines = audited.lines()
    assert [line["event"] for line in lines] == ["started", "stopping", "stopped"]
    assert lines[0]["version"] == run("--version").stdout.split()[1]


# The file


def test_the_audit_log_continues_in_a_new_file_after_sighup(audited):
    audited.path.rename(audited.path.with_suffix(".1"))
    os.kill(audited.server.pid, signal.SIGHUP)
    eventually(audited.path.exists)
    audited.world.rest("10").post("/api/blocks", {"userId": "11"})
    audited.expect(event="blocked")


def test_if_a_file_cannot_be_reopened_the_old_one_stays_in_use(make_server, make_world, tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    audited = Audited(make_world(make_server("--audit-log", folder / "audit")), tmp_path / "moved/audit")
    folder.rename(tmp_path / "moved")
    os.kill(audited.server.pid, signal.SIGHUP)
    eventually(lambda: "the audit log cannot be reopened" in audited.server.errors())
    assert str(folder / "audit") in audited.server.errors()
    audited.world.rest("10").post("/api/blocks", {"userId": "11"})
    audited.expect(event="blocked")


def test_a_file_that_cannot_be_opened_is_reported_in_one_line(tmp_path):
    one_clear_line(serve(tmp_path, "--audit-log", tmp_path / "none/audit"), "--audit-log", "none/audit")


def test_the_audit_log_may_go_to_stdout(make_server, make_world):
    server = make_server("--audit-log", "-")
    assert json.loads(server.lines.get(timeout=5))["event"] == "started"
    make_world(server).rest("10").post("/api/blocks", {"userId": "11"})
    assert json.loads(server.lines.get(timeout=5))["event"] == "blocked"


def test_a_full_disk_drops_lines_counts_them_and_stops_no_client(make_server, make_world):
    server = make_server("--audit-log", "/dev/full")
    world = make_world(server)
    for user in ("11", "12", "13"):
        assert world.rest("10").post("/api/blocks", {"userId": user}).status_code == 200
    eventually(lambda: sample(server, "ringline_audit_lines_dropped_total") >= 4)


def test_without_an_audit_log_nothing_is_written_and_refused_tokens_are_counted(server, make_world, tmp_path):
    assert upgrade_status(server.ws_url, mint(b"guessed" * 8, "10")) == 401
    assert sample(server, "ringline_tokens_refused_total", cause="signature") == 1
    assert run("devices", "--user", "10", "--data", server.data).returncode == 1
    assert not [path for path in tmp_path.iterdir() if "audit" in path.name]


def test_the_audit_log_holds_no_token_no_description_and_no_address(audited):
    world = audited.world
    good, forged = world.token("10"), mint(b"guessed" * 8, "10")
    register(world, "10")
    register(world, "12")
    world.call("c-1")
    world.rest(token=forged).get("/api/me/devices")
    world.rest(token=good).post("/api/logout-all", {})
    assert upgrade_status(audited.server.ws_url, good) == 401
    audited.expect(event="token_refused", cause="revoked")
    text = audited.path.read_text()
    for secret in (good, forged, token(1), token(1)[-8:] + '"', "127.0.0.1", "v=0", "m=audio"):
        assert secret not in text

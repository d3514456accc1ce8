"""Operators' commands in a folder of the account that runs the server: they open nothing through its links."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from commands import one_clear_line, run
from postgres_server import sqlite_only
from test_operators import wait_for
from waiting import eventually

pytestmark = [
    sqlite_only("a database has no files in the folder"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may act as another user"),
]
ACCOUNT = 10001
PRECIOUS = "root:precious:only root may read or write this\n"
DATABASE = [f"ringline.sqlite{suffix}" for suffix in ("", "-wal", "-shm", "-journal")]
OTHERS = ["ringline.lock", "store-url", "development-jwt-secret", "server-key", "vapid-key.pem"]


@pytest.fixture
def secret(tmp_path):
    """A file that only root may read or write."""
    path = tmp_path / "secret"
    path.write_text(PRECIOUS)
    path.chmod(0o600)
    return path


@pytest.fixture(params=["reached"])
def stopped(server, tmp_path, request):
    """Returns the data folder of a server that has stopped, given to the account, and a backup of it.

    The account cannot reach a folder below one that only root may enter, such as one that is mounted into a container.
    """
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and folder.stat().st_mode & 0o077 == 0:
            folder.chmod(0o711)
    if request.param == "hidden":
        tmp_path.chmod(0o700)
    copy = tmp_path / "copy.sqlite"
    assert run("backup", copy, "--data", server.data).returncode == 0
    server.terminate()
    assert server.exit_code(10) == 0
    folder = tmp_path / "folder"
    shutil.copytree(server.data, folder)
    for path in (folder, *folder.iterdir()):
        os.chown(path, ACCOUNT, ACCOUNT)
    return folder, copy


def commands(folder, copy, tmp_path):
    yield "restore", copy, "--data", folder
    yield "backup", tmp_path / "new.sqlite", "--data", folder
    yield "explain", "11-10", "--data", folder
    yield "calls", "--data", folder
    yield "devices", "--user", "10", "--data", folder
    yield "token", "--create", "--user", "10", "--data", folder
    yield "revoke", "--user", "10", "--data", folder
    yield "move", "--from", folder, "--store", "postgres://nobody@127.0.0.1:1/none"
    yield "doctor", "--offline", "--data", folder, "--vapid-subject", "mailto:a@example.com"


def put(kind, path, target):
    """Puts a link or a pipe of the account at the path."""
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(target)
    os.chown(path, ACCOUNT, ACCOUNT, follow_symlinks=False)


@pytest.mark.parametrize(
    "stopped, kind",
    [("reached", "link"), ("reached", "pipe"), ("reached", "dangling"), ("hidden", "link")],
    indirect=["stopped"],
)
@pytest.mark.parametrize("name", DATABASE + OTHERS)
def test_no_command_opens_what_the_account_has_put_in_place_of_a_file(stopped, secret, tmp_path, name, kind):
    folder, copy = stopped
    target = tmp_path / "made" if kind == "dangling" else secret
    for command in commands(folder, copy, tmp_path):
        if kind == "dangling" and command[0] not in ("restore", "token"):
            continue
        put(kind, folder / name, target)
        # A pipe that is opened without care stops a command until its time is over.
        result = run(*command)
        assert "precious" not in result.stdout + result.stderr, command
        assert secret.read_text() == PRECIOUS and secret.stat().st_uid == 0, command
        assert not (tmp_path / "made").exists(), command
        if command[0] == "restore" and name in ("ringline.lock", *DATABASE):
            assert result.returncode != 0 and name in result.stderr, result.stderr


@pytest.mark.parametrize("stopped", ["reached"], indirect=True)
@pytest.mark.parametrize("name", ["ringline.lock", "ringline.sqlite-shm", "store-url"])
def test_a_hard_link_to_a_file_of_roots_makes_no_command_act_as_root(stopped, secret, tmp_path, name):
    folder, copy = stopped
    for each in ("ringline.sqlite", name):
        (folder / each).unlink(missing_ok=True)
        os.link(secret, folder / each)
    for command in commands(folder, copy, tmp_path):
        result = run(*command)
        assert "precious" not in result.stdout + result.stderr, command
        assert secret.read_text() == PRECIOUS and secret.stat().st_uid == 0, command


def linked(kind: str, path: Path, secret: Path) -> None:
    if kind == "hard":
        os.link(secret, path)
    else:
        put(kind, path, secret if kind == "link" else secret.with_name("made"))


def untouched(secret: Path) -> tuple:
    status = secret.stat()
    assert secret.read_text() == PRECIOUS and not secret.with_name("made").exists()
    return status.st_uid, status.st_mode, status.st_size, status.st_mtime_ns


@pytest.mark.parametrize("kind", ["link", "dangling", "hard"])
def test_a_server_takes_a_link_for_a_message_and_opens_nothing_behind_it(stopped, secret, make_server, kind):
    folder, _ = stopped
    before = untouched(secret)
    names = ["revoke-1000-10", "ran-1000-token,10"]
    linked(kind, folder / names[0], secret)
    server = make_server(data=folder)
    linked(kind, folder / names[1], secret)
    eventually(lambda: not any(os.path.lexists(folder / name) for name in names))
    assert server.alive() and untouched(secret) == before


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_backup_that_is_no_file_is_refused(stopped, secret, kind):
    folder, _ = stopped
    backup = folder / "backup.sqlite"
    with sqlite3.connect(secret.with_name("other")) as connection:
        connection.execute("PRAGMA user_version = 5")
    put(kind, backup, secret.with_name("other"))
    before = (folder / "ringline.sqlite").read_bytes()
    one_clear_line(run("restore", backup, "--data", folder), str(backup))
    assert (folder / "ringline.sqlite").read_bytes() == before


@pytest.mark.parametrize("owner", [0, ACCOUNT])
def test_a_link_to_a_folder_is_followed_only_if_the_account_cannot_have_made_it(stopped, tmp_path, owner):
    folder, copy = stopped
    home, victim = tmp_path / "home", tmp_path / "victim"
    home.mkdir()
    victim.mkdir()
    os.chown(home, ACCOUNT, ACCOUNT)
    # The account can also give another name to a link that root has made in its folder.
    link = home / "data"
    link.symlink_to(victim)
    os.chown(link, owner, owner, follow_symlinks=False)
    one_clear_line(run("restore", copy, "--data", link), "not followed")
    one_clear_line(run("restore", copy, "--data", link / "deeper"), "not followed")
    one_clear_line(run("backup", link / "copy", "--data", folder), "not followed")
    one_clear_line(run("explain", "11-10", "--data", link), "not followed")
    for create in ([], ["--create"]):
        one_clear_line(run("token", *create, "--user", "10", "--data", link), "not followed")
    assert list(victim.iterdir()) == []
    roots = tmp_path / "roots"
    roots.symlink_to(folder)
    assert run("restore", copy, "--data", roots).returncode == 0
    assert run("calls", "--data", roots).returncode == 0


@pytest.mark.parametrize("stopped", ["reached", "hidden"], indirect=True)
def test_what_root_makes_in_the_folder_belongs_to_the_account(stopped):
    folder, copy = stopped
    (folder / "ringline.lock").unlink()
    assert run("restore", copy, "--data", folder).returncode == 0
    assert run("restore", copy, "--data", folder / "new/deeper").returncode == 0
    found = {path: path.stat().st_uid for path in folder.rglob("*") if not path.name.startswith("ran-")}
    assert set(found.values()) == {ACCOUNT}, found


def test_root_acts_as_the_account_in_its_folder(stopped):
    folder, _ = stopped
    (folder / "development-jwt-secret").unlink()
    assert run("backup", folder / "copy", "--data", folder).returncode == 0
    assert run("token", "--create", "--user", "10", "--data", folder).returncode == 0
    assert run("restore", folder / "copy", "--data", folder).returncode == 0
    assert {(folder / name).stat().st_uid for name in ("copy", "development-jwt-secret")} == {ACCOUNT}
    # A server that runs as root in the folder of another user keeps the folder.
    os.chown(folder / "ringline.sqlite", 0, 0)
    assert run("calls", "--data", folder).returncode == 0


def hostile(copy: Path) -> None:
    """Adds what runs when rows are written, read or indexed, and what hides or changes rows."""
    with sqlite3.connect(copy, isolation_level=None) as connection:
        connection.executescript("""
            CREATE TRIGGER spy AFTER INSERT ON call BEGIN DELETE FROM device; END;
            CREATE TRIGGER blind AFTER INSERT ON event BEGIN SELECT RAISE(FAIL, 'no'); END;
            CREATE VIEW seen AS SELECT * FROM call;
            CREATE TRIGGER by_view INSTEAD OF INSERT ON seen BEGIN DELETE FROM call; END;
            CREATE INDEX by_expression ON call (upper(id));
            CREATE UNIQUE INDEX one_call ON call (caller);
            CREATE TABLE more (x, y AS (x || 'computed'));
            CREATE VIRTUAL TABLE words USING fts5(word);
            INSERT INTO more VALUES ('x');
        """)


def test_only_rows_of_the_servers_tables_are_restored(world, make_server, make_world, tmp_path):
    world.call("c-1")
    copy, folder = tmp_path / "copy.sqlite", tmp_path / "folder"
    world.server.terminate()
    assert world.server.exit_code(10) == 0
    assert run("backup", copy, "--data", world.server.data).returncode == 0

    def schema(path):
        with sqlite3.connect(path) as connection:
            return sorted(connection.execute("SELECT type, name, sql FROM sqlite_schema"), key=str)

    before = schema(copy)
    hostile(copy)
    result = run("restore", copy, "--data", folder)
    assert result.returncode == 0, result.stderr
    assert [row[1] for row in schema(folder / "ringline.sqlite")] == [row[1] for row in before]
    # A server could not store a call if a trigger or an index of the backup were there.
    restored = make_world(make_server(data=folder))
    restored.call("c-2")
    wait_for(restored, "calls", holds="c-2")


CHANGES = {
    "a view for a table": "DROP TABLE block; CREATE VIEW block AS SELECT '1' AS by, '2' AS blocked, 3 AS at",
    "a virtual table": "DROP TABLE block; CREATE VIRTUAL TABLE block USING fts5(by, blocked, at)",
    "a computed column": "DROP TABLE block; CREATE TABLE block (by TEXT, blocked TEXT, at INTEGER AS (1))",
    "one column more": "ALTER TABLE block ADD COLUMN more TEXT",
    "a table less": "DROP TABLE block",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_backup_with_other_tables_is_refused(stopped, change):
    folder, copy = stopped
    with sqlite3.connect(copy, isolation_level=None) as connection:
        connection.executescript(CHANGES[change])
    before = (folder / "ringline.sqlite").read_bytes()
    one_clear_line(run("restore", copy, "--data", folder), "block")
    assert (folder / "ringline.sqlite").read_bytes() == before
    assert [path.name for path in folder.iterdir() if "part" in path.name] == []

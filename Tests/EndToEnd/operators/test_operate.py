"""The commands on the pages for operators, run as they are printed there, and the marks that say which are not run.

The mark of a block of commands is a comment above it: `run by FILE`, or `not run` with the reason. A block with a language
(`ini`, `text`, `console`) is a file or an output.
"""

import os
import re
import subprocess

import pytest
from commands import run
from postgres_server import sqlite_only
from ringline_server import ROOT, binary, clean_environment
from test_operators import wait_for

FOLDER = ROOT / "Sources/Server/ringline/ringline.docc"
PAGES = ["Install", "Configure", "Run", "BackUpAndMove", "SeveralNodes", "Diagnose"]
MARKED = re.compile(r"^( *)<!-- ([^\n]*) -->\n+ *```\n(.*?)^ *```$", re.M | re.S)
BLOCKS = {
    (page, re.sub("^" + match[1], "", match[3], flags=re.M)): match[2]
    for page in PAGES
    for match in MARKED.finditer((FOLDER / f"{page}.md").read_text())
}
HERE = "Tests/EndToEnd/operators/test_operate.py"
URL = "postgres://ringline@db.internal/ringline"

pytestmark = sqlite_only("a data folder is moved, and PostgreSQL's own backups are run with it")


def shell(page: str, start: str, folder, *replaced: tuple[object, object]) -> str:
    """Runs the page's block that begins with this text, with other paths and addresses; returns its output."""
    (block,) = [block for block in BLOCKS if block[0] == page and block[1].startswith(start)]
    assert BLOCKS[block] == f"run by {HERE}"
    text = block[1]
    for old, new in replaced:
        assert str(old) in text, f"{old} is not in the block any more"
        text = text.replace(str(old), str(new))
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    if not (programs / "ringline").exists():
        (programs / "ringline").symlink_to(binary())
    environment = clean_environment(PATH=f"{programs}:{os.environ['PATH']}")
    done = subprocess.run(
        ["bash", "-euc", text], cwd=folder, env=environment, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, f"{text}{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_commands_says_who_runs_it_or_why_nobody_does(page):
    text = (FOLDER / f"{page}.md").read_text()
    fences = re.findall(r"^ *```(.*)$", text, re.M)[::2]
    marks = [mark for (of, _), mark in BLOCKS.items() if of == page]
    assert len(marks) == fences.count(""), "a block of commands without a mark, or twice"
    for mark in marks:
        by = re.fullmatch(r"run by (Tests/\S+)", mark)
        assert by or re.fullmatch(r"not run( as it stands)?: \S.*", mark), mark
        if by and by[1] != "Tests/newcomer":
            assert f"{page}.md" in (ROOT / by[1]).read_text() or by[1] == HERE, f"{by[1]} does not read the page"
    runs = re.findall(r'shell\(\s*"(\w+)", "([^"]+)"', (ROOT / HERE).read_text())
    for (of, block), mark in BLOCKS.items():
        if of == page and mark == f"run by {HERE}":
            assert [block for one, start in runs if one == page and block.startswith(start)], f"not run: {block}"


def test_the_key_for_browsers_is_one_that_the_server_takes(make_server, make_world, tmp_path):
    shell("Configure", "openssl", tmp_path)
    options = ["--vapid-subject", "mailto:ops@example.com", "--vapid-key-file", tmp_path / "vapid-key.pem"]
    world = make_world(make_server(*options))
    assert world.rest("10").get("/api/web-push").json()["applicationServerKey"]


def test_a_user_is_logged_out_and_a_service_gets_a_token(world, tmp_path):
    folder = ("/var/lib/ringline", world.server.data)
    socket = world.connect("10")
    shell("Run", "ringline revoke", tmp_path, folder)
    assert socket.close_code() == 4401
    token = shell("Run", "ringline token", tmp_path, folder).strip()
    assert world.rest(token=token).get("/api/calls/c-1/timeline").status_code == 404, "a service, not a user: 403"


def test_a_backup_is_made_and_restored(world, tmp_path):
    backup = tmp_path / "backup"
    backup.mkdir()
    folder = ("/var/lib/ringline", world.server.data)
    world.call("c-1")
    wait_for(world, "calls", holds="answered")
    shell("BackUpAndMove", "ringline backup", tmp_path, folder, ("/backup", backup))
    (made,) = backup.iterdir()
    world.call("c-2", "21", "20")
    world.server.terminate()
    assert world.server.exit_code() == 0
    restored = ("/backup/ringline-2026-11-21.sqlite", made)
    shell("BackUpAndMove", "ringline restore", tmp_path, folder, restored)
    shown = run("calls", "--data", world.server.data).stdout
    assert "c-1" in shown and "c-2" not in shown


def test_a_folder_is_moved_into_postgresql_whose_own_tools_back_it_up(world, store, tmp_path):
    (tmp_path / "password").write_text("not asked for\n")
    password = ("/run/secrets/store", tmp_path / "password")
    world.call("c-1")
    wait_for(world, "calls", holds="answered")
    world.server.kill()
    said = shell(
        "BackUpAndMove", "ringline move", tmp_path, ("/var/lib/ringline", world.server.data), (URL, store), password
    )
    assert "1 live call" in said
    shell("BackUpAndMove", "pg_dump", tmp_path, (URL, store))
    (dump,) = tmp_path.glob("*.dump")
    shell("BackUpAndMove", "psql", tmp_path, (URL, store), ("ringline-2026-11-21.dump", dump))
    assert "c-1" in run("calls", "--store", store).stdout

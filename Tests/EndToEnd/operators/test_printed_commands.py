"""The commands for a shell that the pages print, run as they stand there."""

import json
import os
import re
import shlex
import shutil
import subprocess

import samples
from postgres_server import sqlite_only
from ringline_server import ROOT, binary, clean_environment

pytestmark = sqlite_only("the commands name a data folder")
TEN_MINUTES = "Sources/Clients/RinglineKit/RinglineKit.docc/TenMinutes.md"


def commands(page: str) -> list[str]:
    """Returns the commands in all blocks of a page that are in no language."""
    parts = re.split(r"^```(.*)\n", (ROOT / page).read_text(), flags=re.MULTILINE)
    # Text, language, block, the end of the block, text, …
    return [
        line
        for language, block in zip(parts[1::4], parts[2::4], strict=True)
        if not language
        for line in re.sub(r"\\\n *", "", block).splitlines()
    ]


def shell(world, line: str, folder=ROOT, **values) -> subprocess.CompletedProcess:
    """Runs a line in a folder, with the address of the test's server and, as Deploy/run prints them, two tokens."""
    line = re.sub(r"http://[\d.]+:8080", world.server.url, line).replace(".build/release/ringline", str(binary()))
    for name, value in values.items():
        line = line.replace(name, value)
    tokens = {"HANAKO": world.token("10"), "TARO": world.token("11"), "no_proxy": "*"}
    environment = clean_environment(**tokens)
    return subprocess.run(
        ["bash", "-euc", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=30
    )


def test_the_curl_lines_of_the_readme_make_a_call_and_register_a_device(world):
    lines = [line for line in commands("README.md") if line.startswith("curl ")]
    assert len(lines) == 6
    answers = []
    for line in lines:
        result = shell(world, line)
        assert result.returncode == 0, result.stderr
        answers.append(json.loads(result.stdout))
        assert "code" not in answers[-1] and "title" not in answers[-1], (line, answers[-1])
    assert "answer" in [signal["type"] for signal in answers[3]["signals"]], answers
    assert answers[5]["id"], answers


def test_the_commands_of_ten_minutes_are_taken(apns, make_server, make_world, tmp_path):
    lines = [
        line for line in commands(TEN_MINUTES) if line.startswith(("Deploy/run", "curl", ".build/release/ringline"))
    ]
    folder = tmp_path / "here"
    folder.mkdir()
    shutil.copy(apns.key, folder / "AuthKey_ABCDE12345.p8")
    (served,) = [shlex.split(line) for line in lines if line.startswith("Deploy/run") and "--apns-key-file" in line]
    options = [str(folder / word) if word.endswith(".p8") else word for word in served[1:]]
    at = options.index("--listen")
    del options[at : at + 2]
    world = make_world(make_server(*options))
    os.symlink(world.server.data, folder / "data")
    world.rest("11").signal("offer", "c-1", sdp=samples.OFFER, to="10")
    seen = set()
    for line in lines:
        words = shlex.split(line)
        if words[0] == "Deploy/run" or words[1] == "call":
            continue  # The server runs already, and test_shutdown.py and Tests/newcomer call.
        # Apple is not asked: it does not know the key.
        result = shell(world, line + " --offline" * (words[1] == "doctor"), folder, CALLID="c-1")
        if words[1] == "push-test":  # It has taken the options, and finds no device that it could push.
            assert "10 has no registered device in ./data" in result.stderr, (line, result.stdout, result.stderr)
        else:
            assert result.returncode == 0, (line, result.stdout, result.stderr)
        seen.add(words[1] if words[0] != "curl" else "curl")
    assert seen == {"doctor", "explain", "curl", "push-test"}

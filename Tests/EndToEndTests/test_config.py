"""`ringline config`: the effective configuration, the source of each value, and the table of all settings."""

import re

from ringline_server import ROOT
from test_command_line import one_clear_line, run


def lines(result) -> dict[str, str]:
    assert result.returncode == 0, result.stderr
    rows = [re.split(r" {2,}", line, maxsplit=1) for line in result.stdout.splitlines()]
    return {name: rest[0] if rest else "" for name, *rest in rows}


def test_every_value_is_shown_with_its_source(tmp_path):
    file = tmp_path / "ringline.conf"
    file.write_text("ring-timeout = 30\nbusy-policy = busy\nstun-url = stun:a:1\nstun-url = stun:b:2\n")
    shown = lines(
        run(
            "config",
            "--config",
            file,
            "--data",
            "/here",
            environment={"RINGLINE_RING_TIMEOUT": "20", "RINGLINE_LISTEN": ""},
        )
    )
    assert re.fullmatch(r"/here +option --data", shown["data"])
    assert re.fullmatch(r"20 +variable RINGLINE_RING_TIMEOUT", shown["ring-timeout"])
    assert re.fullmatch(r"busy +file", shown["busy-policy"])
    assert re.fullmatch(r"stun:a:1,stun:b:2 +file", shown["stun-url"])
    assert re.fullmatch(r"127.0.0.1:8080 +default", shown["listen"])
    assert shown["tls-cert"] == "-"


def test_no_secret_is_shown(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("s3cret-in-a-file")
    result = run(
        "config", "--turn-secret-file", "s3cret-in-the-wrong-place", "--turn-url", "turn:a",
        environment={"RINGLINE_JWT_SECRET_FILE": str(secret), "RINGLINE_JWT_SECRET": "s3cret-misspelt"},
    )  # fmt: skip
    assert "s3cret" not in result.stdout + result.stderr
    assert str(secret) in result.stdout
    assert "RINGLINE_JWT_SECRET is ignored: unknown setting" in result.stderr


def test_a_configuration_that_serve_refuses_is_printed_and_fails():
    result = run("config", "--ring-timeout", "soon")
    one_clear_line(result, "--ring-timeout")
    assert "soon" in result.stdout


def test_the_table_is_the_one_on_the_page_settings():
    result = run("config", "--table")
    assert result.returncode == 0
    assert "\n" + result.stdout + "\n" in (ROOT / "Sources/ringline/ringline.docc/Settings.md").read_text()

"""`ringline config`: the effective configuration, the source of each value, and the table of all settings."""

import os
import re
import shlex
import subprocess
from contextlib import ExitStack

import pytest
from commands import one_clear_line, run
from ringline_server import ROOT, binary, clean_environment, free_port


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


# Settings under their old names


@pytest.mark.parametrize("way", ["option", "variable", "file"])
def test_a_setting_is_accepted_under_its_old_name_with_a_warning(make_server, make_world, tmp_path, way):
    file = tmp_path / "ringline.conf"
    file.write_text("kept-bytes-per-day = 100000\n")
    options, environment, shown, said = {
        "option": (
            ["--kept-bytes-per-day", "100000"], {}, "option --kept-bytes-per-day",
            "--kept-bytes-per-day is the old name of --stored-bytes-per-day",
        ),
        "variable": (
            [], {"RINGLINE_KEPT_BYTES_PER_DAY": "100000"}, "variable RINGLINE_KEPT_BYTES_PER_DAY",
            "RINGLINE_KEPT_BYTES_PER_DAY is the old name of RINGLINE_STORED_BYTES_PER_DAY",
        ),
        "file": (
            ["--config", file], {}, "file, as kept-bytes-per-day",
            "config: kept-bytes-per-day is the old name of config: stored-bytes-per-day",
        ),
    }[way]  # fmt: skip
    config = run("config", *options, environment=environment)
    assert re.fullmatch(rf"100000 +{shown}", lines(config)["stored-bytes-per-day"])
    assert said in config.stderr and "unknown setting" not in config.stderr
    doctor = run("doctor", "--offline", "--data", tmp_path / "none", *options, environment=environment)
    assert f"warning  settings: {said}, and goes in the next release. Fix: " in doctor.stdout
    world = make_world(make_server(*options, environment=environment))
    assert world.server.errors().count(said) == 1
    taro, _ = world.call("c-1")
    while (reply := taro.reply_to(taro.send(type="info", callId="c-1", data="x" * 9000)))["type"] == "ack":
        pass
    assert reply["code"] == "rate_limited"


def test_a_setting_under_both_of_its_names_is_refused(tmp_path):
    both = ["--max-tcp-connections", "10"]
    said = "--max-tcp-connections and RINGLINE_MAX_CONNECTIONS are two names of one setting: give only the first"
    for command in ("config", "serve"):
        result = run(command, *both, "--data", tmp_path / "data", environment={"RINGLINE_MAX_CONNECTIONS": "9"})
        assert result.returncode == 1 and said in result.stderr


def test_the_help_has_no_old_name():
    assert "bytes-per-day" in (text := run("serve", "--help").stdout) and "--kept-bytes" not in text
    assert "max-connections" not in text + run("config", "--table").stdout


def test_the_table_is_the_one_on_the_page_settings():
    result = run("config", "--table")
    assert result.returncode == 0
    assert "\n" + result.stdout + "\n" in (ROOT / "Sources/Server/ringline/ringline.docc/Settings.md").read_text()


# ringline init


def made(folder, *options):
    # Another server may have the admin listener's usual port.
    environment = {"RINGLINE_ADMIN_LISTEN": "none"}
    result = run("init", folder, *options, "--listen", "127.0.0.1:0", environment=environment)
    return result, folder / "ringline.conf", folder / "secrets/jwt-secret"


def test_init_writes_a_configuration_with_every_setting_and_a_secret(tmp_path):
    result, file, secret = made(tmp_path / "new")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "ok       settings: all are valid" in result.stdout and f"ringline serve --config {file}" in result.stdout
    assert secret.stat().st_mode & 0o077 == 0 and len(secret.read_text().strip()) >= 32
    lines = file.read_text().splitlines()
    assert max(len(line) for line in lines if " " in line and line[0] == "#" and " = " not in line) <= 90
    names = [re.match(r"(?:# )?([a-z-]+) = ", line).group(1) for line in lines if re.match(r"(?:# )?[a-z-]+ = ", line)]
    assert names == re.findall(r"^([a-z-]+) ", run("config").stdout, re.M)
    given = [line.partition(" = ")[0] for line in lines if line and not line.startswith("#")]
    assert given == ["listen", "data", "jwt-secret-file"]
    config = run("config", "--config", file)
    assert config.returncode == 0 and f"{tmp_path}/new/data" in config.stdout


def test_a_server_starts_with_what_init_has_written(make_server, make_world, tmp_path):
    _, file, secret = made(tmp_path / "new")
    world = make_world(make_server("--config", file))
    token = run("token", "--jwt-secret-file", secret, "--user", "11").stdout.strip()
    assert world.connect(token=token).user == "11"


def test_the_commands_that_init_prints_make_a_call(tmp_path):
    address = f"127.0.0.1:{free_port()}"
    result = run("init", tmp_path, "--listen", address, environment={"RINGLINE_ADMIN_LISTEN": "none"})
    start, answer, call = result.stdout.partition("in a terminal of its own:")[2].strip().splitlines()
    environment = clean_environment(
        RINGLINE_ADMIN_LISTEN="none", PATH=f"{binary().parent}:{os.environ['PATH']}"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "env": environment}
    with ExitStack() as running:
        for command, words in ((start, f"listening on http://{address}"), (answer, "waiting for calls")):
            process = running.enter_context(subprocess.Popen(["bash", "-c", f"exec {command.strip()}"], **pipes))
            running.callback(process.terminate)
            while words not in (line := process.stdout.readline()):
                assert line, command
        called = subprocess.run(["bash", "-c", f"{call} --talk 0"], timeout=30, **pipes)
        assert called.returncode == 0 and "connected" in called.stdout


def test_init_overwrites_nothing_and_keeps_a_secret(tmp_path):
    _, file, secret = made(tmp_path)
    before, kept = file.read_text(), secret.read_text()
    result, _, _ = made(tmp_path, "--unit")
    one_clear_line(result, str(file), "not overwritten")
    assert file.read_text() == before and not (tmp_path / "ringline.service").exists()
    file.unlink()
    assert made(tmp_path)[0].returncode == 0 and secret.read_text() == kept


def test_init_takes_a_link_that_leads_nowhere_for_a_file(tmp_path):
    (tmp_path / "ringline.conf").symlink_to(tmp_path / "missing")
    one_clear_line(made(tmp_path)[0], "ringline.conf exists, and is not overwritten")
    assert [path.name for path in tmp_path.iterdir()] == ["ringline.conf"]


@pytest.mark.parametrize(
    "folder, options, words",
    [
        ("new\nline", [], "a line end or a control character"),
        ("new", ["--data", "a\nlog-level = trace"], "a line end or a control character"),
        ("new", ["--data", ""], "data: must name a folder"),
        ("new", ["--unit", "--data", "elsewhere"], "--data cannot be given with --unit"),
        ("new", ["--compose", "--data", "elsewhere"], "--data cannot be given with --unit"),
    ],
)
def test_init_leaves_no_file_with_a_value_that_is_refused(tmp_path, folder, options, words):
    result, file, secret = made(tmp_path / folder, *options)
    one_clear_line(result, words)
    assert not file.exists() and not secret.exists()


def test_the_files_of_init_can_be_read_by_the_user_of_a_service(tmp_path):
    earlier = os.umask(0o077)
    try:
        result, file, secret = made(tmp_path / "made", "--unit")
    finally:
        os.umask(earlier)
    modes = [path.stat().st_mode & 0o777 for path in (file.parent, file, secret.parent, secret)]
    assert [oct(mode) for mode in modes] == ["0o755", "0o644", "0o700", "0o600"]
    # A unit has its own /tmp, and the tests' folder is there or in a folder of one user.
    assert f"the unit cannot reach {file}: " in result.stdout


def test_init_quotes_the_names_of_its_files(tmp_path):
    folder = tmp_path / 'my "calls" of 100% $HOME\\it\'s'
    result, file, secret = made(folder, "--unit")
    assert result.returncode == 0, result.stderr
    start, *calls = result.stdout.partition("in a terminal of its own:\n")[2].strip().splitlines()
    assert shlex.split(start)[-1] == str(folder / "ringline.service")
    for command in calls:
        # The shell takes the words apart; they are not run.
        words = subprocess.run(
            ["bash", "-euc", f"ringline() {{ printf '[%s]\\n' \"$@\"; }}; {command}"], capture_output=True, text=True
        )
        assert words.returncode == 0 and f"[--jwt-secret-file]\n[{secret}]\n" in words.stdout, words
    unit = (folder / "ringline.service").read_text()
    doubled = str(file).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    assert f' --config "{doubled}"\n' in unit
    # A credential's path is the rest of its line, without quotes.
    assert f"\nLoadCredential=jwt-secret:{str(secret).replace('%', '%%')}\n" in unit


def test_the_unit_of_init_is_that_of_the_repository(tmp_path):
    result, file, secret = made(tmp_path, "--unit")
    unit = (tmp_path / "ringline.service").read_text()
    assert result.returncode == 0 and f"enable --now {tmp_path}/ringline.service" in result.stdout
    own = [
        f"ExecStart={binary()} serve --config {file}",
        f"LoadCredential=jwt-secret:{secret}",
        "Environment=RINGLINE_JWT_SECRET_FILE=%d/jwt-secret",
    ]
    kept = (ROOT / "Deploy/ringline.service").read_text().partition("[Unit]")[2]
    for line in own[1:]:
        assert unit.count(line + "\n") == 1
        unit = unit.replace(line + "\n", "")
    assert unit.partition("[Unit]")[2].replace(own[0], "ExecStart=/usr/bin/ringline serve --config /etc/ringline/ringline.conf") == kept


def test_the_compose_file_of_init_mounts_what_init_has_written(tmp_path):
    result, file, secret = made(tmp_path, "--compose")
    text = (tmp_path / "compose.yaml").read_text()
    assert result.returncode == 0 and "file: secrets/jwt-secret" in text and "./ringline.conf:/etc/ringline.conf:ro" in text
    assert secret.stat().st_mode & 0o777 == 0o444 and secret.parent.stat().st_mode & 0o777 == 0o700
    one_clear_line(run("init", tmp_path / "x", "--unit", "--compose"), "cannot be given together")


@pytest.mark.parametrize("listen", ["0.0.0.0:9000", "[::1]:9000"])
def test_the_compose_file_of_init_publishes_the_port_where_the_server_is_to_listen(tmp_path, listen):
    assert run("init", tmp_path, "--compose", "--listen", listen).returncode == 0
    assert f'- "{listen}:8080"' in (tmp_path / "compose.yaml").read_text()

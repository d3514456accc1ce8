"""The command line of `ringline`, as an operator uses it."""

import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import threading
import time

import httpx
import jwt
import pytest
import samples
from commands import one_clear_line, run, serve
from ringline_server import binary, clean_environment
from world import push_options


def test_a_bad_option_is_reported_in_one_line_and_fails(tmp_path):
    one_clear_line(serve(tmp_path, "--no-such-option"), "--no-such-option")


@pytest.mark.parametrize(
    "option, value",
    [
        ("--ring-timeout", "soon"),
        ("--ring-timeout", "-1"),
        ("--ring-timeout", "0"),
        ("--listen", "nowhere"),
        ("--listen", "127.0.0.1:70000"),
        ("--apns-environment", "moon"),
        ("--disconnect-grace", "x"),
        ("--disconnect-grace", "3601"),
        ("--ring-timeout", "1000000"),
        ("--probe-timeout", "601"),
        ("--wait-for-data", "86401"),
        ("--listen", "calls.example.com:8080"),
        ("--admin-listen", "eth0:9090"),
    ],
)
def test_a_bad_value_is_reported_in_one_line_that_names_the_option(tmp_path, option, value):
    one_clear_line(serve(tmp_path, f"{option}={value}"), option)


def test_a_bad_value_in_the_environment_is_reported_in_one_line(tmp_path):
    one_clear_line(serve(tmp_path, environment={"RINGLINE_RING_TIMEOUT": "soon"}), "soon")


@pytest.mark.parametrize("option", ["--listen", "--admin-listen"])
def test_a_taken_port_is_reported_in_one_line_that_names_it(tmp_path, option):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        one_clear_line(serve(tmp_path, option, f"127.0.0.1:{port}"), f"{option} 127.0.0.1:{port}: another process")


def test_localhost_is_an_address_to_listen_on(make_server):
    server = make_server("--listen", "localhost:0", "--admin-listen", "localhost:0")
    assert server.url.startswith("http://127.0.0.1:") and server.admin_url.startswith("http://127.0.0.1:")
    assert httpx.get(f"{server.admin_url}/readyz", trust_env=False).status_code == 200


def test_a_log_in_json_holds_nothing_but_json_with_numbers_as_numbers(make_server):
    server = make_server("--log-format", "json", start=False)
    server.start()
    server.terminate()
    assert server.exit_code(10) == 0
    lines = [json.loads(line) for line in server.errors().splitlines()]
    (started,) = [line for line in lines if line["message"] == "started"]
    assert type(started["descriptors"]) is int and started["version"]
    assert [json.loads(line)["message"].split(" http")[0] for line in server.printed] == ["listening on", "admin on"]


JSON = ["--log-format", "json"]


@pytest.mark.parametrize(
    "options, variables",
    [
        ([*JSON, "--jwt-secret-file", "/nowhere"], {}),
        ([*JSON, "--ring-timeout", "soon"], {}),
        (["--ring-timeout", "soon", "--log-format=json"], {}),
        ([*JSON, "--no-such-option"], {}),
        (["--no-such-option", "--log-format=json"], {}),
        ([*JSON, "--listen"], {}),
        ([*JSON, "surplus"], {}),
        ([*JSON, "--config", "/nowhere"], {}),
        ([*JSON, "--data", "/dev/null"], {}),
        (["--ring-timeout", "soon"], {"RINGLINE_LOG_FORMAT": "json"}),
        (["--no-such-option"], {"RINGLINE_LOG_FORMAT": "json"}),
        (["--config", "{folder}/json.conf", "--ring-timeout", "soon"], {}),
        (["--no-such-option", "--config", "{folder}/json.conf"], {}),
    ],
    ids=str,
)
def test_an_error_that_ends_the_start_is_a_line_of_json_too(tmp_path, options, variables):
    (tmp_path / "json.conf").write_text("log-format = json\n")
    options = [option.format(folder=tmp_path) for option in options]
    # The option without its value comes last.
    result = run("serve", "--data", tmp_path / "d", "--admin-listen", "none", *options, environment=variables)
    assert result.returncode != 0 and result.stdout == ""
    lines = [json.loads(line) for line in result.stderr.splitlines()]
    assert lines[-1]["level"] == "error" and lines[-1]["message"] and lines[-1]["time"]


@pytest.mark.parametrize(
    "options, variables",
    [
        (["--log-format", "jsonl"], {}),
        (["--log-format", "text", "--ring-timeout", "soon"], {"RINGLINE_LOG_FORMAT": "json"}),
        (["--ring-timeout", "soon"], {"RINGLINE_LOG_FORMAT": "JSON"}),
        ([*JSON, "--log-format", "text", "--no-such-option"], {}),
    ],
    ids=str,
)
def test_an_error_is_text_where_the_format_is_another_or_wrong(tmp_path, options, variables):
    result = run("serve", "--data", tmp_path / "d", *options, environment=variables)
    one_clear_line(result, "ringline: ")


@pytest.mark.parametrize("mode", [0o700, 0o744], ids=["no access", "no search"])
def test_records_that_cannot_be_reached_are_told_as_such(tmp_path, make_server, mode):
    make_server(data=tmp_path / "d").terminate()
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    command = ["setpriv", "--reuid", "65534", "--clear-groups", str(binary()), "calls", "--data", str(tmp_path / "d")]
    os.chmod(tmp_path / "d", mode)
    for folder in tmp_path.parents[:2]:
        os.chmod(folder, 0o755)
    os.chmod(tmp_path, 0o755)
    result = subprocess.run(command, capture_output=True, text=True, env=clean_environment(), timeout=20)
    one_clear_line(result, "ermission denied")
    assert "No database" not in result.stderr


@pytest.mark.parametrize(
    "option", ["--jwt-secret-file", "--jwt-public-key-file", "--jwks-file", "--apns-key-file", "--tls-cert"]
)
def test_a_missing_key_or_certificate_is_reported_in_one_line_that_names_it(tmp_path, option):
    path = tmp_path / "missing.pem"
    others = {
        "--apns-key-file": ["--apns-key-id", "KEY1234567", "--apns-team-id", "TEAM123456"],
        "--tls-cert": ["--tls-key", path],
    }.get(option, [])
    one_clear_line(serve(tmp_path, option, path, *others), str(path))


@pytest.mark.parametrize(
    "cert, key, words",
    [
        ("noise.pem", "k.pem", ["--tls-cert {folder}/noise.pem: "]),
        ("c.pem", "noise.pem", ["--tls-key {folder}/noise.pem: "]),
        ("c.pem", "other.pem", ["--tls-key {folder}/other.pem is not the key of --tls-cert {folder}/c.pem"]),
        ("k.pem", "k.pem", ["--tls-cert {folder}/k.pem: it is a private key", "must be a certificate"]),
        ("c.pem", "c.pem", ["--tls-key {folder}/c.pem: it is a certificate", "must be the private key"]),
    ],
)
def test_an_unusable_certificate_is_reported_in_one_line_that_names_it(tmp_path, certificate, cert, key, words):
    result = serve(tmp_path, "--tls-cert", certificate / cert, "--tls-key", certificate / key)
    one_clear_line(result, *(word.format(folder=certificate) for word in words))


def test_the_server_uses_a_valid_certificate(make_server, certificate):
    server = make_server("--tls-cert", certificate / "c.pem", "--tls-key", certificate / "k.pem")
    assert httpx.get(server.url, verify=False, trust_env=False).status_code == 200


@pytest.mark.parametrize("option", ["--jwt-secret-file", "--jwt-public-key-file", "--jwks-file"])
def test_a_missing_key_is_reported_in_one_line_that_names_the_option(tmp_path, option):
    one_clear_line(serve(tmp_path, option, tmp_path / "missing"), option)


def test_the_warning_about_a_misspelt_variable_names_the_nearest_setting_but_no_value(make_server):
    server = make_server(environment={"RINGLINE_RING_TIMOUT": "s3cret", "RINGLINE_BANANA": "s3cret"})
    warnings = [line for line in server.errors().splitlines() if " warning " in line]
    (misspelt,) = [line for line in warnings if "RINGLINE_RING_TIMOUT" in line]
    assert "RINGLINE_RING_TIMEOUT" in misspelt
    (unknown,) = [line for line in warnings if "RINGLINE_BANANA" in line]
    assert unknown.count("RINGLINE_") == 1
    assert "s3cret" not in server.errors()


def test_kubernetes_variables_of_a_service_named_ringline_are_not_misspelt_settings(make_server):
    server = make_server(
        environment={
            "RINGLINE_SERVICE_HOST": "10.0.0.1",
            "RINGLINE_SERVICE_PORT_HTTP": "8080",
            "RINGLINE_PORT": "tcp://10.0.0.1:8080",
            "RINGLINE_PORT_8080_TCP_ADDR": "10.0.0.1",
            "RINGLINE_ADMIN_SERVICE_PORT": "9090",
            "RINGLINE_LOG_LEVEL": "info",
            "RINGLINE_STUN_URL": "",
        }
    )
    assert "RINGLINE_" not in server.errors()


def test_an_unusable_apns_ca_file_is_reported_in_one_line_at_the_start(apns, tmp_path):
    options = push_options(apns)
    place = options.index("--apns-ca-file") + 1
    noise = tmp_path / "noise.pem"
    noise.write_text("this is no certificate")
    for path in (tmp_path / "missing.pem", noise):
        options[place] = path
        one_clear_line(serve(tmp_path, *options), "--apns-ca-file", str(path))


@pytest.mark.parametrize("option, word", [("--apns-key-id", "key id"), ("--apns-team-id", "team id")])
def test_a_wrong_apns_id_is_not_reported_as_a_bad_key_file(apns, tmp_path, option, word):
    options = push_options(apns)
    options[options.index(option) + 1] = "abc"
    result = serve(tmp_path, *options)
    one_clear_line(result, word)
    assert "--apns-key-file" not in result.stderr


@pytest.mark.parametrize("option", ["--jwt-public-key-file", "--jwks-file", "--apns-key-file"])
def test_an_invalid_key_is_reported_in_one_line_with_its_path(tmp_path, option):
    path = tmp_path / "noise.pem"
    path.write_text("this is no key")
    others = ["--apns-key-id", "KEY1234567", "--apns-team-id", "TEAM123456"] if option == "--apns-key-file" else []
    result = serve(tmp_path, option, path, *others)
    one_clear_line(result)
    assert f"{option} {path}: " in result.stderr


def test_a_data_folder_that_cannot_be_made_is_reported_in_one_line_that_names_it(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    one_clear_line(serve(tmp_path, "--data", file / "data"), str(file / "data"))


def test_a_data_folder_that_is_a_file_is_reported_in_one_line_that_names_it(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    one_clear_line(serve(tmp_path, "--data", file), str(file))


def test_a_second_server_on_the_same_data_is_refused(server, tmp_path):
    one_clear_line(serve(tmp_path, "--data", server.data, "--wait-for-data", "0"), str(server.data))
    assert server.alive()


def test_every_help_fits_a_terminal_of_80_columns():
    pages = {"": run("--help", environment={"COLUMNS": "80"}).stdout}
    commands = re.findall(r"^  ([a-z-]+) ", pages[""].partition("SUBCOMMANDS:")[2], re.M)
    assert {"serve", "token", "health", "call", "answer", "explain"} <= set(commands)
    for command in commands:
        result = run(command, "--help", environment={"COLUMNS": "80"})
        assert result.returncode == 0 and f"USAGE: ringline {command}" in result.stdout
        pages[command] = result.stdout
    assert [(name, line) for name, page in pages.items() for line in page.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["serv"], "Unknown command 'serv'. Did you mean 'serve'?"),
        (["tokne", "--user", "11"], "Unknown command 'tokne'. Did you mean 'token'?"),
        (["help", "explian"], "Unknown command 'explian'. Did you mean 'explain'?"),
        (["banana"], "Unknown command 'banana'. 'ringline --help' lists the commands."),
        (["serve", "--lisen", "127.0.0.1:0"], "Unknown option '--lisen'. Did you mean '--listen'?"),
        (["calls", "--usr", "10"], "Unknown option '--usr'. Did you mean '--user'?"),
        # These lack an option that they need as well.
        (["token", "--usr", "10"], "Unknown option '--usr'. Did you mean '--user'?"),
        (["token", "--usr=10", "--ttl", "1h"], "Unknown option '--usr'. Did you mean '--user'?"),
        (["revoke", "--usr", "10"], "Unknown option '--usr'. Did you mean '--user'?"),
        (["push-test", "--usr", "10"], "Unknown option '--usr'. Did you mean '--user'?"),
        (["call", "--tok", "x"], "Unknown option '--tok'. Did you mean '--token'?"),
        (["move", "--form", "x"], "Unknown option '--form'. Did you mean '--from'?"),
        (["token", "--banana"], "Unknown option '--banana'"),
        (["token", "--ttl", "1h"], "Missing expected argument '--user <user>'"),
    ],
    ids=str,
)
def test_a_misspelt_word_is_reported_with_the_one_that_is_meant(arguments, words, tmp_path):
    result = run(*arguments, cwd=tmp_path)
    assert result.returncode == 64
    one_clear_line(result, words)


def test_the_help_of_serve_names_the_main_options():
    text = run("serve", "--help").stdout
    for option in (
        "--listen",
        "--admin-listen",
        "--data",
        "--jwt-secret-file",
        "--jwt-public-key-file",
        "--jwks-file",
        "--jwt-user-claim",
        "--apns-key-file",
        "--apns-key-id",
        "--apns-team-id",
        "--apns-environment",
        "--apns-endpoint-sandbox",
        "--apns-endpoint-production",
        "--apns-ca-file",
        "--tls-cert",
        "--tls-key",
        "--allow-origin",
        "--ring-timeout",
        "--probe-timeout",
        "--disconnect-grace",
    ):
        assert option in text, option


@pytest.mark.parametrize("word", ["version", "--version"])
def test_the_version_is_printed_with_the_commit(word):
    result = run(word)
    commit = r"commit (unknown: built without one|[0-9a-f]{12}(, with changes)?)"
    assert result.returncode == 0 and re.fullmatch(rf"ringline \d+\.\d+\.\d+ \({commit}\)\n", result.stdout)


def test_the_environment_configures_and_options_override_it(make_server, make_world):
    def ring_seconds(*options, **environment) -> float:
        world = make_world(make_server(*options, environment=environment))
        world.connect("11").ring("10", "c-1")
        return round(world.rest("10").log("c-1")["ringUntil"] / 1000 - time.time())

    assert abs(ring_seconds() - 45) <= 1
    assert abs(ring_seconds(RINGLINE_RING_TIMEOUT="20") - 20) <= 1
    assert abs(ring_seconds("--ring-timeout", 10, RINGLINE_RING_TIMEOUT="20") - 10) <= 1


def test_the_environment_overrides_a_settings_file_which_overrides_the_defaults(make_server, make_world, tmp_path):
    file = tmp_path / "ringline.conf"
    file.write_text("# a comment\n\nring-timeout = 30\n")

    def ring_seconds(*options, **environment) -> float:
        world = make_world(make_server("--config", file, *options, environment=environment))
        world.connect("11").ring("10", "c-1")
        return round(world.rest("10").log("c-1")["ringUntil"] / 1000 - time.time())

    assert abs(ring_seconds() - 30) <= 1
    assert abs(ring_seconds(RINGLINE_RING_TIMEOUT="20") - 20) <= 1
    assert abs(ring_seconds("--ring-timeout", 10, RINGLINE_RING_TIMEOUT="20") - 10) <= 1


@pytest.mark.parametrize("text", ["no-such-setting = 1\n", "ring-timeout = soon\n", "ring-timeout\n"])
def test_a_mistake_in_a_settings_file_is_reported_in_one_line(tmp_path, text):
    file = tmp_path / "ringline.conf"
    file.write_text(text)
    one_clear_line(serve(tmp_path, "--config", file))


def test_a_missing_settings_file_is_reported_in_one_line_that_names_it(tmp_path):
    one_clear_line(serve(tmp_path, "--config", tmp_path / "missing.conf"), "missing.conf")


def test_listen_addresses_may_come_from_the_environment(tmp_path):
    process = subprocess.Popen(
        [str(binary()), "serve"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=tmp_path,
        env=clean_environment(
            RINGLINE_LISTEN="127.0.0.1:0", RINGLINE_ADMIN_LISTEN="127.0.0.1:0", RINGLINE_DATA=str(tmp_path / "d")
        ),
    )
    try:
        lines = [process.stdout.readline(), process.stdout.readline()]
        assert any(line.startswith("listening on http://127.0.0.1:") for line in lines)
        assert any(line.startswith("admin on http://127.0.0.1:") for line in lines)
        assert (tmp_path / "d" / "development-jwt-secret").exists()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("option", ["jwt-secret-file", "apns-key-file", "tls-key", "turn-secret-file"])
@pytest.mark.parametrize("secret", ["hunter2", "hunter2/ab+cd==", "/hunter2"])
def test_a_secret_given_instead_of_its_file_is_not_shown(tmp_path, certificate, option, secret):
    others = {
        "apns-key-file": ["--apns-key-id", "KEY1234567", "--apns-team-id", "TEAM123456"],
        "tls-key": ["--tls-cert", certificate / "c.pem"],
        "turn-secret-file": ["--turn-url", "turn:a"],
    }.get(option, [])
    for command in (serve, lambda folder, *options: run("doctor", "--offline", "--data", folder / "d", *options)):
        result = command(tmp_path, f"--{option}", secret, *others)
        assert result.returncode == 1
        assert f"--{option}" in result.stdout + result.stderr
        assert "hunter2" not in result.stdout + result.stderr


def test_a_key_given_instead_of_its_file_is_not_shown(tmp_path):
    result = serve(tmp_path, "--apns-key-file", "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----")
    assert result.returncode == 64 and "hunter2" not in result.stderr


@pytest.mark.parametrize(
    "bytes, words",
    [(b"%s\r\n", "carriage return"), (b"\xef\xbb\xbf%s", "byte order mark"), (b"%s \n", "blank"), (b"%s\n\n", "empty line")],
)
def test_traces_of_an_editor_in_a_secret_cause_a_warning(make_server, tmp_path, bytes, words):
    path = tmp_path / "secret"
    path.write_bytes(bytes % b"a secret of thirty-two bytes....")
    server = make_server("--jwt-secret-file", path, "--turn-secret-file", path, "--turn-url", "turn:127.0.0.1:9")
    for option in ("--jwt-secret-file", "--turn-secret-file"):
        (line,) = [line for line in server.errors().splitlines() if option in line]
        assert " warning " in line and words in line and "thirty-two" not in line
    path.write_bytes(b"a secret of thirty-two bytes....\n")
    assert "--jwt-secret-file" not in make_server("--jwt-secret-file", path).errors()


@pytest.mark.parametrize(
    "command", [["explain"], ["config", "--listen"], ["calls", "--data"], ["health", "--admin"], ["calls", "--limit"]]
)
def test_quoted_text_cannot_control_the_terminal(command, tmp_path):
    result = run(*command, "a\x1b[31mb\nc\x9bd", cwd=tmp_path)
    assert result.returncode and "\x1b" not in result.stderr and "\x9b" not in result.stderr
    one_clear_line(result, r"a\u{1b}[31mb")


@pytest.mark.parametrize(
    "command", [["token", "--user", "11"], ["calls"], ["calls", "--watch"], ["explain", "c-1", "--follow"]], ids=" ".join
)
def test_output_that_cannot_be_written_is_a_failure(world, command):
    world.connect("11", "iphone-t").ring("10", "c-1")
    with open("/dev/full", "w") as full:
        place = ["--data", str(world.server.data)] if command[0] == "token" else world.server.store_options
        command = [str(binary()), *command, *place]
        result = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=20, env=clean_environment()
        )
    assert result.returncode == 1 and "cannot be written" in result.stderr


# Tokens


def test_a_token_is_signed_with_the_data_folders_development_key(server):
    result = run("token", "--data", server.data, "--user", "11", "--name", "Taro", "--ttl", "12h")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("\n") == 1
    claims = jwt.decode(result.stdout.strip(), server.secret, algorithms=["HS256"])
    assert (claims["sub"], claims["name"]) == ("11", "Taro")
    assert abs(claims["exp"] - time.time() - 12 * 3600) < 10


def test_a_token_lets_its_user_in(world):
    token = run(
        "token", "--data", world.server.data, "--user", "11", "--name", "山田太郎", "--ttl", "5m"
    ).stdout.strip()
    connection = world.connect(token=token)
    assert connection.user == "11"
    connection.ring("10", "c-1")
    assert world.rest("10").log("c-1")["offer"]["displayName"] == "山田太郎"


def test_a_token_made_before_the_first_start_is_accepted_too(make_server, make_world, tmp_path):
    one_clear_line(run("token", "--data", tmp_path / "data-0", "--user", "11"), "has no development key", "--create")
    assert not (tmp_path / "data-0").exists()
    token = run("token", "--create", "--data", tmp_path / "data-0", "--user", "11").stdout.strip()
    assert token
    world = make_world(make_server(data=tmp_path / "data-0"))
    assert world.connect(token=token).user == "11"


def test_no_token_is_signed_with_a_key_that_no_server_knows(make_server, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"a secret of thirty-two bytes....")
    server = make_server("--jwt-secret-file", secret)
    one_clear_line(run("token", "--data", server.data, "--user", "11"), str(server.data), "--jwt-secret-file")
    assert not (server.data / "development-jwt-secret").exists()
    assert run("token", "--jwt-secret-file", secret, "--user", "11").returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--user", "a b"],
        *(["--user", "11", "--ttl", ttl] for ttl in ("soon", "-5m", "3651d", "315360000d", "9223372036854775807d")),
    ],
)
def test_token_with_invalid_arguments_fails(tmp_path, arguments):
    result = run("token", "--data", tmp_path / "data", *arguments)
    assert result.returncode != 0 and result.stderr and not result.stdout


def test_only_its_owner_can_read_the_development_key(server):
    assert (server.data / "development-jwt-secret").stat().st_mode & 0o077 == 0
    assert len(server.secret) >= 32


# Health


def test_health_reports_by_its_exit_code(server):
    assert run("health", "--admin", server.admin_url).returncode == 0
    server.kill()
    result = run("health", "--admin", server.admin_url)
    assert result.returncode != 0 and result.stderr


def test_health_finds_a_server_by_name_and_treats_an_empty_variable_as_unset(server, tmp_path):
    port = server.admin_url.rpartition(":")[2]
    assert run("health", "--admin", f"http://localhost:{port}").returncode == 0
    result = run("health", environment={"RINGLINE_ADMIN_LISTEN": ""})
    assert "127.0.0.1:9090" in result.stderr or result.returncode == 0
    one_clear_line(run("health", environment={"RINGLINE_ADMIN_LISTEN": "none"}), "no admin listener")


def test_health_names_the_source_of_a_malformed_address_and_the_reason_of_a_failed_connection(server):
    one_clear_line(run("health", environment={"RINGLINE_ADMIN_LISTEN": "x"}), "RINGLINE_ADMIN_LISTEN must be", "'x'")
    one_clear_line(run("health", "--admin", "127.0.0.1:9090"), "--admin must be")
    server.kill()
    one_clear_line(run("health", "--admin", server.admin_url), f"cannot connect to {server.admin_url}: ")
    # No host can have this name, because a label has at most 63 characters.
    host = "x" * 64
    one_clear_line(run("health", "--admin", f"http://{host}:9090"), f"cannot resolve {host}")


@contextlib.contextmanager
def listener(response):
    """Listens in place of a Ringline server and handles each connection with `response`; yields the port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve_all():
            with contextlib.suppress(OSError):
                while True:
                    connection = listening.accept()[0]
                    threading.Thread(target=serve_one, args=(connection,), daemon=True).start()

        def serve_one(connection):
            with connection, contextlib.suppress(OSError):
                connection.recv(4096)
                response(connection)

        threading.Thread(target=serve_all, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


def silent(connection):
    while connection.recv(4096):
        pass


def drips(connection):
    for _ in range(120):
        connection.sendall(b"x")
        time.sleep(0.5)


def rubbish(connection):
    connection.sendall(b"\x1b[31m\x00\xff rubbish\r\n" * 10)


def hangs_up(connection):
    pass


@pytest.mark.parametrize("response", [silent, drips, rubbish, hangs_up])
def test_a_server_that_is_not_ringline_is_reported_in_one_line_within_seconds(response, tmp_path):
    with listener(response) as port:
        began = time.monotonic()
        result = run("health", "--admin", f"http://127.0.0.1:{port}")
        one_clear_line(result, "no response", str(port))
        assert time.monotonic() - began < 8
        result = run("call", "--url", f"ws://127.0.0.1:{port}/ws", "--token", "x", "--to", "10", seconds=14)
        one_clear_line(result)
        assert not result.stdout


def pauses(connection):
    time.sleep(1.5)
    connection.sendall(b"H")
    silent(connection)


def test_health_ends_before_the_timeout_of_the_images_health_check():
    text = (pathlib.Path(__file__).parents[3] / "Deploy/Dockerfile").read_text()
    limit = min(int(seconds) for seconds in re.findall(r"^HEALTHCHECK .*--timeout=(\d+)s", text, re.M))
    for response in (silent, drips, pauses):
        with listener(response) as port:
            began = time.monotonic()
            one_clear_line(run("health", "--admin", f"http://127.0.0.1:{port}"), "no response")
            assert time.monotonic() - began < limit, response.__name__


def test_sigterm_ends_a_client_that_waits_for_the_servers_response(tmp_path):
    has_asked = threading.Event()

    def says_nothing(connection):
        has_asked.set()
        silent(connection)

    with listener(says_nothing) as port:
        command = [str(binary()), "answer", "--url", f"ws://127.0.0.1:{port}/ws", "--token", "x"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=clean_environment())
        assert has_asked.wait(10)
        process.terminate()
        _, errors = process.communicate(timeout=5)
        assert process.returncode == 1 and errors.count("\n") == 1


def answer(*options) -> subprocess.CompletedProcess:
    return run("answer", "--token", "x", *options)


def test_an_untrusted_certificate_is_reported(make_server, certificate):
    server = make_server("--tls-cert", certificate / "c.pem", "--tls-key", certificate / "k.pem")
    url = f"wss://localhost:{server.port}/ws"
    one_clear_line(answer("--url", url), "certificate is not trusted", "self-signed")
    one_clear_line(answer("--url", url, "--ca-file", certificate / "other-c.pem"), "certificate is not trusted")
    one_clear_line(answer("--url", url, "--ca-file", certificate / "missing"), "--ca-file", "missing")
    elsewhere = url.replace("localhost", "127.0.0.1")
    one_clear_line(answer("--url", elsewhere, "--ca-file", certificate / "c.pem"), "IP address mismatch")
    for trusts in (["--ca-file", certificate / "c.pem"], ["--insecure"]):
        one_clear_line(answer("--url", url, *trusts), "the server refuses the token")


@pytest.mark.parametrize("device", ["", "a b", "a&b", "x" * 129, "\x1b"])
def test_an_invalid_device_id_is_reported_in_one_line(device):
    one_clear_line(answer("--device", device), "--device")


def test_a_device_id_may_have_a_plus_an_at_sign_and_a_colon(world):
    command = [str(binary()), "answer", "--url", world.server.ws_url, "--token", world.token("10"), "--device", "a+b@c:d"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment()) as process:
        assert "device a+b@c:d" in process.stdout.readline()
        process.terminate()


def test_a_callers_name_cannot_control_the_callees_terminal(world):
    token = world.token("10")
    command = [str(binary()), "answer", "--url", world.server.ws_url, "--token", token, "--once"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment()) as process:
        taro = world.connect("11")
        for line in process.stdout:
            assert "\x1b" not in line
            if "waiting for calls" in line:
                taro.ring("10", "c-1", displayName="Ta\x1b[31mro\nforged")
            elif "offer" in line:
                taro.ask(type="end", callId="c-1")
                assert "(Ta[31mro forged)" in line


def test_the_log_contains_nothing_of_a_calls_content(world):
    taro, hanako = world.call("c-1")
    taro.ask(type="ice", callId="c-1", candidate=samples.CANDIDATES[0])
    taro.ask(type="end", callId="c-1")
    errors = world.server.errors()
    for secret in ("192.0.2.", "ice-pwd", "candidate:", "a=fingerprint", os.fsdecode(world.server.secret)):
        assert secret not in errors

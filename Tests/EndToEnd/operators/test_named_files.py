"""Files that settings name: regular ones are read, and what could be waited for is refused by its option."""

import os
import subprocess

import pytest
from commands import one_clear_line, run, serve
from ringline_server import binary, clean_environment


def test_a_secret_may_come_through_a_pipe_that_is_open(tmp_path):
    command = f"'{binary()}' config --data '{tmp_path}' --jwt-secret-file <(printf 'a secret of thirty-two bytes....')"
    assert subprocess.run(["bash", "-c", command], capture_output=True, env=clean_environment()).returncode == 0
    command = command.replace(" config ", " doctor --offline ")
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=clean_environment())
    assert "ok       JWT keys: loaded" in result.stdout


STORE = ["--store", "postgres://a@127.0.0.1:1/x"]
# Each setting that names a file, with the settings that it needs.
FILES = {
    "--config": [],
    "--jwt-secret-file": [],
    "--jwt-public-key-file": [],
    "--jwks-file": [],
    "--jwks-ca-file": ["--jwks-url", "https://127.0.0.1:1/jwks"],
    "--apns-key-file": ["--apns-key-id", "ABCDE12345", "--apns-team-id", "ABCDE12345"],
    "--apns-ca-file": ["--apns-key-file", "{some}", "--apns-key-id", "ABCDE12345", "--apns-team-id", "ABCDE12345"],
    "--fcm-service-account-file": [],
    "--fcm-ca-file": ["--fcm-service-account-file", "{some}"],
    "--vapid-key-file": ["--vapid-subject", "mailto:ops@example.com"],
    "--web-push-ca-file": ["--vapid-subject", "mailto:ops@example.com"],
    "--events-secret-file": ["--events-url", "https://127.0.0.1:1/"],
    "--events-ca-file": ["--events-url", "https://127.0.0.1:1/", "--events-secret-file", "{some}"],
    "--tls-cert": ["--tls-key", "{some}"],
    "--tls-key": ["--tls-cert", "{certificate}"],
    "--turn-secret-file": ["--turn-url", "turn:127.0.0.1:1"],
    "--store-password-file": STORE,
}


@pytest.fixture(scope="module")
def certificate_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=a"
    subprocess.run([*command.split(), "-keyout", "k.pem", "-out", "c.pem"], cwd=folder, check=True, capture_output=True)
    return folder / "c.pem"


@pytest.fixture(params=["pipe", "link to a pipe", "device", "folder"])
def odd_file(tmp_path, request):
    """A path that no setting of a file may name, and a word of what it is."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    paths = {"pipe": pipe, "link to a pipe": link, "device": "/dev/zero", "folder": tmp_path}
    words = {"device": "device", "folder": "irectory"}
    return paths[request.param], words.get(request.param, "named pipe")


@pytest.mark.parametrize("option", FILES)
def test_what_is_no_file_is_refused_by_its_option_and_not_read(tmp_path, certificate_file, odd_file, option):
    path, word = odd_file
    some = tmp_path / "some"
    some.write_text("something")
    more = [text.format(some=some, certificate=certificate_file) for text in FILES[option]]
    named = option.removeprefix("--") if option == "--config" else option
    one_clear_line(serve(tmp_path, option, path, *more), named, word)
    result = run("doctor", "--offline", "--data", tmp_path / "data", option, path, *more)
    errors = [line for line in result.stdout.splitlines() if line.startswith("error")]
    assert result.returncode == 1 and any(named in line and word in line for line in errors), result.stdout


@pytest.mark.parametrize("parameter", ["sslcert", "sslkey", "sslrootcert", "sslcrl"])
def test_a_pipe_in_place_of_a_file_of_the_database_is_refused(tmp_path, parameter):
    os.mkfifo(tmp_path / "pipe")
    store = f"{STORE[1]}?{parameter}={tmp_path}/pipe"
    one_clear_line(serve(tmp_path, "--store", store), "--store", parameter, "named pipe")


def test_every_setting_of_a_file_is_tried():
    table = run("config", "--table").stdout
    rows = [row.split("|")[1].strip(" `") for row in table.splitlines() if row.startswith("| `--")]
    files = {row.split()[0] for row in rows if row.endswith(" FILE")}
    assert files, table
    assert files - {"--audit-log"} == set(FILES) - {"--config"}

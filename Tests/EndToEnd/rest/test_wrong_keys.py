"""A key file of the wrong kind: `serve` and `doctor` say what it is and what is wanted, and show nothing of it."""

import base64
import json
import subprocess

import pytest
from commands import one_clear_line, run, serve


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with a key as .p8, and what operators take for it."""
    folder = tmp_path_factory.mktemp("keys")

    def openssl(command: str):
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)

    openssl("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out p8")
    openssl("ec -in p8 -out sec1")
    openssl("pkcs8 -topk8 -in p8 -passout pass:x -out encrypted")
    openssl("pkey -in p8 -pubout -out public")
    openssl("req -x509 -key p8 -days 30 -subj /CN=a -out certificate")
    openssl("req -new -key p8 -subj /CN=a -out request")
    openssl("pkcs12 -export -inkey p8 -in certificate -passout pass:x -out p12")
    openssl("pkey -in p8 -outform DER -out der")
    key = (folder / "p8").read_text()
    (folder / "base64").write_text(base64.b64encode(key.encode()).decode())
    (folder / "body").write_text("".join(key.splitlines()[1:-1]))
    (folder / "account").write_text(json.dumps({"type": "service_account", "private_key": key, "project_id": "chat-1"}))
    (folder / "google-services").write_text(json.dumps({"project_info": {"project_id": "chat-1"}, "client": []}))
    return folder


COMMON = {
    "account": "a service account of Google",
    "base64": "base64 of a PEM file",
    "body": "base64 without its first and last line",
    "p12": "PKCS#12",
    "der": "binary",
    "request": "a request for a certificate",
}
PRIVATE = COMMON | {"encrypted": "passphrase", "certificate": "it is a certificate", "public": "it is a public key"}
# For each option: the settings that it needs, what is wanted, and the files that are refused.
OPTIONS = {
    "--apns-key-file": (
        ["--apns-key-id", "ABCDE12345", "--apns-team-id", "ABCDE12345"],
        ".p8",
        PRIVATE | {"sec1": "SEC 1"},
    ),
    "--vapid-key-file": (["--vapid-subject", "mailto:ops@example.com"], "", PRIVATE),
    "--tls-key": (["--tls-cert", "{folder}/certificate"], "", PRIVATE),
    "--tls-cert": (["--tls-key", "{folder}/p8"], "certificate", COMMON | {"p8": "it is a private key"}),
    "--jwt-public-key-file": ([], "public key", COMMON | {"p8": "a private key", "sec1": "a private key"}),
    "--jwks-file": ([], "key set", {"public": "it is a public key", "p12": "PKCS#12", "base64": "base64 of a PEM file"}),
    "--fcm-service-account-file": (
        [],
        "Firebase console",
        {"p8": "a private key", "p12": "PKCS#12", "google-services": "google-services.json"},
    ),
}


@pytest.mark.parametrize(
    "option, name", [(option, name) for option, (_, _, refused) in OPTIONS.items() for name in refused]
)
def test_the_error_says_what_the_file_is_and_what_is_wanted(tmp_path, files, option, name):
    others, wanted, refused = OPTIONS[option]
    options = [option, files / name, *(other.format(folder=files) for other in others)]
    result = serve(tmp_path, *options)
    one_clear_line(result, option, refused[name], wanted)
    told = run("doctor", "--offline", "--data", tmp_path / "d", *options)
    (line,) = [line for line in told.stdout.splitlines() if line.startswith("error")]
    assert refused[name] in line and wanted in line and " Fix: " in line
    secret = (files / "body").read_text()
    for text in (result.stderr, told.stdout):
        assert secret[:20] not in text and secret[-20:] not in text

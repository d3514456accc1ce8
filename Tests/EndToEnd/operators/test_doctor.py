"""`ringline doctor` finds problems of a configuration before the server starts, and proposes a fix for each."""

import datetime
import os
import pathlib
import resource
import subprocess
import tempfile
import time

import pytest
from certificates import write_expired
from commands import one_clear_line, run, serve
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from postgres_server import ON_POSTGRES
from push_services import register
from test_turn import coturn, secret_file, turn_server  # noqa: F401 - fixtures
from world import push_options

KEY = "a secret of thirty-two bytes...."


@pytest.fixture
def jwt(tmp_path):
    path = tmp_path / "jwt-secret"
    path.write_text(KEY)
    return ["--jwt-secret-file", path]


def doctor(tmp_path, *options, code=None, **more) -> dict[str, tuple[str, str]]:
    """Runs `ringline doctor`; returns its findings by subject: (grade, text)."""
    if "--data" not in options:
        options += ("--data", tmp_path / "doctors-data")
    result = run("doctor", *options, **more)
    findings = {}
    for line in result.stdout.splitlines():
        grade, _, rest = line.partition(" ")
        subject, _, text = rest.strip().partition(": ")
        assert grade in ("ok", "warning", "error"), line
        findings.setdefault(subject, (grade, text))
    for subject, (grade, text) in findings.items():
        assert grade == "ok" or " Fix: " in text, f"{subject}: {text}"
    errors = [subject for subject, (grade, _) in findings.items() if grade == "error"]
    assert result.returncode == (1 if errors else 0), result.stdout + result.stderr
    assert not result.stderr, result.stderr
    assert code is None or result.returncode == code, result.stdout
    return findings


def test_a_valid_configuration_has_no_error_and_doctor_changes_nothing(tmp_path, certificate, jwt):
    found = doctor(tmp_path, "--tls-cert", certificate / "c.pem", "--tls-key", certificate / "k.pem", *jwt, code=0)
    assert found["settings"][0] == "ok"
    assert found["JWT keys"] == ("ok", "loaded")
    # The grade depends on the temporary folder's file system, which differs between machines and cannot be determined
    # in a chroot. So compare with the grade of a folder that exists there.
    there = doctor(tmp_path, "--data", tmp_path, *jwt, code=0)["data folder"][0]
    assert found["data folder"][0] == there and (there != "ok" or "can be created" in found["data folder"][1])
    assert found["TLS certificate"][0] == "warning" and "it expires on 20" in found["TLS certificate"][1]
    assert found["APNs key"][0] == found["TURN"][0] == "warning"
    assert not (tmp_path / "doctors-data").exists()


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """A folder with a root root.pem, an intermediate middle.pem, and a leaf leaf.pem with its key leaf.key."""
    folder = tmp_path_factory.mktemp("chain")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *curve, "-days", "90", "-subj", "/CN=Root", "-keyout", "root.key", "-out", "root.pem")
    for name, issuer, extension in (("middle", "root", "CA:TRUE"), ("leaf", "middle", "CA:FALSE")):
        (folder / "extensions").write_text(f"basicConstraints={extension}\n")
        openssl("req", *curve, "-subj", f"/CN={name.title()}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        signed = ["-CA", f"{issuer}.pem", "-CAkey", f"{issuer}.key", "-CAcreateserial", "-days", "90"]
        openssl("x509", "-req", "-in", f"{name}.csr", *signed, "-extfile", "extensions", "-out", f"{name}.pem")
    return folder


def test_a_certificate_without_its_intermediate_is_a_warning_that_names_the_issuer(tmp_path, chain, jwt):
    def said(*names) -> list[str]:
        file = tmp_path / "chain.pem"
        file.write_text("".join((chain / name).read_text() for name in names))
        key = chain / "leaf.key"
        result = run("doctor", "--data", tmp_path / "d", *jwt, "--tls-cert", file, "--tls-key", key, "--offline")
        return [line for line in result.stdout.splitlines() if "TLS certificate" in line]

    assert any(line.startswith("warning") and "/CN=Middle" in line for line in said("leaf.pem"))
    # Nobody can tell a root that only devices have from an intermediate that is missing.
    assert any(
        line.startswith("warning") and "certificate 2" in line and "/CN=Root" in line
        for line in said("leaf.pem", "middle.pem")
    )
    assert len(said("leaf.pem", "middle.pem", "root.pem")) == 1
    for wrong in (("leaf.pem", "root.pem"), ("leaf.pem", "root.pem", "middle.pem")):
        assert any(
            line.startswith("warning") and "certificate 2" in line and "/CN=Middle" in line for line in said(*wrong)
        ), wrong


def test_an_intermediate_that_has_expired_is_an_error(tmp_path, chain, jwt):
    middle = x509.load_pem_x509_certificate((chain / "middle.pem").read_bytes())
    key = serialization.load_pem_private_key((chain / "root.key").read_bytes(), None)
    made = x509.CertificateBuilder().subject_name(middle.subject).issuer_name(middle.issuer).serial_number(7)
    made = made.public_key(middle.public_key()).add_extension(x509.BasicConstraints(True, None), True)
    made = made.not_valid_before(datetime.datetime(2020, 1, 1)).not_valid_after(datetime.datetime(2020, 2, 1))
    old = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()
    file = tmp_path / "chain.pem"
    file.write_text((chain / "leaf.pem").read_text() + old + (chain / "root.pem").read_text())
    options = ["--tls-cert", file, "--tls-key", chain / "leaf.key", *jwt]
    result = run("doctor", "--offline", "--data", tmp_path / "d", *options)
    lines = [line for line in result.stdout.splitlines() if "TLS certificate" in line]
    assert result.returncode == 1
    assert any(line.startswith("error") and "certificate 2 of the file expired on 2020-02-01" in line for line in lines)


def test_a_wrong_setting_is_an_error(tmp_path):
    grade, text = doctor(tmp_path, "--ring-timeout", "soon", code=1)["settings"]
    assert grade == "error" and "--ring-timeout" in text


@pytest.mark.parametrize("origin", ["https://*.example.com", "https://example.com/app", "null", "ws://example.com"])
def test_an_origin_that_no_browser_sends_is_an_error(tmp_path, origin):
    grade, text = doctor(tmp_path, "--allow-origin", origin, code=1)["settings"]
    assert grade == "error" and "--allow-origin" in text


def test_without_keys_doctor_warns_of_the_development_key_and_does_not_create_it(tmp_path):
    data = tmp_path / "empty"
    data.mkdir()
    assert doctor(tmp_path, "--data", data, code=0)["JWT keys"][0] == "warning"
    assert list(data.iterdir()) == []


def test_an_invalid_key_file_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "noise"
    path.write_text("noise")
    grade, text = doctor(tmp_path, "--jwks-file", path, code=1)["JWT keys"]
    assert grade == "error" and str(path) in text


@pytest.mark.parametrize(
    "cert, key, word",
    [
        ("noise.pem", "k.pem", "--tls-cert"),
        ("c.pem", "noise.pem", "--tls-key"),
        ("c.pem", "other.pem", "is not the key of"),
    ],
)
def test_an_invalid_pair_of_certificate_and_key_is_an_error(tmp_path, certificate, cert, key, word):
    options = ["--tls-cert", certificate / cert, "--tls-key", certificate / key]
    grade, text = doctor(tmp_path, *options, code=1)["TLS certificate"]
    assert grade == "error" and word in text


@pytest.mark.parametrize("line_end", ["", " ", "\\n"])
@pytest.mark.parametrize("name", ["c.pem", "k.pem"])
def test_a_certificate_or_key_without_line_ends_is_an_error_as_for_the_server(tmp_path, certificate, name, line_end):
    file = tmp_path / name
    file.write_text((certificate / name).read_text().replace("\n", line_end))
    files = {"c.pem": certificate / "c.pem", "k.pem": certificate / "k.pem", name: file}
    options = ["--tls-cert", files["c.pem"], "--tls-key", files["k.pem"]]
    grade, text = doctor(tmp_path, *options, code=1)["TLS certificate"]
    assert grade == "error" and str(file) in text and "line ends" in text
    sentence = text.partition("together")[0] + "together"
    one_clear_line(serve(tmp_path, *options), sentence)


def test_an_expired_certificate_is_an_error(tmp_path):
    expired = write_expired(tmp_path)
    options = ["--tls-cert", tmp_path / "c.pem", "--tls-key", tmp_path / "k.pem"]
    grade, text = doctor(tmp_path, *options, code=1)["TLS certificate"]
    assert grade == "error" and f"expired on {expired.date()}" in text


def test_a_data_folder_that_is_a_file_or_holds_noise_is_an_error(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    assert doctor(tmp_path, "--data", file, code=1)["data folder"][0] == "error"
    data = tmp_path / "noise"
    data.mkdir()
    (data / "ringline.sqlite").write_text("noise, and more of it than a header has" * 100)
    assert doctor(tmp_path, "--data", data, code=1)["database"][0] == "error"


@pytest.mark.parametrize("options, words", [("size=4k", "free some space"), ("ro", "for writing")])
def test_a_full_or_read_only_disk_is_distinguished_from_a_folder_of_another_user(tmp_path, options, words):
    data = tmp_path / "disk"
    data.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", data], capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        if options != "ro":
            (data / "filling").write_bytes(bytes(4096))
        grade, text = doctor(tmp_path, "--data", data, "--offline", code=1)["data folder"]
    finally:
        subprocess.run(["umount", data], check=True)
    assert grade == "error" and words in text


def test_an_audit_log_that_cannot_be_written_is_an_error(tmp_path):
    assert doctor(tmp_path, "--audit-log", tmp_path / "audit", code=0)["audit log"][0] == "ok"
    assert not (tmp_path / "audit").exists()
    assert doctor(tmp_path, "--audit-log", tmp_path / "none/audit", code=1)["audit log"][0] == "error"


def refused_by_both(tmp_path, subject, word, *options):
    """Asserts that `doctor` names as an error what `serve` refuses, in the same words."""
    grade, text = doctor(tmp_path, "--offline", *options, code=1)[subject]
    assert grade == "error" and word in text
    if "--data" not in options:
        options += ("--data", tmp_path / "doctors-data")
    one_clear_line(serve(tmp_path, *options), text.partition(" Fix: ")[0].rstrip("."))


@pytest.mark.parametrize("place", ["folder", "pipe", "missing folder", "file as a folder", "a name that is too long"])
def test_an_audit_log_that_no_start_can_open_is_an_error(tmp_path, jwt, place):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    places = {"missing folder": "none/audit", "file as a folder": "file/audit", "a name that is too long": "a" * 300}
    refused_by_both(tmp_path, "audit log", "--audit-log", "--audit-log", tmp_path / places.get(place, place), *jwt)


def test_an_operators_page_without_its_files_is_an_error(tmp_path, jwt):
    refused_by_both(tmp_path, "operators' page", "--operator-pages", "--operator-pages", tmp_path / "none", *jwt)


def test_a_vapid_key_that_cannot_be_made_is_an_error(tmp_path, jwt):
    options = ["--vapid-subject", "mailto:ops@example.com", "--vapid-key-file", tmp_path / "none/vapid.pem", *jwt]
    refused_by_both(tmp_path, "VAPID key", "--vapid-key-file", *options)
    options[3] = tmp_path / "vapid.pem"
    assert doctor(tmp_path, "--offline", *options, code=0)["VAPID key"][0] == "ok"
    assert not (tmp_path / "vapid.pem").exists()


@pytest.mark.parametrize("name", ["server-key", "development-jwt-secret"])
def test_a_key_of_the_server_that_it_cannot_use_is_an_error(tmp_path, make_server, name):
    server = make_server()
    server.terminate()
    assert server.exit_code(10) == 0
    (server.data / name).write_text("")
    refused_by_both(tmp_path, "server's keys", name, "--data", server.data)


@pytest.mark.parametrize(
    "option, others",
    [
        ("--jwks-ca-file", ["--jwks-url", "https://127.0.0.1:1/jwks"]),
        ("--web-push-ca-file", ["--vapid-subject", "mailto:ops@example.com"]),
    ],
)
def test_a_file_of_authorities_is_checked_offline_too(tmp_path, option, others):
    (tmp_path / "ca").write_text("noise")
    refused_by_both(tmp_path, "certificate authorities", option, option, tmp_path / "ca", *others)


@pytest.mark.parametrize(
    "listen, admin",
    [("127.0.0.1:18181", "127.0.0.1:18181"), ("0.0.0.0:18181", "127.0.0.1:18181"), ("127.0.0.1:18181", "[::]:18181")],
)
def test_one_port_for_two_listeners_is_an_error(tmp_path, jwt, listen, admin):
    refused_by_both(tmp_path, "settings", "--admin-listen", "--listen", listen, "--admin-listen", admin, *jwt)


def test_too_few_descriptors_for_the_wanted_connections_are_an_error(tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))

    grade, text = doctor(tmp_path, "--max-tcp-connections", 5000, code=1, preexec_fn=limit)["file descriptors"]
    assert grade == "error" and "5000" in text and "LimitNOFILE" in text
    assert doctor(tmp_path, "--max-tcp-connections", 500, code=0, preexec_fn=limit)["file descriptors"][0] == "ok"


@pytest.mark.parametrize("option, subject", [("--listen", "listen"), ("--admin-listen", "admin listen")])
def test_an_address_of_another_machine_to_listen_on_is_an_error(tmp_path, option, subject):
    # 192.0.2.1 is reserved for documents (RFC 5737), so no machine has it.
    grade, text = doctor(tmp_path, option, "192.0.2.1:8080", code=1)[subject]
    assert grade == "error" and "192.0.2.1 is no address of this machine" in text and f"give {option} " in text
    assert subject not in doctor(tmp_path, option, "0.0.0.0:0", code=0)


def test_a_port_that_the_running_server_has_is_no_finding(server, tmp_path):
    assert "listen" not in doctor(tmp_path, "--listen", f"127.0.0.1:{server.port}", code=0)


def test_apns_is_asked_about_every_registered_app(push_world, tmp_path):
    world, fake = push_world
    register(world, number=1, bundle="com.example.one", deviceId="d-1")
    fake.config(knownOnly=True)
    # The PostgreSQL server of the tests does not sync to the disk, which is an error.
    code = 1 if ON_POSTGRES else 0
    found = doctor(tmp_path, *world.server.folder_options, "--bundle", "com.example.two", *push_options(fake), code=code)
    assert found["APNs key"][0] == found["database"][0] == "ok"
    for app in ("one", "two"):
        assert found[f"APNs sandbox, topic com.example.{app}.voip"] == ("ok", "accepts the provider token")
    assert found["clock"][0] == "ok"
    assert "APNs production" not in "".join(found), "production is not configured"
    assert world.server.alive()


@pytest.mark.parametrize(
    "offset, grade", [(0, "ok"), (-60, "warning"), (60, "warning"), (-4000, "error"), (4000, "error")]
)
def test_the_clock_is_compared_with_that_of_apns(apns, tmp_path, offset, grade):
    apns.config(clockOffset=offset, sendsDate=True)
    found = doctor(tmp_path, *push_options(apns))
    assert found["clock"][0] == grade, found["clock"]
    # Doctor asks without an app's topic.
    assert set(apns.refusals) <= {"MissingTopic"}
    apns.refusals.clear()


@pytest.mark.parametrize("bundle", ["", "a b", "a\r\nX: 1", "a" * 156, "ünï"])
def test_an_invalid_bundle_id_is_an_error(apns, tmp_path, bundle):
    grade, text = doctor(tmp_path, *push_options(apns), "--bundle", bundle, code=1)["settings"]
    assert grade == "error" and "--bundle" in text and "ringline doctor --help" in text


def test_a_key_that_apple_does_not_know_is_an_error(apns, tmp_path):
    options = push_options(apns)
    options[options.index("--apns-key-id") + 1] = "OTHERKEY12"
    grade, text = doctor(tmp_path, *options, code=1)["APNs sandbox"]
    assert grade == "error" and "InvalidProviderToken" in text and "the key id, the team id and the .p8 file" in text


def test_an_invalid_apns_key_is_an_error(tmp_path):
    path = tmp_path / "AuthKey.p8"
    path.write_text("noise")
    options = ["--apns-key-file", path, "--apns-key-id", "KEY1234567", "--apns-team-id", "TEAM123456"]
    assert doctor(tmp_path, *options, code=1)["APNs key"][0] == "error"


def test_apns_that_cannot_be_reached_is_an_error(apns, tmp_path):
    options = push_options(apns)
    apns.stop()
    apns.stop = lambda: None
    began = time.monotonic()
    assert doctor(tmp_path, *options, code=1)["APNs sandbox"][0] == "error"
    assert time.monotonic() - began < 12
    assert "APNs sandbox" not in doctor(tmp_path, *options, "--offline", code=0)


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_doctor_gets_an_allocation_from_the_turn_server(coturn, secret_file, tmp_path, transport):  # noqa: F811
    url = f"turn:127.0.0.1:{coturn}?transport={transport}"
    found = doctor(tmp_path, "--turn-secret-file", secret_file, "--turn-url", url, code=0)
    assert found[f"TURN {url}"] == ("ok", "granted an allocation for 600 s")


def test_a_turn_server_with_another_secret_is_an_error(coturn, tmp_path):  # noqa: F811
    other, url = tmp_path / "other", f"turn:127.0.0.1:{coturn}?transport=udp"
    other.write_text("another secret")
    grade, text = doctor(tmp_path, "--turn-secret-file", other, "--turn-url", url, code=1)[f"TURN {url}"]
    assert grade == "error" and "static-auth-secret" in text


def test_an_unreachable_turn_server_is_an_error(secret_file, tmp_path):  # noqa: F811
    options = ["--turn-secret-file", secret_file, "--turn-url", "turn:127.0.0.1:9?transport=tcp"]
    assert doctor(tmp_path, *options, code=1)["TURN turn:127.0.0.1:9?transport=tcp"][0] == "error"


@pytest.fixture(scope="module")
def secure_coturn(tmp_path_factory, certificate):
    """A TURN server that uses TLS with a self-signed certificate: (its port, the certificate)."""
    with turn_server(tmp_path_factory.mktemp("coturn-tls"), certificate) as port:
        yield port, certificate / "c.pem"


def test_doctor_gets_an_allocation_over_tls_and_checks_trust(secure_coturn, secret_file, tmp_path):  # noqa: F811
    port, trusted = secure_coturn
    url = f"turns:localhost:{port}?transport=tcp"
    options = ["--turn-secret-file", secret_file, "--turn-url", url]
    grade, text = doctor(tmp_path, *options, code=0)[f"TURN {url}"]
    assert grade == "warning" and "granted an allocation" in text and "not trusted" in text
    found = doctor(tmp_path, *options, code=0, environment={"SSL_CERT_FILE": str(trusted)})
    assert found[f"TURN {url}"] == ("ok", "granted an allocation for 600 s")
    other = tmp_path / "other"
    other.write_text("another secret")
    assert doctor(tmp_path, "--turn-secret-file", other, "--turn-url", url, code=1)[f"TURN {url}"][0] == "error"
    udp = f"turns:localhost:{port}?transport=udp"
    grade, text = doctor(tmp_path, "--turn-secret-file", secret_file, "--turn-url", udp, code=0)[f"TURN {udp}"]
    assert grade == "warning" and "not tried" in text


def test_a_port_without_tls_is_an_error_if_tls_is_configured(server, secret_file, tmp_path):  # noqa: F811
    url = f"turns:127.0.0.1:{server.port}"
    grade, text = doctor(tmp_path, "--turn-secret-file", secret_file, "--turn-url", url, code=1)[f"TURN {url}"]
    assert grade == "error" and "no TLS" in text


def test_doctor_warns_of_a_secret_that_everybody_can_read(tmp_path):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        path = pathlib.Path(folder) / "secret"
        path.write_text(KEY)
        os.chmod(path, 0o644)
        grade, text = doctor(tmp_path, "--jwt-secret-file", path, code=0)["secrets"]
        assert grade == "warning" and str(path) in text and "chmod 600" in text
        os.chmod(path, 0o640)
        assert doctor(tmp_path, "--jwt-secret-file", path, code=0)["secrets"][0] == "ok"
        os.chmod(path, 0o644)
        os.chmod(folder, 0o700)
        assert doctor(tmp_path, "--jwt-secret-file", path, code=0)["secrets"][0] == "ok", (
            "the mode of the folder keeps other users out"
        )


def test_doctor_warns_of_a_secret_that_ends_with_a_carriage_return(tmp_path):
    path = tmp_path / "secret"
    path.write_bytes(KEY.encode() + b"\r\n")
    grade, text = doctor(tmp_path, "--jwt-secret-file", path, code=0)["JWT keys"]
    assert grade == "warning" and "carriage return" in text


def test_doctor_warns_of_a_data_folder_in_memory(tmp_path):
    grade, text = doctor(tmp_path, "--data", f"/dev/shm/{tmp_path.name}/none", code=0)["data folder"]
    assert grade == "warning" and "tmpfs" in text
    assert doctor(tmp_path, "--data", "", code=1)["settings"][0] == "error"

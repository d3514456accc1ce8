"""Changes while the server runs: a renewed certificate, loaded on SIGHUP or when its files change; the log level."""

import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

import pytest
import samples
from certificates import write_expired
from test_monitoring import sample
from waiting import eventually

KINDS = {
    "ec": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
    "rsa": ["rsa:2048"],
}


@pytest.fixture(scope="module")
def issued(tmp_path_factory):
    """Returns a function that issues certificates: issued(name, kind) is a folder with c.pem and k.pem."""
    folder = tmp_path_factory.mktemp("issued")

    def issue(name: str, kind: str = "ec"):
        place = folder / f"{name}-{kind}"
        if not place.exists():
            place.mkdir()
            command = [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                *KINDS[kind],
                "-nodes",
                "-days",
                "2",
                "-subj",
                f"/CN={name}",
            ]
            subprocess.run(command + ["-keyout", "k.pem", "-out", "c.pem"], cwd=place, check=True, capture_output=True)
        return place

    return issue


@pytest.fixture
def place(tmp_path, issued):
    """The folder with the server's certificate, which is `first` at the start."""
    folder = tmp_path / "tls"
    shutil.copytree(issued("first"), folder)
    return folder


def renew(place, source):
    """Replaces the certificate as certbot does: writes each file beside the old one and renames it."""
    for name in ("c.pem", "k.pem"):
        shutil.copy(source / name, place / f"{name}.new")
        os.replace(place / f"{name}.new", place / name)


def client(*, tls12=False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if tls12:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context


def served(server, context=None) -> bytes:
    """Returns the certificate that a new connection receives."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as plain:
        with (context or client()).wrap_socket(plain) as secure:
            return secure.getpeercert(binary_form=True)


def der(folder) -> bytes:
    return ssl.PEM_cert_to_DER_cert((folder / "c.pem").read_text())


def start(make_server, place, *more):
    return make_server("--tls-cert", place / "c.pem", "--tls-key", place / "k.pem", *more)


@pytest.mark.parametrize("loops", [1, 2])
def test_sighup_serves_a_renewed_certificate_and_closes_no_connection(make_server, make_world, place, issued, loops):
    world = make_world(start(make_server, place, "--loops", loops))
    taro, hanako = (world.connect(user, "p", ssl=client()) for user in ("11", "10"))
    taro.ring(hanako, "c-1")
    hanako.expect(type="offer")
    for name, kind in (("second", "ec"), ("third", "rsa"), ("fourth", "ec")):
        # Key and certificate may be of another kind than before. The old pair must not remain in use.
        renew(place, issued(name, kind))
        os.kill(world.server.pid, signal.SIGHUP)
        wanted = der(issued(name, kind))
        # Each event loop takes over the new certificate on its own, and the kernel spreads the connections over them.
        eventually(lambda wanted=wanted: all(served(world.server) == wanted for _ in range(16)))
        for _ in range(16):
            assert served(world.server) == wanted, "every loop must use the new certificate"
            assert served(world.server, client(tls12=True)) == wanted
    hanako.ask(type="ringing", callId="c-1")
    taro.expect(type="ringing")
    taro.ask(type="end", callId="c-1")
    assert world.connect("12", "p", ssl=client()).user == "12"


def test_the_tests_client_over_tls_reads_and_writes_its_ssl_object_from_one_thread(make_server, make_world, place):
    """With two threads, tests sometimes failed because of the client itself; one_thread.py explains why."""
    world = make_world(start(make_server, place))
    taro, hanako = (world.connect(user, "p", ssl=client()) for user in ("11", "10"))
    taro.ring(hanako, "c-1")
    # The call is answered, because before the answer a log can hold only 64 signals.
    hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    assert [thread.name for thread in threading.enumerate() if "recv_events" in thread.name] == []
    marks = [
        connection.send(type="info", callId="c-1", data=number) for number in range(80) for connection in (taro, hanako)
    ]
    for number, mark in enumerate(marks):
        assert (taro, hanako)[number % 2].reply_to(mark)["type"] == "ack"


@pytest.mark.parametrize("loops", [1, 2])
@pytest.mark.parametrize("tls12", [True, False])
def test_a_tls_ticket_is_valid_until_the_second_renewal(make_server, place, issued, loops, tls12):
    server = start(make_server, place, "--loops", loops)
    context = client(tls12=tls12)

    def connect(session=None) -> tuple[ssl.SSLSession, bool]:
        """Connects and tries to resume a TLS session; returns the new session, and whether the old one was resumed."""
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as plain:
            with context.wrap_socket(plain, session=session) as secure:
                # In TLS 1.3, tickets come after the handshake.
                secure.sendall(b"GET /api/calls HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                while secure.recv(4096):
                    pass
                return secure.session, secure.session_reused

    def renew_by(name):
        renew(place, issued(name))
        os.kill(server.pid, signal.SIGHUP)
        eventually(lambda: server.errors().count("the certificate was loaded") == len(names))

    names = []
    first, _ = connect()
    assert connect(first)[1]
    for name in ("second", "third"):
        names.append(name)
        renew_by(name)
        eventually(lambda name=name: served(server, context) == der(issued(name)))
        for _ in range(8):
            assert connect(first)[1] == (name == "second"), "every loop accepts the ticket until the second renewal"


def test_changed_files_are_noticed(make_server, place, issued):
    server = start(make_server, place)
    renew(place, issued("second"))
    eventually(lambda: served(server) == der(issued("second")), seconds=10)
    eventually(lambda: "the certificate was loaded" in server.errors())


def test_a_link_that_is_pointed_elsewhere_is_noticed(make_server, tmp_path, issued):
    link = tmp_path / "live"
    link.symlink_to(issued("first"))
    server = start(make_server, link)
    (tmp_path / "next").symlink_to(issued("second"))
    os.replace(tmp_path / "next", link)
    eventually(lambda: served(server) == der(issued("second")), seconds=10)


@pytest.mark.parametrize("fault", ["noise", "other-key", "gone"])
def test_an_unusable_certificate_is_reported_and_the_old_one_stays_in_use(
    make_server, make_world, place, issued, fault
):
    world = make_world(start(make_server, place))
    connection = world.connect("11", "p", ssl=client())
    if fault == "noise":
        (place / "c.pem").write_text("noise")
    elif fault == "other-key":
        shutil.copy(issued("second") / "k.pem", place / "k.pem")
    else:
        (place / "k.pem").unlink()
    os.kill(world.server.pid, signal.SIGHUP)
    eventually(lambda: "the certificate cannot be used" in world.server.errors())
    assert served(world.server) == der(issued("first"))
    renew(place, issued("third"))
    eventually(lambda: served(world.server) == der(issued("third")), seconds=10)
    assert connection.fence() == []


def test_sighup_without_a_certificate_changes_nothing(make_server, make_world):
    world = make_world(make_server())
    connection = world.connect("11")
    os.kill(world.server.pid, signal.SIGHUP)
    eventually(lambda: "SIGHUP: no certificate is configured" in world.server.errors())
    assert connection.fence() == []


def test_sigusr1_and_sigusr2_change_the_log_level(make_server, make_world):
    server = make_server("--log-level", "error")

    def levels() -> list[str]:
        lines = [line for line in server.errors().splitlines() if "the log level was changed" in line]
        return [line.rpartition("log.level=")[2] for line in lines]

    world = make_world(server)
    world.connect("11").ring("10", "c-1")
    assert "call began" not in server.errors()
    wanted = ["warning", "notice", "info", "debug", "trace", "trace"]
    for count in range(1, len(wanted) + 1):
        os.kill(server.pid, signal.SIGUSR1)
        eventually(lambda wanted=count: len(levels()) == wanted)
    world.connect("11", "other").ring("10", "c-2")
    eventually(lambda: "call began" in server.errors())
    for count in range(7, 10):
        os.kill(server.pid, signal.SIGUSR2)
        eventually(lambda wanted=count: len(levels()) == wanted)
    assert levels() == wanted + ["debug", "info", "notice"]
    assert server.alive()


def test_a_folder_that_kubernetes_swaps_is_noticed(make_server, tmp_path, issued):
    """The files are links to ..data/NAME, and ..data is a link that Kubernetes replaces."""
    mount = tmp_path / "mount"
    mount.mkdir()
    shutil.copytree(issued("first"), mount / "..1")
    (mount / "..data").symlink_to("..1")
    for name in ("c.pem", "k.pem"):
        (mount / name).symlink_to(f"..data/{name}")
    server = start(make_server, mount)
    shutil.copytree(issued("second"), mount / "..2")
    (mount / "..data_tmp").symlink_to("..2")
    os.replace(mount / "..data_tmp", mount / "..data")
    shutil.rmtree(mount / "..1")
    eventually(lambda: served(server) == der(issued("second")), seconds=10)
    assert "cannot be used" not in server.errors()


def test_a_key_written_long_before_its_certificate_is_used_once_both_match(make_server, place, issued):
    server = start(make_server, place)
    shutil.copy(issued("second") / "k.pem", place / "k.pem")
    eventually(lambda: "the certificate cannot be used" in server.errors(), seconds=10)
    assert served(server) == der(issued("first"))
    shutil.copy(issued("second") / "c.pem", place / "c.pem")
    eventually(lambda: served(server) == der(issued("second")), seconds=10)
    assert server.errors().count("the certificate cannot be used") == 1


def test_many_sighups_during_calls_disturb_no_client(make_server, make_world, place, issued):
    world = make_world(start(make_server, place, "--loops", 2))
    taro, hanako = (world.connect(user, "p", ssl=client()) for user in ("11", "10"))
    taro.ring(hanako, "c-1")
    # The call is answered, because before the answer a log can hold only 64 signals.
    hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    for number in range(200):
        if number % 20 == 0:
            renew(place, issued("second" if number % 40 else "third"))
        os.kill(world.server.pid, signal.SIGHUP)
        taro.ask(type="ice", callId="c-1", candidate={"candidate": f"candidate:{number} 1 udp 1 192.0.2.1 9 typ host"})
    for number in range(200):
        assert f"candidate:{number} " in hanako.expect(type="ice")["candidate"]["candidate"]
    os.kill(world.server.pid, signal.SIGHUP)
    renew(place, issued("fourth"))
    eventually(lambda: served(world.server) == der(issued("fourth")), seconds=10)


def test_an_expired_certificate_is_reported_and_its_expiry_is_a_metric(make_server, place, issued):
    server = start(make_server, place)
    name = "ringline_certificate_expiry_timestamp_seconds"
    assert sample(server, name) == pytest.approx(time.time() + 2 * 86_400, abs=600)
    assert "has expired" not in server.errors()
    write_expired(place)
    os.kill(server.pid, signal.SIGHUP)
    eventually(lambda: "the certificate has expired" in server.errors())
    assert sample(server, name) < time.time()
    assert name not in make_server().metrics_text(), "without TLS there is no such metric"

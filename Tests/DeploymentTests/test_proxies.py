"""Calls through the real nginx and Caddy with the files in Deploy; only paths, hosts and ports are changed."""

import http.client
import json
import os
import shutil
import subprocess
import threading
import time

import httpx
import pytest
import samples
from conftest import DEPLOY, replaced
from connection import Connection
from rest import Rest
from ringline_server import Server, free_port
from tokens import mint
from websockets.exceptions import InvalidStatus


class Proxy:
    """One proxy process in front of one server, on https://localhost."""

    def __init__(self, kind, server, folder, certificate):
        self.server, self.folder, self.port = server, folder, free_port()
        self.chain, self.key, self.trust = certificate
        self.url, self.ws_url = f"https://localhost:{self.port}", f"wss://localhost:{self.port}/ws"
        folder.mkdir()
        folder.chmod(0o755)
        command = getattr(self, kind)()
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
        self.output = folder / "output"
        with open(self.output, "wb") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        deadline = time.monotonic() + 10
        while True:
            try:
                httpx.get(self.url, verify=self.trust, trust_env=False)
                return
            except httpx.TransportError:
                assert self.process.poll() is None and time.monotonic() < deadline, self.output.read_text()[-3000:]
                time.sleep(0.02)

    def nginx(self) -> list[str]:
        places = "\n".join(f"    {each}_temp_path {self.folder}/{each};" for each in PLACES)
        text = replaced(
            (DEPLOY / "nginx.conf").read_text(),
            ("listen 443 ssl", f"listen 127.0.0.1:{self.port} ssl"),
            # Not every machine that runs this test has IPv6.
            ("listen [::]:443 ssl", "# "),
            ("server 127.0.0.1:8080", f"server 127.0.0.1:{self.server.port}"),
            ("server_name signal.example.com", "server_name localhost"),
            ("/etc/ssl/ringline/fullchain.pem", str(self.chain)),
            ("/etc/ssl/ringline/privkey.pem", str(self.key)),
            ("worker_rlimit_nofile 131072;", "user root;" if os.geteuid() == 0 else ""),
            ("worker_processes auto", "worker_processes 2"),
            ("worker_connections 65536", "worker_connections 512"),
            ("/run/nginx.pid", str(self.folder / "pid")),
            ("/var/log/nginx/", f"{self.folder}/"),
            ("http {\n", f"http {{\n{places}\n"),
        )
        (self.folder / "nginx.conf").write_text(text)
        program = os.environ.get("NGINX_PROGRAM") or shutil.which("nginx") or "/usr/sbin/nginx"
        return [program, "-e", "stderr", "-g", "daemon off;", "-c", str(self.folder / "nginx.conf")]

    def caddy(self) -> list[str]:
        text = replaced(
            (DEPLOY / "Caddyfile").read_text(),
            ("{\n\tservers {", "{\n\tadmin off\n\tauto_https off\n\tservers {"),
            (
                "\nsignal.example.com {",
                f"\nhttps://localhost:{self.port} {{\n\tbind 127.0.0.1\n\ttls {self.chain} {self.key}",
            ),
            ("127.0.0.1:8080", f"127.0.0.1:{self.server.port}"),
        )
        (self.folder / "Caddyfile").write_text(text)
        program = os.environ.get("CADDY_PROGRAM") or shutil.which("caddy") or "/usr/bin/caddy"
        return [program, "run", "--adapter", "caddyfile", "--config", str(self.folder / "Caddyfile")]

    def token(self, user: str) -> str:
        return mint(self.server.secret, user)

    def connect(self, user: str, **options) -> Connection:
        return Connection(self.ws_url, self.token(user), device=f"phone-{user}", ssl=self.trust, **options)

    def rest(self, user: str) -> Rest:
        rest = Rest(self.url, None)
        rest.http = httpx.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {self.token(user)}"},
            trust_env=False,
            timeout=40,
            verify=self.trust,
        )
        return rest

    def stop(self) -> str:
        """Ends the proxy; returns everything that it wrote to its output and its files."""
        self.process.terminate()
        self.process.wait(10)
        files = [each for each in self.folder.iterdir() if each.is_file()]
        return "\n".join(each.read_text(errors="replace") for each in files)


PLACES = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path / "data").start()
    yield server
    server.kill()


@pytest.fixture(params=["nginx", "caddy"])
def proxy(request, server, tmp_path, certificate):
    proxy = Proxy(request.param, server, tmp_path / "proxy", certificate)
    yield proxy
    if proxy.process.poll() is None:
        proxy.stop()


def test_a_call_works_through_the_proxy(proxy):
    taro, hanako = proxy.connect("11"), proxy.connect("10")
    taro.ring("10", "c-1")
    offer = hanako.expect(type="offer", callId="c-1")
    assert offer["sdp"] == samples.OFFER
    hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    assert taro.expect(type="answer", callId="c-1")["sdp"] == samples.ANSWER
    for number in range(100):
        taro.send(type="ice", callId="c-1", candidate=samples.candidate(number))
    for number in range(100):
        assert hanako.expect(type="ice")["candidate"] == samples.candidate(number)
    taro.ask(type="end", callId="c-1")
    assert hanako.expect(type="call", state="ended")["reason"] == "hangup"


def test_requests_work_on_kept_connections_of_the_proxy(proxy):
    taro, hanako = proxy.rest("11"), proxy.rest("10")
    response = taro.signal("offer", "c-1", to="10", sdp=samples.OFFER)
    assert response.status_code == 200, response.text
    for _ in range(20):
        assert hanako.log("c-1")["offer"]["sdp"] == samples.OFFER
    assert hanako.delete("/api/calls/signal/c-1").status_code == 200
    assert taro.log("c-1")["reason"] == "declined"


def test_a_long_poll_waits_behind_the_proxy_and_is_woken(proxy):
    taro, hanako = proxy.rest("11"), proxy.rest("10")
    taro.signal("offer", "c-1", to="10", sdp=samples.OFFER)
    cursor = hanako.log("c-1")["next"]
    later = threading.Timer(0.5, lambda: taro.signal("ice", "c-1", candidate=samples.candidate(1)))
    later.start()
    began = time.monotonic()
    signals = hanako.log("c-1", since=cursor, wait=20)["signals"]
    assert [each["type"] for each in signals] == ["ice"] and 0.3 < time.monotonic() - began < 10
    later.join()


def test_the_proxy_passes_on_the_close_code(proxy):
    taro = proxy.connect("11")
    proxy.server.terminate()
    assert taro.close_code() == 1001
    assert proxy.server.exit_code(10) == 0


def get_devices(connection, token, name):
    """Makes a request that has a header of this name directly before the token's header; returns the status."""
    connection.putrequest("GET", "/api/me/devices")
    connection.putheader(name, "1")
    connection.putheader("Authorization", f"Bearer {token}")
    connection.endheaders()
    response = connection.getresponse()
    response.read()
    return response.status


# Beginnings of header names that libwebsockets knows. "Au" is directly before the token's header even if a proxy sorts
# the headers.
STUMBLING = ["X", "X-Real", "X-Forwarded", "If", "Accept-", "Content", "Au", "Sec-WebSocket"]


@pytest.mark.parametrize("name", STUMBLING)
def test_a_header_whose_name_begins_as_a_known_one_hides_no_other(server, name):
    """libwebsockets would lose the next header; the server filters what the library reads."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    assert get_devices(connection, mint(server.secret, "11"), name) == 200


@pytest.mark.parametrize("name", STUMBLING)
def test_through_the_proxy_such_a_header_hides_no_other(proxy, name):
    connection = http.client.HTTPSConnection("localhost", proxy.port, timeout=10, context=proxy.trust)
    assert get_devices(connection, proxy.token("11"), name) == 200


def test_a_browser_is_accepted_only_from_the_servers_own_origin(proxy):
    Connection(
        proxy.ws_url,
        subprotocols=["ringline.v1", f"bearer.{proxy.token('11')}"],
        origin=proxy.url,
        ssl=proxy.trust,
    ).close()
    with pytest.raises(InvalidStatus) as refusal:
        proxy.connect("11", origin="https://elsewhere.example")
    assert refusal.value.response.status_code == 403


def test_the_proxy_logs_no_token(proxy):
    token = proxy.token("11")
    Connection(f"{proxy.ws_url}?token={token}", ssl=proxy.trust).close()
    assert proxy.rest("11").get("/api/calls").status_code == 200
    proxy.server.kill()
    with pytest.raises((InvalidStatus, OSError)):
        Connection(f"{proxy.ws_url}?token={token}", ssl=proxy.trust)
    written = proxy.stop()
    assert "/ws" in written and "/api/calls" in written, "it writes a log"
    assert token not in written and token.rsplit(".", 1)[1] not in written


def test_the_server_itself_refuses_a_body_that_is_slightly_too_large(proxy):
    response = proxy.rest("11").signal("info", "c-1", data="x" * 80_000)
    assert (response.status_code, response.json()["code"]) == (413, "too_large")


def test_a_body_without_a_length_reaches_the_server_with_one(server, tmp_path, certificate):
    proxy = Proxy("nginx", server, tmp_path / "proxy", certificate)
    body = json.dumps({"action": "offer", "callId": "c-1", "data": {"to": "10", "sdp": samples.OFFER}}).encode()
    with proxy.rest("11").http as client:
        parts = iter([body[:100], body[100:]])
        response = client.post("/api/calls/signal", content=parts, headers={"Content-Type": "application/json"})
    proxy.stop()
    assert response.status_code == 200, response.text

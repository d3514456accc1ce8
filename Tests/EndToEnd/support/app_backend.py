"""An app's backend: verifies what the server posts with the library of Standard Webhooks, and can fail on purpose."""

import base64
import http.server
import json
import secrets
import socket
import ssl
import threading
import time

from standardwebhooks import Webhook
from waiting import eventually


class Delivery:
    """One request of the server: its headers, its body, and the event in it."""

    def __init__(self, path: str, headers, body: bytes):
        self.path, self.headers, self.body = path, dict(headers), body
        self.event = json.loads(body)
        self.at = time.monotonic()

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def type(self) -> str:
        return self.event["type"]


class AppBackend:
    """Receives events on a port of its own, in a thread for each connection.

    `answer` is called with each delivery, and returns a status, or a pair of a status and headers; None = cut the
    connection. A delivery counts as accepted if the answer is 2xx.
    """

    def __init__(self, folder, answer=lambda delivery: 204, port: int = 0):
        self.secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
        self.secret_file = folder / "events.secret"
        self.secret_file.write_text(self.secret + "\n")
        self.secret_file.chmod(0o600)
        self.answer = answer
        self.deliveries: list[Delivery] = []
        self.accepted: list[Delivery] = []
        self.faults: list[str] = []
        self.lock = threading.Lock()
        self.open(port)

    def open(self, port: int = 0):
        backend = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                backend.received(self, body)

            def do_GET(self):
                backend.faults.append(f"GET {self.path}")
                self.send_error(405)

            def log_message(self, *args):
                pass

        class HTTPServer(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, request, client_address):
                pass  # The server ends connections when it is killed.

        self.http = HTTPServer(("127.0.0.1", port), Handler)
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/ringline"

    @property
    def options(self) -> list[str]:
        """The options with which a server reports events to this backend."""
        return ["--events-url", self.url, "--events-secret-file", str(self.secret_file)]

    def received(self, handler, body: bytes):
        try:
            Webhook(self.secret).verify(body, dict(handler.headers))
        except Exception as error:
            self.faults.append(f"{type(error).__name__}: {error}")
        delivery = Delivery(handler.path, {name.lower(): value for name, value in handler.headers.items()}, body)
        with self.lock:
            self.deliveries.append(delivery)
        answer = self.answer(delivery)
        if answer is None:
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        status, headers = answer if isinstance(answer, tuple) else (answer, {})
        if 200 <= status < 300:
            with self.lock:
                self.accepted.append(delivery)
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("content-length", "0")
        handler.end_headers()

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    # MARK: What has come

    def events(self) -> list[dict]:
        """Returns the accepted events without doubles, in the order of their first acceptance."""
        with self.lock:
            return list({delivery.id: delivery.event for delivery in self.accepted}.values())

    def types(self, call_id: str | None = None) -> list[str]:
        """Returns the types of the accepted events, of a call only if one is named."""
        return [
            event["type"] for event in self.events() if call_id in (None, event["data"].get("call", {}).get("callId"))
        ]

    def expect(self, count: int, seconds: float = 10) -> list[dict]:
        """Waits until so many events were accepted, and returns all."""
        return eventually(
            lambda: len(found := self.events()) >= count and found, seconds, lambda: f"{self.types()}, {self.faults}"
        )


class Question:
    """One question of the server: its headers, and what it asks about."""

    def __init__(self, path: str, headers: dict, body: bytes):
        self.path, self.headers, self.body = path, headers, body
        self.call = json.loads(body)

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


class AppDecider(AppBackend):
    """Decides about calls.

    `answer` is called with each question, and returns an object (200), bytes (200), a status, a pair of a status and
    headers, None (cut the connection), or a function that takes the handler and responds by itself.
    """

    def __init__(self, folder, answer=lambda question: {"allow": True}, port: int = 0):
        self.questions: list[Question] = []
        self.gate = threading.Event()
        super().__init__(folder, answer, port)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/decide"

    @property
    def options(self) -> list[str]:
        """The options with which a server asks this backend."""
        return ["--decide-url", self.url, "--events-secret-file", str(self.secret_file)]

    def use_tls(self, certificate, key):
        """Speaks TLS from now on, at https://localhost."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.http.socket = context.wrap_socket(self.http.socket, server_side=True)

    def hold(self, answer):
        """Gives this answer to all questions, once the gate is opened."""

        def held(question):
            assert self.gate.wait(20)
            return answer(question) if callable(answer) else answer

        self.gate.clear()
        self.answer = held

    def expect_questions(self, count: int, seconds: float = 8) -> list[Question]:
        """Waits until so many questions have come, and returns all."""
        return eventually(
            lambda: len(self.questions) >= count and list(self.questions),
            seconds,
            lambda: f"{len(self.questions)} questions, {self.faults}",
        )

    def received(self, handler, body: bytes):
        try:
            Webhook(self.secret).verify(body, dict(handler.headers))
        except Exception as error:
            self.faults.append(f"{type(error).__name__}: {error}")
        question = Question(handler.path, {name.lower(): value for name, value in handler.headers.items()}, body)
        with self.lock:
            self.questions.append(question)
        answer = self.answer(question)
        if answer is None:
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        if callable(answer):
            answer(handler)
            return
        status, headers, content = 200, {}, b""
        match answer:
            case dict():
                content = json.dumps(answer).encode()
            case bytes():
                content = answer
            case int():
                status = answer
            case (status, headers):
                pass
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        if status != 204:
            handler.send_header("content-length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)


def read_feed(rest, **params) -> list[dict]:
    """Reads the feed to its end, page by page."""
    events, after = [], None
    while True:
        response = rest.get("/v1/events", **({"after": after} if after else {}), **params)
        assert response.status_code == 200, response.text
        page = response.json()
        if not page["events"]:
            return events
        events += page["events"]
        after = page["next"]

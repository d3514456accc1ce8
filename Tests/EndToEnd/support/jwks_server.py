"""A token issuer that publishes its keys over HTTPS. A test can make it change keys, stall, fail, or send garbage."""

import http.server
import json
import pathlib
import ssl
import sys
import threading
import time

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "FakePushServices"))
from fake_service import make_certificates  # noqa: E402


class Issuer:
    """The issuer's HTTPS server. It publishes `keys` (by kid), unless `response` is set: (status, body), or "stall"."""

    def __init__(self, folder: pathlib.Path):
        folder.mkdir()
        self.ca, certificate, key = make_certificates(folder)
        self.keys: dict[str, ec.EllipticCurvePrivateKey] = {}
        self.headers: dict[str, str] = {}
        self.response: tuple[int, bytes] | str | None = None
        self.fetched_at: list[float] = []
        self.released = threading.Event()
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):  # noqa: N802
                issuer.fetched_at.append(time.monotonic())
                if issuer.response == "stall":
                    issuer.released.wait(60)
                    self.close_connection = True
                    return
                status, body = issuer.response or (200, issuer.published())
                self.send_response(status)
                for name, value in ({"Content-Length": str(len(body))} | issuer.headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://localhost:{self.server.server_port}/jwks.json"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def fetches(self) -> int:
        return len(self.fetched_at)

    def add(self, kid: str):
        self.keys[kid] = ec.generate_private_key(ec.SECP256R1())

    def published(self) -> bytes:
        keys = [
            json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key())) | {"kid": kid, "use": "sig", "alg": "ES256"}
            for kid, key in self.keys.items()
        ]
        return json.dumps({"keys": keys}).encode()

    @property
    def options(self) -> list:
        return ["--jwks-url", self.url, "--jwks-ca-file", self.ca]

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

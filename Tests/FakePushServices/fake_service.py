"""What the fakes of the push services have in common: keys, signatures, records of pushes, scripted answers, a server.

README.md in this folder describes the records and the answers.
"""

import base64
import collections
import datetime
import email.utils
import http.server
import ipaddress
import json
import os
import pathlib
import re
import ssl
import tempfile
import threading
import time
import uuid

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.x509.oid import NameOID

LARGEST_BODY = 64 << 10
# An answer with one of these members is no HTTP response.
BREAKS = {"hang", "close", "garbage"}


# --- Keys, certificates and signatures ---------------------------------------------------------------------------


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def private_pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def make_certificates(directory):
    """Makes a CA and a certificate for localhost that it signs; returns the files' paths (ca, cert, key)."""

    def name(text):
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)

    def builder(subject, issuer, public_key):
        return (
            x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(public_key)
            .serial_number(x509.random_serial_number()).not_valid_before(now - day).not_valid_after(now + 30 * day)
        )

    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name = name("Fake push service CA " + uuid.uuid4().hex[:8])
    ca = (
        builder(ca_name, ca_name, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), critical=False)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False,
                key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
        .sign(ca_key, hashes.SHA256())
    )
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        builder(name("localhost"), ca_name, key.public_key())
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    paths = [os.path.join(directory, file) for file in ("ca.pem", "cert.pem", "key.pem")]
    write(paths[0], ca.public_bytes(serialization.Encoding.PEM))
    write(paths[1], certificate.public_bytes(serialization.Encoding.PEM))
    write(paths[2], private_pem(key))
    return paths


def from_base64url(text):
    if not re.fullmatch(r"[A-Za-z0-9_-]*", text):
        raise ValueError("not base64url")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def parsed(text):
    """Returns the value of a JSON text; a ValueError if it is not JSON, or has a name twice in one object."""

    def once(pairs):
        names = [name for name, _ in pairs]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"the name {twice[0]} comes twice")
        return dict(pairs)

    def refuse(text):
        raise ValueError(f"{text} is not JSON")

    return json.loads(text, object_pairs_hook=once, parse_constant=refuse)


def es256_token(token, key):
    """Returns the header and the claims of a JWT; a ValueError unless both are objects and this key has signed them."""
    head, claims, signature = token.split(".")
    header, payload, raw = parsed(from_base64url(head)), parsed(from_base64url(claims)), from_base64url(signature)
    if not isinstance(header, dict) or not isinstance(payload, dict) or header.get("alg") != "ES256" or len(raw) != 64:
        raise ValueError("no token of ES256")
    der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    try:
        key.verify(der, f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        raise ValueError("signed by another key") from None
    return header, payload


# --- Pushes and answers ------------------------------------------------------------------------------------------


class Refusal(Exception):
    """An answer that is no success. `is_of_form`: the request itself was wrong, so the sender is at fault."""

    def __init__(self, status, body, reason, is_of_form=True):
        super().__init__(reason)
        self.status, self.body, self.reason, self.is_of_form = status, body, reason, is_of_form


def next_step(script):
    """Takes the next step of a script; one with `always` stays. Without a step the answer is the usual one."""
    if not script:
        return {}
    return dict(script[0] if script[0].get("always") else script.popleft())


class FakeService:
    """A context manager that serves in threads of this process, at free ports of 127.0.0.1.

    `ca` is the path of its CA. `refusals` are the reasons for which requests were refused for their form: a sender in
    order causes none. A device is a push token; a dialect may take an object with one (`address`).
    """

    success = 200

    def __init__(self, directory=None):
        self.directory = pathlib.Path(directory or tempfile.mkdtemp(prefix="fake-push-service-"))
        self.directory.mkdir(parents=True, exist_ok=True)
        self.ca, *certificate = make_certificates(str(self.directory))
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.minimum_version = ssl.TLSVersion.TLSv1_2
        self.tls.load_cert_chain(*certificate)
        self.tls.set_alpn_protocols(["http/1.1"])
        # The condition is notified of every push.
        self.lock = threading.Condition()
        self.stopped = threading.Event()
        self.servers = []
        self.forget()

    def forget(self):
        """Forgets the pushes and the scripts."""
        self.records, self.refusals = [], []
        self.records_of = collections.defaultdict(list)
        self.scripts = collections.defaultdict(collections.deque)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ends the fake: later requests find nobody, and those that hang are cut off. May be called again."""
        if not self.stopped.is_set():
            self.stopped.set()
            for server in self.servers:
                server.shutdown()
                server.server_close()

    # What a test scripts and reads

    def address(self, device):
        """Returns the push token of a device."""
        return device

    def script(self, device, answers, replace=False):
        """Queues answers for the next pushes to a device; "*" is for devices without a script of their own.

        Pushes after them get the usual answer. `replace`: in place of those that still wait.
        """
        with self.lock:
            script = self.scripts[self.address(device)]
            if replace:
                script.clear()
            script.extend(answers)

    def attempts(self, device=None):
        """Returns the records of all well-formed pushes to a device, or to all, with the `answer` to each."""
        with self.lock:
            return list(self.records if device is None else self.records_of[self.address(device)])

    def messages(self, device=None):
        """Returns the records of the pushes that were accepted for delivery."""
        return [each for each in self.attempts(device) if each["accepted"]]

    # Requests

    def note(self, address, record, answer=None):
        """Adds a push to the records: with `at`, and with `accepted`, which the answer decides; returns the record."""
        record |= {"at": int(time.time() * 1000), "answer": answer, "accepted": self.accepts(answer)}
        self.records.append(record)
        self.records_of[address].append(record)
        self.lock.notify_all()
        return record

    def accepts(self, answer):
        """Returns whether an answer means that the push was accepted for delivery."""
        return answer is not None and answer.get("status") == self.success

    def script_of(self, address):
        return self.scripts.get(address) or self.scripts.get("*")

    def scripted(self, step, **usual):
        """Returns the answer that a step of a script describes; the usual one if it does not describe any."""
        if step.keys() & BREAKS:
            return step
        status = step.get("status", self.success)
        answer = {"status": status, "headers": {}} | self.answer_with(status, step) | usual
        if "retry_after" in step:
            answer["headers"]["Retry-After"] = str(step["retry_after"])
        if "retry_date" in step:
            # The date has whole seconds; rounded up, it is never early.
            date = email.utils.formatdate(int(time.time()) + 1 + step["retry_date"], usegmt=True)
            answer["headers"]["Retry-After"] = date
        return answer | step

    def answer_with(self, status, step):
        """Returns the `body` and perhaps the `headers` of the service's answer with this status."""
        raise NotImplementedError

    def refused(self, refusal):
        """Notes a refusal; returns the answer."""
        if refusal.is_of_form:
            self.refusals.append(refusal.reason)
        return {"status": refusal.status, "body": refusal.body}

    # The server

    def serve(self, handler):
        """Serves with a class of handlers over HTTP/1.1; returns the server."""
        server = HTTPSServer(("127.0.0.1", 0), type("Handler", (handler,), {"fake": self}))
        # The thread of a connection does the handshake, so that a slow sender delays no other one.
        server.socket = self.tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        # `stop` waits for this interval at most.
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        self.servers.append(server)
        return server

    def closes_unread(self, path):
        """Returns whether a script closes the connection before the request to this path is read."""
        return False

    def receive(self, method, path, headers, body):
        """Returns the answer to a request; called with the lock."""
        raise NotImplementedError


class HTTPSServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    # Many senders may connect at once.
    request_queue_size = 128

    def handle_error(self, *_):
        pass  # The sender has closed the connection, or has refused the certificate.


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection of a sender over HTTP/1.1; `fake` is set by a subclass."""

    fake: FakeService
    protocol_version = "HTTP/1.1"
    # Buffered, so that an answer is one write.
    wbufsize = -1

    def do_POST(self):  # noqa: N802
        fake = self.fake
        with fake.lock:
            # This connection was open before the fake ended, or a script closes it.
            if fake.stopped.is_set() or fake.closes_unread(self.path):
                self.close_connection = True
                return
        length = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not length.isdigit() or int(length) > LARGEST_BODY:
            self.close_connection = True
            self.answer(fake.refused(Refusal(413, {}, f"a body of another length: {self.headers.items()}")))
            return
        body = self.rfile.read(int(length))
        with fake.lock:
            try:
                answer = fake.receive(self.command, self.path, self.headers, body)
            except Refusal as refusal:
                answer = fake.refused(refusal)
        self.answer(answer)

    do_GET = do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815

    def answer(self, answer):
        if answer.get("delay"):
            self.fake.stopped.wait(answer["delay"])
        if answer.get("hang"):
            self.fake.stopped.wait()
        if "garbage" in answer:
            self.wfile.write(answer["garbage"].encode())
        if answer.keys() & BREAKS:
            self.close_connection = True
            return
        body = answer["raw"] if "raw" in answer else json.dumps(answer["body"]) if answer.get("body") else ""
        self.send_response(answer["status"])
        for name, value in answer.get("headers", {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "text/html" if "raw" in answer else "application/json; charset=UTF-8")
        self.send_header("Content-Length", str(len(body.encode()) + answer.get("cut", 0)))
        self.end_headers()
        self.wfile.write(body.encode())
        if "cut" in answer:
            self.close_connection = True

    def log_message(self, *_):
        pass

#!/usr/bin/env python3
"""A fake of Apple's push service, with real HTTP/2 over real TLS, Apple's checks and responses, and a control port.

Run it (`fake_apns.py --help`), or use `FakeAPNs` in a Python test, which runs it as a child process:

    with FakeAPNs(team_id="TEAM123456", key_id="KEY1234567", directory=tmp_path) as apns:
        apns.script(token, [{"status": 410, "reason": "Unregistered", "timestamp": 1700000000000}])
        push = apns.wait_for_push(token=token)

It listens on 127.0.0.1 only. README.md in this folder lists the responses, checks and control calls.
"""

import argparse
import asyncio
import base64
import collections
import datetime
import email.utils
import ipaddress
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
import uuid

try:
    import h2.config
    import h2.connection
    import h2.errors
    import h2.events
    import h2.exceptions
    import h2.settings
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
    from cryptography.x509.oid import NameOID
    from hyperframe.frame import GoAwayFrame, SettingsFrame
except ImportError as missing:
    # The parent process reads the first line of output even after a failure.
    print(json.dumps({"error": f"{missing}; pip install -r {os.path.dirname(__file__) or '.'}/requirements.txt"}))
    sys.exit(3)

PROVIDER_TOKEN_SECONDS = 3600
LARGEST_BODY = 64 << 10
LARGEST_CONTROL_BODY = 16 << 20


# --- Keys and certificates ---------------------------------------------------------------------------------------


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def private_pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def public_pem(key):
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
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
    ca_name = name("Fake APNs CA " + uuid.uuid4().hex[:8])
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


# --- Apple's checks ----------------------------------------------------------------------------------------------


class Refusal(Exception):
    """An error response as Apple gives it."""

    def __init__(self, status, reason, timestamp=None):
        super().__init__(reason)
        self.response = {"status": status, "reason": reason}
        if timestamp is not None:
            self.response["timestamp"] = timestamp


class Apple:
    """The state that all connections share: keys, devices, scripts, and the pushes received."""

    def __init__(self, team_id, key_id, public_key):
        self.team_id, self.key_id, self.public_key = team_id, key_id, public_key
        self.condition = asyncio.Condition()
        self.reset()

    def reset(self):
        self.pushes = []
        self.scripts = collections.defaultdict(collections.deque)
        self.devices = {}
        self.clock_offset = 0.0
        self.known_only = False
        self.sends_date = False
        self.verified = {}
        self.stats = {"connections": 0, "streams": 0, "open": 0, "mostStreamsAtOnce": 0, "providerTokens": 0, "refusedStreams": 0}
        self.connections_by_environment = collections.Counter()

    def check_provider_token(self, authorization):
        if authorization is None:
            raise Refusal(403, "MissingProviderToken")
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise Refusal(403, "InvalidProviderToken")
        if token not in self.verified:
            self.verified[token] = self.verify(token)
            self.stats["providerTokens"] += 1
        age = time.time() + self.clock_offset - self.verified[token]
        if age > PROVIDER_TOKEN_SECONDS:
            raise Refusal(403, "ExpiredProviderToken")
        if age < -60:
            raise Refusal(403, "InvalidProviderToken")

    def verify(self, token):
        """Returns the time at which the token was issued; raises the refusal if the token is invalid."""
        try:
            head, claims, signature = token.split(".")
            header, payload, raw = json.loads(from_base64url(head)), json.loads(from_base64url(claims)), from_base64url(signature)
            fits = header["alg"] == "ES256" and header["kid"] == self.key_id and payload["iss"] == self.team_id
            if not fits or len(raw) != 64 or type(payload["iat"]) is not int:
                raise Refusal(403, "InvalidProviderToken")
            der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
            self.public_key.verify(der, f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
            return payload["iat"]
        except (ValueError, KeyError, TypeError, InvalidSignature):
            raise Refusal(403, "InvalidProviderToken") from None

    def check(self, environment, headers, body):
        """Raises the refusal that Apple would give for this request, if any."""
        if headers.get(":method") != "POST":
            raise Refusal(405, "MethodNotAllowed")
        path = headers.get(":path", "")
        if path in ("/3/device", "/3/device/"):
            raise Refusal(400, "MissingDeviceToken")
        if not path.startswith("/3/device/"):
            raise Refusal(404, "BadPath")
        self.check_provider_token(headers.get("authorization"))
        if "apns-id" in headers:
            try:
                if str(uuid.UUID(headers["apns-id"])) != headers["apns-id"].lower():
                    raise ValueError
            except ValueError:
                raise Refusal(400, "BadMessageId") from None
        if not re.fullmatch(r"[0-9]+", headers.get("apns-expiration", "0")):
            raise Refusal(400, "BadExpirationDate")
        if headers.get("apns-priority", "10") not in ("10", "5", "1"):
            raise Refusal(400, "BadPriority")
        if len(headers.get("apns-collapse-id", "").encode()) > 64:
            raise Refusal(400, "BadCollapseId")
        topic, kind = headers.get("apns-topic"), headers.get("apns-push-type")
        if not topic:
            raise Refusal(400, "MissingTopic")
        if kind not in ("alert", "background", "voip"):
            raise Refusal(400, "InvalidPushType")
        if (kind == "voip") != topic.endswith(".voip"):
            raise Refusal(400, "BadTopic")
        token = path[len("/3/device/"):]
        if not re.fullmatch(r"[0-9a-fA-F]{64,200}", token):
            raise Refusal(400, "BadDeviceToken")
        device = self.devices.get(token.lower())
        if device is None and self.known_only:
            raise Refusal(400, "BadDeviceToken")
        if device is not None:
            if device.get("environment", environment) != environment:
                raise Refusal(400, "BadDeviceToken")
            if "unregisteredAt" in device:
                raise Refusal(410, "Unregistered", device["unregisteredAt"])
            if topic not in device.get("topics", [topic]):
                raise Refusal(400, "DeviceTokenNotForTopic")
        if not body:
            raise Refusal(400, "PayloadEmpty")
        if len(body) > (5120 if kind == "voip" else 4096):
            raise Refusal(413, "PayloadTooLarge")
        try:
            fits = isinstance(json.loads(body), dict)
        except ValueError:
            fits = False
        if not fits:
            # Apple documents no reason for this, so the fake uses a descriptive one of its own.
            raise Refusal(400, "PayloadNotJSON")

    async def receive(self, environment, connection, stream, header_list, body):
        """Records a push; returns its record and the response to give. README.md describes the response's fields."""
        headers = dict(header_list)
        path = headers.get(":path", "")
        token = path.rpartition("/")[2].lower()
        try:
            self.check(environment, headers, body)
            response = {"status": 200}
        except Refusal as refusal:
            response = refusal.response
        refused = response["status"] != 200
        script = self.scripts.get(token) or self.scripts.get("*")
        if script:
            step = script[0] if script[0].get("always") else script.popleft()
            if any(key in step for key in ("status", "goaway", "drop", "reset", "hang", "raw")):
                # A push that Apple would refuse stays refused, so that a script cannot hide a fault of the sender.
                response = dict(step) if not refused else response
            else:
                response |= {"delay": step.get("delay", 0)}
        try:
            payload = json.loads(body)
        except ValueError:
            payload = None
        record = {
            "index": len(self.pushes) + 1, "at": int(time.time() * 1000), "environment": environment, "path": path,
            "token": token, "headers": headers, "headerList": header_list, "payload": payload, "body": base64.b64encode(body).decode(),
            "connection": connection, "stream": stream, "refused": refused, "answer": response, "accepted": False,
        }
        self.pushes.append(record)
        async with self.condition:
            self.condition.notify_all()
        return record, response


# --- HTTP/2 ------------------------------------------------------------------------------------------------------


class Stream:
    def __init__(self, headers):
        self.list, self.headers, self.body = headers, dict(headers), bytearray()


class Connection(asyncio.Protocol):
    """A TLS connection of a sender."""

    def __init__(self, apple, environment, options):
        self.apple, self.environment, self.options = apple, environment, options
        self.streams, self.tasks = {}, set()
        self.last_stream = None
        self.trusted = False

    def connection_made(self, transport):
        self.transport = transport
        self.apple.stats["connections"] += 1
        self.apple.connections_by_environment[self.environment] += 1
        self.number = self.apple.stats["connections"]
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self.h2 = h2.connection.H2Connection(config)
        # h2 ends the connection of a sender that opens more streams than announced, while Apple refuses the streams. So
        # h2 is given a very high limit, and the real one is announced without h2.
        self.h2.local_settings.update({h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 1 << 20})
        self.h2.initiate_connection()
        self.limit_streams(self.options.initial_streams or self.options.streams)

    def limit_streams(self, count):
        self.flush()
        self.limit = count
        setting = {h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: count}
        self.transport.write(SettingsFrame(stream_id=0, settings=setting).serialize())

    def connection_lost(self, error):
        self.apple.stats["open"] -= len(self.streams)
        self.streams.clear()
        for task in list(self.tasks):
            task.cancel()

    def data_received(self, data):
        try:
            events = self.h2.receive_data(data)
        except h2.exceptions.ProtocolError:
            self.flush()
            self.transport.close()
            return
        for event in events:
            self.handle(event)
        self.flush()

    def handle(self, event):
        if isinstance(event, h2.events.RequestReceived):
            if self.last_stream is not None and event.stream_id > self.last_stream:
                return
            if len(self.streams) >= self.limit:
                self.apple.stats["refusedStreams"] += 1
                self.h2.reset_stream(event.stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)
                return
            self.streams[event.stream_id] = Stream([tuple(pair) for pair in event.headers])
            stats = self.apple.stats
            stats["streams"] += 1
            stats["open"] += 1
            stats["mostStreamsAtOnce"] = max(stats["mostStreamsAtOnce"], stats["open"])
        elif isinstance(event, h2.events.DataReceived):
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            stream = self.streams.get(event.stream_id)
            if stream is not None and len(stream.body) <= LARGEST_BODY:
                stream.body += event.data
        elif isinstance(event, h2.events.StreamEnded):
            if event.stream_id in self.streams:
                task = asyncio.ensure_future(self.respond(event.stream_id, self.streams[event.stream_id]))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)
        elif isinstance(event, h2.events.StreamReset):
            self.forget(event.stream_id)
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.flush()
            self.transport.close()

    async def respond(self, stream_id, stream):
        record, response = await self.apple.receive(
            self.environment, self.number, stream_id, stream.list, bytes(stream.body)
        )
        if response.get("delay"):
            await asyncio.sleep(response["delay"])
        if stream_id not in self.streams:
            return
        if response.get("hang"):
            return
        if response.get("drop"):
            self.transport.abort()
            return
        if response.get("goaway"):
            self.forget(stream_id)
            self.go_away(stream_id if response.get("processed") else stream_id - 2)
            return
        if response.get("reset"):
            code = h2.errors.ErrorCodes.REFUSED_STREAM if response["reset"] == "refused" else h2.errors.ErrorCodes.INTERNAL_ERROR
            self.h2.reset_stream(stream_id, code)
            self.forget(stream_id)
            self.flush()
            return
        status = response.get("status", 200)
        headers = [(":status", str(status)), ("apns-id", stream.headers.get("apns-id") or str(uuid.uuid4()))]
        if self.apple.sends_date:
            headers.append(("date", email.utils.formatdate(time.time() + self.apple.clock_offset, usegmt=True)))
        if "raw" in response:
            body = response["raw"].encode()
        elif status == 200:
            body = b""
        else:
            body = json.dumps({key: response[key] for key in ("reason", "timestamp") if key in response}).encode()
        record["accepted"] = status == 200
        if status == 200 and not self.trusted:
            self.trusted = True
            if self.options.initial_streams:
                self.limit_streams(self.options.streams)
        self.h2.send_headers(stream_id, headers, end_stream=not body)
        if body:
            self.h2.send_data(stream_id, body, end_stream=True)
        # Flush before forgetting the stream: after GOAWAY the connection closes with its last stream.
        self.flush()
        self.forget(stream_id)

    def go_away(self, last_stream):
        """Accepts no more streams on this connection, answers the open ones up to `last_stream`, then closes it.

        The stream that caused the GOAWAY is not answered, even if it is `last_stream`: the caller has forgotten it.
        h2 would end the connection with the GOAWAY frame. Apple does not, so the frame is written without h2.
        """
        self.flush()
        self.last_stream = max(0, last_stream)
        frame = GoAwayFrame(stream_id=0, last_stream_id=self.last_stream, error_code=0)
        self.transport.write(frame.serialize())
        for stream_id in [number for number in self.streams if number > self.last_stream]:
            self.forget(stream_id)
        self.close_when_drained()

    def close_when_drained(self):
        if self.last_stream is not None and not self.streams:
            self.transport.close()

    def forget(self, stream_id):
        if self.streams.pop(stream_id, None) is not None:
            self.apple.stats["open"] -= 1
            self.close_when_drained()

    def flush(self):
        data = self.h2.data_to_send()
        if data and not self.transport.is_closing():
            self.transport.write(data)


class OldConnection(asyncio.Protocol):
    """A connection of a server that only supports HTTP/1.1 and responds to everything with 200 (`--no-h2`)."""

    def __init__(self, apple):
        self.apple = apple

    def connection_made(self, transport):
        self.transport, self.data = transport, b""
        self.apple.stats["connections"] += 1

    def data_received(self, data):
        self.data = (self.data + data)[-LARGEST_BODY:]
        while b"\r\n\r\n" in self.data:
            head, _, rest = self.data.partition(b"\r\n\r\n")
            length = re.search(rb"(?im)^content-length: *(\d+)", head)
            length = int(length.group(1)) if length else 0
            if len(rest) < length:
                return
            self.data = rest[length:]
            self.apple.stats["streams"] += 1
            self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")


# --- The control port --------------------------------------------------------------------------------------------


class Control:
    """The control port: plain HTTP/1.1 on the loopback, with one request per connection."""

    def __init__(self, apple):
        self.apple = apple

    async def serve(self, reader, writer):
        try:
            status, response = await self.respond(reader)
        except (ValueError, KeyError, TypeError, asyncio.IncompleteReadError) as error:
            status, response = 400, {"error": f"{type(error).__name__}: {error}"}
        body = json.dumps(response).encode()
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        try:
            writer.write(head.encode() + body)
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        except ConnectionError:
            pass  # The test has not waited for the response.

    async def respond(self, reader):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, target, _ = head.split("\r\n", 1)[0].split(" ")
        length = re.search(r"(?im)^content-length: *(\d+)", head)
        length = min(int(length.group(1)), LARGEST_CONTROL_BODY) if length else 0
        body = json.loads(await reader.readexactly(length)) if length else {}
        url = urllib.parse.urlsplit(target)
        query = dict(urllib.parse.parse_qsl(url.query))
        apple = self.apple
        match method, url.path:
            case "POST", "/script":
                script = apple.scripts[body.get("token", "*").lower()]
                if body.get("replace"):
                    script.clear()
                script.extend(dict(step) for step in body["answers"])
            case "POST", "/devices":
                apple.devices[body["token"].lower()] = {
                    key: body[key] for key in ("topics", "environment", "unregisteredAt") if key in body
                }
            case "POST", "/config":
                apple.clock_offset = float(body.get("clockOffset", apple.clock_offset))
                apple.known_only = bool(body.get("knownOnly", apple.known_only))
                apple.sends_date = bool(body.get("sendsDate", apple.sends_date))
            case "POST", "/reset":
                apple.reset()
            case "GET", "/stats":
                return 200, apple.stats | {
                    "pushes": len(apple.pushes), "accepted": sum(push["accepted"] for push in apple.pushes),
                    "connectionsByEnvironment": dict(apple.connections_by_environment),
                }
            case "GET", "/pushes":
                return 200, await self.pushes(query)
            case _:
                return 404, {"error": "no such control call"}
        return 200, {"ok": True}

    async def pushes(self, query):
        apple = self.apple
        waits = query.get("wait") == "1"
        after = int(query.get("after", len(apple.pushes) if waits else 0))
        token = query.get("token", "").lower()

        def found():
            return [push for push in apple.pushes[after:] if not token or push["token"] == token]

        if waits and not found():
            try:
                async with asyncio.timeout(min(float(query.get("timeout", 5)), 60)):
                    async with apple.condition:
                        await apple.condition.wait_for(found)
            except TimeoutError:
                pass
        return {"pushes": found(), "next": len(apple.pushes)}


# --- The program -------------------------------------------------------------------------------------------------


async def run(options):
    loop = asyncio.get_running_loop()
    directory = options.directory or tempfile.mkdtemp(prefix="fake-apns-")
    os.makedirs(directory, exist_ok=True)
    ready = {"teamId": options.team_id, "keyId": options.key_id}
    if options.generate_key:
        os.makedirs(options.generate_key, exist_ok=True)
        key = ec.generate_private_key(ec.SECP256R1())
        ready["key"] = os.path.join(options.generate_key, "AuthKey.p8")
        write(ready["key"], private_pem(key))
        write(os.path.join(options.generate_key, "AuthKey.pub"), public_pem(key))
        public_key = key.public_key()
    else:
        with open(options.public_key, "rb") as file:
            public_key = serialization.load_pem_public_key(file.read())
    cert, key = options.cert, options.key
    if not cert:
        ready["ca"], cert, key = make_certificates(directory)
        if options.write_ca:
            with open(ready["ca"], "rb") as file:
                write(options.write_ca, file.read())
            ready["ca"] = options.write_ca
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(cert, key)
    context.set_alpn_protocols(["http/1.1"] if options.no_h2 else ["h2"])

    apple = Apple(options.team_id, options.key_id, public_key)
    environments = ["sandbox", "production"] if options.environment == "both" else [options.environment]
    ports = dict(zip(environments, [options.port, options.production_port], strict=False))
    ready["ports"] = {}
    for environment, port in ports.items():
        def connection(environment=environment):
            return OldConnection(apple) if options.no_h2 else Connection(apple, environment, options)

        server = await loop.create_server(connection, "127.0.0.1", port, ssl=context, backlog=512)
        ready["ports"][environment] = server.sockets[0].getsockname()[1]
    control = await asyncio.start_server(Control(apple).serve, "127.0.0.1", options.control_port)
    ready["control"] = control.sockets[0].getsockname()[1]

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if options.until_stdin_closes:
        # The fake ends with the test process, even if that dies.
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        asyncio.ensure_future(reader.read()).add_done_callback(lambda _: stop.set())
    print(json.dumps(ready), flush=True)
    await stop.wait()


def main():
    parser = argparse.ArgumentParser(description="A fake of Apple's push service, on 127.0.0.1.")
    parser.add_argument(
        "--port", type=int, default=0,
        help="the port of the sandbox service, or of the production service if it is the only one; 0: any free port",
    )
    parser.add_argument(
        "--production-port", type=int, default=0,
        help="the port of the production service with --environment both; 0: any free port",
    )
    parser.add_argument(
        "--control-port", type=int, default=0, help="the port of the control calls, which are plain HTTP; 0: any free port"
    )
    parser.add_argument("--environment", choices=["sandbox", "production", "both"], default="both")
    parser.add_argument("--cert", help="certificate chain, PEM; made when absent")
    parser.add_argument("--key", help="its private key, PEM")
    parser.add_argument("--write-ca", metavar="FILE", help="where to write the CA of a certificate that was made")
    parser.add_argument("--directory", help="where to put what is made; default: a new one in the temporary folder")
    parser.add_argument("--team-id", required=True)
    parser.add_argument("--key-id", required=True)
    keys = parser.add_mutually_exclusive_group(required=True)
    keys.add_argument("--public-key", metavar="FILE", help="of the provider tokens, PEM")
    keys.add_argument("--generate-key", metavar="DIR", help="make the key and write AuthKey.p8 (and .pub) there")
    parser.add_argument("--streams", type=int, default=1000, help="streams at a time on one connection")
    parser.add_argument(
        "--initial-streams", type=int, default=1,
        help="streams at a time on a new connection until its first accepted push (Apple: 1); 0: --streams from the start",
    )
    parser.add_argument("--no-h2", action="store_true", help="speak only HTTP/1.1 and respond to everything with 200")
    parser.add_argument("--until-stdin-closes", action="store_true", help="end when standard input does")
    options = parser.parse_args()
    if bool(options.cert) != bool(options.key):
        parser.error("--cert and --key go together")
    asyncio.run(run(options))


# --- For tests in Python -----------------------------------------------------------------------------------------


class FakeAPNs:
    """Runs this file as a child process; a context manager.

    `ports` and `control` are its ports, `ca` and `key` the paths of its CA and of the provider's key.
    """

    def __init__(self, team_id="TEAM123456", key_id="KEY1234567", directory=None, arguments=()):
        directory = str(directory or tempfile.mkdtemp(prefix="fake-apns-"))
        command = [
            sys.executable, os.path.abspath(__file__), "--team-id", team_id, "--key-id", key_id, "--directory", directory,
            "--generate-key", directory, "--until-stdin-closes", *arguments,
        ]
        self.team_id, self.key_id = team_id, key_id
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        ready = json.loads(line) if line else {"error": "the fake ended at once"}
        if "error" in ready:
            raise RuntimeError(ready["error"])
        self.ports, self.control = ready["ports"], ready["control"]
        self.ca, self.key = ready.get("ca"), ready["key"]
        self.endpoints = {name: f"https://localhost:{port}" for name, port in self.ports.items()}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def call(self, method, path, body=None, timeout=70):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.control}{path}", method=method, data=None if body is None else json.dumps(body).encode()
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=timeout) as response:
            return json.load(response)

    def script(self, token, responses, replace=False):
        """Queues responses for the next pushes to this token; "*" is for tokens without a script of their own."""
        self.call("POST", "/script", {"token": token, "answers": responses, "replace": replace})

    def device(self, token, **facts):
        """Sets the facts about a token: topics, environment, unregisteredAt."""
        self.call("POST", "/devices", {"token": token, **facts})

    def config(self, **settings):
        """Sets clockOffset (seconds), knownOnly or sendsDate."""
        self.call("POST", "/config", settings)

    def reset(self):
        self.call("POST", "/reset", {})

    def stats(self):
        return self.call("GET", "/stats")

    def pushes(self, token="", after=0):
        return self.call("GET", "/pushes?" + urllib.parse.urlencode({"token": token, "after": after}))["pushes"]

    def wait_for_push(self, token="", after=0, timeout=5):
        """Returns the first push to this token after `after` pushes to any token, or None if none comes in time."""
        query = {"wait": 1, "timeout": timeout, "token": token, "after": after}
        found = self.call("GET", "/pushes?" + urllib.parse.urlencode(query), timeout=timeout + 5)["pushes"]
        return found[0] if found else None


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""A fake of Apple's push service, with real HTTP/2 over real TLS, and Apple's checks and responses.

    with FakeAPNs(directory=tmp_path) as apns:
        apns.script(token, [{"status": 410, "reason": "Unregistered", "timestamp": 1700000000000}])
        push = apns.wait_for_push(token=token)

It listens on 127.0.0.1 only. As a program (`fake_apns.py --help`) it serves until its standard input closes, with a
control port for tests in another language. README.md in this folder lists the responses, checks and control calls.
"""

import argparse
import asyncio
import base64
import collections
import email.utils
import http.server
import json
import os
import re
import sys
import threading
import time
import urllib.parse
import uuid

try:
    import h2.config
    import h2.connection
    import h2.errors
    import h2.events
    import h2.exceptions
    import h2.settings
    from cryptography.hazmat.primitives.asymmetric import ec
    from fake_service import LARGEST_BODY, FakeService, Refusal, es256_token, next_step, private_pem, write
    from hyperframe.frame import GoAwayFrame, SettingsFrame
except ImportError as missing:
    # The parent process reads the first line of output even after a failure.
    print(json.dumps({"error": f"{missing}; pip install -r {os.path.dirname(__file__) or '.'}/requirements.txt"}))
    sys.exit(3)

ENVIRONMENTS = ("sandbox", "production")
PROVIDER_TOKEN_SECONDS = 3600
# What a step of a script may describe instead of the usual answer.
DESCRIBED = {"status", "goaway", "drop", "reset", "hang", "raw"}
# The refusals that a test decides by what it says of devices, keys and clocks.
DECIDED = {"BadDeviceToken", "Unregistered", "DeviceTokenNotForTopic", "InvalidProviderToken", "ExpiredProviderToken"}


def refusal(status, reason, **more):
    """Returns an error response as Apple gives it."""
    return Refusal(status, {"reason": reason, **more}, reason, reason not in DECIDED)


class FakeAPNs(FakeService):
    """A fake of Apple's push service in both environments; its devices are push tokens.

    `ports` and `endpoints` are its ports and base URLs by environment, `key` the path of the provider's key.
    """

    def __init__(
        self, directory=None, team_id="TEAM123456", key_id="KEY1234567", streams=1000, initial_streams=1, has_h2=True
    ):
        """`streams`: at a time on one connection; `initial_streams`: until its first accepted push, 0 = the same."""
        super().__init__(directory)
        self.team_id, self.key_id = team_id, key_id
        self.streams, self.initial_streams = streams, initial_streams
        key = ec.generate_private_key(ec.SECP256R1())
        self.key, self.public_key = str(self.directory / "AuthKey.p8"), key.public_key()
        write(self.key, private_pem(key))
        self.tls.set_alpn_protocols(["h2" if has_h2 else "http/1.1"])
        self.loop, self.listeners, self.transports = asyncio.new_event_loop(), [], set()
        self.ports = {}
        # A loop that Playwright runs in the calling thread forbids another one there, even for a moment.
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        for environment in ENVIRONMENTS:

            def connection(environment=environment):
                return Connection(self, environment) if has_h2 else OldConnection(self)

            listens = self.loop.create_server(connection, "127.0.0.1", 0, ssl=self.tls, backlog=512)
            self.listeners.append(asyncio.run_coroutine_threadsafe(listens, self.loop).result())
            self.ports[environment] = self.listeners[-1].sockets[0].getsockname()[1]
        self.endpoints = {name: f"https://localhost:{port}" for name, port in self.ports.items()}

    def forget(self):
        super().forget()
        self.devices = {}
        self.clock_offset, self.known_only, self.sends_date = 0.0, False, False
        # The time of issue of each provider token that was verified.
        self.verified = {}
        names = ("connections", "streams", "open", "mostStreamsAtOnce", "providerTokens", "refusedStreams")
        self.counts = dict.fromkeys(names, 0)
        self.connections_by_environment = collections.Counter()

    def stop(self):
        if not self.stopped.is_set():
            self.stopped.set()
            self.loop.call_soon_threadsafe(self.end)
            self.thread.join()
            self.loop.close()

    def end(self):
        """Breaks all connections, and ends the loop, on which this runs."""
        for listener in self.listeners:
            listener.close()
        for transport in list(self.transports):
            transport.abort()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        # The sockets are closed in the next turn.
        self.loop.call_soon(self.loop.stop)

    # What a test scripts and reads

    def address(self, device):
        return device.lower()

    def device(self, token, **facts):
        """Sets the facts about a token: topics, environment, unregisteredAt."""
        with self.lock:
            self.devices[token.lower()] = facts

    def config(self, clockOffset=None, knownOnly=None, sendsDate=None):  # noqa: N803 - the names of the control call
        """Sets the seconds by which the clock is ahead, and whether unknown tokens are refused and answers have a date."""
        with self.lock:
            self.clock_offset = self.clock_offset if clockOffset is None else float(clockOffset)
            self.known_only = self.known_only if knownOnly is None else bool(knownOnly)
            self.sends_date = self.sends_date if sendsDate is None else bool(sendsDate)

    def stats(self):
        with self.lock:
            return self.counts | {
                "pushes": len(self.records),
                "accepted": sum(push["accepted"] for push in self.records),
                "connectionsByEnvironment": dict(self.connections_by_environment),
            }

    def attempts(self, device=None):
        return [push for push in super().attempts(device) if not push["refused"]]

    def pushes(self, token="", after=0):
        """Returns the pushes to this token, or to all, after the first so many; also those that the checks refused."""
        with self.lock:
            return [dict(push) for push in self.records[after:] if not token or push["token"] == token.lower()]

    def wait_for_push(self, token="", after=0, timeout=5):
        """Returns the first push to this token after `after` pushes to any token, or None if none comes in time."""
        with self.lock:
            self.lock.wait_for(lambda: self.pushes(token, after), timeout)
            return next(iter(self.pushes(token, after)), None)

    # Apple's checks

    def check_provider_token(self, authorization):
        if authorization is None:
            raise refusal(403, "MissingProviderToken")
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise refusal(403, "InvalidProviderToken")
        if token not in self.verified:
            self.verified[token] = self.verify(token)
            self.counts["providerTokens"] += 1
        age = time.time() + self.clock_offset - self.verified[token]
        if age > PROVIDER_TOKEN_SECONDS:
            raise refusal(403, "ExpiredProviderToken")
        if age < -60:
            raise refusal(403, "InvalidProviderToken")

    def verify(self, token):
        """Returns the time at which the token was issued; raises the refusal if the token is invalid."""
        try:
            header, claims = es256_token(token, self.public_key)
        except ValueError:
            raise refusal(403, "InvalidProviderToken") from None
        fits = header.get("kid") == self.key_id and claims.get("iss") == self.team_id
        if not fits or type(claims.get("iat")) is not int:
            raise refusal(403, "InvalidProviderToken")
        return claims["iat"]

    def check(self, environment, headers, body):
        """Raises the refusal that Apple would give for this request, if any."""
        if headers.get(":method") != "POST":
            raise refusal(405, "MethodNotAllowed")
        path = headers.get(":path", "")
        if path in ("/3/device", "/3/device/"):
            raise refusal(400, "MissingDeviceToken")
        if not path.startswith("/3/device/"):
            raise refusal(404, "BadPath")
        self.check_provider_token(headers.get("authorization"))
        if "apns-id" in headers:
            try:
                if str(uuid.UUID(headers["apns-id"])) != headers["apns-id"].lower():
                    raise ValueError
            except ValueError:
                raise refusal(400, "BadMessageId") from None
        if not re.fullmatch(r"[0-9]+", headers.get("apns-expiration", "0")):
            raise refusal(400, "BadExpirationDate")
        if headers.get("apns-priority", "10") not in ("10", "5", "1"):
            raise refusal(400, "BadPriority")
        if len(headers.get("apns-collapse-id", "").encode()) > 64:
            raise refusal(400, "BadCollapseId")
        topic, kind = headers.get("apns-topic"), headers.get("apns-push-type")
        if not topic:
            raise refusal(400, "MissingTopic")
        if kind not in ("alert", "background", "voip"):
            raise refusal(400, "InvalidPushType")
        if (kind == "voip") != topic.endswith(".voip"):
            raise refusal(400, "BadTopic")
        token = path[len("/3/device/"):]
        if not re.fullmatch(r"[0-9a-fA-F]{64,200}", token):
            raise refusal(400, "BadDeviceToken")
        device = self.devices.get(token.lower())
        if device is None and self.known_only:
            raise refusal(400, "BadDeviceToken")
        if device is not None:
            if device.get("environment", environment) != environment:
                raise refusal(400, "BadDeviceToken")
            if "unregisteredAt" in device:
                raise refusal(410, "Unregistered", timestamp=device["unregisteredAt"])
            if topic not in device.get("topics", [topic]):
                raise refusal(400, "DeviceTokenNotForTopic")
        if not body:
            raise refusal(400, "PayloadEmpty")
        if len(body) > (5120 if kind == "voip" else 4096):
            raise refusal(413, "PayloadTooLarge")
        try:
            fits = isinstance(json.loads(body), dict)
        except ValueError:
            fits = False
        if not fits:
            # Apple documents no reason for this, so the fake uses a descriptive one of its own.
            raise refusal(400, "PayloadNotJSON")

    def receive_push(self, environment, connection, stream, header_list, body):
        """Records a push; returns its record and the response to give. README.md describes the response's fields."""
        headers = dict(header_list)
        path = headers.get(":path", "")
        token = path.rpartition("/")[2].lower()
        with self.lock:
            response, refused = {"status": 200}, False
            try:
                self.check(environment, headers, body)
            except Refusal as error:
                response, refused = self.refused(error), True
                response = {"status": response["status"], **response["body"]}
            step = next_step(self.script_of(token))
            # A push that Apple would refuse stays refused, so that a script cannot hide a fault of the sender.
            if step.keys() & DESCRIBED and not refused:
                response = step
            elif not step.keys() & DESCRIBED:
                response |= {"delay": step.get("delay", 0)}
            try:
                payload = json.loads(body)
            except ValueError:
                payload = None
            record = {
                "index": len(self.records) + 1,
                "environment": environment,
                "path": path,
                "token": token,
                "headers": headers,
                "headerList": header_list,
                "payload": payload,
                "body": base64.b64encode(body).decode(),
                "connection": connection,
                "stream": stream,
                "refused": refused,
            }
            return self.note(token, record, response), response

    def accepts(self, answer):
        # It is accepted when it is answered.
        return False


# --- HTTP/2 ------------------------------------------------------------------------------------------------------


class Stream:
    def __init__(self, headers):
        self.list, self.headers, self.body = headers, dict(headers), bytearray()


class Connection(asyncio.Protocol):
    """A TLS connection of a sender."""

    def __init__(self, apple, environment):
        self.apple, self.environment = apple, environment
        self.streams, self.tasks = {}, set()
        self.last_stream = None
        self.trusted = False

    def connection_made(self, transport):
        self.transport = transport
        self.apple.transports.add(transport)
        self.apple.counts["connections"] += 1
        self.apple.connections_by_environment[self.environment] += 1
        self.number = self.apple.counts["connections"]
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self.h2 = h2.connection.H2Connection(config)
        # h2 ends the connection of a sender that opens more streams than announced, while Apple refuses the streams. So
        # h2 is given a very high limit, and the real one is announced without h2.
        self.h2.local_settings.update({h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 1 << 20})
        self.h2.initiate_connection()
        self.limit_streams(self.apple.initial_streams or self.apple.streams)

    def limit_streams(self, count):
        self.flush()
        self.limit = count
        setting = {h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: count}
        self.transport.write(SettingsFrame(stream_id=0, settings=setting).serialize())

    def connection_lost(self, error):
        self.apple.transports.discard(self.transport)
        self.apple.counts["open"] -= len(self.streams)
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
                self.apple.counts["refusedStreams"] += 1
                self.h2.reset_stream(event.stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)
                return
            self.streams[event.stream_id] = Stream([tuple(pair) for pair in event.headers])
            counts = self.apple.counts
            counts["streams"] += 1
            counts["open"] += 1
            counts["mostStreamsAtOnce"] = max(counts["mostStreamsAtOnce"], counts["open"])
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
        record, response = self.apple.receive_push(
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
            codes = h2.errors.ErrorCodes
            code = codes.REFUSED_STREAM if response["reset"] == "refused" else codes.INTERNAL_ERROR
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
            if self.apple.initial_streams:
                self.limit_streams(self.apple.streams)
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
            self.apple.counts["open"] -= 1
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
        self.apple.transports.add(transport)
        self.apple.counts["connections"] += 1

    def data_received(self, data):
        self.data = (self.data + data)[-LARGEST_BODY:]
        while b"\r\n\r\n" in self.data:
            head, _, rest = self.data.partition(b"\r\n\r\n")
            length = re.search(rb"(?im)^content-length: *(\d+)", head)
            length = int(length.group(1)) if length else 0
            if len(rest) < length:
                return
            self.data = rest[length:]
            self.apple.counts["streams"] += 1
            self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")


# --- As a program, with a control port ---------------------------------------------------------------------------


class Control(http.server.BaseHTTPRequestHandler):
    """The control port: plain HTTP with JSON on the loopback; `fake` is set by a subclass."""

    fake: FakeAPNs
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # noqa: N802
        url = urllib.parse.urlsplit(self.path)
        length = int(self.headers.get("Content-Length", "0"))
        status, answer = 200, {"ok": True}
        try:
            body = json.loads(self.rfile.read(length)) if length else {}
            match self.command, url.path:
                case "POST", "/script":
                    self.fake.script(body.get("token", "*"), body["answers"])
                case "POST", "/devices":
                    self.fake.device(**body)
                case "POST", "/config":
                    self.fake.config(**body)
                case "POST", "/reset":
                    with self.fake.lock:
                        self.fake.forget()
                case "GET", "/stats":
                    answer = self.fake.stats()
                case "GET", "/pushes":
                    answer = self.pushes(dict(urllib.parse.parse_qsl(url.query)))
                case _:
                    status, answer = 404, {"error": "no such control call"}
        except (ValueError, KeyError, TypeError) as error:
            status, answer = 400, {"error": f"{type(error).__name__}: {error}"}
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST  # noqa: N815

    def pushes(self, query):
        fake, token, waits = self.fake, query.get("token", ""), query.get("wait") == "1"
        with fake.lock:
            after = int(query.get("after", len(fake.records) if waits else 0))
            if waits:
                fake.wait_for_push(token, after, min(float(query.get("timeout", 5)), 60))
            return {"pushes": fake.pushes(token, after), "next": len(fake.records)}

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description="A fake of Apple's push service, on 127.0.0.1.")
    parser.add_argument("--directory", help="where to put its key and certificate; default: a new temporary folder")
    parser.add_argument("--streams", type=int, default=1000, help="streams at a time on one connection")
    parser.add_argument(
        "--initial-streams", type=int, default=1,
        help="streams at a time on a new connection until its first accepted push (Apple: 1); 0: as --streams",
    )
    parser.add_argument("--no-h2", action="store_true", help="speak only HTTP/1.1 and respond to everything with 200")
    options = parser.parse_args()
    limits = {"streams": options.streams, "initial_streams": options.initial_streams}
    with FakeAPNs(options.directory, has_h2=not options.no_h2, **limits) as fake:
        control = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Control", (Control,), {"fake": fake}))
        threading.Thread(target=control.serve_forever, daemon=True).start()
        ready = {"teamId": fake.team_id, "keyId": fake.key_id, "key": fake.key, "ca": fake.ca, "ports": fake.ports}
        print(json.dumps(ready | {"control": control.server_port}), flush=True)
        # The fake ends with the test process, even if that dies.
        sys.stdin.read()


if __name__ == "__main__":
    main()

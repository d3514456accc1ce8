"""Fixtures: servers, tokens, WebSocket and REST clients, and fakes of APNs, of Firebase and of browsers' push services.

Each test has its own server and data.
"""

import base64
import json
import pathlib
import subprocess
import sys

import httpx
import postgres_server
import pytest
import recording
import wall_clock
from cluster import instead_of_a_server, make_cluster  # noqa: F401 - a fixture
from connection import Connection
from postgres_server import ON_CLUSTER, database, store  # noqa: F401 - fixtures
from rest import Rest
from ringline_server import Server, binary
from scheduled import Minute
from tokens import mint


def pytest_configure(config):
    if not config.option.collectonly and not binary().exists():
        raise pytest.UsageError(f"{binary()} is not there: swift build -c release --product ringline")
    if postgres_server.STORE not in ("sqlite", "postgres", "cluster"):
        raise pytest.UsageError(f"RINGLINE_TEST_STORE is {postgres_server.STORE}: it may be sqlite, postgres or cluster")
    if recording.FOLDER is not None:
        record_http()


# The files that wait longest. pytest-xdist gives files to its workers in the order of the tests: these come first, so
# that no worker is left alone with one of them.
LONGEST = ["test_socketio", "test_schedules_restarts", "test_chutalk", "test_chutalk_pushes", "test_firebase"]


def pytest_collection_modifyitems(items):
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.module.__name__, len(LONGEST)))


def pytest_report_header():
    return f"store: {postgres_server.STORE}"


def pytest_sessionfinish():
    postgres_server.end()


def record_http():
    """Adds every response that a test receives to the recording, whichever httpx client received it."""
    send = httpx.Client.send

    def noted(self, request, **options):
        response = send(self, request, **options)
        if not options.get("stream"):
            recording.answered(response)
        return response

    httpx.Client.send = noted


def pytest_runtest_setup(item):
    recording.begins(item.module.__name__)


@pytest.fixture
def make_server(tmp_path):
    """Returns a function that starts servers: `make_server("--ring-timeout", 1, data=…, environment={…})`.

    Fails if one of them has crashed by the end of the test.
    """
    servers, folders = [], set()

    def make(*options, data=None, environment=None, start=True) -> Server:
        folder = tmp_path / f"data-{len(servers)}"
        folders.add(data or folder)
        if ON_CLUSTER:
            server = instead_of_a_server(folder, *options, data=data, environment=environment)
        else:
            server = Server(data or folder, *options, environment=environment)
        servers.append(server)
        return server.start() if start else server

    yield make
    crashed = [crash for server in servers if (crash := server.close())]
    postgres_server.drop(folders)
    assert not crashed, crashed


@pytest.fixture(scope="session")
def clock_library(tmp_path_factory) -> pathlib.Path:
    return wall_clock.build(tmp_path_factory.mktemp("clock"))


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A folder with a certificate c.pem, its key k.pem, the pair other-c.pem and other.pem, and noise.pem."""
    folder = tmp_path_factory.mktemp("tls")
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    for key, name in (("k.pem", "c.pem"), ("other.pem", "other-c.pem")):
        subprocess.run(
            ["openssl", "req", "-x509", *curve, "-keyout", key, "-out", name], cwd=folder, check=True, capture_output=True
        )
    (folder / "noise.pem").write_text("this is no certificate")
    return folder


@pytest.fixture
def server(make_server) -> Server:
    return make_server()


class World:
    """The users of one server: makes their tokens and clients."""

    def __init__(self, server: Server):
        self.server = server
        self.closing = []

    def token(self, user="11", **claims) -> str:
        return mint(self.server.secret, user, **claims)

    def connect(
        self, user="11", device: str | None = None, *, token: str | None = None, claims=None, **options
    ) -> Connection:
        """Returns a WebSocket client of this user that has received its `welcome`."""
        connection = Connection(
            self.server.ws_url, token or self.token(user, **(claims or {})), device=device, **options
        )
        self.closing.append(connection)
        return connection

    def rest(self, user="11", *, token: str | None = None, allow_5xx=False, **claims) -> Rest:
        client = Rest(self.server.url, token or self.token(user, **claims), allow_5xx)
        self.closing.append(client)
        return client

    def call(self, call_id="c-1", caller="11", callee="10", answer=True):
        """Returns the two WebSocket clients of a call, (caller, callee), each with an empty inbox."""
        import samples

        one, other = self.connect(caller, f"phone-{caller}"), self.connect(callee, f"phone-{callee}")
        one.ring(other, call_id)
        other.expect(type="offer", callId=call_id)
        if answer:
            other.ask(type="answer", callId=call_id, sdp=samples.ANSWER)
            one.expect(type="answer", callId=call_id)
        for connection in (one, other):
            connection.fence()
            connection.inbox.clear()
        return one, other

    def close(self):
        for each in self.closing:
            try:
                each.close()
            except OSError:
                pass  # The test has dropped this connection.


@pytest.fixture
def make_world():
    worlds = []

    def make(server: Server) -> World:
        worlds.append(World(server))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


@pytest.fixture
def world(server, make_world) -> World:
    return make_world(server)


def import_from(folder: str):
    """Makes the modules of a folder of Tests importable."""
    path = str(pathlib.Path(__file__).resolve().parents[1] / folder)
    if path not in sys.path:
        sys.path.insert(0, path)


@pytest.fixture
def apns(tmp_path):
    """A fake of Apple's push service with both environments; see Tests/FakeAPNs."""
    import_from("FakeAPNs")
    from fake_apns import FakeAPNs

    with FakeAPNs(directory=tmp_path / "apns") as fake:
        yield fake
        if recording.FOLDER is None or fake.process.poll() is not None:
            return
        for push in fake.pushes():
            names = ",".join(name for name, _ in push["headerList"])
            recording.heard(f"push {push['headers'].get('apns-push-type')} {names}", base64.b64decode(push["body"]))


def push_options(fake, environment="sandbox") -> list[str]:
    """Returns the options of `ringline serve` that make it push to the fake."""
    return [
        "--apns-key-file",
        fake.key,
        "--apns-key-id",
        fake.key_id,
        "--apns-team-id",
        fake.team_id,
        "--apns-environment",
        environment,
        "--apns-ca-file",
        fake.ca,
        "--apns-endpoint-sandbox",
        fake.endpoints["sandbox"],
        "--apns-endpoint-production",
        fake.endpoints["production"],
    ]


@pytest.fixture
def push_world(apns, make_server, make_world):
    """A world with a server that pushes to the fake: (world, fake)."""
    return make_world(make_server(*push_options(apns))), apns


@pytest.fixture
def short_rings(apns, make_server, make_world):
    """A world with pushes in which calls ring for one second: (world, fake)."""
    return make_world(make_server(*push_options(apns), "--ring-timeout", "1", "--probe-timeout", "0.3")), apns


@pytest.fixture
def firebase(tmp_path):
    """A fake of Google's Firebase service; see Tests/FakeFirebase.

    Fails if it has refused a request for its form, unless the test has emptied `refusals`.
    """
    import_from("FakeFirebase")
    from fake_firebase import FakeFirebase

    with FakeFirebase(directory=tmp_path / "firebase") as fake:
        yield fake
        for each in fake.attempts():
            record_message(each["message"], each["headers"])
    assert fake.refusals == []


def record_message(message: dict, headers: dict):
    """Adds a message to Firebase to the recording; its data apart, because members of this name are not recorded."""
    rest = {name: value for name, value in message.items() if name != "data"}
    recording.heard(f"firebase {','.join(headers)}", json.dumps(rest))
    recording.heard("firebase data", json.dumps(message.get("data", {})))


def firebase_options(fake) -> list[str]:
    """Returns the options of `ringline serve` that make it push to the fake of Firebase."""
    return [
        "--fcm-service-account-file",
        fake.service_account,
        "--fcm-endpoint",
        fake.endpoint,
        "--fcm-ca-file",
        fake.ca,
    ]


@pytest.fixture
def firebase_world(firebase, make_server, make_world):
    """A world with a server that pushes to the fake of Firebase: (world, fake)."""
    return make_world(make_server(*firebase_options(firebase))), firebase


@pytest.fixture
def short_firebase_rings(firebase, make_server, make_world):
    """A world with pushes to the fake of Firebase in which calls ring for one second: (world, fake)."""
    options = [*firebase_options(firebase), "--ring-timeout", "1", "--probe-timeout", "0.3"]
    return make_world(make_server(*options)), firebase


@pytest.fixture
def web_push(tmp_path):
    """A fake of a browser's push service; see Tests/FakeWebPush.

    Fails if a redirect was followed, or if a request was refused for its form and the test has not emptied `refusals`.
    """
    import_from("FakeWebPush")
    from fake_web_push import FakeWebPush

    with FakeWebPush(directory=tmp_path / "web-push") as fake:
        yield fake
        for each in fake.attempts():
            if each["payload"] is not None:
                recording.heard(f"web push {','.join(each['headers'])}", each["text"])
    assert fake.refusals == [] and fake.followed == []


def web_push_options(fake) -> list[str]:
    """Returns the options of `ringline serve` that make it push to the fake of a browser's push service."""
    return [
        "--vapid-subject",
        "mailto:ops@example.com",
        "--vapid-key-file",
        str(fake.directory / "vapid.pem"),
        *(word for host in fake.hosts for word in ("--web-push-host", host)),
        "--web-push-ca-file",
        fake.ca,
    ]


@pytest.fixture
def make_web_push_world(web_push, make_server, make_world):
    """Returns a function that makes a world with a server, with further options, that pushes to the fake."""

    def make(*options) -> World:
        world = make_world(make_server(*web_push_options(web_push), *options))
        # Browsers subscribe with the server's public key.
        web_push.application_server_key = world.rest().get("/api/web-push").json()["applicationServerKey"]
        return world

    return make


@pytest.fixture
def web_push_world(web_push, make_web_push_world):
    """A world with a server that pushes to the fake of a browser's push service: (world, fake)."""
    return make_web_push_world(), web_push


@pytest.fixture
def short_web_push_rings(web_push, make_web_push_world):
    """A world with pushes to browsers in which calls ring for one second: (world, fake)."""
    return make_web_push_world("--ring-timeout", "1", "--probe-timeout", "0.3"), web_push


@pytest.fixture
def minute(clock_library, tmp_path) -> Minute:
    """A full minute of the clock of the servers that get its environment."""
    return Minute(clock_library, tmp_path / "clock")


@pytest.fixture
def early(minute, make_server, make_world):
    """A world some seconds before a full minute."""
    return make_world(make_server(environment=minute.environment))


@pytest.fixture
def early_with_pushes(minute, apns, make_server, make_world):
    """A world with pushes some seconds before a full minute: (world, fake)."""
    return make_world(make_server(*push_options(apns), environment=minute.environment)), apns

"""Fixtures: servers, tokens, WebSocket and REST clients, and fakes of APNs, of Firebase and of browsers' push services.

Each test has its own server and data; those with `servers` share a server, and have users of their own.
"""

import contextlib
import pathlib
import subprocess

import durations
import httpx
import postgres_server
import push_services
import pytest
import recording
import wall_clock
from cluster import instead_of_a_server, make_cluster  # noqa: F401 - a fixture
from postgres_server import ON_CLUSTER, database, store  # noqa: F401 - fixtures
from pushed_call import PushedCall
from ringline_server import Server, binary
from scheduled import Minute
from world import World, push_options


def pytest_configure(config):
    if not config.option.collectonly and not binary().exists():
        raise pytest.UsageError(f"{binary()} is not there: swift build -c release --product ringline")
    if postgres_server.STORE not in ("sqlite", "postgres", "cluster"):
        raise pytest.UsageError(f"RINGLINE_TEST_STORE is {postgres_server.STORE}: it may be sqlite, postgres or cluster")
    if recording.FOLDER is not None:
        record_http()


def pytest_collection_modifyitems(items):
    table = durations.kept()
    items.sort(key=lambda item: -durations.seconds(item.path, table))


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


@contextlib.contextmanager
def servers_in(place: pathlib.Path):
    """Gives a function that starts servers with data folders in this place; fails if one of them has crashed."""
    servers, folders = [], set()

    def make(*options, data=None, environment=None, start=True) -> Server:
        folder = place / f"data-{len(servers)}"
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


@pytest.fixture
def make_server(tmp_path):
    """Returns a function that starts servers: `make_server("--ring-timeout", 1, data=…, environment={…})`.

    Fails if one of them has crashed by the end of the test.
    """
    with servers_in(tmp_path) as make:
        yield make


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


@contextlib.contextmanager
def open_worlds():
    """Gives a function that makes worlds, and closes their clients."""
    worlds = []

    def make(server: Server) -> World:
        worlds.append(World(server))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


@pytest.fixture
def make_world():
    with open_worlds() as make:
        yield make


@pytest.fixture
def world(server, make_world) -> World:
    return make_world(server)


@pytest.fixture
def apns(tmp_path):
    """A fake of Apple's push service with both environments; see Tests/FakePushServices."""
    with push_services.running("apns", tmp_path / "apns") as service:
        yield service.fake


@pytest.fixture
def push_world(apns, make_server, make_world):
    """A world with a server that pushes to the fake: (world, fake)."""
    return make_world(make_server(*push_options(apns))), apns


@pytest.fixture
def short_rings(apns, make_server, make_world):
    """A world with pushes in which calls ring for one second: (world, fake)."""
    return make_world(make_server(*push_options(apns), "--ring-timeout", "1", "--probe-timeout", "0.3")), apns


@pytest.fixture
def web_push(tmp_path):
    """A fake of a browser's push service; see Tests/FakePushServices."""
    with push_services.running("web-push", tmp_path / "web-push") as service:
        yield service.fake


# Calls whose callees are woken by a push. The tests of a file share one fake for each service, and one server for each
# set of options; each test has users of its own.


class Servers:
    """One push service and the servers of a test file that push to it, one for each set of options."""

    def __init__(self, service: push_services.PushService, make_server, make_world):
        self.service, self.make_server, self.make_world = service, make_server, make_world
        self.worlds: dict[tuple[str, ...], World] = {}

    def world(self, *options: str) -> World:
        """Returns the world with these options besides those of the push service."""
        if options not in self.worlds:
            world = self.make_world(self.make_server(*self.service.options(), *options))
            self.service.prepare(world)
            self.worlds[options] = world
        return self.worlds[options]

    def call(self, *options: str) -> PushedCall:
        return PushedCall(self.world(*options), self.service)


@pytest.fixture(scope="module")
def push_servers(tmp_path_factory):
    """Returns a function that gives the servers of a push service by its name."""
    found: dict[str, Servers] = {}
    with contextlib.ExitStack() as open_ones:

        def of(name: str) -> Servers:
            if name not in found:
                folder = tmp_path_factory.mktemp(name)
                service = open_ones.enter_context(push_services.running(name, folder / "fake"))
                make_server = open_ones.enter_context(servers_in(folder))
                found[name] = Servers(service, make_server, open_ones.enter_context(open_worlds()))
            return found[name]

        yield of


def pytest_generate_tests(metafunc):
    """Runs each test with `servers` for every push service, or for `SERVICE` of its file."""
    marks = metafunc.definition.iter_markers("parametrize")
    if "servers" in metafunc.fixturenames and not any(mark.args[0] == "servers" for mark in marks):
        only = getattr(metafunc.module, "SERVICE", None)
        metafunc.parametrize("servers", [only] if only else push_services.SERVICES, indirect=True)


@pytest.fixture
def servers(request, push_servers) -> Servers:
    """The servers of a push service. Fails if a push of the test was refused for its form."""
    servers = push_servers(request.param)
    yield servers
    assert servers.service.faults() == []


@pytest.fixture
def call(servers) -> PushedCall:
    return servers.call("--probe-timeout", "1")


@pytest.fixture
def short_call(servers) -> PushedCall:
    """A call that rings for one second."""
    return servers.call("--ring-timeout", "1", "--probe-timeout", "0.3")


@pytest.fixture
def make_call(servers, make_server, make_world):
    """Returns a function that makes a call on a server of its own, with these options besides those of the push service.

    `instead`: the options instead of those of the push service. `service`: another push service than that of the test.
    """

    def make(*options: str, instead: list[str] | None = None, service=servers.service) -> PushedCall:
        world = make_world(make_server(*(service.options() if instead is None else instead), *options))
        service.prepare(world)
        return PushedCall(world, service)

    return make


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

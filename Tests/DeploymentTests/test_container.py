"""The image in use: run with few rights, stopped during a call, and started again on the same volume.

`Deploy/test image` sets RINGLINE_ENGINE (docker, or podman with its options) and RINGLINE_IMAGES.
"""

import json
import os
import re
import shlex
import subprocess
import time
import uuid

import httpx
import pytest
import samples
from conftest import DEPLOY, run_packages, swift_packages
from connection import Connection
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from rest import Rest
from ringline_server import free_port

ENGINE = shlex.split(os.environ.get("RINGLINE_ENGINE", "docker"))
ENGINE_RUN = shlex.split(os.environ.get("RINGLINE_ENGINE_RUN", ""))
IMAGES = os.environ.get("RINGLINE_IMAGES", "ringline:test ringline:test-minimal").split()


def engine(*arguments, check=True) -> str:
    done = subprocess.run([*ENGINE, *arguments], capture_output=True, text=True, timeout=90)
    assert not check or done.returncode == 0, f"{arguments[0]}: {done.stderr[-2000:]}"
    return done.stdout.strip()


class Container:
    """One container of the image, with a volume that is not removed with it."""

    def __init__(self, image: str, volume: str, port: int, admin: int):
        self.image, self.volume, self.name = image, volume, f"ringline-test-{uuid.uuid4().hex[:8]}"
        self.url, self.admin_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{admin}"
        self.ws_url = f"ws://127.0.0.1:{port}/ws"
        self.settings = [f"RINGLINE_LISTEN=127.0.0.1:{port}", f"RINGLINE_ADMIN_LISTEN=127.0.0.1:{admin}"]

    def start(self) -> "Container":
        locked = "--read-only --cap-drop=all --security-opt=no-new-privileges --memory=256m --pids-limit=64".split()
        settings = [part for each in self.settings for part in ("--env", each)]
        began = time.monotonic()
        engine(
            "run", "-d", "--name", self.name, "--network=host", *locked, *ENGINE_RUN, *settings,
            "--volume", f"{self.volume}:/data", self.image,
        )  # fmt: skip
        deadline = began + 30
        while True:
            try:
                if httpx.get(self.admin_url + "/readyz", trust_env=False, timeout=2).status_code == 200:
                    break
            except httpx.TransportError:
                pass
            assert time.monotonic() < deadline, engine("logs", self.name, check=False)[-2000:]
            time.sleep(0.01)
        self.start_seconds = time.monotonic() - began
        return self

    def inspect(self) -> dict:
        return json.loads(engine("inspect", self.name))[0]

    @property
    def pid(self) -> int:
        """The id of the server's process, a child of tini."""
        tini = self.inspect()["State"]["Pid"]
        with open(f"/proc/{tini}/task/{tini}/children") as children:
            (server,) = children.read().split()
        return int(server)

    def status(self) -> dict[str, list[str]]:
        with open(f"/proc/{self.pid}/status") as lines:
            return {name: rest.split() for name, rest in (line.split(":", 1) for line in lines)}

    def token(self, user: str) -> str:
        return engine("exec", self.name, "ringline", "token", "--data", "/data", "--user", user)

    def connect(self, user: str, token: str) -> Connection:
        return Connection(self.ws_url, token, device=f"phone-{user}")

    def stop(self) -> tuple[int, float]:
        """Stops the container by SIGTERM; returns the exit code and the seconds that it took."""
        began = time.monotonic()
        engine("stop", "-t", "10", self.name)
        return self.inspect()["State"]["ExitCode"], time.monotonic() - began

    def remove(self):
        engine("rm", "-f", self.name, check=False)


@pytest.fixture(params=IMAGES)
def make_container(request):
    volume = f"ringline-test-{uuid.uuid4().hex[:8]}"
    ports = free_port(), free_port()
    made = []

    def make() -> Container:
        made.append(Container(request.param, volume, *ports))
        return made[-1].start()

    yield make
    for each in made:
        each.remove()
    engine("volume", "rm", "-f", volume, check=False)


def test_a_call_continues_after_a_restart_of_the_container(make_container, capsys):
    first = make_container()
    rest_kib = int(first.status()["VmRSS"][0])
    tokens = {user: first.token(user) for user in ("10", "11")}
    taro, hanako = first.connect("11", tokens["11"]), first.connect("10", tokens["10"])
    taro.ring("10", "c-1")
    hanako.expect(type="offer", callId="c-1")
    hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    taro.expect(type="answer", callId="c-1")
    taro.ask(type="connected", callId="c-1")
    said = taro.ask(type="info", callId="c-1", data="before")

    code, seconds = first.stop()
    assert [connection.close_code() for connection in (taro, hanako)] == [1001, 1001]
    assert code == 0 and seconds < 10
    logs = engine("logs", first.name)
    assert not [token for token in tokens.values() if token.rsplit(".", 1)[1] in logs]

    second = make_container()
    taro, hanako = second.connect("11", tokens["11"]), second.connect("10", tokens["10"])
    log = Rest(second.url, tokens["10"]).log("c-1")
    assert log["state"] == "active"
    assert [each["data"] for each in log["signals"] if each["type"] == "info"] == ["before"]
    after = taro.ask(type="info", callId="c-1", data="after")
    assert after["seq"] > said["seq"]
    assert hanako.expect(type="info", data="after")["callId"] == "c-1"
    hanako.ask(type="end", callId="c-1")
    assert taro.expect(type="call", state="ended")["reason"] == "hangup"
    assert second.stop()[0] == 0

    size = int(json.loads(engine("image", "inspect", first.image))[0]["Size"])
    with capsys.disabled():
        print(
            f"\n{first.image}: image {size / 1e6:.1f} MB, ready {first.start_seconds:.2f} s after `run`, "
            f"{rest_kib / 1024:.1f} MiB resident at rest, ended {seconds:.2f} s after `stop`"
        )


def test_the_container_has_no_more_rights_than_it_needs(make_container):
    container = make_container()
    status = container.status()
    assert status["Uid"] == ["10001"] * 4 and status["Gid"] == ["10001"] * 4
    assert int(status["CapEff"][0], 16) == int(status["CapBnd"][0], 16) == 0
    assert status["NoNewPrivs"] == ["1"] and status["Seccomp"] == ["2"]
    with open(f"/proc/{container.pid}/mountinfo") as mounts:
        (root,) = [line.split() for line in mounts if line.split()[4] == "/"]
    assert "ro" in root[5].split(",")


def test_only_the_servers_user_can_read_its_data(make_container):
    container = make_container()
    container.token("11")
    folder = json.loads(engine("volume", "inspect", container.volume))[0]["Mountpoint"]
    kept = list(os.scandir(folder))
    assert {"development-jwt-secret"} <= {each.name for each in kept}
    for each in kept:
        assert (each.stat().st_uid, oct(each.stat().st_mode & 0o777)) == (10001, "0o600"), each.name


def test_the_health_check_of_the_image_works(make_container):
    container = make_container()
    config = container.inspect()["Config"]
    assert config["Healthcheck"]["Test"] == ["CMD", "ringline", "health"]
    # Run the health check's own command in the container, with the container's environment.
    assert '"ok"' in engine("exec", container.name, *config["Healthcheck"]["Test"][1:])
    assert '"ok"' in engine("exec", container.name, "ringline", "health", "--ready")


def test_the_image_has_the_labels_of_the_open_container_initiative(make_container):
    container = make_container()
    labels = container.inspect()["Config"]["Labels"]
    said = engine("exec", container.name, "ringline", "version")
    assert labels["org.opencontainers.image.title"] == "Ringline"
    assert labels["org.opencontainers.image.licenses"] == "MIT"
    version, revision = (labels[f"org.opencontainers.image.{name}"] for name in ("version", "revision"))
    assert said == f"ringline {version} (commit {revision[:12]})"


def test_the_image_contains_a_list_of_its_parts(make_container, tmp_path):
    container = make_container()
    engine("cp", f"{container.name}:/usr/share/ringline/sbom.cdx.json", str(tmp_path))
    text = (tmp_path / "sbom.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_5).validate_str(text) is None
    named = {part["name"]: part["version"] for part in json.loads(text)["components"]}
    packages = {name.removeprefix("apple/"): version for name, version in swift_packages().items()}
    assert packages.items() <= named.items()
    (release,) = re.findall(r"^ARG DEBIAN_IMAGE=debian:(\w+)-slim$", (DEPLOY / "Dockerfile").read_text(), re.M)
    # No program names the files of tzdata, and wasi-libc is not installed, but linked into ringline.wasm. The minimal
    # image has no file of some libraries that others link in or open.
    needed = {*run_packages(release), "libc6", "swift", "wasi-libc"} - {"libcap2", "ca-certificates"}
    assert needed <= set(named), sorted(named)
    # The list must not name a shell that the image does not have, or scanners would report it.
    assert ("dash" in named) == ("minimal" not in container.image)


def test_the_image_knows_the_time_zones(make_container):
    container = make_container()
    rest = Rest(container.url, container.token("10"))
    schedule = {"at": "06:30", "days": ["mon"], "from": {"id": "wake"}}
    for zone in ("Asia/Seoul", "Europe/Berlin", "UTC"):
        response = rest.post("/api/schedules", schedule | {"timeZone": zone})
        assert response.status_code == 200, response.text


def test_the_minimal_image_holds_no_shell(tmp_path):
    minimal = [image for image in IMAGES if image.endswith("-minimal")]
    for image in minimal:
        name = f"ringline-test-{uuid.uuid4().hex[:8]}"
        engine("create", "--name", name, image)
        try:
            for program in ("/bin/sh", "/usr/bin/sh", "/usr/bin/apt-get"):
                gone = subprocess.run([*ENGINE, "cp", f"{name}:{program}", str(tmp_path)], capture_output=True)
                assert gone.returncode != 0, f"{image} holds {program}"
        finally:
            engine("rm", "-f", name)

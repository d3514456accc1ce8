"""The Swift kit for apps, with real sockets and requests: `ringline-kit-device` (Tests/Clients/KitDevice), against the real server.

Its media engine plays nothing, but its descriptions have the form of a browser's.
"""

import json
import os
import pathlib
import queue
import subprocess
import threading
import time

import pytest
import samples
from push_services import pushed, register
from ringline_server import ROOT, binary, clean_environment
from test_devices import devices
from test_turn import secret_file  # noqa: F401 - a fixture
from waiting import eventually

PROGRAM = pathlib.Path(os.environ.get("RINGLINE_KIT_DEVICE") or ROOT / ".build/release/ringline-kit-device")


class KitDevice:
    """One run of the program; collects the lines that it prints."""

    def __init__(self, url: str, token: str, user: str, device: str, *options: str):
        self.process = subprocess.Popen(
            [str(PROGRAM), url, user, device, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=clean_environment(RINGLINE_TOKEN=token),
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.said: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def does(self, command: str):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def says(self, words: str, seconds=10) -> str:
        """Waits for a line that begins with these words, and returns it."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                line = self.lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no line that begins with {words!r} in {self.said}") from None
            self.said.append(line)
            if line.startswith(words):
                return line

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def kit():
    devices = []

    def start(world, user: str, *options: str, tokens="") -> KitDevice:
        devices.append(KitDevice(world.server.url, tokens or world.token(user), user, f"kit-{user}", *options))
        return devices[-1]

    yield start
    for device in devices:
        device.close()


def both(kit, world) -> tuple[KitDevice, KitDevice]:
    """Returns the devices of users 11 and 10, both with a connection."""
    taro, hanako = kit(world, "11"), kit(world, "10")
    taro.says("connected")
    hanako.says("connected")
    return taro, hanako


@pytest.mark.parametrize("who_ends", ["caller", "callee"])
def test_two_kits_make_a_call_and_either_ends_it(kit, world, who_ends):
    taro, hanako = both(kit, world)
    taro.does("call 10 video")
    hanako.says("ringing 11")
    taro.says("peer-ringing")
    hanako.does("answer")
    for device, description in ((taro, "set-answer"), (hanako, "set-offer")):
        device.says(description)
        device.says("candidate")
        device.says("active")
    taro.does('info {"a":1}')
    assert json.loads(hanako.says("info").removeprefix("info ")) == {"a": 1}
    hanako.does("hold")
    taro.says("held")
    one, other = (taro, hanako) if who_ends == "caller" else (hanako, taro)
    one.does("end")
    for device in (one, other):
        assert device.says("ended").endswith("hangup")


def test_a_kit_restarts_ice_on_a_new_connection_when_its_network_changes(kit, world):
    taro, hanako = both(kit, world)
    taro.does("call 10")
    hanako.says("ringing 11")
    hanako.does("answer")
    taro.says("active")
    hanako.says("active")
    taro.does("path")
    taro.says("disconnected")
    taro.says("connected")
    hanako.says("set-offer")
    taro.says("set-answer")
    taro.does("end")
    hanako.says("ended")


def test_a_pushed_kit_answers_before_it_has_a_connection(kit, push_world):
    world, fake = push_world
    hanako = kit(world, "10", "background")
    hanako.does(f"token {1:064x}")
    rest = world.rest("10")
    eventually(lambda: devices(rest), 10, lambda: "the kit has not registered")
    caller = world.connect("11", "taro")
    caller.send(type="offer", id="o-1", callId="c-1", to="10", sdp=samples.OFFER)
    payload = pushed(fake, f"{1:064x}")["payload"]
    hanako.does("push " + json.dumps(payload))
    hanako.does("answer")
    answer = caller.expect(type="answer", callId="c-1")
    assert answer["sdp"].startswith("v=0") and "a=setup:active" in answer["sdp"]
    caller.expect(type="ice", callId="c-1")
    caller.send(type="ice", id="i-1", callId="c-1", epoch=answer["epoch"], candidate=samples.CANDIDATES[0])
    hanako.says("active")
    caller.send(type="end", id="e-1", callId="c-1", epoch=answer["epoch"])
    hanako.says("ended")
    # In the background, a connection is for calls only.
    hanako.says("disconnected")


def test_a_push_for_another_user_rings_nothing_and_the_explanation_says_so(kit, push_world):
    world, fake = push_world
    register(world, "10", 3, deviceId="kit-20")
    # Another user has signed in on the device since.
    jiro = kit(world, "20", "background")
    caller = world.connect("11", "taro")
    caller.send(type="offer", id="o-1", callId="c-1", to="10", sdp=samples.OFFER)
    payload = pushed(fake, f"{3:064x}")["payload"]
    assert payload["toUserId"] == "10"
    jiro.does("push " + json.dumps(payload))

    def told():
        events = world.rest("10").get("/api/calls/c-1/timeline").json()["events"]
        return [event for event in events if event["event"] == "device.silenced"]

    (event,) = eventually(told, 10, lambda: f"the kit has said {jiro.said}")
    assert event["why"] == "otherUser"
    caller.send(type="end", id="e-1", callId="c-1", epoch=1)
    caller.expect(type="ack", id="e-1")
    command = [str(binary()), "explain", "c-1", *world.server.store_options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=20, env=clean_environment())
    assert "its app said that 10 is not signed in there." in run.stdout, run.stdout + run.stderr
    assert not [line for line in jiro.said if line.startswith("ringing")]


def test_a_kit_comes_back_to_a_server_that_was_killed_and_the_call_goes_on(kit, world):
    taro, hanako = both(kit, world)
    taro.does("call 10")
    hanako.says("ringing 11")
    hanako.does("answer")
    taro.says("active")
    hanako.says("active")
    # The response comes when everything before it is durable, the answer too.
    world.rest("12").post("/api/blocks", {"userId": "13"})
    address = world.server.url.rsplit("/", 1)[-1]
    world.server.kill()
    taro.says("disconnected")
    world.server.options = [*world.server.options, "--listen", address]
    world.server.start()
    taro.says("connected", seconds=30)
    hanako.says("connected", seconds=30)
    taro.does("end")
    assert hanako.says("ended").endswith("hangup")


def test_a_kit_that_logs_out_is_forgotten_by_the_server(kit, world):
    hanako = kit(world, "10")
    hanako.says("connected")
    hanako.does(f"token {2:064x}")
    rest = world.rest("10")
    eventually(lambda: devices(rest), 10, lambda: "the kit has not registered")
    hanako.does("logout")
    hanako.says("logged-out")
    assert devices(rest) == []


def test_a_kit_whose_connection_another_one_replaced_stays_away_until_its_user_acts(kit, world):
    first = kit(world, "10")
    first.says("connected")
    second = kit(world, "10")
    second.says("connected")
    first.says("disconnected")
    first.says("replaced")
    # A kit without a connection would ring by a push only.
    taro = kit(world, "11")
    taro.says("connected")
    taro.does("call 10")
    second.says("ringing 11")
    taro.does("end")
    second.says("ended")
    assert "connected" not in list(first.lines.queue)
    assert "replaced" not in second.said
    first.does("background")
    first.does("foreground")
    first.says("connected")
    second.says("replaced")


def test_a_token_that_the_server_refuses_for_the_websocket_is_replaced_by_a_fresh_one(kit, world):
    expired = world.token("10", exp=int(time.time()) - 3600)
    hanako = kit(world, "10", tokens=f"{expired} {world.token('10')}")
    hanako.says("connected")
    assert not [line for line in hanako.said if line.startswith("token-missing")]


def test_a_token_source_without_a_good_token_is_reported_and_asked_with_pauses(kit, world):
    hanako = kit(world, "10", tokens=world.token("10", exp=int(time.time()) - 3600))
    hanako.says("token-missing")
    began = time.monotonic()
    hanako.says("token-missing")
    assert time.monotonic() - began > 1.5


def test_a_connection_that_stays_open_gets_fresh_turn_credentials(kit, make_server, make_world, secret_file):  # noqa: F811
    options = ("--turn-secret-file", secret_file, "--turn-url", "turn:127.0.0.1:3478", "--turn-ttl", "6")
    hanako = kit(make_world(make_server(*options)), "10")
    hanako.says("servers 1")
    hanako.says("connected")
    hanako.says("servers 1")
    assert "disconnected" not in hanako.said

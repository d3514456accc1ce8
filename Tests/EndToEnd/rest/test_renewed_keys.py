"""Keys change while the server runs: those of tokens, TURN and APNs on SIGHUP, and the key of `act` every day."""

import json
import os
import shutil
import signal
import time

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from push_services import pushed, register
from rest import code
from test_auth import EC_KEY, KEYS, pem, upgrade_status
from test_turn import credential, signed
from tokens import mint
from waiting import eventually
from world import push_options

STAYS = "keys cannot be used; the previous ones stay in use"


def hang_up(server, keys: str, *, is_refused=False):
    """Sends SIGHUP and waits for the server's log line about these keys; returns the line."""
    words = f"{STAYS} error=" if is_refused else "keys were reloaded"

    def said() -> int:
        return sum(words in line and f"keys={keys}" in line for line in server.errors().splitlines())

    before = said()
    os.kill(server.pid, signal.SIGHUP)
    eventually(lambda: said() == before + 1)
    return [line for line in server.errors().splitlines() if words in line and f"keys={keys}" in line][-1]


def test_another_jwt_secret_holds_from_sighup_on_and_connections_stay_open(make_server, make_world, tmp_path):
    path = tmp_path / "jwt"
    path.write_bytes(b"a" * 40)
    server = make_server("--jwt-secret-file", path)
    world = make_world(server)
    connection = world.connect(token=mint(b"a" * 40, "11"))
    path.write_bytes(b"b" * 40)
    assert upgrade_status(server.ws_url, mint(b"b" * 40, "10")) == 401
    hang_up(server, "jwt")
    assert world.connect("10", token=mint(b"b" * 40, "10")).user == "10"
    assert upgrade_status(server.ws_url, mint(b"a" * 40, "10")) == 401
    assert connection.fence() == []


@pytest.mark.parametrize("algorithm", sorted(KEYS))
def test_another_public_key_holds_from_sighup_on(make_server, make_world, tmp_path, algorithm):
    path = tmp_path / "key.pem"
    path.write_bytes(pem(ec.generate_private_key(ec.SECP256R1())))
    server = make_server("--jwt-public-key-file", path)
    path.write_bytes(pem(KEYS[algorithm]))
    hang_up(server, "jwt")
    assert make_world(server).connect(token=mint(KEYS[algorithm], "11", algorithm=algorithm)).user == "11"


def test_another_key_set_holds_from_sighup_on(make_server, make_world, tmp_path):
    path = tmp_path / "keys.json"

    def put(name: str):
        key = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(EC_KEY.public_key())) | {"kid": name}
        path.write_text(json.dumps({"keys": [key]}))

    put("one")
    server = make_server("--jwks-file", path)
    put("two")
    token = mint(EC_KEY, "11", algorithm="ES256", headers={"kid": "two"})
    assert upgrade_status(server.ws_url, token) == 401
    hang_up(server, "jwt")
    assert make_world(server).connect(token=token).user == "11"


@pytest.mark.parametrize("fault", ["gone", "empty", "a-key-set-in-the-place-of-a-secret"])
def test_a_broken_jwt_file_is_reported_and_the_previous_key_stays_in_force(make_server, make_world, tmp_path, fault):
    path = tmp_path / "jwt"
    path.write_bytes(b"a" * 40)
    server = make_server("--jwt-secret-file", path)
    if fault == "gone":
        path.unlink()
    else:
        path.write_text("" if fault == "empty" else '{"keys": []}')
    assert str(path) in hang_up(server, "jwt", is_refused=True)
    assert make_world(server).connect(token=mint(b"a" * 40, "11")).user == "11"


def test_the_settings_file_is_reread_for_keys(make_server, make_world, tmp_path):
    for letter in "ab":
        (tmp_path / letter).write_text(letter * 40)
    settings = tmp_path / "ringline.conf"
    settings.write_text(f"jwt-secret-file = {tmp_path}/a\n")
    server = make_server("--config", settings)
    settings.write_text(f"jwt-secret-file = {tmp_path}/b\n")
    hang_up(server, "jwt")
    world = make_world(server)
    assert world.connect(token=mint(b"b" * 40, "11")).user == "11"
    settings.write_text("jwt-secret-fil = x\n")
    os.kill(server.pid, signal.SIGHUP)
    eventually(lambda: "the settings cannot be reloaded" in server.errors())
    assert str(settings) in server.errors()
    assert world.connect(token=mint(b"b" * 40, "10")).user == "10"


def test_if_the_settings_no_longer_name_a_key_the_previous_one_stays_in_force(make_server, make_world, tmp_path):
    """An editor may empty the file for a moment.

    In that case the server once generated a development key and used it, which logged all users out.
    """
    (tmp_path / "a").write_text("a" * 40)
    settings = tmp_path / "ringline.conf"
    settings.write_text(f"jwt-secret-file = {tmp_path}/a\n")
    server = make_server("--config", settings)
    settings.write_text("")
    hang_up(server, "jwt", is_refused=True)
    assert make_world(server).connect(token=mint(b"a" * 40, "11")).user == "11"


def test_another_turn_secret_holds_from_sighup_on_and_a_broken_file_changes_nothing(make_server, make_world, tmp_path):
    path = tmp_path / "turn-secret"
    path.write_text("first secret\n")
    server = make_server("--turn-secret-file", path, "--turn-url", "turn:127.0.0.1:3478")
    rest = make_world(server).rest("11")

    def is_signed_with(secret: str) -> bool:
        given = credential(rest)
        return given["credential"] == signed(given["username"], secret)

    assert is_signed_with("first secret")
    path.write_text("second secret\n")
    hang_up(server, "turn")
    assert is_signed_with("second secret")
    path.write_text("")
    assert str(path) in hang_up(server, "turn", is_refused=True)
    assert is_signed_with("second secret")


def test_another_apns_key_holds_from_sighup_on_and_a_broken_file_changes_nothing(
    apns, make_server, make_world, tmp_path
):
    """A new key from Apple has another id, so both come from the settings file."""
    other = tmp_path / "AuthKey_OTHER12345.p8"
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    other.write_bytes(ec.generate_private_key(ec.SECP256R1()).private_bytes(*form))
    settings = tmp_path / "ringline.conf"
    settings.write_text(f"apns-key-file = {other}\napns-key-id = OTHER12345\n")
    options = push_options(apns)
    server = make_server("--config", settings, *options[4:])
    world = make_world(server)
    device = register(world)
    caller = world.connect("11")
    caller.ring("10", "c-1")
    eventually(lambda: any(push["answer"]["status"] == 403 for push in apns.pushes(device)))
    caller.ask(type="end", callId="c-1")
    own = tmp_path / "own.p8"
    shutil.copy(apns.key, own)
    settings.write_text(f"apns-key-file = {own}\napns-key-id = {apns.key_id}\n")
    hang_up(server, "apns")
    before = len(apns.pushes(device))
    caller.ring("10", "c-2")
    eventually(lambda: any(push["accepted"] for push in apns.pushes(device)[before:]))
    caller.ask(type="end", callId="c-2")
    own.write_text("noise")
    assert str(own) in hang_up(server, "apns", is_refused=True)
    before = len(apns.pushes(device))
    caller.ring("10", "c-3")
    eventually(lambda: any(push["accepted"] for push in apns.pushes(device)[before:]))


def test_a_kind_of_key_not_configured_at_the_start_needs_a_restart(make_server, tmp_path):
    settings = tmp_path / "ringline.conf"
    settings.write_text("")
    server = make_server("--config", settings)
    (tmp_path / "turn").write_text("secret")
    settings.write_text(f"turn-secret-file = {tmp_path}/turn\nturn-url = turn:127.0.0.1:3478\n")
    assert "takes a restart" in hang_up(server, "turn", is_refused=True)


# The key of `act`


def woken(world, act: str):
    ring = world.rest(token="-")
    ring.http.headers["Authorization"] = f"Ring {act}"
    return ring


@pytest.mark.parametrize("how", ["while it runs", "over a restart"])
def test_the_key_of_act_is_replaced_after_a_day_and_earlier_acts_stay_valid(push_world, how):
    world, apns = push_world
    server, path = world.server, world.server.data / "server-key"
    device = register(world)
    caller = world.connect("11", "a-1")
    caller.ring("10", "c-1")
    act = pushed(apns, device)["payload"]["act"]
    (line,) = path.read_text().splitlines()
    key, made = line.split()
    assert abs(int(made) / 1000 - time.time()) < 60
    if how == "over a restart":
        server.kill()
    path.write_text(f"{key} {int(made) - 86_400_000}\n")
    if how == "over a restart":
        server.start()
    else:
        hang_up(server, "act")
    eventually(lambda: len(path.read_text().splitlines()) == 2)
    new, former = (line.split()[0] for line in path.read_text().splitlines())
    assert former == key != new
    eventually(lambda: "the key of push capabilities was replaced" in server.errors())
    assert woken(world, act).get("/api/calls/signal/c-1").status_code == 200
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    # The former key is in the file, so its acts stay valid over another restart.
    server.kill()
    server.start()
    assert woken(world, act).get("/api/calls/signal/c-1").status_code == 200


def test_removing_the_key_of_act_voids_all_acts(push_world):
    world, apns = push_world
    device = register(world)
    world.connect("11", "a-1").ring("10", "c-1")
    act = pushed(apns, device)["payload"]["act"]
    (world.server.data / "server-key").unlink()
    hang_up(world.server, "act")
    assert code(woken(world, act).get("/api/calls/signal/c-1")) == (401, "unauthenticated")


def test_a_key_of_act_of_an_earlier_version_is_replaced_and_kept_as_the_former_key(make_server):
    server = make_server(start=False)
    server.data.mkdir()
    path = server.data / "server-key"
    path.write_text("c" * 43 + "\n")
    server.start()
    eventually(lambda: len(path.read_text().splitlines()) == 2)
    assert path.read_text().splitlines()[1] == "c" * 43 + " 0"


def test_a_reload_is_recorded_in_the_audit_log(make_server, tmp_path):
    audit = tmp_path / "audit"
    server = make_server("--audit-log", audit)
    hang_up(server, "jwt")
    eventually(lambda: '"event":"keys_read","keys":"act"' in audit.read_text())
    key, made = (server.data / "server-key").read_text().split()
    (server.data / "server-key").write_text(f"{key} {int(made) - 86_400_000}\n")
    hang_up(server, "act")
    eventually(lambda: '"event":"keys_replaced","keys":"act"' in audit.read_text())

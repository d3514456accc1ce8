"""Subscriptions to Web Push that are registered or refused, and the server's key for Web Push."""

import os
import socket
import stat

import httpx
import pytest
from commands import one_clear_line, serve
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from fake_web_push import base64url, point
from postgres_server import ON_POSTGRES
from push_services import running
from rest import code
from test_doctor import doctor
from world import web_push_options

SERVICE = "web-push"

# --- Registration ------------------------------------------------------------------------------------------------


def bad_endpoints(port: int) -> dict[str, object]:
    """Returns endpoints that lead, or seem to lead, elsewhere than to an allowed service, such as 127.0.0.1:`port`."""
    return {
        "empty": "",
        "no URL": "fcm.googleapis.com/fcm/send/a",
        "no host": "https:///fcm/send/a",
        "no slashes": "https:fcm.googleapis.com/fcm/send/a",
        "no scheme": "//fcm.googleapis.com/fcm/send/a",
        "http": "http://fcm.googleapis.com/fcm/send/a",
        "http to the allowed port": f"http://127.0.0.1:{port}/a",
        "file": "file:///etc/passwd",
        "a name": "https://user@fcm.googleapis.com/a",
        "a name and a password": "https://user:secret@fcm.googleapis.com/a",
        "an allowed host as the name": "https://fcm.googleapis.com@evil.example/a",
        "an allowed host as the name, encoded": "https://fcm.googleapis.com%40evil.example/a",
        "an allowed host and port as the name": f"https://127.0.0.1:{port}@evil.example/a",
        "another port": "https://fcm.googleapis.com:8443/a",
        "port 0": "https://fcm.googleapis.com:0/a",
        "port 22": "https://fcm.googleapis.com:22/a",
        "a port that is none": "https://fcm.googleapis.com:https/a",
        "a port that is too large": "https://fcm.googleapis.com:65979/a",
        "the allowed host on another port": f"https://127.0.0.1:{port + 1}/a",
        "the allowed host without the port": "https://127.0.0.1/a",
        "an allowed host on the allowed port": f"https://fcm.googleapis.com:{port}/a",
        "an address": "https://93.184.216.34/a",
        "the address of a cloud's metadata": "https://169.254.169.254/latest/meta-data",
        "a private address": "https://10.0.0.1/a",
        "a decimal address": f"https://2130706433:{port}/a",
        "a hexadecimal address": f"https://0x7f000001:{port}/a",
        "a hexadecimal part": f"https://0x7f.0.0.1:{port}/a",
        "an octal address": f"https://0177.0.0.1:{port}/a",
        "an octal address of one part": f"https://017700000001:{port}/a",
        "a short address": f"https://127.1:{port}/a",
        "zeros before the address": f"https://127.000.000.001:{port}/a",
        "address 0": f"https://0:{port}/a",
        "all addresses": f"https://0.0.0.0:{port}/a",
        "IPv6": f"https://[::1]:{port}/a",
        "IPv4 in IPv6": f"https://[::ffff:127.0.0.1]:{port}/a",
        "IPv6 with a zone": f"https://[fe80::1%25eth0]:{port}/a",
        "IPv6 without brackets": f"https://::1:{port}/a",
        "a trailing dot": "https://fcm.googleapis.com./a",
        "a trailing dot of a subdomain": "https://web.push.apple.com./a",
        "an empty label": "https://web..push.apple.com/a",
        "no label before the domain": "https://.push.apple.com/a",
        "a host that begins with an allowed one": "https://fcm.googleapis.com.evil.example/a",
        "a host that ends with an allowed one": "https://evil-fcm.googleapis.com/a",
        "a host that ends with an allowed domain": "https://evil-push.apple.com/a",
        "a sister of an allowed host": "https://storage.googleapis.com/a",
        "another host": "https://evil.example/a",
        "localhost": "https://localhost/a",
        "a percent-encoded letter in the host": "https://%66cm.googleapis.com/a",
        "a percent-encoded dot in the host": "https://fcm%2Egoogleapis.com/a",
        "a percent-encoded slash in the host": "https://evil.example%2F.push.apple.com/a",
        "a percent-encoded NUL in the host": "https://evil.example%00.push.apple.com/a",
        "a backslash after another host": "https://evil.example\\.push.apple.com/a",
        "a backslash and a name": "https://evil.example\\@fcm.googleapis.com/a",
        "backslashes for slashes": "https:\\\\fcm.googleapis.com\\a",
        "a backslash in the path": "https://fcm.googleapis.com/a\\b",
        "a fragment": "https://fcm.googleapis.com/a#b",
        "a fragment for the host": "https://evil.example#.push.apple.com/a",
        "a query for the host": "https://evil.example?.push.apple.com/a",
        "a newline": "https://fcm.googleapis.com/a\nX-Header: b",
        "a carriage return in the host": "https://fcm.googleapis.com\r/a",
        "a tab": "https://fcm.google\tapis.com/a",
        "a NUL": "https://fcm.googleapis.com/a\0b",
        "a space": "https://fcm.googleapis.com/a b",
        "a space before": " https://fcm.googleapis.com/a",
        "a space after": "https://fcm.googleapis.com/a ",
        "a space before the domain": "https://evil.example .push.apple.com/a",
        "a full-width letter": "https://ｆcm.googleapis.com/a",
        "a full-width dot": "https://fcm。googleapis.com/a",
        "a letter of another alphabet": "https://fcm.googleapis.сom/a",
        "a path that is not ASCII": "https://fcm.googleapis.com/ä",
        "too long": "https://fcm.googleapis.com/" + "a" * (2049 - 27),
        "a number": 5,
        "a list": ["https://fcm.googleapis.com/a"],
    }


def registered(world, user: str, **changed) -> httpx.Response:
    """Tries to register a subscription with these members instead of good ones; None leaves a member out."""
    key = ec.generate_private_key(ec.SECP256R1()).public_key()
    keys = {"p256dh": base64url(point(key)), "auth": base64url(os.urandom(16))}
    members = {"endpoint": "https://fcm.googleapis.com/fcm/send/a:b"} | keys | changed
    kept = {name: value for name, value in members.items() if value is not None}
    keys = {name: kept.pop(name) for name in ("p256dh", "auth") if name in kept}
    body = {"platform": "web", "deviceId": "d-1", "webPush": kept | {"expirationTime": None, "keys": keys}}
    return world.rest(user).put("/api/me/devices", body)


def faults_in(response: httpx.Response, field: str) -> str | None:
    """Returns what is wrong with the refusal of this field; None if nothing is."""
    if code(response) == (400, "invalid_field") and response.json()["field"] == field:
        return None if response.json()["message"].startswith(f"{field}: ") else response.text
    return f"{response.status_code} {response.text[:200]}"


def test_an_endpoint_elsewhere_than_at_an_allowed_service_is_refused_by_its_name(call):
    wrong = {}
    for name, endpoint in bad_endpoints(call.fake.port).items():
        if fault := faults_in(registered(call.world, call.callee, endpoint=endpoint), "webPush.endpoint"):
            wrong[name] = fault
    assert wrong == {} and call.devices() == []


GOOD_ENDPOINTS = [
    "https://fcm.googleapis.com/fcm/send/dGVzdA:APA91bHPRgkF3JUikC4ENAHEeMrd41Zxv3hVZjC9KtT8OvPVGJ-hQMRKRrZuJAE",
    "https://updates.push.services.mozilla.com/wpush/v2/gAAAAABkZ3mKc2hvcnQ",
    "https://eu.push.services.mozilla.com/wpush/v2/gAAAAABkZ3mKc2hvcnQ",
    "https://wns2-par02p.notify.windows.com/w/?token=BQYAAAB%2bQ2hhbmdl%2b%3d%3d",
    "https://web.push.apple.com/QGuQyavXutnMH-c2hvcnQ",
    "https://fcm.googleapis.com/" + "a" * (2048 - 27),
]


def test_the_endpoints_of_the_browsers_makers_are_accepted(call):
    for endpoint in GOOD_ENDPOINTS:
        response = registered(call.world, call.callee, endpoint=endpoint)
        assert response.status_code == 200, response.text
        assert response.json()["webPush"]["endpoint"] == endpoint and call.addresses() == [endpoint]


def test_a_registration_shows_the_keys_of_the_subscription_and_its_absence(call):
    subscription = {name: value for name, value in call.fake.subscribe().to_json().items() if name != "expirationTime"}
    rest = call.world.rest(call.callee)
    for number, (body, shown) in enumerate([({"webPush": subscription}, subscription), ({"fcm_token": "f-1"}, None)]):
        response = rest.put("/api/me/devices", {"platform": "web", "deviceId": f"d-{number}"} | body)
        assert response.json()["webPush"] == shown
    assert [device["webPush"] for device in call.devices()] in ([subscription, None], [None, subscription])


def bad_keys() -> dict[str, dict[str, object]]:
    """Returns keys that are none, for p256dh and for auth."""
    good = point(ec.generate_private_key(ec.SECP256R1()).public_key())
    # The order of the field is no valid coordinate.
    prime = (2**256 - 2**224 + 2**192 + 2**96 - 1).to_bytes(32, "big")
    beside = good[:-1] + bytes([good[-1] ^ 1])
    points = {
        "not on the curve": beside,
        "all zeros": b"\4" + bytes(64),
        "a coordinate beyond the field": b"\4" + prime + good[33:],
        "the point at infinity": b"\0",
        "compressed": bytes([2 + good[-1] % 2]) + good[1:33],
        "hybrid": bytes([6 + good[-1] % 2]) + good[1:],
        "another first byte": b"\5" + good[1:],
        "64 bytes": good[:-1],
        "66 bytes": good + b"\0",
        "without the first byte": good[1:],
        "nothing": b"",
    }
    texts = {"no base64url": "!" * 87, "a space": base64url(good)[:-1] + " ", "a NUL": base64url(good)[:-1] + "\0"}
    others = {"missing": None, "a number": 5, "a list": [base64url(good)], "an object": {}}
    secrets = {"15 bytes": bytes(15), "17 bytes": bytes(17), "nothing": b"", "32 bytes": bytes(32)}
    return {
        "p256dh": {name: base64url(each) for name, each in points.items()} | texts | others,
        "auth": {name: base64url(each) for name, each in secrets.items()} | {"no base64url": "!" * 22} | others,
    }


def test_a_bad_key_of_a_subscription_is_refused_by_its_name(call):
    wrong = {}
    for field, values in bad_keys().items():
        for name, value in values.items():
            if fault := faults_in(registered(call.world, call.callee, **{field: value}), f"webPush.keys.{field}"):
                wrong[f"{field}, {name}"] = fault
    assert wrong == {} and call.devices() == []


def test_a_subscription_that_is_none_is_refused_by_name(call):
    rest, wrong = call.world.rest(call.callee), {}
    endpoint = {"endpoint": "https://fcm.googleapis.com/a"}
    values = {"webPush": [5, "https://fcm.googleapis.com/a", [], True], "webPush.endpoint": [{"keys": {}}]}
    values["webPush.keys"] = [endpoint | keys for keys in ({}, {"keys": None}, {"keys": 5}, {"keys": []})]
    for field, subscriptions in values.items():
        for subscription in subscriptions:
            response = rest.put("/api/me/devices", {"platform": "web", "deviceId": "d-1", "webPush": subscription})
            if fault := faults_in(response, field):
                wrong[str(subscription)] = fault
    assert wrong == {} and call.devices() == []


@pytest.mark.parametrize("beginning", ["https://LocalHost", "HTTPS://localhost"], ids=["of the host", "of the scheme"])
def test_upper_case_means_the_same(call, beginning):
    browser = call.fake.subscribe()
    rest = f":{call.fake.port}/wpush/v2/{browser.id}"
    browser.endpoint = beginning + rest
    call.register(device=browser)
    call.ring()
    assert call.rung().record["claims"]["aud"] == f"https://localhost:{call.fake.port}"
    browser.endpoint = "https://localhost" + rest
    call.another().register(device=browser)
    assert call.addresses() == [], "the subscription has moved to the user who registered it last"


def test_the_usual_port_means_the_same_or_is_refused(call):
    world, other = call.world, call.another()
    with_port = registered(world, call.callee, endpoint="https://fcm.googleapis.com:443/fcm/send/a").status_code
    assert registered(world, other.callee, endpoint="https://fcm.googleapis.com/fcm/send/a").status_code == 200
    assert with_port in (200, 400) and call.addresses() == []


def test_a_subscription_with_an_expiration_time_is_accepted(call):
    for moment in (1_900_000_000_000, 1_900_000_000_000.5, None, 0):
        subscription = call.fake.subscribe().to_json() | {"expirationTime": moment}
        response = call.world.rest(call.callee).put("/api/me/devices", {"platform": "web", "webPush": subscription})
        assert response.status_code == 200, response.text


def test_a_refused_registration_leaves_the_earlier_subscription_and_nothing_in_the_log(make_call):
    call = make_call("--log-level", "trace")
    call.register()
    refused = registered(
        call.world, call.callee, endpoint="https://evil.example/Zm9yIG5vYm9keQ", auth="Zm9yIG5vYm9keSBlbHNl"
    )
    assert code(refused) == (400, "invalid_field")
    call.ring()
    call.rung()
    log = call.world.server.errors()
    assert call.id in log and [secret for secret in ("Zm9yIG5vYm9keQ", "Zm9yIG5vYm9keSBlbHNl") if secret in log] == []


@pytest.fixture
def https_port():
    """Sockets that listen on port 443 of the loopback addresses; they accept nothing by themselves."""
    sockets = []
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        each = socket.socket(family)
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        each.setblocking(False)
        try:
            each.bind((address, 443))
            each.listen()
            sockets.append(each)
        except OSError as error:
            each.close()
            if family == socket.AF_INET:
                pytest.skip(f"nothing can listen on port 443 here: {error}")
    yield sockets
    for each in sockets:
        each.close()


def test_a_name_that_leads_to_this_machine_gets_no_connection(https_port, make_call):
    call, rung = make_call("--web-push-host", "*.localhost", "--web-push-host", "localhost"), []
    for host in ("x.localhost", "localhost"):
        each = call.another()
        # A server that refuses such a name at once is right as well.
        if registered(call.world, each.callee, endpoint=f"https://{host}/a").status_code == 200:
            each.ring()
            rung.append(each)
    for each in rung:
        (result, *_) = each.results()
        assert result.get("status") is None and result["reason"]
    for listener in https_port:
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.mark.parametrize(
    "option, value",
    [
        ("--vapid-subject", "ops@example.com"),
        ("--vapid-subject", "http://example.com"),
        ("--vapid-subject", "mailto:"),
        ("--vapid-subject", "mailto:a@example.com\nX: 1"),
        ("--web-push-host", "https://push.example.com"),
        ("--web-push-host", "a b"),
        ("--web-push-host", "push.example.com:0"),
        ("--web-push-host", "push.example.com:65536"),
        ("--web-push-host", "push.example.com/a"),
        ("--web-push-host", "*"),
        ("--web-push-host", "a.*.example.com"),
        ("--web-push-ca-file", "/nowhere/ca.pem"),
    ],
)
def test_a_bad_setting_is_reported_in_one_line(tmp_path, option, value):
    settings = {"--vapid-subject": "mailto:ops@example.com", "--vapid-key-file": tmp_path / "key.pem", option: value}
    one_clear_line(serve(tmp_path, *[word for pair in settings.items() for word in pair]), option)


# --- The server's key --------------------------------------------------------------------------------------------


def public_key_of(path) -> str:
    """Returns the public key of a PEM file in base64url, as browsers take it; fails unless it is PKCS#8."""
    text = path.read_bytes()
    assert text.startswith(b"-----BEGIN PRIVATE KEY-----")
    key = serialization.load_pem_private_key(text, None)
    assert key.curve.name == "secp256r1"
    return base64url(point(key.public_key()))


def shown_keys(world) -> list[str]:
    """Returns the server's public key as it is shown on a new connection and by REST."""
    by_rest = world.rest("10").get("/api/web-push")
    assert by_rest.status_code == 200
    return [world.connect("10").welcome["applicationServerKey"], by_rest.json()["applicationServerKey"]]


@pytest.mark.parametrize(
    "is_named",
    [True, pytest.param(False, marks=pytest.mark.skipif(ON_POSTGRES, reason="PostgreSQL needs the option"))],
    ids=["in a named file", "in the data folder"],
)
def test_the_key_is_made_for_its_owner_alone_and_kept_over_restarts(web_push, make_server, make_world, is_named):
    options = web_push_options(web_push)
    at = options.index("--vapid-key-file")
    path = web_push.directory / "vapid.pem"
    old_mask = os.umask(0)
    try:
        server = make_server(*options) if is_named else make_server(*options[:at], *options[at + 2 :])
    finally:
        os.umask(old_mask)
    world = make_world(server)
    path = path if is_named else server.data / "vapid-key.pem"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    made = public_key_of(path)
    assert len(made) == 87 and shown_keys(world) == [made, made]
    before = path.read_bytes()
    server.kill()
    server.start()
    assert shown_keys(world) == [made, made] and path.read_bytes() == before


def pem(key) -> bytes:
    kind = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption())


def test_an_operators_own_key_is_used(tmp_path, make_call):
    with running("web-push", tmp_path / "own") as service:
        path = service.fake.directory / "vapid.pem"
        path.write_bytes(pem(ec.generate_private_key(ec.SECP256R1())))
        path.chmod(0o600)
        call, key = make_call(service=service), public_key_of(path)
        assert shown_keys(call.world) == [key, key]
        call.register(device=service.fake.subscribe(key))
        call.ring()
        assert call.rung().record["key"] == key


def damaged_keys() -> dict[str, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    whole = pem(key)
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return {
        "empty": b"",
        "noise": b"noise\n",
        "cut off": whole[: len(whole) // 2],
        "another curve": pem(ec.generate_private_key(ec.SECP384R1())),
        "a public key": public,
    }


def test_a_damaged_key_file_is_a_clear_error_and_is_not_replaced(tmp_path):
    path = tmp_path / "vapid.pem"
    for content in damaged_keys().values():
        path.write_bytes(content)
        path.chmod(0o600)
        one_clear_line(serve(tmp_path, "--vapid-subject", "mailto:a@example.com", "--vapid-key-file", path), str(path))
        assert path.read_bytes() == content, "browsers are subscribed to the key, so it may be restored from a backup"


def test_a_key_file_that_cannot_be_made_is_a_clear_error(tmp_path):
    path = tmp_path / "nowhere/vapid.pem"
    one_clear_line(serve(tmp_path, "--vapid-subject", "mailto:a@example.com", "--vapid-key-file", path), str(path))


def test_doctor_reads_the_key_and_makes_none(tmp_path, web_push):
    path, options = web_push.directory / "vapid.pem", web_push_options(web_push)
    doctor(tmp_path, *options, "--offline")
    assert not path.exists(), "doctor changes nothing"
    path.write_bytes(pem(ec.generate_private_key(ec.SECP256R1())))
    path.chmod(0o600)
    found = doctor(tmp_path, *options)
    assert found["VAPID key"][0] == "ok"
    services = [f"https://{host}" for host in web_push.hosts]
    assert {found[f"Web Push, {service}"] for service in services} == {("ok", "responds")}
    # Doctor asks without a subscription.
    assert len(web_push.refusals) == len(services) and web_push.attempts() == []
    web_push.refusals.clear()
    path.write_bytes(b"noise")
    grade, text = doctor(tmp_path, *options, "--offline", code=1)["VAPID key"]
    assert grade == "error" and str(path) in text


def test_without_a_subject_there_is_no_key_and_a_subscription_is_only_stored(make_call):
    call = make_call(instead=[])
    world = call.world
    assert code(world.rest("10").get("/api/web-push")) == (404, "not_found")
    assert world.connect("10").welcome.get("applicationServerKey") is None
    assert not (world.server.data / "vapid-key.pem").exists()
    response = registered(world, call.callee)
    assert response.status_code == 200 and response.json()["webPush"]["endpoint"].startswith("https://fcm.")
    assert "cannot push" in response.json()["message"]
    call.ring()
    assert call.results()[0]["reason"].endswith("pushes are only logged") and call.addresses()

"""The three push services as the tests see them: each is a dialect of one `PushService`, over the fake of that service.

The fakes refuse what the real services would refuse. So a push that a fake has accepted was well-formed.
"""

import base64
import contextlib
import json
import pathlib
import re
import secrets
import sys
from typing import NamedTuple

import recording
from waiting import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "FakePushServices"))
from fake_apns import FakeAPNs  # noqa: E402
from fake_firebase import FakeFirebase  # noqa: E402
from fake_web_push import FakeWebPush  # noqa: E402

BUNDLE_ID = "com.example.chat"
A_DAY = 86_400


class Push(NamedTuple):
    """A push that a fake has heard."""

    # The payload in the form that all services share: without Apple's `aps`, and with Firebase's texts as numbers. None
    # if a script did not let the fake read it.
    data: dict | None
    # When it came, in milliseconds since 1970.
    at: int
    # How many seconds the service keeps it; None = the sender does not say so in seconds.
    ttl: int | None
    # A push with the same identity replaces or repeats this one; None = Firebase has nothing like it.
    identity: str | None
    # The bytes of it that the service counts.
    size: int
    accepted: bool
    # What the fake itself has noted.
    record: dict

    @property
    def type(self) -> str:
        """What the push says. One that the fake has not read was to ring."""
        return "call.incoming" if self.data is None else self.data["type"]


class PushService:
    """A push service: how a device is registered with it, how it answers, and what its fake has heard."""

    # The name in settings and tests, in the timeline, and in sentences.
    name = kind = title = ""
    # What a server lacks that cannot push, in words.
    credentials = ""
    # The member of a registration that holds the push token or the subscription.
    field = ""
    # What else a registration has.
    about: dict = {}
    # What the timeline and the list of devices show.
    environment: str | None = None
    # The size of the largest push.
    largest = 0
    # Whether that counts the JSON of the payload.
    largest_is_of_json = True
    # Whether the end of a call is told to a device that was rung.
    tells_the_end = True
    # The option with the CA that the server trusts.
    ca_option = ""
    # Answers that mean that the push token is dead: those to each attempt, and the status and reason that are kept.
    dead: dict[str, tuple[list[dict], int, str | None]] = {}
    # Answers that are not about the token, which may be good; the status and reason that are kept.
    refused: dict[str, tuple[list[dict], int, str | None]] = {}
    # Those that the server has no hint for.
    without_hint: list[str] = []
    # Answers that pass by themselves, so the server tries again while it rings. None of them disturbs other pushes.
    temporary: dict[str, dict] = {}
    # Further faults of one push, for calls of many.
    more_faults: dict[str, list[dict]] = {}
    # Answers that accept a push, whatever their body is; each with the status that is kept.
    accepting: dict[str, tuple[dict, int]] = {}
    # A refusal for a reason that the service does not have, and the reason that is counted for 503.
    made_up: dict = {}
    word_for_503 = "other"

    def __init__(self, fake):
        self.fake = fake

    def options(self) -> list[str]:
        """Returns the options of `ringline serve` that make it push to the fake."""
        raise NotImplementedError

    def options_without(self, name: str) -> list[str]:
        """Returns the options without this one and its value."""
        options = self.options()
        at = options.index(name)
        return options[:at] + options[at + 2 :]

    def options_without_credentials(self) -> list[str]:
        """Returns options with which a server takes registrations, and cannot push."""
        return []

    def prepare(self, world):
        """Tells the fake what it must know of a server."""

    # Devices

    def new_device(self):
        """Returns a push token or subscription that no other test has."""
        raise NotImplementedError

    def registration(self, device):
        """Returns the value of `field` for a device."""
        return device

    def address(self, device) -> str:
        """Returns what names a device to the service."""
        return device

    def shown_address(self, device: dict) -> str | None:
        """Returns what names a listed device to the service; None if it has no token of this service."""
        return device[self.field]

    def secrets(self, device) -> list[str]:
        """Returns the texts of a device that no log may contain."""
        return [device[10:]]

    def register(self, world, user: str, device=None, **fields):
        """Registers a device, a new one unless it is given; returns the device."""
        device = device or self.new_device()
        body = {self.field: self.registration(device), "deviceId": "d-1"} | self.about | fields
        response = world.rest(user).put("/api/me/devices", body)
        assert response.status_code == 200, response.text
        return device

    def own_secrets(self) -> list[str]:
        """Returns the texts of the sender's credentials, and of what it has sent, that no log may contain."""
        raise NotImplementedError

    # What the fake answers, and what it has heard

    def script(self, device, answers: list[dict]):
        """Queues answers for the next pushes to a device; pushes after them get the usual answer."""
        self.fake.script(device, answers)

    def heard(self, device=None) -> list[Push]:
        """Returns the well-formed pushes that came to a device, or to all, in their order."""
        return [self.read(record) for record in self.fake.attempts(device)]

    def read(self, record: dict) -> Push:
        """Returns a push from what the fake has noted."""
        raise NotImplementedError

    def connected(self) -> bool:
        """Returns whether a sender got through to the fake."""
        return bool(self.fake.attempts())

    def faults(self) -> list[str]:
        """Returns why the fake has refused pushes for their form since the last time, and forgets it."""
        found = self.fake.refusals[:]
        self.fake.refusals.clear()
        return found

    def record(self):
        """Adds the pushes to the recording, see recording.py."""


class APNs(PushService):
    name, kind, title = "apns", "voip", "APNs"
    credentials = "APNs key"
    field, about = "voipDeviceToken", {"platform": "ios", "bundleId": BUNDLE_ID}
    environment = "sandbox"
    largest = 5120
    # An app that a VoIP push has started asks the server.
    tells_the_end = False
    ca_option = "--apns-ca-file"
    BAD = {"status": 400, "reason": "BadDeviceToken"}
    dead = {
        "Unregistered": ([{"status": 410, "reason": "Unregistered"}], 410, "Unregistered"),
        "bad in both environments": ([BAD, BAD], 400, "BadDeviceToken"),
    }
    refused = {
        "400": ([{"status": 400, "reason": "DeviceTokenNotForTopic"}], 400, "DeviceTokenNotForTopic"),
        "400 in HTML": ([{"status": 400, "raw": "<html>Bad request</html>"}], 400, None),
        "403": ([{"status": 403, "reason": "InvalidProviderToken"}], 403, "InvalidProviderToken"),
        "403 with markup": ([{"status": 403, "reason": "<script>alert(1)</script>"}], 403, None),
        "413": ([{"status": 413, "reason": "PayloadTooLarge"}], 413, "PayloadTooLarge"),
    }
    without_hint = ["400 in HTML", "403 with markup"]
    temporary = {
        "429": {"status": 429, "reason": "TooManyRequests"},
        "500": {"status": 500, "reason": "InternalServerError"},
        "502 in HTML": {"status": 502, "raw": "<html>Bad gateway</html>"},
        "503": {"status": 503, "reason": "ServiceUnavailable"},
        "a broken stream": {"reset": True},
    }
    made_up = {"status": 403, "reason": "MadeUpByAThirdParty"}
    word_for_503 = "ServiceUnavailable"
    accepting = {"with a body": ({"status": 200, "raw": "<html>"}, 200)}

    def options(self, environment="sandbox") -> list[str]:
        fake = self.fake
        values = {
            "--apns-key-file": fake.key,
            "--apns-key-id": fake.key_id,
            "--apns-team-id": fake.team_id,
            "--apns-environment": environment,
            "--apns-ca-file": fake.ca,
            "--apns-endpoint-sandbox": fake.endpoints["sandbox"],
            "--apns-endpoint-production": fake.endpoints["production"],
        }
        return [word for pair in values.items() for word in pair]

    def new_device(self) -> str:
        return secrets.token_hex(32)

    def read(self, record: dict) -> Push:
        data = {name: value for name, value in record["payload"].items() if name != "aps"}
        size = len(base64.b64decode(record["body"]))
        identity = record["headers"]["apns-id"]
        return Push(data, record["at"], None, identity, size, record["accepted"], record)

    def own_secrets(self) -> list[str]:
        tokens = {push["headers"]["authorization"].removeprefix("bearer ") for push in self.fake.pushes()}
        return key_lines(self.fake.key) + [part for token in tokens for part in token.split(".")]

    def connected(self) -> bool:
        return self.fake.stats()["connections"] > 0

    def record(self):
        for push in self.fake.pushes():
            names = ",".join(name for name, _ in push["headerList"])
            recording.heard(f"push {push['headers'].get('apns-push-type')} {names}", base64.b64decode(push["body"]))


class Firebase(PushService):
    name, kind, title = "firebase", "firebase", "Firebase"
    credentials = "Firebase service account"
    field, about = "fcm_token", {"platform": "android"}
    largest, largest_is_of_json = 4096, False
    ca_option = "--fcm-ca-file"
    dead = {
        "unregistered": ([{"status": 404}], 404, "UNREGISTERED"),
        "malformed": ([{"status": 400, "field": "message.token"}], 400, "INVALID_REGISTRATION_TOKEN"),
    }
    refused = {
        "400": ([{"status": 400, "field": "message.data"}], 400, "INVALID_ARGUMENT"),
        "403": ([{"status": 403}], 403, "SENDER_ID_MISMATCH"),
    }
    temporary = {
        "429": {"status": 429},
        "429 for 1 s": {"status": 429, "retry_after": 1},
        "500": {"status": 500},
        "503": {"status": 503},
        "503 for 1 s": {"status": 503, "retry_after": 1},
        "503 in HTML": {"status": 503, "raw": "<html>Error 503</html>"},
        "closed": {"close": True},
    }
    made_up = {"status": 403, "error": "MADE_UP_MadeUp"}
    word_for_503 = "UNAVAILABLE"
    # A refused access token is renewed, and the message is sent once more.
    more_faults = {"401": [{"status": 401}], "hangs": [{"hang": True}]}
    accepting = {"cut": ({"cut": 10}, 200), "too long": ({"raw": "x" * 70_000}, 200)}

    def options(self) -> list[str]:
        fake = self.fake
        values = {
            "--fcm-service-account-file": fake.service_account,
            "--fcm-endpoint": fake.endpoint,
            "--fcm-ca-file": fake.ca,
        }
        return [word for pair in values.items() for word in pair]

    def new_device(self) -> str:
        # The form of Firebase's: an id of the installation, and 134 characters.
        return f"{secrets.token_urlsafe(17)[:22]}:APA91b{secrets.token_urlsafe(101)[:134]}"

    def read(self, record: dict) -> Push:
        message = record["message"]
        data = dict(message["data"])
        size = sum(len(key.encode()) + len(value.encode()) for key, value in data.items())
        numbers = {name: json.loads(data[name]) for name in data.keys() & {"epoch", "hasVideo", "ringUntil", "sentAt"}}
        ttl = int(message["android"]["ttl"].removesuffix("s"))
        return Push(data | numbers, record["at"], ttl, None, size, record["accepted"], record)

    def own_secrets(self) -> list[str]:
        found = [line for line in self.fake.account["private_key"].splitlines() if len(line) > 20 and "--" not in line]
        found += [token.removeprefix("ya29.c.")[:16] for token in self.fake.access_tokens]
        return found + [part for assertion in self.fake.assertions for part in assertion.split(".")]

    def connected(self) -> bool:
        return bool(self.fake.token_requests or self.fake.attempts())

    def record(self):
        for each in self.fake.attempts():
            # The data apart, because members of this name are not recorded.
            rest = {name: value for name, value in each["message"].items() if name != "data"}
            recording.heard(f"firebase {','.join(each['headers'])}", json.dumps(rest))
            recording.heard("firebase data", json.dumps(each["message"].get("data", {})))


class WebPush(PushService):
    name, kind, title = "web-push", "web", "Web Push"
    credentials = "VAPID subject"
    field, about = "webPush", {"platform": "web"}
    # The largest text: padded to this size it makes the largest body that is allowed.
    largest = 3993
    ca_option = "--web-push-ca-file"
    dead = {
        "404": ([{"status": 404}], 404, None),
        "410": ([{"status": 410, "error": "Gone"}], 410, "Gone"),
        "410, cut": ([{"status": 410, "cut": 10}], 410, None),
        "410, too long": ([{"status": 410, "raw": "x" * 70_000}], 410, None),
    }
    refused = {
        "400": ([{"status": 400, "raw": ""}], 400, None),
        "400 in HTML": ([{"status": 400, "raw": "<html>Bad request</html>"}], 400, None),
        "401 of Mozilla": ([{"status": 401, "error": "Unauthorized"}], 401, "Unauthorized"),
        "403": ([{"status": 403, "reason": "BadJwtToken"}], 403, "BadJwtToken"),
        "403 with two words": ([{"status": 403, "error": "Not Allowed"}], 403, None),
        "403 with markup": ([{"status": 403, "reason": "<script>alert(1)</script>"}], 403, None),
        "403 with a number": ([{"status": 403, "reason": 7}], 403, None),
        "405": ([{"status": 405}], 405, None),
        **{str(status): ([{"status": status}], status, None) for status in (301, 302, 303, 307, 308)},
    }
    temporary = {
        "429": {"status": 429, "error": "TooManyRequests"},
        "429 for 1 s": {"status": 429, "retry_after": 1},
        "429 until a date": {"status": 429, "retry_date": 1},
        "500": {"status": 500},
        "502 in HTML": {"status": 502, "raw": "<html>Bad gateway</html>"},
        "503": {"status": 503},
        "503 for 1 s": {"status": 503, "retry_after": 1},
        "503 until a date": {"status": 503, "retry_date": 1},
        "closed before the message is read": {"close": "unread"},
        "closed": {"close": "read"},
        "no HTTP": {"garbage": "SSH-2.0-OpenSSH_9.2\r\n"},
    }
    made_up = {"status": 403, "reason": "MadeUpByAThirdParty"}
    accepting = {
        **{str(status): ({"status": status, "raw": "<html>whatever</html>"}, status) for status in (200, 201, 202)},
        "cut": ({"cut": 10}, 201),
        "too long": ({"raw": "x" * 70_000}, 201),
    }

    def options(self) -> list[str]:
        return [
            "--vapid-subject",
            "mailto:ops@example.com",
            "--vapid-key-file",
            str(self.fake.directory / "vapid.pem"),
            *self.options_without_credentials(),
            "--web-push-ca-file",
            self.fake.ca,
        ]

    def options_without_credentials(self) -> list[str]:
        return [word for host in self.fake.hosts for word in ("--web-push-host", host)]

    def prepare(self, world):
        # Browsers subscribe with the server's public key.
        response = world.rest().get("/api/web-push")
        if response.status_code == 200:
            self.fake.application_server_key = response.json()["applicationServerKey"]

    def new_device(self):
        return self.fake.subscribe()

    def registration(self, device) -> dict:
        return device.to_json()

    def address(self, device) -> str:
        return device.endpoint

    def shown_address(self, device: dict) -> str | None:
        return device["webPush"] and device["webPush"]["endpoint"]

    def secrets(self, device) -> list[str]:
        return device.secrets()

    def read(self, record: dict) -> Push:
        data, text = record["payload"], record.get("text", b"")
        return Push(data, record["at"], record.get("ttl"), record.get("topic"), len(text), record["accepted"], record)

    def own_secrets(self) -> list[str]:
        found = key_lines(self.fake.directory / "vapid.pem")
        for message in self.fake.attempts():
            if message["payload"] is not None:
                found += re.findall(r"[A-Za-z0-9_-]{20,}", message["headers"]["authorization"])[:3] + [message["topic"]]
        return found

    def faults(self) -> list[str]:
        followed = [f"followed: {each}" for each in self.fake.followed]
        self.fake.followed.clear()
        return super().faults() + followed

    def record(self):
        for each in self.fake.attempts():
            if each["payload"] is not None:
                recording.heard(f"web push {','.join(each['headers'])}", each["text"])


DIALECTS = ((APNs, FakeAPNs), (Firebase, FakeFirebase), (WebPush, FakeWebPush))
# The dialect and the fake of each service.
SERVICES = {dialect.name: (dialect, fake) for dialect, fake in DIALECTS}
# Those that tell a device how the call has ended.
TELLING_THE_END = [service.name for service, _ in SERVICES.values() if service.tells_the_end]


def key_lines(path: str | pathlib.Path) -> list[str]:
    """Returns the lines of a key in a PEM file."""
    return [line for line in pathlib.Path(path).read_text().splitlines() if len(line) > 20 and "--" not in line]


@contextlib.contextmanager
def running(name: str, folder: pathlib.Path):
    """Runs the fake of a push service; records what it heard, and fails if it had to refuse a push for its form."""
    service, fake = SERVICES[name]
    with fake(directory=folder) as its:
        dialect = service(its)
        yield dialect
        dialect.record()
        faults = dialect.faults()
    assert not faults, faults


# VoIP pushes in tests of something else


def token(number: int) -> str:
    """Returns a push token of Apple's form."""
    return f"{number:064x}"


def register(world, user="10", number=1, bundle=BUNDLE_ID, **fields) -> str:
    """Registers a device for VoIP pushes; returns its token."""
    body = {"voipDeviceToken": token(number), "bundleId": bundle, "platform": "ios"} | fields
    response = world.rest(user).put("/api/me/devices", body)
    assert response.status_code == 200, response.text
    return token(number)


def pushed(fake, device: str, seconds=8) -> dict:
    """Waits until the first push to this device has got 200, and returns the push."""
    assert fake.wait_for_push(device, after=0, timeout=seconds) is not None, "no push"
    # The fake notes a push when it comes, and accepts it a little later.
    eventually(lambda: fake.pushes(device)[0]["accepted"], seconds, lambda: str(fake.pushes(device)[0]["answer"]))
    return fake.pushes(device)[0]

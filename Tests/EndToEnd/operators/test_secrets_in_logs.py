"""The check of the servers' logs finds every kind of secret, and no secret in ordinary lines."""

import subprocess
import sys

import pytest
import samples
import secrets_in_logs
from push_services import token as push_token
from secrets_in_logs import findings
from tokens import mint

TIME = "2026-11-23T08:00:00.000Z"


@pytest.mark.parametrize(
    "secret, kind",
    [
        (mint(b"k" * 32), "a token"),
        (mint(b"k" * 32).split(".")[1], "a token"),
        ("Bearer abcdefgh.1", "a token"),
        ("bearer abcdefghijkl== call.id=c-1", "a token"),
        (push_token(1), "a push token"),
        ("-----BEGIN PRIVATE KEY-----", "a key"),
        ("AQNjLTECMTACMTEKcGhvbmUtMTAtMQAAAAAAAAABAAABnPp9VAA4qTGnRcGkCPPJ2u6Xcw_5bQ", "a capability or a secret"),
        (samples.OFFER.splitlines()[0], "a description"),
        (next(line for line in samples.OFFER.splitlines() if line.startswith("m=audio")), "a description"),
        (next(line for line in samples.OFFER.splitlines() if "ice-ufrag" in line), "a description"),
        (samples.CANDIDATES[0]["candidate"], "a description"),
        ("192.168.1.23", "an address"),
        ("127.0.0.1:5678", "an address"),
        ("::1", "an address"),
        ("[2001:db8::7]:80", "an address"),
        ("::ffff:10.0.0.1", "an address"),
        ("2001:db8:0:0:1:2:3:4", "an address"),
        ("postgres://ring:hunter2@127.0.0.1:5432/calls", "an address"),
    ],
)
def test_a_secret_is_found_wherever_it_is_in_a_line(secret, kind):
    for line in (f"{TIME} trace a line x={secret}", f'{{"time":"{TIME}","x":"{secret}"}}', secret):
        assert kind in findings(line)


@pytest.mark.parametrize(
    "line",
    [
        f"{TIME} info call began call.epoch=1 call.id=39f2ba8b-ca8e-44ce-9c66-c320fe41aaad",
        f"{TIME} debug a connection was opened connection.id=s_1z141z5 device.id=t-0011223344556677 user.id=a@b.example",
        f"{TIME} notice started data=/tmp/x descriptors=1048576 version=1.0.0",
        f'{TIME} error the key set cannot be fetched jwks.url="https://127.0.0.1:4/jwks.json"',
        f'{{"time":"{TIME}","level":"error","jwks.url":"https://127.0.0.1:4/jwks.json","x":"y"}}',
        f"{TIME} notice an endpoint accepts events again connection.seconds=1 endpoint.url=http://127.0.0.1:4/ringline",
        f"{TIME} debug APNs responded to a push device.token=a1b2c3… push.status=200",
        "ringline: The database postgres://127.0.0.1:5432/calls cannot be reached"
        ' (connect: connection to server at "127.0.0.1", port 5432 failed: Connection refused, SQLSTATE 08006)',
        f"{TIME} info a client sent an unknown member member.name=Bearer member.place=signal",
        f"{TIME} info a client sent an unknown member member.name=bearer member.place=ws",
        "Backtrace took 0.02s",
    ],
)
def test_an_ordinary_line_contains_no_secret(line):
    assert findings(line) == []


def test_a_folder_with_one_bad_line_fails_and_shows_it(tmp_path):
    command = [sys.executable, secrets_in_logs.__file__, str(tmp_path)]
    (tmp_path / "a").write_text(f"{TIME} info call began call.id=c-1\n")
    assert subprocess.run(command, capture_output=True).returncode == 0
    (tmp_path / "b").write_text(f"{TIME} info fine\n{TIME} debug x token={mint(b'k' * 32)}\n")
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1 and "b:2: a token" in run.stdout and "3 lines in 2 logs" in run.stdout

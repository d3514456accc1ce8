"""The systemd unit on a booted Debian: start, calls, reload, restart and stop."""

import os
import re
import shlex
import subprocess
import time
import uuid

import pytest
from conftest import ROOT

ENGINE = shlex.split(os.environ.get("RINGLINE_ENGINE", "docker"))
IMAGE = os.environ.get("RINGLINE_UNIT_IMAGE", "localhost/ringline:unit")


@pytest.fixture(scope="module")
def machine():
    """Boots Debian in a container; yields a function that runs a command there and returns its output."""
    name = f"ringline-test-{uuid.uuid4().hex[:8]}"
    boot = ["run", "-d", "--name", name, "--systemd=always", "--privileged", "--network=none"]
    subprocess.run([*ENGINE, *boot, "--health-interval=disable", IMAGE], check=True, capture_output=True, timeout=60)

    def run(*command, check=True) -> str:
        done = subprocess.run([*ENGINE, "exec", name, *command], capture_output=True, text=True, timeout=60)
        assert not check or done.returncode == 0, f"{command}: {done.stdout[-1500:]} {done.stderr[-1500:]}"
        return done.stdout.strip()

    try:
        wait_for(lambda: '"ok"' in run("ringline", "health", "--ready", check=False))
        yield run
    finally:
        subprocess.run([*ENGINE, "rm", "-f", name], capture_output=True, timeout=60)


def wait_for(condition, seconds: float = 30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "not within the time"
        time.sleep(0.1)


def shown(machine, name: str) -> str:
    return machine("systemctl", "show", "--value", "-p", name, "ringline")


def a_call(machine, *key: str) -> str:
    """Makes a call between two clients in the container; returns their output."""
    tokens = [machine("ringline", "token", *key, "--user", user) for user in ("10", "11")]
    script = 'ringline answer --once --token "$1" & sleep 0.5; ringline call --token "$2" --to 10 --talk 0; wait'
    return machine("sh", "-c", script, "sh", *tokens)


def test_the_unit_runs_as_a_dynamic_user_and_a_call_goes_through(machine):
    status = machine("sh", "-c", f"cat /proc/{shown(machine, 'MainPID')}/status")
    assert int(re.search(r"^Uid:\s+(\d+)", status, re.M).group(1)) > 60_000, "a dynamic user"
    assert re.search(r"^CapBnd:\s+0+$", status, re.M) and re.search(r"^Seccomp:\s+2$", status, re.M)
    seen = a_call(machine, "--data", "/var/lib/ringline")
    assert "call is active" in seen and "hangup" in seen


def test_the_booted_unit_has_a_low_exposure_level(machine):
    said = machine("systemd-analyze", "security", "ringline", "--no-pager")
    assert float(re.search(r"exposure level for ringline.service: ([\d.]+)", said).group(1)) <= 1.5


def test_a_reload_reaches_the_server(machine):
    """A reload must not need /bin/kill of procps, which a small Debian such as this container's lacks."""
    machine("systemctl", "reload", "ringline")
    wait_for(lambda: "SIGHUP" in machine("journalctl", "-u", "ringline", "--no-pager"))
    assert shown(machine, "ActiveState") == "active"


def test_a_backup_that_root_restores_is_served(machine):
    data, copy = ["--data", "/var/lib/ringline"], "/root/copy.sqlite"
    a_call(machine, *data)
    machine("ringline", "backup", copy, *data)
    machine("systemctl", "stop", "ringline")
    machine("ringline", "restore", copy, *data)
    machine("systemctl", "start", "ringline")
    wait_for(lambda: '"ok"' in machine("ringline", "health", "--ready", check=False))
    assert "call is active" in a_call(machine, *data)


def test_the_server_is_restarted_until_the_cause_of_its_failure_is_gone(machine):
    """systemd starts the unit again without a limit; its default limit would give up after some seconds."""
    machine("systemctl", "stop", "ringline")
    machine("chown", "root", "/var/lib/ringline/ringline.sqlite")
    # The systemd of Debian 13 reports that the first start has failed, and goes on with the next one.
    machine("systemctl", "start", "ringline", check=False)
    wait_for(lambda: int(shown(machine, "NRestarts")) > 5)
    machine("chown", "--reference=/var/lib/ringline/", "/var/lib/ringline/ringline.sqlite")
    wait_for(lambda: '"ok"' in machine("ringline", "health", "--ready", check=False))
    assert shown(machine, "StartLimitIntervalUSec") == "0"


def test_the_unit_serves_tls_on_443_as_the_page_says(machine, certificate):
    folder = "/etc/systemd/system/ringline.service.d"
    page = (ROOT / "Sources/Server/ringline/ringline.docc/Install.md").read_text()
    text = page.split("\n### TLS by the unit itself\n")[1].split("\n## ")[0]
    commands, drop_in = re.findall(r"^```(?:ini)?\n(.*?)^```$", text, re.M | re.S)
    write = 'mkdir -p "${1%/*}" && printf %s "$2" >"$1"'
    for name, file in zip(("fullchain.pem", "privkey.pem"), certificate[:2], strict=True):
        machine("sh", "-c", write, "sh", f"/root/{name}", file.read_text())
    machine("sh", "-ec", f"cd /root; {commands}")
    machine("sh", "-c", write, "sh", f"{folder}/tls.conf", drop_in)
    machine("systemctl", "daemon-reload")
    machine("systemctl", "restart", "ringline")
    wait_for(lambda: '"ok"' in machine("ringline", "health", "--ready", check=False))
    assert "listening on https://0.0.0.0:443" in machine("journalctl", "-u", "ringline", "--no-pager")
    machine("systemctl", "reload", "ringline")
    wait_for(lambda: "the certificate was loaded" in machine("journalctl", "-u", "ringline", "--no-pager"))
    machine("rm", "-r", folder)
    machine("systemctl", "daemon-reload")
    machine("systemctl", "restart", "ringline")


def test_the_data_survives_a_restart_of_the_unit(machine):
    """Secrets as systemd credentials are not tested.

    systemd 252 in a container mounts an empty folder in their place.
    """
    token = machine("ringline", "token", "--data", "/var/lib/ringline", "--user", "11")
    # The server removes the note of a command, `ran-…`, when it has written the command into its audit log.
    kept = {name for name in machine("ls", "/var/lib/ringline/").split() if not name.startswith("ran-")}
    machine("systemctl", "restart", "ringline")
    wait_for(lambda: '"ok"' in machine("ringline", "health", "--ready", check=False))
    assert kept and kept <= set(machine("ls", "/var/lib/ringline/").split())
    assert token and "call is active" in a_call(machine, "--data", "/var/lib/ringline")


def test_the_unit_stops_cleanly(machine):
    began = time.monotonic()
    machine("systemctl", "stop", "ringline")
    assert time.monotonic() - began < 15
    assert (shown(machine, "Result"), shown(machine, "ExecMainStatus")) == ("success", "0")

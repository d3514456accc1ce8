"""`Deploy/up` with a real Docker engine: both services become healthy, and coturn accepts Ringline's credentials."""

import json
import os
import re
import subprocess

import httpx
import pytest
from conftest import DEPLOY
from tokens import mint

ALLOCATED = re.compile(r"allocate response received:\s*(?:\d+: : )?success")
# The same choice as in Deploy/up.
HAS_PLUGIN = subprocess.run(["docker", "compose", "version"], capture_output=True).returncode == 0
COMPOSE = ["docker", "compose"] if HAS_PLUGIN else ["docker-compose"]
OPTIONS = os.environ.get("RINGLINE_UP", "").split()


def run(*command, **environment) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=1200, cwd=DEPLOY, env=os.environ | environment
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def up():
    """Runs `Deploy/up` and yields its output."""
    yield run("./up", *OPTIONS, TURN_HOST="127.0.0.1", NOFILE="20000")
    down = [*COMPOSE, "-p", "ringline", "-f", "compose.yaml", "down", "-v"]
    subprocess.run(down, cwd=DEPLOY, timeout=60, capture_output=True)


@pytest.mark.timeout(1500)
def test_up_starts_both_services_healthy(up):
    assert "docker exec" in up
    names = run("docker", "ps", "--format", "{{.Names}} {{.Status}}")
    assert names.count("(healthy)") >= 2, names


def test_coturn_accepts_ringlines_credentials_only(up):
    secret = (DEPLOY / "secrets/jwt-secret").read_bytes().removesuffix(b"\n")
    response = httpx.get(
        "http://127.0.0.1:8080/api/turn-cred",
        headers={"Authorization": f"Bearer {mint(secret, '11')}"},
        trust_env=False,
    )
    given = response.json()
    coturn = run("docker", "ps", "-q", "--filter", "ancestor=ringline-coturn").strip()
    client = ["docker", "exec", coturn, "timeout", "5", "turnutils_uclient", "-v", "-y", "-c", "-m", "1", "-n", "1"]
    for credential, wanted in ((given["credential"], True), ("wrong", False)):
        command = [*client, "-u", given["username"], "-w", credential, "127.0.0.1"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        said = done.stdout + done.stderr
        assert bool(ALLOCATED.search(said)) is wanted, said[-1500:]
        # coturn does not relay from the allocation to hosts of the internal network.
        assert not wanted or "403" in said or "error" in said.lower(), said[-1500:]


def test_no_container_shows_a_secret_in_its_configuration_or_arguments(up):
    for name in ("jwt-secret", "turn-secret"):
        secret = (DEPLOY / "secrets" / name).read_text().strip()
        for container in run("docker", "ps", "-q").split():
            assert secret not in json.dumps(json.loads(run("docker", "inspect", container)))
            assert secret not in run("docker", "top", container, "-eo", "pid,args")

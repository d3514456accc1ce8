"""Runs of commands other than a server that goes on, and what they print."""

import subprocess

from ringline_server import binary, clean_environment
from waiting import eventually


def run(*arguments, environment=None, seconds=15, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(binary()), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=seconds,
        stdin=subprocess.DEVNULL,
        env=clean_environment(**(environment or {})),
        **options,
    )


def serve(tmp_path, *options, **more) -> subprocess.CompletedProcess:
    """Runs `serve` with options that must make it fail."""
    defaults = []
    for name, value in (("--listen", "127.0.0.1:0"), ("--admin-listen", "127.0.0.1:0"), ("--data", tmp_path / "data")):
        if name not in options:
            defaults += [name, value]
    return run("serve", *defaults, *options, **more)


def one_clear_line(result: subprocess.CompletedProcess, *words: str):
    assert result.returncode != 0
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, result.stderr
    for word in words:
        assert word in lines[0], lines[0]
    assert "listening on" not in result.stdout


def wait_for(world, call_id: str, *words: str, seconds=8):
    """Waits until the explanation contains all these words."""
    result = None

    def is_explained() -> bool:
        nonlocal result
        result = run("explain", call_id, *world.server.store_options, seconds=20)
        return result.returncode == 0 and all(word in result.stdout for word in words)

    eventually(is_explained, seconds, lambda: f"{words} not in:\n{result.stdout}{result.stderr}")

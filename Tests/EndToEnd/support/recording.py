"""Records what the server sends: the forms of all frames, bodies and pushes that the end-to-end tests receive.

A form keeps the names and the order of the members, and the values that are keywords of the protocol; other strings
become `S`, and numbers `0`. With `RINGLINE_RECORDING=FOLDER` each process of a test run writes the forms that it
received into a file in that folder. Then

    python Tests/EndToEnd/support/recording.py FOLDER            compares them with recorded-forms.txt; fails on a new form
    python Tests/EndToEnd/support/recording.py FOLDER --accept   adds new forms to that file; read the diff, then commit it

Forms in the file that the run did not receive are only counted, because some appear only in a race or in a test that
was not run.
"""

import atexit
import json
import os
import pathlib
import re
import sys

FOLDER = os.environ.get("RINGLINE_RECORDING")
FILE = pathlib.Path(__file__).with_name("recorded-forms.txt")
API = pathlib.Path(__file__).resolve().parents[3] / "Sources/Core/CallWire/CallWire.docc"
# Members with values that are keywords of the protocol.
WORDS = {
    *("type", "code", "kind", "state", "reason", "action", "event", "status", "environment", "title", "verdict", "error"),
    *("message", "result", "side", "presence", "priority", "interruption-level", "content-available", "role", "scope"),
}
# Members with arbitrary content from the app.
APPS_OWN = {"data", "extra", "metadata"}
# The input of these tests is random, or it comes from a browser.
MODULES_OF_CHANCE = {
    *("test_structured_fuzz", "test_openapi", "test_asyncapi", "test_raw_bytes", "test_raw_http", "test_browser_faults"),
}

_forms: set[str] = set()
_silent = False


def form(value, member: str | None = None) -> str:
    """Returns the form of a JSON value."""
    if member in APPS_OWN:
        return "any"
    if isinstance(value, Pairs):
        members = [(name if re.fullmatch(r"[A-Za-z_][A-Za-z_-]*", name) else "*", inner) for name, inner in value]
        return "{" + ",".join(dict.fromkeys(f"{name}:{form(inner, name)}" for name, inner in members)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(sorted({form(element, member) for element in value})) + "]"
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, str):
        return words(value) if member in WORDS else "S"
    return "0"


def words(text: str) -> str:
    """Returns a text without the UUIDs and numbers in it, which depend on the test or the machine."""
    text = re.sub(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f-]{27}", "U", text)
    return json.dumps(re.sub(r"-?\d+(\.\d+)?", "0", text), ensure_ascii=False)


class Pairs(list):
    """The members of an object in their order."""


def parsed(text: str | bytes):
    return json.loads(text, object_pairs_hook=Pairs)


def heard(channel: str, text: str | bytes):
    """Records the form of a frame or body, or only the fact that it is not JSON."""
    if FOLDER is None or _silent:
        return
    try:
        shape = form(parsed(text))
    except ValueError:
        shape = "not JSON" if text else "nothing"
    _forms.add(f"{channel} {shape}")


def answered(response):
    """Records the form of an HTTP response with its header names in order."""
    if FOLDER is None or _silent:
        return
    response.read()
    request = response.request
    names = ",".join(name.decode().lower() for name, _ in response.headers.raw)
    kind = response.headers.get("content-type", "")
    body = response.content if "json" in kind else b""
    heard(f"{request.method} {template(request.url.path)} {response.status_code} {names} {kind}", body)


_templates = [
    (re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))), path)
    for file in sorted(API.glob("openapi*.yaml"))
    for path in re.findall(r"^  (/\S*):", file.read_text(), re.MULTILINE)
]


def template(path: str) -> str:
    return next((name for pattern, name in _templates if pattern.fullmatch(path)), "elsewhere")


def begins(module: str):
    """Turns recording off if the test that begins belongs to one of these modules."""
    global _silent
    _silent = module in MODULES_OF_CHANCE


@atexit.register
def _write():
    if FOLDER is not None and _forms:
        pathlib.Path(FOLDER).mkdir(parents=True, exist_ok=True)
        (pathlib.Path(FOLDER) / f"{os.getpid()}.txt").write_text("".join(f"{each}\n" for each in sorted(_forms)))


def main(folder: str, *options: str):
    known = set(FILE.read_text().splitlines()) if FILE.exists() else set()
    now = {line for file in pathlib.Path(folder).glob("*.txt") for line in file.read_text().splitlines()}
    new = sorted(now - known)
    print(f"{len(now)} forms heard, {len(new)} of them new; {len(known - now)} of {len(known)} known ones were not heard")
    if "--accept" in options:
        FILE.write_text("".join(f"{each}\n" for each in sorted(known | now)))
        return 0
    for each in new:
        print(f"new: {each[:1000]}")
    return 1 if new or not now else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

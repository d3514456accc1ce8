"""Looks in the servers' logs for what no log may contain: tokens, keys, session descriptions, candidates and addresses.

    RINGLINE_TRACE_LOGS=FOLDER pytest …                      lets the servers log at `trace`, into that folder
    python Tests/EndToEnd/support/secrets_in_logs.py FOLDER     prints every line with a secret; fails if there is one

The servers' own settings may be in the log: paths, and the addresses of `--jwks-url`, of `--events-url` (without its
query), of `--node-address` and of the database of `--store` (without user and password). All else that looks like an
address is a client's, or a candidate's.
"""

import concurrent.futures
import pathlib
import re
import sys

# The words of base64url and base64: with letters of both cases and digits they are no ids of a test.
WORD = re.compile(r"[A-Za-z0-9_-]{60,}")
PATTERNS = {
    # The beginning of a JSON object in base64url: each part of a JWT, also without the others. What follows `Bearer` is
    # no token if it is the next name of the line, as after a client's own member with that name.
    "a token": re.compile(
        r"eyJ[A-Za-z0-9_-]{6,}|\b[Bb]earer (?![A-Za-z0-9_.-]+=[^\s=])[A-Za-z0-9_.-]{8,}|\b[Rr]ing [A-Za-z0-9_-]{40,}"
    ),
    # Ids of one repeated letter are those of tests of the longest id.
    "a push token": re.compile(r"(?<![0-9A-Fa-f])(?!([0-9A-Fa-f])\1+(?![0-9A-Fa-f]))[0-9A-Fa-f]{64,}(?![0-9A-Fa-f])"),
    # The server's own messages name the line without a label.
    "a key": re.compile(r"-----BEGIN [A-Z0-9 ]+-----"),
    "a description": re.compile(
        r"\bv=0|\b[ao]=(-|candidate|ice|fingerprint|rtpmap)|m=(audio|video)|ice-(ufrag|pwd)"
        r"|candidate:\S+ \d+ |\btyp (host|srflx|prflx|relay)"
    ),
    "an address": re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])"),
}
# The search for it is slow, so only lines with enough colons are searched.
ADDRESS_V6 = re.compile(
    r"(?<![0-9A-Za-z:])(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}(?![0-9A-Za-z:])"
    r"|(?<![0-9A-Za-z:])(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?::(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?(?![0-9A-Za-z:])"
)
# A sentence of the server's own.
SENTENCE = "must begin with the line v=0"
# The operator's own settings, in both formats of the log.
SETTINGS = re.compile(
    r'\b(?:jwks\.url|endpoint\.url|data|tls\.cert|tls\.key|node\.address)(?:=|":)(?:"(?:[^"\\]|\\.)*"|\S+)'
)
# The database of `--store`, as the server and as libpq name it.
DATABASE = re.compile(r'\bpostgres://[^\s@"\\]+|\bconnection to server at \\?"[^"\\]*\\?"(?: \([0-9A-Fa-f.:]+\))?')
# A warning at the start is about the operator's settings.
WARNING = re.compile(r"^\S+ warning (?:the secret of |--)")
# A frame of the backtrace that Swift's runtime writes after a crash: names of C++ may look like the address `::`.
BACKTRACE_FRAME = re.compile(r"^\s*\d+ (?:\[\w+\])?\s+0x[0-9a-f]{16} ")


def findings(line: str) -> list[str]:
    """Returns the kinds of secrets that a line contains."""
    if WARNING.match(line) or BACKTRACE_FRAME.match(line):
        return []
    text = DATABASE.sub("", SETTINGS.sub("", line)).replace(SENTENCE, "")
    found = [name for name, pattern in PATTERNS.items() if pattern.search(text)]
    if ("::" in text or text.count(":") >= 7) and ADDRESS_V6.search(text):
        found.append("an address")
    for word in WORD.findall(text):
        if re.search("[a-z]", word) and re.search("[A-Z]", word) and re.search("[0-9]", word):
            found.append("a capability or a secret")
    return found


def search(file: pathlib.Path) -> tuple[int, list[str]]:
    """Returns how many lines a log has, and what it should not contain."""
    lines, bad = 0, []
    with open(file, errors="replace") as text:
        for line in text:
            lines += 1
            if found := findings(line):
                bad.append(f"{file}:{lines}: {', '.join(found)}: {line.rstrip()[:600]}")
    return lines, bad


def main(folder: pathlib.Path) -> int:
    lines = bad = size = 0
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    with concurrent.futures.ProcessPoolExecutor() as processes:
        for file, (count, found) in zip(files, processes.map(search, files, chunksize=8), strict=True):
            size += file.stat().st_size
            lines += count
            for line in found[: max(0, 20 - bad)]:
                print(line)
            bad += len(found)
    print(f"{lines} lines in {len(files)} logs, {size / 1e6:.1f} MB: {bad} with what no log may contain")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))

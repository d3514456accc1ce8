"""The call directory: names of callers by phone number, blocked numbers, and their pages (protocol, section 5.10)."""

import gzip
import json
import random
import sqlite3
import threading

import httpx
import pytest
import samples
from rest import code
from test_monitoring import sample
from test_openapi import check_timeline

PATH = "/api/me/directory"
TEXT = {"Content-Type": "text/plain"}


def put(rest, lines, user: str | None = None, status: int = 200, **headers):
    """Changes the names for all users, or those of one user; returns the response's body."""
    path = "/api/directory" if user is None else f"/api/users/{user}/directory"
    body = lines if isinstance(lines, bytes) else "".join(f"{line}\n" for line in lines).encode()
    response = rest.request("PUT", path, content=body, headers=TEXT | headers)
    assert response.status_code == status, response.text
    return response.json()


def page(rest, **params) -> tuple[list[str], list[str]]:
    """Reads one page; returns the words of its first line, and its other lines."""
    response = rest.get(PATH, **params)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.text.endswith("\n")
    first, *lines = response.text.removesuffix("\n").split("\n")
    words = first.split("\t")
    assert len(words) == 4 and words[1] in ("complete", "changes") and words[2] in ("end", "more"), first
    numbers = [int(line[1:].split("\t")[0]) for line in lines]
    assert numbers == sorted(set(numbers)), "ascending, each number once"
    return words, lines


class Reader:
    """A client as the protocol describes it: it reads page by page, and keeps what it has read."""

    def __init__(self, rest, list="identities", limit=10_000):
        self.rest, self.list, self.limit = rest, list, limit
        self.cursor: str | None = None
        self.numbers: dict[str, str] = {}
        self.kinds: list[str] = []

    def read(self, between=lambda: None) -> dict[str, str]:
        """Reads until the end; `between` is called after each page."""
        fresh: dict[str, str] = {}
        self.kinds = []
        while True:
            params = {"list": self.list, "limit": self.limit} | ({"since": self.cursor} if self.cursor else {})
            (self.cursor, kind, more, number), lines = page(self.rest, **params)
            self.kinds.append(kind)
            if kind == "complete" and number == "1":
                fresh = {}
            kept = fresh if kind == "complete" else self.numbers
            for line in lines:
                digits, _, label = line[1:].partition("\t")
                if line[0] == "+":
                    kept[digits] = label
                else:
                    assert kind == "changes", "a whole list has no removals"
                    kept.pop(digits, None)
            between()
            if more == "end":
                if kind == "complete":
                    self.numbers = fresh
                return self.numbers


@pytest.fixture
def service(world):
    return world.rest("backend", scope="server")


def test_names_are_read_whole_and_then_as_changes(world, service):
    reader, other = Reader(world.rest("10")), Reader(world.rest("11"))
    assert reader.read() == {} and reader.kinds == ["complete"]
    assert put(service, ["+821012345678\t山田太郎", "+2\tTwo", "+15551234567\tPizza"]) == {"changed": 3, "numbers": 3}
    assert put(service, ["+2\tMum"], user="10") == {"changed": 1, "numbers": 1}
    assert reader.read() == {"2": "Mum", "15551234567": "Pizza", "821012345678": "山田太郎"}
    assert reader.kinds == ["changes"]
    assert other.read()["2"] == "Two", "another user's own name is not shown"
    assert put(service, ["-2", "-99"]) == {"changed": 1, "numbers": 2}
    assert "2" not in other.read() and other.kinds == ["changes"]
    assert reader.read()["2"] == "Mum", "a user's own name stays"
    assert put(service, ["+2\tAgain"]) == {"changed": 1, "numbers": 3}
    assert put(service, ["-2"], user="10") == {"changed": 1, "numbers": 0}
    assert reader.read()["2"] == other.read()["2"] == "Again", "without their own, users see the one for all again"
    assert sample(world.server, "ringline_directory_numbers") == 3
    assert sample(world.server, "ringline_directory_pages_total", kind="complete") == 2


def test_an_update_is_idempotent_and_all_or_nothing(world, service):
    lines = [f"+{number}\tName {number}" for number in range(1, 1001)]
    assert put(service, lines) == {"changed": 1000, "numbers": 1000}
    (cursor, *_), _ = page(world.rest("10"))
    assert put(service, lines) == {"changed": 0, "numbers": 1000}
    assert put(service, []) == {"changed": 0, "numbers": 1000}
    assert page(world.rest("10"), since=cursor) == ([cursor, "changes", "end", "1"], [])
    refused = put(service, ["+5\tFive", "-6", "+7"], status=400)
    assert refused["message"] == "line 3: must have a tab and a name after the number"
    assert page(world.rest("10"), since=cursor)[1] == [], "the lines before the wrong one have no effect"


def test_wrong_updates_are_refused(world, service):
    for body, message in [
        (b"+1\ta\n-1\n", "line 2: the number is on line 1 already"),
        (b"+01\ta\n", "line 1: the number must be 1 to 18 digits, the first of them not 0"),
        (b"+1234567890123456789\ta\n", "line 1: the number must be 1 to 18 digits, the first of them not 0"),
        (b"+1\ta\x00b\n", "line 1: the name must have no control characters"),
        (b"+1\t\xff\n", "line 1: the name must be valid UTF-8"),
        (b"+1\t" + b"x" * 65, "line 1: the name must have 1 to 64 characters, at most 256 bytes"),
        (b"\n+1\ta", "line 1: must begin with + or -"),
    ]:
        refused = put(service, body, status=400)
        assert (refused["code"], refused["message"]) == ("invalid_field", message)
    many = b"".join(b"-%d\n" % number for number in range(1, 10_002))
    assert put(service, many, status=413)["code"] == "too_large"
    assert put(service, b"+1\ta", status=415, **{"Content-Type": "application/json"})["code"] == "unsupported_media_type"
    response = service.request("PUT", "/api/users/a!b/directory", content=b"+1\ta", headers=TEXT)
    assert code(response) == (400, "invalid_field")
    assert code(service.request("POST", "/api/directory", content=b"", headers=TEXT)) == (405, "method_not_allowed")


def test_the_limits_of_names(make_world, make_server):
    world = make_world(make_server("--directory-numbers", 3))
    service = world.rest("backend", scope="server")
    assert put(service, ["+1\ta", "+2\tb", "+3\tc"]) == {"changed": 3, "numbers": 3}
    refused = put(service, ["+1\tA", "+4\td"], status=413)
    assert (refused["code"], refused["field"]) == ("too_large", "numbers")
    assert put(service, ["-1", "+4\td"]) == {"changed": 2, "numbers": 3}
    own = [f"+{number}\tx" for number in range(1, 10_001)]
    assert put(service, own, user="10")["numbers"] == 10_000
    assert put(service, ["+10001\tx"], user="10", status=413)["field"] == "numbers"
    assert put(service, ["-1", "+10001\tx"], user="10") == {"changed": 2, "numbers": 10_000}


def test_only_a_service_writes_and_only_a_user_reads(world, service, server):
    user = world.rest("10")
    assert put(user, ["+1\ta"], status=403)["code"] == "forbidden"
    assert put(user, ["+1\ta"], user="10", status=403)["code"] == "forbidden"
    assert code(service.get(PATH)) == (403, "forbidden")
    for token in (None, "nonsense"):
        stranger = httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {token}"} if token else {})
        with stranger:
            assert stranger.get(PATH).status_code == 401
            assert stranger.put("/api/directory", content=b"+1\ta", headers=TEXT).status_code == 401
            large = stranger.put("/api/directory", content=b"x" * 100_000, headers=TEXT)
            assert large.status_code == 401, "before the body is read"
    large = user.request("PUT", "/api/directory", content=b"x" * 100_000, headers=TEXT)
    assert code(large) == (403, "forbidden"), "only a service may send so much"


def test_only_updates_may_be_larger_than_other_bodies(world, service):
    lines = "".join(f"+{number}\t{'n' * 30}\n" for number in range(1, 10_001)).encode()
    assert 300_000 < len(lines) < 512 * 1024
    assert put(service, lines)["changed"] == 10_000
    too_large = service.request("PUT", "/api/directory", content=b"x" * (512 * 1024 + 1), headers=TEXT)
    assert code(too_large) == (413, "too_large") and "524288" in too_large.json()["message"]
    other = service.request("PUT", "/api/me/dnd", content=b"x" * 65_537)
    assert code(other) == (413, "too_large") and "65536" in other.json()["message"]


def test_an_acknowledged_update_survives_a_kill_and_the_version_never_goes_back(world):
    server = world.server
    chance = random.Random(17)
    acknowledged: dict[str, str] = {}
    reader = None
    for turn in range(6):
        service = world.rest("backend", scope="server")
        killer = threading.Timer(chance.uniform(0.05, 0.3), server.kill)
        killer.start()
        sent = {}
        for batch in range(1_000):
            sent = {str(chance.randrange(1, 500)): f"{turn}-{batch}" for _ in range(20)}
            try:
                put(service, [f"+{number}\t{name}" for number, name in sent.items()])
            except httpx.HTTPError:
                break
            acknowledged |= sent
            sent = {}
        killer.join()
        server.start()
        fresh = Reader(world.rest("10"), limit=100).read()
        for number, name in acknowledged.items():
            assert fresh[number] in (name, sent.get(number)), "an acknowledged line is lost"
        if reader is not None:
            reader.rest = world.rest("10")
            assert reader.read() == fresh, "the changes lead to the same list as the whole list"
        reader = reader or Reader(world.rest("10"))
        reader.read()
        acknowledged = dict(fresh)


def test_a_client_that_reads_while_updates_go_on_ends_with_the_right_list(world, service):
    chance = random.Random(3)
    expected = {str(number): f"first {number}" for number in range(1, 2_000)}
    put(service, [f"+{number}\t{name}" for number, name in expected.items()])

    def change():
        for _ in range(3):
            numbers = chance.sample(range(1, 2_500), 50)
            lines = []
            for number in numbers:
                if chance.random() < 0.3:
                    lines.append(f"-{number}")
                    expected.pop(str(number), None)
                else:
                    expected[str(number)] = f"changed {chance.random()}"
                    lines.append(f"+{number}\t{expected[str(number)]}")
            put(service, lines)

    reader = Reader(world.rest("10"), limit=250)
    reader.read(between=change)
    assert len(reader.kinds) > 5
    assert reader.read(between=change) is not None and set(reader.kinds) == {"changes"}
    assert reader.read() == expected
    assert Reader(world.rest("11")).read() == expected


def test_cursors_that_are_wrong_or_of_another_state_of_the_list(world, service):
    user = world.rest("10")
    put(service, ["+1\ta", "+2\tb"])
    for wrong in ("", "x", "i", "i-1", "i01", "i1-1-1", "i1-2", "i1-2-0", "b1", "i1\u00e9", "i" + "1" * 80):
        refused = user.get(PATH, since=wrong)
        assert code(refused) == (400, "invalid_field"), wrong
        assert refused.json()["field"] == "since"
    assert page(user, since="i999")[0] == ["i1", "complete", "end", "1"], "from the future: a backup was restored"
    assert page(user, since="i999-5-1")[0][1:] == ["complete", "end", "1"]
    assert page(user, since="i1-2-1")[0] == ["i1", "complete", "end", "2"]
    assert page(user, since="i1-2-1-0")[0] == ["i1", "changes", "end", "2"]
    for limit in (0, 10_001, "x"):
        assert code(user.get(PATH, limit=limit)) == (400, "invalid_field")
    assert code(user.get(PATH, list="people")) == (400, "invalid_field")


def test_a_cursor_from_before_the_stored_removals_leads_to_the_whole_list(world, service):
    put(service, ["+1\ta", "+2\tb"])
    reader = Reader(world.rest("10"))
    reader.read()
    put(service, ["-1"])
    world.server.terminate()
    world.server.exit_code()
    # A removal of two months ago; the server deletes it with the history, some minutes after its start.
    world.server.execute("UPDATE directory SET removed_at = removed_at - 5184000000 WHERE removed_at IS NOT NULL")
    world.server.execute("INSERT INTO meta VALUES ('directory_oldest', 2) ON CONFLICT (name) DO UPDATE SET value = 2")
    world.server.start()
    reader.rest = world.rest("10")
    assert reader.read() == {"2": "b"} and reader.kinds == ["complete"]
    assert reader.cursor == "i2"


def raw_page(server, token: str, *lines: str, method="GET", query="") -> httpx.Response:
    """Makes one request with exactly these header lines."""
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        client.headers.clear()
        headers = dict(line.split(": ", 1) for line in lines)
        with client.stream(method, PATH + query, headers={"Authorization": f"Bearer {token}"} | headers) as response:
            response.raw = b"".join(response.iter_raw())
        return response


def test_pages_are_compressed_for_clients_that_accept_it(world, service, server):
    put(service, [f"+{number}\tName {number}" for number in range(1, 5_001)])
    token = world.token("10")
    plain = raw_page(server, token)
    assert "content-encoding" not in plain.headers and plain.headers["vary"] == "Accept-Encoding"
    assert plain.headers["cache-control"] == "private, no-cache"
    for accepted in ("gzip", "br, gzip;q=0.5", "*", "identity;q=0, *;q=0.1", "GZIP"):
        packed = raw_page(server, token, f"Accept-Encoding: {accepted}")
        assert packed.headers["content-encoding"] == "gzip", accepted
        assert packed.headers["etag"] == plain.headers["etag"]
        assert len(packed.raw) < len(plain.raw) / 2
        assert int(packed.headers["content-length"]) == len(packed.raw)
        assert gzip.decompress(packed.raw) == plain.raw
    for refused in ("identity", "br", "gzip;q=0", "gzip;q=0, *"):
        assert raw_page(server, token, f"Accept-Encoding: {refused}").raw == plain.raw, refused
    small = raw_page(server, token, "Accept-Encoding: gzip", query="?limit=5")
    assert "content-encoding" not in small.headers, "a small page is not worth it"
    many = [threading.Thread(target=raw_page, args=(server, world.token(f"u-{n}"), "Accept-Encoding: gzip")) for n in range(20)]
    for thread in many:
        thread.start()
    for thread in many:
        thread.join()


def test_a_page_that_has_not_changed_is_not_sent_again(world, service, server):
    put(service, ["+1\ta", "+2\tb"])
    token = world.token("10")
    first = raw_page(server, token)
    tag = first.headers["etag"]
    for known in (tag, f'"x", {tag}', tag.removeprefix("W/"), "*"):
        again = raw_page(server, token, f"If-None-Match: {known}")
        assert again.status_code == 304, known
        assert again.raw == b"" and again.headers["etag"] == tag
        assert again.headers["cache-control"] == "private, no-cache" and "content-type" not in again.headers
    assert raw_page(server, world.token("11"), f"If-None-Match: {tag}").status_code == 200, "another user's page"
    assert raw_page(server, token, 'If-None-Match: "x"').status_code == 200
    assert sample(server, "ringline_directory_pages_total", kind="unchanged") >= 2
    put(service, ["+1\tA"])
    changed = raw_page(server, token, f"If-None-Match: {tag}")
    assert changed.status_code == 200 and changed.headers["etag"] != tag


def test_a_head_request_has_the_headers_of_the_page(world, service, server):
    put(service, [f"+{number}\tName {number}" for number in range(1, 2_001)])
    token = world.token("10")
    for lines in ([], ["Accept-Encoding: gzip"]):
        get, head = (raw_page(server, token, *lines, method=method) for method in ("GET", "HEAD"))
        assert head.status_code == 200 and head.raw == b""
        assert dict(head.headers) == dict(get.headers)


def test_blocked_numbers(world, server):
    user = world.rest("10")
    assert user.post("/api/blocks", {"userId": "12"}).status_code == 200
    row = user.post("/api/blocks", {"number": "+82-10-1234-5678"})
    assert row.json() == {"id": "number:821012345678", "number": "821012345678"}
    assert user.post("/api/blocks", {"number": "82 (10) 1234.5678"}).json() == row.json()
    assert user.get("/api/blocks").json() == [{"id": "12", "user_id": "12"}, row.json()]
    for wrong in ("010-1234-5678", "", "+", "1234567890123456789", 82, "no number"):
        refused = user.post("/api/blocks", {"number": wrong})
        assert code(refused) == (400, "invalid_field") and refused.json()["field"] == "number", wrong
    assert code(user.post("/api/blocks", {"number": "82", "userId": "11"})) == (400, "invalid_field")
    reader = Reader(user, "blocks")
    assert reader.read() == {"821012345678": ""}
    server.kill()
    server.start()
    user = world.rest("10")
    assert user.get("/api/blocks").json()[1] == row.json()
    reader.rest = user
    assert user.delete("/api/blocks/number:+82-10-1234-5678").status_code == 200
    assert user.delete("/api/blocks/number:821012345678").status_code == 200, "it is gone already"
    assert code(user.delete("/api/blocks/number:0")) == (400, "invalid_field")
    assert reader.read() == {} and reader.kinds == ["changes"]
    assert user.get("/api/blocks").json() == [{"id": "12", "user_id": "12"}]
    assert Reader(world.rest("11"), "blocks").read() == {}


def test_a_call_that_shows_a_blocked_number_is_hidden_as_one_of_a_blocked_user(world, service):
    world.rest("10").post("/api/blocks", {"number": "+82 10 1234 5678"})
    caller, callee = world.connect("11", "a-1"), world.connect("10", "b-1")
    offer = {"type": "offer", "to": "10", "sdp": samples.OFFER, "handleType": "phoneNumber"}
    assert caller.ask(**offer, callId="c-1", handle="82-10-1234-5678")["type"] == "ack"
    assert caller.ask(**offer, callId="c-2", handle="+821099999999")["type"] == "ack"
    assert callee.expect(type="offer")["callId"] == "c-2", "the first one rings nowhere"
    timeline = service.get("/api/calls/c-1/timeline").json()
    assert [event for event in timeline["events"] if event["event"] == "blocked"][0]["by"] == "number"
    check_timeline(timeline)
    assert "has blocked the phone number" in json.dumps(timeline)
    assert "821012345678" not in json.dumps(timeline), "the timeline is stored for long"
    assert world.rest("10").get("/api/calls/c-1").status_code == 404


def test_numbers_are_in_a_backup(world, service, tmp_path):
    if world.server.has_database:
        pytest.skip("the backup of a folder")
    import test_command_line

    put(service, ["+1\ta", "+2\tb"])
    world.rest("10").post("/api/blocks", {"number": "5"})
    copy = tmp_path / "backup.sqlite"
    result = test_command_line.run("backup", copy, "--data", world.server.data)
    assert result.returncode == 0, result.stderr
    with sqlite3.connect(copy) as database:
        rows = database.execute("SELECT owner, list, number, label FROM directory ORDER BY list, number").fetchall()
    assert rows == [("", 0, 1, "a"), ("", 0, 2, "b"), ("10", 1, 5, None)]

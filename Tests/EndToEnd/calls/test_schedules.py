"""Schedules are made, listed, replaced, changed and deleted, by their user or a service (protocol, section 5.11)."""

import datetime
import zoneinfo

import pytest
from rest import code
from scheduled import MIDDAY, WEEK, history, make, make_for, rung, schedules
from test_monitoring import sample

FROM = {"id": "wake", "displayName": "Wake-up"}
BODY = MIDDAY | {"from": FROM}
FULL = BODY | {
    "handle": "+82212345678",
    "handleType": "phoneNumber",
    "data": {"voice": "a"},
    "ring": 60,
    "confirm": {"every": 60, "times": 5},
}
FUTURE = "2099-12-01"


@pytest.fixture
def service(world):
    return world.rest("backend", scope="server")


def next_midday(zone="UTC") -> int:
    """Returns when clocks in a zone show 12:00 the next time, in ms."""
    now = datetime.datetime.now(zoneinfo.ZoneInfo(zone))
    noon = now.replace(hour=12, minute=0, second=0, microsecond=0)
    if noon <= now:
        noon = (noon.replace(tzinfo=None) + datetime.timedelta(days=1)).replace(tzinfo=zoneinfo.ZoneInfo(zone))
    return int(noon.timestamp() * 1000)


# --- What can be done with them ----------------------------------------------------------------------------------


def test_a_schedule_is_answered_as_it_is_stored(world):
    rest = world.rest("10")
    made = rest.post("/api/schedules", FULL | {"id": "s-1"})
    assert made.status_code == 200, made.text
    assert made.json() == FULL | {"id": "s-1", "user": "10", "next": next_midday()}
    assert rest.get("/api/schedules/s-1").json() == made.json()
    assert rest.get("/api/schedules").json() == {"schedules": [made.json()]}


def test_a_schedule_with_the_least_members_gets_an_id_and_the_servers_ring_time(make_server, make_world):
    world = make_world(make_server("--ring-timeout", "33"))
    body = {"at": "06:30", "timeZone": "Asia/Seoul", "on": FUTURE, "from": {"id": 7}}
    made = world.rest("10").post("/api/schedules", body).json()
    moment = datetime.datetime(2099, 12, 1, 6, 30, tzinfo=zoneinfo.ZoneInfo("Asia/Seoul"))
    assert len(made.pop("id")) == 36
    wanted = {"user": "10", "from": {"id": "7"}, "ring": 33, "next": int(moment.timestamp() * 1000)}
    assert made == body | wanted


def test_two_schedules_without_an_id_are_two(world):
    rest = world.rest("10")
    ids = {rest.post("/api/schedules", BODY).json()["id"] for _ in range(2)}
    assert len(ids) == 2 and {each["id"] for each in schedules(world)} == ids


def test_weekdays_are_listed_in_their_order(world):
    made = make(world, BODY | {"days": ["sun", "wed", "mon"]})
    assert made["days"] == ["mon", "wed", "sun"]


def test_the_list_is_in_the_order_of_the_ids_and_shows_only_ones_own(world):
    for schedule in ("b", "a", "B"):
        make(world, BODY, schedule=schedule)
    make(world, BODY, "12", "c")
    assert [each["id"] for each in schedules(world)] == ["B", "a", "b"]
    assert schedules(world, "13") == []


def test_put_replaces_a_schedule_as_a_whole(world):
    make(world, FULL)
    replaced = make(world, BODY | {"at": "13:00", "timeZone": "Europe/Berlin"})
    assert replaced["at"] == "13:00" and replaced["timeZone"] == "Europe/Berlin"
    assert replaced.keys() == {"id", "user", "at", "timeZone", "days", "from", "ring", "next"}
    assert schedules(world) == [replaced]


def test_post_with_the_id_of_a_schedule_replaces_it(world):
    make(world, FULL)
    replaced = world.rest("10").post("/api/schedules", BODY | {"id": "s-1", "at": "13:00"}).json()
    assert replaced["at"] == "13:00" and "confirm" not in replaced and schedules(world) == [replaced]


def test_patch_changes_the_members_that_it_has_and_null_removes_one(world):
    rest = world.rest("10")
    made = make(world, FULL)
    changed = rest.request("PATCH", "/api/schedules/s-1", json={"data": {"voice": "b"}, "confirm": None})
    assert changed.status_code == 200, changed.text
    wanted = made | {"data": {"voice": "b"}}
    del wanted["confirm"]
    assert changed.json() == wanted and schedules(world) == [wanted]
    changed = rest.request("PATCH", "/api/schedules/s-1", json={"on": FUTURE, "handle": None, "handleType": None})
    assert changed.json()["on"] == FUTURE and "days" not in changed.json() and "handle" not in changed.json()
    changed = rest.request("PATCH", "/api/schedules/s-1", json={"days": ["sat"], "from": {"id": "other"}})
    assert changed.json()["days"] == ["sat"] and "on" not in changed.json()
    assert changed.json()["from"] == {"id": "other"}, "the name belongs to the caller"


def test_patch_of_the_zone_alone_moves_the_next_call(world):
    assert make(world, BODY)["next"] == next_midday()
    changed = world.rest("10").request("PATCH", "/api/schedules/s-1", json={"timeZone": "Asia/Tokyo"})
    assert changed.json()["next"] == next_midday("Asia/Tokyo")


def test_a_deleted_schedule_is_gone_and_its_number_is_measured(world):
    rest = world.rest("10")
    make(world, BODY)
    make(world, BODY, schedule="s-2")
    assert sample(world.server, "ringline_schedules") == 2
    response = rest.delete("/api/schedules/s-1")
    assert response.status_code == 200 and response.json()["ok"] is True
    assert sample(world.server, "ringline_schedules") == 1
    assert [each["id"] for each in schedules(world)] == ["s-2"]
    for method in ("GET", "DELETE", "PATCH"):
        body = {"json": {}} if method == "PATCH" else {}
        assert code(rest.request(method, "/api/schedules/s-1", **body)) == (404, "not_found")


def test_a_schedule_survives_a_kill(world):
    made = [make(world, FULL, schedule="s-1"), make_for(world, BODY | {"on": FUTURE, "days": None}, schedule="s-2")]
    world.server.kill()
    world.server.start()
    assert schedules(world) == made
    assert sample(world.server, "ringline_schedules") == 2


def test_there_is_nothing_to_confirm_between_calls(world):
    make(world, FULL)
    rest = world.rest("10")
    assert code(rest.request("POST", "/api/schedules/s-1/confirm")) == (404, "not_found")
    assert code(rest.request("POST", "/api/schedules/s-2/confirm")) == (404, "not_found")


def test_a_schedule_rings_on_trial_and_stays_as_it_is(world, service):
    hanako = world.connect("10", "iphone-h")
    made = make(world, FULL)
    for number, ring in enumerate(
        (
            lambda: world.rest("10").request("POST", "/api/schedules/s-1/ring"),
            lambda: service.request("POST", "/api/users/10/schedules/s-1/ring"),
        )
    ):
        response = ring()
        assert response.status_code == 200, response.text
        offer = rung(hanako)
        assert response.json() == {"ok": True, "callId": offer["callId"], "epoch": 1}
        assert offer["data"] == FULL["data"] and offer["handle"] == FULL["handle"]
        assert code(ring()) == (409, "call_exists")
        assert schedules(world) == [made]
        hanako.ask(type="info", callId=offer["callId"], confirm=True)
        hanako.expect(type="call", callId=offer["callId"], state="ended")
        (call,) = [each for each in history(world) if each["callId"] == offer["callId"]]
        assert call["reason"] == "confirmed" and call["scheduled"]["ring"] == 0, number
    explained = service.get(f"/api/calls/{offer['callId']}/timeline").json()
    assert any("on trial" in sentence for sentence in explained["verdict"])
    assert schedules(world) == [made]
    assert code(world.rest("10").request("POST", "/api/schedules/s-2/ring")) == (404, "not_found")
    assert code(world.rest("11").request("POST", "/api/users/10/schedules/s-1/ring")) == (403, "forbidden")


def test_the_last_date_is_that_of_the_time_zone(world):
    rest = world.rest("10")
    for zone, date, status in (
        ("Asia/Seoul", "2200-01-01", 400),
        ("Asia/Seoul", "2199-12-31", 200),
        ("America/New_York", "2199-12-31", 200),
        ("America/New_York", "2200-01-01", 400),
    ):
        at = "00:00" if status == 400 else "23:59"
        body = {"from": FROM, "at": at, "timeZone": zone, "on": date}
        assert rest.put("/api/schedules/s-1", body).status_code == status, (zone, date)
    made = schedules(world)
    world.server.kill()
    world.server.start()
    assert schedules(world) == made
    assert "database" not in world.server.errors()


def test_other_methods_and_paths_are_refused(world):
    rest = world.rest("10")
    for method, path, allowed in (
        ("DELETE", "/api/schedules", "GET, HEAD, POST"),
        ("POST", "/api/schedules/s-1", "GET, HEAD, PUT, PATCH, DELETE"),
        ("GET", "/api/schedules/s-1/confirm", "POST"),
        ("PUT", "/api/users/10/schedules", "GET, HEAD, POST"),
    ):
        response = rest.request(method, path)
        assert code(response) == (405, "method_not_allowed")
        assert set(response.headers["allow"].split(", ")) == set(allowed.split(", ")), path
    for path in (
        "/api/me/schedules",
        "/api/schedules/s-1/rings",
        "/api/users/schedules",
        "/api/schedules/s-1/confirm/x",
    ):
        assert code(rest.get(path)) == (404, "not_found")


def test_a_user_whose_id_is_the_word_schedules_can_be_unblocked(world):
    rest = world.rest("10")
    rest.post("/api/blocks", {"userId": "schedules"})
    assert rest.delete("/api/blocks/schedules").status_code == 200
    assert rest.get("/api/blocks").json() == []


# --- A service -----------------------------------------------------------------------------------------------


def test_a_service_has_all_operations_for_every_user(world, service):
    made = service.post("/api/users/10/schedules", FULL | {"id": "s-1"})
    assert made.status_code == 200 and made.json()["user"] == "10"
    assert schedules(world) == [made.json()]
    assert service.get("/api/users/10/schedules").json() == {"schedules": [made.json()]}
    assert service.get("/api/users/10/schedules/s-1").json() == made.json()
    assert service.put("/api/users/10/schedules/s-1", BODY).json() == schedules(world)[0]
    changed = service.request("PATCH", "/api/users/10/schedules/s-1", json={"at": "12:01"}).json()
    assert changed["at"] == "12:01" and schedules(world) == [changed]
    assert code(service.request("POST", "/api/users/10/schedules/s-1/confirm")) == (404, "not_found")
    assert service.delete("/api/users/10/schedules/s-1").status_code == 200
    assert schedules(world) == []


def test_a_user_may_name_themselves_in_the_path_but_nobody_else(world):
    make(world, BODY, "12")
    rest = world.rest("10")
    assert rest.post("/api/users/10/schedules", BODY | {"id": "own"}).status_code == 200
    before = schedules(world, "12")
    for method, path, body in (
        ("GET", "", None),
        ("POST", "", BODY),
        ("GET", "/s-1", None),
        ("PUT", "/s-1", BODY),
        ("PATCH", "/s-1", {"at": "12:01"}),
        ("DELETE", "/s-1", None),
        ("POST", "/s-1/confirm", None),
    ):
        response = rest.request(method, f"/api/users/12/schedules{path}", **({} if body is None else {"json": body}))
        assert code(response) == (403, "forbidden"), method
    assert schedules(world, "12") == before


def test_without_a_token_there_are_no_schedules(world):
    nobody = world.rest(token="bad")
    assert code(nobody.get("/api/schedules")) == (401, "unauthenticated")
    assert code(nobody.post("/api/schedules", BODY)) == (401, "unauthenticated")


# --- What is refused -----------------------------------------------------------------------------------------

LEFT_OUT = object()
INVALID = [
    ("at", LEFT_OUT, "at"),
    *[("at", value, "at") for value in ("24:00", "6:30", "06:60", "06:30:00", "", " 06:30", 630, [])],
    ("timeZone", LEFT_OUT, "timeZone"),
    *[("timeZone", value, "timeZone") for value in ("Mars/Base", "../../etc/passwd", "localtime", "", "Z" * 65, 9)],
    ("days", LEFT_OUT, "days"),
    *[("days", value, "days") for value in ([], ["mon", "mon"], ["monday"], ["Mon"], "mon", [1], {}, WEEK + ["x"] * 9)],
    *[
        ("on", value, "on")
        for value in ("2099-13-01", "2099-02-29", "2099-2-1", "2020-01-01", "tomorrow", "", 20991201)
    ],
    ("from", LEFT_OUT, "from"),
    ("from", "wake", "from"),
    ("from", {}, "from.id"),
    ("from", {"id": "10"}, "from.id"),
    ("from", {"id": 10}, "from.id"),
    ("from", {"id": "a b"}, "from.id"),
    ("from", {"id": "u" * 129}, "from.id"),
    ("from", {"id": "wake", "displayName": 5}, "from.displayName"),
    *[("handle", value, "handle") for value in (5, "", "h" * 257)],
    *[("handleType", value, "handleType") for value in ("fax", 5, "")],
    *[("ring", value, "ring") for value in (4, 121, 1.5, "60", -60)],
    ("confirm", 5, "confirm"),
    ("confirm", {}, "confirm.every"),
    *[("confirm", {"every": value, "times": 5}, "confirm.every") for value in (9, 3601, "60", 60.5)],
    ("confirm", {"every": 60}, "confirm.times"),
    *[("confirm", {"every": 60, "times": value}, "confirm.times") for value in (0, 21, "5", True)],
    *[("id", value, "id") for value in ("a b", "", "s" * 65, 5, "a/b")],
]


def test_every_wrong_member_is_named_and_changes_nothing(world):
    rest = world.rest("10")
    made = make(world, FULL)
    faults = []
    for member, value, field in INVALID:
        body = FULL | {member: value}
        if member == "on" and value is not LEFT_OUT:
            del body["days"]
        if value is LEFT_OUT:
            del body[member]
        response = rest.post("/api/schedules", body)
        told = response.json()
        if response.status_code != 400 or told.get("code") != "invalid_field" or told.get("field") != field:
            faults.append(f"POST {member} {str(value)[:40]}: {response.status_code} {told}")
        if member == "id" or value is LEFT_OUT:
            continue
        response = rest.request("PATCH", "/api/schedules/s-1", json={member: value})
        if response.status_code != 400 or response.json().get("field") != field:
            faults.append(f"PATCH {member} {str(value)[:40]}: {response.status_code} {response.json()}")
    assert faults == []
    assert schedules(world) == [made]


def test_days_and_on_exclude_each_other(world):
    response = world.rest("10").post("/api/schedules", BODY | {"on": FUTURE})
    assert code(response) == (400, "invalid_field") and response.json()["field"] == "on"


def test_data_over_1024_bytes_is_too_large(world):
    rest = world.rest("10")
    assert make(world, BODY | {"data": "x" * 1022})["data"] == "x" * 1022
    response = rest.put("/api/schedules/s-1", BODY | {"data": "x" * 1023})
    assert code(response) == (413, "too_large") and response.json()["field"] == "data"


@pytest.mark.parametrize("data", [{"a": [1, {"b": None}]}, [], "텍스트", 5, 1.5, True, False])
def test_data_is_any_json_value(world, data):
    assert make(world, BODY | {"data": data})["data"] == data == schedules(world)[0]["data"]


def test_the_id_in_the_body_is_that_of_the_path_or_absent(world):
    rest = world.rest("10")
    assert rest.put("/api/schedules/s-1", BODY | {"id": "s-1"}).status_code == 200
    response = rest.put("/api/schedules/s-1", BODY | {"id": "s-2"})
    assert code(response) == (400, "invalid_field") and response.json()["field"] == "id"
    response = rest.request("PATCH", "/api/schedules/s-1", json={"id": "s-2"})
    assert code(response) == (400, "invalid_field") and response.json()["field"] == "id"
    assert [each["id"] for each in schedules(world)] == ["s-1"]


@pytest.mark.parametrize("schedule", ["a%20b", "s" * 65])
def test_a_schedule_is_not_made_under_a_bad_id_in_the_path(world, schedule):
    response = world.rest("10").put(f"/api/schedules/{schedule}", BODY)
    assert code(response) == (400, "invalid_field") and response.json()["field"] == "id"


def test_a_body_that_is_not_json_is_refused(world):
    rest = world.rest("10")
    response = rest.request("POST", "/api/schedules", content="at=12:00", headers={"content-type": "text/plain"})
    assert code(response) == (415, "unsupported_media_type")
    for text in ("", "[]", "{", '{"at":"12:00","at":"13:00"}', '{"data":null,"data":5}'):
        response = rest.request("POST", "/api/schedules", content=text)
        assert code(response) == (400, "invalid_json"), text


def test_a_user_has_50_schedules_at_most(world, service):
    rest = world.rest("10")
    for number in range(50):
        make(world, BODY, schedule=f"s-{number}")
    assert code(rest.post("/api/schedules", BODY)) == (429, "rate_limited")
    assert code(rest.put("/api/schedules/s-50", BODY)) == (429, "rate_limited")
    assert code(service.post("/api/users/10/schedules", BODY)) == (429, "rate_limited")
    assert sample(world.server, "ringline_limited_total", limit="schedules") == 3
    assert make(world, BODY | {"at": "13:00"}, schedule="s-7")["at"] == "13:00", "it replaces one"
    assert len(schedules(world)) == 50
    rest.delete("/api/schedules/s-0")
    assert rest.post("/api/schedules", BODY).status_code == 200

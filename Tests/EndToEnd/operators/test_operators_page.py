"""The operators' page on the admin listener: off by default, read-only, and only for services."""

import json
import re

import browsers
import chromium
import httpx
import ladder_table
import ladders
import pytest
import samples
from cluster import TAKE_OVER_SECONDS
from commands import one_clear_line, run, serve
from operators_page import OPTIONS, REFUSED, OperatorsPage, ask, calls_of_a_day, has_ended, register, service
from postgres_server import one_process
from ringline_server import ROOT
from waiting import eventually
from world import push_options

pytestmark = one_process("each node has an admin listener of its own")

MARKUP = """<img src=x onerror="window.isHacked = true"><b>Taro</b>"""
FILES = [
    "/", "/operators/operators.js", "/operators/operators.css", "/operators/calls.js", "/page/ladder.js", "/page/ladder.css",
    "/page/page.css",
]  # fmt: skip
CALLS = ["/api/calls?user=10", "/api/namesakes?callId=c-1", "/api/timeline?callId=c-1", "/api/overview"]


@pytest.fixture(scope="module")
def browser():
    with chromium.running() as browser:
        yield browser


@pytest.fixture
def world(make_server, make_world):
    """The users of a server that serves the page, and whose calls ring for one second."""
    return make_world(make_server(*OPTIONS, "--ring-timeout", "1"))


@pytest.fixture
def make_page(browser, world):
    """Returns a function that opens the page; fails if the page had an error."""
    with browsers.opening(lambda **options: OperatorsPage(browser, world.server.admin_url, **options)) as make:
        yield make


@pytest.fixture
def page(make_page):
    return make_page()


def unanswered(world, call_id="c-1", **fields):
    """Rings 10, who has neither a connection nor a device, until nobody has answered."""
    response = world.rest("11").signal("offer", call_id, sdp=samples.OFFER, to="10", **fields)
    assert response.status_code == 200, response.text
    has_ended(world, call_id)


def more_than_a_page(world):
    """Lets 10 miss 51 calls, c-0 to c-50."""
    for number in range(51):
        # Each call has a caller of its own: the number of calls that a caller may begin is limited.
        caller = world.rest(f"caller-{number}")
        caller.signal("offer", f"c-{number}", sdp=samples.OFFER, to="10")
        caller.signal("end", f"c-{number}")
    has_ended(world, "c-50")


# The page


def test_a_search_by_user_lists_the_calls_with_their_verdicts(world, page):
    calls_of_a_day(world)
    page.search("user", "10", service(world))
    rows = page.rows(3)
    assert [row[-1] for row in rows] == ["evening", "noon", "morning"]
    assert rows[0][1:3] == ["Taro\n11", "10"] and rows[0][3].startswith("answered, ")
    assert "10 answered on phone-10" in rows[0][4]
    assert rows[1][3] == "unanswered" and "iphone-h" in rows[1][4]
    assert "no device registered for pushes" in rows[2][4]
    assert page.page.locator("#found-title").inner_text() == "Calls of 10"


def test_an_unanswered_call_without_a_push_is_explained_as_by_the_command(world, page):
    unanswered(world)
    page.search("callId", "c-1", service(world))
    ((*_, verdict, name),) = page.rows(1)
    assert name == "c-1" and verdict.startswith("Nobody answered within 1.00 s. 10 had no connection, and no device")
    page.page.get_by_role("button", name="c-1").click()
    assert page.ladder() == ["offer", "no device to ring", "1.0 s later", "ended: unanswered"]
    assert page.lanes == ["caller 11", "server", "push service", "10"]
    explained = run("explain", "c-1", *world.server.store_options).stdout
    assert page.verdict and " ".join(page.verdict) in " ".join(explained.split())
    assert page.page.locator("#call h2").inner_text() == "Call c-1, epoch 1"


def test_the_ladder_has_a_lane_for_each_device_and_the_rows_of_the_command(world, page):
    register(world, "10", "iphone-h")
    hanako, taro = world.connect("10", "tablet-h"), world.connect("11", "phone-11")
    taro.ring(hanako, "c-1")
    hanako.expect(type="offer", callId="c-1")
    hanako.ask(type="ringing", callId="c-1")
    hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    for number in range(3):
        taro.ask(type="ice", callId="c-1", candidate=samples.candidate(number))
    taro.ask(type="end", callId="c-1")
    has_ended(world, "c-1")
    page.search("user", "11", service(world))
    page.rows(1)
    page.page.get_by_role("button", name="c-1").click()
    rows = page.ladder()
    assert set(page.lanes[3:]) == {"iphone-h", "tablet-h"}
    for row in ("offer", "ping", "push: not sent", "ringing", "answer", "ice ×3", "end", "ended: hangup"):
        assert row in rows, rows
    lines = run("explain", "c-1", *world.server.store_options).stdout.split("Verdict:")[0].strip().splitlines()
    assert len(rows) == len(lines) - 3, "the command prints a title, an empty line and a heading more"


def test_names_and_searches_of_strangers_are_shown_as_text(world, make_page):
    unanswered(world, displayName=MARKUP)
    page = make_page()
    page.search("user", "10", service(world))
    ((_, caller, *_),) = page.rows(1)
    assert caller == f"{MARKUP}\n11"
    page.page.get_by_role("button", name="c-1").click()
    page.ladder()
    assert MARKUP in page.page.locator("#call p").first.inner_text()
    assert page.page.locator("main img, main td b").count() == 0
    for wanted in ("<b>", MARKUP, "../../healthz", "c-1/timeline"):
        page.page.evaluate("markup => (location.hash = new URLSearchParams({ callId: markup }))", wanted)
        page.says("callId: must be 1 to 128 characters")
        assert page.page.locator("#found-title").text_content() == f"Calls with the callId {wanted}"
    assert page.page.locator("main img").count() == 0 and not page.page.evaluate("() => 'isHacked' in window")
    # Chromium reports the refused requests, and must have nothing else to report.
    assert [error.split("status of ")[-1][:3] for error in page.errors] == ["400"] * 4
    page.errors.clear()


def test_markup_cannot_become_an_element_even_by_mistake(page):
    refused = "() => { try { document.body.innerHTML = '<b>'; } catch (error) { return error.name; } }"
    assert page.page.evaluate(refused) == "TypeError"
    page.errors.clear()


def test_older_calls_follow(world, page):
    more_than_a_page(world)
    page.search("user", "10", service(world))
    assert page.rows(50)[0][-1] == "c-50"
    page.page.get_by_role("button", name="Older calls").click()
    assert page.rows(51)[-1][-1] == "c-0"
    page.page.locator("#more").wait_for(state="hidden")
    page.says("51 calls.")
    assert page.page.evaluate("() => document.activeElement.textContent") == "c-0", (
        "the keyboard goes on in the new rows"
    )


def test_older_calls_can_be_asked_for_again_after_a_failure(world, page):
    more_than_a_page(world)
    page.search("user", "10", service(world))
    page.rows(50)
    page.page.route("**/api/calls?*", lambda route: route.abort())
    page.page.get_by_role("button", name="Older calls").click()
    page.says("The server cannot be reached.")
    page.page.unroute("**/api/calls?*")
    page.page.get_by_role("button", name="Older calls").click()
    page.rows(51)
    page.errors.clear()


@pytest.mark.parametrize("call_id", [".", "..", "signal", "timeline"])
def test_a_call_of_any_call_id_is_found_and_explained(world, page, call_id):
    """Callers choose the callId: none may hide a call from the page."""
    offer = {"action": "offer", "callId": call_id, "to": "10", "data": {"sdp": samples.OFFER}}
    response = world.rest("11").post("/api/calls/signal", offer)
    assert response.status_code == 200, response.text
    has_ended(world, call_id)
    for kind, text in (("user", "10"), ("callId", call_id)):
        page.search(kind, text, service(world))
        page.rows(1)
        page.page.locator("#calls button").click()
        assert page.ladder()[-1] == "ended: unanswered"


def test_a_ladder_that_cannot_be_read_does_not_leave_that_of_another_call(world, page):
    unanswered(world, "c-1")
    unanswered(world, "c-2")
    page.search("user", "10", service(world))
    page.rows(2)
    page.page.get_by_role("button", name="c-1").click()
    page.ladder()
    page.page.route("**/api/timeline?*", lambda route: route.abort())
    page.page.get_by_role("button", name="c-2").click()
    page.says("The server cannot be reached.")
    assert page.page.locator("#call").is_hidden()
    page.errors.clear()


def test_the_row_of_a_call_that_has_ended_since_the_search_is_brought_up_to_date(world, page):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, "c-1")
    hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    page.search("user", "10", service(world))
    ((*_, outcome, _, _),) = page.rows(1)
    assert outcome == "answered"
    taro.ask(type="end", callId="c-1")
    has_ended(world, "c-1")
    page.page.get_by_role("button", name="c-1").click()
    assert page.ladder()[-1] == "ended: hangup"
    ((*_, outcome, verdict, _),) = page.rows(1)
    assert outcome.startswith("answered, ") and " ".join(page.verdict) == verdict


def test_a_name_from_right_to_left_does_not_turn_the_line_round(world, page):
    unanswered(world, displayName="\u202eoraT")
    page.search("user", "10", service(world))
    page.rows(1)
    page.page.get_by_role("button", name="c-1").click()
    page.ladder()
    places = """p => ["11", "calls", "audio"].map((word) => {
      const node = [...p.childNodes].find((each) => each.nodeType === Node.TEXT_NODE && each.data.includes(word));
      const range = document.createRange();
      range.setStart(node, node.data.indexOf(word));
      range.setEnd(node, node.data.indexOf(word) + word.length);
      return range.getBoundingClientRect().left;
    })"""
    found = page.page.locator("#call p").first.evaluate(places)
    assert found == sorted(found)


def test_each_name_is_above_its_line(world, make_page):
    for number in range(3):
        register(world, "10", f"6ba7b810-9dad-11d1-80b4-00c04fd430c{number}", f"{number}b" * 32)
    unanswered(world)
    page = make_page(viewport={"width": 360, "height": 740})
    page.search("user", "10", service(world))
    page.rows(1)
    page.page.get_by_role("button", name="c-1").click()
    page.ladder()
    widths = page.page.locator("#call .lanes span").evaluate_all(
        "all => all.map((each) => each.getBoundingClientRect().width)"
    )
    assert max(widths) - min(widths) < 1, widths


@pytest.mark.parametrize("width", [360, 1120])
def test_the_longest_ids_do_not_make_the_page_wider(world, make_page, width):
    call_id, user = "c" * 128, "u" * 128
    world.rest("11").signal("offer", call_id, sdp=samples.OFFER, to=user)
    has_ended(world, call_id)
    page = make_page(viewport={"width": width, "height": 740})
    page.search("user", user, service(world))
    page.rows(1)
    page.page.locator("#calls button").click()
    page.ladder()
    assert page.page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_a_token_is_taken_as_people_paste_it_and_refused_in_words(world, page):
    unanswered(world)
    for pasted in (f"  {service(world)} ", f"Bearer {service(world)}"):
        page.search("callId", "c-1", pasted)
        page.rows(1)
        page.page.evaluate("() => { location.hash = ''; }")
        page.says("Search for a user or a callId")
    page.search("callId", "c-1", "ключ")
    page.says("This is no token")


def test_the_page_works_by_keyboard(world, page):
    unanswered(world, "c-1")
    unanswered(world, "c-2")
    page.page.get_by_label("Token of a service").fill(service(world))
    page.page.get_by_label("User or callId").fill("10")
    page.page.get_by_label("User or callId").press("Enter")
    page.rows(2)
    page.page.get_by_role("button", name="c-2").focus()
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("Enter")
    page.ladder()
    assert page.page.locator("#call h2").inner_text() == "Call c-1, epoch 1"
    assert page.page.locator("tr[aria-current=true] button").inner_text() == "c-1"


def test_the_browsers_back_button_returns_to_the_search_before(world, page):
    unanswered(world, "c-1")
    unanswered(world, "c-2")
    page.search("user", "10", service(world))
    page.rows(2)
    page.search("callId", "c-1")
    page.rows(1)
    page.page.go_back()
    page.rows(2)
    assert page.page.get_by_label("User or callId").input_value() == "10"


def test_a_search_that_finds_nothing_says_so(page, world):
    page.search("user", "nobody", service(world))
    page.says("This user has had no call")
    page.search("callId", "c-9")
    page.says("There is no such call")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_phone_in_light_and_dark(world, make_page, scheme):
    unanswered(world, "a-long-callId-" * 8, displayName="Taro " * 20)
    page = make_page(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page.search("user", "10", service(world))
    page.rows(1)
    page.page.locator("#calls button").click()
    page.ladder()
    assert page.page.evaluate("() => document.documentElement.scrollWidth") <= 360
    ground = page.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(15, 20, 27)") == (scheme == "dark")


def test_the_first_sight_is_the_newest_calls_and_what_is_wrong(world, page):
    page.says("Give a token")
    assert "ringline token --user operator --service" in page.page.locator(".hint").inner_text()
    unanswered(world, "c-1")
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ring(hanako, "c-2")
    hanako.ask(type="answer", callId="c-2", sdp=samples.ANSWER)
    register(world, "10", "iphone-h")
    page.search("user", "", service(world))
    rows = page.rows(2)
    assert [(row[3], row[-1]) for row in rows] == [("answered", "c-2"), ("unanswered", "c-1")]
    page.says("Live calls: 1. The newest ended calls: 1.")
    (fault,) = page.page.locator("#faults li").all_inner_texts()
    assert "no APNs key is configured" in fault and "--apns-key-file" in fault
    assert page.page.locator(".hint").is_visible()
    taro.ask(type="end", callId="c-2")


def test_terminal_operators_page_and_demo_draw_the_same_twelve_calls(browser, make_server, make_world):
    world = make_world(make_server(*ladder_table.OPTIONS))
    for call in ladder_table.drawings(browser, world):
        assert ladders.same(call.operators, call.terminal), (call.operators, call.terminal)
        assert ladders.same(call.demo, call.terminal), (call.demo, call.terminal)
        assert call.verdicts["terminal"] == call.verdicts["operators' page"] == call.verdicts["demo"]


# The admin listener


@pytest.mark.parametrize("path", FILES + CALLS)
def test_without_the_setting_the_admin_listener_has_no_page(server, make_world, path):
    assert ask(make_world(server), path).status_code == 404


def test_the_clients_listener_has_no_page(world):
    for path in FILES:
        response = httpx.get(world.server.url + path, trust_env=False)
        # What stands at / there is for a person who opens the address.
        is_text = path == "/" and response.headers["content-type"].startswith("text/plain")
        assert response.status_code == 404 or is_text, path


def test_the_files_need_no_token_and_have_a_strict_policy(world):
    kinds = {"": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
    for path in FILES:
        response = ask(world, path, token="none")
        assert (response.status_code, response.headers["content-type"]) == (
            200,
            kinds[path.rpartition(".")[2].strip("/")],
        )
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert response.headers["x-content-type-options"] == "nosniff"
    assert "<script>" not in ask(world, "/").text and "style=" not in ask(world, "/").text
    for path in (
        "/operators/../../etc/passwd",
        "/operators/",
        "/operators/index.html",
        "/ringline.js",
        "/demo/demo.js",
    ):
        assert ask(world, path).status_code in (400, 404), path


def test_the_listener_still_has_health_and_metrics(world):
    for path in ("/healthz", "/readyz", "/metrics"):
        assert ask(world, path, token="none").status_code == 200
        assert ask(world, path, token="none", Host="anything").status_code == 200


def test_calls_need_the_token_of_a_service(world):
    unanswered(world)
    for path in CALLS:
        for token, status in (("none", 401), ("x.y.z", 401), (world.token("10"), 403)):
            assert ask(world, path, token=token).status_code == status, path
        expired = ask(world, path, token=world.token("operator", scope="server", ttl=-3600))
        assert (expired.status_code, expired.json()["code"]) == (401, "token_expired")
        assert ask(world, f"{path}{'&' if '?' in path else '?'}token={service(world)}", token="none").status_code == 401
        assert ask(world, path).status_code == 200, path


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_writes_are_refused(world, method):
    unanswered(world)
    for path in [*CALLS, "/", "/api/logout-all", "/api/calls/signal"]:
        response = ask(world, path, method=method)
        assert response.status_code in (404, 405, 411), path
    assert ask(world, "/api/namesakes?callId=c-1").json()[0]["state"] == "ended"


@pytest.mark.parametrize("path", ["/api/me/devices", "/api/blocks", "/api/turn-cred", "/api/calls/signal/c-1", "/ws"])
def test_the_rest_of_the_api_is_not_there(world, path):
    assert ask(world, path).status_code == 404


NAMES = {
    "evil.example": 403, "localhost": 200, "LOCALHOST": 200, "[::1]": 200, "127.0.0.1": 200, "ringline": 200,
    "ringline.calls.svc.cluster.local": 200, "a.svc.evil.example": 403, "ringline.internal": 403,
}  # fmt: skip


def test_a_page_of_another_name_gets_nothing(world):
    """A page of the internet can make its own name lead to this machine, and read what the listener answers."""
    port = world.server.admin_url.rsplit(":", 1)[1]
    for name, status in NAMES.items():
        for host in (name, f"{name}:{port}"):
            for path in ("/", "/operators/operators.js", "/api/calls?user=10", "/metrics", "/healthz", "/readyz"):
                assert ask(world, path, Host=host).status_code == status, (host, path)


def test_a_configured_name_is_admitted(make_server, make_world):
    world = make_world(make_server(*OPTIONS, "--admin-listen", "0.0.0.0:0", "--admin-host", "Ringline.internal"))
    world.server.admin_url = world.server.admin_url.replace("0.0.0.0", "127.0.0.1")
    for path in ("/", "/metrics", "/readyz"):
        assert ask(world, path, Host="ringline.internal:9090").status_code == 200
        assert ask(world, path, Host="other.internal:9090").status_code == 403
    assert ask(world, "/api/calls?user=10", Host="ringline.internal:9090", token="none").status_code == 401


# The calls


def test_a_users_calls_are_listed_in_pages(world):
    for number in range(5):
        unanswered(world, f"c-{number}")
    found = ask(world, "/api/calls?user=10&limit=2").json()
    assert [call["callId"] for call in found] == ["c-4", "c-3"]
    found = ask(world, f"/api/calls?user=10&limit=100&before={found[-1]['id']}").json()
    assert [call["callId"] for call in found] == ["c-2", "c-1", "c-0"]
    assert ask(world, "/api/calls?user=12").json() == []
    assert found[0].keys() == {
        "id", "callId", "epoch", "caller", "callee", "hasVideo", "startedAt", "state", "reason", "outcome", "verdict",
    }  # fmt: skip


@pytest.mark.parametrize(
    "path, field",
    [
        ("/api/calls", "user"),
        ("/api/calls?user=%3Cb%3E", "user"),
        ("/api/calls?user=10&limit=101", "limit"),
        ("/api/calls?user=10&limit=0", "limit"),
        ("/api/calls?user=10&before=x", "before"),
        ("/api/namesakes", "callId"),
        ("/api/namesakes?callId=%3Cb%3E", "callId"),
        ("/api/timeline", "callId"),
        ("/api/timeline?callId=..%2F..%2Fhealthz", "callId"),
        ("/api/timeline?callId=c-1&epoch=0", "epoch"),
        ("/api/timeline?callId=c-1&peer=%20", "peer"),
    ],
)
def test_an_invalid_value_is_refused(world, path, field):
    response = ask(world, path)
    assert (response.status_code, response.json()["code"], response.json()["field"]) == (400, "invalid_field", field)


def test_users_and_epoch_choose_among_calls_under_one_call_id(world):
    unanswered(world, "same")
    unanswered(world, "same")
    world.rest("12").signal("offer", "same", sdp=samples.OFFER, to="13")
    eventually(lambda: len(ask(world, "/api/namesakes?callId=same").json()) == 3)
    assert [(call["caller"], call["epoch"]) for call in ask(world, "/api/namesakes?callId=same").json()] == [
        ("12", 1),
        ("11", 2),
        ("11", 1),
    ]
    first, second = (ask(world, f"/api/timeline?callId=same&user=11&peer=10&epoch={epoch}").json() for epoch in (1, 2))
    assert (first["epoch"], second["epoch"]) == (1, 2) and first["startedAt"] < second["startedAt"]
    assert ask(world, "/api/timeline?callId=same&user=14").status_code == 404
    assert ask(world, "/api/timeline?callId=other").status_code == 404


def test_a_call_that_its_callee_may_not_see_is_shown(world):
    """The page answers why it did not ring, and a block is such a reason."""
    assert world.rest("10").post("/api/blocks", {"userId": "11"}).status_code == 200
    unanswered(world)
    ((call,), timeline) = (ask(world, "/api/calls?user=10").json(), ask(world, "/api/timeline?callId=c-1").json())
    assert "10 has blocked 11" in call["verdict"][0] and timeline["verdict"] == call["verdict"]
    assert [event["event"] for event in timeline["events"]] == ["offer", "blocked", "ended"]


def test_no_description_and_no_address_is_shown(world):
    unanswered(world)
    for path in CALLS:
        text = ask(world, path).text
        assert "v=0" not in text and "127.0.0.1" not in text and "candidate" not in text


def test_each_search_is_in_the_audit_log(make_server, make_world, tmp_path):
    path = tmp_path / "audit.jsonl"
    world = make_world(make_server(*OPTIONS, "--audit-log", path))
    for asked in CALLS:
        ask(world, asked)
    assert ask(world, CALLS[0], token=world.token("10")).status_code == 403

    def found():
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        return [{**line, "time": ""} for line in lines if line["event"] == "calls_read"]

    eventually(lambda: len(found()) == len(CALLS))
    usual = {"time": "", "event": "calls_read", "service": "operator"}
    assert found() == [usual | {"user": "10"}, usual | {"callId": "c-1"}, usual | {"callId": "c-1"}, usual]


def test_each_of_several_nodes_shows_all_calls(make_cluster, make_world):
    worlds = [make_world(node) for node in make_cluster(*OPTIONS).nodes]
    worlds[0].rest("11").signal("offer", "c-1", sdp=samples.OFFER, to="10")
    for world in worlds:
        (call,) = ask(world, "/api/calls?user=10").json()
        assert (call["callId"], call["state"]) == ("c-1", "ringing") and "The call is ringing." in call["verdict"]
        assert ask(world, "/api/calls?user=10", token="none").status_code == 401


# What is wrong now


def faults(world) -> list[str]:
    response = ask(world, "/api/overview")
    assert response.status_code == 200, response.text
    return response.json()["faults"]


def test_pushes_that_fail_are_wrong_until_one_is_accepted(apns, make_server, make_world):
    world = make_world(make_server(*OPTIONS, *push_options(apns), "--ring-timeout", "1"))
    register(world, "10", "iphone-h")
    assert faults(world) == []
    apns.script("*", [REFUSED])
    unanswered(world, "c-1")
    (fault,) = faults(world)
    assert re.match(r"1 of the newest 1 pushes through APNs failed, the last at \S+Z: 403 InvalidProviderToken: ", fault)
    assert "the key id, the team id and the .p8 file do not belong together" in fault
    # A device that has ended its registration is nothing that an operator must mend.
    apns.script("*", [{"status": 410, "reason": "Unregistered", "timestamp": 9_000_000_000_000}], replace=True)
    unanswered(world, "c-2")
    assert faults(world) == [fault]
    register(world, "10", "iphone-h", "cd" * 32)
    unanswered(world, "c-3")
    assert faults(world) == []


def test_pushes_without_a_key_are_one_fault(world):
    register(world, "10", "iphone-h")
    unanswered(world)
    (fault,) = faults(world)
    assert fault.startswith("Devices have registered for APNs, and no APNs key is configured"), fault


def test_a_node_says_that_there_is_no_owner(make_cluster, make_world):
    """While another transaction holds the owner's row, no node can take over the calls of the one that was killed."""
    cluster = make_cluster(*OPTIONS, nodes=2)
    owner, (other,) = cluster.owner(), cluster.edges()
    world, postgres = make_world(other), cluster.postgres
    assert faults(world) == []
    with postgres.holding("SELECT FROM ringline.owner WHERE slot = 0 FOR UPDATE", cluster.database):
        owner.kill()
        eventually(lambda: faults(world), TAKE_OVER_SECONDS)
        (fault,) = faults(world)
    assert re.match(r"No server owns the database: the last one, on \S+, was killed or cut off; its lease ended at ", fault)
    assert fault.endswith(" No call rings until a server does.")
    eventually(lambda: faults(world) == [], TAKE_OVER_SECONDS)
    # The database has the claim before the node has read the calls.
    eventually(lambda: cluster.owner() is other, TAKE_OVER_SECONDS)


# The settings


@pytest.mark.parametrize(
    "options, why",
    [
        ([*OPTIONS, "--admin-listen", "none"], "--admin-listen none"),
        ([*OPTIONS, "--data", ":memory:"], "--data :memory:"),
        (
            ["--operator-pages", "/nowhere"],
            "/nowhere/operators/index.html cannot be read: no such file or directory; run Sources/Clients/RinglineJS/build",
        ),
    ],
)
def test_settings_that_leave_nothing_to_serve_are_refused(tmp_path, options, why):
    one_clear_line(serve(tmp_path, *options), "--operator-pages", why)


def test_the_list_of_files_is_that_of_the_folders():
    """A module that the page imports and the server does not know would be missing in a browser only."""
    source = (ROOT / "Sources/Server/ringline/Operators/CallsPage.swift").read_text()
    for folder in ("page", "operators"):
        for path in (ROOT / "Sources/Clients/RinglineJS" / folder).iterdir():
            assert f'"/{folder}/{path.name}"' in source, path

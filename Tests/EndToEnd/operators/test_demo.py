"""`ringline demo`: two phones on a page of this machine, whose calls can be watched while they happen."""

import re
import socket
import subprocess

import browsers
import chromium
import firefox
import httpx
import jwt
import ladders
import pytest
from demo import Demo, Phones, killed_app, refused_push, second_device, suspended_app
from postgres_server import one_process
from ringline_server import ROOT, binary, clean_environment, free_port
from test_turn import coturn, secret_file  # noqa: F401 - fixtures
from waiting import eventually

pytestmark = one_process("the demo keeps its calls in memory")


@pytest.fixture(scope="module")
def browser():
    with chromium.running() as browser:
        yield browser


@pytest.fixture
def make_demo():
    demos = []

    def make(*options) -> Demo:
        demos.append(Demo(*options))
        return demos[-1]

    yield make
    for demo in demos:
        log = [line for line in demo.stop().splitlines() if "push.reason=Unregistered" not in line]
        assert not log, "only a push that is to be refused is worth a warning"


@pytest.fixture
def make_phones(browser, make_demo):
    """Returns a function that opens the page of a new demo; fails if the page had an error."""
    with browsers.opening(lambda *options, **more: Phones(browser, make_demo(*options).url, **more)) as make:
        yield make


@pytest.fixture
def phones(make_phones):
    return make_phones()


def in_order(phones, *wanted: str):
    """Waits until these rows are among those of the newest call, in this order: the page asks for them now and then."""

    def shown():
        rest = iter(phones.rows)
        return all(any(row == each for row in rest) for each in wanted)

    eventually(shown, why=lambda: f"{phones.rows}")


# The page


def test_a_call_shows_on_both_phones_and_its_ladder_grows_until_the_verdict(phones):
    phones.press("left", "Call")
    phones.says("right", "Taro calls")
    phones.says("left", "Ringing…")
    in_order(phones, "offer", "offer", "ringing")
    phones.press("right", "Answer")
    for side, hertz in (("left", 990), ("right", 440)):
        phones.says(side, "Talking")
        phones.hears(side, hertz)
    phones.shows("connected")
    assert not phones.page.locator(".call:first-child .verdict").is_visible()
    phones.press("left", "End")
    phones.says("right", "Ended: hangup")
    verdict = phones.verdict()
    assert "Hanako answered on the phone at" in verdict and "Taro hung up" in verdict, verdict
    assert re.fullmatch(r"Taro calls Hanako, video · \d\d:\d\d:\d\d · answered, [\d.]+ s", phones.title), phones.title
    in_order(phones, "offer", "answer", "connected", "end", "ended: hangup")


def test_a_killed_app_is_woken_by_a_push_and_answers(phones):
    killed_app(phones)
    phones.press("right", "Answer")
    for side in ("left", "right"):
        phones.says(side, "Talking")
    # The page sees the push that wakes the app, perhaps before the server has noted its result.
    in_order(phones, "offer", "push", "200")
    in_order(phones, "push", "wakes the app", "ringing", "answer")


def test_a_suspended_app_does_not_answer_the_probe_and_is_woken_by_a_push(phones):
    suspended_app(phones)
    phones.shows("ringing")
    in_order(phones, "offer", "offer", "ping", "no answer", "push", "200")
    in_order(phones, "push", "wakes the app", "ringing")
    assert 2 <= phones.second_of("no answer") <= phones.second_of("push") < 4
    phones.is_on("right", "connected")
    phones.press("right", "Answer")
    for side, hertz in (("left", 990), ("right", 440)):
        phones.says(side, "Talking")
        phones.hears(side, hertz)
    phones.press("right", "End")
    phones.says("left", "Ended: hangup")
    assert "a connection that did not answer its ping was closed first" in phones.verdict()


def test_an_app_that_is_suspended_for_a_moment_keeps_its_connection(phones):
    phones.press("right", "Suspend app")
    phones.is_on("right", "suspended")
    phones.press("right", "Suspend app")
    phones.is_on("right", "connected")
    phones.talk()
    assert "no answer" not in phones.rows and "push" not in phones.rows


def test_a_user_who_calls_with_a_suspended_app_has_opened_it(phones):
    phones.press("left", "Suspend app")
    phones.says("left", "App suspended")
    phones.press("left", "Call")
    phones.says("right", "Taro calls")
    phones.says("left", "Ringing…")


def test_an_app_that_is_killed_while_it_is_suspended_starts_anew(phones):
    phones.press("right", "Suspend app")
    phones.says("right", "App suspended")
    killed_app(phones)
    phones.press("right", "Answer")
    phones.says("left", "Talking")


def test_both_devices_of_a_user_ring_and_the_first_that_answers_has_the_call(phones):
    second_device(phones)
    phones.page.wait_for_function(
        "() => [...document.querySelectorAll('.row span')].filter((row) => row.textContent === 'ringing').length === 2"
    )
    assert phones.lanes[:3] == ["Taro's phone", "server", "push service"]
    assert sorted(phones.lanes[3:]) == ["Hanako's phone", "Hanako's tablet"]
    in_order(phones, "offer", "offer", "offer", "ringing", "ringing")
    phones.press("right-second", "Answer")
    phones.says("right", "Ended: answered elsewhere")
    phones.says("left", "Talking")
    phones.hears("left", 1240)
    phones.hears("right-second", 440)
    phones.shows("connected")
    in_order(phones, "answer", "connected")
    phones.press("left", "End")
    phones.says("right-second", "Ended: hangup")


def test_a_device_that_declines_declines_for_the_other(phones):
    second_device(phones)
    phones.press("right", "Decline")
    phones.says("right-second", "Ended: declined elsewhere")
    phones.says("left", "Ended: declined")


def test_a_tablet_answers_for_a_phone_that_is_suspended(phones):
    phones.press("right", "Suspend app")
    phones.says("right", "App suspended")
    phones.press_second("right")
    phones.is_on("right-second", "connected")
    phones.press("left", "Call")
    phones.says("right-second", "Taro calls")
    phones.press("right-second", "Answer")
    phones.says("left", "Talking")


def test_a_second_device_that_was_taken_away_does_not_ring(phones):
    phones.press_second("right")
    phones.is_on("right-second", "connected")
    phones.press_second("right")
    phones.page.locator("#right-second").wait_for(state="detached")
    phones.waits("#right-more[aria-pressed=false]", "Second device")
    phones.talk()
    assert phones.lanes == ["Taro's phone", "server", "push service", "Hanako's phone"]


def test_a_push_that_apple_refuses_wakes_nobody(phones):
    refused_push(phones)
    assert "Unregistered" in phones.verdict()
    phones.says("right", "App killed")


def test_a_call_is_declined(phones):
    phones.press("right", "Call")
    phones.says("left", "Hanako calls")
    phones.press("left", "Decline")
    phones.says("right", "Ended: declined")
    assert "declined" in phones.verdict()


@pytest.mark.timeout(300)
def test_a_machine_without_a_sound_device_is_not_said_to_be_silent(make_demo):
    with firefox.running() as browser:
        page = browser.new_context().new_page()
        page.set_default_timeout(60_000)
        page.goto(f"{make_demo().url}/")
        page.wait_for_function("() => window.demo?.isReady")
        for side, key in (("left", "call"), ("right", "answer")):
            button = f"document.querySelector('#{side} [data-key={key}]')"
            page.wait_for_function(f"() => {button} !== null && !{button}.hidden")
            page.evaluate(f"() => {button}.click()")
        # Firefox starts no sound without a device. A machine that has one hears the tone.
        heard = "document.querySelector(`#${side} .detail`).textContent"
        for side in ("left", "right"):
            page.wait_for_function(f"(side) => /no sound device|hears \\d+ Hz/.test({heard})", arg=side)
        page.context.close()


def test_hold_and_mute_silence_the_peer(phones):
    phones.talk()
    phones.press("left", "Hold")
    phones.says("right", "Taro holds")
    phones.says("left", "On hold")
    phones.waits("#right .detail", phones.page.locator("#right .detail").inner_text())
    phones.press("left", "Hold")
    phones.hears("right", 440)
    phones.press("right", "Mute")
    phones.page.wait_for_function(
        "() => document.querySelector('#left .detail').textContent.includes('Hanako is muted')"
    )


def test_both_users_who_call_at_once_have_one_call(phones):
    phones.page.get_by_role("button", name="Both call at once").click()
    for side in ("left", "right"):
        phones.says(side, "Talking")
    phones.press("left", "End")
    phones.says("right", "Ended: hangup")


def test_focus_keeps_a_phone_silent_and_the_caller_does_not_notice(phones):
    phones.press("right", "Focus")
    phones.page.wait_for_selector("#right [data-fault=focus][aria-pressed=true]")
    phones.press("left", "Call")
    phones.shows("do not disturb")
    phones.says("left", "Calling…")
    phones.says("right", "Ready")


def test_a_phone_that_had_no_network_rings_when_it_is_back(phones):
    phones.press("right", "No network")
    phones.is_on("right", "no network")
    phones.press("left", "Call")
    phones.shows("push")
    phones.says("right", "Ready")
    phones.press("right", "No network")
    phones.says("right", "Taro calls")


def test_an_expired_token_is_replaced_by_a_new_one(phones):
    # The phone may be connected again before a poll of the page sees that it was not.
    phones.page.evaluate(
        """() => {
            const net = document.querySelector('#right .net')
            window.wasOffline = false
            new MutationObserver(() => { window.wasOffline ||= net.textContent !== 'connected' })
                .observe(net, { childList: true, characterData: true, subtree: true })
        }"""
    )
    phones.press("right", "Expire token")
    phones.page.wait_for_function("() => window.wasOffline")
    phones.is_on("right", "connected")
    phones.talk()


def test_the_page_works_by_keyboard(phones):
    phones.page.keyboard.press("1")
    phones.says("right", "Taro calls")
    phones.page.keyboard.press("2")
    phones.says("left", "Talking")
    phones.page.keyboard.press("w")
    phones.says("left", "Ended: hangup")


def test_suspended_apps_and_second_devices_work_by_keyboard(phones):
    keyboard = phones.page.keyboard
    keyboard.press("x")
    phones.is_on("right-second", "connected")
    keyboard.press("s")
    phones.says("right", "App suspended")
    keyboard.press("f")
    phones.says("right-second", "App suspended")
    keyboard.press("f")
    phones.is_on("right-second", "connected")
    keyboard.press("1")
    phones.says("right-second", "Taro calls")
    keyboard.press("4")
    phones.says("left", "Talking")
    keyboard.press("r")
    phones.says("left", "Ended: hangup")
    keyboard.press("x")
    phones.page.locator("#right-second").wait_for(state="detached")
    # Without the shortcuts, the buttons have the focus and the keys of every button.
    phones.page.locator("#left-more").focus()
    keyboard.press("Enter")
    phones.is_on("left-second", "connected")
    phones.page.locator("#left-second").get_by_role("button", name="Suspend app").focus()
    keyboard.press("Space")
    phones.says("left-second", "App suspended")


def test_the_first_sight_is_four_lines_and_three_things_to_try(phones):
    page = phones.page
    assert page.locator("#first .lanes span").all_text_contents() == [
        "Taro's phone",
        "server",
        "push service",
        "Hanako's phone",
    ]
    assert page.locator(".steps li").count() == 3
    page.locator("[data-step=refuse]").click()
    phones.shows("410 Unregistered")
    page.locator("#first").wait_for(state="hidden")
    phones.says("right", "App killed")


def test_an_incoming_call_rings_and_can_be_told_to_be_quiet(phones):
    phones.press("left", "Call")
    phones.says("right", "Taro calls")
    screen = phones.page.locator("#right .screen")
    assert screen.get_attribute("data-look") == "ringing" and phones.page.locator("#right .face").is_visible()
    phones.page.wait_for_selector("#right .screen[data-tone]")
    phones.page.get_by_label("Ring tone").uncheck()
    phones.page.wait_for_selector("#right .screen:not([data-tone])")
    phones.page.get_by_label("Ring tone").check()
    phones.page.wait_for_selector("#right .screen[data-tone]")
    phones.press("right", "Answer")
    phones.page.wait_for_selector("#right .screen:not([data-tone])")


def test_a_call_without_a_picture_has_a_face(phones):
    phones.page.get_by_label("Video").uncheck()
    phones.talk()
    for side in ("left", "right"):
        assert phones.page.locator(f"#{side} .face").is_visible()
        assert not phones.page.locator(f"#{side} .remote").is_visible()
    assert "audio" in phones.title


def test_on_hold_the_picture_is_dimmed_and_not_black(phones):
    phones.talk()
    phones.hears("left", 990)
    # Two pictures of the peer are kept, half a second apart.
    brightest = """() => {
        const still = document.querySelector('#left .still')
        const { data } = still.getContext('2d').getImageData(0, 0, still.width, still.height)
        return data.reduce((most, value, index) => (index % 4 === 3 ? most : Math.max(most, value)), 0)
    }"""
    phones.page.wait_for_function(f"() => ({brightest})() > 100")
    phones.press("left", "Hold")
    phones.says("left", "On hold")
    assert phones.page.locator("#left .still").is_visible()
    phones.page.wait_for_timeout(700)
    assert phones.page.evaluate(brightest) > 100
    assert "brightness" in phones.page.locator("#left .still").evaluate("(still) => getComputedStyle(still).filter")
    # Chromium warns of a page that reads a picture again and again, as this test does.
    phones.errors[:] = [error for error in phones.errors if "willReadFrequently" not in error]


@pytest.mark.parametrize("width, height", [(390, 844), (1440, 900)])
def test_a_killed_app_wakes_on_a_dark_screen_with_the_push(make_phones, width, height):
    phones = make_phones(viewport={"width": width, "height": height})
    phones.page.evaluate(
        """() => {
            const [screen, keys] = ['.screen', '.keys'].map((part) => document.querySelector(`#right ${part}`))
            window.wasAnswerable = false
            new MutationObserver(() => {
                window.wasAnswerable ||= screen.dataset.look === 'waking' && [...keys.children].some((key) => !key.hidden)
            }).observe(document.getElementById('right'), { attributes: true, subtree: true })
        }"""
    )
    phones.press("right", "Kill app")
    phones.press("left", "Call")
    phones.page.wait_for_selector("#right .screen[data-look=waking]")
    assert phones.page.locator("#right .banner").inner_text() == "Woken by a push"
    phones.says("right", "Taro calls")
    assert not phones.page.evaluate("() => window.wasAnswerable"), "a dark screen cannot be answered"
    places = """() => ['.banner', '.face'].map((part) => document.querySelector(`#right ${part}`).getBoundingClientRect())
        .map(({ top, bottom }) => [top, bottom])"""
    banner, face = phones.page.evaluate(places)
    assert banner[1] <= face[0], "the caller's face is covered"
    is_whole(phones, "right", ".state")


def test_a_reload_leaves_no_device_behind(phones):
    phones.press_second("right")
    phones.is_on("right-second", "connected")
    phones.press("right", "Focus")
    phones.page.reload()
    phones.page.wait_for_function("() => window.demo?.isReady")
    phones.talk()
    assert phones.lanes == ["Taro's phone", "server", "push service", "Hanako's phone"]
    assert "push" not in phones.rows


def test_nobody_rings_too_often(phones):
    for _ in range(8):
        phones.press("left", "Call")
        phones.says("right", "Taro calls")
        phones.press("left", "End")
        phones.says("right", "Ended: cancelled")


def is_whole(phones, side: str, part: str):
    """Checks that nothing of this part of a phone's screen is cut off."""
    glass = phones.page.locator(f"#{side} .screen").evaluate(
        "(screen) => screen.getBoundingClientRect().top + screen.clientTop + screen.clientHeight"
    )
    box = phones.page.locator(f"#{side} {part}").bounding_box()
    assert box["y"] + box["height"] <= glass, (part, box, glass)


@pytest.mark.parametrize("width, height", [(390, 844), (1440, 900), (1920, 1080)])
def test_phones_and_ladder_share_one_screen(make_phones, width, height):
    phones = make_phones(viewport={"width": width, "height": height})
    phones.talk()
    phones.shows("connected")
    box = phones.page.locator(".calls").bounding_box()
    row = phones.page.locator(".call:first-child .row").first.bounding_box()
    assert row["y"] + row["height"] < height, (row, height)
    assert height - 40 < box["y"] + box["height"] <= height, (box, height)
    for side in ("left", "right"):
        screen = phones.page.locator(f"#{side} .screen").bounding_box()
        assert screen["y"] + screen["height"] < height, screen
        is_whole(phones, side, ".detail")
    phones.press("left", "Hold")
    for side, words in (("left", "On hold"), ("right", "Taro holds")):
        phones.says(side, words)
        is_whole(phones, side, ".detail")
    size = phones.page.evaluate("() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert size[0] <= width and size[1] <= height, size


@pytest.mark.parametrize("count", [2, 5])
def test_a_ladder_has_as_many_lanes_as_there_are(phones, count):
    lanes = [{"kind": "callee", "name": f"lane {number}"} for number in range(count)]
    rows = [
        {"time": f"+{lane} ms", "from": lane, "to": (lane + 1) % count, "label": f"to {lane}", "look": "", "arrives": True}
        for lane in range(count)
    ]
    shown = {"lanes": lanes, "rows": rows, "verdict": [], "isOver": False}
    script = """async (shown) => {
        const { Ladder } = await import("/page/ladder.js")
        const ladder = new Ladder()
        ladder.show(shown)
        document.getElementById("calls").prepend(ladder.element)
        return ladder.element
    }"""
    drawn = phones.page.evaluate_handle(script, shown).evaluate(ladders.SCRIPT)
    wanted = [[row["time"], row["label"], row["from"], row["to"], True] for row in rows]
    assert drawn == [[lane["name"] for lane in lanes], wanted]
    middles = phones.page.locator("#calls .lanes span").evaluate_all(
        "(all) => all.map((each) => each.getBoundingClientRect()).map(({ x, width }) => x + width / 2)"
    )
    arrow = phones.page.locator("#calls .arrow").first.bounding_box()
    assert abs(arrow["x"] - middles[0]) < 2 and abs(arrow["x"] + arrow["width"] - middles[1]) < 2


def test_the_page_fits_a_phone(make_phones):
    phones = make_phones(viewport={"width": 360, "height": 740})
    phones.press_second("left")
    phones.press_second("right")
    phones.talk()
    assert phones.page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_turn_only_is_offered_with_a_turn_server_and_relays(make_phones, phones, coturn, secret_file):  # noqa: F811
    assert phones.page.locator("#turn-option").is_hidden()
    relayed = make_phones("--turn-url", f"turn:127.0.0.1:{coturn}?transport=udp", "--turn-secret-file", secret_file)
    relayed.page.get_by_label("TURN only").check()
    relayed.talk()
    relayed.hears("left", 990)


# The server


def refusal(*options) -> str:
    result = subprocess.run(
        [str(binary()), "demo", *map(str, options)], capture_output=True, text=True, timeout=15, env=clean_environment()
    )
    assert result.returncode == 1 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    return result.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "[::]"])
def test_another_host_is_refused(host):
    assert "--listen: must be 127.0.0.1" in refusal("--listen", f"{host}:0", "--pages", browsers.PACKAGE)


@pytest.mark.parametrize("address", ["192.0.2.1:8090", "0.0.0.0:8090", "ringline.example:8090", "127.0.0.1", "127.0.0.1:0"])
def test_a_container_is_published_for_the_machine_itself_only(address):
    told = refusal("--published-on", address, "--pages", browsers.PACKAGE)
    assert "--published-on: must be an address of the machine itself" in told and address in told


def test_in_a_container_the_page_is_for_the_published_address():
    """As the image starts it: the variable is set, and the server listens on all addresses of the container."""
    command = [str(binary()), "demo", "--listen", "0.0.0.0:0", "--pages", str(browsers.PACKAGE)]
    environment = clean_environment() | {
        "RINGLINE_DEMO_PUBLISHED_ON": "127.0.0.1:8090",
        "RINGLINE_ADMIN_LISTEN": f"127.0.0.1:{free_port()}",
    }
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            told = "".join(process.stdout.readline() for _ in range(4))
            assert told.startswith("demo on http://127.0.0.1:8090/\n"), told
            port = int(re.search(r"It listens on 0\.0\.0\.0:(\d+), and trusts that only 127\.0\.0\.1:8090", told)[1])
            assert f"-p 127.0.0.1:8090:{port}" in told and "ssh -L 8090:127.0.0.1:8090 " in told, told
            # The image's HEALTHCHECK.
            assert subprocess.run([str(binary()), "health"], env=environment, stdout=subprocess.DEVNULL).returncode == 0
            for host, status in (("127.0.0.1:8090", 200), ("172.17.0.2:8090", 404), ("evil.example:8090", 404)):
                for path in ("/", "/demo/token"):
                    url = f"http://127.0.0.1:{port}{path}"
                    assert httpx.get(url, headers={"Host": host}, trust_env=False).status_code == status, (host, path)
        finally:
            process.terminate()


def test_a_container_is_published_at_an_address_as_docker_takes_no_name():
    command = [str(binary()), "demo", "--listen", "127.0.0.1:0", "--pages", str(browsers.PACKAGE)]
    command += ["--published-on", "localhost:8090"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment()) as process:
        try:
            assert process.stdout.readline() == "demo on http://127.0.0.1:8090/\n"
            assert " -p 127.0.0.1:8090:" in process.stdout.readline()
        finally:
            process.terminate()


@pytest.mark.parametrize("name", ["127.0.0.1.example.com", "localhost.example.com", "127.0.0.+1", "127.1"])
def test_a_name_is_no_host(name):
    assert "--listen: must begin with an IP address" in refusal("--listen", f"{name}:0", "--pages", browsers.PACKAGE)


def test_missing_files_of_the_page_are_named(tmp_path):
    assert "--pages:" in refusal("--pages", tmp_path) and "Sources/Clients/RinglineJS/build" in refusal("--pages", tmp_path)


PATHS = [
    "/",
    "/demo/demo.js",
    "/demo/settings",
    "/demo/token",
    "/demo/pushes?token=aa",
    "/demo/silence?device=a",
    "/ringline.js",
    "/ringline.wasm",
]


@pytest.mark.parametrize("path", PATHS)
def test_serve_has_no_pages(world, path):
    response = httpx.get(world.server.url + path, trust_env=False)
    # What stands at / there is for a person who opens the address.
    assert response.status_code == 404 or path == "/" and response.headers["content-type"].startswith("text/plain")


def test_the_files_have_their_types_and_a_policy(make_demo):
    demo = make_demo()
    with httpx.Client(base_url=demo.url, trust_env=False) as client:
        for path, kind in (
            ("/", "text/html; charset=utf-8"),
            ("/demo/demo.css", "text/css; charset=utf-8"),
            ("/demo/phone.js", "text/javascript; charset=utf-8"),
            ("/ringline.wasm", "application/wasm"),
        ):
            response = client.get(path)
            assert (response.status_code, response.headers["content-type"]) == (200, kind)
            assert "script-src 'self' 'wasm-unsafe-eval'" in response.headers["content-security-policy"]
            assert "unsafe-inline" not in response.headers["content-security-policy"]
            assert response.headers["x-content-type-options"] == "nosniff"
        for path in ("/demo/../../etc/passwd", "/package.json", "/ringline.d.ts", "/demo/", "/demo/token?user=12"):
            assert client.get(path).status_code in (400, 404), path
        assert client.post("/demo/token").status_code == 404
        assert client.get("/demo/silence?on=true").status_code == 404


def test_a_page_of_another_name_gets_no_token(make_demo):
    demo = make_demo()
    port = demo.url.rsplit(":", 1)[1]
    for host, status in (("evil.example", 404), (f"evil.example:{port}", 404), (f"localhost:{port}", 200)):
        response = httpx.get(f"{demo.url}/demo/token", headers={"Host": host}, trust_env=False)
        assert response.status_code == status, host


def test_odd_hosts_and_paths_get_neither_a_token_nor_another_file(make_demo):
    demo = make_demo()
    port = int(demo.url.rsplit(":", 1)[1])

    def status(path: str, host: str) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=8) as client:
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            return client.recv(65_536)[9:12]

    odd = [
        "localhost.",
        "127.1",
        "127.0.0.+1",
        "0.0.0.0",
        "[::ffff:127.0.0.1]",
        "localhost,evil.example",
        "127.0.0.1@evil.example",
    ]
    for host in [
        *odd,
        "127.0.0.1.evil.example",
        "evil.example@127.0.0.1",
        "127.0.0.1:80:80",
        "localhost:x",
        "127.0.0.1 x",
    ]:
        assert status("/demo/token", host) in (b"400", b"404"), host
    for path in [
        "/..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/demo/demo.js%00",
        "/demo/token?user=11%00",
        "http://x/demo/token",
    ]:
        assert status(path, "127.0.0.1") in (b"400", b"404"), path
    assert status("/demo/token", "127.0.0.1") == b"200"


def test_the_tokens_are_of_a_key_of_this_run(make_demo):
    first, second = make_demo(), make_demo()
    token = httpx.get(f"{first.url}/demo/token?user=11", trust_env=False).text
    assert jwt.decode(token, options={"verify_signature": False})["sub"] == "11"
    bearer = {"Authorization": f"Bearer {token}"}
    assert httpx.get(f"{first.url}/api/me/devices", headers=bearer, trust_env=False).status_code == 200
    assert httpx.get(f"{second.url}/api/me/devices", headers=bearer, trust_env=False).status_code == 401


def test_a_schedule_is_made_in_a_time_zone_as_by_a_server(make_demo):
    url = make_demo().url
    token = httpx.get(f"{url}/demo/token?user=11", trust_env=False).text
    schedule = {"at": "06:30", "days": ["mon"], "timeZone": "Asia/Seoul", "from": {"id": "wake"}}
    bearer = {"Authorization": f"Bearer {token}"}
    response = httpx.put(f"{url}/api/schedules/s-1", json=schedule, headers=bearer, trust_env=False)
    assert response.status_code == 200, response.text
    assert response.json()["next"], "the schedule is due on a Monday"


def test_the_list_of_files_is_that_of_the_folder():
    """A module that the page imports and the server does not know would be missing in a browser only."""
    folder = ROOT / "Sources/Clients/RinglineJS"
    source = (ROOT / "Sources/Server/ringline/Demo/DemoPages.swift").read_text()
    listed = re.search(r"modules = \[(.*?)\]", source, re.DOTALL)[1]
    assert sorted(re.findall(r'"(.+?)"', listed)) == sorted(path.stem for path in folder.glob("*.js"))
    scripts = re.search(r"\+ \[(.*?)\]\.map", source)[1]
    assert sorted(re.findall(r'"(.+?)"', scripts)) == sorted(path.stem for path in (folder / "demo").glob("*.js"))
    for path in [*folder.glob("page/*"), *folder.glob("demo/*.html"), *folder.glob("demo/*.css")]:
        assert f'"/{path.relative_to(folder)}"' in source, path

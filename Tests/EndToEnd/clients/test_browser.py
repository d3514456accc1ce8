"""Calls between real browsers through the real server: sound and pictures, both ways."""

import re
import shlex
import shutil
import subprocess

import browsers
import chromium
import pytest
from postgres_server import one_process
from ringline_server import ROOT, binary
from scheduled import Minute, make, reasons, schedules
from test_turn import coturn, secret_file  # noqa: F401 - fixtures

pytestmark = one_process("the pages know the address of one server")


@pytest.fixture(scope="module")
def browser():
    with chromium.running() as browser:
        yield browser


@pytest.fixture(scope="module")
def pages():
    with browsers.pages() as address:
        yield address


@pytest.fixture
def web_server(make_server):
    """A server that these pages may use, and that keeps its address over a restart."""
    return make_server("--allow-origin", "*", "--listen", f"127.0.0.1:{browsers.safe_port()}")


@pytest.fixture
def make_phone_of(browser, pages, make_server, make_world):
    """Returns a function that makes a phone of a server. Fails if a page had an error that the test did not expect.

    It names `make_server` so that the pages are closed before the servers are.
    """
    phones = []

    def make(server, user: str, *, device=None, browser=browser, **options) -> browsers.Phone:
        phone = browsers.Phone.opened(browser, pages, user, device or f"web-{user}-{len(phones)}")
        phones.append(phone)
        return phone.boot(url=server.url, tokens=[make_world(server).token(user)], **options).wait_online()

    make.expected = ()
    yield make
    problems = [
        f"{phone.device}: {problem}"
        for phone in phones
        for problem in phone.problems
        if not problem.startswith(make.expected)
    ]
    for phone in phones:
        phone.close()
    assert not problems


@pytest.fixture
def make_phone(make_phone_of, web_server):
    return lambda user, **options: make_phone_of(web_server, user, **options)


@pytest.fixture
def talking(make_phone):
    """Two phones in a call with sound and picture."""
    taro, hanako = make_phone("11"), make_phone("10", autoAnswer=True)
    taro.do("phone.dial('10', true)")
    for phone, peer in ((taro, "10"), (hanako, "11")):
        phone.sees("connected")
        phone.hears(peer)
    return taro, hanako


def test_each_side_sees_and_hears_the_other(talking):
    taro, hanako = talking
    taro.sees_colour("10")
    hanako.sees_colour("11")
    hanako.do("call.end()")
    taro.sees("ended hangup")
    assert taro.seen == ["ringing", "connecting", "connected", "ended hangup"]
    assert hanako.seen == ["incoming 11", "connecting", "connected", "ended hangup"]
    for phone in talking:
        assert phone.do("return phone.connection()") is None


def test_one_device_declines_for_all(make_phone):
    taro, hanako, other = make_phone("11"), make_phone("10"), make_phone("10")
    taro.do("phone.dial('10', false)")
    for phone in (hanako, other):
        phone.sees("incoming 11")
    taro.sees("ringing")
    hanako.do("call.end()")
    taro.sees("ended declined")
    other.sees("ended declined_elsewhere")


def test_the_first_device_that_answers_has_the_call(make_phone):
    taro, hanako, other = make_phone("11"), make_phone("10"), make_phone("10")
    taro.do("phone.dial('10', false)")
    for phone in (hanako, other):
        phone.sees("incoming 11")
    other.do("call.answer()")
    hanako.sees("ended answered_elsewhere")
    for phone, peer in ((taro, "10"), (other, "11")):
        phone.sees("connected")
        phone.hears(peer)


def test_two_users_who_call_each_other_have_one_call(make_phone):
    taro, hanako = make_phone("11"), make_phone("10")
    # Both calls begin before either offer can go out.
    for phone, peer in ((taro, "10"), (hanako, "11")):
        phone.do("window.gate = new Promise((open) => { window.openGate = open })")
        phone.do("phone.dial(argument, false)", peer)
    for phone in (taro, hanako):
        phone.do("openGate()")
    for phone, peer in ((taro, "10"), (hanako, "11")):
        phone.sees("connected")
        phone.hears(peer)
        assert phone.do("return [...phone.ringline.calls.values()].filter(({state}) => state !== 'ended').length") == 1
    assert not any(event.startswith("incoming") for event in taro.seen + hanako.seen)
    taro.do("call.end()")
    hanako.sees("ended hangup")


# The first connection of the page gathers nothing, as Chromium's sometimes does.
STUCK = """() => {
    let isFirst = true;
    window.RTCPeerConnection = class extends RTCPeerConnection {
        constructor(...all) {
            super(...all);
            if (!isFirst) return;
            isFirst = false;
            Object.defineProperty(this, "onicecandidate", { value: null, writable: true });
            this.addIceCandidate = async () => {};
        }
    };
}"""


@pytest.mark.parametrize("who", [0, 1], ids=["caller", "callee"])
def test_a_connection_that_gathers_nothing_is_replaced(make_phone, who):
    phones = [make_phone("11"), make_phone("10", autoAnswer=True)]
    phones[who].page.evaluate(STUCK)
    phones[0].do("phone.dial('10', true)")
    for phone, peer in zip(phones, ("10", "11"), strict=True):
        phone.sees("connected")
        phone.hears(peer)
        phone.sees_colour(peer)


def test_a_user_who_calls_back_while_it_rings_has_answered(make_phone):
    taro, hanako = make_phone("11"), make_phone("10")
    taro.do("phone.dial('10', false)")
    hanako.sees("incoming 11")
    hanako.do("phone.dial('11', false)")
    for phone, peer in ((taro, "10"), (hanako, "11")):
        phone.sees("connected")
        phone.hears(peer)


def test_hold_silences_both_sides_and_ends(talking):
    taro, hanako = talking
    taro.do("call.hold()")
    hanako.wait("call.peerMedia.held")
    for phone in talking:
        phone.hears_nothing()
    taro.do("call.hold(false)")
    hanako.wait("!call.peerMedia.held")
    taro.hears("10")
    hanako.hears("11")


def test_a_muted_microphone_is_silent_and_the_peer_is_told(talking):
    taro, hanako = talking
    hanako.do("call.mute({ audio: true })")
    taro.wait("call.peerMedia.audio")
    taro.hears_nothing()
    hanako.hears("11")
    hanako.do("call.mute({ audio: false })")
    taro.hears("10")


def test_an_ice_restart_from_one_side(talking):
    taro, hanako = talking
    before = taro.do("return phone.iceUsers()")
    taro.do("call.restartICE()")
    for phone in talking:
        phone.wait("phone.iceUsers().every((user) => !argument.includes(user))", before)
        phone.wait("phone.connection().connectionState === 'connected'")
    taro.hears("10")
    hanako.hears("11")


def test_an_ice_restart_from_both_sides_at_once(talking):
    taro, hanako = talking
    before = taro.do("return phone.iceUsers()")
    for phone in talking:
        phone.page.evaluate("() => { setTimeout(() => phone.call.restartICE()) }")
    for phone in talking:
        phone.wait("phone.iceUsers().every((user) => !argument.includes(user))", before)
        phone.wait("phone.connection().signalingState === 'stable'")
        phone.wait("phone.connection().connectionState === 'connected'")
    taro.hears("10")
    hanako.hears("11")


def test_video_is_added_to_a_call(make_phone):
    taro, hanako = make_phone("11"), make_phone("10", autoAnswer=True)
    taro.do("phone.dial('10', false)")
    for phone in (taro, hanako):
        phone.sees("connected")
    assert hanako.do("return call.hasVideo") is False
    taro.do("call.addVideo()")
    hanako.sees_colour("11")
    hanako.do("call.addVideo()")
    taro.sees_colour("10")


def test_a_token_of_another_user_is_an_error_that_says_so(browser, pages, web_server, make_world):
    phone = browsers.Phone.opened(browser, pages, "11", "web-11")
    phone.boot(url=web_server.url, tokens=[make_world(web_server).token("10")])
    phone.wait("phone.errors[0] === 'Error: token: is one of user 10, and this Ringline is for user 11'")
    assert phone.do("return phone.ringline.connectionState") != "open"
    phone.close()


def test_digits_and_data_reach_the_peer(talking):
    taro, hanako = talking
    taro.do("call.sendDTMF('12#')")
    taro.do("call.sendInfo({ note: '太郎', list: [1, null] })")
    hanako.sees("dtmf 12#")
    hanako.sees('info {"note":"太郎","list":[1,null]}')


def test_a_call_outlives_a_server_that_is_killed(talking, web_server, make_phone_of):
    taro, hanako = talking
    # The browser itself reports each attempt that finds no server.
    make_phone_of.expected = ("WebSocket connection to", "Failed to load resource")
    web_server.kill()
    for phone in talking:
        phone.wait("phone.ringline.connectionState !== 'open'")
    taro.hears("10")
    hanako.hears("11")
    web_server.start()
    for phone in talking:
        phone.wait_online()
    taro.hears("10")
    hanako.hears("11")
    hanako.do("call.end()")
    taro.sees("ended hangup")


def test_both_can_hang_up_without_a_server(talking, web_server, make_phone_of):
    make_phone_of.expected = ("WebSocket connection to", "Failed to load resource", "Access to fetch")
    web_server.kill()
    for phone in talking:
        phone.do("call.end()")
        phone.wait("call.state === 'ended'")
        assert phone.do("return phone.connection()") is None


def test_media_through_the_turn_server_alone(make_phone_of, make_server, coturn, secret_file):  # noqa: F811
    url = f"turn:127.0.0.1:{coturn}?transport=udp"
    server = make_server("--allow-origin", "*", "--turn-secret-file", secret_file, "--turn-url", url)
    relayed = {"rtcConfiguration": {"iceTransportPolicy": "relay"}}
    taro, hanako = (make_phone_of(server, user, **relayed, autoAnswer=True) for user in ("11", "10"))
    taro.do("phone.dial('10', false)")
    for phone, peer in ((taro, "10"), (hanako, "11")):
        phone.hears(peer)
        assert phone.do("return phone.path()") == "relay/relay"


class Newcomer:
    """Does what a page for newcomers says, with ports that are free.

    With `web_push`, the server's further options for it, also what the page says about Web Push. With `npm`, it is the
    page of the package for npm, which a newcomer has installed.
    """

    def __init__(self, make_server, folder, web_push: list[str] | None = None, npm: bool = False):
        self.text = (ROOT / "Sources/Clients/RinglineJS" / ("npm" if npm else "") / "README.md").read_text()
        self.ports = {"8080": browsers.safe_port(), "8000": browsers.safe_port()}
        commands = self.blocks("")
        options = shlex.split(commands[3 if web_push else 0].removeprefix("Deploy/run "))
        self.server = make_server("--listen", f"127.0.0.1:{self.ports['8080']}", *options, *(web_push or []))
        (page,) = self.blocks("html")
        self.page = "phone.html" if npm else "Examples/phone.html"
        if npm:
            assert "npm install CLONE/.build/npm" in self.text
            shutil.copytree(browsers.NPM_PACKAGE, folder / "node_modules/@ringline/client")
        else:
            assert commands[1] == "Sources/Clients/RinglineJS/build\n"
            shutil.copytree(browsers.PACKAGE, folder, dirs_exist_ok=True)
            example = (ROOT / "Sources/Clients/RinglineJS/Examples/phone.html").read_text()
            assert f"```html\n{example}```\n" in self.text, "the documentation shows the page as it is"
        if web_push:
            addition = self.blocks("js")[0]
            page = page.replace("</script>", f"{addition}</script>")
        (folder / self.page).write_text(page)
        serving = shlex.split(commands[1 if npm else 2].replace(".build/javascript", str(folder)))
        self.pages = subprocess.Popen(serving, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)

    def blocks(self, language: str) -> list[str]:
        """Returns the blocks of the page in a language."""
        every = re.findall(r"^```(\w*)\n(.*?)^```$", self.text, re.S | re.M)
        found = [block for name, block in every if name == language]
        for named, free in self.ports.items():
            found = [block.replace(f"127.0.0.1:{named}", f"127.0.0.1:{free}") for block in found]
            found = [block.replace(f"http.server {named}", f"http.server {free}") for block in found]
        return found

    def opens(self, page, user: str, name: str):
        for _ in range(100):
            try:
                return page.goto(self.address(user, name))
            except Exception:  # the server of the pages starts
                page.wait_for_timeout(50)

    def close(self):
        self.pages.kill()
        self.pages.wait()

    def address(self, user: str, name: str) -> str:
        options = ["--data", str(self.server.data), "--user", user, "--name", name]
        token = subprocess.run([str(binary()), "token", *options], capture_output=True, text=True, check=True).stdout
        return f"http://127.0.0.1:{self.ports['8000']}/{self.page}#{user}/{token.strip()}"


@pytest.fixture(params=[False, True], ids=["folder", "npm"])
def newcomer(request, make_server, tmp_path):
    folder = tmp_path / "package"
    folder.mkdir()
    newcomer = Newcomer(make_server, folder, npm=request.param)
    yield newcomer
    newcomer.close()


# Whether the page plays the peer's pictures and hears its sound: the fake microphone beeps each second.
MEDIA_FLOW = """() => {
    const remote = document.getElementById("remote");
    if (remote.videoWidth === 0) return false;
    if (window.ear === undefined) {
        const context = new AudioContext();
        window.ear = context.createAnalyser();
        context.createMediaStreamSource(remote.srcObject).connect(window.ear);
    }
    const samples = new Float32Array(window.ear.fftSize);
    window.ear.getFloatTimeDomainData(samples);
    return remote.getVideoPlaybackQuality().totalVideoFrames > 0 && samples.some((sample) => Math.abs(sample) > 0.01);
}"""


def test_a_newcomer_makes_a_call_between_two_tabs_with_the_page_of_the_documentation(newcomer, browser):
    context = browser.new_context(permissions=["camera", "microphone"])
    pages, errors = [], []
    for user, name in (("11", "Taro"), ("10", "Hanako")):
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        newcomer.opens(page, user, name)
        pages.append(page)
    taro, hanako = pages
    for page in pages:
        page.wait_for_function("() => document.getElementById('state').textContent === 'open'")
    taro.fill("#peer", "10")
    taro.click("#call")
    hanako.wait_for_function("() => document.getElementById('state').textContent === 'ringing: Taro'")
    hanako.click("#answer")
    for page in pages:
        page.wait_for_function("() => document.getElementById('state').textContent.startsWith('connected')")
        page.wait_for_function(MEDIA_FLOW)
    taro.click("#end")
    hanako.wait_for_function("() => document.getElementById('state').textContent === 'ended: hangup'")
    context.close()
    assert not errors


def test_a_schedule_rings_a_page_until_it_confirms(make_server, make_world, make_phone_of, clock_library, tmp_path):
    minute = Minute(clock_library, tmp_path / "clock", lead=15)
    address = ("--allow-origin", "*", "--listen", f"127.0.0.1:{browsers.safe_port()}")
    world = make_world(make_server(*address, environment=minute.environment))
    phone = make_phone_of(world.server, "10")
    make(world, minute.once(data={"sound": "birds"}, confirm={"every": 10, "times": 3}))
    phone.page.set_default_timeout(1000 * (minute.left + 10))
    phone.sees("incoming wake")
    phone.page.set_default_timeout(20_000)
    told = "({ isScheduled: call.isScheduled, schedule: call.schedule, data: call.data, video: call.hasVideo })"
    assert phone.page.evaluate(f"() => {{ const call = phone.call; return {told} }}") == {
        "isScheduled": True,
        "schedule": "s-1",
        "data": {"sound": "birds"},
        "video": False,
    }
    phone.do("call.answer()")
    phone.sees("connected")
    assert phone.page.evaluate("() => phone.connection()") is None, "there is no media"
    # Who hangs up without a confirmation is rung again.
    phone.do("phone.seen.length = 0; call.end()")
    phone.sees("incoming wake")
    phone.do("call.confirm()")
    phone.sees("ended confirmed")
    assert reasons(world) == ["hangup", "confirmed"]
    assert schedules(world) == [], "a schedule of one date is gone after its call"

"""Calls between browsers of two makers through the real server, in both directions, and between two of Firefox.

Each maker has rules of its own for what a later description may change; `test_browser.py` has Chromium alone.
"""

import firefox as firefoxes
import pytest
from postgres_server import one_process
from push_services import pushed, register
from test_browser import browser, make_phone_of, pages, web_server  # noqa: F401 - fixtures
from test_browser_faults import push_server  # noqa: F401 - a fixture

# Two browsers of which one has just started are slow on a busy machine.
pytestmark = [one_process("the pages know the address of one server"), pytest.mark.timeout(300)]

# The browsers of the caller and of the callee.
PAIRS = [("firefox", "firefox"), ("firefox", "chromium"), ("chromium", "firefox")]
TARO, HANAKO = "11", "10"
WHO = pytest.mark.parametrize("who", ["caller", "callee", "both"])
BY_EACH = pytest.mark.parametrize("who", ["caller", "callee"])


@pytest.fixture(scope="module")
def firefox():
    with firefoxes.running() as running:
        yield running


@pytest.fixture(params=PAIRS, ids=["-".join(pair) for pair in PAIRS])
def pair(request, browser, firefox):  # noqa: F811
    """The browsers of the caller and of the callee."""
    running = {"firefox": firefox, "chromium": browser}
    return [running[name] for name in request.param]


@pytest.fixture
def phones(pair, make_phone_of, web_server):  # noqa: F811
    caller, callee = pair
    return [
        make_phone_of(web_server, TARO, browser=caller),
        make_phone_of(web_server, HANAKO, browser=callee, autoAnswer=True),
    ]


def call(phones, video: bool):
    phones[0].do("phone.dial('10', argument)", video)
    talk(phones)


def talk(phones):
    for phone in phones:
        phone.sees("connected")
        phone.hears_sound()


def chosen(phones, who: str) -> list:
    return {"caller": phones[:1], "callee": phones[1:], "both": phones}[who]


def at_once(phones, action: str):
    """Lets the phones act as simultaneously as two pages can."""
    for phone in phones:
        phone.page.evaluate(f"() => {{ setTimeout(() => phone.call.{action}) }}")


def is_settled(phone):
    phone.wait("phone.connection().signalingState === 'stable'")
    phone.wait("phone.connection().connectionState === 'connected'")
    assert phone.do("return call.state") == "connected"


@BY_EACH
def test_sound_and_pictures_pass_both_ways_until_one_hangs_up(phones, who):
    call(phones, True)
    taro, hanako = phones
    taro.sees_colour(HANAKO)
    hanako.sees_colour(TARO)
    chosen(phones, who)[0].do("call.end()")
    for phone in phones:
        phone.sees("ended hangup")
        assert phone.do("return phone.connection()") is None


@WHO
def test_video_is_added(phones, who):
    call(phones, False)
    adding = chosen(phones, who)
    at_once(adding, "addVideo()")
    for phone, peer, user in zip(phones, reversed(phones), (TARO, HANAKO), strict=True):
        if phone in adding:
            peer.sees_colour(user)
    for phone in phones:
        is_settled(phone)
        phone.hears_sound()


@WHO
def test_ice_is_restarted(phones, who):
    call(phones, True)
    before = phones[0].do("return phone.iceUsers()")
    at_once(chosen(phones, who), "restartICE()")
    for phone in phones:
        phone.wait("phone.iceUsers().every((user) => !argument.includes(user))", before)
        is_settled(phone)
        phone.hears_sound()


def test_each_adds_video_and_restarts_ice_after_the_other(phones):
    call(phones, False)
    for phone in phones:
        for action in ("addVideo()", "restartICE()"):
            before = phone.do("return phone.connection().localDescription.sdp")
            phone.do(f"call.{action}")
            phone.wait("phone.connection().localDescription.sdp !== argument", before)
            for each in phones:
                is_settled(each)
    phones[0].sees_colour(HANAKO)
    phones[1].sees_colour(TARO)
    for phone in phones:
        phone.hears_sound()


@BY_EACH
def test_hold_silences_both_sides_and_ends(phones, who):
    call(phones, False)
    (holder,) = chosen(phones, who)
    (peer,) = (phone for phone in phones if phone is not holder)
    holder.do("call.hold()")
    peer.wait("call.peerMedia.held")
    peer.hears_no_sound()
    holder.do("call.hold(false)")
    peer.wait("!call.peerMedia.held")
    for phone in phones:
        phone.hears_sound()


def test_two_users_who_call_each_other_have_one_call(phones):
    # Both calls begin before either offer can go out.
    for phone, peer in zip(phones, (HANAKO, TARO), strict=True):
        phone.do("window.gate = new Promise((open) => { window.openGate = open })")
        phone.do("phone.dial(argument, false)", peer)
    for phone in phones:
        phone.do("openGate()")
    talk(phones)
    for phone in phones:
        assert phone.do("return [...phone.ringline.calls.values()].filter(({state}) => state !== 'ended').length") == 1
    phones[0].do("call.end()")
    phones[1].sees("ended hangup")


def test_a_page_that_a_push_has_woken_answers(pair, make_phone_of, make_world, push_server, apns):  # noqa: F811
    world = make_world(push_server)
    caller, callee = pair
    taro = make_phone_of(push_server, TARO, browser=caller)
    killed = make_phone_of(push_server, HANAKO, browser=callee)
    token = register(world, deviceId=killed.device)
    killed.close()
    taro.do("phone.dial('10', true)")
    payload = pushed(apns, token)["payload"]
    hanako = make_phone_of(push_server, HANAKO, browser=callee, device=killed.device)
    hanako.do("phone.ringline.pushed(argument)", payload)
    hanako.sees("incoming 11")
    hanako.do("call.answer()")
    talk([taro, hanako])
    taro.sees_colour(HANAKO)
    hanako.sees_colour(TARO)
    assert hanako.seen.count("incoming 11") == 1


@BY_EACH
def test_a_later_offer_that_a_browser_refuses_ends_no_call(phones, who, make_phone_of):  # noqa: F811
    make_phone_of.expected = ("Error: refused by the test",)
    call(phones, False)
    (offering,) = chosen(phones, who)
    (refusing,) = (phone for phone in phones if phone is not offering)
    refusing.do("phone.connection().setRemoteDescription = async () => { throw new Error('refused by the test') }")
    offering.do("call.addVideo()")
    refusing.wait("phone.errors.length > 0")
    refusing.do("delete phone.connection().setRemoteDescription")
    for phone in phones:
        assert phone.do("return call.state") == "connected"
        phone.hears_sound()
    refusing.do("call.end()")
    offering.sees("ended hangup")


@BY_EACH
def test_a_camera_that_is_refused_ends_no_call(phones, who, make_phone_of):  # noqa: F811
    make_phone_of.expected = ("Error: no camera",)
    call(phones, False)
    (offering,) = chosen(phones, who)
    (peer,) = (phone for phone in phones if phone is not offering)
    offering.do("window.gate = Promise.reject(new Error('no camera')); call.addVideo()")
    offering.wait("phone.errors.length > 0")
    offering.do("window.gate = undefined")
    # The exchange that failed is over on both sides.
    peer.do("call.addVideo()")
    offering.sees_colour(peer.user)
    for phone in phones:
        is_settled(phone)
        phone.hears_sound()


@BY_EACH
def test_a_reload_ends_the_peers_call_as_disconnected(phones, who, web_server, make_world):  # noqa: F811
    call(phones, False)
    (reloaded,) = chosen(phones, who)
    (peer,) = (phone for phone in phones if phone is not reloaded)
    reloaded.goes_to(reloaded.page.evaluate("() => location.href"))
    reloaded.boot(url=web_server.url, tokens=[make_world(web_server).token(reloaded.user)])
    peer.sees("ended disconnected")
    assert peer.do("return phone.connection()") is None

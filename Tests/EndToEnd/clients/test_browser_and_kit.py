"""Calls between a browser and the Swift kit: the JavaScript kit in Chromium, `ringline-kit-device`, and the real server.

Chromium's media connection is its own. The kit's device has no media: Chromium takes its descriptions and candidates, and
looks for a way to an address where nobody answers. So the call connects for the device, and stays `connecting` in Chromium.
"""

import json

import pytest
from postgres_server import one_process
from test_browser import browser, make_phone_of, pages, web_server  # noqa: F401 - fixtures
from test_swift_kit import kit  # noqa: F401 - a fixture

pytestmark = one_process("the pages know the address of one server")

# What the kit's device puts into its descriptions and candidates.
ICE_USER = "EsAw"
ADDRESS = "192.0.2.1"
VIDEO = pytest.mark.parametrize("video", [True, False], ids=["video", "audio"])
BOTH_END = pytest.mark.parametrize("who_ends", ["caller", "callee"])


@pytest.fixture
def make_pair(make_phone_of, make_world, web_server, kit):  # noqa: F811
    """Returns a function that makes a phone in Chromium and a device with the Swift kit, both with a connection."""

    def make(phone: str, device: str):
        device = kit(make_world(web_server), device)
        device.says("connected")
        return make_phone_of(web_server, phone), device

    return make


def ends(phone, device, one_ends: bool):
    """Ends the call on one side, and checks the end on both."""
    if one_ends:
        phone.do("call.end()")
    else:
        device.does("end")
    phone.sees("ended hangup")
    assert device.says("ended").endswith("hangup")
    assert phone.do("return phone.connection()") is None


def has_negotiated(phone, device):
    """Waits until each side has the other's description and a candidate."""
    phone.wait("phone.connection()?.signalingState === 'stable'")
    assert phone.do("return phone.iceUsers()")[1] == ICE_USER
    # Chromium uses the candidate: it checks a pair of addresses with it.
    phone.wait("phone.remoteAddresses().then((all) => all.includes(argument))", ADDRESS)
    device.says("candidate {")
    device.says("active")
    assert phone.do("return call.state") == "connecting"


def talks(phone, device):
    """Sends values and hold both ways."""
    phone.do("call.sendInfo({ note: '太郎' })")
    assert json.loads(device.says("info").removeprefix("info ")) == {"note": "太郎"}
    device.does('info {"a":[1,null]}')
    phone.sees('info {"a":[1,null]}')
    phone.do("call.hold()")
    device.says("held")
    device.does("hold")
    phone.wait("call.peerMedia.held")


def states(phone) -> list[str]:
    """Returns the states of the call, without what was sent in it."""
    return [event for event in phone.seen if not event.startswith(("info", "peermedia", "update"))]


def directions(phone) -> list[str]:
    """Returns the negotiated direction of each medium."""
    return phone.do("return phone.connection().getTransceivers().map(({ currentDirection }) => currentDirection)")


@BOTH_END
@VIDEO
def test_a_browser_calls_the_swift_kit(make_pair, who_ends, video):
    phone, device = make_pair("11", "10")
    phone.do("phone.dial('10', argument)", video)
    device.says("ringing 11")
    phone.sees("ringing")
    device.does("answer")
    device.says("set-offer")
    has_negotiated(phone, device)
    assert directions(phone) == ["sendrecv"] * (1 + video)
    talks(phone, device)
    ends(phone, device, one_ends=who_ends == "caller")
    assert states(phone) == ["ringing", "connecting", "ended hangup"]


@BOTH_END
@VIDEO
def test_the_swift_kit_calls_a_browser(make_pair, who_ends, video):
    phone, device = make_pair("10", "11")
    device.does("call 10 video" if video else "call 10")
    phone.sees("incoming 11")
    device.says("peer-ringing")
    phone.do("call.answer()")
    device.says("set-answer")
    has_negotiated(phone, device)
    assert directions(phone) == ["sendrecv"] * (1 + video)
    talks(phone, device)
    ends(phone, device, one_ends=who_ends == "callee")
    assert states(phone) == ["incoming 11", "connecting", "ended hangup"]


def test_a_browser_declines_a_call_of_the_swift_kit(make_pair):
    phone, device = make_pair("10", "11")
    device.does("call 10")
    phone.sees("incoming 11")
    phone.do("call.end()")
    assert device.says("ended").endswith("declined")


def test_the_swift_kit_declines_a_call_of_a_browser(make_pair):
    phone, device = make_pair("11", "10")
    phone.do("phone.dial('10', false)")
    device.says("ringing 11")
    device.does("end")
    phone.sees("ended declined")


def test_a_browser_takes_the_new_offer_of_a_swift_kit_whose_network_has_changed(make_pair):
    phone, device = make_pair("11", "10")
    phone.do("phone.dial('10', false)")
    device.says("ringing 11")
    device.does("answer")
    has_negotiated(phone, device)
    before = phone.do("return phone.connection().remoteDescription.sdp")
    device.does("path")
    device.says("connected")
    phone.wait("phone.connection().remoteDescription.sdp !== argument", before)
    phone.wait("phone.connection().signalingState === 'stable'")
    device.says("set-answer")
    ends(phone, device, one_ends=True)

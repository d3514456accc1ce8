"""The displayed name of a caller: `--caller-name`, and what may be shown (protocol, section 3.4)."""

import json

import pytest
import samples
from push_services import pushed, register


def test_by_default_the_offer_sets_the_callers_name(world):
    hanako = world.connect("10")
    world.connect("11", claims={"name": "Taro"}).ring(hanako, "c-1", displayName="The Bank")
    assert hanako.expect(type="offer")["displayName"] == "The Bank"


def test_with_the_value_token_only_the_name_in_the_token_is_shown(make_server, make_world):
    world = make_world(make_server("--caller-name", "token"))
    hanako = world.connect("10")
    world.connect("11", claims={"name": "Taro"}).ring(hanako, "c-1", displayName="The Bank")
    assert hanako.expect(type="offer")["displayName"] == "Taro"
    world.connect("12").ring(hanako, "c-2", displayName="The Bank")
    assert "displayName" not in hanako.expect(type="offer", callId="c-2")
    response = world.rest("13", name="Jiro").signal("offer", "c-3", to="10", sdp=samples.OFFER, displayName="The Bank")
    assert response.status_code == 200, response.text
    assert hanako.expect(type="offer", callId="c-3")["displayName"] == "Jiro"


INVISIBLE = [
    "",
    " ",
    "\u200b",
    "\u3164",
    "\u2800",
    "\u00ad",
    "\ufe0f",
    "\U000e0041",
    "\u0301",
    "\u2066\u2069",
    "\u202e\n\x00",
]
SHOWN_AS_IT_IS = [
    *(
        "👨\u200d👩\u200d👧\u200d👦",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "می\u200cخواهم",
        "क्\u200dष",
    ),
    *("山田太郎", "\u2067עומר\u2069", "❤\ufe0f", " Ada "),
]
CLEANED = {
    "Bank\u202eevil\u202c": "Bankevil",
    "\u2066Ada": "Ada",
    "Ada\nMissed call": "Ada Missed call",
    "A\x00d\x1b[31ma": "Ad[31ma",
}
# What may be in no push: controls and their escapes, overrides, open isolates.
FORBIDDEN = ["\u202e", "\u202d", "\u202a", "\n", "\x00", "\x1b"]


@pytest.mark.parametrize("name", INVISIBLE)
def test_a_name_in_which_nothing_is_visible_counts_as_none(push_world, name):
    world, fake = push_world
    token = register(world)
    hanako = world.connect("10")
    world.connect("11", claims={"name": "Taro"}).ring(hanako, "c-1", displayName=name)
    assert hanako.expect(type="offer")["displayName"] == "Taro"
    world.connect("12", claims={"name": name}).ring(hanako, "c-2", displayName=name)
    assert "displayName" not in hanako.expect(type="offer", callId="c-2")
    hanako.close()
    world.connect("13", claims={"name": name}).ring("10", "c-3", displayName=name)
    payload = pushed(fake, token)["payload"]
    assert (payload["fromDisplayName"], payload["callerName"]) == ("13", "13")


@pytest.mark.parametrize("name", SHOWN_AS_IT_IS + list(CLEANED), ids=ascii)
def test_a_name_is_shown_without_controls_and_overrides_everywhere(push_world, name):
    world, fake = push_world
    token = register(world)
    shown = CLEANED.get(name, name)
    world.connect("11").ring("10", "c-1", displayName=name)
    push = pushed(fake, token)["payload"]
    assert (push["fromDisplayName"], push["callerName"]) == (shown, shown)
    assert world.rest("10").log("c-1")["offer"]["displayName"] == shown
    world.connect("12", claims={"name": name}).ring("10", "c-2")
    assert world.rest("10").log("c-2")["offer"]["displayName"] == shown


def test_the_alert_of_a_text_has_no_controls(short_rings):
    world, fake = short_rings
    token = "ab" * 32
    register(world, apnsDeviceToken=token)
    taro = world.connect("11")
    taro.ask(type="message", to="10", displayName="A\u202eda\n", body="pay\n\u202enow\x00 \u2066")
    alert = pushed(fake, token)["payload"]
    assert alert["aps"]["alert"] == {"title": "Ada", "body": "pay now "}
    assert not any(each in json.dumps(alert, ensure_ascii=False) for each in FORBIDDEN)


def test_the_name_in_a_text_is_shown_to_connections_as_in_its_push_and_the_body_is_relayed_as_it_is(world):
    hanako = world.connect("10")
    taro = world.connect("11")
    taro.ask(type="message", to="10", displayName="A\u202eda\n", body="two\nlines", mine={"x": 1})
    heard = hanako.expect(type="message")
    assert (heard["displayName"], heard["body"], heard["mine"]) == ("Ada", "two\nlines", {"x": 1})
    taro.ask(type="message", to="10", displayName="\u200b", body="b")
    assert "displayName" not in hanako.expect(type="message", body="b")


def test_a_schedules_name_and_handle_are_shown_without_controls(world):
    rest = world.rest("10")
    body = {
        "at": "06:30",
        "timeZone": "Asia/Seoul",
        "days": ["mon"],
        "from": {"id": "wake", "displayName": "W\u202eake\n"},
    }
    made = rest.put("/api/schedules/a", body | {"handle": "\u202a+82 2\u202c", "handleType": "phoneNumber"}).json()
    assert (made["from"]["displayName"], made["handle"]) == ("Wake", "+82 2")
    body["from"]["displayName"] = "\u3164"
    made = rest.put("/api/schedules/b", body | {"handle": "\u200b"}).json()
    assert "displayName" not in made["from"] and "handle" not in made

"""The displayed name of a caller (`--caller-name`)."""

import samples


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

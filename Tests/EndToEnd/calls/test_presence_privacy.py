"""The users who may see that a user is online (protocol, section 3.9)."""

import pytest
from sio_app import WAYS, App
from test_socketio import joined

ROOMS = ["room:tea", "room:sake"]


def presence(connection, user="10") -> bool:
    """Asks for a user's presence, checks that frame and ack agree, and returns whether the user is online."""
    online = connection.ask(type="presence", userId=user)["online"]
    assert connection.expect(type="presence", userId=user)["online"] is online
    return online


def test_a_token_that_lacks_a_room_ends_the_presence_in_it(world):
    taro = world.connect("11", "t", claims={"rooms": ROOMS})
    hanako = world.connect("10", "h", claims={"rooms": ROOMS})
    for room in [*ROOMS, "p2p:11-10"]:
        taro.ask(type="join", room=room)
        hanako.ask(type="join", room=room)
    taro.fence(), hanako.fence()
    taro.inbox.clear(), hanako.inbox.clear()
    taro.ask(type="auth", token=world.token("11", rooms=["room:sake"]))
    for connection in (taro, hanako):
        left = connection.expect(type="peer")
        assert (left["room"], left["user"], left["device"], left["present"]) == ("room:tea", "11", "t", False)
        assert connection.fence() == []
    hanako.ask(type="leave", room="room:tea")
    assert taro.fence() == []
    assert taro.refused(type="join", room="room:tea")["code"] == "forbidden"


def test_a_blocked_user_does_not_see_the_blocker_enter_their_room(world):
    taro, hanako = world.connect("11"), world.connect("10")
    taro.ask(type="join", room="p2p:11-10")
    world.rest("10").post("/api/blocks", {"userId": "11"})
    hanako.ask(type="join", room="p2p:11-10")
    assert hanako.expect(type="peer")["user"] == "11"
    hanako.ask(type="leave", room="p2p:11-10")
    assert taro.fence() == []


def test_a_third_party_cannot_tell_whether_a_user_is_online(world):
    third, _ = world.connect("66"), world.connect("10", "h")
    assert presence(third) is False and presence(third, "nobody") is False
    world.connect("10", "h")
    assert third.fence() == []
    assert third.ask(type="message", to="10", body="hello")["online"]
    assert third.expect(type="presence")["online"], "a text makes the two users contacts"


def test_a_call_in_the_history_makes_presence_visible_also_after_a_restart(world):
    taro, _ = world.call(answer=False)
    taro.ask(type="end", callId="c-1")
    world.server.kill()
    world.server.start()
    taro, jiro, _ = world.connect("11"), world.connect("12"), world.connect("10")
    assert presence(taro) is True and presence(jiro) is False


def test_a_block_hides_presence_and_its_removal_shows_it_again(world):
    taro, _ = world.call(answer=False)
    assert presence(taro) is True
    rest = world.rest("10")
    rest.post("/api/blocks", {"userId": "11"})
    assert taro.expect(type="presence")["online"] is False
    rest.delete("/api/blocks/11")
    assert taro.expect(type="presence")["online"] is True


@pytest.mark.parametrize("way", WAYS)
def test_a_socketio_client_is_sent_its_contacts_presence_unasked(world, way):
    taro, hanako = App(world, 11, way), App(world, 10, way)
    taro.ask("message", {"to": 10, "body": "hello"})
    hanako.expect("message")
    hanako.leave()
    assert taro.expect("user-offline") == {"userId": 10}
    again, third = App(world, 10, way), App(world, 12, way)
    assert again.expect("user-online") == {"userId": 11}
    assert taro.expect("user-online") == {"userId": 10}
    assert {each["userId"] for each in third.events("user-online")} == {12}, (
        "the third user sees only the presence that it asked for"
    )


def test_a_client_that_asks_about_many_users_gets_a_reply_for_each(world):
    """The server queries the store once. Questions that arrive meanwhile wait for the result."""
    taro, _ = world.call(answer=False)
    world.server.kill()
    world.server.start()
    taro, _, app = world.connect("11"), world.connect("10"), joined(world, 12)
    marks = [taro.send(type="presence", userId=user) for user in ["10", "11", "12", "13"] * 5]
    assert app
    assert [taro.reply_to(mark)["online"] for mark in marks] == [True, True, False, False] * 5

"""Tests that run only with `-m later`."""

import pytest
import samples

pytestmark = pytest.mark.later


def test_a_second_offer_to_somebody_in_a_call_is_marked_as_waiting(world):
    taro, hanako = world.call("c-1")
    taro.ask(type="connected", callId="c-1")
    world.connect("12").ring("10", "c-2")
    assert hanako.expect(type="offer", callId="c-2")["waiting"] is True


def test_the_act_of_a_push_fetches_and_declines_that_call_alone(push_world):
    from rest import Rest
    from test_push import pushed, register

    world, fake = push_world
    device = register(world)
    taro = world.connect("11")
    taro.ring("10", "c-1")
    act = pushed(fake, device)["payload"]["act"]
    woken = Rest(world.server.url, None)
    woken.http.headers["Authorization"] = f"Ring {act}"
    assert woken.log("c-1")["offer"]["sdp"] == samples.OFFER
    assert woken.get("/api/calls").status_code in (401, 403)
    assert woken.signal("end", "c-1").status_code == 200
    assert taro.expect(type="call", state="ended")["reason"] == "declined"

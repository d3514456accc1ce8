"""Data that the server has deleted is gone from its store; with SQLite, it can no longer be found in the files either."""

import samples
from postgres_server import ON_POSTGRES
from waiting import eventually

MARK = "203.0.113.77"
ENTRIES = "SELECT count(*) FROM entry"


def found(data) -> list[str]:
    return [path.name for path in data.iterdir() if MARK.encode() in path.read_bytes()]


def test_the_log_of_a_call_is_overwritten_when_it_is_forgotten(world):
    taro, hanako = world.connect("11", "a-1"), world.connect("10", "b-1")
    taro.ring(hanako, "c-1", sdp=samples.OFFER + f"a=x:{MARK}\r\n")
    taro.ask(type="end", callId="c-1")
    world.server.terminate()
    assert world.server.exit_code() == 0
    assert ON_POSTGRES or found(world.server.data) == ["ringline.sqlite"]
    assert [int(count) for (count,) in world.server.rows(ENTRIES)] != [0]
    # Move the call's times back, as if more than ten minutes had passed.
    world.server.execute("UPDATE call SET ended_at = ended_at - 700000, started_at = started_at - 700000")
    world.server.start()
    eventually(lambda: [int(count) for (count,) in world.server.rows(ENTRIES)] == [0])
    world.server.terminate()
    assert world.server.exit_code() == 0
    assert found(world.server.data) == []

"""Data that the server has deleted can no longer be found in its files."""

import sqlite3

import samples
from waiting import eventually

MARK = "203.0.113.77"


def found(data) -> list[str]:
    return [path.name for path in data.iterdir() if MARK.encode() in path.read_bytes()]


def test_the_log_of_a_call_is_overwritten_when_it_is_forgotten(world):
    taro, hanako = world.connect("11", "a-1"), world.connect("10", "b-1")
    taro.ring(hanako, "c-1", sdp=samples.OFFER + f"a=x:{MARK}\r\n")
    taro.ask(type="end", callId="c-1")
    world.server.terminate()
    assert world.server.exit_code() == 0
    assert found(world.server.data) == ["ringline.sqlite"]
    # Move the call's times back, as if more than ten minutes had passed.
    with sqlite3.connect(world.server.data / "ringline.sqlite") as database:
        database.execute("UPDATE call SET ended_at = ended_at - 700000, started_at = started_at - 700000")
    database.close()
    world.server.start()
    reader = f"file:{world.server.data}/ringline.sqlite?mode=ro"
    eventually(lambda: sqlite3.connect(reader, uri=True).execute("SELECT count(*) FROM entry").fetchone() == (0,))
    world.server.terminate()
    assert world.server.exit_code() == 0
    assert found(world.server.data) == []

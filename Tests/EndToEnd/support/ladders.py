"""The ladder of a call as the terminal prints it and as a page draws it, in one form."""

import re

import samples
from raw_socket import RawSocket
from world import World

# As in Ladder+Text.swift.
TIME, LANE = 10, 18
# What is drawn by characters of a ladder; a number of events, `×3`, is a part of the words.
DRAWN = re.compile(r"[│┆─▶◀]|×(?!\d)")

# Of the elements of one ladder: its lanes, and for each row the time, the words, the lanes from and to, and whether an arrow
# arrives.
SCRIPT = """(ladder) => [
  [...ladder.querySelectorAll(".lanes span")].map((lane) => lane.textContent),
  [...ladder.querySelectorAll(".row")].map((row) => {
    const [time, label] = [row.querySelector("time").textContent, row.querySelector("span").textContent]
    const line = row.querySelector(".arrow, .note")
    if (line === null) return [time, label, null, null, true]
    const [first, last] = line.style.gridColumn.split(" / ").map(Number)
    if (line.matches(".note")) return [time, label, (first - 1) / 2, null, true]
    const ends = [first / 2 - 1, last / 2 - 1]
    if (line.matches(".left")) ends.reverse()
    return [time, label, ...ends, !line.matches(".lost")]
  }),
]"""


def printed(explained: str) -> tuple[list[str], list[list]]:
    """Returns the lanes and the rows of the ladder in the output of `ringline explain`."""
    heading, *lines = explained.split("\n\n")[1].splitlines()
    lanes = [heading[place : place + LANE].strip() for place in range(TIME, len(heading), LANE)]
    return lanes, [_row(line) for line in lines]


def _row(line: str) -> list:
    time, cells = line[:TIME].strip(), line[TIME:]
    label = " ".join(DRAWN.sub(" ", cells).split())
    if cells.startswith("┆"):
        return [time, label, None, None, True]
    arrow = re.search(r"[─◀▶×].*[─◀▶×]", cells)
    if arrow is None:
        place = min(index for index, letter in enumerate(cells) if letter not in "│ ")
        return [time, label, (place - 2) // LANE, None, True]
    left, right = arrow.start() // LANE, -(-arrow.end() // LANE)
    drawn = arrow.group()
    ends = [left, right] if drawn[-1] in "▶×" else [right, left]
    return [time, label, *ends, "▶" in drawn or "◀" in drawn]


def same(drawn: tuple, shown: tuple) -> bool:
    """Whether a page has drawn the lanes and the rows of the terminal, which cuts words that do not fit."""

    def are_same(words: str, cut: str) -> bool:
        return words.startswith(cut[:-1]) if cut.endswith("…") else words == cut

    def is_same(row: list, line: list) -> bool:
        return are_same(row[1], line[1]) and row[:1] + row[2:] == line[:1] + line[2:]

    (lanes, rows), (names, lines) = drawn, shown
    return (
        len(lanes) == len(names)
        and all(map(are_same, lanes, names))
        and len(rows) == len(lines)
        and all(map(is_same, rows, lines))
    )


def twelve_calls(world: World) -> dict[str, str]:
    """Lets twelve calls take different courses, each between two users of its own; returns their callIds and courses."""
    courses = [
        no_device, answered, declined, cancelled, blocked, silent, busy, two_devices, many_candidates, only_logged, fetched,
        dead_connection,
    ]  # fmt: skip
    for number, course in enumerate(courses):
        course(world, f"c-{number}", f"caller-{number}", f"callee-{number}")
    return {f"c-{number}": course.__name__.replace("_", " ") for number, course in enumerate(courses)}


def _pair(world: World, call_id: str, caller: str, callee: str):
    one, other = world.connect(caller, "phone-1"), world.connect(callee, "phone-2")
    one.ring(other, call_id)
    other.expect(type="offer", callId=call_id)
    return one, other


def _register(world: World, user: str, device: str):
    body = {
        "deviceId": device,
        "platform": "ios",
        "bundleId": "com.example.chat",
        "voipDeviceToken": user.encode().hex() * 4,
    }
    assert world.rest(user).put("/api/me/devices", body).status_code == 200


def no_device(world, call_id, caller, callee):
    world.rest(caller).signal("offer", call_id, sdp=samples.OFFER, to=callee)


def answered(world, call_id, caller, callee):
    one, other = _pair(world, call_id, caller, callee)
    other.ask(type="ringing", callId=call_id)
    other.ask(type="answer", callId=call_id, sdp=samples.ANSWER)
    one.ask(type="connected", callId=call_id)
    one.ask(type="end", callId=call_id)


def declined(world, call_id, caller, callee):
    _, other = _pair(world, call_id, caller, callee)
    other.ask(type="end", callId=call_id, reason="declined")


def cancelled(world, call_id, caller, callee):
    one, _ = _pair(world, call_id, caller, callee)
    one.ask(type="end", callId=call_id)


def blocked(world, call_id, caller, callee):
    world.rest(callee).post("/api/blocks", {"userId": caller})
    no_device(world, call_id, caller, callee)


def silent(world, call_id, caller, callee):
    world.rest(callee).put("/api/me/dnd", {"until": 9_000_000_000_000})
    no_device(world, call_id, caller, callee)


def busy(world, call_id, caller, callee):
    _, other = _pair(world, call_id, caller, callee)
    other.ask(type="end", callId=call_id, reason="busy")


def two_devices(world, call_id, caller, callee):
    tablet = world.connect(callee, "tablet")
    one, other = _pair(world, call_id, caller, callee)
    tablet.expect(type="offer", callId=call_id)
    for device in (other, tablet):
        device.ask(type="ringing", callId=call_id)
    tablet.ask(type="answer", callId=call_id, sdp=samples.ANSWER)
    one.ask(type="end", callId=call_id)


def many_candidates(world, call_id, caller, callee):
    one, other = _pair(world, call_id, caller, callee)
    for number in range(5):
        one.ask(type="ice", callId=call_id, candidate=samples.candidate(number))
    other.ask(type="end", callId=call_id)


def only_logged(world, call_id, caller, callee):
    """No push service is configured, so nothing leaves the server."""
    _register(world, callee, "phone-2")
    no_device(world, call_id, caller, callee)


def fetched(world, call_id, caller, callee):
    no_device(world, call_id, caller, callee)
    world.rest(callee).log(call_id, peer=caller)


def dead_connection(world, call_id, caller, callee):
    _register(world, callee, "phone-2")
    corpse = RawSocket(world.server.port, world.token(callee), path="/ws?device=phone-2")
    assert corpse.status == 101
    world.connect(caller, "phone-1").ring(callee, call_id)
    world.closing.append(corpse)

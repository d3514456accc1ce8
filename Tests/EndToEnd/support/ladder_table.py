"""The ladders of the same twelve calls in the terminal, on the operators' page and in the demo, for the test and as a table.

    python Tests/EndToEnd/support/ladder_table.py > FILE    writes all rows, side by side, as Markdown
"""

import dataclasses
import pathlib
import sys
import tempfile
from collections.abc import Iterator

import browsers
import chromium
import ladders
import operators_page
from commands import run
from demo import Demo, Phones
from operators_page import OperatorsPage, ask, has_ended, service
from playwright.sync_api import Browser
from ringline_server import Server
from world import World

OPTIONS = [*operators_page.OPTIONS, "--ring-timeout", "2", "--probe-timeout", "0.3"]


@dataclasses.dataclass
class Drawn:
    """The ladders of one call, each with its lanes and its rows, and its verdicts."""

    call_id: str
    course: str
    # What `ringline explain` has printed.
    explained: str
    terminal: tuple
    operators: tuple
    demo: tuple
    verdicts: dict[str, str]


def drawings(browser: Browser, world: World) -> Iterator[Drawn]:
    """Lets twelve calls take their courses, and yields how each is drawn."""
    calls = ladders.twelve_calls(world)
    for call_id in calls:
        has_ended(world, call_id)
    with browsers.opening(lambda: OperatorsPage(browser, world.server.admin_url)) as make:
        page = make()
        page.search("user", "", service(world))
        page.rows(len(calls))
        demo = Demo()
        phones = Phones(browser, demo.url)
        told = {}
        # The demo's own users have had none of these calls, so its page is told of them by a stand-in of its server.
        phones.page.route("**/demo/call?*", lambda route: route.fulfill(json=told))
        for call_id, course in calls.items():
            explained = run("explain", call_id, *world.server.store_options).stdout
            page.page.get_by_role("button", name=call_id, exact=True).click()
            page.page.get_by_role("heading", name=f"Call {call_id}, epoch 1").wait_for()
            operators = page.page.locator("#call .ladder").evaluate(ladders.SCRIPT)
            told |= ask(world, f"/api/timeline?callId={call_id}").json() | {"count": 1}
            phones.page.evaluate("(callId) => demo.ladders.add({ callId, epoch: 1 })", call_id)
            phones.page.wait_for_function(
                "(text) => document.querySelector('.call summary')?.textContent.startsWith(text)", arg=told["call"]
            )
            newest = phones.page.locator(".call:first-child")
            verdicts = {
                "terminal": explained.split("Verdict: ")[1],
                "operators' page": " ".join(page.verdict),
                "demo": " ".join(newest.locator(".verdict p").all_text_contents()),
            }
            yield Drawn(
                call_id,
                course,
                explained,
                ladders.printed(explained),
                operators,
                newest.locator(".ladder").evaluate(ladders.SCRIPT),
                {name: " ".join(text.split()) for name, text in verdicts.items()},
            )
        assert not phones.errors, phones.errors
        phones.close()
        demo.stop()


def words(drawn: tuple) -> list[str]:
    """Returns the rows of a ladder in words."""
    lanes, rows = drawn

    def row(time: str, label: str, start: int | None, end: int | None, arrives: bool) -> str:
        if start is None:
            return f"… {label}"
        if end is None:
            return f"{time} {lanes[int(start)]}: {label}"
        return f"{time} {lanes[start]} {'→' if arrives else '⇢ ×'} {lanes[end]}: {label}"

    return [" · ".join(lanes), *(row(*each) for each in rows)]


def table(call: Drawn) -> str:
    columns = [words(each) for each in (call.terminal, call.operators, call.demo)]
    count = max(map(len, columns))
    cells = zip(*([*column, *[""] * (count - len(column))] for column in columns), strict=True)
    lines = [f"## {call.call_id}: {call.course}", "", "```", call.explained.rstrip(), "```", ""]
    lines += ["| terminal | operators' page | demo |", "| --- | --- | --- |"]
    lines += [f"| {' | '.join(row)} |" for row in cells]
    if len(set(call.verdicts.values())) == 1:
        lines += ["", "All three have the verdict above.", ""]
    else:
        lines += ["", *(f"- {place}: {verdict}" for place, verdict in call.verdicts.items()), ""]
    return "\n".join(lines)


def main():
    with tempfile.TemporaryDirectory() as folder, chromium.running() as browser:
        server = Server(pathlib.Path(folder) / "data", *OPTIONS).start()
        world = World(server)
        calls = list(drawings(browser, world))
        world.close()
        server.close()
    differing = [
        call.call_id
        for call in calls
        if not ladders.same(call.operators, call.terminal)
        or not ladders.same(call.demo, call.terminal)
        or len(set(call.verdicts.values())) > 1
    ]
    print("# The ladders of the same calls, drawn three times\n")
    rows = sum(len(call.terminal[1]) for call in calls)
    print(f"{len(calls)} calls, {rows} rows; drawn differently: {', '.join(differing) or 'none'}.")
    print("The terminal cuts what does not fit its columns (…). `⇢ ×`: what was sent did not arrive.\n")
    print("\n".join(map(table, calls)))
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()

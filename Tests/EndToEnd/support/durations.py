"""How long each file of end-to-end tests takes: durations.txt, the one table of which files are slow.

    python Tests/EndToEnd/support/durations.py write JUNIT…      writes the table from results of a whole run over SQLite
    python Tests/EndToEnd/support/durations.py at-most SECONDS   prints the paths of the files that take no longer
    python Tests/EndToEnd/support/durations.py above SECONDS     prints the paths of the files that take longer

pytest gives the longest files to its workers first, so that none is left alone with one of them at the end.
"""

import collections
import pathlib
import sys
import xml.etree.ElementTree

TABLE = pathlib.Path(__file__).with_name("durations.txt")
TESTS = TABLE.parents[1]


def kept() -> dict[str, int]:
    """Returns the seconds of each file by its path in Tests/EndToEnd."""
    lines = (line.split() for line in TABLE.read_text().splitlines())
    return {path: int(seconds) for seconds, path in lines}


def seconds(path: pathlib.Path, table: dict[str, int]) -> float:
    """Returns the seconds of a file; those of a new file have no end."""
    return table.get(path.relative_to(TESTS).as_posix(), float("inf"))


def measured(results: list[str]) -> dict[str, float]:
    """Returns the seconds of each file in these JUnit files, with those of its fixtures."""
    sums: dict[str, float] = collections.Counter()
    for result in results:
        for case in xml.etree.ElementTree.parse(result).iter("testcase"):
            # Such as Tests.EndToEnd.calls.test_glare, or the class in it.
            folder, file = case.get("classname").removeprefix("Tests.EndToEnd.").split(".")[:2]
            sums[f"{folder}/{file}.py"] += float(case.get("time"))
    return sums


def write(results: list[str]):
    order = sorted(measured(results).items(), key=lambda one: (-round(one[1]), one[0]))
    TABLE.write_text("".join(f"{round(time)} {path}\n" for path, time in order))


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2:])
    elif sys.argv[1] in ("at-most", "above"):
        for path, time in kept().items():
            if (time <= float(sys.argv[2])) == (sys.argv[1] == "at-most") and (TESTS / path).exists():
                print(f"Tests/EndToEnd/{path}")
    else:
        sys.exit(__doc__)

#!/usr/bin/env python3
"""Writes transitions.txt: some zones' TZif files, and what Python's zoneinfo says about them.

Usage: make_fixture.py > transitions.txt (needs zic and the package tzdata)

Lines:
    zone NAME BASE64          a zone's file, as zic writes it; the lines that follow are about this zone
    at SECOND OFFSET          the offset at a second since 1970, in seconds east of UTC
    local DATETIME SECOND     the first second since 1970 at which local clocks show this time or a later one

The offsets are those one second before each transition of 2024 to 2030, and at the transition. The local times are
those around each transition of 2026 and 2027.
"""

import base64
import pathlib
import subprocess
import tempfile
import zoneinfo
from datetime import UTC, datetime, timedelta

SOURCE = "/usr/share/zoneinfo/tzdata.zi"
ZONES = """
    Africa/Cairo Africa/Casablanca Africa/El_Aaiun Africa/Johannesburg America/Asuncion America/Havana America/New_York
    America/Nuuk America/Santiago America/Sao_Paulo America/Scoresbysund America/St_Johns Antarctica/Troll
    Asia/Beirut Asia/Gaza Asia/Jerusalem Asia/Kathmandu Asia/Seoul Asia/Tehran Atlantic/Azores Australia/Adelaide
    Australia/Lord_Howe Etc/GMT+5 Europe/Berlin Europe/Chisinau Europe/Dublin Europe/London Pacific/Apia
    Pacific/Auckland Pacific/Chatham Pacific/Easter Pacific/Kiritimati UTC
""".split()
# Zones for which zic writes a fat file, with all transitions until 2037 in both blocks.
FAT = {"America/New_York", "Europe/Dublin"}
# A time zone of 1970 to 2100 has no two transitions within a day.
STEP = timedelta(hours=6)


def offset(zone, time):
    return time.astimezone(zone).utcoffset()


def seconds(time):
    return int(time.timestamp())


def first_instant(zone, low, high, is_after):
    """Returns the first second in (low, high] for which a condition holds, which holds from some second on."""
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) // 2
        middle = middle.replace(microsecond=0)
        low, high = (low, middle) if is_after(middle) else (middle, high)
    return high


def transitions(zone, years):
    time = datetime(years.start, 1, 1, tzinfo=UTC)
    while time.year < years.stop:
        before = offset(zone, time)
        if offset(zone, time + STEP) != before:
            yield first_instant(zone, time, time + STEP, lambda t, before=before: offset(zone, t) != before)
        time += STEP


def local_times(zone, transition):
    """Returns the local times, in whole minutes, around those that the clocks show at a transition."""
    before, after = offset(zone, transition - timedelta(seconds=1)), offset(zone, transition)
    middle = (before + after) / 2
    walls = {transition.replace(tzinfo=None) + wall for wall in (before, after, middle)}
    return sorted({wall + timedelta(minutes=minutes) for wall in walls for minutes in (-31, -1, 0, 1, 29)})


def instant(zone, local):
    """Returns the first instant whose local time is this or later, by looking at each minute of more than two days."""
    start = local.replace(tzinfo=UTC) - timedelta(hours=26)
    minutes = (start + timedelta(minutes=count) for count in range(52 * 60))
    return next(t for t in minutes if t.astimezone(zone).replace(tzinfo=None) >= local)


def compiled(folder, kind):
    subprocess.run(["zic", "-b", kind, "-d", folder, SOURCE], check=True)
    return pathlib.Path(folder)


def main():
    with tempfile.TemporaryDirectory() as slim, tempfile.TemporaryDirectory() as fat:
        slim_files, fat_files = compiled(slim, "slim"), compiled(fat, "fat")
        zoneinfo.reset_tzpath([slim])
        version = pathlib.Path(SOURCE).read_text().split("\n", 1)[0]
        print(f"# Written by make_fixture.py from tzdata ({version.lstrip('# ')}).")
        for name in ZONES:
            zone = zoneinfo.ZoneInfo(name)
            file = (fat_files if name in FAT else slim_files) / name
            print("zone", name, base64.b64encode(file.read_bytes()).decode())
            start = datetime(2024, 1, 1, tzinfo=UTC)
            print("at", seconds(start), int(offset(zone, start).total_seconds()))
            for transition in transitions(zone, range(2024, 2031)):
                for time in (transition - timedelta(seconds=1), transition):
                    print("at", seconds(time), int(offset(zone, time).total_seconds()))
                if transition.year in (2026, 2027):
                    for local in local_times(zone, transition):
                        print("local", local.isoformat(timespec="minutes"), seconds(instant(zone, local)))


if __name__ == "__main__":
    main()

"""Reads a JUnit file and prints how many of its tests passed and how many failed, then what failed, a line each:

    PASSED FAILED
    NAME: MESSAGE

A file that is missing or broken counts as one failure: whoever should have written it did not come to an end.
"""

import sys
import xml.etree.ElementTree


def fault(case):
    """What a test failed by, or None where it did not."""
    for kind in ("failure", "error"):
        if (element := case.find(kind)) is not None:
            return element
    return None


def line(case):
    text = fault(case).get("message") or fault(case).text or ""
    return f"{case.get('classname', '')} {case.get('name', '')}: {' '.join(text.split())[:400]}"


try:
    cases = list(xml.etree.ElementTree.parse(sys.argv[1]).iter("testcase"))
except (OSError, xml.etree.ElementTree.ParseError) as error:
    print(0, 1)
    print(f"{sys.argv[1]}: {error}")
    sys.exit()
failed = [case for case in cases if fault(case) is not None]
skipped = sum(1 for case in cases if case.find("skipped") is not None)
print(len(cases) - len(failed) - skipped, len(failed))
for case in failed:
    print(line(case))

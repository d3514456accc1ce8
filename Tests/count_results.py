"""Reads a JUnit file; prints the numbers of passed and failed tests, then one line for each failed test:

    PASSED FAILED
    NAME: MESSAGE

A file that is missing or broken counts as one failure, because the program that should have written it did not finish.
"""

import sys
import xml.etree.ElementTree


def fault(case):
    """Returns the `failure` or `error` element of a test, or None if the test did not fail."""
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

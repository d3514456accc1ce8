"""Reads a JUnit file and prints how many of its tests passed and how many failed: `PASSED FAILED`.

A file that is missing or broken counts as one failure: whoever should have written it did not come to an end.
"""

import sys
import xml.etree.ElementTree

try:
    cases = list(xml.etree.ElementTree.parse(sys.argv[1]).iter("testcase"))
except (OSError, xml.etree.ElementTree.ParseError):
    print(0, 1)
    sys.exit()
failed = sum(1 for case in cases if case.find("failure") is not None or case.find("error") is not None)
skipped = sum(1 for case in cases if case.find("skipped") is not None)
print(len(cases) - failed - skipped, failed)

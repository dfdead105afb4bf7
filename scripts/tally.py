"""Prints `N passed, N failed` for JUnit files: tally.py FILE... STATUS.

A ctest entry that is itself a runner (doctest, lit) counts by the cases it
reports. STATUS is 1 if a step failed that no file knows of; the exit status is
1 if anything failed.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

DOCTEST = re.compile(r"test cases:\s+(\d+) \|\s+(\d+) passed \|\s+(\d+) failed")
LIT = re.compile(r"^\s+(Passed|Failed|Unresolved|Timed Out)\s*:\s*(\d+)", re.M)


def cases(test):
    """Returns how many cases of one entry passed, failed and were skipped."""
    if test.find("skipped") is not None or test.get("status") == "disabled":
        return 0, 0, 1
    bad = test.find("failure") is not None or test.find("error") is not None
    text = test.findtext("system-out") or ""
    passed = failed = 0
    for _, good, wrong in DOCTEST.findall(text):
        passed += int(good)
        failed += int(wrong)
    if test.get("name") == "lit":
        for word, count in LIT.findall(text):
            if word == "Passed":
                passed += int(count)
            else:
                failed += int(count)
    if not passed and not failed:
        passed = 0 if bad else 1
    return passed, max(failed, int(bad)), 0


def main():
    *files, status = sys.argv[1:]
    passed = failed = skipped = 0
    for file in map(pathlib.Path, files):
        if not file.exists():
            continue
        for test in ElementTree.parse(file).iter("testcase"):
            good, wrong, left = cases(test)
            passed, failed, skipped = passed + good, failed + wrong, skipped + left
    if status != "0":
        failed = max(failed, 1)
    note = f", {skipped} skipped" if skipped else ""
    print(f"{passed} passed, {failed} failed{note}")
    sys.exit(1 if failed else 0)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Count the results of `meson test` and print `N passed, N failed` as the last line.

usage: count-tests.py EXPECTED-SKIPS MESON-LOGS:EXIT-CODE...

Owns: what counts as a pass. Every TAP subtest is one test; a test without subtests is one test.
Several runs (the same tests under sanitizers) are added up.
Fails (exit 1) on a failure, on a test that ended badly without naming a subtest (crash, time-out),
on a skip that EXPECTED-SKIPS does not list, on no test at all, and when meson itself failed.
"""
import fnmatch
import json
import os
import sys
import xml.etree.ElementTree as ET

BAD = ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS")


def read_runs(path):
    """(name, result) of every test program, from testlog.json."""
    runs = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.strip():
                entry = json.loads(line)
                runs.append((entry["name"], entry["result"]))
    return runs


def read_cases(path):
    """(suite, case, outcome) of every case, from the JUnit file; outcome: pass, fail or skip."""
    cases = []
    for suite in ET.parse(path).getroot().iter("testsuite"):
        for case in suite.iter("testcase"):
            outcome = "pass"
            if case.find("failure") is not None or case.find("error") is not None:
                outcome = "fail"
            elif case.find("skipped") is not None:
                outcome = "skip"
            cases.append((suite.get("name", "?"), case.get("name", "?"), outcome))
    return cases


def count(logs, status, allowed):
    """(passed, skipped, names of the bad ones) of one run of `meson test`."""
    try:
        runs = read_runs(os.path.join(logs, "testlog.json"))
        cases = read_cases(os.path.join(logs, "testlog.junit.xml"))
    except (OSError, ET.ParseError, ValueError) as err:
        return 0, 0, ["no test results: %s" % err]

    # A program that crashed or timed out may have no failure mark in the JUnit file: it counts
    # as one failure, and a case that only stands for the whole program is no pass.
    broken = {name: result for name, result in runs if result in BAD}
    passed = skipped = 0
    bad = []
    for suite, case, outcome in cases:
        name = "%s/%s" % (suite, case)
        if outcome == "skip":
            if any(fnmatch.fnmatch(name, pattern) for pattern in allowed):
                skipped += 1
            else:
                bad.append(name + " (unexpected skip)")
        elif outcome == "fail":
            bad.append(name)
        elif case not in broken:
            passed += 1
    marked = {s.split(".")[-1] for s, _, o in cases if o == "fail"} | {
        c for _, c, o in cases if o == "fail"}
    bad += ["%s (%s)" % item for item in broken.items() if item[0] not in marked]
    seen = {s.split(".")[-1] for s, _, _ in cases} | {c for _, c, _ in cases}
    bad += [name + " (ran nothing)" for name, result in runs
            if result == "SKIP" and name not in seen]
    if passed == 0 and not bad:
        bad.append("no test ran")
    if status != 0 and not bad:
        bad.append("meson test ended with %d" % status)
    return passed, skipped, bad


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        allowed = [line.strip() for line in f if line.strip() and not line.startswith("#")]
    passed = skipped = failed = 0
    for run in sys.argv[2:]:
        logs, status = run.rsplit(":", 1)
        good, left_out, bad = count(logs, int(status), allowed)
        passed += good
        skipped += left_out
        failed += len(bad)
        for name in bad:
            print("FAILED: %s" % name)
    line = "%d passed, %d failed" % (passed, failed)
    if skipped:
        line += ", %d skipped" % skipped
    print(line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

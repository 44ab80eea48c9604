#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts what a run of Meson's tests did, for test.sh.

    tally.py BUILD LOG          prints lines about what failed or was skipped, then "PASSED FAILED SKIPPED"
    tally.py BUILD --suites     prints the names of the suites

A program of Check counts as its cases, any other as one. With CI set, a test that was skipped has failed, unless its
command line names the folder of real pictures and faces (option test_data), which may be absent.
"""
import json
import os
import re
import sys


def load(build, name):
    with open(os.path.join(build, "meson-info", name), encoding="utf-8") as file:
        return json.load(file)


def suite_of(test):
    return test["suite"][0].split(":")[-1]


def data_folder(build):
    value = [option["value"] for option in load(build, "intro-buildoptions.json") if option["name"] == "test_data"][0]
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), value)


def count(record, may_skip):
    """(passed, failed, skipped, remark) of one program."""
    name, result = record["name"].split(" / ")[-1], record["result"]
    checks = re.findall(r"\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)", record.get("stdout", ""))
    num = sum(int(check[0]) for check in checks)
    bad = sum(int(check[1]) + int(check[2]) for check in checks)
    if result == "SKIP":
        reason = (record.get("stdout", "") + record.get("stderr", "")).strip().split("\n")[-1]
        if os.environ.get("CI") and not may_skip:
            return 0, 1, 0, "  %s must not be skipped here: %s" % (name, reason)
        return 0, 0, 1, "  %s is skipped: %s" % (name, reason)
    if result == "OK":
        return (num - bad, bad, 0, None) if checks else (1, 0, 0, None)
    return num - bad, max(bad, 1), 0, "  %s: %s" % (name, result.lower())


def main():
    build = sys.argv[1]
    tests = load(build, "intro-tests.json")
    if sys.argv[2] == "--suites":
        print("\n".join(dict.fromkeys(suite_of(test) for test in tests)))
        return
    folder = data_folder(build)
    may_skip = {test["name"] for test in tests if any(part.startswith(folder) for part in test["cmd"])}
    sums = [0, 0, 0]
    with open(os.path.join(build, "meson-logs", sys.argv[2] + ".json"), encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    for record in records:
        *numbers, remark = count(record, record["name"].split(" / ")[-1] in may_skip)
        sums = [a + b for a, b in zip(sums, numbers)]
        if remark:
            print(remark)
    if not records:
        print("  no test has run")
        sums[1] += 1
    print(*sums)


main()

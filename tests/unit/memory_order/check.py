#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the memory orders of the library's host protocols: check.py [TOP]

Without TOP it tests the explorer by classical litmus tests.
"""
import sys

import classical
from explorer import Broken, explore


def has_race(threads):
    try:
        explore(threads)
    except Broken:
        return True
    return False


def classical_complaints():
    for name, threads, outcome, is_allowed in classical.TESTS:
        if (outcome in explore(threads)) != is_allowed:
            yield f"{name}: the explorer finds it {'forbidden' if is_allowed else 'allowed'}"
    for name, threads, is_race in classical.RACES:
        if has_race(threads(classical.reader_of_x)) != is_race:
            yield f"{name}: the explorer finds {'no' if is_race else 'a'} race"


def main():
    complaints = list(classical_complaints())
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

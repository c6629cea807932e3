#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the memory orders of the library's host protocols (protocols.py): check.py TOP

It complains if the explorer is wrong about a classical litmus test, or if the source has other
orders than the protocols say. It also complains if an execution breaks a protocol, or if no
execution breaks it with a weaker order.
"""
import pathlib
import re
import sys

import classical
import not_checked
import packet_protocols
import thread_protocols
import tool_protocols
from explorer import ACQ_REL, ACQUIRE, RELAXED, RELEASE, SEQ_CST, Broken, explore
from protocols import PROTOCOLS

assert packet_protocols and thread_protocols and tool_protocols  # they have added theirs

ORDER = re.compile(r"memory_order_(\w+)|__ATOMIC_([A-Z_]+)\b")
FENCE = re.compile(r"\b(acquire|release)(_)fence\(\)")  # of kernels
WEAKER = {RELAXED: [], ACQUIRE: [RELAXED], RELEASE: [RELAXED],
          ACQ_REL: [ACQUIRE, RELEASE, RELAXED], SEQ_CST: [ACQ_REL, ACQUIRE, RELEASE, RELAXED]}


def find_break(threads):
    try:
        explore(threads)
    except Broken as broken:
        return str(broken)
    return None


def classical_complaints():
    for name, threads, outcome, is_allowed in classical.TESTS:
        if (outcome in explore(threads)) != is_allowed:
            yield f"{name}: the explorer finds it {'forbidden' if is_allowed else 'allowed'}"
    for name, threads, is_race in classical.RACES:
        if bool(find_break(threads(classical.reader_of_x))) != is_race:
            yield f"{name}: the explorer finds {'no' if is_race else 'a'} race"


def order_in(text):
    """The first order that the text names. An atomic operation that names none is seq_cst."""
    found = ORDER.search(text) or FENCE.search(text)
    return (found[1] or found[2]).lower() if found else SEQ_CST


def body_of(text, beginning):
    """Where the function lies that begins so, or None."""
    begin = text.find(beginning)
    if begin < 0 or text.find(beginning, begin + 1) >= 0:
        return None
    depth = 0
    for at in range(text.index("{", begin), len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return begin, at
    return None


def source_complaints(top):
    """Also of orders in files that no protocol names."""
    named = {}
    for protocol in PROTOCOLS:
        for path, function, access in protocol.places.values():
            text = (top / path).read_text(encoding="utf-8")
            body = body_of(text, function)
            if not body:
                yield f"{path}: not exactly one function begins with '{function}'"
                continue
            # Lines may be broken elsewhere.
            pattern = r"\s+".join(map(re.escape, access.split()))
            found = list(re.finditer(pattern, text[body[0]:body[1]]))
            if len(found) != 1:
                yield f"{path}: '{access}' is {len(found)} times in '{function}'"
                continue
            first = body[0] + found[0].start()
            named.setdefault(path, set()).update(
                first + order.start() for order in ORDER.finditer(found[0][0]))
    for file in sorted((top / "src").rglob("*.[ch]pp")):
        path = str(file.relative_to(top))
        orders = len(ORDER.findall(file.read_text(encoding="utf-8")))
        rest = orders - len(named.get(path, ()))
        excused = not_checked.ORDERS.get(path, 0)
        if rest != excused:
            yield f"{path}: {rest} memory orders are in no protocol; not_checked.py says {excused}"


def protocol_complaints(protocol):
    orders = {name: order_in(place[2]) for name, place in protocol.places.items()}
    broken = find_break(protocol.threads(orders))
    if broken:
        yield f"{protocol.name}: {broken}"
        return
    spare = set(protocol.spare)
    for name, order in orders.items():
        for weaker in WEAKER[order]:
            change = f"{name} to {weaker}"
            broken = find_break(protocol.threads({**orders, name: weaker}))
            if bool(broken) == (change in spare):
                yield f"{protocol.name}: '{change}' {'breaks' if broken else 'does not break'} it"
            spare.discard(change)
    for flaw in protocol.flaws:
        if not find_break(protocol.threads(orders, flaw)):
            yield f"{protocol.name}: '{flaw}' does not break it"
    for change in spare:
        yield f"{protocol.name}: there is no '{change}'"


def main():
    complaints = list(classical_complaints())
    complaints += source_complaints(pathlib.Path(sys.argv[1]))
    for protocol in PROTOCOLS:
        complaints += protocol_complaints(protocol)
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

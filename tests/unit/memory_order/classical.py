# SPDX-License-Identifier: Apache-2.0
"""Litmus tests whose outcomes under RC11 are published, to test the explorer itself.

Each has a name, threads, an outcome as the threads' results, and whether the model allows it.
"""
from explorer import (ACQ_REL, ACQUIRE, RELAXED, RELEASE, SEQ_CST, compare_swap, fence, load, read,
                      store, swap, update, write)


def thread(*operations):
    """A thread that makes these operations and returns what its loads and updates have read."""
    def run():
        values = []
        for operation in operations:
            value = yield operation
            if operation.kind in ("read", "update", "compare"):
                values.append(value)
        return tuple(values)
    return run


def loads(order, *places):
    return thread(*(load(at, order) for at in places))


def stores(order, *places):
    return thread(*(store(at, order, 1) for at in places))


def sb(order, *between):
    return [thread(store("x", order, 1), *between, load("y", order)),
            thread(store("y", order, 1), *between, load("x", order))]


def mp(first, second, *, writer=(), reader=()):
    return [thread(store("x", RELAXED, 1), *writer, store("y", first, 1)),
            thread(load("y", second), *reader, load("x", RELAXED))]


def iriw(read_order, write_order, *between):
    return [stores(write_order, "x"), stores(write_order, "y"),
            thread(load("x", read_order), *between, load("y", read_order)),
            thread(load("y", read_order), *between, load("x", read_order))]


def wrc(first, second):
    return [stores(RELAXED, "x"), thread(load("x", first), store("y", second, 1)),
            thread(load("y", ACQUIRE), load("x", RELAXED))]


def two_plus_two(order, *between):
    return [thread(store("x", order, 1), *between, store("y", order, 2)),
            thread(store("y", order, 1), *between, store("x", order, 2)),
            loads(RELAXED, "x", "x"), loads(RELAXED, "y", "y")]


def sequence(middle):
    """A release sequence with one more write to the flag in it."""
    return [thread(store("x", RELAXED, 1), store("y", RELEASE, 1), *middle[0]), thread(*middle[1]),
            thread(load("y", ACQUIRE), load("x", RELAXED))]


REL_FENCE, ACQ_FENCE, SC_FENCE = fence(RELEASE), fence(ACQUIRE), fence(SEQ_CST)
ONE_MORE = update("y", RELAXED, lambda value: value + 1)
LATE = ((0,), (0,))
MISSED = ((), (1, 0))
R_OF = ((), (1,), (1, 0))
TESTS = [
    ("SB relaxed", sb(RELAXED), LATE, True),
    ("SB seq_cst", sb(SEQ_CST), LATE, False),
    ("SB release, acquire", [thread(store("x", RELEASE, 1), load("y", ACQUIRE)),
                             thread(store("y", RELEASE, 1), load("x", ACQUIRE))], LATE, True),
    ("SB fences", sb(RELAXED, SC_FENCE), LATE, False),
    ("SB acq_rel fences", sb(RELAXED, fence(ACQ_REL)), LATE, True),
    ("SB one fence", [sb(RELAXED, SC_FENCE)[0], sb(RELAXED)[1]], LATE, True),
    ("SB swaps", [thread(swap("x", ACQ_REL, 1), load("y", ACQUIRE)),
                  thread(swap("y", ACQ_REL, 1), load("x", ACQUIRE))], ((0, 0), (0, 0)), True),
    ("MP relaxed", mp(RELAXED, RELAXED), MISSED, True),
    ("MP release, acquire", mp(RELEASE, ACQUIRE), MISSED, False),
    ("MP release, relaxed", mp(RELEASE, RELAXED), MISSED, True),
    ("MP relaxed, acquire", mp(RELAXED, ACQUIRE), MISSED, True),
    ("MP fences", mp(RELAXED, RELAXED, writer=[REL_FENCE], reader=[ACQ_FENCE]), MISSED, False),
    ("MP release fence, acquire", mp(RELAXED, ACQUIRE, writer=[REL_FENCE]), MISSED, False),
    ("MP release, acquire fence", mp(RELEASE, RELAXED, reader=[ACQ_FENCE]), MISSED, False),
    ("MP release fence, relaxed", mp(RELAXED, RELAXED, writer=[REL_FENCE]), MISSED, True),
    ("MP seq_cst", mp(SEQ_CST, SEQ_CST), MISSED, False),
    ("LB relaxed", [thread(load("x", RELAXED), store("y", RELAXED, 1)),
                    thread(load("y", RELAXED), store("x", RELAXED, 1))], ((1,), (1,)), False),
    ("CoRR", [stores(RELAXED, "x"), loads(RELAXED, "x", "x")], ((), (1, 0)), False),
    ("CoRR2", [stores(RELAXED, "x"), thread(store("x", RELAXED, 2)), loads(RELAXED, "x", "x"),
               loads(RELAXED, "x", "x")], ((), (), (1, 2), (2, 1)), False),
    ("CoWR", [thread(store("x", RELAXED, 1), load("x", RELAXED))], ((0,),), False),
    ("CoRW", [thread(load("x", RELAXED), store("x", RELAXED, 1))], ((1,),), False),
    ("IRIW relaxed", iriw(RELAXED, RELAXED), ((), (), (1, 0), (1, 0)), True),
    ("IRIW release, acquire", iriw(ACQUIRE, RELEASE), ((), (), (1, 0), (1, 0)), True),
    ("IRIW seq_cst", iriw(SEQ_CST, SEQ_CST), ((), (), (1, 0), (1, 0)), False),
    ("IRIW acquire, seq_cst", iriw(ACQUIRE, SEQ_CST), ((), (), (1, 0), (1, 0)), True),
    ("IRIW fences", iriw(RELAXED, RELAXED, SC_FENCE), ((), (), (1, 0), (1, 0)), False),
    ("WRC relaxed", wrc(RELAXED, RELAXED), R_OF, True),
    ("WRC release, acquire", wrc(ACQUIRE, RELEASE), R_OF, False),
    ("WRC relaxed, release", wrc(RELAXED, RELEASE), R_OF, False),  # by CoRR
    ("WRC acquire, relaxed", wrc(ACQUIRE, RELAXED), R_OF, True),
    ("2+2W relaxed", two_plus_two(RELAXED), ((), (), (2, 1), (2, 1)), True),
    ("2+2W release", two_plus_two(RELEASE), ((), (), (2, 1), (2, 1)), True),
    ("2+2W fences", two_plus_two(RELAXED, SC_FENCE), ((), (), (2, 1), (2, 1)), False),
    ("2+2W seq_cst", two_plus_two(SEQ_CST), ((), (), (2, 1), (2, 1)), False),
    ("Z6.U", [thread(store("x", SEQ_CST, 1), store("y", RELEASE, 1)),
              thread(update("y", SEQ_CST, lambda v: v + 1), load("y", RELAXED)),
              thread(store("y", SEQ_CST, 3), load("x", SEQ_CST))], ((), (1, 3), (0,)), True),
    ("release sequence of an update", sequence(([], [ONE_MORE])), ((), (1,), (2, 0)), False),
    ("release sequence of the same thread (C++20)",
     sequence(([store("y", RELAXED, 2)], [])), ((), (), (2, 0)), True),
    ("two updates", [thread(ONE_MORE), thread(ONE_MORE)], ((0,), (0,)), False),
    ("two compare-and-swaps", [thread(compare_swap("x", RELAXED, 0, 1)),
                               thread(compare_swap("x", RELAXED, 0, 2))], ((0,), (0,)), False),
]
# Threads, and whether a data race must be found.
RACES = [
    ("MP plain, release, acquire",
     lambda reader: [thread(write("x", 1), store("y", RELEASE, 1)), reader(ACQUIRE)], False),
    ("MP plain, relaxed",
     lambda reader: [thread(write("x", 1), store("y", RELAXED, 1)), reader(ACQUIRE)], True),
    ("MP plain, relaxed load",
     lambda reader: [thread(write("x", 1), store("y", RELEASE, 1)), reader(RELAXED)], True),
]


def reader_of_x(order):
    def run():
        if (yield load("y", order)) == 1:
            yield read("x")
    return run

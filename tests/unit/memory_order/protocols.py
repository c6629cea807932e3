# SPDX-License-Identifier: Apache-2.0
"""The host protocols of the library, as litmus programs.

`places` of a protocol name its accesses: the file, the beginning of the function, and the source
text with its memory order. check.py takes the order from this text and looks for it in the source.
`threads` makes the threads, from the orders by name. `spare` has the weaker orders that keep the
property, and why; every other weaker order must break it. So must each of `flaws`, a way to leave
out something that is no order, which `threads` gets by name.
"""
from collections import namedtuple

from explorer import (RELAXED, compare_swap, fence, load, read, require, store, swap, update, wait,
                      write)

Protocol = namedtuple("Protocol", "name places threads spare flaws")
PROTOCOLS = []


def protocol(name, places, spare=None, flaws=()):
    def keep(threads):
        PROTOCOLS.append(Protocol(name, places, threads, spare or {}, flaws))
        return threads
    return keep


def at_least(least):
    return lambda value: value >= least


def is_equal(wanted):
    return lambda value: value == wanted


def add(at, order, operand=1):
    return update(at, order, lambda value: value + operand)


def read_expected(at, value):
    require((yield read(at)) == value, f"{at} is not {value}")


STEPS = "src/collectives/team_steps.hpp"
PUBLISH = (STEPS, "inline void publish(", "line.epoch.store(epoch, std::memory_order_release)")
AWAIT = (STEPS, "inline std::uint64_t await_line(", "line.epoch.load(std::memory_order_acquire)")


@protocol("a slot's message is read whole, and is not overwritten while it is read",
          {"publish": PUBLISH, "await": AWAIT})
def slot(o):
    def sender():  # post_message() twice to one slot, with reserve()
        for sequence in (1, 2):
            if sequence == 2:
                yield wait("arrive", o["await"], at_least(2))
            yield write("slot", sequence)
            yield store("line", o["publish"], sequence)

    def receiver():  # receive_message(), then announce() of the next operation
        for sequence in (1, 2):
            yield wait("line", o["await"], at_least(sequence))
            yield from read_expected("slot", sequence)
            yield store("arrive", o["publish"], sequence + 1)
    return [sender, receiver]


BARRIER = "src/collectives/node/barrier.cpp"


@protocol("behind a dissemination barrier each PE reads what every other wrote before it",
          {"publish": PUBLISH, "load": (
              BARRIER, "void sync_dissemination(",
              "meet[parity][round].epoch.load(std::memory_order_acquire)")})
def dissemination(o):
    def make(me):
        def pe():
            yield write(f"data {me}", 1)
            for round_, distance in enumerate((1, 2)):
                yield store(f"flag {(me + distance) % 3} {round_}", o["publish"], 1)
                yield wait(f"flag {me} {round_}", o["load"], at_least(1))
            if me == 0:
                yield from read_expected("data 1", 1)
                yield from read_expected("data 2", 1)
        return pe
    return [make(0), make(1), make(2)]


COUNTING = "void sync_counting("


@protocol("behind a counting barrier each PE reads what the other wrote, and the next one works",
          {"arrive": (BARRIER, COUNTING, "epoch.fetch_add(1, std::memory_order_acq_rel)"),
           "reset": (BARRIER, COUNTING, "count.epoch.store(0, std::memory_order_relaxed)"),
           "released": (BARRIER, COUNTING, "release.epoch.load(std::memory_order_acquire)"),
           "text": (BARRIER, COUNTING, "count.epoch.load(std::memory_order_relaxed)"),
           "publish": PUBLISH})
def counting(o):
    def make(me):
        def sync(sequence):
            if (yield add("count", o["arrive"])) == 1:
                yield store("count", o["reset"], 0)
                yield store("release", o["publish"], sequence)
            else:
                yield wait("release", o["released"], at_least(sequence))

        def pe():
            yield write(f"data {me}", 1)
            yield from sync(1)
            yield from read_expected(f"data {1 - me}", 1)
            yield from sync(2)
            yield write(f"data {me}", 2)
        return pe
    return [make(0), make(1)]


MEET = ("src/core/node_memory.cpp", "void NodeMemory::meet(")


@protocol("PEs that have met in the start read what the others wrote before",
          {"arrive": MEET + ("arrivals.fetch_add(1, std::memory_order_release)",),
           "load": MEET + ("arrivals.load(std::memory_order_acquire)",)})
def meet(o):
    def make(me):
        def pe():
            yield write(f"data {me}", 1)
            yield add("arrivals", o["arrive"])
            yield wait("arrivals", o["load"], at_least(3))
            yield from read_expected(f"data {(me + 1) % 3}", 1)
        return pe
    return [make(0), make(1), make(2)]


LOCK = "src/core/lock.cpp"
LOCK_PLACES = {
    "load": (LOCK, "std::uint32_t load(", "__atomic_load_n(&word, __ATOMIC_ACQUIRE)"),
    "replace": (LOCK, "bool replace(", "desired, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED"),
    "swap": (LOCK, "std::uint32_t Lock::swap_tail(", "number, __ATOMIC_ACQ_REL"),
    "add": (LOCK, "void Lock::add_to_place(", "bits, __ATOMIC_RELEASE"),
    "hold": (LOCK, "void Lock::hold()", "kQueued | kHeld, __ATOMIC_RELAXED"),
    "leave": (LOCK, "void Lock::release() {\n  // Release: publishes what was done under the lock",
              "if (replace_tail(my_number_, 0)) { __atomic_store_n(&mine_->place, 0, "
              "__ATOMIC_RELAXED)"),
    "hand over": (LOCK, "void Lock::release() {\n  // Release: publishes what was done under the "
                  "lock", "text(), routine_); }); __atomic_store_n(&mine_->place, 0, "
                  "__ATOMIC_RELAXED)"),
}
QUEUED, HELD, NEXT = 1 << 8, 1 << 7, (1 << 7) - 1


def acquire_lock(o, me):
    before = yield compare_swap(f"place {me}", o["replace"], 0, QUEUED)
    require(before == 0, "a PE refuses its own lock")
    before = yield swap("tail", o["swap"], me)
    if before == 0:
        yield update(f"place {me}", o["hold"], lambda value: value | QUEUED | HELD)
    else:
        yield update(f"place {before}", o["add"], lambda value: value | me)
        yield wait(f"place {me}", o["load"], lambda value: value & HELD)


def try_lock(o, me):
    if (yield load(f"place {me}", o["load"])) != 0:
        return False
    if (yield compare_swap("tail", o["replace"], 0, me)) != 0:
        return False
    yield update(f"place {me}", o["hold"], lambda value: value | QUEUED | HELD)
    return True


def release_lock(o, me):
    if (yield compare_swap("tail", o["replace"], me, 0)) == me:
        yield store(f"place {me}", o["leave"], 0)
        return
    place = yield wait(f"place {me}", o["load"], lambda value: value & NEXT)
    yield store(f"place {me}", o["hand over"], 0)
    yield update(f"place {place & NEXT}", o["add"], lambda value: value | HELD)


def count_under_lock():
    yield write("data", (yield read("data")) + 1)


@protocol("what is done under a lock is seen by the next holder", LOCK_PLACES,
          {"replace to release": "only try_acquire() acquires by it: see the next protocol"})
def queue_of_lock(o):
    def make(me):
        def pe():
            for _ in range(3 - me):  # the first PE comes again
                yield from acquire_lock(o, me)
                yield from count_under_lock()
                yield from release_lock(o, me)
        return pe
    return [make(1), make(2)]


@protocol("three PEs hand a lock to each other", LOCK_PLACES,
          {"replace to release": "see the protocol above",
           "swap to acquire": "a place must be published only if its PE comes again: see above"})
def three_in_queue(o):
    def make(me):
        def pe():
            yield from acquire_lock(o, me)
            yield from count_under_lock()
            yield from release_lock(o, me)
        return pe
    return [make(1), make(2), make(3)]


@protocol("what is done under a lock is seen by a PE that tries to get it", LOCK_PLACES,
          {"swap to acquire": "the swap publishes the places of PEs that queue: see above"})
def tried_lock(o):
    def waits():
        yield from acquire_lock(o, 1)
        yield from count_under_lock()
        yield from release_lock(o, 1)

    def tries():
        if (yield from try_lock(o, 2)):
            yield from count_under_lock()
            yield from release_lock(o, 2)
    return [waits, tries]


SIGNAL = ("src/one_sided/signal_access.hpp", "inline void update_signal(")
WAIT = ("src/core/variable_wait.hpp", "static inline T load(",
        "__atomic_load_n(variable, __ATOMIC_ACQUIRE)")


@protocol("a PE that sees the signals of two puts reads their data (rule 7)",
          {"set": SIGNAL + ("__atomic_store_n(there, value, __ATOMIC_RELEASE)",),
           "add": SIGNAL + ("__atomic_fetch_add(there, value, __ATOMIC_RELEASE)",), "wait": WAIT})
def signals(o):
    def sets():
        yield write("data 1", 1)
        yield store("signal 1", o["set"], 1)

    def adds():
        yield write("data 2", 1)
        yield add("signal 2", o["add"])

    def waits():
        yield wait("signal 1", o["wait"], at_least(1))
        yield from read_expected("data 1", 1)
        yield wait("signal 2", o["wait"], at_least(1))
        yield from read_expected("data 2", 1)
    return [sets, adds, waits]


FENCES = "src/base/waiting/fence.hpp"
ORDER = (FENCES, "inline void order_stores() {", "atomic_thread_fence(std::memory_order_release)")
ELEMENT = "src/one_sided/element_access.hpp"
P = (ELEMENT, "[[gnu::always_inline]] static inline void p(",
     "__atomic_store(there, &value, __ATOMIC_RELAXED)")
G = (ELEMENT, "[[gnu::always_inline]] static inline E g(",
     "__atomic_load(there, &value, __ATOMIC_RELAXED)")


@protocol("a PE that sees the p behind a fence reads the data of the put before (rules 2 and 5)",
          {"fence": ORDER, "p": P, "wait": WAIT})
def fenced(o):
    def puts():
        yield write("data", 1)
        yield fence(o["fence"])
        yield store("flag", o["p"], 1)

    def waits():
        yield wait("flag", o["wait"], at_least(1))
        yield from read_expected("data", 1)
    return [puts, waits]


@protocol("of two PEs that put, call quiet and get, one gets the other's put (rule 3)",
          {"p": P, "g": G, "quiet": (FENCES, "inline void complete_stores() {",
                                     "atomic_thread_fence(std::memory_order_seq_cst)")})
def quiet(o):
    def make(me):
        def pe():
            yield store(f"x {me}", o["p"], 1)
            yield fence(o["quiet"])
            got = yield load(f"x {1 - me}", o["g"])
            yield store(f"got {me}", RELAXED, got)
            if not got and me == 0:
                yield wait("got 1", RELAXED, is_equal(1))
        return pe
    return [make(0), make(1)]


SEGMENTS = ("src/transport/network/segments.cpp", "void store_bytes(")


@protocol("a PE that waits for a far PE's flag reads the data of the records before",
          {"flag": SEGMENTS + ("word, __ATOMIC_RELEASE",), "wait": WAIT})
def records(o):
    def serves():
        yield write("data", 1)
        yield store("flag", o["flag"], 1)

    def waits():
        yield wait("flag", o["wait"], at_least(1))
        yield from read_expected("data", 1)
    return [serves, waits]


TEAMS = ("src/core/team_table.cpp", "void TeamTable::publish(",
         "store(&team, std::memory_order_release)")
FIND = ("src/core/team_table.hpp", "Team* find(", "load(std::memory_order_acquire)")
CLAIM = ("src/core/active_set_teams.cpp", "Team* ActiveSetTeams::find_or_make(",
         "claimed.exchange(true, std::memory_order_relaxed)")


@protocol("one thread makes the team of an active set, and the others see all of it",
          {"publish": TEAMS, "find": FIND, "claim": CLAIM})
def team_of_set(o):
    def thread():
        if (yield load("team", o["find"])) == 0:
            if (yield swap("claimed", o["claim"], 1)) == 0:
                yield write("fields", 1)
                yield store("team", o["publish"], 1)
            else:
                yield wait("team", o["find"], at_least(1))
        yield from read_expected("fields", 1)
    return [thread, thread]


NAMES = ("src/core/active_sets.cpp", "int ActiveSetList::slot_of(")


@protocol("two PEs that enter names in one place agree whose name has it",
          {"load": NAMES + ("names[place].load(std::memory_order_relaxed)",),
           "enter": NAMES + ("compare_exchange_strong(found, wanted, std::memory_order_relaxed)",)})
def names(o):
    def make(me):
        def pe():
            found = yield load("name", o["load"])
            if found == 0:
                found = yield compare_swap("name", o["enter"], 0, me)
            yield add("winners", RELAXED, int(found in (0, me)))
            yield add("ended", RELAXED)
        return pe

    def counts():
        yield wait("ended", RELAXED, is_equal(2))
        yield wait("winners", RELAXED, is_equal(1))
    return [make(1), make(2), counts]

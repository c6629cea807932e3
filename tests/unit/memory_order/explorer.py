# SPDX-License-Identifier: Apache-2.0
"""Finds all executions that the C++ memory model allows for a tiny program.

The model is RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer: PLDI 2017) with the release sequences of
C++20: a write and the read-modify-writes behind it. RC11 has no cycles of program order and
reads-from. So executions grow event by event, and each read takes its value from a write that is
already there.

A thread is a generator. It yields the operations of this file and gets the value that was read.
Locations are strings and begin as 0. require() states the property that must hold. The explorer
also refuses data races: two accesses of a location, one of them plain, that nothing orders. And it
refuses waits that never end.
"""
from collections import namedtuple

PLAIN, RELAXED, ACQUIRE, RELEASE = "plain", "relaxed", "acquire", "release"
ACQ_REL, SEQ_CST = "acq_rel", "seq_cst"
ACQUIRES, RELEASES = {ACQUIRE, ACQ_REL, SEQ_CST}, {RELEASE, ACQ_REL, SEQ_CST}

Operation = namedtuple("Operation", "kind at order value wanted failure")
# `bit` names the event in masks. `source` is the write that a read reads, `before` all events that
# happen before this one, and itself. `released` is what a reader of a write synchronizes with.
Event = namedtuple("Event", "bit kind at order value source before released")
START = Event(0, "write", "", PLAIN, 0, None, 0, 0)
MOST_EVENTS = 24  # of a thread


class Broken(Exception):
    """An execution that the property forbids."""


def require(holds, text):
    if not holds:
        raise Broken(text)


def load(at, order):
    return Operation("read", at, order, None, None, None)


def wait(at, order, wanted):
    """A loop of loads, of which the last one counts."""
    return Operation("read", at, order, None, wanted, None)


def store(at, order, value):
    return Operation("write", at, order, value, None, None)


def read(at):
    return load(at, PLAIN)


def write(at, value):
    return store(at, PLAIN, value)


def update(at, order, change, wanted=None):
    """A read-modify-write. With `wanted`, a loop that ends with such a value before the change."""
    return Operation("update", at, order, change, wanted, None)


def swap(at, order, value):
    return update(at, order, lambda _: value)


def compare_swap(at, order, expected, value, failure=RELAXED):
    """Gives the value before: it has stored if that is `expected`."""
    return Operation("compare", at, order, value, expected, failure)


def fence(order):
    return Operation("fence", None, order, None, None, None)


def lock(mutex):
    return update(mutex, ACQUIRE, lambda _: 1, lambda value: value == 0)


def unlock(mutex):
    return store(mutex, RELEASE, 0)


def bits_of(mask):
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class Graph:
    """Events by thread, and the order of the writes of each location, which START begins."""

    def __init__(self, threads, writes):
        self.threads, self.writes = threads, writes

    def key(self):
        sources = tuple(tuple(event.source for event in thread) for thread in self.threads)
        order = tuple(sorted((at, tuple(w.bit for w in all)) for at, all in self.writes.items()))
        return sources, order

    def events(self):
        return [event for thread in self.threads for event in thread]

    def writes_of(self, at):
        return self.writes.get(at, (START,))

    def earliest(self, at, before):
        """The place, among the writes, of the last one that an event must not overlook."""
        writes = self.writes_of(at)
        seen = {w.bit for w in writes if w.bit & before}
        for event in self.events():
            if event.bit & before and event.at == at and event.source is not None:
                seen.add(event.source)
        return max((i for i, w in enumerate(writes) if w.bit in seen), default=0)

    def add(self, thread, kind, operation, order, value, source, place):
        """The graph with one more event; `place` is that of a write among the writes."""
        mine = self.threads[thread]
        bit = 1 << (thread * MOST_EVENTS + len(mine))
        before = bit | (mine[-1].before if mine else 0)
        reads = kind in ("read", "update")
        if reads and order in ACQUIRES:
            before |= source.released
        if kind == "fence" and order in ACQUIRES:
            for event in mine:
                if event.source is not None and event.order != PLAIN:
                    before |= self.find(event.source).released
        if any(e.at == operation.at and PLAIN in (order, e.order) and not e.bit & before and
               (kind != "read" or e.kind != "read") for e in self.events() if e.at is not None):
            raise Broken(f"a data race at {operation.at}")
        released = 0
        if kind in ("write", "update") and order != PLAIN:
            fences = [e.before for e in mine if e.kind == "fence" and e.order in RELEASES]
            released = before if order in RELEASES else fences[-1] if fences else 0
            if kind == "update":
                released |= source.released
        event = Event(bit, kind, operation.at, order, value, source.bit if reads else None, before,
                      released)
        threads = list(self.threads)
        threads[thread] = mine + (event,)
        writes = self.writes
        if place is not None:
            all_writes = self.writes_of(operation.at)
            writes = {**writes, operation.at: all_writes[:place] + (event,) + all_writes[place:]}
        return Graph(tuple(threads), writes)

    def find(self, bit):
        if bit == 0:
            return START
        thread, index = divmod(bit.bit_length() - 1, MOST_EVENTS)
        return self.threads[thread][index]

    def has_update_of(self, at, write):
        return any(e.kind == "update" and e.at == at and e.source == write.bit
                   for e in self.events())


def value_of(event):
    return event.value[1] if event.kind == "update" else event.value


def read_value(graph, event):
    return None if event.source is None else value_of(graph.find(event.source))


def next_graphs(graph, thread, operation):
    """All graphs with the thread's next operation."""
    kind, at, order = operation.kind, operation.at, operation.order
    mine = graph.threads[thread]
    if kind == "fence":
        yield graph.add(thread, kind, operation, order, None, None, None)
        return
    writes = graph.writes_of(at)
    # The source of a read changes what happens before the read only if the read acquires.
    known = mine[-1].before if mine else 0
    if kind == "write":
        for place in range(graph.earliest(at, known) + 1, len(writes) + 1):
            if place == len(writes) or not (writes[place].kind == "update"):
                yield graph.add(thread, kind, operation, order, operation.value, None, place)
        return
    for place in range(graph.earliest(at, known), len(writes)):
        source = writes[place]
        value = value_of(source)
        here, changed, is_read = order, None, kind == "read"
        if kind == "compare":
            is_read = value != operation.wanted
            here = operation.failure if is_read else order
            changed = operation.value
        elif operation.wanted and not operation.wanted(value):
            continue
        elif kind == "update":
            changed = operation.value(value)
        # An acquiring read may learn of later writes from the one that it reads.
        if here in ACQUIRES and graph.earliest(at, known | source.released) > place:
            continue
        if is_read:
            yield graph.add(thread, "read", operation, here, value, source, None)
        elif not graph.has_update_of(at, source):
            yield graph.add(thread, "update", operation, here, (value, changed), source, place + 1)


def closure(edges):
    for middle in edges:
        for event in edges:
            if edges[event] >> middle & 1:
                edges[event] |= edges[middle]
    return edges


def is_sequential(graph):
    """Whether one order of the seq_cst events explains the execution (psc is acyclic)."""
    events = {e.bit.bit_length() - 1: e for e in graph.events()}
    strong = [i for i, e in events.items() if e.order == SEQ_CST]
    if len(strong) < 2:
        return True
    after = {i: 0 for i in events}  # happens-before
    for i, event in events.items():
        for j in bits_of(event.before & ~event.bit):
            after[j] |= event.bit
    eco, rest = {i: 0 for i in events}, {i: 0 for i in events}  # rest: writes after, from-read
    for at in graph.writes:
        writes = graph.writes[at]
        later = 0
        behind = {}
        for w in reversed(writes):
            behind[w.bit] = later
            if w.bit:
                rest[w.bit.bit_length() - 1] |= later
            later |= w.bit
        for i, event in events.items():
            if event.at == at and event.source is not None:
                rest[i] |= behind[event.source] & ~event.bit
                if event.source:
                    eco[event.source.bit_length() - 1] |= event.bit
    for i in events:
        eco[i] |= rest[i]
    closure(eco)
    scb = {}
    thread_of = {i: i // MOST_EVENTS for i in events}
    for i, event in events.items():
        others = [j for j in bits_of(after[i]) if thread_of[j] == thread_of[i]]
        scb[i] = rest[i] | sum(1 << j for j in others)
        away = 0  # program order to another location
        for j in others:
            if events[j].at != event.at:
                away |= 1 << j
        for j in bits_of(away):
            for k in bits_of(after[j]):
                if any(thread_of[m] == thread_of[k] and m < k and events[m].at != events[k].at and
                       (after[j] >> m & 1 or m == j) for m in events):
                    scb[i] |= 1 << k
        if event.at is not None:
            scb[i] |= sum(1 << j for j in bits_of(after[i]) if events[j].at == event.at)
    psc = {i: 0 for i in strong}
    for i in strong:
        is_fence = events[i].kind == "fence"
        froms = [i] + (list(bits_of(after[i])) if is_fence else [])
        reached = 0
        for j in froms:
            reached |= scb[j]
        ends = reached
        for j in bits_of(reached):
            ends |= sum(1 << k for k in bits_of(after[j]) if events[k].kind == "fence")
        if is_fence:
            ends |= sum(1 << k for k in bits_of(after[i]) if events[k].kind == "fence")
            for j in bits_of(after[i]):
                for k in bits_of(eco[j]):
                    ends |= sum(1 << m for m in bits_of(after[k]) if events[m].kind == "fence")
        psc[i] = sum(1 << k for k in strong if ends >> k & 1)
    closure(psc)
    return not any(psc[i] >> i & 1 for i in strong)


class Program:
    """Threads that run from the beginning for each look at their next operation."""

    def __init__(self, threads):
        self.threads = threads
        self.known = {}

    def next_operation(self, thread, values):
        """Or ("result", what the thread returns)."""
        if (thread, values) not in self.known:
            running = self.threads[thread]()
            try:
                operation = next(running)
                for value in values:
                    operation = running.send(value)
            except StopIteration as end:
                operation = ("result", end.value)
            except Broken as broken:
                operation = ("broken", broken)
            self.known[thread, values] = operation
        return self.known[thread, values]


def explore(threads):
    """The set of the threads' results, over all executions. Raises Broken."""
    program = Program(threads)
    results, seen = set(), set()
    stack = [Graph(((),) * len(threads), {})]
    while stack:
        graph = stack.pop()
        key = graph.key()
        if key in seen:
            continue
        seen.add(key)
        if not is_sequential(graph):
            continue
        operations = []
        for thread, events in enumerate(graph.threads):
            values = tuple(read_value(graph, event) for event in events)
            operations.append(program.next_operation(thread, values))
        for operation in operations:
            if operation[0] == "broken":
                raise operation[1]
        if all(operation[0] == "result" for operation in operations):
            results.add(tuple(operation[1] for operation in operations))
            continue
        any_next = False
        for thread, operation in enumerate(operations):
            if operation[0] == "result":
                continue
            for following in next_graphs(graph, thread, operation):
                any_next = True
                stack.append(following)
        if not any_next:
            # In the end a wait sees the last write. If that suffices, another graph has it.
            waits = [op for op in operations if op[0] != "result"]
            require(any(op.wanted(value_of(graph.writes_of(op.at)[-1])) for op in waits),
                    "a wait for " + " and ".join(op.at for op in waits) + " never ends")
    return results

# SPDX-License-Identifier: Apache-2.0
"""The rules that instructions.py checks in every kernel.

A rule is about kinds of memory accesses, such as "flag stored". The kind follows from the code that
the instruction was made of: a verb of device/memory.hpp (VERBS), or plain code.

  scope    an access by a verb has system scope, and does not go through the scalar cache
  packets  a packet's data and flag are in one store; and in one load, which the thread repeats
           until the flag is there
  release  between a store of data and a store of a flag every thread releases, then the block meets
  acquire  between a poll of a flag and a read of data the block meets, then every thread acquires
  get      a get acquires before it reads
  scalar   acquired data is not read through the scalar cache, which an acquire does not invalidate
  end      no thread ends with stores that it has not released
"""
import functools
import itertools
import re

from amd_assembly import (ATOMIC, LOAD, PLAIN_STORE, SCALAR_LOAD, STORE, follow, loops_without,
                          registers_of)

VERBS = {"load_relaxed", "store_relaxed", "load_pair", "store_pair", "fetch_add", "exchange",
         "compare_exchange"}
# Functions whose verbs store data, not flags. A later flag has to come after this data. "execute"
# executes operations for hosts, with a full fence before each. In the assembly the cases of its
# switch look like one after the other.
STORES_OF_DATA = {"wipe_packets", "p", "apply_atomic", "store_kernel", "execute"}
ANNOUNCES_ITS_OWN = {"wipe_and_meet"}  # its flag announces only stores of the same thread
STORES_FLAGS_ONLY = {"fill_slot"}  # the words of a command, which are sent together
# In these functions each wave of a block polls and goes on by itself, or one thread asks the proxy
# for its whole group. The block need not meet before it acquires.
AWAITS_BY_WAVES = {"await_by_waves", "await_all_by_waves", "await_host", "ask_for_result",
                   "await_result"}
# Tests return at once. Only a test that succeeds acquires.
TESTS = {"test", "test_all_vector", "test_any_vector", "test_some_vector"}
LOADS_OF_GETS = {"load_of_get", "g", "load_kernel", "read_words_kernel", "combine_kernel"}
# Files whose loads read only a PE's own tables and arguments, which no other PE writes.
BOOKKEEPING = {f"device/{name}.hpp" for name in ("state", "sync", "teams", "module", "grid", "wait",
                                                 "collectives/packet_rows", "collectives/reduce",
                                                 "collectives/by_grid")}
ENDS = ("s_endpgm", "s_setpc")
# Lines of the source in which a PE counts its own operations.
COUNTING = re.compile(r"(epoch\(\)|\*counter|mine_->value) = epoch")
WHOLE = re.compile(r"(global|flat)_(load|store)_(dwordx[24]|b64|b128)\b")
COPY = re.compile(r"(([vs]|v_dual|v_pk)_mov_b(32|64)\w*|v_readfirstlane_b32|v_accvgpr_(read"
                  r"|write)\w*|"
                  r"[vs]_or_b(32|64)\w*) ")
NO_RESULT = re.compile(r"(global|flat|scratch|buffer)_store_")
COMPARE = re.compile(r"[vs]_cmpx?_")


def steps_of(word, patterns):
    """Returns the states of a path that waits for each pattern in turn, and the last state."""
    return [f"{word}-{index}" for index in range(len(patterns))] + [word + "d"]


def advance(names, patterns, state, code):
    index = names.index(state)
    return names[index + 1] if patterns[index].match(code) else state


# The kinds by which PEs synchronize.
SYNCHRONIZING = {"packet sent", "packet polled", "flag stored", "flag polled"}


class Traced:
    """A kernel or function, with the kinds of its memory accesses."""

    def __init__(self, function, arch, group, sources, callees):
        self.function, self.arch, self.group = function, arch, group
        self.code, self.after = function.code, function.after
        self.sources = sources
        self.frames = list(function.frames)
        self.in_clauses = function.in_clauses()
        for at in self.in_clauses:
            self.frames[at] = self.frames_in_clause(at)
        self.names = [frozenset(frame.name for frame in frames) for frames in self.frames]
        self.loops = self.waiting_loops()
        self.kinds = [self.kinds_of(at, callees) for at in range(len(self.code))]

    def frames_in_clause(self, at):
        """Returns the frames of an access whose place is that of the first one in its clause. If it
        is a load or store without system scope, a verb did not make it, so leaves out the verb."""
        frames, code = self.frames[at], self.code[at]
        scope = "system load" if LOAD.match(code) else "system store"
        if not ATOMIC.match(code) and not self.arch[scope].search(code):
            while frames and (frames[0].file or "").startswith("device/memory"):
                frames = frames[1:]
        return frames

    def waiting_loops(self):
        """Returns the loads that poll. Their loops sleep, and have no store, barrier or call."""
        barred = [bool(STORE.match(code) or code.startswith(("s_barrier", "call")))
                  for code in self.code]
        loops = loops_without(self.function, barred)
        waiting = {loop for loop, code in zip(loops, self.code) if code.startswith("s_sleep")} - {
            None}
        paths = {self.path(at) for at, loop in enumerate(loops) if loop in waiting
                 and LOAD.match(self.code[at])}
        # The compiler may put the first load of a loop before the loop: it has the same path.
        return {at for at in range(len(self.code)) if LOAD.match(self.code[at])
                and self.path(at) in paths}

    def path(self, at, inner=1):
        """Returns the calls in the source that lead to an instruction, the inner ones first."""
        return self.frames[at][inner:]

    def line_of_source(self, at):
        frame = self.frames[at][0] if self.frames[at] else None
        return self.sources.line(frame.file, frame.line) if frame else ""

    def kinds_of(self, at, callees):
        if self.code[at].startswith("call "):
            kinds = callees.get(self.code[at].split()[1], frozenset())
            return kinds if kinds.isdisjoint(SYNCHRONIZING) else frozenset()  # checked itself
        kind = self.kind_of_access(at)
        if kind == "flag stored" and at in self.in_clauses and not self.names[
                at] & STORES_FLAGS_ONLY:
            return frozenset({kind, "data stored"})  # one or the other
        return frozenset({kind} - {None})

    def kind_of_access(self, at):
        code, names = self.code[at], self.names[at]
        if STORE.match(code):
            if "store_pair" in names:
                return "packet sent"
            if names & VERBS:
                return "data stored" if names & STORES_OF_DATA else "flag stored"
            return "count stored" if COUNTING.search(self.line_of_source(at)) else "data stored"
        if LOAD.match(code):
            if names & LOADS_OF_GETS:
                return "data got"
            if "load_pair" in names:
                return "packet polled"
            if names & VERBS:
                if at in self.loops or names & {"signal_fetch", "signal_fetch_by"}:
                    return "flag polled"
                return "flag tested" if names & TESTS else "flag looked at"
            frames = self.frames[at]
            return "table read" if frames and frames[0].file in BOOKKEEPING else "data read"
        return None

    def of_kind(self, *kinds):
        return [at for at, found in enumerate(self.kinds) if not found.isdisjoint(kinds)]


# ---- The rules. Each yields pairs: what is wrong, and the instruction at which it is

def break_scope(kernel):
    wanted = {LOAD: kernel.arch["system load"], PLAIN_STORE: kernel.arch["system store"],
              ATOMIC: kernel.arch["system atomic"]}
    verbs = VERBS | {"load_of_get"}
    for at, code in enumerate(kernel.code):
        if not kernel.names[at] & verbs:
            continue
        for pattern, bits in wanted.items():
            if pattern.match(code) and not bits.search(code):
                yield "is not of system scope", at
    suspects = {at for at, code in enumerate(kernel.code) if kernel.names[at] & verbs
                and SCALAR_LOAD.match(code)}
    for at in suspects and suspects & kernel.function.find_scalar_data():
        yield "goes through the scalar cache", at


def copied_from(code, part):
    """Yields the registers and numbers from which a copy, or a bitwise or, makes the part-th
    register that it writes."""
    operands, _, selected = code.partition(" ")[2].partition(" op_sel:")
    _, *read = operands.split(",")
    if code.startswith("v_pk_mov"):
        read, part = read[part:part + 1], int(re.findall(r"\d", selected)[part]) if selected else 0
    for operand in read:
        letter = next((letter for letter in "vsa" if registers_of(operand, letter)), None)
        if letter:
            yield letter, sorted(registers_of(operand, letter))[part]
        elif operand.strip() != "0":
            yield operand.strip(), None


def values_of(function, at, register):
    """Follows copies and bitwise ors back from a register. Returns the instructions that made its
    bits, each with the register that it wrote, and numbers other than 0."""
    found, seen, todo = set(), set(), [(before, register) for before in function.before[at]]
    while todo:
        here, register = todo.pop()
        if (here, register) in seen:
            continue
        seen.add((here, register))
        code = function.code[here]
        kind, number = register
        written = registers_of(code.partition(" ")[2].split(",")[0], kind)
        if number not in written or NO_RESULT.match(code):
            todo += [(before, register) for before in function.before[here]]
        elif not COPY.match(code):
            found.add((here, register))
        else:
            for source in copied_from(code, sorted(written).index(number)):
                if source[1] is None:
                    found.add(source)
                else:
                    todo += [(before, source) for before in function.before[here]]
    return frozenset(found)


@functools.cache
def first_and_other_registers_of(code):
    """Returns the registers of the first operand, which most instructions write, and those of the
    other operands."""
    operands = code.partition(" ")[2].split(",")
    first, *others = [frozenset((kind, number) for kind in "vs"
                                for number in registers_of(operand, kind))
                      for operand in operands]
    return first, frozenset().union(*others)


def is_compared(function, at, register):
    """True if an instruction compares the register's value, or a value made from it."""
    # by instruction: the registers that hold such a value before it
    held = {follower: {("v", register)} for follower in function.after[at]}
    todo = list(held)
    while todo:
        here = todo.pop()
        code = function.code[here]
        first, others = first_and_other_registers_of(code)
        if COMPARE.match(code) and not (held[here].isdisjoint(first)
                                        and held[here].isdisjoint(others)):
            return True
        after = set(held[here])
        if not STORE.match(code):
            after -= first
            if not held[here].isdisjoint(others):
                after |= first
        for follower in function.after[here]:
            if not after <= held.setdefault(follower, set()):
                held[follower] |= after
                todo.append(follower)
    return False


def halves_of(code):
    """Returns a pair of registers for each half of a packet load or store: of data and flag."""
    operands = code.partition(" ")[2].split(",")
    registers = sorted(registers_of(operands[1 if STORE.match(code) else 0], "v"))
    return list(zip(registers[::2], registers[1::2]))


def break_packets(kernel):
    function = kernel.function
    polls, sends = kernel.of_kind("packet polled"), kernel.of_kind("packet sent")
    for at in polls + sends:
        if not WHOLE.match(kernel.code[at]):
            yield "does not move a packet's data and flag at once", at
            return
    for at in polls:
        if at not in kernel.loops:
            yield "polls a packet outside of a loop that waits for it", at
        elif not all(is_compared(function, at, flag) for _, flag in halves_of(kernel.code[at])):
            yield "loads a packet whose own flag nobody looks at", at
    halves = {}  # by path: the stores; two in a row make a packet line
    for at in sends:
        halves.setdefault(kernel.path(at, 2),
                          []).extend((at, flag) for _, flag in halves_of(kernel.code[at]))
    for stores in halves.values():
        for one, other in itertools.zip_longest(stores[::2], stores[1::2]):
            if not other or values_of(function, one[0], ("v", one[1])) != values_of(
                    function, other[0], ("v", other[1])):
                yield "sends a half without the other's flag", one[0]


def entry_of(state, is_asked_for):
    """Returns the kernel's entry as the start of a path, if the kernel must also release the stores
    of earlier kernels."""
    return [(0, state)] if is_asked_for else []


def break_release(kernel, from_entry):
    waits = steps_of("release", kernel.arch["release"])

    def step(state, at):
        code = kernel.code[at]
        if "flag stored" in kernel.kinds[at]:
            if state in waits[:-1]:
                return "announces what the thread has not released"
            if state == "released" and kernel.group == "block" and not kernel.names[
                    at] & ANNOUNCES_ITS_OWN:
                return "announces what other threads may not have released: the block has not met"
        if "data stored" in kernel.kinds[at]:
            return waits[0]
        if "flag stored" in kernel.kinds[at]:
            return None
        if code.startswith("s_barrier") and kernel.group == "block":
            return "met" if state == "released" else state
        return advance(waits, kernel.arch["release"], state, code) if state in waits[:-1] else state

    starts = [(at, waits[0]) for at in kernel.of_kind("data stored")] + entry_of(waits[0],
                                                                                 from_entry)
    violation, _ = follow(starts, kernel.after, step)
    if violation:
        yield violation


def break_acquire(kernel):
    waits = steps_of("acquire", kernel.arch["acquire"])

    def first_after(at):
        by_block = kernel.group == "block" and not kernel.names[at] & AWAITS_BY_WAVES
        return "polled" if by_block else waits[0]

    def step(state, at):
        code = kernel.code[at]
        if kernel.kinds[at] & {"data read", "data got"}:
            return "reads what was not acquired after a flag was polled" + (
                " by every thread, after the block has met" if kernel.group == "block" else "")
        if code.startswith(ENDS):
            return "ends without having acquired after a flag was polled"
        if "flag polled" in kernel.kinds[at]:
            return first_after(at)
        if state == "polled":
            return waits[0] if code.startswith("s_barrier") else state
        state = advance(waits, kernel.arch["acquire"], state, code)
        return None if state == "acquired" else state

    starts = [(at, first_after(at)) for at in kernel.of_kind("flag polled")]
    violation, _ = follow(starts, kernel.after, step)
    if violation:
        yield violation
    # Only a successful test acquires, and the graph does not show which paths belong to success. So
    # one path that acquires is enough.
    for at in kernel.of_kind("flag tested"):
        if not follow([(at, waits[0])], kernel.after, lambda state, at: (
                "is acquired" if state == waits[-2]
                and kernel.arch["acquire"][-1].match(kernel.code[at]) else
                advance(waits, kernel.arch["acquire"], state, kernel.code[at])))[0]:
            yield "is tested, and what it announces never acquired", at


def break_scalar(kernel):
    """Finds scalar loads of data after an acquire, which does not invalidate the scalar cache."""
    scalar = {at for at in kernel.function.find_scalar_data()
              if kernel.frames[at] and kernel.frames[at][0].file not in BOOKKEEPING}
    last = kernel.arch["acquire"][-1]
    starts = [(at, "acquired") for at, code in enumerate(kernel.code) if last.match(code)]
    violation, _ = follow(starts, kernel.after, lambda state, at: (
        "reads through the scalar cache what it has acquired" if at in scalar else state))
    if violation:
        yield violation


def break_get(kernel):
    waits = steps_of("acquire", kernel.arch["acquire"])

    def step(state, at):
        if "data got" in kernel.kinds[at]:
            return "gets what a cache may have held before"
        state = advance(waits, kernel.arch["acquire"], state, kernel.code[at])
        return None if state == "acquired" else state

    violation, _ = follow([(0, waits[0])], kernel.after, step)
    if violation:
        yield violation


def break_end(kernel, from_entry):
    waits = steps_of("release", kernel.arch["release"])
    stores = kernel.of_kind("data stored", "flag stored", "packet sent")

    def step(state, at):
        code = kernel.code[at]
        if code.startswith(ENDS):
            return None if state == "released" else "ends with what the thread has not released"
        if at in stores:
            return waits[0]
        return advance(waits, kernel.arch["release"], state, code) if state != "released" else state

    starts = [(at, waits[0]) for at in stores] + entry_of(waits[0], from_entry)
    violation, _ = follow(starts, kernel.after, step)
    if violation:
        yield violation


def violations(kernel, features):
    """Yields the violations of all rules. features: see KERNELS in instructions.py."""
    yield from break_scope(kernel)
    yield from break_packets(kernel)
    yield from break_release(kernel, "after the stream" in features)
    yield from break_acquire(kernel)
    yield from break_get(kernel)
    if "vector reads" in features:
        yield from break_scalar(kernel)
    if "end" in features:
        yield from break_end(kernel, "after the stream" in features)


# Features of kernels, with the kinds of access by which a kernel is seen to have them. No access
# shows those of DEMANDS: a table of instructions.py asks for them.
FEATURES = {"packets": {"packet polled", "packet sent"}, "packets sent": {"packet sent"},
            "packets polled": {"packet polled"}, "flags": {"flag stored"}, "polls": {"flag polled"},
            "tests": {"flag tested"}, "gets": {"data got"}}
DEMANDS = {"after the stream", "end", "vector reads"}


def features_of(parts):
    kinds = frozenset().union(*(found for part in parts for found in part.kinds))
    return {feature for feature, wanted in FEATURES.items() if wanted <= kinds}

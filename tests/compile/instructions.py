#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the instructions that compilers for AMD GPUs make of the routines that synchronize.

instructions.py TOP COMPILER ARCHITECTURE...   COMPILER is hipcc or clang-19; compiles probe_kernels.cpp of TOP, and
                                               the library's own kernels

No AMD GPU is needed. A kernel's name says which rules it is held to (see probe_kernels.cpp):
  release  every thread's stores are written back and awaited, then the block meets, and only then a flag is stored
  acquire  the flag is polled by loads of system scope, then the block meets, then every thread invalidates its caches,
           and only then reads, and not through the scalar cache
  get      the caches are invalidated before the data is read, and it is not read through the scalar cache
  end      no thread ends with a store that it has not written back and awaited: the library's own kernels of several
           blocks are held to this
All paths are followed. What the planted_ kernels break must be found.
Exit status 77 (skipped) where the compiler is not installed.
"""
import itertools
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# What the instructions of an architecture are called. A release or acquire is every pattern of its row, in this order.
ARCHITECTURES = {
    "gfx90a": {
        "release": [r"buffer_wbl2", r"s_waitcnt .*vmcnt\(0\)"],
        "acquire": [r"buffer_invl2", r"buffer_wbinvl1_vol"],
        "system load": r"\bglc\b",
        "system store": r"",
    },
    "gfx942": {
        "release": [r"buffer_wbl2 sc0 sc1", r"s_waitcnt .*vmcnt\(0\)"],
        "acquire": [r"buffer_inv sc0 sc1"],
        "system load": r"\bsc0 sc1\b",
        "system store": r"\bsc1\b",
    },
    "gfx1100": {
        "release": [r"s_waitcnt_vscnt null, 0x0"],  # the second-level cache is written through
        "acquire": [r"buffer_gl1_inv", r"buffer_gl0_inv"],
        "system load": r"\bglc\b",
        "system store": r"",
    },
}
# Planted violations that come to the right instructions: device and system scope look alike in the loads of these, and
# what a gfx1100 has written back it need not write back further, so that awaiting it, which barriers do, is enough.
LOOK_RIGHT = {
    "gfx90a": {"planted_acquire_of_device_scope_thread"},
    "gfx942": set(),
    "gfx1100": {"planted_acquire_of_device_scope_thread", "planted_release_of_device_scope_thread",
                "planted_release_by_leader_block"},
}

# The library's own kernels that store to other PEs in several blocks, and leave the flag to a later kernel.
SPREAD_NAMES = re.compile(r"\b(copy|strided_copy|store_pair)_kernel")
SPREAD_KERNELS = re.compile(SPREAD_NAMES.pattern.replace(r"\b", r"\d"))

STORE = re.compile(r"(global|flat)_(store|atomic)_")
DATA_STORE = re.compile(r"(global|flat)_store_(byte|b8|dwordx4|b128)|call that stores")
RESULT_STORE = re.compile(r"(global|flat)_store_(short|b16|d16)")
LOAD = re.compile(r"(global|flat)_load_")
SCALAR_LOAD = re.compile(r"s_(buffer_)?load_")
SGPRS = re.compile(r"\bs(?:\[(\d+):(\d+)\]|(\d+)\b)")


class Kernel:
    """The instructions of a kernel, as a graph, with the register contents that matter."""

    def __init__(self, lines, functions_that_store):
        self.code, labels = [], {}
        callee = ""
        for line in lines:
            line = line.split(";")[0].strip()
            callee = (re.findall(r"(\w+)@(?:gotpc)?rel32@lo", line) or [callee])[0]
            if line.startswith("s_swappc") and callee in functions_that_store:
                line = "call that stores"
            if re.match(r"[.\w]+:", line):
                labels[line.split(":")[0]] = len(self.code)
            elif line and not line.startswith("."):
                self.code.append(re.sub(r"\s+", " ", line))
        self.after = [self.followers(at, labels) for at in range(len(self.code))]
        self.before = [[] for _ in self.code]
        for at, followers in enumerate(self.after):
            for follower in followers:
                self.before[follower].append(at)
        self.scalar_data = self.find_scalar_data()

    def followers(self, at, labels):
        code = self.code[at]
        found = []
        if not re.match(r"s_(branch|endpgm|trap|setpc)", code) and at + 1 < len(self.code):
            found.append(at + 1)
        target = re.match(r"s_c?branch\w* (\S+)", code)
        if target and target.group(1) in labels:
            found.append(labels[target.group(1)])
        return found

    def find_scalar_data(self):
        """The scalar loads through a pointer that was itself loaded: of data, not of the kernel's arguments."""
        loaded = [set() for _ in self.code]  # before each instruction: the registers that hold what was loaded
        found, todo = set(), list(range(len(self.code)))
        while todo:
            at = todo.pop()
            operands = [registers_of(operand) for operand in self.code[at].partition(" ")[2].split(",")]
            reads = set().union(*operands[1:]) if len(operands) > 1 else set()
            after = set(loaded[at])
            is_load = SCALAR_LOAD.match(self.code[at])
            if is_load and reads & loaded[at]:
                found.add(at)
            if operands and not re.match(r"s_(cmp|bitcmp|c?branch|waitcnt)", self.code[at]):
                after -= operands[0]
                if is_load or reads & loaded[at] or self.code[at].startswith("v_readfirstlane"):
                    after |= operands[0]
            for follower in self.after[at]:
                if not after <= loaded[follower]:
                    loaded[follower] |= after
                    todo.append(follower)
        return found


def registers_of(operand):
    return {number for first, last, single in SGPRS.findall(operand)
            for number in range(int(first or single), int(last or single) + 1)}


def follow(kernel, starts, onwards, step):
    """Follows all paths from `starts`, pairs of an instruction and a state, in one direction. step(state, at) is the
    state after an instruction; text if it is a violation; None if the path is of no more interest. The violation, or
    None, and the states in which paths end."""
    seen, todo, at_end = set(), list(starts), set()
    while todo:
        at, state = todo.pop()
        if (at, state) in seen:
            continue
        seen.add((at, state))
        neighbours = onwards[at]
        if not neighbours:
            at_end.add(state)
        for neighbour in neighbours:
            after = step(state, neighbour)
            if after is not None and " " in after:
                return after, at_end
            if after is not None:
                todo.append((neighbour, after))
    return None, at_end


def find(kernel, pattern):
    return [at for at, code in enumerate(kernel.code) if pattern.match(code)]


def steps_of(word, patterns):
    """The states in which each pattern is waited for, and the one after them."""
    return [f"{word}-{index}" for index in range(len(patterns))] + [word + "d"]


def advance(names, patterns, state, code):
    index = names.index(state)
    return names[index + 1] if re.match(patterns[index], code) else state


def check_release(kernel, arch, group, flag_is_first=True):
    """On all paths from a store of data to the next store of something else: the release, then the block's barrier."""
    waits = steps_of("release", arch["release"])
    flags = set()

    def step(state, at):
        code = kernel.code[at]
        if DATA_STORE.match(code):
            return waits[0]
        if STORE.match(code):
            flags.add(at)
            if state in waits[:-1]:
                return f"the data is not released by the thread that stored it, before: {code}"
            if state == "released" and group == "block":
                return f"no barrier of the block between the release and: {code}"
            if flag_is_first and not re.search(arch["system store"], code):
                return f"the flag is not stored with system scope: {code}"
            return None
        if code.startswith("s_barrier") and group == "block":
            return "met" if state == "released" else state
        return advance(waits, arch["release"], state, code) if state in waits[:-1] else state

    starts = [(at, waits[0]) for at in find(kernel, DATA_STORE)]
    violation, _ = follow(kernel, starts, kernel.after, step)
    return violation or (None if flags else "nothing is stored after the data")


def check_acquire(kernel, arch, group):
    """On all paths back from the result: the load of the data, the acquire, the block's barrier, and the poll."""
    patterns = arch["acquire"][::-1]
    waits = steps_of("acquire", patterns)
    polls = set()

    def step(state, at):
        code = kernel.code[at]
        is_poll = LOAD.match(code) and re.search(arch["system load"], code)
        if state == "result":
            return load_of_data(kernel, at, waits[0])
        if state in waits[:-1] and is_poll:
            return f"the caches are not invalidated after the poll: {code}"
        if state == "acquired" and is_poll and group == "block":
            return f"not every thread invalidates its caches after the barrier that follows the poll: {code}"
        if state == "acquired" and group == "block" and code.startswith("s_barrier"):
            return "met"
        if is_poll:
            polls.add(at)
            return None
        return advance(waits, patterns, state, code) if state in waits[:-1] else state

    starts = [(at, "result") for at in find(kernel, RESULT_STORE)]
    violation, at_start = follow(kernel, starts, kernel.before, step)
    if not violation and at_start & set(waits[:-1]):
        violation = "the data can be read with caches that were never invalidated"
    return violation or (None if polls else "no load of system scope polls the flag")


def load_of_data(kernel, at, then, state="result"):
    """Back from a store to the load of what is stored."""
    if at in kernel.scalar_data:
        return f"the data is read through the scalar cache: {kernel.code[at]}"
    return then if LOAD.match(kernel.code[at]) else state


def check_both(kernel, arch, group):
    return check_release(kernel, arch, group, flag_is_first=False) or check_acquire(kernel, arch, group)


def check_get(kernel, arch, group):
    """On all paths back from a store: the load of the data; if that is not of system scope itself, the acquire."""
    del group
    patterns = arch["acquire"][::-1]
    waits = steps_of("acquire", patterns)

    def step(state, at):
        code = kernel.code[at]
        if state != "result":
            return advance(waits, patterns, state, code) if state in waits[:-1] else None
        if LOAD.match(code) and re.search(arch["system load"], code):
            return None
        return load_of_data(kernel, at, waits[0])

    starts = [(at, "result") for at in find(kernel, STORE)]
    violation, at_start = follow(kernel, starts, kernel.before, step)
    unread = "the data can be read with caches that were not invalidated" if at_start & set(waits[:-1]) else None
    return violation or unread or (None if starts else "nothing is stored")


def check_end(kernel, arch, group):
    """On all paths from a store to the end: the release."""
    del group
    waits = steps_of("release", arch["release"])

    def step(state, at):
        code = kernel.code[at]
        if code.startswith("s_endpgm"):
            return None if state == "released" else "a thread can end before its stores are released"
        is_store = STORE.match(code) or DATA_STORE.match(code)
        return waits[0] if is_store else advance(waits, arch["release"], state, code) if state != "released" else state

    starts = [(at, waits[0]) for at, code in enumerate(kernel.code) if STORE.match(code) or DATA_STORE.match(code)]
    violation, _ = follow(kernel, starts, kernel.after, step)
    return violation or (None if starts else "nothing is stored")


def check_test(kernel, arch, group):
    """Whether to acquire depends on what was found, in ways that only one who understands the code can follow."""
    del group
    wanted = [arch["system load"], *arch["acquire"]]
    missing = [pattern for pattern in wanted if not any(re.search(pattern, code) for code in kernel.code)]
    return f"it has no '{missing[0]}'" if missing else None


CHECKS = {"release": check_release, "acquire": check_acquire, "both": check_both, "get": check_get, "end": check_end,
          "test": check_test}


def check_kernel(name, kernel, arch):
    rule = name.removeprefix("planted_").split("_")[0]
    return CHECKS[rule](kernel, arch, name.split("_")[-1])


def kernels_in(assembly):
    bodies = dict(re.findall(r"^(\w+):\s*; @\w+\n(.*?)^\.Lfunc_end\d+:", assembly, re.M | re.S))
    names = re.findall(r"^\s*\.amdhsa_kernel (\w+)", assembly, re.M)
    functions_that_store = {name for name, body in bodies.items() if name not in names and STORE.search(body)}
    for name in names:
        yield name, Kernel(bodies[name].splitlines(), functions_that_store)


def check_spread_kernels(assembly, architecture):
    """The same for the library's own kernels of several blocks."""
    found = [(name, check_end(kernel, ARCHITECTURES[architecture], "thread"))
             for name, kernel in kernels_in(assembly) if SPREAD_KERNELS.search(name)]
    return [f"{architecture}: {name}: {text}" for name, text in found if text], len(found)


def check_probes(assembly, architecture):
    """Texts about what is wrong, and the number of kernels."""
    complaints, count = [], 0
    for name, kernel in kernels_in(assembly):
        count += 1
        found = check_kernel(name, kernel, ARCHITECTURES[architecture])
        if name.startswith("planted_") and not found and name not in LOOK_RIGHT[architecture]:
            complaints.append(f"{architecture}: {name} breaks a rule on purpose, and that was not seen")
        elif found and not name.startswith("planted_"):
            complaints.append(f"{architecture}: {name}: {found}")
    return complaints, count


def compile_kernels(top, source, compiler, architecture):
    # clang of another maker than the device library's is given none; what remains are calls of no interest here.
    library = ["-nogpulib"] if "clang" in compiler else ["-Wno-unused-command-line-argument"]
    with tempfile.TemporaryDirectory() as folder:
        output = f"{folder}/kernels.s"
        subprocess.run([compiler, "-x", "hip", f"--offload-arch={architecture}", "--offload-device-only", *library,
                        "-std=c++17", "-O3", "-DNDEBUG", "-Wall", "-Wextra", "-Werror", f"-I{top}", f"-I{top}/include",
                        "-S", f"{top}/{source}", "-o", output], check=True)
        return pathlib.Path(output).read_text()


def what_is_missing(compiler):
    if not shutil.which(compiler):
        return f"{compiler} is"
    headers = subprocess.run([compiler, "-E", "-x", "c++", "-"], input="#include <hip/hip_version.h>\n",
                             capture_output=True, text=True)
    return "HIP's headers are" if headers.returncode else None


def main():
    top, compiler, architectures = sys.argv[1], sys.argv[2], sys.argv[3:]
    missing = what_is_missing(compiler)
    if missing:
        print(f"SKIPPED: {missing} not installed")
        return 77
    failed = False
    own = sorted(str(path.relative_to(top)) for path in pathlib.Path(top, "device/kernels").glob("*.cpp")
                 if SPREAD_NAMES.search(path.read_text()))
    checks = {"tests/compile/probe_kernels.cpp": check_probes, **dict.fromkeys(own, check_spread_kernels)}
    held = set()  # the checks that have had a kernel to look at
    for architecture, (source, check) in itertools.product(architectures, checks.items()):
        complaints, count = check(compile_kernels(top, source, compiler, architecture), architecture)
        for text in complaints:
            print(f"instructions.py: {text}", file=sys.stderr)
        print(f"{architecture}, {source} by {compiler}: {count} kernels, {len(complaints)} of them not as they should be")
        failed |= bool(complaints)
        held |= {(architecture, check)} if count else set()
    return 1 if failed or len(held) < 2 * len(architectures) else 0


if __name__ == "__main__":
    sys.exit(main())

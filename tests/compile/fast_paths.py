#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions that put and get of single elements take to a PE of the same node.

fast_paths.py LIBRARY     the optimized library, for x86-64 or 64-bit Arm
fast_paths.py --self-test

Every shmem_TYPE_p and shmem_TYPE_g of at most 8 bytes has two such paths, for the heap and for
static variables. They are the shortest ways from its first instruction to a return that call
nothing and do not leave the function. LIMITS has the most that they may take. Exit status 77
(skipped) where the library is for another processor, or its objdump is missing.
"""
import re
import shutil
import subprocess
import sys

# By processor and operation.
LIMITS = {"x86-64": {"p": (16, 21), "g": (14, 19)}, "aarch64": {"p": (16, 22), "g": (17, 23)}}
# Instructions more, by which a value of these types comes to its register or goes from there.
SHORT = ["char", "schar", "short", "uchar", "ushort", "int8", "int16", "uint8", "uint16"]
FLOATING = ["float", "double"]
MOVES = {"x86-64": {"p": dict.fromkeys(["uchar", "ushort", "uint8", "uint16"], 1),
                    "g": dict.fromkeys(FLOATING, 1)},
         "aarch64": {"p": dict.fromkeys(SHORT, 1) | dict.fromkeys(FLOATING, 2),
                     "g": dict.fromkeys(FLOATING, 1)}}
ELF_MACHINES = {62: "x86-64", 183: "aarch64"}
OBJDUMPS = {"x86-64": "objdump", "aarch64": "aarch64-linux-gnu-objdump"}
TYPES = ["float", "double", "char", "schar", "short", "int", "long", "longlong", "uchar", "ushort",
         "uint", "ulong", "ulonglong", "int8", "int16", "int32", "int64", "uint8", "uint16",
         "uint32", "uint64", "size", "ptrdiff"]
LINE = re.compile(r"^\s*([0-9a-f]+):\s+(?:cs |bnd |repz |rep )*(\S+)(?:.*\s([0-9a-f]+) <)?")
# The mnemonics of both processors that decide which way the code goes.
BRANCH = re.compile(r"j|b$|b\.|br$|cbn?z|tbn?z")
ALWAYS = re.compile(r"jmp|br?$")
CALL = re.compile(r"call|blr?$")


def code_of(listing, name):
    """[(address, mnemonic, target)] of a function, by the name that it or its alias has."""
    match = re.search(rf"^[0-9a-f]+ <p?{name}>:\n((?:.+\n)*)", listing, re.M)
    if not match:
        raise SystemExit(f"fast_paths.py: the library has no {name}")
    found = []
    for line in match[1].splitlines():
        if parts := LINE.match(line):
            found.append((int(parts[1], 16), parts[2],
                          int(parts[3], 16) if parts[3] and BRANCH.match(parts[2]) else None))
    return found


def ways_of(code):
    """The lengths of the ways to a return within the function, without a call or a loop, shortest
    first."""
    at = {address: i for i, (address, _, _) in enumerate(code)}

    def follow(i, seen):
        count = 0
        while i < len(code):
            address, mnemonic, target = code[i]
            if address in seen or CALL.match(mnemonic):
                return []
            seen = seen | {address}
            count += 1
            if mnemonic.startswith("ret"):
                return [count]
            if ALWAYS.match(mnemonic):
                if target not in at:
                    return []
                i = at[target]
                continue
            if target in at:
                return [count + way for way in follow(at[target], seen) + follow(i + 1, seen)]
            i += 1
        return []

    return sorted(set(follow(0, frozenset())))


def complaints(listing, names, machine):
    for name in names:
        of_type, op = name.removeprefix("shmem_").rsplit("_", 1)
        moves = MOVES[machine][op].get(of_type, 0)
        ways, limits = ways_of(code_of(listing, name)), [n + moves for n in LIMITS[machine][op]]
        if not ways:
            yield f"{name} has no way to a return without a call"
        elif any(way > limit for way, limit in zip(ways, limits)):
            yield f"{name} takes {ways[:2]} instructions, and {limits} are the most"


def self_test():
    most = LIMITS["x86-64"]["p"][0]
    short = ("0 <pshmem_a_p>:\n 0:\tcmp %eax,%edx\n 2:\tjae 8 <x>\n 4:\tmov %eax,(%rdi)\n "
             "6:\tret\n 8:\tjmp 900 <cold>\n\n")
    calls = "0 <shmem_b_p>:\n 0:\tcall 900 <x>\n 5:\tret\n\n"
    long = "0 <shmem_c_p>:\n" + "".join(f" {i:x}:\tnop\n"
                                        for i in range(most)) + f" {most:x}:\tret\n\n"
    listing = short + calls + long
    assert not list(complaints(listing, ["shmem_a_p"], "x86-64"))
    assert ways_of(code_of(listing, "shmem_a_p")) == [4]
    assert "without a call" in next(complaints(listing, ["shmem_b_p"], "x86-64"))
    assert f"takes [{most + 1}]" in next(complaints(listing, ["shmem_c_p"], "x86-64"))
    arm = ("0 <pshmem_a_p>:\n 0:\tcmp w4, w1\n 4:\tb.ls 14 <x>  // b.plast\n"
           " 8:\ttbnz x1, #63, 18 <x>\n c:\tret\n 14:\tb 8 <x>\n 18:\tb 900 <cold>\n\n"
           "0 <shmem_b_p>:\n 0:\tbl 900 <x>\n 4:\tret\n\n")
    assert ways_of(code_of(arm, "shmem_a_p")) == [4, 5]
    assert "without a call" in next(complaints(arm, ["shmem_b_p"], "aarch64"))
    print("the planted faults are found")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    with open(sys.argv[1], "rb") as library:
        machine = ELF_MACHINES.get(int.from_bytes(library.read(20)[18:], "little"))
    if not machine or not shutil.which(OBJDUMPS[machine]):
        print("SKIPPED: needs a library for x86-64 or 64-bit Arm, and its objdump")
        sys.exit(77)
    listing = subprocess.run([OBJDUMPS[machine], "-d", "--no-show-raw-insn", sys.argv[1]],
                             capture_output=True, text=True, check=True).stdout
    names = [f"shmem_{name}_{op}" for op in "pg" for name in TYPES]
    found = list(complaints(listing, names, machine))
    print("\n".join(found))
    ways = [f"{name} {ways_of(code_of(listing, name))[:2]}"
            for name in ("shmem_long_p", "shmem_long_g")]
    print(f"{machine}: {len(names)} routines, {len(found)} complaints; {', '.join(ways)}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()

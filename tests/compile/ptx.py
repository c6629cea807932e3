#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what nvcc makes of packets and wide lines, and where kernels wait for earlier ones: ptx.py
TOP

Read are the library's kernels, of which the list in instructions.py says whether they have packets,
and those of probe_ptx.cpp.
  send     16 bytes by one relaxed store of system scope, in which each half has the flag beside its
           data (a packet), or one half the flag in the lane that has it (a wide line)
  receive  16 bytes by one relaxed load of system scope, repeated in a loop that stores nothing and
           meets nobody; of a packet the flag of each half is compared, of a wide line the word that
           one lane hands to the others
  wait     the library's kernels, which may be started while the one before them ends, access no
           memory and take no branch before they have waited for it
  divide   kernels that exchange or broadcast lines divide no numbers of 64 bits, which is a long
           loop on a GPU
  threads  a program's kernel with puts and gets takes no more registers than a block of 1,024
           threads has (probe_registers.cpp)
What the planted_ kernels break must be found. Exit status 77 (skipped) where nvcc is not installed.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from amd_assembly import loops_without
from instructions import KERNELS

FILES = ["device/kernels/moves.cpp", "device/kernels/broadcasts.cpp",
         "device/kernels/one_sided.cpp", "device/kernels/startup.cpp",
         "device/kernels/located.cpp", "device/kernels/moe.cpp",
         "tests/compile/probe_reductions.cpp", "tests/compile/probe_ptx.cpp"]
SEND = re.compile(r"st\.relaxed\.sys\.global\.v2\.u64 \[[^]]*\], \{(%\w+), ?(%\w+)\}")
RECEIVE = re.compile(r"ld\.relaxed\.sys\.global\.v2\.u64 \{(%\w+), ?(%\w+)\}")
STORES_OR_MEETS = re.compile(r"(@!?%p\d+ )?(st\.|red\.|atom\.|bar\.|barrier\.|call)")
ACCESS_OR_BRANCH = re.compile(
    r"(@!?%p\d+ )?(ld|st|red|atom|fence|membar|bar|barrier|call|bra)\b(?!\.param)")
# Parts of the names of kernels that exchange or broadcast lines.
OF_LINES = ("exchange_", "line_ends_", "broadcast_lines_")
DIVIDES = re.compile(r"(@!?%p\d+ )?(div|rem)\.[us]64 ")
REGISTER = re.compile(r"%\w+")
MOST_REGISTERS = 64


class Kernel:
    """A kernel's instructions as a graph, and where each was called from in
    device/memory_cuda.hpp."""

    def __init__(self, name, body, file_of_verbs, line_of_gets):
        self.name, self.code, self.is_get = name, [], []
        labels, is_get = {}, False
        for line in body.splitlines():
            line = " ".join(line.split("//")[0].split()).rstrip(";")
            if line.startswith(".loc"):
                is_get = line.endswith(tuple(f"inlined_at {file_of_verbs} {number} " +
                                             line.split()[-1]
                                             for number in line_of_gets))
            elif label := re.match(r"(\$\w+):", line):
                labels[label.group(1)] = len(self.code)
            elif line and not line.startswith((".", "{", "}", "(", ")")):
                self.code.append(line)
                self.is_get.append(is_get)
        self.after = []
        for at, code in enumerate(self.code):
            jump = re.search(r"\bbra(?:\.uni)? (\$\w+)", code)
            goes_on = not re.match(r"(bra|ret|exit|trap)", code) and at + 1 < len(self.code)
            self.after.append([at + 1] * goes_on + ([labels[jump.group(1)]] if jump else []))
        self.made_by = {}
        for code in self.code:
            opcode, result, others = self.parts(code)
            for register in result:
                self.made_by.setdefault(register, []).append((opcode, others))

    @staticmethod
    def parts(code):
        """Opcode, the registers that are written, and the operands that are read, as text."""
        code = re.sub(r"^@!?%p\d+ ", "", code)
        opcode, _, operands = code.partition(" ")
        written = re.match(r"\{[^}]*\}|[^,]*", operands).group()
        if opcode.startswith(("st", "bra", "red", "bar")):
            return opcode, [], operands
        return opcode, REGISTER.findall(written), operands[len(written):].lstrip(", ")

    def reaches(self, register, opcodes):
        """Whether an instruction of these reads what is made of a register."""
        held, grown = {register}, True
        while grown:
            grown = False
            for code in self.code:
                opcode, written, read = self.parts(code)
                if held.isdisjoint(REGISTER.findall(read)):
                    continue
                if opcode.startswith(opcodes):
                    return True
                # A value that other lanes get, or that is stored, is not followed further.
                if not held.issuperset(written) and not opcode.startswith(("shfl", "setp")):
                    held |= set(written)
                    grown = True
        return False

    def upper(self, register, seen=frozenset()):
        """The registers that may be the upper half of one of 64 bits."""
        found = set()
        for opcode, read in self.made_by.get(register, []) if register not in seen else []:
            operands = [operand.strip() for operand in read.split(",")]
            if opcode == "shl.b64" and operands[1] == "32":
                found |= self.same_as(operands[0])
            elif opcode == "bfi.b64" and operands[2:] == ["32", "32"]:
                found |= self.same_as(operands[0])
            elif opcode == "mov.b64" and read.startswith("{"):
                found |= self.same_as(REGISTER.findall(read)[1])
            elif opcode in ("or.b64", "mov.u64", "mov.b64"):
                for operand in operands:
                    found |= self.upper(operand, seen | {register})
        return found

    def same_as(self, register):
        """The register, those that it is a copy of, and those whose lower half it is."""
        found = {register}
        for opcode, read in self.made_by.get(register, []):
            if opcode in ("and.b64", "cvt.u32.u64", "cvt.u64.u32", "mov.u64", "mov.u32", "mov.b64"):
                for operand in set(REGISTER.findall(read)) - found:
                    found |= self.same_as(operand)
        return found

    def has_flags(self, halves):
        first, second = (self.upper(half) for half in halves)
        return bool(first & second) or any(opcode.startswith("selp")
                                           for opcode, _ in self.made_by.get(halves[1], []))

    def violations(self):
        sends = [at for at, code in enumerate(self.code)
                 if SEND.match(re.sub(r"^@!?%p\d+ ", "", code))]
        polls = [at for at, code in enumerate(self.code) if RECEIVE.match(code)
                 and not self.is_get[at]]
        for at in sends:
            if not self.has_flags(SEND.search(self.code[at]).groups()):
                yield f"sends a line without a flag: {self.code[at]}"
        barred = [bool(STORES_OR_MEETS.match(code)) for code in self.code]
        loops = loops_without(self, barred)
        for at in polls:
            if loops[at] is None:
                yield f"looks for a line once: {self.code[at]}"
                continue
            first, second = RECEIVE.match(self.code[at]).groups()
            is_packet = self.reaches(first, "setp") and self.reaches(second, "setp")
            if not is_packet and not self.reaches(second, "shfl"):
                yield f"loads a line whose own flag nobody looks at: {self.code[at]}"
        if "_kernel" in self.name:
            if "griddepcontrol.wait" not in self.code:
                yield "does not wait for earlier kernels"
            elif early := next(filter(ACCESS_OR_BRANCH.match,
                                      self.code[:self.code.index("griddepcontrol.wait")]), None):
                yield f"has not waited for earlier kernels: {early}"
        if any(part in self.name for part in OF_LINES):
            for code in filter(DIVIDES.match, self.code):
                yield f"divides numbers of 64 bits: {code}"
        if "send" in self.name and not sends:
            yield "sends nothing in one store of system scope"
        if "receive" in self.name and not polls:
            yield "receives nothing in one load of system scope"
        if any(f"{len(name)}{name}" in self.name
               for name, (_, features) in KERNELS.items() if "packets" in features):
            if not sends or not polls:
                yield "sends or receives no lines"


def kernels_in(ptx, lines_of_gets):
    verbs = re.search(r'^\s*\.file\s+(\d+) ".*device/memory_cuda\.hpp"', ptx, re.M)
    for name, body in re.findall(r"\.entry (\w+)\(.*?^\{(.*?)^\}", ptx, re.M | re.S):
        yield Kernel(name, body, verbs.group(1), lines_of_gets)


def check_registers(nvcc, top):
    """Whether the probe's kernels can be launched with 1,024 threads in a block."""
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run([nvcc, "-x", "cu", "-arch=sm_90", "-std=c++17", "-O3", "-Xptxas",
                               "-v", "-I.", "-Iinclude", "-Idevice/hip_on_cuda", "-cubin",
                               "tests/compile/probe_registers.cpp", "-o", f"{folder}/kernels"],
                              check=True, cwd=top, stderr=subprocess.PIPE, text=True).stderr
    taken = dict(re.findall(r"entry function '(\w+)'.*?Used (\d+) registers", said, re.S))
    passed = len(taken) > 1
    for name, registers in taken.items():
        fits = int(registers) <= MOST_REGISTERS
        if fits == name.startswith("planted_"):
            print(f"ptx.py: {name} takes {registers} registers a thread; a block of 1,024 threads "
                  f"has {MOST_REGISTERS}", file=sys.stderr)
            passed = False
    print("sm_90, registers: " +
          ", ".join(f"{name} {registers}" for name, registers in taken.items()))
    return passed


def main():
    top = sys.argv[1]
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if not nvcc:
        print("SKIPPED: nvcc is not installed")
        return 77
    verbs = pathlib.Path(top, "device/memory_cuda.hpp").read_text().splitlines()
    lines_of_gets = [number + 2 for number, line in enumerate(verbs) if " load_of_get(" in line]
    failed = not check_registers(nvcc, top)
    unseen = set(OF_LINES)
    for file in FILES:
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "kernels.ptx")
            subprocess.run([nvcc, "-x", "cu", "-arch=sm_90", "-std=c++17", "-O3", "-lineinfo",
                            "-I.", "-Iinclude", "-Idevice/hip_on_cuda", "-ptx", file, "-o",
                            output], check=True, cwd=top)
            kernels = list(kernels_in(output.read_text(), lines_of_gets))
        for kernel in kernels:
            found = list(dict.fromkeys(kernel.violations()))
            if kernel.name.startswith("planted_"):
                found = [] if found else ["breaks a rule on purpose, and that was not seen"]
            else:
                unseen -= {part for part in unseen if part in kernel.name}
            for text in found:
                print(f"ptx.py: {kernel.name}: {text}", file=sys.stderr)
            failed |= bool(found)
        print(f"sm_90, {file}: {len(kernels)} kernels")
        failed |= not kernels
    for part in sorted(unseen):
        print(f"ptx.py: no kernel is called {part}... any more; OF_LINES says whose divisions are "
              "looked for", file=sys.stderr)
        failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

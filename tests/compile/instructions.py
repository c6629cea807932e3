#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the instructions that compilers for AMD GPUs make of device code that synchronizes.

instructions.py TOP COMPILER [--probes-only] ARCHITECTURE...   COMPILER is hipcc or clang-19

No AMD GPU is needed. The script compiles kernels to assembly, and checks all rules of amd_rules.py
on all paths through them. The kernels are:

* the library's own, but of its reductions only those of one type (probe_reductions.cpp). The table
  KERNELS says what each must contain;
* probes of the functions that programs' kernels call (probe_kernels.cpp). The first word of a
  probe's name says what it must contain, by the table PROBES.

The script also complains about

- a kernel of the library that KERNELS does not have,
- a function of device/ that synchronizes, if none of these kernels calls it,
- a planted_ kernel (probe_violations.cpp) in which it finds nothing: each breaks a rule on purpose.

--probes-only leaves out the library's kernels. Exit status 77 (skipped) means that the compiler is
not installed.
"""
import gc
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import amd_assembly
import amd_rules
from device_sources import Sources

# How each architecture writes its instructions. A release or an acquire is a sequence of
# instructions that match all patterns of its list, in this order.
ARCHITECTURES = {
    "gfx90a": {
        "release": [re.compile(r"buffer_wbl2"), re.compile(r"s_waitcnt .*vmcnt\(0\)")],
        "acquire": [re.compile(r"buffer_invl2"), re.compile(r"buffer_wbinvl1_vol")],
        "system load": re.compile(r"\bglc\b"),
        "system store": re.compile(r""),
        "system atomic": re.compile(r""),
    },
    "gfx942": {
        "release": [re.compile(r"buffer_wbl2 sc0 sc1"), re.compile(r"s_waitcnt .*vmcnt\(0\)")],
        "acquire": [re.compile(r"buffer_inv sc0 sc1")],
        "system load": re.compile(r"\bsc0 sc1\b"),
        "system store": re.compile(r"\bsc0 sc1\b"),
        "system atomic": re.compile(r"\bsc1\b"),
    },
    "gfx1100": {
        # the second-level cache is written through
        "release": [re.compile(r"s_waitcnt_vscnt null, 0x0")],
        "acquire": [re.compile(r"buffer_gl1_inv"), re.compile(r"buffer_gl0_inv")],
        "system load": re.compile(r"\bglc\b"),
        "system store": re.compile(r""),
        "system atomic": re.compile(r""),
    },
    "gfx1200": {
        "release": [re.compile(r"global_wb scope:SCOPE_SYS"), re.compile(r"s_wait_storecnt 0x0")],
        "acquire": [re.compile(r"global_inv scope:SCOPE_SYS")],
        "system load": re.compile(r"scope:SCOPE_SYS"),
        "system store": re.compile(r"scope:SCOPE_SYS"),
        "system atomic": re.compile(r"scope:SCOPE_SYS"),
    },
}
# Planted violations that compile to correct instructions. On gfx90a and gfx1100 some loads and
# stores of device scope are the same as those of system scope. On a gfx1100 the second-level cache
# is written through, so a release only has to wait for stores, and barriers do that too.
LOOK_RIGHT = {
    "gfx90a": {"planted_acquire_of_device_scope_thread", "planted_packets_of_device_scope_thread"},
    "gfx942": set(),
    "gfx1100": {"planted_acquire_of_device_scope_thread", "planted_packets_of_device_scope_thread",
                "planted_release_of_device_scope_thread", "planted_release_by_leader_block",
                "planted_release_wiping_block"},
    "gfx1200": set(),
}

# The library's own kernels: the group of threads that synchronizes together, and the features that
# the kernel must have. A feature is something to which rules apply: one of amd_rules.FEATURES, or
#   after the stream  the kernel's flags, or its end, come after all that the stream stored before
#   end               no thread ends with stores that it has not released, because a later kernel
#                     stores the flag for them
EXCHANGE = {"packets", "flags", "polls", "after the stream"}
KERNELS = {
    "write_word_kernel": ("thread", {"flags", "end"}),
    "read_words_kernel": ("thread", {"gets"}),
    "copy_kernel": ("thread", {"gets", "end"}),
    "strided_copy_kernel": ("thread", {"gets", "end"}),
    "store_kernel": ("thread", {"end"}),
    "store_pair_kernel": ("thread", {"end"}),
    "load_kernel": ("thread", {"gets"}),
    "atomic_kernel": ("thread", {"end"}),
    "operations_kernel": ("thread", {"after the stream", "end"}),
    "signal_kernel": ("thread", {"flags", "after the stream", "end"}),
    "put_signal_kernel": ("block", {"flags", "after the stream", "end"}),
    "wait_kernel": ("thread", {"polls"}),
    "quiet_kernel": ("thread", {"after the stream", "end"}),
    "proxy_command_kernel": ("thread", {"flags", "polls", "after the stream"}),
    "sync_kernel": ("block", {"flags", "polls", "after the stream"}),
    "broadcast_kernel": ("block", EXCHANGE),
    "exchange_single_unit_kernel": ("block", EXCHANGE),
    "fcollect_kernel": ("block", EXCHANGE),
    "collect_kernel": ("block", EXCHANGE),
    "alltoall_kernel": ("block", EXCHANGE),
    "alltoallv_kernel": ("block", EXCHANGE),
    "alltoalls_kernel": ("block", {"flags", "polls", "after the stream"}),
    "reduce_packets_kernel": ("block", EXCHANGE),
    "reduce_large_kernel": ("block", {"flags", "polls", "after the stream", "gets"}),
    "reduce_single_unit_kernel": ("block", EXCHANGE),
    "scatter_single_unit_kernel": ("block", EXCHANGE),
    "reduce_located_kernel": ("block", {"flags", "polls", "after the stream", "gets"}),
    "scan_kernel": ("block", EXCHANGE),
    "combine_kernel": ("thread", {"gets"}),
    "moe_count_kernel": ("thread", set()),
    "moe_place_kernel": ("thread", set()),
    "moe_dispatch_kernel": ("thread", {"flags", "polls", "end"}),
    "moe_combine_kernel": ("block", {"flags", "polls", "gets"}),
}

# The features that a probe must have, by the first word of its name. vector reads: no scalar load
# reads acquired data.
PROBES = {"release": {"flags"}, "acquire": {"polls", "vector reads"},
          "get": {"gets", "vector reads"},
          "both": {"flags", "polls"}, "end": {"end"}, "test": {"tests"},
          "stream": {"flags", "after the stream"},
          "send": {"packets sent"}, "receive": {"packets polled"}, "packets": {"packets"},
          "put": set()}


# Features that a kernel must have, but not the functions that it calls.
AT_ENTRY_OR_END = {"after the stream", "end"}


class Reading:
    """Reads the kernels of one architecture, and collects complaints about them."""

    def __init__(self, architecture, sources):
        self.architecture, self.sources = architecture, sources
        self.complaints, self.kernels, self.called = [], set(), set()

    def complain(self, text):
        if (line := f"{self.architecture}: {text}") not in self.complaints:
            self.complaints.append(line)

    def read(self, assembly):
        kernels, functions = amd_assembly.functions_in(assembly)
        kinds_in = {}
        for name, function in functions.items():
            called = amd_rules.Traced(function, ARCHITECTURES[self.architecture], "thread",
                                      self.sources, {})
            kinds_in[name] = frozenset().union(*called.kinds)
            self.report(name, called, amd_rules.break_scope(called))
        for kernel in kernels:
            name = kernel.base_name()
            self.kernels.add(name)
            expected = KERNELS.get(name) or probe_of(name)
            if not expected:
                self.complain(f"{name}: it is in no list of instructions.py")
                continue
            group, features = expected
            parts = [kernel, *(functions[called] for called in self.called_by(kernel, functions)
                               if kinds_in[called] & amd_rules.SYNCHRONIZING)]
            self.check(name, features,
                       [amd_rules.Traced(part, ARCHITECTURES[self.architecture], group,
                                         self.sources, kinds_in) for part in parts])
        self.called |= {(frame.file, frame.name) for function in [*kernels, *functions.values()]
                        if not function.name.startswith("planted_")
                        for frames in set(function.frames) for frame in frames}
        return len(kernels)

    @staticmethod
    def called_by(kernel, functions):
        """Returns the names of the functions that a kernel calls, itself or through others."""
        found, todo = [], [kernel]
        while todo:
            for code in todo.pop().code:
                name = code.removeprefix("call ")
                if name != code and name in functions and name not in found:
                    found.append(name)
                    todo.append(functions[name])
        return found

    def check(self, name, features, parts):
        """Checks a kernel. parts: the kernel, and the functions that it calls, if they synchronize
        and were not inlined."""
        found = [(part, text, at) for part in parts
                 for text, at in amd_rules.violations(part, features if part is parts[0]
                                                      else features - AT_ENTRY_OR_END)]
        if name.startswith("planted_"):
            if not found and name not in LOOK_RIGHT[self.architecture]:
                self.complain(f"{name} breaks a rule on purpose, and that was not seen")
            return
        for part, text, at in found:
            self.report(name, part, [(text, at)])
        done = amd_rules.features_of(parts)
        for feature in features - done - amd_rules.DEMANDS:
            self.complain(f"{name}: nothing of what rules for {feature} speak of is in it")
        if name in KERNELS:
            for feature in done & set().union(
                    *(features for _, features in KERNELS.values())) - features:
                self.complain(f"{name}: the list of instructions.py does not know its {feature}")

    def report(self, name, kernel, violations):
        for text in dict.fromkeys(f"{name} {text}: {self.place_of(kernel.function, at)}"
                                  for text, at in violations):
            self.complain(text)

    @staticmethod
    def place_of(function, at):
        """Describes an instruction by its line in the assembly, and by the calls in the source
        that it comes from."""
        calls = ", from ".join(f"{frame.name} ({frame.file}:{frame.line})"
                               for frame in function.frames[at])
        return (
            f"'{function.code[at]}' in line {function.line_of[at] + 1} of the assembly, of {calls}")


def probe_of(name):
    rule, group = name.removeprefix("planted_").split("_")[0], name.split("_")[-1]
    return (group, PROBES[rule]) if rule in PROBES and group in ("thread", "wave",
                                                                 "block") else None


def compile_kernels(top, files, compiler, architecture):
    """Compiles all files as one, so that headers are read once, and returns the assembly."""
    # A clang that the device library was not made for gets no such library. Calls of its functions
    # then remain in the assembly, and do not matter here.
    library = ["-nogpulib"] if "clang" in compiler else ["-Wno-unused-command-line-argument"]
    with tempfile.TemporaryDirectory() as folder:
        source, output = pathlib.Path(folder, "all.cpp"), pathlib.Path(folder, "all.s")
        source.write_text("".join(f'#include "{file}"\n' for file in files))
        subprocess.run([compiler, "-x", "hip", f"--offload-arch={architecture}",
                        "--offload-device-only", *library, "-std=c++17", "-O3",
                        "-gline-tables-only", "-Wall", "-Wextra", "-Werror", "-I.", "-Iinclude",
                        "-S", source, "-o", output], check=True, cwd=top)
        return output.read_text()


def what_is_missing(compiler):
    if not shutil.which(compiler):
        return f"{compiler} is"
    headers = subprocess.run([compiler, "-E", "-x", "c++", "-"],
                             input="#include <hip/hip_version.h>\n", capture_output=True, text=True)
    return "HIP's headers are" if headers.returncode else None


def main():
    top, compiler, *rest = sys.argv[1:]
    architectures = [argument for argument in rest if argument != "--probes-only"]
    if not architectures or {compiler, *architectures} & ARCHITECTURES.keys() != {*architectures}:
        sys.exit(f"instructions.py: {compiler} {rest}: not a compiler and known architectures")
    # Few objects here refer to each other in cycles. Searching for cycles takes a quarter of the
    # time.
    gc.disable()
    probes_only = "--probes-only" in rest
    missing = what_is_missing(compiler)
    if missing:
        print(f"SKIPPED: {missing} not installed")
        return 77
    files = ["tests/compile/probe_kernels.cpp", "tests/compile/probe_violations.cpp"]
    if not probes_only:
        own = [str(path.relative_to(top))
               for path in sorted(pathlib.Path(top, "device/kernels").glob("*.cpp"))]
        files += [file for file in own if not re.search(r"/reductions\w*\.cpp", file)]
        files.append("tests/compile/probe_reductions.cpp")
    sources, failed = Sources(top), False
    for architecture in architectures:
        reading = Reading(architecture, sources)
        count = reading.read(compile_kernels(top, files, compiler, architecture))
        if not probes_only:
            for name in KERNELS.keys() - reading.kernels:
                reading.complain(f"{name}: it is in the list of instructions.py, and not there")
            for file, name in sorted(sources.synchronizing() - reading.called):
                reading.complain(
                    f"{file}: {name} synchronizes, and no kernel that is read here calls it")
        for text in reading.complaints:
            print(f"instructions.py: {text}", file=sys.stderr)
        print(f"{architecture} by {compiler}: {count} kernels, {len(reading.complaints)} "
              "complaints")
        failed |= bool(reading.complaints) or count == 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

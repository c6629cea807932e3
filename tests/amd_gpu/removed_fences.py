#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""removed_fences.py GPU TOP HIP_BUILD EMULATOR [ROW...]

Takes one fence, wait or scope after the other out of a copy of the device code. Compiles the litmus
tests with it by clang 19, and runs them on the emulated GPU in strict mode (gfx90a or gfx942). One
of them or coarse_memory.hip has to fail, except where a row says why the emulation cannot tell, or
that it tells by chance. Prints a table. Exit status 1 if a row differs from what it says. hipcc's
clang would hide mistakes: it waits for memory before each barrier. On gfx942 the device heap is
fine-grained: uncached memory needs less.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HIP, EACH, SYNC, WAIT = (f"device/{name}.hpp"
                         for name in ("memory_hip", "memory_each_fences", "sync", "poll"))
RELEASE = '__builtin_amdgcn_fence(__ATOMIC_RELEASE, "");'
ACQUIRE = '__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "");'
AWAIT = "__builtin_amdgcn_s_waitcnt(0);"
SEEDS = range(1, 9)
LITMUS, COARSE = "tests/device/litmus_test.cpp", "tests/amd_gpu/coarse_memory.hip"
# The seed does not decide how far one PE is ahead of another.
BY_CHANCE = "by chance: "

# Name, file, what to replace (once) by what, why the emulation cannot tell or None; the same for
# gfx942, if it differs.
ROWS = [
    ("nothing", HIP, [], "nothing is missing"),
    ("release_fence: all of it", HIP, [(RELEASE, ""), (AWAIT, "")], None),
    ("release_fence: the fence", HIP, [(RELEASE, "")], None),
    ("release_fence: of the GPU", HIP, [(RELEASE, RELEASE.replace('""', '"agent"'))], None),
    ("release_fence: the wait", HIP, [(AWAIT, "")],
     "the fence waits too, for what is in the wave's queue"),
    ("acquire_fence", HIP, [(ACQUIRE, "")], None),
    ("acquire_fence: of a work-group", HIP, [(ACQUIRE, ACQUIRE.replace('""', '"workgroup"'))],
     None),
    ("acquire_fence: of the GPU", HIP, [(ACQUIRE, ACQUIRE.replace('""', '"agent"'))], None),
    ("full_fence: release", HIP, [("  release_fence();\n  acquire_fence();", "  acquire_fence();")],
     "the acquire waits too, and the next release writes L2 back"),
    ("full_fence: acquire", HIP, [("  release_fence();\n  acquire_fence();", "  release_fence();")],
     "loads of gets pass the vector cache anyway"),
    ("load_relaxed: plain", HIP,
     [("return __hip_atomic_load(from, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)",
       "return *from")], None),
    ("load_relaxed: of a work-group", HIP,
     [("__hip_atomic_load(from, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)",
       "__hip_atomic_load(from, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP)")],
     None),
    ("release_all: fence", EACH, [("  release_fence();\n  group.sync();", "  group.sync();")],
     None),
    ("release_all: fence of the leader alone", EACH,
     [("  release_fence();\n  group.sync();",
       "  if (group.rank() == 0) release_fence();\n  group.sync();")], None),
    ("release_all: meeting", EACH, [("  release_fence();\n  group.sync();", "  release_fence();")],
     None),
    ("acquire_all: meeting", EACH, [("  group.sync();\n  acquire_fence();", "  acquire_fence();")],
     None),
    ("acquire_all: fence", EACH, [("  group.sync();\n  acquire_fence();", "  group.sync();")],
     None),
    ("acquire_shared: fence", EACH, [("  acquire_fence();\n  return shared;", "  return shared;")],
     None),
    ("complete_all: fence", EACH, [("  full_fence();\n  group.sync();", "  group.sync();")], None),
    ("complete_all: meeting", EACH, [("  full_fence();\n  group.sync();", "  full_fence();")],
     f"{BY_CHANCE}a wave has to be late by so much that another PE reads before it puts"),
]


def build_programs(gpu, top, build, folder, edits, file):
    text = (folder / file).read_text()
    for old, new in edits:
        if text.count(old) != 1:
            sys.exit(f"removed_fences.py: {file} has {text.count(old)} times: {old}")
        text = text.replace(old, new)
    (folder / file).write_text(text)
    clang = [f"{top}/tests/amd_gpu/newer_hipcc"]
    if gpu == "gfx90a":
        clang = ["clang++-19", "--rocm-path=/usr",
                 "--rocm-device-lib-path=/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"]
    libraries = [f"-L{build}/lib", f"-Wl,-rpath,{build}/lib", "-lmeshmem", "-lamdhip64"]
    programs = []
    for source, more in ((LITMUS, [f"{build}/tests/harness/libmeshmem_pe_main.a", "-lgtest"]),
                         (COARSE, [])):
        program = folder / pathlib.Path(source).stem
        subprocess.run([*clang, "-x", "hip", f"--offload-arch={gpu}", "-std=c++17", "-O1", "-fPIC",
                        "-D__HIP_PLATFORM_AMD__=1", "-w", f"-I{folder}", f"-I{folder}/include",
                        "-c", folder / source, "-o", f"{program}.o"], check=True)
        subprocess.run(["c++", f"{program}.o", "-o", program, *more, *libraries], check=True)
        programs.append(program)
    return programs


def failures(said):
    """Says how a program failed, by its output."""
    failed = re.findall(r"\[  FAILED  \] DeviceLitmus\.(\w+)|DeviceLitmus\.(\w+) failed at", said)
    failed = sorted({first or second for first, second in failed})
    if failed:
        return ", ".join(failed)
    if "had not arrived" in said:
        return "coarse memory: stores do not arrive"
    if "were stale" in said:
        return "coarse memory: loads are stale"
    running = re.findall(r"\[ RUN      \] DeviceLitmus\.(\w+)", said)
    return (f"{running[-1]} does not end" if running
            else f"the end is another: {said.strip()[-100:]}")


def outcome(gpu, build, emulator, programs):
    """The first program and seed that show it, and what fails; None if none does."""
    env = dict(os.environ, LD_LIBRARY_PATH=emulator, MESHMEM_AMD_MEMORY="strict",
               MESHMEM_DEVICE_TEST_SHORT="1")
    if gpu == "gfx942":
        env["MESHMEM_AMD_UNCACHED"] = "no"
    for program in programs:
        for seed in SEEDS:
            done = subprocess.run([f"{build}/bin/oshrun", "-n", "2", "--timeout", "120", program],
                                  env=env | {"MESHMEM_AMD_SEED": str(seed)}, capture_output=True,
                                  text=True, check=False)
            if done.returncode != 0:
                return seed, failures(done.stdout + done.stderr)
    return None


def main():
    if not shutil.which("clang++-19") or not pathlib.Path("/usr/lib/llvm-19/bin/lld").exists():
        print("SKIPPED: the table needs clang-19, lld-19 and clang-tools-19")
        return 77
    gpu = sys.argv[1]
    top, build, emulator = (os.path.realpath(path) for path in sys.argv[2:5])
    wanted, is_as_said = sys.argv[5:], True
    print("| taken out | seed | what fails |\n|---|---|---|")
    for name, file, edits, *reasons in ROWS:
        why = reasons[-1] if gpu == "gfx942" else reasons[0]
        if wanted and name not in wanted:
            continue
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            for part in ("include", "device", "tests/device", "tests/api"):
                shutil.copytree(f"{top}/{part}", folder / part)
            (folder / COARSE).parent.mkdir()
            shutil.copy(f"{top}/{COARSE}", folder / COARSE)
            found = outcome(gpu, build, emulator,
                            build_programs(gpu, top, build, folder, edits, file))
        as_said = (found is None) == (why is not None) or (why or "").startswith(BY_CHANCE)
        is_as_said &= as_said
        mark = "" if as_said else " (NOT AS EXPECTED)"
        seed, what = found or ("", f"nothing: {why}")
        print(f"| {name} | {seed} | {what}{mark} |", flush=True)
    return 0 if is_as_said else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the constants and types of shmemx.h, and of shmem.h in it, with layouts.txt: the values,
sizes and offsets that programs were compiled with (docs/abi.md).

layouts.py INCLUDE_FOLDER C_COMPILER
layouts.py --list INCLUDE_FOLDER C_COMPILER: the lines of layouts.txt, for what a release adds
layouts.py --self-test C_COMPILER

The compiler says what the headers define, so nothing new is overlooked.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

KEPT = pathlib.Path(__file__).with_name("layouts.txt")
# SHMEMX_SAVED is an attribute.
CONSTANT = re.compile(r"^#define (_?SHMEMX?_(?!VENDOR_STRING|SAVED\b)\w+) (?=\S)", re.MULTILINE)
TYPE = re.compile(r"typedef\s+(?:struct\s*\{([^}]*)\}|[^;{}()]*?)\s*\b(shmemx?_\w+_t)\s*;")
MEMBER = re.compile(r"(\w+)(?:\[\w+\])?\s*[;,]")


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def read_lines(header, compiler, *options):
    """A line for each constant, type and member."""
    command = [compiler, *options, "-x", "c", "-E", "-P"]
    program = [header, "#include <stddef.h>", "#include <stdio.h>", "int main(void) {"]
    for name in CONSTANT.findall(run(*command, "-dM", "-", input=header)):
        program.append(f'printf("{name} %lld\\n", (long long)({name}));')
    for members, name in TYPE.findall(run(*command, "-", input=header)):
        program.append(f'printf("{name} %zu bytes, aligned to %zu\\n", sizeof({name}), '
                       f"_Alignof({name}));")
        for member in MEMBER.findall(members):
            program.append(f'printf("{name}.{member} %zu bytes at %zu\\n", '
                           f"sizeof((({name}*)0)->{member}), offsetof({name}, {member}));")
    program.append("}")
    with tempfile.TemporaryDirectory() as folder:
        binary = pathlib.Path(folder) / "print"
        run(compiler, *options, "-x", "c", "-", "-o", binary, input="\n".join(program))
        return sorted(run(binary).splitlines())


def complaints(kept, found):
    kept, found = (dict(line.split(" ", 1) for line in lines) for lines in (kept, found))
    for name, layout in kept.items():
        if found.get(name) != layout:
            yield (f"{name} is {found.get(name, 'gone')} and was {layout}: compiled programs still "
                   "have it so")
    for name in found:
        if name not in kept:
            yield f"{name} is not in {KEPT.name}; layouts.py --list prints its line"


HEADER = """#include <stdint.h>
#define SHMEM_ONE 1
#define SHMEM_VENDOR_STRING "may change"
typedef struct none* shmem_handle_t;
typedef struct {
  int32_t first;
  unsigned char rest[12];
} shmemx_pair_t;
"""
LINES = ["SHMEM_ONE 1", "shmem_handle_t 8 bytes, aligned to 8",
         "shmemx_pair_t 16 bytes, aligned to 4", "shmemx_pair_t.first 4 bytes at 0",
         "shmemx_pair_t.rest 12 bytes at 4"]
SPOILT = [("SHMEM_ONE 1", "SHMEM_ONE 2", ["SHMEM_ONE"]),
          ("#define SHMEM_ONE 1", "", ["SHMEM_ONE"]),
          ("SHMEM_ONE 1\n", "SHMEM_ONE 1\n#define _SHMEM_TWO 2\n", ["_SHMEM_TWO"]),
          ("struct none*", "int", ["shmem_handle_t"]),
          ("int32_t first", "int64_t first",
           ["shmemx_pair_t", "shmemx_pair_t.first", "shmemx_pair_t.rest"]),
          ("rest[12]", "rest[11]", ["shmemx_pair_t.rest"])]


def self_test(compiler):
    wrong = 0
    for before, after, names in [("", "", []), *SPOILT]:
        found = list(complaints(LINES, read_lines(HEADER.replace(before, after), compiler)))
        if [text.split()[0] for text in found] != names:
            print(f"layouts.py: '{after}': expected {names}, got {found}", file=sys.stderr)
            wrong += 1
    print(f"{1 + len(SPOILT)} headers judged, {wrong} of them wrongly")
    return 1 if wrong else 0


def main():
    *options, compiler = sys.argv[1:]
    if options == ["--self-test"]:
        return self_test(compiler)
    lines = read_lines("#include <shmemx.h>\n", compiler, f"-I{options[-1]}")
    if options[0] == "--list":
        print("\n".join(lines))
        return 0
    kept = [line for line in KEPT.read_text().splitlines() if not line.startswith("#")]
    found = list(complaints(kept, lines))
    for text in found:
        print(f"layouts.py: {text}", file=sys.stderr)
    print(f"{len(kept)} values, sizes and offsets compared")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

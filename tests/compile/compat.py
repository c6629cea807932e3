#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The headers for programs of other libraries have as many names as docs/porting.md says, and what
they cannot have is an error of the compiler that says why.

compat.py PROGRAM_THAT_COUNTS PAGE COMPILER INCLUDE_FOLDER
"""
import pathlib
import re
import subprocess
import sys

MISSING = ["nvshmemx_qp_create(1)", "nvshmemx_qp_float_put(nullptr, nullptr, 1, 0, 0)",
           "nvshmemx_mc_ptr(nullptr, nullptr)", "nvshmemx_int_g_on_stream(nullptr, 0, nullptr)",
           "nvshmemx_qp_int_put_nbi_warp(1)", "nvshmemx_short_wait_until_on_stream(nullptr, 0, 0, "
           "nullptr)", "nvshmemx_half_atomic_add(1)", "nvshmemx_region_start(nullptr, nullptr)",
           "nvshmemx_buffer_unregister_all()", "rocshmem_get_device_ctx()",
           "rocshmem_buffer_unregister_all()", "rocshmem_schar_test(nullptr, 0, 0)",
           "rocshmem_float_wait_until(nullptr, 0, 0)",
           "rocshmem_uchar_wait_until_some_vector(nullptr, 0, nullptr, nullptr, 0, nullptr)"]


def counted(program):
    """(library, family, number), as the program prints them."""
    text = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return [tuple(line.split("|")) for line in text.splitlines()]


def said(page):
    rows = re.findall(r"^\| (NVSHMEM|rocSHMEM) \| ([^|]+) \| ([\d,]+) \|$", page.read_text(),
                      re.MULTILINE)
    return [(library.lower(), family, number.replace(",", "")) for library, family, number in rows]


def complaints(program, page, compiler, include):
    there, written = counted(program), said(page)
    for row in there:
        if row not in written:
            yield f"{page.name} does not say: {' | '.join(row)}"
    for row in written:
        if row not in there:
            yield f"{page.name} says what is not so: {' | '.join(row)}"
    lines = "".join(f"void use_{number}() {{ {call}; }}\n" for number, call in enumerate(MISSING))
    headers = ("#include <meshmem/compat/nvshmemx.h>\n#include "
               "<meshmem/compat/rocshmem.hpp>\nusing namespace rocshmem;\n")
    source = headers + lines
    found = subprocess.run([compiler, "-x", "c++", "-std=c++17", "-fsyntax-only", f"-I{include}",
                            "-"], input=source,
                           capture_output=True, text=True)
    for call in MISSING:
        name = call.split("(")[0]
        if not re.search(rf"meshmem has no {name}: \w", found.stderr):
            yield f"{call} is no error that says why"
    for name in re.findall(r"['‘](\w+)['’] (?:was not declared|does not name a type|"
                           r"has not been declared)", found.stderr):
        yield f"{name} is not declared"


def main():
    program, page, compiler, include = sys.argv[1:]
    found = list(complaints(program, pathlib.Path(page), compiler, include))
    for text in found:
        print(f"compat.py: {text}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

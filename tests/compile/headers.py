#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles each public header alone, as every standard of C and C++ that it is for, with all
warnings as errors.

headers.py INCLUDE_FOLDER C_COMPILER C++_COMPILER

Exit status 77 (skipped) where one of the compilers is not installed.
"""
import concurrent.futures
import pathlib
import shutil
import subprocess
import sys

STANDARDS = {"c": ["c99", "c11", "c2x"], "c++": ["c++11", "c++17", "c++20"]}
# Names of libraries that are C++ themselves.
ONLY_NEW_CXX = "meshmem/compat/"
# Included by shmem.h in the middle of its work; programs never name it.
PARTS = {"shmem/generic.h", "shmem/older_names.h"}


def compile_alone(compiler, language, standard, folder, header):
    """The compiler's complaint about a file that holds one #include, or an empty string."""
    command = [compiler, "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-pedantic",
               "-Werror", "-fsyntax-only", f"-I{folder}", "-"]
    # A declaration of its own, since an empty translation unit is an error in C.
    source = f"#include <{header}>\nextern int not_empty;\n"
    result = subprocess.run(command, input=source, capture_output=True, text=True)
    if result.returncode == 0 and not result.stderr:
        return ""
    return f"{header} alone does not compile: {' '.join(command)}\n{result.stderr[:2000]}"


def main():
    folder = pathlib.Path(sys.argv[1])
    compilers = dict(zip(["c", "c++"], sys.argv[2:4]))
    for compiler in compilers.values():
        if not shutil.which(compiler):
            print(f"SKIPPED: {compiler} is not installed")
            return 77
    headers = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.h"))
    cases = [(compilers[language], language, standard, folder, header)
             for header in headers if header not in PARTS
             for language, standards in STANDARDS.items() for standard in standards
             if not header.startswith(ONLY_NEW_CXX) or standard in ("c++17", "c++20")]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        complaints = [text for text in pool.map(lambda case: compile_alone(*case), cases) if text]
    print(f"{len(cases) - len(complaints)} of {len(cases)} compilations are clean")
    for text in complaints:
        print(text, file=sys.stderr)
    return 1 if complaints or not cases else 0


if __name__ == "__main__":
    sys.exit(main())

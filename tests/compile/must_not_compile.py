#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles each case of must_not_compile.c and compares the compiler's answer with what the case asks for.

must_not_compile.py INCLUDE_FOLDER C_COMPILER C++_COMPILER

Exit status 77 (skipped) where one of the compilers is not installed.
"""
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).with_name("must_not_compile.c")
CASE = re.compile(r"^\s*// case (\w+)(?: \| (.*) \| (.*))?$", re.MULTILINE)


def compile_case(compiler, language, folder, name):
    standard = {"c": "c11", "c++": "c++17"}[language]
    command = [compiler, "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
               f"-I{folder}", f"-Dcase_{name}", str(SOURCE)]
    return subprocess.run(command, capture_output=True, text=True)


def complaint(compiler, language, folder, name, message):
    """What is wrong with the compiler's answer to one case, or None."""
    result = compile_case(compiler, language, folder, name)
    where = f"{name} as {language} by {compiler}"
    if not message:
        return None if result.returncode == 0 else f"{where}: does not compile\n{result.stderr[:2000]}"
    if result.returncode == 0:
        return f"{where}: compiles"
    if not re.search(message, result.stderr):
        return f"{where}: the message is not /{message}/\n{result.stderr[:2000]}"
    return None


def main():
    folder = sys.argv[1]
    compilers = dict(zip(["c", "c++"], sys.argv[2:4]))
    for compiler in compilers.values():
        if not shutil.which(compiler):
            print(f"SKIPPED: {compiler} is not installed")
            return 77
    text = SOURCE.read_text()
    cases = [(name, {"c": in_c, "c++": in_cxx}) for name, in_c, in_cxx in CASE.findall(text)]
    if [name for name, _ in cases] != re.findall(r"#ifdef case_(\w+)", text):
        print("must_not_compile.py: cases and their #ifdefs do not match", file=sys.stderr)
        return 1
    found = [complaint(compiler, language, folder, name, messages[language])
             for name, messages in cases for language, compiler in compilers.items()]
    for text in filter(None, found):
        print(f"must_not_compile.py: {text}", file=sys.stderr)
    print(f"{found.count(None)} of {len(found)} compilations ended as they should")
    return 0 if found.count(None) == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())

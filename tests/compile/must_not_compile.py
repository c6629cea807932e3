#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles each case of a source and compares the compilers' answers with what the case asks for.

must_not_compile.py SOURCE "FLAGS" LANGUAGE=COMPILER...   (LANGUAGE: c or c++)

A case is `// case NAME | message | ...`, with a message for each language, and what `#ifdef
case_NAME` has in it. Exit status 77 (skipped) where one of the compilers is not installed.
"""
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys

CASE = re.compile(r"^\s*// case (\w+)(?: \| (.*))?$", re.MULTILINE)


def compile_case(compiler, language, source, flags, name):
    standard = {"c": "c11", "c++": "c++17"}[language]
    command = [compiler, "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Werror",
               "-fsyntax-only", *flags, f"-Dcase_{name}", str(source)]
    return subprocess.run(command, capture_output=True, text=True)


def complaint(compiler, language, source, flags, name, message):
    """Says what is wrong with the compiler's answer to one case; None if it is right."""
    result = compile_case(compiler, language, source, flags, name)
    where = f"{name} as {language} by {compiler}"
    if not message:
        return (None if result.returncode == 0
                else f"{where}: does not compile\n{result.stderr[:2000]}")
    if result.returncode == 0:
        return f"{where}: compiles"
    if not re.search(message, result.stderr):
        return f"{where}: the message is not /{message}/\n{result.stderr[:2000]}"
    return None


def main():
    source, flags = pathlib.Path(sys.argv[1]), sys.argv[2].split()
    compilers = [word.split("=", 1) for word in sys.argv[3:]]
    for _, compiler in compilers:
        if not shutil.which(compiler):
            print(f"SKIPPED: {compiler} is not installed")
            return 77
    text = source.read_text()
    cases = [(name, messages.split(" | ") if messages else [""] * len(compilers))
             for name, messages in CASE.findall(text)]
    if any(len(messages) != len(compilers) for _, messages in cases):
        print("must_not_compile.py: a case has not a message for each language", file=sys.stderr)
        return 1
    ifdefs = re.findall(r"#ifdef case_(\w+)", text)
    if [name for name, _ in cases] != [name for i, name in enumerate(ifdefs)
                                       if name not in ifdefs[i + 1:]]:
        print("must_not_compile.py: cases and their #ifdefs do not match", file=sys.stderr)
        return 1
    work = [(compiler, language, source, flags, name, message)
            for name, messages in cases
            for (language, compiler), message in zip(compilers, messages)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda one: complaint(*one), work))
    for text in filter(None, found):
        print(f"must_not_compile.py: {text}", file=sys.stderr)
    print(f"{found.count(None)} of {len(found)} compilations ended as they should")
    return 0 if found.count(None) == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())

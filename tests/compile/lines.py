#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that lines of C, C++ and Python end at 100 columns, comments too, and that a file of C or
C++ begins with at most seven lines of comment. Rows of tables may be longer: between
"clang-format off" and "on". It does not look at shell scripts, CMake's files and pages.

lines.py TOP          complains of each line and each head that is longer; 1 if there is one
lines.py --self-test  plants both kinds, and a table, and looks for the complaints
"""
import pathlib
import re
import sys
import tempfile

WIDTH, HEAD = 100, 7
ROOTS = ["include", "src", "device", "launcher", "examples", "python", "tests", "docs", "cmake"]
ENDINGS = {".c", ".h", ".cpp", ".hpp", ".hip", ".def"}
# Tables whose rows are longer than a line: what is between "clang-format off" and "on" may be.
OFF, ON = re.compile(r"(//|/\*) clang-format off"), re.compile(r"(//|/\*) clang-format on")


def long_lines(text):
    is_table = False
    for number, line in enumerate(text.splitlines(), 1):
        is_table = (is_table or bool(OFF.search(line))) and not ON.search(line)
        if len(line) > WIDTH and not is_table:
            yield number, f"has {len(line)} columns"


def head_of(text):
    """The lines of comment at the beginning, without the licence's and the empty ones."""
    head = []
    for line in text.splitlines():
        said = line.strip()
        if not said.startswith(("//", "/*", "*")):
            break
        words = said.strip("/* ")
        if words and "SPDX-License-Identifier" not in words:
            head.append(words)
        if "*/" in said:
            break
    return head


def is_python(path):
    """Also what CMake makes a Python script of."""
    if path.suffix != ".in":
        return path.suffix == ".py"
    return "python" in path.read_text(encoding="utf-8").partition("\n")[0]


def complaints(top):
    for root in ROOTS:
        for path in sorted((top / root).rglob("*")):
            if not path.is_file() or path.suffix not in ENDINGS and not is_python(path):
                continue
            text = path.read_text(encoding="utf-8")
            name = path.relative_to(top)
            for number, said in long_lines(text):
                yield f"{name}: line {number} {said}"
            head = len(head_of(text)) if path.suffix in ENDINGS else 0
            if head > HEAD:
                yield f"{name}: begins with {head} lines of comment"


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        (top / "src").mkdir()
        right = "// SPDX-License-Identifier: x\n//\n" + "// why\n" * HEAD
        right += "int x;  // " + "w" * (WIDTH - 11) + "\n"
        table = "// clang-format off\n" + "w" * 200 + "\n// clang-format on\n"
        (top / "src/right.cpp").write_text(right + table)
        assert list(complaints(top)) == [], list(complaints(top))
        (top / "src/wide.cpp").write_text("int a;\n// " + "w" * WIDTH + "\n")
        (top / "src/deep.h").write_text("/* SPDX\n" + " * why\n" * HEAD + " */\nint x;\n")
        (top / "src/table.def").write_text(table + "w" * 101 + "\n")
        (top / "src/right.py").write_text("# why\n" * (HEAD + 1))
        (top / "src/wide.py").write_text("#" * 101 + "\n")
        (top / "src/script.in").write_text("#!/usr/bin/env python3\n" + "#" * 102 + "\n")
        (top / "src/shell.in").write_text("#!/bin/sh\n" + "#" * 102 + "\n")
        assert list(complaints(top)) == [
            "src/deep.h: begins with 8 lines of comment",
            "src/script.in: line 2 has 102 columns",
            "src/table.def: line 4 has 101 columns",
            "src/wide.cpp: line 2 has 103 columns",
            "src/wide.py: line 1 has 101 columns",
        ], list(complaints(top))


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = list(complaints(pathlib.Path(sys.argv[1])))
    for complaint in found:
        print(f"lines.py: {complaint}", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())

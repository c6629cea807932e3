#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/limits.md with the code: what a row names is in the file that it leads to, and a
constant has its number.

limits.py PROJECT_FOLDER
"""
import pathlib
import re
import sys

ROW = re.compile(r"^\| [^|]+ \| ([^|]+) \| `(\w+)` in \[[^]]+\]\(([^)]+)\)", re.MULTILINE)


def complaints(page, folder):
    rows = ROW.findall(page)
    if len(rows) != len(re.findall(r"^\| (?!what)\w", page, flags=re.MULTILINE)):
        yield "a row names no place in the code"
    for most, name, path in rows:
        file = (folder / path).resolve()
        text = file.read_text() if file.exists() else ""
        if not re.search(rf"\b{name}\b", text):
            yield f"{path} has no {name}"
        number = re.search(rf"(?:\b{name} = |#define {name} )(\d+)( \* 1024)?(?=;|$)", text,
                           flags=re.MULTILINE)
        if number and str(int(number[1]) * (1024 if number[2] else 1)) != most:
            yield f"{name} is {number[0]}, not {most}"
        if not number and re.fullmatch(r"\d+", most) and name.startswith(("k", "SHMEM")):
            yield f"{path} gives {name} no plain number"


def main():
    folder = pathlib.Path(sys.argv[1]) / "docs"
    found = list(complaints((folder / "limits.md").read_text(), folder))
    for text in found:
        print(f"limits.py: {text}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

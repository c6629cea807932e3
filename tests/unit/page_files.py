#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the files that a page shows: page_files.py PAGE FOLDER

A block of C++ whose first line is a comment with a path, as in // src/collectives/x.hpp, is that
file without this line.
"""
import pathlib
import re
import sys

SHOWN = re.compile(r"^```cpp\n// (\S+/\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main():
    page, folder = map(pathlib.Path, sys.argv[1:])
    for path, text in SHOWN.findall(page.read_text(encoding="utf-8")):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

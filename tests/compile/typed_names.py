#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The code on docs/typed_names.md is that of the sources, and of what the preprocessor makes of
them.

typed_names.py PROJECT_FOLDER
typed_names.py --self-test

A block of code is one of three kinds. With title="FILE" it is a part of that file. With
title="steps" each line expands to what the last one does, and more. Otherwise its first line is a
command, and the rest a part of what the command prints. Parts that a line of three dots separates
follow each other. White space does not count.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

PAGE = "docs/typed_names.md"
FENCE = re.compile(r'^```(?:c title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
EXPAND = ('printf \'#include "shmem/ops.h"\\n#include "shmem/types.h"\\n%s\' "$1" | '
          'cc -E -P -Iinclude -')


def run(project, *command):
    return subprocess.run(command,
                          cwd=project,
                          check=True,
                          capture_output=True,
                          text=True,
                          timeout=60).stdout


def dense(text):
    return re.sub(r"\s", "", text)


def missing(parts, text):
    """The first part that does not follow those before it in the text; "" if all are there."""
    text, at = dense(text), 0
    for part in re.split(r"^\.\.\.$", parts, flags=re.MULTILINE):
        found = text.find(dense(part), at)
        if found < 0:
            return part.strip()
        at = found + len(dense(part))
    return ""


def complaints(page, project):
    for title, code in FENCE.findall(page):
        if title == "steps":
            *steps, last = code.splitlines()
            for step in steps:
                if missing(last, run(project, "bash", "-c", EXPAND, "bash", step)):
                    yield f"{step} does not expand to {last}"
        elif title:
            if part := missing(code, (project / title).read_text(encoding="utf-8")):
                yield f"{title} does not hold\n{part}"
        else:
            command, _, printed = code.partition("\n")
            if not command.startswith("$ "):
                yield f"a block begins with no command: {command}"
            elif part := missing(printed, run(project, "bash", "-c", command[2:])):
                yield f"{command[2:]} does not print\n{part}"


def self_test(project):
    steps = ("MESHMEM_IN_{}(MESHMEM_OP_P(F, int_, int))\n"
             "F(int_p, p, int, void, (int *dest, int value, int pe), (dest, value, pe))\n")
    right = [
        f'c title="steps"\n{steps.format(1)}', 'c title="a.c"\none two\n...\nfour\n',
        "\n$ echo 1 2 3 4\n1 2\n...\n4\n"
    ]
    wrong = [
        f'c title="steps"\n{steps.format(0)}', 'c title="a.c"\nfour\n...\none two\n',
        'c title="a.c"\none three\n', "\n$ echo 1 2 3 4\n1\n3\n", "\nno command\n"
    ]
    (project / "a.c").write_text("one\n  two three four\n", encoding="utf-8")
    (project / "include").symlink_to(pathlib.Path(__file__).parents[2].resolve() / "include")
    for blocks, expected in ((right, 0), (wrong, 1)):
        for block in blocks:
            found = list(complaints(f"```{block}```\n", project))
            if len(found) != expected:
                sys.exit(f"typed_names.py: {found} of {block}")


def main():
    if sys.argv[1:] == ["--self-test"]:
        with tempfile.TemporaryDirectory() as folder:
            return self_test(pathlib.Path(folder))
    project = pathlib.Path(sys.argv[1]).resolve()
    page = (project / PAGE).read_text(encoding="utf-8")
    found = list(complaints(page, project))
    if len(FENCE.findall(page)) * 2 != page.count("\n```"):
        found.append(f"{PAGE} has blocks of another kind")
    for text in found:
        print(f"typed_names.py: {text}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

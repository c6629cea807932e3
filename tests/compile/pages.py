#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks over the Markdown pages: links lead somewhere, lines end at 100 columns, rules that tests
name are listed.

pages.py PROJECT_FOLDER
pages.py --self-test

Tables, blocks of code, headings and pictures may have longer lines, and so may a word that cannot
be broken.
"""
import pathlib
import re
import sys
import tempfile

LINK = re.compile(r'\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"')
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
MAY_BE_LONG = ("|", "#", "<", "![")
RULE = re.compile(r"\b(?:rule )?([SKT]\d{1,2})\b(?=[:)]| of the)")
WIDTH = 100


def anchors_of(page):
    heads = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", head).lower()).replace(" ", "-")
            for head in heads}


def wrong_links(page, text):
    for match in LINK.finditer(CODE.sub("", text)):
        link = match[1] or match[2]
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists():
            yield f"{link} leads nowhere"
        elif anchor and target.suffix == ".md" and anchor not in anchors_of(target):
            yield f"{link}: the page has no such heading"


def long_lines(text):
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        in_code ^= line.startswith("```")
        free = in_code or line.startswith(MAY_BE_LONG) or " " not in line.strip()
        if len(line) > WIDTH and not free:
            yield f"line {number} has {len(line)} columns"


def unlisted_rules(project):
    listed = set(re.findall(r"^\| ([SKT]\d+) \|", "".join(
        (project / "docs" / page).read_text(encoding="utf-8")
        for page in ("rules.md", "memory_model.md")), re.MULTILINE))
    for file in sorted((project / "tests").rglob("*.*")):
        if file.suffix in (".c", ".cpp", ".hpp", ".hip"):
            for rule in set(RULE.findall(file.read_text(encoding="utf-8"))) - listed:
                yield (f"{file.relative_to(project)}: rule {rule} is in neither docs/rules.md nor "
                       "docs/memory_model.md")


def pages_of(project):
    yield from sorted(project.glob("*.md"))
    yield from sorted((project / "docs").rglob("*.md"))
    yield from sorted((project / "python").glob("*.md"))


def complaints(project):
    for page in pages_of(project):
        text = page.read_text(encoding="utf-8")
        for what in [*wrong_links(page, text), *long_lines(text)]:
            yield f"{page.relative_to(project)}: {what}"
    yield from unlisted_rules(project)


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        project = pathlib.Path(folder)
        (project / "docs").mkdir()
        (project / "tests").mkdir()
        long_line = "word " * 25
        (project / "README.md").write_text("# Top\n[a](docs/rules.md#no) [b](none.md) "
                                           f"[c](#top)\n{long_line}\n"
                                           f"| {long_line}\n```\n{long_line}\n```\n",
                                           encoding="utf-8")
        (project / "docs/rules.md").write_text("| S1 | one |\n", encoding="utf-8")
        (project / "docs/memory_model.md").write_text("| K2 | two |\n", encoding="utf-8")
        (project / "tests/a.cpp").write_text("// S1: S2: (rule K3) rule K2: and S4\n",
                                             encoding="utf-8")
        found = sorted(complaints(project))
    expected = ["README.md: docs/rules.md#no: the page has no such heading",
                "README.md: line 3 has 125 columns", "README.md: none.md leads nowhere",
                "tests/a.cpp: rule K3 is in neither docs/rules.md nor docs/memory_model.md",
                "tests/a.cpp: rule S2 is in neither docs/rules.md nor docs/memory_model.md"]
    if found != expected:
        sys.exit(f"pages.py: found {found}\nand not {expected}")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = list(complaints(pathlib.Path(sys.argv[1]).resolve()))
    for text in found:
        print(f"pages.py: {text}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

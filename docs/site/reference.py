# SPDX-License-Identifier: Apache-2.0
"""Writes a page for each routine, from what the manual pages are made of (docs/man/make_pages.py).

A family has one text and several routines. If no routine has its name, it has a page, too.
"""
import functools
import os
import pathlib
import re
import sys
import textwrap

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "docs/man"))
import make_pages  # noqa: E402

FOLDER, INDEX = "docs/man", "routines.txt/README"
PROGRAMS = ("examples/[0-9]*", "tests/api/spec_examples/*.c")
TESTS = ("tests/api/*_test.cpp", "tests/device/*_test.cpp", "tests/launch/*.c")


@functools.cache
def families():
    """Family -> its text, and page -> operations."""
    texts, found = make_pages.read_pages(TOP / "include", os.environ.get("CC", "cc"))
    result = {}
    for family, text in texts.items():
        pages = {each.names[0]: [each] for each in found[family]}
        if family == make_pages.DEPRECATED_PAGE:
            pages = {}
        result[family] = text, pages if family in pages else {family: found[family], **pages}
    return result


@functools.cache
def page_names():
    return {name for _, pages in families().values() for name in pages}


def link(name, page=None):
    return f"[`{name}`]({name}.md)" if name in page_names() and name != page else f"`{name}`"


def linked(text, page):
    """A paragraph with links at the names of other pages, and of manual pages; or a sample of
    code."""
    if text.startswith("  "):
        return f"```c\n{textwrap.dedent(text)}\n```"

    def lead(match):
        return link(match[1] or match[2], page) if match[1] or match[2] else match[0]
    return re.sub(r"`(\w+)`|`[^`]*`|\b(shmemx?_\w+)(?:\(3\))?", lead, text)


def wrapped(prototype):
    """In 96 columns, a parameter whole."""
    head, bracket, parameters = make_pages.tidy(prototype).partition("(")
    whole = re.sub("(?<!,) ", "\xa0", parameters)
    lines = textwrap.wrap(whole, 95 - len(head))
    return (head + bracket + f"\n {' ' * len(head)}".join(lines) + ";").replace("\xa0", " ")


@functools.cache
def sources(pattern):
    return {path.relative_to(TOP): path.read_text(encoding="utf-8").splitlines()
            for path in sorted(TOP.glob(pattern))}


def call_of(operations, patterns):
    """The lines around the first call of one of the operations."""
    names = {name for operation in operations for name in operation.names + operation.routines}
    call = re.compile(rf"^(?!\s*(?://|\*|#)).*\b({'|'.join(sorted(names))})(_wave|_block|_grid)?\(")
    for path, lines in (found for pattern in patterns for found in sources(pattern).items()):
        for at, line in enumerate(lines):
            if call.search(line):
                text = textwrap.dedent("\n".join(lines[max(0, at - 4):at + 5]))
                return [f"## Example\n\nFrom [{path}](../../{path}), line {at + 1}:",
                        f"```cpp\n{text}\n```"]
    return []


def example(operations, family):
    """From a program that calls the routine or, if none does, one of its family."""
    return operations and (call_of(operations, PROGRAMS) or call_of(family, PROGRAMS)
                           or call_of(family, TESTS))


def title(text):
    return text["brief"][0].upper() + text["brief"][1:]


def render(page, text, operations, family):
    header = make_pages.header_of(operations, text["kernel"])
    prototypes = [wrapped(each) for operation in operations for each in operation.prototypes]
    code = "\n".join([f"#include <{header}>", "", *text["kernel"], *prototypes])
    # Searches find names by their beginnings: put_signal is to find shmem_put_signal too, and
    # shmem_put the shorter name first.
    short = re.sub("^shmemx?_", "", page)
    parts = [f"---\nsearch: {{boost: {(24 / len(page)) ** 2:.1f}}}\n---", f"# {page}",
             f"`{short}`: {text['brief']}.", f"```c\n{code}\n```",
             *make_pages.notes(operations, header)]
    routines = [f"`{name}`" for operation in operations for name in operation.routines]
    if len(routines) > 1:
        parts.append(f'??? note "All {len(routines)} names"\n\n    ' + " ".join(routines))
    parts.append("## Description")
    returns = [each for each in text["text"] if each.startswith("Returns")]
    parts += [linked(each, page) for each in text["text"] if each not in returns]
    parts += ["## Return value"] if returns else []
    parts += [linked(each, page) for each in returns]
    parts += example(operations, [each for of_page in family.values() for each in of_page])
    see = [link(name) for name in family if name != page]
    see += [re.sub(r"`([^`(]+)\(1\)`", r"[`\1`](\1.1)", link(name)) for name in text["see"]]
    return "\n\n".join([*parts, "## See also", ", ".join(see) + "."]) + "\n"


@functools.cache
def pages():
    """Page -> its Markdown; the index is one."""
    made = {}
    index = ["# Routines", "Those of OpenSHMEM 1.6 and, as `shmemx_`, those of meshmem alone."]
    for text, found in families().values():
        made |= {page: render(page, text, each, found) for page, each in found.items()}
        index += [f"## {title(text)}", " ".join(f"[`{page}`](../{page}.md)" for page in found)]
    return made | {INDEX: "\n\n".join(index) + "\n"}


def navigation():
    return [{title(text): [f"{FOLDER}/{page}.md" for page in found]}
            for text, found in families().values()]

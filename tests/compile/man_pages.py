#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the manual pages: those of the routines name every routine of the tables, those of the programs every option.

man_pages.py NAMES_PROGRAM PAGES_FOLDER SECTION_1_FOLDER OSHRUN MESHMEM_INFO MESHMEM_BENCH
"""
import pathlib
import re
import shutil
import subprocess
import sys


def run(*command, text=None):
    return subprocess.run(command, check=True, capture_output=True, text=True, input=text)


def plain(roff):
    return re.sub(r"\\f[BRI]|\\&", "", roff).replace("\\-", "-")


def routines_of(page):
    """The names that a page's prototypes, lists of types and sentence on contexts come to."""
    text = plain(page)
    every_type = dict()
    for ops, types in re.findall(r"^TYPE(?: of ([\w, ]+))? is one of: ([\w ]+)\.$", text, flags=re.MULTILINE):
        for op in ops.split(", "):
            every_type[op] = types.split()
    with_ctx = re.search(r"^With a context: .* of ([\w, ]+)\.$", text, flags=re.MULTILINE)
    ctx_ops = with_ctx[1].replace("shmem_", "").split(", ") if with_ctx else []
    names = set()
    for name in re.findall(r"\b(_?(?:shmem_|sh|start_|my_|num_)\w+)\([^()]*\);$", text, flags=re.MULTILINE):
        op = re.sub(r"^shmem_(TYPE_)?|SIZE|mem(?=$|_)", "", name)
        types = every_type.get(op, every_type.get("", []))
        forms = [name.replace("TYPE", t).replace("SIZE", bits) for t in (types if "TYPE" in name else [""])
                 for bits in (["8", "16", "32", "64", "128"] if "SIZE" in name else [""])]
        names.update(forms)
        if op in ctx_ops:
            names.update(form.replace("shmem_", "shmem_ctx_", 1) for form in forms)
    return names


def options_of(program):
    return set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", run(program, "--help").stdout.split("Options end")[0]))


def complaints(routines, pages, commands, programs):
    named = set().union(*(routines_of(text) for text in pages.values()))
    for name in sorted(routines - named):
        yield f"no page has the routine {name}"
    for name in sorted(named - routines):
        yield f"a page has {name}, which is no routine of the tables"
    for name, text in {**pages, **commands}.items():
        link = re.match(r"\.so man\d/(\S+)$", text)
        if link and link[1] not in pages and link[1] not in commands:
            yield f"{name} leads to {link[1]}, which is not there"
        for page, section in re.findall(r"\b([\w-]+) ?\((\d)\)", plain(text)):
            if page != "mpirun" and f"{page}.{section}" not in pages and f"{page}.{section}" not in commands:
                yield f"{name} speaks of {page}({section}), which is not there"
        if shutil.which("groff") and not link:
            warnings = run("groff", "-man", "-ww", "-Tutf8", text=text).stderr
            if warnings:
                yield f"{name}: {warnings}"
    for page, program in programs.items():
        for option in sorted(options_of(program) - {"-3"}):
            if option not in plain(commands[page]):
                yield f"{page} lacks the option {option}"


def main():
    names, pages, commands, oshrun, info, bench = sys.argv[1:7]
    read = lambda folder, section: {p.name: p.read_text() for p in pathlib.Path(folder).glob(f"*.{section}")}
    found = list(complaints(set(run(names).stdout.split()), read(pages, 3), read(commands, 1),
                            {"oshrun.1": oshrun, "meshmem-info.1": info, "meshmem-bench.1": bench}))
    for text in found[:40]:
        print(f"man_pages.py: {text}", file=sys.stderr)
    print(f"{len(found)} complaints about the manual pages")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

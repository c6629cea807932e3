#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the manual pages. Those of the routines name every routine of the tables and of the
library, and each routine has a page of its name. Those of the programs name every option.

man_pages.py NAMES_PROGRAM LIBMESHMEM PAGES_FOLDER SECTION_1_FOLDER OSHRUN INFO_PROGRAM
MESHMEM_BENCH [MESHMEM_LAUNCHES]
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys


# Exported for headers; programs do not call them.
INTERNAL = {"shmemx_register_module", "shmemx_unregister_module", "shmemx_reduce_by_one_thread",
            "shmemx_start_under_names_of", "shmemx_start_by_mpi_comm",
            "shmemx_start_mpi_if_linked", "shmemx_module_of_library", "shmemx_has_device_memory"}
# Behind names of shmem/older_names.h, of which the page of deprecated routines speaks as a whole.
OLDER = r"shmemx_u?short_(wait_until|test)_\w+"
# Routines that only kernels have, so no library exports them.
IN_KERNELS = {"shmemx_put_packets", "shmemx_wait_packets"}


def run(*command, text=None, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, input=text, **more)


def extensions(library):
    """The routines of shmemx.h."""
    exported = re.findall(r" (shmemx_\w+)(?:@.*)?$",
                          run("nm", "-D", "--defined-only", library).stdout, flags=re.MULTILINE)
    return {name for name in exported if name not in INTERNAL and not re.fullmatch(OLDER, name)}


def plain(roff):
    return re.sub(r"\\f[BRI]|\\&", "", roff).replace("\\-", "-")


def routines_of(page):
    """The names that a page's prototypes, lists of types and sentence on contexts come to."""
    text = plain(page)
    every_type = dict()
    for ops, types in re.findall(r"^TYPE(?: of ([\w, ]+))? is one of: ([\w ]+)\.$", text,
                                 flags=re.MULTILINE):
        for op in ops.split(", "):
            every_type[op] = types.split()
    with_ctx = re.search(r"^With a context: .* of ([\w, ]+)\.$", text, flags=re.MULTILINE)
    ctx_ops = with_ctx[1].replace("shmem_", "").split(", ") if with_ctx else []
    names = set()
    for name in re.findall(r"\b(_?(?:shmem_|sh|start_|my_|num_)\w+)\([^()]*\);$", text,
                           flags=re.MULTILINE):
        op = re.sub(r"^shmemx?_(TYPE_)?|SIZE|mem(?=$|_)", "", name)
        types = every_type.get(op, every_type.get("", []))
        forms = [name.replace("TYPE", t).replace("SIZE", bits)
                 for t in (types if "TYPE" in name else [""])
                 for bits in (["8", "16", "32", "64", "128"] if "SIZE" in name else [""])]
        names.update(forms)
        if op in ctx_ops:
            names.update(form.replace("shmem_", "shmem_ctx_", 1) for form in forms)
    return names


def options_of(program):
    return set(re.findall(r"(?<![\w-])--?[a-z][\w-]*",
                          run(program, "--help").stdout.split("Options end")[0]))


def missing_pages(routines, folder):
    """Routines whose name leads to no page, or to one that has not the routine."""
    routines_on = {}
    for name in sorted(routines):
        place = pathlib.Path(folder, f"{name}.3")
        if not place.exists():
            yield f"there is no {place.name}"
            continue
        text = place.read_text()
        if link := re.match(r"\.so man3/(\S+)$", text):
            text = pathlib.Path(folder, link[1]).read_text()
        if text not in routines_on:  # those of its prototypes, and those that its first line names
            first_line = re.search(r"(?<=^.SH NAME\n).*", plain(text), re.MULTILINE)[0]
            routines_on[text] = routines_of(text) | set(re.findall(r"\w+", first_line))
        if name not in routines_on[text]:
            yield f"{place.name} leads to a page without the routine"


def unfound_by_man(folder):
    """Names for which man, if it is there, finds nothing in these folders."""
    names = ["shmem_long_p", "shmem_ctx_uint64_atomic_fetch_add",
             "shmemx_bfloat16_avg_reduce_on_stream", "start_pes", "shmem"]
    if not shutil.which("man"):
        return
    environment = {**os.environ, "MANPATH": str(pathlib.Path(folder).parent.resolve())}
    for name in names:
        if subprocess.run(["man", "-w", name], env=environment,
                          capture_output=True).returncode != 0:
            yield f"man does not find {name}"


def complaints(routines, pages, commands, programs):
    named = set().union(*(routines_of(text) for text in pages.values())) - IN_KERNELS
    for name in sorted(routines - named):
        yield f"no page has the routine {name}"
    for name in sorted(named - routines):
        yield f"a page has {name}, which is no routine of the tables"
    for name, text in {**pages, **commands}.items():
        link = re.match(r"\.so man\d/(\S+)$", text)
        if link and link[1] not in pages and link[1] not in commands:
            yield f"{name} leads to {link[1]}, which is not there"
        for page, section in re.findall(r"\b([\w-]+) ?\((\d)\)", plain(text)):
            name_of_page = f"{page}.{section}"
            if page != "mpirun" and name_of_page not in pages and name_of_page not in commands:
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
    names, library, pages, commands = sys.argv[1:5]
    read = lambda folder, section: {p.name: p.read_text()
                                    for p in pathlib.Path(folder).glob(f"*.{section}")
                                    if not p.is_symlink()}
    routines = set(run(names).stdout.split()) | extensions(library)
    of_routines = {**read(pages, 3), **read(pathlib.Path(pages).parent / "man7", 7)}
    found = list(complaints(routines, of_routines, read(commands, 1),
                            {f"{pathlib.Path(program).name}.1": program
                             for program in sys.argv[5:]}))
    found += [*missing_pages(routines, pages), *unfound_by_man(pages)]
    for text in found[:40]:
        print(f"man_pages.py: {text}", file=sys.stderr)
    print(f"{len(found)} complaints about the manual pages")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

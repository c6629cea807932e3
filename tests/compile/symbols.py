#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares three lists of routines: OpenSHMEM 1.6's, the one read from the tables, and the one that
the library exports.

symbols.py --names PROGRAM --library LIBMESHMEM --readme README
symbols.py --self-test
symbols.py --list LIBMESHMEM: the lines of exported_symbols.txt, for a name that a release adds

Programs are linked with the library's soname and the version of each symbol, so both stay
(docs/abi.md). The version is FIRST_VERSION for the standard's symbols, and as exported_symbols.txt
has it for the others.

The tables may hold less than the standard (and the README says how much). Nothing may be exported
that neither the standard nor the prefix of the extensions allows. Every shmem_ name has a strong
pshmem_ twin of which it is a weak alias, every shmemx_ name of pshmemx.h a pshmemx_ twin.
The library itself refers to no shmem_ or shmemx_ name: a tool that has taken it would see calls
that no program made.
"""
import argparse
import pathlib
import re
import subprocess
import sys

# Routines that the headers' own code calls, and no program.
INTERNAL = {"shmemx_register_module", "shmemx_unregister_module", "shmemx_reduce_by_one_thread",
            "shmemx_start_under_names_of", "shmemx_start_by_mpi_comm",
            "shmemx_start_mpi_if_linked", "shmemx_module_of_library", "shmemx_has_device_memory"}
EXPORTED = pathlib.Path(__file__).with_name("exported_symbols.txt")
SONAME = "libmeshmem.so.0.1"
FIRST_VERSION = "MESHMEM_0.1"
GOLDEN = pathlib.Path(__file__).with_name("symbols_1.6.txt")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def golden_names():
    lines = GOLDEN.read_text().splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


def exported(library):
    """Name -> (kind letter of nm, address) of each dynamic symbol that the library defines."""
    rows = (line.split() for line in run("nm", "-D", "--defined-only", library).splitlines())
    return {row[-1].split("@")[0]: (row[-2], row[0]) for row in rows if row[-2] != "A"}


def versions(library):
    """Name -> symbol version; "" for none."""
    rows = (line.split() for line in run("nm", "-D", "--defined-only", library).splitlines())
    names = (row[-1].partition("@") for row in rows if row[-2] != "A")
    return {name: version.lstrip("@") for name, _, version in names}


def soname(library):
    found = re.search(r"\(SONAME\).*\[(.+)\]", run("readelf", "-dW", library))
    return found[1] if found else ""


def listed_versions():
    """Name -> version. shmemx_{int,long}_p stands for two names."""
    found = {}
    for line in EXPORTED.read_text().splitlines():
        if line and not line.startswith("#"):
            names, version = line.split()
            begin, types, end = re.fullmatch(r"([^{]*)(?:\{(.*)\})?(.*)", names).groups()
            found |= {begin + kind + end: version for kind in (types or "").split(",")}
    return found


def is_twin(name, all_names):
    return name.startswith("p") and name[1:] in all_names


def complaints_about_versions(golden, listed, found):
    """Programs that are linked already ask for the names that are in the lists, of their
    versions."""
    promised = {name: FIRST_VERSION for name in golden} | listed
    promised |= {twin(name): version for name, version in promised.items() if name not in INTERNAL}
    for name, version in sorted(promised.items()):
        if name not in found:
            yield (f"{name} of {version} is not exported; programs that call it do not start: keep "
                   "it, or raise the soname")
        elif found[name] != version:
            yield (f"{name} is of version '{found[name]}' and was of {version}; programs that call "
                   "it do not start")
    for name in sorted(set(found) - set(promised)):
        yield f"{name} is exported and not in {EXPORTED.name}; symbols.py --list prints its line"


def references(library):
    """The names of the API that the loader would have to find for the library."""
    return set(re.findall(r"\b(shmemx?_\w+)", run("readelf", "-rW", library))) - INTERNAL


def twin(name):
    return "p" + name


def complaints(golden, table, symbols, referenced=()):
    """Every way in which the three lists do not fit together, one sentence each."""
    allowed = set(golden) | {twin(name) for name in golden}
    for name in sorted(set(table) - set(golden)):
        yield f"{name} is in the tables and not in the standard"
    for name in sorted(set(symbols) - allowed):
        if not re.match(r"p?shmemx_", name):
            yield f"{name} is exported and neither of the standard nor an extension"
    for name in sorted(set(table) - set(symbols)):
        yield f"{name} is in the tables and not exported"
    yield from complaints_about_twins(sorted(set(symbols) & set(golden)), symbols)
    for name in sorted(referenced):
        yield f"{name} is called by the library itself"


def complaints_about_extensions(table, symbols):
    """Of the names that pshmemx.h declares twins of, and those that the library exports."""
    exported_ones = {name for name in symbols if name.startswith("shmemx_")} - INTERNAL
    for name in sorted(exported_ones - set(table)):
        yield f"{name} is exported and has no row in pshmemx.h"
    for name in sorted(set(table) - exported_ones):
        yield f"{name} is in pshmemx.h and not exported"
    yield from complaints_about_twins(sorted(exported_ones), symbols)


def complaints_about_twins(names, symbols):
    """Each name is to be a weak alias of its strong twin."""
    for name in names:
        kind, address = symbols[name]
        if twin(name) not in symbols:
            yield f"{name} has no twin {twin(name)}"
        elif symbols[twin(name)] != ("T", address):
            yield f"{twin(name)} is not a strong symbol at the address of {name}"
        if kind != "W":
            yield f"{name} is not weak, so that a profiling tool cannot take its place"


def readme_complaint(readme, count, total):
    """The README says how many of the routines there are; it is to be this number."""
    wanted = f"{count:,} of {total:,}"
    said = re.search(rf"([\d,]+) of {total:,}", readme.read_text()) if readme.exists() else None
    if said is None:
        return f"{readme.name} has no line with '{wanted}'"
    return None if said.group(
        0) == wanted else f"{readme.name} says '{said.group(0)}'; it is {wanted}"


# A library of one routine that is right, and each way to spoil it with what has to be said then.
RIGHT = {"shmem_p": ("W", "10"), "pshmem_p": ("T", "10")}
SPOILT = [
    ({"shmem_p": ("T", "10")}, "shmem_p is not weak"),
    ({"pshmem_p": ("T", "20")}, "pshmem_p is not a strong symbol at the address of shmem_p"),
    ({"pshmem_p": ("W", "10")}, "pshmem_p is not a strong symbol"),
    ({"pshmem_p": None}, "shmem_p has no twin"),
    ({"shmem_p": None}, "shmem_p is in the tables and not exported"),
    ({"shmem_pp": ("T", "30")}, "shmem_pp is exported and neither"),
    ({"_ZN7meshmem4TeamE": ("T", "30")}, "is exported and neither"),
]

# Libraries of extensions, the rows of pshmemx.h, and what has to be said of them.
EXTENSIONS = [
    ({"shmemx_y": ("W", "10"), "pshmemx_y": ("T", "10"), "shmemx_register_module": ("T", "30")},
     ["shmemx_y"], None),
    ({"shmemx_y": ("W", "10"), "pshmemx_y": ("T", "10")}, [],
     "shmemx_y is exported and has no row"),
    ({}, ["shmemx_y"], "shmemx_y is in pshmemx.h and not exported"),
    ({"shmemx_y": ("W", "10")}, ["shmemx_y"], "shmemx_y has no twin pshmemx_y"),
    ({"shmemx_y": ("T", "10"), "pshmemx_y": ("T", "10")}, ["shmemx_y"], "shmemx_y is not weak"),
]


# Exported symbols for the standard's shmem_p and the extensions in {"shmemx_y": "MESHMEM_0.2"}, and
# the expected complaints.
KEPT = {"shmem_p": "MESHMEM_0.1", "pshmem_p": "MESHMEM_0.1", "shmemx_y": "MESHMEM_0.2",
        "pshmemx_y": "MESHMEM_0.2"}
VERSIONS = [
    ({}, None),
    ({"shmem_p": None}, "shmem_p of MESHMEM_0.1 is not exported"),
    ({"pshmemx_y": None}, "pshmemx_y of MESHMEM_0.2 is not exported"),
    ({"shmemx_y": "MESHMEM_0.1"}, "shmemx_y is of version 'MESHMEM_0.1' and was of MESHMEM_0.2"),
    ({"shmem_p": ""}, "shmem_p is of version '' and was of MESHMEM_0.1"),
    ({"shmemx_z": "MESHMEM_0.2"}, "shmemx_z is exported and not in exported_symbols.txt"),
]


def self_test():
    golden, wrong = ["shmem_p", "shmem_g"], 0
    cases = [(RIGHT | change, ["shmem_p"], said) for change, said in SPOILT]
    cases += [(RIGHT | {"shmemx_y": ("T", "30")}, ["shmem_p"], None)]
    cases += [(RIGHT | {"shmem_q": ("W", "30")}, ["shmem_p", "shmem_q"],
               "shmem_q is in the tables and not in the standard")]
    for symbols, table, said in cases:
        found = list(complaints(golden, table, {name: at for name, at in symbols.items() if at}))
        if bool(found) != bool(said) or not all(said in text for text in found[:1]):
            print(f"symbols.py: expected {said}, got {found}", file=sys.stderr)
            wrong += 1
    for symbols, table, said in EXTENSIONS:
        found = list(complaints_about_extensions(table, symbols))
        if len(found) != bool(said) or not all(said in text for text in found):
            print(f"symbols.py: expected {said}, got {found}", file=sys.stderr)
            wrong += 1
    for change, said in VERSIONS:
        exports = {name: version
                   for name, version in (KEPT | change).items() if version is not None}
        found = list(complaints_about_versions(["shmem_p"], {"shmemx_y": "MESHMEM_0.2"}, exports))
        if len(found) != bool(said) or not all(said in text for text in found):
            print(f"symbols.py: expected {said}, got {found}", file=sys.stderr)
            wrong += 1
    cases += EXTENSIONS + VERSIONS
    print(f"{len(cases)} libraries judged, {wrong} of them wrongly")
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if sys.argv[1:2] == ["--list"]:
        found, golden = versions(sys.argv[2]), golden_names()
        for name in sorted(found):
            if not is_twin(name, found) and name not in golden:
                print(name, found[name])
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--readme", required=True, type=pathlib.Path)
    arguments = parser.parse_args()

    golden = golden_names()
    symbols = exported(arguments.library)
    found = list(complaints(golden, run(arguments.names).split(), symbols,
                            references(arguments.library)))
    found += complaints_about_extensions(run(arguments.names, "extensions").split(), symbols)
    found += complaints_about_versions(golden, listed_versions(), versions(arguments.library))
    if soname(arguments.library) != SONAME:
        found.append(f"the soname is '{soname(arguments.library)}' and not {SONAME}")
    count = len(set(symbols) & set(golden))
    found += filter(None, [readme_complaint(arguments.readme, count, len(golden))])
    print(f"{count} of {len(golden)} routines of OpenSHMEM 1.6 are exported")
    for complaint in found:
        print(f"symbols.py: {complaint}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

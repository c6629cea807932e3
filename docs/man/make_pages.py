#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the manual pages of the routines: their text is routines.txt, their prototypes and types are the library's tables.

make_pages.py INCLUDE_FOLDER C_COMPILER VERSION OUTPUT_FOLDER

Each operation has a page of its own name that leads to that of its family (shmem_get.3 to shmem_put.3). An operation of
the tables that routines.txt does not name is an error, unless it is one of the standard's deprecated routines.
"""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
SYMBOLS = HERE.parents[1] / "tests/compile/symbols_1.6.txt"
TABLES = """#include <shmem/ops.h>
#include <shmem/types.h>
#define TYPE(NAME, T, ...) @type|NAME|T|
MESHMEM_TYPES(TYPE, )
#define ROW(name, op, E, result, params, args) @row|name|op|result|params|
#define ROW_CTX(name, op, E, result, params, args) @ctx|name|op|result|params|
MESHMEM_ALL_ROUTINES(ROW_CTX, ROW)
"""
# Of no row, since it does not return.
EXTRA = [("row", "global_exit", "global_exit", "void", "(int status)")]


def read_tables(include, compiler):
    """The types, name -> C's name, and the rows as (row|ctx, name, op, result, params)."""
    command = [compiler, "-E", "-P", "-x", "c", "-I", include, "-"]
    text = subprocess.run(command, input=TABLES, check=True, capture_output=True, text=True).stdout
    text = re.sub(r"\s+", " ", text)
    types = dict(re.findall(r"@type\|(\w+)\|([\w ]+)\|", text))
    rows = re.findall(r"@(row|ctx)\|(\w+)\|(\w+)\|([^|]+)\|([^|]+)\|", text)
    return types, rows + EXTRA


def read_families():
    """Page -> {brief, ops, see, text}, in the file's order."""
    families = {}
    for line in (HERE / "routines.txt").read_text().splitlines():
        begin = re.fullmatch(r"== (\w+): (.*)", line)
        field = re.match(r"(ops|see): (.*)", line)
        if begin:
            page = families[begin[1]] = {"brief": begin[2], "ops": [], "see": [], "text": []}
        elif field:
            page[field[1]] = field[2].split()
        elif line and not line.startswith("#"):
            page["text"].append(line)
    return families


def tidy(prototype):
    return re.sub(r"\s*\*\s*", " *", prototype)


class Operation:
    """The rows of one op: typed, sized (put32) and mem forms, or a single routine."""

    def __init__(self, op, rows, types):
        self.op, self.has_ctx = op, any(kind == "ctx" for kind, *_ in rows)
        self.types = [name for name in types if any(row[1] == f"{name}_{op}" for row in rows)]
        self.prototypes = []
        rest = [row for row in rows if not any(row[1] == f"{name}_{op}" for name in self.types)]
        if self.types:
            _, name, _, result, params = next(row for row in rows if row[1] == f"{self.types[0]}_{op}")
            signature = f"{result} shmem_TYPE_{op}{params}"
            self.prototypes.append(re.sub(rf"\b{types[self.types[0]]}\b", "TYPE", signature))
        sized = [row for row in rest if re.search(r"\d", row[1])]
        if len(sized) == 5:
            self.prototypes.append(f"{sized[0][3]} shmem_{re.sub('8', 'SIZE', sized[0][1], count=1)}{sized[0][4]}")
            rest = [row for row in rest if row not in sized]
        self.prototypes += [f"{result} shmem_{name}{params}" for _, name, _, result, params in rest]


def roff(text):
    """A paragraph: `x` in bold, what roff would take for its own escaped."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return "\\&" + text if text.startswith((".", "'")) else text


def reference(page):
    name, section = re.fullmatch(r"([\w+-]+?)(?:\((\d)\))?", page).groups()
    return f"\\fB{roff(name)}\\fR({section or 3})"


def synopsis(operations):
    lines = [".nf", "\\fB#include <shmem.h>\\fR"]
    for operation in operations:
        lines.append("")
        lines += [roff(tidy(prototype)) + ";" for prototype in operation.prototypes]
    lines.append(".fi")
    with_ctx = [operation for operation in operations if operation.has_ctx]
    if with_ctx:
        names = ", ".join(f"`shmem_{operation.op}`" for operation in with_ctx)
        lines += [".PP", roff(f"With a context: `shmem_ctx_...`, whose first parameter is `shmem_ctx_t ctx`, of {names}.")]
    if any(operation.types for operation in operations):
        lines += [".PP", roff("Without the type's name they are C11 generics and C++ overloads, as in `shmem_"
                              + next(o.op for o in operations if o.types) + "`.")]
    lists = {}
    for operation in operations:
        lists.setdefault(tuple(operation.types), []).append(operation.op)
    for types, ops in lists.items():
        if types:
            which = "" if len(lists) == 1 else " of " + ", ".join(f"`{op}`" for op in ops)
            lines += [".PP", roff(f"TYPE{which} is one of: {' '.join(types)}.")]
    if any("SIZE" in prototype for operation in operations for prototype in operation.prototypes):
        lines += [".PP", roff("SIZE is 8, 16, 32, 64 or 128 bits.")]
    return lines


def render(page, family, operations, version):
    names = ", ".join([page] + [f"shmem_{o.op}" for o in operations if f"shmem_{o.op}" != page])
    lines = [f'.TH {page} 3 "" "meshmem {version}" "OpenSHMEM 1.6"',
             ".SH NAME", f"{roff(names)} \\- {roff(family['brief'])}", ".SH SYNOPSIS", *synopsis(operations),
             ".SH DESCRIPTION"]
    for text in sorted(family["text"], key=lambda text: text.startswith("Returns")):
        lines += [".SH RETURN VALUE" if text.startswith("Returns") else ".PP", roff(re.sub(r"^Returns of ", "", text))]
    lines += [".SH SEE ALSO", ", ".join(map(reference, family["see"])) + "."]
    return "\n".join(lines) + "\n"


def operations_of(families, rows, types):
    """Page -> its operations; an error for what has no page."""
    deprecated = set(re.findall(r"^(\w+) DEPRECATED", SYMBOLS.read_text(), flags=re.MULTILINE))
    page_of = {op: page for page, family in families.items() for op in family["ops"]}
    grouped = {}
    for row in rows:
        page, op = page_of.get(row[2]), row[2]
        if f"shmem_{row[1]}" in deprecated or row[1] in deprecated:
            page, op = "shmem_deprecated", row[1]
        if page is None:
            sys.exit(f"make_pages.py: no page of routines.txt names the operation {row[2]} of shmem_{row[1]}")
        grouped.setdefault(page, {}).setdefault(op, []).append(row)
    for op, page in page_of.items():
        if page != "shmem_deprecated" and op not in grouped.get(page, {}):
            sys.exit(f"make_pages.py: the page {page} names {op}, which is no operation of the tables")
    order = {op: i for i, op in enumerate(page_of)}
    return {page: [Operation(op, found, types) for op, found in sorted(ops.items(), key=lambda item: order.get(item[0], 0))]
            for page, ops in grouped.items()}


def main():
    include, compiler, version, output = sys.argv[1:5]
    folder = pathlib.Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.3"):
        old.unlink()
    families = read_families()
    types, rows = read_tables(include, compiler)
    for page, operations in operations_of(families, rows, types).items():
        (folder / f"{page}.3").write_text(render(page, families[page], operations, version))
        for operation in operations:
            link = folder / f"shmem_{operation.op}.3"
            if not link.exists():
                link.write_text(f".so man3/{page}.3\n")


if __name__ == "__main__":
    main()

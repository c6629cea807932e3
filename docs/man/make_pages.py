#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the manual pages of the routines: their text is routines.txt and, for extensions, comments
of shmemx.h; their prototypes and types are the library's tables.

make_pages.py INCLUDE_FOLDER C_COMPILER VERSION OUTPUT_FOLDER

docs/site/reference.py writes pages of the site from what read_pages() returns.

Each operation has a page of its own name that leads to that of its family (shmem_get.3 to
shmem_put.3), and each routine a link to it (shmem_ctx_long_get.3). An operation of the tables or of
shmemx.h that routines.txt does not name is an error. One page has all deprecated routines. The
overview, shmem(7), is overview.7 with a list of the pages.
"""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
DEPRECATED_PAGE = "shmem_deprecated"
TABLES = """#include <shmem/deprecated.h>
#include <shmem/ops.h>
#include <shmem/types.h>
#define TYPE(NAME, T, ...) @type|NAME|T|
MESHMEM_TYPES(TYPE, )
#define ROW(name, op, E, result, params, args) @row|name|op|result|params|
#define ROW_CTX(name, op, E, result, params, args) @ctx|name|op|result|params|
#define ROW_OLD(name, op, E, result, params, args) @old|name|op|result|params|
#define ROW_WHOLE(name, op, E, result, params, args) @whole|name|op|result|params|
MESHMEM_ALL_ROUTINES(ROW_CTX, ROW)
MESHMEM_DEPRECATED(ROW_OLD)
MESHMEM_DEPRECATED_LONG_WAIT_UNTIL(ROW_OLD)
MESHMEM_DEPRECATED_NAMES(ROW_WHOLE)
"""
# Of no row, since it does not return.
EXTRA = [("row", "global_exit", "global_exit", "void", "(int status)")]
# In shmemx.h, with types that the tables have not.
SHORT_FLOATS = {"half": "void", "bfloat16": "void"}
# Routines that headers call, and programs do not.
INTERNAL = r"shmemx_(un)?register_module|shmemx_module_of_library"


def preprocess(include, compiler, source):
    command = [compiler, "-E", "-P", "-x", "c", "-I", include, "-"]
    text = subprocess.run(command, input=source, check=True, capture_output=True, text=True).stdout
    return re.sub(r"\s+", " ", text)


def read_extensions(include, compiler, types):
    """Rows of the kind ext from the declarations of shmemx.h; their op has the prefix, as
    routines.txt has."""
    text = preprocess(include, compiler, "#include <shmemx.h>\n")
    typed = re.compile(rf"shmemx_({'|'.join(types)})_(\w+)")
    sized = re.compile(r"shmemx_(put|get)\d+(_\w+)")
    rows = []
    for result, name, params in re.findall(
            r"[;}] (\w[\w ]*?(?: ?\*)*) ?\b(shmemx_\w+) ?(\([^()]*\))(?=;)", text):
        if not re.fullmatch(INTERNAL, name):
            match, of_size = typed.fullmatch(name), sized.fullmatch(name)
            op = "shmemx_" + match[
                2] if match else f"shmemx_{of_size[1]}{of_size[2]}" if of_size else name
            rows.append(("ext", name.replace("shmemx_", "", 1), op, result, params))
    return rows


def whole_name(kind, name):
    return {"whole": "", "ext": "shmemx_"}.get(kind, "shmem_") + name


def read_tables(include, compiler):
    """The types, name -> C's name, and the rows as (kind, name, op, result, params).

    Kinds: row, ctx (it has a form with a context), old (deprecated), whole (likewise, and nothing
    precedes the name)."""
    text = preprocess(include, compiler, TABLES)
    types = dict(re.findall(r"@type\|(\w+)\|([\w ]+)\|", text))
    rows = re.findall(r"@(row|ctx|old|whole)\|(\w+)\|(\w+)\|([^|]+)\|([^|]+)\|", text)
    return types, rows + EXTRA


def structure(include, name):
    """The lines of a structure of shmem/moe.h, up to its first empty one."""
    text = pathlib.Path(include, "shmem/moe.h").read_text()
    end = text.index(f"}} {name};")
    members = text[text.rindex("typedef struct {", 0, end):end].partition("\n\n")[0]
    return [*members.splitlines(), f"}} {name};"]


def read_families(include):
    """Page -> {brief, ops, see, kernel, text}, in the file's order; `kernel` has more lines of the
    synopsis."""
    families = {}
    for line in (HERE / "routines.txt").read_text().splitlines():
        begin = re.fullmatch(r"== (\w+): (.*)", line)
        field = re.match(r"(ops|see): (.*)", line)
        if begin:
            page = families[begin[1]] = {"brief": begin[2], "ops": [], "see": [], "text": [],
                                         "kernel": []}
        elif line.startswith("kernel: "):
            page["kernel"].append(line.removeprefix("kernel: "))
        elif line.startswith("type: "):
            page["kernel"] += structure(include, line.removeprefix("type: "))
        elif field:
            page[field[1]] = field[2].split()
        elif line and not line.startswith("#"):
            page["text"].append(line)
    return families


def paragraphs_of(comment):
    """Those of a comment of shmemx.h, each as one line with all names in `x`. Lines that begin with
    two spaces are a sample of code and stay as they are. Sentences from "Returns" on become a
    paragraph, which names the routine."""
    for text in re.split(r"\n(?: \*)?\n", re.sub(r"\n \* ?(?=.)", "\n", comment)):
        if text.startswith("  "):
            yield text
            continue
        text = re.sub(r"`[^`]*`|\bshmemx?_\w+", lambda name: f"`{name[0].strip('`')}`",
                      " ".join(text.split()))
        yield from re.split(r"(?<=\.) (?=Returns )", text)


def add_comments(families, include):
    """Appends to a page's text the comments of shmemx.h that begin with the name of one of its
    operations. Names with TYPE stand for all operations of their page."""
    page_of = {op: page for page, family in families.items() for op in family["ops"]}
    header = pathlib.Path(include, "shmemx.h").read_text()
    for comment, name in re.findall(r"/\* (?:---- )?((shmemx?_\w+).*?) ?\*/", header, re.DOTALL):
        op = name.removeprefix("shmem_").replace("TYPE_", "")
        if op not in page_of:
            sys.exit(f"make_pages.py: a comment of shmemx.h begins with {name}, which no page of "
                     "routines.txt names")
        family = families[page_of[op]]
        is_for_all = "TYPE" in name or len(family["ops"]) == 1
        which = "Returns " if is_for_all else f"Returns of `{name}`: "
        family["text"] += [re.sub("^Returns (?!of )", which, text)
                           for text in paragraphs_of(comment)]


def tidy(prototype):
    return re.sub(r"\s*\*\s*", " *", prototype)


class Operation:
    """The rows of one op: typed, sized (put32) and mem forms, or a single routine. `names` are
    those of its pages."""

    def __init__(self, op, rows, types):
        self.is_extension = rows[0][0] == "ext"
        self.prefix, op = ("shmemx_",
                           op.replace("shmemx_", "", 1)) if self.is_extension else ("shmem_", op)
        self.op, self.has_ctx = op, any(kind == "ctx" for kind, *_ in rows)
        self.routines = [whole_name(row[0], row[1]) for row in rows]
        self.routines += ["shmem_ctx_" + row[1] for row in rows if row[0] == "ctx"]
        self.types = [name for name in types if any(row[1] == f"{name}_{op}" for row in rows)]
        self.prototypes = []
        self.names = []
        self.is_generic = bool(self.types) and rows[0][0] in ("row", "ctx", "ext")
        rest = [row for row in rows if not any(row[1] == f"{name}_{op}" for name in self.types)]
        if self.types or rows[0][0] in ("row", "ctx", "ext"):
            self.names.append(self.prefix + op)
        if self.types:
            # A type that parameters of another kind (int pe, size_t nelems, long *pSync) have not.
            example = next(name
                           for name in self.types if types[name] not in ("int", "long", "size_t"))
            _, name, _, result, params = next(row for row in rows if row[1] == f"{example}_{op}")
            signature = f"{result} {self.prefix}TYPE_{op}{params}"
            signature = signature.replace(f"{example}_loc_t", "TYPE_loc_t")
            self.prototypes.append(re.sub(rf"\b{types[example]}\b", "TYPE", signature))
        sized = [row for row in rest if re.search(r"\d", row[1])]
        if len(sized) == 5:
            name = re.sub("8", "SIZE", sized[0][1], count=1)
            self.prototypes.append(f"{sized[0][3]} {self.prefix}{name}{sized[0][4]}")
            rest = [row for row in rest if row not in sized]
        for kind, name, _, result, params in rest:
            whole = whole_name(kind, name)
            self.prototypes.append(f"{result} {whole}{params}")
            if kind in ("old", "whole") and whole not in self.names:
                self.names.append(whole)


def roff(text):
    """A paragraph: `x` in bold, what roff would take for its own escaped."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return "\\&" + text if text.startswith((".", "'")) else text


def paragraph(text):
    """The lines of a paragraph, or of a sample of code."""
    if text.startswith("  "):
        return [".PP", ".nf", *map(roff, text.splitlines()), ".fi"]
    return [".PP", roff(text)]


def reference(page):
    name, section = re.fullmatch(r"([\w+-]+?)(?:\((\d)\))?", page).groups()
    return f"\\fB{roff(name)}\\fR({section or 3})"


def header_of(operations, kernel):
    return "shmemx.h" if kernel or any(
        operation.is_extension for operation in operations) else "shmem.h"


def notes(operations, header):
    """A sentence each on contexts, generics, types and sizes, for below the prototypes."""
    with_ctx = [operation for operation in operations if operation.has_ctx]
    if with_ctx:
        names = ", ".join(f"`shmem_{operation.op}`" for operation in with_ctx)
        yield ("With a context: `shmem_ctx_...`, whose first parameter is `shmem_ctx_t ctx`, "
               f"of {names}.")
    generic = next((operation.op for operation in operations if operation.is_generic), None)
    if generic:
        what = "C++ overloads" if header == "shmemx.h" else "C11 generics and C++ overloads"
        yield f"Without the type's name they are {what}, as in `{operations[0].prefix}{generic}`."
    lists = {}
    for operation in operations:
        lists.setdefault(tuple(operation.types), []).append(operation.op)
    for types, ops in lists.items():
        if types:
            which = "" if len(lists) == 1 else " of " + ", ".join(f"`{op}`" for op in ops)
            yield f"TYPE{which} is one of: {' '.join(types)}."
    if any("SIZE" in prototype for operation in operations for prototype in operation.prototypes):
        yield "SIZE is 8, 16, 32, 64 or 128 bits."


def synopsis(operations, kernel):
    header = header_of(operations, kernel)
    lines = [".nf", f"\\fB#include <{header}>\\fR", *([""] if kernel else []), *map(roff, kernel)]
    for operation in operations:
        lines.append("")
        lines += [roff(tidy(prototype)) + ";" for prototype in operation.prototypes]
    lines.append(".fi")
    for note in notes(operations, header):
        lines += [".PP", roff(note)]
    return lines


def render(page, family, operations, version):
    names = ", ".join([page] + [name for o in operations for name in o.names if name != page])
    lines = [f'.TH {page} 3 "" "meshmem {version}" "OpenSHMEM 1.6"',
             ".SH NAME", f"{roff(names)} \\- {roff(family['brief'])}", ".SH SYNOPSIS",
             *synopsis(operations, family["kernel"]),
             ".SH DESCRIPTION"]
    returns = [text for text in family["text"] if text.startswith("Returns")]
    for text in family["text"]:
        lines += [] if text in returns else paragraph(text)
    lines += [".SH RETURN VALUE"] if returns else []
    for text in returns:
        lines += paragraph(text.removeprefix("Returns of "))
    lines += [".SH SEE ALSO", ", ".join(map(reference, family["see"] + ["shmem(7)"])) + "."]
    return "\n".join(lines) + "\n"


def operations_of(families, rows, types):
    """Page -> its operations; an error for what has no page."""
    page_of = {op: page for page, family in families.items() for op in family["ops"]}
    grouped = {}
    for row in rows:
        op = row[2]
        page = DEPRECATED_PAGE if row[0] in ("old", "whole") else page_of.get(op)
        if page is None:
            sys.exit(f"make_pages.py: no page of routines.txt names the operation {row[2]} of "
                     f"shmem_{row[1]}")
        grouped.setdefault(page, {}).setdefault(op, []).append(row)
    for op, page in page_of.items():
        if page != DEPRECATED_PAGE and op not in grouped.get(page, {}):
            sys.exit(f"make_pages.py: the page {page} names {op}, which is no operation of the "
                     "tables")
    order = {op: i for i, op in enumerate(page_of)}
    pages = {page: [] for page, family in families.items() if family["kernel"]}
    for page, ops in grouped.items():
        pages[page] = [Operation(op, found, types)
                       for op, found in sorted(ops.items(), key=lambda item: order.get(item[0], 0))]
    return pages


def read_pages(include, compiler):
    """The families, and page -> its operations."""
    families = read_families(include)
    add_comments(families, include)
    types, rows = read_tables(include, compiler)
    types = {**types, **SHORT_FLOATS}
    return families, operations_of(families, rows + read_extensions(include, compiler, types),
                                   types)


def overview(families, version):
    lines = [line for page, family in families.items()
             for line in (".TP", f"\\fB{roff(page)}\\fR(3)", roff(family["brief"]))]
    text = (HERE / "overview.7").read_text()
    return text.replace("@VERSION@", version).replace("@PAGES@", "\n".join(lines))


def write_links(folder, pages):
    """Pages that lead to others, for operations; and links, which take no room, for routines with a
    type."""
    for page, operations in sorted(pages.items(), key=lambda item: item[0] == DEPRECATED_PAGE):
        for name in (name for operation in operations for name in operation.names):
            link = folder / f"{name}.3"
            if not link.exists():
                link.write_text(f".so man3/{page}.3\n")
    for page, operations in pages.items():
        for name in (name for operation in operations for name in operation.routines):
            link = folder / f"{name}.3"
            if not link.exists():
                link.symlink_to(f"{page}.3")


def main():
    include, compiler, version, output = sys.argv[1:5]
    folder = pathlib.Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.3"):
        old.unlink()
    families, pages = read_pages(include, compiler)
    for page, operations in pages.items():
        (folder / f"{page}.3").write_text(render(page, families[page], operations, version))
    write_links(folder, pages)
    section_7 = folder.parent / "man7"
    section_7.mkdir(exist_ok=True)
    (section_7 / "shmem.7").write_text(overview(families, version))


if __name__ == "__main__":
    main()

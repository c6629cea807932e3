#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the Fortran module of the standard's C routines and constants, from the tables of
include/shmem. Called by the build (cmake/fortran.cmake).

make_fortran_module.py INCLUDE_FOLDER C_COMPILER VERSION OUTPUT

Each routine of the standard is an interface with bind(c), or in NOT_HERE with the reason. A type
that no table below has is an error.
"""
import pathlib
import re
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "docs/man"))
import make_pages  # noqa: E402  (it reads the same tables)

HEAD = """! SPDX-License-Identifier: Apache-2.0
!
! The C routines and constants of OpenSHMEM 1.6 for Fortran 2003, made from the tables of meshmem
! {version}. Compile this file with the compiler of the program, since each compiler has a format of
! its own for modules. Each routine has its C name and its C parameters:
! - A pointer is a type(c_ptr): give c_loc(x) of a variable x with the attribute target.
! - Teams and contexts are integers, of the kinds shmem_team_t and shmem_ctx_t. A parameter for a
!   new one, and for a value that a query finds, is the variable itself.
! - Fortran has no unsigned integers. The signed ones of the same size stand for them, with the same
!   bits.
! - Names do not differ by case alone. So the constants SHMEM_SIGNAL_SET and SHMEM_SIGNAL_ADD are
!   SHMEM_SIG_OP_SET and SHMEM_SIG_OP_ADD here, beside the routines shmem_signal_set and
!   shmem_signal_add.
!
"""
NOT_HERE = {
    "shmem_pcontrol": "its number of arguments varies",
    "_my_pe": "a Fortran name begins with a letter; it is shmem_my_pe",
    "_num_pes": "a Fortran name begins with a letter; it is shmem_n_pes",
}
RENAMED = {"SHMEM_SIGNAL_SET": "SHMEM_SIG_OP_SET", "SHMEM_SIGNAL_ADD": "SHMEM_SIG_OP_ADD"}
KINDS = {"float": "real(c_float)", "double": "real(c_double)", "long double": "real(c_long_double)",
         "char": "character(kind=c_char)", "signed char": "integer(c_signed_char)",
         "short": "integer(c_short)", "int": "integer(c_int)", "long": "integer(c_long)",
         "long long": "integer(c_long_long)", "size_t": "integer(c_size_t)",
         "ptrdiff_t": "integer(c_intptr_t)",  # c_ptrdiff_t is of Fortran 2018
         "shmem_team_t": "integer(shmem_team_t)", "shmem_ctx_t": "integer(shmem_ctx_t)",
         **{f"int{bits}_t": f"integer(c_int{bits}_t)" for bits in (8, 16, 32, 64)}}
SIGNED = {"unsigned char": "signed char", "unsigned short": "short", "unsigned int": "int",
          "unsigned long": "long", "unsigned long long": "long long",
          **{f"uint{bits}_t": f"int{bits}_t" for bits in (8, 16, 32, 64)}}
# Pointers to one variable, which the routine sets.
SET_BY_ROUTINE = r"(shmem_team_t|shmem_ctx_t) \*\w+|int \*(provided|major|minor|initialized)"


def kind_of(c_type):
    return KINDS[SIGNED.get(c_type, c_type)]


def read_constants(include, compiler):
    """Name -> (declaration of its type, value), of the macros that are constants."""
    folder = pathlib.Path(include) / "shmem"
    text = (folder / "constants.h").read_text() + (folder / "deprecated.h").read_text()
    names = re.findall(r"^#define (SHMEM_\w+) ", text, re.MULTILINE)
    values = make_pages.preprocess(
        include, compiler, "#include <shmem/constants.h>\n#include <shmem/deprecated.h>\n" +
        "".join(f"@value_of_{name}|{name}@\n" for name in names))
    constants = {}
    for name, value in re.findall(r"@value_of_(\w+)\|(.+?) ?@", values):
        handle = re.fullmatch(r"\(\((shmem_\w+_t)\) ?(\d)\)", value)
        number = re.fullmatch(r"\(?(\d+)(L?)(?: << (\d+))?\)?", value)
        if handle:
            constants[name] = (kind_of(handle[1]), handle[2])
        elif number:
            kind = kind_of("long" if number[2] else "int")
            constants[name] = (kind, int(number[1]) << int(number[3] or 0))
        elif value.startswith('"'):
            constants[name] = ("character(kind=c_char, len=*)", value)
        else:
            sys.exit(f"make_fortran_module.py: {name} is {value}")
    return constants


def structures(include, compiler):
    text = make_pages.preprocess(include, compiler, "#include <shmem/constants.h>\n")
    for members, name in re.findall(r"typedef struct \{ ?([^}]*?) ?\} (shmem_\w+);", text):
        yield f"\n  type, bind(c) :: {name}\n"
        for c_type, member in re.findall(r"(\w[\w ]*) (\w+);", members):
            yield f"    {kind_of(c_type)} :: {member}\n"
        yield "  end type\n"


def declare(parameter):
    """The name and the declaration of a parameter of C."""
    c_type, name = re.fullmatch(r"(?:const )?(.+?[ *])(\w+)", parameter).groups()
    if re.fullmatch(SET_BY_ROUTINE, parameter):
        return name, f"{kind_of(c_type.rstrip(' *'))}, intent(out) :: {name}"
    kind = "type(c_ptr)" if c_type.endswith("*") else kind_of(c_type.strip())
    return name, f"{kind}, value :: {name}"


def interface(name, result, params):
    parameters = [part.strip() for part in params.strip()[1:-1].split(",")]
    declared = [declare(part) for part in parameters if part != "void"]
    arguments = ", ".join(argument for argument, _ in declared)
    what, after = "subroutine", ""
    lines = ["import"] + [line for _, line in declared]
    if result != "void":
        what, after = "function", " result(returned)"
        kind = "type(c_ptr)" if result.endswith("*") else kind_of(result)
        lines.append(f"{kind} :: returned")
    head = textwrap.wrap(f"{what} {name}({arguments}) bind(c){after}", 110)
    return "".join(["    " + " &\n        ".join(head) + "\n",
                    *(f"      {line}\n" for line in lines), f"    end {what}\n"])


def routines_of(rows):
    """Name -> (result, parameters), with the forms that take a context."""
    routines = {}
    for kind, name, _, result, params in rows:
        result, params = result.strip(), make_pages.tidy(params.strip())
        routines[make_pages.whole_name(kind, name)] = (result, params)
        if kind == "ctx":
            routines[f"shmem_ctx_{name}"] = (result, params.replace("(", "(shmem_ctx_t ctx, ", 1))
    return routines


def main():
    include, compiler, version, output = sys.argv[1:5]
    _, rows = make_pages.read_tables(include, compiler)
    text = HEAD.format(version=version)
    text += "".join(f"! Not here: {name}, since {why}.\n" for name, why in NOT_HERE.items())
    text += "module shmem\n  use, intrinsic :: iso_c_binding\n  implicit none\n\n"
    text += "  integer, parameter :: shmem_team_t = c_intptr_t, shmem_ctx_t = c_intptr_t\n"
    for name, (kind, value) in read_constants(include, compiler).items():
        text += f"  {kind}, parameter :: {RENAMED.get(name, name)} = {value}\n"
    text += "".join(structures(include, compiler)) + "\n  interface\n"
    text += "\n".join(interface(name, *routine) for name, routine in routines_of(rows).items()
                      if name not in NOT_HERE)
    text += "  end interface\nend module\n"
    path = pathlib.Path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds every name that a public header adds to a program, and fails on each that is not
OpenSHMEM's or on the list below.

namespace.py INCLUDE_FOLDER C_COMPILER C++_COMPILER
namespace.py --self-test

Macros, declarations and included headers are read from what the preprocessor makes of the header.
Exit status 77 (skipped) where a compiler is not installed.
"""
import pathlib
import re
import shutil
import subprocess
import sys

GOLDEN = pathlib.Path(__file__).with_name("symbols_1.6.txt")
STANDARDS = {"c": ["c99", "c11", "c2x"], "c++": ["c++11", "c++20"]}
# The standard's prototypes need size_t, ptrdiff_t and uint64_t.
MAY_INCLUDE = {"stddef.h", "stdint.h"}

TYPES = """float double longdouble char schar short int long longlong uchar ushort uint
    ulong ulonglong int8 int16 int32 int64 uint8 uint16 uint32 uint64 size ptrdiff
    complexd complexf""".split()
CONSTANTS = """SHMEM_THREAD_SINGLE SHMEM_THREAD_FUNNELED SHMEM_THREAD_SERIALIZED
    SHMEM_THREAD_MULTIPLE SHMEM_TEAM_NUM_CONTEXTS SHMEM_TEAM_INVALID SHMEM_CTX_INVALID
    SHMEM_CTX_SERIALIZED SHMEM_CTX_PRIVATE SHMEM_CTX_NOSTORE SHMEM_CTX_SESSION_TOTAL_OPS
    SHMEM_CTX_SESSION_BATCH SHMEM_SIGNAL_SET SHMEM_SIGNAL_ADD SHMEM_MALLOC_ATOMICS_REMOTE
    SHMEM_MALLOC_SIGNAL_REMOTE SHMEM_MAJOR_VERSION SHMEM_MINOR_VERSION SHMEM_MAX_NAME_LEN
    SHMEM_VENDOR_STRING SHMEM_CMP_EQ SHMEM_CMP_NE SHMEM_CMP_LT SHMEM_CMP_LE SHMEM_CMP_GT
    SHMEM_CMP_GE SHMEM_TEAM_WORLD SHMEM_TEAM_SHARED SHMEM_CTX_DEFAULT""".split()
HANDLES = "shmem_team_t shmem_ctx_t shmem_team_config_t shmem_ctx_session_config_t".split()
# May be there; a program of an older version of the standard needs them.
DEPRECATED = r"""_?SHMEM_(SYNC_VALUE|((BCAST|REDUCE|BARRIER|COLLECT|ALLTOALL|ALLTOALLS)_)?SYNC_SIZE)
    |_?SHMEM_REDUCE_MIN_WRKDATA_SIZE
    |_SHMEM_(MAJOR_VERSION|MINOR_VERSION|MAX_NAME_LEN|VENDOR_STRING|CMP_(EQ|NE|LT|LE|GT|GE))"""

# Old names that programs of other libraries need (shmem/older_names.h).
OLDER = (r"shmem_(uint|ulong|ulonglong|u?int(32|64)|size|ptrdiff)_(fetch|set|swap|cswap|finc|inc"
         r"|fadd|add|wait)"
         r"|shmem_u?short_(wait_until|test)_(all|any|some)(_vector)?")

# Names of meshmem's own: which, and why programs have to see them.
OWN = [(r"MESHMEM_P?SHMEMX?(_\w+)?_H", "include guards"),
       (r"MESHMEM_(KERNEL_|HOST_)?TYPES|MESHMEM_SIZES|MESHMEM_SHORT_FLOATS|MESHMEM_(IN"
        r"|GENERIC)_[012]",
        "the table of types: read by pshmem.h, shmemx.h, shmem/device.hpp and by tools, which "
        "include it for that"),
       (r"MESHMEM_OPS?_\w+"
        r"|MESHMEM_(KERNEL_|QUERY_|GROUP_|(COMMON_)?HOST_|VARIADIC_)?ROUTINES(_CTX)?"
        r"|MESHMEM_ALL_(ROUTINES|IN_KERNELS|ON_HOST)"
        r"|MESHMEM_(TYPED|GROUP|THREAD|SIZED)_ROW"
        r"|MESHMEM_(UN)?TYPED(_IN_KERNELS|_ON_HOST)?|MESHMEM_(WITH"
        r"|PASS)_CTX",
        "the table of routines: likewise"),
       (r"SHMEM_DEF_H|SHMEM_FUNCTION_ATTRIBUTES", "by these shmem4py finds out what a library has"),
       (r"MESHMEM_NORETURN", "shmem_global_exit has two prototypes, in shmem.h and pshmem.h"),
       (r"MESHMEM_ROUTINE", "defines inline routines, which kernels with checks do in another way"),
       (r"meshmem_(team|context)", "what handles point to"),
       (r"meshmem_(complex[fd]|bits128)",
        "element types of the tables that have no name in all languages"),
       (r"MESHMEM_DEPRECATED(_\w+)?|MESHMEM_OLDER_TYPES",
        "the table of deprecated routines: likewise"),
       (r"MESHMEM_(CASE_\w+|SELECT(_CTX|_DEPRECATED|_UNTIL)?|(FIRST|SECOND)(_OF)?|FIFTH_OF)"
        r"|meshmem_has_no_routine_for_this_type",
        "the type-generic macros expand to these in the program, C11 and later"),
       (r"meshmem", "the namespace of what overloads need, C++"),
       (r"MESHMEM_LOCATED(_ROW|_TYPES)?|MESHMEM_ALLTOALLV(_ROW|_ON_HOST)?"
        r"|MESHMEM_((SIZED_)?MOVED_ROW|(MOVED|UNTYPED)_ON_STREAM)|MESHMEM_EXTENSIONS?(_ROW)?"
        r"|MESHMEM_(EXTENSION|(COMMON_)?STREAM)_ROUTINES|MESHMEM_ALL_EXTENSIONS",
        "the table of extensions: likewise"),
       (r"MESHMEM_((SHORT_)?REDUCTIONS|SCANS|(REDUCTION|SCAN)_ROW|COMPUTED_ON_STREAM|WITH_STREAM"
        r"|PASS_STREAM)",
        "the table of reductions on streams, shmemx.h"),
       ]
# Each header may also add these names.
PREFIXES = {"shmem.h": "(?!)",
            "pshmem.h": "pshmem_.*|p(start_pes|_my_pe|_num_pes|sh(malloc|free|realloc|memalign))",
            "shmemx.h": "shmemx_.*|SHMEMX_.*",
            "pshmemx.h":
            "p?shmemx?_.*|SHMEMX_.*|p(start_pes|_my_pe|_num_pes|sh(malloc|free|realloc|memalign))"}


def standard_names():
    golden = {line.split()[0] for line in GOLDEN.read_text().splitlines() if line
              and not line.startswith("#")}
    typed = re.compile(rf"shmem_(?:{'|'.join(TYPES)})_(\w+)")
    generic = {"shmem_" + match[1] for match in map(typed.fullmatch, golden) if match}
    return golden | generic | set(CONSTANTS) | set(HANDLES)


def is_allowed(name, header, standard):
    own = "|".join(pattern for pattern, _ in OWN)
    deprecated = re.sub(r"\s+", "", DEPRECATED)
    return name in standard or re.fullmatch(f"{own}|{deprecated}|{OLDER}|{PREFIXES[header]}",
                                            name) is not None


def tokens(text):
    return re.findall(r'[A-Za-z_]\w*|"(?:[^"\\]|\\.)*"|\d\w*|[^\s\w]', text)


def after_block(words, i):
    """The place after the brackets that open at i."""
    depth = 0
    while True:
        depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(words[i], 0)
        i += 1
        if depth == 0:
            return i


def after_angles(words, i):
    depth = 0
    while True:
        depth += {"<": 1, ">": -1}.get(words[i], 0)
        i += 1
        if depth == 0:
            return i


def declared_names(text):
    """The names that the declarations of a preprocessed text add to the scope that it is in."""
    words, names, i = tokens(text), set(), 0
    last = ""  # identifier of the declaration so far
    # done: the function's name is known, what follows adds none
    is_typedef = is_enum = done = False
    while i < len(words):
        word = words[i]
        if word == "extern" and words[i + 1:i + 3] == ['"C"', "{"]:
            i += 3
        elif word == "}":  # of extern "C"
            i += 1
        elif word == "namespace":
            names.add(words[i + 1])
            i = after_block(words, i + 2)
        elif word == "template":
            i = after_angles(words, i + 1)
        elif word in ("__attribute__", "decltype", "alignas", "static_assert", "_Static_assert"):
            i = after_block(words, i + 1)
        elif word == "[":
            i = after_block(words, i)
        elif word in ("struct", "union", "enum", "class"):
            is_enum = word == "enum"
            if re.match(r"[A-Za-z_]", words[i + 1]):
                names.add(words[i + 1])
                i += 1
            i += 1
        elif word == "(":
            if not is_typedef and last and not done:
                names.add(last)
                done = True
            i = after_block(words, i)
        elif word == "{":
            is_body, begin = done, i
            i = after_block(words, i)
            if is_enum:
                names.update(re.findall(r"([A-Za-z_]\w*)[^,]*[,}]", " ".join(words[begin + 1:i])))
            if is_body:
                last, is_typedef, done = "", False, False
        elif word == ";":
            if last and not done:
                names.add(last)
            last, is_typedef, done = "", False, False
            i += 1
        else:
            is_typedef = is_typedef or word == "typedef"
            if re.match(r"[A-Za-z_]", word):
                last = word
            i += 1
    return names


def preprocess(compiler, language, standard, folder, header):
    """The text of the header with its macros' definitions; None where the compiler does not know
    the standard."""
    command = [compiler, "-x", language, f"-std={standard}", "-E", "-dD", f"-I{folder}", "-"]
    result = subprocess.run(command, input=f"#include <{header}>\n", capture_output=True, text=True)
    return result.stdout if result.returncode == 0 else None


def added_names(text, folder):
    """The macros and declarations of the lines that come from the folder, and the headers from
    elsewhere that they include."""
    kept, macros, included, ours = [], set(), set(), False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "(.*?)"(.*)', line)
        define = re.match(r"#(define|undef) (\w+)", line)
        if marker:
            was_ours, ours = ours, marker[1].startswith(str(folder))
            if was_ours and not ours and " 1" in marker[2]:
                included.add(pathlib.Path(marker[1]).name)
        elif ours and define:
            (macros.add if define[1] == "define" else macros.discard)(define[2])
        elif ours:
            kept.append(line)
    return macros | declared_names("\n".join(kept)) | {f"<{name}>"
                                                       for name in included - MAY_INCLUDE}


def complaints(names, header, standard):
    for name in sorted(names):
        if not is_allowed(name, header, standard):
            yield f"adds {name}"
    for name in sorted((set(CONSTANTS) | set(HANDLES)) - names):
        yield f"lacks {name}"


SAMPLE = """
extern "C" { int f(int a, char *(*b)(int)); struct tag *g(void);
             void h(void) __attribute__((noreturn)); }
typedef struct { int member; } alias; typedef struct inner *handle;
extern const struct thing { char nothing; } variable;
[[noreturn]] void k(int status);
inline int m(int a) { return a + f(a); }
template <template <class> class C>
inline auto t(C<float> *a) -> decltype(a->real(), int()) { return u(a); }
namespace ns { int hidden(); }
__extension__ typedef float _Complex number; enum colours { red, green = 7, blue };
typedef enum { one } choice;
"""
FOUND = """f g tag h alias handle inner thing variable k m t ns number colours red green blue one
    choice""".split()


def self_test():
    standard, wrong = standard_names(), []
    if declared_names(SAMPLE) != set(FOUND):
        wrong.append(f"read {sorted(declared_names(SAMPLE))}, not {sorted(FOUND)}")
    right = set(CONSTANTS) | set(HANDLES) | {"shmem_put", "shmem_long_put", "SHMEM_SYNC_VALUE",
                                             "MESHMEM_TYPES"}
    cases = [(right, []), (right | {"helper"}, ["adds helper"]),
             (right | {"SHMEM_H"}, ["adds SHMEM_H"]),
             (right | {"pshmem_quiet"}, ["adds pshmem_quiet"]),
             (right | {"MESHMEM_X"}, ["adds MESHMEM_X"]),
             (right - {"SHMEM_CMP_EQ"}, ["lacks SHMEM_CMP_EQ"]),
             (right | {"shmem_struct_put"}, ["adds shmem_struct_put"])]
    wrong += [f"{said} expected, got {found}" for names, said in cases
              for found in [list(complaints(names, "shmem.h", standard))] if found != said]
    for text in wrong:
        print(f"namespace.py: {text}", file=sys.stderr)
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    folder = pathlib.Path(sys.argv[1])
    compilers = dict(zip(["c", "c++"], sys.argv[2:4]))
    for compiler in compilers.values():
        if not shutil.which(compiler):
            print(f"SKIPPED: {compiler} is not installed")
            return 77
    standard, read, found = standard_names(), 0, []
    for language, versions in STANDARDS.items():
        for version in versions:
            for header in PREFIXES:
                text = preprocess(compilers[language], language, version, folder, header)
                if text is not None:
                    read += 1
                    names = added_names(text, folder)
                    found += [f"{header} as {version} {text}"
                              for text in complaints(names, header, standard)]
    for text in found[:50]:
        print(f"namespace.py: {text}", file=sys.stderr)
    print(f"{read} readings of headers, {len(found)} names too many or too few")
    return 1 if found or not read else 0


if __name__ == "__main__":
    sys.exit(main())

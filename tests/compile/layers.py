#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that includes go one way: which directory may use which is the table ALLOWED, and inside a
folder there are no circles. A unit is a header with its .cpp; two units that include each other, at
once or by way of others, are one thing with two names. Also checks that only src/gpu/ calls HIP in
the library.

layers.py TOP         complains of each include of TOP's sources that goes the wrong way, and
                      reports long files
layers.py --self-test plants every kind of violation in a tree of its own and looks for the
                      complaint
"""
import pathlib
import re
import sys
import tempfile

# The host runtime, lowest first: a layer may use itself and those before it.
LAYERS = ["base", "bootstrap", "gpu", "memory", "transport", "one_sided", "proxy", "core",
          "collectives", "library", "api"]
# The areas of the project whose headers each area may use.
ALLOWED = {
    "include": {"include"},
    "device": {"device", "include", "device/hip_on_cpu", "device/hip_on_cuda"},
    "device/hip_on_cpu": {"device/hip_on_cpu"},
    "device/hip_on_cuda": {"device/hip_on_cuda"},
    "launcher": {"launcher", "src/base"},
    # A program that calls the API, and also uses src/base.
    "launcher/bench": {"launcher/bench", "src/base", "include", "device/hip_on_cpu",
                       "device/hip_on_cuda"},
    # Loads the library in a job, and asks for devices.
    "launcher/info": {"launcher/info", "src/base", "include", "device/hip_on_cpu",
                      "device/hip_on_cuda"},
    "examples": {"examples", "include", "device/hip_on_cpu", "device/hip_on_cuda"},
}
for index, layer in enumerate(LAYERS):
    ALLOWED[f"src/{layer}"] = ({f"src/{below}" for below in LAYERS[:index + 1]}
                               | {"include", "device", "device/hip_on_cpu", "device/hip_on_cuda"})
# A library of its own. It and meshmem-info may use two headers of the library that loads it.
ALLOWED["src/transport/ucx"] = {"src/transport/ucx"}
WIRES = {"src/transport/wire.hpp", "src/base/machine/socket_patience.hpp"}
KNOW_THE_WIRE = {"src/transport/ucx", "launcher/info"}
# Two more libraries, tracing and races, which call the API as a program does. Both contain the
# code of interpose.
ALLOWED["src/tools/interpose"] = {"src/tools/interpose", "include"}
ALLOWED["src/tools/tracing"] = {"src/tools/tracing", "src/tools/interpose", "include"}
ALLOWED["src/tools/races"] = {"src/tools/races", "src/tools/interpose", "include"}
TRACE_JOB = "src/base/hooks/trace_job.hpp"
# One more library, whose functions instrumented programs call.
ALLOWED["src/tools/accesses"] = {"src/tools/accesses"}
ACCESS_HOOKS = ("src/base/hooks/access_hooks.hpp", "src/base/hooks/ledger.hpp")
# The headers of device/ that src/ may include: they compile without a GPU compiler. Then the
# headers of HIP that host code may include.
FOR_THE_HOST = {"device/comparison.hpp", "device/state.hpp", "device/launch.hpp",
                "device/operations.hpp", "device/proxy_ring.hpp",
                "device/located.hpp", "device/hip_on_cpu/hip/on_cpu/short_floats.h",
                "device/collectives/algorithms.hpp",
                "device/collectives/algorithms.def"}
HIP_FOR_THE_HOST = {"hip/hip_runtime_api.h", "hip/on_cpu/for_meshmem.h"}
# The one public header that stands for the code inside kernels.
KERNEL_API = "include/shmem/device.hpp"
# Libraries of others that only some areas may know of.
OUTSIDE = {"pmix": {"src/bootstrap", "launcher"}, "CLI": {"launcher", "examples"},
           "fmt": {"launcher", "src"}, "png": {"examples"},
           "ucp": {"src/transport/ucx"}, "ucs": {"src/transport/ucx"}}
# Headers that another library's header includes, so ours of the same name does too.
ROCSHMEM_NAME = "include/meshmem/compat/names/rocshmem/rocshmem/rocshmem.hpp"
NVSHMEM_NAME = "include/meshmem/compat/names/nvshmem/nvshmem.h"
BROUGHT_AS_THERE = {(ROCSHMEM_NAME, "algorithm"), (ROCSHMEM_NAME, "mpi.h")} | {
    (NVSHMEM_NAME, name) for name in ("cuda.h", "cuda_bf16.h", "cuda_fp16.h", "cuda_runtime.h")}
# The other headers that a public header may include, and so bring into programs.
STANDARD = set("""assert.h complex.h float.h inttypes.h limits.h stdarg.h stdbool.h
    stddef.h stdint.h stdio.h stdlib.h string.h complex cstddef cstdint type_traits
    utility""".split())

# The folders of src/ and launcher/ that may call HIP. Kernels and their launches are in device/.
CALLS_HIP = {"src/gpu", "launcher/bench", "launcher/info"}
HIP_CALL = re.compile(r"\bhip[A-Z]\w*(?=\s*\()")

ROOTS = ["include", "src", "device", "launcher", "examples"]
ENDINGS = {".h", ".c", ".hpp", ".cpp", ".hip", ".def"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
LONG_FILE = 400


def area_of(path):
    """The directory that answers for a file, as ALLOWED names it; path is relative to the top."""
    parts = path.parts
    if parts[:3] == ("src", "transport", "ucx") or parts[:2] == ("src", "tools"):
        return "/".join(parts[:3])
    divided = (parts[0] == "src" or (parts[0] == "device" and parts[1].startswith("hip_on_"))
               or parts[:2] in (("launcher", "bench"), ("launcher", "info")))
    return "/".join(parts[:2]) if divided and len(parts) > 2 else parts[0]


def find_header(top, source, name):
    """The project's file that an include means, relative to the top, or None if it means another
    file."""
    # Both hip_on_ folders have headers of HIP's names. A file of hip_on_cuda gets its own folder's,
    # and any other file those of hip_on_cpu.
    roots = [".", "include", "src", "device/hip_on_cpu", "device/hip_on_cuda", "launcher"]
    if area_of(source) == "device/hip_on_cuda":
        roots.remove("device/hip_on_cpu")
    for folder in [source.parent] + [pathlib.Path(root) for root in roots]:
        candidate = (top / folder / name).resolve()
        if candidate.is_file() and candidate.is_relative_to(top):
            return candidate.relative_to(top)
    return None


def complaint_about(top, source, quoted, angled):
    """Says what is wrong with one include of source; None if it is right."""
    area, name = area_of(source), quoted or angled
    if area not in ALLOWED:
        return f"{area} is no layer of {', '.join(LAYERS)}"
    header = find_header(top, source, name)
    if header is not None:
        used = area_of(header)
        allowed = used in ALLOWED[area] or (str(source) == KERNEL_API and used == "device")
        if area == "launcher" and name in HIP_FOR_THE_HOST:
            allowed = True
        if str(header) in WIRES and area in KNOW_THE_WIRE:
            allowed = True
        if str(header) == TRACE_JOB and area in ("src/tools/interpose", "src/tools/tracing",
                                                 "src/tools/races"):
            allowed = True
        if str(header) in ACCESS_HOOKS and area in ("src/tools/accesses", "src/tools/races"):
            allowed = True
        if area.startswith("src/") and used.startswith("device"):
            allowed = str(header) in FOR_THE_HOST or name in HIP_FOR_THE_HOST
        return None if allowed else f"{area} may not use {used} ({name})"
    if quoted:
        return f'"{name}" is no file of the project'
    if (str(source), name) in BROUGHT_AS_THERE:
        return None
    if area == "include" and name not in STANDARD:
        return f"a public header may include standard headers only, not <{name}>"
    library = re.match(r"[A-Za-z]+", name).group(0)
    areas = OUTSIDE.get(library)
    if areas is not None and not {area, area.split("/")[0]} & areas:
        return f"{area} may not know of {library} (<{name}>)"
    return None


def sources(top):
    return sorted(path.relative_to(top) for root in ROOTS for path in (top / root).rglob("*")
                  if path.suffix in ENDINGS)


def unit_of(path):
    return path.parent / path.stem


def includes_inside_folders(top):
    """unit -> {another unit of its folder that it includes: where}, as file:line."""
    edges = {}
    for source in sources(top):
        for number, line in enumerate((top / source).read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            header = match and find_header(top, source, match.group(1) or match.group(2))
            if header and header.parent == source.parent and unit_of(header) != unit_of(source):
                edges.setdefault(unit_of(source), {}).setdefault(unit_of(header),
                                                                 f"{source}:{number}")
    return edges


def shortest_circle(edges, start):
    """The units on the shortest way from start back to it, or None."""
    ways, seen = [[start]], set()
    for way in ways:
        for unit in sorted(edges.get(way[-1], ())):
            if unit == start:
                return way + [unit]
            if unit not in seen:
                seen.add(unit)
                ways.append(way + [unit])
    return None


def circles(top):
    edges, reported = includes_inside_folders(top), set()
    for unit in sorted(edges):
        circle = shortest_circle(edges, unit)
        if circle and not reported & set(circle):
            reported |= set(circle)
            way = " -> ".join(part.name for part in circle)
            yield f"{edges[unit][circle[1]]}: a circle of includes in {unit.parent}: {way}"


def calls_of_hip(top):
    folders = ", ".join(sorted(CALLS_HIP))
    for source in sources(top):
        if source.parts[0] not in ("src", "launcher"):
            continue
        if {str(folder) for folder in source.parents} & CALLS_HIP:
            continue
        for number, line in enumerate((top / source).read_text().splitlines(), 1):
            for call in HIP_CALL.findall(line.split("//")[0]):
                yield f"{source}:{number}: only {folders} may call HIP ({call})"


def violations(top):
    yield from circles(top)
    yield from calls_of_hip(top)
    for source in sources(top):
        for number, line in enumerate((top / source).read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            complaint = match and complaint_about(top, source, *match.groups())
            if complaint:
                yield f"{source}:{number}: {complaint}"


def report_long_files(top):
    for source in sources(top):
        lines = len((top / source).read_text().splitlines())
        if lines > LONG_FILE:
            print(f"{source} has {lines} lines; does it still have one job?")


# A small tree that is right, and what each planted line has to bring about.
RIGHT = {
    "include/shmem.h": '#include <stdint.h>\n#include "shmem/types.h"\n',
    "include/shmem/types.h": "",
    "src/base/error.hpp": "#include <string>\n#include <fmt/format.h>\n",
    "src/bootstrap/job.hpp": '#include <pmix.h>\n#include "base/error.hpp"\n',
    "src/memory/arena.hpp": '#include "bootstrap/job.hpp"\n',
    "src/transport/wire.hpp": "",
    "src/transport/ucx/ucx_wire.cpp": '#include "transport/wire.hpp"\n#include '
    '<ucp/api/ucp.h>\n#include <fmt/format.h>\n',
    "src/transport/ucx/ucx_wire.hpp": "",
    "src/base/hooks/trace_job.hpp": "",
    "src/tools/tracing/library.cpp": '#include "base/hooks/trace_job.hpp"\n#include '
    '<shmem.h>\n#include <fmt/format.h>\n',
    "src/tools/tracing/library.hpp": "",
    "src/core/team.hpp": '#include "memory/arena.hpp"\n#include <shmem.h>\n',
    "src/core/team.cpp": '#include "core/team.hpp"\n#include "core/team_table.hpp"\n',
    "src/core/team_table.hpp": "",
    "src/gpu/slab.cpp": "hipError_t open() { return hipMalloc(&slab, 8); }  // hipFree(slab) ends "
    "it\n",
    "src/api/rma.cpp": '#include "core/team.hpp"\nhipError_t launch(hipStream_t stream);  // by '
    'hipMemcpyAsync()\n',
    "include/shmem/device.hpp": '#include "device/rma.hpp"\n',
    "device/state.hpp": "",
    "device/rma.hpp": '#include <hip/hip_runtime.h>\n#include "device/state.hpp"\n',
    "device/hip_on_cpu/hip/hip_runtime.h": '#include "hip/hip_runtime_api.h"\n',
    "device/hip_on_cpu/hip/hip_runtime_api.h": "",
    "device/hip_on_cuda/hip/hip_runtime.h": '#include "hip_runtime_api.h"\n',
    "device/hip_on_cuda/hip/hip_runtime_api.h": "",
    "src/memory/device_memory.hpp": '#include <hip/hip_runtime_api.h>\n#include '
    '"device/state.hpp"\n',
    "launcher/oshrun/main.cpp": '#include "oshrun/server.hpp"\n#include "base/error.hpp"\n#include '
    '<pmix_server.h>\n',
    "launcher/oshrun/server.hpp": "",
    "examples/01_hello.c": "#include <shmem.h>\n#include <stdio.h>\n",
}
PLANTED = [
    ("src/base/error.hpp", '#include "memory/arena.hpp"', "src/base may not use src/memory"),
    ("src/memory/arena.hpp", '#  include "core/team.hpp"', "src/memory may not use src/core"),
    ("src/memory/arena.hpp", '#include "../core/team.hpp"', "src/memory may not use src/core"),
    ("src/memory/arena.hpp", "#include <pmix.h>", "src/memory may not know of pmix"),
    ("src/core/team.hpp", '#include "api/none.hpp"', "is no file of the project"),
    ("src/transport/ucx/ucx_wire.cpp", '#include "base/error.hpp"',
     "src/transport/ucx may not use src/base"),
    ("src/tools/tracing/library.cpp", '#include "base/error.hpp"',
     "src/tools/tracing may not use src/base"),
    ("src/core/team.hpp", '#include "tools/tracing/library.hpp"',
     "src/core may not use src/tools/tracing"),
    ("src/transport/wire.hpp", '#include "transport/ucx/ucx_wire.hpp"',
     "src/transport may not use src/transport/ucx"),
    ("src/transport/wire.hpp", "#include <ucp/api/ucp.h>", "src/transport may not know of ucp"),
    ("src/odds/ends.cpp", "#include <vector>", "src/odds is no layer"),
    ("device/rma.hpp", '#include "base/error.hpp"', "device may not use src/base"),
    ("src/memory/arena.hpp", '#include "device/rma.hpp"',
     "src/memory may not use device (device/rma.hpp)"),
    ("src/memory/arena.hpp", "#include <hip/hip_runtime.h>",
     "src/memory may not use device/hip_on_cpu"),
    ("include/shmem.h", '#include "device/state.hpp"', "include may not use device"),
    ("device/hip_on_cpu/hip/hip_runtime.h", '#include "device/state.hpp"',
     "device/hip_on_cpu may not use device"),
    ("device/hip_on_cuda/hip/hip_runtime.h", '#include "../../hip_on_cpu/hip/hip_runtime.h"',
     "device/hip_on_cuda may not use device/hip_on_cpu"),
    ("launcher/oshrun/main.cpp", '#include "core/team.hpp"', "launcher may not use src/core"),
    ("launcher/oshrun/main.cpp", "#include <shmem.h>", "launcher may not use include"),
    ("include/shmem.h", "#include <pmix.h>", "a public header may include standard headers only"),
    ("include/shmem.h", '#include "../src/base/error.hpp"', "include may not use src/base"),
    ("examples/01_hello.c", '#include "../src/base/error.hpp"', "examples may not use src/base"),
    ("src/core/team_table.hpp", '#include "core/team.hpp"',
     "a circle of includes in src/core: team -> team_table -> team"),
    ("device/state.hpp", '#include "device/rma.hpp"',
     "a circle of includes in device: rma -> state -> rma"),
    ("src/core/team.hpp", "inline void f(void* p) { (void)hipFree (p); }",
     "launcher/info, src/gpu may call HIP (hipFree)"),
    ("launcher/oshrun/main.cpp", "hipSetDevice(0);", "src/gpu may call HIP (hipSetDevice)"),
]


def plant(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RIGHT.get(name, "") + text + "\n")


def violations_with(extra):
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder).resolve()
        for name in RIGHT:
            plant(top, name, "")
        for name, text in extra:
            plant(top, name, text)
        return list(violations(top))


def self_test():
    wrong = [f"a right tree: {found}" for found in violations_with([])]
    for name, text, expected in PLANTED:
        found = violations_with([(name, text)])
        # A circle is reported at its first unit, which need not be where the line was planted.
        at_place = found and (found[0].startswith(f"{name}:") or "circle" in expected)
        if len(found) != 1 or expected not in found[0] or not at_place:
            wrong.append(f"{text} in {name}: expected '{expected}', got {found}")
    for text in wrong:
        print(f"layers.py: {text}", file=sys.stderr)
    print(f"{len(PLANTED)} planted violations, {len(wrong)} of them not seen as they should be")
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    top = pathlib.Path(sys.argv[1]).resolve()
    found = list(violations(top))
    for text in found:
        print(f"layers.py: {text}", file=sys.stderr)
    report_long_files(top)
    print(f"{len(sources(top))} files, {len(found)} violations")
    return 1 if found or not sources(top) else 0


if __name__ == "__main__":
    sys.exit(main())

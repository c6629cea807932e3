# SPDX-License-Identifier: Apache-2.0
"""The compiled part: where it is, and how it is made. Its file name has all that it depends on, so
another version of PyTorch, Python or meshmem never loads it."""
from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shutil
import sys
import types
import typing

OLDEST_TORCH = (2, 11)
NAME = "meshmem_torch"
COMMAND = "python3 -m meshmem.torch"
PACKAGE = pathlib.Path(__file__).resolve().parent


def require_torch() -> types.ModuleType:
    """The module torch. ImportError with one line unless it is there and new enough."""
    oldest = ".".join(map(str, OLDEST_TORCH))
    try:
        import torch
    except ImportError as error:
        raise ImportError(f"meshmem.torch: PyTorch is missing ({error}); install torch {oldest} or "
                          "later (import meshmem works without it)") from None
    version = re.match(r"(\d+)\.(\d+)", torch.__version__)
    if not version or tuple(map(int, version.groups())) < OLDEST_TORCH:
        raise ImportError(f"meshmem.torch: torch {torch.__version__} is too old; install {oldest} "
                          "or later")
    return torch


def sources() -> list[pathlib.Path]:
    """Those of the installed package, or of the checkout."""
    for folder in (PACKAGE / "src", PACKAGE.parents[1] / "torch/src"):
        if found := sorted(folder.glob("*.[ch]pp")):
            return found
    raise ImportError(f"meshmem.torch: there are no sources in {PACKAGE / 'src'}; install the "
                      "package again")


def file_name() -> str:
    import torch

    import meshmem
    version = re.sub(r"[^\w.]+", "-", meshmem.name())
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources())).hexdigest()[:8]
    return f"{NAME}-{version}-torch{torch.__version__}-{sys.implementation.cache_tag}-{digest}.so"


def folders() -> list[pathlib.Path]:
    """Where it may be: beside the package, or in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return [PACKAGE / "compiled", *([pathlib.Path(cache) / "meshmem"] if cache[0] == "/" else [])]


def load() -> types.ModuleType:
    """Loads it. ImportError with one line if it was not made for this PyTorch."""
    import torch
    name = file_name()
    for folder in folders():
        if (path := folder / name).exists():
            loader = importlib.machinery.ExtensionFileLoader(NAME, str(path))
            spec = importlib.util.spec_from_file_location(NAME, path, loader=loader)
            assert spec
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
            return module
    raise ImportError("meshmem.torch: nothing is compiled for torch "
                      f"{torch.__version__} and this meshmem; run `{COMMAND}` once")


def loaded_library(name: str) -> pathlib.Path:
    """The library of this name that the process has loaded."""
    maps = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8")
    found = re.search(rf"^(?:\S+\s+){{5}}(/.*/{re.escape(name)}(?:-\w+)?\.so[\w.]*)$", maps,
                      re.MULTILINE)
    if not found:
        raise RuntimeError(f"meshmem.torch: {name} was removed or replaced after the program has "
                           "loaded it; start the program again")
    return pathlib.Path(found[1])


def companion(name: str) -> pathlib.Path:
    """A library that comes with the loaded libmeshmem.so, and lies in the folder of its version."""
    library = loaded_library("libmeshmem")
    version = library.name.partition(".so.")[2] + "."
    folders = library.parent.glob("meshmem/*")
    return next((folder / name for folder in folders if version.startswith(f"{folder.name}.")),
                library.parent / name)


def include_folder(library: pathlib.Path) -> pathlib.Path:
    """The folder of shmem.h: of the package, of an installation, or of the checkout."""
    candidates = [PACKAGE.parent / "include", *(parent / "include" for parent in library.parents)]
    for folder in candidates:
        if (folder / "shmemx.h").exists():
            return folder
    raise SystemExit(f"meshmem.torch: shmemx.h is neither in {candidates[0]} nor beside {library}")


def write_units(build: pathlib.Path) -> list[str]:
    """One source for each part of the module, of its files: PyTorch's headers take longer to read
    than all the rest."""
    parts: dict[str, list[str]] = {}
    for path in sources():
        if path.suffix == ".cpp":
            part = "symm_mem" if path.name.startswith("symm_mem") else "process_group"
            parts.setdefault(part, []).append(f'#include "{path}"\n')
    units = []
    for part, lines in parts.items():
        unit = build / f"{part}.cpp"
        text = "".join(lines)
        if not unit.exists() or unit.read_text(encoding="utf-8") != text:
            unit.write_text(text, encoding="utf-8")
        units.append(str(unit))
    return units


def cuda_folders() -> list[str]:
    """Where the headers of CUDA are that torch's headers for CUDA include."""
    import torch
    from torch.utils import cpp_extension
    packages = pathlib.Path(torch.__file__).parents[1] / "nvidia"
    found = [path.parent for path in packages.glob("cu*/include/cuda_runtime_api.h")]
    if cpp_extension.CUDA_HOME:
        found.append(pathlib.Path(cpp_extension.CUDA_HOME) / "include")
    return [str(folder) for folder in found if torch.version.cuda]


def compile_into(folder: pathlib.Path) -> pathlib.Path:
    """Compiles the sources in a folder beside the result. PyTorch's C++ library comes before that
    of the compiler, which may be a static one: with two of them a number written into a text ends
    the program. --no-as-needed keeps libtorch, which nothing refers to, but which loads the library
    for CUDA."""
    from torch.utils import cpp_extension
    library = loaded_library("libmeshmem")
    build = folder / f"build-{sys.implementation.cache_tag}"
    build.mkdir(parents=True, exist_ok=True)
    cpp_extension.load(
        NAME, write_units(build),
        extra_include_paths=[str(include_folder(library)), str(sources()[0].parent),
                             *cuda_folders()],
        extra_cflags=["-O2", "-std=c++20", "-Wall"],
        extra_ldflags=[str(library), f"-Wl,-rpath,{library.parent}",
                       str(loaded_library("libstdc++")), "-Wl,--no-as-needed"],
        build_directory=str(build), is_python_module=False, with_cuda=False)
    target = folder / file_name()
    shutil.copy(build / f"{NAME}.so", target.with_suffix(".new"))
    os.replace(target.with_suffix(".new"), target)
    return target


def main() -> None:
    import torch
    failures: list[str] = []
    for folder in folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            failures.append(str(error))
            continue
        if os.access(folder, os.W_OK):
            print(f"meshmem.torch: compiling for torch {torch.__version__}, which takes minutes",
                  flush=True)
            print(f"meshmem.torch: made {compile_into(folder)}")
            return
        failures.append(f"{folder} is not writable")
    sys.exit("meshmem.torch: " + "; ".join(failures))

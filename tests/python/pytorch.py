#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the package's part for PyTorch over the library of a build folder. Compiles it, and runs
its tests at 1 to 4 ranks and over two fake nodes, and mypy.

pytorch.py PROJECT_FOLDER BUILD_FOLDER CXX

MESHMEM_TORCH_PYTHON names a Python that has PyTorch; without it those of the tests and of the
system are tried. Ends with 77 and a reason if none has it. The compiled part stays in the build
folder, since it takes a minute to make, and is made again only if a source has changed.
"""
import os
import shutil
import subprocess
import sys

import core
import make_site

NEEDED = "numpy, pytest, hypothesis, nanobind, scikit_build_core, ninja, mypy"


def find_python():
    """A Python with PyTorch. Skips the test if there is none, or it lacks what the test needs."""
    reasons = []
    for python in (os.environ.get("MESHMEM_TORCH_PYTHON"), core.PYTHON, sys.executable):
        if not python or not os.path.exists(python):
            continue
        for modules in ("torch", NEEDED):
            ended = subprocess.run([python, "-c", f"import {modules}"], capture_output=True,
                                   text=True)
            if ended.returncode:
                reasons.append(f"{python}: {(ended.stderr.splitlines() or ['?'])[-1]}")
                break
        else:
            return python
    make_site.skip("no Python with PyTorch (MESHMEM_TORCH_PYTHON): " + "; ".join(reasons))


def keep_times(copies, originals):
    """Ninja compiles again what is newer than its result, and pip gives each file a new time."""
    for copy in copies.rglob("*.*"):
        shutil.copystat(originals / copy.relative_to(copies), copy)


def compile_part():
    keep_times(core.PACKAGE / "meshmem/torch/src", core.PROJECT / "python/torch/src")
    keep_times(core.PACKAGE / "meshmem/include", core.PROJECT / "include")
    kept = core.FOLDER / "torch_compiled"
    kept.mkdir(exist_ok=True)
    (core.PACKAGE / "meshmem/torch/compiled").symlink_to(kept)
    core.run("python3 -m meshmem.torch", [core.PYTHON, "-m", "meshmem.torch"])


def main():
    core.PYTHON = find_python()
    core.FOLDER = core.BUILD / "pytorch"
    core.FOLDER.mkdir(exist_ok=True)
    core.PACKAGE = core.FOLDER / "package"
    core.ENVIRONMENT.update(
        PYTHONPATH=str(core.PACKAGE), OMP_NUM_THREADS="1",
        PATH=f"{os.path.dirname(core.PYTHON)}:{core.BUILD}/bin:{os.environ['PATH']}")
    core.install_package()
    compile_part()
    checked = [core.PACKAGE / "meshmem/torch", core.PACKAGE / "meshmem_torch_entry.py"]
    core.run("mypy --strict", [core.PYTHON, "-m", "mypy", "--strict", "--follow-imports=silent",
                               "--cache-dir", core.FOLDER / "mypy", *checked])
    core.run_pytest("jobs", "torch/jobs")
    for ranks in (1, 2, 3, 4):
        core.run_pytest(f"{ranks} ranks", "torch/pes", (core.OSHRUN, "-n", ranks), may_skip=True)
    core.check_page(core.PROJECT / "docs/pytorch.md", least=1)
    core.run_pytest("2 fake nodes", "torch/pes", (core.OSHRUN, "--fake-nodes", 2, "-n", 3),
                    may_skip=True)


if __name__ == "__main__":
    main()

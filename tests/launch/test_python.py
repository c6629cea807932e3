#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python over the library: shmem4py, built without a flag in a folder of the build, passes its own
tests, and the program of docs/porting.md prints what the page says. Skipped where the packages
cannot be had."""
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import unittest

import launching

FOLDER = pathlib.Path(os.environ["PYTHON_FOLDER"])
OSHCC = os.environ["OSHCC"]
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "porting.md"
PYTHON = sys.executable
PACKAGES = FOLDER / "packages"
SHMEM4PY = "shmem4py==1.0.0"  # which wants a NumPy before 2
ENVIRONMENT = {"PYTHONPATH": str(PACKAGES), "PYTHONDONTWRITEBYTECODE": "1"}


def pip(*words, **variables):
    subprocess.run([PYTHON, "-m", "pip", "--disable-pip-version-check", "--no-input", "--timeout",
                    "10", "--retries", "1", *map(str, words)], check=True, timeout=200,
                   capture_output=True, text=True, env={**os.environ, **ENVIRONMENT, **variables})


def install():
    """Whether the packages are there; made once for a build folder, and again when the library's
    headers have changed."""
    stamp = FOLDER / "is_there"
    newest = max(os.path.getmtime(path)
                 for path in glob.glob(os.environ["INCLUDE"] + "/**/*.h", recursive=True))
    if stamp.exists() and stamp.stat().st_mtime > newest:
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    into = ("install", "--no-compile", "--target", PACKAGES)
    pip(*into, "--only-binary", ":all:", "numpy<2", "cffi", "setuptools")
    pip("download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "-d", FOLDER,
        SHMEM4PY)
    archive = next(FOLDER.glob("shmem4py-*.tar.gz"))
    with tarfile.open(archive) as file:
        file.extractall(FOLDER)
    pip(*into, "--no-deps", "--no-build-isolation", archive, OSHCC=OSHCC, CFLAGS="-O0")
    stamp.touch()


class Python(launching.LaunchTest):
    @classmethod
    def setUpClass(cls):
        try:
            install()
        except (subprocess.SubprocessError, OSError) as error:
            last = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1:]
            if "shmem.h" in str(getattr(error, "stderr", "")):
                raise
            raise unittest.SkipTest(f"shmem4py cannot be had: {''.join(last)}")

    def test_the_package_passes_its_own_tests(self):
        tests = next(path for path in FOLDER.glob("shmem4py-*/test") if path.is_dir())
        for pes in (2, 4):
            result = self.oshrun("-n", pes, PYTHON, "-m", "unittest", "discover", "-q", "-s",
                                 tests, env=ENVIRONMENT, seconds=200)
            self.assertEqual(result.status, 0, result)
            self.assertEqual(len(re.findall("^OK", result.err, re.MULTILINE)), pes, result)

    def test_the_program_of_the_page(self):
        program, shown = re.search(r"```python\n(.*?)```\n\n```\n\$ [^\n]*\n(.*?)```",
                                   PAGE.read_text(), re.DOTALL).groups()
        script = FOLDER / "page.py"
        script.write_text(program)
        result = self.oshrun("-n", 4, PYTHON, script, env=ENVIRONMENT, seconds=100)
        self.assertEqual((result.status, result.out), (0, shown), result)


if __name__ == "__main__":
    launching.main()

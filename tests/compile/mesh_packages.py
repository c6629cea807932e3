#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks how ./mesh handles missing packages. A PATH of stub commands imitates each machine.

mesh_packages.py MESH

A copy of the script runs without root in a scratch folder. The stubs write their arguments to a
log. Nothing is installed or built.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

MESH = pathlib.Path(sys.argv.pop(1))
NOBODY = 65534
REAL = ["bash", "cat", "dirname", "env", "readlink"]
# How ./mesh sees that packages are there.
HEADERS = {"libcli11-dev": "CLI/CLI.hpp", "libfmt-dev": "fmt/format.h", "libpng-dev": "png.h",
           "libucx-dev": "ucp/api/ucp.h", "valgrind": "valgrind/memcheck.h",
           "libboost-context-dev": "boost/context/detail/fcontext.hpp"}
PROGRAMS = {"ninja-build": "ninja", "openmpi-bin": "mpirun", "iproute2": "ip"}


class Machine:
    """An imitated machine, with its programs and packages (by their names in Debian)."""

    def __init__(self, folder, missing=(), programs=("apt-get", "sudo"), refused="", user=NOBODY):
        self.folder, self.bin = folder, folder / "bin"
        shutil.copy(MESH, folder / "mesh")
        self.bin.mkdir()
        for name in REAL:
            (self.bin / name).symlink_to(shutil.which(name))
        lacks = "|".join(f"*'<{HEADERS[name]}>'*" for name in missing if name in HEADERS) or "none"
        self.stub("g++", f"read -r line; case $line in {lacks}) exit 1 ;; esac")
        for name in ["ninja", "pkg-config", "ip", "mpirun", "python3"]:
            self.stub(name, "exit 0")
        self.stub("id", f"echo {user}")
        self.stub("cmake", f'echo "cmake $*" >>{folder}/log')
        if "libpmix-dev" in missing:
            self.stub("pkg-config", "exit 1")
        for name in programs:
            self.stub(name, f'echo "{name} $*" >>{folder}/log')
        if "apt-get" in programs:
            refuse = f'case "$*" in {refused}) exit 100 ;; esac' if refused else ""
            self.stub("apt-get", f'echo "apt-get $*" >>{folder}/log; {refuse}')
        if "sudo" in programs:
            self.stub("sudo", 'exec "$@"')
        for name in missing:
            (self.bin / PROGRAMS.get(name, "none")).unlink(missing_ok=True)
        self.stub_at(folder / "build/fast/bin/oshrun", f'echo "oshrun $*" >>{folder}/log')

    def stub(self, name, text):
        self.stub_at(self.bin / name, text)

    @staticmethod
    def stub_at(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!{shutil.which('bash')}\n{text}\n")
        path.chmod(0o755)

    def mesh(self, *arguments):
        """Exit status, what was printed, and what the stubs were called with."""
        user = {}
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", str(NOBODY), self.folder], check=True)
            user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        (self.folder / "log").unlink(missing_ok=True)
        ran = subprocess.run([self.folder / "mesh", *arguments], env={"PATH": str(self.bin)},
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, check=False, **user)
        log = self.folder / "log"
        return ran.returncode, ran.stdout, log.read_text() if log.exists() else ""


class Packages(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.scratch.chmod(0o755)
        (self.scratch / "machine").mkdir()
        self.prefix = self.scratch / "machine/prefix"

    def mesh(self, *arguments, **machine):
        return Machine(self.scratch / "machine", **machine).mesh(*map(str, arguments))

    def install(self, **machine):
        return self.mesh("install", self.prefix, **machine)

    def assert_goes_on(self, result, *lines):
        status, said, log = result
        self.assertEqual(status, 0, said)
        told = [line for line in said.splitlines() if not line.startswith(("mesh: building", "$ "))]
        self.assertEqual([line for line in told if line], list(lines))
        self.assertIn("cmake --build", log)

    def assert_ends(self, result, last_line):
        status, said, log = result
        self.assertEqual((status, said.splitlines()[-1]), (1, last_line))
        self.assertNotIn("cmake", log)

    def test_says_nothing_where_nothing_is_missing(self):
        self.assert_goes_on(self.install())

    def test_takes_ucx_where_it_is(self):
        result = self.install()
        self.assertIn("-DMESHMEM_UCX=AUTO", result[2])
        self.assertIn(f"cmake --install build/release --prefix {self.prefix}", result[2])

    def test_installs_what_is_needed_apart_from_the_rest(self):
        _, said, log = self.install(missing=["libfmt-dev", "libucx-dev", "valgrind"])
        self.assertIn("mesh: missing libfmt-dev: text of messages\n", said)
        calls = [line for line in log.splitlines() if line.startswith("apt-get")]
        self.assertEqual([call.partition("--no-install-recommends ")[2] for call in calls],
                         ["", "libfmt-dev", "libucx-dev valgrind"])

    def test_goes_on_without_the_rest_where_nobody_may_install(self):
        self.assert_goes_on(
            self.install(missing=["libucx-dev", "valgrind"], programs=["apt-get"]),
            "mesh: going on without RDMA networks between machines (libucx-dev), what valgrind is "
            "told of memory (valgrind); to have them, as root: apt-get install libucx-dev valgrind")

    def test_goes_on_without_the_rest_where_apt_fails(self):
        status, said, log = self.install(missing=["libucx-dev"], refused="*libucx-dev*|update*")
        self.assertEqual(status, 0, said)
        self.assertIn("apt-get update failed; going on with the lists there are\n", said)
        self.assertIn("mesh: going on without RDMA networks between machines (libucx-dev); ", said)
        self.assertIn("cmake --install", log)

    def test_goes_on_where_apt_has_only_what_is_needed(self):
        status, said, log = self.install(missing=["libfmt-dev", "libucx-dev"],
                                         refused="*libucx-dev*")
        self.assertEqual(status, 0, said)
        self.assertIn("mesh: going on without RDMA networks between machines (libucx-dev); ", said)
        self.assertIn("cmake --install", log)

    def test_ends_where_apt_has_not_what_is_needed(self):
        self.assert_ends(self.install(missing=["libfmt-dev", "libucx-dev"], refused="*libfmt-dev*"),
                         "mesh: apt-get could not install: libfmt-dev")

    def test_names_all_where_nobody_may_install_what_is_needed(self):
        self.assert_ends(
            self.install(missing=["libpmix-dev", "libucx-dev"], programs=["apt-get"]),
            "mesh: cannot install packages here; as root: apt-get install libpmix-dev libucx-dev")

    def test_root_needs_no_sudo(self):
        status, said, log = self.install(missing=["libfmt-dev"], programs=["apt-get"], user=0)
        self.assertEqual(status, 0, said)
        self.assertIn("--no-install-recommends libfmt-dev\n", log)

    def test_names_packages_of_fedora(self):
        missing = ["libpmix-dev", "libcli11-dev", "libboost-context-dev", "libucx-dev", "valgrind"]
        self.assert_ends(self.install(missing=missing, programs=["dnf", "sudo"]),
                         "mesh: cannot install packages here; as root (on RHEL with CRB and EPEL): "
                         "dnf install pmix-devel cli11-devel boost-devel ucx-devel valgrind-devel")

    def test_names_packages_of_arch(self):
        missing = ["libpmix-dev", "ninja-build", "libboost-context-dev", "libucx-dev"]
        self.assert_ends(self.install(missing=missing, programs=["pacman", "sudo"]),
                         "mesh: cannot install packages here; as root: pacman -S --needed ninja "
                         "openpmix boost openucx")

    def test_names_packages_of_debian_elsewhere(self):
        self.assert_ends(self.install(missing=["libfmt-dev"], programs=["sudo"]),
                         "mesh: cannot install packages here; install what these Debian packages "
                         "hold: libfmt-dev")

    def test_goes_on_without_the_rest_on_fedora(self):
        self.assert_goes_on(
            self.install(missing=["libucx-dev"], programs=["dnf"]),
            "mesh: going on without RDMA networks between machines (ucx-devel); to have them, as "
            "root (on RHEL with CRB and EPEL): dnf install ucx-devel")

    def test_demo_goes_on_without_pictures(self):
        result = self.mesh("demo", missing=["libpng-dev", "libucx-dev", "valgrind"], programs=[])
        self.assert_goes_on(
            result, "mesh: going on without pictures that examples draw (libpng-dev); to have them,"
            " install what these Debian packages hold: libpng-dev")
        self.assertIn("build/fast/bin/13_train_digits_gpu", result[2])

    def test_demo_over_machines_goes_on_without_simulated_ones(self):
        status, said, log = self.mesh("demo", "--hosts", "2", missing=["openmpi-bin", "iproute2"],
                                      programs=["dnf"])
        self.assertEqual(status, 0, said)
        self.assertIn("mesh: going on without a second launcher to test under, and one for several "
                      "machines (openmpi), networks of simulated machines (iproute); ", said)
        self.assertIn("oshrun --fake-nodes 2 -n 4 build/fast/bin/05_wordcount", log)

    def test_a_folder_of_root_needs_sudo(self):
        closed = self.scratch / "closed"
        closed.mkdir(mode=0o555)
        self.assert_ends(self.mesh("install", closed / "prefix", programs=["apt-get"]),
                         f"mesh: install: only root may write to {closed}/prefix, and there is no "
                         "sudo; ./mesh install PREFIX installs elsewhere")


if __name__ == "__main__":
    unittest.main()

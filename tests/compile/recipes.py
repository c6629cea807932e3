#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the recipes in cmake/recipes, for Spack, conda, Docker and Apptainer.

recipes.py SOURCE_FOLDER          their packages are those of ./mesh, their versions CMake's
recipes.py SOURCE_FOLDER RECIPE   runs the commands of Dockerfile or meshmem.def in a new Debian,
                                  then a program. Takes half an hour, so only if
                                  MESHMEM_TEST_LONG is set.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1])
RECIPES = SOURCE / "cmake/recipes"
# Of Debian's packages: the names in Spack and in conda-forge.
OTHER_NAMES = {
    "g++": ("cxx", "cxx"),
    "cmake": ("cmake", "cmake"),
    "ninja-build": ("ninja", "ninja"),
    "pkg-config": ("pkgconfig", "pkg-config"),
    "libpmix-dev": ("pmix", "libpmix-devel"),
    "libcli11-dev": ("cli11", "cli11"),
    "libfmt-dev": ("fmt", "fmt"),
    "libucx-dev": ("ucx", "ucx"),
    "libboost-context-dev": ("boost", "libboost-devel"),
    "python3": ("python", "python"),
}
ONLY_DEBIAN = {"valgrind"}  # only its header is used, and it is optional


def read(name):
    return (RECIPES / name).read_text()


def joined(text):
    """Without comments, and with continued lines as one."""
    return re.sub(r" *\\\n *", " ", re.sub(r"^ *#.*\n", "", text, flags=re.MULTILINE))


def installed_by_apt(name):
    return set(re.search(r"--no-install-recommends ([^&\n]+)", joined(read(name)))[1].split())


def commands_of_mesh():
    """Debian's package -> the commands of ./mesh that need it."""
    table = re.search(r"packages\(\) \{\n  cat <<'END'\n(.*?)\nEND", (SOURCE / "mesh").read_text(),
                      re.DOTALL)[1]
    rows = [[field.strip() for field in line.split("|")] for line in table.splitlines()]
    return {row[0]: row[3].split() for row in rows}


class Recipes(unittest.TestCase):
    def test_images_have_the_packages_of_mesh(self):
        table = commands_of_mesh()
        wanted = {name for name, commands in table.items()
                  if {"all", "install", "install?"} & set(commands)}
        for name in ("Dockerfile", "meshmem.def"):
            listed = installed_by_apt(name)
            self.assertEqual(listed, wanted | {"python3"}, name)
            self.assertLessEqual(listed, set(table), name)

    def test_spack_and_conda_have_the_same_packages(self):
        self.assertEqual(set(OTHER_NAMES) | ONLY_DEBIAN, installed_by_apt("Dockerfile"))
        spack = set(re.findall(r'depends_on\("([\w-]+)', read("package.py")))
        self.assertEqual(spack, {name for name, _ in OTHER_NAMES.values()} | {"c"})
        requirements = read("recipe.yaml").split("requirements:")[1].split("tests:")[0]
        conda = set(re.findall(r"^    - (?:\$\{\{ compiler\(')?([\w-]+)", requirements,
                               re.MULTILINE))
        self.assertEqual(conda, {name for _, name in OTHER_NAMES.values()} | {"c"})

    def test_versions_are_those_of_cmake(self):
        cmake = (SOURCE / "CMakeLists.txt").read_text()
        version = re.search(r"project\(meshmem VERSION ([\d.]+)", cmake)[1]
        newest = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)", cmake)[1]
        ucx = re.search(r"ucx>=([\d.]+)", (SOURCE / "cmake/network.cmake").read_text())[1]
        for line in (f'version("{version}")', f"meshmem@{version}\n", f'"cmake@{newest}:"',
                     f'"ucx@{ucx}:"'):
            self.assertIn(line, read("package.py"))
        for line in (f"  version: {version}\n", f"- cmake >={newest}\n", f"- ucx >={ucx}\n"):
            self.assertIn(line, read("recipe.yaml"))


def commands_of(name, root):
    """The commands of an image as a script; puts the sources where the recipe wants them."""
    text = joined(read(name))
    tar = ["tar", "-C", SOURCE, "--exclude=./build", "--exclude=./.git", "-cf"]
    if name == "Dockerfile":
        folder = root / re.search(r"^COPY \. /(\S+)$", text, re.MULTILINE)[1]
        folder.mkdir(parents=True)
        packed = subprocess.run([*tar, "-", "."], check=True, stdout=subprocess.PIPE)
        subprocess.run(["tar", "-C", folder, "-xf", "-"], check=True, input=packed.stdout)
        return "".join(f"{{ {command}\n}}\n"
                       for command in re.findall(r"^RUN (.+)", text, re.MULTILINE))
    inside = re.search(r"%files\n *meshmem\.tar /(\S+)\n", text)[1]
    subprocess.run([*tar, root / inside, "."], check=True)
    return text.split("%post\n")[1]


def run_recipe(name):
    if not os.environ.get("MESHMEM_TEST_LONG"):
        return "MESHMEM_TEST_LONG is not set"
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        return "no debootstrap, or not root"
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch) / "root"
        subprocess.run(["debootstrap", "--variant=minbase", "bookworm", root], check=True,
                       stdout=subprocess.DEVNULL)
        (root / "commands").write_text(commands_of(name, root))
        shutil.copy(SOURCE / "tests/compile/outside/outside.c", root / "outside.c")
        use = "oshcc /outside.c -o /outside && [ \"$(oshrun -n 2 /outside)\" = '2 PEs in C' ]"
        # The mounts are gone when the command has ended.
        mounts = f"mount -t proc proc '{root}/proc' && mount --rbind /dev '{root}/dev'"
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for script in ("sh -ex /commands", use):
            subprocess.run(["unshare", "-m", "bash", "-c",
                            f'{mounts} && exec chroot "$0" sh -c "$1"', root, script],
                           check=True, env=environment)
    print(f"the commands of {name} install meshmem, and a program runs")
    return None


if __name__ == "__main__":
    if len(sys.argv) > 2:
        reason = run_recipe(sys.argv[2])
        if reason:
            print(f"skipped: {reason}")
            sys.exit(77)
    else:
        unittest.main(argv=sys.argv[:1])

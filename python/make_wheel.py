#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a wheel in BUILD_FOLDER/wheel, for the Python that runs this: the package, the library and
the programs of BUILD_FOLDER, and all libraries that they need but C's and C++'s. It works on
machines whose glibc is as new as this one's.

make_wheel.py BUILD_FOLDER   prints the wheel's path

The wheel has no UCX, so jobs over several machines use TCP. It has PMIx's library without its
plugins, which compress large messages and ask Slurm for more machines.
"""
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT / "docs/site"))
import make_site  # noqa: E402


def make_environment(folder):
    """Makes an environment with all that builds and tests the package, for this Python."""
    with open(folder.with_suffix(".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other build folders share it
        if not (folder / "lib/python{}.{}".format(*sys.version_info)).is_dir():
            shutil.rmtree(folder, ignore_errors=True)
        make_site.make_environment(folder, PROJECT / "python/tests/requirements.txt")


def install_library(build, folder):
    """Puts what the wheel takes in into folder/lib and folder/bin."""
    for component in ("runtime", "tools"):
        subprocess.run(["cmake", "--install", build, "--prefix", folder, "--strip", "--component",
                        component], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(folder / "share")
    for link in folder.glob("lib/*.so.*"):  # a wheel has no links
        if link.is_symlink():
            link.resolve().replace(link)
    for plugin in folder.glob("lib/meshmem/*/libmeshmem_ucx.so"):
        plugin.unlink()


def hide_plugins(folder):
    """Lets PMIx's library in the wheel look for plugins and settings in folders that never exist.
    Those of another PMIx may lie in the folders that it was built for."""
    prefix = subprocess.check_output(["pkg-config", "--variable=prefix", "pmix"]).strip()
    library, = folder.glob("*/*.libs/libpmix-*")
    code, n = re.subn(rb"(?<=\0)%s(/lib\w*|/share)?(?=\0)" % re.escape(prefix),
                      lambda name: b"/proc".ljust(len(name[0]), b"\0"), library.read_bytes())
    if n != 3:
        sys.exit(f"make_wheel.py: PMIx's library does not name the folders of {prefix.decode()}")
    library.write_bytes(code)


def add_licences(library, folder):
    """Copies those of the libraries that the wheel takes from this machine, if it is a Debian."""
    folder.mkdir()
    for line in subprocess.check_output(["ldd", library], text=True).splitlines():
        if "=>" not in line or "libstdc++" in line:
            continue
        path = pathlib.Path(line.split()[2]).resolve()
        found = subprocess.run(["dpkg", "-S", path], stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.DEVNULL).stdout
        package = found.partition(":")[0]
        if package:
            shutil.copy(f"/usr/share/doc/{package}/copyright", folder / f"{package}.txt")


def run_module(programs, module, *arguments):
    ended = subprocess.run([programs / "python", "-m", module, *arguments], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True,
                           env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"})
    if ended.returncode:
        sys.exit(f"{ended.stdout}\nmake_wheel.py: {module} {arguments[0]} failed")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    environment = build.parent / "python_venv"
    make_environment(environment)
    parts = build / "python/wheel"
    shutil.rmtree(parts, ignore_errors=True)
    bundle = parts / "bundle"
    install_library(build, bundle)
    if shutil.which("dpkg"):
        add_licences(build / "lib/libmeshmem.so", bundle / "licences")

    def run(*arguments):
        run_module(environment / "bin", *arguments)
    run("pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--no-index",
        "--wheel-dir", parts / "plain", f"--config-settings=build-dir={build}/python/{{wheel_tag}}",
        f"--config-settings=cmake.define.MESHMEM_BUNDLE={bundle}", PROJECT / "python")
    run("auditwheel", "repair", "--wheel-dir", parts / "repaired", *parts.glob("plain/*.whl"))
    repaired, = parts.glob("repaired/*.whl")
    run("wheel", "unpack", "--dest", parts / "unpacked", repaired)
    hide_plugins(parts / "unpacked")
    (build / "wheel").mkdir(exist_ok=True)
    run("wheel", "pack", "--dest-dir", build / "wheel", *parts.glob("unpacked/*"))
    print(build / "wheel" / repaired.name)


if __name__ == "__main__":
    main()

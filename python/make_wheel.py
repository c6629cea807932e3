#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a wheel in BUILD_FOLDER/wheel, for the Python that runs this script. The wheel has the
package, the library and the programs of BUILD_FOLDER, and all libraries that they need except C's
and C++'s. It works on machines whose glibc and libstdc++ are at least as new as this machine's. The
script runs on Debian 12 only, since it relies on where Debian puts PMIx's files and licences.

make_wheel.py BUILD_FOLDER   prints the wheel's path

The wheel has no UCX, so jobs over several machines use TCP. It has PMIx's library without its
plugins, which compress large messages and ask Slurm for more machines. Only jobs of the wheel's
oshrun are tested: other launchers may send compressed messages, and PMIX_PREFIX may name plugins of
another PMIx.
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

LICENCES = {"libboost_context": "BSL-1.0", "libevent_": "BSD-3-Clause", "libfmt": "MIT",
            "libhwloc": "BSD-3-Clause", "libmunge": "LGPL-3.0-or-later", "libpmix": "BSD-3-Clause",
            "libudev": "LGPL-2.1-or-later"}


def make_environment(folder):
    """Makes an environment with all that builds and tests the package, for this Python."""
    with open(folder.with_suffix(".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other build folders share it
        if not (folder / "lib/python{}.{}".format(*sys.version_info)).is_dir():
            shutil.rmtree(folder, ignore_errors=True)
        make_site.make_environment(folder, PROJECT / "python/tests/requirements.txt")


def install_library(build, folder):
    """Installs the files for the wheel into folder/lib and folder/bin."""
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
    """Lets PMIx's and hwloc's libraries in the wheel look for plugins and settings in folders that
    never exist. The folders that they were built for may have plugins of other versions."""
    def variable(name, package):
        return subprocess.check_output(["pkg-config", f"--variable={name}", package]).strip()

    prefix, plugins = variable("prefix", "pmix"), variable("libdir", "hwloc") + b"/hwloc"
    for name, folders, expected in (("pmix", re.escape(prefix) + rb"(/lib\w*|/share)?", 3),
                                    ("hwloc", re.escape(plugins), 1)):
        library, = folder.glob(f"*/*.libs/lib{name}-*")
        code, n = re.subn(rb"(?<=\0)%s(?=\0)" % folders,
                          lambda found: b"/proc".ljust(len(found[0]), b"\0"), library.read_bytes())
        if n != expected:
            sys.exit(f"make_wheel.py: {library.name} does not name the folders of Debian 12's")
        library.write_bytes(code)


def add_licences(folder, environment):
    """Adds the licences of all code in the wheel to its metadata. Fails if one is not known."""
    info, = folder.glob("*/*.dist-info")
    texts = info / "licenses"
    texts.mkdir(exist_ok=True)
    shutil.copy(PROJECT / "LICENSE", texts)
    licences = {"BSD-3-Clause", "MIT"}  # of headers whose code is compiled into the package
    nanobind, = environment.glob("lib/python*/site-packages/nanobind-*.dist-info/**/LICENSE")
    shutil.copy(nanobind, texts / "nanobind.txt")
    robin_map, = environment.glob("lib/python*/site-packages/nanobind/**/tsl/robin_hash.h")
    head = robin_map.read_text(encoding="utf-8").partition("*/")[0]
    (texts / "robin-map.txt").write_text(head, encoding="utf-8")
    packages = {"libcli11-dev"}
    if os.path.exists("/usr/share/doc/valgrind"):  # if it is installed, its header is compiled in
        packages.add("valgrind")
    sources = ["Where the libraries' sources are. patchelf has changed names and search paths in",
               "the libraries, and make_wheel.py has changed folders in libpmix and libhwloc.", ""]
    for library in sorted(folder.glob("*/*.libs/*")):
        name, ending = re.fullmatch(r"(.+)-[0-9a-f]{8}(\..+)", library.name).groups()
        known = [LICENCES[stem] for stem in LICENCES if name.startswith(stem)]
        owner = subprocess.run(["dpkg", "-S", f"*/{name}{ending}"], stdout=subprocess.PIPE,
                               text=True).stdout.partition(":")[0]
        if not known or not owner:
            sys.exit(f"make_wheel.py: the licence or the Debian package of {library.name} is not "
                     "known")
        licences.add(known[0])
        packages.add(owner)
        version = subprocess.check_output(
            ["dpkg-query", "-W", "-f", "${source:Package}/${source:Version}", owner], text=True)
        sources.append(f"{library.name}: https://snapshot.debian.org/package/{version}/")
    (texts / "sources.txt").write_text("\n".join(sources) + "\n", encoding="utf-8")
    for package in packages:
        shutil.copy(f"/usr/share/doc/{package}/copyright", texts / f"{package}.txt")
    for name in ("GPL-2", "GPL-3", "LGPL-2.1", "LGPL-3"):  # Debian's copyrights only name them
        shutil.copy(f"/usr/share/common-licenses/{name}", texts)
    fields = [f"License-Expression: {' AND '.join(['Apache-2.0', *sorted(licences)])}",
              *(f"License-File: {path.name}" for path in sorted(texts.iterdir()))]
    metadata = (info / "METADATA").read_text(encoding="utf-8")
    metadata, n = re.subn("^License: Apache-2.0$", "\n".join(fields), metadata, 1, re.MULTILINE)
    if n != 1:
        sys.exit("make_wheel.py: the metadata has no licence")
    metadata = re.sub("^Metadata-Version: .*", "Metadata-Version: 2.4", metadata)
    (info / "METADATA").write_text(metadata, encoding="utf-8")


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

    def run(*arguments):
        run_module(environment / "bin", *arguments)
    run("pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--no-index",
        "--wheel-dir", parts / "plain", f"--config-settings=build-dir={build}/python/{{wheel_tag}}",
        f"--config-settings=cmake.define.MESHMEM_BUNDLE={bundle}", PROJECT / "python")
    run("auditwheel", "repair", "--wheel-dir", parts / "repaired", *parts.glob("plain/*.whl"))
    repaired, = parts.glob("repaired/*.whl")
    run("wheel", "unpack", "--dest", parts / "unpacked", repaired)
    hide_plugins(parts / "unpacked")
    add_licences(parts / "unpacked", environment)
    (build / "wheel").mkdir(exist_ok=True)
    run("wheel", "pack", "--dest-dir", build / "wheel", *parts.glob("unpacked/*"))
    print(build / "wheel" / repaired.name)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the Python package over the library of a build folder, and tests it. Runs pytest at 1 to 4
PEs and over two fake nodes, mypy over the package and the examples, and the commands of
docs/python.md.

core.py PROJECT_FOLDER BUILD_FOLDER CXX   the environment with NumPy is beside BUILD_FOLDER

Ends with 77 and a reason without Python's venv or headers, or if PyPI cannot be reached.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time

PROJECT, BUILD = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
CXX = sys.argv[3]
sys.path.insert(0, str(PROJECT / "python"))
import make_wheel  # noqa: E402
from make_wheel import make_site  # noqa: E402

VENV = BUILD.parent / "python_venv"
PYTHON = VENV.resolve() / "bin/python"
FOLDER = BUILD / "python"
PACKAGE = FOLDER / "package"
OSHRUN = BUILD / "bin/oshrun"
PAGE = PROJECT / "docs/python.md"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1",
               "MESHMEM_TIMEOUT": "60", "CXX": CXX,
               "PATH": f"{PYTHON.parent}:{BUILD}/bin:{os.environ['PATH']}"}


def run(what, words, **options):
    """Prints what a command prints, and ends the test if it fails. Returns its output."""
    begin = time.monotonic()
    ended = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, timeout=300, env=ENVIRONMENT,
                           **options)
    seconds = time.monotonic() - begin
    if ended.returncode:
        sys.exit(f"{ended.stdout}\ncore.py: {what} failed with status {ended.returncode}")
    last = (ended.stdout.strip().splitlines() or [""])[-1]
    print(f"core.py: {what}: {seconds:.1f} s: {last}", flush=True)
    return ended.stdout


def install():
    if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
        make_site.skip("Python's headers are missing (package python3-dev)")
    make_wheel.make_environment(VENV)
    install_package()


def install_package():
    shutil.rmtree(PACKAGE, ignore_errors=True)
    settings = {"build-dir": FOLDER / "build", "cmake.define.MESHMEM_BUILD_FOLDER": BUILD}
    run("pip install ./python",
        [PYTHON, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps",
         "--no-index", "--target", PACKAGE, PROJECT / "python",
         *(f"--config-settings={name}={value}" for name, value in settings.items())])


def run_pytest(what, folder, launcher=(), may_skip=False):
    said = run(what, [*launcher, PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                      "--capture=sys", PROJECT / "python/tests" / folder])
    if not re.search(r"^[1-9]\d* passed", said, re.MULTILINE) or "skipped" in said and not may_skip:
        sys.exit(f"{said}\ncore.py: {what} ran no test, or skipped some")


def commands_of(page):
    """(programs, command, its lines) of each block that begins with a command. Programs are the
    blocks of Python before it that have `# NAME.py` at their head."""
    programs = {}
    for language, text in re.findall(r"^```(\w*)\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        head = re.match(r"# (\w+\.py)\n", text)
        if language == "python" and head:
            programs[head[1]] = text
        elif text.startswith("$ "):
            command, _, shown = text[2:].partition("\n")
            yield programs, command, shown.splitlines()


def check_page(page=PAGE, least=3):
    """Runs the commands of a page, and compares what they print.

    Times and speeds differ from run to run, and so does the order of PEs' lines. The last digits
    of what was learnt differ between processors."""
    def plain(lines):
        changing = r"\d+\.\d+(?= s\b| images\b| %)|(?<=loss 0\.\d)\d+"
        return sorted(re.sub(changing, "N", line.replace(f"{FOLDER}/", ""))
                      for line in lines if not line.startswith("oshrun:"))

    n_run = 0
    for programs, command, shown in commands_of(page.read_text(encoding="utf-8")):
        words = shlex.split(command)
        if "pip" in words or "./mesh" in words or not shown:
            continue
        variables = dict(word.split("=") for word in words if re.match(r"[A-Z_]+=", word))
        words = words[len(variables):]
        for name, text in programs.items():
            (FOLDER / name).write_text(text, encoding="utf-8")
        ended = subprocess.run(words, cwd=PROJECT if "python/" in command else FOLDER,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               timeout=100, env={**ENVIRONMENT, **variables})
        is_failure = any("ends the job" in line for line in shown)
        if plain(ended.stdout.splitlines()) != plain(shown) or bool(ended.returncode) != is_failure:
            sys.exit(f"core.py: {page.name}: {command}\nended with {ended.returncode} and "
                     f"printed\n{ended.stdout}\nand not\n" + "\n".join(shown))
        n_run += 1
    if n_run < least:
        sys.exit(f"core.py: {page.name}: hardly a command was found")
    print(f"core.py: {page.name}: {n_run} commands print what the page shows")


def main():
    install()
    examples = (PROJECT / "python/examples").glob("*.py")
    checked = [PACKAGE / "meshmem", *sorted(path for path in examples if "ddp" not in path.name)]
    mypy = subprocess.Popen([PYTHON, "-m", "mypy", "--strict", "--cache-dir", FOLDER / "mypy",
                             "--config-file", PROJECT / "python/pyproject.toml",
                             "--exclude", "meshmem/torch/", *checked],  # pytorch.py checks those
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={**ENVIRONMENT, "MYPYPATH": str(PACKAGE), "PYTHONPATH": ""})
    try:
        run_pytest("jobs", "jobs")
        said = mypy.communicate(timeout=300)[0]
    finally:
        mypy.kill()
    if mypy.returncode:
        sys.exit(f"{said}\ncore.py: mypy failed")
    print(f"core.py: mypy --strict: {said.strip()}")
    for pes in (1, 2, 3, 4):
        run_pytest(f"{pes} PEs", "pes", (OSHRUN, "-n", pes))
    run_pytest("3 PEs, random arrays", "pes/random_arrays.py", (OSHRUN, "-n", 3))
    run_pytest("2 fake nodes", "pes", (OSHRUN, "--fake-nodes", 2, "-n", 3))
    check_page()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Runs an example for the checks beside this file: <check>.py LAUNCHER PROGRAM PES.

LAUNCHER is oshrun or mpirun. EXAMPLE_EMULATOR may name an emulator's command, which then runs the
launcher, and each PE again. A check is a script; it fails by check(), which shows what the program
printed. Where an example says that there is no GPU it ends with 77, which tests for GPUs take as
skipped.
"""

import os
import subprocess
import sys

LAUNCHER, PROGRAM = map(os.path.abspath, sys.argv[1:3])
PES = int(sys.argv[3])
EMULATOR = os.environ.get("EXAMPLE_EMULATOR", "").split()
SECONDS = int(os.environ.get("EXAMPLE_SECONDS", 120))  # the longest that a run may take
NAME = os.path.basename(PROGRAM)


def environment(extra):
    """The caller's, without the variables that change the example's output."""
    changing = ("MESHMEM_REDUCE_", "MESHMEM_DETERMINISTIC")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(changing)}
    return {**kept, **(extra or {})}


def check(condition, claim, shown=""):
    if not condition:
        sys.exit(f"{NAME} on {PES} PEs: not so: {claim}\n{shown}")


def command(arguments, pes, program=None, launcher=()):
    words = [LAUNCHER, "-n", str(pes or PES), *map(str, launcher)]
    if os.path.basename(LAUNCHER) == "mpirun":
        words[1:1] = ["--allow-run-as-root", "--oversubscribe"]
    return [*EMULATOR, *words, *EMULATOR, program or PROGRAM, *map(str, arguments)]


def run(*arguments, pes=None, env=None, folder=None, program=None, launcher=()):
    """Runs the example (or another one), which has to succeed, and returns the lines of its stdout.
    `launcher`: its options."""
    done = subprocess.run(command(arguments, pes, program, launcher), env=environment(env),
                          cwd=folder, timeout=SECONDS, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    if done.returncode == 1 and "no GPU memory for the PEs to share" in done.stderr:
        print(done.stderr)
        sys.exit(77)
    check(done.returncode == 0, f"{arguments} ends with status 0, not {done.returncode}",
          done.stdout + done.stderr)
    return done.stdout.splitlines()


def sibling(name):
    """Another example's program."""
    return os.path.join(os.path.dirname(PROGRAM), name)


def check_refuses(*arguments, says, status):
    """The example ends by itself, with one line of its own that contains `says`, and no output."""
    done = subprocess.run(command(arguments, None), env=environment(None), timeout=SECONDS,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    shown = f"{arguments}: status {done.returncode}\n{done.stdout}{done.stderr}"
    own = [line for line in done.stderr.splitlines() if line.startswith(NAME + ": ")]
    check(done.returncode == status, f"the status is {status}", shown)
    check(len(own) == 1 and says in own[0], f"one line says '{says}'", shown)
    check(done.stdout == "", "nothing is on stdout", shown)

# SPDX-License-Identifier: Apache-2.0
"""The launch tests share this: it runs a launcher and looks for what that left behind.

Invariant: every run has a folder and an identity of its own, so that tests may run at the same time
and a leftover is blamed on the right one. Imported by every test_*.py here; the programs under test
come from the environment, which ctest sets.
"""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

OSHRUN = os.environ["OSHRUN"]  # not one from PATH, which may be another project's
PMIX_CLIENT = os.environ["PMIX_CLIENT"]
SHMEM_PROGRAM = os.environ.get("SHMEM_PROGRAM", "")
MESHMEM_BENCH = os.environ.get("MESHMEM_BENCH", "")
INFO_PROGRAM = os.environ.get("INFO_PROGRAM", "")
IDENTITY = "MESHMEM_LAUNCH_TEST"
SKIPPED = 77
# Seconds for what takes one: a machine may stop all its processes for a while.
PATIENCE = 100


class Result:
    def __init__(self, status, out, err, seconds):
        self.status, self.out, self.err, self.seconds = status, out, err, seconds

    def __str__(self):
        return (f"status {self.status} after {self.seconds:.2f} s\nstdout: {self.out!r}\nstderr: "
                f"{self.err!r}")


def wait_until(condition, seconds=PATIENCE):
    """True as soon as the condition is; after `seconds`, what the condition is then."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def environment_of(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def pe_of(oshrun, number):
    """The process of a PE."""
    mark = f"PMIX_RANK={number}".encode()
    return next(pid for pid in children_of(oshrun) if mark in environment_of(pid))


def ticks_of(pid):
    """The processor time of a process, in hundredths of a second."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return sum(int(word) for word in file.read().rsplit(")", 1)[1].split()[11:13])


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "gone"


def copy_as_other_build(folder):
    """A copy of the library in the folder that is of other sources, as far as it can tell. Returns
    its build."""
    linked = subprocess.run(["ldd", SHMEM_PROGRAM], check=True, capture_output=True,
                            text=True).stdout
    path = next(line.split()[2] for line in linked.splitlines() if "libmeshmem.so.0.1 " in line)
    with open(path, "rb") as file:
        library = file.read()
    names = set(re.findall(rb"\b\d+\.\d+\.\d+-\w+-[0-9a-f]{12}\0", library))
    if len(names) != 1:
        raise AssertionError(f"{path} names its build {len(names)} times")
    name = names.pop()
    other = name[:-13] + b"0123456789ab\0"
    with open(os.path.join(folder, "libmeshmem.so.0.1"), "wb") as file:
        file.write(library.replace(name, other))
    for name in os.listdir(os.path.dirname(path)):
        # The libraries that it links, and the folder of those that it loads.
        if name == "meshmem" or name.startswith("libmeshmem_") and ".so" in name:
            os.symlink(os.path.join(os.path.dirname(path), name), os.path.join(folder, name))
    return other[:-1].decode()


def has_ended(pid):
    """Whether a process has closed its files, and with them its locks. Its environment is gone
    earlier: a process that ends gives up its memory first."""
    return state_of(pid) in ("Z", "X", "gone")


class LaunchTest(unittest.TestCase):
    """A test with a TMPDIR of its own, at whose end nothing may be left."""
    # Parts of the names of files in /dev/shm that a test could leave there. Only a test that runs
    # MPI's programs names MPI's: those of a test beside it stay for as long as that one runs.
    SHARED_MEMORY = ("meshmem", "oshrun", "pmix")

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="meshmem-launch-test-")
        self.tmpdir = os.path.join(self.folder, "tmp")
        os.mkdir(self.tmpdir)
        self.identity = uuid.uuid4().hex
        self.environment = dict(os.environ, TMPDIR=self.tmpdir)
        self.environment[IDENTITY] = self.identity
        self.shared_memory = set(os.listdir("/dev/shm"))

    def tearDown(self):
        left = self.processes()
        self.kill(left)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.assertEqual(left, [], "processes were left")

    def processes(self):
        """Living processes of this test, its launchers and their PEs."""
        mark = f"{IDENTITY}={self.identity}".encode()
        pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
        return [pid for pid in pids if mark in environment_of(pid) and not has_ended(pid)]

    def kill(self, pids):
        """By SIGKILL, those that have not ended meanwhile."""
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def start(self, *words, **options):
        """oshrun with these words, not waited for."""
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        environment = dict(self.environment, **options.pop("env", {}))
        words = [str(word) for word in words]
        return subprocess.Popen([OSHRUN, *words], env=environment, **options)

    def finish(self, process, seconds=PATIENCE, given=None):
        begin = time.monotonic()
        out, err = process.communicate(given, timeout=seconds)
        status = process.returncode
        return Result(status, (out or b"").decode(errors="replace"),
                      (err or b"").decode(errors="replace"),
                      time.monotonic() - begin)

    def oshrun(self, *words, seconds=PATIENCE, given=None, **options):
        if given is not None:
            options["stdin"] = subprocess.PIPE
        return self.finish(self.start(*words, **options), seconds, given)

    def assert_nothing_left(self):
        wait_until(lambda: not self.processes() and not os.listdir(self.tmpdir))
        self.assertEqual(self.processes(), [], "processes were left")
        self.assertEqual(os.listdir(self.tmpdir), [], "files were left in TMPDIR")
        # Tests beside this one have files there too, which go.
        new = {name for name in set(os.listdir("/dev/shm")) - self.shared_memory
               if any(word in name for word in self.SHARED_MEMORY)}
        wait_until(lambda: not new & set(os.listdir("/dev/shm")))
        self.assertEqual(new & set(os.listdir("/dev/shm")), set(), "shared memory was left")


def main():
    """Runs the tests of the calling file; one that is skipped as a whole is so for ctest too."""
    program = unittest.main(module="__main__", exit=False, verbosity=2)
    result = program.result
    for _, reason in result.skipped:
        print(f"SKIPPED: {reason}")
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.skipped and len(result.skipped) >= result.testsRun else 0)

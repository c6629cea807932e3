# SPDX-License-Identifier: Apache-2.0
"""The tests over several machines share this: jobs on simulated machines, and a look at what they
left there.

Invariant: a test begins and ends with all three machines up and nothing running on them. Imported
by every test_*.py here, which call main(). The programs under test come from the environment, which
ctest sets.
"""
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import machines
import slurm

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "launch"))
import launching  # noqa: E402  (its folder has to be on the path)
from launching import OSHRUN, SHMEM_PROGRAM, wait_until  # noqa: E402

NAMES = ["nodea", "nodeb", "nodec"]
LONG = bool(os.environ.get("MESHMEM_TEST_LONG"))
SETTINGS = {"MESHMEM_TIMEOUT": "60"}  # of all PEs
MESHMEM_UCX = os.environ.get("MESHMEM_UCX", "")  # the library of UCX's wire
needs_ucx = unittest.skipUnless(MESHMEM_UCX, "built without UCX")
simulated = None


def hosts_of(pes):
    """"nodea:2,nodeb:3" for [2, 3]."""
    return ",".join(f"{name}:{n}" for name, n in zip(NAMES, pes) if n)


class Mpirun:
    """How a launcher is called; `cyclic`: PEs are dealt to the machines in turn."""

    variables = {}

    @staticmethod
    def find():
        if not shutil.which("mpirun"):
            raise unittest.SkipTest("mpirun is not installed")

    @staticmethod
    def end():
        """Ends what find() has started."""

    @staticmethod
    def words(pes, settings, cyclic):
        words = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "--host", hosts_of(pes),
                 "-n", str(sum(pes))]
        words += ["--map-by", "node"] if cyclic else []
        return words + [word for item in settings.items() for word in ("-x", "=".join(item))]


class Prterun(Mpirun):
    programs = None

    @classmethod
    def find(cls):
        words = [sys.executable, os.path.join(HERE, "../launch/find_prrte.py"),
                 os.environ["PRRTE_FOLDER"]]
        found = subprocess.run(words, capture_output=True, text=True, check=False)
        if found.returncode == launching.SKIPPED:
            raise unittest.SkipTest(found.stdout.strip())
        found.check_returncode()
        cls.programs = found.stdout.strip()
        # Its programs are not where they were built to be.
        cls.variables = {"PRTE_MCA_prte_launch_agent": os.path.join(cls.programs, "prted")}

    @classmethod
    def words(cls, pes, settings, cyclic):
        return [os.path.join(cls.programs, "prterun"), *Mpirun.words(pes, settings, cyclic)[1:]]


class Prun(Prterun):
    """Jobs of one daemon (prte) on login, and of its daemons on the machines."""

    @classmethod
    def find(cls):
        super().find()
        if not os.access(os.path.join(cls.programs, "prun"), os.X_OK):
            raise unittest.SkipTest(f"{cls.programs} has prterun and prte but no prun")
        cls.folder = tempfile.mkdtemp(prefix="prte-")
        cls.uri = os.path.join(cls.folder, "uri")
        words = [os.path.join(cls.programs, "prte"), "--allow-run-as-root", "--report-uri", cls.uri,
                 "--host", ",".join(f"{machine.name}:8" for machine in simulated)]
        # Programs that look for a daemon of this user, as oshrun does, find it in TMPDIR.
        cls.variables = {**cls.variables, "TMPDIR": cls.folder}
        cls.daemon = subprocess.Popen(words,
                                      env={**os.environ, **simulated.variables(), **cls.variables},
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        if b"ready" not in cls.daemon.stdout.readline():
            cls.end()
            raise AssertionError("prte does not start")
        for machine in simulated:
            machine.daemons = set(machine.processes())

    @classmethod
    def end(cls):
        cls.daemon.terminate()
        try:
            cls.daemon.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            cls.daemon.kill()
            cls.daemon.communicate()
        for machine in simulated:
            machine.daemons = set()
        shutil.rmtree(cls.folder, ignore_errors=True)

    @classmethod
    def words(cls, pes, settings, cyclic):
        return [os.path.join(cls.programs, "prun"), "--dvm-uri", f"file:{cls.uri}",
                *Mpirun.words(pes, settings, cyclic)[1:]]


class Oshrun(Mpirun):
    @staticmethod
    def words(pes, settings, cyclic):
        words = [OSHRUN, "--allow-run-as-root", "--hosts", hosts_of(pes)]
        return words + [word for item in settings.items() for word in ("-x", "=".join(item))]


class OshrunPrterun(Oshrun):
    @classmethod
    def find(cls):
        Prterun.find.__func__(cls)
        cls.variables = {**cls.variables, "PATH": cls.programs + ":" + os.environ["PATH"]}


class Hydra(Mpirun):
    """MPICH's or Intel MPI's. It speaks PMI-1, and its status after a failure is not always the
    PE's."""

    variables = {"HYDRA_LAUNCHER_EXEC": machines.SSH, "I_MPI_HYDRA_BOOTSTRAP_EXEC": machines.SSH,
                 "I_MPI_HYDRA_IFACE": "bridge"}

    @staticmethod
    def find():
        if not shutil.which("mpiexec.hydra"):
            raise unittest.SkipTest("mpiexec.hydra (mpich, or Intel MPI) is not installed")

    @staticmethod
    def words(pes, settings, cyclic):
        words = ["mpiexec.hydra", "-hosts", hosts_of(pes), "-n", str(sum(pes))]
        return words + [word for item in settings.items() for word in ("-genv", *item)]


class Srun(Mpirun):
    """Slurm's. It decides what a failed PE's status becomes."""

    protocol = "pmix"

    @classmethod
    def find(cls):
        try:
            cls.cluster = slurm.Slurm(list(simulated), os.environ["SLURM_FOLDER"])
        except slurm.NoSlurm as error:
            raise unittest.SkipTest(
                f"no Slurm (slurm-client, slurmctld, slurmd): {error}") from error
        cls.variables = cls.cluster.variables()
        if cls.protocol not in cls.cluster.protocols():
            cls.end()
            raise unittest.SkipTest(f"this srun has no --mpi={cls.protocol}")

    @classmethod
    def end(cls):
        cls.cluster.end()

    @classmethod
    def words(cls, pes, settings, cyclic):
        hosts = [name for name, n in zip(NAMES, pes) for _ in range(n)]
        exports = ",".join(["ALL", *("=".join(item) for item in settings.items())])
        return ["srun", "-K", f"--mpi={cls.protocol}", "--distribution=arbitrary", "-w",
                ",".join(hosts),
                "-n", str(sum(pes)), f"--export={exports}"]


class SrunPmi2(Srun):
    protocol = "pmi2"


class JobTest(unittest.TestCase):
    launcher = Mpirun

    @classmethod
    def setUpClass(cls):
        cls.launcher.find()
        cls.addClassCleanup(cls.launcher.end)

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="meshmem-hosts-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(self.bring_machines_back)

    def bring_machines_back(self):
        for machine in simulated:
            if not os.path.exists(f"/proc/{machine.pid}"):
                machine.start()
            machine.ip("link set eth0 up")
            for pid in machine.processes():
                with contextlib.suppress(ProcessLookupError):  # it may be ending
                    os.kill(pid, 9)

    def start(self, pes, *words, settings=None, cyclic=False, seconds=100):
        """A job of pes[i] PEs on the i-th machine, not waited for."""
        settings = {**SETTINGS, **(settings or {})}
        return self.popen(["timeout", "-k", "2", str(seconds),
                           *self.launcher.words(pes, settings, cyclic), *words])

    def popen(self, words):
        environment = {**os.environ, **simulated.variables(), "TMPDIR": self.folder,
                       **self.launcher.variables}
        return subprocess.Popen([str(word) for word in words], env=environment, cwd=self.folder,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def finish(self, process, seconds=120):
        begin = time.monotonic()
        out, err = process.communicate(timeout=seconds)
        return launching.Result(process.returncode, out.decode(errors="replace"),
                                err.decode(errors="replace"),
                                time.monotonic() - begin)

    def run_job(self, pes, *words, **options):
        return self.finish(self.start(pes, *words, **options))

    def assert_right(self, result):
        self.assertEqual(result.status, 0, result)
        self.assert_nothing_left()

    def assert_nothing_left(self):
        """Neither processes nor shared memory, on any machine."""
        def left():
            found = {machine.name: [command_of(pid) for pid in machine.processes()]
                     for machine in simulated
                     if os.path.exists(f"/proc/{machine.pid}")}
            return {name: commands for name, commands in found.items() if commands}
        wait_until(lambda: not left(), 20)
        self.assertEqual(left(), {}, "processes were left")
        files = [name for machine in simulated if os.path.exists(f"/proc/{machine.pid}")
                 for name in machine.shared_memory()]
        self.assertEqual(files, [], "shared memory was left")

    def pes(self):
        """{PE: pid} of the job whose program is SHMEM_PROGRAM."""
        pids = [pid for machine in simulated for pid in machine.processes() if is_pe(pid)]
        numbers = {pid: rank_in(variables_of(pid)) for pid in pids}
        # none: it is just about to be a PE
        return {int(number): pid for pid, number in numbers.items() if number}

    def meshmem_lines(self, result):
        return [line for line in result.err.splitlines() if line.startswith("meshmem: ")]


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def variables_of(pid):
    entries = (entry.decode(errors="replace") for entry in launching.environment_of(pid))
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def rank_in(variables):
    return variables.get("PMIX_RANK", variables.get("PMI_RANK"))


def is_pe(pid):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", SHMEM_PROGRAM)
    except OSError:
        return False


def listening(pid):
    """(IP, port) of each socket by which PE `pid` takes connections."""
    if not is_pe(pid):
        return
    own = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as file:
        for words in map(str.split, file.readlines()[1:]):
            ip, port = words[1].split(":")
            if words[3] == "0A" and f"socket:[{words[9]}]" in own:
                yield socket.inet_ntoa(bytes.fromhex(ip)[::-1]), int(port, 16)


def main():
    """Runs the tests of the calling file on login, with three machines beside it."""
    global simulated
    machines.go_to_login()
    try:
        simulated = machines.Machines(NAMES)
    except machines.NoMachines as error:
        machines.skip(error)
    launching.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenSHMEM programs under each launcher: python3 test_launchers.py
Oshrun|Mpirun|Prterun|Prun|Pmi|Hydra|Alone.

Invariant: the same sentences are proved of every launcher; what a launcher is free to choose (which
nonzero status a dead PE gives) is asked of oshrun only.
"""
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

import launching
from launching import OSHRUN, SHMEM_PROGRAM

HERE = os.path.dirname(os.path.abspath(__file__))
# Their pools of launching threads hang now and then.
CALM = {"OMPI_MCA_odls_base_num_threads": "0", "PRTE_MCA_odls_base_num_threads": "0"}


def programs_of_prrte():
    """The folder of prterun and its kin, or a reason to skip."""
    words = [sys.executable, os.path.join(HERE, "find_prrte.py"), os.environ["PRRTE_FOLDER"]]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    if found.returncode == launching.SKIPPED:
        raise unittest.SkipTest(found.stdout.strip())
    found.check_returncode()
    return found.stdout.strip()


class UnderALauncher:
    """These tests hold under every launcher; mixed into a test case that gives launch_words()."""

    # Whether a PE's status is the job's in every case, not only nonzero.
    exact_status = True
    most_pes = 8

    def setUp(self):
        super().setUp()
        self.environment.update(CALM)

    def launch(self, pes, *words, **options):
        words = ["timeout", "-k", "2", "60", *self.launch_words(pes), SHMEM_PROGRAM,
                 *map(str, words)]
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen(words, env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **options)

    def run_job(self, pes, *words):
        return self.finish(self.launch(pes, *words), 90)

    def assert_rings(self, result, pes, rounds=1):
        self.assertEqual(result.status, 0, result)
        self.assertEqual(sorted(result.out.split("\n"))[1:],
                         sorted(f"PE {pe} of {pes}" for pe in range(pes) for _ in range(rounds)),
                         result)
        self.assert_no_processes()

    def assert_no_processes(self):
        launching.wait_until(lambda: not self.job_processes())
        self.assertEqual(self.job_processes(), [])

    def job_processes(self):
        return self.processes()

    def test_pes_find_each_other(self):
        for pes in (1, 2, 3, 5, self.most_pes):
            self.assert_rings(self.run_job(pes, "ring"), pes)

    def test_init_and_finalize_again(self):
        self.assert_rings(self.run_job(4, "rounds", 3), 4, rounds=3)

    def test_a_finalize_in_a_destructor_is_in_time(self):
        self.assert_rings(self.run_job(3, "finalize_last"), 3)

    def test_global_exit_ends_the_job_with_its_code(self):
        for code in (3, 0, 255):
            result = self.run_job(4, "global_exit", 2, code)
            self.assertEqual(result.status, code, result)
            self.assert_no_processes()

    def test_a_nonzero_exit_ends_the_job(self):
        result = self.run_job(4, "exit", 1, 5)
        if self.exact_status:
            self.assertEqual(result.status, 5, result)
        self.assertNotIn(result.status, (0, 124), result)
        self.assert_no_processes()

    def test_a_pe_that_dies_ends_the_job(self):
        for number in (signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT):
            result = self.run_job(4, "die", 3, int(number))
            if self.exact_status:
                self.assertEqual(result.status, 128 + number, result)
            self.assertNotIn(result.status, (0, 124), result)
            self.assert_no_processes()

    def ready_job(self, pes):
        process = self.launch(pes, "hang")
        for _ in range(pes):
            self.assertEqual(process.stdout.readline(), b"ready\n")
        # So the marks by which leftovers are found reach the PEs under this launcher.
        programs = [pid for pid in self.job_processes() if os.path.samefile(f"/proc/{pid}/exe",
                                                                            SHMEM_PROGRAM)]
        self.assertEqual(len(programs), pes)
        return process

    def launcher_pid(self, timeout_process):
        return launching.children_of(timeout_process.pid)[0]

    def test_an_interrupt_ends_the_job(self):
        process = self.ready_job(3)
        os.kill(self.launcher_pid(process), signal.SIGINT)
        self.assertNotIn(self.finish(process).status, (0, 124))
        self.assert_no_processes()

    def test_kill_9_leaves_no_pes(self):
        process = self.ready_job(3)
        os.kill(self.launcher_pid(process), signal.SIGKILL)
        self.finish(process)
        self.assert_no_processes()


class Oshrun(UnderALauncher, launching.LaunchTest):
    most_pes = 64

    def launch_words(self, pes):
        return [OSHRUN, "-n", str(pes)]

    def tearDown(self):
        self.assert_nothing_left()
        super().tearDown()

    def test_the_pe_that_ended_the_job_is_named(self):
        for words, text in ((("global_exit", 2, 3), "called shmem_global_exit(3)"),
                            (("exit", 2, 4), "exited with status 4"),
                            (("mistake", 2), "ended the job with status 1; ending the other 3 PEs"),
                            (("die", 2, 11), "was killed by signal 11 (Segmentation fault)")):
            result = self.run_job(4, *words)
            self.assertRegex(result.err, r"oshrun: PE 2 \(pid \d+\) " +
                             text.replace("(", r"\(").replace(")", r"\)"))
            self.assertEqual(
                len([line for line in result.err.splitlines() if line.startswith("oshrun")]), 1)

    def test_an_end_takes_less_than_a_second(self):
        process = self.ready_job(4)
        begin = time.monotonic()
        pe = next(pid
                  for pid in self.processes() if b"PMIX_RANK=1" in launching.environment_of(pid))
        os.kill(pe, signal.SIGKILL)
        self.assertEqual(self.finish(process).status, 137)
        # A busy machine is not the launcher's fault; what hangs takes much longer than this.
        self.assertLess(time.monotonic() - begin, 30)


@unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
class Mpirun(UnderALauncher, launching.LaunchTest):
    def launch_words(self, pes):
        return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(pes)]


class Prterun(UnderALauncher, launching.LaunchTest):
    @classmethod
    def setUpClass(cls):
        cls.programs = programs_of_prrte()

    def launch_words(self, pes):
        return [os.path.join(self.programs, "prterun"), "--allow-run-as-root", "--map-by",
                ":OVERSUBSCRIBE", "-n", str(pes)]


class Prun(UnderALauncher, launching.LaunchTest):
    """Jobs of one daemon (prte) that stays."""

    exact_status = False

    @classmethod
    def setUpClass(cls):
        cls.programs = programs_of_prrte()
        if not os.access(os.path.join(cls.programs, "prun"), os.X_OK):
            raise unittest.SkipTest(f"{cls.programs} has prterun and prte but no prun")

    def setUp(self):
        super().setUp()
        self.uri = os.path.join(self.folder, "uri")
        words = [os.path.join(self.programs, "prte"), "--allow-run-as-root", "--report-uri",
                 self.uri]
        # Not marked as this test's: it is to outlive the jobs.
        environment = {name: value
                       for name, value in self.environment.items() if name != launching.IDENTITY}
        self.daemon = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end_daemon)
        self.assertTrue(launching.wait_until(
            lambda: os.path.exists(self.uri) and os.path.getsize(self.uri) > 0, 30),
                        "prte does not start")

    def end_daemon(self):
        self.daemon.terminate()
        try:
            self.daemon.wait(10)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()

    def launch_words(self, pes):
        return [os.path.join(self.programs, "prun"), "--allow-run-as-root", "--dvm-uri",
                f"file:{self.uri}", "-x", launching.IDENTITY, "--map-by", ":OVERSUBSCRIBE", "-n",
                str(pes)]

    def test_oshrun_hands_jobs_to_the_daemon(self):
        words = [OSHRUN, "--allow-run-as-root", "--hosts", "localhost:2", SHMEM_PROGRAM, "ring"]
        path = f"{self.programs}:{self.environment['PATH']}"
        process = subprocess.Popen(words, env={**self.environment, "PATH": path},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        result = self.finish(process, 90)
        self.assertTrue(result.err.startswith(
            "oshrun: several machines: prun --allow-run-as-root --dvm-uri"), result)
        self.assertEqual(sorted(result.out.splitlines()), ["PE 0 of 2", "PE 1 of 2"], result)

    # An interrupted prun leaves its job running, whatever the program: the daemon is what ends it.
    def test_an_interrupt_ends_the_job(self):
        process = self.ready_job(3)
        self.daemon.terminate()
        self.finish(process)
        self.assert_no_processes()

    def test_kill_9_leaves_no_pes(self):
        process = self.ready_job(3)
        self.daemon.kill()
        self.daemon.wait()
        self.finish(process)
        self.assert_no_processes()


class Pmi(UnderALauncher, launching.LaunchTest):
    """A launcher of this folder's own, without PMIx."""

    def launch_words(self, pes):
        return [sys.executable, os.path.join(HERE, "pmi_launcher.py"), "-n", str(pes)]


class Hydra(UnderALauncher, launching.LaunchTest):
    """MPICH's or Intel MPI's launcher, without PMIx."""

    exact_status = False

    @classmethod
    def setUpClass(cls):
        if not shutil.which("mpiexec.hydra"):
            raise unittest.SkipTest("mpiexec.hydra (mpich, or Intel MPI) is not installed")

    def launch_words(self, pes):
        return ["mpiexec.hydra", "-n", str(pes)]

    def test_an_interrupt_ends_the_job(self):
        """Hydra 4.0 ends with status 0 now and then when it is interrupted, and sometimes wants a
        second one, whatever the program is. So only what remains of the job says whether it has
        ended."""
        process = self.ready_job(3)
        launcher = self.launcher_pid(process)
        os.kill(launcher, signal.SIGINT)
        if not launching.wait_until(lambda: process.poll() is not None):
            os.kill(launcher, signal.SIGINT)
        self.assertNotEqual(self.finish(process).status, 124)
        self.assert_no_processes()


class Alone(launching.LaunchTest):
    """Without a launcher, and with half of one."""

    def run_alone(self, **variables):
        clean = {name: value for name, value in self.environment.items()
                 if not name.startswith(("PMI", "OMPI_", "SLURM_", "PRTE_"))}
        process = subprocess.Popen([SHMEM_PROGRAM, "ring"], env={**clean, **variables},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        return self.finish(process)

    def test_a_program_by_itself_is_one_pe(self):
        result = self.run_alone()
        self.assertEqual((result.status, result.out, result.err), (0, "PE 0 of 1\n", ""), result)

    def test_variables_of_one_process_are_no_error(self):
        self.assertEqual(self.run_alone(SLURM_PROCID="0", SLURM_NTASKS="1").out, "PE 0 of 1\n")
        self.assertEqual(self.run_alone(PMI_RANK="0", PMI_SIZE="1").out, "PE 0 of 1\n")

    def test_variables_without_a_pmix_server_are_an_error(self):
        for variables in ({"PMI_RANK": "0", "PMI_SIZE": "4"},
                          {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "4"},
                          {"OMPI_COMM_WORLD_SIZE": "4"},
                          {"SLURM_PROCID": "0", "SLURM_NTASKS": "4"},
                          {"PMI_RANK": "2"}):
            result = self.run_alone(**variables)
            self.assertNotEqual(result.status, 0, result)
            self.assertEqual(result.out, "", result)
            lines = result.err.splitlines()
            self.assertEqual(len(lines), 1, result)
            self.assertTrue(lines[0].startswith("meshmem: "), result)
            self.assertTrue(any(name in lines[0] for name in variables), result)

    def test_a_pmix_server_that_is_gone_is_an_error(self):
        result = self.run_alone(PMIX_RANK="0", PMIX_NAMESPACE="gone@1",
                                PMIX_SERVER_URI41="pmix-server.1;tcp4://127.0.0.1:1",
                                PMIX_SERVER_URI4="pmix-server.1;tcp4://127.0.0.1:1")
        self.assertNotEqual(result.status, 0, result)
        self.assertEqual(result.out, "", result)
        self.assertIn("meshmem: ", result.err)


if __name__ == "__main__":
    launching.main()

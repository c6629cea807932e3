#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launchers that speak PMI-1, and what they may say: by pmi_launcher.py, which can say anything.

That jobs start and end under it as under other launchers is a part of test_launchers.py.
WITH_NODES: whether jobs over several machines run here.
"""
import os
import signal
import subprocess
import sys
import unittest

import launching
from launching import OSHRUN, SHMEM_PROGRAM

LAUNCHER = [sys.executable,
            os.path.join(os.path.dirname(os.path.abspath(__file__)), "pmi_launcher.py")]
WITH_NODES = os.environ.get("WITH_NODES") == "1"


class Pmi(launching.LaunchTest):
    def run_job(self, pes, *options, words=(SHMEM_PROGRAM, "ring"), **variables):
        command = ["timeout", "-k", "2", "60", *LAUNCHER, "-n", str(pes), *options,
                   *map(str, words)]
        process = subprocess.Popen(command, env={**self.environment, **variables},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        return self.finish(process, 90)

    def assert_ring(self, result, pes):
        self.assertEqual((result.status, result.err), (0, ""), result)
        self.assertEqual(sorted(result.out.splitlines()),
                         [f"PE {pe} of {pes}" for pe in range(pes)], result)
        self.assert_nothing_left()

    def assert_refused(self, result, text):
        """One line of each PE at most."""
        self.assertNotIn(result.status, (0, 124), result)
        self.assertEqual(result.out, "", result)
        lines = result.err.splitlines()
        self.assertTrue(lines, result)
        for line in lines:
            self.assertRegex(line, f"^meshmem: .*{text}", result)
        self.assert_nothing_left()

    def test_values_of_any_length_limit(self):
        for pes, most in ((3, 33), (2, 100), (2, 100000)):
            self.assert_ring(self.run_job(pes, "--values", str(most)), pes)

    def test_pes_find_out_who_shares_their_machine(self):
        self.assert_ring(self.run_job(3, "--no-mapping"), 3)

    @unittest.skipUnless(WITH_NODES, "built with a sanitizer")
    def test_several_machines(self):
        for pes, nodes in ((2, 2), (5, 3)):
            self.assert_ring(self.run_job(pes, "--nodes", str(nodes), "--values", "256"), pes)
        result = self.run_job(4, "--nodes", "2", words=(SHMEM_PROGRAM, "global_exit", 3, 9))
        self.assertEqual(result.status, 9, result)
        self.assert_nothing_left()

    def test_a_launcher_that_falls_silent_is_named(self):
        for command, text in (("init", "waited 1 s for the launcher's answer to PMI's init"),
                              ("get", "waited 1 s for the launcher's answer to PMI's get"),
                              ("barrier_in", "waited 1 s for all 2 PEs to call shmem_init")):
            result = self.run_job(2, "--answer", command, "", MESHMEM_START_TIMEOUT="1")
            self.assert_refused(result, text + "; the limit is MESHMEM_START_TIMEOUT")

    def test_refusals_and_nonsense_are_named(self):
        for command, answer, text in (("init", "cmd=response_to_init rc=-1 msg=no",
                                       "refuses PMI's init: rc=-1 no"), ("init", "hello",
                                                                         "does not speak PMI-1"),
                                      ("init", "x" * 70000, "does not speak PMI-1"),
                                      ("get_maxes", "cmd=maxes", "PMI is unusable"),
                                      ("get_maxes", "cmd=maxes vallen_max=8", "PMI is unusable"),
                                      ("get_my_kvsname", "cmd=my_kvsname kvsname=",
                                       "PMI is unusable"), ("put", "cmd=put_result rc=1",
                                                            "refuses PMI's put: rc=1"),
                                      ("barrier_in", "cmd=put_result", "does not speak PMI-1")):
            self.assert_refused(self.run_job(2, "--answer", command, answer), text)
        for value in ("9.secret", "secret", "1.se=cret"):
            result = self.run_job(2, "--answer", "get", f"cmd=get_result rc=0 value={value}")
            self.assert_refused(result, "the launcher has changed 'host' of PE 0")

    def test_variables_that_no_launcher_sets_are_refused(self):
        right = {"PMI_RANK": "0", "PMI_SIZE": "2", "PMI_FD": "0"}
        for wrong, text in (({"PMI_FD": "77"}, "PMI_FD=77 names no connection"),
                            ({"PMI_FD": "x"}, "PMI_FD=x names no"),
                            ({}, "PMI_FD=0 names no connection"),
                            ({"PMI_RANK": "2"}, "PMI_RANK=2 is not what"),
                            ({"PMI_SIZE": "many"}, "PMI_SIZE=many is not what"),
                            ({"PMI_SIZE": "0"}, "PMI_SIZE=0 is not what")):
            self.assert_refused(self.run_alone({**right, **wrong}), text)
        # mpiexec.hydra -pmi-port: anybody could connect to that port.
        self.assert_refused(self.run_alone({"PMI_PORT": "vm:1234", "PMI_ID": "0"}),
                            "PMI_PORT=vm:1234 says")

    def run_alone(self, variables):
        process = subprocess.Popen([SHMEM_PROGRAM, "ring"], env={**self.environment, **variables},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        return self.finish(process)

    def test_the_program_may_be_started_by_a_shell(self):
        self.assert_ring(self.run_job(2, words=("sh", "-c", f"{SHMEM_PROGRAM} ring; true")), 2)

    def test_an_mpi_library_of_the_program_may_say_goodbye_first(self):
        self.assert_ring(self.run_job(1, words=(SHMEM_PROGRAM, "outlives_mpi")), 1)

    def test_pmix_comes_first(self):
        command = [*LAUNCHER, "-n", "1", OSHRUN, "-n", "3", SHMEM_PROGRAM, "ring"]
        process = subprocess.Popen(command, env={**self.environment, "SHMEM_DEBUG": "1"},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        result = self.finish(process)
        self.assertEqual(sorted(result.out.splitlines()), [f"PE {pe} of 3" for pe in range(3)],
                         result)
        self.assertIn("the launcher speaks PMIx", result.err)
        self.assertNotIn("PMI-1", result.err)
        self.assertIn("the launcher speaks PMI-1", self.run_job(2, SHMEM_DEBUG="1").err)

    def test_a_launcher_that_is_killed_in_start_up_ends_the_pes(self):
        command = [*LAUNCHER, "-n", "2", "--answer", "barrier_in", "", SHMEM_PROGRAM, "ring"]
        process = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertTrue(launching.wait_until(lambda: len(self.processes()) == 3, 20))
        os.kill(process.pid, signal.SIGKILL)
        self.finish(process)
        self.assert_nothing_left()


if __name__ == "__main__":
    launching.main()

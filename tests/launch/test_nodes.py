#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How jobs start and end on several pretended machines, which have their own memory and are reached
by the network."""
import os
import re
import signal
import unittest

import launching
from launching import SHMEM_PROGRAM

WITH_UCX = os.environ.get("WITH_UCX") == "1"
KERNELS = os.environ.get("STATUS_KERNELS", "")
PMIX_REFUSES = os.environ["PMIX_REFUSES"]


class Nodes(launching.LaunchTest):
    def run_job(self, pes, nodes, *words, **options):
        return self.oshrun("-n", pes, "--fake-nodes", nodes, *words, seconds=60, **options)

    def assert_pes(self, result, pes, rounds=1):
        self.assertEqual((result.status, result.err), (0, ""), result)
        self.assertEqual(sorted(result.out.splitlines()),
                         sorted([f"PE {pe} of {pes}" for pe in range(pes)] * rounds))
        self.assert_nothing_left()

    def where(self, condition, assignment):
        """The program, with a variable that only some PEs have."""
        return ["sh", "-c",
                f'if [ "$PMIX_RANK" {condition} ]; then export {assignment}; fi; exec "$0" "$@"',
                SHMEM_PROGRAM, "ring"]

    def assert_refused(self, result, pe, other, variable):
        lines = [line for line in result.err.splitlines() if line.startswith("meshmem: ")]
        self.assertEqual(len(lines), 1, result)
        self.assertRegex(lines[0], rf"^meshmem: PE {pe} .*{variable}.* in {other}; give all PEs "
                         r"the same$", result)
        self.assertEqual(result.status, 1, result)
        self.assert_nothing_left()

    def test_pes_find_each_other(self):
        for pes, nodes in ((2, 2), (4, 2), (5, 3), (6, 6)):
            self.assert_pes(self.run_job(pes, nodes, SHMEM_PROGRAM, "ring"), pes)
        if WITH_UCX:
            self.assert_pes(self.run_job(5, 3, SHMEM_PROGRAM, "ring",
                                         env={"MESHMEM_NETWORK": "ucx"}), 5)

    def test_16_pes_start_on_each_of_4(self):
        self.assert_pes(self.run_job(64, 4, SHMEM_PROGRAM, "ring"), 64)

    def test_init_and_finalize_again(self):
        self.assert_pes(self.run_job(5, 2, SHMEM_PROGRAM, "rounds", 4), 5, 4)

    def test_a_finalize_in_a_destructor_is_in_time(self):
        self.assert_pes(self.run_job(4, 2, SHMEM_PROGRAM, "finalize_last",
                                     env={"MESHMEM_TIMEOUT": "20"}), 4)

    def test_settings_that_differ_are_refused(self):
        host = r"PE 0 on host \S+"
        for assignment in ("SHMEM_SYMMETRIC_SIZE=32M", "MESHMEM_DETERMINISTIC=1"):
            variable = assignment.split("=", maxsplit=1)[0]
            result = self.run_job(4, 2, *self.where("-ge 2", assignment))
            self.assert_refused(result, 2, host, variable)
            result = self.run_job(4, 2, *self.where("-eq 3", assignment))
            self.assert_refused(result, 3, "PE 2", variable)

    def test_what_keeps_all_from_the_launcher_is_said_at_most_twice(self):
        result = self.run_job(8, 2, "env", f"LD_PRELOAD={PMIX_REFUSES}", SHMEM_PROGRAM, "ring")
        self.assertEqual(result.status, 1, result)
        said_by = re.findall(r"^meshmem: PE (\d) [^\n]* PMIx says HANDSHAKE-FAILED[^\n]*$",
                             result.err, re.M)
        self.assertIn(sorted(said_by), (["0"], ["4"], ["0", "4"]), result)
        self.assert_nothing_left()

    def test_a_pe_that_fails_ends_the_job_with_its_status(self):
        for how, number, status in (("exit", 7, 7), ("die", 9, 137), ("global_exit", 5, 5)):
            result = self.run_job(4, 2, SHMEM_PROGRAM, how, 3, number)
            self.assertEqual(result.status, status, result)
            self.assertRegex(result.err, r"^oshrun: PE 3 [^\n]*\n$", result)
            self.assert_nothing_left()

    def test_a_pe_that_does_not_come_is_named(self):
        result = self.run_job(4, 2, SHMEM_PROGRAM, "hang", 3, env={"MESHMEM_TIMEOUT": "1"})
        self.assertRegex(result.err, r"waited 1 s for PE \d in shmem_barrier_all", result)
        self.assertRegex(result.err,
                         re.compile(r"^  2 +1\.\d s   waits for PE 3 in shmem_barrier_all", re.M),
                         result)
        self.assertEqual(result.status, 1, result)

    def start_kernels(self, verb):
        """Four PEs on two nodes, whose kernels wait for PE 0; and its process."""
        process = self.start("-n", 4, "--fake-nodes", 2, KERNELS, verb)
        for _ in range(4):
            self.assertEqual(process.stdout.readline(), b"ready\n")
        pids = [pid for pid in self.processes() if b"PMIX_RANK=0" in launching.environment_of(pid)]
        self.assertEqual(len(pids), 1)
        return process, pids[0]

    @unittest.skipUnless(KERNELS, "no kernels whose end shows on this target")
    def test_kernels_end_with_the_job(self):
        for verb in ("variable", "far_variable", "barrier"):
            for stops_first in (True, False):  # then whoever asks PE 0 gets no answer
                with self.subTest(verb, stops_first=stops_first):
                    process, pid = self.start_kernels(verb)
                    if stops_first:
                        os.kill(pid, signal.SIGSTOP)
                    os.kill(pid, signal.SIGKILL)
                    result = self.finish(process, 60)
                    # On a machine that is slow to take a dead process away its peers may be the
                    # first to miss it.
                    self.assertIn(result.status, (137, 1), result)
                    self.assertRegex(result.err,
                                     "PE 0 [^\n]* killed by signal 9 " if result.status == 137 else
                                     "lost PE 0 ", result)
                    self.assert_nothing_left()

    @unittest.skipUnless(KERNELS, "no kernels whose end shows on this target")
    def test_kernels_that_ask_a_far_pe_end_when_they_have_what_they_want(self):
        process, pid = self.start_kernels("far_variable")
        os.kill(pid, signal.SIGUSR1)
        result = self.finish(process, 60)
        self.assertEqual((result.status, result.err), (0, ""), result)
        self.assert_nothing_left()

    @unittest.skipUnless(KERNELS, "no devices that can be counted on this target")
    def test_pes_of_one_machine_get_different_devices(self):
        result = self.run_job(4, 2, SHMEM_PROGRAM, "ring", env={"SHMEM_DEBUG": "1"})
        self.assertEqual(result.status, 0, result)
        devices = re.findall(r"PE (\d) [^\n]*: device (\d) ", result.err)
        self.assertEqual(sorted(devices), [("0", "0"), ("1", "1"), ("2", "2"), ("3", "3")], result)

    @unittest.skipIf(os.path.isdir("/sys/class/infiniband") or not WITH_UCX,
                     "built without UCX, or there is InfiniBand")
    def test_plugins_of_ucx_that_serve_nothing_are_not_loaded(self):
        """Each makes every start longer. UCX_MODULES has the last word."""
        for env, plugins in (({}, set()), ({"UCX_MODULES": "cma"}, {"cma"})):
            result = self.run_job(2, 2, SHMEM_PROGRAM, "libraries",
                                  env={"MESHMEM_NETWORK": "ucx", **env})
            self.assertEqual((result.status, result.err), (0, ""), result)
            self.assertEqual(set(re.findall(r"libuct_(\w+)\.so", result.out)), plugins, result)

    def test_a_network_that_is_not_there_is_refused(self):
        result = self.run_job(2, 2, SHMEM_PROGRAM, "ring", env={"MESHMEM_NETWORK_DEVICE": "none7"})
        self.assertIn("none7", result.err, result)
        self.assertEqual(result.status, 1, result)
        self.assert_nothing_left()


if __name__ == "__main__":
    launching.main()

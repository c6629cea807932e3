#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenSHMEM programs over several machines under each launcher: python3 test_launchers.py
Mpirun|Prterun|Prun|Oshrun|Hydra|Srun|SrunPmi2."""
import os
import sys
import unittest.mock

import find_slurm
import jobs
from jobs import OSHRUN, SHMEM_PROGRAM
from launching import SKIPPED


class UnderALauncher:
    keeps_status_of_global_exit = True
    exact_status = True  # whether a PE's status is the job's in every case, not only nonzero
    layouts = ([1, 1], [2, 2], [1, 3], [3, 1, 2])

    def assert_rings(self, result, pes, rounds=1):
        self.assertEqual(result.status, 0, result)
        self.assertEqual(sorted(result.out.split("\n"))[1:],
                         sorted(f"PE {pe} of {pes}" for pe in range(pes) for _ in range(rounds)),
                         result)
        self.assert_nothing_left()

    def test_pes_find_each_other(self):
        for layout in self.layouts:
            with self.subTest(pes=layout):
                self.assert_rings(self.run_job(layout, SHMEM_PROGRAM, "ring"), sum(layout))

    def test_init_and_finalize_again(self):
        self.assert_rings(self.run_job([2, 2], SHMEM_PROGRAM, "rounds", 3), 4, rounds=3)

    def test_global_exit_ends_the_job_with_its_code(self):
        for code in (3, 0):
            for pe in (1, 2):
                with self.subTest(code=code, pe=pe):
                    result = self.run_job([2, 2], SHMEM_PROGRAM, "global_exit", pe, code)
                    if self.keeps_status_of_global_exit:
                        self.assertEqual(result.status, code, result)
                    self.assertNotEqual(result.status, 124, result)
                    self.assert_nothing_left()

    def test_a_nonzero_exit_ends_the_job(self):
        result = self.run_job([2, 1], SHMEM_PROGRAM, "exit", 2, 5)
        if self.exact_status:
            self.assertEqual(result.status, 5, result)
        self.assertNotIn(result.status, (0, 124), result)
        self.assert_nothing_left()


class Mpirun(UnderALauncher, jobs.JobTest):
    launcher = jobs.Mpirun

    def test_pes_may_be_dealt_to_the_machines_in_turn(self):
        self.assert_rings(self.run_job([2, 2], SHMEM_PROGRAM, "ring", cyclic=True), 4)
        self.assert_rings(self.run_job([2, 3, 1], SHMEM_PROGRAM, "ring", cyclic=True), 6)

    def test_a_list_of_local_pes_that_is_another_machines(self):
        with unittest.mock.patch.dict(os.environ, PMIX_MCA_gds="hash"):
            for layout in self.layouts:
                with self.subTest(pes=layout):
                    self.assert_rings(self.run_job(layout, SHMEM_PROGRAM, "ring"), sum(layout))


class Prterun(UnderALauncher, jobs.JobTest):
    launcher = jobs.Prterun

    # With different numbers of PEs some versions deal out PEs that are not the job's.
    def test_pes_may_be_dealt_to_the_machines_in_turn(self):
        self.assert_rings(self.run_job([2, 2], SHMEM_PROGRAM, "ring", cyclic=True), 4)


class Prun(UnderALauncher, jobs.JobTest):
    launcher = jobs.Prun
    exact_status = False

    def test_a_killed_pe_ends_the_job_alone(self):
        for pe in (0, 2):
            self.assertNotIn(self.run_job([2, 1], SHMEM_PROGRAM, "die", pe, 9).status, (0, 124))
            self.assert_nothing_left()
        self.assert_rings(self.run_job([2, 1], SHMEM_PROGRAM, "ring"), 3)

    def test_oshrun_hands_jobs_to_the_daemon(self):
        path = f"{self.launcher.programs}:{os.environ['PATH']}"
        with unittest.mock.patch.dict(os.environ, PATH=path):
            result = self.finish(self.popen([OSHRUN, "--allow-run-as-root", "--hosts",
                                             "nodea:2,nodeb:1", SHMEM_PROGRAM, "ring"]))
        self.assertIn("oshrun: several machines: prun --allow-run-as-root --dvm-uri ", result.err)
        self.assert_rings(result, 3)


class Oshrun(UnderALauncher, jobs.JobTest):
    launcher = jobs.Oshrun


class Hydra(UnderALauncher, jobs.JobTest):
    launcher = jobs.Hydra
    exact_status = False


class Srun(UnderALauncher, jobs.JobTest):
    """Processes that it kills end with 137, which may be the job's status."""

    launcher = jobs.Srun
    exact_status = keeps_status_of_global_exit = False

    def test_oshrun_in_an_allocation_calls_srun(self):
        words = ["timeout", "60", "salloc", "-Q", "-w", "nodea,nodeb", OSHRUN, "--hosts",
                 "nodea:2,nodeb:1", SHMEM_PROGRAM, "ring"]
        result = self.finish(self.popen(words))
        self.assertIn("oshrun: several machines: srun --kill-on-bad-exit=1 ", result.err)
        self.assert_rings(result, 3)

    def test_a_killed_pe_ends_the_job(self):
        for pe in (0, 2):
            self.assertNotIn(self.run_job([2, 1], SHMEM_PROGRAM, "die", pe, 9).status, (0, 124))
            self.assert_nothing_left()


class SrunPmi2(Srun):
    launcher = jobs.SrunPmi2
    layouts = ([2, 2], [3, 1, 2])


def get_slurm():
    """While there is a network, which login has not."""
    try:
        find_slurm.find(os.environ["SLURM_FOLDER"])
    except find_slurm.NoSlurm as error:
        print(f"SKIPPED: no Slurm: {error}")
        sys.exit(SKIPPED)


if __name__ == "__main__":
    if any(word.startswith("Srun") for word in sys.argv[1:]):
        get_slurm()
    jobs.main()

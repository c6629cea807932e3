#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MPI under oshrun, MPI and meshmem in one program, and two launchers at once."""
import os
import shutil
import unittest

import launching
from launching import OSHRUN, SHMEM_PROGRAM

MPI_PROGRAM = os.environ.get("MPI_PROGRAM", "")
INTEROP = os.environ.get("MPI_INTEROP", "")  # examples/15_mpi_interop.cpp


@unittest.skipUnless(MPI_PROGRAM, "there was no MPI to build with")
class Mpi(launching.LaunchTest):
    def test_ranks_find_each_other(self):
        for ranks in (1, 3):
            result = self.oshrun("-n", ranks, MPI_PROGRAM, "sum", seconds=60)
            self.assertEqual((result.status, result.err), (0, ""), result)
            self.assertEqual(sorted(result.out.splitlines()),
                             [f"rank {rank} of {ranks}, sum {ranks * (ranks - 1) // 2}" for rank in range(ranks)])
            self.assert_nothing_left()

    @unittest.skipUnless(INTEROP, "this build is for GPUs")
    def test_mpi_and_meshmem_in_one_program(self):
        result = self.oshrun("-n", 3, INTEROP, 1000, seconds=60)
        self.assertEqual((result.status, result.err), (0, ""), result)
        self.assertEqual(result.out, "3 PEs: 1000 numbers from GPU to GPU by MPI through hosts, by MPI directly and by a put: "
                         "the same\n")
        self.assert_nothing_left()

    def test_a_rank_that_dies_leaves_nothing(self):
        result = self.oshrun("-n", 3, MPI_PROGRAM, "die", 1, seconds=60)
        self.assertEqual(result.status, 137, result)
        self.assertIn("PE 1", result.err)
        self.assert_nothing_left()

    def test_a_killed_oshrun_leaves_nothing(self):
        process = self.start("-n", 3, MPI_PROGRAM, "wait")
        for _ in range(3):
            self.assertEqual(process.stdout.readline(), b"waiting\n")
        process.kill()
        self.finish(process)
        self.assert_nothing_left()

    def test_mpi_abort_ends_the_job_with_its_code(self):
        result = self.oshrun("-n", 3, MPI_PROGRAM, "abort", 2, 7, seconds=60)
        self.assertEqual(result.status, 7, result)
        self.assertRegex(result.err, r"oshrun: PE 2 \(pid \d+\) ended the job with status 7")
        self.assert_nothing_left()


class TwoLaunchers(launching.LaunchTest):
    def assert_refused(self, result, text):
        self.assertNotEqual(result.status, 0, result)
        lines = [line for line in result.err.splitlines() if line.startswith("meshmem: ")]
        # One, unless the machine is so busy that the other PEs live on for a second.
        self.assertTrue(lines and all(text in line for line in lines), result)
        self.assertNotIn("PE 0 of", result.out)

    def test_a_pe_that_does_not_reach_oshrun_says_so(self):
        script = ("test $PMIX_RANK = 0 || exec sleep 60; "
                  f"for name in $(env | grep -o '^PMIX_[A-Z0-9_]*'); do unset $name; done; exec {SHMEM_PROGRAM} ring")
        result = self.oshrun("-n", 2, "sh", "-c", script)
        self.assert_refused(result, "MESHMEM_OSHRUN_PES=2 says that this is one of 2 processes")

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_another_launcher_in_between_is_refused(self):
        words = ["timeout", "-k", "2", "60", "mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "3"]
        script = " ".join([*words, SHMEM_PROGRAM, "ring"])
        calm = {"OMPI_MCA_odls_base_num_threads": "0"}
        result = self.oshrun("-n", 1, "sh", "-c", script, env=calm, seconds=90)
        self.assert_refused(result, "MESHMEM_OSHRUN_PES=1 says that oshrun started 1 PEs, but")
        result = self.oshrun("-n", 1, "sh", "-c", f"unset MESHMEM_OSHRUN_PES; {script}", env=calm, seconds=90)
        self.assertEqual((result.status, sorted(result.out.split("\n"))[1:]),
                         (0, [f"PE {pe} of 3" for pe in range(3)]), result)

    def test_oshrun_inside_oshrun_counts_its_own(self):
        result = self.oshrun("-n", 1, OSHRUN, "-n", 2, SHMEM_PROGRAM, "ring")
        self.assertEqual(sorted(result.out.splitlines()), ["PE 0 of 2", "PE 1 of 2"], result)


if __name__ == "__main__":
    launching.main()

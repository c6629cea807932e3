#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MPI under oshrun, MPI and meshmem in one program, starts by what MPI gives, and two launchers at
once."""
import os
import shutil
import subprocess
import unittest

import launching
from launching import OSHRUN, SHMEM_PROGRAM

MPI_PROGRAM = os.environ.get("MPI_PROGRAM", "")
MPI_START = os.environ.get("MPI_START", "")
INTEROP = os.environ.get("MPI_INTEROP", "")  # examples/15_mpi_interop.cpp


@unittest.skipUnless(MPI_PROGRAM, "there was no MPI to build with")
class Mpi(launching.LaunchTest):
    SHARED_MEMORY = (*launching.LaunchTest.SHARED_MEMORY, "vader")

    def test_ranks_find_each_other(self):
        for ranks in (1, 3):
            result = self.oshrun("-n", ranks, MPI_PROGRAM, "sum", seconds=60)
            self.assertEqual((result.status, result.err), (0, ""), result)
            self.assertEqual(sorted(result.out.splitlines()),
                             [f"rank {rank} of {ranks}, sum {ranks * (ranks - 1) // 2}"
                              for rank in range(ranks)])
            self.assert_nothing_left()

    @unittest.skipUnless(INTEROP, "this build is for GPUs")
    def test_one_program_uses_both(self):
        result = self.oshrun("-n", 3, INTEROP, 1000, seconds=60)
        self.assertEqual((result.status, result.err), (0, ""), result)
        self.assertEqual(result.out, "3 PEs: 1000 numbers from GPU to GPU by MPI through hosts, "
                         "by MPI directly and by a put: "
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


WAYS = ("shmemx_id", "shmemx_comm", "nvshmem_id", "nvshmem_comm", "rocshmem_id", "rocshmem_comm",
        "rocshmem_init", "rocshmem_init_thread")


class StartByMpi(launching.LaunchTest):
    """Programs that start by a unique id which MPI broadcasts, or by a communicator."""

    def mpirun(self, ranks, *words, env=()):
        command = ["timeout", "-k", "2", "60", "mpirun", "--allow-run-as-root", "--oversubscribe",
                   "-np", ranks, MPI_START, *words]
        environment = {**self.environment, "OMPI_MCA_odls_base_num_threads": "0", **dict(env)}
        process = subprocess.Popen([str(word) for word in command], env=environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        return self.finish(process, 90)

    def assert_places(self, result, places):
        """places: of each rank that is a PE, its PE and how many there are."""
        self.assertEqual(result.status, 0, result)
        self.assertEqual(sorted(result.out.splitlines()),
                         sorted(f"{rank} is PE {pe} of {pes}"
                                for rank, (pe, pes) in places.items()), result)

    def launchers(self):
        if not MPI_START:
            self.skipTest("there was no MPI to build with")
        yield lambda ranks, *words, **options: self.oshrun("-n", ranks, MPI_START, *words,
                                                           seconds=60, **options)
        if shutil.which("mpirun"):
            yield self.mpirun

    def test_all_ranks(self):
        for launch in self.launchers():
            for way in WAYS:
                self.assert_places(launch(3, way, 1), {rank: (rank, 3) for rank in range(3)})

    def test_rocshmem_init_starts_mpi(self):
        for launch in self.launchers():
            result = launch(3, "no_mpi_init", 1)
            self.assert_places(result, {rank: (rank, 3) for rank in range(3)})
            self.assertEqual(result.err, "", result)

    def test_communicators_that_are_parts_are_jobs_of_their_own(self):
        for launch in self.launchers():
            for way in WAYS:
                places = {rank: (rank // 2, 2) for rank in range(4)}
                self.assert_places(launch(4, way, 2), places)
            self.assert_places(launch(5, "nvshmem_comm", 3),
                               {rank: (rank // 3, (7 - rank % 3) // 3) for rank in range(5)})
            self.assert_places(launch(4, "nvshmem_id", 4), {rank: (0, 1) for rank in range(4)})

    def test_a_launcher_that_does_not_say_how_many_it_has_started(self):
        if not MPI_START:
            self.skipTest("there was no MPI to build with")
        # As prterun and prun, which set none of these.
        sizes = ("MESHMEM_OSHRUN_PES", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
        without = ["env", *(f"--unset={name}" for name in sizes)]
        for way in ("shmemx_comm", "nvshmem_comm", "rocshmem_comm", "rocshmem_init"):
            result = self.oshrun("-n", 4, *without, MPI_START, way, 2, seconds=60)
            self.assert_places(result, {rank: (rank // 2, 2) for rank in range(4)})
        result = self.oshrun("-n", 3, *without, MPI_START, "nvshmem_comm", 0, seconds=60)
        self.assert_places(result, {rank: (2 - rank, 3) for rank in range(3)})

    def test_a_communicator_without_a_meeting_point_starts_nowhere(self):
        reason = "shmemx_init_mpi_comm: the kernel gives no random numbers: "
        for launch in self.launchers():
            cases = ((0, 1), (2, 0), (4, 0)) if launch != self.mpirun else ((0, 1),)
            for way, status in (("shmemx_comm", 3), ("nvshmem_comm", 3), ("rocshmem_init", 1)):
                for parts, no_part in cases:
                    result = launch(4, way, parts, no_part,
                                    env={"MPI_START_WITHOUT_RANDOM_NUMBERS": "1"})
                    self.assertEqual(result.status, status, result)
                    self.assertEqual(result.out, "", result)
                    lines = [line
                             for line in result.err.splitlines() if line.startswith("meshmem: ")]
                    self.assertTrue(lines and all(reason in line for line in lines), result)
                    # one of each communicator
                    self.assertLessEqual(len(lines), 3 if parts == 4 else 1, result)

    def test_an_id_without_a_meeting_point_is_none(self):
        """Also where the launcher knows all ranks of the job: a process that asks for an id may
        want one of a part of them."""
        for launch in self.launchers():
            for way, parts in (("shmemx_id", 0), ("nvshmem_id", 1), ("rocshmem_id", 2)):
                result = launch(4, way, parts, env={"MPI_START_WITHOUT_RANDOM_NUMBERS": "1"})
                self.assertEqual((result.status, result.out), (6, ""), result)
                lines = [line for line in result.err.splitlines() if line.startswith("meshmem: ")]
                self.assertIn(len(lines), range(1, max(parts, 1) + 1), result)  # of each maker
                for line in lines:
                    self.assertRegex(line, "shmemx_get_uniqueid: the kernel gives no random "
                                     "numbers: .*; a job of all 4 "
                                           "processes of the launcher needs no id: start it "
                                     "by shmem_init", result)

    def test_a_rank_that_is_in_another_job_starts_nowhere(self):
        for launch in self.launchers():
            result = launch(3, "shmemx_another", 0)
            self.assertEqual((result.status, result.out), (3, ""), result)
            lines = [line for line in result.err.splitlines() if line.startswith("meshmem: ")]
            texts = ("the program starts as rank 0 of 3, but this is PE 0 of 1: its launcher, or "
                     "an earlier start, has said so",
                     "rank 0 of the communicator is in a job already, and this process is in none")
            self.assertTrue(lines and all(line.endswith(texts) for line in lines), result)

    def test_ranks_that_are_no_pes(self):
        for launch in self.launchers():
            for way in ("nvshmem_id", "nvshmem_comm"):
                self.assert_places(launch(4, way, 2, 0), {1: (0, 2), 3: (1, 2)})

    def test_ranks_in_another_order(self):
        for launch in self.launchers():
            self.assert_places(launch(3, "nvshmem_comm", 0),
                               {rank: (2 - rank, 3) for rank in range(3)})
            result = launch(2, "nvshmem_id", 0)
            self.assertEqual(result.status, 3, result)
            self.assertRegex(result.err, "the program starts as rank [01] of 2, but this is "
                             "PE [01] of 2: its launcher")

    def test_what_is_no_communicator(self):
        for launch in self.launchers():
            result = launch(1, "shmemx_null", 1)
            self.assertEqual(result.status, 3, result)
            self.assertIn("shmemx_init_mpi_comm: there is no communicator", result.err)


class TwoLaunchers(launching.LaunchTest):
    def assert_refused(self, result, text):
        self.assertNotEqual(result.status, 0, result)
        lines = [line for line in result.err.splitlines() if line.startswith("meshmem: ")]
        # One, unless the machine is so busy that the other PEs live on for a second.
        self.assertTrue(lines and all(text in line for line in lines), result)
        self.assertNotIn("PE 0 of", result.out)

    def test_a_pe_that_does_not_reach_oshrun_says_so(self):
        script = ("test $PMIX_RANK = 0 || exec sleep 60; "
                  "for name in $(env | grep -o '^PMIX_[A-Z0-9_]*'); do unset $name; done; exec "
                  f"{SHMEM_PROGRAM} ring")
        result = self.oshrun("-n", 2, "sh", "-c", script)
        self.assert_refused(result, "MESHMEM_OSHRUN_PES=2 says that this is one of 2 processes")

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_another_launcher_in_between_is_refused(self):
        words = ["timeout", "-k", "2", "60", "mpirun", "--allow-run-as-root", "--oversubscribe",
                 "-np", "3"]
        script = " ".join([*words, SHMEM_PROGRAM, "ring"])
        calm = {"OMPI_MCA_odls_base_num_threads": "0"}
        result = self.oshrun("-n", 1, "sh", "-c", script, env=calm, seconds=90)
        self.assert_refused(result, "MESHMEM_OSHRUN_PES=1 says that oshrun started 1 PEs, but")
        result = self.oshrun("-n", 1, "sh", "-c", f"unset MESHMEM_OSHRUN_PES; {script}", env=calm,
                             seconds=90)
        self.assertEqual((result.status, sorted(result.out.split("\n"))[1:]),
                         (0, [f"PE {pe} of 3" for pe in range(3)]), result)

    def test_oshrun_inside_oshrun_counts_its_own(self):
        result = self.oshrun("-n", 1, OSHRUN, "-n", 2, SHMEM_PROGRAM, "ring")
        self.assertEqual(sorted(result.out.splitlines()), ["PE 0 of 2", "PE 1 of 2"], result)


if __name__ == "__main__":
    launching.main()

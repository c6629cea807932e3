#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MESHMEM_CHECK=races over machines, each of which has the shadow of its own PEs' memory."""
import os

import jobs
from races import MISTAKES, assert_told, n_pes_of

PROGRAMS = {os.path.basename(program): program for program in os.environ["PROGRAMS"].split(":")}
# Of each kind of routine, and of each way to order.
FEW = ("p_g", "flag_without_fence", "wrong_signal", "dest_before_quiet", "atomic_put",
       "source_of_reduction", "lock_of_one", "told_by_a_third")


class Races(jobs.JobTest):
    settings = {"MESHMEM_CHECK": "races"}

    def test_mistakes_are_found(self):
        for name in MISTAKES if jobs.LONG else FEW:
            with self.subTest(name):
                program = PROGRAMS["races_program"]
                result = self.run_job([1] * n_pes_of(name), program, name, settings=self.settings)
                self.assertEqual(result.status, 1, result)
                assert_told(self, result, name, MISTAKES, program)
                self.assert_nothing_left()

    def test_programs_that_are_right_are_silent(self):
        for pes, cyclic in (([2, 2], True), ([2, 1, 2], False)):
            for name, *words in (("races_program", "all", "right"), ("api_random_one_sided",),
                                 ("api_random_collectives",)):
                with self.subTest(program=name, pes=pes):
                    result = self.run_job(pes, PROGRAMS[name], *words, settings=self.settings,
                                          cyclic=cyclic, seconds=100)
                    self.assertEqual(result.status, 0, result)
                    self.assertNotIn("race", "".join(self.meshmem_lines(result)), result)
                    self.assert_nothing_left()


if __name__ == "__main__":
    jobs.main()

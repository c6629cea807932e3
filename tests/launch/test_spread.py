#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PEs that start on one core: they part, and none is bound.

Invariant: whatever else runs on the machine, of 20 starts on core 0 the PEs are still there
together in one at least.
"""
import os
import unittest

import launching
from launching import SHMEM_PROGRAM

CORES = os.sched_getaffinity(0)


@unittest.skipUnless(len(CORES) > 1 and 0 in CORES, "needs core 0 and another one")
class Spread(launching.LaunchTest):
    def moves(self, **settings):
        """How many PEs said that they left another's core. The program says itself what it may use
        afterwards."""
        result = self.oshrun("-n", 2, SHMEM_PROGRAM, "one_core", seconds=100,
                             env={"SHMEM_DEBUG": "1", **settings})
        self.assertEqual(result.status, 0, result)
        self.assertEqual(result.out.count(f"may use {len(CORES)}\n"), 2, result)
        return result.err.count(", where another PE is, to core ")

    def test_pes_on_one_core_part(self):
        self.assertGreater(self.moves(), 0)

    def test_the_scheduler_is_left_alone_where_that_is_asked_for(self):
        self.assertEqual(self.moves(MESHMEM_SPREAD="0"), 0)


if __name__ == "__main__":
    launching.main()

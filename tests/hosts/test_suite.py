#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The API's suite over two and three machines.

Each program runs over one of the layouts, the ones that matter most over all; with
MESHMEM_TEST_LONG each over all. The litmus tests run over two machines too, whatever their turn is.
Each runs by UCX: the tests over --fake-nodes run all by meshmem's own connections. A program that
runs over several layouts goes by one and the other in turn.
"""
import os
import time

import jobs

PROGRAMS = os.environ["PROGRAMS"].split(":")
# PEs on each machine, and whether they are dealt to the machines in turn.
LAYOUTS = [([1, 1], False), ([1, 3], False), ([2, 2], True), ([3, 2], False), ([2, 1, 2], False),
           ([3, 3, 2], False),
           ([2, 3, 1], True)]
OVER_ALL = ("api_rma", "api_atomics", "api_collectives", "api_signals", "api_random_collectives")
SETTINGS = {"api_memory": {"SHMEM_SYMMETRIC_SIZE": "16M"}}


def layouts_of(number, program):
    if jobs.LONG or os.path.basename(program) in OVER_ALL:
        return LAYOUTS
    layouts = [LAYOUTS[number % len(LAYOUTS)]]
    if os.path.basename(program) == "api_litmus" and len(layouts[0][0]) > 2:
        layouts.append(([2, 2], False))
    return layouts


class Suite(jobs.JobTest):
    launcher = jobs.Mpirun

    def check(self, program, pes, cyclic, network):
        name = os.path.basename(program)
        begin = time.monotonic()
        settings = {**SETTINGS.get(name, {}), "MESHMEM_NETWORK": network}
        result = self.run_job(pes, program, settings=settings, cyclic=cyclic, seconds=200)
        print(f"{name} over {pes}{' in turn' if cyclic else ''} by {network}: "
              f"{time.monotonic() - begin:.1f} s", flush=True)
        self.assertEqual(result.status, 0, result)
        self.assertIn("[  PASSED  ]" if "old_program" not in name else "", result.out)
        self.assert_nothing_left()

    def test_programs_pass_over_two_and_three_machines(self):
        for number, program in enumerate(PROGRAMS):
            for turn, (pes, cyclic) in enumerate(layouts_of(number, program)):
                network = "ucx" if jobs.MESHMEM_UCX and turn % 2 == 0 else "tcp"
                with self.subTest(program=os.path.basename(program), pes=pes, cyclic=cyclic,
                                  network=network):
                    self.check(program, pes, cyclic, network)


if __name__ == "__main__":
    jobs.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Some programs of the suite over a UCX that is newer than the one that meshmem was built with, and
the test of the wire itself.

PROGRAMS are those of the suite; UNIT_WIRE is the other. With MESHMEM_TEST_LONG over more machines,
too.
"""
import os
import re
import subprocess
import sys

import jobs
from launching import SKIPPED

sys.path.insert(0, os.path.join(jobs.HERE, "..", "harness"))
import find_ucx  # noqa: E402  (its folder has to be on the path)

PROGRAMS = os.environ["PROGRAMS"].split(":")
LAYOUTS = ([2, 1], [1, 3], [2, 1, 2]) if jobs.LONG else ([2, 1],)
NEWER = {"MESHMEM_NETWORK": "ucx", "TEST_WIRE": "ucx"}


class NewerUcx(jobs.JobTest):
    launcher = jobs.Mpirun

    def test_is_the_one_that_pes_use(self):
        result = self.run_job([1, 1], jobs.SHMEM_PROGRAM, "ring",
                              settings={**NEWER, "SHMEM_DEBUG": "1"})
        self.assert_right(result)
        versions = set(re.findall(r"UCX (\d+\.\d+\.\d+)", result.err))
        self.assertEqual(len(versions), 1, result)
        self.assertGreater(tuple(map(int, versions.pop().split("."))), (1, 13, 1))

    def test_carries_messages(self):
        result = subprocess.run([os.environ["UNIT_WIRE"]], env={**os.environ, **NEWER},
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=200, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_programs_of_the_suite(self):
        for program in PROGRAMS:
            for pes in LAYOUTS:
                with self.subTest(program=os.path.basename(program), pes=pes):
                    result = self.run_job(pes, program, settings=NEWER, seconds=200)
                    self.assert_right(result)
                    self.assertIn("[  PASSED  ]", result.out)


if __name__ == "__main__":
    try:
        NEWER["LD_LIBRARY_PATH"] = find_ucx.find(os.environ["UCX_FOLDER"])
    except find_ucx.NoUcx as error:
        print(f"SKIPPED: no newer UCX: {error}")
        sys.exit(SKIPPED)
    jobs.main()

# SPDX-License-Identifier: Apache-2.0
"""The tests that end a part of a job over several machines share this.

A busy machine is nobody's fault, so the limits here are far above what is promised (two seconds
after the loss is seen); a job that hangs takes a minute.
"""
import sys
import time

import jobs
from jobs import SHMEM_PROGRAM, wait_until

PES = [2, 2]
LATE = 15
KEEPALIVE = 2


class LossTest(jobs.JobTest):
    tells_of_lost_daemons = True  # by its status

    def ready_job(self, pes=tuple(PES), words=("hang", 0), program=None, **options):
        """A job in which PE 0 sleeps and the others wait for it in a barrier, or another; {PE: pid
        on login}."""
        process = self.start(pes, *(program or (SHMEM_PROGRAM, *words)), **options)
        for _ in range(sum(pes)):
            line = process.stdout.readline()
            if line != b"ready\n":
                self.fail(f"a PE did not start: {line!r} {self.finish(process)}")
        return process, self.pes()

    def launcher_pid(self, process):
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            return int(file.read().split()[0])

    def assert_ends(self, process, what, seconds=LATE, launcher_ends=True, has_daemons=True):
        """The job ends with an error; no PE is left on any machine that is still there."""
        begin = time.monotonic()
        gone = wait_until(lambda: not self.pes(), seconds)
        pes_ended = time.monotonic() - begin
        self.assertTrue(gone, f"after {what}, {len(self.pes())} PEs were left after {seconds} s")
        if not launcher_ends:  # it waits for its daemon there, which is its own affair
            process.terminate()
            self.bring_machines_back()  # daemons hold the pipes open
        result = self.finish(process, 60)
        print(f"{what}: PEs ended after {pes_ended:.2f} s, the job after "
              f"{time.monotonic() - begin:.2f} s; "
              f"{self.meshmem_lines(result)}", file=sys.stderr, flush=True)
        if has_daemons or self.tells_of_lost_daemons:
            self.assertNotEqual(result.status, 0, result)
        if launcher_ends:
            self.assertNotEqual(result.status, 124, result)
        return result

    def assert_named(self, result, lost, machine, reason):
        """The PE that was lost, its machine and why, in one line."""
        lines = [line for line in self.meshmem_lines(result) if f"on host {machine}: " in line]
        self.assertEqual(len(lines), 1, result)
        lost = f"lost PE ({lost}) on host {machine}: {reason}"
        self.assertRegex(lines[0], rf"^meshmem: PE \d+ \(host \w+, pid \d+\): {lost}$")

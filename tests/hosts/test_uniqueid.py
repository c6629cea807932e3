#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starting over several machines by a unique id: the test starts the processes itself on each
machine."""
import os
import signal

import jobs

PROGRAM = os.environ["UNIQUEID_PROGRAM"]
FIRST, SECOND, THIRD = jobs.NAMES


class UniqueId(jobs.JobTest):
    def begin(self, machine, *words, **variables):
        settings = [f"{name}={value}" for name, value in {**jobs.SETTINGS, **variables}.items()]
        return self.popen(jobs.simulated[machine].words("env", *settings, "timeout", "100",
                                                        PROGRAM, *words))

    def begin_job(self, names, verb, **variables):
        """PE i on the machine names[i]; PE 0 makes the id."""
        pes = len(names)
        first = self.begin(names[0], "make", 0, pes, verb, **variables)
        unique_id = first.stdout.readline().decode().strip()
        return [first] + [self.begin(name, unique_id, pe, pes, verb, **variables)
                          for pe, name in enumerate(names) if pe > 0]

    def assert_ended(self, processes):
        for process in processes:
            result = self.finish(process)
            self.assertEqual(result.status, 1, result)
            self.assertTrue(self.meshmem_lines(result), result)

    def await_ready(self, processes):
        for process in processes:
            self.assertEqual(process.stdout.readline(), b"ready\n")

    def test_jobs_over_two_and_three_machines(self):
        for names in ([FIRST, SECOND], [FIRST, SECOND, FIRST, THIRD, SECOND]):
            results = [self.finish(process) for process in self.begin_job(names, "twice")]
            for pe, result in enumerate(results):
                self.assertEqual((result.status, result.err), (0, ""), result)
                self.assertEqual(result.out.splitlines(), [f"PE {pe} of {len(names)}"] * 3, result)
            self.assert_nothing_left()

    def test_the_interface_can_be_chosen(self):
        results = [self.finish(process)
                   for process in self.begin_job([FIRST, SECOND], "ring",
                                                 MESHMEM_NETWORK_DEVICE="eth0")]
        self.assertEqual([(result.status, result.err) for result in results], [(0, "")] * 2)

    def test_a_pe_that_is_killed_ends_those_of_other_machines(self):
        for killed in (SECOND, FIRST):  # the latter has made the id
            processes = self.begin_job([FIRST, SECOND, THIRD], "wait")
            self.await_ready(processes)
            for pid in jobs.simulated[killed].processes():
                os.kill(pid, signal.SIGKILL)
            left = [process for name, process in zip(jobs.NAMES, processes) if name != killed]
            self.assert_ended(left)
            processes[jobs.NAMES.index(killed)].communicate()
            self.assert_nothing_left()

    def test_a_machine_that_is_gone_ends_the_others(self):
        processes = self.begin_job([FIRST, SECOND, THIRD], "wait", MESHMEM_KEEPALIVE="2")
        self.await_ready(processes)
        jobs.simulated[FIRST].kill()
        self.assert_ended(processes[1:])
        processes[0].communicate()


if __name__ == "__main__":
    jobs.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How jobs over several machines end when a PE, a machine, the launcher or the network fails:
everywhere, and soon."""
import os
import signal
import sys
import time
import unittest

import jobs
from jobs import SHMEM_PROGRAM
from losses import KEEPALIVE, LATE, LossTest


class Machine(jobs.JobTest):
    def test_a_killed_one_starts_again_at_once(self):
        for _ in range(20):
            jobs.simulated["nodeb"].kill()
            self.bring_machines_back()


class UnderALauncher:
    def test_a_killed_pe_ends_the_job(self):
        for number, rank in ((signal.SIGKILL, 3), (signal.SIGSEGV, 1), (signal.SIGABRT, 0)):
            process, pes = self.ready_job()
            os.kill(pes[rank], number)
            self.assert_ends(process, f"signal {int(number)} to PE {rank}")
            self.assert_nothing_left()

    def test_a_pe_that_only_waits_ends_too(self):
        process, pes = self.ready_job([1, 1], ("wait",))
        os.kill(pes[1], signal.SIGKILL)
        self.assert_ends(process, "SIGKILL to PE 1 for whom PE 0 waits")
        self.assert_nothing_left()

    def test_a_killed_machine_ends_the_job(self):
        process, _ = self.ready_job(settings={"MESHMEM_KEEPALIVE": str(KEEPALIVE)})
        jobs.simulated["nodeb"].kill()
        self.assert_ends(process, "the end of machine nodeb", has_daemons=False)
        self.assert_nothing_left()

    def test_a_killed_launcher_ends_the_job(self):
        process, _ = self.ready_job()
        os.kill(self.launcher_pid(process), signal.SIGKILL)
        self.assert_ends(process, "SIGKILL to the launcher")
        self.assert_nothing_left()


class Mpirun(UnderALauncher, LossTest):
    launcher = jobs.Mpirun

    def test_a_killed_daemon_ends_the_job(self):
        process, pes = self.ready_job()
        with open(f"/proc/{pes[3]}/stat", encoding="utf-8", errors="replace") as file:
            daemon = int(file.read().rsplit(")", 1)[1].split()[1])
        os.kill(daemon, signal.SIGKILL)
        self.assert_ends(process, "SIGKILL to the launcher's daemon on nodeb", has_daemons=False)
        self.assert_nothing_left()

    def test_an_interrupt_ends_the_job(self):
        process, _ = self.ready_job()
        os.kill(self.launcher_pid(process), signal.SIGINT)
        self.assert_ends(process, "SIGINT to the launcher")
        self.assert_nothing_left()

    def test_a_network_that_is_taken_down_ends_the_job(self):
        # PEs that work: what they send finds no answer.
        process, _ = self.ready_job(words=("work",), settings={"MESHMEM_KEEPALIVE": str(KEEPALIVE)})
        jobs.simulated["nodeb"].ip("link set eth0 down")
        self.assert_ends(process, "nodeb's eth0 down", KEEPALIVE + LATE, launcher_ends=False)

    def test_silence_is_a_loss(self):
        # PEs that only wait send nothing that could fail.
        process, _ = self.ready_job(settings={"MESHMEM_KEEPALIVE": str(KEEPALIVE)})
        jobs.simulated["nodeb"].ip("link set eth0 down")
        result = self.assert_ends(process, "nodeb's eth0 down while PEs wait", KEEPALIVE + LATE,
                                  launcher_ends=False)
        self.assert_named(result, "2|3", "nodeb", f"it was silent for {KEEPALIVE} s .*")

    def test_a_machine_that_is_cut_off_is_to_blame(self):
        # A file has the lines of nodec too.
        script = f"exec {SHMEM_PROGRAM} hang 0 2>> {self.folder}/errors"
        process, _ = self.ready_job([1, 2, 1], settings={"MESHMEM_KEEPALIVE": str(KEEPALIVE)},
                                    program=("sh", "-c", script))
        jobs.simulated["nodec"].ip("link set eth0 down")
        self.assert_ends(process, "nodec's eth0 down", KEEPALIVE + LATE, launcher_ends=False)
        with open(os.path.join(self.folder, "errors"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        print(lines, file=sys.stderr)
        self.assertEqual([line for line in lines if "(host nodec" not in line and
                          "lost PE 3 on host nodec: it was silent for" not in line], [])
        own = [line for line in lines if "(host nodec" in line]
        self.assertEqual(len(own), 1, lines)
        self.assertIn(": lost all other machines: each was silent for", own[0])
        self.assertGreater(len(lines), 1)

    def test_a_stopped_pe_is_not_lost(self):
        process, pes = self.ready_job(words=("until", os.path.join(self.folder, "go")),
                                      settings={"MESHMEM_KEEPALIVE": str(KEEPALIVE)})
        os.kill(pes[3], signal.SIGSTOP)
        time.sleep(KEEPALIVE + 3)
        os.kill(pes[3], signal.SIGCONT)
        with open(os.path.join(self.folder, "go"), "wb"):
            pass
        self.assertEqual(self.finish(process).status, 0)
        self.assert_nothing_left()


# Long only: meshmem does the same as under other launchers, and this one sometimes does not start a
# job on a busy machine.
@unittest.skipUnless(jobs.LONG, "MESHMEM_TEST_LONG is not set")
class Prterun(UnderALauncher, LossTest):
    launcher = jobs.Prterun
    tells_of_lost_daemons = False


class ByOshrun:
    """oshrun stays, and makes a failure of what the launcher takes for a success."""

    def end_machine(self, name):
        process, _ = self.ready_job(settings={"MESHMEM_KEEPALIVE": str(KEEPALIVE)})
        jobs.simulated[name].kill()
        result = self.assert_ends(process, f"the end of machine {name}")
        print(result, file=sys.stderr)
        self.assertNotIn(result.status, (0, 124), result)
        self.assert_nothing_left()

    def test_a_killed_machine_of_pe_0_ends_the_job(self):
        self.end_machine("nodea")

    def test_a_killed_machine_ends_the_job(self):
        self.end_machine("nodeb")

    def test_a_launcher_that_waits_for_a_machine_is_ended(self):
        for name in ("nodea", "nodeb") if jobs.LONG else ("nodeb",):
            process, _ = self.ready_job(settings={"MESHMEM_KEEPALIVE": str(KEEPALIVE)})
            jobs.simulated[name].ip("link set eth0 down")
            # The job ends, since the launcher's processes do not keep the pipes open.
            self.assertTrue(jobs.wait_until(lambda p=process: p.poll() is not None, 60), "it hangs")
            result = self.assert_ends(process, f"{name}'s eth0 down")
            self.assertNotIn(result.status, (0, 124), result)
            self.bring_machines_back()

    def test_a_request_to_end_reaches_the_launcher(self):
        process, _ = self.ready_job()
        os.kill(self.launcher_pid(process), signal.SIGTERM)
        self.assertNotEqual(self.assert_ends(process, "SIGTERM to oshrun").status, 0)
        self.assert_nothing_left()


class OshrunMpirun(ByOshrun, LossTest):
    launcher = jobs.Oshrun


@unittest.skipUnless(jobs.LONG, "MESHMEM_TEST_LONG is not set")
class OshrunPrterun(ByOshrun, LossTest):
    launcher = jobs.OshrunPrterun


class Hydra(UnderALauncher, LossTest):
    launcher = jobs.Hydra


if __name__ == "__main__":
    jobs.main()

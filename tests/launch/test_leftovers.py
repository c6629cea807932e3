#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nothing stays behind: processes, children of PEs, folders, shared memory; not even after
SIGKILL."""
import os
import signal
import subprocess
import sys

import launching
from launching import OSHRUN, PMIX_CLIENT


class Leftovers(launching.LaunchTest):
    def start_ready(self, pes, script):
        process = self.start("-n", pes, "sh", "-c", script)
        for _ in range(pes):
            self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def folders(self):
        return [name for name in os.listdir(self.tmpdir) if name.startswith("oshrun-")]

    def test_a_good_end_leaves_nothing(self):
        self.assertEqual(self.oshrun("-n", 4, PMIX_CLIENT, "exchange", 1).status, 0)
        # At once: what the caller does next may depend on it.
        self.assertEqual((self.processes(), os.listdir(self.tmpdir)), ([], []))
        self.assert_nothing_left()

    def test_children_of_a_pe_end_with_it(self):
        for end, status in (("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137)):
            result = self.oshrun("-n", 2, "sh", "-c", f"sleep 600 & sleep 600 & {end}")
            self.assertEqual(result.status, status, result)
            self.assert_nothing_left()

    def test_a_child_in_another_session_does_not_hold_the_job(self):
        process = self.start("-n", 1, "setsid", "-f", "sleep", "600")
        result = self.finish(process)
        self.assertEqual(result.status, 0, result)
        self.kill(self.processes())  # it said that it does not belong to the job any more
        self.assert_nothing_left()

    def test_children_that_are_no_pes_are_left_alone(self):
        # A shell with job control makes a group of the two, which its oshrun inherits.
        script = ("set -m; sleep 0.5 | sleep 600 >/dev/null 2>&1 & echo $!; "
                  f"exec {OSHRUN} -n 1 sleep 1.5")
        result = subprocess.run(["bash", "-c", script], env=self.environment, capture_output=True,
                                text=True, timeout=60, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        other = int(result.stdout)
        self.assertEqual(launching.state_of(other), "S")
        self.kill([other])
        self.assert_nothing_left()

    def test_kill_9_of_a_pe(self):
        process = self.start_ready(3, "echo ready; sleep 600 & wait")
        pe = launching.pe_of(process.pid, 1)
        os.kill(pe, signal.SIGKILL)
        result = self.finish(process)
        self.assertEqual(result.status, 137, result)
        self.assertIn(f"oshrun: PE 1 (pid {pe}) was killed by signal 9 (Killed); ending the other "
                      "2 PEs",
                      result.err)
        self.assert_nothing_left()

    def test_kill_9_of_oshrun(self):
        process = self.start_ready(3, "trap '' TERM INT HUP; sleep 600 & echo ready; wait")
        self.assertEqual(len(self.folders()), 1)
        process.kill()
        process.wait()
        self.assert_nothing_left()

    def test_kill_9_of_oshrun_with_connected_pes(self):
        process = self.start("-n", 4, PMIX_CLIENT, "abort", 99, 0, "fence")
        self.assertTrue(launching.wait_until(lambda: len(self.processes()) >= 5))
        process.kill()
        process.wait()
        self.assert_nothing_left()

    def guards_of(self, process):
        """The processes of an oshrun that are neither itself nor a PE."""
        environments = {pid: launching.environment_of(pid) for pid in self.processes()}
        # A PE that becomes another program has no environment for a moment.
        return [pid for pid, entries in environments.items() if pid != process.pid and any(entries)
                and not any(entry.startswith(b"PMIX_RANK=") for entry in entries)]

    def test_kill_9_of_all_oshrun_processes_is_repaired_by_the_next(self):
        process = self.start_ready(2, "echo ready; exec sleep 600")
        guards = []
        self.assertTrue(launching.wait_until(lambda: guards.extend(self.guards_of(process))
                                             or guards))
        self.assertEqual(len(guards), 1)
        os.kill(guards[0], signal.SIGKILL)
        process.kill()
        process.wait()
        # The next oshrun removes no locked folder, and a guard that is ending still has the lock.
        self.assertTrue(launching.wait_until(lambda: launching.has_ended(guards[0])))
        self.assertTrue(launching.wait_until(lambda: not self.processes()))
        self.assertEqual(len(self.folders()), 1)
        self.assertEqual(self.oshrun("-n", 1, "true").status, 0)
        self.assert_nothing_left()

    def test_the_folder_of_a_living_oshrun_is_left_alone(self):
        process = self.start_ready(1, "echo ready; sleep 600")
        folders = self.folders()
        self.assertEqual(self.oshrun("-n", 1, "true").status, 0)
        self.assertEqual(self.folders(), folders)
        process.terminate()
        self.finish(process)
        self.assert_nothing_left()

    def test_many_at_once_do_not_disturb_each_other(self):
        processes = [self.start("-n", 2, PMIX_CLIENT, "exchange", 1) for _ in range(8)]
        for process in processes:
            self.assertEqual(self.finish(process).status, 0)
        self.assert_nothing_left()

    def test_an_unusable_tmpdir_is_one_clear_line(self):
        result = self.oshrun("-n", 1, "true", env={"TMPDIR": "/no/such/folder"})
        self.assertEqual(result.status, 1, result)
        self.assertEqual(result.err, "oshrun: cannot make a folder in '/no/such/folder' (TMPDIR): "
                                     "No such file or directory\n")

    def test_pes_get_only_their_three_descriptors(self):
        code = "import os; print(sorted(os.listdir('/proc/self/fd')))"
        words = [OSHRUN, "-n", "2", sys.executable, "-c", code]
        result = subprocess.run(words, env=self.environment, capture_output=True, check=True,
                                close_fds=True, stdin=subprocess.DEVNULL)
        # The fourth is the one by which the folder is listed.
        self.assertEqual(result.stdout.decode(), "['0', '1', '2', '3']\n" * 2)

    def test_oshrun_started_without_standard_descriptors(self):
        words = [OSHRUN, "-n", "2", PMIX_CLIENT, "exchange", "1"]
        program = ("import os, sys; [os.close(fd) for fd in (0, 1, 2)]; os.execvp(sys.argv[1], "
                   "sys.argv[1:])")
        result = subprocess.run([sys.executable, "-c", program, *words], env=self.environment,
                                check=False)
        self.assertEqual(result.returncode, 0)


if __name__ == "__main__":
    launching.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How jobs end: statuses, signals, requests for the end, and what is said about it."""
import signal
import time

import launching
from launching import PMIX_CLIENT

# The PE's number as a shell sees it.
PE = "$PMIX_RANK"


class Endings(launching.LaunchTest):
    def shell(self, pes, script, **options):
        return self.oshrun("-n", pes, "sh", "-c", script, **options)

    def assert_ended(self, result, status, line=None):
        self.assertEqual(result.status, status, result)
        if line is None:
            self.assertEqual(result.err, "", result)
        else:
            self.assertRegex(result.err, f"^oshrun: {line}\n$")
        self.assert_nothing_left()

    def test_success_is_zero_and_silent(self):
        self.assert_ended(self.shell(4, "true"), 0)
        self.assert_ended(self.oshrun("-n", 4, PMIX_CLIENT, "exchange", 1), 0)

    def test_a_program_that_knows_no_pmix_is_fine(self):
        self.assert_ended(self.oshrun("-n", 3, "hostname"), 0)

    def test_nonzero_status_of_one_pe_ends_the_others(self):
        result = self.shell(4, f"test {PE} = 2 && exit 3; sleep 60")
        self.assert_ended(result, 3,
                          r"PE 2 \(pid \d+\) exited with status 3; ending the other 3 PEs")
        self.assertLess(result.seconds, 30)

    def test_the_first_nonzero_status_wins(self):
        result = self.shell(3, f"test {PE} = 0 && exit 0; test {PE} = 2 && exit 5; sleep 5; exit 6")
        self.assert_ended(result, 5,
                          r"PE 2 \(pid \d+\) exited with status 5; ending the other (PE|2 PEs)")
        # A PE that answers SIGTERM with a status of its own does not change that of the job.
        result = self.shell(
            2, f"test {PE} = 1 && sleep 0.3 && exit 5; trap 'exit 9' TERM; sleep 60 & wait")
        self.assert_ended(result, 5, r"PE 1 \(pid \d+\) exited with status 5; ending the other PE")

    def test_a_lone_pe_has_no_others(self):
        self.assert_ended(self.shell(1, "exit 4"), 4, r"PE 0 \(pid \d+\) exited with status 4")

    def test_status_255(self):
        self.assert_ended(self.shell(1, "exit 255"), 255,
                          r"PE 0 \(pid \d+\) exited with status 255")

    def test_death_by_a_signal_is_128_and_the_signal(self):
        for number, name in ((signal.SIGSEGV, "Segmentation fault"), (signal.SIGKILL, "Killed"),
                             (signal.SIGABRT, "Aborted"), (signal.SIGTERM, "Terminated")):
            result = self.shell(3, f"test {PE} = 1 && kill -{int(number)} $$; sleep 60")
            self.assert_ended(result, 128 + number,
                              rf"PE 1 \(pid \d+\) was killed by signal {int(number)} "
                              rf"\({name}\); ending the other 2 PEs")

    def test_pes_that_ignore_sigterm_are_killed(self):
        result = self.shell(
            3, f"trap '' TERM; test {PE} = 1 && sleep 0.2 && exit 3; while :; do sleep 60; done")
        self.assert_ended(result, 3,
                          r"PE 1 \(pid \d+\) exited with status 3; ending the other 2 PEs")
        self.assertLess(result.seconds, 30)

    def test_a_stopped_pe_is_ended_too(self):
        result = self.shell(2, f"test {PE} = 1 && sleep 0.2 && exit 3; kill -STOP $$")
        self.assert_ended(result, 3, r"PE 1 \(pid \d+\) exited with status 3; ending the other PE")

    def test_abort_ends_the_job_with_its_code(self):
        for where in ("sleep", "fence"):
            for code in (3, 255):
                result = self.oshrun("-n", 4, PMIX_CLIENT, "abort", 2, code, where)
                self.assert_ended(result, code,
                                  rf"PE 2 \(pid \d+\) called shmem_global_exit\({code}\); "
                                  "ending the other 3 PEs")

    def test_abort_with_zero_is_a_silent_success(self):
        for where in ("sleep", "fence"):
            self.assert_ended(self.oshrun("-n", 4, PMIX_CLIENT, "abort", 1, 0, where), 0)

    def test_leaving_without_finalize_ends_the_others(self):
        result = self.oshrun("-n", 4, PMIX_CLIENT, "leave", 1)
        self.assert_ended(result, 1,
                          r"PE 1 \(pid \d+\) ended without shmem_finalize; ending the other 3 PEs")

    def test_a_pe_that_ends_before_init_is_named(self):
        line = (r"PE 2 \(pid \d+\) ended without calling shmem_init, and the others wait for it; "
                "ending the other 3 PEs")
        # Before the others begin to wait, and after.
        for first, second in (("sleep 0", "sleep 0.5"), ("sleep 0.5", "sleep 0")):
            result = self.shell(
                4, f"test {PE} = 2 && {first} && exit 0; {second}; exec {PMIX_CLIENT} exchange 1")
            self.assert_ended(result, 1, line)

    def test_pes_that_all_end_without_init_may_take_their_time(self):
        self.assert_ended(self.shell(4, f"sleep 0.{PE}"), 0)

    def test_a_lone_pe_that_leaves_without_finalize_fails_too(self):
        result = self.oshrun("-n", 1, PMIX_CLIENT, "leave", 0)
        self.assert_ended(result, 1, r"PE 0 \(pid \d+\) ended without shmem_finalize")


class Signals(launching.LaunchTest):
    def start_ready(self, pes, script):
        """A job of shells, of which each has written a line (its traps are set)."""
        process = self.start("-n", pes, "sh", "-c", script)
        for _ in range(pes):
            self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def test_int_and_term_and_hup_end_the_job(self):  # what SIGQUIT does is in test_status.py
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start_ready(3, "ulimit -c 0; echo ready; sleep 60")
            process.send_signal(number)
            result = self.finish(process)
            self.assertEqual((result.status, result.err), (128 + number, ""), result)
            self.assertLess(result.seconds, 30)
            self.assert_nothing_left()

    def test_pes_see_the_signal_and_may_tidy_up(self):
        process = self.start_ready(2, "trap 'echo tidy; exit 0' INT; echo ready; sleep 60 & wait")
        process.send_signal(signal.SIGINT)
        result = self.finish(process)
        self.assertEqual((result.status, result.out), (130, "tidy\ntidy\n"), result)
        self.assert_nothing_left()

    def test_pes_that_ignore_the_signal_are_killed_after_a_second(self):
        process = self.start_ready(2, "trap '' INT; echo ready; while :; do sleep 60; done")
        process.send_signal(signal.SIGINT)
        result = self.finish(process)
        self.assertEqual(result.status, 130, result)
        self.assertGreater(result.seconds, 0.8)
        self.assert_nothing_left()

    def test_a_second_int_kills_at_once(self):
        process = self.start_ready(
            2, "trap 'echo seen' INT; echo ready; while :; do sleep 60 & wait; done")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline(), b"seen\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).status, 130)
        self.assert_nothing_left()

    def test_usr1_and_usr2_are_passed_on(self):
        process = self.start_ready(2, "trap 'echo one' USR1; trap 'echo two; exit 0' USR2; echo "
                                   "ready; "
                                      "while :; do sleep 60 & wait; done")
        process.send_signal(signal.SIGUSR1)
        for _ in range(2):
            self.assertEqual(process.stdout.readline(), b"one\n")
        process.send_signal(signal.SIGUSR2)
        result = self.finish(process)
        self.assertEqual((result.status, result.out), (0, "two\ntwo\n"), result)

    def test_stop_and_continue_reach_the_pes(self):
        process = self.start_ready(2, "echo ready; while :; do sleep 0.01; done")
        shells = [pid for pid in self.processes() if pid != process.pid]
        process.send_signal(signal.SIGTSTP)
        self.assertTrue(launching.wait_until(lambda: launching.state_of(process.pid) == "T"))
        self.assertTrue(launching.wait_until(
            lambda: [launching.state_of(pid) for pid in shells].count("T") >= 2))
        process.send_signal(signal.SIGCONT)
        self.assertTrue(launching.wait_until(
            lambda: all(launching.state_of(pid) != "T" for pid in self.processes())))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).status, 143)

    def test_ignored_hup_stays_ignored(self):
        def ignore_hup():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        process = self.start("-n", 1, "sh", "-c", "echo ready; sleep 0.5; echo done",
                             preexec_fn=ignore_hup)
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        time.sleep(0.1)
        result = self.finish(process)
        self.assertEqual((result.status, result.out), (0, "done\n"), result)


if __name__ == "__main__":
    launching.main()

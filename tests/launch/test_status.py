#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where is everybody: the table on SIGQUIT, by oshrun --status, and when MESHMEM_TIMEOUT ends a
wait."""
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import time
import unittest

import launching
from launching import OSHRUN

PROGRAM = os.environ["STATUS_PROGRAM"]
KERNELS = os.environ.get("STATUS_KERNELS", "")
WITH_NODES = os.environ.get("WITH_NODES", "")
WITH_UCX = os.environ.get("WITH_UCX", "")
# Of the text of the waits in status_program: what, and the function that has called.
AT = r"at 0x[0-9a-f]+ \((?:static data \+ 0x[0-9a-f]+|\w+)\)"
BY = r"; called in {} at (?:status_program\+0x[0-9a-f]+|status_program\.c:[0-9]+)"
TIMEOUT = "6"
# A process that has looked up its caller has mapped parts of the program and its libraries again.
SOME_MAPPINGS = 8


def leave_no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Status(launching.LaunchTest):
    def start_waiting(self, pes, *words, program=PROGRAM, nodes=1, **options):
        machines = () if nodes == 1 else ("--fake-nodes", nodes)
        process = self.start("-n", pes, *machines, program, *words, **options)
        for _ in range(pes):
            self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def status_of(self, pid):
        result = subprocess.run([OSHRUN, "--status", str(pid)], env=self.environment,
                                capture_output=True, text=True, timeout=60, check=False)
        return launching.Result(result.returncode, result.stdout, result.stderr, 0)

    def assert_table(self, pid, *patterns):
        """The table of a running oshrun comes to have these lines: a wait is shown when it has
        lasted."""
        result = None

        def is_there():
            nonlocal result
            result = self.status_of(pid)
            return all(re.search(pattern, result.out, re.M) for pattern in patterns)
        launching.wait_until(is_there, 60)
        self.assertEqual((result.status, result.err), (0, ""), result)
        for pattern in patterns:
            self.assertRegex(result.out, re.compile(pattern, re.M))
        return result.out

    def ask(self, process):
        """The lines that oshrun prints at SIGQUIT."""
        process.send_signal(signal.SIGQUIT)
        lines = [""]
        while "(SIGQUIT again within 2 s ends the job)" not in lines[-1]:
            lines.append(process.stderr.readline().decode())
            self.assertNotEqual(lines[-1], "", lines)
        return "".join(lines)

    def end(self, process):
        process.send_signal(signal.SIGUSR1)
        result = self.finish(process, 90)
        self.assertEqual(result.status, 0, result)
        self.assert_nothing_left()
        return result

    def test_a_missing_pe_is_found_and_the_job_goes_on(self):
        process = self.start_waiting(4, "barrier", 0)
        rows = (r"^  1\.\.3 +\d+\.\d s   waits for PE 0 in shmem_barrier_all \(SHMEM_TEAM_WORLD, "
                r"4 PEs\)"
                + BY.format("meet_the_others") + "$",
                r"^  0 +-   waits for nothing in meshmem")
        table = self.assert_table(
            process.pid, rf"^oshrun {process.pid}: where the 4 PEs of .*status_program are "
            r"after \d+\.\d s:$", *rows)
        self.assertEqual(len(table.splitlines()), 4, table)
        asked = self.ask(process)
        self.assertRegex(asked, "^oshrun: where the 4 PEs of ")
        for row in rows:
            self.assertRegex(asked, re.compile(row, re.M))
        self.end(process)

    def mappings_of_pes(self, oshrun):
        return sum(len(pathlib.Path(f"/proc/{pid}/maps").read_text("utf-8").splitlines())
                   for pid in launching.children_of(oshrun))

    def test_waits_look_up_their_callers_only_for_a_table(self):
        process = self.start_waiting(2, "barrier", 0)
        time.sleep(0.5)
        before = self.mappings_of_pes(process.pid)
        time.sleep(1.5)
        self.assertLess(self.mappings_of_pes(process.pid), before + SOME_MAPPINGS)
        self.assert_table(process.pid, r"^  1 +\d+\.\d s .*" + BY.format("meet_the_others") + "$")
        self.assertGreater(self.mappings_of_pes(process.pid), before + SOME_MAPPINGS)
        self.end(process)

    def test_a_second_quit_ends_the_job(self):
        process = self.start_waiting(2, "barrier", 0, preexec_fn=leave_no_core)
        self.ask(process)
        process.send_signal(signal.SIGQUIT)
        result = self.finish(process)
        self.assertEqual(result.status, 128 + signal.SIGQUIT, result)
        self.assert_nothing_left()

    def test_a_second_quit_ends_a_job_whose_pes_cannot_say_where_they_are(self):
        process = self.start_waiting(2, "start", 1, preexec_fn=leave_no_core)
        time.sleep(0.5)
        self.ask(process)
        process.send_signal(signal.SIGQUIT)
        result = self.finish(process)
        self.assertEqual(result.status, 128 + signal.SIGQUIT, result)
        self.assert_nothing_left()

    def test_a_quit_much_later_asks_again(self):
        process = self.start_waiting(2, "barrier", 0)
        self.ask(process)
        time.sleep(2.2)
        self.ask(process)
        self.end(process)

    def test_a_variable_is_shown_with_its_value_and_what_is_awaited(self):
        process = self.start_waiting(3, "variable")
        self.assert_table(process.pid,
                          rf"^  1\.\.2 .*waits for the variable {AT}, now 0, to be > 5, in "
                          r"shmem_long_wait_until" + BY.format("(wait_for_flag|main)"))
        self.end(process)
        process = self.start_waiting(2, "set")
        self.assert_table(process.pid, rf"^  1 .*waits for any of 4 variables from {AT[3:]} "
                          "on to be == 7, in shmem_long_wait_until_any")
        self.end(process)

    def test_a_lock_is_shown_with_its_holder_and_a_team_with_its_size(self):
        process = self.start_waiting(2, "lock")
        self.assert_table(process.pid, rf"^  1 .*waits for the lock {AT} in "
                          r"shmem_set_lock, which PE 0 holds")
        self.end(process)
        process = self.start_waiting(6, "team")
        self.assert_table(
            process.pid, r"^  3,5 .*waits for PE 1 in shmem_team_sync \(team 3, 3 PEs\)",
            r"^  1 +-   waits for nothing in meshmem",
            r"^  4 .*waits for PE 5 in shmem_barrier_all \(SHMEM_TEAM_WORLD, 6 PEs\)")
        self.end(process)

    def test_threads_have_rows_and_the_rest_are_counted(self):
        process = self.start_waiting(2, "threads")
        self.assert_table(process.pid,
                          rf"^  0\.\.1 .*waits for the variable {AT}.*\(30 such waits\)$",
                          r"^  0\.\.1 +-   \.\.\. and 5 more waits at the same time$")
        self.end(process)

    def test_a_deadlock_is_told_at_once(self):
        for how, (what, *rows) in enumerate((
                (r"PEs 0\.\.1 wait for each other in a circle",
                 r"0 .*the lock at \S+ \(locks \+ 0x8\) in shmem_set_lock, which PE 1 holds",
                 r"1 .*the lock at \S+ \(locks\) in shmem_set_lock, which PE 0 holds"),
                (r"PEs (0\.\.1|1\.\.2) wait for each other in a circle",  # there are two
                 r"0,2 .*for PE 1 in shmem_team_sync \(team 3, 3 PEs\)",
                 r"1 .*for PE [02] in shmem_team_sync \(team 4, 3 PEs\)"),
                ("every PE waits",
                 r"0 .*the variable at \S+ \(flag\), now 0, to be == 7, in shmem_long_wait_until",
                 r"1\.\.2 .*for PE 0 in shmem_barrier_all"))):
            result = self.oshrun("-n", 3, PROGRAM, "deadlock", how)
            self.assertEqual(result.status, 1, result)
            self.assertRegex(result.err, rf"^meshmem: PE [01] \(.*\): a deadlock: {what}")
            self.assertEqual(result.err.count("a deadlock"), 1, result)
            for row in rows:
                self.assertRegex(result.err, re.compile(rf"^  {row}", re.M))
            self.assert_nothing_left()

    def test_a_circle_of_locks_is_told_while_another_pe_computes(self):
        result = self.oshrun("-n", 4, PROGRAM, "deadlock", 5)
        self.assertEqual(result.status, 1, result)
        self.assertRegex(result.err, r"^meshmem: PE 1 \(.*\): a deadlock: PEs 1\.\.3 wait for "
                         "each other in a circle")
        self.assertEqual(result.err.count("a deadlock"), 1, result)
        for pe, holder in ((1, 3), (2, 1), (3, 2)):
            self.assertRegex(result.err, rf"(?m)^  {pe} .*in shmem_set_lock, which PE {holder} "
                             rf"holds; PE {holder} is before this one" + BY.format(r"\w+"))
        self.assertRegex(result.err, "(?m)^  0 +-   waits for nothing in meshmem")
        self.assert_nothing_left()

    def test_a_circle_of_syncs_and_locks_is_told_while_another_pe_computes(self):
        sync = r"in shmem_team_sync \(team \d+, \d PEs\)"
        for how, rows in ((7, (f"0 .*for PE 1 {sync}", f"1 .*for PE 2 {sync}")),
                          (8, (f"0 .*for PE 1 {sync}", "1 .*in shmem_set_lock, which PE 0 holds"))):
            result = self.oshrun("-n", 3, PROGRAM, "deadlock", how)
            self.assertEqual(result.status, 1, result)
            self.assertRegex(result.err, r"^meshmem: PE 0 \(.*\): a deadlock: PEs 0\.\.1 wait for "
                             "each other in a circle")
            self.assertEqual(result.err.count("a deadlock"), 1, result)
            for row in (*rows, "2 +-   waits for nothing in meshmem"):
                self.assertRegex(result.err, re.compile(rf"^  {row}", re.M))
            self.assert_nothing_left()

    def assert_deadlock_over_machines(self, pes, nodes, how, line, network=None):
        result = self.oshrun("-n", pes, "--fake-nodes", nodes, PROGRAM, "deadlock", how,
                             env={"MESHMEM_NETWORK": network} if network else {}, seconds=60)
        self.assertEqual(result.status, 1, result)
        self.assertRegex(result.err, rf"(?m)^meshmem: PE \d \(.*\): a deadlock: {line}")
        self.assertEqual(result.err.count("a deadlock"), 1, result)
        self.assert_nothing_left()

    @unittest.skipUnless(WITH_NODES, "needs several nodes")
    def test_a_deadlock_over_machines_is_told(self):
        circle = "PEs {} wait for each other in a circle; PE {} waits for {}"
        sync = r"PE \d in shmem_team_sync \(team \d, {} PEs\)"
        everyone = r"every PE waits, and .* end a wait; PE {} waits for PE \d in shmem_barrier_all"
        for pes, nodes, how, line in (
                (2, 2, 0, circle.format(r"0\.\.1", 1, "the lock at .*, which PE 0 holds")),
                (3, 3, 1, circle.format(r"(?:0\.\.1|1\.\.2)", r"\d", sync.format(3))),
                (4, 2, 1, r"PEs \S+ wait for each other in a circle"),
                (3, 3, 2, everyone.format(1)),
                (5, 2, 2, everyone.format(3)),
                (4, 2, 5, circle.format(r"1\.\.3", 2, "the lock at .*, which PE 1 holds")),
                (3, 2, 8, r"PEs 0\.\.1 wait for each other in a circle"),
                (3, 3, 8, circle.format(r"0\.\.1", 1, "the lock at .*, which PE 0 holds"))):
            with self.subTest(pes=pes, nodes=nodes, how=how):
                self.assert_deadlock_over_machines(pes, nodes, how, line)

    @unittest.skipUnless(WITH_UCX, "needs UCX")
    def test_a_deadlock_over_machines_is_told_by_ucx(self):
        for pes, nodes, how in ((2, 2, 0), (3, 2, 2)):
            self.assert_deadlock_over_machines(pes, nodes, how, "", "ucx")

    @unittest.skipUnless(WITH_NODES, "needs several nodes")
    def test_late_pes_of_busy_machines_are_no_deadlock(self):
        for nodes in (2, 3):
            result = self.oshrun("-n", 6, "--fake-nodes", nodes, PROGRAM, "deadlock", 10,
                                 seconds=90)
            self.assertEqual((result.status, result.err), (0, ""), result)

    @unittest.skipUnless(WITH_NODES, "needs several nodes")
    def test_waits_over_machines_that_somebody_may_end_are_no_deadlock(self):
        for pes, nodes, *words in ((2, 2, "deadlock", 3), (4, 2, "deadlock", 6),
                                   (3, 3, "deadlock", 9), (2, 2, "deadlock", 11)):
            process = self.start_waiting(pes, *words, nodes=nodes)
            time.sleep(6)
            self.assertEqual(self.end(process).err, "")

    def test_late_pes_of_a_busy_machine_are_no_deadlock(self):
        result = self.oshrun("-n", 12, PROGRAM, "deadlock", 10)
        self.assertEqual((result.status, result.err), (0, ""), result)

    def test_a_wait_that_has_ended_unseen_is_no_deadlock(self):
        process = self.start_waiting(2, "deadlock", 11)
        self.assert_table(process.pid, r"^  1 .*waits for PE 0 in shmem_sync_all",
                          r"^  0 +-   waits for nothing")
        # PE 0 lets PE 1 out of the first sync, and waits for it in the second. PE 1 cannot see
        # that, and its row still says that it waits for PE 0.
        stopped = launching.pe_of(process.pid, 1)
        os.kill(stopped, signal.SIGSTOP)
        process.send_signal(signal.SIGUSR1)
        self.assert_table(process.pid, r"^  0 .*waits for PE 1 in shmem_sync_all",
                          r"^  1 .*waits for PE 0 in shmem_sync_all")
        time.sleep(4)
        os.kill(stopped, signal.SIGCONT)
        result = self.finish(process, 60)
        self.assertEqual((result.status, result.err), (0, ""), result)

    # The same where PE 2, which waits for PE 1, may be on another machine.
    def stop_behind_lock(self, nodes):
        process = self.start_waiting(3, "deadlock", 12, nodes=nodes)
        self.assert_table(process.pid, r"^  1 .*waits for PE 0 in shmem_team_sync",
                          r"^  2 .*in shmem_set_lock, which PE 1 holds")
        time.sleep(3)  # PE 1 says that all that it has sent has arrived
        stopped = launching.pe_of(process.pid, 1)
        os.kill(stopped, signal.SIGSTOP)
        process.send_signal(signal.SIGUSR1)
        self.assert_table(process.pid, r"^  0 .*waits for PE 2 in shmem_team_sync",
                          r"^  1 .*waits for PE 0 in shmem_team_sync")
        time.sleep(6)
        os.kill(stopped, signal.SIGCONT)
        result = self.finish(process, 60)
        self.assertEqual((result.status, result.err), (0, ""), result)

    def test_a_wait_in_a_circle_that_has_ended_unseen_is_no_deadlock(self):
        self.stop_behind_lock(1)

    @unittest.skipUnless(WITH_NODES, "needs several nodes")
    def test_a_wait_that_has_ended_unseen_on_another_machine_is_no_deadlock(self):
        self.stop_behind_lock(2)

    def test_waits_that_somebody_may_end_are_no_deadlock(self):
        for pes, *words in ((2, "deadlock", 3), (2, "deadlock", 4), (4, "deadlock", 6),
                            (3, "deadlock", 9), (2, "barrier", 0)):
            process = self.start_waiting(pes, *words)
            time.sleep(5)
            self.assertEqual(self.end(process).err, "")

    @unittest.skipUnless(KERNELS, "needs devices that are processors")
    def test_a_kernel_whose_host_may_end_its_wait_is_no_deadlock(self):
        result = self.oshrun("-n", 2, KERNELS, "late_host")
        self.assertEqual((result.status, result.err), (0, ""), result)

    @unittest.skipUnless(KERNELS and WITH_NODES, "needs devices that are processors, and nodes")
    def test_hosts_whose_kernels_may_have_operations_under_way_are_no_deadlock(self):
        process = self.start_waiting(2, "host_variable", program=KERNELS, nodes=2)
        time.sleep(6)
        process.terminate()
        self.assertNotIn("a deadlock", self.finish(process).err)

    def test_start_up_is_shown(self):
        process = self.start_waiting(3, "start", 1)
        self.assert_table(process.pid, r"^  0,2 .*waits for all 3 PEs to call shmem_init",
                          r"^  1 +-   has not come to shmem_init$")
        self.end(process)

    def test_many_pes_are_one_line(self):
        process = self.start_waiting(64, "barrier", 63)
        table = self.assert_table(process.pid, r"^  63 +-   waits for nothing",
                                  r"^  0\.\.62 .*in shmem_barrier_all")
        self.assertEqual(len(table.splitlines()), 4, table)
        self.end(process)

    @unittest.skipUnless(KERNELS, "needs devices that are processors")
    def test_kernels_are_shown(self):
        process = self.start_waiting(2, "variable", program=KERNELS)
        self.assert_table(process.pid, r"^  0\.\.1 +\d+\.\d s   kernel wait_for_flags, block "
                          r"\([012],0,0\), thread \(\d+,0,0\) "
                          r"waits for the variable at 0x[0-9a-f]+ \(device memory \+ 0x[0-9a-f]+\)")
        self.end(process)
        for verb, kernel in (("barrier", "kernel meet"), ("reduce", "kernel sum_up"),
                             ("host_reduce", "a kernel launched by its address")):
            process = self.start_waiting(3, verb, program=KERNELS)
            self.assert_table(
                process.pid,
                rf"^  1\.\.2 +\d+\.\d s   {kernel}, block \(0,0,0\), thread \(\d+,0,0\) "
                r"waits for PE 0 in a collective \(SHMEM_TEAM_WORLD, 3 PEs\)",
                r"^  0 +-   waits for nothing")
            self.end(process)

    def test_programs_without_the_library_and_ended_pes_are_shown(self):
        process = self.start("-n", 2, "sh", "-c", "test $PMIX_RANK = 1 && exit 0; sleep 60")
        self.assert_table(process.pid, r"^  0 +-   has not come to shmem_init$",
                          r"^  1 +-   has ended with status 0$")
        process.terminate()
        self.finish(process)

    def test_other_processes_are_refused(self):
        ended = subprocess.Popen(["true"])
        ended.wait()
        for pid, why in ((ended.pid, "there is no such process"), (os.getpid(),
                                                                   "it is not an oshrun")):
            result = self.status_of(pid)
            self.assertEqual((result.status, result.out), (1, ""), result)
            self.assertRegex(result.err, rf"^oshrun: --status {pid}: {why}; give the process id "
                             r"of a running .*\n$")
        for words in (["0"], ["12x"], ["-3"], ["4711", "./a.out"]):
            result = self.oshrun("--status", *words)
            self.assertEqual(result.status, 2, result)
            self.assertRegex(result.err, "^oshrun: .*--status.*\n$")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"),
                         "needs root, to be somebody else")
    def test_other_users_are_refused(self):
        process = self.start_waiting(2, "barrier", 0)
        folder = os.path.join(self.folder, "bin")
        os.mkdir(folder)
        os.chmod(self.folder, 0o755)
        shutil.copy(OSHRUN, folder)  # where everybody may go
        words = ["setpriv", "--reuid", "65534", "--clear-groups", os.path.join(folder, "oshrun"),
                 "--status", str(process.pid)]
        result = subprocess.run(words, env=self.environment, capture_output=True, text=True,
                                timeout=60, check=False)
        self.assertEqual((result.returncode, result.stdout), (1, ""), result)
        self.assertIn("it is a process of another user", result.stderr)
        self.end(process)

    def assert_timeout_table(self, result):
        self.assertNotEqual(result.status, 0, result)
        line = rf"meshmem: PE [12] \(host .*\): waited {TIMEOUT} s for PE 0 in shmem_barrier_all " \
               r"\(SHMEM_TEAM_WORLD, 3 PEs\); the limit is MESHMEM_TIMEOUT" + \
               BY.format("meet_the_others") + r"\n"
        table = r"meshmem: where the 3 PEs of .*status_program are after .* s:\n"
        self.assertRegex(result.err, f"(?s){line}.*{table}")
        self.assertEqual(len(re.findall(table, result.err)), 1, result)
        self.assertRegex(result.err, re.compile(r"^  0 +-   waits for nothing in meshmem", re.M))
        self.assertRegex(
            result.err,
            re.compile(
                r"^  1\.\.2 .*waits for PE 0 in shmem_barrier_all .*" +
                BY.format("meet_the_others"), re.M))

    def test_a_timeout_prints_the_table_once(self):
        result = self.oshrun("-n", 3, PROGRAM, "barrier", 0, env={"MESHMEM_TIMEOUT": TIMEOUT},
                             seconds=90)
        self.assert_timeout_table(result)
        self.assert_nothing_left()

    @unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
    def test_a_timeout_prints_the_table_under_mpirun(self):
        words = ["timeout", "-k", "2", "80", "mpirun", "--allow-run-as-root", "--oversubscribe",
                 "-n", "3", PROGRAM, "barrier", "0"]
        settings = {"MESHMEM_TIMEOUT": TIMEOUT, "OMPI_MCA_odls_base_num_threads": "0"}
        result = subprocess.run(words, env=dict(self.environment, **settings), capture_output=True,
                                check=False, stdin=subprocess.DEVNULL, timeout=90)
        self.assert_timeout_table(launching.Result(result.returncode, result.stdout.decode(),
                                                   result.stderr.decode(), 0))


if __name__ == "__main__":
    launching.main()

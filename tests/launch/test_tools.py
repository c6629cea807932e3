#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tools that look over a program's shoulder, as docs/debugging.md says to use them: valgrind, gdb,
the sanitizers and MESHMEM_ABORT=core.

Invariant: each mistake is reported with the function that makes it, and right programs are not
spoken of at all. Tests of a tool that the machine lacks are skipped.
"""
import os
import shutil
import subprocess
import unittest

import launching

PLAIN, KERNELS = os.environ["MISTAKES"], os.environ["KERNEL_MISTAKES"]
ADDRESS, KERNELS_ADDRESS = os.environ["MISTAKES_ADDRESS"], os.environ["KERNEL_MISTAKES_ADDRESS"]
THREAD, KERNELS_THREAD = os.environ["MISTAKES_THREAD"], os.environ["KERNEL_MISTAKES_THREAD"]
SUPPRESSIONS, THREAD_SUPPRESSIONS = os.environ["SUPPRESSIONS"], os.environ["THREAD_SUPPRESSIONS"]

SECONDS = 200
RIGHT = "PE ended\n" * 2
IN_THE_HEAP = ("after_free", "past_end", "below", "never_allocated", "after_finalize")


def valgrind(*words):
    return ["valgrind", "-q", "--leak-check=full", "--error-exitcode=9",
            f"--suppressions={SUPPRESSIONS}", *words]


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def rank_of(pid):
    ranks = [word for word in launching.environment_of(pid) if word.startswith(b"PMIX_RANK=")]
    return int(ranks[0].split(b"=")[1])


class Tool(launching.LaunchTest):
    def run_right(self, *words):
        result = self.oshrun("-n", 2, *words, "right", seconds=SECONDS)
        self.assertEqual((result.status, result.err, result.out), (0, "", RIGHT), result)

    def assert_found(self, result, status, *texts):
        self.assertEqual(result.status, status, result)
        for text in texts:
            self.assertIn(text, result.err, result)


@unittest.skipUnless(shutil.which("valgrind"), "there is no valgrind")
class Valgrind(Tool):
    def test_says_nothing_of_a_right_program(self):
        self.run_right(*valgrind(PLAIN))

    def test_says_nothing_of_right_kernels(self):
        self.run_right(*valgrind(KERNELS))

    def test_finds_mistakes_in_the_heap(self):
        blocks = {"after_free": "80 bytes inside a block of size 8,000 free'd",
                  "past_end": "0 bytes after a block of size 64 alloc'd",
                  "below": "8 bytes before a block of size 64 alloc'd"}
        for mistake, block in blocks.items():
            with self.subTest(mistake):
                result = self.oshrun("-n", 1, *valgrind(PLAIN), mistake, seconds=SECONDS)
                self.assert_found(result, 9, "Invalid ", "make (mistakes.c:", block)

    def test_finds_mistakes_in_kernels(self):
        result = self.oshrun("-n", 1, *valgrind(KERNELS), "past_end", seconds=SECONDS)
        self.assert_found(result, 9, "Invalid write",
                          "tell_neighbour(long*, int) (kernel_mistakes.hip:")

    def test_leaves_all_pes_the_same_offsets_when_it_runs_one(self):
        script = f'[ "$PMIX_RANK" = 1 ] && exec valgrind -q {PLAIN} offsets; exec {PLAIN} offsets'
        result = self.oshrun("-n", 2, "sh", "-c", script, seconds=SECONDS)
        self.assertEqual((result.status, result.err), (0, ""), result)
        offsets = [[line.split()[1] for line in result.out.splitlines()
                    if line.startswith(str(pe))] for pe in range(2)]
        self.assertEqual(len(offsets[0]), 23, result)
        self.assertEqual(offsets[0], offsets[1], result)


class AddressSanitizer(Tool):
    def test_says_nothing_of_a_right_program(self):
        self.run_right(ADDRESS)

    def test_says_nothing_of_right_kernels(self):
        self.run_right(KERNELS_ADDRESS)

    def test_finds_mistakes_in_the_heap(self):
        for mistake in (*IN_THE_HEAP, "put_from_freed"):
            with self.subTest(mistake):
                result = self.oshrun("-n", 2, ADDRESS, mistake, seconds=SECONDS)
                self.assert_found(result, 1, "AddressSanitizer: use-after-poison", "in make ",
                                  "mistakes.c:")

    def test_still_finds_mistakes_in_global_variables(self):
        result = self.oshrun("-n", 2, ADDRESS, "global", seconds=SECONDS)
        self.assert_found(result, 1, "AddressSanitizer: global-buffer-overflow",
                          "global variable 'global'")

    def test_finds_mistakes_in_kernels(self):
        result = self.oshrun("-n", 2, KERNELS_ADDRESS, "past_end", seconds=SECONDS)
        self.assert_found(result, 1, "AddressSanitizer: use-after-poison", "in store(long*, long)",
                          "in tell_neighbour")


class ThreadSanitizer(Tool):
    def test_says_nothing_of_a_right_program(self):
        self.run_right(THREAD)

    def test_says_nothing_of_right_kernels(self):
        self.run_right(KERNELS_THREAD)

    def test_what_shmem_h_says_is_what_the_file_says(self):
        with open(THREAD_SUPPRESSIONS, encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith("#")]
        with open(THREAD, "rb") as program:
            self.assertIn("".join(lines).encode() + b"\0", program.read())

    def test_finds_races_of_the_program(self):
        result = self.oshrun("-n", 2, THREAD, "race", seconds=SECONDS)
        self.assert_found(result, 66, "ThreadSanitizer: data race", "in send", "mistakes.c:")


@unittest.skipUnless(shutil.which("gdb"), "there is no gdb")
class Gdb(Tool):
    def debug(self, *words, commands=()):
        given = [word for command in commands for word in ("-ex", command)]
        return self.oshrun("-n", 1, "gdb", "-q", "-batch", *given, "--args", *words,
                           seconds=SECONDS)

    def test_stops_in_a_kernel_and_shows_who_called_it(self):
        result = self.debug(KERNELS, "right",
                            commands=("break tell_neighbour", "run", "bt", "delete", "continue"))
        self.assertEqual(result.status, 0, result)
        self.assertIn("#0  tell_neighbour (inbox=", result.out, result)
        self.assertIn("hip_on_cpu::BlockRunner::fiber_body", result.out, result)
        self.assertIn("exited normally", result.out, result)

    def test_shows_where_a_waiting_pe_is(self):
        process = self.start("-n", 2, PLAIN, "wait")
        pes = lambda: [pid for pid in self.processes() if name_of(pid) == os.path.basename(PLAIN)]
        self.assertTrue(launching.wait_until(lambda: len(pes()) == 2, seconds=SECONDS))
        pe0 = min(pes(), key=rank_of)
        shown = lambda: subprocess.run(["gdb", "-q", "-batch", "-p", str(pe0), "-ex", "bt"],
                                       capture_output=True, text=True, timeout=SECONDS).stdout
        found = launching.wait_until(lambda: 'make (mistake=' in shown()
                                     and "wait_until" in shown(), seconds=SECONDS)
        last = shown()
        process.terminate()
        self.finish(process)
        self.assertTrue(found, last)

    def test_takes_commands_from_standard_input(self):
        # As PE 0's standard input, which is the launcher's.
        result = self.oshrun("-n", 1, "gdb", "-q", "--args", PLAIN, "right",
                             given=b"run\nprint 6*7\nquit\n", seconds=SECONDS)
        self.assertIn("exited normally", result.out, result)
        self.assertIn("$1 = 42", result.out, result)


class AbortByCore(Tool):
    def aborts(self, *words, **more):
        return self.oshrun("-n", 3, *words, seconds=SECONDS, env=dict(MESHMEM_ABORT="core", **more))

    def assert_aborted(self, result, *texts):
        self.assertNotEqual(result.status, 0, result)
        self.assertIn("was killed by signal 6 (Aborted)", result.err, result)
        self.assertEqual(result.err.count("oshrun: "), 1, result)
        self.assertEqual(result.err.count("the stack, innermost call first:"), 1, result)
        for text in texts:
            self.assertIn(text, result.err, result)

    def test_shows_the_stack_of_the_pe_that_met_an_error(self):
        self.assert_aborted(self.aborts(PLAIN, "far_pe"), "shmem_long_p: PE 1000 is not in 0..2",
                            " make at ", "mistakes.c:", " main at ")

    def test_shows_the_stack_of_a_wait_that_lasted_too_long(self):
        result = self.aborts(PLAIN, "wait", MESHMEM_TIMEOUT="5")
        self.assertNotEqual(result.status, 0, result)
        self.assertIn("waited 5 s", result.err, result)
        self.assertIn(" make at ", result.err, result)

    def test_shows_the_stack_of_a_kernel_that_fails(self):
        result = self.aborts(KERNELS, "trap")
        self.assertNotEqual(result.status, 0, result)
        self.assertEqual(result.err.count("meshmem: kernel tell_neighbour ended by: trap"),
                         1, result)
        self.assertIn(" tell_neighbour at ", result.err, result)

    def test_writes_a_core_file_where_the_machine_does(self):
        with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as file:
            pattern = file.read().strip()
        if pattern != "core":
            self.skipTest(f"core files go to {pattern}")
        limit = f"cd {self.folder}; ulimit -c unlimited; exec {PLAIN} far_pe"
        result = self.aborts("sh", "-c", limit, SHMEM_SYMMETRIC_SIZE="16m")
        self.assertIn("was killed by signal 6 (Aborted)", result.err, result)
        cores = [name for name in os.listdir(self.folder) if name.startswith("core")]
        self.assertEqual(len(cores), 1, result)

    def test_is_off_by_default_and_mentioned_once(self):
        result = self.oshrun("-n", 2, PLAIN, "far_pe", seconds=SECONDS)
        self.assertEqual(result.status, 1, result)
        self.assertNotIn("the stack", result.err, result)
        self.assertRegex(result.err, r"\noshrun: PE 0 .* ended the job with status 1; ending the "
                         r"other PE \(MESHMEM_ABORT=core shows its stack\)\n$")
        self.assertEqual(result.err.count("MESHMEM_ABORT"), 1, result)

    def test_is_not_mentioned_to_those_who_know_it_or_cannot_use_it(self):
        for setting in ({"MESHMEM_ABORT": "exit"}, {"SHMEM_SYMMETRIC_SIZE": "200t"}):
            result = self.oshrun("-n", 2, PLAIN, "far_pe", seconds=SECONDS, env=setting)
            self.assertEqual(result.status, 1, result)
            self.assertNotIn("MESHMEM_ABORT", result.err, result)

    def test_leaves_a_line_that_names_the_place_of_the_call(self):
        result = self.oshrun("-n", 2, PLAIN, "far_pe", seconds=SECONDS)
        self.assertRegex(result.err,
                         r"PE 1000 is not in 0..1; called in \w+ at mistakes(?:\.c:\d+|\+0x\w+)\n")


if __name__ == "__main__":
    launching.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A PE's process that ends, or begins, in an odd way, and its children."""
import os
import signal
import subprocess

import launching

EXITS_PROGRAM = os.environ["EXITS_PROGRAM"]


class ChildrenOfFork(launching.LaunchTest):
    """A child has a PE's memory, but is not a PE."""

    def outlive(self, pes, how, status):
        result = self.oshrun("-n", pes, EXITS_PROGRAM, how, env={"MESHMEM_TIMEOUT": "10"})
        self.assertEqual((result.status, result.out),
                         (0, f"heap 42, last PE 1, child {status}\n" * pes), result)
        self.assert_nothing_left()
        return result

    def test_a_finalize_at_the_end_of_a_child_leaves_the_pes_alone(self):
        for pes in (1, 3):
            self.assertEqual(self.outlive(pes, "exec_fails", 7).err, "")

    def test_a_mistake_in_a_child_ends_the_child(self):
        result = self.outlive(2, "child_mistake", 1)
        self.assertEqual(result.err.count("shmem_long_p: PE 2 is not in 0..1"), 2, result)

    def test_a_global_exit_in_a_child_ends_the_child(self):
        self.assertEqual(self.outlive(2, "child_global_exit", 7).err, "")

    def test_a_child_cannot_start(self):
        for how in ("child_init", "child_init_thread"):
            for pes in (1, 2):
                self.assertEqual(self.outlive(pes, how, 1).err.count("called by a child of fork"),
                                 pes)


class OwnEnds(launching.LaunchTest):
    def test_s6_a_global_exit_does_not_wait_for_a_thread_that_reads(self):
        result = self.oshrun("-n", 2, EXITS_PROGRAM, "reads", seconds=20)
        self.assertEqual((result.status, result.out), (7, "kept in a buffer"), result)
        self.assert_nothing_left()

    def test_what_is_printed_before_a_mistake_comes_before_its_line(self):
        result = self.oshrun("-n", 1, EXITS_PROGRAM, "mistake")
        self.assertEqual((result.status, result.out), (1, "kept in a buffer\n"), result)
        both = self.oshrun("-n", 1, "sh", "-c", f"exec {EXITS_PROGRAM} mistake 2>&1")
        self.assertRegex(both.out, r"^kept in a buffer\nmeshmem: .*PE 1 is not in 0\.\.0")

    def test_a_mistake_is_told_where_nobody_reads_what_was_printed(self):
        reads, writes = os.pipe()
        os.close(reads)
        result = subprocess.run([EXITS_PROGRAM, "mistake"], stdout=writes, stderr=subprocess.PIPE,
                                text=True, check=False, timeout=60)
        os.close(writes)
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stderr, r"^meshmem: .*PE 1 is not in 0\.\.0")

    def test_a_pe_that_has_finalized_may_end_by__exit(self):
        result = self.oshrun("-n", 3, EXITS_PROGRAM, "leaves")
        self.assertEqual((result.status, result.err), (0, ""), result)
        self.assertEqual(sorted(result.out.splitlines()), ["PE 1", "PE 2"])

    def test_a_main_that_returns_without_finalize_is_an_error(self):
        line = r"meshmem: PE \d+ \(.*\): the program has ended without shmem_finalize; call it .*"
        # All at once, one PE while others work, one that is late, and while another thread reads;
        # also without a launcher.
        for pes, who in ((1, "all"), (4, "all"), (4, "first"), (4, "last"), (4, "late"),
                         (2, "reading")):
            for options in ([], ["--fake-nodes", 2] if pes > 1 else []):
                result = self.oshrun("-n", pes, *options, EXITS_PROGRAM, "returns", who)
                said = [text for text in result.err.splitlines() if text.startswith("meshmem: ")]
                self.assertEqual((result.status, len(said)), (1, 1), result)
                self.assertRegex(said[0], f"^{line}$")
                self.assert_nothing_left()
        alone = subprocess.run([EXITS_PROGRAM, "returns", "all"], capture_output=True, text=True,
                               check=False)
        self.assertEqual((alone.returncode, alone.stdout), (1, "PE 0\n"))
        self.assertRegex(alone.stderr, f"^{line}\n$")

    def test_each_init_needs_a_finalize(self):
        result = self.oshrun("-n", 2, EXITS_PROGRAM, "returns", "nested")
        self.assertEqual(result.status, 1, result)
        self.assertIn("has called shmem_finalize less often than shmem_init", result.err)

    def test_an_end_by__exit_without_finalize_is_an_error(self):
        for pes in (1, 3):
            result = self.oshrun("-n", pes, EXITS_PROGRAM, "returns", "at_once")
            self.assertEqual(result.status, 1, result)
            self.assertRegex(result.err,
                             r"^oshrun: PE \d \(pid \d+\) ended without shmem_finalize.*\n$")

    def test_streams_reach_other_nodes_until_a_finalize_after_main(self):
        for options in (["-n", 2], ["-n", 3, "--fake-nodes", 3]):
            result = self.oshrun(*options, EXITS_PROGRAM, "streams_last",
                                 env={"MESHMEM_TIMEOUT": "20"})
            self.assertEqual((result.status, result.err), (0, ""), result)
            self.assertEqual(sorted(result.out.splitlines()),
                             [f"PE {pe}" for pe in range(options[1])])

    def test_s4_a_start_that_fails_leaves_the_library_closed(self):
        table = os.path.join(self.folder, "table")
        with open(table, "w", encoding="ascii") as file:
            file.write("no table\n")
        for setting in ({"MESHMEM_TUNING": table}, {"MESHMEM_TRACE": "/nonexistent/trace"}):
            for options in (["-n", 1], ["-n", 3], ["-n", 4, "--fake-nodes", 2]):
                result = self.oshrun(*options, EXITS_PROGRAM, "cannot_start", env=setting)
                expected = "refused 1, initialized 0\n" * 2 * options[1]
                self.assertEqual((result.status, result.out), (0, expected), result)

    def test_s4_a_pe_that_cannot_start_where_others_can_ends_the_job(self):
        script = ("test $PMIX_RANK = 1 && export MESHMEM_TRACE=/nonexistent/trace; exec "
                  f"{EXITS_PROGRAM} cannot_start")
        result = self.oshrun("-n", 3, "sh", "-c", script,
                             env={"MESHMEM_TRACE": os.path.join(self.folder, "trace")})
        self.assertEqual((result.status, result.out), (1, ""), result)
        self.assertRegex(result.err, r"PE 1 .*: shmem_init_thread: "
                         r"MESHMEM_TRACE=/nonexistent/trace: No such file")


class BadAddresses(launching.LaunchTest):
    """The address and the stack are told, and the process ends as it would have."""
    START_OF_STACK = r"\): the stack, innermost call first:\n"

    def check(self, how, what, functions, **environment):
        result = self.oshrun("-n", 1, EXITS_PROGRAM, how, env=environment)
        self.assertEqual(result.status, 128 + signal.SIGSEGV, result)
        stack = self.START_OF_STACK
        for number, function in enumerate(functions):
            stack += rf"  #{number} +0x[0-9a-f]+ {function} at exits_program.*\n"
        self.assertRegex(result.err, rf"PE 0 \(.*\): Segmentation fault at {what}\n(.|\n)*{stack}")
        self.assert_nothing_left()
        return result

    def test_of_no_memory(self):
        self.check("bad_address", "0x10: the program has no such memory",
                   ("use_bad_memory", "main"))

    def test_of_a_full_stack(self):
        self.check("full_stack", "0x[0-9a-f]+: the stack is full .*", ("recurse",) * 5)

    def test_of_a_full_stack_of_another_thread(self):
        self.check("full_stack_of_thread", "0x[0-9a-f]+: the stack is full .*", ("recurse",) * 5)

    def test_behind_the_heap(self):
        self.check("behind_heap",
                   r"0x[0-9a-f]+: [0-9]{1,4} bytes behind the symmetric heap of PE 0",
                   ("use_bad_memory", "main"), SHMEM_SYMMETRIC_SIZE="8M")

    def test_in_a_signal_handler_of_the_program(self):
        result = self.check("bad_handler", "0x10: the program has no such memory",
                            ("use_bad_memory_in_handler",))
        self.assertRegex(result.err, "(?m)^  #[0-9]+ +0x[0-9a-f]+ be_interrupted at exits_program")

    def test_a_mistake_in_a_signal_handler_shows_the_handler_too(self):
        result = self.oshrun("-n", 1, EXITS_PROGRAM, "mistake_in_handler",
                             env={"MESHMEM_ABORT": "core"})
        self.assertEqual(result.status, 128 + signal.SIGABRT, result)
        self.assertRegex(result.err, self.START_OF_STACK + r"(.*\n)*.* make_a_mistake_in_handler"
                         r" at exits_program.*\n(.*\n)*.* be_interrupted at exits_program")


class ClosedDescriptors(launching.LaunchTest):
    def test_what_a_program_prints_does_not_go_into_the_library(self):
        for options in ([], ["--fake-nodes", 2]):
            for closed, fds in (("<&-", [0]), (">&-", [1]), ("2>&-", [2]),
                                ("<&- >&- 2>&-", [0, 1, 2])):
                result = self.oshrun("-n", 2, *options, "sh", "-c",
                                     f"exec {EXITS_PROGRAM} descriptors {self.folder} {closed}")
                self.assertEqual((result.status, result.err), (0, ""), result)
                for pe in ("0", "1"):
                    with open(os.path.join(self.folder, pe), encoding="ascii") as file:
                        targets = file.read().splitlines()
                    self.assertEqual([targets[fd] for fd in fds], ["/dev/null"] * len(fds),
                                     f"{closed}: {targets}")


if __name__ == "__main__":
    launching.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tools that look over a program's shoulder, as docs/debugging.md says to use them: valgrind and AddressSanitizer.

Invariant: each mistake is reported with the function that makes it, and right programs are not spoken of at all. What
a machine lacks is skipped.
"""
import os
import shutil
import unittest

import launching

PLAIN, KERNELS = os.environ["MISTAKES"], os.environ["KERNEL_MISTAKES"]
ADDRESS, KERNELS_ADDRESS = os.environ["MISTAKES_ADDRESS"], os.environ["KERNEL_MISTAKES_ADDRESS"]
SUPPRESSIONS = os.environ["SUPPRESSIONS"]

SECONDS = 200
RIGHT = "PE ended\n" * 2
IN_THE_HEAP = ("after_free", "past_end", "below", "never_allocated", "after_finalize")


def valgrind(*words):
    return ["valgrind", "-q", "--leak-check=full", "--error-exitcode=9", f"--suppressions={SUPPRESSIONS}", *words]


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
        self.assert_found(result, 9, "Invalid write", "tell_neighbour(long*, int) (kernel_mistakes.hip:")

    def test_leaves_all_pes_the_same_offsets_when_it_runs_one(self):
        script = f'[ "$PMIX_RANK" = 1 ] && exec valgrind -q {PLAIN} offsets; exec {PLAIN} offsets'
        result = self.oshrun("-n", 2, "sh", "-c", script, seconds=SECONDS)
        self.assertEqual((result.status, result.err), (0, ""), result)
        offsets = [[line.split()[1] for line in result.out.splitlines() if line.startswith(str(pe))] for pe in range(2)]
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
                self.assert_found(result, 1, "AddressSanitizer: use-after-poison", "in make ", "mistakes.c:")

    def test_still_finds_mistakes_in_global_variables(self):
        result = self.oshrun("-n", 2, ADDRESS, "global", seconds=SECONDS)
        self.assert_found(result, 1, "AddressSanitizer: global-buffer-overflow", "global variable 'global'")

    def test_finds_mistakes_in_kernels(self):
        result = self.oshrun("-n", 2, KERNELS_ADDRESS, "past_end", seconds=SECONDS)
        self.assert_found(result, 1, "AddressSanitizer: use-after-poison", "in store(long*, long)", "in tell_neighbour")


if __name__ == "__main__":
    launching.main()

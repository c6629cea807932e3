#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MESHMEM_CHECK=races: mistakes are found with both calls, and programs that are right stay silent."""
import os
import re
import unittest

import launching

PROGRAM = os.environ.get("RACES_PROGRAM", "")
# The routines whose calls race, in any order.
MISTAKES = {
    "put_get": ("shmem_long_put", "shmem_long_get"),
    "p_g": ("shmem_long_p", "shmem_long_g"),
    "put_put": ("shmem_long_put", "shmem_putmem"),
    "get_p": ("shmem_getmem", "shmem_int_p"),
    "iput_get": ("shmem_long_iput", "shmem_long_g"),
    "sync_without_quiet": ("shmem_long_put_nbi", "shmem_long_get"),
    "team_sync_without_quiet": ("shmem_long_put", "shmem_long_get"),
    "signal_of_another_put": ("shmem_long_put", "shmem_long_get"),
    "flag_without_fence": ("shmem_long_put", "shmem_long_get"),
    "flag_before_data": ("shmem_long_put", "shmem_long_get"),
    "dest_before_quiet": ("shmem_long_get_nbi", "shmem_long_put"),
    "source_before_quiet": ("shmem_long_put_nbi", "shmem_long_get"),
    "atomic_get": ("shmem_long_atomic_add", "shmem_long_g"),
    "atomic_put": ("shmem_long_atomic_fetch_inc", "shmem_long_put"),
    "signal_get": ("shmem_signal_set", "shmem_uint64_g"),
    "dest_of_reduction": ("shmem_long_sum_reduce", "shmem_long_get"),
    "source_of_reduction": ("shmem_long_put", "shmem_long_max_reduce"),
    "dest_of_collect": ("shmem_long_fcollect", "shmem_long_p"),
    "source_of_alltoallv": ("shmem_long_p", "shmemx_long_alltoallv"),
    "dest_of_alltoallv": ("shmemx_long_alltoallv", "shmem_long_get"),
    "dest_of_alltoallv_of_bytes": ("shmemx_alltoallvmem", "shmem_char_p"),
    "lock_of_one": ("shmem_long_put", "shmem_long_put"),
    "wrong_signal": ("shmem_long_put_signal_nbi", "shmem_long_get"),
    "count_without_quiet": ("shmem_long_put", "shmem_long_get"),
    "told_by_a_third": ("shmem_long_put", "shmem_long_get"),
    "no_answer": ("shmem_long_put_signal", "shmem_long_get"),
}
OF_ONE_PE = ("dest_before_quiet", "source_before_quiet")


class TestRaces(launching.LaunchTest):
    def setUp(self):
        super().setUp()
        self.environment["MESHMEM_CHECK"] = "races"
        self.words = ()

    def check_mistake(self, name, n):
        result = self.oshrun(*self.words, "-n", n, PROGRAM, name)
        self.assertEqual(result.status, 1, result)
        told = re.findall(r"a race for [^\n]*\n  (?:written|read)[a-z ]* by PE (\d+): (\w+) in ([^\n]*)\n"
                          r"  (?:written|read)[a-z ]* by PE (\d+): (\w+) in ([^\n]*)\n", result.err)
        self.assertEqual(len(told), 1, result)
        pe, routine, place, other_pe, other, other_place = told[0]
        self.assertEqual(sorted((routine, other)), sorted(MISTAKES[name]), result)
        self.assertEqual(pe == other_pe, name in OF_ONE_PE, result)
        for where in (place, other_place):
            self.assertIn("races_program+0x", where)
        self.assertIn("MESHMEM_CHECK=races: 1 race; the job ends with status 1", result.err)

    def test_finds_each_mistake(self):
        for name in MISTAKES:
            if name != "told_by_a_third":
                with self.subTest(name):
                    self.check_mistake(name, 2)

    def test_finds_what_a_third_pe_tells(self):
        self.check_mistake("told_by_a_third", 3)

    def test_programs_that_are_right_are_silent(self):
        for n in (2, 3, 4):
            with self.subTest(n):
                result = self.oshrun("-n", n, PROGRAM, "all", "right")
                self.assertEqual((result.status, result.err), (0, ""), result)

    def test_fake_nodes_share_the_shadow(self):
        for network in ("auto", "ucx") if "WITH_UCX" in os.environ else ("auto",):
            with self.subTest(network):
                self.environment["MESHMEM_NETWORK"] = network
                self.words = ("--fake-nodes", 2)
                for name in ("put_get", "flag_without_fence", "wrong_signal"):
                    self.check_mistake(name, 2)
                result = self.oshrun(*self.words, "-n", 3, PROGRAM, "all", "right")
                self.assertEqual((result.status, result.err), (0, ""), result)

    def test_refusals(self):
        for words, environment, line in (
                (["-n", 2], {"MESHMEM_TRACE": os.path.join(self.folder, "t")}, "one job has one of them"),
                (["-n", 2], {"MESHMEM_CHECK": "race"}, "MESHMEM_CHECK=race is not valid")):
            with self.subTest(line):
                result = self.oshrun(*words, PROGRAM, "put_get", env=environment)
                self.assertNotEqual(result.status, 0, result)
                self.assertIn(line, result.err)


if __name__ == "__main__":
    launching.main()

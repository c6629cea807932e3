#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MESHMEM_CHECK=races: mistakes are found with both calls, and programs that are right stay silent."""
import os
import re
import shutil
import subprocess
import tempfile
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
    "flag_without_context_fence": ("shmem_ctx_long_put_nbi", "shmem_long_get"),
    "flag_before_data": ("shmem_long_put", "shmem_long_get"),
    "dest_before_quiet": ("shmem_long_get_nbi", "shmem_long_put"),
    "dest_before_destroy": ("shmem_ctx_long_get_nbi", "shmem_long_put"),
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
    "requests_of_nothing": ("shmem_long_g", "shmem_long_p"),
    "no_answer": ("shmem_long_put_signal", "shmem_long_get"),
}
# Where a PE waits by loads of its own, which are not seen.
MISTAKES_OF_POLLING = {
    "own_loads": ("shmem_long_put", "shmem_long_get"),
    "own_loads_of_signal": ("shmem_long_put", "shmem_long_get"),
    **{name: MISTAKES[name] for name in ("put_get", "sync_without_quiet", "signal_of_another_put", "dest_before_quiet",
                                         "source_before_quiet", "dest_of_reduction", "told_by_a_third")},
}
# What a program does itself.
LOAD, STORE, ATOMIC = (f"{what} of the program" for what in ("a load", "a store", "an atomic"))
MISTAKES_OF_LOADS = {
    "load_before_quiet": (LOAD, "shmem_long_get_nbi"),
    "store_before_quiet": (STORE, "shmem_long_put_nbi"),
    "copy_before_quiet": (LOAD, "shmem_long_get_nbi"),
    "struct_before_quiet": (LOAD, "shmem_getmem_nbi"),
    "store_and_put": (STORE, "shmem_long_put"),
    "load_and_put": (LOAD, "shmem_long_put"),
    "bytes_of_a_cell": (STORE, "shmem_char_p"),
    "store_through_pointer": (STORE, "shmem_long_g"),
    "load_through_pointer": (LOAD, STORE),
    "load_before_signal": (LOAD, "shmem_long_put_signal"),
    "source_of_reduction": (STORE, "shmem_long_sum_reduce"),
    "dest_of_reduction": (STORE, "shmem_long_sum_reduce"),
    "atomic_flag_without_fence": (LOAD, "shmem_long_put"),
    "volatile_flag_without_fence": (LOAD, "shmem_long_put"),
    "atomic_store_before_data": (LOAD, STORE),
    "lock_of_one": (STORE, STORE),
    "atomic_and_put": (ATOMIC, "shmem_long_put"),
}
OF_ONE_PE = ("dest_before_quiet", "dest_before_destroy", "source_before_quiet", "load_before_quiet", "store_before_quiet",
             "copy_before_quiet", "struct_before_quiet")
OSHCC, SOURCE = os.environ.get("OSHCC", ""), os.path.join(os.path.dirname(os.path.abspath(__file__)), "races_loads.c")


class RacesTest(launching.LaunchTest):
    program, mistakes = PROGRAM, MISTAKES

    def setUp(self):
        super().setUp()
        self.environment["MESHMEM_CHECK"] = "races"
        self.words = ()

    def check_mistake(self, name, n):
        result = self.oshrun(*self.words, "-n", n, self.program, name)
        self.assertEqual(result.status, 1, result)
        told = re.findall(r"a race for [^\n]*\n  (?:written|read)[a-z ]* by PE (\d+): ([\w ]+?) in ([^\n]*)\n"
                          r"  (?:written|read)[a-z ]* by PE (\d+): ([\w ]+?) in ([^\n]*)\n", result.err)
        self.assertEqual(len(told), 1, result)
        pe, routine, place, other_pe, other, other_place = told[0]
        self.assertEqual(sorted((routine, other)), sorted(self.mistakes[name]), result)
        self.assertEqual(pe == other_pe, name in OF_ONE_PE, result)
        for where in (place, other_place):
            self.assertIn(f"{os.path.basename(self.program)}+0x", where)
        self.assertIn("MESHMEM_CHECK=races: 1 race; the job ends with status 1", result.err)

    def check_silence(self, *words):
        result = self.oshrun(*words, self.program, "all", "right")
        self.assertEqual((result.status, result.err), (0, ""), result)


class TestRaces(RacesTest):
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
                self.check_silence("-n", n)

    @unittest.skipUnless("RACES_STREAMS" in os.environ, "kernels of this target need GPUs")
    def test_what_streams_and_kernels_order_is_no_race(self):
        for program in ("RACES_STREAMS", "RACES_KERNELS"):
            with self.subTest(program):
                result = self.oshrun("-n", 3, os.environ[program])
                self.assertEqual((result.status, result.err), (0, ""), result)

    def test_fake_nodes_share_the_shadow(self):
        for network in ("auto", "ucx") if "WITH_UCX" in os.environ else ("auto",):
            with self.subTest(network):
                self.environment["MESHMEM_NETWORK"] = network
                self.words = ("--fake-nodes", 2)
                for name in ("put_get", "flag_without_fence", "wrong_signal"):
                    self.check_mistake(name, 2)
                self.check_silence(*self.words, "-n", 3)

    def test_refusals(self):
        for words, environment, line in (
                (["-n", 2], {"MESHMEM_TRACE": os.path.join(self.folder, "t")}, "one job has one of them"),
                (["-n", 2], {"MESHMEM_CHECK": "race"}, "MESHMEM_CHECK=race is not valid")):
            with self.subTest(line):
                result = self.oshrun(*words, PROGRAM, "put_get", env=environment)
                self.assertNotEqual(result.status, 0, result)
                self.assertIn(line, result.err)


class TestPolled(RacesTest):
    mistakes = MISTAKES_OF_POLLING

    def setUp(self):
        super().setUp()
        self.environment["MESHMEM_CHECK"] = "races-polled"

    def test_waits_by_loads_order(self):
        for name in ("own_loads", "own_loads_of_signal"):
            with self.subTest(name):
                result = self.oshrun("-n", 2, PROGRAM, name, "right")
                self.assertEqual((result.status, result.err), (0, ""), result)

    def test_finds_mistakes_beside_them(self):
        for name in self.mistakes:
            with self.subTest(name):
                self.check_mistake(name, 3)

    def test_programs_that_are_right_are_silent(self):
        self.check_silence("-n", 3)


class OfLoads:
    """A program that tells of its own loads and stores, by each compiler."""
    mistakes, compiler = MISTAKES_OF_LOADS, None

    @classmethod
    def setUpClass(cls):
        if cls.compiler and not shutil.which(cls.compiler):
            raise unittest.SkipTest(f"there is no {cls.compiler}")
        cls.build_folder = tempfile.mkdtemp(prefix="meshmem-launch-test-")
        cls.program = os.path.join(cls.build_folder, "races_loads")
        environment = dict(os.environ, **({"MESHMEM_CC": cls.compiler} if cls.compiler else {}))
        subprocess.run([OSHCC, "--races", "-g", "-Werror", *cls.options, SOURCE, "-o", cls.program],
                       env=environment, check=True, timeout=60)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.build_folder, ignore_errors=True)

    def test_finds_each_mistake(self):
        for name in self.mistakes:
            with self.subTest(name):
                self.check_mistake(name, 2)

    def test_programs_that_are_right_are_silent(self):
        for n in (2, 3, 4):
            with self.subTest(n):
                self.check_silence("-n", n)


class TestLoads(OfLoads, RacesTest):
    options = ("-O2",)

    def test_without_the_check_nothing_is_told(self):
        del self.environment["MESHMEM_CHECK"]
        self.check_silence("-n", 2)
        result = self.oshrun("-n", 2, self.program, "store_and_put")
        self.assertEqual((result.status, result.err), (0, ""), result)


class TestLoadsByClang(OfLoads, RacesTest):
    # Where compilers differ: copies, atomics and volatile ones.
    mistakes = {name: MISTAKES_OF_LOADS[name] for name in (
        "load_before_quiet", "copy_before_quiet", "struct_before_quiet", "atomic_flag_without_fence",
        "volatile_flag_without_fence", "lock_of_one")}
    compiler, options = "clang", ("-O1",)


if __name__ == "__main__":
    launching.main()

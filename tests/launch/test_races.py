#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MESHMEM_CHECK=races: mistakes are found with both calls, and programs that are right stay
silent."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import launching
from races import (MISTAKES, MISTAKES_OF_LOADS, MISTAKES_OF_POLLING, MISTAKES_OF_THREADS, REFUSED,
                   REFUSED_BY_CALLS, WARNED, assert_told, n_pes_of)

PROGRAM = os.environ.get("RACES_PROGRAM", "")
OWN_LOADS = ("own_loads", "own_loads_of_signal", "own_loads_of_two_signals")
OSHCC, HERE = os.environ.get("OSHCC", ""), os.path.dirname(os.path.abspath(__file__))


class RacesTest(launching.LaunchTest):
    program, mistakes = PROGRAM, MISTAKES
    rounds = 1  # of each mistake

    def setUp(self):
        super().setUp()
        self.environment["MESHMEM_CHECK"] = "races"
        self.words = ()
        self.seconds = 30

    def check_mistake(self, name, n):
        result = self.oshrun(*self.words, "-n", n, self.program, name, seconds=self.seconds)
        self.assertEqual(result.status, 1, result)
        assert_told(self, result, name, self.mistakes, self.program)

    def check_mistakes(self, n_pes=n_pes_of):
        for name in self.mistakes:
            for _ in range(self.rounds):
                with self.subTest(name):
                    self.check_mistake(name, n_pes(name))

    def check_silence(self, *words):
        result = self.oshrun(*words, self.program, "all", "right")
        self.assertEqual((result.status, result.err), (0, ""), result)


class TestRaces(RacesTest):
    def test_finds_each_mistake(self):
        self.check_mistakes()

    def test_all_pes_and_their_children_end_by_themselves(self):
        result = self.oshrun("-n", 3, PROGRAM, "put_get", "child")
        self.assertEqual((result.status, result.out), (1, "child 0\n" * 3), result)

    def test_rounds_leave_no_more_mapped(self):
        self.environment["SHMEM_SYMMETRIC_SIZE"] = "1G"
        result = self.oshrun("-n", 2, PROGRAM, "rounds")
        self.assertEqual((result.status, result.out, result.err), (0, "", ""), result)

    def check_refusal(self, name, refused):
        routine, text = refused[name]
        result = self.oshrun(*self.words, "-n", 2, PROGRAM, name, env={"MESHMEM_TIMEOUT": "20"})
        self.assertEqual(result.status, 1, result)
        self.assertRegex(result.err, rf"meshmem: PE \d \(.*\): {routine}: .*(?:{text})")

    def test_mistakes_that_end_the_job(self):
        for name in REFUSED:
            with self.subTest(name):
                self.check_refusal(name, REFUSED)

    def test_threads_that_were_not_asked_for(self):
        for name, (routine, text) in WARNED.items():
            with self.subTest(name):
                for _ in range(5):  # calls that did not overlap are no mistake yet
                    result = self.oshrun(*self.words, "-n", 2, PROGRAM, name)
                    self.assertEqual(result.status, 0, result)
                    lines = re.findall(rf"races: {routine}, in \w+.*: .*{text}.*goes on",
                                       result.err)
                    if lines:
                        break
                self.assertIn(len(lines), (1, 2), result)  # at most one of each PE

    def test_calls_are_checked_too_if_asked_for(self):
        self.environment["MESHMEM_CHECK"] = "1,races"
        for name in REFUSED_BY_CALLS:
            with self.subTest(name):
                self.check_refusal(name, REFUSED_BY_CALLS)
        self.check_mistake("put_get", 2)
        self.check_silence("-n", 3)

    @unittest.skipUnless("WITH_VARIABLE_NAMES" in os.environ, "built without libbacktrace")
    def test_names_static_variables(self):
        for name, place in (("put_get", "32 bytes at x"),
                            ("get_p", r"(?:12 bytes at x|4 bytes at x \+ 0x8)")):
            with self.subTest(name):
                result = self.oshrun("-n", 2, PROGRAM, name)
                self.assertRegex(result.err, rf"a race for {place} of PE 1: ")

    def test_says_how_often(self):
        result = self.oshrun("-n", 2, PROGRAM, "often")
        self.assertRegex(result.err, r"1 race, found \d+ times; the job ends with status 1")

    def test_programs_that_are_right_are_silent(self):
        for n in (2, 3, 4):
            with self.subTest(n):
                self.check_silence("-n", n)

    def test_teams_of_threads_are_told_apart(self):
        for n in (2, 3):
            with self.subTest(n):
                result = self.oshrun("-n", n, PROGRAM, "teams_of_threads", "right")
                self.assertEqual((result.status, result.err), (0, ""), result)

    @unittest.skipUnless("RACES_STREAMS" in os.environ, "kernels of this target need GPUs")
    def test_order_by_streams_and_kernels_is_seen(self):
        for program in ("RACES_STREAMS", "RACES_KERNELS"):
            with self.subTest(program):
                result = self.oshrun("-n", 3, os.environ[program])
                self.assertEqual((result.status, result.err), (0, ""), result)

    def test_refusals(self):
        for words, environment, line in (
                (["-n", 2], {"MESHMEM_TRACE": os.path.join(self.folder, "t")},
                 "one job has one of them"),
                (["-n", 2], {"MESHMEM_CHECK": "race"}, "MESHMEM_CHECK=race is not valid")):
            with self.subTest(line):
                result = self.oshrun(*words, PROGRAM, "put_get", env=environment)
                self.assertNotEqual(result.status, 0, result)
                self.assertIn(line, result.err)


@unittest.skipUnless("WITH_NODES" in os.environ, "built with a sanitizer")
class TestNodes(RacesTest):
    """Nodes that reach each other by the network alone: each has a shadow of its own."""

    def setUp(self):
        super().setUp()
        self.words = ("--fake-nodes", 2)

    def test_finds_each_mistake(self):
        self.check_mistakes()

    @unittest.skipUnless("MESHMEM_TEST_LONG" in os.environ, "MESHMEM_TEST_LONG is not set")
    def test_clocks_of_more_pes_than_an_answer_holds(self):
        self.environment["SHMEM_SYMMETRIC_SIZE"] = "1M"
        self.seconds = 120
        self.check_mistake("last_pe_without_fence", 264)
        result = self.oshrun(*self.words, "-n", 264, PROGRAM, "last_pe_without_fence", "right",
                             seconds=self.seconds)
        self.assertEqual((result.status, result.err), (0, ""), result)

    def test_programs_that_are_right_are_silent(self):
        for nodes, n in ((2, 2), (2, 3), (3, 5)):
            with self.subTest(nodes=nodes, n=n):
                self.check_silence("--fake-nodes", nodes, "-n", n)

    @unittest.skipUnless("RACES_KERNELS" in os.environ, "kernels of this target need GPUs")
    def test_order_by_streams_and_kernels_is_seen(self):
        for program in ("RACES_STREAMS", "RACES_KERNELS"):
            with self.subTest(program):
                result = self.oshrun(*self.words, "-n", 3, os.environ[program])
                self.assertEqual((result.status, result.err), (0, ""), result)

    def test_waits_by_loads_order(self):
        self.environment["MESHMEM_CHECK"] = "races-polled"
        for name in OWN_LOADS:
            with self.subTest(name):
                result = self.oshrun(*self.words, "-n", 2, PROGRAM, name, "right")
                self.assertEqual((result.status, result.err), (0, ""), result)


class TestPolled(RacesTest):
    mistakes, rounds = MISTAKES_OF_POLLING, 5

    def setUp(self):
        super().setUp()
        self.environment["MESHMEM_CHECK"] = "races-polled"

    def test_waits_by_loads_order(self):
        for name in OWN_LOADS:
            with self.subTest(name):
                result = self.oshrun("-n", 2, PROGRAM, name, "right")
                self.assertEqual((result.status, result.err), (0, ""), result)

    def test_finds_mistakes_beside_them(self):
        self.check_mistakes(lambda _: 3)

    def test_programs_that_are_right_are_silent(self):
        self.check_silence("-n", 3)


class Compiled:
    """A program that tells of its own loads and stores."""
    compiler, wrapper, options = None, OSHCC, ("-O2",)

    @classmethod
    def setUpClass(cls):
        if cls.compiler and not shutil.which(cls.compiler):
            raise unittest.SkipTest(f"there is no {cls.compiler}")
        cls.build_folder = tempfile.mkdtemp(prefix="meshmem-launch-test-")
        cls.program = os.path.join(cls.build_folder, os.path.splitext(cls.source)[0])
        environment = dict(os.environ, **({"MESHMEM_CC": cls.compiler} if cls.compiler else {}))
        source = os.path.join(HERE, cls.source)
        subprocess.run([cls.wrapper, "--races", "-g", "-Werror", *cls.options, source,
                        "-o", cls.program], env=environment, check=True, timeout=60)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.build_folder, ignore_errors=True)


class OfLoads(Compiled):
    mistakes, source = MISTAKES_OF_LOADS, "races_loads.c"

    def test_finds_each_mistake(self):
        self.check_mistakes()

    def test_programs_that_are_right_are_silent(self):
        for n in (2, 3, 4):
            with self.subTest(n):
                self.check_silence("-n", n)


class TestLoads(OfLoads, RacesTest):
    def test_without_the_check_nothing_is_told(self):
        del self.environment["MESHMEM_CHECK"]
        self.check_silence("-n", 2)
        result = self.oshrun("-n", 2, self.program, "store_and_put")
        self.assertEqual((result.status, result.err), (0, ""), result)


class TestLoadsByClang(OfLoads, RacesTest):
    # Where compilers differ: copies, atomics and volatile ones.
    mistakes = {name: MISTAKES_OF_LOADS[name] for name in (
        "load_before_quiet", "copy_before_quiet", "struct_before_quiet",
        "atomic_flag_without_fence", "volatile_flag_without_fence", "lock_of_one")}
    compiler, options, rounds = "clang", ("-O1",), 5


class TestThreads(OfLoads, RacesTest):
    """Threads come in any order, and a mistake is found in each."""
    mistakes, options, source = MISTAKES_OF_THREADS, ("-O1", "-fopenmp"), "races_threads.cpp"
    wrapper = OSHCC.replace("oshcc", "oshc++")
    rounds = 20 if "MESHMEM_TEST_LONG" in os.environ else 5

    def test_programs_that_are_right_are_silent(self):
        for _ in range(self.rounds):
            super().test_programs_that_are_right_are_silent()


class TestMemoryModels(Compiled, RacesTest):
    """The table in docs/memory_model.md that compares two models says what the check reports."""
    source = "memory_models.c"

    def test_the_page_says_which_programs_race(self):
        with open(os.path.join(HERE, "..", "..", "docs", "memory_model.md"), encoding="utf-8") as f:
            rows = re.findall(r"^\| `(\w+)` \|(?: (?:no )?race \|){2} ((?:no )?race) \|", f.read(),
                              re.MULTILINE)
        names = self.oshrun("-n", 1, self.program).out.split()
        self.assertEqual([name for name, _ in rows], names)
        for name, verdict in rows:
            with self.subTest(name):
                result = self.oshrun("-n", 3, self.program, name)
                n_races = result.err.count("a race for")
                self.assertEqual((result.status, n_races), (1, 1) if verdict == "race" else (0, 0),
                                 result)


if __name__ == "__main__":
    launching.main()

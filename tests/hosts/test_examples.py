#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples over several machines: what they print is what they print on one."""
import os
import re

import jobs
from jobs import OSHRUN

PROGRAMS = {os.path.basename(program): program for program in os.environ["PROGRAMS"].split(":")}


class Examples(jobs.JobTest):
    def lines_over(self, pes, name, *words, **settings):
        result = self.run_job(pes, PROGRAMS[name], *words, settings=settings)
        self.assert_right(result)
        return result.out.splitlines()

    def lines_here(self, pes, name, *words, **settings):
        exports = [word for item in settings.items() for word in ("-x", "=".join(item))]
        result = self.finish(self.popen([OSHRUN, "-n", pes, *exports, PROGRAMS[name], *words]))
        self.assertEqual(result.status, 0, result)
        return result.out.splitlines()

    def test_they_print_what_they_print_on_one_machine(self):
        for name, words in (("01_hello", ()), ("02_ring_put", ()), ("04_pi_reduce", ()),
                            ("05_wordcount", ("--top", 50)),
                            ("07_heat2d", ()), ("17_overlapped_life", ("--generations", 20))):
            for pes in ([2, 2], [1, 2, 2]):
                with self.subTest(example=name, pes=pes):
                    there = self.lines_over(pes, name, *words, MESHMEM_DETERMINISTIC="1")
                    here = self.lines_here(sum(pes), name, *words, MESHMEM_DETERMINISTIC="1")
                    self.assertEqual(sorted(map(without_times, there)),
                                     sorted(map(without_times, here)))

    def test_every_task_is_done_once(self):
        lines = self.lines_over([2, 3], "03_atomic_counter")
        done = [int(found[1]) for found in (re.fullmatch(r"PE \d+ did (\d+) tasks", line)
                                            for line in lines) if found]
        self.assertEqual((len(done), sum(done)), (5, 1000), lines)
        self.assertIn("1000 tasks: 78498 primes below 1000000", lines)

    def test_training_has_the_bits_of_one_machine(self):
        words = ("--exact", "--epochs", 3, "--hidden", 32)
        losses = losses_in(self.lines_here(4, "06_train_digits", *words, MESHMEM_DETERMINISTIC="1"))
        self.assertEqual(len(losses), 3)
        for pes in ([2, 2], [1, 3], [2, 1, 2]):
            there = self.lines_over(pes, "06_train_digits", *words, MESHMEM_DETERMINISTIC="1")
            self.assertEqual(losses_in(there), losses, pes)


def losses_in(lines):
    """mpirun gives PEs a terminal, so a progress bar comes before each line."""
    return re.findall(r"epoch +\d+  loss \S+", "\n".join(lines))


def without_times(line):
    """The line without words that differ from run to run, or with the name of the machine."""
    return re.sub(r"[\d.]+ (m?s|us|million cells/s)\b|on \w+$", "", line)


if __name__ == "__main__":
    jobs.main()

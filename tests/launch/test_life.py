#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random lives of a program: it starts and ends several times, by several threads, leaves this and
that under way, and ends in one of many ways. Each life has one right outcome.

MESHMEM_TEST_LIVES says how many (default: 24), MESHMEM_TEST_SEED which is the first; without it
they are always the same. A failure prints its seed and words.
"""
import os
import random

import launching

PROGRAM = os.environ["LIFE_PROGRAM"]
LIVES = int(os.environ.get("MESHMEM_TEST_LIVES", "24"))
SEED = int(os.environ.get("MESHMEM_TEST_SEED", "0"))

STARTS = ("init", "init", "init_thread", "thread_inits")
WORK = ("ask", "ring", "ring", "heap", "heap", "thread_heap", "split", "split", "destroy_teams",
        "leave_a_put", "hold_a_lock", "thread_waits", "fork_exit", "fork_finalize", "streams",
        "one_late")
BETWEEN = ("ask", "finalize_of_nothing", "fork_exit", "one_late")
# How the last use ends, its status, and whether all PEs say so.
ENDS = (("finalize", 0, True), ("finalize", 0, True), ("finalize_at_exit", 0, True),
        ("finalize_last", 0, True),
        ("finalize_last", 0, True), ("exit_at_once", 0, True), ("exit_3", 3, False),
        ("global_exit_5", 5, False), ("thread_global_exit_5", 5, False))


class Lives(launching.LaunchTest):
    def draw_use(self, draw):
        """From the first start to before the last finalize; the words, and how many are still to be
        undone."""
        starts = draw.choice((1, 1, 1, 2, 3))
        words = draw.choices(STARTS, k=starts) + draw.choices(WORK, k=draw.randrange(8))
        while starts > 1 and draw.random() < 0.5:
            words += [draw.choice(("finalize", "thread_finalizes"))] + draw.choices(
                WORK, k=draw.randrange(3))
            starts -= 1
        return words, starts

    def draw_life(self, draw, pes):
        """Words, status and number of PEs that print a line."""
        words = draw.choices(BETWEEN, k=draw.randrange(2))
        for _ in range(draw.choice((0, 0, 1, 2))):
            use, starts = self.draw_use(draw)
            words += use + draw.choices(("finalize", "thread_finalizes"), k=starts)
            words += draw.choices(BETWEEN, k=draw.randrange(3))
        use, starts = self.draw_use(draw)
        end, status, all_say = draw.choice(ENDS)
        words += use
        if end in ("global_exit_5", "thread_global_exit_5"):
            return words + [f"@{draw.randrange(pes)}", end, "@-1", "barrier"], status, 0
        if end in ("finalize_at_exit", "finalize_last"):
            return words + [end, "say"], status, pes
        words += ["finalize"] * starts
        if end == "exit_3":
            return words + [f"@{draw.randrange(pes)}", end], status, 0
        return words + ["say", "one_late"] + [end] * (end == "exit_at_once"), status, pes * all_say

    def draw_launch(self, draw):
        """Number of PEs, options, environment."""
        pes = draw.choice((1, 2, 3, 4))
        options = draw.choice(([], ["--fake-nodes", draw.randrange(1, pes + 1)]))
        environment = {"MESHMEM_TIMEOUT": "20"}
        if "WITH_NODES" in os.environ and draw.random() < 0.5:
            is_by_ucx = draw.random() < 0.5 and "WITH_UCX" in os.environ
            environment["MESHMEM_NETWORK"] = "ucx" if is_by_ucx else "tcp"
        if draw.random() < 0.2:
            environment["MESHMEM_CHECK"] = "1"
        elif "TRACE_PROGRAM" in os.environ and draw.random() < 0.2:
            environment["MESHMEM_TRACE"] = os.path.join(self.folder, "trace")
        return pes, options, environment

    def live(self, seed):
        draw = random.Random(seed)
        pes, options, environment = self.draw_launch(draw)
        words, status, lines = self.draw_life(draw, pes)
        result = self.oshrun("-n", pes, *options, PROGRAM, *words, env=environment, seconds=60)
        told = f"seed {seed}: -n {pes} {options} {environment} {' '.join(words)}\n{result}"
        self.assertEqual(result.status, status, told)
        self.assertNotIn("wrong", result.err, told)
        if status == 0:
            self.assertEqual((result.err, sorted(result.out.splitlines())),
                             ("", [f"PE {pe}" for pe in range(lines)]), told)
            if "MESHMEM_TRACE" in environment:
                self.assertTrue(os.path.exists(environment["MESHMEM_TRACE"]), told)
        self.assert_nothing_left()

    def test_random_lives(self):
        for seed in range(SEED, SEED + LIVES):
            self.live(seed)


if __name__ == "__main__":
    launching.main()

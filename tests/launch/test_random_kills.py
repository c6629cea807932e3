#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills a process of a job at a random moment: the job ends soon, says why, and leaves nothing
behind.

MESHMEM_TEST_KILLS says how many (default: 24), MESHMEM_TEST_SEED which ones; every kill prints its
seed.
"""
import os
import random
import re
import signal
import sys
import time

import launching
from launching import SHMEM_PROGRAM

KILLS = int(os.environ.get("MESHMEM_TEST_KILLS", "24"))
SEED = int(os.environ.get("MESHMEM_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
# A job starts in 0.1 s; kills later than this find it at work, all earlier ones find it starting.
LATEST_SECONDS = 0.6
# Of the end of a job; machines of tests are loaded.
MOST_SECONDS = 20
DEADLY = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT)
SAID = re.compile(r"^(oshrun: |meshmem: |PE \d+ of \d+$)")


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return "gone"


def kill(pid, number):
    """False: it had ended already."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


class RandomKills(launching.LaunchTest):
    def pes_of(self, process):
        """The first child is the guard, which has its name a moment later."""
        return launching.children_of(process.pid)[1:]

    def guard_of(self, process):
        return [pid for pid in launching.children_of(process.pid) if name_of(pid) == "oshrun-guard"]

    def aim(self, draw, process):
        """Draws what is to die: a word for it, and its processes."""
        victim, pes = draw.choice(("PE", "PE", "PE", "oshrun", "oshrun and guard")), self.pes_of(
            process)
        if victim == "PE" and pes:
            return victim, draw.sample(pes, 1)
        victim = victim.replace("PE", "oshrun")  # none has been started yet
        return victim, [process.pid] + (self.guard_of(process) if victim == "oshrun and guard"
                                        else [])

    def run_one(self, seed):
        draw = random.Random(seed)
        pes = draw.choice((1, 2, 3, 5, 8))
        program = draw.choice((("work", "0"), ("rounds", "1000000"), ("hang", "0")))
        process = self.start("-n", pes, SHMEM_PROGRAM, *program,
                             stdout=launching.subprocess.DEVNULL)
        time.sleep(draw.uniform(0, LATEST_SECONDS))
        victim, pids = self.aim(draw, process)
        # oshrun makes its folder a moment before its guard.
        is_guarded = victim != "oshrun and guard" and bool(self.guard_of(process))
        number = signal.SIGKILL if victim != "PE" else draw.choice(DEADLY)
        self.told = (
            f"seed {seed}: {' '.join(program)} by {pes}, signal {int(number)} to {victim} {pids}")
        if not all([kill(pid, number) for pid in pids]):
            self.told += ", which was gone"
        result = self.finish(process, seconds=MOST_SECONDS)
        print(f"{self.told}: status {result.status}", file=sys.stderr)
        self.check(victim, number, result)
        if not is_guarded:  # the folder is for the next oshrun to remove
            launching.wait_until(lambda: not self.processes(), MOST_SECONDS)
            self.oshrun("-n", 1, "true", seconds=MOST_SECONDS)
        self.assert_nothing_left()

    def check(self, victim, number, result):
        about = f"{self.told}\n{result}"
        for line in result.err.splitlines():
            self.assertRegex(line, SAID, about)
        if victim != "PE":
            self.assertEqual(result.status, -number, about)
        else:
            self.assertEqual(result.status, 128 + number, about)
            self.assertRegex(result.err, rf"oshrun: PE \d+ \(pid \d+\) was killed by signal "
                             rf"{int(number)} ", about)

    def test_kills_at_random_moments(self):
        print(f"MESHMEM_TEST_SEED={SEED} MESHMEM_TEST_KILLS={KILLS}", file=sys.stderr)
        for i in range(KILLS):
            self.run_one(SEED + i)


if __name__ == "__main__":
    launching.main()

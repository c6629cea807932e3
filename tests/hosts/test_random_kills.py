#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ends a PE, a machine, its network or the launcher at a random moment of a job over two or three
machines. The job ends everywhere, prints at most a line a machine about the loss, and leaves
nothing behind.

MESHMEM_TEST_KILLS says how many (default: 5), MESHMEM_TEST_SEED which ones; every kill prints its
seed.
"""
import os
import random
import re
import signal
import sys
import time

import jobs
from jobs import SHMEM_PROGRAM, wait_until
from losses import KEEPALIVE, LATE, LossTest

KILLS = int(os.environ.get("MESHMEM_TEST_KILLS", "5"))
SEED = int(os.environ.get("MESHMEM_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
PROMISED_SECONDS = 2
VICTIMS = ("PE", "PE", "machine", "network", "launcher")
DEADLY = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT)
# The most seconds until PEs find that a network is down.
KEEPALIVES = {"network": 2 * KEEPALIVE}


class RandomKills(LossTest):
    launcher = jobs.Mpirun

    def setUp(self):
        super().setUp()
        self.seconds, self.hung_launchers = {}, 0

    def start_somewhere(self, draw, victim):
        """A job of 2 to 8 PEs, some time after its PEs were started. A network fails once they are
        connected: before, the launcher alone knows of it."""
        layout = [draw.randint(1, 3) for _ in range(draw.choice((2, 2, 3)))]
        words = draw.choice((("work",), ("hang", 0), ("wait",), ("rounds", 1000000)))
        if victim == "network" and words[0] == "rounds":  # these say nothing of use
            words = ("work",)
        self.told += f"{' '.join(map(str, words))} by {layout}"
        settings = {"MESHMEM_KEEPALIVE": str(KEEPALIVE), "MESHMEM_START_TIMEOUT": "20"}
        process = self.start(layout, SHMEM_PROGRAM, *words, settings=settings)
        if not wait_until(lambda: len(self.pes()) == sum(layout), 30):
            self.fail(f"{self.told}: the PEs did not start: {self.finish(process)}")
        if victim == "network":
            for _ in range(sum(layout)):
                self.assertEqual(process.stdout.readline(), b"ready\n", self.told)
        time.sleep(draw.uniform(0, 1))
        return process, layout

    def strike(self, draw, victim, process, layout):
        """The machine that is lost, or that of the PE; None: the launcher's."""
        machine = list(jobs.simulated)[draw.randrange(len(layout))]
        pes = self.pes()
        if victim == "PE":
            pe, number = draw.choice(sorted(pes)), draw.choice(DEADLY)
            self.told += f", signal {int(number)} to PE {pe}"
            os.kill(pes[pe], number)
            return None
        if victim == "launcher":
            os.kill(self.launcher_pid(process), signal.SIGKILL)
            return None
        self.told += f" of {machine.name}"
        if victim == "machine":
            machine.kill()
        else:
            machine.ip("link set eth0 down")
        return machine.name

    def run_one(self, seed):
        draw = random.Random(seed)
        victim = draw.choice(VICTIMS)
        self.told = f"seed {seed}: {victim}: "
        process, layout = self.start_somewhere(draw, victim)
        struck = time.monotonic()
        lost = self.strike(draw, victim, process, layout)
        # A network that is down may be that of PEs that have nobody left to tell.
        most = LATE + KEEPALIVES.get(victim, 0)
        gone = wait_until(lambda: not self.pes(), most)
        took = time.monotonic() - struck
        self.assertTrue(gone, f"{self.told}: {len(self.pes())} PEs were left after {most} s")
        self.seconds.setdefault(victim, []).append(took)
        self.end_launcher(victim, process)
        result = self.finish(process, 60)
        print(f"{self.told}: PEs ended after {took:.2f} s, status {result.status}; "
              f"{self.meshmem_lines(result)}",
              file=sys.stderr, flush=True)
        self.check(victim, lost, result, layout)

    def end_launcher(self, victim, process):
        """A launcher waits for its daemon behind a network that is down. Open MPI 4's daemon
        sometimes hangs in its own locks if a PE has died in start-up. Once the PEs are gone,
        neither is a mistake of meshmem."""
        if victim != "network" and wait_until(lambda: process.poll() is not None, LATE):
            return
        if victim != "network":
            self.hung_launchers += 1
            self.told += ", and its launcher hung"
        process.terminate()
        self.bring_machines_back()

    def check(self, victim, lost, result, layout):
        about = f"{self.told}\n{result}"
        self.assertNotEqual(result.status, 0, about)
        lines = self.meshmem_lines(result)
        self.assertLessEqual(len(lines), len(layout), about)
        for line in lines:
            self.assertRegex(line, r"^meshmem: PE \d+ \(host \w+, pid \d+\): (lost PE \d+ on host "
                             r"\w+: .+|"
                                   r"[^:]*(launcher|PMIx|shmem_init).*)$", about)
        sayers = [re.search(r"\(host (\w+),", line).group(1) for line in lines]
        self.assertEqual(len(sayers), len(set(sayers)), f"a machine says it twice: {about}")
        if victim == "machine":
            self.assertTrue(
                all(f"on host {lost}: " in line for line in lines if "lost PE" in line), about)
        self.bring_machines_back()
        self.assert_nothing_left()
        left = [name for name in os.listdir(self.folder) if "meshmem" in name]
        self.assertEqual(left, [], about)

    def test_kills_at_random_moments(self):
        print(f"MESHMEM_TEST_SEED={SEED} MESHMEM_TEST_KILLS={KILLS}", file=sys.stderr)
        for i in range(KILLS):
            self.run_one(SEED + i)
        for victim, seconds in sorted(self.seconds.items()):
            promised = PROMISED_SECONDS + KEEPALIVES.get(victim, 0)
            late = sum(took > promised for took in seconds)
            print(f"{victim}: {len(seconds)} times, PEs ended after {max(seconds):.2f} s at most, "
                  f"{late} of them after "
                  f"{promised} s", file=sys.stderr, flush=True)
        print(f"launchers that hung: {self.hung_launchers}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    jobs.main()

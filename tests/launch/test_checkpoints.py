#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Restores what other jobs have saved, some of which were killed in the middle of a save.

MESHMEM_TEST_KILLS says how many (default: 24), MESHMEM_TEST_SEED which ones.
"""
import contextlib
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import launching

PROGRAM = os.environ["CHECKPOINT_PROGRAM"]
OTHER_PROGRAM = os.environ["OTHER_CHECKPOINT_PROGRAM"]  # has one more SHMEMX_SAVED variable
KILLS = int(os.environ.get("MESHMEM_TEST_KILLS", "24"))
SEED = int(os.environ.get("MESHMEM_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
KIBIBYTES, WRITTEN_SLOWLY = 512, 2048


class Checkpoints(launching.LaunchTest):
    def setUp(self):
        super().setUp()
        self.saves = os.path.join(self.folder, "saves")

    def run_program(self, pes, *words, program=PROGRAM, options=(), **more):
        return self.oshrun("-n", pes, *options, program, *words, **more)

    def save(self, pes, steps=1, kibibytes=KIBIBYTES, **more):
        return self.run_program(pes, "save", self.saves, steps, kibibytes, **more)

    def restored(self, pes, kibibytes=KIBIBYTES, **more):
        """The step that all PEs have; 0: all have refused, and the last result says why."""
        result = self.run_program(pes, "restore", self.saves, kibibytes, **more)
        self.result = result
        self.assertEqual(result.status, 0, result)
        lines = result.out.splitlines()
        self.assertEqual(len(lines), pes, result)
        if all("refused" in line for line in lines):
            self.assertEqual(len(result.err.splitlines()), 1, result)
            return 0
        steps = {re.fullmatch(r"PE \d+ has step (\d+)", line)[1] for line in lines}
        self.assertEqual(len(steps), 1, result)
        return int(steps.pop())

    def assert_refused(self, pes, words, **more):
        self.assertEqual(self.restored(pes, **more), 0, self.result)
        self.assertIn(words, self.result.err)

    def files(self):
        return os.listdir(self.saves) if os.path.isdir(self.saves) else []

    def test_a_later_job_goes_on(self):
        for pes, options in ((1, ()), (2, ()), (3, ("--fake-nodes", "2")), (5, ())):
            self.saves = os.path.join(self.folder, f"saves{pes}")
            self.assert_refused(pes, "cannot open the folder", options=options)
            self.assertEqual(self.save(pes, 3, options=options).status, 0)
            self.assertEqual(self.restored(pes, options=options), 3)
            result = self.save(pes, 2, options=options)
            self.assertEqual(result.out, "saved 4\nsaved 5\n", result)
            self.assertEqual(self.restored(pes), 5)
            self.assertEqual(len(self.files()), pes + 2)  # and the commit and the lock

    def test_other_jobs_are_refused(self):
        self.save(3)
        self.assert_refused(2, "restore with a team of 3")
        renamed = os.path.join(self.folder, "renamed")
        shutil.copy(PROGRAM, renamed)
        self.assert_refused(3, "saved by the program 'checkpoint_program', and this one is "
                            "'renamed'", program=renamed)
        other = os.path.join(self.folder, os.path.basename(PROGRAM))  # the same name
        shutil.copy(OTHER_PROGRAM, other)
        self.assert_refused(3, "8 bytes of SHMEMX_SAVED variables, and here it is ",
                            program=other)
        result = self.run_program(3, "restore", self.saves, KIBIBYTES + 1)
        self.assertIn("same allocations", result.err)
        self.assertEqual(self.restored(3), 1)

    def test_only_the_user_reads_the_files(self):
        self.save(2)
        for path in [self.saves] + [os.path.join(self.saves, name) for name in self.files()]:
            self.assertEqual(os.stat(path).st_mode & 0o077, 0, path)

    def test_a_full_disk(self):
        """The file system has room for one save and a half."""
        os.mkdir(self.saves)
        pes, per_save = 3, 3 * 2 * KIBIBYTES
        command = ["mount", "-t", "tmpfs", "-o", f"size={per_save * 3 // 2}k", "tmpfs", self.saves]
        if os.getuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:
            self.skipTest("only root mounts a small file system")
        try:
            self.assertEqual(self.save(pes).status, 0)
            for _ in range(3):
                result = self.save(pes)
                self.assertEqual(result.out.count("refused"), pes, result)
                self.assertEqual(len(result.err.splitlines()), 1, result)
                self.assertIn("No space left on device; make room", result.err)
                self.assertEqual(len(self.files()), pes + 2)
            self.assertEqual(self.restored(pes), 1)
            subprocess.run(["mount", "-o", "remount,ro", self.saves], check=True)
            result = self.save(pes)
            self.assertIn("Read-only file system", result.err)
            self.assertEqual(self.restored(pes), 1)
        finally:
            subprocess.run(["umount", "-l", self.saves], check=True)

    # ---- Processes that are killed

    def stop_in_write(self, pid):
        """Stops the last PE when a part of its file is there."""
        def is_in_write():
            for name in self.files():
                with contextlib.suppress(FileNotFoundError):
                    size = os.stat(os.path.join(self.saves, name)).st_size
                    if name.endswith(f".pe{self.pes - 1}") and size < 2048 * WRITTEN_SLOWLY:
                        return True
            return False
        deadline = time.monotonic() + 5
        while not is_in_write() and time.monotonic() < deadline:
            pass
        os.kill(pid, signal.SIGSTOP)
        self.stopped += is_in_write()

    def kill_once(self, draw, last):
        """Kills a PE, all of them or oshrun, in one of the saves. Returns the last step that was
        saved."""
        pes = self.pes
        process = self.start("-n", pes, PROGRAM, "save", self.saves, 100000, WRITTEN_SLOWLY,
                             bufsize=0)  # a buffer would keep lines from finish()
        # Some before the first save of this job, most while it saves.
        early = [process.stdout.readline().decode() for _ in range(draw.choice((0, 1, 1, 2, 5)))]
        time.sleep(draw.uniform(0, 0.05))
        children = launching.children_of(process.pid)[1:]
        if len(children) > 1 and draw.random() < 0.5:
            self.stop_in_write(children[-1])
            time.sleep(0.1)  # in which the others must not complete the save
            self.kill(children)
        victims = draw.choice((children[:1], children[-1:], children, [process.pid]))
        self.kill(victims or [process.pid])  # no PE has been started yet
        result = self.finish(process)
        self.assertTrue(launching.wait_until(lambda: not self.processes()))
        saved = re.findall(r"saved (\d+)", "".join(early) + result.out)
        return max(last, *map(int, saved or ["0"]))

    def test_kills_in_saves(self):
        print(f"MESHMEM_TEST_SEED={SEED} MESHMEM_TEST_KILLS={KILLS}", file=sys.stderr)
        draw = random.Random(SEED)
        for self.pes in (1, 2, 5):
            self.saves = os.path.join(self.folder, f"killed{self.pes}")
            last, unfinished, self.stopped = 0, 0, 0
            for number in range(KILLS // 3):
                last = self.kill_once(draw, last)
                unfinished += len(self.files()) > self.pes + 2
                self.assertLessEqual(len(self.files()), 2 * self.pes + 3)
                step = self.restored(self.pes, WRITTEN_SLOWLY)
                # The last save may be on disk although nobody was told.
                about = f"kill {number} at {self.pes} PEs: {last} was saved\n{self.result}"
                self.assertGreaterEqual(step, last, about)
                if step == 0:
                    self.assertRegex(self.result.err, "no complete save|cannot open the folder")
                last = step
            print(f"{self.pes} PEs: {last} saves, {unfinished} of {KILLS // 3} kills left files, "
                  f"{self.stopped} stopped a PE that wrote", file=sys.stderr)
            self.assertEqual(self.save(self.pes, 1, WRITTEN_SLOWLY).status, 0)
            self.assertEqual(len([name for name in self.files() if name.startswith("save")]),
                             self.pes)
            self.assertEqual(self.restored(self.pes, WRITTEN_SLOWLY), last + 1)


if __name__ == "__main__":
    launching.main()

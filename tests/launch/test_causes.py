#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A start that fails says its true cause in one line, in oshrun and in the PEs; PMIx's own pages
stay hidden."""
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import threading
import unittest

import launching
from launching import MESHMEM_BENCH, INFO_PROGRAM, OSHRUN, PMIX_CLIENT, SHMEM_PROGRAM

NOBODY = 65534


def limit(kind, amount):
    return lambda: resource.setrlimit(kind, (amount, amount))


def succeeds(*words):
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def pe_with(command):
    """A PE that runs `command` in the shell before it becomes a program of the library."""
    return "sh", "-c", f"{command}; exec {SHMEM_PROGRAM} ring"


class OfOshrun(launching.LaunchTest):
    def assert_cause(self, result, *texts):
        self.assertEqual((result.status, result.out), (1, ""), result)
        self.assertEqual(len(result.err.splitlines()), 1, result)
        self.assertTrue(result.err.startswith("oshrun: "), result)
        for text in texts:
            self.assertIn(text, result.err)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to mount a small file system")
    def test_a_full_tmpdir(self):
        if not succeeds("unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=1m", "none", "/mnt"):
            self.skipTest("this root may not mount")
        for size in ("16k", "1m", "6m"):
            mount = (f"mount -t tmpfs -o size={size} none {self.tmpdir} && exec {OSHRUN} -n "
                     f"2 {PMIX_CLIENT} exchange 1")
            process = subprocess.Popen(["unshare", "-m", "sh", "-c", mount], env=self.environment,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assert_cause(self.finish(process), self.tmpdir, "TMPDIR", "full", "9216 needed")

    def test_a_missing_tmpdir(self):
        result = self.oshrun("-n", 2, PMIX_CLIENT, "exchange", 1, env={"TMPDIR": "/no/such"})
        self.assert_cause(result, "'/no/such' (TMPDIR)", "No such file or directory")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_a_closed_tmpdir(self):
        os.chmod(self.folder, 0o755)
        program = shutil.copy(OSHRUN, self.folder)
        process = subprocess.Popen([program, "-n", "2", "true"], env=self.environment, user=NOBODY,
                                   group=NOBODY, extra_groups=[], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.assert_cause(self.finish(process), self.tmpdir, "TMPDIR", "Permission denied")

    def test_files_may_not_grow(self):
        for size in (0, 1024, 1 << 20):
            result = self.oshrun("-n", 2, PMIX_CLIENT, "exchange",
                                 1, preexec_fn=limit(resource.RLIMIT_FSIZE, size))
            self.assert_cause(result, f"{size} bytes", "ulimit -f")
            self.assert_nothing_left()

    def test_too_few_files(self):
        for files in (8, 12, 20, 37):
            result = self.oshrun("-n", 2, PMIX_CLIENT, "exchange", 1,
                                 preexec_fn=limit(resource.RLIMIT_NOFILE, files))
            self.assert_cause(result, "2 PEs", "38 open files", f"may have {files}", "ulimit -Hn")
        result = self.oshrun("-n", 2, PMIX_CLIENT, "exchange", 1,
                             preexec_fn=limit(resource.RLIMIT_NOFILE, 38))
        self.assertEqual(result.status, 0, result)
        self.assert_nothing_left()

    @unittest.skipUnless(succeeds("unshare", "-n", "true"), "no right to make a network namespace")
    def test_no_network_interface(self):
        process = subprocess.Popen(["unshare", "-n", OSHRUN, "-n", "2", "true"],
                                   env=self.environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.assert_cause(self.finish(process), "no network interface is up", "ip link set lo up")
        self.assert_nothing_left()

    @unittest.skipUnless(succeeds("unshare", "-n", "true"), "no right to make a network namespace")
    def test_shmem_debug_shows_what_pmix_says(self):
        process = subprocess.Popen(["unshare", "-n", OSHRUN, "-n", "2", "true"],
                                   stdout=subprocess.PIPE,
                                   env=dict(self.environment, SHMEM_DEBUG="1"),
                                   stderr=subprocess.PIPE)
        result = self.finish(process)
        self.assertEqual(result.status, 1, result)
        self.assertGreater(len(result.err.splitlines()), 1, result)


@unittest.skipUnless(SHMEM_PROGRAM, "the library was not built")
class OfPes(launching.LaunchTest):
    def assert_cause(self, result, *texts):
        self.assertNotIn(result.status, (0, 124), result)
        self.assertEqual(result.out, "", result)
        for line in result.err.splitlines():
            self.assertRegex(line, "^(meshmem|oshrun): ")
        causes = [line for line in result.err.splitlines() if line.startswith("meshmem: ")]
        self.assertTrue(causes, result)
        for text in texts:
            self.assertIn(text, causes[0])
        self.assert_nothing_left()

    def test_files_may_not_grow(self):
        result = self.oshrun("-n", 2, *pe_with("ulimit -f 0"))
        self.assert_cause(result, "shared memory", "0 bytes only", "ulimit -f")

    def test_too_few_files(self):
        for files in (5, 6, 8, 9):
            result = self.oshrun("-n", 2, *pe_with(f"ulimit -n {files}"))
            self.assert_cause(result, f"{files} open files are too few", "ulimit -n")
        for files in (12, 14):  # enough for PMIx, perhaps not for the rest
            result = self.oshrun("-n", 2, *pe_with(f"ulimit -n {files}"))
            if result.status != 0:
                self.assert_cause(result, "open files")

    @unittest.skipUnless(succeeds("unshare", "-n", "true"), "no right to make a network namespace")
    def test_no_network_interface(self):
        result = self.oshrun("-n", 2, "unshare", "-n", SHMEM_PROGRAM, "ring")
        self.assert_cause(result, "no network interface is up", "ip link set lo up")

    @unittest.skipUnless(succeeds("unshare", "-n", "true"), "no right to make a network namespace")
    def test_a_pe_alone_needs_no_network_and_says_nothing(self):
        process = subprocess.Popen(["unshare", "-n", SHMEM_PROGRAM, "ring"], env=self.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        result = self.finish(process)
        self.assertEqual((result.status, result.out, result.err), (0, "PE 0 of 1\n", ""))


@unittest.skipUnless(SHMEM_PROGRAM, "the library was not built")
class SilentServer(launching.LaunchTest):
    """A PMIx server that takes connections and never says a word."""

    def setUp(self):
        super().setUp()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.listener.close)
        self.taken = []
        threading.Thread(target=self.take_connections, daemon=True).start()

    def take_connections(self):
        try:
            while True:
                self.taken.append(self.listener.accept()[0])
        except OSError:
            pass

    def run_with_timeout(self, seconds):
        address = f"tcp4://127.0.0.1:{self.listener.getsockname()[1]}"
        variables = {f"PMIX_SERVER_URI{version}": f"the-secret.1;{address}"
                     for version in (2, 21, 3, 4, 41)}
        variables.update(PMIX_NAMESPACE="job@1", PMIX_RANK="0", MESHMEM_START_TIMEOUT=str(seconds))
        process = subprocess.Popen([SHMEM_PROGRAM, "ring"], env={**self.environment, **variables},
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        return process, address

    def test_is_waited_for_until_the_limit_and_named(self):
        process, address = self.run_with_timeout(1.5)
        result = self.finish(process)
        self.assertEqual((result.status, result.out), (1, ""), result)
        self.assertRegex(result.err,
                         r"^meshmem: .*: waited 1.5 s for the launcher's PMIx server at "
                         + re.escape(address) +
                         r" to answer; the limit is MESHMEM_START_TIMEOUT\n$")
        self.assertGreater(result.seconds, 1)
        self.assertTrue(self.taken)

    def test_is_waited_for_without_a_limit_where_none_is_set(self):
        process, _ = self.run_with_timeout(0)
        self.assertTrue(launching.wait_until(lambda: self.taken))
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(1)
        process.kill()
        self.finish(process)


class OutOfMemory(launching.LaunchTest):
    """A control group with less memory than the job takes, where this machine lets one make it."""

    def make_group(self, limit):
        """The file that a process of the group writes its number into."""
        with open("/proc/swaps", encoding="utf-8") as file:
            if len(file.readlines()) > 1:
                raise unittest.SkipTest(
                    "this machine swaps, so that a limit of memory kills nobody")
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            paths = {line.split(":")[1]: line.rstrip("\n").split(":", 2)[2] for line in file}
        for top, controller, name in (("/sys/fs/cgroup/memory", "memory", "memory.limit_in_bytes"),
                                      ("/sys/fs/cgroup", "", "memory.max")):
            group = f"{top}{paths.get(controller, '')}/meshmem-test-{self.identity}"
            try:
                os.mkdir(group)
                self.addCleanup(os.rmdir, group)
                with open(f"{group}/{name}", "w", encoding="utf-8") as file:
                    file.write(str(limit))
                return f"{group}/cgroup.procs"
            except OSError:
                continue
        raise unittest.SkipTest("no right to make a control group with a limit of memory")

    def run_in_group(self, script, *options):
        procs = self.make_group(128 << 20)

        def enter():
            with open(procs, "w", encoding="utf-8") as file:
                file.write(str(os.getpid()))
        return self.oshrun("-n", 2, *options, "sh", "-c", script, preexec_fn=enter, seconds=60)

    def test_its_killer_is_named(self):
        eat = f"exec {sys.executable} -c 'print(len(bytes([1]) * (1 << 30)))'"
        result = self.run_in_group(f"test $PMIX_RANK = 1 && {eat}; sleep 60")
        self.assertEqual(result.status, 137, result)
        self.assertRegex(result.err, r"^oshrun: PE 1 \(pid \d+\) was killed by signal 9 "
                         r"\(Killed\), probably by the "
                         r"kernel's out-of-memory killer \(oom_kill in /\S+ rose from \d+ to "
                         r"\d+\); "
                         r"ending the other PE\n$")
        self.assert_nothing_left()

    def test_another_sigkill_is_not_blamed_on_it(self):
        result = self.run_in_group("test $PMIX_RANK = 1 && kill -9 $$; sleep 60")
        self.assertRegex(result.err, r"was killed by signal 9 \(Killed\); ending the other PE\n$")


@unittest.skipUnless(INFO_PROGRAM, "meshmem-info was not built")
class FullDisk(launching.LaunchTest):
    def test_is_no_success_of_the_tools(self):
        bench = [MESHMEM_BENCH, "--csv", "--max-bytes", "64", "--runs", "1"]
        for words in ([INFO_PROGRAM], [INFO_PROGRAM, "--help"], [INFO_PROGRAM, "--environment"],
                      bench, [MESHMEM_BENCH, "--help"]):
            # The other variables are this test's own, which meshmem-info finds strange.
            variables = {name: value for name, value in self.environment.items()
                         if not name.startswith("MESHMEM_")}
            with open("/dev/full", "wb") as full:
                result = self.finish(subprocess.Popen(words, env=variables, stdout=full,
                                                      stderr=subprocess.PIPE))
            self.assertEqual(result.status, 1, f"{words}: {result}")
            self.assertRegex(result.err,
                             r"^meshmem-(info|bench): cannot write all to standard output: .*\n$")


if __name__ == "__main__":
    launching.main()

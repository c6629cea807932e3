#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starting: many PEs, ordinary users, other launchers around, several machines pretended."""
import os
import resource
import shutil
import signal
import time
import unittest

import launching
from launching import OSHRUN, PMIX_CLIENT, SHMEM_PROGRAM

NOBODY = 65534


def switches_of(pid):
    """How often a process has gone to sleep."""
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        return sum(int(line.split()[1])
                   for line in file if line.startswith("voluntary_ctxt_switches"))


class Start(launching.LaunchTest):
    def assert_pes(self, result, pes):
        self.assertEqual((result.status, result.err), (0, ""), result)
        self.assertEqual(sorted(result.out.splitlines()),
                         sorted(f"PE {pe} of {pes}" for pe in range(pes)))
        self.assert_nothing_left()

    def test_1_2_3_8_and_64_pes(self):
        for pes in (1, 2, 3, 8, 64):
            self.assert_pes(self.oshrun("-n", pes, PMIX_CLIENT, "exchange", 1, seconds=60), pes)

    def test_pes_that_outnumber_the_cores_by_far_nap_long(self):
        core = min(os.sched_getaffinity(0))
        process = self.start("-n", 96, SHMEM_PROGRAM, "hang", 0,
                             preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        for _ in range(96):
            self.assertEqual(process.stdout.readline(), b"ready\n")
        time.sleep(0.5)  # naps grow
        waiters = [pid for pid in self.processes() if pid != process.pid]
        before = sum(map(switches_of, waiters))
        time.sleep(1)
        naps = (sum(map(switches_of, waiters)) - before) / len(waiters)
        begin = time.monotonic()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).status, 143)
        print(f"each PE napped {naps:.0f} times a second; the job ended "
              f"{time.monotonic() - begin:.2f} s after SIGTERM")
        # By naps of 3 ms; naps of 1 ms would take the whole core where PEs are some hundreds.
        self.assertLess(naps, 500)

    def test_rounds_of_exchange(self):
        self.assert_pes(self.oshrun("-n", 4, PMIX_CLIENT, "exchange", 5), 4)

    def test_a_low_limit_of_open_files(self):
        def lower():
            resource.setrlimit(resource.RLIMIT_NOFILE,
                               (40, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        self.assert_pes(self.oshrun("-n", 16, PMIX_CLIENT, "exchange", 1, preexec_fn=lower), 16)
        result = self.oshrun("-n", 1, "sh", "-c", "ulimit -n", preexec_fn=lower)
        self.assertEqual(result.out, "40\n")

    def test_a_low_limit_of_stacks(self):
        for kib in (128, 200, 1024):
            def lower(limit=kib << 10):
                resource.setrlimit(resource.RLIMIT_STACK, (limit, limit))
            self.assert_pes(self.oshrun("-n", 3, PMIX_CLIENT, "exchange", 1, preexec_fn=lower), 3)
            result = self.oshrun("-n", 1, "sh", "-c", "ulimit -s", preexec_fn=lower)
            self.assertEqual((result.status, result.out), (0, f"{kib}\n"), result)

    def test_too_low_a_limit_of_open_files_is_one_clear_line(self):
        result = self.oshrun("-n", 64, "sleep", 60,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                                   (60, 60)))
        self.assertEqual(result.status, 1, result)
        self.assertEqual(result.err, "oshrun: cannot start 64 PEs: oshrun needs 224 open files for "
                         "that and may have "
                         "60; raise the limit (ulimit -Hn) or start fewer\n")
        self.assert_nothing_left()

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_an_ordinary_user(self):
        os.chmod(self.folder, 0o755)
        os.chown(self.tmpdir, NOBODY, NOBODY)
        programs = [shutil.copy(program, self.folder) for program in (OSHRUN, PMIX_CLIENT)]

        def become_nobody():
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        process = self.start_program(programs[0], "-n", 4, programs[1], "exchange",
                                     1, preexec_fn=become_nobody)
        self.assert_pes(self.finish(process), 4)

    def start_program(self, program, *words, **options):
        before, launching.OSHRUN = launching.OSHRUN, program
        try:
            return self.start(*words, **options)
        finally:
            launching.OSHRUN = before

    def test_inside_oshrun(self):
        result = self.oshrun("-n", 1, OSHRUN, "-n", 3, PMIX_CLIENT, "exchange", 1)
        self.assert_pes(result, 3)

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_inside_mpirun(self):
        process = self.start_program("timeout", "-k", 2, 60, "mpirun", "--allow-run-as-root",
                                     "--oversubscribe", "-np", 1, OSHRUN, "-n", 3, PMIX_CLIENT,
                                     "exchange", 1, env={"OMPI_MCA_odls_base_num_threads": "0"})
        result = self.finish(process, 70)
        self.assertEqual(result.status, 0, result)
        self.assertEqual(sorted(result.out.split("\n")),
                         ["", "PE 0 of 3", "PE 1 of 3", "PE 2 of 3"])

    def test_an_outer_launchers_identity_is_not_passed_on(self):
        outer = {"PMIX_RANK": "7", "PMIX_NAMESPACE": "outer", "PMI_RANK": "3",
                 "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "9",
                 "PMIX_SERVER_URI2": "outer;tcp4://127.0.0.1:1", "OMPI_MCA_ess_base_vpid": "3",
                 "OMPI_MCA_btl": "self", "PMIX_MCA_plog": "stdfd"}
        result = self.oshrun("-n", 2, "env", env=outer)
        lines = result.out.splitlines()
        for name, value in outer.items():
            stays = name in ("OMPI_MCA_btl", "PMIX_MCA_plog")
            self.assertEqual(f"{name}={value}" in lines, stays, name)
        self.assert_pes(self.oshrun("-n", 2, PMIX_CLIENT, "exchange", 1, env=outer), 2)

    def test_nodes(self):
        result = self.oshrun("-n", 3, PMIX_CLIENT, "node")
        host = os.uname().nodename
        self.assertEqual(sorted(result.out.splitlines()),
                         [f"{pe} host {host} peers 0,1,2 size 3" for pe in range(3)])

    def test_fake_nodes(self):
        result = self.oshrun("-n", 5, "--fake-nodes", 2, PMIX_CLIENT, "node")
        first = [f"{pe} host node0 peers 0,1,2 size 3" for pe in range(3)]
        second = [f"{pe} host node1 peers 3,4 size 2" for pe in (3, 4)]
        self.assertEqual(sorted(result.out.splitlines()), first + second, result)
        self.assert_pes(self.oshrun("-n", 7, "--fake-nodes", 3, PMIX_CLIENT, "exchange", 2), 7)

    @unittest.skipUnless("STATIC_RUNTIME" in os.environ, "sanitizers are a runtime of their own")
    def test_a_library_with_a_cpp_runtime_of_its_own(self):
        library = {"LD_LIBRARY_PATH": os.environ["STATIC_RUNTIME"]}
        mapped = self.oshrun("-n", 1, "sh", "-c", f"ldd {launching.SHMEM_PROGRAM}", env=library)
        for line in mapped.out.splitlines():
            if "libmeshmem" in line:
                self.assertIn(library["LD_LIBRARY_PATH"], line)
        self.assert_pes(self.oshrun("-n", 2, launching.SHMEM_PROGRAM, "ring", env=library), 2)

    def test_a_banner_that_cannot_be_written_is_no_error(self):
        result = self.oshrun("-n", 2, "sh", "-c", f"exec {SHMEM_PROGRAM} ring >/dev/full",
                             env={"SHMEM_INFO": "1", "SHMEM_VERSION": "1", "MESHMEM_TIMEOUT": "30"})
        self.assertEqual((result.status, result.err), (0, ""), result)


if __name__ == "__main__":
    launching.main()

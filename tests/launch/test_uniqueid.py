#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starting by a unique id: the test starts the processes itself, and hands the id from one to the
others.

WITH_NODES: whether jobs over several machines run here.
"""
import contextlib
import errno
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest

import launching
from launching import wait_until

PROGRAM, COMPAT = os.environ["UNIQUEID_PROGRAM"], os.environ["UNIQUEID_COMPAT"]
WITH_NODES = os.environ.get("WITH_NODES") == "1"
# Of launchers around the test.
FOREIGN = re.compile(r"PMIX_|PMI_|OMPI_|SLURM_|MESHMEM_OSHRUN")


def may_name_machines():
    words = ["unshare", "--uts", "true"]
    return shutil.which("unshare") and subprocess.run(words, check=False,
                                                      capture_output=True).returncode == 0


class UniqueId(launching.LaunchTest):
    def setUp(self):
        super().setUp()
        self.environment = {name: value
                            for name, value in self.environment.items() if not FOREIGN.match(name)}
        self.environment["MESHMEM_START_TIMEOUT"] = "60"
        self.started = []

    def tearDown(self):
        for process in self.started:
            process.kill()
            process.communicate()
        super().tearDown()

    def begin(self, *words, machine=None, program=(PROGRAM,), **variables):
        command = [*program, *map(str, words)]
        if machine:
            command = ["unshare", "--uts", "sh", "-c", f'hostname {machine} && exec "$0" "$@"',
                       *command]
        process = subprocess.Popen(command, env={**self.environment, **variables},
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.started.append(process)
        return process

    def make(self, *words, **options):
        """A process that has made an id, and the id."""
        process = self.begin("make", *words, **options)
        unique_id = process.stdout.readline().decode().strip()
        self.assertRegex(unique_id, "^[0-9a-f]{256}$")
        return process, unique_id

    def begin_job(self, pes, verb, host=0, machines=(None,), **variables):
        """The PEs, in order; `host` has made the id."""
        def machine(pe):
            return machines[pe * len(machines) // pes]
        first, unique_id = self.make(host, pes, verb, machine=machine(host), **variables)
        return [first if pe == host else self.begin(unique_id, pe, pes, verb, machine=machine(pe),
                                                    **variables)
                for pe in range(pes)]

    def finish_job(self, processes):
        return [self.finish(process, 90) for process in processes]

    def assert_rings(self, results, rounds):
        for pe, result in enumerate(results):
            self.assertEqual((result.status, result.err), (0, ""), result)
            self.assertEqual(result.out.splitlines(), [f"PE {pe} of {len(results)}"] * rounds,
                             result)
        self.assert_nothing_left()

    def await_ready(self, processes):
        for process in processes:
            self.assertEqual(process.stdout.readline(), b"ready\n")

    def assert_ended(self, results, text):
        for result in results:
            self.assertEqual(result.status, 1, result)
            self.assertRegex(result.err, text, result)
            self.assertEqual(len(result.err.splitlines()), 1, result)
        self.assert_nothing_left()

    def test_1_2_4_and_5_processes(self):
        for pes in (1, 2, 4, 5):
            self.assert_rings(self.finish_job(self.begin_job(pes, "ring")), 1)

    def test_a_launcher_that_cannot_be_asked_makes_no_difference(self):
        tasks = {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "OMPI_COMM_WORLD_RANK": "1",
                 "OMPI_COMM_WORLD_SIZE": "2", "MESHMEM_OSHRUN_PES": "2"}
        self.assert_rings(self.finish_job(self.begin_job(3, "ring", **tasks)), 1)

    def test_any_of_them_makes_the_id_and_all_start_again(self):
        self.assert_rings(self.finish_job(self.begin_job(3, "twice", host=2)), 3)

    def test_a_process_that_is_no_pe_makes_the_id(self):
        maker, unique_id = self.make(-1, 0, "none")
        results = self.finish_job([self.begin(unique_id, pe, 2, "ring") for pe in range(2)])
        self.assertEqual(self.finish(maker).status, 0)
        self.assert_rings(results, 1)

    @unittest.skipUnless(WITH_NODES and may_name_machines(),
                         "built with a sanitizer, or may not make namespaces")
    def test_several_machines(self):
        self.assert_rings(
            self.finish_job(self.begin_job(5, "twice", machines=("one", "two", "three"))), 3)
        processes = self.begin_job(2, "wait", machines=("one", "two"))
        self.await_ready(processes)
        processes[1].kill()
        self.assertEqual(self.finish(processes[1]).status, -signal.SIGKILL)
        result = self.finish(processes[0])
        self.assertEqual(result.status, 1, result)
        self.assertRegex(result.err, "PE 1 .*host two", result)

    def test_nvshmems_and_rocshmems_names(self):
        for library in ("nvshmem", "rocshmem"):
            first, unique_id = self.make(0, 2, program=(COMPAT, library))
            self.assert_rings(
                self.finish_job([first, self.begin(unique_id, 1, 2, program=(COMPAT, library))]), 1)

    def test_the_launcher_is_what_counts_where_there_is_one(self):
        for rank, text in (("0", "^$"), ("1", "rank 1 of 1 is not from 0")):
            result = self.oshrun("-n", 1, PROGRAM, "make", rank, 1, "ring")
            self.assertEqual(result.status == 0, rank == "0", result)
            self.assertRegex(result.err, text, result)
        result = self.oshrun("-n", 2, PROGRAM, "make", 0, 2, "ring")
        self.assertIn("the program starts as rank 0 of 2, but this is PE 1 of 2", result.err)
        result = self.oshrun("-n", 2, "sh", "-c",
                             f"exec {PROGRAM} make $((1 - $PMIX_RANK)) 2 ring")
        self.assertEqual(result.status, 5, result)  # refused, and not open

    def test_a_rank_that_never_comes_is_named(self):
        pes = 4
        first, unique_id = self.make(0, pes, "ring", MESHMEM_START_TIMEOUT="1")
        second = self.begin(unique_id, 3, pes, "ring")
        self.assert_ended([self.finish(first)],
                          "waited 1 s for all 4 PEs to call shmemx_init_attr; PEs 1, 2(, 3)? have "
                          "not come; the limit "
                          "is MESHMEM_START_TIMEOUT")
        result = self.finish(second)
        self.assertRegex(result.err,
                         r"PE 0 \(host .*\) ended the job with status 1; this PE ends too"
                         r"|the process that has made the unique id .* is gone|nobody listens at",
                         result)

    def test_ranks_and_numbers_that_do_not_fit(self):
        for others, text in ((((0, 2),),
                              r"there is a second PE 0: host .*, pid \d+, beside host .*, pid \d+"),
                             (((1, 3),), r"PE \d \(host .*\) says that there are \d PEs, where "
                              r"others say \d")):
            maker, unique_id = self.make(-1, 0, "none")
            processes = [self.begin(unique_id, 0, 2, "ring")]
            processes += [self.begin(unique_id, *other, "ring") for other in others]
            results = self.finish_job(processes)
            maker.communicate()
            self.assert_ended(results, text)

    def test_what_is_no_place_and_no_id_is_refused(self):
        for words, text in (((3, 3), "rank 3 of 3 is not from 0"),
                            ((-2, 2), "rank -2 of 2 is not from 0"),
                            ((0, 2), "the unique id is empty")):
            result = self.finish(self.begin("zero", *words, "ring"))
            self.assertEqual(result.status, 5, result)
            self.assertIn("shmemx_init_attr: " + text, result.err)
        maker, unique_id = self.make(-1, 0, "none")
        maker.communicate()
        self.assert_ended([self.finish(self.begin(unique_id, 0, 1, "ring"))],
                          "nobody listens at .* port .*: the process that has made the unique id "
                          "has ended")

    def test_a_stranger_without_the_token_gets_nothing(self):
        processes = self.begin_job(2, "wait")
        self.await_ready(processes)
        port = self.port_of(processes[0].pid)
        hello = bytes(32) + bytes.fromhex("00000000 00000000")
        for said in (hello, hello * 1000, b"x"):
            self.assertEqual(self.answer_to(said, port), b"")
        held = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(300)]
        self.assertEqual([process.poll() for process in processes], [None, None])
        for stranger in held:
            stranger.close()
        processes[1].kill()
        self.assert_ended([self.finish(processes[0])], r"PE 1 \(.*\) is gone; this PE ends too")

    def answer_to(self, said, port):
        """The answer to a stranger that says this; empty also if the other side closes the
        connection before all is said."""
        with socket.create_connection(("127.0.0.1", port), timeout=30) as stranger:
            try:
                for first in range(0, len(said), 8192):
                    stranger.sendall(said[first:first + 8192])
                    time.sleep(0.01)
                stranger.shutdown(socket.SHUT_WR)
                return stranger.recv(1)
            except OSError as error:
                self.assertIn(error.errno, (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN))
                return b""

    def port_of(self, pid):
        own = set()
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                own.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        for name in ("tcp", "tcp6"):
            with open(f"/proc/net/{name}", encoding="ascii") as file:
                for words in map(str.split, file.readlines()[1:]):
                    if words[3] == "0A" and f"socket:[{words[9]}]" in own:
                        return int(words[1].split(":")[1], 16)
        self.fail("it listens at no port")

    def test_a_pe_that_is_killed_ends_the_others(self):
        for killed, text in ((2, r"PE 2 \(.*\) is gone; this PE ends too"),
                             (0, "the process that has made the unique id .* is gone; this PE ends "
                              "too")):
            processes = self.begin_job(3, "wait")
            self.await_ready(processes)
            processes[killed].kill()
            self.assertEqual(self.finish(processes[killed]).status, -signal.SIGKILL)
            self.assert_ended([self.finish(process)
                               for pe, process in enumerate(processes) if pe != killed], text)

    def test_children_of_fork_do_not_stand_for_a_pe(self):
        processes = self.begin_job(2, "fork")
        self.await_ready(processes)
        processes[0].kill()
        self.assertTrue(wait_until(lambda: processes[1].poll() is not None, 30))
        self.kill(self.processes())
        self.assert_ended([self.finish(processes[1])],
                          "the process that has made the unique id .* is gone")

    def test_global_exit_ends_all_with_its_status(self):
        for who in (0, 1):
            processes = self.begin_job(3, f"global_exit:{who}:9")
            results = self.finish_job(processes)
            self.assertEqual([result.status for result in results], [9, 9, 9],
                             [str(result) for result in results])
            for pe, result in enumerate(results):
                self.assertRegex(result.err, "^$" if pe == who
                                 else rf"PE {who} \(.*\) ended the job with status 9")

    def test_who_starts_again_without_the_others_is_told(self):
        for when in ("after", "before"):
            processes = self.begin_job(2, when, host=1)
            self.assertEqual(self.finish(processes[0]).status, 0)
            self.assert_ended([self.finish(processes[1])],
                              r"PE 0 \(.*\) has ended, so that the others cannot start again")

    def test_who_starts_again_without_the_maker_is_told(self):
        processes = self.begin_job(2, "after", host=0)
        self.assertEqual(self.finish(processes[0]).status, 0)
        self.assert_ended([self.finish(processes[1])],
                          "the process that has made the unique id .* is gone")


if __name__ == "__main__":
    launching.main()

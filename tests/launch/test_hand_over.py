#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs over several machines, which oshrun hands over to prun, srun, prterun or Open MPI's mpirun.

Invariant: the launchers are scripts in a folder of their own, the only one on PATH. They print the
words and variables that they get. Only the last test calls a real launcher.
"""
import os
import shutil
import socket
import stat
import subprocess
import sys
import textwrap
import time
import unittest

import launching
from launching import OSHRUN, SHMEM_PROGRAM

# A launcher's script. It prints its words in brackets, and some variables.
SCRIPT = """#!/bin/sh
if [ "$1" = --version ] || [ "$1" = --mpi=list ]; then echo "{version}"; exit 0; fi
printf '%s' {name}
for word; do printf ' [%s]' "$word"; done
echo
echo "PMIX_RANK=$PMIX_RANK MESHMEM_OSHRUN_PES=$MESHMEM_OSHRUN_PES ROOT=$OMPI_ALLOW_RUN_AS_ROOT"
exit 7
"""
OPEN_MPI = "mpirun (Open MPI) 4.1.4"
MPICH = "HYDRA build details:"


class HandOver(launching.LaunchTest):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.folder, "bin")
        os.mkdir(self.path)
        families = ("SHMEM_", "MESHMEM_", "UCX_", "LD_LIB", "SLURM_")
        for name in [name for name in self.environment if name.startswith(families)]:
            if name != launching.IDENTITY:
                del self.environment[name]
        self.environment["PATH"] = self.path
        self.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                PRTE_ALLOW_RUN_AS_ROOT="1", PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def add_launcher(self, name, version=OPEN_MPI):
        program = os.path.join(self.path, name)
        with open(program, "w", encoding="utf-8") as file:
            file.write(SCRIPT.format(name=name, version=version))
        os.chmod(program, stat.S_IRWXU)

    def words_after(self, *words, **options):
        """The words and variables that the launcher got, without those that every job has."""
        result = self.oshrun(*words, **options)
        self.assertEqual(result.status, 7, result)
        self.assertEqual(len(result.err.splitlines()), 1, result)
        self.assertTrue(result.err.startswith("oshrun: several machines: "), result)
        got = result.out.splitlines()[0]
        for of_all in ("[--bind-to] [none]", f"[-x] [{launching.IDENTITY}]",
                       "[-x] [MESHMEM_OSHRUN_RECORD]"):
            self.assertIn(of_all, got)
            got = got.replace(" " + of_all, "")
        return got

    def assert_refused(self, words, *texts, status=2, **options):
        result = self.oshrun(*words, **options)
        self.assertEqual((result.status, result.out), (status, ""), result)
        self.assertEqual(len(result.err.splitlines()), 1, result)
        for text in ("oshrun: ", *texts):
            self.assertIn(text, result.err)

    def test_the_launcher_gets_hosts_number_and_program(self):
        self.add_launcher("mpirun")
        self.assertEqual(self.words_after("--hosts", "a:4,b:4", "./prog", "-n", "a b"),
                         "mpirun [--host] [a:4,b:4] [-n] [8] [./prog] [-n] [a b]")
        self.assertEqual(self.words_after("--hosts", "a:4,b:4", "-n", 6, "p"),
                         "mpirun [--host] [a:4,b:4] [-n] [6] [p]")
        for option in ("-hosts", "-host", "--host", "-H"):
            self.assertEqual(self.words_after(option, "a:1", "p"),
                             "mpirun [--host] [a:1] [-n] [1] [p]")

    def test_without_numbers_pes_are_spread(self):
        self.add_launcher("mpirun")
        self.assertEqual(self.words_after("-n", 8, "--hosts", "a,b,c", "p"),
                         "mpirun [--host] [a:3,b:3,c:2] [-n] [8] [p]")

    def test_a_hostfile_is_passed_on(self):
        self.add_launcher("mpirun")
        file = os.path.join(self.folder, "hosts")
        with open(file, "w", encoding="ascii") as hosts:
            hosts.write("a slots=2\nb slots=2\n")
        for option in ("--hostfile", "-machinefile"):
            self.assertEqual(self.words_after(option, file, "p"),
                             f"mpirun [--hostfile] [{file}] [p]")
        self.assertEqual(self.words_after("--hostfile", file, "-n", 3, "p"),
                         f"mpirun [--hostfile] [{file}] [-n] [3] [p]")

    def test_the_line_on_stderr_can_be_typed_again(self):
        self.add_launcher("mpirun")
        result = self.oshrun("--hosts", "a:4,b:4", "-x", "A=it's", "./prog", "two words", "")
        self.assertEqual(result.err,
                         "oshrun: several machines: mpirun --host a:4,b:4 -n 8 --bind-to none "
                         f"-x 'A=it'\\''s' -x {launching.IDENTITY} ./prog 'two words' ''\n")

    def test_options_are_translated_for_each_launcher(self):
        options = ["--hosts", "a:2,b:2", "--wdir", "/tmp", "--timeout", 1.5, "--tag-output",
                   "--oversubscribe", "-n", 9, "--allow-run-as-root", "p"]
        self.add_launcher("mpirun")
        common = "[--allow-run-as-root] [--host] [a:2,b:2] [-n] [9]"
        self.assertEqual(self.words_after(*options),
                         f"mpirun {common} [--oversubscribe] [--wdir] [/tmp] [--timeout] [2] "
                         "[--tag-output] [p]")
        self.add_launcher("prterun")
        self.assertEqual(self.words_after(*options),
                         f"prterun {common} [--map-by] [:OVERSUBSCRIBE] [--wdir] [/tmp] "
                         "[--timeout] [2] [--output] [tag] [p]")
        words = self.words_after("--hosts", "a:2", "--wdir", "tmp", "p", cwd=self.folder)
        self.assertIn(f"[--wdir] [{os.path.realpath(self.folder)}/tmp]", words)

    def test_settings_go_to_all_machines(self):
        self.add_launcher("mpirun")
        settings = {"SHMEM_SYMMETRIC_SIZE": "1G", "MESHMEM_TIMEOUT": "9", "UCX_TLS": "tcp",
                    "LD_LIBRARY_PATH": "/x", "OTHER": "1", "MESHMEM_OUTPUT_TTY": "1",
                    "NVSHMEM_SYMMETRIC_SIZE": "2G", "ROCSHMEM_HEAP_SIZE": "4096",
                    "NVSHMEM_DEBUG": "INFO"}
        got = self.words_after("--hosts", "a:2", "-x", "OTHER", "-x", "NOT_SET", "-x",
                               "UCX_TLS=all", "p", env=settings)
        for name in ("SHMEM_SYMMETRIC_SIZE", "MESHMEM_TIMEOUT", "LD_LIBRARY_PATH", "OTHER",
                     "UCX_TLS=all", "NVSHMEM_SYMMETRIC_SIZE", "ROCSHMEM_HEAP_SIZE"):
            self.assertIn(f"[-x] [{name}]", got)
        self.assertNotIn("NOT_SET", got)
        self.assertNotIn("[UCX_TLS]", got)
        self.assertNotIn("NVSHMEM_DEBUG", got)
        self.assertEqual(got.count("OTHER"), 1)

    def add_program(self, name, text):
        program = os.path.join(self.path, name)
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"#!{sys.executable}\n{text}")
        os.chmod(program, stat.S_IRWXU)

    def test_a_last_word_of_pe_0_may_come_after_the_launchers_end(self):
        self.add_program("mpirun", textwrap.dedent("""
            import os, socket, sys, time
            if "--version" in sys.argv:
                print("mpirun (Open MPI) 4.1.4")
                sys.exit(0)
            secret, port = os.environ["MESHMEM_OSHRUN_RECORD"].split("/")[:2]
            record = socket.create_connection(("127.0.0.1", int(port)))
            record.sendall(secret.encode() + b"b")
            if os.fork() == 0:
                time.sleep(0.3)
                record.sendall(b"e")
        """))
        result = self.oshrun("--hosts", "a:2", "p")
        self.assertEqual(result.status, 0, result)

    def test_silent_strangers_cost_no_time(self):
        self.add_program("mpirun", textwrap.dedent("""
            import sys, time
            if "--version" in sys.argv:
                print("mpirun (Open MPI) 4.1.4")
            else:
                print("ready", flush=True)
                time.sleep(60)
        """))
        process = self.start("--hosts", "a:2", "p")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        variables = launching.environment_of(launching.children_of(process.pid)[0])
        record = next(text for text in variables if text.startswith(b"MESHMEM_OSHRUN_RECORD="))
        port = int(record.split(b"/")[1])
        strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(70)]
        time.sleep(0.5)
        before = launching.ticks_of(process.pid)
        time.sleep(1)
        self.assertLess(launching.ticks_of(process.pid) - before, 10)
        for stranger in strangers:
            stranger.close()
        process.terminate()
        self.finish(process)

    def test_a_pe_that_calls_oshrun_is_no_pe_of_the_new_job(self):
        self.add_launcher("mpirun")
        result = self.oshrun("-n", 1, OSHRUN, "--hosts", "a:2", "--allow-run-as-root", "p")
        self.assertIn("\nPMIX_RANK= MESHMEM_OSHRUN_PES= ROOT=\n", result.out)
        self.assertIn("ROOT=1\n", self.oshrun("--hosts", "a:2", "p").out)

    def add_dvm(self, pid=None, user=None, name="prte", host="a.b"):
        """Makes the file that PRRTE's daemon with this number has, and returns its name."""
        pid = pid or os.getpid()
        folder = os.path.join(self.tmpdir,
                              f"{name}.{host}.{pid}.{os.geteuid() if user is None else user}")
        os.mkdir(folder)
        contact = os.path.join(folder, f"pmix.{host}.tool.{pid}")
        with open(contact, "w", encoding="ascii") as file:
            file.write("prte-a@0.0;tcp4://127.0.0.1:1\n")
        return contact

    def test_where_a_dvm_runs_prun_is_called(self):
        for name in ("prun", "prterun", "mpirun", "srun"):
            self.add_launcher(name, "pmix")
        self.environment["SLURM_JOB_ID"] = "7"
        contact = self.add_dvm()
        self.assertEqual(self.words_after("--hosts", "a:2", "--tag-output", "--oversubscribe", "p"),
                         f"prun [--dvm-uri] [file:{contact}] [--host] [a:2] [-n] [2] [--map-by] "
                         "[:OVERSUBSCRIBE] "
                         "[--output] [tag] [p]")
        os.remove(os.path.join(self.path, "prun"))
        self.assertTrue(self.words_after_srun("--hosts", "a:2", "p"))

    def test_what_is_no_dvm_of_this_user_is_not_taken_for_one(self):
        for name in ("prun", "prterun"):
            self.add_launcher(name)
        ended = subprocess.Popen(["true"])
        ended.wait()
        self.add_dvm(pid=ended.pid)
        self.add_dvm(user=os.geteuid() + 1)
        self.add_dvm(name="prterun")
        os.mkdir(os.path.join(self.tmpdir, "prte.x"))
        os.mkdir(os.path.join(self.tmpdir, f"prte.a.{os.getpid()}.{os.geteuid()}"))
        self.assertEqual(self.words_after("--hosts", "a:2", "p"),
                         "prterun [--host] [a:2] [-n] [2] [p]")

    def test_of_two_dvms_none_is_guessed(self):
        self.add_launcher("prun")
        self.add_dvm()
        self.add_dvm(host="c")
        self.assert_refused(["--hosts", "a:2", "p"], "2 DVMs", "prun --dvm-uri file:")

    def words_after_srun(self, *words):
        """The words and variables that srun got, without those that every job has."""
        result = self.oshrun(*words)
        self.assertEqual(result.status, 7, result)
        of_all = "[--kill-on-bad-exit=1] [--export=ALL] "
        got = result.out.splitlines()[0]
        self.assertIn(of_all, got)
        return got.replace(of_all, "").replace("[--cpu-bind=none] [--distribution=arbitrary] ", "")

    def test_inside_an_allocation_of_slurms_srun_is_called(self):
        for name in ("srun", "prterun"):
            self.add_launcher(name, "MPI plugin types are... none pmi2 pmix")
        self.assertTrue(self.words_after("--hosts", "a:1", "p").startswith("prterun "))
        self.environment["SLURM_JOB_ID"] = "7"
        self.assertEqual(self.words_after_srun("--hosts", "a:2,b:1", "p", "a b"),
                         "srun [--mpi=pmix] [-w] [a,a,b] [-n] [3] [p] [a b]")
        self.assertEqual(self.words_after_srun("--hosts", "a,b", "-n", 3, "--tag-output", "--wdir",
                                               "/tmp", "p"),
                         "srun [--mpi=pmix] [-w] [a,a,b] [-n] [3] [--chdir=/tmp] [--label] [p]")
        self.assertEqual(self.words_after_srun("--hosts", "a:2,b:2", "-n", 3, "p"),
                         "srun [--mpi=pmix] [-w] [a,a,b] [-n] [3] [p]")
        self.assertEqual(self.words_after_srun("--hosts", "a:1,b:1", "-n", 4, "--oversubscribe",
                                               "p"),
                         "srun [--mpi=pmix] [-w] [a,b,a,b] [-n] [4] [--overcommit] [p]")
        self.assert_refused(["--hosts", "a:2", "--timeout", 3, "p"], "--timeout")
        self.add_launcher("srun", "none pmi2")
        self.assertIn("[--mpi=pmi2]", self.words_after_srun("--hosts", "a:2", "p"))
        for words, version in ((["--hosts", "a:2"], "none"), (["--hostfile", "/dev/null"], "pmix")):
            self.add_launcher("srun", version)
            self.assertTrue(self.words_after(*words, "p").startswith("prterun "))

    def test_variables_with_commas_reach_srun(self):
        self.add_launcher("srun", "pmix")
        os.symlink(shutil.which("env"), os.path.join(self.path, "env"))
        self.environment["SLURM_JOB_ID"] = "7"
        result = self.oshrun("--hosts", "a:1", "-x", "PMIX_RANK=3,4", "-x", "PATH", "p")
        self.assertIn("PMIX_RANK=3,4 ", result.out)
        self.assertTrue(result.err.startswith(
            "oshrun: several machines: env PMIX_RANK=3,4 srun --kill"), result)

    def test_mpirun_has_to_be_open_mpis(self):
        self.assert_refused(["--hosts", "a:2", "p"], "prterun", "mpirun", "openmpi-bin", status=1)
        self.add_launcher("mpirun", MPICH)
        self.environment["PATH"] += ":/bin:/usr/bin"  # of which the first folder counts
        if not shutil.which("prterun", path=self.environment["PATH"]):
            self.assert_refused(["--hosts", "a:2", "p"], "is not Open MPI's", "openmpi-bin",
                                status=1)

    def test_what_cannot_be_meant_is_refused_in_a_line(self):
        self.add_launcher("mpirun")
        for words, text in ((["--hosts", "a:4,b:4", "-n",
                              9], "-n 9 is more than the 8 PEs"), (["--hosts",
                                                                    "a:4,b"], "but none for 'b'"),
                            (["--hosts", "a,b"], "--hosts a:4"), (["--hosts", "a,b,c", "-n",
                                                                   2], "3 machines for 2 PEs"),
                            (["--hosts", "a:x"], "'a:x'"), (["--hosts", "a:0"], "'a:0'"),
                            (["--hosts",
                              "a:65537"], "'a:65537'"), (["--hosts",
                                                          "a:2147483647,b:2"], "'a:2147483647'"),
                            (["--hosts", "a:65536,b:65536"],
                             "131072 PEs; the most is 65536"), (["--hosts",
                                                                 "a:4,"], "''"), (["--hosts",
                                                                                   ":4"], "':4'"),
                            (["--hosts="], "--hosts"), (["--hostfile",
                                                         "/no/such"], "/no/such"), (["--hostfile="],
                                                                                    "--hostfile"),
                            (["--hosts", "a:1", "--hostfile", "/dev/null"],
                             "exclude"), (["--hosts", "a:4", "--fake-nodes", 2],
                                          "--fake-nodes"), (["--hosts", "a:4", "--hosts",
                                                             "b:4"], "--hosts")):
            self.assert_refused([*words, "p"], text)
        self.assert_refused(["--hosts", "a:4", "--status", 1], "--status")
        self.assert_refused(["--hosts", "a:4"], "no program")
        # A program's own word, on one machine.
        self.assert_refused(["--hosts", "a:4", "--", "echo", "a", ":", "b"], "':'",
                            "second program")

    @unittest.skipUnless(os.geteuid() == 0, "only root has to ask")
    def test_root_is_told_what_to_add(self):
        for launcher, family in (("mpirun", "OMPI"), ("prterun", "PRTE")):
            self.add_launcher(launcher)
            del self.environment[f"{family}_ALLOW_RUN_AS_ROOT"]
            self.assert_refused(["--hosts", "a:2", "p"], f"{launcher} does not run as root",
                                "--allow-run-as-root")
            self.assertIn("[--allow-run-as-root]",
                          self.words_after("--hosts", "a:2", "--allow-run-as-root", "p"))

    @unittest.skipUnless(SHMEM_PROGRAM and shutil.which("mpirun"), "mpirun is not installed")
    def test_a_real_launcher_runs_the_job(self):
        os.symlink(shutil.which("mpirun"), os.path.join(self.path, "mpirun"))
        self.environment["PATH"] += ":/usr/bin:/bin"
        self.environment["OMPI_MCA_odls_base_num_threads"] = "0"
        result = self.oshrun("--hosts", "localhost:3", "--wdir", self.folder, SHMEM_PROGRAM,
                             "ring", seconds=90)
        self.assertEqual(result.status, 0, result)
        self.assertEqual(sorted(result.out.splitlines()), [f"PE {pe} of 3" for pe in range(3)],
                         result)


if __name__ == "__main__":
    launching.main()

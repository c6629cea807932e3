#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every option of oshrun, right and wrong."""
import os
import re
import time

import launching


class Options(launching.LaunchTest):
    def count_lines(self, *words, **options):
        result = self.oshrun(*words, **options)
        self.assertEqual(result.status, 0, result)
        return len(result.out.splitlines())

    def assert_refused(self, words, status, *texts):
        result = self.oshrun(*words)
        self.assertEqual(result.status, status, result)
        self.assertEqual(result.out, "")
        self.assertEqual(len(result.err.splitlines()), 1, result)
        self.assertTrue(result.err.startswith("oshrun: "), result)
        for text in texts:
            self.assertIn(text, result.err)
        self.assert_nothing_left()

    def test_n_and_np_give_the_number_of_pes(self):
        self.assertEqual(self.count_lines("-n", 3, "echo"), 3)
        self.assertEqual(self.count_lines("-np", 5, "echo"), 5)
        self.assertEqual(self.count_lines("-n4", "echo"), 4)
        for words in (["-n=2"], ["--np", 2], ["--np=2"], ["--n", 2], ["-np=2"], ["--ntasks=2"],
                      ["-ntasks", 2]):
            self.assertEqual(self.count_lines(*words, "echo"), 2, words)

    def test_names_of_other_launchers_mean_the_same(self):
        self.assertEqual(self.count_lines("--oversubscribe", "--allow-run-as-root", "-np",
                                          3, "-oversubscribe", "echo"), 3)
        for option in ("-wdir", "-wd", "--wd", "--chdir"):
            result = self.oshrun("-n", 1, option, self.folder, "pwd")
            self.assertEqual(result.out, f"{os.path.realpath(self.folder)}\n", option)
        for option in ("-l", "-label", "-tag-output", "--prepend-rank"):
            self.assertEqual(self.oshrun("-n", 1, option, "echo", "a").out, "[0] a\n", option)
        self.assertEqual(self.oshrun("-n", 1, "-xA=B=2", "sh", "-c", "echo $A").out, "B=2\n")

    def test_names_that_oshrun_lacks_are_refused_with_what_to_write(self):
        machines, cores = "--hosts a:4,b:4", "binds no PE"
        for text, *options in ((machines, "-N", "-ppn", "--npernode", "--nodes", "-w",
                                "--nodelist", "--rankfile"),
                               ("--hostfile FILE", "-f", "--default-hostfile"),
                               (cores, "--map-by", "-bind-to", "--rank-by", "--cpus-per-task"),
                               ("-x NAME=VALUE", "-env", "-genv", "--export"),
                               ("components", "-mca", "--mca", "--pmixmca"), ("use -n", "-c"),
                               ("one program", "-configfile", "--app"),
                               ("2>&1", "--merge-stderr-to-stdout")):
            for option in options:
                self.assert_refused([option, "a", "b", "true"], 2,
                                    f"oshrun: {option} is not an option", text)
        self.assert_refused(["-ppn=4", "true"], 2, "-ppn=4 is not an option", machines)

    def test_several_programs_are_refused_by_name(self):
        self.assert_refused(["-n", 1, "echo", "a", ":", "-n", 1, "echo"], 2, "':'", "one program",
                            "write --")
        self.assertEqual(self.oshrun("-n", 1, "--", "echo", "a", ":", "b").out, "a : b\n")
        self.assertEqual(self.oshrun("-n", 1, "sh", "-c", ":").status, 0)

    def test_default_is_one_pe_per_usable_core(self):
        self.assertEqual(self.count_lines("echo"), len(os.sched_getaffinity(0)))
        first = {min(os.sched_getaffinity(0))}
        self.assertEqual(
            self.count_lines("echo", preexec_fn=lambda: os.sched_setaffinity(0, first)), 1)

    def test_words_after_the_program_are_its_own(self):
        result = self.oshrun("-n", 1, "echo", "-n", "-np", "--timeout", "--help")
        self.assertEqual(result.out, "-np --timeout --help")  # echo took its own -n
        result = self.oshrun("-n", 1, "--", "echo", "--", "-x")
        self.assertEqual(result.out, "-- -x\n")

    def test_x_sets_and_passes_variables(self):
        result = self.oshrun("-n", 2, "-x", "A=1=2", "-x", "B=", "-x", "C", "-x",
                             "NOT_SET_ANYWHERE", "sh", "-c",
                             'echo "$A,$B,$C,${NOT_SET_ANYWHERE-none}"', env={"C": "three"})
        self.assertEqual(result.out, "1=2,,three,none\n" * 2)

    def test_environment_is_passed_on(self):
        result = self.oshrun("-n", 1, "sh", "-c", "echo $FROM_OUTSIDE", env={"FROM_OUTSIDE": "yes"})
        self.assertEqual(result.out, "yes\n")

    def test_wdir_is_where_the_program_is_and_runs(self):
        program = os.path.join(self.folder, "program")
        with open(program, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\npwd\n")
        os.chmod(program, 0o755)
        result = self.oshrun("-n", 2, "--wdir", self.folder, "./program")
        self.assertEqual(result.out, f"{os.path.realpath(self.folder)}\n" * 2)

    def test_tag_output_puts_the_pe_before_each_line(self):
        result = self.oshrun("-n", 3, "--tag-output", "sh", "-c", "printf 'a\\n\\nb'; echo c >&2")
        self.assertEqual(sorted(result.out.splitlines()),
                         sorted(f"[{pe}] {text}" for pe in range(3) for text in ("a", "", "b")))
        self.assertTrue(result.out.endswith("\n"))
        self.assertEqual(sorted(result.err.splitlines()), [f"[{pe}] c" for pe in range(3)])

    def test_timeout_ends_the_job(self):
        result = self.oshrun("-n", 2, "--timeout", 0.3, "sleep", 60)
        self.assertEqual(result.status, 124, result)
        self.assertEqual(result.err,
                         "oshrun: the job ran longer than --timeout 0.3 s; ending its 2 PEs\n")
        self.assertLess(result.seconds, 30)

    def test_timeout_leaves_a_shorter_job_alone(self):
        self.assertEqual(self.oshrun("-n", 2, "--timeout", 20, "true").status, 0)

    def test_timeout_is_for_pes_and_not_for_their_last_output(self):
        script = "setsid sleep 2 & sleep 0.9"  # which holds the PE's stdout open
        result = self.oshrun("-n", 1, "--timeout", 1, "sh", "-c", script)
        time.sleep(1.5)  # until it has ended
        self.assertEqual((result.status, result.err), (0, ""), result)

    def test_version_and_help(self):
        result = self.oshrun("--version")
        self.assertEqual((result.status, result.err), (0, ""))
        self.assertRegex(result.out, r"^oshrun \(meshmem\) \d+\.\d+\.\d+\n$")
        result = self.oshrun("--help")
        self.assertEqual((result.status, result.err), (0, ""))
        for text in ("-n", "-np", "-x", "--timeout", "--tag-output", "--wdir", "--hosts",
                     "--hostfile", "--status PID", "SIGQUIT",
                     "oshrun -n 4 ./hello"):
            self.assertIn(text, result.out)
        for option in ("-help", "-h"):
            self.assertEqual((self.oshrun(option).status, self.oshrun(option).out),
                             (0, result.out), option)
        self.assertEqual(self.oshrun("-n", "x", "--help").out, result.out)
        self.assertNotIn("fake", result.out)
        self.assertLessEqual(max(len(line) for line in result.out.splitlines()), 100)

    def test_wrong_ones_are_refused_in_one_line(self):
        self.assert_refused(["-n", "0", "true"], 2, "-n", "'0'")
        self.assert_refused(["-n", "x", "true"], 2, "-n", "'x'")
        self.assert_refused(["-n", "-3", "true"], 2, "-n", "-3")
        self.assert_refused(["-n", "3.5", "true"], 2, "'3.5'")
        self.assert_refused(["-n", "99999999999999999999", "true"], 2, "99999999999999999999")
        self.assert_refused(["-n"], 2, "-n")
        self.assert_refused([], 2, "no program")
        self.assert_refused(["-n", "3"], 2, "no program")
        self.assert_refused(["--bogus", "true"], 2, "--bogus is not an option", "-n", "--timeout",
                            "--wdir", "--help")
        for option in ("-bogus", "-hn", "-", "--", "-3", "--bogus=3", "--=3"):
            self.assert_refused([option], 2)
        self.assert_refused(["-nx", "true"], 2, "-n takes a number", "'x'")
        self.assert_refused(["--tag-output=perhaps", "true"], 2, "--tag-output")
        self.assert_refused(["-x", "=3", "true"], 2, "-x", "'=3'")
        self.assert_refused(["--timeout", "soon", "true"], 2, "--timeout", "'soon'")
        self.assert_refused(["--timeout", "0", "true"], 2, "--timeout")
        self.assert_refused(["--wdir", "/no/such", "true"], 2, "--wdir", "/no/such", "No such file")
        self.assert_refused(["-n", "2", "--fake-nodes", "3", "true"], 2, "--fake-nodes")

    def test_a_program_that_cannot_be_run_is_named_once(self):
        self.assert_refused(["-n", "4", "./nosuch"], 127, "cannot run './nosuch': No such file")
        self.assert_refused(["-n", "4", "no-such-command-on-path"], 127, "No such file")
        self.assert_refused(["4", "true"], 127, "cannot run '4'", "for 4 PEs write -n 4")
        self.assert_refused(["1", "true"], 127, "cannot run '1'", "for 1 PE write -n 1")
        with open(os.path.join(self.folder, "here"), "w", encoding="ascii") as file:
            os.fchmod(file.fileno(), 0o700)
        self.assert_refused(["--wdir", self.folder, "-n", "1", "here"], 127, "write ./here")
        for option in ("--status", "-n", "-x"):
            self.assert_refused([option], 2, f"{option} needs a value")

    def test_x_of_a_variable_that_is_not_set_is_told(self):
        result = self.oshrun("-n", 1, "-x", "NO_SUCH_VARIABLE", "true")
        self.assertEqual((result.status, result.err),
                         (0, "oshrun: -x NO_SUCH_VARIABLE: it is not set here; "
                             "-x NO_SUCH_VARIABLE=VALUE sets it\n"))
        self.assert_refused(["-n", "4", "/etc/passwd"], 126,
                            "cannot run '/etc/passwd': Permission denied")
        self.assert_refused(["-n", "4", "/"], 126, "cannot run '/': Is a directory")

    def write_program(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        os.chmod(path, 0o755)
        return path

    def test_a_program_that_this_machine_cannot_run_is_no_script(self):
        with open(launching.PMIX_CLIENT, "rb") as file:
            own = file.read()
        s390 = self.write_program("s390", own[:18] + (22).to_bytes(2, "little") + own[20:])
        self.assert_refused(["-n", "2", s390], 126,
                            f"cannot run '{s390}': it is not a program for this machine")
        self.environment["PATH"] = self.folder + ":" + self.environment["PATH"]
        self.assert_refused(["-n", "2", "s390"], 126,
                            "cannot run 's390': it is not a program for this machine")
        self.assert_refused(["-n", "2", self.write_program("cut", own[:100])], 126,
                            "or its file is damaged")
        self.assert_refused(["-n", "2", self.write_program("short", own[:5])], 126,
                            "or its file is damaged")
        loader = own.find(b"/ld-linux")
        musl = self.write_program("musl", own[:loader] + b"/no-linux" + own[loader + 9:])
        self.assert_refused(["-n", "2", musl], 127, "its loader does not exist")

    def test_a_script_whose_interpreter_is_not_there_says_so(self):
        missing = self.write_program("missing", b"#! /no/such/shell -e\necho\n")
        self.assert_refused(["-n", "2", missing], 127,
                            "its first line names an interpreter that is not there: "
                            "#! /no/such/shell -e")
        windows = self.write_program("windows", b"#!/bin/sh\r\necho\r\n")
        self.assert_refused(["-n", "2", windows], 127, "its lines end in carriage returns")
        self.assertEqual(self.count_lines("-n", 2, self.write_program("plain", b"echo here\n")), 2)

    def test_pes_get_no_variables_but_those_of_pmix_and_a_few(self):
        before = set(self.environment)
        result = self.oshrun("-n", 1, "env")
        new = {line.split("=")[0]
               for line in result.out.splitlines() if re.match(r"\w+=", line)} - before
        self.assertEqual({name for name in new if not name.startswith("PMIX_")},
                         {"MESHMEM_OSHRUN_PES", "MESHMEM_OSHRUN_STATUS", "OMPI_MCA_schizo",
                          "OMPI_MCA_btl_vader_backing_directory"})
        # The user's own choice for Open MPI stays.
        result = self.oshrun("-n", 3, "sh", "-c", "echo $MESHMEM_OSHRUN_PES $OMPI_MCA_schizo",
                             env={"OMPI_MCA_schizo": "jsm", "MESHMEM_OSHRUN_PES": "9"})
        self.assertEqual(result.out, "3 jsm\n" * 3)


if __name__ == "__main__":
    launching.main()

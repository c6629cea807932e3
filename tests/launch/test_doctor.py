#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""meshmem-info --doctor by itself and as a job: its lines, its JSON and its status, under oshrun,
mpirun and prterun.

Invariant: what the machine of the test is like decides no test, but for what is laid out below a
root of its own.
"""
import json
import os
import re
import shutil
import subprocess
import unittest

import launching
import test_launchers
from launching import INFO_PROGRAM, OSHRUN

OF_A_JOB = ["start", "heap", "device memory"]
LINE = re.compile(r"(OK|WARN|BAD) +(\S.*?)  +(\S.*)")
LIMITS = "Max file size             {0}              {0}              bytes\n"
SECONDS = 60


class Doctor(launching.LaunchTest):
    def setUp(self):
        super().setUp()
        self.environment.update(test_launchers.CALM)
        self.environment.pop("MESHMEM_NETWORK", None)

    def run_words(self, *words, **variables):
        process = subprocess.Popen(["timeout", "-k", "2", str(SECONDS), *map(str, words)],
                                   env={**self.environment, **variables}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return self.finish(process, SECONDS + 10)

    def ill_machine(self):
        """A folder that is a machine whose files may not be large enough for a heap."""
        root = os.path.join(self.folder, "root")
        os.makedirs(os.path.join(root, "proc/self"))
        with open(os.path.join(root, "proc/self/limits"), "w", encoding="utf-8") as file:
            file.write(LIMITS.format(1 << 20))
        return root

    def lines_of(self, result):
        """(verdict, name, says) of each line; the fixes and the count must be as they should."""
        *lines, last = result.out.splitlines()
        found = [LINE.fullmatch(line).groups() for line in lines if not line.startswith(" ")]
        for line in lines:
            self.assertRegex(line, r"^((OK|WARN|BAD) .*| {28}fix: \S.*)$", result)
        verdicts = [verdict for verdict, _, _ in found]
        self.assertEqual(len(lines) - len(found), len(found) - verdicts.count("OK"), result)
        self.assertEqual(last, f"{len(found)} checks: {verdicts.count('OK')} OK, "
                         f"{verdicts.count('WARN')} WARN, "
                               f"{verdicts.count('BAD')} BAD", result)
        return found

    def assert_status(self, result, verdicts):
        if "BAD" in verdicts:
            self.assertEqual(result.status, 1, result)
        else:
            self.assertEqual((result.status, result.err), (0, ""), result)

    def assert_well(self, result, pes, nodes):
        found = self.lines_of(result)
        self.assert_status(result, [verdict for verdict, _, _ in found])
        says = {name: text for _, name, text in found}
        self.assertEqual(says["start"], f"the library starts: {pes} PE{'s' * (pes > 1)} on {nodes} "
                                        f"node{'s' * (nodes > 1)}", result)
        self.assertEqual({verdict for verdict, name, _ in found if name in OF_A_JOB}, {"OK"},
                         result)
        self.assertEqual([name for name in OF_A_JOB if name not in says], [], result)
        return found

    def assert_ill_on_all(self, pes, *launcher):
        """The status of each PE is shown, since a launcher's own is that of one."""
        root = self.ill_machine()
        script = f'"{INFO_PROGRAM}" --doctor --root "{root}"; echo "status $?"'
        result = self.run_words(*launcher, "sh", "-c", script)
        self.assertEqual(re.findall(r"status (\d+)", result.out), ["1"] * pes, result)
        self.assertEqual(len(re.findall(r"BAD +file size +1 MiB, and a job", result.out)),
                         1, result)
        self.assertRegex(result.out, r"\d+ checks: \d+ OK, \d+ WARN, [1-9]\d* BAD\n", result)
        self.assertRegex(result.err, r"BAD +file size +\S+: 1 MiB, and a job", result)
        self.assertRegex(result.out, r"OK +start +the library starts: ", result)
        return result


class Alone(Doctor):
    def test_tells_of_this_machine_and_starts_no_job(self):
        result = self.run_words(INFO_PROGRAM, "--doctor")
        found = self.lines_of(result)
        self.assert_status(result, [verdict for verdict, _, _ in found])
        names = [name for _, name, _ in found]
        self.assertIn("shared memory", names, result)
        self.assertFalse(set(names) & set(OF_A_JOB), result)

    def test_json_says_what_the_lines_say(self):
        result = self.run_words(INFO_PROGRAM, "--doctor", "--json")
        told = json.loads(result.out)
        self.assertEqual(told["bad"],
                         len([one for one in told["checks"] if one["verdict"] == "BAD"]), result)
        lines = self.lines_of(self.run_words(INFO_PROGRAM, "--doctor"))
        self.assertEqual([(one["verdict"], one["name"]) for one in told["checks"]],
                         [line[:2] for line in lines], result)
        self.assertTrue(all(bool(one["fix"]) == (one["verdict"] != "OK") for one in told["checks"]),
                        result)
        self.assertFalse([one for one in told["checks"] if "nodes" in one], result)

    def test_ends_with_1_where_a_check_is_bad(self):
        root = self.ill_machine()
        result = self.run_words(INFO_PROGRAM, "--doctor", "--root", root)
        self.assertEqual((result.status, result.err), (1, ""), result)
        self.assertRegex(result.out, r"BAD +file size +1 MiB, and a job", result)
        result = self.run_words(INFO_PROGRAM, "--doctor", "--root", root, "--json")
        self.assertEqual(result.status, 1, result)
        self.assertIn("file size", [one["name"] for one in json.loads(result.out)["checks"]
                                    if one["verdict"] == "BAD"])


class ByOshrun(Doctor):
    def tearDown(self):
        self.assert_nothing_left()
        super().tearDown()

    def doctor(self, *words, **variables):
        return self.run_words(OSHRUN, *words, INFO_PROGRAM, "--doctor", **variables)

    def test_one_pe_puts_to_itself(self):
        found = self.assert_well(self.doctor("-n", 1), 1, 1)
        self.assertIn(("OK", "heap", "a put to itself arrives; there is one PE on the node"), found)
        self.assertNotIn("to other nodes", [name for _, name, _ in found])

    def test_pes_of_a_node_check_once(self):
        found = self.assert_well(self.doctor("-n", 3), 3, 1)
        names = [name for _, name, _ in found]
        self.assertEqual(len(names), len(set(names)), found)
        self.assertIn(("OK", "heap", "a put to another PE of the node arrives by shared memory"),
                      found)

    def assert_between_nodes(self, result, pes, by):
        host = re.escape(os.uname().nodename)
        ways = [text for _, name, text in self.assert_well(result, pes, 2)
                if name == "to other nodes"]
        self.assertEqual(len(ways), 2, result)
        for text, (own, other) in zip(ways, ((0, pes - 1), (pes - 1, 0))):
            self.assertRegex(text, rf"^{host} \(PE {own}\): puts to 1 node arrive; a get of "
                             r"8 bytes takes "
                                   rf"\d+\.\d us at most \(from PE {other}\), by {by}", result)

    def test_nodes_differ_by_name(self):
        result = self.doctor("-n", 3, "--fake-nodes", 2)
        self.assert_between_nodes(result, 3, "(tcp|UCX) ")
        heaps = [text for _, name, text in self.lines_of(result) if name == "heap"]
        self.assertEqual(len(heaps), 2, result)
        self.assertIn("(PE 0): a put to another PE", heaps[0])
        self.assertIn("(PE 2): a put to itself", heaps[1])

    @unittest.skipUnless("WITH_UCX" in os.environ, "built without a network")
    def test_nodes_reach_each_other_by_the_network(self):
        self.assert_between_nodes(self.doctor("-n", 2, "--fake-nodes", 2, MESHMEM_NETWORK="ucx"),
                                  2, "UCX ")

    def test_json_names_the_nodes_of_what_differs(self):
        result = self.run_words(OSHRUN, "-n", 2, "--fake-nodes", 2, INFO_PROGRAM, "--doctor",
                                "--json")
        checks = json.loads(result.out)["checks"]
        self.assert_status(result, [one["verdict"] for one in checks])
        host = os.uname().nodename
        self.assertEqual([one.get("nodes") for one in checks if one["name"] == "to other nodes"],
                         [[f"{host} (PE 0)"], [f"{host} (PE 1)"]], result)
        self.assertEqual([one.get("nodes") for one in checks if one["name"] in ("start", "heap")],
                         [None, None], result)

    def test_what_is_bad_anywhere_ends_all_pes_with_1(self):
        result = self.assert_ill_on_all(3, OSHRUN, "-n", 3, "--fake-nodes", 2)
        # it is one machine
        self.assertEqual(len(re.findall("BAD +file size", result.err)), 1, result)

    def test_what_is_bad_is_told_where_the_library_does_not_start(self):
        result = self.doctor("-n", 1, MESHMEM_CHECK="maybe")
        self.assertEqual((result.status, result.out), (1, ""), result)
        self.assertEqual(len(re.findall(r"^BAD +variables +\S+: MESHMEM_CHECK=maybe ", result.err,
                                        re.M)), 1, result)
        self.assertRegex(result.err, r"\nmeshmem: PE \d [^\n]*shmem_init: MESHMEM_CHECK=maybe ",
                         result)

    def test_settings_that_keep_a_pe_from_its_server_are_told(self):
        """As a launcher may give them to its PEs alone (mpirun -x)."""
        result = self.run_words(OSHRUN, "-n", 1, "env", "PMIX_MCA_psec=munge", INFO_PROGRAM,
                                "--doctor")
        self.assertEqual((result.status, result.out), (1, ""), result)
        self.assertRegex(result.err, r"(?m)^BAD +PMIx settings +\S+: PMIX_MCA_psec=munge leaves "
                         r"out native", result)

    def test_a_library_that_cannot_be_loaded_is_bad(self):
        broken = os.path.join(self.folder, "broken")
        os.mkdir(broken)
        with open(os.path.join(broken, "libmeshmem.so.0.1"), "w", encoding="utf-8") as file:
            file.write("no library\n" * 100)
        result = self.doctor("-n", 2, LD_LIBRARY_PATH=broken)
        self.assertEqual(result.status, 1, result)
        lines = re.findall(r"^BAD +library +\S*libmeshmem.so.0.1: ", result.out, re.M)
        self.assertEqual(len(lines), 1, result)


class ByOthers:
    """These tests hold under a launcher that gives launch_words(); mixed into a test case."""

    def test_pes_of_a_node_check_once(self):
        found = self.assert_well(self.run_words(*self.launch_words(2), INFO_PROGRAM, "--doctor"),
                                 2, 1)
        names = [name for _, name, _ in found]
        self.assertEqual(len(names), len(set(names)), found)

    def test_what_is_bad_ends_all_pes_with_1(self):
        self.assert_ill_on_all(2, *self.launch_words(2))


@unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
class ByMpirun(ByOthers, Doctor):
    launch_words = test_launchers.Mpirun.launch_words


class ByPrterun(ByOthers, Doctor):
    launch_words = test_launchers.Prterun.launch_words

    @classmethod
    def setUpClass(cls):
        cls.programs = test_launchers.programs_of_prrte()


if __name__ == "__main__":
    launching.main()

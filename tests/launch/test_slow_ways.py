#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SHMEM_DEBUG=1 says each kind of slow way once, with what helps, and meshmem-trace counts the calls."""
import json
import os
import re
import subprocess

import launching

PROGRAM = os.environ.get("SLOW_WAYS", "")
MESHMEM_TRACE = os.path.join(os.path.dirname(launching.OSHRUN), "meshmem-trace")


class SlowWays(launching.LaunchTest):
    def kinds_of_pes(self, *words, **variables):
        """(PE, routine, kind) of each line that tells of a slow way, sorted."""
        result = self.oshrun(*words, env=variables)
        self.assertEqual(result.status, 0, result)
        lines = [line for line in result.err.splitlines() if "slow way" in line]
        for line in lines:
            self.assertRegex(line, r"^meshmem: PE \d+ \(.*\): \w+ takes a slow way \(\w+\): [^;]+; [^;]+$")
        return sorted(re.search(r"PE (\d+) .*: (\w+) takes a slow way \((\w+)\)", line).groups() for line in lines)

    def test_each_kind_is_said_once_by_each_pe(self):
        kinds = [("shmem_long_fcollect", "memory_without_kernels"), ("shmem_long_p", "store_by_kernel"),
                 ("shmem_long_wait_until", "looks_by_copies")]
        self.assertEqual(self.kinds_of_pes("-n", 2, PROGRAM, SHMEM_DEBUG="1"),
                         sorted((str(pe), *kind) for pe in range(2) for kind in kinds))

    def test_between_machines(self):
        found = self.kinds_of_pes("-n", 2, "--fake-nodes", 2, PROGRAM, SHMEM_DEBUG="1")
        self.assertIn(("0", "shmem_long_fcollect", "collective_through_host"), found)

    def test_an_algorithm_that_cannot_be_taken(self):
        variables = {"SHMEM_DEBUG": "1", "MESHMEM_REDUCE_ALGORITHM": "ring"}
        wanted = [(str(pe), "MESHMEM_REDUCE_ALGORITHM", "forced_algorithm") for pe in range(2)]
        self.assertEqual(self.kinds_of_pes("-n", 2, "--fake-nodes", 2, PROGRAM, "sum", **variables), wanted)
        self.assertEqual(self.kinds_of_pes("-n", 2, PROGRAM, "sum", **variables), [])
        self.assertEqual(self.kinds_of_pes("-n", 2, PROGRAM, "sum", MESHMEM_DETERMINISTIC="1", **variables), wanted)

    def test_nothing_is_said_of_fast_ways_or_unasked(self):
        self.assertEqual(self.kinds_of_pes("-n", 2, PROGRAM, "sum", SHMEM_DEBUG="1"), [])
        result = self.oshrun("-n", 2, PROGRAM)
        self.assertEqual((result.status, result.err), (0, ""), result)

    def printed(self, *words):
        return subprocess.run([MESHMEM_TRACE, *words], check=True, capture_output=True, text=True).stdout

    def test_a_trace_counts_them(self):
        file = os.path.join(self.folder, "trace.json")
        result = self.oshrun("-n", 2, PROGRAM, env={"MESHMEM_TRACE": file})
        self.assertEqual((result.status, result.err), (0, ""), result)
        rows = {row["kind"]: row for row in json.loads(self.printed("slow", "--json", file))}
        self.assertEqual((rows["memory_without_kernels"]["calls"], rows["memory_without_kernels"]["pes"]), (6, 2))
        self.assertGreaterEqual(rows["looks_by_copies"]["calls"], 6)
        for command in ("summary", "slow"):
            self.assertRegex(self.printed(command, file), r"(?m)^ *6  +2  memory_without_kernels$")
        result = self.oshrun("-n", 2, PROGRAM, "sum", env={"MESHMEM_TRACE": file})
        self.assertEqual(self.printed("slow", file), "no call has taken a slow way\n")
        self.assertNotIn("slow", self.printed("summary", file))

    def test_the_page_has_them_as_they_are_printed(self):
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        with open(os.path.join(root, "src/base/slow_ways.hpp"), encoding="utf-8") as file:
            table = file.read().replace("\\\n", "\n").split("#define MESHMEM_SLOW_WAYS(X)")[1].split("enum class")[0]
        texts = r'((?:"[^"]*"\s*)+)'
        rows = re.findall(rf"X\((\w+),\s*{texts},\s*{texts}\)", table)
        self.assertEqual(len(rows), len(re.findall(r"\bX\(", table)))
        with open(os.path.join(root, "docs/performance.md"), encoding="utf-8") as file:
            page = file.read()
        for kind, *sentences in rows:
            what, help_text = ("".join(re.findall(r'"([^"]*)"', text)) for text in sentences)
            self.assertIn(f"| `{kind}` | {what} | {help_text} |\n", page)


if __name__ == "__main__":
    launching.main()

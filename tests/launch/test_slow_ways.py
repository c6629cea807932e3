#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SHMEM_DEBUG=1 says each kind of slow way once, with what helps, and meshmem-trace counts the
calls."""
import json
import os
import re
import subprocess

import launching

PROGRAM = os.environ.get("SLOW_WAYS", "")
MESHMEM_TRACE = os.path.join(os.path.dirname(launching.OSHRUN), "meshmem-trace")


ON_ONE_MACHINE = ("-n", 2)
BETWEEN_MACHINES = ("-n", 2, "--fake-nodes", 2)
BETWEEN_PAIRS = ("-n", 4, "--fake-nodes", 2)
BY_RING = {"MESHMEM_REDUCE_ALGORITHM": "ring"}
IN_PE_ORDER = {"MESHMEM_DETERMINISTIC": "1"}
OWN_DEVICES = {"MESHMEM_CPU_DEVICES": "4"}
UNREACHED_DEVICES = {**OWN_DEVICES, "MESHMEM_CPU_PEERS": "0"}
# A kind; the routine or variable; the way of the program that takes it; the launcher's arguments;
# the PEs' environment.
ROWS = [
    ("memory_without_kernels", "shmem_long_fcollect", "gather_into_statics", ON_ONE_MACHINE, {}),
    ("type_without_kernels", "shmem_longdouble_sum_reduce", "sum_long_doubles", ON_ONE_MACHINE, {}),
    ("type_without_kernels", "shmem_longdouble_sum_reduce", "sum_many_long_doubles", BETWEEN_PAIRS,
     OWN_DEVICES),
    ("set_broadcast_by_messages", "shmem_broadcast64", "broadcast_to_set", ON_ONE_MACHINE, {}),
    ("collective_through_host", "shmem_long_fcollect", "gather_into_statics", BETWEEN_MACHINES, {}),
    ("collective_through_host", "shmemx_long_sum_reduce_on_stream", "sum_on_stream",
     BETWEEN_MACHINES, {}),
    ("transfer_through_host", "shmem_long_put", "send_device_memory", BETWEEN_MACHINES, {}),
    ("transfer_through_host", "shmem_long_put", "send_to_device_memory", BETWEEN_MACHINES, {}),
    ("transfer_through_host", "shmem_long_get", "get_device_memory", BETWEEN_MACHINES, {}),
    ("transfer_through_host", "shmem_long_iput", "send_blocks", BETWEEN_MACHINES, {}),
    ("transfer_through_host", "shmem_long_iget", "get_blocks", BETWEEN_MACHINES, {}),
    ("transfer_through_host", "a put in a kernel or on a stream", "send_on_stream",
     BETWEEN_MACHINES, {}),
    ("transfer_through_host", "a get in a kernel or on a stream", "get_on_stream",
     BETWEEN_MACHINES, {}),
    ("block_by_block", "shmem_long_iput", "send_blocks", ON_ONE_MACHINE, UNREACHED_DEVICES),
    ("block_by_block", "shmem_long_iget", "get_blocks", ON_ONE_MACHINE, UNREACHED_DEVICES),
    ("store_by_kernel", "shmem_long_p", "store", ON_ONE_MACHINE, {}),
    ("looks_by_copies", "shmem_long_wait_until", "wait_for_device", ON_ONE_MACHINE, {}),
    ("signal_behind_copy", "shmemx_putmem_signal_on_stream", "signal_after_data_of_host",
     ON_ONE_MACHINE, {}),
    ("one_block", "shmem_long_sum_reduce", "sum_in_late_team", ON_ONE_MACHINE, {}),
    ("one_block", "shmemx_long_sum_reduce_scatter", "scatter_sum_in_late_team", ON_ONE_MACHINE, {}),
    ("one_block", "shmem_long_fcollect", "gather_in_late_team", ON_ONE_MACHINE, {}),
    ("gathered_in_pe_order", "shmem_long_sum_reduce", "sum", BETWEEN_MACHINES, IN_PE_ORDER),
    ("gathered_in_pe_order", "shmem_long_sum_reduce", "sum_many", BETWEEN_PAIRS, IN_PE_ORDER),
    ("gathered_in_pe_order", "shmemx_long_sum_reduce_scatter", "scatter_sum", BETWEEN_MACHINES,
     IN_PE_ORDER),
    ("algorithm_in_pe_order", "shmem_long_sum_reduce", "sum_many_of_device", ON_ONE_MACHINE,
     IN_PE_ORDER),
    ("forced_algorithm", "MESHMEM_REDUCE_ALGORITHM", "sum", BETWEEN_MACHINES, BY_RING),
    ("forced_algorithm", "MESHMEM_REDUCE_ALGORITHM", "sum", ON_ONE_MACHINE, BY_RING),
    ("forced_algorithm", "MESHMEM_REDUCE_ALGORITHM", "sum_many_of_device", ON_ONE_MACHINE,
     {**BY_RING, **IN_PE_ORDER}),
]
# Kinds that need a job that oshrun cannot start: of PEs dealt to the machines in turn.
IN_UNIT_TESTS = {"machines_in_turn": "tests/unit/collectives_nodes_test.cpp"}


def file_of_project(name):
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    with open(os.path.join(root, name), encoding="utf-8") as file:
        return file.read()


def kinds_of_table():
    """[kind, what happens, what helps] of each kind in src/base/status/slow_ways.hpp."""
    table = file_of_project("src/base/status/slow_ways.hpp").replace("\\\n", "\n")
    table = table.split("#define MESHMEM_SLOW_WAYS(X)")[1].split("enum class")[0]
    texts = r'((?:"[^"]*"\s*)+)'
    rows = re.findall(rf"X\((\w+),\s*{texts},\s*{texts}\)", table)
    assert len(rows) == len(re.findall(r"\bX\(", table)) > 0
    return [(kind, *("".join(re.findall(r'"([^"]*)"', text)) for text in sentences))
            for kind, *sentences in rows]


class SlowWays(launching.LaunchTest):
    def kinds_of_pes(self, *words, **variables):
        """(PE, routine, kind) of each line that tells of a slow way, sorted."""
        result = self.oshrun(*words, env=variables)
        self.assertEqual(result.status, 0, result)
        lines = [line for line in result.err.splitlines() if "slow way" in line]
        for line in lines:
            self.assertRegex(
                line, r"^meshmem: PE \d+ \(.*?\): [\w ]+ takes a slow way \(\w+\): [^;]+; [^;]+$")
        return sorted(re.search(r"PE (\d+) .*?: ([\w ]+) takes a slow way \((\w+)\)", line).groups()
                      for line in lines)

    def test_each_kind_is_said_once_by_each_pe(self):
        for kind, routine, way, words, variables in ROWS:
            with self.subTest(kind=kind, way=way):
                found = self.kinds_of_pes(*words, PROGRAM, way, SHMEM_DEBUG="1", **variables)
                pes = "0123"[:words[1]]
                self.assertEqual([row for row in found if row[2] == kind],
                                 [(pe, routine, kind) for pe in pes], found)

    def test_each_kind_has_a_row(self):
        kinds = {kind for kind, _, _ in kinds_of_table()}
        self.assertEqual({row[0] for row in ROWS} | set(IN_UNIT_TESTS), kinds)
        for kind, name in IN_UNIT_TESTS.items():
            self.assertIn(f"SlowWay::{kind}", file_of_project(name))

    def test_nothing_is_said_of_fast_ways_or_unasked(self):
        self.assertEqual(self.kinds_of_pes("-n", 2, PROGRAM, "sum", SHMEM_DEBUG="1"), [])
        self.assertEqual(self.kinds_of_pes("-n", 2, PROGRAM, "sum", SHMEM_DEBUG="1",
                                           MESHMEM_REDUCE_ALGORITHM="two_shot"), [])
        # The offers for a new team have no order.
        for variables in (IN_PE_ORDER, BY_RING):
            found = self.kinds_of_pes(*BETWEEN_MACHINES, PROGRAM, "split", SHMEM_DEBUG="1",
                                      **variables)
            self.assertEqual(found, [])
        # Large blocks between host and device are copied one by one in any case.
        found = self.kinds_of_pes(*ON_ONE_MACHINE, PROGRAM, "send_large_blocks", SHMEM_DEBUG="1",
                                  **UNREACHED_DEVICES)
        self.assertEqual(found, [])
        result = self.oshrun("-n", 2, PROGRAM, "wait_for_device")
        self.assertEqual((result.status, result.err), (0, ""), result)

    def printed(self, *words):
        return subprocess.run([MESHMEM_TRACE, *words], check=True, capture_output=True,
                              text=True).stdout

    def test_a_trace_counts_them(self):
        file = os.path.join(self.folder, "trace.json")
        result = self.oshrun("-n", 2, PROGRAM, "gather_into_statics", env={"MESHMEM_TRACE": file})
        self.assertEqual((result.status, result.err), (0, ""), result)
        rows = {row["kind"]: row for row in json.loads(self.printed("slow", "--json", file))}
        self.assertEqual((rows["memory_without_kernels"]["calls"],
                          rows["memory_without_kernels"]["pes"]), (6, 2))
        for command in ("summary", "slow"):
            self.assertRegex(self.printed(command, file), r"(?m)^ *6  +2  memory_without_kernels$")
        result = self.oshrun("-n", 2, PROGRAM, "sum", env={"MESHMEM_TRACE": file})
        self.assertEqual(self.printed("slow", file), "no call has taken a slow way\n")
        self.assertNotIn("slow", self.printed("summary", file))

    def test_the_page_has_them_as_they_are_printed(self):
        page = file_of_project("docs/performance.md")
        for kind, what, help_text in kinds_of_table():
            self.assertIn(f"| `{kind}` | {what} | {help_text} |\n", page)


if __name__ == "__main__":
    launching.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The memory that a PE takes for each other PE: jobs of two sizes, compared.

Invariant: the median over the PEs of a job, since what the C library and PMIx hold differs a little
from process to process. The PEs' memory of their own (heaps, stages of collectives) is not looked
at: it is taken when it is used.
"""
import statistics
import unittest

import launching
from launching import SHMEM_PROGRAM

FEW, MANY = 8, 72


class Memory(launching.LaunchTest):
    def medians(self, pes):
        """Of the bytes of malloc, of those of page tables, and of the number of mappings."""
        result = self.oshrun("-n", pes, SHMEM_PROGRAM, "memory", seconds=60)
        self.assertEqual((result.status, result.err), (0, ""), result)
        rows = [[int(number) for number in line.split()] for line in result.out.splitlines()]
        self.assertEqual(len(rows), pes, result)
        return [statistics.median(column) for column in zip(*rows)]

    def test_a_pe_takes_at_most_200_bytes_and_no_mapping_for_each_other(self):
        few, many = self.medians(FEW), self.medians(MANY)
        heap, page_tables, mappings = ((b - a) / (MANY - FEW) for a, b in zip(few, many))
        self.assertLess(heap, 200)
        self.assertLess(page_tables, 1024)  # one page for each would be 4096
        self.assertLess(mappings, 0.25)  # or start-up would take time by the square of the PEs


if __name__ == "__main__":
    launching.main()

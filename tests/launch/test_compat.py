#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Variables of the environment that NVSHMEM and rocSHMEM have, for programs under their names."""
import os
import unittest

import launching

COMPAT_HEAP = os.environ.get("COMPAT_HEAP", "")
OF_NVSHMEM = ("nvshmem", "nvshmem_thread", "nvshmem_attr")
OF_ROCSHMEM = ("rocshmem", "rocshmem_thread", "rocshmem_attr")
MIB = 1 << 20


@unittest.skipUnless(COMPAT_HEAP, "this build is for GPUs, whose heaps take memory")
class OtherVariables(launching.LaunchTest):
    def run_program(self, way, *sizes, pes=2, **variables):
        return self.oshrun("-n", pes, COMPAT_HEAP, way, *sizes, env=variables)

    def assert_has(self, way, size, has, **variables):
        sizes = size if isinstance(size, tuple) else (size,)
        result = self.run_program(way, *sizes, **variables)
        self.assertEqual((result.status, result.out.strip(), result.err),
                         (0, "yes" if has else "no", ""),
                         f"{way} {variables}: {result}")

    def test_the_size_of_the_heap(self):
        for ways, name, value in ((OF_NVSHMEM, "NVSHMEM_SYMMETRIC_SIZE", "32M"),
                                  (OF_ROCSHMEM, "ROCSHMEM_HEAP_SIZE", str(32 * MIB))):
            for way in ways:
                self.assert_has(way, 16 * MIB, True, **{name: value})
                self.assert_has(way, 64 * MIB, False, **{name: value})
                self.assert_has(way, 64 * MIB, True)
                self.assert_has(way, 64 * MIB, True,
                                **{name: value, "MESHMEM_DEVICE_HEAP_SIZE": "128m"})

    def test_small_blocks_leave_room_for_one_as_large_as_the_variable_says(self):
        for way, name in (("nvshmem", "NVSHMEM_SYMMETRIC_SIZE"),
                          ("rocshmem", "ROCSHMEM_HEAP_SIZE")):
            for size in (2 * MIB, 32 * MIB, 2 * MIB + 1):
                self.assert_has(way, (8, 4096, size), True, **{name: str(size)})

    def test_a_full_heap_is_null_and_no_host_memory(self):
        for way, name in (("nvshmem", "NVSHMEM_SYMMETRIC_SIZE"),
                          ("rocshmem", "ROCSHMEM_HEAP_SIZE")):
            self.assert_has(way, (30 * MIB, 30 * MIB), False, **{name: "32m"})
            result = self.run_program(way, 30 * MIB, 30 * MIB, SHMEM_DEBUG="1", **{name: "32m"})
            self.assertIn(f"shmem_malloc_with_hints: {30 * MIB} bytes asked for: ", result.err)

    def test_the_line_of_a_call_that_uses_null_names_the_allocation(self):
        result = self.run_program("nvshmem", 64 * MIB, "use", NVSHMEM_SYMMETRIC_SIZE="32m")
        self.assertNotEqual(result.status, 0, result)
        lines = [line for line in result.err.splitlines() if line.startswith("meshmem: ")]
        self.assertEqual(len(lines), 1, result)
        self.assertRegex(lines[0], "shmem_putmem: .* not a symmetric address: "
                         f"shmem_malloc_with_hints of {64 * MIB} bytes "
                         r"in (?:allocate|main) at (?:compat_heap\+0x\w+|compat_heap\.\w+:\d+) "
                         r"returned NULL before: \d+ of the \d+ bytes of the device heap are free.*"
                         "MESHMEM_DEVICE_HEAP_SIZE sets its size")

    def test_the_default_holds_what_that_of_the_other_library_holds(self):
        # The machine may have less memory, which bounds the default too.
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if total < 8 << 30:
            self.skipTest("less than 8 GiB of memory")
        for way in ("nvshmem", "rocshmem"):
            self.assert_has(way, (8, 512 * MIB, 4096, 512 * MIB), True)

    def test_a_size_above_what_is_the_default(self):
        self.assert_has("nvshmem", 1100 * MIB, False)
        self.assert_has("nvshmem", 1100 * MIB, True, NVSHMEM_SYMMETRIC_SIZE="1.5g")

    def test_programs_under_other_names_do_not_read_it(self):
        for way, name in (("shmem", "NVSHMEM_SYMMETRIC_SIZE"), ("shmem", "ROCSHMEM_HEAP_SIZE"),
                          ("nvshmem", "ROCSHMEM_HEAP_SIZE"),
                          ("rocshmem", "NVSHMEM_SYMMETRIC_SIZE")):
            for value in ("1m", "nonsense"):
                self.assert_has(way, 64 * MIB, True, **{name: value})

    def test_a_start_that_fails_leaves_no_names_to_the_next(self):
        result = self.run_program("failed_nvshmem_then_shmem", 64 * MIB, pes=1,
                                  NVSHMEM_SYMMETRIC_SIZE="nonsense")
        self.assertEqual((result.status, result.out.strip()), (0, "yes"), result)
        self.assertEqual(result.err.count("NVSHMEM_SYMMETRIC_SIZE=nonsense is not valid"),
                         1, result)

    def test_the_first_start_makes_the_heap_of_all(self):
        self.assert_has("nvshmem_then_shmem", 64 * MIB, False, NVSHMEM_SYMMETRIC_SIZE="32m")
        self.assert_has("nvshmem_then_shmem", 64 * MIB, True)

    def test_what_is_no_size_is_a_line_that_names_it(self):
        for way in OF_NVSHMEM + OF_ROCSHMEM:
            name = "NVSHMEM_SYMMETRIC_SIZE" if way in OF_NVSHMEM else "ROCSHMEM_HEAP_SIZE"
            for value in ("nonsense", "-1", "300t", ""):
                result = self.run_program(way, MIB, pes=1, **{name: value})
                self.assertNotEqual(result.status, 0, result)
                lines = [line for line in result.err.splitlines() if line.startswith("meshmem: ")]
                self.assertEqual(len(lines), 1, result)
                self.assertIn(f"{name}={value} is not valid: it takes bytes", lines[0])


if __name__ == "__main__":
    launching.main()

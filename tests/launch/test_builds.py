#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job whose PEs take different builds of the library does not start, and one PE says which."""
import launching
from launching import SHMEM_PROGRAM


class Builds(launching.LaunchTest):
    def run_with_other_build(self, pes):
        """Four PEs, those that are named by the other build."""
        self.build = launching.copy_as_other_build(self.folder)
        pattern = "|".join(str(pe) for pe in pes)
        script = (f'case $PMIX_RANK in {pattern}) export LD_LIBRARY_PATH={self.folder};; esac; '
                  'exec "$0" "$@"')
        return self.oshrun("-n", 4, "sh", "-c", script, SHMEM_PROGRAM, "ring")

    def test_the_same_on_all_pes_starts(self):
        result = self.run_with_other_build(range(4))
        self.assertEqual(result.status, 0, result)

    def assert_refused_by(self, result, pe):
        self.assertNotEqual(result.status, 0, result)
        lines = [line for line in result.err.splitlines() if line.startswith("meshmem: PE")]
        self.assertEqual(len(lines), 1, result)
        self.assertRegex(lines[0], rf"^meshmem: PE {pe} \(.*: this PE runs build [0-9a-z.-]+ of "
                         r"meshmem \(/\S+\) and PE 0 "
                                   r"runs build [0-9a-z.-]+; start the same on all PEs: `ldd "
                         r"PROGRAM`")
        self.assertIn(self.build, lines[0])
        self.assert_nothing_left()

    def test_the_last_pe(self):
        self.assert_refused_by(self.run_with_other_build([3]), 3)

    def test_several_pes_say_it_once(self):
        self.assert_refused_by(self.run_with_other_build([1, 3]), 1)

    def test_the_first_pe(self):
        self.assert_refused_by(self.run_with_other_build([0]), 1)


if __name__ == "__main__":
    launching.main()

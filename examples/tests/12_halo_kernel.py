# SPDX-License-Identifier: Apache-2.0
"""Lines and picture are to the byte those of 07_heat2d, also with fewer rows than blocks."""

import os
import tempfile

from example import PES, check, check_refuses, run, sibling

with tempfile.TemporaryDirectory() as folder:
    def results(options, **where):
        path = os.path.join(folder, "heat.png")
        lines = run(*options, "--output", path, **where)
        check(lines[-1].endswith(f"wrote {path}"), "the last line names the picture", lines)
        with open(path, "rb") as file:
            return lines[:-1], file.read()

    for width, height, steps, every, *layout in (
            (100, 75, 100, 100), (100, 75, 60, 25, "--blocks", 1), (16, 5, 50, 7, "--threads", 32),
            (3, 1, 10, 5), (1, 9, 10, 10, "--threads", 1)):
        plate = ("--width", width, "--height", height, "--steps", steps, "--every", every)
        here = results((*plate, *layout))
        there = results(plate, pes=1, program=sibling("07_heat2d"))
        check(here == there, f"{width} x {height} cells give what 07_heat2d gives",
              "\n".join(here[0] + there[0]))
        check(len(here[0]) == -(-steps // every), "all lines are there", here[0])

    run("--steps", 10, folder=folder)
    check(os.path.exists(folder + "/halo_kernel.png"), "without --output it is halo_kernel.png")
    check_refuses("--output", folder + "/none/x.png", status=1,
                  says=f"cannot write '{folder}/none/x.png': No such file or directory")
check_refuses("--width", "0", says="--width: Value 0 not in range 1 to", status=2)
check_refuses("--blocks", "100000", says="--blocks: at most", status=2)

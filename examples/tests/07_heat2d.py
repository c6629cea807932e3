# SPDX-License-Identifier: Apache-2.0
"""Example 07: the lines and the picture are byte for byte those of one PE, also if there are fewer
rows than PEs."""

import os
import struct
import tempfile
import zlib

from example import PES, check, check_refuses, run


def chunks(png):
    check(png[:8] == b"\x89PNG\r\n\x1a\n", "the picture begins like a PNG")
    place = 8
    while place < len(png):
        size, name = struct.unpack(">I4s", png[place:place + 8])
        data = png[place + 8:place + 8 + size]
        checksum, = struct.unpack(">I", png[place + 8 + size:place + 12 + size])
        check(checksum == zlib.crc32(name + data), f"the checksum of {name} is right")
        yield name, data
        place += 12 + size


def check_png(png, width, height):
    names, data = zip(*chunks(png))
    check(names[0] == b"IHDR" and names[-1] == b"IEND", "it has the chunks of a PNG", names)
    check(struct.unpack(">II", data[0][:8]) == (width, height), "it has the size asked for")
    rows = zlib.decompress(b"".join(part for name, part in zip(names, data) if name == b"IDAT"))
    check(len(rows) == height * (1 + 3 * width), "it has all pixels")
    # libpng writes differences of neighbouring pixels, of which there are fewer than colours.
    check(width < 100 or len(set(rows)) > 20, "it has many colours")


def heat_of(line):
    return float(line.rsplit(" ", 1)[1])


with tempfile.TemporaryDirectory() as folder:
    def results(pes, width, height, steps, every):
        path = os.path.join(folder, "heat.png")
        lines = run("--width", width, "--height", height, "--steps", steps, "--every", every,
                    "--output", path, pes=pes)
        check(lines[-1].endswith(f"wrote {path}"), "the last line names the picture", lines)
        with open(path, "rb") as file:
            return lines[:-1], file.read()

    for width, height, steps, every in ((200, 150, 300, 100), (16, 4, 50, 7), (3, 1, 10, 5),
                                        (1, 9, 10, 10)):
        lines, png = results(PES, width, height, steps, every)
        check((lines, png) == results(1, width, height, steps, every),
              f"{width} x {height} cells give what one PE gives", "\n".join(lines))
        check(len(lines) == -(-steps // every), "all lines are there", lines)
        check(abs(heat_of(lines[0]) - heat_of(lines[-1])) < 1e-6, "no heat is lost", lines)
        check_png(png, width, height)

    run(folder=folder)
    check(os.path.exists(folder + "/heat2d.png"), "without --output the picture is heat2d.png")
    check_refuses("--output", folder + "/none/x.png", status=1,
                  says=f"cannot write '{folder}/none/x.png': No such file or directory")
check_refuses("--width", "0", says="--width: Value 0 not in range 1 to", status=2)
check_refuses("--steps", "1e3", says="--steps: Value 1e3 not in range 0 to", status=2)
check_refuses("picture.png", says="was not expected: picture.png", status=2)

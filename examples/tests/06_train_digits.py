# SPDX-License-Identifier: Apache-2.0
"""The training learns, and alike on any number of PEs: in deterministic mode to the last bit."""

import os
import pty
import re
import subprocess
import tempfile

from example import PES, check, check_refuses, command, environment, run

EPOCHS = 20


def losses(lines):
    return [m[1] for m in (re.match(r"epoch +\d+  loss (\S+)", line) for line in lines) if m]


def accuracy(lines):
    return float(re.fullmatch(r"accuracy on \d+ held-out images: (\S+) %", lines[-1])[1])


def bits(pes, **variables):
    """The losses of a few epochs to the last bit."""
    env = {"MESHMEM_DETERMINISTIC": "1", **variables}
    found = losses(run("--exact", "--epochs", 2, "--hidden", 32, pes=pes, env=env))
    check(len(found) == 2 and all("0x1." in loss for loss in found), "losses are exact", found)
    return found


def output_on_terminal():
    ours, theirs = pty.openpty()
    started = subprocess.Popen(command(["--epochs", 10], None), env=environment(None),
                               stdin=subprocess.DEVNULL, stdout=theirs)
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 65536):
            text += part
    except OSError:  # this is how Linux tells that the other side has been closed
        pass
    check(started.wait(timeout=60) == 0, "it succeeds on a terminal", text)
    return text.decode()


lines = run()
here = [float(loss) for loss in losses(lines)]
alone = [float(loss) for loss in losses(run(pes=1))]
check(len(here) == EPOCHS and here[-1] < here[0] / 20, "the loss falls", lines)
check(all(abs(a - b) < 0.01 * b + 1e-4 for a, b in zip(here, alone)), "the losses are one PE's",
      f"{here}\n{alone}")
check(accuracy(lines) > 95, "more than 95 % of the held-out images are known", lines)
check("\r" not in "".join(lines), "no progress bar where no terminal is", lines)

bits_of_one = bits(1)
check(bits(PES) == bits_of_one, "deterministic losses have the bits of one PE's")
for algorithm in ("one_shot", "two_shot"):
    check(bits(PES, MESHMEM_REDUCE_ALGORITHM=algorithm) == bits_of_one, f"{algorithm} has them too")

shown = output_on_terminal()
check(re.search(r"\r\[#* *\] +\d+ %", shown), "there is a progress bar on a terminal", shown)
check(len(re.findall(r"epoch +\d+  loss", shown)) == 10, "and every epoch beside it", shown)

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "x.csv")
    no_file = f"cannot read '{path}': No such file or directory; give one with --data FILE"
    check_refuses("--data", path, says=no_file, status=1)
    good = ",".join(["16"] * 64) + ",3\n"
    for bad in ("1,2,3\n", good.replace("16", "17", 1), good.replace(",3\n", ",10\n"),
                good.replace("\n", ",1\n"), "\n"):
        with open(path, "w", encoding="ascii") as file:
            file.write(good + bad + good)
        check_refuses("--data", path, says=f"line 2 of '{path}' is not 64 pixels", status=1)
    with open(path, "w", encoding="ascii") as file:
        file.write(good * 12)
    run("--data", path, "--epochs", 1, "--batch", 5)  # fewer images than blocks
check_refuses("--epochs", "0", says="--epochs: Value 0 not in range 1 to", status=2)
check_refuses("digits.csv", says="was not expected: digits.csv", status=2)

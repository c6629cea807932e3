# SPDX-License-Identifier: Apache-2.0
"""The training on GPUs learns, with the losses of 06_train_digits."""

import os
import re
import tempfile

from example import PES, check, check_refuses, run, sibling


def losses(lines):
    return [float(m[1]) for m in (re.match(r"epoch +\d+  loss (\S+)", line) for line in lines) if m]


def accuracy(lines):
    return float(re.fullmatch(r"accuracy on \d+ held-out images: (\S+) %", lines[-1])[1])


def same(options):
    """The output, when its losses are those of one PE without a GPU."""
    lines = run(*options)
    here = losses(lines)
    there = losses(run(*options, pes=1, program=sibling("06_train_digits")))
    check(here and len(here) == len(there), "there is a loss for each epoch", lines)
    check(all(abs(a - b) < 0.01 * b + 1e-4 for a, b in zip(here, there)),
          "the losses are those of 06_train_digits", f"{here}\n{there}")
    return lines


same(("--epochs", 3))
same(("--epochs", 1, "--hidden", 33, "--batch", 100))
same(("--epochs", 1, "--hidden", 16, "--batch", 11))
if PES == 3:  # it learns alike on any number
    learned = same(("--epochs", 15))
    found = losses(learned)
    check(found[-1] < found[0] / 10, "the loss falls", learned)
    check(accuracy(learned) > 95, "more than 95 % of the held-out images are known", learned)

with tempfile.TemporaryDirectory() as folder:
    check_refuses("--data", folder + "/none", says=f"cannot read '{folder}/none': No such file",
                  status=1)
    with open(os.path.join(folder, "bad"), "w", encoding="utf-8") as file:
        file.write("1,2,3\n")
    check_refuses("--data", folder + "/bad", says="line 1 of", status=1)
check_refuses("--epochs", "0", says="--epochs: Value 0 not in range 1 to", status=2)

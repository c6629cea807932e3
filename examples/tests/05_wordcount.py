# SPDX-License-Identifier: Apache-2.0
"""The counts are those of one PE, of a shell pipeline, and, for odd texts, of Python."""

import collections
import os
import random
import re
import subprocess
import tempfile

from example import PES, check, check_refuses, run

LICENCES = "/usr/share/common-licenses"
PIPELINE = r"""find "$1" -maxdepth 1 -type f | while read -r file; do cat "$file"; echo; done |
  tr -cs A-Za-z '\n' | tr A-Z a-z | grep . | sort | uniq -c | sort -k1,1nr -k2,2"""


def counts_from(lines):
    """The pairs (count, word) as printed, and the number of all words that the last line tells."""
    pairs = [line.split() for line in lines[:-1]]
    return [(int(count), word) for count, word in pairs], int(lines[-1].split()[0])


def count_here(texts):
    counts = collections.Counter()
    for text in texts:
        counts.update(word.decode().lower() for word in re.findall(b"[A-Za-z]+", text))
    return sorted(((n, w) for w, n in counts.items()), key=lambda pair: (-pair[0], pair[1]))


def odd_texts():
    """No bytes, one letter, letters at the ends of files, words longer than a share, UTF-8."""
    dice = random.Random(PES)
    words = ["".join(dice.choices("abcXYZ", k=dice.randint(1, 3))) for _ in range(2000)]
    return [b"", b"a", b"joined", b"not joined", " ".join(words).encode(), b"\n\n 12 34 \n",
            b"x" * 5000 + b" " + b"Y" * 70001 + b"-" + b"x" * 5000, "na\u00efve caf\u00e9".encode()]


if os.path.isdir(LICENCES):
    shell = subprocess.run(["bash", "-c", PIPELINE, "bash", LICENCES], check=True, text=True,
                           capture_output=True, env={**os.environ, "LC_ALL": "C"})
    expected = [(int(n), w) for n, w in map(str.split, shell.stdout.splitlines())]
    printed, total = counts_from(run("--top", 1000000))
    check(printed == expected, "the counts are those of sort and uniq", printed[:5])
    check(total == sum(n for n, _ in expected), "the number of all words is right", total)
    check(counts_from(run())[0] == expected[:20], "the 20 most frequent words are printed")
    check(run(pes=1)[:-1] == run()[:-1], "one PE prints the same")

with tempfile.TemporaryDirectory() as folder:
    paths = []
    for number, text in enumerate(odd_texts()):
        paths.append(os.path.join(folder, f"{number}.txt"))
        with open(paths[-1], "wb") as file:
            file.write(text)
    printed, _ = counts_from(run("--top", 1000000, *paths))
    check(printed == count_here(odd_texts()), "odd texts are counted right", printed[:5])
    check(counts_from(run(paths[0])) == ([], 0), "no bytes, no words")
    check(counts_from(run(paths[1])) == ([(1, "a")], 1), "one byte, one word")

    check_refuses(folder + "/none", says=f"cannot read '{folder}/none': No such file", status=1)
    check_refuses(folder, says=f"cannot read '{folder}': Is a directory", status=1)
check_refuses("--top", "many", says="--top: Value many not in range 1 to", status=2)
check_refuses("--top", says="--top: 1 required", status=2)
check_refuses("--least", "3", says="was not expected: --least", status=2)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plots.py makes a table and plots of what it is given, or says in one line why not.

test_plots.py

Exit status 77 (skipped) where there is no matplotlib: the table and the errors have been looked at then, the plots not.
"""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

PLOTS = pathlib.Path(__file__).with_name("plots.py")
OURS = """operation,pes,type,op,memory,bytes,us,algbw_gbs,busbw_gbs,wrong
allreduce,2,float,sum,device,8,1.50,0.01,0.01,0
allreduce,2,float,sum,device,1048576,10.00,104.86,104.86,0
allreduce,2,float,sum,device,8,9.99,0.01,0.01,0
allreduce,2,float,max,device,8,7.77,0.01,0.01,0
allreduce,2,float,sum,host,8,6.66,0.01,0.01,0
"""
NCCL = """# nccl
plain  graph 2 8 3.00 us
window graph 2 8 2.00 us
plain  graph 4 8 5.00 us
"""
NVSHMEM = "sum_reduce_on_stream graph 2 1048576 500.25\n"


def run(folder, *files):
    return subprocess.run([sys.executable, "-B", PLOTS, "--out", folder / "out", "--title", "A title", *files],
                          capture_output=True, text=True)


def write(folder, name, text):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


def check(right, what):
    if not right:
        sys.exit(f"test_plots.py: {what}")


def check_table(folder):
    result = run(folder, write(folder, "ours.csv", OURS), write(folder, "nccl.txt", NCCL), write(folder, "nvshmem.txt", NVSHMEM))
    check(result.returncode == 0, result.stderr)
    table = (folder / "out" / "allreduce.md").read_text(encoding="utf-8")
    for line in ("## A title", "### 2 PEs", "### 4 PEs",
                 "| 8 | **1.50** | 3.00 | 2.00 |  | NCCL, windows | 0.75 | 1.80 |",
                 "| 1 M | **10.00** |  |  | 500 | NVSHMEM | 0.02 | 8.00 |",
                 "| 8 |  | 5.00 |  |  | NCCL |  | 2.10 |"):
        check(line in table.splitlines(), f"the table has no line {line!r}:\n{table}")
    return result


def check_plots(folder):
    for pes in (2, 4):
        check((folder / "out" / f"allreduce_{pes}.png").read_bytes().startswith(b"\x89PNG"), "no PNG was made")
        svg = (folder / "out" / f"allreduce_{pes}.svg").read_text(encoding="utf-8")
        check("<svg" in svg and svg.rstrip().endswith("</svg>"), "no SVG was made")


def check_errors(folder):
    wrong = {"empty.txt": "", "other.txt": "nothing of use\n", "columns.csv": "operation,pes,what\nallreduce,2,1\n",
             "number.csv": OURS.replace("1.50", "fast"), "short.csv": OURS.splitlines()[0] + "\nallreduce,2,float,sum,device,8\n",
             "binary.txt": b"\xff\xfe\x00"}
    paths = [write(folder, name, text) for name, text in wrong.items()] + [folder / "none.txt", folder]
    for path in paths:
        result = run(folder, path)
        said = result.stderr.splitlines()
        is_plain = len(said) == 1 and said[0].startswith(f"plots.py: {path} ")
        check(result.returncode == 1 and is_plain, f"of {path.name} it said, with {result.returncode}: {result.stderr}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_errors(folder)
        result = check_table(folder)
        if importlib.util.find_spec("matplotlib"):
            check(not result.stderr, result.stderr)
            return check_plots(folder)
        check(result.stderr.startswith("plots.py: there is no matplotlib") and result.stderr.count("\n") == 1, result.stderr)
    print("test_plots.py: skipped: there is no matplotlib, so only the table was looked at")
    return 77


if __name__ == "__main__":
    sys.exit(main())

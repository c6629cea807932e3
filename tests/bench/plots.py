#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All-reduces of meshmem beside those of others: a table in Markdown, and plots over the size as SVG and PNG.

plots.py [--out FOLDER] [--title TEXT] [--no-goals] FILE...

The files are raw output, told apart by their lines: `meshmem-bench --csv`; lines of NCCL ("window graph 4 8 3.4 us ...");
lines of NVSHMEM ("sum_reduce_on_stream graph 4 8 7.1 ..."). Of a size that is there several times the first counts.
Writes allreduce.md, and for each number of PEs allreduce_N.svg and .png; without matplotlib the table only.
"""
import argparse
import collections
import csv
import pathlib
import re
import sys

OURS, PLAIN, WINDOWS, NVSHMEM = "meshmem", "NCCL", "NCCL, windows", "NVSHMEM"
PEERS = [PLAIN, WINDOWS, NVSHMEM]
KIB, MIB = 1 << 10, 1 << 20
# Microseconds that meshmem is to reach on H200: PEs -> bytes -> goal. Float sums in a graph.
GOALS = {
    2: {8: 1.8, 4 * KIB: 2.0, 32 * KIB: 2.3, 128 * KIB: 3.0, 256 * KIB: 3.9, 512 * KIB: 5.6, MIB: 8.0, 4 * MIB: 17,
        8 * MIB: 29, 64 * MIB: 190, 256 * MIB: 735, 1024 * MIB: 2920},
    4: {8: 2.1, 4 * KIB: 2.4, 32 * KIB: 3.2, 128 * KIB: 4.6, 256 * KIB: 5.8, 512 * KIB: 7.7, MIB: 11, 4 * MIB: 23,
        8 * MIB: 43, 64 * MIB: 285, 256 * MIB: 1110, 1024 * MIB: 4370},
}
NCCL_LINE = re.compile(r"^(plain|window)\s+graph\s+(\d+)\s+(\d+)\s+([\d.]+) us")
NVSHMEM_LINE = re.compile(r"^sum_reduce_on_stream graph\s+(\d+)\s+(\d+)\s+([\d.]+)")


def read_csv(lines):
    for row in csv.DictReader(lines):
        if (row["operation"], row["type"], row["op"], row["memory"]) == ("allreduce", "float", "sum", "device"):
            yield OURS, int(row["pes"]), int(row["bytes"]), float(row["us"])


def read_peers(lines):
    for line in lines:
        if match := NCCL_LINE.match(line):
            yield (PLAIN if match[1] == "plain" else WINDOWS), int(match[2]), int(match[3]), float(match[4])
        elif match := NVSHMEM_LINE.match(line):
            yield NVSHMEM, int(match[1]), int(match[2]), float(match[3])


def read_all(paths):
    """PEs -> library -> bytes -> microseconds."""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for path in paths:
        try:
            lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
            is_ours = any(line.startswith("operation,pes,") for line in lines[:1])
            figures = list(read_csv(lines) if is_ours else read_peers(lines))
        except (OSError, KeyError, TypeError, ValueError) as error:
            sys.exit(f"plots.py: {path} cannot be read: {error!r}")
        if not figures:
            sys.exit(f"plots.py: {path} has no line of meshmem-bench --csv (float sum on device memory), NCCL or NVSHMEM")
        for library, pes, size, us in figures:
            found[pes][library].setdefault(size, us)
    return found


def short(size):
    for suffix in ("", " K", " M", " G"):
        if size % KIB or suffix == " G":
            return f"{size}{suffix}"
        size //= KIB


def cell(us):
    return "" if us is None else f"{us:.2f}" if us < 100 else f"{us:.0f}"


def table_of(pes, libraries):
    """One Markdown table: ours beside the peers, and how far the best of these is from us."""
    yield f"### {pes} PEs\n"
    yield "| bytes | meshmem | " + " | ".join(PEERS) + " | best peer | ours / best | goal |"
    yield "|--:" * (len(PEERS) + 5) + "|"
    for size in sorted(set().union(*(sizes for sizes in libraries.values()))):
        ours = libraries[OURS].get(size)
        peers = {name: libraries[name][size] for name in PEERS if size in libraries[name]}
        best = min(peers, key=peers.get) if peers else None
        ratio = f"{ours / peers[best]:.2f}" if ours and best else ""
        yield "| " + " | ".join([short(size), f"**{cell(ours)}**" if ours else "", *(cell(peers.get(name)) for name in PEERS),
                                 best or "", ratio, cell(GOALS.get(pes, {}).get(size))]) + " |"
    yield ""


def draw(pes, libraries, title, folder, goals):
    import matplotlib
    from matplotlib.figure import Figure
    matplotlib.rcParams["svg.hashsalt"] = "meshmem"  # the same file each time
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    latency, bandwidth = figure.subplots(1, 2)
    for color, name in zip(("C3", "C0", "C2", "C7"), [OURS] + PEERS):
        points = sorted(libraries[name].items())
        sizes, times = [size for size, _ in points], [us for _, us in points]
        if not points:
            continue
        style = {"label": name, "color": color, "marker": ".", "linewidth": 2.2 if name == OURS else 1.2}
        latency.plot(sizes, times, **style)
        bandwidth.plot(sizes, [size / us * 1e-3 * 2 * (pes - 1) / pes for size, us in points], **style)
    if goals:
        latency.plot(*zip(*sorted(goals.items())), "k+", label="goal")
    for axes, what in ((latency, "us for one operation"), (bandwidth, "bus bandwidth, GB/s")):
        axes.set_xscale("log", base=2)
        axes.set_xlabel("bytes")
        axes.set_ylabel(what)
        low, high = axes.get_xlim()
        ticks = [8 << 3 * i for i in range(10) if low <= 8 << 3 * i <= high]
        axes.set_xticks(ticks, [short(size) for size in ticks])
        axes.grid(alpha=0.3)
        axes.legend()
    latency.set_yscale("log")
    figure.suptitle(f"{title}, {pes} PEs")
    for ending in ("svg", "png"):
        figure.savefig(folder / f"allreduce_{pes}.{ending}", dpi=120, metadata={"Date": None} if ending == "svg" else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", help="raw output of meshmem-bench --csv, and of peers")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."), help="the folder for what is made")
    parser.add_argument("--title", default="All-reduce, float sum, in a graph", help="of the plots and the table")
    parser.add_argument("--no-goals", action="store_true", help="plots without the times that were aimed at")
    arguments = parser.parse_args()
    found = read_all(arguments.files)
    arguments.out.mkdir(parents=True, exist_ok=True)
    lines = [f"## {arguments.title}\n", "Microseconds for one operation.\n"]
    for pes in sorted(found):
        lines += table_of(pes, found[pes])
    (arguments.out / "allreduce.md").write_text("\n".join(lines), encoding="utf-8")
    try:
        for pes in sorted(found):
            draw(pes, found[pes], arguments.title, arguments.out, {} if arguments.no_goals else GOALS.get(pes, {}))
    except ImportError:
        print("plots.py: there is no matplotlib (pip install matplotlib), so there is the table only", file=sys.stderr)


if __name__ == "__main__":
    main()

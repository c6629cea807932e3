#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs host_bench and prints its tables: the library beside the machine's own speed, and beside
another OpenSHMEM. The same source measures the other one in the same run (--peers: Open MPI's, if
its oshcc and oshrun are installed).

Each program runs several times, in turn with the other one; a table shows medians. Nothing here
passes or fails."""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PEER_LAUNCH = ["/usr/bin/oshrun", "--allow-run-as-root", "--oversubscribe", "--mca",
               "opal_common_ucx_opal_mem_hooks", "0"]


class Implementation:
    def __init__(self, name, launch, folder, hello="hello"):
        self.name, self.launch = name, launch
        self.bench, self.hello, self.first_trips = (
            f"{folder}/host_bench", f"{folder}/{hello}", f"{folder}/bench_first_trips")

    def command(self, pes, program, *args):
        return [*self.launch, "-np", str(pes), program, *args]

    def rows(self, pes, only):
        """{(operation, bytes): (microseconds, limit)} of one run."""
        run = subprocess.run(self.command(pes, self.bench, *([only] if only else [])),
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                             timeout=400, check=False)
        rows = {}
        for line in run.stdout.splitlines():
            name, size, took, limit = line.rsplit(",", 3)
            rows[name, int(size)] = (float(took), float(limit))
        return rows

    def start_up(self, pes, **settings):
        begin = time.monotonic()
        subprocess.run(self.command(pes, self.hello), stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=100, check=False,
                       env={**os.environ, **settings})
        return time.monotonic() - begin


def build_peer(folder):
    """Open MPI's OSHMEM with the same sources, or None."""
    if not (shutil.which("/usr/bin/oshcc") and shutil.which("/usr/bin/oshrun")):
        return None
    for program in ("host_bench", "hello"):
        subprocess.run(["/usr/bin/oshcc", "-O3", "-w", str(HERE / f"{program}.c"), "-o",
                        f"{folder}/{program}"], check=True)
    return Implementation("Open MPI", PEER_LAUNCH, folder)


def medians(runs):
    keys = [key for key in runs[0] if all(key in run for run in runs)]
    return {key: tuple(statistics.median(run[key][i] for run in runs) for i in (0, 1))
            for key in keys}


def time_text(value):
    return f"{value * 1000:10.1f} ns" if value < 1 else f"{value:10.2f} us"


def ratio(a, b):
    return f"{a / b:7.2f}" if b > 0 else "      -"


def print_table(title, ours, peer, peer_name):
    print(f"\n{title}\n")
    head = f"{'operation':<28}{'bytes':>9}{'meshmem':>14}{'limit':>14}{'ratio':>8}"
    print(head + (f"{peer_name:>14}{'ratio':>8}" if peer else ""))
    for (name, size), (took, limit) in ours.items():
        line = (f"{name:<28}{size or '':>9}{time_text(took):>14}"
                f"{time_text(limit) if limit else '-':>14}{ratio(took, limit):>8}")
        if peer:
            theirs = peer.get((name, size), (0, 0))[0]
            line += f"{time_text(theirs) if theirs else '-':>14}{ratio(took, theirs):>8}"
        print(line)
    sys.stdout.flush()


def print_start_up(ours, peer, runs):
    print("\nstart-up: a program that initializes, meets and finalizes, wall time; beside it the "
          "same without device memory\n")
    for pes in (2, 16, 64, 256):
        peer_starts = peer and pes <= 64
        times = [(ours.start_up(pes), ours.start_up(pes, MESHMEM_DEVICE_HEAP_SIZE="0"),
                  peer.start_up(pes) if peer_starts else 0)
                 for _ in range(runs)]
        mine, without, theirs = (statistics.median(column) for column in zip(*times))
        print(f"{pes:>4} PEs {mine:8.3f} s   without {without:8.3f} s   ratio {mine / without:5.2f}"
              + (f"   {peer.name} {theirs:8.3f} s   ratio {mine / theirs:5.2f}" if peer_starts
                 else ""))
        sys.stdout.flush()


def first_trips(ours, how, **settings):
    """Microseconds of 200 round trips of two PEs, right after they have started."""
    run = subprocess.run(ours.command(2, ours.first_trips, how), capture_output=True, text=True,
                         timeout=100, check=True, env={**os.environ, **settings})
    return float(run.stdout)


def print_first_trips(ours, starts=40):
    print(f"\n200 round trips of 2 PEs right after shmem_init, of {starts} starts; beside them "
          "without MESHMEM_SPREAD\n")
    for how in ("wait", "test", "fetch"):
        pairs = [(first_trips(ours, how), first_trips(ours, how, MESHMEM_SPREAD="0"))
                 for _ in range(starts)]
        (median, worst), (median_left, worst_left) = ((statistics.median(times), max(times))
                                                      for times in zip(*pairs))
        print(f"by {how:<6} median {median:10.1f} us   worst {worst:10.1f} us   left to the "
              f"scheduler {median_left:10.1f} {worst_left:10.1f}")
        sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True,
                        help="folder with oshrun, host_bench and bench_hello")
    parser.add_argument("--peers", action="store_true",
                        help="measure Open MPI's OSHMEM too, if it is installed")
    parser.add_argument("--runs", type=int, default=3, help="runs of each program (default: 3)")
    parser.add_argument("--pes", type=int, nargs="*", default=[2, 4, 8],
                        help="numbers of PEs (default: 2 4 8)")
    parser.add_argument("--only", default="", help="only operations whose name contains this")
    options = parser.parse_args()

    ours = Implementation("meshmem", [f"{options.bin}/oshrun"], options.bin, "bench_hello")
    with tempfile.TemporaryDirectory() as folder:
        peer = build_peer(folder) if options.peers else None
        if options.peers and not peer:
            print("no peer: Open MPI's oshcc and oshrun (Debian: libopenmpi-dev, openmpi-bin) are "
                  "not installed")
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            model = next((line.split(":")[1].strip()
                          for line in info if line.startswith("model name")), "unknown processor")
        print(f"{time.strftime('%Y-%m-%d')}, {len(os.sched_getaffinity(0))} cores, {model}; "
              f"medians of {options.runs} runs")
        for pes in options.pes:
            mine, theirs = [], []
            for _ in range(options.runs):  # in turn, so that a busy moment hits both
                mine.append(ours.rows(pes, options.only))
                if peer:
                    theirs.append(peer.rows(pes, options.only))
            print_table(f"{pes} PEs", medians(mine), medians(theirs) if theirs else None,
                        peer.name if peer else "")
        if not options.only:
            print_first_trips(ours)
            print_start_up(ours, peer, max(3, options.runs))


if __name__ == "__main__":
    main()

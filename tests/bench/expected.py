#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time that an all-reduce should take on GPUs of which each has a link to each other one. It is
computed, never measured.

expected.py [--pes 8] [--alpha 2.5] [--beta 48] [--blocks 64]

Prints the hops and bytes of each algorithm, the table of docs/collectives.md, and which is the
fastest for powers of two. A hop takes alpha microseconds, a link carries beta GB/s in each
direction, and all blocks are in step. How much fits into the rows at once is as in
device/state.hpp.
"""
import argparse
import math

KIB, MIB = 1 << 10, 1 << 20
SIZES = [KIB, 32 * KIB, MIB, 16 * MIB, 256 * MIB]
# device/state.hpp
LARGE_SLOTS, CHANNELS, LEAST_ROW = 4, 128, 512


def large_row(budget, most, pes):
    row = budget // (LARGE_SLOTS * CHANNELS * 2) // pes // LEAST_ROW * LEAST_ROW
    return max(LEAST_ROW, min(most, row))


def strides(pes):
    """The number of rings around which data goes. They share no link in one direction."""
    return sum(math.gcd(stride, pes) == 1 for stride in range(1, pes))


def algorithms(n, blocks):
    """Name -> hops of a part, bytes of the source in a part, and link bytes for each byte of the
    source. Link bytes go over links in one direction, one after the other. Packets are twice their
    data. A ring's parts follow each other at once."""
    packets = large_row(128 * MIB, 32 * KIB, n) // 2 * blocks
    rounds = n.bit_length() - 1 + (2 if n & (n - 1) else 0)
    return {
        "one_shot": (1, packets, 2),
        "two_shot": (2, packets // 2 * n, 4 / n),
        "recursive_doubling": (rounds, packets, 2 * rounds),
        "ring": (2 * (n - 1), math.inf, 2 * (n - 1) / n / strides(n)),
        "direct": (3, math.inf, 2 / n),
        "pull": (4, math.inf, 2 / n),
    }


def parts(size, part):
    return 1 if part == math.inf else math.ceil(size / part)


def microseconds(size, algorithm, alpha, beta):
    hops, part, on_link = algorithm
    return parts(size, part) * hops * alpha + on_link * size / (beta * 1e3)


def short(value):
    for unit, name in (MIB, "MiB"), (KIB, "KiB"):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value} B"


def rounded(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def print_ranges(found, alpha, beta):
    """Up to which size each is the fastest of all."""
    best = [(size, min(found, key=lambda name: microseconds(size, found[name], alpha, beta)))
            for size in (8 << i for i in range(26))]
    for (size, name), (_, following) in zip(best, best[1:] + [(0, "")]):
        if name != following:
            print(f"fastest up to {short(size)}: {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pes", type=int, default=8)
    parser.add_argument("--alpha", type=float, default=2.5, help="microseconds of a hop")
    parser.add_argument("--beta", type=float, default=48, help="GB/s of a link in one direction")
    parser.add_argument("--blocks", type=int, default=64)
    options = parser.parse_args()
    found = algorithms(options.pes, options.blocks)
    print("| algorithm | hops of a part | largest part | bytes one after the other |")
    print("|---|---|---|---|")
    for name, (hops, part, on_link) in found.items():
        print(f"| `{name}` | {hops} | {'any' if part == math.inf else short(part)} | {on_link:g} "
              "b |")
    print("\n| microseconds, computed | " + " | ".join(map(short, SIZES)) + " |")
    print("|---" * (len(SIZES) + 1) + "|")
    for name, algorithm in found.items():
        times = [microseconds(size, algorithm, options.alpha, options.beta) for size in SIZES]
        print(f"| `{name}` | " + " | ".join(map(rounded, times)) + " |")
    print()
    print_ranges(found, options.alpha, options.beta)


if __name__ == "__main__":
    main()

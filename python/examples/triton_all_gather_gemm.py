# SPDX-License-Identifier: Apache-2.0
# mypy: ignore-errors
"""Multiplies matrices while they travel. Each PE has some rows of A. It puts them to all others,
and multiplies what has arrived by its columns of B, in one kernel of Triton.
`TRITON_INTERPRET=1 python3 -m meshmem.run -n 4 triton_all_gather_gemm.py [ROWS] [COLUMNS] [K]`
runs it without a GPU; without that variable each PE takes a GPU."""
import sys
import time

import meshmem.triton as mt
import numpy as np
import triton
import triton.language as tl

BLOCK_M, BLOCK_N, BLOCK_K, ROUNDS = 32, 32, 32, 3


@triton.jit
def all_gather_gemm(a, gathered, b, c, arrived, bases, me, n_pes, round, ROWS: tl.constexpr,
                    COLUMNS: tl.constexpr, K: tl.constexpr, BLOCK_M: tl.constexpr,
                    BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Programs come in the order of their numbers. The first put a block of rows to a PE, and wait
    for nobody; the others wait for the block of which they compute a tile of C."""
    pid = tl.program_id(0)
    blocks: tl.constexpr = ROWS // BLOCK_M  # of each PE's rows
    rows, ks = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_K)
    if pid < blocks * n_pes:
        pe, block = (me + 1 + pid // blocks) % n_pes, pid % blocks
        source = a + (block * BLOCK_M + rows)[:, None] * K + ks[None, :]
        dest = gathered + (me * ROWS + block * BLOCK_M + rows)[:, None] * K + ks[None, :]
        for k in range(0, K, BLOCK_K):
            mt.put(source + k, dest + k, me, pe, bases)
        mt.signal(arrived + me * blocks + block, round, me, pe, bases)
    else:
        tile = pid - blocks * n_pes
        # The neighbour on the left puts here first; the own rows come last.
        pe = (me + n_pes - 1 - tile // (blocks * (COLUMNS // BLOCK_N))) % n_pes
        block = tile // (COLUMNS // BLOCK_N) % blocks
        at = pe * ROWS + block * BLOCK_M + rows
        columns = tile % (COLUMNS // BLOCK_N) * BLOCK_N + tl.arange(0, BLOCK_N)
        mt.wait(arrived + pe * blocks + block, round)
        sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, K, BLOCK_K):
            some_a = tl.load(gathered + at[:, None] * K + (k + ks)[None, :])
            some_b = tl.load(b + (k + ks)[:, None] * COLUMNS + columns[None, :])
            sums = tl.dot(some_a, some_b, sums)
        tl.store(c + at[:, None] * COLUMNS + columns[None, :], sums)


def numbers(seed, shape):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float16)


def main():
    rows, columns, k = ([int(word) for word in sys.argv[1:]] + [64, 64, 64][len(sys.argv) - 1:])[:3]
    if rows % BLOCK_M or columns % BLOCK_N or k % BLOCK_K:
        sys.exit("triton_all_gather_gemm.py: a size is no multiple of its block")
    ctx = mt.context(1 << 26)
    me, n = ctx.me, ctx.n_pes
    a, b = ctx.tensor(numbers(me, (rows, k))), ctx.tensor(numbers(100 + me, (k, columns)))
    gathered = ctx.zeros((n * rows, k), dtype="float16")
    c = ctx.zeros((n * rows, columns))
    arrived = ctx.zeros(n * rows // BLOCK_M, dtype="int64")
    n_programs = n * (rows // BLOCK_M) * (1 + columns // BLOCK_N)
    for round in range(1, ROUNDS + 1):
        begin = time.perf_counter()
        all_gather_gemm[(n_programs,)](a, gathered, b, c, arrived, ctx.bases, me, n, round, rows,
                                       columns, k, BLOCK_M, BLOCK_N, BLOCK_K)
        ctx.barrier()  # nobody still reads what the next round overwrites
        seconds = time.perf_counter() - begin

    whole = np.concatenate([numbers(pe, (rows, k)) for pe in range(n)]).astype(np.float32)
    wanted = whole @ numbers(100 + me, (k, columns)).astype(np.float32)
    error = np.abs(c.cpu().numpy() - wanted).max()
    if error:
        sys.exit(f"triton_all_gather_gemm.py: PE {me} is wrong by {error}")
    ctx.barrier()
    if me == 0:
        print(f"{n} PEs, {n * rows} x {k} times {k} x {n * columns}: right in {seconds:.4f} s")


if __name__ == "__main__":
    main()

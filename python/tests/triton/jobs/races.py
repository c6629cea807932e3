# SPDX-License-Identifier: Apache-2.0
"""Kernels with and without planted races: `races.py NAME...` under oshrun. Each program of a grid
passes 64 numbers to the right neighbour, and reads those that come from the left."""
import sys

import meshmem.triton as mt
import triton
import triton.language as tl


@triton.jit
def right(src, dst, flag, state, bases, me, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    mt.put(src + at, dst + at, me, (me + 1) % n, bases)
    mt.signal(flag + pid, 1, me, (me + 1) % n, bases)
    mt.wait(flag + pid, 1)
    tl.store(src + at, tl.load(dst + at))


@triton.jit
def meets(src, dst, flag, state, bases, me, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        for _ in range(3):
            mt.put(src + at, dst + at, me, (me + 1) % n, bases)
            mt.barrier(state, me, n, bases)
            tl.store(src + at, tl.load(dst + at))
            mt.barrier(state, me, n, bases)


@triton.jit
def released(src, dst, flag, state, bases, me, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    mt.put(src + at, dst + at, me, (me + 1) % n, bases)
    mt.atomic_add(flag + pid, 1, me, (me + 1) % n, bases, sem="release", scope="sys")
    mt.wait(flag + pid, 1)
    tl.store(src + at, tl.load(dst + at))


@triton.jit
def relaxed(src, dst, flag, state, bases, me, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    mt.put(src + at, dst + at, me, (me + 1) % n, bases)
    mt.atomic_add(flag + pid, 1, me, (me + 1) % n, bases, sem="relaxed", scope="sys")
    mt.wait(flag + pid, 1)
    tl.store(src + at, tl.load(dst + at))


@triton.jit
def of_one_gpu(src, dst, flag, state, bases, me, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    mt.put(src + at, dst + at, me, (me + 1) % n, bases)
    mt.atomic_add(flag + pid, 1, me, (me + 1) % n, bases, sem="release", scope="gpu")
    mt.wait(flag + pid, 1)
    tl.store(src + at, tl.load(dst + at))


@triton.jit
def no_signal(src, dst, flag, state, bases, me, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mt.put(src + at, dst + at, me, (me + 1) % n, bases)
    tl.store(src + at, tl.load(dst + at))


@triton.jit
def no_wait(src, dst, flag, state, bases, me, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    mt.put(src + at, dst + at, me, (me + 1) % n, bases)
    mt.signal(flag + pid, 1, me, (me + 1) % n, bases)
    tl.store(src + at, tl.load(dst + at))


@triton.jit
def early_signal(src, dst, flag, state, bases, me, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    mt.signal(flag + pid, 1, me, (me + 1) % n, bases)
    mt.put(src + at, dst + at, me, (me + 1) % n, bases)
    mt.wait(flag + pid, 1)
    tl.store(src + at, tl.load(dst + at))


@triton.jit
def one_place(src, dst, flag, state, bases, me, n, BLOCK: tl.constexpr):
    mt.store(dst + tl.program_id(0), me, me, 0, bases)


@triton.jit
def load_loop(src, dst, flag, state, bases, me, n, BLOCK: tl.constexpr):
    """Waits by plain loads, which order nothing."""
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    mt.put(src + at, dst + at, me, (me + 1) % n, bases)
    mt.signal(flag + pid, 1, me, (me + 1) % n, bases)
    while tl.load(flag + pid) != 1:
        pass
    tl.store(src + at, tl.load(dst + at))


ctx = mt.context(1 << 20)
for name in sys.argv[1:]:
    tensors = [ctx.arange(128, dtype="float32"), ctx.zeros(128), ctx.zeros(2, dtype="int64"),
               ctx.zeros(2, dtype="int64")]
    globals()[name][(2,)](*tensors, ctx.bases, ctx.me, ctx.n_pes, 64)
    ctx.barrier()

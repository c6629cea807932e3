# SPDX-License-Identifier: Apache-2.0
"""Tests meshmem.triton on 2 GPUs and measures it, in under 3 minutes: `python3 gpu_triton.py`.
It starts three jobs:

  1  the tests of pes/
  2  the example that multiplies matrices
  3  puts to the right neighbour, in GB/s, and sums of float32 over all PEs, in us in a CUDA graph,
     beside torch's symmetric memory; `gpu_triton.py measure` under oshrun is this job alone

With TRITON_INTERPRET=1 the third only checks its kernels, at small sizes and without a GPU.
"""
import os
import pathlib
import statistics
import subprocess
import sys
import time

import meshmem.triton as mt
import numpy as np
import triton
import triton.language as tl

HERE = pathlib.Path(__file__).resolve().parent
IS_GPU = not triton.knobs.runtime.interpret
SIZES = [8, 1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 22, 1 << 24] if IS_GPU else [8, 1000, 5000]
MOST_BLOCKS, BLOCK = (64, 4096) if IS_GPU else (3, 256)


@triton.jit
def put_all(src, dst, bases, me, pe, count, BLOCK: tl.constexpr):
    for first in range(tl.program_id(0) * BLOCK, count, tl.num_programs(0) * BLOCK):
        at = first + tl.arange(0, BLOCK)
        mt.put(src + at, dst + at, me, pe, bases, mask=at < count)


@triton.jit
def copy_in(values, mine, begin, end, BLOCK: tl.constexpr):
    for first in range(begin, end, BLOCK):
        at = first + tl.arange(0, BLOCK)
        tl.store(mine + at, tl.load(values + at, mask=at < end), mask=at < end)


@triton.jit
def sum_of_all(mine, at, end, bases, me, n_pes: tl.constexpr):
    total = mt.load(mine + at, me, 0, bases, mask=at < end, other=0)
    for pe in tl.static_range(1, n_pes):
        total += mt.load(mine + at, me, pe, bases, mask=at < end, other=0)
    return total


@triton.jit
def one_shot(values, copies, out, state, bases, me, count, share, n_pes: tl.constexpr,
             BLOCK: tl.constexpr):
    """Each program copies its share of the values to where the others read it, meets the same
    program of the other PEs, and adds up what all have. Copies lie in two places by turns: a
    program that has met the others twice knows that they have read the first."""
    state += 2 * tl.program_id(0)
    mine = copies + tl.load(state + 1) % 2 * count
    begin = tl.program_id(0) * share
    end = min(begin + share, count)
    copy_in(values, mine, begin, end, BLOCK)
    mt.barrier(state, me, n_pes, bases)
    for first in range(begin, end, BLOCK):
        at = first + tl.arange(0, BLOCK)
        tl.store(out + at, sum_of_all(mine, at, end, bases, me, n_pes), mask=at < end)


@triton.jit
def two_shot(values, copies, out, state, bases, me, count, share, n_pes: tl.constexpr,
             BLOCK: tl.constexpr):
    """As one_shot, but a PE adds up only its part of the share, and stores the sums to all. So the
    programs meet again at the end."""
    state += 2 * tl.program_id(0)
    begin = tl.program_id(0) * share
    end = min(begin + share, count)
    copy_in(values, copies, begin, end, BLOCK)
    mt.barrier(state, me, n_pes, bases)
    part = tl.cdiv(share, n_pes * 16) * 16
    first_of_part = begin + me * part
    end_of_part = min(first_of_part + part, end)
    for first in range(first_of_part, end_of_part, BLOCK):
        at = first + tl.arange(0, BLOCK)
        total = sum_of_all(copies, at, end_of_part, bases, me, n_pes)
        for k in tl.static_range(n_pes):
            mt.store(out + at, total, me, (me + k) % n_pes, bases, mask=at < end_of_part)
    mt.barrier(state, me, n_pes, bases)


class Sum:
    def __init__(self, ctx, kernel, n_bytes):
        self.ctx, self.kernel, self.count = ctx, kernel, n_bytes // 4
        self.n_blocks = max(1, min(MOST_BLOCKS, self.count // BLOCK))
        self.share = -(-self.count // self.n_blocks // 16) * 16
        self.values = ctx.tensor(numbers(ctx.me, self.count))
        self.copies = ctx.zeros(2 * self.count)
        self.out = ctx.zeros(self.count)
        self.state = ctx.zeros(2 * self.n_blocks, dtype="int64")

    def __call__(self):
        self.kernel[(self.n_blocks,)](self.values, self.copies, self.out, self.state,
                                      self.ctx.bases, self.ctx.me, self.count, self.share,
                                      self.ctx.n_pes, BLOCK, num_warps=8)

    def check(self):
        for _ in range(3):
            self()
        self.ctx.barrier()
        wanted = sum(numbers(pe, self.count) for pe in range(self.ctx.n_pes))
        np.testing.assert_array_equal(self.out.cpu().numpy(), wanted)
        self.ctx.barrier()


def numbers(pe, count):
    return np.random.default_rng(pe).integers(-1000, 1000, count).astype(np.float32)


def say(ctx, text):
    if ctx.me == 0:
        print(text, flush=True)


def check(ctx):
    source, dest = ctx.tensor(numbers(ctx.me, 1000)), ctx.zeros(1000)
    put_all[(2,)](source, dest, ctx.bases, ctx.me, (ctx.me + 1) % ctx.n_pes, 1000, BLOCK)
    ctx.barrier()
    left = (ctx.me - 1) % ctx.n_pes
    np.testing.assert_array_equal(dest.cpu().numpy(), numbers(left, 1000))
    for kernel in (one_shot, two_shot):
        for n_bytes in SIZES:
            Sum(ctx, kernel, n_bytes).check()
    say(ctx, f"put, one_shot and two_shot are right at {ctx.n_pes} PEs")


# ---- Measurements

def microseconds(ctx, call, in_graph=20):
    """The median of eleven replays of a graph that has the call several times."""
    import torch
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(in_graph):
            call()
    times = []
    for _ in range(13):
        ctx.barrier()
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        graph.replay()  # the PEs are together once this has begun
        events[0].record()
        graph.replay()
        events[1].record()
        torch.cuda.synchronize()
        times.append(1e3 * events[0].elapsed_time(events[1]) / in_graph)
    return statistics.median(times[2:])


def measure_puts(ctx):
    say(ctx, "\nputs, GB/s by bytes and programs of the grid")
    most = 1 << 26
    source, dest = ctx.zeros(most // 4), ctx.zeros(most // 4)
    for n_bytes in (1 << 16, 1 << 20, 1 << 24, 1 << 26):
        row = []
        for blocks in (8, 32, 132, 264):
            def put(blocks=blocks, n_bytes=n_bytes):
                put_all[(blocks,)](source, dest, ctx.bases, ctx.me, (ctx.me + 1) % ctx.n_pes,
                                   n_bytes // 4, BLOCK, num_warps=8)
            row.append(f"{n_bytes / microseconds(ctx, put) / 1e3:8.1f}")
        say(ctx, f"{n_bytes:10} {' '.join(row)}")


def torch_sums(ctx):
    """Name -> function that gives a call of torch's all-reduce for a number of bytes."""
    import torch
    import torch.distributed as dist
    import torch.distributed._symmetric_memory as symm_mem
    port = os.environ.get("MESHMEM_TEST_PORT", "29531")
    dist.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{port}", rank=ctx.me,
                            world_size=ctx.n_pes, device_id=ctx.get_device())
    group = dist.group.WORLD.group_name

    def make(op):
        def of_bytes(n_bytes):
            values = symm_mem.empty(n_bytes // 4, dtype=torch.float32, device=ctx.get_device())
            symm_mem.rendezvous(values, group)
            values.zero_()
            return lambda: op(values, "sum", group)
        return of_bytes
    return {"torch one-shot": make(torch.ops.symm_mem.one_shot_all_reduce),
            "torch two-shot": make(torch.ops.symm_mem.two_shot_all_reduce_)}


def measure_sums(ctx):
    ways = {"one-shot": lambda n_bytes: Sum(ctx, one_shot, n_bytes),
            "two-shot": lambda n_bytes: Sum(ctx, two_shot, n_bytes)}
    try:
        ways |= torch_sums(ctx)
    except Exception as error:  # the rest is worth having without it
        say(ctx, f"torch's symmetric memory: {error!r}")
    say(ctx, f"\nsums of float32, us\n{'':16}" + "".join(f"{n_bytes:>10}" for n_bytes in SIZES))
    for name, make in ways.items():
        row = []
        for n_bytes in SIZES:
            try:
                row.append(f"{microseconds(ctx, make(n_bytes)):10.2f}")
            except Exception as error:
                row.append(f"{type(error).__name__:>10.10}")
        say(ctx, f"{name:16}" + "".join(row))


def measure():
    begin = time.monotonic()
    ctx = mt.context((5 << 27) if IS_GPU else (1 << 22))
    check(ctx)
    if IS_GPU:
        measure_puts(ctx)
        measure_sums(ctx)
        say(ctx, f"\nmeasured in {time.monotonic() - begin:.0f} s")


def run_jobs():
    from meshmem.run import find_oshrun
    environment = {"MESHMEM_DEVICE_HEAP_SIZE": "1g", "MESHMEM_TIMEOUT": "40", **os.environ}
    for limit, *job in (
            (70, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--capture=sys", HERE / "pes"),
            (25, HERE.parents[1] / "examples/triton_all_gather_gemm.py",
             *["1024"] * (3 if IS_GPU else 0)),
            (75, HERE / "gpu_triton.py", "measure")):
        begin = time.monotonic()
        job = [str(word) for word in job]
        print(f"\n==== {' '.join(job)}", flush=True)
        ended = subprocess.run([find_oshrun(), "-n", "2", "--timeout", str(limit), sys.executable,
                                *job], env=environment)
        print(f"status {ended.returncode} after {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    measure() if sys.argv[1:] == ["measure"] else run_jobs()

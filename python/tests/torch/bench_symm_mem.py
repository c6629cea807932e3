# SPDX-License-Identifier: Apache-2.0
"""Times of symm_mem.one_shot_all_reduce of CPU tensors beside gloo's all_reduce, in turns:
`oshrun -n 2 python3 python/tests/torch/bench_symm_mem.py`. The table has the least times in µs,
since other programs only add to them."""
import os
import time

import meshmem
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem

TURNS, SECONDS = 15, 0.02


def seconds_of(call, repeats):
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - begin) / repeats


def repeats_of(call):
    """How many take SECONDS, the same number on all ranks."""
    number = torch.tensor(SECONDS / max(seconds_of(call, 5), 1e-6))
    dist.all_reduce(number, dist.ReduceOp.MIN)
    return max(5, int(number))


def main():
    torch.set_num_threads(1)
    meshmem.init()
    me, n = meshmem.my_pe(), meshmem.n_pes()
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29517")
    dist.init_process_group("gloo", rank=me, world_size=n)
    symm_mem.set_backend("MESHMEM")
    world, ops = dist.group.WORLD.group_name, torch.ops.symm_mem
    if me == 0:
        print(f"{n} PEs, float32, µs\n| bytes | one_shot | two_shot | gloo |\n|--:|--:|--:|--:|")
    for exponent in range(3, 21):
        tensor = symm_mem.empty(2**exponent // 4, device="cpu").zero_()
        symm_mem.rendezvous(tensor, world)
        out = torch.zeros_like(tensor)
        calls = {"one_shot": lambda: ops.one_shot_all_reduce_out(tensor, "sum", world, out),
                 "two_shot": lambda: ops.two_shot_all_reduce_(tensor, "sum", world),
                 "gloo": lambda: dist.all_reduce(out)}
        repeats = {name: repeats_of(call) for name, call in calls.items()}
        times = {name: [] for name in calls}
        for _ in range(TURNS):
            for name, call in calls.items():
                times[name].append(seconds_of(call, repeats[name]) * 1e6)
        if me == 0:
            cells = [f"{min(times[name]):.1f}" for name in calls]
            print("|", " | ".join([str(2**exponent), *cells]), "|", flush=True)


main()

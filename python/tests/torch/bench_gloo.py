# SPDX-License-Identifier: Apache-2.0
"""Times of collectives by meshmem and by gloo, in turns in one job: medians, in microseconds.
`oshrun -n 4 python3 python/tests/torch/bench_gloo.py [OPERATION ...]`"""
import statistics
import sys
import time

import torch
import torch.distributed as dist

SIZES = [8, 1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 24]  # bytes of the largest tensor of a call
TURNS = 5


def operations(size, me, n):
    """(name, call(group)) of one size. Each moves `size` bytes at most in one tensor."""
    count = max(size // 4, 1)
    share = max(count // n, 1)
    whole, part, all_parts = torch.ones(count), torch.ones(share), torch.ones(share * n)
    parts = list(torch.ones(share * n).chunk(n))
    yield "all_reduce", lambda group: dist.all_reduce(whole, group=group)
    yield "broadcast", lambda group: dist.broadcast(whole, 0, group=group)
    yield "reduce", lambda group: dist.reduce(whole, 0, group=group)
    yield "all_gather", lambda group: dist.all_gather(parts, part, group=group)
    yield "all_gather_into_tensor", lambda group: dist.all_gather_into_tensor(all_parts, part,
                                                                              group=group)
    yield "reduce_scatter_tensor", lambda group: dist.reduce_scatter_tensor(part, all_parts,
                                                                            group=group)
    yield "gather", lambda group: dist.gather(part, parts if me == 0 else None, 0, group=group)
    yield "scatter", lambda group: dist.scatter(part, parts if me == 0 else None, 0, group=group)
    yield "all_to_all_single", lambda group: dist.all_to_all_single(all_parts, torch.ones_like(
        all_parts), group=group)
    yield "send and recv", lambda group: ping(whole, me, group)
    yield "async all_reduce", lambda group: dist.all_reduce(whole, group=group,
                                                            async_op=True).wait()
    if size == SIZES[0]:
        yield "barrier", lambda group: dist.barrier(group=group)


def ping(tensor, me, group):
    """There and back between ranks 0 and 1."""
    if me > 1:
        return
    for sender in (0, 1):
        if me == sender:
            dist.send(tensor, 1 - me, group=group)
        else:
            dist.recv(tensor, 1 - me, group=group)


def time_of(call, group, size):
    repeats = 3 if size > 1 << 20 else 10 if size > 1 << 16 else 50
    call(group)
    dist.barrier(group=group)
    begin = time.perf_counter()
    for _ in range(repeats):
        call(group)
    dist.barrier(group=group)
    return 1e6 * (time.perf_counter() - begin) / repeats


def main():
    dist.init_process_group("meshmem")
    torch.set_num_threads(1)
    me, n = dist.get_rank(), dist.get_world_size()
    groups = {"meshmem": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}
    wanted = sys.argv[1:]
    if me == 0:
        print(f"{n} ranks: us by meshmem, by gloo, meshmem / gloo")
    ratios = []
    for size in SIZES:
        for name, call in operations(size, me, n):
            if wanted and name not in wanted:
                continue
            times = {group: [] for group in groups}
            for _ in range(TURNS):
                for group in groups:
                    times[group].append(time_of(call, groups[group], size))
            ours, theirs = (statistics.median(times[group]) for group in groups)
            ratios.append(ours / theirs)
            if me == 0:
                print(f"{name:24} {size:9} {ours:11.1f} {theirs:11.1f} {ours / theirs:7.2f}",
                      flush=True)
    if me == 0:
        print(f"worst {max(ratios):.2f}, median {statistics.median(ratios):.2f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Symmetric memory of CUDA tensors on the GPUs of one machine: correctness, then times beside
PyTorch's own backends, in turns. Not a test of CI. It takes under three minutes on two GPUs:

    python3 python/tests/torch/gpu_symm_mem.py [--gpus 2] [--rounds 2] [MESHMEM CUDA NVSHMEM]

A process can use one backend only, so each turn is a job of its own (torchrun).
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem

BYTES = [8, 64, 1 << 10, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26]
ops = torch.ops.symm_mem


# ---- One rank


def symmetric(values, group):
    tensor = symm_mem.empty(values.shape, dtype=values.dtype, device=values.device).copy_(values)
    return tensor, symm_mem.rendezvous(tensor, group)


def values_of(rank, count, dtype, device):
    return ((torch.arange(count, device=device) * 7 + rank * 3) % 11).to(dtype)


def check_memory(me, n, group, device):
    tensor, hdl = symmetric(values_of(me, 1000, torch.float32, device), group)
    assert (hdl.rank, hdl.world_size, hdl.multicast_ptr) == (me, n, 0), hdl
    assert hdl.buffer_ptrs[me] == tensor.untyped_storage().data_ptr()
    hdl.barrier()
    for rank in range(n):
        expected = values_of(rank, 1000, torch.float32, device)
        assert hdl.get_buffer(rank, (1000,), torch.float32).equal(expected)
        assert hdl.get_remote_tensor(rank, (1000,), torch.float32).equal(expected)
    hdl.barrier()
    right, left = (me + 1) % n, (me - 1) % n
    for turn in range(20):
        hdl.get_buffer(right, (1000,), torch.float32).fill_(turn + me)
        hdl.put_signal(right, channel=3)
        hdl.wait_signal(left, channel=3)
        assert tensor.eq(turn + left).all()
        hdl.barrier(channel=1)
    symm_mem.put_signal(torch.full((10,), float(me), device=device), hdl, right)
    symm_mem.wait_signal(hdl, left)
    assert tensor[:10].eq(left).all()
    hdl.barrier()
    gathered = ops._low_contention_all_gather(tensor, group.group_name)
    torch.cuda.synchronize()
    assert gathered[::1000].tolist() == [(rank - 1) % n for rank in range(n)]


def check_reductions(me, n, group, device):
    name = group.group_name
    for dtype in (torch.float32, torch.bfloat16):
        for count in (4, 20, 1024, 100_000, 1 << 22):
            tensor, _ = symmetric(values_of(me, count, dtype, device), group)
            expected = sum(values_of(rank, count, dtype, device) for rank in range(n))
            assert ops.one_shot_all_reduce(tensor, "sum", name).equal(expected), (dtype, count)
            out = torch.zeros_like(expected)
            ops.one_shot_all_reduce_out(tensor, "sum", name, out)
            assert out.equal(expected), (dtype, count)
            ops.two_shot_all_reduce_(tensor, "sum", name)
            assert tensor.equal(expected), (dtype, count)
    tensor, _ = symmetric(values_of(me, 1024 * n, torch.float32, device), group)
    out = torch.zeros(1024, device=device)
    ops.reduce_scatter_out(tensor, name, False, out)
    expected = sum(values_of(rank, 1024 * n, torch.float32, device) for rank in range(n))
    assert out.equal(expected[1024 * me:1024 * (me + 1)])


def check_refusals(group, device):
    tensor, _ = symmetric(torch.zeros(1024, device=device), group)
    for call in (lambda: ops.multimem_all_reduce_(tensor, "sum", group.group_name),
                 lambda: ops.one_shot_all_reduce(torch.zeros(8, device=device), "sum",
                                                 group.group_name)):
        try:
            call()
        except (RuntimeError, ValueError) as error:
            if dist.get_rank() == 0:
                print("refused:", str(error).splitlines()[0])
            continue
        raise AssertionError("not refused")


def check_moves(me, n, group, device):
    """Operators of meshmem's own for CUDA tensors."""
    name, right = group.group_name, (me + 1) % n
    tensor, hdl = symmetric(values_of(me, 64 * n, torch.float32, device), group)
    dist.barrier()
    if me == 0:
        ops.nvshmem_put(tensor[8:16], n - 1)
    torch.cuda.synchronize()
    dist.barrier()
    if me == n - 1:
        assert tensor[8:16].equal(values_of(0, 16, torch.float32, device)[8:])
        assert tensor[16:].equal(values_of(me, 64 * n, torch.float32, device)[16:])
    pad = hdl.get_signal_pad(me, (1,), torch.uint64, 100)
    dist.barrier()
    ops.nvshmem_put_with_signal(tensor, pad, 77 + me, right)
    ops.nvshmem_wait_for_signal(pad, 77 + (me - 1) % n, (me - 1) % n)
    torch.cuda.synchronize()
    dist.barrier()
    tensor.copy_(values_of(me, 64 * n, torch.float32, device))
    out = ops.nvshmem_all_to_all(tensor, torch.zeros_like(tensor), name)
    parts = [values_of(rank, 64 * n, torch.float32, device).chunk(n)[me] for rank in range(n)]
    assert out.equal(torch.cat(parts))
    ops.nvshmem_broadcast(tensor, n - 1, name)
    assert tensor.equal(values_of(n - 1, 64 * n, torch.float32, device))

    n_experts, room, width = 3, 64 * n, 5
    splits_of = [torch.tensor([(rank * 5 + chunk * 3) % 4 for chunk in range(n * n_experts)])
                 for rank in range(n)]
    rows_of = [torch.randn(room, width, generator=torch.Generator().manual_seed(rank))
               for rank in range(n)]
    source, _ = symmetric(rows_of[me].to(device), group)
    splits, _ = symmetric(splits_of[me].to(device), group)
    out, _ = symmetric(torch.zeros(room, width, device=device), group)
    result, _ = symmetric(torch.zeros(2, n * n_experts, dtype=torch.int64, device=device), group)
    ops.all_to_all_vdev_2d(source, out, splits, result, name, 8)
    for expert in range(n_experts):
        for rank in range(n):
            chunk = me * n_experts + expert
            begin, rows = int(splits_of[rank][:chunk].sum()), int(splits_of[rank][chunk])
            count, place = result[:, expert * n + rank].tolist()
            assert count == rows, (count, rows)
            assert out[place:place + rows].cpu().equal(rows_of[rank][begin:begin + rows])
    back = torch.zeros(room, width, device=device)
    ops.all_to_all_vdev_2d_offset(out, back, result, torch.zeros_like(result), name)
    total = int(splits_of[me].sum())
    assert back[:total].equal(source[:total])


def microseconds(call, hdl, calls=20, replays=10):
    """Of one call in a graph."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(calls):
            call()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = []
    for _ in range(5):
        dist.barrier()
        graph.replay()
        begin.record()
        for _ in range(replays):
            graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / calls / replays)
    return statistics.median(times)


def measure(me, n, group, device):
    name, times = group.group_name, {}
    tensor, hdl = symmetric(torch.zeros(BYTES[-1] // 2, dtype=torch.bfloat16, device=device), group)
    out = torch.zeros_like(tensor)
    for size in BYTES:
        part, result = tensor[:size // 2], out[:size // 2]
        calls = {"one_shot": lambda: ops.one_shot_all_reduce_out(part, "sum", name, result),
                 "two_shot": lambda: ops.two_shot_all_reduce_(part, "sum", name),
                 "copy": lambda: hdl.get_remote_tensor((me + 1) % n, part.shape, part.dtype).copy_(
                     result)}
        if size >= 1024:
            calls["reduce_scatter"] = lambda: ops.reduce_scatter_out(part, name, False,
                                                                     result[:size // 2 // n])
        for what, call in calls.items():
            times[f"{what} {size}"] = microseconds(call, hdl, calls=20 if size < 1 << 22 else 5)
    times["barrier 0"] = microseconds(hdl.barrier, hdl)
    if symm_mem.get_backend("cuda") != "CUDA":
        times.update(measure_experts(n, group, device))
    return times


def measure_experts(n, group, device, hidden=7168, top=8):
    """Rows of tokens to experts, 4 of which each rank has."""
    times = {}
    for tokens in (1, 8, 128):
        rows = tokens * top
        source, hdl = symmetric(torch.zeros(rows, hidden, dtype=torch.bfloat16, device=device),
                                group)
        out, _ = symmetric(torch.zeros(2 * n * rows, hidden, dtype=torch.bfloat16, device=device),
                           group)
        counts = torch.full((4 * n,), rows // (4 * n), dtype=torch.int64, device=device)
        splits, _ = symmetric(counts, group)
        result, _ = symmetric(torch.zeros(2, 4 * n, dtype=torch.int64, device=device), group)
        times[f"all_to_all_vdev_2d {rows * hidden * 2}"] = microseconds(
            lambda: ops.all_to_all_vdev_2d(source, out, splits, result, group.group_name), hdl)
    return times


def run_rank(backend, result):
    me, n = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    symm_mem.set_backend(backend)
    assert symm_mem.get_backend("cuda") == backend
    group = dist.group.WORLD
    if backend == "MESHMEM":
        check_memory(me, n, group, device)
        check_reductions(me, n, group, device)
        if me == 0:
            print("correct", flush=True)
    times = measure(me, n, group, device)
    if me == 0:
        pathlib.Path(result).write_text(json.dumps(times), encoding="utf-8")
    dist.barrier()
    torch.cuda.synchronize()
    if backend == "MESHMEM":
        check_moves(me, n, group, device)
        check_refusals(group, device)
        if me == 0:
            print("moves are correct", flush=True)
    dist.destroy_process_group()


# ---- All jobs


def run_jobs(gpus, rounds, backends):
    found = {backend: [] for backend in backends}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(rounds):
            for backend in backends:
                result = pathlib.Path(folder) / f"{backend}{turn}"
                ended = subprocess.run(
                    [sys.executable, "-m", "torch.distributed.run", "--standalone",
                     f"--nproc-per-node={gpus}", __file__, "--backend", backend, "--result",
                     str(result)], capture_output=True, text=True, timeout=90, check=False)
                print(ended.stdout, end="", flush=True)
                if result.exists():
                    found[backend].append(json.loads(result.read_text(encoding="utf-8")))
                if ended.returncode:
                    print(f"{backend}: status {ended.returncode}\n{ended.stderr[-3000:]}")
    keys = [key for runs in found.values() for run in runs for key in run]
    print(f"\n{gpus} GPUs, bfloat16, µs a call in a graph, median of {rounds} jobs\n"
          f"| call | bytes | {' | '.join(backends)} |\n|---|--:|{'--:|' * len(backends)}")
    for key in sorted(dict.fromkeys(keys), key=lambda key: (key.split()[0], int(key.split()[1]))):
        cells = [f"{statistics.median(run[key] for run in runs):.2f}" if runs else "-"
                 for runs in found.values()]
        print("|", " | ".join([*key.split(), *cells]), "|")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("backends", nargs="*", default=["MESHMEM", "CUDA", "NVSHMEM"])
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--backend", help=argparse.SUPPRESS)
    parser.add_argument("--result", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.backend:
        run_rank(options.backend, options.result)
    else:
        run_jobs(options.gpus, options.rounds, options.backends)


main()

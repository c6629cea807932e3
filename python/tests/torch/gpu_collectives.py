# SPDX-License-Identifier: Apache-2.0
"""Tests of CUDA tensors, and times beside NCCL's in turns, eager and in graphs. For a machine with
GPUs, one rank for each. Two GPUs take about three minutes:

  python3 -m meshmem.torch && oshrun -n 2 python3 python/tests/torch/gpu_collectives.py

Arguments: `test` or `time` alone. Rank 0 prints; a failed test ends the job.
"""
import datetime
import statistics
import sys
import time

import torch
import torch.distributed as dist

from pes.support import ALL, expected, ops_of, same, values

TEST_SIZES = [1, 7, 1000, 5_000_003]  # the last one needs several buffers
TIME_SIZES = [8, 1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28, 1 << 30]
TURNS = 5
BUDGET = 150  # seconds, after which sizes are left out


def say(*words):
    if dist.get_rank() == 0:
        print(*words, flush=True)


def on_gpu(tensor):
    return tensor.to(torch.cuda.current_device())


# ---- Tests

def check(found, wanted, *what):
    found = found.cpu()
    if found.dtype.is_floating_point and found.dtype != torch.float8_e4m3fn:
        good = torch.allclose(found.double(), wanted.double(), 1e-2, 1e-2)
    else:
        good = same(found, wanted)
    assert good, (*what, found, wanted)


def test_reductions(me, n):
    for dtype in ALL:
        if dtype == torch.float8_e4m3fn:
            continue
        for size in TEST_SIZES:
            for op in ops_of(dtype)[:None if size < 1000 else 2]:
                parts = [values(size, dtype, rank) for rank in range(n)]
                tensor = on_gpu(parts[me])
                dist.all_reduce(tensor, op)
                check(tensor, expected(op, parts), "all_reduce", dtype, size, op)
                tensor = on_gpu(parts[me])
                dist.all_reduce(tensor, op, async_op=True).wait()
                check(tensor, expected(op, parts), "async all_reduce", dtype, size, op)
                output = on_gpu(torch.zeros(size, dtype=dtype))
                whole = torch.cat([values(size, dtype, me, seed) for seed in range(n)])
                dist.reduce_scatter_tensor(output, on_gpu(whole), op)
                wanted = expected(op, [values(size, dtype, rank, me) for rank in range(n)])
                check(output, wanted, "reduce_scatter", dtype, size, op)


def test_movement(me, n):
    for dtype in (torch.uint8, torch.bfloat16, torch.float64, torch.bool):
        for size in TEST_SIZES:
            parts = [values(size, dtype, rank) for rank in range(n)]
            mine = on_gpu(parts[me])
            output = on_gpu(torch.zeros(n * size, dtype=dtype))
            dist.all_gather_into_tensor(output, mine)
            check(output, torch.cat(parts), "all_gather", dtype, size)
            for root in range(n):
                tensor = on_gpu(parts[me])
                dist.broadcast(tensor, root)
                check(tensor, parts[root], "broadcast", dtype, size)
                gathered = [torch.zeros_like(mine) for _ in range(n)] if me == root else None
                dist.gather(mine, gathered, root)
                if me == root:
                    check(torch.cat(gathered), torch.cat(parts), "gather", dtype, size)
                dist.scatter(tensor, [on_gpu(part) for part in parts] if me == root else None, root)
                check(tensor, parts[me], "scatter", dtype, size)
            sent = torch.cat([values(size, dtype, me, seed) for seed in range(n)])
            dist.all_to_all_single(output, on_gpu(sent))
            wanted = torch.cat([values(size, dtype, rank, me) for rank in range(n)])
            check(output, wanted, "all_to_all", dtype, size)


def test_uneven(me, n):
    rows = [[1000 * ((sender + 2 * receiver) % n) for receiver in range(n)] for sender in range(n)]
    sent = torch.cat([torch.full((rows[me][to],), 10.0 * me + to) for to in range(n)])
    wanted = torch.cat([torch.full((rows[sender][me],), 10.0 * sender + me)
                        for sender in range(n)])
    output = on_gpu(torch.zeros_like(wanted))
    dist.all_to_all_single(output, on_gpu(sent), [rows[sender][me] for sender in range(n)],
                           rows[me])
    check(output, wanted, "all_to_all of different lengths")
    outputs = [on_gpu(torch.zeros(100 * rank)) for rank in range(n)]
    dist.all_gather(outputs, on_gpu(torch.full((100 * me,), float(me))))
    assert all((outputs[rank] == rank).all() for rank in range(n))


def test_messages(me, n):
    right, left = (me + 1) % n, (me - 1) % n
    for size in TEST_SIZES:
        received = on_gpu(torch.zeros(size))
        works = [dist.isend(on_gpu(values(size, torch.float32, me)), right),
                 dist.irecv(received, left)]
        for work in works:
            work.wait()
        check(received, values(size, torch.float32, left), "ring", size)
    batch = [dist.P2POp(dist.isend, torch.full((300_000,), float(me), device="cuda"), right),
             dist.P2POp(dist.irecv, received, left)]
    received.resize_(300_000)
    for work in dist.batch_isend_irecv(batch):
        work.wait()
    assert (received == left).all()


def test_graphs(me, n):
    """Captured once, replayed with other values."""
    tensor = torch.ones(100_000, device="cuda")
    gathered = torch.zeros(n * 100_000, device="cuda")
    message = torch.zeros(1000, device="cuda")
    right, left = (me + 1) % n, (me - 1) % n

    def step():
        dist.all_reduce(tensor)
        dist.all_reduce(tensor, async_op=True).wait()
        dist.all_gather_into_tensor(gathered, tensor)
        for work in (dist.isend(tensor[:1000], right), dist.irecv(message, left)):
            work.wait()

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        step()
    for turn in range(1, 6):
        tensor.fill_(turn)
        graph.replay()
        wanted = float(turn * n * n)
        assert (tensor == wanted).all() and (gathered == wanted).all() and (message == wanted).all()
    dist.all_reduce(tensor)  # eager again
    assert (tensor == wanted * n).all()


def test_lists(me, n):
    """Tensors that do not lie behind each other, and operations with a root."""
    for size in (7, 100_000, 5_000_003):
        parts = [values(size, torch.float32, rank) for rank in range(n)]
        outputs = [on_gpu(torch.zeros(size)) for _ in range(n)]
        dist.all_gather(outputs, on_gpu(parts[me]))
        check(torch.cat(outputs), torch.cat(parts), "all_gather into a list", size)
        blocks = [values(size, torch.float32, me, seed) for seed in range(n)]
        output = on_gpu(torch.zeros(size))
        dist.reduce_scatter(output, [on_gpu(block) for block in blocks])
        wanted = expected(dist.ReduceOp.SUM, [values(size, torch.float32, rank, me)
                                              for rank in range(n)])
        check(output, wanted, "reduce_scatter of a list", size)
        for root in range(n):
            tensor = on_gpu(parts[me])
            dist.reduce(tensor, root)
            wanted = expected(dist.ReduceOp.SUM, parts) if me == root else parts[me]
            check(tensor, wanted, "reduce", size, root)


def test_replays(me, n):
    """Exchanges in graphs that follow each other at once, with other values each time."""
    count = torch.zeros(50_000, device="cuda")
    shared, gathered = torch.zeros_like(count), [torch.zeros_like(count) for _ in range(n)]
    uneven = torch.zeros(1000 * n, device="cuda")
    rows = [1000] * n
    sums = torch.zeros(4, n, device="cuda")

    def step():
        count.add_(1)
        shared.copy_(count)
        dist.broadcast(shared, n - 1)
        sums[0] += shared[0]
        dist.gather(shared * (me + 1), gathered if me == 0 else None, 0)
        if me == 0:
            sums[1] += torch.stack([each[-1] for each in gathered])
        dist.scatter(shared, [count * (rank + 1) for rank in range(n)] if me == 0 else None, 0)
        sums[2] += shared[7]
        dist.all_to_all_single(uneven, count[:1000 * n] * (me + 1), rows, rows)
        sums[3] += uneven.view(n, 1000)[:, 3]

    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        step()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        step()
    for _ in range(50):
        graph.replay()
    torch.cuda.synchronize()
    total = 51 * 52 / 2
    ranks = torch.arange(1, n + 1)
    wanted = torch.stack([torch.ones(n), ranks * (me == 0), torch.full((n,), me + 1.0), ranks])
    check(sums, wanted * total, "sums over replays")


def test_streams_of_the_caller(me, n):
    """The same group on two streams: results wait for each other as in NCCL."""
    tensors = [torch.ones(1_000_000, device="cuda") for _ in range(2)]
    streams = [torch.cuda.Stream() for _ in range(2)]
    torch.cuda.synchronize()
    for _ in range(10):
        for tensor, stream in zip(tensors, streams):
            with torch.cuda.stream(stream):
                tensor.div_(n)
                dist.all_reduce(tensor)
    torch.cuda.synchronize()
    assert all((tensor == 1).all() for tensor in tensors)


def test_groups_and_devices(me, n):
    group = dist.new_group()
    tensor, on_host = torch.ones(5, device="cuda"), torch.ones(5)
    for _ in range(5):  # both kinds of tensors, in two groups
        dist.all_reduce(tensor, group=group)
        dist.all_reduce(on_host)
        dist.all_reduce(tensor)
        dist.all_reduce(on_host, group=group)
    assert tensor[0].item() == on_host[0].item() == n ** 10
    dist.barrier()
    dist.destroy_process_group(group)


def test_training(me, n):
    from torch.distributed.fsdp import fully_shard
    torch.manual_seed(1)
    for sharded in (False, True):
        model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(),
                                    torch.nn.Linear(256, 8)).cuda()
        if sharded:
            fully_shard(model, mesh=dist.init_device_mesh("cuda", (n,)))
        else:
            model = torch.nn.parallel.DistributedDataParallel(model)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        losses = []
        for _ in range(20):
            optimizer.zero_grad()
            loss = model(torch.ones(4, 64, device="cuda") * (me + 1)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < losses[0] / 2, losses


TESTS = [test_reductions, test_movement, test_uneven, test_lists, test_messages, test_graphs,
         test_replays, test_streams_of_the_caller, test_groups_and_devices, test_training]


# ---- Times

def operations(size, n):
    count = max(size // 4, n) // n * n
    whole, part = torch.ones(count, device="cuda"), torch.ones(count // n, device="cuda")
    other = torch.ones(count, device="cuda")
    yield "all_reduce", lambda group: dist.all_reduce(whole, group=group)
    yield "all_gather", lambda group: dist.all_gather_into_tensor(whole, part, group=group)
    yield "reduce_scatter", lambda group: dist.reduce_scatter_tensor(part, whole, group=group)
    yield "broadcast", lambda group: dist.broadcast(whole, 0, group=group)
    yield "all_to_all", lambda group: dist.all_to_all_single(other, whole, group=group)


def eager(call, group, repeats):
    return lambda: [call(group) for _ in range(repeats)]


def captured(call, group, repeats):
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        for _ in range(repeats):
            call(group)
    return graph.replay


def time_of(run, repeats):
    """Microseconds for each of the repeats, by the GPU's clock."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    dist.barrier()
    begin.record()
    run()
    end.record()
    end.synchronize()
    return 1000 * begin.elapsed_time(end) / repeats


def measure(n):
    groups = {"meshmem": dist.group.WORLD, "nccl": dist.new_group(backend="nccl")}
    started = time.monotonic()
    say(f"{n} GPUs: us by meshmem, by nccl, meshmem / nccl")
    for size in TIME_SIZES:
        is_late = torch.tensor([time.monotonic() - started > BUDGET])
        dist.broadcast(is_late, 0)
        if is_late:
            say("the rest is left out: it takes too long")
            return
        repeats = 20 if size <= 1 << 20 else 5 if size <= 1 << 26 else 2
        for name, call in operations(size, n):
            for how in (eager, captured):
                runs = {}
                for key, group in groups.items():
                    call(group)
                    runs[key] = how(call, group, repeats)
                    runs[key]()
                times = {key: [] for key in groups}
                for _ in range(TURNS):
                    for key in groups:
                        times[key].append(time_of(runs[key], repeats))
                ours, theirs = (statistics.median(times[key]) for key in groups)
                say(f"{name:15} {how.__name__:9} {size:11} {ours:11.1f} {theirs:11.1f} "
                    f"{ours / theirs:7.2f}")


def main():
    # Set the device before the library chooses one: rank by rank, as the launcher numbers them.
    import meshmem
    meshmem.init()
    me = meshmem.TEAM_SHARED.my_pe()
    torch.cuda.set_device(me % torch.cuda.device_count())
    dist.init_process_group("meshmem", timeout=datetime.timedelta(seconds=100))
    n = dist.get_world_size()
    if sys.argv[1:] != ["time"]:
        for test in TESTS:
            begin = time.monotonic()
            test(dist.get_rank(), n)
            torch.cuda.synchronize()
            dist.barrier()
            say(f"{test.__name__}: passed in {time.monotonic() - begin:.1f} s")
    if sys.argv[1:] != ["test"]:
        measure(n)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Every collective with every dtype, compared with what one process computes."""
import threading
import time

import pytest
import torch
import torch.distributed as dist
from support import ALL, SIZES, expected, ops_of, same, values


def every(dtypes=ALL, sizes=SIZES):
    return pytest.mark.parametrize("dtype,size", [
        pytest.param(dtype, size, id=f"{str(dtype)[6:]}-{size}") for dtype in dtypes
        for size in sizes if size < 100_000 or dtype in (torch.float32, torch.bfloat16)])


def of_all(n, size, dtype, seed=0):
    return [values(size, dtype, rank, seed) for rank in range(n)]


REDUCED = [dtype for dtype in ALL if dtype != torch.float8_e4m3fn]


@every(REDUCED)
def test_all_reduce(dtype, size, me, n):
    for op in ops_of(dtype):
        parts = of_all(n, size, dtype)
        tensor = parts[me].clone()
        dist.all_reduce(tensor, op)
        assert same(tensor, expected(op, parts)), op


@every(REDUCED, [7, 1000])
def test_reduce(dtype, size, me, n):
    for op in ops_of(dtype):
        for root in range(n):
            parts = of_all(n, size, dtype, root)
            tensor = parts[me].clone()
            dist.reduce(tensor, root, op)
            assert same(tensor, expected(op, parts) if me == root else parts[me])


@every()
def test_broadcast(dtype, size, me, n):
    for root in range(n):
        tensor = values(size, dtype, me, root)
        dist.broadcast(tensor, root)
        assert same(tensor, values(size, dtype, root, root))


@every()
def test_all_gather(dtype, size, me, n):
    parts = of_all(n, size, dtype)
    outputs = [torch.zeros_like(part) for part in parts]
    dist.all_gather(outputs, parts[me])
    assert all(same(*pair) for pair in zip(outputs, parts))


@every()
def test_all_gather_into_tensor(dtype, size, me, n):
    parts = of_all(n, size, dtype)
    output = torch.zeros(n * size, dtype=dtype)
    dist.all_gather_into_tensor(output, parts[me])
    assert same(output, torch.cat(parts))
    output.zero_()
    mine = output.narrow(0, me * size, size)  # in place
    mine.copy_(parts[me])
    dist.all_gather_into_tensor(output, mine)
    assert same(output, torch.cat(parts))


@pytest.mark.parametrize("unit", [1, 100, 200_000])
def test_all_gather_of_different_lengths(unit, me, n):
    parts = [values(unit * rank, torch.float32, rank) for rank in range(n)]
    outputs = [torch.zeros_like(part) for part in parts]
    dist.all_gather(outputs, parts[me])
    assert all(same(*pair) for pair in zip(outputs, parts))


@every()
def test_gather_and_scatter(dtype, size, me, n):
    for root in range(n):
        parts = of_all(n, size, dtype, root)
        gathered = [torch.zeros_like(part) for part in parts] if me == root else None
        dist.gather(parts[me], gathered, root)
        assert me != root or all(same(*pair) for pair in zip(gathered, parts))
        tensor = torch.zeros_like(parts[0])
        dist.scatter(tensor, parts if me == root else None, root)
        assert same(tensor, parts[me])


@every(REDUCED)
def test_reduce_scatter(dtype, size, me, n):
    for op in ops_of(dtype)[:3]:
        blocks = [of_all(n, size, dtype, seed) for seed in range(n)]  # [block][rank]
        output = torch.zeros(size, dtype=dtype)
        if not dtype.is_complex:  # torch makes reals of the output alone
            dist.reduce_scatter(output, [block[me] for block in blocks], op)
            assert same(output, expected(op, blocks[me]))
            output.zero_()
        dist.reduce_scatter_tensor(output, torch.cat([block[me] for block in blocks]), op)
        assert same(output, expected(op, blocks[me]))


@every()
def test_all_to_all(dtype, size, me, n):
    sent = of_all(n, size, dtype, me)
    received = [torch.zeros_like(part) for part in sent]
    dist.all_to_all(received, sent)
    wanted = [values(size, dtype, me, rank) for rank in range(n)]
    assert all(same(*pair) for pair in zip(received, wanted))
    output = torch.zeros(n * size, dtype=dtype)
    dist.all_to_all_single(output, torch.cat(sent))
    assert same(output, torch.cat(wanted))


@pytest.mark.parametrize("unit", [1, 60_000])
def test_all_to_all_of_different_lengths(unit, me, n):
    def rows(sender, receiver):
        return unit * ((sender + 2 * receiver) % n)

    def block(sender, receiver):
        return values(rows(sender, receiver) * 3, torch.int32, sender, receiver).view(-1, 3)

    sent = torch.cat([block(me, rank) for rank in range(n)])
    wanted = torch.cat([block(rank, me) for rank in range(n)])
    output = torch.zeros_like(wanted)
    dist.all_to_all_single(output, sent, [rows(rank, me) for rank in range(n)],
                           [rows(me, rank) for rank in range(n)])
    assert same(output, wanted)
    received = [torch.zeros_like(block(rank, me)) for rank in range(n)]
    dist.all_to_all(received, [block(me, rank) for rank in range(n)])
    assert same(torch.cat(received), wanted)


def test_premultiplied_sum(me, n):
    for dtype in (torch.float32, torch.float16):
        parts = of_all(n, 1000, dtype)
        tensor = parts[me].clone()
        dist.all_reduce(tensor, dist._make_nccl_premul_sum(0.5))
        assert same(tensor, expected(dist.ReduceOp.SUM, parts) / 2)


def test_coalesced(me, n):
    parts = [of_all(n, size, torch.float32, size) for size in (3, 1000)]
    tensors = [part[me].clone() for part in parts]
    dist.all_reduce_coalesced(tensors)
    assert all(same(tensor, expected(dist.ReduceOp.SUM, part))
               for tensor, part in zip(tensors, parts))
    for is_async in (False, True):
        tensors = [part[me].clone() for part in parts]
        outputs = [torch.zeros(n * part[0].numel()) for part in parts]
        with dist._coalescing_manager(async_ops=is_async) as manager:
            for tensor in tensors:
                dist.all_reduce(tensor)
        if is_async:
            manager.wait()
        with dist._coalescing_manager(async_ops=is_async) as manager:
            for output, part in zip(outputs, parts):
                dist.all_gather_into_tensor(output, part[me])
        if is_async:
            manager.wait()
        for tensor, output, part in zip(tensors, outputs, parts):
            assert same(tensor, expected(dist.ReduceOp.SUM, part))
            assert same(output, torch.cat(part))
    lists = [[torch.zeros_like(part[rank]) for part in parts] for rank in range(n)]
    dist.all_gather_coalesced(lists, [part[me] for part in parts])
    assert all(same(lists[rank][i], part[rank]) for rank in range(n)
               for i, part in enumerate(parts))


def test_asynchronous_operations_keep_their_order(me, n):
    tensor = torch.ones(50_000)
    works = [dist.all_reduce(tensor, async_op=True) for _ in range(5)]
    for work in reversed(works):
        work.wait()
        assert work.is_completed() and work.is_success()
    assert torch.equal(tensor, torch.full_like(tensor, float(n) ** 5))
    work = dist.all_reduce(tensor, async_op=True)
    work.get_future().wait()
    assert tensor[0] == float(n) ** 6
    future = dist.all_reduce(tensor, async_op=True).get_future().then(lambda f: f.value()[0] * 2)
    assert future.wait()[0] == 2 * float(n) ** 7


def test_a_callback_may_use_its_group(me, n):
    def again(future):
        tensor = future.value()[0]
        dist.all_reduce(tensor)
        inner = dist.all_reduce(tensor, async_op=True).get_future()
        return inner.then(lambda f: f.value()[0]).wait()

    tensor = torch.ones(3)
    future = dist.all_reduce(tensor, async_op=True).get_future().then(again).then(again_of_one)
    assert future.wait().tolist() == [float(n) ** 4] * 3


def again_of_one(future):
    tensor = future.value()
    dist.all_reduce(tensor, async_op=True).wait()
    return tensor


def test_an_asynchronous_operation_does_not_wait_for_others(me, n):
    tensor = torch.ones(3)
    store = dist.distributed_c10d._get_default_store()
    if me == 0:
        work = dist.all_reduce(tensor, async_op=True)
        assert n == 1 or not work.is_completed()
        store.set("begun", "yes")
    else:
        store.get("begun")
        work = dist.all_reduce(tensor, async_op=True)
    work.wait()
    dist.barrier()
    assert tensor.tolist() == [n] * 3


def test_under_inference_mode(me, n):
    """Whichever thread runs the operation."""
    with torch.inference_mode():
        tensor = torch.ones(4, dtype=torch.bfloat16)
        work = dist.all_reduce(tensor, async_op=True)
        time.sleep(0.1)
        work.wait()
    assert tensor.tolist() == [n] * 4


def test_sequence_numbers_leave_out_messages(me, n):
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    before = backend._get_sequence_number_for_group()
    if n > 1 and me == 0:
        dist.send(torch.ones(1), 1)
    elif me == 1:
        dist.recv(torch.ones(1), 0)
    assert backend._get_sequence_number_for_group() == before
    dist.barrier()
    assert backend._get_sequence_number_for_group() == before + 1


def test_a_batch_belongs_to_its_thread(me, n):
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    backend._start_coalescing()
    other = threading.Thread(target=dist.all_reduce, args=(torch.ones(3),))
    other.start()
    other.join()
    with pytest.raises(RuntimeError, match="nothing was coalesced"):
        backend._end_coalescing().get_future()


def test_barrier_and_objects(me, n):
    dist.barrier()
    dist.barrier(async_op=True).wait()
    gathered = [None] * n
    dist.all_gather_object(gathered, {"rank": me, "text": "x" * me})
    assert [part["rank"] for part in gathered] == list(range(n))
    what = [me, "anything"]
    dist.broadcast_object_list(what, src=n - 1)
    assert what == [n - 1, "anything"]
    out = [None]
    dist.scatter_object_list(out, list(range(n)) if me == 0 else None, src=0)
    assert out == [me]


def test_functional_forms_give_right_results(me, n):
    import torch.distributed._functional_collectives as functional
    group = dist.group.WORLD
    x = torch.full((n, 2), float(me))
    assert torch.equal(functional.all_reduce(x, "sum", group), torch.full((n, 2), n * (n - 1) / 2))
    assert torch.equal(functional.all_reduce(x, "avg", group), torch.full((n, 2), (n - 1) / 2))
    gathered = functional.all_gather_tensor(x, 0, group)
    assert gathered.shape == (n * n, 2) and gathered[-1, 0] == n - 1
    scattered = functional.reduce_scatter_tensor(x, "sum", 0, group)
    assert torch.equal(scattered + 0, torch.full((1, 2), n * (n - 1) / 2))
    swapped = functional.all_to_all_single(x, None, None, group)
    assert swapped[:, 0].tolist() == list(range(n))
    assert functional.broadcast(x, 0, group)[0, 0] == 0


def test_random_sequences(me, n):
    """All kinds one after another, without a barrier: buffers change hands in all orders."""
    generator = torch.Generator().manual_seed(11)
    for step in range(150):
        size = int(torch.randint(1, 3_000_000 if step % 10 == 0 else 3000, (), generator=generator))
        kind = int(torch.randint(6, (), generator=generator))
        root = int(torch.randint(n, (), generator=generator))
        mine = torch.full((size,), float(me + step), dtype=torch.float64)
        if kind == 0:
            dist.all_reduce(mine, async_op=bool(step % 2)) and dist.barrier()
            assert mine[0] == mine[-1] == sum(rank + step for rank in range(n))
        elif kind == 1:
            dist.broadcast(mine, root)
            assert mine[0] == mine[-1] == root + step
        elif kind == 2:
            outputs = [torch.zeros_like(mine) for _ in range(n)]
            dist.all_gather(outputs, mine)
            assert [int(output[-1]) for output in outputs] == [rank + step for rank in range(n)]
        elif kind == 3:
            outputs = [torch.zeros_like(mine) for _ in range(n)] if me == root else None
            dist.gather(mine, outputs, root)
            assert me != root or all(outputs[rank][-1] == rank + step for rank in range(n))
        elif kind == 4:
            blocks = torch.cat([mine + 100 * rank for rank in range(n)])
            output = torch.zeros_like(blocks)
            dist.all_to_all_single(output, blocks)
            assert [int(part[-1]) for part in output.chunk(n)] == [
                rank + step + 100 * me for rank in range(n)]
        else:
            blocks = mine.repeat(n)
            dist.reduce_scatter_tensor(mine, blocks)
            assert mine[0] == mine[-1] == sum(rank + step for rank in range(n))

# SPDX-License-Identifier: Apache-2.0
"""Symmetric memory of CPU tensors: memory and handles, signals, operators, and mistakes."""
import gc
import os
import threading
import time

import meshmem
import pytest
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
from meshmem.torch import Experts

ops = torch.ops.symm_mem
SUMMED = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
          torch.bfloat16, torch.float32, torch.float64, torch.complex64]


@pytest.fixture
def world():
    symm_mem.set_backend("MESHMEM")
    return dist.group.WORLD.group_name


@pytest.fixture
def near(n):
    """All ranks are on one machine, so they have each other's addresses."""
    if meshmem.TEAM_SHARED.n_pes() != n:
        pytest.skip("not one machine")


@pytest.fixture
def halves(me, n):
    """The group of this rank, of two: not all ranks are in each."""
    groups = [dist.new_group(list(range(first, n, 2))) for first in range(min(2, n))]
    yield groups[me % 2]
    dist.barrier()
    for group in groups:
        if group is not dist.GroupMember.NON_GROUP_MEMBER:
            dist.destroy_process_group(group)


def symmetric(values, group):
    tensor = symm_mem.empty(values.shape, dtype=values.dtype, device="cpu").copy_(values)
    symm_mem.rendezvous(tensor, group)
    return tensor


def values_of(rank, count, dtype=torch.float32):
    """Small whole numbers, whose sums are exact in all dtypes."""
    return ((torch.arange(count) * 7 + rank * 3) % 11).to(dtype)


def sum_of(n, count, dtype=torch.float32):
    return sum(values_of(rank, count, dtype) for rank in range(n))


# ---- Memory and handles


def test_the_backend_is_there(world):
    assert symm_mem.get_backend("cpu") == "MESHMEM"


def test_a_handle_describes_the_memory(me, n, world):
    tensor = symm_mem.empty(3, 5, dtype=torch.int16, device="cpu")
    hdl = symm_mem.rendezvous(tensor, world)
    assert (hdl.rank, hdl.world_size, hdl.buffer_size) == (me, n, 30)
    assert hdl.device == torch.device("cpu") and hdl.multicast_ptr == 0
    assert hdl.buffer_ptrs[me] == tensor.data_ptr()
    near = [pointer for pointer in hdl.signal_pad_ptrs if pointer]
    assert len(near) == len(set(near)) == meshmem.TEAM_SHARED.n_pes()
    assert tensor.data_ptr() % 512 == 0
    assert symm_mem.rendezvous(tensor, dist.group.WORLD).buffer_ptrs == hdl.buffer_ptrs


def test_get_buffer_reads_and_writes_all_ranks(me, n, world, near):
    tensor = symmetric(values_of(me, 100), world)
    hdl = symm_mem.rendezvous(tensor, world)
    hdl.barrier()
    for rank in range(n):
        assert hdl.get_buffer(rank, (100,), torch.float32).equal(values_of(rank, 100))
        part = hdl.get_buffer(rank, (2, 5), torch.float32, 30)
        assert part.equal(values_of(rank, 100)[30:40].view(2, 5))
        assert hdl.get_remote_tensor(rank, (100,), torch.float32).equal(values_of(rank, 100))
    hdl.barrier()
    hdl.get_buffer((me + 1) % n, (1,), torch.float32, 99).fill_(me)
    hdl.barrier()
    assert tensor[99] == (me - 1) % n
    remote = ops.get_remote_tensors(tensor, world)
    assert [float(part[99]) for part in remote] == [(rank - 1) % n for rank in range(n)]
    hdl.barrier()


def test_other_machines_have_no_address(me, n, world):
    if meshmem.TEAM_SHARED.n_pes() == n:
        pytest.skip("one machine")
    hdl = symm_mem.rendezvous(symm_mem.empty(8, device="cpu"), world)
    with pytest.raises(RuntimeError, match="Cannot get buffer across nodes"):
        hdl.get_buffer(hdl.buffer_ptrs.index(0), (8,), torch.float32)
    dist.barrier()


def test_ranks_allocate_alone(me, n, world):
    """Blocks need not be at the same place, and the collector frees at other times on each rank."""
    alone = [symm_mem.empty(1000 * (me + 1), device="cpu") for _ in range(me + 1)]
    tensor = symmetric(values_of(me, 1000), world)
    del alone
    gc.collect()
    assert ops.one_shot_all_reduce(tensor, "sum", world).equal(sum_of(n, 1000))
    hdl = symm_mem.rendezvous(tensor, world)
    near = [rank for rank in range(n) if hdl.buffer_ptrs[rank]]
    for rank in near:
        hdl.get_signal_pad(rank).view(torch.int32)[1000 + me] = me + 5
    dist.barrier()
    assert hdl.get_signal_pad(me).view(torch.int32)[1000:1000 + n].tolist() == [
        rank + 5 if rank in near else 0 for rank in range(n)]
    dist.barrier()


def test_memory_is_used_again(world):
    first = symm_mem.empty(1 << 20, device="cpu").data_ptr()
    for _ in range(3000):  # 12 GB in all
        assert symm_mem.empty(1 << 20, device="cpu").data_ptr() == first
    parts = [symm_mem.empty(1 << 18, device="cpu") for _ in range(5)]
    del parts[3], parts[1], parts[1]  # the middle one last, so that three become one
    assert len(parts) == 2
    assert parts[0].data_ptr() < symm_mem.empty(3 << 18, device="cpu").data_ptr() < (
        parts[1].data_ptr())
    dist.barrier()


def test_a_handle_keeps_the_memory(me, n, world, near):
    hdl = symm_mem.rendezvous(symm_mem.empty(8, device="cpu").fill_(me), world)
    other = symm_mem.empty(8, device="cpu").fill_(99)
    hdl.barrier()
    assert hdl.get_buffer((me + 1) % n, (8,), torch.float32).eq((me + 1) % n).all()
    hdl.barrier()
    assert other.eq(99).all()


def test_a_pad_begins_as_zeros(me, world):
    for _ in range(3):
        hdl = symm_mem.rendezvous(symm_mem.empty(8, device="cpu"), world)
        pad = hdl.get_signal_pad(me)
        assert pad.dtype == torch.uint32 and pad.view(torch.int32).eq(0).all()
        dist.barrier()
        hdl.barrier()
        pad.view(torch.int32).fill_(7)
        del pad, hdl
        dist.barrier()


def test_a_rendezvous_is_fast(world):
    times = []
    for _ in range(20):
        tensor = symm_mem.empty(64, device="cpu")
        dist.barrier()
        begin = time.perf_counter()
        symm_mem.rendezvous(tensor, world)
        times.append(time.perf_counter() - begin)
    if meshmem.my_pe() == 0:
        print(f"rendezvous: {sorted(times)[10] * 1e3:.2f} ms")


def test_groups_have_handles_of_their_own(me, n, world, halves):
    tensor = symmetric(values_of(me, 40), halves)
    hdl = symm_mem.rendezvous(tensor, halves)
    assert (hdl.rank, hdl.world_size) == (me // 2, len(range(me % 2, n, 2)))
    expected = sum(values_of(rank, 40) for rank in range(me % 2, n, 2))
    assert ops.one_shot_all_reduce(tensor, "sum", halves.group_name).equal(expected)
    assert ops.one_shot_all_reduce(tensor, "sum", world).equal(sum_of(n, 40))


@pytest.mark.parametrize("time_made", range(2))
def test_a_group_made_again_has_a_new_handle(me, n, halves, time_made):
    tensor = symmetric(values_of(me, 40), halves)
    expected = sum(values_of(rank, 40) for rank in range(me % 2, n, 2))
    assert ops.one_shot_all_reduce(tensor, "sum", halves.group_name).equal(expected)


# ---- Signals


@pytest.mark.parametrize("channel", [0, 5])
def test_signals_order_stores(me, n, world, near, channel):
    hdl = symm_mem.rendezvous(symm_mem.empty(1000, dtype=torch.int64, device="cpu"), world)
    mine, right, left = hdl.get_buffer(me, (1000,), torch.int64), (me + 1) % n, (me - 1) % n
    hdl.barrier(channel)
    for turn in range(50):
        hdl.get_buffer(right, (1000,), torch.int64).fill_(turn)
        hdl.put_signal(right, channel)
        hdl.wait_signal(left, channel)
        assert mine.eq(turn).all()
        hdl.barrier(channel)
    assert hdl.get_signal_pad(me).view(torch.int32).eq(0).all()


def test_put_signal_and_wait_signal(me, n, world):
    tensor = symm_mem.empty(6, device="cpu").zero_()
    hdl = symm_mem.rendezvous(tensor, world)
    hdl.barrier()
    symm_mem.put_signal(torch.full((4,), float(me)), hdl, (me + 1) % n)
    symm_mem.wait_signal(hdl, (me - 1) % n)
    assert tensor.tolist() == [(me - 1) % n] * 4 + [0, 0]
    dist.barrier()


def test_other_threads_run_while_one_waits(me, n, world):
    hdl = symm_mem.rendezvous(symm_mem.empty(1, device="cpu"), world)
    thread = threading.Thread(target=lambda: hdl.put_signal(me, channel=2))
    threading.Timer(0.05, thread.start).start()
    hdl.wait_signal(me, channel=2)
    hdl.barrier()


def test_a_wait_with_a_limit_raises(me, n, world):
    hdl = symm_mem.rendezvous(symm_mem.empty(1, device="cpu"), world)
    with pytest.raises(RuntimeError, match="wait_signal: no signal of rank 0 on channel 1 within"):
        hdl.wait_signal(0, channel=1, timeout_ms=20)
    hdl.put_signal(me, channel=1)
    with pytest.raises(RuntimeError, match=f"put_signal: rank {me} did not take the signal before"):
        hdl.put_signal(me, channel=1, timeout_ms=20)
    hdl.wait_signal(me, channel=1)
    dist.barrier()


def test_words_of_pads(me, world):
    hdl = symm_mem.rendezvous(symm_mem.empty(1, device="cpu"), world)
    pad = hdl.get_signal_pad(me)
    ops.memset32_(pad, offset=3, val=2**32 - 1, count=2)
    ops.stream_write_value32_(pad, offset=5, val=8)
    assert pad[2:7].view(torch.int32).tolist() == [0, -1, -1, 8, 0]
    dist.barrier()


# ---- Reductions


@pytest.mark.parametrize("dtype", SUMMED)
@pytest.mark.parametrize("count", [0, 1, 3, 1025, 50000])
def test_all_reduces(me, n, world, dtype, count):
    tensor, expected = symmetric(values_of(me, count, dtype), world), sum_of(n, count, dtype)
    assert ops.one_shot_all_reduce(tensor, "sum", world).equal(expected)
    out = torch.zeros(count, dtype=dtype)
    assert ops.one_shot_all_reduce_out(tensor, "sum", world, out).equal(expected)
    assert out.equal(expected) and tensor.equal(values_of(me, count, dtype))
    buffer = symmetric(torch.zeros(count + 2, dtype=dtype), world)
    local = values_of(me, count, dtype)
    assert ops.one_shot_all_reduce_copy(buffer, local, "sum", world).equal(expected)
    out.zero_()
    ops.one_shot_all_reduce_copy_out(buffer, local, "sum", world, out)
    assert out.equal(expected)
    out.zero_()
    assert ops.two_shot_all_reduce_out(tensor, "sum", world, out).equal(expected)
    assert ops.two_shot_all_reduce_(buffer, "sum", world)[:count].equal(expected)
    dist.barrier()


def test_a_copy_leaves_the_buffer_out_of_the_graph(me, n, world):
    buffer = symmetric(torch.zeros(4), world)
    local = torch.ones(4, requires_grad=True)
    assert ops.one_shot_all_reduce_copy(buffer, local, "sum", world).eq(n).all()
    assert not buffer.requires_grad


def test_an_all_reduce_of_a_view(me, n, world):
    tensor = symmetric(values_of(me, 60), world)
    assert ops.one_shot_all_reduce(tensor[7:57], "sum", world).equal(sum_of(n, 60)[7:57])
    ops.two_shot_all_reduce_(tensor[20:29], "sum", world)
    assert tensor[20:29].equal(sum_of(n, 60)[20:29])
    assert tensor[:20].equal(values_of(me, 60)[:20]) and tensor[29:].equal(values_of(me, 60)[29:])


def test_sums_have_the_same_bits_on_all_ranks(me, n, world):
    generator = torch.Generator().manual_seed(me)
    for dtype in (torch.float32, torch.bfloat16):
        tensor = symmetric(torch.randn(3000, generator=generator).to(dtype), world)
        results = [ops.one_shot_all_reduce(tensor, "sum", world)]
        results.append(ops.two_shot_all_reduce_(tensor, "sum", world).clone())
        first = results[0].clone()
        dist.broadcast(first, 0)
        assert all(result.equal(first) for result in results)
    dist.barrier()


def test_all_reduces_one_after_another(me, n, world):
    tensor = symmetric(torch.zeros(257), world)
    for turn in range(200):
        tensor.fill_(me + turn)
        expected = n * (n - 1) / 2 + n * turn
        assert ops.one_shot_all_reduce(tensor, "sum", world).eq(expected).all()
        if turn % 2:
            assert ops.two_shot_all_reduce_(tensor, "sum", world).eq(expected).all()


@pytest.mark.parametrize("split_last_dim", [False, True])
def test_reduce_scatter(me, n, world, split_last_dim):
    shape = (3, 4 * n) if split_last_dim else (12 * n,)
    tensor = symmetric(values_of(me, 12 * n).view(shape), world)
    out = torch.zeros(*shape[:-1], shape[-1] // n)
    ops.reduce_scatter_out(tensor, world, split_last_dim, out)
    assert out.equal(sum_of(n, 12 * n).view(shape).chunk(n, -1)[me])


def test_tiles(me, n, world):
    tensor = symmetric(values_of(me, 64).view(8, 8), world)
    expected = sum_of(n, 64).view(8, 8)
    out = torch.full((3, 4), -1.0)
    root = n - 1
    ops.tile_reduce(tensor[2:5, 1:5], out, root, world)
    assert out.equal(expected[2:5, 1:5] if me == root else torch.full((3, 4), -1.0))
    tiles = [tensor[2 * (rank % 4):2 * (rank % 4) + 2, :3] for rank in range(n)]
    out = torch.zeros(2, 3)
    ops.multi_root_tile_reduce(tiles, out, list(range(n)), world)
    assert out.equal(expected[2 * me:2 * me + 2, :3])
    ops.tile_reduce(tensor[3:3, 1:5], torch.zeros(0, 4), root, world)
    ops.tile_reduce(tensor[2:5, 1:5], tensor[2:5, 1:5], root, world)
    wanted = values_of(me, 64).view(8, 8)
    if me == root:
        wanted[2:5, 1:5] = expected[2:5, 1:5]
    assert tensor.equal(wanted)


# ---- Moving data


def test_put_and_get(me, n, world):
    tensor = symmetric(values_of(me, 30), world)
    dist.barrier()
    part = tensor[10:20]
    if me == 0:
        ops.nvshmem_put(part, n - 1)
    dist.barrier()
    assert tensor[10:20].equal(values_of(0 if me == n - 1 else me, 30)[10:20])
    assert tensor[20:].equal(values_of(me, 30)[20:])
    dist.barrier()
    if me == n - 1:
        ops.nvshmem_get(tensor, 0)
        assert tensor.equal(values_of(0, 30))
    dist.barrier()


def test_put_with_signal(me, n, world):
    tensor = symmetric(values_of(me, 30), world)
    hdl = symm_mem.rendezvous(tensor, world)
    pad = hdl.get_signal_pad(me, (1,), dtype=torch.uint64, storage_offset=20)
    dist.barrier()
    if me == 0:
        ops.nvshmem_put_with_signal(tensor, pad, 2**40 + 1, n - 1)
    if me == n - 1:
        ops.nvshmem_wait_for_signal(pad, 2**40 + 1, 0)
        assert tensor.equal(values_of(0, 30))
    dist.barrier()


def test_broadcast_and_all_to_all(me, n, world):
    tensor = symmetric(values_of(me, 3 * n, torch.int16), world)
    out = ops.nvshmem_all_to_all(tensor, torch.zeros_like(tensor), world)
    assert out.equal(torch.cat([values_of(rank, 3 * n, torch.int16)[3 * me:3 * me + 3]
                                for rank in range(n)]))
    ops.nvshmem_broadcast(tensor, n - 1, world)
    assert tensor.equal(values_of(n - 1, 3 * n, torch.int16))


def counts_of(rank, n_splits):
    return torch.tensor([(rank * 5 + split * 3) % 4 if split % 4 != 1 else 0
                         for split in range(n_splits)])


def split_of(rank, split, width=3):
    """The rows that a rank sends as one split: each says whose it is."""
    rows = int(counts_of(rank, split + 1)[split])
    return torch.arange(rows * width).view(rows, width) + 1000.0 * split + 1e6 * rank


def rows_of(rank, n_splits):
    return torch.cat([split_of(rank, split) for split in range(n_splits)])


def test_all_to_all_vdev(me, n, world):
    room = 4 * 3 * n
    source = symmetric(torch.zeros(room, 3), world)
    source[:rows_of(me, n).shape[0]] = rows_of(me, n)
    splits, result = symmetric(counts_of(me, n), world), torch.zeros(2, n, dtype=torch.int64)
    out = torch.full((room, 3), -1.0)
    ops.all_to_all_vdev(source, out, splits, result, world)
    expected = [split_of(rank, me) for rank in range(n)]
    assert result[0].tolist() == [len(rows) for rows in expected]
    assert result[1].tolist() == [sum(map(len, expected[:rank])) for rank in range(n)]
    assert out[:result[0].sum()].equal(torch.cat(expected))
    assert out[result[0].sum():].eq(-1).all()


@pytest.mark.parametrize("align", [None, 8])
def test_all_to_all_vdev_2d_and_back(me, n, world, align, n_experts=3):
    n_splits, room = n * n_experts, 16 * 3 * n
    source = symmetric(torch.zeros(room, 3), world)
    sent = rows_of(me, n_splits)
    source[:len(sent)] = sent
    splits = symmetric(counts_of(me, n_splits), world)
    result = symmetric(torch.zeros(2, n_splits, dtype=torch.int64), world)
    out = symmetric(torch.full((room, 3), -1.0), world)
    ops.all_to_all_vdev_2d(source, out, splits, result, world, align)
    place = 0
    for expert in range(n_experts):
        begin = place
        for rank in range(n):
            rows = split_of(rank, me * n_experts + expert)
            assert result[:, expert * n + rank].tolist() == [len(rows), place]
            assert out[place:place + len(rows)].equal(rows)
            place += len(rows)
        step = align or 1
        place = begin + max((place - begin + step - 1) // step, 1) * step
    back, back_result = torch.full((room, 3), -1.0), torch.zeros_like(result)
    ops.all_to_all_vdev_2d_offset(out, back, result, back_result, world)
    assert back[:len(sent)].equal(sent) and back[len(sent):].eq(-1).all()
    assert back_result[0].equal(splits)
    dist.barrier()


def test_splits_without_rows_may_be_behind_the_end(me, n, world):
    """All rows go to the first expert, and out has no more rows than these."""
    source = symmetric(torch.full((2 * n, 3), float(me)), world)
    splits = symmetric(torch.tensor([2, 0, 0] * n), world)
    result, out = symmetric(torch.zeros(2, 3 * n, dtype=torch.int64), world), torch.zeros(2 * n, 3)
    ops.all_to_all_vdev_2d(source, out, splits, result, world)
    assert out[:, 0].tolist() == [rank for rank in range(n) for _ in range(2)]
    assert result[1, n:].min() >= 2 * n
    back, back_result = torch.zeros(2 * n, 3), torch.zeros_like(result)
    ops.all_to_all_vdev_2d_offset(symmetric(out, world), back, result, back_result, world)
    assert back.equal(source)


def test_ranks_with_different_numbers_of_rows(me, n, world):
    source = symmetric(torch.full((2 * n, 3), float(me)), world)
    splits = symmetric(torch.full((n,), 2 * (me % 2)), world)  # ranks with even numbers have none
    result, out = torch.zeros(2, n, dtype=torch.int64), torch.zeros(2 * n, 3)
    ops.all_to_all_vdev(source[:splits.sum()], out, splits, result, world)
    assert result[0].tolist() == [2 * (rank % 2) for rank in range(n)]
    assert out[:result[0].sum(), 0].tolist() == [rank for rank in range(1, n, 2) for _ in range(2)]
    dist.barrier()


def test_experts_refuse_it(me, n):
    """Each rank has a tensor at a place of its own, but experts read one place on all."""
    with Experts(dist.group.WORLD, hidden=1, top_k=1, experts=n, max_tokens=1) as moe:
        moe.plan(torch.zeros(0, 1, dtype=torch.int32))
        with pytest.raises(ValueError, match="^results: memory of symm_mem.empty has another"):
            moe.combine(torch.zeros(0, 1), results=symm_mem.empty(moe.results.shape, device="cpu",
                                                                  dtype=moe.results.dtype))


def test_operators_in_python(me, n, world):
    """Those that torch writes in Python; some need another collective of the group."""
    tensor = symmetric(values_of(me, 8).view(2, 4), world)
    rows = torch.cat([values_of(rank, 8).view(2, 4) for rank in range(n)])
    assert ops._low_contention_all_gather(tensor, world).equal(rows)
    weight = torch.arange(20.0).view(4, 5)
    gathered, (product,) = ops.fused_all_gather_matmul(tensor, [weight], 0, world)
    assert gathered.equal(rows) and product.equal(rows @ weight)


# ---- torch.compile


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled(me, n, world, backend):
    if backend == "inductor" and not os.environ.get("MESHMEM_TEST_LONG"):
        pytest.skip("the C++ compiler takes a minute")
    tensor = symmetric(values_of(me, 64), world)

    def whole(tensor):
        return ops.one_shot_all_reduce(tensor, "sum", world) * 2 + 1

    def with_a_copy(buffer, x):
        return ops.one_shot_all_reduce_copy(buffer, x * 2, "sum", world) + 1

    def in_place(tensor):
        ops.two_shot_all_reduce_(tensor, "sum", world)
        return tensor * 2 + 1

    expected = sum_of(n, 64) * 2 + 1
    assert torch.compile(whole, backend=backend, fullgraph=True)(tensor).equal(expected)
    compiled = torch.compile(with_a_copy, backend=backend, fullgraph=True)
    assert compiled(symmetric(torch.zeros(64), world), values_of(me, 64)).equal(expected)
    assert torch.compile(in_place, backend=backend)(tensor).equal(expected)
    torch._dynamo.reset()
    dist.barrier()


# ---- Mistakes


def refused(error, text, call):
    with pytest.raises(error, match=text):
        call()


def test_rendezvous_refuses(me, n, world):
    tensor = symm_mem.empty(4, device="cpu")
    refused(ValueError, "^tensor: it is not symmetric memory",
            lambda: symm_mem.rendezvous(torch.zeros(4), world))
    refused(RuntimeError, "nonsense", lambda: symm_mem.rendezvous(tensor, "nonsense"))
    refused(ValueError, "group: none is given",
            lambda: torch._C._distributed_c10d._SymmetricMemory.rendezvous(tensor))
    dist.barrier()
    if n > 1:
        refused(ValueError, "tensor: it has .* bytes on rank",
                lambda: symm_mem.rendezvous(symm_mem.empty(4 + me, device="cpu"), world))
    dist.barrier()


def test_rendezvous_compares_offsets(me, n, world):
    tensor = symm_mem.empty(8, device="cpu")
    part = torch.from_numpy(tensor.numpy()[min(me, 1):])
    if n > 1:
        refused(ValueError, "tensor: its offset in its allocation is [04] bytes on rank",
                lambda: symm_mem.rendezvous(part, world))
    dist.barrier()


def test_too_much_memory_is_refused():
    refused(torch.OutOfMemoryError, "symm_mem.empty: no .* bytes are free in the pool",
            lambda: symm_mem.empty(1 << 45, device="cpu"))


def test_handles_refuse(me, n, world):
    hdl = symm_mem.rendezvous(symm_mem.empty(4, device="cpu"), world)
    refused(ValueError, f"put_signal: dst_rank: {n} is not in 0..{n - 1}",
            lambda: hdl.put_signal(n))
    refused(ValueError, f"wait_signal: src_rank: -1 is not in 0..{n - 1}",
            lambda: hdl.wait_signal(-1))
    refused(ValueError, "put_signal: channel: -2 is not in 0..", lambda: hdl.put_signal(0, -2))
    refused(ValueError, "channel: 2304 is not in 0..", lambda: hdl.put_signal(0, 2304))
    refused(RuntimeError, "exceeds the allocated size",
            lambda: hdl.get_buffer(me, (5,), torch.float32))
    refused(ValueError, "src: it has 20 bytes, but the tensor of hdl only 16",
            lambda: symm_mem.put_signal(torch.zeros(5), hdl, 0))
    dist.barrier()


def test_reductions_refuse(me, n, world):
    tensor = symm_mem.empty(6, device="cpu")
    symm_mem.rendezvous(tensor, world)
    refused(ValueError, "^input: it is not symmetric memory",
            lambda: ops.one_shot_all_reduce(torch.zeros(6), "sum", world))
    refused(ValueError, '^reduce_op: "max" is not supported',
            lambda: ops.one_shot_all_reduce(tensor, "max", world))
    refused(ValueError, "^input: it is not contiguous",
            lambda: ops.two_shot_all_reduce_(tensor[::2], "sum", world))
    for dtype, name in ((torch.bool, "Bool"), (torch.uint16, "UInt16"),
                        (torch.float8_e4m3fn, "Float8_e4m3fn")):
        strange = symm_mem.empty(6, dtype=dtype, device="cpu")
        refused(TypeError, f"^input: {name} has no sum",
                lambda: ops.one_shot_all_reduce(strange, "sum", world))
        refused(TypeError, f"^input: {name} has no sum",
                lambda: ops.tile_reduce(strange, strange, 0, world))
    for dtype, shape, error, text in ((torch.float64, 6, TypeError, "^out: it has dtype Double"),
                                      (torch.float32, 5, ValueError, "^out: it has shape")):
        refused(error, text, lambda: ops.one_shot_all_reduce_out(
            tensor, "sum", world, torch.zeros(shape, dtype=dtype)))
    refused(ValueError, "^out: it overlaps input",
            lambda: ops.one_shot_all_reduce_out(tensor, "sum", world, tensor))
    refused(ValueError, "^local_input: it has 7 elements, but symm_buffer only 6",
            lambda: ops.one_shot_all_reduce_copy(tensor, torch.zeros(7), "sum", world))
    refused(ValueError, "^output: it has shape",
            lambda: ops.reduce_scatter_out(tensor[:n], world, False, torch.zeros(3)))
    if n > 1:
        refused(ValueError, "^input: ranks cannot share its last dimension",
                lambda: ops.reduce_scatter_out(tensor[:1], world, False, torch.zeros(1)))
    refused(ValueError, "^root: -1", lambda: ops.tile_reduce(
        tensor.view(2, 3), torch.zeros(2, 3), -1, world))
    refused(ValueError, "^roots: rank 0 is the root of two tiles",
            lambda: ops.multi_root_tile_reduce([tensor, tensor], torch.zeros(6), [0, 0], world))
    dist.barrier()


def test_an_exception_on_one_rank_lets_the_others_go_on(me, n, world):
    tensor = symmetric(values_of(me, 12), world)
    out = torch.zeros(1).expand(12)  # one element, so it cannot take the sum
    if me == n - 1:
        refused(RuntimeError, "refers to a single memory location",
                lambda: ops.tile_reduce(tensor, out, n - 1, world))
    else:
        ops.tile_reduce(tensor, out, n - 1, world)
    assert ops.one_shot_all_reduce(tensor, "sum", world).equal(sum_of(n, 12))


def test_multicast_is_refused(world):
    tensor, out = symm_mem.empty(4, device="cpu"), torch.zeros(4)
    for call in (lambda: ops.multimem_all_reduce_(tensor, "sum", world),
                 lambda: ops.multimem_one_shot_all_reduce(tensor, "sum", world),
                 lambda: ops.multimem_one_shot_all_reduce_out(tensor, "sum", world, out),
                 lambda: ops.multimem_one_shot_reduce_out(tensor, "sum", 0, world, out),
                 lambda: ops.multimem_all_gather_out(tensor, world, out)):
        refused(NotImplementedError, "multimem_.*: processors have no multicast", call)
    dist.barrier()


def test_moves_refuse(me, n, world):
    tensor = symmetric(torch.zeros(4, 3), world)
    splits = symmetric(torch.full((n,), 5), world)
    result = torch.zeros(2, n, dtype=torch.int64)
    refused(ValueError, f"^peer: {n} is not in", lambda: ops.nvshmem_put(tensor, n))
    refused(ValueError, "^root: 7", lambda: ops.nvshmem_broadcast(tensor, 7, world))
    refused(ValueError, "^in_splits: a split of rank 0 is not in its memory",
            lambda: ops.all_to_all_vdev(tensor, torch.zeros(4, 3), splits, result, world))
    refused(ValueError, "^in_splits: it is not symmetric", lambda: ops.all_to_all_vdev(
        tensor, torch.zeros(4, 3), torch.zeros(n, dtype=torch.int64), result, world))
    refused(ValueError, "^out_splits_offsets: it has shape", lambda: ops.all_to_all_vdev(
        tensor, torch.zeros(4, 3), splits, result[:1], world))
    refused(ValueError, r"^in_splits: it has shape \[\]", lambda: ops.all_to_all_vdev(
        tensor, torch.zeros(4, 3), splits[0], result, world))
    refused(ValueError, "^out: it overlaps input, which other ranks read",
            lambda: ops.all_to_all_vdev(tensor, tensor, splits, result, world))
    both = symmetric(torch.full((2, n), 1), world)
    refused(ValueError, "^out_splits_offsets: it overlaps in_splits,",
            lambda: ops.all_to_all_vdev(tensor, torch.zeros(4, 3), both[0], both, world))
    splits.fill_(1)
    dist.barrier()
    if n <= 4:
        refused(ValueError, f"^out: its {n - 1} rows are too few", lambda: ops.all_to_all_vdev(
            tensor, torch.zeros(n - 1, 3), splits, result, world))
    refused(ValueError, "^sigpad: its dtype", lambda: ops.nvshmem_wait_for_signal(
        torch.zeros(1, dtype=torch.int32), 0, 0))
    refused(ValueError, "^offset: 4 and count 1 are not in the tensor of 4",
            lambda: ops.memset32_(torch.zeros(4, dtype=torch.uint32), 4, 0, 1))
    refused(ValueError, "^offset: .* are not in the tensor of 4",
            lambda: ops.memset32_(torch.zeros(4, dtype=torch.uint32), 2**63 - 1, 0, 1))
    dist.barrier()

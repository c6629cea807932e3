# SPDX-License-Identifier: Apache-2.0
"""The operators for CUDA tensors, on CPU tensors by Triton's interpreter: they do what the compiled
operators for CPU tensors do."""
import os

import meshmem
import pytest
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem

os.environ["TRITON_INTERPRET"] = "1"  # before the first import of triton
pytest.importorskip("triton")
ops = torch.ops.symm_mem


@pytest.fixture(scope="module")
def cuda():
    if meshmem.TEAM_SHARED.n_pes() != meshmem.n_pes():
        pytest.skip("not one machine")
    symm_mem.set_backend("MESHMEM")
    from meshmem.torch import _symm_mem_cuda
    return _symm_mem_cuda


@pytest.fixture
def world():
    return dist.group.WORLD.group_name


def symmetric(values, group):
    tensor = symm_mem.empty(values.shape, dtype=values.dtype, device="cpu").copy_(values)
    symm_mem.rendezvous(tensor, group)
    return tensor


def random(me, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(me))


def test_one_sided(cuda, me, n, world):
    tensor = symmetric(random(me, 30), world)
    pad = symm_mem.rendezvous(tensor, world).get_signal_pad(me, (1,), torch.uint64, 20)
    dist.barrier()
    if me == 0:
        cuda.put_with_signal(tensor[10:20], pad, 2**40 + 1, n - 1)
    if me == n - 1:
        cuda.wait_for_signal(pad, 2**40 + 1, 0)
        assert tensor[10:20].equal(random(0, 30)[10:20])
        assert tensor[20:].equal(random(me, 30)[20:])
    dist.barrier()
    if me == n - 1:
        cuda.get(tensor, 0)
        assert tensor.equal(random(0, 30))
    dist.barrier()


def test_collectives(cuda, me, n, world):
    tensor = symmetric(random(me, 6 * n), world)
    found = cuda.all_to_all(tensor, torch.zeros(6 * n), world)
    assert found.equal(ops.nvshmem_all_to_all(tensor, torch.zeros(6 * n), world))
    tile = symmetric(random(me, 8, 8), world)[2:5, 1:5]
    found, expected = torch.zeros(3, 4), torch.zeros(3, 4)
    cuda.tile_reduce(tile, found, n - 1, world)
    ops.tile_reduce(tile, expected, n - 1, world)
    assert found.equal(expected)
    cuda.tile_reduce(tile, tile, n - 1, world)
    assert me != n - 1 or tile.equal(expected)
    assert cuda.all_to_all(tensor[:0], torch.zeros(0), world).numel() == 0
    cuda.broadcast(tensor, n - 1, world)
    assert tensor.equal(random(n - 1, 6 * n))
    dist.barrier()


@pytest.mark.parametrize("width,dtype", [(3, torch.float32), (1, torch.int8), (5, torch.bfloat16),
                                         (4, torch.int64)])
def test_all_to_all(cuda, me, n, world, width, dtype, n_experts=3):
    room = 12 * n * n_experts
    source = symmetric((100 * random(me, room, width)).to(dtype), world)
    splits = symmetric(torch.randint(0, 4, (n * n_experts,),
                                     generator=torch.Generator().manual_seed(me)), world)

    def same(name, *arguments, splits=splits, source=source):
        results = []
        for function in (getattr(cuda, name), getattr(ops, name)):
            out = symmetric(torch.zeros(room, width, dtype=dtype), world)
            result = symmetric(torch.zeros(2, splits.shape[-1], dtype=torch.int64), world)
            function(source, out, splits, result, world, *arguments)
            results.append((out, result))
        assert results[0][0].equal(results[1][0]) and results[0][1].equal(results[1][1])
        return results[0]

    same("all_to_all_vdev", splits=symmetric(splits[:n], world))
    for align in (1, 8):
        out, result = same("all_to_all_vdev_2d", align)
        back, _ = same("all_to_all_vdev_2d_offset", splits=result, source=out)
        assert back[:splits.sum()].equal(source[:splits.sum()])
    dist.barrier()


def test_splits_without_rows_may_be_behind_the_end(cuda, me, n, world):
    source = symmetric(torch.full((2 * n, 3), float(me)), world)
    splits = symmetric(torch.tensor([2, 0, 0] * n), world)
    result, out = torch.zeros(2, 3 * n, dtype=torch.int64), torch.zeros(2 * n, 3)
    cuda.all_to_all_vdev_2d(source, out, splits, result, world)
    assert out[:, 0].tolist() == [rank for rank in range(n) for _ in range(2)]
    dist.barrier()


def test_ranks_with_different_numbers_of_rows(cuda, me, n, world):
    source = symmetric(torch.full((2 * n, 3), float(me)), world)
    splits = symmetric(torch.full((n,), 2 * (me % 2)), world)
    result, out = torch.zeros(2, n, dtype=torch.int64), torch.zeros(2 * n, 3)
    cuda.all_to_all_vdev(source[:splits.sum()], out, splits, result, world)
    assert out[:result[0].sum(), 0].tolist() == [rank for rank in range(1, n, 2) for _ in range(2)]
    dist.barrier()


def test_an_exception_on_one_rank_lets_the_others_go_on(cuda, me, n, world):
    tensor = symmetric(random(me, 12), world)
    out = torch.zeros(1).expand(12)  # one element, so it cannot take the sum
    if me == n - 1:
        with pytest.raises(RuntimeError, match="refers to a single memory location"):
            cuda.tile_reduce(tensor, out, n - 1, world)
    else:
        cuda.tile_reduce(tensor, out, n - 1, world)
    cuda.broadcast(tensor, 0, world)
    assert tensor.equal(random(0, 12))
    dist.barrier()


def test_mistakes(cuda, me, n, world):
    tensor = symmetric(torch.zeros(4 * n), world)
    for text, call in (
            (f"peer: {n} is not in 0..{n - 1}", lambda: cuda.put(tensor, n)),
            ("sigpad: its dtype", lambda: cuda.wait_for_signal(tensor, 1, 0)),
            ("out: its shape or dtype", lambda: cuda.all_to_all(tensor, torch.zeros(1), world)),
            ('reduce_op: "max"', lambda: cuda.tile_reduce(tensor, tensor, 0, world, "max")),
            ("out: it overlaps input", lambda: cuda.all_to_all(tensor, tensor, world)),
            ("out_tile: its shape", lambda: cuda.tile_reduce(tensor, tensor[:1], 0, world)),
            (f"root: {n} is not in", lambda: cuda.tile_reduce(tensor, tensor, n, world)),
            ("roots: a rank is the root of two", lambda: cuda.multi_root_tile_reduce(
                [tensor, tensor], tensor, [0, 0], world)),
            ("sigpad: it is not a word", lambda: cuda.put_with_signal(
                tensor, torch.zeros(1, dtype=torch.int64), 1, 0)),
            ("in_splits: it has shape", lambda: cuda.all_to_all_vdev(
                tensor, tensor, *[symmetric(torch.zeros(0, dtype=torch.int64), world)] * 2, world)),
            ("in_splits: its dtype", lambda: cuda.all_to_all_vdev(tensor, tensor, tensor, tensor,
                                                                  world))):
        with pytest.raises(ValueError, match=text):
            call()
    dist.barrier()

# SPDX-License-Identifier: Apache-2.0
"""Tensors that share memory with symmetric arrays."""
import meshmem
import numpy as np
import torch
import torch.distributed as dist


def test_all_reduce_sums_tensors_of_the_heap(me, n):
    array = meshmem.zeros(600_000, np.float32)
    tensor = torch.from_dlpack(array)
    for _ in range(3):
        tensor.fill_(me + 1)
        dist.all_reduce(tensor)
        assert torch.equal(tensor, torch.full_like(tensor, n * (n + 1) / 2))
    # Parts that begin elsewhere on each rank, and ordinary memory on some ranks.
    part = tensor[me * 10:me * 10 + 500_000]
    part.fill_(me + 1)
    dist.all_reduce(part)
    assert torch.equal(part, torch.full_like(part, n * (n + 1) / 2))
    mixed = tensor[:500_000] if me == 0 else torch.zeros(500_000)
    mixed.fill_(me + 1)
    dist.all_reduce(mixed)
    assert torch.equal(mixed, torch.full_like(mixed, n * (n + 1) / 2))
    del part, mixed, tensor
    array.free()

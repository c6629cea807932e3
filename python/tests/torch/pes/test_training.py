# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own ways to train on many ranks run unmodified, and give what one process gives."""
import os
import pathlib
import tempfile

import pytest
import torch
import torch.distributed as dist
from torch import nn

BATCH = 4


def transformer():
    torch.manual_seed(7)
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    return nn.Sequential(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
                         nn.Linear(16, 3))


def batch_of(rank):
    torch.manual_seed(100 + rank)
    return torch.randn(BATCH, 5, 16), torch.randint(3, (BATCH, 5))


def loss_of(model, inputs, labels):
    return nn.functional.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())


def train_alone(n, steps=2):
    """On the batches of all ranks."""
    model = transformer()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    parts = [batch_of(rank) for rank in range(n)]
    inputs, labels = (torch.cat(part) for part in zip(*parts))
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(model, inputs, labels).backward()
        optimizer.step()
    return model


def train(model, me, steps=2):
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(model, *batch_of(me)).backward()
        optimizer.step()


def assert_like(state, model):
    for name, wanted in model.state_dict().items():
        torch.testing.assert_close(state[name], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("bucket", [25, 0.001])
def test_ddp(bucket, me, n):
    model = nn.parallel.DistributedDataParallel(transformer(), bucket_cap_mb=bucket)
    train(model, me)
    assert_like(model.module.state_dict(), train_alone(n))


def test_ddp_with_a_hook(me, n):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    model = nn.parallel.DistributedDataParallel(transformer())
    model.register_comm_hook(None, default_hooks.bf16_compress_hook)
    train(model, me)
    for parameter in model.parameters():
        theirs = parameter.detach().clone()
        dist.broadcast(theirs, 0)
        assert torch.equal(theirs, parameter)


def test_power_sgd(me, n):
    """Its callbacks start reductions and wait for them."""
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
    model = nn.parallel.DistributedDataParallel(transformer(), bucket_cap_mb=0.01)
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2,
                                        min_compression_rate=0.5)
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    train(model, me, steps=5)
    assert state.iter > 2
    for parameter in model.parameters():
        theirs = parameter.detach().clone()
        dist.broadcast(theirs, 0)
        assert torch.equal(theirs, parameter)


def test_fsdp2(me, n):
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
    from torch.distributed.fsdp import fully_shard
    mesh = dist.init_device_mesh("cpu", (n,))
    model = transformer()
    for layer in model[0].layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    train(model, me)
    whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
    if me == 0:
        assert_like(whole, train_alone(n))


def test_dtensor(me, n):
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    mesh = dist.init_device_mesh("cpu", (n,))
    torch.manual_seed(3)
    a, b = torch.randn(8, 12), torch.randn(12, 5)
    columns = distribute_tensor(a, mesh, [Shard(1)])
    rows = distribute_tensor(b, mesh, [Shard(0)])
    product = (columns @ rows).redistribute(mesh, [Replicate()])
    torch.testing.assert_close(product.to_local(), a @ b)
    uneven = distribute_tensor(torch.arange(7.0), mesh, [Shard(0)])
    assert uneven.full_tensor().tolist() == list(range(7))
    moved = distribute_tensor(a, mesh, [Shard(0)]).redistribute(mesh, [Shard(1)])
    assert torch.equal(moved.full_tensor(), a)


def test_tensor_parallel(me, n):
    from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel,
                                                   parallelize_module)
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 4))
    inputs = torch.randn(3, 6)
    wanted = model(inputs)
    mesh = dist.init_device_mesh("cpu", (n,))
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    torch.testing.assert_close(model(inputs), wanted)


def test_checkpoint(me, n):
    import torch.distributed.checkpoint as checkpoint
    from torch.distributed.tensor import Shard, distribute_tensor
    mesh = dist.init_device_mesh("cpu", (n,))
    folder = [tempfile.mkdtemp() if me == 0 else None]
    dist.broadcast_object_list(folder, 0)
    saved = {"weight": distribute_tensor(torch.arange(30.0).view(10, 3), mesh, [Shard(0)]),
             "step": torch.tensor(7)}
    checkpoint.save(saved, checkpoint_id=folder[0])
    loaded = {"weight": distribute_tensor(torch.zeros(10, 3), mesh, [Shard(1)]),
              "step": torch.tensor(0)}
    checkpoint.load(loaded, checkpoint_id=folder[0])
    assert torch.equal(loaded["weight"].full_tensor(), torch.arange(30.0).view(10, 3))
    assert loaded["step"] == 7
    dist.barrier()
    if me == 0:
        for path in pathlib.Path(folder[0]).glob("**/*"):
            os.unlink(path)
        os.rmdir(folder[0])


def test_batch_norm_over_all_ranks(me, n):
    """Uneven inputs of join, and broadcasts of buffers."""
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)))
    with model.join():
        for _ in range(me + 1):
            model(torch.randn(3, 4)).sum().backward()
    dist.barrier()

# SPDX-License-Identifier: Apache-2.0
"""Groups of some of the ranks."""
import itertools

import torch
import torch.distributed as dist


def check(group, ranks, me):
    if me not in ranks:
        return
    tensor = torch.full((3,), float(me + 1))
    dist.all_reduce(tensor, group=group)
    assert tensor[0] == sum(rank + 1 for rank in ranks)
    tensor.fill_(me)
    dist.broadcast(tensor, ranks[-1], group=group)
    assert tensor[0] == ranks[-1]
    outputs = [torch.zeros(2) for _ in ranks]
    dist.all_gather(outputs, torch.full((2,), float(me)), group=group)
    assert [int(output[0]) for output in outputs] == list(ranks)
    assert dist.get_group_rank(group, me) == list(ranks).index(me)
    dist.destroy_process_group(group)


def test_every_subset(me, n):
    for size in range(1, n + 1):
        for ranks in itertools.combinations(range(n), size):
            check(dist.new_group(ranks, backend="meshmem"), ranks, me)


def test_made_by_members_alone(me, n):
    for first in range(n - 1):
        if me in (first, first + 1):
            group = dist.new_group([first, first + 1], use_local_synchronization=True)
            check(group, [first, first + 1], me)


def test_several_of_the_same_ranks(me, n):
    groups = [dist.new_group() for _ in range(5)]
    works, tensors = [], []
    for group in groups if me % 2 else reversed(groups):  # each has an order of its own
        tensors.append(torch.ones(10_000))
        works.append(dist.all_reduce(tensors[-1], group=group, async_op=True))
    for work in works:
        work.wait()
    assert all(tensor[0] == n for tensor in tensors)
    for group in groups:
        dist.destroy_process_group(group)


def test_many_one_after_another(me, n):
    for _ in range(2100):  # more than a PE has teams at a time
        group = dist.new_group()
        tensor = torch.ones(2)
        dist.all_reduce(tensor, group=group)
        assert tensor[0] == n
        dist.destroy_process_group(group)


def test_ended_by_a_callback(me, n):
    group = dist.new_group()
    future = dist.all_reduce(torch.ones(3), group=group, async_op=True).get_future()
    future.then(lambda _: dist.destroy_process_group(group)).wait()
    del group
    dist.barrier()


def test_messages_count_in_ranks_of_the_world(me, n):
    if n < 2:
        return
    group = dist.new_group([n - 2, n - 1])
    tensor = torch.full((3,), float(me))
    if me == n - 2:
        dist.send(tensor, n - 1, group=group)
    elif me == n - 1:
        dist.recv(tensor, n - 2, group=group)
        assert tensor[0] == n - 2


def test_split(me, n):
    mesh = dist.init_device_mesh("cpu", (n,), mesh_dim_names=("all",))
    tensor = torch.ones(2)
    dist.all_reduce(tensor, group=mesh.get_group("all"))
    assert tensor[0] == n

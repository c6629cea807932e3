# SPDX-License-Identifier: Apache-2.0
"""send, recv and batches of them."""
import time

import pytest
import torch
import torch.distributed as dist
from support import ALL, SIZES, same, values


@pytest.mark.parametrize("size", SIZES)
def test_a_ring(size, me, n):
    if n == 1:
        return
    right, left = (me + 1) % n, (me - 1) % n
    for dtype in ALL if size < 1000 else [torch.float32]:
        tensor = torch.zeros(size, dtype=dtype)
        works = [dist.isend(values(size, dtype, me), right), dist.irecv(tensor, left)]
        for work in works:
            work.wait()
        assert same(tensor, values(size, dtype, left))


def test_both_send_first(me, n):
    """Batches of large messages between all, where nobody receives before it has sent."""
    size = 300_000
    received = {rank: torch.zeros(size) for rank in range(n) if rank != me}
    batch = [dist.P2POp(dist.isend, values(size, torch.float32, me, rank), rank)
             for rank in received]
    batch += [dist.P2POp(dist.irecv, tensor, rank) for rank, tensor in received.items()]
    for work in dist.batch_isend_irecv(batch) if batch else []:
        work.wait()
    for rank, tensor in received.items():
        assert same(tensor, values(size, torch.float32, rank, me))


def test_the_future_of_a_batch(me, n):
    """The batch is done when all of it is, though its last message is done at once."""
    if n == 1 or me > 1:
        return
    tensor = torch.zeros(1)
    if me == 0:
        dist.recv(tensor, 1)
        time.sleep(0.1)
        dist.send(torch.ones(1), 1)
        return
    work, = dist.batch_isend_irecv([dist.P2POp(dist.irecv, tensor, 0),
                                    dist.P2POp(dist.isend, torch.ones(1), 0)])
    work.get_future().wait()
    assert tensor[0] == 1


@pytest.mark.parametrize("size", [3, 500_000])
def test_tags_in_another_order(size, me, n):
    if n == 1 or me > 1:
        return
    if me == 0:
        for tag in (5, 6, 7):
            dist.isend(torch.full((size,), float(tag)), 1, tag=tag).wait()
    else:
        for tag in (7, 5, 6):
            tensor = torch.zeros(size)
            dist.recv(tensor, 0, tag=tag)
            assert tensor[0] == tensor[-1] == tag


def test_from_any(me, n):
    if me:
        dist.send(torch.full((4,), me), 0)
        return
    seen = []
    for _ in range(n - 1):
        tensor = torch.zeros(4, dtype=torch.int64)
        seen.append(dist.recv(tensor))
        assert tensor.tolist() == [seen[-1]] * 4
    assert sorted(seen) == list(range(1, n))


def test_another_size_is_an_error(me, n):
    if n == 1 or me > 1:
        return
    if me == 0:
        dist.send(torch.zeros(4), 1)
        dist.send(torch.ones(5), 1)
        return
    with pytest.raises(ValueError, match=r"^tensor: 20 bytes, but PE 0 \(rank 0\) has sent 16"):
        dist.recv(torch.zeros(5), 0)
    tensor = torch.zeros(5)
    dist.recv(tensor, 0)
    assert tensor.tolist() == [1] * 5


def test_objects_and_mixtures(me, n):
    """Messages and collectives of a group at the same time."""
    if n == 1:
        return
    right, left = (me + 1) % n, (me - 1) % n
    tensor, total = torch.zeros(100_000), torch.ones(5)
    receiver = dist.irecv(tensor, left)
    dist.all_reduce(total)
    sender = dist.isend(torch.full((100_000,), float(me)), right)
    dist.all_reduce(total)
    sender.wait()
    receiver.wait()
    assert tensor[-1] == left and total[0] == n * n


def test_a_callback_may_send_and_receive(me, n):
    """A number goes around twice. Each rank passes it on in a callback, and waits for it again."""
    if n == 1:
        return
    right, left = (me + 1) % n, (me - 1) % n

    def pass_on(future):
        last = torch.zeros(1)
        second = dist.irecv(last, left).get_future()
        dist.isend(future.value()[0] + 1, right).get_future().wait()
        second.wait()
        if me:
            dist.send(last + 1, right)
        return last

    done = dist.irecv(torch.zeros(1), left).get_future().then(pass_on)
    if me == 0:
        dist.send(torch.ones(1), right)
    assert done.wait().item() == (n + me if me else 2 * n)

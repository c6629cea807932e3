# SPDX-License-Identifier: Apache-2.0
"""Callbacks of futures: their order, their threads, and what they may wait for."""
import threading
import time

import pytest
import torch
import torch.distributed as dist


def test_operations_that_futures_start_have_one_order(me, n):
    """Rank 0 has started a second operation when the callback of the first one starts a third. On
    the others the callback comes first."""
    y, z = torch.full((4,), 1.), torch.full((4,), 100.)
    if me:
        time.sleep(0.2)
    done = dist.all_reduce(torch.ones(1), async_op=True).get_future().then(
        lambda _: dist.all_reduce(y))
    if me:
        time.sleep(0.2)
    dist.all_reduce(z)
    done.wait()
    assert y[0] == n and z[0] == 100 * n


def test_operations_of_nested_futures_have_one_order(me, n):
    a, b, c, d = (torch.full((4,), 10. ** i) for i in range(4))

    def outer(_):
        futures.append(dist.all_reduce(b, async_op=True).get_future().then(
            lambda _: dist.all_reduce(c)))
        if me == 1:
            time.sleep(0.1)
        futures.append(dist.all_reduce(d, async_op=True).get_future())

    futures = []
    if me == 2:
        time.sleep(0.1)
    dist.all_reduce(a, async_op=True).get_future().then(outer)
    dist.all_reduce(a)
    assert len(futures) == 2
    for future in futures:
        future.wait()
    assert [tensor[0].item() / n for tensor in (a, b, c, d)] == [n, 10, 100, 1000]


def test_thousands_may_wait_at_once(me, n):
    y = torch.ones(1)
    tensors = [torch.ones(1) for _ in range(2000)]
    futures = [dist.all_reduce(tensor, async_op=True).get_future().then(
        lambda _: dist.all_reduce(y, dist.ReduceOp.MAX)) for tensor in tensors]
    dist.barrier()
    for future in futures:
        future.wait()
    assert all(tensor[0] == n for tensor in tensors)


@pytest.mark.parametrize("value", [lambda work, future: future.value()[0],
                                   lambda work, future: work.is_completed() and future.done()])
def test_complete_when_its_operation_is(me, n, value):
    for _ in range(100):
        work = dist.all_reduce(torch.ones(1), async_op=True)
        future = work.get_future()
        waited = future.then(lambda _: work.wait())  # also the operation whose callback this is
        work.wait()
        assert value(work, future)
        waited.wait()


def test_complete_when_its_message_is(me, n):
    if n < 2 or me > 1:
        return
    for _ in range(100):
        sent = dist.isend(torch.ones(1), 1 - me)
        work = dist.irecv(torch.zeros(1), 1 - me)
        future = work.get_future()
        work.wait()
        assert future.value()[0] == 1
        sent.wait()


def test_a_thread_that_waits_runs_none(me, n):
    if n == 1 or me > 1:
        return
    threads = []
    for _ in range(20):
        tensor, last = torch.zeros(1), torch.zeros(1)
        if me == 1:
            dist.recv(tensor, 0)
            dist.send(tensor, 0, tag=1)
            dist.send(tensor, 0, tag=2)
            continue
        first = dist.irecv(tensor, 1, tag=1).get_future().then(
            lambda _: threads.append(threading.get_ident()))
        dist.send(last, 1)
        dist.recv(last, 1, tag=2)
        first.wait()
    assert threading.get_ident() not in threads


def test_one_may_wait_for_another_message(me, n):
    """Both messages are there when a thread looks for the first time."""
    if n == 1 or me > 1:
        return
    for _ in range(20):
        a, b = torch.zeros(1), torch.ones(1)
        if me == 1:
            time.sleep(0.005)
            works = [dist.isend(a, 0, tag=1), dist.isend(b, 0, tag=2)]
            for work in works:
                work.wait()
            dist.recv(a, 0)
            continue
        first, second = (dist.irecv(tensor, 1, tag=tag).get_future()
                         for tensor, tag in ((a, 1), (b, 2)))
        first.then(lambda _: second.wait()).wait()
        dist.send(a, 1)


def test_a_collective_after_a_message_is_refused(me, n):
    if n == 1 or me > 1:
        return
    if me == 1:
        dist.recv(torch.zeros(1), 0)
        dist.send(torch.ones(1), 0)
        return
    future = dist.irecv(torch.zeros(1), 1).get_future().then(lambda _: dist.barrier())
    dist.send(torch.ones(1), 1)
    with pytest.raises(RuntimeError, match="wait for the message and start the collective then"):
        future.wait()

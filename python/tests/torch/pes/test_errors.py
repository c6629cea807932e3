# SPDX-License-Identifier: Apache-2.0
"""Mistakes raise exceptions that name the argument, and send nothing: the next operation works."""
import datetime
import re
import time

import pytest
import torch
import torch.distributed as dist


def all_reduce_works(n):
    tensor = torch.ones(3)
    dist.all_reduce(tensor)
    assert tensor.tolist() == [n] * 3


@pytest.mark.parametrize("call,error,text", [
    (lambda n: dist.all_reduce(torch.zeros(4, 4).t()[:2]), ValueError, "tensor: not contiguous"),
    (lambda n: dist.all_reduce(torch.zeros(3).to_sparse()), Exception, "sparse|dense"),
    (lambda n: dist.all_reduce(torch.zeros(3, dtype=torch.float64), dist.ReduceOp.BAND), TypeError,
     "op: ReduceOp.BAND does not reduce tensors of Double"),
    (lambda n: dist.all_reduce(torch.zeros(3, dtype=torch.bool), dist.ReduceOp.AVG), TypeError,
     "op: ReduceOp.AVG does not reduce tensors of Bool"),
    (lambda n: dist.all_reduce(torch.zeros(3, dtype=torch.float8_e4m3fn), dist.ReduceOp.BXOR),
     TypeError, "op: ReduceOp.BXOR does not reduce tensors of Float8_e4m3fn"),
    (lambda n: dist.all_reduce(torch.zeros(3, dtype=torch.int64), dist._make_nccl_premul_sum(0.5)),
     TypeError, "op: ReduceOp.PREMUL_SUM does not reduce tensors of Long"),
    (lambda n: dist.all_gather([torch.zeros(3)] * (n + 1), torch.zeros(3)), ValueError,
     "tensor_list: "),
    (lambda n: dist.all_gather([torch.zeros(3)] * n, torch.zeros(2)), ValueError,
     "tensor: 2 elements, but 3 are needed"),
    (lambda n: dist.all_gather_coalesced([[torch.zeros(3)]] * n, [torch.zeros(3)] * 2), ValueError,
     "output_tensor_lists: 1 tensors, but 2 inputs"),
    (lambda n: dist.all_gather_into_tensor(torch.zeros(3 * n + 1), torch.zeros(3)), ValueError,
     "output_tensor: "),
    (lambda n: dist.all_gather_into_tensor(torch.zeros(3 * n, dtype=torch.int64), torch.zeros(3)),
     TypeError, "output_tensor: its dtype is Long, but that of input_tensor is Float"),
    (lambda n: dist.reduce_scatter_tensor(torch.zeros(3), torch.zeros(3 * n + 1)), ValueError,
     "input: "),
    (lambda n: dist.reduce_scatter(torch.zeros(3), [torch.zeros(2)] * n), ValueError,
     "input_list: 2 elements, but 3 are needed"),
    (lambda n: dist.all_to_all_single(torch.zeros(n), torch.zeros(n), [1] * (n + 1), [1] * n),
     ValueError, "output_split_sizes: "),
    (lambda n: dist.all_to_all_single(torch.zeros(n), torch.zeros(n), [1] * n, [2] * n),
     ValueError, "input_split_sizes: "),
    (lambda n: dist.all_to_all_single(torch.zeros(2 * n), torch.zeros(n), [2] * n, [1] * n),
     ValueError, "output_split_sizes: the rank's own block has 8 bytes, but that of "
     "input_split_sizes has 4"),
    (lambda n: dist.all_to_all([torch.zeros(2)] * n, [torch.zeros(3)] * n), ValueError,
     "output_tensor_list: the rank's own block has 8 bytes"),
    (lambda n: dist.all_to_all([torch.zeros(2)], [torch.zeros(2)] * (n + 1)), ValueError,
     "input_tensor_list: "),
    (lambda n: dist.group.WORLD.send([torch.zeros(2)], n, 0), ValueError, "dst: rank"),
    (lambda n: dist.group.WORLD.recv([torch.zeros(2)], -3, 0), ValueError, "src: rank"),
])
def test_mistakes(call, error, text, n):
    with pytest.raises(error, match=re.compile(text)):
        call(n)
    all_reduce_works(n)


def test_a_wait_has_a_timeout(me, n):
    if n == 1:
        return
    store = dist.distributed_c10d._get_default_store()
    tensor = torch.zeros(2)
    if me == 0:
        work = dist.irecv(tensor, 1)
        with pytest.raises(dist.DistBackendError, match=r"with PE 1 \(rank 1\) was not done"):
            work.wait(datetime.timedelta(milliseconds=50))
        store.set("waited", "yes")
        work.wait()
    elif me == 1:
        store.get("waited")
        dist.send(tensor, 0)


def test_a_wait_for_a_collective_has_a_timeout(me, n):
    if n == 1:
        return
    store = dist.distributed_c10d._get_default_store()
    if me:
        store.get("waited for all_reduce")
    work = dist.all_reduce(torch.zeros(2), async_op=True)
    if me == 0:
        with pytest.raises(dist.DistBackendError, match="all_reduce was not done in 50 ms"):
            work.wait(datetime.timedelta(milliseconds=50))
        store.set("waited for all_reduce", "yes")
    work.wait()


def test_a_future_of_a_message_has_a_timeout(me, n):
    group = dist.new_group(timeout=datetime.timedelta(milliseconds=300))
    if me == 0 and n > 1:
        future = dist.irecv(torch.zeros(2), 1, group=group).get_future()
        with pytest.raises(RuntimeError, match=r"recv with PE 1 \(rank 1\) was not done in 300 ms"):
            future.wait()
    dist.barrier()
    dist.destroy_process_group(group)


@pytest.mark.parametrize("seconds", [0, -1])
def test_a_timeout_is_positive(seconds, n):
    with pytest.raises(ValueError, match="^timeout: "):
        dist.new_group(timeout=datetime.timedelta(seconds=seconds))


def test_a_long_timeout(me, n):
    """More nanoseconds than a signed integer of 64 bits has."""
    longest = datetime.timedelta(days=200_000)
    group = dist.new_group(timeout=longest)
    if me == 0 and n > 1:
        dist.irecv(torch.ones(3), 1, group=group).wait(longest)
    elif me == 1:
        time.sleep(0.1)
        dist.send(torch.ones(3), 0, group=group)
    dist.destroy_process_group(group)


def test_options_are_refused(n):
    with pytest.raises(TypeError, match="^pg_options: "):
        dist.new_group(pg_options=dist.ProcessGroupGloo._Options())


def test_a_group_that_has_ended(me, n):
    group = dist.new_group()
    work = dist.all_reduce(torch.ones(3), group=group, async_op=True)
    group._get_backend(torch.device("cpu")).shutdown()
    assert work.is_completed()
    with pytest.raises(RuntimeError, match=r"\(rank \d\): the group has ended"):
        dist.all_reduce(torch.ones(3), group=group, async_op=True)
    if n > 1:
        with pytest.raises(RuntimeError, match="the group has ended"):
            dist.irecv(torch.ones(3), (me + 1) % n, group=group)
    dist.destroy_process_group(group)

# SPDX-License-Identifier: Apache-2.0
"""Arrays in the device heap, and routines on streams. Of the target cpu both are the host's, by the
library hip_on_cpu, so NumPy sees what the streams have done."""
import ctypes
import types

import meshmem
import numpy as np
import pytest
from support import KERNEL_TYPES, values

WORLD = meshmem.TEAM_WORLD


class Stream:
    """A stream with the attribute by which torch gives its address."""

    def __init__(self):
        self.hip = ctypes.CDLL("libmeshmem_hip_cpu.so.0.1")  # the library has loaded it
        address = ctypes.c_void_p()
        assert self.hip.hipStreamCreate(ctypes.byref(address)) == 0
        self.cuda_stream = address.value

    def wait(self):
        assert self.hip.hipStreamSynchronize(ctypes.c_void_p(self.cuda_stream)) == 0


@pytest.fixture(scope="module")
def stream():
    return Stream()


@pytest.mark.parametrize("dtype", [*KERNEL_TYPES, "complex128", "S12"])
def test_moves_on_a_stream(dtype, make, me, n, left, right, stream):
    array, given = make(7, dtype, device="gpu"), make(7, dtype, device="gpu")
    given.local[...] = values(7, dtype, me)
    out = np.zeros(7, dtype)
    array.put(right, given, stream=stream)
    meshmem.barrier_all(stream=stream)
    array.get(right, out, stream=stream)
    meshmem.quiet(stream=stream)
    stream.wait()
    assert np.array_equal(array, values(7, dtype, left)) and np.array_equal(out, given)
    meshmem.barrier_all()
    array[2:5].put(right, given.local[:3], stream=stream.cuda_stream)
    meshmem.barrier_all(stream=types.SimpleNamespace(ptr=stream.cuda_stream))
    stream.wait()
    assert np.array_equal(array[2:5], values(7, dtype, left)[:3])


def test_signals_on_a_stream(make, me, left, right, stream):
    array, flags = make(3, "f4", device="gpu"), make(4, "u8", device="gpu")
    given = np.full(3, me, "f4")  # which the stream reads later
    array.put_signal(right, given, flags, 5, "add", 1, stream=stream)
    flags.signal_wait_until("==", 5, 1, stream=stream)
    array.p(right, 9.5, 2, stream=stream)
    flags.signal_set(right, 6, 2, stream=stream)
    flags.signal_add(right, 2**63, 3, stream=stream)
    assert flags.signal_wait_until("==", 2**63, 3) == 2**63
    flags.wait_until("==", 6, 2, stream=stream)
    meshmem.sync_all(stream=stream)
    WORLD.sync(stream=stream)
    stream.wait()
    assert flags.local.tolist() == [0, 5, 6, 2**63] and array.local.tolist() == [left, left, 9.5]


@pytest.mark.parametrize("dtype", ["int32", "uint64", "float32", "float64"])
def test_collectives_on_a_stream(dtype, make, me, n, stream):
    source, dest = make(2 * n, dtype, device="gpu"), make(2 * n, dtype, device="gpu")
    all_of = make((n, 2 * n), dtype, device="gpu")
    block = make(2, dtype, device="gpu")
    given = [np.arange(2 * n).astype(dtype) + pe for pe in range(n)]
    source.local[...] = given[me]
    for call, wanted in (
            (lambda: WORLD.broadcast(dest, source, n - 1, stream=stream), given[n - 1]),
            (lambda: WORLD.alltoall(dest, source, stream=stream),
             np.concatenate([of_pe[2 * me:2 * me + 2] for of_pe in given])),
            (lambda: WORLD.max(dest, source, stream=stream), given[n - 1]),
            (lambda: WORLD.sum_exscan(dest, source, stream=stream), sum(given[:me])),
            (lambda: WORLD.sum(dest, source, stream=stream), sum(given))):
        call()
        meshmem.barrier_all(stream=stream)
        stream.wait()
        assert np.array_equal(dest, np.broadcast_to(wanted, 2 * n))
    for gather in (WORLD.fcollect, WORLD.collect):
        gather(all_of, source, stream=stream)
        WORLD.reduce_scatter(block, source, stream=stream)
        stream.wait()
        assert np.array_equal(all_of, given)
        assert np.array_equal(block, sum(given)[2 * me:2 * me + 2])


def test_maxloc_on_a_stream(make, me, n, stream):
    dtype = meshmem.located_dtype("f4")
    source, dest = make(2, dtype, device="gpu"), make(2, dtype, device="gpu")
    source.local["value"], source.local["index"] = [me, -me], me
    WORLD.maxloc(dest, source, stream=stream)
    stream.wait()
    assert dest.local.tolist() == [(n - 1, n - 1), (0, 0)]


class OnGpu:
    """Tells what CuPy's arrays tell. The address is the host's, which is the device here."""

    def __init__(self, array, **changed):
        self.array = array
        self.__cuda_array_interface__ = {
            **array.__array_interface__, "strides": array.strides, **changed}


def test_buffers_of_other_libraries(make, left, right, me, stream):
    array, given = make(4, "i4", device="gpu"), np.full(4, me, "i4")
    array.put(right, OnGpu(given), stream=stream)
    meshmem.barrier_all(stream=stream)
    stream.wait()
    assert array.local.tolist() == [left] * 4
    for wrong, error in ((OnGpu(given, typestr="<f4"), TypeError),
                         (OnGpu(given, shape=(2, 2)), ValueError),
                         (OnGpu(given, strides=(8,)), ValueError),
                         (given[:3], ValueError), (make(4, "f4"), TypeError),
                         (make(3, "i4"), ValueError), ([1, 2, 3, 4], TypeError)):
        with pytest.raises(error, match="^values: "):
            array.put(right, wrong, stream=stream)


def test_mistakes_on_a_stream(make, n, stream):
    array = make(4, "f8", device="gpu")
    with meshmem.Context() as context:
        with pytest.raises(ValueError, match="^ctx: "):
            array.put(0, np.zeros(4), ctx=context, stream=stream)
    for call, error, match in (
            (lambda: array.put(0, np.zeros(4), stream="0"), TypeError, "stream: "),
            (lambda: array.put(n, np.zeros(4), stream=stream), ValueError, "pe: "),
            (lambda: array.get(0, stream=stream), ValueError, "out: "),
            (lambda: make(4, "g").p(0, 1, stream=stream), TypeError, "array: OpenSHMEM has no"),
            (lambda: WORLD.sum(make(2, "g"), make(2, "g"), stream=stream), TypeError, "source: "),
            (lambda: meshmem.zeros(1, device="tpu"), ValueError, "device: "),
            (lambda: meshmem.zeros(2**50, device="gpu"), MemoryError, "shape: .*device heap")):
        with pytest.raises(error, match=f"^{match}"):
            call()

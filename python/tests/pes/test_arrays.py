# SPDX-License-Identifier: Apache-2.0
"""Arrays: sharing memory with NumPy, views, the end of their memory, and mistakes."""
import ctypes
import gc
import re

import meshmem
import numpy as np
import pytest
from support import MOVED

WORLD = meshmem.TEAM_WORLD
STRUCTS = [[("a", "i4"), ("b", "f8")], [("a", "f8"), ("b", "i4")], [("a", "f8"), ("b", "i2")],
           np.dtype([("a", "f8"), ("b", "i1")], align=True)]


@pytest.mark.parametrize("dtype", [*MOVED, *STRUCTS])
@pytest.mark.parametrize("shape", [(), 3, (2, 3), (0, 2)])
def test_numpy_shares_the_memory(dtype, shape, make):
    array = make(shape, dtype)
    view = np.asarray(array)
    assert (view.dtype, view.shape) == (array.dtype, array.shape) and view.size == array.size
    assert not any(view.tobytes()) and view.flags.writeable
    assert view.ctypes.data == array.__array_interface__["data"][0]
    view[...] = np.ones(view.shape, "i1").astype(view.dtype)
    assert np.array_equal(array.local, view) and len(repr(array)) > 10
    assert array[...].local.dtype == view.dtype and np.array_equal(array[...], view)
    if view.dtype.kind in "iufc" and view.dtype != np.longdouble:
        assert np.from_dlpack(array).ctypes.data == view.ctypes.data


@pytest.mark.parametrize("dtype", STRUCTS)
def test_structs_move(dtype, make, me, n, left, right):
    array = make(5, dtype)
    of_all = [np.array([(pe + i, 7 * i) for i in range(5)], dtype) for pe in range(n)]
    array[:3].put(right, of_all[me][:3])
    array[3].put(right, of_all[me][3])
    array[4:].put(right, of_all[me][4:])
    meshmem.barrier_all()
    assert np.array_equal(array, of_all[left])
    assert np.array_equal(array.get(right), of_all[me])
    assert np.array_equal(array[1::2][:1].get(right), of_all[me][1:2])
    with pytest.raises(TypeError, match="^values: its format"):
        array.put(right, np.zeros(5, [("a", "i1"), ("b", "i1")]))
    with pytest.raises(TypeError, match="^values: its format"):
        array.put(right, np.zeros(5, {"names": ["a", "b"], "formats": ["i4", "f8"],
                                      "offsets": [0, 4], "itemsize": 400}))


def test_full_empty_and_options():
    array = meshmem.full(np.prod((2, 2)), 7)
    assert array.shape == (4,)
    array.free()
    array = meshmem.zeros(2, "S")
    assert array.dtype == array.local.dtype == "S1"
    array.free()
    array = meshmem.full((2, 2), 7)
    assert array.dtype == int and array.local.tolist() == [[7, 7], [7, 7]]
    aligned = meshmem.empty(3, "f4", align=4096, hints=meshmem.MALLOC_SIGNAL_REMOTE)
    assert aligned.local.ctypes.data % 4096 == 0
    aligned.free()
    array.free()


def test_views(make, me, right):
    array = make((4, 6), np.int64)
    array[:] = np.arange(24).reshape(4, 6)
    assert array[1:3, ::2].local.tolist() == [[6, 8, 10], [12, 14, 16]]
    assert array[2, 3].shape == () and array[2, 3].get(me) == 15 and len(array) == 4
    array[2, 3] = 4
    assert array.local[2, 3] == 4
    meshmem.barrier_all()
    array[2][3:].put(right, np.array([7, 8, 9]))
    meshmem.barrier_all()
    assert array.local[2].tolist() == [12, 13, 14, 7, 8, 9]
    with pytest.raises(TypeError, match="^key: "):
        array[[1, 2]]
    with pytest.raises(IndexError):
        array[4]


def test_views_keep_empty_and_new_dimensions(make):
    assert make((0, 2, 3))[:, 1, 2].shape == (0,)
    assert make(3)[None].shape == (1, 3) and make(())[None].shape == (1,)


def test_ptr(make, me, right, left):
    array = make(2, int)
    there = array.ptr(right)
    assert (there is None) == (meshmem.TEAM_WORLD.translate_pe(right, meshmem.TEAM_SHARED) is None)
    if there is None:
        array.p(right, me, 1)
    else:
        there[1] = me
    meshmem.barrier_all()
    assert array.local[1] == left


def has_buffer(array, flags):
    """Whether the array grants such a request of C's, as those of mpi4py."""
    view = ctypes.create_string_buffer(200)
    api = ctypes.pythonapi
    try:
        api.PyObject_GetBuffer(ctypes.py_object(array), view, flags)
    except BufferError:
        return False
    api.PyBuffer_Release(view)
    return True


def test_a_request_of_contiguous_memory(make):
    strides, in_c, in_fortran, in_any = 0x18, 0x38, 0x58, 0x98  # PyBUF_STRIDES and others
    array = make((4, 6))
    assert [has_buffer(array, flags) for flags in (0, strides, in_c, in_any)] == [True] * 4
    assert has_buffer(array[1], in_fortran) and not has_buffer(array, in_fortran)
    for view in (array[::2], array[:, 0], array[:, ::2]):
        assert has_buffer(view, strides)
        assert not any(has_buffer(view, flags) for flags in (0, in_c, in_fortran, in_any))


def test_memoryview_refuses_one_that_was_not_made():
    with pytest.raises(BufferError):
        memoryview(meshmem.Array.__new__(meshmem.Array))


def test_nonblocking_calls_let_their_operands_be_freed(right):
    """The second context is dropped, and not destroyed."""
    source, dest = meshmem.full(3, 7.0), meshmem.zeros(3)
    dest.put_nbi(right, source.local)
    source.free()
    source = meshmem.full(3, 8.0)
    dest.put_nbi(right, source.local, ctx=meshmem.Context())
    gc.collect()
    source.free()
    meshmem.barrier_all()
    assert list(dest.local) == [8.0] * 3
    dest.free()


def test_free_refuses_while_views_exist():
    array = meshmem.zeros(3)
    view = array.local[1:]
    with pytest.raises(BufferError, match="^array: 1 "):
        array.free()
    del view
    cycle = [array.local]
    cycle.append(cycle)  # only the collector ends it
    del cycle
    array.free()
    for use in (lambda: array.local, lambda: array.put(0, np.zeros(3)), lambda: array.free(),
                lambda: array[1], lambda: array.__array_interface__, lambda: array.g(0),
                lambda: WORLD.sum(array, array), lambda: np.from_dlpack(array)):
        with pytest.raises((ValueError, BufferError), match="array|dest"):
            use()


def test_realloc_ends_its_argument_and_views_of_it():
    array = meshmem.full(4, 5.0)
    part = array[1:]
    view = array.local
    with pytest.raises(BufferError, match="^array: 1 "):
        meshmem.realloc(array, 8)
    del view
    with pytest.raises(MemoryError, match="^shape: no "):
        meshmem.realloc(array, 2**40)
    assert part.local.sum() == 15
    longer = meshmem.realloc(array, (2, 4))
    assert longer.local[0].tolist() == [5.0] * 4
    for call in (lambda: array.local, part.free, lambda: part.g(0),
                 lambda: meshmem.realloc(array, 1)):
        with pytest.raises((ValueError, BufferError), match="^array: it was freed"):
            call()
    with pytest.raises(ValueError, match="^array: a view"):
        meshmem.realloc(longer[0], 1)
    longer.free()


def test_a_caught_exception_holds_views():
    array = meshmem.zeros(3)

    def fails():
        view = array.local
        raise KeyError(view.sum())
    try:
        fails()
    except KeyError as error:
        kept = error
    with pytest.raises(BufferError):
        array.free()
    del kept
    array.free()


def test_the_collector_frees_nothing():
    before = meshmem.zeros(1000)
    address = before.local.ctypes.data
    del before
    gc.collect()
    after = meshmem.zeros(1000)
    assert after.local.ctypes.data != address
    after.free()


def test_with_frees_unless_an_exception_comes():
    with meshmem.zeros(3) as array:
        assert array.local.sum() == 0
    assert repr(array).endswith("freed)")
    with pytest.raises(KeyError):
        with meshmem.zeros(3) as array:
            raise KeyError
    array.free()


def test_a_view_keeps_dropped_memory_alive(make):
    view = meshmem.full(5, 3.0).local
    gc.collect()
    assert view.sum() == 15


class Unusable:
    def __index__(self):
        raise KeyError("mine")
    __float__ = __index__


def test_errors_of_values_stay(make):
    for dtype in (float, int):
        with pytest.raises(KeyError, match="mine"):
            make(1, dtype).p(0, Unusable())


FLOATS = np.zeros(3)


@pytest.mark.parametrize("text, error, call", [
    ("pe: 99 is not in 0..", ValueError, lambda a, n: a.put(99, FLOATS)),
    ("pe: -1 is not in 0..", ValueError, lambda a, n: a.atomic_swap(-1, 1.0)),
    ("values: its format is f", TypeError, lambda a, n: a.put(0, FLOATS.astype("f4"))),
    ("values: needs an array", TypeError, lambda a, n: a.put(0, [1.0, 2.0, 3.0])),
    ("values: its shape is (2,), not (3,)", ValueError, lambda a, n: a.put(0, FLOATS[1:])),
    ("values: not contiguous", ValueError, lambda a, n: a.put(0, np.zeros(6)[::2])),
    ("out: needs an array", TypeError, lambda a, n: a.get(0, bytes(24))),
    ("array: not contiguous", ValueError, lambda a, n: a[::2].put(0, np.zeros(2))),
    ("values: a stride", ValueError, lambda a, n: a.iput(0, FLOATS[::-1])),
    ("array: needs two dim", ValueError, lambda a, n: a.ibput(0, FLOATS)),
    ("index: 3 is not below 3", IndexError, lambda a, n: a.p(0, 1.0, 3)),
    ("value: needs a number", TypeError, lambda a, n: a.p(0, "x")),
    ("array: OpenSHMEM has no such routine for dtype float64", TypeError,
     lambda a, n: a.atomic_add(0, 1)),
    ("array: OpenSHMEM has no such", TypeError, lambda a, n: a.wait_until("==", 1)),
    ("signal: its dtype is not uint64", TypeError, lambda a, n: a.put_signal(0, FLOATS, a, 1)),
    ("dest: its size is 3, not 2", ValueError, lambda a, n: WORLD.sum(a, B[:2])),
    ("sum(): incompatible function arguments", TypeError, lambda a, n: WORLD.sum(FLOATS, a)),
    ("source: its dtype", TypeError, lambda a, n: WORLD.max(a, I)),
    ("source: overlaps dest", ValueError, lambda a, n: WORLD.sum(a[1:], a[:2])),
    ("root: ", ValueError, lambda a, n: WORLD.broadcast(a, B, n)),
    ("dest: its size is 3, not", ValueError, lambda a, n: WORLD.fcollect(a, B[:0])),
    ("source: OpenSHMEM has no", TypeError, lambda a, n: WORLD.bitwise_or(a, B)),
    ("source: its dtype is not made by", TypeError, lambda a, n: WORLD.maxloc(a, B)),
    ("op: 'add' is not one of", ValueError, lambda a, n: WORLD.reduce_scatter(a, B, "add")),
    ("dest_counts: ", ValueError, lambda a, n: WORLD.alltoallv(a, [], B, [])),
    ("cmp: '=' is not one of", ValueError, lambda a, n: I.wait_until("=", 1)),
    ("status: its dtype", TypeError, lambda a, n: I.test_all("==", 1, FLOATS)),
    ("value: does not fit", OverflowError, lambda a, n: I.p(0, 2**63)),
    ("value: needs an integer", TypeError, lambda a, n: I.p(0, 1.5)),
    ("fetch: needs one element", ValueError,
     lambda a, n: I.atomic_fetch_nbi(np.zeros(2, int), 0)),
    ("value: does not fit", OverflowError, lambda a, n: meshmem.zeros(1, "f4").p(0, 1e300)),
    ("int too large", OverflowError, lambda a, n: a.p(0, 10**400)),
    ("dest: too small for nelems", ValueError,
     lambda a, n: WORLD.alltoalls(a, B, 2**62, 2**62, 5)),
    ("dest: too small for nelems", ValueError, lambda a, n: WORLD.alltoalls(a, B, 1, 1, 2**63)),
    ("dtype: ", TypeError, lambda a, n: meshmem.zeros(3, object)),
    ("dtype: ", TypeError, lambda a, n: meshmem.zeros(3, [])),
    ("dtype: ", TypeError, lambda a, n: meshmem.zeros(3, ("i4", 2))),
    ("dtype: ", TypeError, lambda a, n: meshmem.zeros(3, "M8[s]")),
    ("dtype: ", TypeError, lambda a, n: meshmem.zeros(3, {
        "names": ["a"], "formats": ["i4"], "offsets": [0], "itemsize": 400})),
    ("shape: a negative", ValueError, lambda a, n: meshmem.zeros(-3)),
    ("align: not a power", ValueError, lambda a, n: meshmem.zeros(3, align=3)),
    ("start: ", ValueError, lambda a, n: WORLD.split_strided(n, 1, 1)),
    ("size: ", ValueError, lambda a, n: WORLD.split_strided(0, 1, n + 1)),
    ("team: TEAM_WORLD", ValueError, lambda a, n: WORLD.destroy()),
    ("meshmem.init: ", RuntimeError, lambda a, n: meshmem.init()),
    ("array: a view", ValueError, lambda a, n: a[1:].free()),
    ("shape: no ", MemoryError, lambda a, n: meshmem.zeros(2**50)),
])
def test_mistakes(text, error, call, make, n):
    global B, I
    array, B, I = make(3), make(3), make(3, np.int64)
    with pytest.raises(error, match="^" + re.escape(text)):
        call(array, n)

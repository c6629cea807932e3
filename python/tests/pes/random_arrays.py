# SPDX-License-Identifier: Apache-2.0
"""Arrays of random shapes, dtypes and keys, compared with NumPy's. core.py runs this at three PEs.
All PEs draw the same examples, since collectives need the same arguments."""
import meshmem
import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps
from on_all_pes import on_all_pes
from support import MOVED

NUMBERS = st.one_of(nps.integer_dtypes(), nps.floating_dtypes(), nps.boolean_dtypes())
MAY_BE_SYMMETRIC = st.one_of(NUMBERS, nps.complex_number_dtypes(), st.sampled_from(MOVED),
                             nps.byte_string_dtypes(max_len=20),
                             st.lists(NUMBERS, min_size=1, max_size=3).map(
                                 lambda types: [(f"f{i}", kind) for i, kind in enumerate(types)]))
NEVER_SYMMETRIC = st.one_of(nps.datetime64_dtypes(), nps.timedelta64_dtypes(), st.just("O"))
SHAPES = nps.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)


def values_of(shape, dtype, pe):
    """Elements of zeros and ones, which all dtypes have."""
    generator = np.random.default_rng(pe)
    n = np.prod(shape, dtype=int) * np.dtype(dtype).itemsize
    return generator.integers(0, 2, n, np.uint8).view(dtype).reshape(shape)


def moves_by(view):
    """The method that puts a view, or None if the standard has no such routine."""
    local = view.local
    if local.flags.c_contiguous:
        return view.put
    if local.ndim == 1 and local.strides[0] > 0 and local.itemsize in (1, 2, 4, 8, 16):
        return view.iput
    return None


@on_all_pes(dtype=MAY_BE_SYMMETRIC, shape=SHAPES, data=st.data())
def test_a_view_moves_as_numpys(dtype, shape, data):
    me, n = meshmem.my_pe(), meshmem.n_pes()
    key = data.draw(nps.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    array = meshmem.zeros(shape, dtype)
    view = array[key]
    values = values_of(view.shape, dtype, me)
    move = moves_by(view)
    if move is None:
        with pytest.raises((ValueError, TypeError)):
            view.put((me + 1) % n, values)
    else:
        move((me + 1) % n, values)
    meshmem.barrier_all()
    wanted = np.zeros(shape, dtype)
    if move is not None:
        wanted[key] = values_of(view.shape, dtype, (me - 1) % n)
    assert array.local.dtype == wanted.dtype and array.local.tobytes() == wanted.tobytes()
    assert array.get(me).tobytes() == wanted.tobytes()
    meshmem.barrier_all()
    array.free()


@on_all_pes(dtype=MAY_BE_SYMMETRIC, shape=SHAPES)
def test_teams_move_any_array(dtype, shape):
    me, n = meshmem.my_pe(), meshmem.n_pes()
    source, dest = meshmem.zeros(shape, dtype), meshmem.zeros((n, *shape), dtype)
    source.local[...] = values_of(shape, dtype, me)
    meshmem.TEAM_WORLD.fcollect(dest, source)
    assert dest.local.tobytes() == b"".join(values_of(shape, dtype, pe).tobytes()
                                            for pe in range(n))
    meshmem.TEAM_WORLD.broadcast(dest[0], source, n - 1)
    assert dest[0].local.tobytes() == values_of(shape, dtype, n - 1).tobytes()
    meshmem.barrier_all()
    source.free()
    dest.free()


@on_all_pes(dtype=MAY_BE_SYMMETRIC, before=SHAPES, after=SHAPES)
def test_realloc_keeps_the_first_elements(dtype, before, after):
    array = meshmem.zeros(before, dtype)
    array.local[...] = values = values_of(before, dtype, meshmem.my_pe())
    again = meshmem.realloc(array, after)
    assert (again.shape, again.dtype) == (after, array.dtype)
    n = min(again.local.nbytes, values.nbytes)
    assert again.local.tobytes()[:n] == values.tobytes()[:n]
    again.free()


@on_all_pes(dtype=NEVER_SYMMETRIC, shape=SHAPES)
def test_other_dtypes_are_refused(dtype, shape):
    with pytest.raises(TypeError, match="^dtype: "):
        meshmem.zeros(shape, dtype)

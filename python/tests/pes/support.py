# SPDX-License-Identifier: Apache-2.0
"""The dtypes of OpenSHMEM's families, and values of them with high bits set."""
import numpy as np

INTEGERS = [f"{kind}{size}" for kind in ("int", "uint") for size in (8, 16, 32, 64)]
REALS = [*INTEGERS, "float32", "float64", "longdouble"]
ARITHMETIC = [*REALS, "complex64", "complex128"]  # sum and prod
MOVED = [*ARITHMETIC, "bool", "float16", "S12"]
EXTENDED = ["int32", "int64", "uint32", "uint64", "float32", "float64"]  # fetch, set, swap
STANDARD = EXTENDED[:4]  # add, inc, compare_swap and waits
LOGIC = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
KERNEL_TYPES = [*INTEGERS, "float32", "float64"]  # extensions


def values(shape, dtype, seed):
    """Values that differ by seed. Integers use all bits."""
    generator = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind in "iub":
        bits = generator.integers(0, 256, (*np.atleast_1d(shape), dtype.itemsize), np.uint8)
        if dtype.kind == "b":
            bits &= 1
        return bits.view(dtype).reshape(shape)
    if dtype.kind == "c":
        return (generator.normal(size=shape) + 1j * generator.normal(size=shape)).astype(dtype)
    if dtype.kind == "S":
        return generator.integers(10**10, 10**12, shape).astype(dtype)
    return generator.normal(size=shape).astype(dtype)

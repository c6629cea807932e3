# SPDX-License-Identifier: Apache-2.0
"""Values of each dtype, which all ranks can compute for all ranks, and reductions of them."""
import torch
import torch.distributed as dist

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
COMPLEX = [torch.complex64, torch.complex128]
UNSIGNED = [torch.uint16, torch.uint32, torch.uint64]
ALL = [*INTEGERS, *FLOATS, *COMPLEX, *UNSIGNED, torch.bool, torch.float8_e4m3fn]
# Elements: none, one, a few, and more than a buffer of the stage has (1.25 MiB).
SIZES = [0, 1, 7, 1000, 400_003]
Op = dist.ReduceOp


def values(size, dtype, rank, seed=0):
    """Small numbers that differ by rank; sums and products of a few are exact in all dtypes."""
    generator = torch.Generator().manual_seed(1000 * seed + rank)
    whole = torch.randint(-2, 4, (size,), generator=generator)
    if dtype in (torch.uint8, *UNSIGNED):
        whole = whole.abs()
    if dtype.is_complex:
        return torch.complex(whole.double(), whole.double().flip(0)).to(dtype)
    return whole.to(dtype)


def expected(op, parts):
    """Of the values of all ranks, computed in one process."""
    kind = parts[0].dtype
    wide = kind if kind.is_complex else torch.float64 if kind.is_floating_point else torch.int64
    stack = torch.stack([part.to(wide) for part in parts])
    if kind == torch.bool:
        if op == Op.BXOR:
            result = stack.sum(0) % 2
        else:
            result = stack.amax(0) if op in (Op.SUM, Op.MAX, Op.BOR) else stack.amin(0)
    elif op == Op.SUM:
        result = stack.sum(0)
    elif op == Op.AVG:
        total = stack.sum(0)
        result = total / len(parts) if kind.is_floating_point or kind.is_complex else torch.div(
            total, len(parts), rounding_mode="trunc")
    elif op == Op.PRODUCT:
        result = stack.prod(0)
    elif op in (Op.MIN, Op.MAX):
        result = stack.amin(0) if op == Op.MIN else stack.amax(0)
    else:
        apply = {Op.BAND: torch.bitwise_and, Op.BOR: torch.bitwise_or,
                 Op.BXOR: torch.bitwise_xor}[op]
        result = stack[0]
        for part in stack[1:]:
            result = apply(result, part)
    return result.to(kind)


def ops_of(dtype):
    if dtype == torch.bool:
        return [Op.SUM, Op.PRODUCT, Op.MIN, Op.MAX, Op.BAND, Op.BOR, Op.BXOR]
    if dtype.is_complex:
        return [Op.SUM, Op.AVG]
    every = [Op.SUM, Op.AVG, Op.PRODUCT, Op.MIN, Op.MAX]
    return every if dtype.is_floating_point else [*every, Op.BAND, Op.BOR, Op.BXOR]


def same(found, wanted):
    """Equal, but for the last bit of an average."""
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    if found.dtype == torch.float8_e4m3fn:  # torch does not compare them
        found, wanted = found.float(), wanted.float()
    if found.dtype.is_complex:
        return torch.allclose(found, wanted, 1e-6, 1e-6)
    return torch.equal(found, wanted)

# SPDX-License-Identifier: Apache-2.0
# mypy: ignore-errors
"""The functions that Triton kernels call: one text for interpreted kernels and for all GPUs.

`me` and `pe` are numbers in the context's team, and `bases` is its table of the PEs' addresses. A
pointer is that of this PE's own memory; a function finds the same place of another PE by the table.
Flags are integers of 4 or 8 bytes.

Stores and loads of data are plain. A release orders all earlier stores of the program before it,
those of all threads. An acquire orders it before all later loads. The names of orders (sem) and
scopes are those of triton.language; here the scope is "sys" unless another is asked for.
"""
import triton.language as tl

from ._target import acquire_fence, check_peer, jit, pause, release_fence

# Triton takes texts as defaults only so.
ACQ_REL, SYS = tl.constexpr("acq_rel"), tl.constexpr("sys")
SET, AT_LEAST = tl.constexpr("set"), tl.constexpr(">=")


@jit
def translate(ptr, me, pe, bases, mask=None):
    """The pointers to the same places in the memory of PE pe."""
    tl.static_assert(bases.dtype.element_ty == tl.int64, "bases: not a context's table")
    check_peer(ptr, me, pe, bases, mask)
    size: tl.constexpr = max(1, ptr.dtype.element_ty.primitive_bitwidth // 8)
    distance = tl.load(bases + pe) - tl.load(bases + me)
    return ptr + tl.multiple_of(distance // size, 16)  # pages apart, so stores may stay wide


@jit
def load(ptr, me, pe, bases, mask=None, other=None):
    """Loads from PE pe. Plain: after an acquire it sees what was released."""
    return tl.load(translate(ptr, me, pe, bases, mask), mask=mask, other=other)


@jit
def store(ptr, value, me, pe, bases, mask=None):
    """Stores to PE pe. Plain: it has arrived for those that acquire this program's next release."""
    tl.store(translate(ptr, me, pe, bases, mask), value, mask=mask)


@jit
def get(src, dst, me, pe, bases, mask=None):
    """Copies from src of PE pe to dst here. Plain, as load."""
    tl.store(dst, tl.load(translate(src, me, pe, bases, mask), mask=mask), mask=mask)


@jit
def put(src, dst, me, pe, bases, mask=None):
    """Copies from src here to dst of PE pe. Plain, as store."""
    tl.store(translate(dst, me, pe, bases, mask), tl.load(src, mask=mask), mask=mask)


@jit
def put_signal(src, dst, flag, value, me, pe, bases, mask=None, op: tl.constexpr = SET):
    """A put, and then a signal: whoever waits for the signal sees the data."""
    put(src, dst, me, pe, bases, mask)
    signal(flag, value, me, pe, bases, op)


@jit
def signal(flag, value, me, pe, bases, op: tl.constexpr = SET):
    """Sets PE pe's flag, or adds to it (op "add"). A release of system scope."""
    tl.static_assert(op == "set" or op == "add", "op: neither set nor add")
    if op == "set":
        atomic_xchg(flag, value, me, pe, bases, sem="release")
    else:
        atomic_add(flag, value, me, pe, bases, sem="release")


@jit
def wait(flag, value, cmp: tl.constexpr = AT_LEAST):
    """Waits until this PE's flag compares with value as cmp says (">=", "==", "!="), and returns
    it. An acquire of system scope."""
    tl.static_assert(cmp == ">=" or cmp == "==" or cmp == "!=", "cmp: none of >= == !=")
    # One atomic in one loop: of two LLVM would make a loop of its own for the thread that polls.
    # Triton makes loads of atomics that add nothing, and none whose value is not used.
    seen = tl.full((), 0, flag.dtype.element_ty)
    goes_on = tl.full((), 1, tl.int1)
    while goes_on:
        seen = tl.atomic_add(flag, 0, sem="acquire", scope="sys")
        goes_on = _goes_on(seen, value, cmp)
        pause(flag, goes_on)
    acquire_fence()
    return seen


@jit
def _goes_on(seen, value, cmp: tl.constexpr):
    if cmp == "==":
        return seen != value
    if cmp == "!=":
        return seen == value
    return seen < value


@jit
def barrier(state, me, n_pes, bases):
    """Waits for the same program of all PEs of the team. A release before and an acquire after it,
    of system scope. state: two int64 of its own for each program that meets, zero at first."""
    tl.static_assert(state.dtype.element_ty == tl.int64, "state: not int64")
    epoch = tl.load(state + 1) + 1
    for pe in range(n_pes):
        atomic_add(state, 1, me, pe, bases, sem="release")
    tl.store(state + 1, epoch)  # the threads, all of which have loaded it, have met since
    wait(state, epoch * n_pes)


# ---- Atomics at a PE, which return the value before. All but cas take a mask.

@jit
def _before(sem: tl.constexpr, scope: tl.constexpr):
    # A GPU orders one thread's stores by the release of a thread, so the others' come first.
    if scope != "cta" and sem != "relaxed" and sem != "acquire":
        release_fence()


@jit
def _after(sem: tl.constexpr, scope: tl.constexpr):
    if scope != "cta" and sem != "relaxed" and sem != "release":
        acquire_fence()


@jit
def atomic_add(ptr, value, me, pe, bases, mask=None, sem: tl.constexpr = ACQ_REL,
               scope: tl.constexpr = SYS):
    """Adds to PE pe's element."""
    there = translate(ptr, me, pe, bases, mask)
    _before(sem, scope)
    old = tl.atomic_add(there, value, mask=mask, sem=sem, scope=scope)
    _after(sem, scope)
    return old


@jit
def atomic_sub(ptr, value, me, pe, bases, mask=None, sem: tl.constexpr = ACQ_REL,
               scope: tl.constexpr = SYS):
    """Subtracts from PE pe's element."""
    value = tl.cast(value, ptr.dtype.element_ty)  # a narrower unsigned value has no negative one
    return atomic_add(ptr, -value, me, pe, bases, mask, sem, scope)


@jit
def atomic_cas(ptr, compare, value, me, pe, bases, sem: tl.constexpr = ACQ_REL,
               scope: tl.constexpr = SYS):
    """Sets PE pe's element to value if it is compare."""
    there = translate(ptr, me, pe, bases)
    compare = tl.cast(compare, ptr.dtype.element_ty)
    value = tl.cast(value, ptr.dtype.element_ty)
    _before(sem, scope)
    old = tl.atomic_cas(there, compare, value, sem=sem, scope=scope)
    _after(sem, scope)
    return old


@jit
def atomic_xchg(ptr, value, me, pe, bases, mask=None, sem: tl.constexpr = ACQ_REL,
                scope: tl.constexpr = SYS):
    """Sets PE pe's element."""
    there = translate(ptr, me, pe, bases, mask)
    _before(sem, scope)
    old = tl.atomic_xchg(there, value, mask=mask, sem=sem, scope=scope)
    _after(sem, scope)
    return old


@jit
def atomic_and(ptr, value, me, pe, bases, mask=None, sem: tl.constexpr = ACQ_REL,
               scope: tl.constexpr = SYS):
    """Bitwise and with PE pe's element."""
    there = translate(ptr, me, pe, bases, mask)
    _before(sem, scope)
    old = tl.atomic_and(there, value, mask=mask, sem=sem, scope=scope)
    _after(sem, scope)
    return old


@jit
def atomic_or(ptr, value, me, pe, bases, mask=None, sem: tl.constexpr = ACQ_REL,
              scope: tl.constexpr = SYS):
    """Bitwise or with PE pe's element."""
    there = translate(ptr, me, pe, bases, mask)
    _before(sem, scope)
    old = tl.atomic_or(there, value, mask=mask, sem=sem, scope=scope)
    _after(sem, scope)
    return old


@jit
def atomic_xor(ptr, value, me, pe, bases, mask=None, sem: tl.constexpr = ACQ_REL,
               scope: tl.constexpr = SYS):
    """Bitwise exclusive or with PE pe's element."""
    there = translate(ptr, me, pe, bases, mask)
    _before(sem, scope)
    old = tl.atomic_xor(there, value, mask=mask, sem=sem, scope=scope)
    _after(sem, scope)
    return old


@jit
def atomic_min(ptr, value, me, pe, bases, mask=None, sem: tl.constexpr = ACQ_REL,
               scope: tl.constexpr = SYS):
    """Lowers PE pe's element to value."""
    there = translate(ptr, me, pe, bases, mask)
    _before(sem, scope)
    old = tl.atomic_min(there, value, mask=mask, sem=sem, scope=scope)
    _after(sem, scope)
    return old


@jit
def atomic_max(ptr, value, me, pe, bases, mask=None, sem: tl.constexpr = ACQ_REL,
               scope: tl.constexpr = SYS):
    """Raises PE pe's element to value."""
    there = translate(ptr, me, pe, bases, mask)
    _before(sem, scope)
    old = tl.atomic_max(there, value, mask=mask, sem=sem, scope=scope)
    _after(sem, scope)
    return old

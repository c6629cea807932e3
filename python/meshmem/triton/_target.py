# SPDX-License-Identifier: Apache-2.0
# mypy: disallow-untyped-decorators=False
"""What the functions of kernels need that differs between targets: fences by all threads, and what
is only possible while Triton interprets a kernel.

Triton's atomics on scalars are of one thread. An NVIDIA GPU takes the stores of the other threads
along, if the threads have met before. An AMD GPU does not: each wave has to await its own stores
and write them back. Triton has no fence, so these are in assembly.
"""
import typing

import triton
from triton import knobs
from triton.language import core

# Release and acquire of system scope for each wave. The wait is no part of the write-back.
_GFX9_4 = ("buffer_wbl2 sc0 sc1\ns_waitcnt vmcnt(0) lgkmcnt(0)", "buffer_inv sc0 sc1")
_FENCES = {"gfx90a": ("buffer_wbl2\ns_waitcnt vmcnt(0) lgkmcnt(0)",
                      "buffer_invl2\nbuffer_wbinvl1_vol"),
           "gfx942": _GFX9_4,
           "gfx950": _GFX9_4,
           "gfx1100": ("s_waitcnt vmcnt(0) lgkmcnt(0)\ns_waitcnt_vscnt null, 0x0",
                       "buffer_gl1_inv\nbuffer_gl0_inv")}


def _assemble(text: str, semantic: typing.Any) -> None:
    core.inline_asm_elementwise(f"{text}\nv_mov_b32 $0, 0", "=v,~{memory}", [], dtype=core.int32,
                                is_pure=False, pack=1, _semantic=semantic)


def _fence(index: int, semantic: typing.Any) -> None:
    options = semantic.builder.options
    if options.backend_name != "hip":
        return
    if options.arch not in _FENCES:
        raise ValueError(f"meshmem.triton knows the fences of {', '.join(_FENCES)}, and not those "
                         f"of {options.arch}")
    _assemble(_FENCES[options.arch][index], semantic)


if knobs.runtime.interpret:
    # Interpreted programs run one after the other, and atomics order as the processor's do.
    from ._interpreted import check_peer, pause

    def jit(function: typing.Any) -> typing.Any:
        """The function as kernels of the interpreter call it. Its own call would prepare all of
        triton.language again, which takes milliseconds."""
        return triton.jit(function).rewrite()

    def release_fence() -> None:
        pass

    def acquire_fence() -> None:
        pass
else:
    jit = triton.jit

    @core.extern
    def release_fence(_semantic: typing.Any = None) -> None:
        """Every thread releases, then the threads meet."""
        _fence(0, _semantic)
        core.debug_barrier(_semantic=_semantic)

    @core.extern
    def acquire_fence(_semantic: typing.Any = None) -> None:
        """The threads meet, then every thread acquires."""
        core.debug_barrier(_semantic=_semantic)
        _fence(1, _semantic)

    @core.extern
    def pause(flag: typing.Any, goes_on: typing.Any, _semantic: typing.Any = None) -> None:
        """Between polls. An empty loop can keep xGMI from progress."""
        if _semantic.builder.options.backend_name == "hip":
            _assemble("s_sleep 1", _semantic)

    @core.extern
    def check_peer(ptr: typing.Any, me: typing.Any, pe: typing.Any, bases: typing.Any,
                   mask: typing.Any, _semantic: typing.Any = None) -> None:
        pass

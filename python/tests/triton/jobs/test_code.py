# SPDX-License-Identifier: Apache-2.0
"""The code that Triton makes for GPUs of the functions of kernels. No GPU is needed.

For AMD GPUs the instructions are held to the rules of tests/compile/amd_rules.py, as those of the
C++ kernels are. Every thread releases and meets the others before a flag is stored. It meets them
and acquires after the flag was polled. For NVIDIA GPUs PTX has to have the orders and the system
scope.
"""
import importlib.util
import os
import pathlib
import re
import sys

assert not os.environ.get("TRITON_INTERPRET")
os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).parents[4] / "tests/compile"))
import amd_assembly  # noqa: E402
import amd_rules  # noqa: E402
import instructions  # noqa: E402
import meshmem.triton as mt  # noqa: E402
import pytest  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

AMD = ["gfx90a", "gfx942", "gfx950", "gfx1100"]
ARCHITECTURES = {**instructions.ARCHITECTURES, "gfx950": instructions.ARCHITECTURES["gfx942"]}


@triton.jit
def send(src, dst, flag, bases, me, pe, BLOCK: tl.constexpr, OP: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mt.put_signal(src + at, dst + at, flag, 1, me, pe, bases, op=OP)


@triton.jit
def receive(src, dst, flag, bases, me, pe, BLOCK: tl.constexpr, OP: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mt.wait(flag, 1)
    tl.store(src + at, tl.load(dst + at))


@triton.jit
def receive_one(src, dst, flag, bases, me, pe, BLOCK: tl.constexpr, OP: tl.constexpr):
    mt.wait(flag, 1)
    tl.store(src, tl.load(dst))


@triton.jit
def meet(src, dst, flag, bases, me, pe, BLOCK: tl.constexpr, OP: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mt.store(dst + at, 1, me, pe, bases)
    mt.barrier(flag, me, pe, bases)
    tl.store(src + at, tl.load(dst + at))


@triton.jit
def count(src, dst, flag, bases, me, pe, BLOCK: tl.constexpr, OP: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mt.store(dst + at, 1, me, pe, bases)
    before = mt.atomic_add(flag, 1, me, pe, bases)
    tl.store(src + at, tl.load(dst + at) + before)


@triton.jit
def planted_release(src, dst, flag, bases, me, pe, BLOCK: tl.constexpr, OP: tl.constexpr):
    """One thread releases what others have stored."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mt.put(src + at, dst + at, me, pe, bases)
    tl.debug_barrier()
    tl.atomic_add(mt.translate(flag, me, pe, bases), 1, sem="release", scope="sys")


@triton.jit
def planted_scope(src, dst, flag, bases, me, pe, BLOCK: tl.constexpr, OP: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mt.put(src + at, dst + at, me, pe, bases)
    mt.atomic_add(flag, 1, me, pe, bases, sem="release", scope="gpu")


@triton.jit
def planted_loop(src, dst, flag, bases, me, pe, BLOCK: tl.constexpr, OP: tl.constexpr):
    """Two atomics of which LLVM makes one in two loops, one of them for a single thread."""
    seen = tl.atomic_add(flag, 0, sem="acquire", scope="sys")
    while seen < 1:
        seen = tl.atomic_add(flag, 0, sem="acquire", scope="sys")
    tl.store(src, seen.to(tl.float32))


@triton.jit
def planted_acquire(src, dst, flag, bases, me, pe, BLOCK: tl.constexpr, OP: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    while tl.atomic_add(flag, 0, sem="relaxed", scope="sys") < 1:
        pass
    tl.store(src + at, tl.load(dst + at))


@triton.jit
def atomics(src, dst, flag, bases, me, pe, BLOCK: tl.constexpr, OP: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 2
    tl.store(src + at, mt.atomic_add(flag + at, 1, me, pe, bases, mask=mask))
    tl.store(src + at, mt.atomic_sub(flag + at, 1, me, pe, bases))
    tl.store(src + at, mt.atomic_xchg(flag + at, me, me, pe, bases, mask=mask))
    if OP != "float":
        tl.store(src, mt.atomic_cas(flag, 1, me, me, pe, bases))
        tl.store(src + at, mt.atomic_and(flag + at, 1, me, pe, bases, mask=mask, sem="relaxed"))
        tl.store(src + at, mt.atomic_or(flag + at, me, me, pe, bases, mask=mask, sem="acquire"))
        tl.store(src + at, mt.atomic_xor(flag + at, 1, me, pe, bases, sem="release"))
        tl.store(src + at, mt.atomic_min(flag + at, 1, me, pe, bases, mask=mask, scope="gpu"))
        tl.store(src + at, mt.atomic_max(flag + at, me, me, pe, bases))


def compiled(kernel, target, op="set", flag="i64"):
    types = {"src": "*fp32", "dst": "*fp32", "flag": f"*{flag}", "bases": "*i64", "me": "i32",
             "pe": "i32", "BLOCK": "constexpr", "OP": "constexpr"}
    aligned = {(i,): [["tt.divisibility", 16]] for i in range(4)}
    return triton.compile(ASTSource(kernel, types, {"BLOCK": 1024, "OP": op}, aligned),
                          target=target).asm


class Kernel:
    """A kernel as amd_rules asks for it. A flag is what atomics store, and what loads of system
    scope or atomics that return a value poll."""

    def __init__(self, kernel, architecture, op="set"):
        target = GPUTarget("hip", architecture, 32 if architecture.startswith("gfx1") else 64)
        assembly = compiled(kernel, target, op)["amdgcn"]
        (self.function,), _ = amd_assembly.functions_in(assembly)
        self.code, self.after, self.group = self.function.code, self.function.after, "block"
        # LLVM's name for a loop with two entries: threads of a wave that went different ways do not
        # come together again before the barrier in it, and the program hangs.
        self.parts_waves = "irr.guard" in assembly
        self.arch = ARCHITECTURES[architecture]
        self.names = [frozenset()] * len(self.code)
        self.kinds = [frozenset({kind} - {None}) for kind in map(self.kind_of, self.code)]

    def kind_of(self, code):
        if amd_assembly.ATOMIC.match(code):
            return "flag polled" if re.search(r"\b(sc0|glc)\b", code) else "flag stored"
        if amd_assembly.PLAIN_STORE.match(code) or code.startswith("buffer_store_"):
            return "data stored"
        if amd_assembly.LOAD.match(code) or code.startswith("buffer_load_"):
            return "flag polled" if self.arch["system load"].search(code) else "data read"
        return None

    def of_kind(self, *kinds):
        return [at for at, found in enumerate(self.kinds) if not found.isdisjoint(kinds)]

    def violations(self):
        return [(text, self.code[at]) for rule in (
            amd_rules.break_release(self, False), amd_rules.break_acquire(self))
            for text, at in rule]


@pytest.mark.parametrize("architecture", AMD)
@pytest.mark.parametrize("kernel, op, kinds", [
    (send, "set", {"data stored", "flag stored"}), (send, "add", {"data stored", "flag stored"}),
    (receive, "set", {"flag polled", "data read"}),
    (meet, "set", {"data stored", "flag stored", "flag polled"}),
    (count, "set", {"data stored", "flag polled"})], ids=lambda word: getattr(word, "fn", word))
def test_amd_waves_release_and_acquire(kernel, op, kinds, architecture):
    found = Kernel(kernel, architecture, op)
    assert kinds <= frozenset().union(*found.kinds)
    assert not found.violations() and not found.parts_waves
    for at in found.of_kind("flag stored"):
        assert found.arch["system atomic"].search(found.code[at]), found.code[at]


@pytest.mark.parametrize("architecture", AMD)
def test_amd_reads_no_data_through_the_scalar_cache_after_a_wait(architecture):
    kernel = Kernel(receive_one, architecture)
    acquire = max(at for at, code in enumerate(kernel.code)
                  if kernel.arch["acquire"][-1].match(code))
    assert not any(map(amd_assembly.SCALAR_LOAD.match, kernel.code[acquire:]))


@pytest.mark.parametrize("architecture", AMD)
@pytest.mark.parametrize("kernel", [planted_release, planted_acquire])
def test_amd_planted_violations_are_found(kernel, architecture):
    if kernel is planted_release and architecture == "gfx1100":
        pytest.skip("it writes stores through, and a barrier waits for them")
    assert Kernel(kernel, architecture).violations()


@pytest.mark.skipif(not triton.__version__.startswith("3.6"), reason="newer ones make no such loop")
@pytest.mark.parametrize("architecture", AMD)
def test_amd_planted_loop_is_found(architecture):
    assert Kernel(planted_loop, architecture).parts_waves


def test_amd_planted_scope_is_found():
    found = Kernel(planted_scope, "gfx942")
    assert not any(found.arch["system atomic"].search(found.code[at])
                   for at in found.of_kind("flag stored"))


@pytest.mark.parametrize("dtype", ["i32", "u32", "i64", "u64", "fp32"])
@pytest.mark.parametrize("target", [GPUTarget("cuda", 90, 32), GPUTarget("hip", "gfx942", 64)],
                         ids=["sm_90", "gfx942"])
def test_atomics_of_all_types_compile(target, dtype):
    compiled(atomics, target, "float" if dtype == "fp32" else "set", dtype)


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FOLDER = pathlib.Path(__file__).parents[1]
MODULES = [load(FOLDER / "pes/test_kernels.py"), load(FOLDER / "gpu_triton.py"),
           load(FOLDER.parents[1] / "examples/triton_all_gather_gemm.py")]
KERNELS = [(module, name) for module in MODULES for name, value in vars(module).items()
           if isinstance(value, triton.JITFunction) and value.__module__ == module.__name__
           and "bases" in value.arg_names and name != "sum_of_all"]
INTEGERS = ("arrived", "state", "turn", "order", "sums", "bad", "places", "counters", "before")
NUMBERS = ("me", "pe", "n_pes", "count", "share", "value", "round", "rounds")
CONSTANTS = {"BLOCK": 64, "LANES": 8, "WAY": "put", "OP": "add", "CMP": ">=", "n_pes": 2,
             "ROWS": 64, "COLUMNS": 64, "K": 64, "BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32}


@pytest.mark.parametrize("target", [GPUTarget("cuda", 90, 32), GPUTarget("hip", "gfx942", 64)],
                         ids=["sm_90", "gfx942"])
@pytest.mark.parametrize("module, name", KERNELS, ids=lambda word: getattr(word, "__name__", word))
def test_kernels_of_the_other_tests_compile(module, name, target):
    """They are interpreted elsewhere."""
    kernel = getattr(module, name)
    floats = "*fp16" if name == "all_gather_gemm" else "*fp32"
    types = {parameter.name: "constexpr" if parameter.is_constexpr
             else "*i64" if parameter.name in ("bases", *INTEGERS)
             else "i32" if parameter.name in NUMBERS else floats for parameter in kernel.params}
    constants = {name: CONSTANTS[name] for name, kind in types.items() if kind == "constexpr"}
    made = triton.compile(ASTSource(kernel, types, constants), target=target)
    assert "irr.guard" not in made.asm.get("amdgcn", "")


def test_an_unknown_gpu_is_refused():
    with pytest.raises(triton.CompilationError) as caught:
        Kernel(send, "gfx1201")
    error = caught.value
    while error.__cause__:  # the calls that led there
        error = error.__cause__
    assert re.match("meshmem.triton knows the fences of gfx90a.* gfx1201", str(error))


def steps_of(kernel, op="set"):
    """The accesses and meetings of the PTX, in its order."""
    lines = compiled(kernel, GPUTarget("cuda", 90, 32), op)["ptx"].splitlines()
    words = [re.sub(r"@%p\d+ ", "", line.strip()).split() for line in lines]
    return [found[0].rstrip(";") for found in words
            if found and re.match(r"(ld\.global|st\.global|atom|red|bar\.sync|fence)", found[0])]


def test_nvidia_releases_at_system_scope():
    for op, name in (("set", "exch"), ("add", "add")):
        steps = steps_of(send, op)
        stores = [at for at, step in enumerate(steps) if step.startswith("st.global")]
        assert "v4" in steps[stores[0]], "translate() hides how pointers are aligned"
        release = next(at for at, step in enumerate(steps) if step.startswith(("atom", "red")))
        assert re.match(rf"(atom|red)\.global\.sys\.release\.{name}", steps[release])
        assert "bar.sync" in steps[stores[-1]:release]


def test_nvidia_acquires_at_system_scope():
    steps = steps_of(receive)
    polls = [at for at, step in enumerate(steps) if step.startswith("ld.global.sys.acquire")]
    loads = [at for at, step in enumerate(steps) if re.match(r"ld\.global\.v4", step)]
    assert polls and loads and "bar.sync" in steps[polls[-1]:loads[0]]


def test_nvidia_has_no_smaller_scope():
    for kernel in (send, receive, meet, count):
        steps = steps_of(kernel)
        assert any(".sys." in step for step in steps)
        assert not [step for step in steps if ".gpu." in step or ".cta." in step]
    assert [step for step in steps_of(planted_scope) if ".gpu.release" in step]

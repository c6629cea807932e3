# SPDX-License-Identifier: Apache-2.0
"""Runs kernels that Triton has compiled for AMD GPUs, on two emulated GPUs of this process
(docs/emulated_gpu.md): `emulated_gpu.py EMULATOR_FOLDER gfx942|gfx90a KERNEL`. The memory is
fine-grained, which needs the most fences of what a device heap may be. With
MESHMEM_AMD_MEMORY=strict it is as late and as stale as it may be. Prints how many words are wrong
at the end."""
import ctypes
import importlib.util
import os
import pathlib
import struct
import sys

os.environ |= {"TRITON_DISABLE_LINE_INFO": "1", "MESHMEM_CPU_DEVICES": "2",
               "AMDGCN_USE_BUFFER_OPS": "0"}  # those the emulator does not know
FOLDER, GPU, NAME = sys.argv[1:]
os.environ["MESHMEM_AMD_GPU"] = GPU

import meshmem.triton as mt  # noqa: E402
import numpy as np  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

BLOCK, ROUNDS, COUNT = 256, 20, 1000
FINE_GRAINED = 1


@triton.jit
def exchange(dst, bad, flag, bases, me, pe, rounds, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for round in range(1, rounds + 1):
        mt.store(dst + at, round * BLOCK + at, me, pe, bases)
        mt.signal(flag, round, me, pe, bases)
        mt.wait(flag, round)
        is_wrong = tl.load(dst + at) != round * BLOCK + at
        tl.store(bad + at, tl.load(bad + at) + is_wrong.to(tl.int32))
        mt.signal(flag + 1, round, me, pe, bases)
        mt.wait(flag + 1, round)


@triton.jit
def planted(dst, bad, flag, bases, me, pe, rounds, BLOCK: tl.constexpr):
    """As exchange, but one thread releases what all have stored."""
    at = tl.arange(0, BLOCK)
    for round in range(1, rounds + 1):
        mt.store(dst + at, round * BLOCK + at, me, pe, bases)
        tl.debug_barrier()
        tl.atomic_xchg(mt.translate(flag, me, pe, bases), round, sem="release", scope="sys")
        mt.wait(flag, round)
        is_wrong = tl.load(dst + at) != round * BLOCK + at
        tl.store(bad + at, tl.load(bad + at) + is_wrong.to(tl.int32))
        mt.signal(flag + 1, round, me, pe, bases)
        mt.wait(flag + 1, round)


class Gpus:
    """Two GPUs, with a block of memory each."""

    def __init__(self):
        self.hip = ctypes.CDLL(f"{FOLDER}/libamdhip64.so.5")
        self.blocks = [self.malloc(gpu, 1 << 17) for gpu in range(2)]
        self.tables, self.kept = [self.malloc(gpu, 16) for gpu in range(2)], []
        for gpu, table in enumerate(self.tables):
            self.call("SetDevice", gpu)
            self.call("DeviceEnablePeerAccess", 1 - gpu, 0)
            self.copy(table, np.array(self.blocks, np.int64), 1)

    def call(self, name, *arguments):
        if status := getattr(self.hip, f"hip{name}")(*arguments):
            sys.exit(f"hip{name}: error {status}")

    def malloc(self, gpu, n_bytes):
        self.call("SetDevice", gpu)
        pointer = ctypes.c_void_p()
        self.call("ExtMallocWithFlags", ctypes.byref(pointer), ctypes.c_size_t(n_bytes),
                  FINE_GRAINED)
        self.call("Memset", pointer, 0, ctypes.c_size_t(n_bytes))
        return pointer.value

    def copy(self, address, array, way):
        ends = [ctypes.c_void_p(address), ctypes.c_void_p(array.ctypes.data)]
        self.call("Memcpy", *(ends if way == 1 else ends[::-1]), ctypes.c_size_t(array.nbytes), way)

    def launch(self, kernel, n_programs, gpu, arguments, constants, types):
        """arguments: an int is an i32, a float an offset in the block."""
        made = triton.compile(ASTSource(kernel, types, constants),
                              target=GPUTarget("hip", GPU, 64))
        code, entry = made.asm["hsaco"], f"hipv4-amdgcn-amd-amdhsa--{GPU}".encode()
        head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<4Q", 1, 4096, len(code), len(entry))
        image = ctypes.create_string_buffer((head + entry).ljust(4096, b"\0") + code)
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("SetDevice", gpu)
        self.call("ModuleLoadData", ctypes.byref(module), image)
        self.call("ModuleGetFunction", ctypes.byref(function), module, made.metadata.name.encode())
        values = [ctypes.c_int32(word) if isinstance(word, int) else word for word in arguments]
        values += [ctypes.c_void_p(0)] * 2  # Triton's own
        pointers = (ctypes.c_void_p * len(values))(
            *[ctypes.cast(ctypes.pointer(value), ctypes.c_void_p) for value in values])
        self.kept += [image, values, pointers]
        self.call("ModuleLaunchKernel", function, n_programs, 1, 1, 64 * made.metadata.num_warps, 1,
                  1, made.metadata.shared, None, pointers, None)

    def synchronize(self):
        for gpu in range(2):
            self.call("SetDevice", gpu)
            self.call("DeviceSynchronize")


def run_exchange(gpus, kernel):
    types = {"dst": "*i32", "bad": "*i32", "flag": "*i64", "bases": "*i64", "me": "i32",
             "pe": "i32", "rounds": "i32", "BLOCK": "constexpr"}
    for gpu, block in enumerate(gpus.blocks):
        pointers = map(ctypes.c_void_p, (block, block + 8192, block + 16384, gpus.tables[gpu]))
        gpus.launch(kernel, 1, gpu, [*pointers, gpu, 1 - gpu, ROUNDS], {"BLOCK": BLOCK}, types)
    gpus.synchronize()
    bad = np.zeros((2, BLOCK), np.int32)
    for gpu, block in enumerate(gpus.blocks):
        gpus.copy(block + 8192, bad[gpu], 2)
    return int(bad.sum())


def run_sum(gpus, kernel):
    """A sum of gpu_triton.py by two programs on each GPU, twice."""
    types = {"values": "*fp32", "copies": "*fp32", "out": "*fp32", "state": "*i64",
             "bases": "*i64", "me": "i32", "count": "i32", "share": "i32", "n_pes": "constexpr",
             "BLOCK": "constexpr"}
    n_bad, out = 0, np.zeros(COUNT, np.float32)
    for round in range(2):
        sources = [np.arange(COUNT, dtype=np.float32) * (gpu + 1) + round for gpu in range(2)]
        for gpu, block in enumerate(gpus.blocks):
            gpus.copy(block, sources[gpu], 1)
        for gpu, block in enumerate(gpus.blocks):
            pointers = map(ctypes.c_void_p, (block, block + 8192, block + 32768, block + 65536,
                                             gpus.tables[gpu]))
            gpus.launch(kernel, 2, gpu, [*pointers, gpu, COUNT, 512],
                        {"n_pes": 2, "BLOCK": BLOCK}, types)
        gpus.synchronize()
        for block in gpus.blocks:
            gpus.copy(block + 32768, out, 2)
            n_bad += int((out != sum(sources)).sum())
    return n_bad


def main():
    gpus = Gpus()
    if NAME in ("exchange", "planted"):
        n_bad = run_exchange(gpus, globals()[NAME])
    else:
        path = pathlib.Path(__file__).parents[1] / "gpu_triton.py"
        spec = importlib.util.spec_from_file_location("gpu_triton", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        n_bad = run_sum(gpus, getattr(module, NAME))
    print(f"{n_bad} words are wrong")


if __name__ == "__main__":
    main()

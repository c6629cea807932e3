# SPDX-License-Identifier: Apache-2.0
"""Kernels that Triton compiles for AMD GPUs, on an emulated GPU whose memory is as late and as
stale as AMD's memory model allows. MESHMEM_AMD_EMULATOR is its folder."""
import os
import pathlib
import subprocess
import sys

import pytest
import triton

PROGRAM = pathlib.Path(__file__).with_name("emulated_gpu.py")
EMULATOR = os.environ.get("MESHMEM_AMD_EMULATOR", "")
pytestmark = pytest.mark.skipif(not EMULATOR, reason="no emulated AMD GPU was built")


def wrong_words(gpu, kernel, seed):
    result = subprocess.run([sys.executable, PROGRAM, EMULATOR, gpu, kernel], capture_output=True,
                            text=True, timeout=100,
                            env={**os.environ, "MESHMEM_AMD_MEMORY": "strict",
                                 "MESHMEM_AMD_SEED": str(seed)})
    assert result.returncode == 0 and result.stdout.endswith("words are wrong\n"), result
    return int(result.stdout.split()[0])


@pytest.mark.parametrize("kernel, seed", [("exchange", 1), ("exchange", 2), ("one_shot", 1),
                                          ("two_shot", 2)])
@pytest.mark.parametrize("gpu", ["gfx90a", "gfx942"])
def test_what_was_released_has_arrived(gpu, kernel, seed):
    assert wrong_words(gpu, kernel, seed) == 0


@pytest.mark.parametrize("gpu", ["gfx90a", "gfx942"])
def test_a_release_by_one_thread_is_not_enough(gpu):
    """As Triton makes it of a barrier and an atomic. So this model notices."""
    if gpu == "gfx90a" and not triton.__version__.startswith("3.6"):
        pytest.skip("all threads await their stores there")
    assert wrong_words(gpu, "planted", 1) > 0

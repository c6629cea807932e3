# SPDX-License-Identifier: Apache-2.0
"""As ../../pes/conftest.py, whose hooks and fixtures are used here, with a context for kernels:
`TRITON_INTERPRET=1 oshrun -n 4 python3 -m pytest python/tests/triton/pes`."""
import importlib.util
import pathlib

import meshmem.triton as mt  # before init, which MESHMEM_CHECK=races asks for
import pytest

_path = pathlib.Path(__file__).parents[2] / "pes/conftest.py"
_spec = importlib.util.spec_from_file_location("conftest_of_pes", _path)
_of_pes = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_of_pes)
globals().update({name: value for name, value in vars(_of_pes).items()
                  if name in ("pytest_configure", "pytest_runtest_logreport", "me", "n", "right",
                              "left")})


@pytest.fixture(scope="session")
def ctx():
    return mt.context(16 << 20)

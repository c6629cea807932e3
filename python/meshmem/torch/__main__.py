# SPDX-License-Identifier: Apache-2.0
"""`python3 -m meshmem.torch` compiles the part that belongs to the installed PyTorch."""
from . import _compiled

if __name__ == "__main__":
    _compiled.main()

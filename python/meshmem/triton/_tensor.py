# SPDX-License-Identifier: Apache-2.0
"""Tensors without torch, for interpreted kernels."""
from __future__ import annotations

import typing

import numpy as np

NDArray = np.ndarray[typing.Any, typing.Any]


class _Storage:
    """The interpreter would copy a GPU's memory to the host and back. This is on the host."""

    def __init__(self, address: int) -> None:
        self._address = address

    def data_ptr(self) -> int:
        return self._address

    def cpu(self) -> _Storage:
        return self

    def copy_(self, _: typing.Any) -> None:
        pass


class Tensor:
    """Kernels take this in the place of a CPU tensor of torch: it has the same few methods."""

    def __init__(self, values: NDArray) -> None:
        self._values, self.dtype, self.shape = values, values.dtype, values.shape

    def numpy(self) -> NDArray:
        """The same memory, as a NumPy array."""
        return self._values

    def cpu(self) -> Tensor:
        return self

    def data_ptr(self) -> int:
        return int(self._values.ctypes.data)

    def numel(self) -> int:
        return int(self._values.size)

    def element_size(self) -> int:
        return int(self._values.itemsize)

    def is_contiguous(self) -> bool:
        return bool(self._values.flags.c_contiguous)

    def stride(self, dim: typing.Optional[int] = None) -> typing.Any:
        strides = tuple(n // self._values.itemsize for n in self._values.strides)
        return strides if dim is None else strides[dim]

    def size(self, dim: typing.Optional[int] = None) -> typing.Any:
        return self.shape if dim is None else self.shape[dim]

    def copy_(self, values: typing.Any) -> Tensor:
        self._values[...] = values._values if isinstance(values, Tensor) else values
        return self

    fill_ = copy_

    def view(self, dtype: typing.Any) -> Tensor:
        return Tensor(self._values.view(dtype))

    def reshape(self, shape: typing.Any) -> Tensor:
        return Tensor(self._values.reshape(shape))

    def __getitem__(self, key: typing.Any) -> Tensor:
        key = key if isinstance(key, tuple) else (key,)
        # With ... NumPy returns an array of the same memory for one element, too.
        return Tensor(self._values[key if any(part is ... for part in key) else (*key, ...)])

    def __setitem__(self, key: typing.Any, values: typing.Any) -> None:
        self._values[key] = values._values if isinstance(values, Tensor) else values

    def __array__(self, *arguments: typing.Any, **options: typing.Any) -> NDArray:
        return np.asarray(self._values, *arguments, **options)

    def __repr__(self) -> str:
        return f"meshmem.triton.Tensor({self._values!r})"

    # The interpreter itself calls this.
    def untyped_storage(self) -> _Storage:
        return _Storage(self.data_ptr())

    def storage_offset(self) -> int:
        return 0

    def new_empty(self, *_: typing.Any, **__: typing.Any) -> Tensor:
        return Tensor(self._values)

    def set_(self, *_: typing.Any) -> None:
        pass

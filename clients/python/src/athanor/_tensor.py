"""Handles of tensors that are resident on the device."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._arrays import Array, Bytes, NDArray, from_bytes

if TYPE_CHECKING:
    from types import TracebackType

    from ._async import AsyncAthanor
    from ._client import Athanor


class BaseTensor:
    """What is known of a tensor without asking the service.

    Attributes:
        handle: its name in requests, such as `t_0123…_a`.
        dtype: the service's name of the dtype, such as `f32`.
        shape: its extents, in elements.
        nbytes: its size.
        version: counts the writes in place; as of the last call through this object.
    """

    def __init__(self, description: Mapping[str, Any]) -> None:
        self._finalizer: weakref.finalize[..., Any] | None = None
        self._set(description)

    def _set(self, description: Mapping[str, Any]) -> None:
        self.handle: str = description["handle"]
        self.dtype: str = description["dtype"]
        self.shape: tuple[int, ...] = tuple(description["shape"])
        self.nbytes: int = description["bytes"]
        self.version: int = description["version"]

    @property
    def owned(self) -> bool:
        """Whether the client renews its lease, and frees it at the end."""
        return self._finalizer is not None and self._finalizer.alive

    def _disown(self) -> bool:
        return self._finalizer is not None and self._finalizer.detach() is not None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.dtype}{list(self.shape)} {self.handle}>"


class Tensor(BaseTensor):
    """A tensor on the device, returned by `upload` and by the ops.

    While it is open, the client renews its lease. It is freed by `delete`, at the end of a `with` block, when
    the client is closed, or some time after it was garbage collected.
    """

    def __init__(self, client: Athanor, description: Mapping[str, Any]) -> None:
        super().__init__(description)
        self._client = client

    def numpy(self, *, timeout: float | None = None) -> NDArray:
        """Downloads the elements into a new array.

        Raises:
            AthanorError: if the call fails, with code `expired-handle` or `unknown-handle` if it is gone.
            TypeError: if numpy has no such dtype; bf16, e4m3 and e5m2 need the package ml_dtypes.
        """
        return from_bytes(self.dtype, self.shape, self._bytes(timeout))

    def raw(self, *, timeout: float | None = None) -> npt.NDArray[np.uint8]:
        """Downloads the bytes, of any dtype: little-endian and row-major."""
        return np.frombuffer(self._bytes(timeout), np.uint8)

    def _bytes(self, timeout: float | None) -> bytearray:
        return self._client._run(self._client._core.read(self.handle, timeout))

    def update(
        self,
        array: Array | Bytes,
        *,
        expected_version: int | None = None,
        timeout: float | None = None,
    ) -> None:
        """Replaces the elements in place, of the same dtype and shape.

        Args:
            array: the elements, or their bytes.
            expected_version: the version to replace; if there is another, the call fails with code
                `version-mismatch` and changes nothing.
            timeout: seconds after which the call fails; the client's if None.
        """
        flow = self._client._core.write(self, array, expected_version, timeout)
        self._set(self._client._run(flow))

    def renew(self, ttl: int | None = None) -> None:
        """Renews the lease: the tensor lives `ttl` seconds after its last use, or the client's `lease`.

        With 0 it lives until it is deleted. The client renews the lease of a tensor that it owns by itself.
        """
        self._client._run(self._client._core.renew(self.handle, ttl))

    def describe(self) -> dict[str, Any]:
        """Returns the service's description: name, scope, device, version, createdAt, expiresAt and so on."""
        description = self._client._run(self._client._core.describe(self.handle))
        self._set(description)
        return description

    def detach(self) -> None:
        """Leaves the tensor on the device: the client no longer renews its lease or frees it."""
        self._disown()
        self._client._core.leases.forget(self.handle)

    def delete(self) -> None:
        """Frees the tensor; work that uses it finishes first. Deleting again is no error."""
        self._disown()
        self._client._run(self._client._core.delete(self.handle))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> NDArray:
        if copy is False:
            raise ValueError("a tensor on the device cannot become an array without a copy")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __enter__(self) -> Tensor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._disown():
            self._client._run(self._client._core.free(self.handle))


class AsyncTensor(BaseTensor):
    """A tensor on the device; the asynchronous twin of `Tensor`."""

    def __init__(self, client: AsyncAthanor, description: Mapping[str, Any]) -> None:
        super().__init__(description)
        self._client = client

    async def numpy(self, *, timeout: float | None = None) -> NDArray:
        """Downloads the elements into a new array; see `Tensor.numpy`."""
        return from_bytes(self.dtype, self.shape, await self._bytes(timeout))

    async def raw(self, *, timeout: float | None = None) -> npt.NDArray[np.uint8]:
        """Downloads the bytes, of any dtype: little-endian and row-major."""
        return np.frombuffer(await self._bytes(timeout), np.uint8)

    async def _bytes(self, timeout: float | None) -> bytearray:
        return await self._client._run(self._client._core.read(self.handle, timeout))

    async def update(
        self,
        array: Array | Bytes,
        *,
        expected_version: int | None = None,
        timeout: float | None = None,
    ) -> None:
        """Replaces the elements in place; see `Tensor.update`."""
        flow = self._client._core.write(self, array, expected_version, timeout)
        self._set(await self._client._run(flow))

    async def renew(self, ttl: int | None = None) -> None:
        """Renews the lease; see `Tensor.renew`."""
        await self._client._run(self._client._core.renew(self.handle, ttl))

    async def describe(self) -> dict[str, Any]:
        """Returns the service's description; see `Tensor.describe`."""
        description = await self._client._run(self._client._core.describe(self.handle))
        self._set(description)
        return description

    def detach(self) -> None:
        """Leaves the tensor on the device: the client no longer renews its lease or frees it."""
        self._disown()
        self._client._core.leases.forget(self.handle)

    async def delete(self) -> None:
        """Frees the tensor; work that uses it finishes first. Deleting again is no error."""
        self._disown()
        await self._client._run(self._client._core.delete(self.handle))

    async def __aenter__(self) -> AsyncTensor:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._disown():
            await self._client._run(self._client._core.free(self.handle))

"""Handles of tensors that are resident on the device."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from ._arrays import Array, Bytes, NDArray, from_bytes
from ._http import Flow
from ._method import Asynchronous, Blocking, method

if TYPE_CHECKING:
    from types import TracebackType

    from ._client import Client


class BaseTensor:
    """What tensors of both clients have in common.

    Attributes:
        handle: its name in requests, such as `t_0123…_a`.
        dtype: the service's name of the dtype, such as `f32`.
        shape: its extents, in elements.
        nbytes: its size.
        version: counts the writes in place; as of the last call through this object.
    """

    def __init__(self, client: Client[Any], description: Mapping[str, Any]) -> None:
        self._client = client
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

    @method
    def numpy(self, *, timeout: float | None = None) -> Flow[NDArray]:
        """Downloads the elements into a new array.

        Raises:
            AthanorError: if the call fails, with code `expired-handle` or `unknown-handle` if it is gone.
            TypeError: if numpy has no such dtype; bf16, e4m3 and e5m2 need the package ml_dtypes.
        """
        return from_bytes(self.dtype, self.shape, (yield from self._client._core.read(self.handle, timeout)))

    @method
    def raw(self, *, timeout: float | None = None) -> Flow[npt.NDArray[np.uint8]]:
        """Downloads the bytes, of any dtype: little-endian and row-major."""
        return np.frombuffer((yield from self._client._core.read(self.handle, timeout)), np.uint8)

    @method
    def update(
        self,
        array: Array | Bytes,
        *,
        expected_version: int | None = None,
        timeout: float | None = None,
    ) -> Flow[None]:
        """Replaces the elements in place, of the same dtype and shape.

        Args:
            array: the elements, or their bytes.
            expected_version: the version to replace; if there is another, the call fails with code
                `version-mismatch` and changes nothing.
            timeout: seconds after which the call fails; the client's if None.
        """
        self._set((yield from self._client._core.write(self, array, expected_version, timeout)))

    @method
    def renew(self, ttl: int | None = None) -> Flow[None]:
        """Renews the lease: the tensor lives `ttl` seconds after its last use, or the client's `lease`.

        With 0 it lives until it is deleted. The client renews the lease of a tensor that it owns by itself.
        """
        yield from self._client._core.renew(self.handle, ttl)

    @method
    def describe(self) -> Flow[dict[str, Any]]:
        """Returns the service's description: name, scope, device, version, createdAt, expiresAt and so on."""
        description = yield from self._client._core.describe(self.handle)
        self._set(description)
        return description

    def detach(self) -> None:
        """Leaves the tensor on the device: the client no longer renews its lease or frees it."""
        self._disown()
        self._client._core.leases.forget(self.handle)

    @method
    def delete(self) -> Flow[None]:
        """Frees the tensor; work that uses it finishes first. Deleting again is no error."""
        self._disown()
        yield from self._client._core.delete(self.handle)

    def _run(self, flow: Flow[Any]) -> Any:
        return self._client._run(flow)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.dtype}{list(self.shape)} {self.handle}>"


AnyTensor = TypeVar("AnyTensor", bound=BaseTensor)


class Tensor(BaseTensor, Blocking):
    """A tensor on the device, returned by `upload` and by the ops.

    While it is open, the client renews its lease. It is freed by `delete`, at the end of a `with` block, when
    the client is closed, or some time after it was garbage collected.
    """

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
            self._run(self._client._core.free(self.handle))


class AsyncTensor(BaseTensor, Asynchronous):
    """A tensor on the device; the asynchronous twin of `Tensor`."""

    async def __aenter__(self) -> AsyncTensor:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._disown():
            await self._run(self._client._core.free(self.handle))

"""The asynchronous client."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import httpx

from ._arrays import Array, Bytes, NDArray
from ._async_ops import AsyncOps
from ._core import Attribute, Core, Step
from ._http import Answer, Flow, Settings
from ._tensor import AsyncTensor

if TYPE_CHECKING:
    from types import TracebackType

T = TypeVar("T")


class AsyncAthanor(AsyncOps):
    """A client of one service, made by `athanor.connect_async`; the asynchronous twin of `Athanor`.

    It belongs to one event loop. Cancelling a call closes its connection, upon which the service gives it up.
    """

    def __init__(self, settings: Settings, options: Mapping[str, Any]) -> None:
        self._core = Core(settings)
        self._http = httpx.AsyncClient(**{"verify": settings.encrypted, "timeout": None, **options})
        self._tender: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()

    # -- tensors

    async def upload(
        self,
        array: Array | Bytes,
        *,
        dtype: str | None = None,
        shape: Sequence[int] | None = None,
        name: str | None = None,
        scope: str | None = None,
        device: str | None = None,
        ttl: int | None = None,
        timeout: float | None = None,
    ) -> AsyncTensor:
        """Makes an array resident on the device; see `Athanor.upload`."""
        lease = self._core.settings.lease if ttl is None else ttl
        options = {"name": name, "scope": scope, "device": device, "ttlSeconds": lease}
        description = await self._run(self._core.upload(array, dtype, shape, options, timeout))
        return self._own(description) if ttl is None else AsyncTensor(self, description)

    async def store(
        self,
        name: str,
        array: Array | Bytes,
        *,
        replicas: int | Literal["all"] = 1,
        dtype: str | None = None,
        shape: Sequence[int] | None = None,
        scope: str | None = None,
        device: str | None = None,
        ttl: int | None = None,
        timeout: float | None = None,
    ) -> AsyncTensor:
        """Stores an array under a name; see `Athanor.store`."""
        options = {"replicas": replicas, "scope": scope, "device": device, "ttlSeconds": ttl}
        return AsyncTensor(self, await self._run(self._core.store(name, array, dtype, shape, options, timeout)))

    async def tensor(self, handle: str) -> AsyncTensor:
        """Returns the tensor of a handle, which the client does not own; see `Athanor.tensor`."""
        return AsyncTensor(self, await self._run(self._core.describe(handle)))

    async def tensors(self, scope: str | None = None) -> list[AsyncTensor]:
        """Returns the caller's tensors, newest first; see `Athanor.tensors`."""
        return [AsyncTensor(self, found) for found in await self._run(self._core.list_tensors(scope))]

    async def delete_scope(self, scope: str) -> None:
        """Frees all tensors of a scope."""
        await self._run(self._core.delete_scope(scope))

    # -- ops

    async def _run_op(
        self,
        op: str,
        inputs: Mapping[str, AsyncTensor | Array | None],
        attributes: Mapping[str, Attribute],
        outputs: Sequence[str],
        out: AsyncTensor | Sequence[AsyncTensor | None] | None,
        timeout: float | None,
    ) -> dict[str, AsyncTensor]:
        targets = self._core.targets(op, outputs, out)
        flow = self._core.run_op(op, inputs, attributes, targets, timeout)
        return self._results(await self._run(flow), targets)

    async def run(
        self,
        op: str,
        inputs: Mapping[str, AsyncTensor | Array],
        attributes: Mapping[str, Attribute] | None = None,
        *,
        outputs: Sequence[str],
        out: AsyncTensor | Sequence[AsyncTensor | None] | None = None,
        timeout: float | None = None,
    ) -> dict[str, AsyncTensor]:
        """Runs an op by its name and keeps the named outputs on the device; see `Athanor.run`."""
        return await self._run_op(op, inputs, attributes or {}, outputs, out, timeout)

    async def compute(
        self,
        op: str,
        inputs: Mapping[str, AsyncTensor | Array],
        attributes: Mapping[str, Attribute] | None = None,
        *,
        timeout: float | None = None,
    ) -> dict[str, NDArray]:
        """Runs an op by its name and returns its outputs as arrays, in one request."""
        return await self._run(self._core.compute(op, inputs, attributes or {}, timeout))

    async def pipeline(
        self,
        inputs: Mapping[str, AsyncTensor | Array],
        steps: Sequence[Step],
        outputs: Sequence[str] | Mapping[str, AsyncTensor | None],
        *,
        timeout: float | None = None,
    ) -> dict[str, AsyncTensor]:
        """Runs several ops in one request; see `Athanor.pipeline`."""
        targets = dict(outputs) if isinstance(outputs, Mapping) else dict.fromkeys(outputs)
        return self._results(await self._run(self._core.pipeline(inputs, steps, targets, timeout)), targets)

    # -- the service

    async def ops(self) -> list[dict[str, Any]]:
        """Returns the description of every op of the service, those of plugins included."""
        return await self._run(self._core.ops())

    async def ready(self) -> bool:
        """Returns whether the service can be reached and takes calls."""
        return await self._run(self._core.ready())

    async def close(self) -> None:
        """Frees the tensors that the client owns, as far as the service can be reached, and disconnects."""
        if self._http.is_closed:
            return
        if self._tender:
            self._tender.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._tender
        await self._run(self._core.free_all())
        await self._http.aclose()

    async def __aenter__(self) -> AsyncAthanor:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # -- how flows run

    async def _run(self, flow: Flow[T]) -> T:
        try:
            step = next(flow)
            while True:
                if isinstance(step, float):
                    await asyncio.sleep(step)
                    step = next(flow)
                    continue
                try:
                    answer = await self._send(step)
                except httpx.TransportError as e:
                    step = flow.throw(e)
                else:
                    step = flow.send(answer)
        except StopIteration as stop:
            result: T = stop.value
            return result

    async def _send(self, request: httpx.Request) -> Answer:
        response = await self._http.send(request, stream=True)
        try:
            body = bytearray()
            async for piece in response.aiter_raw():
                body += piece
            return Answer(response.status_code, response.headers, body)
        finally:
            await response.aclose()

    # -- leases

    def _results(
        self, described: Mapping[str, Mapping[str, Any]], targets: Mapping[str, AsyncTensor | None]
    ) -> dict[str, AsyncTensor]:
        results = {}
        for name, description in described.items():
            target = targets.get(name)
            if target is not None:
                target._set(description)
            results[name] = target or self._own(description)
        return results

    def _own(self, description: Mapping[str, Any]) -> AsyncTensor:
        tensor = AsyncTensor(self, description)
        loop = asyncio.get_running_loop()
        tensor._finalizer = weakref.finalize(tensor, self._collected, tensor.handle, loop)
        tensor._finalizer.atexit = False
        self._core.leases.hold(tensor.handle)
        if self._tender is None:
            self._tender = loop.create_task(self._tend(), name="athanor-leases")
        return tensor

    def _collected(self, handle: str, loop: asyncio.AbstractEventLoop) -> None:
        """Notes a tensor that was garbage collected, in whatever thread that happened."""
        self._core.leases.garbage.put(handle)
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(self._wake.set)

    async def _tend(self) -> None:
        """Frees tensors that were garbage collected and renews leases, until it is cancelled."""
        while True:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._wake.wait(), self._core.leases.tick)
            self._wake.clear()
            while not self._core.leases.garbage.empty():
                handle = self._core.leases.garbage.get()
                if handle:
                    await self._run(self._core.free(handle))
            await self._run(self._core.renew_due())

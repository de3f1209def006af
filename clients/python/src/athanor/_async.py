"""The asynchronous client."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from ._client import Client
from ._core import Core
from ._http import Answer, Flow, Settings
from ._method import Asynchronous
from ._models import AsyncModels
from ._tensor import AsyncTensor

if TYPE_CHECKING:
    from types import TracebackType

T = TypeVar("T")


class AsyncAthanor(Client[AsyncTensor], Asynchronous):
    """A client of one service, made by `athanor.connect_async`; the asynchronous twin of `Athanor`.

    It belongs to one event loop. Cancelling a call closes its connection, upon which the service gives it up.
    """

    _tensor_class = AsyncTensor

    def __init__(self, settings: Settings, options: Mapping[str, Any]) -> None:
        self._core = Core(settings)
        self._http = httpx.AsyncClient(**{"verify": settings.encrypted, "timeout": None, **options})
        self._tender: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()

    @property
    def models(self) -> AsyncModels:
        """The stored models: `await a.models["bert"]` is a function, `await a.models()` describes all."""
        return AsyncModels(self)

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
        if events := Answer.of_events(response):
            return events
        try:
            body = bytearray()
            async for piece in response.aiter_raw():
                body += piece
            return Answer(response.status_code, response.headers, body)
        finally:
            await response.aclose()

    # -- leases

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

"""The asynchronous client: what differs from the blocking one."""

from __future__ import annotations

import asyncio
import gc
import time
import unittest
from collections.abc import Awaitable, Callable
from unittest import mock

import numpy as np

import athanor

from . import live
from .scripted import CREATED, Asked, Reply, Scripted, problem, tensor

X = np.arange(6, dtype=np.float32).reshape(2, 3)


async def wait_for(condition: Callable[[], Awaitable[bool]], what: str) -> None:
    end = time.monotonic() + 3600
    while not await condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited for an hour in vain: {what}")
        await asyncio.sleep(0.05)


class AsyncTest(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls) -> None:
        live.url()  # starts the service, which would hold up the event loop

    async def exists(self, a: athanor.AsyncAthanor, handle: str) -> bool:
        try:
            await a.tensor(handle)
        except athanor.AthanorError as e:
            self.assertIn(e.code, ("unknown-handle", "expired-handle"))
            return False
        return True

    async def test_tensors_and_ops(self) -> None:
        async with athanor.connect_async(live.url()) as a:
            self.assertTrue(await a.ready())
            self.assertIn("matmul", [op["name"] for op in await a.ops()])
            async with await a.upload(X, scope="async") as w:
                y = await a.matmul(X, w, transpose_b=True)
                np.testing.assert_allclose(X @ X.T, await y.numpy())
                self.assertEqual([w.handle], [one.handle for one in await a.tensors(scope="async")])
                await w.update(X + 1, expected_version=1)
                self.assertEqual((X + 1).tobytes(), (await w.raw()).tobytes())
                self.assertIs(w, await a.add(w, X, out=w))
                self.assertEqual(3, w.version)
                await w.renew(900)
                self.assertEqual("async", (await w.describe())["scope"])
                named = await a.run("relu", {"x": w}, outputs=["y"])
                np.testing.assert_array_equal(X + X + 1, await named["y"].numpy())
                np.testing.assert_array_equal(X, (await a.compute("relu", {"x": X}))["y"])
                step: athanor.Step = {"op": "relu", "inputs": {"x": w}, "outputs": {"y": "z"}}
                piped = await a.pipeline({}, [step], ["z"])
                np.testing.assert_array_equal(X + X + 1, await piped["z"].numpy())
                await piped["z"].delete()
                self.assertFalse(await self.exists(a, piped["z"].handle))
            self.assertFalse(await self.exists(a, w.handle))
            kept = await a.upload(X, scope="async")
            kept.detach()
            self.assertFalse(kept.owned)
            await a.delete_scope("async")
            self.assertFalse(await self.exists(a, kept.handle))
            with self.assertRaisesRegex(athanor.AthanorError, "^shape-mismatch: .*they must be equal"):
                await a.matmul(X, X)

    async def test_calls_run_side_by_side(self) -> None:
        async with athanor.connect_async(live.url()) as a:
            results = await asyncio.gather(*(a.scale(X, factor=n) for n in range(20)))
            for n, y in enumerate(results):
                np.testing.assert_array_equal(n * X, await y.numpy())

    async def test_leases_are_renewed_and_tensors_freed(self) -> None:
        async with athanor.connect_async(live.url()) as observer:
            async with athanor.connect_async(live.url(), lease=3) as a:
                w, dropped = await a.upload(X), await a.upload(X)
                handle = dropped.handle
                del dropped
                gc.collect()
                await wait_for(lambda: self.gone(observer, handle), "the collected tensor to be freed")
                first = (await w.describe())["expiresAt"]

                async def renewed() -> bool:
                    return bool((await w.describe())["expiresAt"] != first)

                await wait_for(renewed, "a renewal")
            self.assertFalse(await self.exists(observer, w.handle))

    async def gone(self, a: athanor.AsyncAthanor, handle: str) -> bool:
        return not await self.exists(a, handle)

    async def test_retries_do_not_hold_up_the_loop(self) -> None:
        pauses: list[float] = []
        busy = problem(429, "queue-full", {"Retry-After": "3"})
        sleep = asyncio.sleep

        async def note(seconds: float) -> None:
            pauses.append(seconds)
            await sleep(0)

        with Scripted(busy, CREATED) as script:
            a = athanor.connect_async(script.url)
            with mock.patch("asyncio.sleep", note):
                w = await a.upload(X)
            w.detach()
            await a.close()
        self.assertEqual(1, len(pauses))
        self.assertTrue(3 <= pauses[0] <= 3.75)

    async def test_cancelling_a_call_closes_its_connection(self) -> None:
        asked, answer = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def wait(question: Asked) -> Reply:
            loop.call_soon_threadsafe(asked.set)
            asyncio.run_coroutine_threadsafe(answer.wait(), loop).result(3600)
            return Reply(200, {"outputs": {"y": tensor()}})

        with Scripted(wait) as script:
            a = athanor.connect_async(script.url)
            call = asyncio.create_task(a.relu(X))
            await asyncio.wait_for(asked.wait(), 3600)
            call.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await call
            answer.set()
            await a.close()
        self.assertEqual(1, len(script.asked))

    async def test_closing_twice_is_no_error(self) -> None:
        a = athanor.connect_async(live.url())
        w = await a.upload(X)
        tender = a._tender
        await a.close()
        await a.close()
        self.assertTrue(tender is not None and tender.done())
        async with athanor.connect_async(live.url()) as observer:
            self.assertFalse(await self.exists(observer, w.handle))

"""Resident tensors, their leases, and the service's errors."""

from __future__ import annotations

import gc
import threading
import time
import unittest
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import athanor

from . import live

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 3600
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited for an hour in vain: {what}")
        time.sleep(0.05)


class TensorsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.a = athanor.connect(live.url())
        self.addCleanup(self.a.close)
        self.observer = athanor.connect(live.url())
        self.addCleanup(self.observer.close)

    def exists(self, handle: str) -> bool:
        try:
            self.observer.tensor(handle)
        except athanor.AthanorError as e:
            self.assertIn(e.code, ("unknown-handle", "expired-handle"))
            return False
        return True

    def code(self, call: Callable[[], object]) -> str:
        with self.assertRaises(athanor.AthanorError) as raised:
            call()
        self.assertRegex(str(raised.exception.trace_id), "^[0-9a-f]{32}$")
        self.assertIn(raised.exception.detail, str(raised.exception))
        return raised.exception.code

    def test_names(self) -> None:
        with self.assertRaisesRegex(ValueError, 'the name is "t_w"; a name has 1 to 128 letters'):
            self.a.store("t_w", X)
        w = self.a.store("w", X, replicas="all", ttl=300)
        self.assertEqual(("w", False), (w.handle, w.owned))
        self.assertEqual(1, len(w.describe()["replicas"]))
        self.a.store("w", -X)
        same = self.observer.tensor("w")
        self.assertEqual("w", same.handle)
        np.testing.assert_array_equal(-X, same.numpy())
        np.testing.assert_array_equal(X, self.a.scale(same, factor=-1.0).numpy())
        steps: list[athanor.Step] = [{"op": "relu", "inputs": {"x": same}, "outputs": {"y": "w"}}]
        out = self.a.pipeline(inputs={}, steps=steps, outputs=["w"])
        np.testing.assert_array_equal(np.zeros_like(X), out["w"].numpy())
        self.assertEqual("handle-in-use", self.code(lambda: same.update(X)))
        same.delete()
        self.assertFalse(self.exists("w"))

    def test_tensors_without_elements(self) -> None:
        empty = np.zeros((0, 3), np.float32)
        with self.a.upload(empty) as tensor:
            self.assertEqual((0, 3), tensor.shape)
            self.assertEqual((0, 3), tensor.numpy().shape)
            product = self.a.matmul(tensor, np.ones((3, 2), np.float32))
            self.assertEqual((0, 2), product.numpy().shape)
        np.testing.assert_array_equal(np.zeros(3), self.a.reduce(empty, axis=0).numpy())

    def test_upload_and_download(self) -> None:
        with self.a.upload(X, name="weights", scope="test") as w:
            self.assertEqual(("f32", (2, 3), 24, 1, True), (w.dtype, w.shape, w.nbytes, w.version, w.owned))
            np.testing.assert_array_equal(X, w.numpy())
            np.testing.assert_array_equal(X, np.asarray(w))
            self.assertEqual(np.float64, np.asarray(w, np.float64).dtype)
            self.assertTrue(w.numpy().flags.writeable)
            self.assertEqual(X.tobytes(), w.raw().tobytes())
            self.assertEqual(("weights", "test"), (w.describe()["name"], w.describe()["scope"]))
            self.assertIn(w.handle, [one.handle for one in self.a.tensors()])
            self.assertEqual([w.handle], [one.handle for one in self.a.tensors(scope="test")])
            self.assertEqual(f"<Tensor f32[2, 3] {w.handle}>", repr(w))
        self.assertFalse(self.exists(w.handle))
        self.assertIn(self.code(w.numpy), ("unknown-handle", "expired-handle"))

    def test_bytes_stand_for_any_dtype(self) -> None:
        raw = bytes(range(68))
        with self.a.upload(raw, dtype="q8_0", shape=(2, 32)) as w:
            self.assertEqual(("q8_0", (2, 32), 68), (w.dtype, w.shape, w.nbytes))
            self.assertEqual(raw, w.raw().tobytes())
            with self.assertRaisesRegex(TypeError, "numpy has no dtype q8_0"):
                w.numpy()
            w.update(raw[::-1])
            self.assertEqual(raw[::-1], w.raw().tobytes())
        words = np.arange(6, dtype=np.uint8)
        with self.a.upload(words, dtype="bf16", shape=(3,)) as w:
            self.assertEqual(words.tobytes(), w.raw().tobytes())
        with self.assertRaisesRegex(TypeError, "bytes have no dtype and shape; pass dtype= and shape="):
            self.a.upload(raw)
        with self.assertRaisesRegex(ValueError, r"the array is f32\[2, 3\], not f16\[2, 3\]; convert it first"):
            self.a.upload(X, dtype="f16")

    def test_update(self) -> None:
        with self.a.upload(X) as w:
            w.update(X + 1, expected_version=1)
            self.assertEqual(2, w.version)
            np.testing.assert_array_equal(X + 1, w.numpy())
            self.assertEqual("version-mismatch", self.code(lambda: w.update(X, expected_version=1)))
            with self.assertRaisesRegex(ValueError, r"the array is f64\[2, 3\], not f32\[2, 3\]"):
                w.update(X.astype(np.float64))

    def test_outputs_are_written_to_existing_tensors(self) -> None:
        with self.a.upload(X) as w:
            self.assertIs(w, self.a.add(w, X, out=w))
            self.assertEqual(2, w.version)
            np.testing.assert_array_equal(X + X, w.numpy())
            q = self.a.quantize_int8(w, per="row")
            again = self.a.quantize_int8(X, per="row", out=q)
            self.assertEqual((q.q, q.scale), (again.q, again.scale))
            partly = self.a.quantize_int8(X, per="row", out=[None, q.scale])
            self.assertIs(q.scale, partly.scale)
            self.assertNotEqual(q.q.handle, partly.q.handle)
            with self.assertRaisesRegex(
                ValueError, "quantize-int8 gives q, scale, but out has 1 tensors; give 2 or None"
            ):
                self.a.quantize_int8(X, out=[q.q])
            with self.a.upload(np.eye(3, dtype=np.float32)) as square:
                self.assertEqual("handle-in-use", self.code(lambda: self.a.matmul(square, square, out=square)))

    def test_ops_by_name(self) -> None:
        with self.a.upload(X) as w:
            y = self.a.run("matmul", {"a": X, "b": w}, {"transposeB": True}, outputs=["c"])["c"]
            np.testing.assert_allclose(X @ X.T, y.numpy())
            np.testing.assert_allclose(
                X @ X.T, self.a.compute("matmul", {"a": w, "b": X}, {"transposeB": True})["c"]
            )
        for name in ("no-such-op", "matmul?c=handle"):
            self.assertEqual("unknown-op", self.code(lambda name=name: self.a.compute(name, {"x": X})))  # type: ignore[misc]

    def test_pipeline(self) -> None:
        with self.a.upload(np.eye(3, dtype=np.float32)) as w, self.a.upload(X) as into:
            steps: list[athanor.Step] = [
                {"op": "scale", "inputs": {"x": "x"}, "attributes": {"factor": 2}, "outputs": {"y": "h"}},
                {"op": "matmul", "inputs": {"a": "h", "b": w}, "outputs": {"c": "z"}},
            ]
            np.testing.assert_allclose(2 * X, self.a.pipeline({"x": X}, steps, ["z"])["z"].numpy())
            self.assertIs(into, self.a.pipeline({"x": X}, steps, {"z": into})["z"])
            np.testing.assert_allclose(2 * X, into.numpy())
            kept = self.a.pipeline({"x": X}, steps, {"z": None, "h": into})
            self.assertEqual({"z", "h"}, kept.keys())
            del steps[1]["inputs"]
            with self.assertRaises(athanor.AthanorError) as raised:
                self.a.pipeline({"x": X}, steps, ["z"])
            e = raised.exception
            self.assertEqual(("missing-input", 400, 1, "matmul"), (e.code, e.status, e.step, e.op))
            self.assertEqual("steps[1].inputs.a", e.field)
            self.assertRegex(str(e), r"^missing-input in step 1: .* \[trace [0-9a-f]{32}\]$")

    def test_views(self) -> None:
        """Steps read parts of tensors and of values."""
        with self.a.upload(np.arange(6, dtype=np.float32).reshape(2, 3)) as x:
            for ref in (x, x.handle):
                steps: list[athanor.Step] = [
                    {
                        "op": "scale",
                        "inputs": {"x": {"ref": ref, "shape": [3, 2], "strides": [1, 3]}},
                        "outputs": {"y": "h"},
                    },
                    {
                        "op": "scale",
                        "inputs": {"x": {"ref": "h", "shape": [2], "offset": 1}},
                        "outputs": {"y": "y"},
                    },
                ]
                out = self.a.pipeline({}, steps, ["h", "y"])
                np.testing.assert_array_equal([[0, 3], [1, 4], [2, 5]], out["h"].numpy())
                np.testing.assert_array_equal([3, 1], out["y"].numpy())

    def test_errors_say_what_is_wrong(self) -> None:
        with self.assertRaises(athanor.AthanorError) as raised:
            self.a.matmul(X, X)
        e = raised.exception
        self.assertEqual(("shape-mismatch", 400, "matmul", None), (e.code, e.status, e.op, e.step))
        self.assertEqual("inputs.b", e.field)
        self.assertIn("they must be equal", e.detail)
        self.assertEqual("urn:athanor:problem:shape-mismatch", e.problem["type"])
        self.assertEqual("unsupported-dtype", self.code(lambda: self.a.relu(np.arange(3))))
        self.assertEqual("invalid-attribute", self.code(lambda: self.a.scale(X, factor="wide")))  # type: ignore[arg-type]
        self.assertEqual("unknown-handle", self.code(lambda: self.a.tensor("t_" + "0" * 32 + "_a")))

    def test_deadlines(self) -> None:
        x = np.ones((256, 256), np.float32)
        self.assertEqual("deadline-exceeded", self.code(lambda: self.a.matmul(x, x, timeout=0.002)))

    def test_leases_are_renewed_while_tensors_are_open(self) -> None:
        lease = 3
        while not self.renewed(lease):
            lease *= 2  # on a slow machine, a lease may expire before the client can renew it

    def renewed(self, lease: int) -> bool:
        try:
            with athanor.connect(live.url(), lease=lease) as a:
                w, y = a.upload(X), a.relu(X)
                first = w.describe()["expiresAt"]
                wait_for(lambda: w.describe()["expiresAt"] != first, "a renewal of w")
                first = y.describe()["expiresAt"]
                wait_for(lambda: y.describe()["expiresAt"] != first, "a renewal of y")
                # Two leases later both are still there, though nobody used them.
                end = time.monotonic() + 2 * lease
                wait_for(lambda: time.monotonic() > end, "the end of two leases")
                w.describe()
                y.describe()
        except athanor.AthanorError as e:
            self.assertEqual("expired-handle", e.code)
            return False
        self.assertFalse(self.exists(w.handle) or self.exists(y.handle))
        return True

    def test_lost_leases_are_given_up(self) -> None:
        with athanor.connect(live.url(), lease=1) as a:
            w = a.upload(X)
            self.observer.tensor(w.handle).delete()
            with self.assertLogs("athanor", "WARNING") as logs:
                wait_for(lambda: not a._core.leases._due, "the client to give up the lease")
            self.assertIn(f"The lease of {w.handle} was not renewed", logs.output[0])

    def test_tensors_that_nobody_refers_to_are_freed(self) -> None:
        kept, dropped = self.a.relu(X), self.a.relu(X)
        handle = dropped.handle
        del dropped
        gc.collect()
        wait_for(lambda: not self.exists(handle), "the collected tensor to be freed")
        self.assertTrue(self.exists(kept.handle))

    def test_tensors_that_the_client_does_not_own_stay(self) -> None:
        with athanor.connect(live.url()) as a:
            timed, detached = a.upload(X, ttl=600, scope="shared"), a.upload(X, scope="shared")
            detached.detach()
            borrowed = a.tensor(timed.handle)
            self.assertFalse(timed.owned or detached.owned or borrowed.owned)
            with borrowed:
                pass
            del borrowed
        self.assertTrue(self.exists(timed.handle) and self.exists(detached.handle))
        found = self.observer.tensor(detached.handle)
        found.renew(0)
        self.assertIsNone(found.describe()["expiresAt"])
        self.observer.delete_scope("shared")
        self.assertFalse(self.exists(timed.handle) or self.exists(detached.handle))

    def test_deleting_twice_is_no_error(self) -> None:
        w = self.a.upload(X)
        w.delete()
        w.delete()
        self.assertFalse(w.owned)

    def test_closing_twice_is_no_error_and_ends_the_thread(self) -> None:
        a = athanor.connect(live.url())
        w = a.upload(X)
        tender = a._tender
        assert tender is not None
        a.close()
        a.close()
        self.assertFalse(tender.is_alive())
        self.assertFalse(self.exists(w.handle))
        with self.assertRaisesRegex(RuntimeError, "closed"):
            a.upload(X)

    def test_a_client_that_is_forgotten_ends_its_thread(self) -> None:
        a = athanor.connect(live.url(), lease=1)
        a.upload(X)
        tender = a._tender
        assert tender is not None
        del a
        with warnings.catch_warnings():  # its connection was not closed either
            warnings.simplefilter("ignore", ResourceWarning)
            wait_for(lambda: gc.collect() >= 0 and not tender.is_alive(), "the thread to end")

    def test_threads_share_a_client(self) -> None:
        w = self.a.upload(X)
        barrier = threading.Barrier(8)

        def work(number: int) -> None:
            barrier.wait(60)
            for _ in range(5):
                with self.a.upload(X * number) as x:
                    np.testing.assert_array_equal(X * number + X, self.a.add(x, w).numpy())

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))

    def test_ready(self) -> None:
        self.assertTrue(self.a.ready())
        with athanor.connect(live.refusing()) as nowhere:
            self.assertFalse(nowhere.ready())

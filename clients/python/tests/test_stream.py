"""Ops over a gRPC stream, against a scripted gRPC server and against the service."""

from __future__ import annotations

import contextlib
import sys
import threading
import unittest
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import grpc
import numpy as np

import athanor
from athanor._messages import ErrorInfo, RetryInfo, RunRequest, RunStreamResponse, Status
from athanor._stream import Stream

from . import live
from .scripted import Reply, Scripted

X = np.arange(6, dtype=np.float32).reshape(2, 3)
Script = Callable[[Iterator[Any], Any], Iterator[Any]]


def ran(number: int) -> Any:
    answer = RunStreamResponse()
    resident = answer.response.outputs["y"].resident
    resident.handle, resident.dtype, resident.bytes, resident.version = f"t_{number}", "f32", 24, 1
    resident.shape.extend([2, 3])
    return answer


def status(code: str, message: str, **metadata: str) -> Any:
    status = Status(code=3, message=message)
    details = [
        ("ErrorInfo", ErrorInfo(reason=code, metadata=metadata)),
        ("RetryInfo", RetryInfo(retry_delay={"seconds": 2, "nanos": 500_000_000})),
    ]
    for name, detail in details:
        status.details.add(type_url=f"type.googleapis.com/google.rpc.{name}", value=detail.SerializeToString())
    return status


def failed(code: str, message: str, **metadata: str) -> Any:
    return RunStreamResponse(error=status(code, message, **metadata))


class StreamTest(unittest.TestCase):
    def setUp(self) -> None:
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)

    def serve(self, script: Script) -> str:
        """Starts a gRPC server that answers as a script says, and returns its URL."""
        handler = grpc.stream_stream_rpc_method_handler(
            script, RunRequest.FromString, RunStreamResponse.SerializeToString
        )
        threads = ThreadPoolExecutor(4)
        self.addCleanup(threads.shutdown)
        self.server = grpc.server(threads)
        self.server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("athanor.v1.Ops", {"RunStream": handler}),)
        )
        port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()
        self.addCleanup(lambda: self.server.stop(None).wait())
        return f"grpc://127.0.0.1:{port}"

    def client(self, **options: Any) -> athanor.Athanor:
        script = self.stack.enter_context(Scripted(Reply(204)))  # for the deletion of results
        return self.stack.enter_context(athanor.connect(script.url, **options))

    def stream(self, script: Script, **options: Any) -> Stream:
        return self.stack.enter_context(self.client().stream(self.serve(script), **options))

    def error(self, call: Callable[[], object]) -> athanor.AthanorError:
        with self.assertRaises(athanor.AthanorError) as raised:
            call()
        return raised.exception

    def test_calls_are_messages(self) -> None:
        asked = []

        def script(requests: Iterator[Any], context: Any) -> Iterator[Any]:
            for request in requests:
                asked.append(request)
                yield ran(len(asked))

        s = self.stream(script)
        w = s.relu(X).result()
        self.assertEqual(("t_1", "f32", (2, 3), 24, True), (w.handle, w.dtype, w.shape, w.nbytes, w.owned))
        s.run("some-op", {"x": w}, {"a": True, "b": np.int64(2), "c": 0.5, "d": "e", "f": None}, outputs=["y"])
        lists: dict[str, Any] = {"a": [0, 2], "b": (0.5, 2), "c": [], "d": np.array([1.5])}
        s.run("some-op", {"x": w}, lists, outputs=["y"]).result()
        self.assertIs(w, s.relu(w, out=w).result())
        self.assertEqual("t_4", w.handle)
        relu, some, listed, into = asked
        self.assertEqual(("relu", ["x"]), (relu.op, list(relu.inputs)))
        inline = relu.inputs["x"].inline
        self.assertEqual(("f32", [2, 3], X.tobytes()), (inline.dtype, list(inline.shape), inline.data))
        self.assertTrue(relu.outputs["y"].keep)
        self.assertEqual("t_1", some.inputs["x"].handle)
        values = {name: (one.WhichOneof("value"), one) for name, one in some.attributes.items()}
        self.assertEqual(
            {"a": "flag", "b": "integer", "c": "number", "d": "text"},
            {name: kind for name, (kind, _) in values.items()},
        )
        self.assertEqual([True, 2, 0.5, "e"], [getattr(one, kind) for _, (kind, one) in sorted(values.items())])
        integers = {
            name: list(one.integers.values)
            for name, one in listed.attributes.items()
            if one.HasField("integers")
        }
        numbers = {
            name: list(one.numbers.values) for name, one in listed.attributes.items() if one.HasField("numbers")
        }
        self.assertEqual(({"a": [0, 2], "c": []}, {"b": [0.5, 2.0], "d": [1.5]}), (integers, numbers))
        self.assertEqual(("t_1", "t_1"), (into.inputs["x"].handle, into.outputs["y"].into))

    def test_answers_belong_to_their_calls(self) -> None:
        def script(requests: Iterator[Any], context: Any) -> Iterator[Any]:
            first = [next(requests) for _ in range(3)]  # before any answer
            for n in range(len(first)):
                yield failed("shape-mismatch", "no", op="relu", field="x", freeBytes="7") if n == 1 else ran(n)
            yield from (ran(3) for _ in requests)

        with self.stream(script) as s:
            futures = [s.relu(X) for _ in range(3)]
            self.assertEqual("t_2", futures[2].result().handle)
            self.assertEqual("t_0", futures[0].result().handle)
            e = self.error(futures[1].result)
            last = s.relu(X)
        self.assertEqual("t_3", last.result(0).handle)  # closing has waited for it
        self.assertEqual(("shape-mismatch", "no", None, 2.5), (e.code, e.detail, e.status, e.retry_after))
        self.assertEqual(("relu", "x", 7), (e.op, e.field, e.problem["freeBytes"]))
        with self.assertRaisesRegex(RuntimeError, "^the stream is closed$"):
            s.relu(X)
        s.close()

    def test_the_window_limits_unanswered_calls(self) -> None:
        most = []

        def script(requests: Iterator[Any], context: Any) -> Iterator[Any]:
            unanswered = threading.Semaphore(0)
            answered = 0

            def read() -> None:
                for n, _ in enumerate(requests, 1):
                    most.append(n - answered)
                    unanswered.release()

            reader = threading.Thread(target=read)
            reader.start()
            for n in range(30):
                unanswered.acquire()
                answered += 1
                yield ran(n)
            reader.join()

        with self.stream(script, window=3) as s:
            futures = [s.relu(X) for _ in range(30)]
        self.assertEqual([f"t_{n}" for n in range(30)], [one.result().handle for one in futures])
        self.assertLessEqual(max(most), 3)

    def test_a_full_window_blocks_until_the_stream_breaks(self) -> None:
        asked, ended = threading.Event(), threading.Event()

        def script(requests: Iterator[Any], context: Any) -> Iterator[Any]:
            context.add_callback(ended.set)
            next(requests)
            yield ran(0)
            next(requests), next(requests)
            asked.set()
            ended.wait()

        s = self.stream(script, window=2)
        self.assertEqual("t_0", s.relu(X).result().handle)
        futures = [s.relu(X), s.relu(X)]
        blocked = ThreadPoolExecutor(1)
        self.addCleanup(blocked.shutdown)
        more = blocked.submit(s.relu, X)
        asked.wait()
        self.server.stop(None)
        errors = [self.error(one.result) for one in futures]
        errors += [self.error(more.result), self.error(lambda: s.relu(X))]
        for e in errors:
            self.assertEqual(("connection-failed", None), (e.code, e.status))
            self.assertRegex(e.detail, r"^grpc://127\.0\.0\.1:\d+ cannot be reached: ")

    def test_a_stream_that_ends(self) -> None:
        def ends(requests: Iterator[Any], context: Any) -> Iterator[Any]:
            next(requests)
            yield ran(1)

        s = self.stream(ends)
        s.relu(X).result()
        with contextlib.suppress(athanor.AthanorError):
            s.relu(X).result()
        e = self.error(lambda: s.relu(X))
        self.assertEqual("connection-failed", e.code)
        self.assertRegex(e.detail, r"^grpc://127\.0\.0\.1:\d+ ended the stream\.$")

        def is_early(requests: Iterator[Any], context: Any) -> Iterator[Any]:
            yield ran(1)
            yield from (ran(2) for _ in requests)

        s = self.stream(is_early)
        s._receiver.join()
        e = self.error(lambda: s.relu(X))
        self.assertEqual("unexpected-answer", e.code)
        self.assertRegex(e.detail, r" sent an answer to no call\.$")

        def refuses(requests: Iterator[Any], context: Any) -> Iterator[Any]:
            details = status("unauthenticated", "Unknown API key.", traceId="ab" * 16).SerializeToString()
            context.set_trailing_metadata((("grpc-status-details-bin", details),))
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "Unknown API key.")
            yield

        e = self.error(lambda: self.stream(refuses).relu(X).result())
        self.assertEqual(("unauthenticated", "ab" * 16), (e.code, e.trace_id))
        self.assertEqual("Unknown API key.", e.detail)

        def knows_no_streams(requests: Iterator[Any], context: Any) -> Iterator[Any]:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "no such method")
            yield

        e = self.error(lambda: self.stream(knows_no_streams).relu(X).result())
        self.assertEqual("unexpected-answer", e.code)
        self.assertRegex(e.detail, r" ended the stream with UNIMPLEMENTED \(no such method\)\.$")

    def test_a_server_that_is_not_there(self) -> None:
        url = live.refusing().replace("http:", "grpc:")
        with self.client().stream(url) as s:
            e = self.error(lambda: s.relu(X).result())
        self.assertEqual("connection-failed", e.code)
        self.assertRegex(e.detail, f"^{url} cannot be reached: ")

    def test_credentials_and_headers(self) -> None:
        given: dict[str, str] = {}

        def script(requests: Iterator[Any], context: Any) -> Iterator[Any]:
            given.update(context.invocation_metadata())
            yield from (ran(1) for _ in requests)

        a = self.client(api_key=lambda: "secret", headers={"X-Priority": "1"})
        with a.stream(self.serve(script)) as s:
            s.relu(X).result()
        self.assertEqual(("Bearer secret", "1"), (given["authorization"], given["x-priority"]))
        self.assertRegex(given["user-agent"], r"^athanor-python/\d+\.\d+\.\d+ ")

    def test_arguments_are_checked(self) -> None:
        a = self.client(verify=False)
        for url in ("127.0.0.1:9090", "http://127.0.0.1:9090", "grpc://"):
            with self.assertRaisesRegex(
                ValueError, f"'{url}' is no URL of a gRPC server; pass one such as grpc://"
            ):
                a.stream(url)
        with self.assertRaisesRegex(ValueError, "window is 0; it must be 1 call or more"):
            a.stream("grpc://127.0.0.1", window=0)
        with self.assertRaisesRegex(
            ValueError, "gRPC always checks certificates; pass verify=True, or credentials="
        ):
            a.stream("grpcs://127.0.0.1")
        s = self.stream(lambda requests, context: (ran(1) for _ in requests), window=1)
        with self.assertRaisesRegex(ValueError, r"no timeout; pass the timeout to result\(\) of its future"):
            s.relu(X, timeout=1)
        with self.assertRaisesRegex(TypeError, "Future is no array"):
            s.relu(s.relu(X))  # type: ignore[arg-type]
        self.assertEqual("t_1", s.relu(X).result().handle)

    def test_the_extra_is_optional(self) -> None:
        modules = {name: module for name, module in sys.modules.items() if name != "athanor._stream"}
        with (
            mock.patch.dict(sys.modules, {**modules, "grpc": None}, clear=True),
            self.assertRaisesRegex(ImportError, r"^a stream needs .*: pip install 'athanor\[grpc\]' \("),
        ):
            self.client().stream("grpc://127.0.0.1")


class LiveStreamTest(unittest.TestCase):
    def test_calls_run_in_their_order(self) -> None:
        with athanor.connect(live.url()) as a, a.stream(live.grpc_url(), window=8) as s:
            w = a.upload(X)
            sums = [s.add(w, X, out=w) for _ in range(50)]  # each reads what the one before has written
            wrong = s.matmul(X, X)
            total = s.compute("scale", {"x": w}, {"factor": 2})
            self.assertEqual({w}, {one.result() for one in sums})
            self.assertEqual(51, w.version)
            np.testing.assert_array_equal(51 * X, w.numpy())
            (y,) = total.result().values()
            np.testing.assert_array_equal(102 * X, y)
            self.assertTrue(y.flags.writeable)
            with self.assertRaises(athanor.AthanorError) as raised:
                wrong.result()
            e = raised.exception
            self.assertEqual(("shape-mismatch", "matmul", None), (e.code, e.op, e.status))
            self.assertRegex(str(e.trace_id), "^[0-9a-f]{32}$")
            results = [s.quantize_int8(X * n, per="row") for n in range(1, 20)]
            for n, one in enumerate(results, 1):
                np.testing.assert_allclose(n * X.max(-1) / 127, one.result().scale.numpy(), 1e-6)

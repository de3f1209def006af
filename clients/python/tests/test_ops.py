"""Every op method, on both clients, against numpy."""

from __future__ import annotations

import inspect
import keyword
import unittest
from typing import Any

import numpy as np

import athanor
from athanor._ops import Ops

from . import live
from .examples import Example, Raw, examples

METHODS = {name for name, _ in inspect.getmembers(Ops, inspect.isfunction) if not name.startswith("_")}


def read(tensors: list[Any], example: Example) -> list[Any]:
    """Returns the elements of tensors, or their bytes if numpy lacks the dtype."""
    return [
        one and (one.raw() if isinstance(expected, Raw) else one.numpy())
        for one, expected in zip(tensors, example.expected, strict=True)
    ]


class OpsTest(unittest.TestCase):
    def compare(self, example: Example, outputs: list[Any]) -> None:
        self.assertEqual(len(example.expected), len(outputs))
        for expected, output in zip(example.expected, outputs, strict=True):
            if expected is None:
                continue
            if isinstance(expected, Raw):
                self.assertEqual(expected.data, output.tobytes())
                continue
            self.assertEqual(np.shape(expected), output.shape)
            np.testing.assert_allclose(output, expected, example.tolerance, example.tolerance)

    def test_every_op_equals_numpy(self) -> None:
        table = examples()
        self.assertEqual(METHODS, table.keys())
        with athanor.connect(live.url()) as a:
            words = {op["name"].replace("-", "_") for op in a.ops()}
            self.assertEqual(METHODS, {word + "_" * keyword.iskeyword(word) for word in words})
            for name, example in table.items():
                with self.subTest(name):
                    inputs = [
                        a.upload(one.data, dtype=one.dtype, shape=one.shape) if isinstance(one, Raw) else one
                        for one in example.inputs
                    ]
                    result = getattr(a, name)(*inputs, **example.attributes)
                    tensors = [result] if isinstance(result, athanor.Tensor) else list(result)
                    self.compare(example, read(tensors, example))

    def test_every_op_equals_numpy_over_a_stream(self) -> None:
        with athanor.connect(live.url()) as a, a.stream(live.grpc_url()) as s:
            calls = {}
            for name, example in examples().items():
                inputs = [
                    a.upload(one.data, dtype=one.dtype, shape=one.shape) if isinstance(one, Raw) else one
                    for one in example.inputs
                ]
                calls[name] = example, getattr(s, name)(*inputs, **example.attributes)
            for name, (example, future) in calls.items():
                with self.subTest(name):
                    result = future.result()
                    tensors = [result] if isinstance(result, athanor.Tensor) else list(result)
                    self.compare(example, read(tensors, example))


class AsyncOpsTest(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls) -> None:
        live.url()  # starts the service, which would hold up the event loop

    async def test_every_op_equals_numpy(self) -> None:
        compare = OpsTest().compare
        async with athanor.connect_async(live.url()) as a:
            for name, example in examples().items():
                with self.subTest(name):
                    inputs = [
                        await a.upload(one.data, dtype=one.dtype, shape=one.shape)
                        if isinstance(one, Raw)
                        else one
                        for one in example.inputs
                    ]
                    result = await getattr(a, name)(*inputs, **example.attributes)
                    tensors = [result] if isinstance(result, athanor.AsyncTensor) else list(result)
                    compare(example, [one and await one for one in read(tensors, example)])

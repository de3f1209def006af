"""Lists of inputs, outputs and attribute values, in methods generated from a catalogue of this test."""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
import unittest
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import parse_qs, urlsplit

import numpy as np

import athanor
from athanor._arrays import decode_safetensors
from athanor._async import AsyncAthanor
from athanor._client import Athanor, OpCaller
from athanor._http import Settings, _text

from .scripted import Asked, Reply, Scripted, tensor

PROJECT = Path(__file__).resolve().parents[1]
CATALOGUE = PROJECT.parent / "java/src/test/resources/lists/ops.json"
X = np.ones(2, np.float32)


def generated() -> str:
    with mock.patch.object(sys, "path", [str(PROJECT), *sys.path]):
        from generate import module
    return str(module(json.loads(CATALOGUE.read_text("utf-8"))["ops"]))


def methods() -> Any:
    """Returns the class with the generated methods."""
    scope = {"__name__": "athanor._lists", "__package__": "athanor"}
    exec(compile(generated(), "_lists.py", "exec"), scope)
    return scope["Ops"]


OPS: Any = methods()


class Lists(OPS, Athanor):  # type: ignore[misc]
    _run_op = OpCaller._run_op


class AsyncLists(OPS, AsyncAthanor):  # type: ignore[misc]
    _run_op = OpCaller._run_op


def answer(asked: Asked) -> Reply:
    """Returns a tensor for each output that a call names."""
    if asked.method == "DELETE":
        return Reply(204)
    query = parse_qs(urlsplit(asked.path).query)
    names = [name for name in query if name[0] == "y" or name == "sum"]
    return Reply(200, {"outputs": {name: tensor(1 + i) for i, name in enumerate(names)}})


class ListsTest(unittest.TestCase):
    def setUp(self) -> None:
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.script = stack.enter_context(Scripted(answer))
        self.client: Any = Lists(Settings(self.script.url), {})
        self.addCleanup(self.client.close)

    def asked(self) -> tuple[str, dict[str, list[str]], set[str]]:
        """Returns the path, the query and the sent arrays of the last call of an op."""
        last = self.script.asked_for("POST")[-1]
        parts = urlsplit(last.path)
        query = parse_qs(parts.query, keep_blank_values=True)
        return parts.path, query, set(decode_safetensors(bytearray(last.body)))

    def test_lists_of_inputs(self) -> None:
        y = self.client.concat([X, X, X], axis=1)
        self.assertEqual(("/ops/concat", {"axis": ["1"], "y": ["handle"]}, {"x0", "x1", "x2"}), self.asked())
        self.client.concat([y, X])
        self.assertEqual(
            ("/ops/concat", {"axis": ["0"], "x0": [y.handle], "y": ["handle"]}, {"x1"}), self.asked()
        )
        with self.assertRaisesRegex(
            TypeError, r"^x is a list of tensors and arrays, but one ndarray is given; pass \[x\]$"
        ):
            self.client.concat(X)

    def test_lists_of_outputs(self) -> None:
        parts = self.client.split(X, splits=[1, 1], y_count=2)
        self.assertEqual([tensor(1)["handle"], tensor(2)["handle"]], [one.handle for one in parts])
        self.assertEqual(
            {"splits": ["1,1"], "axis": ["0"], "y0": ["handle"], "y1": ["handle"]}, self.asked()[1]
        )
        again = self.client.split(X, splits=[1, 1], y_count=2, out=[None, parts[1]])
        self.assertIs(parts[1], again[1])
        self.assertEqual([tensor(2)["handle"]], self.asked()[1]["y1"])
        with self.assertRaisesRegex(ValueError, "^y_count is 0; it must be 1 output or more$"):
            self.client.split(X, splits=[1], y_count=0)
        with self.assertRaisesRegex(ValueError, "split gives y0, y1, but out has 1 tensors; give 2 or None"):
            self.client.split(X, splits=[1, 1], y_count=2, out=[parts[0]])

    def test_lists_beside_others(self) -> None:
        result = self.client.map(
            X, [X, X], expression="x0 + c0", constants=(0.5, 2), axes=np.array([0, 2]), y_count=1
        )
        self.assertEqual(
            ([tensor(1)["handle"]], tensor(2)["handle"]), ([result.y[0].handle], result.sum.handle)
        )
        path, query, arrays = self.asked()
        self.assertEqual("/ops/map", path)
        self.assertEqual({"w", "x0", "x1"}, arrays)
        self.assertEqual(
            (["x0 + c0"], ["0.5,2"], ["0,2"]), (query["expression"], query["constants"], query["axes"])
        )
        self.client.map(X, expression="w", y_count=1, axes=[])
        _, query, arrays = self.asked()
        self.assertEqual(({"w"}, [""]), (arrays, query["axes"]))
        self.assertNotIn("constants", query)

    def test_texts_of_attributes(self) -> None:
        values = [[0, 2], (0.5, True), np.float32(0.5), np.int64(2), np.bool_(True), "a,b", []]
        self.assertEqual(["0,2", "0.5,true", "0.5", "2", "true", "a,b", ""], [_text(one) for one in values])

    def test_signatures_and_docstrings(self) -> None:
        split, map = inspect.signature(Lists.split), inspect.signature(Lists.map)
        self.assertEqual("list[Tensor]", split.return_annotation)
        self.assertEqual("MapResult[Tensor]", map.return_annotation)
        self.assertEqual("Sequence[int]", split.parameters["splits"].annotation)
        self.assertEqual("Sequence[float] | None", map.parameters["constants"].annotation)
        self.assertEqual("str", map.parameters["expression"].annotation)
        self.assertEqual("Sequence[Tensor | Array] | None", map.parameters["x"].annotation)
        self.assertIn("x: […] of f32: the parts; at most 32 tensors.", Lists.concat.__doc__)
        self.assertIn("y_count: the number of outputs, 1 to 32.", Lists.split.__doc__)

    def test_pipelines_send_lists(self) -> None:
        step: athanor.Step = {
            "op": "permute",
            "inputs": {"x": "x"},
            "attributes": {"axes": [1, 0]},
            "outputs": {"y": "y"},
        }
        self.client.pipeline({"x": X}, [step], [])
        self.assertEqual(
            [1, 0], json.loads(self.script.asked_for("POST")[-1].body)["steps"][0]["attributes"]["axes"]
        )

    def test_the_generator_is_deterministic(self) -> None:
        self.assertEqual(generated(), generated())


class AsyncListsTest(unittest.IsolatedAsyncioTestCase):
    async def test_lists(self) -> None:
        with Scripted(answer) as script:
            client: Any = AsyncLists(Settings(script.url), {})
            async with client:
                parts = await client.split(X, splits=[1, 1], y_count=2)
                y = await client.concat(parts)
            self.assertEqual(2, len(parts))
            self.assertEqual(tensor(1)["handle"], y.handle)
            path = script.asked_for("POST")[-1].path
        self.assertIn(f"x0={parts[0].handle}&x1={parts[1].handle}", path)

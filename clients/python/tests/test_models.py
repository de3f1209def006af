"""Blocks of models give the numbers of their references, each in one call."""

from __future__ import annotations

import base64
import json
import os
import unittest
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

import athanor

from . import convolutional, experts, live, models, recurrent, training
from .test_package import PROJECT

DOCUMENT = PROJECT / "../../docs/models.md"
MARK = "<!-- Made from what the tests measure. -->"
HEADER = f"""\
{MARK}

Blocks of models as [pipelines](quick-start.md#pipelines), written by hand. `ModelsTest` of the Python client
compares them with NumPy in float64. Weights, caches, the token and its position are resident. *Sent* and *returned*
are the bytes of tensors in a call, *copied* those that steps copy without changing them.

| block | steps | calls | sent | returned | copied |
| --- | --- | --- | --- | --- | --- |
"""
DTYPES = {"f32": np.float32, "i64": np.int64, "i32": np.int32, "bool": np.bool_}


class ModelsTest(unittest.TestCase):
    rows: list[str] = []  # noqa: RUF012

    def setUp(self) -> None:
        self.client = athanor.connect(live.url())
        self.addCleanup(self.client.close)

    def load(self, block: models.Block) -> dict[str, athanor.Tensor]:
        tensors = {name: self.client.upload(values) for name, values in block.resident.items()}
        for tensor in tensors.values():
            self.addCleanup(tensor.delete)
        return tensors

    def run_once(self, block: models.Block, tensors: dict[str, athanor.Tensor]) -> list[Any]:
        """Runs a block in one request, and returns its inline outputs."""

        def source(given: Any) -> Any:
            if isinstance(given, dict):
                return {**given, "ref": source(given["ref"])}
            return tensors[given].handle if given in tensors else given

        steps = [{**s, "inputs": {k: source(v) for k, v in s["inputs"].items()}} for s in block.steps]
        outputs = {
            name: {"as": "inline", "encoding": "base64"} if into is None else {"into": tensors[into].handle}
            for name, into in block.outputs.items()
        }
        inputs = {
            name: {
                "dtype": next(text for text, dtype in DTYPES.items() if values.dtype == dtype),
                "shape": values.shape,
                "base64": base64.b64encode(values).decode(),
            }
            for name, values in block.inputs.items()
        }
        body = json.dumps({"inputs": inputs, "steps": steps, "outputs": outputs}).encode()
        request = urllib.request.Request(
            f"{live.url()}/pipelines/run", body, {"Content-Type": "application/json", "X-Deadline-Ms": "60000"}
        )
        try:
            with urllib.request.urlopen(request) as response:
                answer = json.load(response)
        except urllib.error.HTTPError as e:
            raise AssertionError(e.read().decode()) from e
        values = [
            np.frombuffer(base64.b64decode(one["base64"]), DTYPES[one["dtype"]]).reshape(one["shape"])
            for one in answer["outputs"].values()
            if "base64" in one
        ]
        sent = sum(each.nbytes for each in block.inputs.values())
        returned = sum(each.nbytes for each in values)
        numbers = (len(steps), 1, sent, returned, self.copied(answer))
        self.row = f"| {block.name} | {' | '.join(map(str, numbers))} |"
        return values

    def copied(self, answer: dict[str, Any]) -> int:
        return sum(step.get("copiedBytes", 0) for step in answer["steps"])

    def test_llama(self) -> None:
        """Generates tokens; the state of 32 layers stays on the device and changes in place."""
        for layers, tokens in ((2, 12), (32, 2)):
            block = models.Llama(layers)
            tensors = self.load(block)
            generated = [int(self.run_once(block, tensors)[0][0]) for _ in range(tokens)]
            self.assertEqual(block.reference(tokens), generated)
            self.assertEqual([tokens], tensors["position"].numpy().tolist())
            self.assertEqual(tokens + 1, self.client.tensor(tensors["k0"].handle).version)
        self.rows.append(self.row)

    def test_recurrent(self) -> None:
        """Computes a prompt and two more tokens; the states stay on the device and change in place."""
        for kind in (recurrent.Mamba2, recurrent.GatedDelta):
            prompt, token = kind(9), kind(1)
            tensors, found = self.load(prompt), []
            shape = (prompt.BATCH, 11, prompt.HIDDEN)
            x = np.random.default_rng(8).standard_normal(shape).astype(np.float32)
            for block, first in ((prompt, 0), (token, 9), (token, 10)):
                given = x[:, first : first + block.length]
                block.inputs["x"] = np.ascontiguousarray(given).reshape(-1, prompt.HIDDEN)
                (result,) = self.run_once(block, tensors)
                found.append(result.reshape(given.shape))
                if first < 10:
                    self.rows.append(self.row)
            expected = prompt.reference(x)
            np.testing.assert_allclose(
                np.concatenate(found, 1), expected, rtol=1e-4, atol=1e-4, err_msg=prompt.name
            )
            self.assertEqual(4, self.client.tensor(tensors["state"].handle).version)

    def test_training(self) -> None:
        """Trains two layers; only the loss comes back."""
        block = training.Mlp()
        tensors = self.load(block)
        losses = []
        for step in range(1, 21):
            block.at(step)
            losses.append(float(self.run_once(block, tensors)[0]))
        expected, parameters = block.reference(20)
        np.testing.assert_allclose(losses, expected, rtol=1e-3)
        self.assertLess(losses[-1], 0.7 * losses[0])
        for name, values in parameters.items():
            np.testing.assert_allclose(tensors[name].numpy(), values, rtol=1e-3, atol=1e-3, err_msg=name)
        self.rows.append(self.row)

    def test_others(self) -> None:
        blocks = (
            models.Encoder(True),
            models.Encoder(False),
            models.Lora(),
            models.Retrieval(),
            models.Sampling(),
            convolutional.ResNet(),
            convolutional.Patches(),
            convolutional.Whisper(),
            convolutional.UNet(),
            experts.Adapters(),
            experts.Experts(8),
            experts.Experts(128),
        )
        for block in blocks:
            (result,) = self.run_once(block, self.load(block))
            expected = block.reference()
            np.testing.assert_allclose(
                result.reshape(expected.shape), expected, rtol=1e-4, atol=1e-4, err_msg=block.name
            )
            self.rows.append(self.row)

    @classmethod
    def tearDownClass(cls) -> None:
        before = Path(DOCUMENT).read_text(encoding="utf-8")
        text = before.partition(MARK)[0] + HEADER + "\n".join(sorted(cls.rows)) + "\n"
        if "ATHANOR_BLESS" in os.environ:
            DOCUMENT.write_text(text, encoding="utf-8")
        elif text != before:
            raise AssertionError(f"docs/models.md differs; run this test with ATHANOR_BLESS=1:\n{text}")

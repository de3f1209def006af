"""Tests of ONNX models that the service stores."""

from __future__ import annotations

import asyncio
import gzip
import io
import tempfile
import unittest
import zipfile
from pathlib import Path

import numpy as np

import athanor
from athanor._model_files import members

from . import live

MODELS = "test-support/src/main/resources/dev/athanor/testing/onnx-models.zip.gz"
TOKENS = np.array([[5, 9, 2, 17, 4], [3, 3, 28, 6, 1]])
SHAPE = (2, 5, 30)


def file(name: str) -> bytes:
    packed = Path(__file__).resolve().parents[3] / MODELS
    with zipfile.ZipFile(io.BytesIO(gzip.decompress(packed.read_bytes()))) as files:
        return files.read(name)


class StoredModelsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.model = file("llama/model")
        # the elements are the last field of the message
        self.expected = np.frombuffer(file("llama/output0")[-4 * 2 * 5 * 30 :], np.float32).reshape(SHAPE)

    def test_a_model_is_stored_listed_run_and_deleted(self) -> None:
        with athanor.connect(live.url()) as a:
            described = a.store_model("llama", self.model)
            self.assertEqual(["y"], described["outputs"])
            self.assertEqual([{"name": "x", "dtype": "i64", "shape": ["2", "5"]}], described["inputs"])
            self.assertEqual([], described.pop("unreachable"))
            self.assertEqual([described], [one for one in a.models() if one["name"] == "llama"])
            y = a.run_model("llama", {"x": TOKENS}, ["y"])["y"]
            np.testing.assert_allclose(y.numpy(), self.expected, rtol=1e-3, atol=1e-4)
            again = a.run_model("llama", {"x": a.upload(TOKENS[::-1])}, {"y": y})["y"]
            self.assertIs(again, y)
            np.testing.assert_allclose(y.numpy(), self.expected[::-1], rtol=1e-3, atol=1e-4)
            a.delete_model("llama")
            with self.assertRaisesRegex(athanor.AthanorError, 'There is no model "llama"') as raised:
                a.run_model("llama", {"x": TOKENS}, ["y"])
            self.assertEqual("not-found", raised.exception.code)

    def test_a_model_is_a_function(self) -> None:
        with athanor.connect(live.url()) as a:
            stored = a.store_model("function", self.model)
            self.assertIn("function", a.models)
            self.assertNotIn("no-function", a.models)
            self.assertIn("function", list(a.models))
            self.assertEqual(len(a.models()), len(a.models))
            llama = a.models["function"]
            self.assertEqual((stored["version"], ["y"]), (llama.version, llama.outputs))
            self.assertEqual([{"name": "x", "dtype": "i64", "shape": ["2", "5"]}], llama.inputs)
            self.assertEqual(
                f"<model function, version {llama.version}: (x: i64[2, 5]) -> y>", repr(llama)
            )
            y = llama(x=TOKENS)["y"]
            np.testing.assert_allclose(y.numpy(), self.expected, rtol=1e-3, atol=1e-4)
            self.assertIs(y, llama({"x": TOKENS[::-1]}, outputs={"y": y})["y"])
            np.testing.assert_allclose(y.numpy(), self.expected[::-1], rtol=1e-3, atol=1e-4)
            with self.assertRaisesRegex(athanor.AthanorError, "the inputs of the model are"):
                llama(z=TOKENS)
            a.delete_model("function")
            with self.assertRaisesRegex(athanor.AthanorError, 'There is no model "function"'):
                llama(x=TOKENS)
            with self.assertRaises(athanor.AthanorError) as raised:
                a.models["function"]
            self.assertEqual("not-found", raised.exception.code)

    def test_the_async_client_runs_models(self) -> None:
        async def run() -> None:
            async with athanor.connect_async(live.url()) as a:
                await a.store_model("async", self.model)
                result = await a.run_model("async", {"x": TOKENS}, ["y"])
                np.testing.assert_allclose(await result["y"].numpy(), self.expected, rtol=1e-3, atol=1e-4)
                model = await a.models["async"]
                self.assertEqual(["y"], model.outputs)
                y = (await model(x=TOKENS, outputs=["y"]))["y"]
                np.testing.assert_allclose(await y.numpy(), self.expected, rtol=1e-3, atol=1e-4)
                self.assertIn("async", [name async for name in a.models])
                self.assertIn("async", [one["name"] for one in await a.models()])
                await a.delete_model("async")

        asyncio.run(run())

    def test_a_model_is_stored_from_a_file_and_a_folder(self) -> None:
        with tempfile.TemporaryDirectory() as name, athanor.connect(live.url()) as a:
            folder = Path(name, "folder")
            folder.mkdir()
            (folder / "model.onnx").write_bytes(self.model)
            for path in (folder, folder / "model.onnx"):
                a.store_model("stored", path, extents={})
                y = a.run_model("stored", {"x": TOKENS}, ["y"])["y"]
                np.testing.assert_allclose(y.numpy(), self.expected, rtol=1e-3, atol=1e-4)
            a.delete_model("stored")
            empty = Path(name, "empty.onnx")
            empty.touch()
            with self.assertRaises(athanor.AthanorError) as raised:
                a.store_model("stored", empty)
            self.assertEqual("malformed-body", raised.exception.code)
            with self.assertRaises(FileNotFoundError):
                a.store_model("stored", Path(name, "missing.onnx"))

    def test_the_folder_of_an_onnx_file_is_sent_with_its_data(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "data").mkdir()
            (folder / ".cache").mkdir()
            paths = [folder / one for one in ("data/weights.bin", "model.onnx", "model.onnx_data")]
            for path in (*paths, folder / ".cache" / "old", folder / ".gitattributes"):
                path.touch()
            self.assertEqual(paths, members(folder))

    def test_of_a_checkpoint_only_what_the_service_reads_is_sent(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            kept = ("config.json", "model-1.safetensors", "model-2.safetensors", "model.safetensors.index.json")
            for file in (*kept, "pytorch_model.bin", "README.md", "tokenizer.json"):
                (folder / file).touch()
            self.assertEqual([folder / file for file in kept], members(folder))

    def test_a_file_that_is_no_model_is_refused(self) -> None:
        with athanor.connect(live.url()) as a, self.assertRaises(athanor.AthanorError) as raised:
            a.store_model("bad", self.model[:100])
        self.assertEqual("malformed-body", raised.exception.code)
        self.assertIn("the file of 100 bytes is not an ONNX model", raised.exception.detail)

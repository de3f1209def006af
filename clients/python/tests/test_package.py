"""The generated code, the version, and the wheel."""

from __future__ import annotations

import hashlib
import inspect
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile
from importlib.metadata import metadata, requires
from pathlib import Path
from xml.etree import ElementTree

import athanor
from athanor._client import Client, OpCaller
from athanor._ops import Ops
from athanor._stream import Stream

PROJECT = Path(__file__).resolve().parents[1]


def build(folder: str) -> Path:
    """Builds the wheel as `pip wheel` does, without isolation and index."""
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", *options, "-w", folder, str(PROJECT)],
        check=True,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1767225600"},
    )
    (wheel,) = Path(folder).glob("*.whl")
    return wheel


class PackageTest(unittest.TestCase):
    def test_the_ops_are_generated_from_their_descriptions(self) -> None:
        check = subprocess.run(
            [sys.executable, str(PROJECT / "generate.py"), "--check"], stderr=subprocess.PIPE
        )
        self.assertEqual((0, b""), (check.returncode, check.stderr))

    def test_both_clients_have_the_same_documented_methods(self) -> None:
        def public(kind: type) -> dict[str, object]:
            return {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}

        for blocking, asynchronous in (
            (athanor.Athanor, athanor.AsyncAthanor),
            (athanor.Tensor, athanor.AsyncTensor),
            (athanor.Model, athanor.AsyncModel),
            (athanor.Session, athanor.AsyncSession),
            (athanor.TokenStream, athanor.AsyncTokenStream),
        ):
            only_blocking = {"stream"} if blocking is athanor.Athanor else set()
            self.assertEqual(public(blocking).keys() - only_blocking, public(asynchronous).keys())
            for kind in (blocking, asynchronous, Stream):
                for name, method in public(kind).items():
                    self.assertTrue(method.__doc__, f"{kind.__name__}.{name} has no docstring")
        for client in (OpCaller, Client, athanor.Athanor, athanor.AsyncAthanor, Stream):
            self.assertFalse(public(Ops).keys() & vars(client).keys(), "an op hides a method of the client")

    def test_methods_have_the_signatures_of_their_client(self) -> None:
        for kind, tensor in ((athanor.Athanor, "Tensor"), (athanor.AsyncAthanor, "AsyncTensor")):
            signature = inspect.signature(kind.gather)
            self.assertEqual(tensor, signature.return_annotation)
            self.assertEqual(f"{tensor} | Array", signature.parameters["table"].annotation)
            self.assertEqual(f"list[{tensor}]", inspect.signature(kind.tensors).return_annotation)
            self.assertEqual(tensor == "AsyncTensor", inspect.iscoroutinefunction(kind.gather))
        self.assertEqual("Future[Tensor]", inspect.signature(Stream.gather).return_annotation)

    def test_the_version_is_that_of_the_service(self) -> None:
        pom = ElementTree.parse(PROJECT.parents[1] / "pom.xml")
        version = pom.findtext("{http://maven.apache.org/POM/4.0.0}version")
        self.assertEqual(version, athanor.__version__)

    def test_generated_stubs_can_stand_beside_the_wheel(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            stubs = Path(folder, "athanor", "v1")
            stubs.mkdir(parents=True)
            (stubs / "ops_pb2.py").write_text("NAME = 'stub'\n")
            code = "import athanor, athanor.v1.ops_pb2 as o; print(o.NAME, athanor.connect.__name__)"
            ran = subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "PYTHONPATH": os.pathsep.join([folder, *sys.path])},
                capture_output=True,
                text=True,
            )
        self.assertEqual(("stub connect\n", ""), (ran.stdout, ran.stderr))

    def test_the_wheel_needs_numpy_and_httpx_only(self) -> None:
        needed = [one for one in requires("athanor") or [] if "extra ==" not in one]
        self.assertEqual(["httpx", "numpy"], sorted(one.split("<")[0].split(">")[0].strip() for one in needed))
        self.assertEqual("Apache-2.0", metadata("athanor")["License-Expression"])

    def test_the_wheel_is_complete_and_reproducible(self) -> None:
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            wheel, again = build(one), build(other)
            self.assertEqual(f"athanor-{athanor.__version__}-py3-none-any.whl", wheel.name)
            digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (wheel, again)}
            self.assertEqual(1, len(digests), "two builds differ")
            with zipfile.ZipFile(wheel) as file:
                names = set(file.namelist())
        sources = {f"athanor/{path.name}" for path in (PROJECT / "src/athanor").iterdir() if path.is_file()}
        self.assertIn("athanor/py.typed", sources)
        info = f"athanor-{athanor.__version__}.dist-info/"
        self.assertEqual(sources, {name for name in names if not name.startswith(info)})
        self.assertIn(info + "licenses/LICENSE", names)

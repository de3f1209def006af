"""Files of models, as the service takes them."""

from __future__ import annotations

import mmap
import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeAlias

from ._arrays import Bytes

PathLike: TypeAlias = str | os.PathLike[str]

ONNX = "application/onnx"
ZIP = "application/zip"


def media_type(contents: memoryview) -> str:
    return ZIP if contents[:2] == b"PK" else ONNX


@contextmanager
def model_file(file: Bytes | PathLike) -> Iterator[memoryview]:
    """Opens a model: its bytes, the path of its file, or that of its folder, which is zipped.

    Raises:
        OSError: if a file cannot be read.
    """
    if isinstance(file, bytes | bytearray | memoryview):
        yield memoryview(file).cast("B")
    elif Path(file).is_dir():
        with tempfile.TemporaryFile() as packed:
            with zipfile.ZipFile(packed, "w", strict_timestamps=False) as target:
                for path in members(Path(file)):
                    target.write(path, path.relative_to(file).as_posix())
            packed.flush()
            yield _mapped(packed)
    else:
        with open(file, "rb") as opened:
            yield _mapped(opened)


def members(folder: Path) -> list[Path]:
    """Returns the files of a model: those of a checkpoint, or all beside an ONNX file, which may name any.

    Raises:
        FileNotFoundError: if the folder holds neither.
    """
    if any(folder.glob("*.onnx")):
        found = [
            path
            for path in folder.rglob("*")
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        ]
    elif (folder / "config.json").is_file():
        index = folder / "model.safetensors.index.json"
        found = [folder / "config.json", *folder.glob("*.safetensors"), *([index] if index.is_file() else [])]
    else:
        raise FileNotFoundError(f"{folder} has no file config.json and none that ends with .onnx")
    return sorted(found)


def _mapped(file: BinaryIO) -> memoryview:
    """Returns a file's contents, which are read as they are needed."""
    empty = os.fstat(file.fileno()).st_size == 0  # and cannot be mapped
    return memoryview(b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

"""Writes the tests of single nodes of the onnx package as a file for tests in Java.

The package onnx must be installed. In clients/python:

python3 -m tests.onnx_cases ../../test-support/src/main/resources/dev/athanor/testing/onnx-nodes.zip.gz
"""

from __future__ import annotations

import gzip
import io
import sys
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

MOST_BYTES = 6000
TIME = (2020, 1, 1, 0, 0, 0)


def messages(case: Any) -> Iterator[tuple[str, bytes]]:
    """Returns the tensors of a test as messages, by the names of files."""
    import onnx

    graph, (given, expected) = case.model.graph, case.data_sets[0]
    for kind, names, values in (("input", graph.input, given), ("output", graph.output, expected)):
        for i, (info, value) in enumerate(zip(names, values, strict=False)):
            if value is None:
                continue
            tensor = value if isinstance(value, onnx.TensorProto) else onnx.numpy_helper.from_array(np.asarray(value))
            tensor.name = info.name
            yield f"{kind}{i:03}", tensor.SerializeToString()


def main() -> None:
    warnings.filterwarnings("ignore")
    from onnx.backend.test.case.node import collect_testcases

    cases: list[Any] = collect_testcases(None)
    singles = [case for case in cases if len(case.model.graph.node) == 1]
    written = 0
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as file:
        for case in singles:
            try:
                tensors = dict(messages(case))
            except (TypeError, AttributeError, ValueError):  # a sequence, or none
                continue
            if sum(map(len, tensors.values())) > MOST_BYTES:
                continue
            files = {"model": case.model.SerializeToString(), **tensors, "tolerance": f"{case.rtol} {case.atol}"}
            for name, contents in files.items():
                file.writestr(zipfile.ZipInfo(f"{case.name}/{name}", TIME), contents)
            written += 1
    with open(sys.argv[1], "wb") as out, gzip.GzipFile(fileobj=out, mode="wb", filename="", mtime=0) as packed:
        packed.write(memory.getvalue())
    print(f"{written} of {len(singles)} tests of single nodes")


if __name__ == "__main__":
    main()

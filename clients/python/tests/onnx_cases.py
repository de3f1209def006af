"""Writes the ONNX node tests that one small call of an op passes, as cases for tests in Java.

In clients/python: python3 -m tests.onnx_cases URL > ../../service/src/test/resources/onnx-cases.jsonl
"""

from __future__ import annotations

import base64
import collections
import inspect
import json
import sys
import warnings
from typing import Any

import numpy as np

import athanor

from .onnx_node import Array, array, name
from .onnx_nodes import RUN, outcome

MOST_ELEMENTS = 128
CASES_OF_OPERATOR = 3


class Recorder:
    """A client that records its calls."""

    def __init__(self, client: athanor.Athanor) -> None:
        self.client = client
        self.calls: list[tuple[str, dict[str, Any], Any]] = []

    def __getattr__(self, op: str) -> Any:
        function = getattr(self.client, op)

        def call(*given: Any, **more: Any) -> Any:
            result = function(*given, **more)
            self.calls.append((op, inspect.signature(function).bind(*given, **more).arguments, result))
            return result

        return call


def tensor(values: Array) -> dict[str, Any]:
    values = np.asarray(values)
    data = base64.b64encode(values.tobytes()).decode()
    return {"dtype": name(values.dtype), "shape": list(values.shape), "base64": data}


def camel(text: str) -> str:
    first, *others = text.split("_")
    return first + "".join(other.capitalize() for other in others)


def request(arguments: dict[str, Any]) -> dict[str, Any]:
    inputs: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    for key, value in arguments.items():
        if isinstance(value, np.ndarray | np.generic):
            inputs[camel(key)] = tensor(value)
        elif isinstance(value, list) and any(isinstance(each, np.ndarray) for each in value):
            inputs |= {f"{key}{i}": tensor(each) for i, each in enumerate(value)}
        elif value is not None:
            attributes[camel(key)] = value
    return {"inputs": inputs, "attributes": attributes}


def record(client: athanor.Athanor, case: Any) -> dict[str, Any] | None:
    """Returns the case of a test that one call passes, whose outputs are those of the test."""
    recorder = Recorder(client)
    if len(case.data_sets) != 1 or outcome(recorder, case) != "passed":  # type: ignore[arg-type]
        return None
    expected = [array(each) for each in case.data_sets[0][1]]
    if len(recorder.calls) != 1:
        return None
    op, arguments, result = recorder.calls[0]
    named = result._asdict() if hasattr(result, "_asdict") else {"": result}
    found = {key: value.numpy() for key, value in named.items() if hasattr(value, "numpy")}
    if [v.shape for v in found.values()] != [np.shape(e) for e in expected]:
        return None
    outputs = dict(zip(found, map(tensor, expected), strict=True))
    return {"test": case.name, "op": op.replace("_", "-"), **request(arguments), "outputs": outputs}


def size(case: Any) -> int:
    given, expected = case.data_sets[0]
    return sum(np.size(array(each)) for each in [*given, *expected] if each is not None)


def main() -> None:
    warnings.filterwarnings("ignore")
    from onnx.backend.test.case.node import collect_testcases

    counts: collections.Counter[str] = collections.Counter()
    with athanor.connect(sys.argv[1]) as client:
        cases: list[Any] = collect_testcases(None)
        for case in cases:
            kind, *others = (node.op_type for node in case.model.graph.node)
            if others or kind not in RUN or counts[kind] >= CASES_OF_OPERATOR or size(case) > MOST_ELEMENTS:
                continue
            recorded = record(client, case)
            if recorded:
                counts[kind] += 1
                print(json.dumps(recorded, default=lambda value: value.item()))


if __name__ == "__main__":
    main()

"""Runs the tests of the onnx package with one node against a service, and counts what passes by family.

An operator may take several calls; the client changes shapes, axes and constants, but computes no element. The
packages athanor, onnx and ml_dtypes must be installed. In clients/python:

python3 -m tests.onnx_nodes URL [OPERATOR ...]
"""

from __future__ import annotations

import collections
import sys
import warnings
from typing import Any

import numpy as np

import athanor

from .onnx_elementwise import ELEMENTWISE
from .onnx_node import Node, Operator, array
from .onnx_products import PRODUCTS
from .onnx_rows import ROWS
from .onnx_shapes import METADATA, SHAPES
from .onnx_windows import WINDOWS

RUN: dict[str, Operator] = {**ELEMENTWISE, **SHAPES, **METADATA, **ROWS, **PRODUCTS, **WINDOWS}

# The expected results of these dtypes are rounded at every step.
TWO_ULPS = {"float16": 2**-9, "bfloat16": 2**-6}

FAMILIES = {
    "comparison, logic, bits": "Equal Greater GreaterOrEqual Less LessOrEqual And Or Xor Not Where IsNaN IsInf "
    "BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitShift BitCast",
    "cast and quantization": "Cast CastLike QuantizeLinear DequantizeLinear DynamicQuantizeLinear",
    "shapes, on the client": " ".join(METADATA),
    "copy": "Transpose Concat Split Slice Pad CenterCropPad Tile Expand Trilu DepthToSpace SpaceToDepth "
    "EyeLike ConstantOfShape Constant Identity ReverseSequence Upsample",
    "gather, scatter, sort": "Gather ArrayFeatureExtractor GatherElements GatherND Scatter ScatterElements "
    "ScatterND TensorScatter OneHot Hardmax TopK Unique Compress NonZero NonMaxSuppression",
    "reductions and scans": " ".join(k for k in ROWS if k.startswith(("Reduce", "Arg"))) + " CumSum CumProd",
    "normalization and losses": " ".join(
        k for k in ROWS if not k.startswith(("Reduce", "Arg", "Global", "Dropout"))
    ),
    "matrix products": "MatMul Gemm Einsum MatMulInteger QLinearMatMul Det AffineGrid",
    "attention": "Attention FlexAttention LinearAttention RotaryEmbedding",
    "convolution, pooling, images": "Conv ConvInteger ConvTranspose QLinearConv DeformConv CausalConvWithState "
    "AveragePool MaxPool LpPool MaxUnpool GlobalAveragePool GlobalMaxPool GlobalLpPool Col2Im Resize "
    "GridSample RoiAlign ImageDecoder",
    "signal": "DFT STFT MelWeightMatrix HannWindow HammingWindow BlackmanWindow",
    "training and random": "Adagrad Adam Momentum Dropout Bernoulli",
    "recurrent, control, sequences": "RNN GRU LSTM If Loop Scan SequenceInsert SequenceMap SplitToSequence "
    "OptionalHasElement OptionalGetElement",
    "strings and trees": "StringConcat StringNormalizer StringSplit RegexFullMatch TfIdfVectorizer "
    "LabelEncoder TreeEnsemble",
}  # fmt: skip


def family(operator: str) -> str:
    return next((key for key, names in FAMILIES.items() if operator in names.split()), "elementwise")


def outcome(client: athanor.Athanor, case: Any) -> str:
    node = case.model.graph.node[0]
    names = [value.name for value in case.model.graph.input]
    for given, expected in case.data_sets:
        try:
            n = Node(client, node, dict(zip(names, given, strict=True)), len(node.output))
            result = RUN[node.op_type](n)
        except athanor.AthanorError as e:
            return "refused: " + e.detail[:110]
        except (KeyError, NotImplementedError, TypeError, ValueError, AttributeError) as e:
            return f"not expressed: {type(e).__name__} {str(e)[:80]}"
        actual = result if isinstance(result, list) else [result]
        if len(actual) != len(expected):
            return f"wrong count: {len(actual)} outputs, expected {len(expected)}"
        for one, other in zip(expected, actual, strict=True):
            one, other = np.asarray(array(one)), np.asarray(other)
            if one.dtype != other.dtype or one.shape != other.shape:
                return f"wrong type: {other.dtype}{other.shape}, expected {one.dtype}{one.shape}"
            tolerance = max(case.rtol, TWO_ULPS.get(one.dtype.name, 0))
            one, other = one.astype(np.float64), other.astype(np.float64)
            if not np.allclose(one, other, tolerance, max(case.atol, 1e-6), equal_nan=True):
                return f"wrong: differs by {np.nanmax(np.abs(one - other))} from {one.shape}"
    return "passed"


def print_table(counts: dict[str, collections.Counter[str]]) -> None:
    """Prints the table of docs/onnx.md."""
    print("| operators | pass | of | no test passes |\n| --- | --- | --- | --- |")
    for key in ["elementwise", *FAMILIES]:
        each = {kind: count for kind, count in sorted(counts.items()) if family(kind) == key}
        passed, tests = (sum(c["passed"] for c in each.values()), sum(c.total() for c in each.values()))
        missing = ", ".join(kind for kind, count in each.items() if not count["passed"])
        if each:
            print(f"| {key} | {passed} | {tests} | {missing} |")


def main() -> None:
    warnings.filterwarnings("ignore")
    from onnx.backend.test.case.node import collect_testcases

    only = set(sys.argv[2:])
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    with athanor.connect(sys.argv[1]) as client:
        cases: list[Any] = collect_testcases(None)
        for case in cases:
            nodes = case.model.graph.node
            if len(nodes) != 1 or (only and nodes[0].op_type not in only):
                continue
            kind = nodes[0].op_type
            result = outcome(client, case) if kind in RUN else "no op"
            counts[kind][result.split(":")[0]] += 1
            if result not in ("passed", "no op"):
                print(f"{case.name}: {result}")
    print_table(counts)
    total = sum(counts.values(), collections.Counter())
    print(dict(total), "of", total.total())


if __name__ == "__main__":
    main()

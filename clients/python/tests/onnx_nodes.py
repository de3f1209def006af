"""Runs the tests of the onnx package with one node against a service, and counts what passes by operator.

An operator may take several calls; only shapes are changed here. The packages athanor and onnx must be
installed.

python3 onnx_nodes.py URL [OPERATOR ...]
"""

from __future__ import annotations

import collections
import math
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import athanor

Array = Any
FLOATS = (np.float64, np.float32, np.float16)


def array(value: Any) -> Array:
    """Returns the array of a value of a test, which holds dtypes that NumPy lacks as protobuf messages."""
    import onnx

    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


class Node:
    """A call of an ONNX operator."""

    def __init__(self, client: athanor.Athanor, proto: Any, inputs: dict[str, Array], outputs: int) -> None:
        import onnx

        self.client = client
        self.x = [array(inputs[name]) if name else None for name in proto.input]
        self.given = {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute}
        self.outputs = outputs

    def attribute(self, name: str, default: Any = None) -> Any:
        value = self.given.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def input(self, index: int) -> Array | None:
        return self.x[index] if index < len(self.x) else None

    def integers(self, index: int) -> list[int] | None:
        values = self.input(index)
        return None if values is None else [int(v) for v in np.asarray(values).reshape(-1)]

    def map(self, expression: str, *x: Array, constants: Any = None, dtype: Any = None) -> Array:
        out = None if dtype is None else NAMES[np.dtype(dtype).name]
        y = self.client.map(list(x or self.x), expression=expression, constants=constants, out_dtype=out)
        return y.numpy()


NAMES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
    "int16": "i16", "int8": "i8", "uint8": "u8", "uint32": "u32", "bool": "bool",
    "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2",
}  # fmt: skip

EXPRESSIONS = {
    "Abs": "abs(x)", "Neg": "-x", "Ceil": "ceil(x)", "Floor": "floor(x)", "Round": "round(x)",
    "Sqrt": "sqrt(x)",
    "Exp": "exp(x)", "Log": "log(x)", "Sin": "sin(x)", "Cos": "cos(x)", "Tan": "tan(x)", "Tanh": "tanh(x)",
    "Sigmoid": "sigmoid(x)", "Erf": "erf(x)", "Sign": "sign(x)", "Reciprocal": "1 / x", "Relu": "relu(x)",
    "Softplus": "softplus(x)", "Not": "!x", "IsNaN": "isnan(x)", "Mish": "x * tanh(softplus(x))",
    "HardSwish": "x * clamp(x / 6 + 0.5, 0, 1)", "Softsign": "x / (1 + abs(x))", "Identity": "x",
    "Sinh": "(exp(x) - exp(-x)) / 2", "Cosh": "(exp(x) + exp(-x)) / 2", "BitwiseNot": "~x",
    "Asinh": "sign(x) * log(abs(x) + sqrt(x * x + 1))", "Acosh": "log(x + sqrt(x * x - 1))",
    "Atanh": "(log1p(x) - log1p(-x)) / 2",
    "Add": "x0 + x1", "Sub": "x0 - x1", "Mul": "x0 * x1", "Equal": "x0 == x1", "Greater": "x0 > x1",
    "GreaterOrEqual": "x0 >= x1", "Less": "x0 < x1", "LessOrEqual": "x0 <= x1", "And": "x0 && x1",
    "Or": "x0 || x1", "Xor": "x0 != x1", "BitwiseAnd": "x0 & x1", "BitwiseOr": "x0 | x1",
    "BitwiseXor": "x0 ^ x1",
    "Where": "where(x0, x1, x2)", "PRelu": "where(x0 < 0, x0 * x1, x0)",
}  # fmt: skip


def folded(n: Node, function: str) -> Array:
    names = [f"x{i}" for i in range(len(n.x))]
    expression = names[0]
    for name in names[1:]:
        expression = f"({expression} + {name})" if function == "+" else f"{function}({expression}, {name})"
    return n.map(expression)


def divide(n: Node) -> Array:
    if n.x[0].dtype.type in FLOATS:
        return n.map("x0 / x1")
    return n.map("where((x0 < 0) != (x1 < 0), -(abs(x0) // abs(x1)), abs(x0) // abs(x1))", dtype=n.x[0].dtype)


def modulo(n: Node) -> Array:
    if not n.attribute("fmod", 0):
        return n.map("x0 % x1")
    return n.map("where(x0 < 0, -(abs(x0) % abs(x1)), abs(x0) % abs(x1))", dtype=n.x[0].dtype)


def power(n: Node) -> Array:
    return n.map("f32(x0) ** f32(x1)", dtype=n.x[0].dtype)


def clip(n: Node) -> Array:
    x, low, high = n.x[0], n.input(1), n.input(2)
    y = x if low is None else n.map("max(x0, x1)", x, low)
    return n.map("x", y) if high is None else n.map("min(x0, x1)", y, high)


def with_constants(expression: str, **defaults: float) -> Callable[[Node], Array]:
    return lambda n: n.map(expression, constants=[n.attribute(k, v) for k, v in defaults.items()])


def shift(n: Node) -> Array:
    sign = "<<" if n.attribute("direction") == "LEFT" else ">>"
    return n.map(f"x0 {sign} x1")


def is_infinite(n: Node) -> Array:
    signs = [s for s, a in ((">", "detect_positive"), ("<", "detect_negative")) if n.attribute(a, 1)]
    return n.map("isinf(x)" + "".join(f" && x {s} 0" for s in signs if len(signs) == 1))


def gelu(n: Node) -> Array:
    form = "tanh" if n.attribute("approximate") == "tanh" else "erf"
    return n.client.gelu(n.x[0], form=form).numpy()


def transpose(n: Node) -> Array:
    return n.client.permute(n.x[0], axes=n.attribute("perm")).numpy()


def split(n: Node) -> list[Array]:
    sizes, axis = n.integers(1), n.attribute("axis", 0)
    if sizes is None:
        extent = n.x[0].shape[axis]
        each = math.ceil(extent / n.outputs)
        sizes = [each] * (n.outputs - 1) + [extent - each * (n.outputs - 1)]
    parts = n.client.split(n.x[0], axis=axis, sizes=sizes, y_count=n.outputs)
    return [part.numpy() for part in parts]


def slices(n: Node) -> Array:
    starts, ends = ([max(-(2**53), min(2**53, v)) for v in n.integers(i) or []] for i in (1, 2))
    return n.client.slice(n.x[0], starts=starts, ends=ends, axes=n.integers(3), steps=n.integers(4)).numpy()


def pad(n: Node) -> Array:
    x, pads, value, axes = n.x[0], n.integers(1) or [], n.input(2), n.integers(3)
    axes = [a % x.ndim for a in axes] if axes else list(range(x.ndim))
    before, after = [0] * x.ndim, [0] * x.ndim
    for i, axis in enumerate(axes):
        before[axis], after[axis] = pads[i], pads[i + len(axes)]
    fill = 0.0 if value is None else float(np.asarray(value).reshape(-1)[0])
    return n.client.pad(x, before=before, after=after, mode=n.attribute("mode", "constant"), value=fill).numpy()


def triangle(n: Node) -> Array:
    part = "upper" if n.attribute("upper", 1) else "lower"
    return n.client.triangle(n.x[0], diagonal=(n.integers(1) or [0])[0], part=part).numpy()


def axes_of(n: Node, index: int = 1) -> list[int] | None:
    return n.integers(index) if n.input(index) is not None else n.attribute("axes")


def reduced(kind: str, before: str = "x", after: str = "x") -> Callable[[Node], Array]:
    def run(n: Node) -> Array:
        x, axes, keep = n.x[0], axes_of(n), n.attribute("keepdims", 1)
        if not axes and n.attribute("noop_with_empty_axes", 0):
            return n.map(before) if before != "x" else x
        axes = [a % x.ndim for a in axes] if axes else list(range(x.ndim))
        y = n.map(before, x) if before != "x" else x
        for axis in sorted(axes, reverse=True):
            y = n.client.reduce(y, kind=kind, axis=axis).numpy()
        y = n.map(after, y) if after != "x" else y
        return np.expand_dims(y, tuple(axes)) if keep else y

    return run


def arg(negate: bool) -> Callable[[Node], Array]:
    def run(n: Node) -> Array:
        if n.attribute("select_last_index", 0):
            raise NotImplementedError
        x, axis = n.x[0], n.attribute("axis", 0)
        y = n.client.argmax(n.map("-x", x) if negate else x, axis=axis).numpy()
        return np.expand_dims(y, axis) if n.attribute("keepdims", 1) else y

    return run


def softmax(n: Node, after: str = "x") -> Array:
    x, axis = n.x[0], n.attribute("axis", -1)
    moved = n.client.transpose(x, axis_a=axis, axis_b=-1).numpy() if axis not in (-1, x.ndim - 1) else x
    y = n.client.softmax(moved).numpy()
    y = n.map(after, y) if after != "x" else y
    return n.client.transpose(y, axis_a=axis, axis_b=-1).numpy() if moved is not x else y


def normalized(n: Node, op: str) -> Array:
    x, axis = n.x[0], n.attribute("axis", -1)
    width = math.prod(x.shape[axis:])
    flat = x.reshape(-1, width)
    epsilon = n.attribute("epsilon", 1e-5)
    gamma = np.broadcast_to(n.x[1], x.shape[axis:]).reshape(-1)
    if op == "rms_norm":
        return n.client.rms_norm(flat, gamma, epsilon=epsilon).numpy().reshape(x.shape)
    bias = n.input(2)
    beta = np.zeros_like(gamma) if bias is None else np.broadcast_to(bias, x.shape[axis:]).reshape(-1)
    return n.client.layer_norm(flat, gamma, beta, epsilon=epsilon).numpy().reshape(x.shape)


def gemm(n: Node) -> Array:
    flags = {"transpose_a": bool(n.attribute("transA", 0)), "transpose_b": bool(n.attribute("transB", 0))}
    y = n.client.matmul(n.x[0], n.x[1], alpha=n.attribute("alpha", 1.0), **flags).numpy()
    if n.input(2) is None:
        return y
    return n.map("x0 + c0 * x1", y, n.x[2], constants=[n.attribute("beta", 1.0)])


def gather(n: Node) -> Array:
    if n.attribute("axis", 0) != 0:
        raise NotImplementedError
    table, index = n.x
    index = n.map("where(x < 0, x + c0, x)", index, constants=[table.shape[0]])
    rows = n.client.gather(table.reshape(table.shape[0], -1), index).numpy()
    return rows.reshape(*index.shape, *table.shape[1:])


def cast(n: Node) -> Array:
    import onnx

    if n.attribute("to") is None:
        target = n.x[1].dtype
    else:
        target = onnx.helper.tensor_dtype_to_np_dtype(n.attribute("to"))
    name = NAMES[np.dtype(target).name]
    saturate = bool(n.attribute("saturate", 1)) if name in ("e4m3", "e5m2") else None
    return n.client.cast(n.x[0], to=name, saturate=saturate).numpy()


RUN: dict[str, Callable[[Node], Any]] = {
    **{name: (lambda n, e=text: n.map(e)) for name, text in EXPRESSIONS.items()},
    "Max": lambda n: folded(n, "max"),
    "Min": lambda n: folded(n, "min"),
    "Sum": lambda n: folded(n, "+"),
    "Mean": lambda n: n.map("x / c0", folded(n, "+"), constants=[len(n.x)]),
    "Div": divide,
    "Mod": modulo,
    "Pow": power,
    "Clip": clip,
    "BitShift": shift,
    "IsInf": is_infinite,
    "Gelu": gelu,
    "Elu": with_constants("where(x > 0, x, c0 * expm1(x))", alpha=1.0),
    "Celu": with_constants("max(x, 0) + min(c0 * expm1(x / c0), 0)", alpha=1.0),
    "Selu": with_constants("c1 * where(x > 0, x, c0 * expm1(x))", alpha=1.67326319, gamma=1.05070102),
    "LeakyRelu": with_constants("where(x > 0, x, c0 * x)", alpha=0.01),
    "HardSigmoid": with_constants("clamp(c0 * x + c1, 0, 1)", alpha=0.2, beta=0.5),
    "ThresholdedRelu": with_constants("where(x > c0, x, 0)", alpha=1.0),
    "Shrink": with_constants("where(x < -c0, x + c1, where(x > c0, x - c1, 0))", lambd=0.5, bias=0.0),
    "Swish": with_constants("x * sigmoid(c0 * x)", alpha=1.0),
    "Transpose": transpose,
    "Concat": lambda n: n.client.concat(n.x, axis=n.attribute("axis")).numpy(),
    "Split": split,
    "Slice": slices,
    "Pad": pad,
    "Tile": lambda n: n.client.tile(n.x[0], repeats=n.integers(1)).numpy(),
    "Expand": lambda n: n.client.expand(n.x[0], shape=n.integers(1)).numpy(),
    "Trilu": triangle,
    "DepthToSpace": lambda n: n.client.depth_to_space(
        n.x[0], block=n.attribute("blocksize"), mode=n.attribute("mode", "DCR")
    ).numpy(),
    "SpaceToDepth": lambda n: n.client.space_to_depth(
        n.x[0], block=n.attribute("blocksize"), mode=n.attribute("mode", "DCR")
    ).numpy(),
    "ReduceSum": reduced("sum"),
    "ReduceMean": reduced("mean"),
    "ReduceMax": reduced("max"),
    "ReduceMin": reduced("min"),
    "ReduceL1": reduced("sum", "abs(x)"),
    "ReduceL2": reduced("sum", "x * x", "sqrt(x)"),
    "ReduceSumSquare": reduced("sum", "x * x"),
    "ReduceLogSum": reduced("sum", after="log(x)"),
    "ReduceLogSumExp": reduced("sum", "exp(x)", "log(x)"),
    "ArgMax": arg(False),
    "ArgMin": arg(True),
    "Softmax": softmax,
    "LogSoftmax": lambda n: softmax(n, "log(x)"),
    "LayerNormalization": lambda n: normalized(n, "layer_norm"),
    "RMSNormalization": lambda n: normalized(n, "rms_norm"),
    "MatMul": lambda n: n.client.matmul(n.x[0], n.x[1]).numpy(),
    "Gemm": gemm,
    "Gather": gather,
    "Cast": cast,
    "CastLike": cast,
}


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
        for one, other in zip(expected, actual, strict=False):
            one, other = np.asarray(array(one)), np.asarray(other)
            if one.dtype != other.dtype or one.shape != other.shape:
                return f"wrong type: {other.dtype}{other.shape}, expected {one.dtype}{one.shape}"
            close = np.allclose(
                one.astype(np.float64),
                other.astype(np.float64),
                case.rtol,
                max(case.atol, 1e-6),
                equal_nan=True,
            )
            if not close:
                return "wrong"
    return "passed"


def main() -> None:
    warnings.filterwarnings("ignore")
    from onnx.backend.test.case.node import collect_testcases

    only = set(sys.argv[2:])
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    with athanor.connect(sys.argv[1]) as client:
        for case in collect_testcases(None):
            nodes = case.model.graph.node
            if len(nodes) != 1 or (only and nodes[0].op_type not in only):
                continue
            kind = nodes[0].op_type
            result = outcome(client, case) if kind in RUN else "no op"
            counts[kind][result.split(":")[0]] += 1
            if result not in ("passed", "no op"):
                print(f"{case.name}: {result}")
    total: collections.Counter[str] = collections.Counter()
    for kind, each in sorted(counts.items()):
        total += each
        if "no op" not in each:
            print(kind, dict(each))
    print(dict(total), "of", sum(total.values()))


if __name__ == "__main__":
    main()

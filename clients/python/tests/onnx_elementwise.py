"""ONNX operators that compute each element alone, by the op map."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .onnx_node import FLOATS, Array, Node, Operator

EXPRESSIONS = {
    "Abs": "abs(x)", "Neg": "-x", "Ceil": "ceil(x)", "Floor": "floor(x)", "Round": "round(x)",
    "Sqrt": "sqrt(x)",
    "Exp": "exp(x)", "Log": "log(x)", "Sin": "sin(x)", "Cos": "cos(x)", "Tan": "tan(x)", "Tanh": "tanh(x)",
    "Asin": "asin(x)", "Acos": "acos(x)", "Atan": "atan(x)",
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


def with_constants(expression: str, **defaults: float) -> Operator:
    return lambda n: n.map(expression, constants=[n.attribute(k, v) for k, v in defaults.items()] or None)


def shift(n: Node) -> Array:
    sign = "<<" if n.attribute("direction") == "LEFT" else ">>"
    return n.map(f"x0 {sign} x1")


def is_infinite(n: Node) -> Array:
    signs = [s for s, a in ((">", "detect_positive"), ("<", "detect_negative")) if n.attribute(a, 1)]
    return n.map("isinf(x)" + "".join(f" && x {s} 0" for s in signs if len(signs) == 1))


def window(expression: str) -> Operator:
    def run(n: Node) -> Array:
        size = int(n.x[0])
        width = size if n.attribute("periodic", 1) else size - 1
        index, dtype = np.arange(size, dtype=np.float32), n.dtype("output_datatype", np.float32)
        return n.map(expression, index, constants=[2 * math.pi / width], dtype=dtype)

    return run


def arange(n: Node) -> Array:
    start, limit, delta = (float(v) for v in n.x)
    index = np.arange(max(0, math.ceil((limit - start) / delta)), dtype=np.int32)
    return n.map("x1 + x0 * x2", index, n.x[0], n.x[2], dtype=n.x[0].dtype)


def swiglu(n: Node) -> Array:
    alpha = n.attribute("alpha", 1.0)
    if alpha == 1.0:
        return n.run("swiglu", *n.x)
    return n.map("x0 * sigmoid(c0 * x0) * x1", constants=[alpha])


def optimizer(step: Callable[..., list[Array]], states: int) -> Operator:
    """Runs a step for each group of parameters, gradients and states."""

    def run(n: Node) -> list[Array]:
        count = (len(n.x) - 2) // (2 + states)
        groups = [step(n, *n.x[:2], *n.x[2 + i :: count]) for i in range(count)]
        return [group[part] for part in range(1 + states) for group in groups]

    return run


def adagrad(n: Node, r: Array, t: Array, x: Array, g: Array, h: Array) -> list[Array]:
    g = n.map("c0 * x0 + x1", x, g, constants=[n.attribute("norm_coefficient", 0.0)])
    h = n.map("x0 + x1 * x1", h, g)
    constants = [n.attribute("decay_factor", 0.0), n.attribute("epsilon", 1e-6)]
    rate = "x3 / (1 + f32(x4) * c0)"
    return [n.map(f"x0 - {rate} * x1 / (sqrt(x2) + c1)", x, g, h, r, t, constants=constants), h]


def adam(n: Node, r: Array, t: Array, x: Array, g: Array, v: Array, h: Array) -> list[Array]:
    alpha, beta = n.attribute("alpha", 0.9), n.attribute("beta", 0.999)
    g = n.map("c0 * x0 + x1", x, g, constants=[n.attribute("norm_coefficient", 0.0)])
    v = n.map("c0 * x0 + (1 - c0) * x1", v, g, constants=[alpha])
    h = n.map("c0 * x0 + (1 - c0) * x1 * x1", h, g, constants=[beta])
    rate = "where(x4 > 0, x3 * sqrt(1 - c1 ** f32(x4)) / (1 - c0 ** f32(x4)), x3)"
    constants = [alpha, beta, n.attribute("epsilon", 1e-6), n.attribute("norm_coefficient_post", 0.0)]
    return [n.map(f"(1 - c3) * (x0 - {rate} * x1 / (sqrt(x2) + c2))", x, v, h, r, t, constants=constants), v, h]


def momentum(n: Node, r: Array, t: Array, x: Array, g: Array, v: Array) -> list[Array]:
    alpha, beta = n.attribute("alpha"), n.attribute("beta")
    g = n.map("c0 * x0 + x1", x, g, constants=[n.attribute("norm_coefficient", 0.0)])
    v = n.map("c0 * x0 + where(x2 > 0, c1, 1) * x1", v, g, t, constants=[alpha, beta])
    if n.attribute("mode") == "standard":
        return [n.map("x0 - x1 * x2", x, r, v), v]
    return [n.map("x0 - x1 * (x3 + c0 * x2)", x, r, v, g, constants=[alpha]), v]


def gelu(n: Node) -> Array:
    form = "tanh" if n.attribute("approximate") == "tanh" else "erf"
    return n.run("gelu", n.x[0], form=form)


ELEMENTWISE: dict[str, Operator] = {
    **{key: with_constants(text) for key, text in EXPRESSIONS.items()},
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
    "Binarizer": with_constants("where(x > c0, 1.0, 0.0)", threshold=0.0),
    "SwiGLU": swiglu,
    "Range": arange,
    "HannWindow": window("sin(x * c0 / 2) * sin(x * c0 / 2)"),
    "HammingWindow": window("25 / 46 - 21 / 46 * cos(x * c0)"),
    "BlackmanWindow": window("0.42 - 0.5 * cos(x * c0) + 0.08 * cos(2 * x * c0)"),
    "Adagrad": optimizer(adagrad, 1),
    "Adam": optimizer(adam, 2),
    "Momentum": optimizer(momentum, 1),
}

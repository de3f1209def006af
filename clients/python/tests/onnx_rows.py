"""ONNX operators that reduce or normalize dimensions, and losses."""

from __future__ import annotations

import math

import numpy as np

from .onnx_node import Array, Node, Operator
from .onnx_shapes import along

# What a reduction does to each element if it reduces no dimension.
ALONE = {"l1": "abs(x)", "l2": "abs(x)", "sum-square": "x * x", "log-sum": "log(x)"}


def reduced(kind: str) -> Operator:
    def run(n: Node) -> Array:
        x = n.x[0]
        axes = n.integers(1) if n.input(1) is not None else n.attribute("axes")
        if not axes and n.attribute("noop_with_empty_axes", 0):
            return n.map(ALONE.get(kind, "x"), x)
        of_bools = {"max": "any", "min": "all"} if x.dtype == np.bool_ else {}
        return n.reduce(of_bools.get(kind, kind), x, axes or (), bool(n.attribute("keepdims", 1)))

    return run


def arg(op: str) -> Operator:
    def run(n: Node) -> Array:
        keep, last = bool(n.attribute("keepdims", 1)), bool(n.attribute("select_last_index", 0))
        return n.run(op, n.x[0], axis=n.attribute("axis", 0), keepdims=keep, select_last=last)

    return run


def softmax(n: Node) -> Array:
    x, axis = n.x[0], n.attribute("axis", -1)
    moved = axis not in (-1, x.ndim - 1)
    y = n.run("softmax", n.run("transpose", x, axis_a=axis, axis_b=-1) if moved else x)
    return n.run("transpose", y, axis_a=axis, axis_b=-1) if moved else y


def log_softmax(n: Node, x: Array, axis: int) -> Array:
    return n.map("x0 - x1", x, n.reduce("log-sum-exp", x, [axis]))


def lp_normalized(n: Node) -> Array:
    x = n.x[0]
    norm = n.reduce("l1" if n.attribute("p", 2) == 1 else "l2", x, [n.attribute("axis", -1)])
    return n.map("where(x1 == 0, 0, x0 / x1)", x, norm)


def layer_norm(n: Node) -> list[Array]:
    x, axis = n.x[0], n.attribute("axis", -1) % n.x[0].ndim
    width, epsilon = math.prod(x.shape[axis:]), n.attribute("epsilon", 1e-5)
    gamma = n.run("expand", n.x[1], shape=x.shape[axis:]).reshape(-1)
    bias = np.zeros(1, x.dtype) if n.input(2) is None else n.x[2]
    beta = n.run("expand", bias, shape=x.shape[axis:]).reshape(-1)
    y = n.run("layer_norm", x.reshape(-1, width), gamma, beta, epsilon=epsilon).reshape(x.shape)
    if n.outputs == 1:
        return [y]
    axes = range(axis, x.ndim)
    deviation = n.map("rsqrt(x + c0)", n.reduce("variance", x, axes), constants=[epsilon])
    return [y, n.reduce("mean", x, axes), deviation][: n.outputs]


def rms_norm(n: Node) -> Array:
    x, axis = n.x[0], n.attribute("axis", -1) % n.x[0].ndim
    gamma = n.run("expand", n.x[1], shape=x.shape[axis:]).reshape(-1)
    rows = x.reshape(-1, gamma.size)
    return n.run("rms_norm", rows, gamma, epsilon=n.attribute("epsilon", 1e-5)).reshape(x.shape)


def batch_norm(n: Node) -> list[Array]:
    x, gamma, beta, mean, variance = n.x
    parameters = [gamma, beta]
    if n.attribute("training_mode", 0):
        axes = [i for i in range(x.ndim) if i != 1]
        momentum = [n.attribute("momentum", 0.9)]
        now = [n.reduce(kind, x, axes, keepdims=False) for kind in ("mean", "variance")]
        mixed = "x0 * c0 + x1 * (1 - c0)"
        running = [n.map(mixed, a, b, constants=momentum) for a, b in zip((mean, variance), now, strict=True)]
        parameters += now
    else:
        running = []
        parameters += [mean, variance]
    columns = [along(1, p, x.ndim) for p in parameters]
    text = "x1 * (x0 - x3) * rsqrt(x4 + c0) + x2"
    return [n.map(text, x, *columns, constants=[n.attribute("epsilon", 1e-5)]), *running]


def group_norm(n: Node) -> Array:
    x, gamma, beta = n.x
    groups = n.attribute("num_groups", x.shape[1])
    return n.run("group_norm", x, gamma, beta, groups=groups, epsilon=n.attribute("epsilon", 1e-5))


def mean_variance(n: Node) -> Array:
    x, axes = n.x[0], n.attribute("axes", [0, 2, 3])
    return n.map("(x0 - x1) / (x2 + 1e-9)", x, n.reduce("mean", x, axes), n.reduce("std", x, axes))


def across_channels(n: Node) -> Array:
    x, size = n.x[0], n.attribute("size")
    before, after = [0] * x.ndim, [0] * x.ndim
    before[1], after[1] = (size - 1) // 2, size // 2
    padded = n.run("pad", x, before=before, after=after)
    channels = x.shape[1]
    parts = [n.run("slice", padded, starts=[i], ends=[i + channels], axes=[1]) for i in range(size)]
    squares = " + ".join(f"x{i} * x{i}" for i in range(1, size + 1))
    constants = [n.attribute("bias", 1.0), n.attribute("alpha", 1e-4) / size, n.attribute("beta", 0.75)]
    return n.map(f"x0 / (c0 + c1 * ({squares})) ** c2", x, *parts, constants=constants)


def pooled(kind: str) -> Operator:
    return lambda n: n.reduce(kind, n.x[0], range(2, n.x[0].ndim))


def likelihood_loss(n: Node, logs: Array) -> Array:
    target, weight, ignored = n.x[1], n.input(2), n.attribute("ignore_index")
    index = target.reshape(target.shape[0], 1, *target.shape[1:])
    picked = n.run("gather_elements", logs, index, axis=1).reshape(target.shape)
    weights = np.ones(1, logs.dtype)
    if weight is not None:
        weights = n.run("gather", weight.reshape(-1, 1), target).reshape(target.shape)
    if ignored is not None:
        weights = n.map("where(x0 == c0, 0, x1)", target, weights, constants=[ignored])
    loss = n.map("where(x1 == 0, 0, -x0 * x1)", picked, weights)
    reduction = n.attribute("reduction", "mean")
    if reduction == "none":
        return loss
    if reduction == "mean" and weight is None and ignored is None:
        return n.reduce("mean", loss, keepdims=False)
    total = n.reduce("sum", loss, keepdims=False)
    if reduction == "sum":
        return total
    return n.map("x0 / x1", total, n.reduce("sum", weights, keepdims=False))


def cross_entropy(n: Node) -> list[Array]:
    logs = log_softmax(n, n.x[0], 1)
    return [likelihood_loss(n, logs), logs][: n.outputs]


def dropout(n: Node) -> list[Array]:
    x, ratio, training = n.x[0], n.input(1), n.input(2)
    if training is not None and bool(training) and (ratio is None or float(ratio) != 0):
        raise NotImplementedError("random numbers")
    return [n.map("x", x), n.run("expand", np.array(True), shape=x.shape)][: n.outputs]


KINDS = {
    "Sum": "sum", "Mean": "mean", "Max": "max", "Min": "min", "Prod": "prod", "L1": "l1", "L2": "l2",
    "SumSquare": "sum-square", "LogSum": "log-sum", "LogSumExp": "log-sum-exp",
}  # fmt: skip

ROWS: dict[str, Operator] = {
    **{"Reduce" + key: reduced(kind) for key, kind in KINDS.items()},
    "ArgMax": arg("argmax"),
    "ArgMin": arg("argmin"),
    "Softmax": softmax,
    "LogSoftmax": lambda n: log_softmax(n, n.x[0], n.attribute("axis", -1)),
    "LpNormalization": lp_normalized,
    "LayerNormalization": layer_norm,
    "RMSNormalization": rms_norm,
    "BatchNormalization": batch_norm,
    "GroupNormalization": group_norm,
    "InstanceNormalization": group_norm,
    "MeanVarianceNormalization": mean_variance,
    "LRN": across_channels,
    "GlobalAveragePool": pooled("mean"),
    "GlobalMaxPool": pooled("max"),
    "NegativeLogLikelihoodLoss": lambda n: likelihood_loss(n, n.x[0]),
    "SoftmaxCrossEntropyLoss": cross_entropy,
    "Dropout": dropout,
}

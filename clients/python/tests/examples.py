"""A small call of every op, with the answer that numpy gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]
RANDOM = np.random.default_rng(20260101)
F32, F16 = np.float32, np.float16


@dataclass(frozen=True)
class Raw:
    """Bytes of a dtype that numpy lacks."""

    data: bytes
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Example:
    inputs: tuple[Values | Raw | list[Values], ...]
    expected: tuple[Values | Raw | None, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-5


def random(*shape: int, dtype: npt.DTypeLike = F32) -> Values:
    return RANDOM.uniform(-1, 1, shape).astype(dtype)


def softmax(x: Values) -> Values:
    e = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


def layer_norm(x: Values, epsilon: float = 1e-5) -> Values:
    return np.asarray((x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon))


def rms_norm(x: Values, epsilon: float = 1e-6) -> Values:
    return np.asarray(x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon))


def sigmoid(x: Values) -> Values:
    return np.asarray(1 / (1 + np.exp(-x)))


def gelu(x: Values) -> Values:
    return np.asarray(x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))))


def rope(x: Values, cos: Values, sin: Values) -> Values:
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def silu(x: Values) -> Values:
    return np.asarray(x * sigmoid(x))


def pack_int4(values: Values) -> Values:
    """Packs [N, K] into [N, K/8] words; element k is nibble k % 8."""
    nibbles = values.astype(np.uint32).reshape(len(values), -1, 8) & 15
    return np.asarray((nibbles << np.arange(0, 32, 4, dtype=np.uint32)).sum(-1, dtype=np.uint32))


def numeric_gradient(f: Callable[[Values], Values], x: Values, grad: Values) -> Values:
    """Returns the gradient of sum(grad · f(x)) by x, from differences in f64."""
    x, step = x.astype(np.float64), 1e-5
    result = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[at] = step
        result[at] = (grad * (f(x + moved) - f(x - moved))).sum() / (2 * step)
    return result


def examples() -> dict[str, Example]:
    """Returns an example for every op, by its Python name."""
    x, y = random(3, 8), random(3, 8)
    gamma, beta, bias = random(8), random(8), random(8)
    a, b, v = random(4, 8), random(8, 5), random(8)
    grad = random(4, 5)
    half = random(2, 32, dtype=F16)
    scales = np.full((1, 3), 0.5, F16)
    weights = RANDOM.integers(-8, 8, (3, 32))
    packed = pack_int4(weights)
    bytes_a, bytes_b = (
        RANDOM.integers(-9, 9, (3, 16)).astype(np.int8),
        RANDOM.integers(-9, 9, (16, 4)).astype(np.int8),
    )
    # e2m1 numbers 1 and 2 in turn, with the scale 2
    fp4 = half.astype(F32) @ np.tile(np.array([2, 4], F32), (3, 16)).T
    wide = RANDOM.integers(-9, 9, (32, 3)).astype(np.int8)
    scale = np.float32(0.25)
    q, k, w = random(1, 2, 3, 8), random(1, 2, 3, 8), random(1, 2, 3, 8)
    out = softmax(q @ k.swapaxes(-1, -2) / math.sqrt(8)) @ w
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(8)
    lse = np.log(np.exp(scores).sum(-1)).astype(F32)
    angles = random(3, 2)
    cos, sin = np.cos(angles), np.sin(angles)
    heads = random(3, 2, 4)
    mask = RANDOM.integers(0, 2, (3, 8)).astype(np.uint8)
    blocks = RANDOM.integers(-9, 9, (4, 32)).astype(np.int8)
    q8_0 = b"".join(F16(0.5).tobytes() + row.tobytes() for row in blocks)
    r = random(2, 32)
    top = np.where(np.arange(32) == 0, np.int8(127), blocks)
    top_q8_0 = b"".join(F16(0.5).tobytes() + row.tobytes() for row in top)
    e4m3 = Raw(bytes((0x7E, 0xF6, 0, 0x38)), "e4m3", (4,))
    ones8 = Raw(bytes((0x38,) * 16), "e4m3", (4, 4))
    per_tensor = np.abs(x).max() / 127
    groups = random(2, a.shape[1], 4)

    def of_q(q: Values) -> Values:
        return np.asarray(softmax(q @ k.swapaxes(-1, -2) / math.sqrt(8)) @ w)

    qkv = half.astype(F32) @ weights.T * 0.5
    return {
        "add": Example((x, beta), (x + beta,)),
        "argmax": Example((x,), (x.argmax(-1),)),
        "argmin": Example((x,), (x.argmin(0)[None],), {"axis": 0, "keepdims": True}),
        "attention": Example((q, k, w), (out, lse), {"with_lse": True}, 1e-4),
        "attention_backward": Example(
            (q, q, k, w, out, lse), (numeric_gradient(of_q, q, q), None, None), {}, 1e-3
        ),
        "attention_decode": Example((q[:, :, :1], k, w, np.array([3], np.int32)), (out[:, :, :1],), {}, 1e-4),
        "bias_activation": Example((x, bias), (np.maximum(x + bias, 0),), {"activation": "relu"}),
        "cast": Example((x,), (x.astype(F16),), {"to": "f16"}, 0),
        "cumprod": Example((x,), (np.cumprod(x, -1),)),
        "cumsum": Example((x,), (np.cumsum(x[::-1], 0)[::-1],), {"axis": 0, "reverse": True}),
        "dequantize": Example((Raw(q8_0, "q8_0", (4, 32)),), (blocks * F32(0.5),), {}, 0),
        "gather": Example((a, np.array([3, 0], np.int64)), (a[[3, 0]],), {}, 0),
        "geglu": Example((x, y), (gelu(x) * y,)),
        "gelu": Example((x,), (gelu(x),)),
        "gemv": Example((a, v), (a @ v,)),
        "layer_norm": Example((x, gamma, beta), (layer_norm(x) * gamma + beta,)),
        "layer_norm_backward": Example(
            (y, x, gamma),
            (
                numeric_gradient(lambda x: layer_norm(x) * gamma, x, y),
                (y * layer_norm(x)).sum(0),
                y.sum(0),
            ),
            {},
            1e-3,
        ),
        "grouped_matmul": Example(
            (a, groups, np.array([1, 3], np.int32)), (np.concatenate([a[:1] @ groups[0], a[1:] @ groups[1]]),)
        ),
        "layer_norm_linear": Example(
            (x, a, gamma, beta, a[:, 0].copy()), ((layer_norm(x) * gamma + beta) @ a.T + a[:, 0],)
        ),
        "matmul": Example((a, b, b[0]), (np.maximum(a @ b + b[0], 0),), {"activation": "relu"}),
        "matmul_backward": Example((grad, a, b), (grad @ b.T, a.T @ grad)),
        "matmul_fp4": Example(
            (half, np.full((3, 16), 0x42, np.uint8), np.full((3, 1), 128, np.uint8)),
            (fp4,),
            {"out_dtype": "f32"},
            0.02,
        ),
        "matmul_fp8": Example((ones8, ones8, F32(0.5)), (np.full((4, 4), 2, F32),), {}, 0),
        "matmul_gguf": Example((r, Raw(q8_0, "q8_0", (4, 32))), (r @ (blocks * F32(0.5)).T,), {}, 0.1),
        "matmul_int4": Example((half, packed, scales), (qkv,), {"group_size": 32, "out_dtype": "f32"}, 0.02),
        "matmul_int8": Example(
            (bytes_a, bytes_b), (bytes_a.astype(np.int32) @ bytes_b,), {"out_dtype": "i32"}, 0
        ),
        "mul": Example((x, y), (x * y,)),
        "qkv_project_int4": Example(
            (half, packed, packed, packed, scales, scales, scales), (qkv, qkv, qkv), {"group_size": 32}, 0.1
        ),
        "qkv_project_int8": Example(
            (half, wide, wide, wide, scale, scale, scale), (half.astype(F32) @ wide * scale,) * 3, {}, 0.1
        ),
        "quantize": Example((top * F32(0.5),), (Raw(top_q8_0, "q8_0", (4, 32)),)),
        "quantize_fp8": Example((np.array([448, -224, 0, 1], F32),), (e4m3, F32(1)), {}, 0),
        "quantize_int8": Example((x,), (np.rint(x / per_tensor), per_tensor), {}, 1e-6),
        "reduce": Example((x,), (x.mean(0),), {"kind": "mean", "axis": 0}),
        "relu": Example((x,), (np.maximum(x, 0),), {}, 0),
        "residual_layer_norm": Example((x, y, gamma, beta), (layer_norm(x + y) * gamma + beta, x + y)),
        "residual_rms_norm": Example((x, y, gamma), (y + rms_norm(x) * gamma, None), {"order": "post"}),
        "rms_norm": Example((x, gamma), (rms_norm(x) * gamma,)),
        "rms_norm_backward": Example(
            (y, x, gamma),
            (numeric_gradient(lambda x: rms_norm(x) * gamma, x, y), (y * rms_norm(x)).sum(0)),
            {},
            1e-3,
        ),
        "rms_norm_rope": Example(
            (x, cos, sin, gamma),
            (rope((rms_norm(x) * gamma).reshape(3, 2, 4), cos[:, None], sin[:, None]).reshape(3, 8),),
            {"heads": 2},
        ),
        "rope": Example((heads, cos, sin), (rope(heads, cos[:, None], sin[:, None]),)),
        "scale": Example((x,), (x * 3,), {"factor": 3.0}),
        "sigmoid": Example((x,), (sigmoid(x),)),
        "silu": Example((x,), (silu(x),)),
        "softmax": Example((x,), (softmax(x),)),
        "softmax_dropout": Example((x, mask), (softmax(x) * mask * 2,)),
        "swiglu": Example((x, y), (x * sigmoid(x) * y,)),
        "tanh": Example((x,), (np.tanh(x),)),
        "transpose": Example((x,), (x.T,), {}, 0),
        **training(),
        **windows(),
        **recurrences(),
        **expressions(),
        **copies(),
        **indexing(),
        **ranks(),
        **sampling(),
    }


def training() -> dict[str, Example]:
    """Returns examples of losses, gradients and optimizers."""
    x, grad, losses = random(3, 8), random(3, 8), random(3)
    target = np.array([5, -100, 0], np.int64)
    p, rows, real = softmax(x), np.arange(3), target >= 0
    lse = np.log(np.exp(x).sum(-1))
    chosen = x[rows, np.where(real, target, 0)]
    hot = np.eye(8)[target % 8]
    m, v = random(3, 8), RANDOM.uniform(0, 1, (3, 8)).astype(F32)
    next_m, next_v = m + 0.1 * (grad - m), 0.999 * v + 0.001 * grad**2
    unbiased = (next_m / (1 - 0.9**3)) / (np.sqrt(next_v / (1 - 0.999**3)) + 1e-8)
    return {
        "activation_backward": Example((x, grad), (numeric_gradient(silu, x, grad),), {"activation": "silu"}),
        "adamw": Example((x, grad, m, v), (x * (1 - 1e-5) - 1e-3 * unbiased, next_m, next_v), {"step": 3}),
        "cross_entropy": Example((x, target), (np.where(real, lse - chosen, 0), lse)),
        "cross_entropy_backward": Example(
            (x, target, lse, losses), ((p - hot) * np.where(real, losses, 0)[:, None],)
        ),
        "geglu_backward": Example(
            (grad, x, m), (numeric_gradient(lambda x: gelu(x) * m, x, grad), grad * gelu(x)), {}, 1e-4
        ),
        "softmax_backward": Example(
            (grad, softmax(2 * x)), (numeric_gradient(lambda x: softmax(2 * x), x, grad),), {"scale": 2.0}
        ),
        "swiglu_backward": Example(
            (grad, x, m), (numeric_gradient(lambda x: silu(x) * m, x, grad), grad * silu(x))
        ),
    }


def windows() -> dict[str, Example]:
    """Returns examples of ops on images."""
    x, weight, bias = random(2, 3, 6, 5), random(4, 3, 2, 3), random(4)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 0), (1, 1)))
    patches = np.lib.stride_tricks.sliding_window_view(padded, (2, 3), (2, 3))
    convolved = np.einsum("nchwrs,ocrs->nohw", patches, weight) + bias[:, None, None]
    filters = random(3, 4, 2, 2)
    spread = np.einsum("nchw,cors->nohrws", x, filters).reshape(2, 4, 12, 10)
    pairs = x[..., :4].reshape(2, 3, 3, 2, 2, 2)
    scale, offset = random(3), random(3)
    normal = layer_norm(x.reshape(6, 30)).reshape(x.shape) * scale[:, None, None] + offset[:, None, None]
    line = random(1, 1, 5)
    return {
        "average_pool": Example((x,), (x.mean((2, 3), keepdims=True),)),
        "convolution": Example((x, weight, bias), (convolved,), {"before": [1, 1], "after": [0, 1]}, 1e-4),
        "convolution_transpose": Example((x, filters), (spread,), {"strides": [2, 2]}, 1e-4),
        "group_norm": Example((x, scale, offset), (normal,), {"groups": 3}),
        "max_pool": Example(
            (x[..., :4].copy(),), (pairs.max((3, 5)),), {"kernel": [2, 2], "strides": [2, 2]}, 0
        ),
        "max_pool_with_indices": Example(
            (line,), (line.max(2, keepdims=True), line.argmax(2, keepdims=True)), {}, 0
        ),
        "resize": Example(
            (line,),
            (np.interp(np.linspace(0, 4, 9), np.arange(5), line[0, 0]).reshape(1, 1, 9),),
            {"sizes": [9], "mode": "linear", "coordinates": "align-corners"},
        ),
    }


def recurrences() -> dict[str, Example]:
    """Returns examples of the ops that carry a state."""
    x, weight, bias, before = random(2, 3, 5), random(3, 4), random(3), random(2, 3, 3)
    joined = np.concatenate([before, x], 2)
    windows = np.lib.stride_tricks.sliding_window_view(joined, 4, 2)
    y = np.einsum("bclt,ct->bcl", windows, weight) + bias[:, None]
    q, k, v = random(1, 3, 2, 4), random(1, 3, 1, 4), random(1, 3, 2, 5)
    decay, beta, state = -np.abs(random(1, 3, 2)), random(1, 3, 2), random(1, 2, 4, 5)
    after, out = state.astype(np.float64), np.zeros((1, 3, 2, 5))
    for t in range(3):
        after = after * np.exp(decay[:, t, :, None, None])
        delta = beta[:, t, :, None] * (v[:, t] - np.einsum("bhkv,bok->bhv", after, k[:, t]))
        after = after + np.einsum("bok,bhv->bhkv", k[:, t], delta)
        out[:, t] = 0.5 * np.einsum("bhk,bhkv->bhv", q[:, t], after)
    return {
        "causal_convolution": Example((x, weight, bias, before), (y, joined[..., 5:])),
        "linear_attention": Example((q, k, v, decay, beta, state), (out, after)),
    }


def expressions() -> dict[str, Example]:
    x, y = random(3, 8), random(8) + 2
    positive = np.abs(x) + F32(0.1)
    whole = RANDOM.integers(-9, 9, (3, 8)).astype(np.int32)
    divisor = RANDOM.integers(1, 5, 8).astype(np.int32)
    a, b = RANDOM.integers(0, 2, (2, 3, 8)).astype(np.bool_)
    hard = np.clip(x / 6 + 0.5, 0, 1)
    softplus = np.log1p(np.exp(x))
    return {
        "abs": Example((x,), (np.abs(x),)),
        "and_": Example((a, b), (a & b,)),
        "ceil": Example((x,), (np.ceil(x),)),
        "clamp": Example((whole,), (np.clip(whole, -2, 3),), {"min": -2, "max": 3}),
        "cos": Example((x,), (np.cos(x),)),
        "div": Example((x, y), (x / y,)),
        "elu": Example((x,), (np.where(x > 0, x, 0.5 * np.expm1(x)),), {"alpha": 0.5}),
        "equal": Example((whole, divisor), (whole == divisor,)),
        "erf": Example((x,), (np.vectorize(math.erf)(x),)),
        "exp": Example((x,), (np.exp(x),)),
        "floor": Example((x,), (np.floor(x),)),
        "greater": Example((whole, divisor), (whole > divisor,)),
        "greater_equal": Example((whole, divisor), (whole >= divisor,)),
        "hard_sigmoid": Example((x,), (hard,)),
        "hard_swish": Example((x,), (x * hard,)),
        "leaky_relu": Example((x,), (np.where(x > 0, x, 0.1 * x),), {"alpha": 0.1}),
        "less": Example((whole, divisor), (whole < divisor,)),
        "less_equal": Example((whole, divisor), (whole <= divisor,)),
        "log": Example((positive,), (np.log(positive),)),
        "map": Example(
            ([x, y],),
            (np.where(x > 0, x, 1.5 * y),),
            {"expression": "where(x > 0, x, c0 * x1)", "constants": [1.5]},
        ),
        "maximum": Example((whole, divisor), (np.maximum(whole, divisor),)),
        "minimum": Example((whole, divisor), (np.minimum(whole, divisor),)),
        "mish": Example((x,), (x * np.tanh(softplus),)),
        "mod": Example((whole, divisor), (whole % divisor,)),
        "neg": Example((x,), (-x,)),
        "not_": Example((a,), (~a,)),
        "not_equal": Example((whole, divisor), (whole != divisor,)),
        "or_": Example((a, b), (a | b,)),
        "pow": Example((positive, y), (positive**y,)),
        "reciprocal": Example((positive,), (1 / positive,), {}, 1e-4),
        "round": Example((4 * x,), (np.round(4 * x),)),
        "rsqrt": Example((positive,), (1 / np.sqrt(positive),)),
        "sign": Example((whole,), (np.sign(whole),)),
        "sin": Example((x,), (np.sin(x),)),
        "softplus": Example((x,), (softplus,)),
        "sqrt": Example((positive,), (np.sqrt(positive),)),
        "square": Example((whole,), (whole * whole,)),
        "sub": Example((whole, divisor), (whole - divisor,)),
        "where": Example((a, x, y), (np.where(a, x, y),)),
        "xor": Example((a, b), (a ^ b,)),
    }


def copies() -> dict[str, Example]:
    """Returns examples of the ops that copy elements, bit for bit."""
    x, y = random(3, 8), random(3, 2)
    image = random(2, 8, 3, 5)
    blocks = image.reshape(2, 2, 2, 2, 3, 5).transpose(0, 3, 4, 1, 5, 2).reshape(2, 2, 6, 10)
    expanded = np.broadcast_to(x[:, None], (3, 4, 8))
    cache, newest = random(1, 2, 5, 3), random(1, 2, 2, 3)
    appended = np.concatenate([cache[:, :, :1], newest, cache[:, :, 3:]], 2)
    table: dict[str, tuple[tuple[Any, ...], tuple[Values, ...], dict[str, Any]]] = {
        "cache_append": ((cache, newest, np.array([3], np.int32)), (appended,), {}),
        "concat": (([x, y],), (np.concatenate([x, y], 1),), {"axis": 1}),
        "copy": ((x, y, np.array(5)), (np.concatenate([x[:, :5], y, x[:, 7:]], 1),), {"axis": 1}),
        "depth_to_space": ((image,), (blocks,), {"block": 2}),
        "expand": ((x[:, None],), (expanded,), {"shape": [4, 1]}),
        "flip": ((x,), (x[:, ::-1],), {"axes": [1]}),
        "pad": (
            (x,),
            (np.pad(x, [(1, 0), (2, 3)], "reflect"),),
            {"before": [1, 2], "after": [0, 3], "mode": "reflect"},
        ),
        "permute": ((image,), (image.transpose(0, 2, 3, 1),), {"axes": [0, 2, 3, 1]}),
        "roll": ((x,), (np.roll(x, (1, -2), (0, 1)),), {"shifts": [1, -2], "axes": [0, 1]}),
        "slice": ((x,), (x[2:0:-1, 1:7:3],), {"starts": [2, 1], "ends": [0, 7], "steps": [-1, 3]}),
        "space_to_depth": ((blocks,), (image,), {"block": 2}),
        "split": ((x,), (x[:, :3], x[:, 3:]), {"axis": 1, "sizes": [3, 5], "y_count": 2}),
        "tile": ((x,), (np.tile(x, (2, 1)),), {"repeats": [2, 1]}),
        "triangle": ((x,), (np.triu(x, 1),), {"diagonal": 1, "part": "upper"}),
    }
    return {name: Example(inputs, expected, given, 0) for name, (inputs, expected, given) in table.items()}


def sampling() -> dict[str, Example]:
    """Returns an example of sample in which the filters leave one token of each row."""
    logits, seed = random(3, 40), np.array(7)
    return {"sample": Example((logits, seed), (logits.argmax(1),), {"top_k": 5, "top_p": 0.01}, 0)}


def indexing() -> dict[str, Example]:
    """Returns examples of the ops that take an index or a condition."""
    x = random(3, 8)
    columns = RANDOM.integers(-8, 8, (3, 4))
    updates, rows = random(3, 4), random(5, 8)
    pairs = np.array([[0, 1], [2, -1]])
    repeated = np.array([1, 0, -2, 1, 2])
    replaced, added = x.copy(), x.copy()
    for row, column in np.ndindex(columns.shape):
        replaced[row, columns[row, column]] = updates[row, column]
    np.add.at(added, repeated, rows)
    hot = np.eye(3, dtype=F16)[repeated]
    condition = np.array([0, 1, 1, 0, 0, 1], np.bool_)
    selected = np.zeros_like(x)
    selected[:, :3] = np.compress(condition, x, 1)
    return {
        "compress": Example((x, condition), (selected, np.array(3)), {"axis": 1}, 0),
        "gather_elements": Example((x, columns), (np.take_along_axis(x, columns, 1),), {"axis": 1}, 0),
        "gather_nd": Example((x, pairs), (x[pairs[:, 0], pairs[:, 1]],), {}, 0),
        "one_hot": Example((repeated, np.array([0, 1], F16)), (hot,), {"depth": 3}, 0),
        "scatter_elements": Example((x, columns, updates), (replaced,), {"axis": 1}, 0),
        "scatter_nd": Example((x, repeated[:, None], rows), (added,), {"reduction": "add"}),
    }


def ranks() -> dict[str, Example]:
    """Returns examples of the ops that order elements."""
    x = random(3, 40)
    order = np.argsort(-x, axis=-1, kind="stable")[:, :5]
    queries, rows = random(2, 8), random(20, 8)
    scores = queries @ rows.T
    nearest = np.argsort(-scores, axis=-1, kind="stable")[:, :4]
    return {
        "argsort": Example((x,), (np.argsort(x, 0, kind="stable"),), {"axis": 0}, 0),
        "search": Example((queries, rows), (np.take_along_axis(scores, nearest, -1), nearest), {"k": 4}),
        "sort": Example((x,), (-np.sort(-x),), {"descending": True}, 0),
        "top_k": Example((x,), (np.take_along_axis(x, order, -1), order), {"k": 5}, 0),
    }

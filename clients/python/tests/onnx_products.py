"""ONNX operators with matrix products, such as attention, and quantization."""

from __future__ import annotations

import math

import numpy as np

from .onnx_node import Array, Node, Operator, name
from .onnx_shapes import along

LEAST = {"u8": 0, "i8": -128, "i16": -32768}
GREATEST = {"u8": 255, "i8": 127, "i16": 32767}


def matmul(n: Node) -> Array:
    a, b = n.x
    y = n.run("matmul", a.reshape(1, -1) if a.ndim == 1 else a, b.reshape(-1, 1) if b.ndim == 1 else b)
    y = np.squeeze(y, -2) if a.ndim == 1 else y
    return np.squeeze(y, -1) if b.ndim == 1 else y


def gemm(n: Node) -> Array:
    flags = {"transpose_a": bool(n.attribute("transA", 0)), "transpose_b": bool(n.attribute("transB", 0))}
    y = n.run("matmul", n.x[0], n.x[1], alpha=n.attribute("alpha", 1.0), **flags)
    if n.input(2) is None:
        return y
    return n.map("x0 + c0 * x1", y, n.x[2], constants=[n.attribute("beta", 1.0)])


def einsum(n: Node) -> Array:
    """Multiplies the operands, broadcast over all labels, and sums over the labels that the result lacks."""
    terms, _, result = n.attribute("equation").replace(" ", "").partition("->")
    operands = terms.split(",")
    if not result and "->" not in n.attribute("equation"):
        result = "".join(sorted(c for c in set(terms) - {","} if terms.count(c) == 1))
    if "." in terms or any(len(set(labels)) < len(labels) for labels in operands):
        raise NotImplementedError("ellipses and diagonals")
    order = result + "".join(sorted(set(terms) - {","} - set(result)))
    factors = []
    for x, labels in zip(n.x, operands, strict=True):
        y = n.permute(x, *(labels.index(c) for c in order if c in labels))
        extents = iter(y.shape)
        factors.append(y.reshape([next(extents) if c in labels else 1 for c in order]))
    y = n.map(" * ".join(f"x{i}" for i in range(len(factors))), *factors)
    summed = range(len(result), len(order))
    return n.reduce("sum", y, summed, keepdims=False) if summed else y


def fourier(n: Node) -> Array:
    """Multiplies by the matrix of the transform, which takes a complex number as two elements."""
    x, inverse, onesided = n.x[0], n.attribute("inverse", 0), n.attribute("onesided", 0)
    if n.input(1) is not None:
        raise NotImplementedError("lengths")
    axis = (n.attribute("axis", 1) if n.input(2) is None else int(n.x[2])) % x.ndim
    rows, parts = x.shape[axis], x.shape[-1]
    size = 2 * (rows - 1) if inverse and onesided else rows
    columns = size // 2 + 1 if onesided and not inverse else size
    angle = (2 if inverse else -2) * math.pi / size * np.outer(np.arange(rows), np.arange(columns))
    cos, sin = np.cos(angle), np.sin(angle)
    matrix = np.stack([np.stack([cos, sin], -1), np.stack([-sin, cos], -1)], 1)[:, :parts]
    if inverse and onesided:
        matrix = matrix[..., :1]
        matrix[1:-1] *= 2
    others = [i for i in range(x.ndim - 1) if i != axis]
    moved = n.permute(x, *others, axis, x.ndim - 1)
    factor = matrix.reshape(rows * parts, -1).astype(x.dtype)
    y = n.run("matmul", moved.reshape(-1, rows * parts), factor, alpha=1 / size if inverse else 1.0)
    y = y.reshape(*moved.shape[:-2], columns, matrix.shape[-1])
    return n.permute(y, *range(axis), x.ndim - 2, *range(axis, x.ndim - 2), x.ndim - 1)


def affine_grid(n: Node) -> Array:
    theta, (_, _, *extents) = n.x[0], n.integers(1) or []
    inset = 0 if n.attribute("align_corners", 0) else 1
    ticks = [np.linspace(-1 + inset / e, 1 - inset / e, e, dtype=theta.dtype) for e in extents]
    base = np.stack([*np.meshgrid(*ticks, indexing="ij")[::-1], np.ones(extents, theta.dtype)], -1)
    y = n.run("matmul", base.reshape(-1, len(extents) + 1), theta, transpose_b=True)
    return y.reshape(theta.shape[0], *extents, len(extents))


def determinant(n: Node) -> Array:
    x = n.x[0]
    if x.shape[-2:] != (2, 2):
        raise NotImplementedError
    parts = n.client.split(x.reshape(*x.shape[:-2], 4), axis=-1, parts=4, y_count=4)
    return n.map("x0 * x3 - x1 * x2", *(p.numpy() for p in parts)).reshape(x.shape[:-2])


def heads(n: Node, x: Array, key: str) -> Array:
    """Returns [B, S, H·D] as [B, H, S, D]."""
    return x if x.ndim == 4 else n.permute(x.reshape(*x.shape[:2], n.attribute(key), -1), 0, 2, 1, 3)


def attention(n: Node) -> list[Array]:
    q, k, v = (heads(n, x, key + "_num_heads") for x, key in zip(n.x, ("q", "kv", "kv"), strict=False))
    past = 0
    if n.input(4) is not None:
        past = n.x[4].shape[2]
        k, v = (n.run("concat", [old, new], axis=2) for old, new in ((n.x[4], k), (n.x[5], v)))
    windows = [n.attribute(side + "_window_size", -1) for side in ("left", "right")]
    special = [n.input(3), n.input(6), *(w for w in windows if w >= 0)]
    if any(s is not None for s in special) or past or n.outputs > 3 or "softmax_precision" in n.given:
        y, scores = masked_attention(n, q, k, v, past, windows)
    else:
        causal, softcap = bool(n.attribute("is_causal", 0)), n.attribute("softcap", 0.0)
        flow = n.client.attention(
            q, k, v, causal=causal, alignment="top-left", scale=n.attribute("scale"), softcap=softcap
        )
        y, scores = flow.out.numpy(), None
    if n.x[0].ndim == 3:
        y = n.permute(y, 0, 2, 1, 3).reshape(*n.x[0].shape[:2], -1)
    return [out for out, wanted in zip((y, k, v, scores), n.wanted, strict=False) if wanted]


def masked_attention(
    n: Node, q: Array, k: Array, v: Array, past: int, windows: list[int]
) -> tuple[Array, Array]:
    """Computes attention step by step, in f32."""
    (batch, q_heads, rows, _), (kv_heads, columns) = q.shape, k.shape[1:3]
    shape = (batch, q_heads, rows, columns)
    scale = n.attribute("scale") or 1 / math.sqrt(q.shape[-1])
    grouped = q.reshape(batch, kv_heads, -1, q.shape[-1])
    scores = n.run("matmul", grouped, k, transpose_b=True, alpha=scale, out_dtype="f32").reshape(shape)
    kept = {0: scores}
    if cap := n.attribute("softcap", 0.0):
        scores = n.map("c0 * tanh(x / c0)", scores, constants=[cap])
    kept[1] = scores
    if n.input(3) is not None:
        mask = n.x[3]
        if missing := columns - mask.shape[-1]:
            masked = np.full((*mask.shape[:-1], missing), False if mask.dtype == np.bool_ else -math.inf)
            mask = n.run("concat", [mask, masked.astype(mask.dtype)], axis=-1)
        text = "where(x1, x0, -inf)" if mask.dtype == np.bool_ else "where(x1 == -inf, -inf, x0 + x1)"
        scores = n.map(text, scores, mask, dtype=np.float32)
    scores = at_positions(n, scores, past, windows)
    kept[2] = scores
    kept[3] = n.run("softmax", scores)
    p = kept[3].reshape(batch, kv_heads, -1, columns)
    p = p if q.dtype == np.float32 else n.run("cast", p, to=name(q.dtype))
    y = n.run("matmul", p, v).reshape(batch, q_heads, rows, v.shape[-1])
    scores = kept[n.attribute("qk_matmul_output_mode", 0)]
    return y, scores if q.dtype == np.float32 else n.run("cast", scores, to=name(q.dtype))


def at_positions(n: Node, scores: Array, past: int, windows: list[int]) -> Array:
    """Masks keys by their distance from the query and by the number of keys."""
    rows, columns = scores.shape[2:]
    row, column = along(2, np.arange(rows), 4), along(3, np.arange(columns), 4)
    offset = np.full((1, 1, 1, 1), past)
    if n.input(6) is not None:
        length = along(0, n.x[6], 4)
        scores = n.map("where(x1 < x2, x0, -inf)", scores, column, length, dtype=np.float32)
        offset = n.map("x - c0", length, constants=[rows])
    terms = {
        "x2 <= x1 + x3": n.attribute("is_causal", 0),
        "x1 + x3 - x2 <= c0": windows[0] >= 0,
        "x2 - x1 - x3 <= c1": windows[1] >= 0,
    }
    kept = " && ".join(text for text, given in terms.items() if given)
    if not kept:
        return scores
    text = f"where({kept}, x0, -inf)"
    return n.map(text, scores, row, column, offset, constants=windows, dtype=np.float32)


def flex_attention(n: Node) -> Array:
    if "score_mod" in n.given or "prob_mod" in n.given:
        raise NotImplementedError("graphs")
    return n.client.attention(*n.x, scale=n.attribute("scale")).out.numpy()


def rotary(n: Node) -> Array:
    x, cos, sin, positions = n.x[0], n.x[1], n.x[2], n.input(3)
    moved = n.permute(x, 0, 2, 1, 3) if x.ndim == 4 else x.reshape(*x.shape[:2], n.attribute("num_heads"), -1)
    if positions is None:
        positions = np.arange(cos.shape[0] * cos.shape[1], dtype=np.int32).reshape(cos.shape[:2])
        cos, sin = (table.reshape(-1, table.shape[-1]) for table in (cos, sin))
    else:
        positions = n.run("cast", positions, to="i32")
    style = "interleaved" if n.attribute("interleaved", 0) else "half"
    part = n.attribute("rotary_embedding_dim", 0) or None
    y = n.run("rope", moved, cos, sin, positions, style=style, rotary_dim=part)
    return n.permute(y, 0, 2, 1, 3) if x.ndim == 4 else y.reshape(x.shape)


def causal_convolution(n: Node) -> list[Array]:
    x, weight, bias, past = n.x[0], n.x[1], n.input(2), n.input(3)
    activation = n.attribute("activation", "none").replace("swish", "silu")
    result = n.client.causal_convolution(x, weight[:, 0], bias, past, activation=activation)
    return [each.numpy() for each in result]


def linear_attention(n: Node) -> list[Array]:
    q, k, v, state, decay, beta = (n.input(i) for i in range(6))
    (batch, steps), rule = q.shape[:2], n.attribute("update_rule", "gated_delta")
    if [decay is not None, beta is not None] != ["gated" in rule, "delta" in rule]:
        raise ValueError(f"inputs that {rule} does not take")
    queries, heads = n.attribute("q_num_heads"), n.attribute("kv_num_heads")
    q, k, v = (x.reshape(batch, steps, count, -1) for x, count in ((q, queries), (k, heads), (v, heads)))
    if decay is not None and decay.shape[-1] != heads:
        decay = decay.reshape(batch, steps, heads, -1)
    if beta is not None and beta.shape[-1] != heads:
        beta = n.run("expand", beta, shape=[batch, steps, heads])
    scale = n.attribute("scale", 0.0) or None
    result = n.client.linear_attention(q, k, v, decay, beta, state, scale=scale)
    return [result.out.numpy().reshape(batch, steps, -1), result.next.numpy()]


def cast(n: Node) -> Array:
    target = n.dtype("to", None) if n.attribute("to") else n.x[1].dtype
    to = name(target)
    saturate = bool(n.attribute("saturate", 1)) if to in ("e4m3", "e5m2") else None
    return n.run("cast", n.x[0], to=to, saturate=saturate)


def blockwise(n: Node, x: Array, *parameters: Array) -> list[Array]:
    """Returns x and the parameters of its channels or blocks in shapes that broadcast."""
    axis, block = n.attribute("axis", 1) % max(1, x.ndim), n.attribute("block_size", 0)
    if block:
        x = x.reshape(*x.shape[:axis], -1, block, *x.shape[axis + 1 :])
        return [x, *(np.expand_dims(p, axis + 1) for p in parameters)]
    return [x, *(p.reshape(()) if p.size == 1 else along(axis, p, x.ndim) for p in parameters)]


def quantize(n: Node) -> Array:
    x, scale, zero = n.x[0], n.x[1], n.input(2)
    dtype = n.dtype("output_dtype", np.uint8 if zero is None else zero.dtype)
    to = name(dtype)
    values, *parameters = blockwise(n, x, scale, *([] if zero is None else [zero]))
    if to in ("e4m3", "e5m2"):
        return n.run("cast", n.map("x0 / x1", values, parameters[0]), to=to, saturate=True).reshape(x.shape)
    shift = "" if zero is None else " + x2"
    text, constants = f"clamp(round(x0 / x1){shift}, c0, c1)", [LEAST[to], GREATEST[to]]
    return n.map(text, values, *parameters, constants=constants, dtype=dtype).reshape(x.shape)


def dequantize(n: Node) -> Array:
    x, scale, zero = n.x[0], n.x[1], n.input(2)
    given = [x] if zero is None else [x, zero]
    if name(x.dtype) in ("e4m3", "e5m2"):
        given = [n.run("cast", v, to="f32") for v in given]
    values, factor, *shift = blockwise(n, given[0], scale, *given[1:])
    text = "x1 * (f32(x0) - f32(x2))" if shift else "x1 * f32(x0)"
    return n.map(text, values, factor, *shift, dtype=scale.dtype).reshape(x.shape)


def dynamic_quantize(n: Node) -> list[Array]:
    x = n.x[0]
    greatest, least = (n.reduce(kind, x, keepdims=False) for kind in ("max", "min"))
    scale = n.map("where(x0 == x1, 1, max(x0, 0) - min(x1, 0)) / 255", greatest, least)
    zero = n.map("clamp(round(-min(x0, 0) / x1), 0, 255)", least, scale, dtype=np.uint8)
    return [n.map("clamp(round(x0 / x1) + x2, 0, 255)", x, scale, zero, dtype=np.uint8), scale, zero]


def shifted(n: Node, x: Array, zero: Array | None, rows: bool) -> Array:
    if zero is None:
        return n.map("f32(x)", x)
    return n.map("f32(x0) - f32(x1)", x, zero.reshape(-1, 1) if rows and zero.size > 1 else zero)


def integer_product(n: Node) -> Array:
    a, b = shifted(n, n.x[0], n.input(2), True), shifted(n, n.x[1], n.input(3), False)
    return n.run("cast", n.run("matmul", a, b), to="i32")


def quantized_product(n: Node) -> Array:
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = n.x
    y = n.run("matmul", shifted(n, a, a_zero, True), shifted(n, b, b_zero, False))
    to = name(zero.dtype)
    text, constants = "clamp(round(x0 * f32(x1) * f32(x2) / f32(x3)) + x4, c0, c1)", [LEAST[to], GREATEST[to]]
    return n.map(text, y, a_scale, b_scale, scale, zero, constants=constants, dtype=zero.dtype)


PRODUCTS: dict[str, Operator] = {
    "MatMul": matmul,
    "DFT": fourier,
    "Gemm": gemm,
    "Einsum": einsum,
    "AffineGrid": affine_grid,
    "Det": determinant,
    "Attention": attention,
    "FlexAttention": flex_attention,
    "RotaryEmbedding": rotary,
    "CausalConvWithState": causal_convolution,
    "LinearAttention": linear_attention,
    "Cast": cast,
    "CastLike": cast,
    "QuantizeLinear": quantize,
    "DequantizeLinear": dequantize,
    "DynamicQuantizeLinear": dynamic_quantize,
    "MatMulInteger": integer_product,
    "QLinearMatMul": quantized_product,
}

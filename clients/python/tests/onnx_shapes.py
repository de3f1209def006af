"""ONNX operators that move elements: shapes, copies, gather, scatter and sort."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .onnx_node import Array, Node, Operator


def transpose(n: Node) -> Array:
    return n.run("permute", n.x[0], axes=n.attribute("perm"))


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
    return n.run("slice", n.x[0], starts=starts, ends=ends, axes=n.integers(3), steps=n.integers(4))


def pad(n: Node) -> Array:
    x, pads, value, axes = n.x[0], n.integers(1) or [], n.input(2), n.integers(3)
    axes = [a % x.ndim for a in axes] if axes else list(range(x.ndim))
    before, after = [0] * x.ndim, [0] * x.ndim
    for i, axis in enumerate(axes):
        before[axis], after[axis] = pads[i], pads[i + len(axes)]
    fill = 0.0 if value is None else float(np.asarray(value).reshape(-1)[0])
    return n.run("pad", x, before=before, after=after, mode=n.attribute("mode", "constant"), value=fill)


def center(n: Node) -> Array:
    x = n.x[0]
    axes = [a % x.ndim for a in n.attribute("axes", range(x.ndim))]
    starts, before, after = [0] * x.ndim, [0] * x.ndim, [0] * x.ndim
    ends = list(x.shape)
    for axis, extent in zip(axes, n.integers(1) or [], strict=True):
        more = extent - x.shape[axis]
        if more < 0:
            starts[axis] = -more // 2
            ends[axis] = starts[axis] + extent
        else:
            before[axis], after[axis] = more // 2, more - more // 2
    return n.run("pad", n.run("slice", x, starts=starts, ends=ends), before=before, after=after)


def triangle(n: Node) -> Array:
    part = "upper" if n.attribute("upper", 1) else "lower"
    return n.run("triangle", n.x[0], diagonal=(n.integers(1) or [0])[0], part=part)


def blocks(op: str) -> Operator:
    return lambda n: n.run(op, n.x[0], block=n.attribute("blocksize"), mode=n.attribute("mode", "DCR"))


def eye(n: Node) -> Array:
    rows, columns = (np.arange(extent, dtype=np.int32) for extent in n.x[0].shape)
    dtype, k = n.dtype("dtype", n.x[0].dtype), n.attribute("k", 0)
    return n.map("x1 - x0 == c0", rows[:, None], columns, constants=[k], dtype=dtype)


def constant_of_shape(n: Node) -> Array:
    import onnx

    given = n.attribute("value")
    value = np.zeros(1, np.float32) if given is None else onnx.numpy_helper.to_array(given)
    return n.run("expand", value, shape=n.integers(0))


def reshaped(n: Node) -> Array:
    x, shape = n.x[0], n.integers(1) or []
    if not n.attribute("allowzero", 0):
        shape = [x.shape[i] if extent == 0 else extent for i, extent in enumerate(shape)]
    return x.reshape(shape)


def flatten(n: Node) -> Array:
    shape = n.x[0].shape
    axis = n.attribute("axis", 1)
    return n.x[0].reshape(math.prod(shape[:axis]), math.prod(shape[axis:]))


def squeeze(n: Node) -> Array:
    axes = n.integers(1)
    return np.squeeze(n.x[0], None if axes is None else tuple(axes))


def shape_of(n: Node) -> Array:
    return np.array(n.x[0].shape[n.attribute("start", 0) : n.attribute("end")], np.int64)


def compress(n: Node) -> Array:
    """Gathers the elements where the condition, which determines the shape, is true."""
    x, axis = n.x[0], n.attribute("axis")
    table = x.reshape(-1) if axis is None else x
    return n.run("gather", table, np.flatnonzero(n.x[1]), axis=(axis or 0) % table.ndim)


def gather(n: Node) -> Array:
    table, index = n.x
    axis = n.attribute("axis", 0) % table.ndim
    others = [i for i in range(table.ndim) if i != axis]
    table = n.permute(table, axis, *others)
    index = n.map("where(x < 0, x + c0, x)", index, constants=[table.shape[0]])
    rows = n.run("gather", table.reshape(table.shape[0], -1), index)
    rows = rows.reshape(*index.shape, *table.shape[1:])
    indexed = range(index.ndim)
    rest = [index.ndim + i for i in range(len(others))]
    return n.permute(rows, *rest[:axis], *indexed, *rest[axis:])


def last_features(n: Node) -> Array:
    x, index = n.x
    rows = n.run("gather", n.permute(x, 1, 0), index.reshape(-1))
    return n.permute(rows, 1, 0)


def scatter_elements(n: Node) -> Array:
    x, index, updates = n.x
    reduction = n.attribute("reduction", "none")
    return n.run("scatter_elements", x, index, updates, axis=n.attribute("axis", 0), reduction=reduction)


def tensor_scatter(n: Node) -> Array:
    axis, mode = n.attribute("axis", -2), n.attribute("mode", "linear")
    return n.run("copy", n.x[0], n.x[1], n.input(2), axis=axis, mode=mode)


def one_hot(n: Node) -> Array:
    index, depth, values = n.x
    if index.dtype.kind == "f":
        index = n.run("cast", index, to="i64")
    return n.run("one_hot", index, values, depth=int(depth), axis=n.attribute("axis", -1))


def hardmax(n: Node) -> Array:
    x, axis = n.x[0], n.attribute("axis", -1)
    index = n.run("argmax", x, axis=axis)
    return n.run("one_hot", index, np.array([0, 1], x.dtype), depth=x.shape[axis], axis=axis)


def top_k(n: Node) -> list[Array]:
    k, axis = (n.integers(1) or [])[0], n.attribute("axis", -1)
    y = n.client.top_k(n.x[0], k=k, axis=axis, largest=bool(n.attribute("largest", 1)))
    return [y.values.numpy(), y.indices.numpy()]


def reverse_sequence(n: Node) -> Array:
    x, lengths = n.x
    time, batch = n.attribute("time_axis", 0), n.attribute("batch_axis", 1)
    position = along(time, np.arange(x.shape[time]), x.ndim)
    index = n.map("where(x0 < x1, x1 - 1 - x0, x0)", position, along(batch, lengths, x.ndim))
    return n.run("gather_elements", x, n.run("expand", index, shape=x.shape), axis=time)


def along(axis: int, values: Array, rank: int) -> Array:
    """Gives values the shape that broadcasts them along a dimension."""
    return values.reshape([-1 if i == axis % rank else 1 for i in range(rank)])


def cumulative(op: str) -> Operator:
    def run(n: Node) -> Array:
        flags: dict[str, Any] = {key: bool(n.attribute(key, 0)) for key in ("exclusive", "reverse")}
        return n.run(op, n.x[0], axis=int(n.x[1]), **flags)

    return run


SHAPES: dict[str, Operator] = {
    "Transpose": transpose,
    "Concat": lambda n: n.run("concat", n.x, axis=n.attribute("axis")),
    "Split": split,
    "Slice": slices,
    "Pad": pad,
    "CenterCropPad": center,
    "Tile": lambda n: n.run("tile", n.x[0], repeats=n.integers(1)),
    "Expand": lambda n: n.run("expand", n.x[0], shape=n.integers(1)),
    "Trilu": triangle,
    "DepthToSpace": blocks("depth_to_space"),
    "SpaceToDepth": blocks("space_to_depth"),
    "EyeLike": eye,
    "ConstantOfShape": constant_of_shape,
    "Compress": compress,
    "Gather": gather,
    "ArrayFeatureExtractor": last_features,
    "GatherElements": lambda n: n.run("gather_elements", *n.x, axis=n.attribute("axis", 0)),
    "GatherND": lambda n: n.run("gather_nd", *n.x, batch_dims=n.attribute("batch_dims", 0)),
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": lambda n: n.run("scatter_nd", *n.x, reduction=n.attribute("reduction", "none")),
    "TensorScatter": tensor_scatter,
    "OneHot": one_hot,
    "Hardmax": hardmax,
    "TopK": top_k,
    "ReverseSequence": reverse_sequence,
    "CumSum": cumulative("cumsum"),
    "CumProd": cumulative("cumprod"),
}

# These have no elements to compute or to move.
METADATA: dict[str, Operator] = {
    "Reshape": reshaped,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": lambda n: np.expand_dims(n.x[0], tuple(n.integers(1) or [])),
    "Shape": shape_of,
    "Size": lambda n: np.array(n.x[0].size, np.int64),
}

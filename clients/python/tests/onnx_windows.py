"""ONNX operators with windows: convolutions, pooling and their inverses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .onnx_node import Array, Node, Operator, name
from .onnx_products import GREATEST, LEAST
from .onnx_shapes import along


def halves(total: int, upper: bool) -> tuple[int, int]:
    """Splits padding into that before and that after; the odd element goes after if `upper`."""
    small = total // 2
    return (small, total - small) if upper else (total - small, small)


def explicit(n: Node, rank: int) -> dict[str, Any]:
    """Returns the strides, dilations and padding that are given, by the names of the ops."""
    strides, dilations = (n.attribute(key, [1] * rank) for key in ("strides", "dilations"))
    given = n.attribute("pads") if n.attribute("auto_pad", "NOTSET") == "NOTSET" else None
    pads = given or [0] * 2 * rank
    return {"strides": strides, "dilations": dilations, "before": pads[:rank], "after": pads[rank:]}


def windows(n: Node, x: Array, kernel: Any) -> dict[str, Any]:
    """Returns the strides, dilations and padding of the windows on x."""
    given, auto = explicit(n, x.ndim - 2), n.attribute("auto_pad", "NOTSET")
    if auto.startswith("SAME"):
        sizes = zip(x.shape[2:], kernel, given["strides"], given["dilations"], strict=True)
        for i, (extent, taps, stride, dilation) in enumerate(sizes):
            total = (math.ceil(extent / stride) - 1) * stride + (taps - 1) * dilation + 1 - extent
            if total < 0:
                raise NotImplementedError("windows that leave out the end of a dimension")
            given["before"][i], given["after"][i] = halves(total, auto == "SAME_UPPER")
    return given


def kernel_of(n: Node, weight: Array) -> list[int]:
    kernel = list(weight.shape[2:])
    if n.attribute("kernel_shape", kernel) != kernel:
        raise ValueError("kernel_shape is not that of the weights")
    return kernel


def convolved(n: Node, x: Array, weight: Array, bias: Array | None) -> Array:
    given = windows(n, x, kernel_of(n, weight))
    return n.run("convolution", x, weight, bias, groups=n.attribute("group", 1), **given)


def transposed(n: Node) -> Array:
    x, kernel, upper = n.x[0], kernel_of(n, n.x[1]), n.attribute("auto_pad") == "SAME_UPPER"
    given, more = explicit(n, len(kernel)), list(n.attribute("output_padding", [0] * len(kernel)))
    strides, before, after = (given[key] for key in ("strides", "before", "after"))
    shape = n.attribute("output_shape")
    if shape is None and n.attribute("auto_pad", "NOTSET").startswith("SAME"):
        shape = [extent * stride for extent, stride in zip(x.shape[2:], strides, strict=True)]
    for i, wanted in enumerate(shape or []):
        span = (x.shape[2 + i] - 1) * strides[i] + (kernel[i] - 1) * given["dilations"][i] + 1
        before[i], after[i] = halves(span + more[i] - wanted, upper)
        more[i], after[i] = more[i] + max(0, -after[i]), max(0, after[i])
    return n.run("convolution_transpose", *n.x, groups=n.attribute("group", 1), output_padding=more, **given)


def differences(n: Node, x: Array, zero: Array | None) -> Array:
    """Returns x without its zero point, which may be one for each slice of the first dimension."""
    if zero is None:
        return n.map("f64(x)", x)
    return n.map("f64(x0) - f64(x1)", x, along(0, zero, x.ndim) if zero.size > 1 else zero.reshape(()))


def integers_convolved(
    n: Node, x: Array, x_zero: Array | None, w: Array, w_zero: Array | None, bias: Array | None
) -> Array:
    """Returns the sums of a convolution of 8-bit integers in f64, which is exact."""
    if math.prod(w.shape[1:]) * 255**2 >= 2**31:
        raise NotImplementedError("sums beyond 32 bits")
    added = None if bias is None else n.map("f64(x)", bias)
    return convolved(n, differences(n, x, x_zero), differences(n, w, w_zero), added)


def integer_convolution(n: Node) -> Array:
    return n.run("cast", integers_convolved(n, n.x[0], n.input(2), n.x[1], n.input(3), None), to="i32")


def quantized_convolution(n: Node) -> Array:
    x, x_scale, x_zero, w, w_scale, w_zero, scale, zero = n.x[:8]
    sums = integers_convolved(n, x, x_zero, w, w_zero, n.input(8))
    w_scale = along(1, w_scale, x.ndim)
    to = name(zero.dtype)
    text = "clamp(round(x0 * f64(x1) * f64(x2) / f64(x3)) + f64(x4), c0, c1)"
    constants = [LEAST[to], GREATEST[to]]
    return n.map(text, sums, x_scale, w_scale, scale, zero, constants=constants, dtype=zero.dtype)


def pooling(n: Node) -> dict[str, Any]:
    kernel, ceil = n.attribute("kernel_shape"), bool(n.attribute("ceil_mode", 0))
    if ceil and n.attribute("auto_pad", "NOTSET") != "NOTSET":
        raise NotImplementedError("ceil_mode with auto_pad")
    return {"kernel": kernel, "ceil": ceil, **windows(n, n.x[0], kernel)}


def average_pool(n: Node) -> Array:
    return n.run("average_pool", n.x[0], count_padding=bool(n.attribute("count_include_pad", 0)), **pooling(n))


def indexed(n: Node, x: Array) -> list[Array]:
    """Returns maxima and their indices in x, in whose planes the last dimension may be the slowest."""
    found = n.client.max_pool_with_indices(x, **pooling(n))
    pixels = found.indices.numpy()
    planes = np.arange(math.prod(x.shape[:2])).reshape(*x.shape[:2], *[1] * (x.ndim - 2))
    if n.attribute("storage_order", 0):
        places = np.unravel_index(pixels, x.shape[2:])
        pixels = np.ravel_multi_index(places, x.shape[2:], order="F")
    return [found.y.numpy(), planes * math.prod(x.shape[2:]) + pixels]


def max_pool(n: Node) -> Array | list[Array]:
    x, dtype = n.x[0], name(n.x[0].dtype)
    if n.outputs > 1:
        return indexed(n, x)
    if dtype not in ("i8", "u8"):
        return n.run("max_pool", x, **pooling(n))
    return n.run("cast", n.run("max_pool", n.run("cast", x, to="f32"), **pooling(n)), to=dtype)


def lp_pool(n: Node) -> Array:
    """Sums powers by a convolution with ones."""
    x, power = n.x[0], n.attribute("p", 2)
    kernel = n.attribute("kernel_shape", list(x.shape[2:]))
    if n.attribute("ceil_mode", 0) or x.dtype == np.float64:
        raise NotImplementedError("ceil_mode, or powers of f64")
    powers = n.map("abs(f32(x)) ** c0", x, constants=[power]).reshape(-1, 1, *x.shape[2:])
    sums = n.run("convolution", powers, np.ones((1, 1, *kernel), np.float32), **windows(n, x, kernel))
    y = n.map("x ** c0", sums, constants=[1 / power], dtype=x.dtype)
    return y.reshape(*x.shape[:2], *y.shape[2:])


def columns_to_image(n: Node) -> Array:
    """Adds the columns at their positions; those in the padding are at none."""
    x, image, block = n.x[0], n.integers(1) or [], n.integers(2) or []
    rank = len(image)
    index, inside = np.zeros((), np.int64), np.ones((), bool)
    sizes = zip(image, block, *explicit(n, rank).values(), strict=True)
    for i, (extent, taps, stride, dilation, before, after) in enumerate(sizes):
        count = (before + extent + after - (taps - 1) * dilation - 1) // stride + 1
        tap, window = along(i, np.arange(taps), 2 * rank), along(rank + i, np.arange(count), 2 * rank)
        position = window * stride + tap * dilation - before
        index, inside = index * extent + position, inside & (position >= 0) & (position < extent)
    size = math.prod(image)
    updates = x.reshape(-1, index.size)
    places = np.broadcast_to(np.where(inside, index, size).reshape(-1), updates.shape)
    zeros = np.zeros((len(updates), size), x.dtype)
    y = n.run("scatter_elements", zeros, np.ascontiguousarray(places), updates, axis=1, reduction="add")
    return y.reshape(x.shape[0], -1, *image)


def max_unpool(n: Node) -> Array:
    x, index, shape = n.x[0], n.x[1], n.integers(2)
    given = explicit(n, x.ndim - 2)
    sizes = zip(x.shape[2:], n.attribute("kernel_shape"), *given.values(), strict=True)
    spatial = ((e - 1) * stride + taps - before - after for e, taps, stride, _, before, after in sizes)
    inferred = [*x.shape[:2], *spatial]
    zeros = np.zeros(math.prod(inferred), x.dtype)
    y = n.run("scatter_elements", zeros, index.reshape(-1), x.reshape(-1)).reshape(inferred)
    if shape is None:
        return y
    return n.run("pad", y, after=[wanted - extent for wanted, extent in zip(shape, inferred, strict=True)])


def resized(n: Node, scales: Any, sizes: list[int] | None, **attributes: Any) -> Array:
    """Resizes the dimensions whose extents change; the others become those of images and channels."""
    x = n.x[0]
    axes = [int(axis) % x.ndim for axis in n.attribute("axes", range(x.ndim))]
    given = dict(zip(axes, sizes or [float(scale) for scale in scales], strict=True))
    spatial = [axis for axis in sorted(given) if given[axis] != (x.shape[axis] if sizes else 1)]
    if not spatial:
        return x
    others = [axis for axis in range(x.ndim) if axis not in spatial]
    order = others + spatial
    images = n.permute(x, *order).reshape(1, -1, *(x.shape[axis] for axis in spatial))
    extents = {"sizes" if sizes else "scales": [given[axis] for axis in spatial]}
    y = n.run("resize", images, **extents, **attributes)
    y = y.reshape(*(x.shape[axis] for axis in others), *y.shape[2:])
    return n.permute(y, *(order.index(axis) for axis in range(x.ndim)))


def resize(n: Node) -> Array:
    coordinates = n.attribute("coordinate_transformation_mode", "half_pixel")
    if coordinates == "tf_crop_and_resize":
        raise NotImplementedError("regions of interest")
    scales, sizes = n.input(2), n.integers(3)
    policy = n.attribute("keep_aspect_ratio_policy", "stretch")
    if sizes and policy != "stretch":
        extents = [n.x[0].shape[axis] for axis in n.attribute("axes", range(n.x[0].ndim))]
        ratios = [size / extent for size, extent in zip(sizes, extents, strict=True)]
        scale = min(ratios) if policy == "not_larger" else max(ratios)
        if any(math.floor(scale * extent) != math.floor(scale * extent + 0.5) for extent in extents):
            raise NotImplementedError("extents rounded up")
        scales, sizes = [scale] * len(extents), None
    return resized(
        n,
        scales,
        sizes,
        mode=n.attribute("mode", "nearest"),
        coordinates=coordinates.replace("_", "-"),
        rounding=n.attribute("nearest_mode", "round_prefer_floor").replace("_", "-"),
        cubic_coefficient=n.attribute("cubic_coeff_a", -0.75),
        antialias=bool(n.attribute("antialias", 0)),
        exclude_outside=bool(n.attribute("exclude_outside", 0)),
    )


def upsample(n: Node) -> Array:
    scales = n.attribute("scales") if n.input(1) is None else n.x[1]
    mode = n.attribute("mode", "nearest")
    return resized(n, scales, None, mode=mode, coordinates="asymmetric", rounding="floor")


WINDOWS: dict[str, Operator] = {
    "Conv": lambda n: convolved(n, n.x[0], n.x[1], n.input(2)),
    "ConvTranspose": transposed,
    "ConvInteger": integer_convolution,
    "QLinearConv": quantized_convolution,
    "AveragePool": average_pool,
    "MaxPool": max_pool,
    "LpPool": lp_pool,
    "GlobalLpPool": lp_pool,
    "Col2Im": columns_to_image,
    "MaxUnpool": max_unpool,
    "Resize": resize,
    "Upsample": upsample,
}

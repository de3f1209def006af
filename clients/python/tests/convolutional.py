"""Blocks of convolutional models as pipelines, each with a NumPy reference in float64."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from .models import Array, Block, f64, view


def convolved(x: Array, weight: Array, stride: int = 1, pad: int = 0) -> Array:
    """Returns the convolution of [N, C, …] with [O, C, …], as a sum of products with each tap."""
    spatial = range(2, x.ndim)
    padded = np.pad(x, [(0, 0), (0, 0), *((pad, pad) for _ in spatial)])
    counts = [(padded.shape[i] - weight.shape[i]) // stride + 1 for i in spatial]
    channels = (slice(None), slice(None))
    y = np.zeros((x.shape[0], weight.shape[0], *counts))
    for tap in itertools.product(*(range(weight.shape[i]) for i in spatial)):
        taken = tuple(slice(t, t + n * stride, stride) for t, n in zip(tap, counts, strict=True))
        y += np.einsum("nc...,oc->no...", padded[channels + taken], weight[channels + tap])
    return y


def columns(values: Array, rank: int) -> Array:
    """Gives the values of channels the shape that broadcasts them to [N, C, …]."""
    return values.reshape(-1, *[1] * (rank - 2))


def silu(x: Array) -> Array:
    return x / (1 + np.exp(-x))


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


class Convolutional(Block):
    """A block with convolutions of random weights, whose sums stay near 1."""

    def random(self, *shape: int) -> Array:
        return self._random.standard_normal(shape).astype(np.float32)

    def taps(self, name: str, *shape: int) -> str:
        return self.weight(name, *shape, scale=math.prod(shape[1:]) ** -0.5)

    def convolution(self, x: Any, name: str, *shape: int, pad: int = 0, stride: int = 1, **more: Any) -> str:
        """Adds a step with new weights of a shape [O, C, …] and a bias."""
        inputs = {"x": x, "weight": self.taps(name, *shape), "bias": self.weight(f"{name}.bias", shape[0])}
        return self.strided(inputs, len(shape) - 2, pad, stride, **more)

    def strided(self, inputs: dict[str, Any], rank: int, pad: int, stride: int, **more: Any) -> str:
        pads = [pad] * rank
        return self.step("convolution", inputs, strides=[stride] * rank, before=pads, after=pads, **more)

    def expected(self, x: Array, name: str, pad: int = 0, stride: int = 1) -> Array:
        y = convolved(x, f64(self.resident[name]), stride, pad)
        return y + columns(f64(self.resident[f"{name}.bias"]), y.ndim)


class ResNet(Convolutional):
    """The block of ResNet-18 that halves the image, channels last; its batch norms are folded into the weights.

    He et al., "Deep residual learning for image recognition", CVPR 2016.
    """

    def __init__(self) -> None:
        super().__init__("ResNet block, channels last")
        self.layers: dict[str, tuple[Array, ...]] = {}
        self.inputs["x"] = self.random(2, 12, 10, 8)
        first = self.folded("x", "first", 16, 8, 3, 3, pad=1, stride=2, activation="relu")
        second = self.folded(first, "second", 16, 16, 3, 3, pad=1)
        short = self.folded("x", "short", 16, 8, 1, 1, stride=2)
        last = self.step("map", {"x0": second, "x1": short}, expression="relu(x0 + x1)")
        self.outputs = {last: None}

    def folded(self, x: str, name: str, *shape: int, pad: int = 0, stride: int = 1, **more: Any) -> str:
        weight = f64(self.random(*shape)) / math.sqrt(math.prod(shape[1:]))
        gamma, beta, mean = (f64(self.random(shape[0])) for _ in range(3))
        variance = 0.5 + self._random.random(shape[0])
        self.layers[name] = weight, gamma, beta, mean, variance
        factor = gamma / np.sqrt(variance + 1e-5)
        last = np.moveaxis(weight * columns(factor, 5), 1, -1)
        self.resident[name] = np.ascontiguousarray(last, np.float32)
        self.resident[f"{name}.bias"] = (beta - mean * factor).astype(np.float32)
        inputs = {"x": x, "weight": name, "bias": f"{name}.bias"}
        return self.strided(inputs, 2, pad, stride, channelsLast=True, **more)

    def reference(self) -> Array:
        def normalized(x: Array, name: str, pad: int = 0, stride: int = 1) -> Array:
            weight, *parameters = self.layers[name]
            gamma, beta, mean, variance = (columns(p, 4) for p in parameters)
            return gamma * (convolved(x, weight, stride, pad) - mean) / np.sqrt(variance + 1e-5) + beta

        x = np.moveaxis(f64(self.inputs["x"]), -1, 1)
        inner = np.maximum(normalized(x, "first", 1, 2), 0)
        y = np.maximum(normalized(inner, "second", 1) + normalized(x, "short", 0, 2), 0)
        return np.moveaxis(y, 1, -1)


class Patches(Convolutional):
    """The tokens of ViT: a convolution whose windows are the patches, the class token and the positions."""

    def __init__(self) -> None:
        super().__init__("ViT patches")
        self.inputs["x"] = self.random(2, 3, 32, 24)
        patches = self.convolution("x", "patch", 20, 3, 8, 8, stride=8)
        rows = view(patches, [2, 12, 20], 0, [12 * 20, 1, 12])
        token = view(self.weight("class", 20), [2, 1, 20], 0, [0, 20, 1])
        tokens = self.step("concat", {"x0": token, "x1": rows}, axis=1)
        self.outputs = {self.step("add", {"a": tokens, "b": self.weight("positions", 13, 20)}): None}

    def reference(self) -> Array:
        patches = self.expected(f64(self.inputs["x"]), "patch", stride=8).reshape(2, 20, 12)
        token = np.broadcast_to(f64(self.resident["class"]), (2, 1, 20))
        return np.concatenate([token, patches.swapaxes(1, 2)], 1) + f64(self.resident["positions"])


class Whisper(Convolutional):
    """The stem of Whisper's encoder: two convolutions of a spectrogram, and positions."""

    def __init__(self) -> None:
        super().__init__("Whisper stem")
        self.inputs["x"] = self.random(2, 16, 30)
        first = self.convolution("x", "first", 24, 16, 3, pad=1, activation="gelu")
        second = self.convolution(first, "second", 24, 24, 3, pad=1, stride=2, activation="gelu")
        rows = view(second, [2, 15, 24], 0, [15 * 24, 1, 15])
        self.outputs = {self.step("add", {"a": rows, "b": self.weight("positions", 15, 24)}): None}

    def reference(self) -> Array:
        first = gelu(self.expected(f64(self.inputs["x"]), "first", 1))
        second = gelu(self.expected(first, "second", 1, 2))
        return second.swapaxes(1, 2) + f64(self.resident["positions"])


class UNet(Convolutional):
    """A residual block of a diffusion model with the embedding of the time, and the upsampling after it."""

    GROUPS, ROWS, COLUMNS = 4, 6, 5

    def __init__(self) -> None:
        super().__init__("UNet block and upsampling")
        height, width = self.ROWS, self.COLUMNS
        self.inputs["x"] = self.random(2, 8, height, width)
        self.inputs["time"] = self.random(2, 10)
        first = self.convolution(self.normalized("x", "norm1", 8), "first", 12, 8, 3, 3, pad=1)
        active = self.step("silu", {"x": "time"})
        time = self.matmul(active, self.weight("time.weight", 10, 12), bias=self.weight("time.bias", 12))
        timed = self.step("add", {"a": first, "b": view(time, [2, 12, 1, 1])})
        second = self.convolution(self.normalized(timed, "norm2", 12), "second", 12, 12, 3, 3, pad=1)
        total = self.step("add", {"a": second, "b": self.convolution("x", "short", 12, 8, 1, 1)})
        pixels = view(total, [2, 12, height, 1, width, 1])
        double = self.step("expand", {"x": pixels}, shape=[2, 12, height, 2, width, 2])
        large = view(double, [2, 12, 2 * height, 2 * width])
        self.outputs = {self.convolution(large, "last", 12, 12, 3, 3, pad=1): None}

    def normalized(self, x: str, name: str, channels: int) -> str:
        """Applies group normalization, which is layer normalization of the groups, and SiLU."""
        shape = [2, channels, self.ROWS, self.COLUMNS]
        y = self.step("layer-norm", {"x": view(x, [2 * self.GROUPS, math.prod(shape) // (2 * self.GROUPS)])})
        gamma, beta = (self.weight(f"{name}.{key}", channels, 1, 1, scale=1) for key in ("weight", "bias"))
        inputs = {"x0": view(y, shape), "x1": gamma, "x2": beta}
        return self.step("map", inputs, expression="silu(x0 * x1 + x2)")

    def reference(self) -> Array:
        def normalized(x: Array, name: str) -> Array:
            groups = x.reshape(2, self.GROUPS, -1)
            centered = groups - groups.mean(-1, keepdims=True)
            y = centered / np.sqrt((centered * centered).mean(-1, keepdims=True) + 1e-5)
            return silu(y.reshape(x.shape) * w[f"{name}.weight"] + w[f"{name}.bias"])

        w = {name: f64(values) for name, values in self.resident.items()}
        x, time = (f64(self.inputs[key]) for key in ("x", "time"))
        time = silu(time) @ w["time.weight"] + w["time.bias"]
        timed = self.expected(normalized(x, "norm1"), "first", 1) + time[:, :, None, None]
        y = self.expected(normalized(timed, "norm2"), "second", 1) + self.expected(x, "short")
        return self.expected(y.repeat(2, 2).repeat(2, 3), "last", 1)

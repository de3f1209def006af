"""Layers of recurrent models as pipelines, each with a NumPy reference in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from .convolutional import silu
from .models import Array, Block, f64, rms_norm, view


def softplus(x: Array) -> Array:
    return np.log1p(np.exp(x))


class Recurrent(Block):
    """A layer that convolves a part of its projections causally; its two states change in place."""

    BATCH, HIDDEN, TAPS, HEADS, SIZE = 2, 24, 4, 4, 6
    INNER = HEADS * SIZE

    def __init__(self, name: str, length: int, keys: int, key_size: int, others: int) -> None:
        """Projects to queries and keys of `keys` heads, values, a gate and `others`."""
        super().__init__(f"{name}, {'decode' if length == 1 else f'{length} tokens'}")
        self.length, self.keys, self.key_size = length, keys, key_size
        self.channels = 2 * keys * key_size + self.INNER
        self.width = self.channels + self.INNER + others
        self.projected = self.matmul("x", self.weight("in", self.HIDDEN, self.width))
        x = view(self.projected, [self.BATCH, self.channels, length], 0, [length * self.width, 1, self.width])
        taps = self.weight("taps", self.channels, self.TAPS, scale=0.5)
        bias = self.weight("taps.bias", self.channels)
        self.resident["last"] = np.zeros((self.BATCH, self.channels, self.TAPS - 1), np.float32)
        self.resident["state"] = np.zeros((self.BATCH, self.HEADS, key_size, self.SIZE), np.float32)
        given = {"x": x, "weight": taps, "bias": bias, "state": "last"}
        self.convolved = self.stateful("causal-convolution", given, "y", activation="silu")
        self.q, self.k = (self.head(i * keys * key_size, keys, key_size) for i in range(2))
        self.v = self.head(2 * keys * key_size, self.HEADS, self.SIZE)
        self.gate = self.projection(0, self.HEADS, self.SIZE)

    def stateful(self, op: str, inputs: dict[str, Any], output: str, **attributes: Any) -> str:
        """Adds a step that updates the resident tensor `state`."""
        y = self.step(op, inputs, output, **attributes)
        self.steps[-1]["outputs"]["next"] = after = y + "next"
        self.outputs[after] = inputs["state"]
        return y

    def head(self, first: int, heads: int, size: int) -> dict[str, Any]:
        """Returns convolved channels as heads of each step."""
        strides = [self.channels * self.length, 1, size * self.length, self.length]
        shape = [self.BATCH, self.length, heads, size]
        return view(self.convolved, shape, first * self.length, strides)

    def projection(self, first: int, heads: int, *size: int) -> dict[str, Any]:
        """Returns projections that are not convolved."""
        strides = [self.length * self.width, self.width, *size, 1]
        return view(self.projected, [self.BATCH, self.length, heads, *size], self.channels + first, strides)

    def finish(self, y: str, gamma: str) -> None:
        rows = view(y, [self.BATCH * self.length, self.INNER])
        self.resident[gamma] = (1 + 0.1 * self._random.standard_normal(self.INNER)).astype(np.float32)
        self.outputs[self.matmul(rows, self.weight("out", self.INNER, self.HIDDEN))] = None

    def parts(self, x: Array) -> tuple[Array, ...]:
        """Returns the queries, keys, values, gates and other projections of [B, T, HIDDEN]."""
        w = {name: f64(values) for name, values in self.resident.items()}
        projected = f64(x) @ w["in"]
        joined = np.pad(projected[..., : self.channels], ((0, 0), (self.TAPS - 1, 0), (0, 0)))
        steps = x.shape[1]
        y = sum(joined[:, i : i + steps] * w["taps"][:, i] for i in range(self.TAPS))
        size = self.keys * self.key_size
        split = [*np.split(silu(y + w["taps.bias"]), [size, 2 * size], -1), projected[..., self.channels :]]
        shapes = [(self.keys, self.key_size)] * 2 + [(self.HEADS, self.SIZE)]
        q, k, v = (each.reshape(*x.shape[:2], *shape) for each, shape in zip(split, shapes, strict=False))
        q, k = (each.repeat(self.HEADS // self.keys, 2) for each in (q, k))
        gate, others = np.split(split[3], [self.INNER], -1)
        return q, k, v, gate, others


class Mamba2(Recurrent):
    """A layer of Mamba-2 (Dao and Gu, "Transformers are SSMs", ICML 2024)."""

    def __init__(self, length: int) -> None:
        super().__init__("Mamba-2", length, 1, 16, self.HEADS)
        for name in ("time.bias", "rate", "skip"):
            self.weight(name, self.HEADS, scale=0.5)
        time, heads = self.projection(self.INNER, self.HEADS), [self.HEADS, 1]
        inputs = {"x0": time, "x1": "time.bias", "x2": "rate"}
        decay = self.step("map", inputs, expression="-exp(x2) * softplus(x0 + x1)")
        column = {**time, "shape": [self.BATCH, length, *heads], "strides": [*time["strides"], 1]}
        inputs = {"x0": self.v, "x1": column, "x2": view("time.bias", heads)}
        v = self.step("map", inputs, expression="x0 * softplus(x1 + x2)")
        inputs = {"q": self.k, "k": self.q, "v": v, "decay": decay, "state": "state"}
        y = self.stateful("linear-attention", inputs, "out", scale=1)
        inputs = {"x0": y, "x1": self.v, "x2": view("skip", heads), "x3": self.gate}
        gated = self.step("map", inputs, expression="(x0 + x1 * x2) * silu(x3)")
        rows = view(gated, [self.BATCH * length, self.INNER])
        self.finish(self.step("rms-norm", {"x": rows, "gamma": "gamma"}), "gamma")

    def reference(self, x: Array) -> Array:
        w = {name: f64(values) for name, values in self.resident.items()}
        b, c, v, gate, time = self.parts(x)
        time = softplus(time + w["time.bias"])
        state, out = np.zeros((self.BATCH, self.HEADS, self.key_size, self.SIZE)), np.zeros(v.shape)
        for t in range(x.shape[1]):
            state = state * np.exp(-np.exp(w["rate"]) * time[:, t])[..., None, None]
            state = state + b[:, t, :, :, None] * (time[:, t, :, None] * v[:, t])[:, :, None]
            out[:, t] = (c[:, t, :, :, None] * state).sum(2) + w["skip"][:, None] * v[:, t]
        return rms_norm(out.reshape(gate.shape) * silu(gate), w["gamma"]) @ w["out"]


class GatedDelta(Recurrent):
    """A layer of Gated DeltaNet (Yang et al., "Gated Delta Networks", ICLR 2025), with fewer heads of keys."""

    def __init__(self, length: int) -> None:
        super().__init__("Gated DeltaNet", length, 2, 8, 2 * self.HEADS)
        for name in ("time.bias", "rate"):
            self.weight(name, self.HEADS, scale=0.5)
        # the length of a vector is √n times its root mean square
        self.resident["unit"] = np.full(self.key_size, self.key_size**-0.5, np.float32)
        q, k = (self.step("rms-norm", {"x": each, "gamma": "unit"}) for each in (self.q, self.k))
        inputs = {"x0": self.projection(self.INNER, self.HEADS), "x1": "time.bias", "x2": "rate"}
        decay = self.step("map", inputs, expression="-exp(x2) * softplus(x0 + x1)")
        beta = self.step("sigmoid", {"x": self.projection(self.INNER + self.HEADS, self.HEADS)})
        inputs = {"q": q, "k": k, "v": self.v, "decay": decay, "beta": beta, "state": "state"}
        y = self.stateful("linear-attention", inputs, "out")
        normal = self.step("rms-norm", {"x": y, "gamma": view("gamma", [self.SIZE], 0)})
        gated = self.step("map", {"x0": normal, "x1": self.gate}, expression="x0 * silu(x1)")
        self.finish(gated, "gamma")

    def reference(self, x: Array) -> Array:
        w = {name: f64(values) for name, values in self.resident.items()}
        q, k, v, gate, others = self.parts(x)
        q, k = (rms_norm(each, w["unit"]) for each in (q, k))
        time, beta = np.split(others, 2, -1)
        factor = np.exp(-np.exp(w["rate"]) * softplus(time + w["time.bias"]))
        state, out = np.zeros((self.BATCH, self.HEADS, self.key_size, self.SIZE)), np.zeros(v.shape)
        for t in range(x.shape[1]):
            state = state * factor[:, t, :, None, None]
            missing = v[:, t] - (k[:, t, :, :, None] * state).sum(2)
            rate = 1 / (1 + np.exp(-beta[:, t, :, None]))
            state = state + k[:, t, :, :, None] * (rate * missing)[:, :, None]
            out[:, t] = (q[:, t, :, :, None] * state).sum(2) * self.key_size**-0.5
        normal = rms_norm(out, w["gamma"][: self.SIZE])
        return (normal.reshape(gate.shape) * silu(gate)) @ w["out"]

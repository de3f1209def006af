"""Blocks of models as pipelines, each with a NumPy reference in float64.

Weights and caches are resident, and a call sends and returns only what is new.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = Any


@dataclass
class Block:
    """A block of a model.

    `resident` are the tensors that the service holds, `inputs` those that each call sends. `outputs` maps names
    of values to `None`, which returns them, or to the name of the resident tensor that they change.
    """

    name: str
    resident: dict[str, Array] = field(default_factory=dict)
    inputs: dict[str, Array] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list)
    outputs: dict[str, str | None] = field(default_factory=dict)
    _random: Any = field(default_factory=lambda: np.random.default_rng(7))

    def weight(self, name: str, *shape: int, scale: float | None = None) -> str:
        """Adds a random resident tensor."""
        values = self._random.standard_normal(shape) * (scale or shape[0] ** -0.5)
        self.resident[name] = values.astype(np.float32)
        return name

    def step(self, op: str, inputs: dict[str, Any], output: str = "y", **attributes: Any) -> str:
        """Adds a step and returns the name of its output."""
        name = f"s{len(self.steps)}"
        self.steps.append({"op": op, "inputs": inputs, "attributes": attributes, "outputs": {output: name}})
        return name

    def matmul(self, a: Any, b: Any, **more: Any) -> str:
        inputs = {"a": a, "b": b, **({"bias": more.pop("bias")} if "bias" in more else {})}
        return self.step("matmul", inputs, "c", **more)


def view(
    ref: str, shape: list[int], offset: int | None = None, strides: list[int] | None = None
) -> dict[str, Any]:
    given = {"ref": ref, "shape": shape, "offset": offset, "strides": strides}
    return {name: value for name, value in given.items() if value is not None}


def f64(values: Array) -> Array:
    return np.asarray(values, np.float64)


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def rms_norm(x: Array, gamma: Array) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * gamma


def layer_norm(x: Array, gamma: Array, beta: Array) -> Array:
    centered = x - x.mean(-1, keepdims=True)
    return centered / np.sqrt((centered * centered).mean(-1, keepdims=True) + 1e-5) * gamma + beta


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


class Llama(Block):
    """A step of a decoder with grouped queries: the next token replaces the last one on the device."""

    HEADS, GROUPS, SIZE, LENGTH = 4, 2, 16, 24
    HIDDEN, INNER, WORDS = 64, 96, 80

    def __init__(self, layers: int) -> None:
        super().__init__(f"Llama decode, {layers} layers")
        self.layers = layers
        g, d = self.GROUPS, self.SIZE
        self.weight("table", self.WORDS, self.HIDDEN, scale=1)
        self.resident["token"] = np.array([3])
        self.resident["position"] = np.array([0], np.int32)
        x = self.step("gather", {"table": "table", "index": "token"})
        length = self.step("map", {"x0": "position"}, expression="x + 1")
        y = self.step("rms-norm", {"x": x, "gamma": self.gamma("norm0")})
        for layer in range(layers):
            x, y = self.layer(layer, x, y, length)
        logits = self.matmul(y, self.weight("head", self.HIDDEN, self.WORDS))
        token = self.step("argmax", {"x": logits})
        answer = self.step("map", {"x0": token}, expression="x")
        self.outputs = {token: "token", length: "position", answer: None, **self.outputs}
        for layer in range(layers):
            for cache in ("k", "v"):
                self.resident[f"{cache}{layer}"] = np.zeros((1, g, self.LENGTH, d), np.float32)

    def gamma(self, name: str) -> str:
        self.resident[name] = (1 + 0.1 * self._random.standard_normal(self.HIDDEN)).astype(np.float32)
        return name

    def layer(self, n: int, x: str, y: str, length: str) -> tuple[str, str]:
        h, g, d = self.HEADS, self.GROUPS, self.SIZE
        qkv = self.matmul(y, self.weight(f"qkv{n}", self.HIDDEN, (h + 2 * g) * d))
        q = self.step("rope", {"x": view(qkv, [1, 1, h, d], 0), "positions": "position"}, theta=10000)
        k = self.step("rope", {"x": view(qkv, [1, 1, g, d], h * d), "positions": "position"}, theta=10000)
        value = view(qkv, [1, g, 1, d], (h + g) * d)
        keys = self.step("copy", {"into": f"k{n}", "x": view(k, [1, g, 1, d]), "at": "position"}, axis=2)
        values = self.step("copy", {"into": f"v{n}", "x": value, "at": "position"}, axis=2)
        self.outputs |= {keys: f"k{n}", values: f"v{n}"}
        out = self.step(
            "attention-decode",
            {"q": view(q, [1, h, 1, d]), "kCache": keys, "vCache": values, "lengths": length},
            "out",
        )
        o = self.matmul(view(out, [1, h * d]), self.weight(f"o{n}", h * d, self.HIDDEN))
        y, x = self.add_and_normalize(o, x, self.gamma(f"norm{n}a"))
        both = self.matmul(y, self.weight(f"up{n}", self.HIDDEN, 2 * self.INNER))
        half = [1, self.INNER]
        inner = self.step("swiglu", {"gate": view(both, half, 0), "up": view(both, half, self.INNER)})
        down = self.matmul(inner, self.weight(f"down{n}", self.INNER, self.HIDDEN))
        y, x = self.add_and_normalize(down, x, self.gamma(f"norm{n}b"))
        return x, y

    def add_and_normalize(self, x: str, residual: str, gamma: str) -> tuple[str, str]:
        y = self.step("residual-rms-norm", {"x": x, "residual": residual, "gamma": gamma})
        self.steps[-1]["outputs"]["sum"] = total = y + "sum"
        return y, total

    def reference(self, tokens: int) -> list[int]:
        """Returns the tokens that follow."""
        w = {name: f64(values) for name, values in self.resident.items()}
        keys: list[list[Array]] = [[] for _ in range(self.layers)]
        values: list[list[Array]] = [[] for _ in range(self.layers)]
        token, found = 3, []
        for position in range(tokens):
            x = w["table"][token]
            y = rms_norm(x, w["norm0"])
            for n in range(self.layers):
                out = self.attention(y @ w[f"qkv{n}"], position, keys[n], values[n])
                x = x + out @ w[f"o{n}"]
                gate, up = np.split(rms_norm(x, w[f"norm{n}a"]) @ w[f"up{n}"], 2)
                x = x + (gate / (1 + np.exp(-gate)) * up) @ w[f"down{n}"]
                y = rms_norm(x, w[f"norm{n}b"])
            token = int((y @ w["head"]).argmax())
            found.append(token)
        return found

    def attention(self, qkv: Array, position: int, keys: list[Array], values: list[Array]) -> Array:
        h, g, d = self.HEADS, self.GROUPS, self.SIZE
        q, k, v = np.split(qkv.reshape(-1, d), [h, h + g])
        keys.append(rotated(k, position))
        values.append(v)
        heads = []
        for head, query in enumerate(rotated(q, position)):
            group = head // (h // g)
            p = softmax(np.array([key[group] @ query for key in keys]) * d**-0.5)
            heads.append(sum(each * value[group] for each, value in zip(p, values, strict=True)))
        return np.concatenate(heads)


def rotated(x: Array, position: int) -> Array:
    half = x.shape[-1] // 2
    angle = position * 10000.0 ** (-np.arange(half) / half)
    a, b = x[:, :half], x[:, half:]
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)


class Encoder(Block):
    """A layer of an encoder: BERT's normalizes afterwards and masks padding, ViT's does neither."""

    BATCH, LENGTH, HEADS, SIZE = 2, 9, 4, 16

    def __init__(self, bert: bool) -> None:
        super().__init__("BERT layer with padding" if bert else "ViT layer after its patches")
        self.bert = bert
        b, s, h, d = self.BATCH, self.LENGTH, self.HEADS, self.SIZE
        n = h * d
        rows = self.BATCH * self.LENGTH
        self.x = self._random.standard_normal((rows, n)).astype(np.float32)
        self.inputs["x"] = self.x
        for name in ("norm1", "norm2"):
            self.weight(f"{name}.weight", n, scale=1)
            self.weight(f"{name}.bias", n, scale=0.1)
        y = "x" if bert else self.step("layer-norm", {"x": "x", "weight": "norm1.weight", "bias": "norm1.bias"})
        qkv = self.linear(y, "qkv", n, 3 * n)
        heads = [view(qkv, [b, h, s, d], i * n, [s * 3 * n, d, 3 * n, 1]) for i in range(3)]
        sources = dict(zip("qkv", heads, strict=True))
        if bert:
            self.inputs["mask"] = np.arange(s) < np.array([[s], [5]])
            sources["mask"] = view("mask", [b, 1, 1, s])
        out = self.step("attention", sources, "out")
        joined = self.step("permute", {"x": out}, axes=[0, 2, 1, 3])
        o = self.linear(view(joined, [rows, n]), "out", n, n)
        if bert:
            middle = self.normalized(o, "x", "norm1")
            ff = self.linear(self.linear(middle, "up", n, 2 * n, activation="gelu-tanh"), "down", 2 * n, n)
            last = self.normalized(ff, middle, "norm2")
        else:
            normal = self.normalized(o, "x", "norm2")
            self.steps[-1]["outputs"]["sum"] = "middle"
            ff = self.linear(self.linear(normal, "up", n, 2 * n, activation="gelu-tanh"), "down", 2 * n, n)
            last = self.step("add", {"a": ff, "b": "middle"})
        self.outputs = {last: None}

    def linear(self, x: Any, name: str, n: int, to: int, **more: Any) -> str:
        return self.matmul(
            x, self.weight(name, n, to), bias=self.weight(f"{name}.bias0", to, scale=0.1), **more
        )

    def normalized(self, x: str, residual: str, norm: str) -> str:
        inputs = {"x": x, "residual": residual, "weight": f"{norm}.weight", "bias": f"{norm}.bias"}
        return self.step("residual-layer-norm", inputs)

    def reference(self) -> Array:
        w = {name: f64(values) for name, values in self.resident.items()}
        b, s, h, d = self.BATCH, self.LENGTH, self.HEADS, self.SIZE

        def linear(x: Array, name: str) -> Array:
            return x @ w[name] + w[f"{name}.bias0"]

        def norm(x: Array, name: str) -> Array:
            return layer_norm(x, w[f"{name}.weight"], w[f"{name}.bias"])

        x = f64(self.x)
        qkv = (
            linear(x if self.bert else norm(x, "norm1"), "qkv").reshape(b, s, 3, h, d).transpose(2, 0, 3, 1, 4)
        )
        scores = qkv[0] @ qkv[1].swapaxes(-1, -2) * d**-0.5
        if self.bert:
            scores = np.where(self.inputs["mask"][:, None, None], scores, -np.inf)
        o = linear((softmax(scores) @ qkv[2]).transpose(0, 2, 1, 3).reshape(b * s, h * d), "out")
        if self.bert:
            middle = norm(x + o, "norm1")
            return norm(middle + linear(gelu(linear(middle, "up")), "down"), "norm2")
        middle = x + o
        return middle + linear(gelu(linear(norm(middle, "norm2"), "up")), "down")


class Lora(Block):
    """A product with a low-rank update."""

    def __init__(self) -> None:
        super().__init__("LoRA, one adapter")
        self.inputs["x"] = self._random.standard_normal((5, 64)).astype(np.float32)
        low = self.matmul("x", self.weight("a", 64, 8))
        update = self.matmul(low, self.weight("b", 8, 48), alpha=0.5)
        self.outputs = {self.step("add", {"a": self.matmul("x", self.weight("w", 64, 48)), "b": update}): None}

    def reference(self) -> Array:
        w = {name: f64(values) for name, values in self.resident.items()}
        x = f64(self.inputs["x"])
        return x @ w["w"] + 0.5 * (x @ w["a"]) @ w["b"]


class Retrieval(Block):
    """The nearest of many rows."""

    def __init__(self) -> None:
        super().__init__("Retrieval, 8 of 500 rows by cosine")
        self.inputs["q"] = self._random.standard_normal((3, 32)).astype(np.float32)
        rows = self.weight("rows", 500, 32, scale=1)
        found = self.step("search", {"queries": "q", "rows": rows}, "indices", metric="cosine", k=8)
        self.outputs = {found: None}

    def reference(self) -> Array:
        q, rows = f64(self.inputs["q"]), f64(self.resident["rows"])
        cosines = (q @ rows.T) / np.linalg.norm(q, axis=1)[:, None] / np.linalg.norm(rows, axis=1)
        return np.argsort(-cosines, axis=1, kind="stable")[:, :8]


class Sampling(Block):
    """A token of the k most probable, by random numbers of the device."""

    def __init__(self) -> None:
        super().__init__("Sampling, top 10 of 50")
        self.inputs["logits"] = self._random.standard_normal((4, 50)).astype(np.float32)
        self.resident["seed"] = np.array([5, 6, 7, -8])
        self.resident["counter"] = np.array([0, 0, 1, 2**40])
        inputs = {"logits": "logits", "seed": "seed", "counter": "counter"}
        self.outputs = {self.step("sample", inputs, "token", temperature=0.8, topK=10): None}

    def reference(self) -> Array:
        logits = f64(self.inputs["logits"])
        found = []
        for row, seed, counter in zip(logits, self.resident["seed"], self.resident["counter"], strict=True):
            best = np.argsort(-row, kind="stable")[:10]
            u = (random_words(row.size, int(seed), int(counter))[best] + 0.5) / 2**32
            found.append(best[(row[best] / 0.8 - np.log(-np.log(u))).argmax()])
        return np.array(found)


def random_words(count: int, seed: int, counter: int) -> Array:
    """Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011)."""
    low = 2**32 - 1
    words: list[int] = []
    for block in range(-(-count // 4)):
        x = [block, 0, counter & low, counter >> 32 & low]
        key = [seed & low, seed >> 32 & low]
        for _ in range(10):
            a, b = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
            x = [b >> 32 ^ x[1] ^ key[0], b & low, a >> 32 ^ x[3] ^ key[1], a & low]
            key = [key[0] + 0x9E3779B9 & low, key[1] + 0xBB67AE85 & low]
        words += x
    return f64(words[:count])

"""Layers whose rows choose their weights, as pipelines, each with a NumPy reference in float64."""

from __future__ import annotations

import numpy as np

from .convolutional import silu
from .models import Array, Block, f64, softmax, view


class Grouped(Block):
    """A layer that orders rows by the group that each belongs to."""

    def order(self, groups: str, count: int) -> tuple[str, str]:
        """Returns the order of rows by their groups, and the number of rows of each group."""
        self.resident["counted"] = np.array([0, 1], np.int32)
        order = self.step("argsort", {"x": groups}, "indices")
        hot = self.step("one-hot", {"index": groups, "values": "counted"}, depth=count)
        return order, self.step("reduce", {"x": hot}, axis=0)

    def grouped(self, rows: str, weights: str, sizes: str) -> str:
        return self.step("grouped-matmul", {"a": rows, "b": weights, "sizes": sizes}, "c")

    def back(self, rows: str, order: str) -> str:
        """Returns rows in the order that they had."""
        before = self.step("argsort", {"x": order}, "indices")
        return self.step("gather", {"table": rows, "index": before})


class Experts(Grouped):
    """Two experts for each row, weighted by the router; no others are computed."""

    ROWS, HIDDEN, INNER, CHOSEN = 6, 16, 24, 2

    def __init__(self, count: int) -> None:
        super().__init__(f"Experts, 2 of {count}")
        t, h, f = self.ROWS, self.HIDDEN, self.INNER
        self.inputs["x"] = self._random.standard_normal((t, h)).astype(np.float32)
        logits = self.matmul("x", self.weight("router", h, count))
        best = self.step("top-k", {"x": logits}, "values", k=self.CHOSEN)
        self.steps[-1]["outputs"]["indices"] = chosen = best + "indices"
        parts = self.step("softmax", {"x": best})
        order, sizes = self.order(view(chosen, [t * self.CHOSEN]), count)
        places = self.step("map", {"x0": order}, expression=f"x // {self.CHOSEN}")
        rows = self.step("gather", {"table": "x", "index": places})
        gate, up = (
            self.grouped(rows, self.weight(name, count, h, f, scale=h**-0.5), sizes) for name in ("gate", "up")
        )
        inner = self.step("swiglu", {"gate": gate, "up": up})
        down = self.grouped(inner, self.weight("down", count, f, h, scale=f**-0.5), sizes)
        y = self.back(down, order)
        both = view(y, [t, self.CHOSEN, h])
        self.outputs = {self.matmul(view(parts, [t, 1, self.CHOSEN]), both): None}

    def reference(self) -> Array:
        w = {name: f64(values) for name, values in self.resident.items()}
        x = f64(self.inputs["x"])
        logits = x @ w["router"]
        y = np.zeros_like(x)
        for row, chosen in enumerate(np.argsort(-logits, 1)[:, : self.CHOSEN]):
            for expert, part in zip(chosen, softmax(logits[row, chosen]), strict=True):
                inner = silu(x[row] @ w["gate"][expert]) * (x[row] @ w["up"][expert])
                y[row] += part * (inner @ w["down"][expert])
        return y


class Adapters(Grouped):
    """A product with a low-rank update of each row's own."""

    COUNT = 3

    def __init__(self) -> None:
        super().__init__("LoRA, an adapter per row")
        self.inputs["x"] = self._random.standard_normal((7, 32)).astype(np.float32)
        self.inputs["adapter"] = np.array([2, 0, 2, 1, 2, 0, 2])
        order, sizes = self.order("adapter", self.COUNT)
        rows = self.step("gather", {"table": "x", "index": order})
        low = self.grouped(rows, self.weight("a", self.COUNT, 32, 4, scale=0.2), sizes)
        update = self.back(self.grouped(low, self.weight("b", self.COUNT, 4, 24, scale=0.5), sizes), order)
        self.outputs = {self.step("add", {"a": self.matmul("x", self.weight("w", 32, 24)), "b": update}): None}

    def reference(self) -> Array:
        w = {name: f64(values) for name, values in self.resident.items()}
        x, adapter = f64(self.inputs["x"]), self.inputs["adapter"]
        return x @ w["w"] + np.einsum("th,thr,trn->tn", x, w["a"][adapter], w["b"][adapter])

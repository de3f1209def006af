"""Training steps of models as pipelines, each with a NumPy reference in float64."""

from __future__ import annotations

import numpy as np

from .models import Array, Block, f64, gelu, softmax


class Mlp(Block):
    """A step of AdamW for two layers; parameters and moments change in place."""

    ROWS, INPUTS, HIDDEN, CLASSES = 16, 12, 24, 10
    RATE = 0.01

    def __init__(self) -> None:
        super().__init__("Two layers, training step")
        for name, shape in (("w1", (self.INPUTS, self.HIDDEN)), ("w2", (self.HIDDEN, self.CLASSES))):
            self.weight(name, *shape)
            self.weight(name.replace("w", "b"), shape[1])
        self.parameters = [*self.resident]
        for name in self.parameters:
            for moment in ("m", "v"):
                self.resident[moment + name] = np.zeros_like(self.resident[name])
        self.resident["grad"] = np.full(self.ROWS, 1 / self.ROWS, np.float32)
        self.inputs = {
            "x": self._random.standard_normal((self.ROWS, self.INPUTS)).astype(np.float32),
            "target": self._random.integers(0, self.CLASSES, self.ROWS),
        }
        z = self.matmul("x", "w1", bias="b1")
        hidden = self.step("gelu", {"x": z}, form="tanh")
        logits = self.matmul(hidden, "w2", bias="b2")
        loss = self.step("cross-entropy", {"x": logits, "target": "target"}, "loss")
        lse = self.also("lse")
        given = {"x": logits, "target": "target", "lse": lse, "grad": "grad"}
        dlogits = self.step("cross-entropy-backward", given, "dx")
        dhidden = self.step("matmul-backward", {"grad": dlogits, "a": hidden, "b": "w2"}, "da")
        dw2 = self.also("db")
        dz = self.step("activation-backward", {"x": z, "grad": dhidden}, activation="gelu-tanh")
        dw1 = self.step("matmul-backward", {"grad": dz, "a": "x", "b": "w1"}, "db")
        db1, db2 = (self.step("reduce", {"x": each}, axis=0) for each in (dz, dlogits))
        for name, gradient in (("w1", dw1), ("b1", db1), ("w2", dw2), ("b2", db2)):
            updated = {"x": name, "grad": gradient, "m": "m" + name, "v": "v" + name}
            y = self.step("adamw", updated, step=1, learningRate=self.RATE)
            self.outputs |= {y: name, self.also("nextM"): "m" + name, self.also("nextV"): "v" + name}
        self.outputs[self.step("reduce", {"x": loss}, kind="mean", axis=0)] = None

    def also(self, output: str) -> str:
        """Names another output of the last step."""
        self.steps[-1]["outputs"][output] = name = f"s{len(self.steps) - 1}{output}"
        return name

    def at(self, number: int) -> None:
        """Sets the number of the training step."""
        for step in self.steps:
            if step["op"] == "adamw":
                step["attributes"]["step"] = number

    def reference(self, steps: int) -> tuple[list[float], dict[str, Array]]:
        """Returns the mean loss before each step, and the parameters after all."""
        w = {name: f64(self.resident[name]) for name in self.parameters}
        m = {name: np.zeros_like(values) for name, values in w.items()}
        v = {name: np.zeros_like(values) for name, values in w.items()}
        x, target, rows = f64(self.inputs["x"]), self.inputs["target"], np.arange(self.ROWS)
        losses = []
        for t in range(1, steps + 1):
            z = x @ w["w1"] + w["b1"]
            p = softmax(gelu(z) @ w["w2"] + w["b2"])
            losses.append(float(-np.log(p[rows, target]).mean()))
            dlogits = (p - np.eye(self.CLASSES)[target]) / self.ROWS
            slope = (gelu(z + 1e-6) - gelu(z - 1e-6)) / 2e-6
            dz = dlogits @ w["w2"].T * slope
            grads = {
                "w1": x.T @ dz,
                "b1": dz.sum(0),
                "w2": gelu(z).T @ dlogits,
                "b2": dlogits.sum(0),
            }
            for name, g in grads.items():
                m[name] = 0.9 * m[name] + 0.1 * g
                v[name] = 0.999 * v[name] + 0.001 * g * g
                mean, square = m[name] / (1 - 0.9**t), v[name] / (1 - 0.999**t)
                w[name] = w[name] * (1 - self.RATE * 0.01) - self.RATE * mean / (np.sqrt(square) + 1e-8)
        return losses, w

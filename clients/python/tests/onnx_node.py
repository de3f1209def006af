"""The call of an ONNX operator, and the client's functions that its implementations share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import athanor

Array = Any
FLOATS = (np.float64, np.float32, np.float16)

NAMES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
    "int16": "i16", "int8": "i8", "uint8": "u8", "uint32": "u32", "bool": "bool",
    "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2",
}  # fmt: skip


def array(value: Any) -> Array:
    """Returns the array of a value of a test, which holds dtypes that NumPy lacks as protobuf messages."""
    import onnx

    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def name(dtype: Any) -> str:
    """Returns the service's name of a NumPy dtype."""
    return NAMES[np.dtype(dtype).name]


class Node:
    """A call of an ONNX operator."""

    def __init__(self, client: athanor.Athanor, proto: Any, inputs: dict[str, Array], outputs: int) -> None:
        import onnx

        self.client = client
        self.x: list[Any] = [array(inputs[key]) if key else None for key in proto.input]
        self.given = {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute}
        self.outputs = outputs
        self.wanted = [bool(key) for key in proto.output]

    def attribute(self, key: str, default: Any = None) -> Any:
        value = self.given.get(key, default)
        return value.decode() if isinstance(value, bytes) else value

    def dtype(self, key: str, default: Any) -> np.dtype[Any]:
        """Returns the dtype that an attribute names."""
        import onnx

        given = self.attribute(key)
        return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(given) if given else default)

    def input(self, index: int) -> Array | None:
        return self.x[index] if index < len(self.x) else None

    def integers(self, index: int) -> list[int] | None:
        values = self.input(index)
        return None if values is None else [int(v) for v in np.asarray(values).reshape(-1)]

    def run(self, op: str, *x: Array | None, **attributes: Any) -> Array:
        """Runs an op with one output."""
        return getattr(self.client, op)(*x, **attributes).numpy()

    def map(self, expression: str, *x: Array, constants: Any = None, dtype: Any = None) -> Array:
        out = None if dtype is None else name(dtype)
        return self.run("map", list(x or self.x), expression=expression, constants=constants, out_dtype=out)

    def reduce(self, kind: str, x: Array, axes: Any = (), keepdims: bool = True) -> Array:
        """Reduces dimensions, or all."""
        return self.run("reduce", x, kind=kind, axes=[int(a) for a in axes], keepdims=keepdims)

    def permute(self, x: Array, *axes: int) -> Array:
        return x if list(axes) == list(range(x.ndim)) else self.run("permute", x, axes=list(axes))


Operator = Callable[[Node], Any]

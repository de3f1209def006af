"""Arrays of the host: their dtypes by the service's names, their bytes, and safetensors files of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

NDArray: TypeAlias = npt.NDArray[Any]


@runtime_checkable
class SupportsArray(Protocol):
    """An object that numpy can turn into an array."""

    def __array__(self) -> NDArray: ...


@runtime_checkable
class SupportsDLPack(Protocol):
    """An object in host memory that numpy can share through DLPack, such as a tensor of PyTorch or JAX."""

    def __dlpack__(self) -> Any: ...

    def __dlpack_device__(self) -> Any: ...


Array: TypeAlias = NDArray | SupportsArray | SupportsDLPack
Bytes: TypeAlias = bytes | bytearray | memoryview

# The names of safetensors and of numpy for the dtypes of the service.
_NAMES = {
    "f64": ("F64", "float64"),
    "f32": ("F32", "float32"),
    "f16": ("F16", "float16"),
    "bf16": ("BF16", "bfloat16"),
    "e4m3": ("F8_E4M3", "float8_e4m3fn"),
    "e5m2": ("F8_E5M2", "float8_e5m2"),
    "i64": ("I64", "int64"),
    "i32": ("I32", "int32"),
    "i16": ("I16", "int16"),
    "i8": ("I8", "int8"),
    "u8": ("U8", "uint8"),
    "u32": ("U32", "uint32"),
    "bool": ("BOOL", "bool"),
}
_BY_NUMPY = {numpy: dtype for dtype, (_, numpy) in _NAMES.items()}
_BY_SAFETENSORS = {name: dtype for dtype, (name, _) in _NAMES.items()}


class HostTensor(NamedTuple):
    """Elements in host memory: row-major and little-endian bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: memoryview


def plain(value: object) -> object:
    """Returns an attribute given as a number or an array of numpy as one of Python, and others unchanged."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """Returns numpy's dtype for one of the service.

    Raises:
        TypeError: if numpy has none; for bf16, e4m3 and e5m2, if the package ml_dtypes is not installed.
    """
    if dtype not in _NAMES:
        raise TypeError(f"numpy has no dtype {dtype}; read the bytes with raw(), or call dequantize()")
    name = _NAMES[dtype][1]
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(
            f"numpy has no dtype {dtype}; install ml_dtypes, read the bytes with raw(), or cast to f32"
        ) from None
    dtype_: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return dtype_


def to_host(value: Array) -> HostTensor:
    """Returns the elements of an array, copied only if they are not row-major or not little-endian.

    Raises:
        TypeError: if it is no array, is masked, or the service has no such dtype.
    """
    array = _array(value)
    dtype = _BY_NUMPY.get(array.dtype.name)
    if dtype is None:
        raise TypeError(
            f"the service has no dtype {array.dtype}; convert the array to one of {', '.join(_NAMES)}"
        )
    little = array.dtype if array.dtype.kind == "V" else array.dtype.newbyteorder("<")
    rows = np.asarray(array, dtype=little, order="C")
    return HostTensor(dtype, rows.shape, rows.reshape(-1).view(np.uint8).data)


def _array(value: Array) -> NDArray:
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError("a masked array would lose its mask; pass array.filled(value)")
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)
    if isinstance(value, SupportsDLPack):
        try:
            return np.from_dlpack(value)  # type: ignore[arg-type]  # numpy asks for more than it calls
        except (BufferError, RuntimeError, TypeError, ValueError):
            if not isinstance(value, SupportsArray):
                raise
    if isinstance(value, SupportsArray):
        return np.asarray(value)
    raise TypeError(f"{type(value).__name__} is no array; pass numpy.asarray(value, dtype=…)")


def from_bytes(dtype: str, shape: Sequence[int], data: Bytes) -> NDArray:
    """Returns an array over the bytes, without a copy."""
    return np.frombuffer(data, np.uint8).view(numpy_dtype(dtype)).reshape(shape)


def encode_safetensors(tensors: Mapping[str, HostTensor]) -> list[memoryview]:
    """Returns the parts of a safetensors file; the data are not copied."""
    header: dict[str, Any] = {}
    at = 0
    for name, tensor in tensors.items():
        end = at + tensor.data.nbytes
        header[name] = {
            "dtype": _NAMES[tensor.dtype][0],
            "shape": tensor.shape,
            "data_offsets": (at, end),
        }
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 64)  # so that the data are aligned
    return [memoryview(len(text).to_bytes(8, "little") + text)] + [tensor.data for tensor in tensors.values()]


def decode_safetensors(file: Bytes) -> dict[str, NDArray]:
    """Returns the arrays of a safetensors file, without a copy."""
    view = memoryview(file)
    begin = 8 + int.from_bytes(view[:8], "little")
    header: dict[str, Any] = json.loads(bytes(view[8:begin]))
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        dtype = _BY_SAFETENSORS[entry["dtype"]]
        tensors[name] = from_bytes(dtype, entry["shape"], view[begin + first : begin + last])
    return tensors


def pieces(parts: Iterable[memoryview], size: int = 1 << 20) -> Iterable[memoryview]:
    """Cuts buffers into pieces, which the HTTP client copies one at a time."""
    for part in parts:
        for at in range(0, part.nbytes, size):
            yield part[at : at + size]

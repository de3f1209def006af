"""Tensors and targets of outputs in the JSON of requests."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from ._arrays import Array, to_host
from ._tensor import BaseTensor


def json_tensor(value: BaseTensor | Array) -> Mapping[str, object]:
    if isinstance(value, BaseTensor):
        return {"handle": value.handle}
    host = to_host(value)
    return {"dtype": host.dtype, "shape": host.shape, "base64": base64.b64encode(host.data).decode()}


def json_targets(targets: Mapping[str, BaseTensor | None]) -> Mapping[str, object]:
    return {
        name: {"into": target.handle} if target else {"as": "handle"} for name, target in targets.items()
    }

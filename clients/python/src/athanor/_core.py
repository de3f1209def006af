"""What both clients share: the requests of all calls and the meaning of their answers, without any I/O."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias, TypedDict
from urllib.parse import quote

from ._arrays import Array, Bytes, HostTensor, NDArray, decode_safetensors, encode_safetensors, to_host
from ._errors import AthanorError
from ._http import CONNECT_TIMEOUT, JSON, LOG, Answer, Description, Flow, Settings
from ._json import json_targets, json_tensor
from ._leases import Leases
from ._model_calls import ModelCalls
from ._tensor import AnyTensor, BaseTensor

Attribute: TypeAlias = bool | int | float | str | Sequence[float] | None

BINARY = "application/octet-stream"
SAFETENSORS = "application/x-safetensors"
NAME = re.compile(r"(?!t_)[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class _Reference(TypedDict):
    ref: str | BaseTensor


class View(_Reference, total=False):
    """Some elements of a tensor or of a pipeline's value, `ref`, as another tensor.

    `offset` is the index of the first element, `strides` are the distances of elements along each dimension.
    Without them, a view has all elements in another shape.
    """

    shape: Sequence[int]
    offset: int
    strides: Sequence[int]


class Step(TypedDict, total=False):
    """A step of a pipeline, as `POST /pipelines/run` takes it.

    `inputs` maps the op's inputs to names (of the pipeline's inputs or earlier outputs), tensors or views of
    them, `outputs` the op's outputs to new names. Attributes have the names that GET /ops lists, such as
    `transposeB`.
    """

    op: str
    inputs: Mapping[str, str | BaseTensor | View]
    attributes: Mapping[str, bool | int | float | str | Sequence[float]]
    outputs: Mapping[str, str]


class OpCore(Protocol):
    """The calls of ops, over HTTP or over a stream."""

    def run_op(
        self,
        op: str,
        inputs: Mapping[str, BaseTensor | Array | None],
        attributes: Mapping[str, Attribute],
        targets: Mapping[str, BaseTensor | None],
        timeout: float | None,
    ) -> Flow[dict[str, Description]]:
        """Runs an op whose outputs stay on the device; returns their descriptions."""

    def compute(
        self,
        op: str,
        inputs: Mapping[str, BaseTensor | Array | None],
        attributes: Mapping[str, Attribute],
        timeout: float | None,
    ) -> Flow[dict[str, NDArray]]:
        """Runs an op whose outputs come back at once."""


class Core(ModelCalls):
    """The calls, and the tensors that the client owns."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.leases = Leases(settings.lease)

    # -- tensors

    def upload(
        self,
        value: Array | Bytes,
        dtype: str | None,
        shape: Sequence[int] | None,
        options: Mapping[str, object],
        timeout: float | None,
    ) -> Flow[Description]:
        host = _contents(value, dtype, shape)
        extents = ",".join(map(str, host.shape))
        query = {"dtype": host.dtype, "shape": extents, **options}
        headers = {"Content-Type": BINARY, "Idempotency-Key": uuid.uuid4().hex}
        answer = yield from self.call("POST", "/tensors", query, [host.data], headers, timeout=timeout)
        return answer.json()

    def store(
        self,
        name: str,
        value: Array | Bytes,
        dtype: str | None,
        shape: Sequence[int] | None,
        options: Mapping[str, object],
        timeout: float | None,
    ) -> Flow[Description]:
        if not NAME.fullmatch(name):
            raise ValueError(
                f'the name is "{name}"; a name has 1 to 128 letters, digits, periods, hyphens and underscores, '
                "begins with a letter or a digit, and not with t_ as handles do"
            )
        host = _contents(value, dtype, shape)
        query = {"dtype": host.dtype, "shape": ",".join(map(str, host.shape)), **options}
        headers = {"Content-Type": BINARY}
        answer = yield from self.call("PUT", f"/tensors/{name}", query, [host.data], headers, timeout=timeout)
        return {**answer.json(), "handle": name}

    def describe(self, handle: str) -> Flow[Description]:
        """Describes a tensor; one that is stored under a name keeps it, which every replica knows."""
        described = (yield from self.call("GET", f"/tensors/{quote(handle, safe='')}")).json()
        return {**described, "handle": handle}

    def list_tensors(self, scope: str | None) -> Flow[list[Description]]:
        found: list[Description] = []
        after: str | None = None
        while True:
            query = {"scope": scope, "after": after, "limit": 1000}
            page = (yield from self.call("GET", "/tensors", query)).json()
            found += page["tensors"]
            after = page["next"]
            if after is None:
                return found

    def read(self, handle: str, timeout: float | None) -> Flow[bytearray]:
        headers = {"Accept": BINARY}
        answer = yield from self.call("GET", f"/tensors/{handle}/data", headers=headers, timeout=timeout)
        return answer.body

    def write(
        self, tensor: BaseTensor, value: Array | Bytes, expected_version: int | None, timeout: float | None
    ) -> Flow[Description]:
        host = _contents(value, tensor.dtype, tensor.shape)
        headers = {"Content-Type": BINARY}
        if expected_version is not None:
            headers["If-Match"] = f'"{expected_version}"'
        answer = yield from self.call(
            "PUT",
            f"/tensors/{tensor.handle}/data",
            parts=[host.data],
            headers=headers,
            timeout=timeout,
            repeatable=expected_version is None,
        )
        return answer.json()

    def renew(self, handle: str, ttl: int | None, retries: int | None = None) -> Flow[Description]:
        text = json.dumps({"ttlSeconds": self.settings.lease if ttl is None else ttl}).encode()
        headers = {"Content-Type": JSON}
        parts = [memoryview(text)]
        answer = yield from self.call("PATCH", f"/tensors/{handle}", None, parts, headers, retries=retries)
        return answer.json()

    def delete(self, handle: str, retries: int | None = None) -> Flow[None]:
        self.leases.forget(handle)
        yield from self.call("DELETE", f"/tensors/{handle}", retries=retries)

    def delete_scope(self, scope: str) -> Flow[None]:
        yield from self.call("DELETE", "/tensors", {"scope": scope})

    # -- leases

    def renew_due(self) -> Flow[None]:
        """Renews the leases whose time has come; those that fail are tried again at the next tick."""
        for handle in self.leases.due():
            try:
                yield from self.renew(handle, None, retries=0)
            except AthanorError as e:
                LOG.warning("The lease of %s was not renewed: %s", handle, e)
                if e.status in (404, 410):
                    self.leases.forget(handle)
            else:
                self.leases.renewed(handle)

    def free(self, handle: str) -> Flow[bool]:
        """Deletes a tensor that nobody can use any more; returns whether the service could be reached."""
        try:
            yield from self.delete(handle, retries=0)
        except AthanorError as e:
            if e.status not in (404, 410):
                LOG.warning("%s was not deleted and lives until its lease ends: %s", handle, e)
            return e.status is not None
        return True

    def free_all(self) -> Flow[None]:
        """Deletes all tensors that the client owns, unless the service is gone."""
        for handle in self.leases.take_all():
            if not (yield from self.free(handle)):
                return

    # -- ops

    @staticmethod
    def targets(
        op: str, outputs: Sequence[str], out: AnyTensor | Sequence[AnyTensor | None] | None
    ) -> dict[str, AnyTensor | None]:
        """Returns the tensors that an op shall write to, by its outputs."""
        given: list[AnyTensor | None] = (
            [out] if isinstance(out, BaseTensor) else list(out or [None] * len(outputs))
        )
        while len(given) > len(outputs) and given[-1] is None:
            given.pop()
        if len(given) != len(outputs):
            names = ", ".join(outputs)
            raise ValueError(
                f"{op} gives {names}, but out has {len(given)} tensors; give {len(outputs)} or None"
            )
        return dict(zip(outputs, given, strict=True))

    def run_op(
        self,
        op: str,
        inputs: Mapping[str, BaseTensor | Array | None],
        attributes: Mapping[str, Attribute],
        targets: Mapping[str, BaseTensor | None],
        timeout: float | None,
    ) -> Flow[dict[str, Description]]:
        """Runs an op whose outputs stay on the device; returns their descriptions."""
        outputs = {name: target.handle if target else "handle" for name, target in targets.items()}
        answer = yield from self._op(op, inputs, attributes, outputs, JSON, timeout)
        described: dict[str, Description] = answer.json()["outputs"]
        return {name: described[name] for name in targets}

    def compute(
        self,
        op: str,
        inputs: Mapping[str, BaseTensor | Array | None],
        attributes: Mapping[str, Attribute],
        timeout: float | None,
    ) -> Flow[dict[str, NDArray]]:
        """Runs an op whose outputs come back at once."""
        answer = yield from self._op(op, inputs, attributes, {}, SAFETENSORS, timeout)
        return decode_safetensors(answer.body)

    def _op(
        self,
        op: str,
        inputs: Mapping[str, BaseTensor | Array | None],
        attributes: Mapping[str, Attribute],
        outputs: Mapping[str, str],
        accept: str,
        timeout: float | None,
    ) -> Flow[Answer]:
        handles = {name: one.handle for name, one in inputs.items() if isinstance(one, BaseTensor)}
        arrays = {
            name: to_host(one)
            for name, one in inputs.items()
            if one is not None and not isinstance(one, BaseTensor)
        }
        headers = {"Content-Type": SAFETENSORS, "Accept": accept}
        keyed = bool(outputs) and "inline" not in outputs.values()
        if keyed:
            headers["Idempotency-Key"] = uuid.uuid4().hex
        return (
            yield from self.call(
                "POST",
                f"/ops/{quote(op, safe='')}",
                {**attributes, **handles, **outputs},
                encode_safetensors(arrays),
                headers,
                timeout=timeout,
                repeatable=keyed or not set(handles.values()) & set(outputs.values()),
            )
        )

    def pipeline(
        self,
        inputs: Mapping[str, BaseTensor | Array],
        steps: Iterable[Step],
        targets: Mapping[str, BaseTensor | None],
        timeout: float | None,
    ) -> Flow[dict[str, Description]]:
        """Runs ops in one request; returns the descriptions of the outputs, which stay on the device."""
        given = {name: json_tensor(one) for name, one in inputs.items()}
        body = {
            "inputs": given,
            "steps": [_json_step(step, given) for step in steps],
            "outputs": json_targets(targets),
        }
        answer = yield from self.call(
            "POST",
            "/pipelines/run",
            parts=[memoryview(json.dumps(body).encode())],
            headers={"Content-Type": JSON} | ({"Idempotency-Key": uuid.uuid4().hex} if targets else {}),
            timeout=timeout,
        )
        described: dict[str, Description] = answer.json()["outputs"]
        return described

    # -- the service

    def ops(self) -> Flow[list[Description]]:
        described: list[Description] = (yield from self.call("GET", "/ops")).json()["ops"]
        return described

    def ready(self) -> Flow[bool]:
        try:
            yield from self.call("GET", "/readyz", timeout=CONNECT_TIMEOUT, retries=0)
        except AthanorError as e:
            if e.status in (None, 503):
                return False
            raise
        return True


def members(name: str, values: Sequence[AnyTensor | Array] | None) -> dict[str, AnyTensor | Array]:
    """Returns a list of inputs by their names: `x0`, `x1`, … for the list `x`."""
    if values is None:
        return {}
    if not isinstance(values, Sequence):
        raise TypeError(
            f"{name} is a list of tensors and arrays, but one {type(values).__name__} is given; pass [{name}]"
        )
    return {f"{name}{index}": one for index, one in enumerate(values)}


def member_names(name: str, count: int) -> list[str]:
    """Returns the names of the first outputs of a list: `y0`, `y1`, … for the list `y`."""
    if count < 1:
        raise ValueError(f"{name}_count is {count}; it must be 1 output or more")
    return [f"{name}{index}" for index in range(count)]


def _contents(value: Array | Bytes, dtype: str | None, shape: Sequence[int] | None) -> HostTensor:
    """Returns the elements to send. Buffers and arrays of uint8 can hold the bytes of any dtype."""
    if isinstance(value, bytes | bytearray | memoryview):
        if dtype is None or shape is None:
            raise TypeError("bytes have no dtype and shape; pass dtype= and shape= with them")
        return HostTensor(dtype, tuple(shape), memoryview(value).cast("B"))
    host = to_host(value)
    wanted = HostTensor(dtype or host.dtype, host.shape if shape is None else tuple(shape), host.data)
    if wanted[:2] != host[:2] and (host.dtype != "u8" or dtype is None):
        given = f"{host.dtype}{list(host.shape)}"
        raise ValueError(f"the array is {given}, not {wanted.dtype}{list(wanted.shape)}; convert it first")
    return wanted


def _json_step(step: Step, given: dict[str, Mapping[str, object]]) -> Mapping[str, object]:
    inputs = {name: _source(one, given) for name, one in step.get("inputs", {}).items()}
    return {**step, "inputs": inputs}


def _source(
    value: str | BaseTensor | View, given: dict[str, Mapping[str, object]]
) -> str | Mapping[str, object]:
    if isinstance(value, Mapping):
        return {**value, "ref": _name(value["ref"], given)}
    return _name(value, given)


def _name(value: str | BaseTensor, given: dict[str, Mapping[str, object]]) -> str:
    """Returns what a step calls a value. The name of a tensor could be that of a value: it becomes an input."""
    if not isinstance(value, BaseTensor):
        return value
    if not NAME.fullmatch(value.handle):
        return value.handle
    name = f"tensor {value.handle}"
    given[name] = json_tensor(value)
    return name

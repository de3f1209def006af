"""What the clients have in common, and the blocking client."""

from __future__ import annotations

import queue
import threading
import time
import weakref
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import httpx

from ._arrays import Array, Bytes, NDArray
from ._core import Attribute, Core, OpCore, Step
from ._http import Answer, Flow, Settings
from ._method import Blocking, method
from ._model_files import PathLike
from ._models import Models
from ._ops import Ops
from ._tensor import AnyTensor, Tensor

if TYPE_CHECKING:
    from types import TracebackType

    import grpc

    from ._stream import Stream

T = TypeVar("T")


class OpCaller(Ops[AnyTensor]):
    """The calls of ops, by methods and by names."""

    _core: OpCore

    def _run_op(
        self,
        op: str,
        inputs: Mapping[str, AnyTensor | Array | None],
        attributes: Mapping[str, Attribute],
        outputs: Sequence[str],
        out: AnyTensor | Sequence[AnyTensor | None] | None,
        timeout: float | None,
    ) -> Flow[dict[str, AnyTensor]]:
        targets = Core.targets(op, outputs, out)
        described = yield from self._core.run_op(op, inputs, attributes, targets, timeout)
        return self._results(described, targets)

    @method
    def run(
        self,
        op: str,
        inputs: Mapping[str, AnyTensor | Array],
        attributes: Mapping[str, Attribute] | None = None,
        *,
        outputs: Sequence[str],
        out: AnyTensor | Sequence[AnyTensor | None] | None = None,
        timeout: float | None = None,
    ) -> Flow[dict[str, AnyTensor]]:
        """Runs an op by its name, such as one of a plugin, and keeps the named outputs on the device.

        Inputs and attributes have the names that `ops` lists, such as `transposeB`.
        """
        return self._run_op(op, inputs, attributes or {}, outputs, out, timeout)

    @method
    def compute(
        self,
        op: str,
        inputs: Mapping[str, AnyTensor | Array],
        attributes: Mapping[str, Attribute] | None = None,
        *,
        timeout: float | None = None,
    ) -> Flow[dict[str, NDArray]]:
        """Runs an op by its name and returns its outputs as arrays, in one request."""
        return self._core.compute(op, inputs, attributes or {}, timeout)

    # -- what callers do in their own ways

    @abstractmethod
    def _run(self, flow: Flow[Any]) -> Any:
        """Runs a call and returns its result, or a coroutine that does."""

    @abstractmethod
    def _own(self, description: Mapping[str, Any]) -> AnyTensor:
        """Returns a tensor whose lease the client renews and which it frees at the end."""

    def _results(
        self, described: Mapping[str, Mapping[str, Any]], targets: Mapping[str, AnyTensor | None]
    ) -> dict[str, AnyTensor]:
        results = {}
        for name, description in described.items():
            target = targets.get(name)
            if target is not None:
                target._set(description)
            results[name] = target or self._own(description)
        return results


class Client(OpCaller[AnyTensor]):
    """What both clients have in common."""

    _core: Core
    _tensor_class: type[AnyTensor]

    # -- tensors

    @method
    def upload(
        self,
        array: Array | Bytes,
        *,
        dtype: str | None = None,
        shape: Sequence[int] | None = None,
        name: str | None = None,
        scope: str | None = None,
        device: str | None = None,
        ttl: int | None = None,
        timeout: float | None = None,
    ) -> Flow[AnyTensor]:
        """Makes an array resident on the device.

        Args:
            array: a numpy array, anything with `__array__` or `__dlpack__`, or the bytes of the elements.
            dtype: the dtype that bytes or an array of uint8 stand for, such as `bf16` or `q4_k`.
            shape: the extents that they stand for, in elements.
            name: a label for people.
            scope: a label of tensors that `delete_scope` frees together.
            device: the device to place it on, such as `cuda:1`; the service chooses if None.
            ttl: seconds that the tensor lives after its last use, 0 until it is deleted. The client then does
                not own it: it neither renews the lease nor frees the tensor.
            timeout: seconds after which the call fails; the client's if None.

        Raises:
            AthanorError: if the service rejects the call or cannot be reached.
            TypeError: if it is no array, or the service has no such dtype.
        """
        lease = self._core.settings.lease if ttl is None else ttl
        options = {"name": name, "scope": scope, "device": device, "ttlSeconds": lease}
        description = yield from self._core.upload(array, dtype, shape, options, timeout)
        return self._own(description) if ttl is None else self._tensor_class(self, description)

    @method
    def store(
        self,
        name: str,
        array: Array | Bytes,
        *,
        replicas: int | Literal["all"] = 1,
        dtype: str | None = None,
        shape: Sequence[int] | None = None,
        scope: str | None = None,
        device: str | None = None,
        ttl: int | None = None,
        timeout: float | None = None,
    ) -> Flow[AnyTensor]:
        """Stores an array under a name, in place of the tensor that has it; the client does not own it.

        Args:
            name: 1 to 128 letters, digits, periods, hyphens and underscores; it begins with a letter or a digit
                and not with `t_`. Ops of every replica take it as a handle.
            array: a numpy array, anything with `__array__` or `__dlpack__`, or the bytes of the elements.
            replicas: the number of replicas with a copy, or `"all"`.
            dtype: the dtype that bytes or an array of uint8 stand for, such as `bf16` or `q4_k`.
            shape: the extents that they stand for, in elements.
            scope: a label of tensors that `delete_scope` frees together, on each replica.
            device: the device to place each copy on, such as `cuda:1`; the service chooses if None.
            ttl: seconds that each copy lives after its last use; until it is deleted if None or 0.
            timeout: seconds after which the call fails; the client's if None.

        Raises:
            AthanorError: if not all copies can be made; the detail says what is where.
            ValueError: if it is no name.
        """
        options = {"replicas": replicas, "scope": scope, "device": device, "ttlSeconds": ttl}
        description = yield from self._core.store(name, array, dtype, shape, options, timeout)
        return self._tensor_class(self, description)

    @method
    def tensor(self, handle: str) -> Flow[AnyTensor]:
        """Returns the tensor of a handle or a name, which the client does not own.

        Raises:
            AthanorError: with code `unknown-handle` or `expired-handle` if there is no such tensor.
        """
        return self._tensor_class(self, (yield from self._core.describe(handle)))

    @method
    def tensors(self, scope: str | None = None) -> Flow[list[AnyTensor]]:
        """Returns the caller's tensors, newest first, all or those of a scope; the client does not own them."""
        found = yield from self._core.list_tensors(scope)
        return [self._tensor_class(self, one) for one in found]

    @method
    def delete_scope(self, scope: str) -> Flow[None]:
        """Frees all tensors of a scope."""
        return self._core.delete_scope(scope)

    # -- ops

    @method
    def pipeline(
        self,
        inputs: Mapping[str, AnyTensor | Array],
        steps: Sequence[Step],
        outputs: Sequence[str] | Mapping[str, AnyTensor | None],
        *,
        timeout: float | None = None,
    ) -> Flow[dict[str, AnyTensor]]:
        """Runs several ops in one request; intermediate tensors are freed after their last reader.

        Args:
            inputs: tensors and arrays, by names of your choice. Arrays travel as base64: upload large ones.
            steps: the ops in their order: `{"op": "relu", "inputs": {"x": "h"}, "outputs": {"y": "z"}}`.
            outputs: the names to keep on the device, or a mapping from names to tensors to write to (None:
                a new tensor).
            timeout: seconds after which the call fails; the client's if None.

        Raises:
            AthanorError: if the service refuses the call; `step` counts the failed step from 0.
        """
        targets = dict(outputs) if isinstance(outputs, Mapping) else dict.fromkeys(outputs)
        described = yield from self._core.pipeline(inputs, steps, targets, timeout)
        return self._results(described, targets)

    # -- models

    @method
    def store_model(
        self,
        name: str,
        file: Bytes | PathLike,
        *,
        extents: Mapping[str, tuple[int, int]] | None = None,
        timeout: float | None = None,
    ) -> Flow[dict[str, Any]]:
        """Stores a version of a model, which becomes the default.

        Args:
            name: letters, digits, periods, hyphens and underscores.
            file: the path of an ONNX file; that of a folder, with an ONNX file and its external data or with
                `config.json` and `*.safetensors`; that of a zip of such a folder; or the bytes of either file.
            extents: the least and the greatest value of each extent that has a name, such as
                `{"batch": (1, 8)}`; calls may choose any if None.
            timeout: seconds after which the call fails; the client's if None.

        Returns:
            The description of the model, as `models` lists it.

        Raises:
            AthanorError: if the file is no model, or has nodes that no op expresses, which `detail` names.
            OSError: if there is no such file, or the folder holds no model.
        """
        return self._core.store_model(name, file, extents, timeout)

    @method
    def set_default(self, name: str, version: int) -> Flow[dict[str, Any]]:
        """Chooses the version of a model that calls run which name none; returns its description."""
        return self._core.set_default(name, version)

    @method
    def run_model(
        self,
        name: str,
        inputs: Mapping[str, AnyTensor | Array],
        outputs: Sequence[str] | Mapping[str, AnyTensor | None],
        *,
        timeout: float | None = None,
    ) -> Flow[dict[str, AnyTensor]]:
        """Runs a stored model in one request.

        Args:
            name: the model's name.
            inputs: tensors and arrays by the model's inputs. Arrays travel as base64: upload large ones.
            outputs: the outputs to keep on the device, or a mapping from outputs to tensors to write to (None: a
                new tensor).
            timeout: seconds after which the call fails; the client's if None.

        Raises:
            AthanorError: if there is no such model, or the inputs do not suit it.
        """
        targets = dict(outputs) if isinstance(outputs, Mapping) else dict.fromkeys(outputs)
        described = yield from self._core.run_model(name, inputs, targets, None, timeout)
        return self._results(described, targets)

    @method
    def delete_model(self, name: str) -> Flow[None]:
        """Deletes a model and its weights, or one of its versions, such as `bert@1`."""
        return self._core.delete_model(name)

    # -- the service

    @method
    def ops(self) -> Flow[list[dict[str, Any]]]:
        """Returns the description of every op of the service, those of plugins included."""
        return self._core.ops()

    @method
    def ready(self) -> Flow[bool]:
        """Returns whether the service can be reached and takes calls."""
        return self._core.ready()


class Athanor(Client[Tensor], Blocking):
    """A client of one service, made by `athanor.connect`. Threads may share it."""

    _tensor_class = Tensor

    def __init__(self, settings: Settings, options: Mapping[str, Any]) -> None:
        self._core = Core(settings)
        self._http = httpx.Client(**{"verify": settings.encrypted, "timeout": None, **options})
        self._verify = options.get("verify", True)
        self._lock = threading.Lock()
        self._tender: threading.Thread | None = None

    @property
    def models(self) -> Models:
        """The stored models: `a.models["bert"]` is a function, `a.models()` returns all descriptions."""
        return Models(self)

    def close(self) -> None:
        """Frees the tensors that the client owns, as far as the service can be reached, and disconnects."""
        if self._http.is_closed:
            return
        with self._lock:
            tender, self._tender = self._tender, None
        if tender:
            self._core.leases.garbage.put(None)
            tender.join()
        self._run(self._core.free_all())
        self._http.close()

    def stream(
        self, url: str, *, window: int = 64, credentials: grpc.ChannelCredentials | None = None
    ) -> Stream:
        """Opens a gRPC stream, over which ops run one after the other without waiting for each answer.

        It needs the extra `athanor[grpc]`. The stream has the methods of the ops, `run` and `compute`; they
        return futures:

            with a.stream("grpc://127.0.0.1:9090") as s:
                results = [s.relu(x) for x in xs]
                print(results[-1].result().numpy())

        Args:
            url: the gRPC server, such as `grpc://127.0.0.1:9090`, or `grpcs://` with TLS.
            window: the maximum number of unanswered calls, beyond which calls block.
            credentials: those of `grpcs://`, such as a client certificate. By default, the server's certificate
                is checked as `verify` of `connect` says.

        Raises:
            ImportError: if the extra is not installed.
            ValueError: if the URL or the window makes no sense, or `verify` is False.
        """
        try:
            from ._stream import Stream
        except ImportError as e:
            raise ImportError(f"a stream needs grpcio and protobuf: pip install 'athanor[grpc]' ({e})") from e
        return Stream(self, url, window, credentials)

    def __enter__(self) -> Athanor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- how flows run

    def _run(self, flow: Flow[T]) -> T:
        try:
            step = next(flow)
            while True:
                if isinstance(step, float):
                    time.sleep(step)
                    step = next(flow)
                    continue
                try:
                    answer = self._send(step)
                except httpx.TransportError as e:
                    step = flow.throw(e)
                else:
                    step = flow.send(answer)
        except StopIteration as stop:
            result: T = stop.value
            return result

    def _send(self, request: httpx.Request) -> Answer:
        response = self._http.send(request, stream=True)
        if events := Answer.of_events(response):
            return events
        try:
            body = bytearray()
            for piece in response.iter_raw():
                body += piece
            return Answer(response.status_code, response.headers, body)
        finally:
            response.close()

    # -- leases

    def _own(self, description: Mapping[str, Any]) -> Tensor:
        tensor = Tensor(self, description)
        tensor._finalizer = weakref.finalize(tensor, self._core.leases.garbage.put, tensor.handle)
        tensor._finalizer.atexit = False
        self._core.leases.hold(tensor.handle)
        with self._lock:
            if self._tender is None and not self._http.is_closed:
                self._tender = threading.Thread(
                    target=_tend, args=(weakref.ref(self), self._core), name="athanor-leases", daemon=True
                )
                self._tender.start()
        return tensor


def _tend(client: weakref.ref[Athanor], core: Core) -> None:
    """Frees tensors that were garbage collected and renews leases, until the client is closed or gone."""
    check = time.monotonic() + core.leases.tick
    while True:
        try:
            handle = core.leases.garbage.get(timeout=max(check - time.monotonic(), 0))
        except queue.Empty:
            handle = ""
        living = client()
        if living is None or handle is None:
            return
        try:
            if handle:
                living._run(core.free(handle))
            if time.monotonic() >= check:
                check = time.monotonic() + core.leases.tick
                living._run(core.renew_due())
        except RuntimeError:  # the HTTP client was closed meanwhile
            return
        del living

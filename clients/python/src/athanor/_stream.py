"""Ops over one gRPC stream."""

from __future__ import annotations

import numbers
import ssl
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import grpc
import httpx

from ._arrays import Array, NDArray, from_bytes, plain, to_host
from ._client import Athanor, OpCaller
from ._core import Attribute, Description
from ._errors import AthanorError
from ._http import Flow
from ._messages import ErrorInfo, RetryInfo, RunRequest, RunStreamResponse, Status
from ._method import Streaming
from ._tensor import BaseTensor, Tensor

if TYPE_CHECKING:
    from types import TracebackType

T = TypeVar("T")

METHOD = "/athanor.v1.Ops/RunStream"
DEFAULT_PORT = 9090
DETAILS = "grpc-status-details-bin"
NUMBERS = {"requestedBytes", "freeBytes"}  # members of problems; all others are texts


class Stream(OpCaller[Tensor], Streaming):
    """Calls of ops over one gRPC stream, made by `Athanor.stream`. Threads may share it.

    The service runs the calls in their order, so a call may use a tensor that an earlier one writes. Each
    returns a future, which holds the result, or the `AthanorError` of that call. If the stream breaks, all
    calls without an answer fail. Calls are not retried and have no timeouts.

    Callbacks of the futures run on the thread that receives the answers; they must not call the stream.
    """

    def __init__(
        self, client: Athanor, url: str, window: int, credentials: grpc.ChannelCredentials | None
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("grpc", "grpcs") or not parts.hostname:
            raise ValueError(f"{url!r} is no URL of a gRPC server; pass one such as grpc://127.0.0.1:9090")
        if window < 1:
            raise ValueError(f"window is {window}; it must be 1 call or more")
        self._core = _RunMessages()
        self._client = client
        self._url = url
        self._window = threading.Semaphore(window)
        self._lock = threading.Lock()
        self._end: Exception | None = None
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        self._unanswered: deque[tuple[Flow[Any], Future[Any]]] = deque()

        options = [
            ("grpc.primary_user_agent", client._core.agent),
            ("grpc.max_receive_message_length", -1),
        ]
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        target = f"{host}:{parts.port or DEFAULT_PORT}"
        if parts.scheme == "grpc":
            self._channel = grpc.insecure_channel(target, options)
        else:
            self._channel = grpc.secure_channel(target, credentials or _credentials(client._verify), options)
        call = self._channel.stream_stream(METHOD, None, RunStreamResponse.FromString)
        metadata = [(name.lower(), value) for name, value in client._core.headers().items()]
        self._answers = call(iter(self._requests.get, None), metadata=metadata)
        self._receiver = threading.Thread(target=self._receive, name="athanor-stream", daemon=True)
        self._receiver.start()

    def close(self) -> None:
        """Waits for the answers to all calls, and disconnects."""
        with self._lock:
            self._end = self._end or RuntimeError("the stream is closed")
            self._requests.put(None)
        self._receiver.join()
        self._channel.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, flow: Flow[T]) -> Future[T]:
        request: Any = next(flow)
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()  # calls cannot be canceled
        self._window.acquire()
        with self._lock:
            if self._end:
                self._window.release()
                raise self._end
            self._unanswered.append((flow, future))
            self._requests.put(request)
        return future

    def _own(self, description: Mapping[str, Any]) -> Tensor:
        return self._client._own(description)

    # -- the thread that receives the answers

    def _receive(self) -> None:
        try:
            for answer in self._answers:
                self._complete(answer)
            error = AthanorError("connection-failed", f"{self._url} ended the stream.")
        except IndexError:
            error = AthanorError("unexpected-answer", f"{self._url} sent an answer to no call.")
            self._answers.cancel()
        except grpc.RpcError as e:
            error = self._broken(e)
        with self._lock:
            self._end = self._end or error
            self._requests.put(None)  # ends the thread of gRPC that sends them
        while self._unanswered:
            _, future = self._unanswered.popleft()
            self._window.release()
            future.set_exception(error)

    def _complete(self, answer: Any) -> None:
        flow, future = self._unanswered.popleft()
        self._window.release()
        try:
            flow.send(answer)
        except StopIteration as stop:
            future.set_result(stop.value)
        except Exception as e:
            future.set_exception(e)

    def _broken(self, e: Any) -> AthanorError:
        details = dict(e.trailing_metadata() or ()).get(DETAILS)
        if details is not None:
            return _error(Status.FromString(details))
        if e.code() is grpc.StatusCode.UNAVAILABLE:
            return AthanorError("connection-failed", f"{self._url} cannot be reached: {e.details()}.")
        reason = f"{e.code().name} ({e.details()})"
        return AthanorError("unexpected-answer", f"{self._url} ended the stream with {reason}.")


class _RunMessages:
    """The calls of ops as messages of a stream; the counterpart of `Core`."""

    def run_op(
        self,
        op: str,
        inputs: Mapping[str, BaseTensor | Array | None],
        attributes: Mapping[str, Attribute],
        targets: Mapping[str, BaseTensor | None],
        timeout: float | None,
    ) -> Flow[dict[str, Description]]:
        outputs = {name: {"into": one.handle} if one else {"keep": True} for name, one in targets.items()}
        described = yield from self._op(op, inputs, attributes, outputs, timeout)
        return {name: _description(described[name].resident) for name in targets}

    def compute(
        self,
        op: str,
        inputs: Mapping[str, BaseTensor | Array | None],
        attributes: Mapping[str, Attribute],
        timeout: float | None,
    ) -> Flow[dict[str, NDArray]]:
        outputs = yield from self._op(op, inputs, attributes, {}, timeout)
        return {name: _array(output.inline) for name, output in outputs.items()}

    def _op(
        self,
        op: str,
        inputs: Mapping[str, BaseTensor | Array | None],
        attributes: Mapping[str, Attribute],
        outputs: Mapping[str, Mapping[str, str | bool]],
        timeout: float | None,
    ) -> Flow[Any]:
        """Returns the outputs. Until then the frame holds the inputs, so that the client does not free them."""
        if timeout is not None:
            raise ValueError("a call over a stream has no timeout; pass the timeout to result() of its future")
        request = RunRequest(op=op)
        for name, one in inputs.items():
            if isinstance(one, BaseTensor):
                request.inputs[name].handle = one.handle
            elif one is not None:
                host = to_host(one)
                inline = request.inputs[name].inline
                inline.dtype, inline.data = host.dtype, host.data.tobytes()
                inline.shape.extend(host.shape)
        for name, value in attributes.items():
            if value is not None:
                _set(request.attributes[name], plain(value))
        for name, target in outputs.items():
            ((destination, which),) = target.items()
            setattr(request.outputs[name], destination, which)
        answer: Any = yield request.SerializeToString()
        if answer.HasField("error"):
            raise _error(answer.error)
        return answer.response.outputs


def _set(attribute: Any, value: object) -> None:
    """Sets an attribute to a value of Python."""
    if isinstance(value, bool):
        attribute.flag = value
    elif isinstance(value, numbers.Integral):
        attribute.integer = int(value)
    elif isinstance(value, numbers.Real):
        attribute.number = float(value)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        whole = all(isinstance(one, numbers.Integral) for one in value)
        numbers_of = attribute.integers if whole else attribute.numbers
        numbers_of.SetInParent()  # also without elements
        numbers_of.values.extend(value)
    else:
        attribute.text = str(value)


def _description(tensor: Any) -> Description:
    return {name: getattr(tensor, name) for name in ("handle", "dtype", "shape", "bytes", "version")}


def _array(tensor: Any) -> NDArray:
    return from_bytes(tensor.dtype, tensor.shape, bytearray(tensor.data))


def _error(status: Any) -> AthanorError:
    """Returns the error that a `google.rpc.Status` reports."""
    code, retry_after = "unexpected-answer", None
    problem: dict[str, Any] = {}
    for detail in status.details:
        if detail.type_url.endswith("/google.rpc.ErrorInfo"):
            info = ErrorInfo.FromString(detail.value)
            code = info.reason
            problem = {name: int(one) if name in NUMBERS else one for name, one in info.metadata.items()}
        elif detail.type_url.endswith("/google.rpc.RetryInfo"):
            delay = RetryInfo.FromString(detail.value).retry_delay
            retry_after = delay.seconds + delay.nanos / 1e9
    return AthanorError(
        code, status.message, trace_id=problem.get("traceId"), retry_after=retry_after, problem=problem
    )


def _credentials(verify: Any) -> grpc.ChannelCredentials:
    """Returns credentials with the certificate authorities that the HTTP client trusts."""
    if verify is False:
        raise ValueError("gRPC always checks certificates; pass verify=True, or credentials=")
    context = verify if isinstance(verify, ssl.SSLContext) else httpx.create_ssl_context(verify)
    roots = "".join(map(ssl.DER_cert_to_PEM_cert, context.get_ca_certs(binary_form=True)))
    return grpc.ssl_channel_credentials(roots.encode())

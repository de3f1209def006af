"""Calls of models, with and without state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._arrays import Array
from ._generation import AsyncTokenStream, BaseTokenStream, Generation, TokenStream, request
from ._http import Flow
from ._method import Asynchronous, Blocking, method
from ._tensor import AnyTensor, AsyncTensor, Tensor

if TYPE_CHECKING:
    from types import TracebackType

    from ._client import Client

AnyStream = TypeVar("AnyStream", bound=BaseTokenStream)


class Function(Generic[AnyTensor, AnyStream]):
    """What models and their sessions have in common: they can be called, and generate tokens."""

    _stream_class: type[AnyStream]

    def __init__(
        self, client: Client[AnyTensor], model: str, outputs: Sequence[str], session: str | None
    ) -> None:
        self._client = client
        self._model = model
        self._outputs = outputs
        self._session = session

    def _run(self, flow: Flow[Any]) -> Any:
        return self._client._run(flow)

    @method
    def __call__(
        self,
        inputs: Mapping[str, AnyTensor | Array] | None = None,
        /,
        *,
        outputs: Sequence[str] | Mapping[str, AnyTensor | None] | None = None,
        timeout: float | None = None,
        **arrays: AnyTensor | Array,
    ) -> Flow[dict[str, AnyTensor]]:
        """Runs the model in one request, and keeps the outputs on the device.

        Args:
            inputs: inputs whose names are no Python names, or `outputs` or `timeout`.
            outputs: the outputs to keep, or a mapping from names to tensors to write to (None: a new tensor);
                all if None.
            timeout: seconds after which the call fails; the client's if None.
            arrays: tensors and arrays by the model's inputs. Arrays travel as base64: upload large ones.

        Raises:
            AthanorError: if the model or the session is gone, or the inputs do not suit the model.
        """
        kept = self._outputs if outputs is None else outputs
        targets = dict(kept) if isinstance(kept, Mapping) else dict.fromkeys(kept)
        given = {**(inputs or {}), **arrays}
        core = self._client._core
        described = yield from core.run_model(self._model, given, targets, self._session, timeout)
        return self._client._results(described, targets)

    @method
    def generate(
        self,
        tokens: Iterable[int],
        *,
        max_tokens: int | None = None,
        stop: Iterable[int] = (),
        seed: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        session: BaseSession[Any, Any] | None = None,
        timeout: float | None = None,
    ) -> Flow[Generation]:
        """Generates tokens after those of a prompt.

        Args:
            tokens: the token ids of the prompt; those that follow the session's own, if any.
            max_tokens: the maximum number of tokens; 128 if None.
            stop: tokens after which generation ends.
            seed: the key of the random numbers; drawn if None, and part of the result.
            temperature: divides the logits; 0 chooses the most probable token.
            top_k: how many of the most probable tokens can be drawn; all if None or 0.
            top_p: the sum of their probabilities at which the most probable tokens end; 1 if None.
            min_p: the least probability, relative to that of the most probable token; 0 if None.
            session: the session to continue, which contains all tokens afterwards. If None, a session continues
                itself, and a model one that ends with the call.
            timeout: seconds after which the call fails; the client's if None.

        Raises:
            AthanorError: if the model is no decoder, or the session is in use.
        """
        options = {"maxTokens": max_tokens, "seed": seed, "temperature": temperature}
        options |= {"topK": top_k, "topP": top_p, "minP": min_p}
        body = request(tokens, stop, self._continued(session), options)
        return Generation(**(yield from self._client._core.generate(self._model, body, timeout)))

    def stream(
        self,
        tokens: Iterable[int],
        *,
        max_tokens: int | None = None,
        stop: Iterable[int] = (),
        seed: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        session: BaseSession[Any, Any] | None = None,
        timeout: float | None = None,
    ) -> AnyStream:
        """Generates tokens as `generate` does, and yields each as soon as it is known.

        Errors are raised by the iteration. Leaving the loop stops the generation.
        """
        options = {"maxTokens": max_tokens, "seed": seed, "temperature": temperature}
        options |= {"topK": top_k, "topP": top_p, "minP": min_p}
        body = request(tokens, stop, self._continued(session), options)
        flow = self._client._core.stream(self._model, body, timeout)
        return self._stream_class(self._client, flow, timeout)

    def _continued(self, session: BaseSession[Any, Any] | None) -> str | None:
        return self._session if session is None else session.id


class BaseSession(Function[AnyTensor, AnyStream]):
    """What sessions of both clients have in common.

    Attributes:
        id: its name in requests.
        version: the version of the model that it uses.
    """

    def __init__(
        self, client: Client[AnyTensor], model: str, outputs: Sequence[str], description: Mapping[str, Any]
    ) -> None:
        super().__init__(client, model, outputs, description["session"])
        self.id: str = description["session"]
        self.version: int = description["version"]
        self._deleted = False

    def __repr__(self) -> str:
        return f"<session {self.id} of {self._model}, version {self.version}>"

    @property
    def length(self) -> Any:
        """The number of positions that it holds, which the service is asked for."""
        return self._run(self._length())

    def _length(self) -> Flow[int]:
        length: int = (yield from self._client._core.describe_session(self._model, self.id))["length"]
        return length

    @method
    def describe(self) -> Flow[dict[str, Any]]:
        """Returns the service's description: model, version, length, bytes and expiresAt."""
        return self._client._core.describe_session(self._model, self.id)

    @method
    def delete(self) -> Flow[None]:
        """Ends the session and frees its memory. Deleting again is no error."""
        if not self._deleted:
            self._deleted = True
            yield from self._client._core.delete_session(self._model, self.id)

    def _end(self) -> Flow[None]:
        if not self._deleted:
            self._deleted = True
            yield from self._client._core.end_session(self._model, self.id)


class Session(BaseSession[Tensor, TokenStream], Blocking):
    """The state of a model between calls, made by `session` of the model. One call at a time may use it.

    It ends by `delete`, at the end of a `with` block, or some time after its last call.
    """

    _stream_class = TokenStream

    @method
    def fork(self) -> Flow[Session]:
        """Returns a session with the same state. Both share memory, so that a prompt is stored once."""
        described = yield from self._client._core.fork_session(self._model, self.id)
        return Session(self._client, self._model, self._outputs, described)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._end())


class AsyncSession(BaseSession[AsyncTensor, AsyncTokenStream], Asynchronous):
    """The state of a model between calls; the asynchronous twin of `Session`, whose `length` is awaited."""

    _stream_class = AsyncTokenStream

    @method
    def fork(self) -> Flow[AsyncSession]:
        """Returns a session with the same state. Both share memory, so that a prompt is stored once."""
        described = yield from self._client._core.fork_session(self._model, self.id)
        return AsyncSession(self._client, self._model, self._outputs, described)

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._run(self._end())

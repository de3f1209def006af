"""Models that the service stores, as functions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._generation import AsyncTokenStream, TokenStream
from ._http import Flow
from ._method import Asynchronous, Blocking, method
from ._sessions import AnyStream, AsyncSession, BaseSession, Function, Session
from ._tensor import AnyTensor, AsyncTensor, Tensor

if TYPE_CHECKING:
    from ._client import Client

AnySession = TypeVar("AnySession", bound=BaseSession[Any, Any])


class BaseModel(Function[AnyTensor, AnyStream], Generic[AnyTensor, AnyStream, AnySession]):
    """What models of both clients have in common.

    Attributes:
        name: its name; with `@` and the version if it was looked up so.
        version: its version when it was looked up. A call runs the version of the name, or the default.
        versions: all versions.
        inputs: the descriptions of its inputs, with `name`, `dtype` and `shape`; extents are numbers, or names
            of extents that calls choose.
        outputs: the names of its outputs.
    """

    _session_class: type[AnySession]

    def __init__(self, client: Client[AnyTensor], name: str, description: Mapping[str, Any]) -> None:
        super().__init__(client, name, description["outputs"], None)
        self.name = name
        self.version: int = description["version"]
        self.versions: list[int] = description["versions"]
        self.inputs: list[dict[str, Any]] = description["inputs"]
        self.outputs: list[str] = description["outputs"]

    def __repr__(self) -> str:
        inputs = ", ".join(f"{one['name']}: {one['dtype']}[{', '.join(one['shape'])}]" for one in self.inputs)
        return f"<model {self.name}, version {self.version}: ({inputs}) -> {', '.join(self.outputs)}>"

    def _opened(self, description: Mapping[str, Any]) -> AnySession:
        return self._session_class(self._client, self.name, self.outputs, description)

    @method
    def session(self, *, ttl: int | None = None) -> Flow[AnySession]:
        """Begins a session, which keeps the model's state between calls.

        Args:
            ttl: seconds that it lives after its last call, 0 until it is deleted; one hour if None.

        Raises:
            AthanorError: if the model has no state.
        """
        return self._opened((yield from self._client._core.create_session(self.name, ttl)))

    @method
    def sessions(self) -> Flow[list[AnySession]]:
        """Returns the caller's sessions of the model, of all its versions."""
        return [self._opened(one) for one in (yield from self._client._core.sessions(self.name))]


class Model(BaseModel[Tensor, TokenStream, Session], Blocking):
    """A stored model, which is called like a function: `a.models["bert"](x=tokens)["y"]`."""

    _session_class = Session
    _stream_class = TokenStream


class AsyncModel(BaseModel[AsyncTensor, AsyncTokenStream, AsyncSession], Asynchronous):
    """A stored model, of the asynchronous client."""

    _session_class = AsyncSession
    _stream_class = AsyncTokenStream


AnyModel = TypeVar("AnyModel", bound=BaseModel[Any, Any, Any])


class BaseModels(Generic[AnyModel]):
    """What the models of both clients have in common."""

    _model_class: type[AnyModel]

    def __init__(self, client: Client[Any]) -> None:
        self._client = client

    def _run(self, flow: Flow[Any]) -> Any:
        return self._client._run(flow)

    @method
    def __call__(self) -> Flow[list[dict[str, Any]]]:
        """Returns the descriptions of the stored models: their inputs, outputs and versions."""
        return self._client._core.models()

    @method
    def __getitem__(self, name: str) -> Flow[AnyModel]:
        """Returns a model; `bert@2` is a version, `bert` the default.

        Raises:
            AthanorError: with code `not-found` if there is no such model.
        """
        return self._model_class(self._client, name, (yield from self._client._core.model(name)))


class Models(BaseModels[Model], Blocking):
    """The stored models by name: iterates over the names; called, it returns all descriptions."""

    _model_class = Model

    def __iter__(self) -> Iterator[str]:
        return iter([one["name"] for one in self()])

    def __len__(self) -> int:
        return len(self())

    def __contains__(self, name: object) -> bool:
        return name in list(self)


class AsyncModels(BaseModels[AsyncModel], Asynchronous):
    """The stored models by name: `await a.models["bert"]`, and `async for` over the names."""

    _model_class = AsyncModel
    __iter__ = None

    async def __aiter__(self) -> AsyncIterator[str]:
        for one in await self():
            yield one["name"]

"""Models that the service stores, as functions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._arrays import Array
from ._http import Flow
from ._method import Asynchronous, Blocking, method
from ._tensor import AnyTensor, AsyncTensor, Tensor

if TYPE_CHECKING:
    from ._client import Client


class BaseModel(Generic[AnyTensor]):
    """What models of both clients have in common.

    Attributes:
        name: its name.
        version: its version when it was looked up; a call runs the version that is stored then.
        inputs: the descriptions of its inputs, with `name`, `dtype` and `shape`; extents are numbers, or names
            of extents that calls choose.
        outputs: the names of its outputs.
    """

    def __init__(self, client: Client[AnyTensor], description: Mapping[str, Any]) -> None:
        self._client = client
        self.name: str = description["name"]
        self.version: int = description["version"]
        self.inputs: list[dict[str, Any]] = description["inputs"]
        self.outputs: list[str] = description["outputs"]

    def __repr__(self) -> str:
        inputs = ", ".join(f"{one['name']}: {one['dtype']}[{', '.join(one['shape'])}]" for one in self.inputs)
        return f"<model {self.name}, version {self.version}: ({inputs}) -> {', '.join(self.outputs)}>"

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
            AthanorError: if the model is gone, or the inputs do not suit it.
        """
        kept = self.outputs if outputs is None else outputs
        targets = dict(kept) if isinstance(kept, Mapping) else dict.fromkeys(kept)
        given = {**(inputs or {}), **arrays}
        described = yield from self._client._core.run_model(self.name, given, targets, timeout)
        return self._client._results(described, targets)


class Model(BaseModel[Tensor], Blocking):
    """A stored model, which is called like a function: `a.models["bert"](x=tokens)["y"]`."""


class AsyncModel(BaseModel[AsyncTensor], Asynchronous):
    """A stored model, of the asynchronous client."""


AnyModel = TypeVar("AnyModel", bound=BaseModel[Any])


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
        """Returns a model.

        Raises:
            AthanorError: with code `not-found` if there is no such model.
        """
        return self._model_class(self._client, (yield from self._client._core.model(name)))


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

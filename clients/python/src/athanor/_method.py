"""Methods that both clients share."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from ._http import Flow

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Blocking:
    """Base of the classes whose methods return their results."""


class Asynchronous:
    """Base of the classes whose methods are coroutine functions."""


class Streaming:
    """Base of the classes whose methods return futures of their results."""


class method(Generic[P, T]):
    """Makes a function that returns a flow a method that runs it with `_run`.

    It returns the flow's result in `Blocking` classes, and a future of it in `Streaming` ones. In
    `Asynchronous` ones it is a coroutine function.
    """

    def __init__(self, function: Callable[Concatenate[Any, P], Flow[T]]) -> None:
        @functools.wraps(function)
        def blocking(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return self._run(function(self, *args, **kwargs))

        @functools.wraps(function)
        def streaming(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return self._run(function(self, *args, **kwargs))

        @functools.wraps(function)
        async def asynchronous(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return await self._run(function(self, *args, **kwargs))

        self.__doc__ = function.__doc__
        self._blocking = _with_signature(blocking, "Tensor")
        self._streaming = _with_signature(streaming, "Tensor", r"Future[\1]")
        self._asynchronous = _with_signature(asynchronous, "AsyncTensor")

    @overload
    def __get__(self, instance: Blocking, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, instance: Streaming, owner: type) -> Callable[P, Future[T]]: ...
    @overload
    def __get__(self, instance: Asynchronous, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, instance: None, owner: type[Blocking]) -> Callable[Concatenate[Any, P], T]: ...
    @overload
    def __get__(self, instance: None, owner: type[Streaming]) -> Callable[Concatenate[Any, P], Future[T]]: ...
    @overload
    def __get__(
        self, instance: None, owner: type[Asynchronous]
    ) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]: ...
    def __get__(self, instance: object, owner: type) -> Any:
        if issubclass(owner, Asynchronous):
            function = self._asynchronous
        else:
            function = self._streaming if issubclass(owner, Streaming) else self._blocking
        return function if instance is None else MethodType(function, instance)


def _with_signature(function: F, tensor: str, result: str = r"\1") -> F:
    """Gives a method the signature that callers see: with the flow's result and the client's tensors."""
    signature = inspect.signature(function)

    def seen(annotation: Any) -> Any:
        if not isinstance(annotation, str):
            return annotation
        return re.sub(r"^Flow\[(.*)\]$", result, annotation).replace("AnyTensor", tensor)

    parameters = [one.replace(annotation=seen(one.annotation)) for one in signature.parameters.values()]
    signature = signature.replace(parameters=parameters, return_annotation=seen(signature.return_annotation))
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__annotations__ = {name: seen(one) for name, one in function.__annotations__.items()}
    return function

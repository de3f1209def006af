"""Tokens that a model generates."""

from __future__ import annotations

import json
import operator
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

from ._arrays import plain
from ._errors import AthanorError
from ._http import Answer, Flow, problem, unexpected

if TYPE_CHECKING:
    from types import TracebackType

    from ._async import AsyncAthanor
    from ._client import Athanor, Client


@dataclass
class Generation:
    """Generated tokens, and how the generation ended.

    Attributes:
        tokens: the tokens.
        reason: `stop` after a stop token, `length` after the maximum of tokens or positions; empty
            before the end.
        seed: the key of the random numbers.
        length: the number of positions of the session.
    """

    tokens: list[int] = field(default_factory=list)
    reason: str = ""
    seed: int = 0
    length: int = 0


def request(
    tokens: Iterable[int], stop: Iterable[int], session: str | None, options: Mapping[str, object]
) -> dict[str, object]:
    """Returns the body of a request, without the options that are None."""
    given = {name: plain(value) for name, value in options.items() if value is not None}
    if session is not None:
        given["session"] = session
    ids = {"tokens": list(map(operator.index, tokens)), "stop": list(map(operator.index, stop))}
    return {**ids, **given}


class _Events:
    """The events of a generation, in pieces as they arrive."""

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        self._buffer = b""

    def add(self, piece: bytes) -> Iterator[int]:
        """Takes a piece of the answer, and returns the tokens that it completes.

        Raises:
            AthanorError: if the generation failed.
        """
        self._buffer += piece
        *events, self._buffer = self._buffer.split(b"\n\n")
        for event in events:
            fields = {name: value for name, _, value in (line.partition(b": ") for line in event.split(b"\n"))}
            data = json.loads(fields[b"data"])
            if fields[b"event"] == b"token":
                self._generation.tokens.append(data["token"])
                yield data["token"]
            elif fields[b"event"] == b"end":
                for name, value in data.items():
                    setattr(self._generation, name, value)
            elif fields[b"event"] == b"error":
                raise problem(Answer(data["status"], httpx.Headers(), bytearray(fields[b"data"])))

    def check_end(self, url: str) -> None:
        if not self._generation.reason:
            raise AthanorError("connection-failed", f"{url} ended the stream before the generation.")


class BaseTokenStream:
    """What streams of both clients have in common.

    Attributes:
        generation: the tokens so far; after the last one, also how the generation ended.
    """

    _receive: Callable[[Any, Flow[Answer], float | None, Generation], Any]

    def __init__(self, client: Client[Any], flow: Flow[Answer], timeout: float | None) -> None:
        self.generation = Generation()
        limit = client._core.settings.timeout if timeout is None else timeout
        self._tokens = self._receive(client, flow, limit, self.generation)


class TokenStream(BaseTokenStream):
    """Iterates over tokens as the service generates them. The first token sends the request.

    The service stops generating when the stream is closed: by `close`, at the end of a `with` block, or when a
    loop over it is left and nothing else holds it.
    """

    @staticmethod
    def _receive(
        client: Athanor, flow: Flow[Answer], limit: float | None, generation: Generation
    ) -> Iterator[int]:
        """Yields the tokens. It does not refer to the stream, so that one that is dropped is closed at once."""
        response = _opened(client._run(flow))
        events = _Events(generation)
        try:
            for piece in response.iter_raw():
                yield from events.add(piece)
        except httpx.TransportError as e:
            raise client._core.unreachable(e, client._core.settings.url, limit) from e
        finally:
            response.close()
        events.check_end(client._core.settings.url)

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        token: int = next(self._tokens)
        return token

    def close(self) -> None:
        """Ends the generation."""
        self._tokens.close()

    def __enter__(self) -> TokenStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncTokenStream(BaseTokenStream):
    """Iterates over tokens as the service generates them; the asynchronous twin of `TokenStream`."""

    @staticmethod
    async def _receive(
        client: AsyncAthanor, flow: Flow[Answer], limit: float | None, generation: Generation
    ) -> AsyncIterator[int]:
        response = _opened(await client._run(flow))
        events = _Events(generation)
        try:
            async for piece in response.aiter_raw():
                for token in events.add(piece):
                    yield token
        except httpx.TransportError as e:
            raise client._core.unreachable(e, client._core.settings.url, limit) from e
        finally:
            await response.aclose()
        events.check_end(client._core.settings.url)

    def __aiter__(self) -> AsyncIterator[int]:
        return self

    async def __anext__(self) -> int:
        token: int = await anext(self._tokens)
        return token

    async def close(self) -> None:
        """Ends the generation."""
        await self._tokens.aclose()

    async def __aenter__(self) -> AsyncTokenStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _opened(answer: Answer) -> httpx.Response:
    if answer.events is None:
        raise unexpected(answer)
    return answer.events

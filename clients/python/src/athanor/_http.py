"""One call of the service: its request, its retries, and the error that it ends with."""

from __future__ import annotations

import json
import logging
import math
import random
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlencode, urlsplit

import httpx

from ._arrays import pieces, plain
from ._errors import AthanorError

T = TypeVar("T")
Description: TypeAlias = dict[str, Any]
# A call is a generator: it yields a request and is sent the answer (or is thrown the transport's error), or
# yields seconds to sleep. The two clients differ only in how they send and sleep.
Flow: TypeAlias = Generator["httpx.Request | float", "Answer | None", T]

LOG = logging.getLogger("athanor")
JSON = "application/json"
EVENTS = "text/event-stream"
CONNECT_TIMEOUT = 10.0
GRACE = 0.5  # seconds that the service gets beyond a deadline to say that it has passed
LONGEST_PAUSE = 30.0


class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A request body made of buffers, which are never joined and can be sent again."""

    def __init__(self, parts: Sequence[memoryview]) -> None:
        self.parts = parts
        self.nbytes = sum(part.nbytes for part in parts)

    def __iter__(self) -> Iterator[bytes]:
        return iter(pieces(self.parts))  # type: ignore[arg-type]  # h11 takes any buffer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


@dataclass(frozen=True)
class Answer:
    """An answer whose body has been read; that of `events`, if any, remains to be read and closed."""

    status: int
    headers: httpx.Headers
    body: bytearray
    events: httpx.Response | None = None

    @staticmethod
    def of_events(response: httpx.Response) -> Answer | None:
        """Returns the answer if it is a stream of events."""
        if not response.headers.get("content-type", "").startswith(EVENTS):
            return None
        return Answer(response.status_code, response.headers, bytearray(), response)

    def json(self) -> dict[str, Any]:
        try:
            value = json.loads(self.body)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise unexpected(self)
        return value


def unexpected(answer: Answer) -> AthanorError:
    return AthanorError(
        "unexpected-answer",
        f"The answer with status {answer.status} is none of Athanor's; check the URL and any proxy in between.",
        status=answer.status,
    )


def problem(answer: Answer) -> AthanorError:
    """Returns the error that an answer reports."""
    retry_after = answer.headers.get("retry-after", "")
    trace = answer.headers.get("traceresponse", "").split("-")
    try:
        members = json.loads(answer.body)
        code, detail = members["type"].removeprefix("urn:athanor:problem:"), members["detail"]
    except (ValueError, TypeError, KeyError, AttributeError):
        error = unexpected(answer)
        code, detail, members = error.code, error.detail, {}
    return AthanorError(
        code,
        detail,
        status=answer.status,
        trace_id=members.get("traceId") or (trace[1] if len(trace) == 4 else None),
        retry_after=float(retry_after) if retry_after.isdecimal() else None,
        problem=members,
    )


@dataclass(frozen=True)
class Settings:
    """How a client calls the service; `athanor.connect` explains each."""

    url: str
    api_key: str | Callable[[], str] | None = None
    timeout: float | None = 300.0
    retries: int = 4
    lease: int = 600
    replicas: Mapping[str, str] | None = None
    headers: Mapping[str, str] | None = None

    @property
    def urls(self) -> list[str]:
        return [self.url, *(self.replicas or {}).values()]

    @property
    def encrypted(self) -> bool:
        """Whether certificates are needed; loading them takes a good part of a second."""
        return any(urlsplit(url).scheme == "https" for url in self.urls)

    def __post_init__(self) -> None:
        for url in self.urls:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError(f"{url!r} is no URL of a service; pass one such as http://127.0.0.1:8080")
        if self.lease < 1:
            raise ValueError(f"lease is {self.lease}; it must be 1 second or more")


class Caller:
    """Sends requests as often as they need and may be sent."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.agent = f"athanor-python/{version('athanor')}"

    def call(
        self,
        method: str,
        path: str,
        query: Mapping[str, object] | None = None,
        parts: Sequence[memoryview] = (),
        headers: Mapping[str, str] | None = None,
        *,
        timeout: float | None = None,
        retries: int | None = None,
        repeatable: bool = True,
    ) -> Flow[Answer]:
        """Sends a request until it succeeds or may not be tried again.

        A request that the service refused with 429 or 503 did not run and is always sent again. One whose
        answer got lost may have run, and is sent again only if it is `repeatable`.
        """
        limit = self.settings.timeout if timeout is None else timeout
        end = math.inf if limit is None else time.monotonic() + limit
        retries = self.settings.retries if retries is None else retries
        base = self.settings.url
        redirected = False
        attempt = 0
        while True:
            try:
                answer = yield self._request(method, base, path, query, parts, headers, end)
                assert answer is not None
            except httpx.TransportError as e:
                error = self.unreachable(e, base, limit)
                again = repeatable or isinstance(e, httpx.ConnectError | httpx.ConnectTimeout)
                again = (
                    again and error.code == "connection-failed" and not isinstance(e, httpx.LocalProtocolError)
                )
            else:
                if answer.status < 300:
                    return answer
                error = problem(answer)
                owner = (self.settings.replicas or {}).get(str(error.problem.get("replica")))
                if error.code == "wrong-replica" and owner and not redirected:
                    base, redirected = owner, True
                    continue
                again = answer.status in (429, 503)
            pause = self._pause(attempt, error.retry_after)
            if not again or attempt >= retries or pause > LONGEST_PAUSE or time.monotonic() + pause >= end:
                raise error
            attempt += 1
            LOG.debug("%s %s: %s; attempt %d in %.2f s", method, path, error.code, attempt + 1, pause)
            yield pause

    def headers(self) -> dict[str, str]:
        """Returns the credentials and the headers that the user wants."""
        key = self.settings.api_key
        fields = {} if key is None else {"Authorization": "Bearer " + (key() if callable(key) else key)}
        return {**fields, **(self.settings.headers or {})}

    def _request(
        self,
        method: str,
        base: str,
        path: str,
        query: Mapping[str, object] | None,
        parts: Sequence[memoryview],
        headers: Mapping[str, str] | None,
        end: float,
    ) -> httpx.Request:
        body = Body(parts)
        given = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        url = base.rstrip("/") + path + ("?" + urlencode(given) if given else "")
        fields = {"Accept": JSON, "Accept-Encoding": "identity", "User-Agent": self.agent}
        fields["Host"] = httpx.URL(base).netloc.decode()
        if method in ("POST", "PUT", "PATCH"):
            fields["Content-Length"] = str(body.nbytes)
        fields |= {**self.headers(), **(headers or {})}
        patience = None
        if end < math.inf:
            left = max(end - time.monotonic(), 0.001)
            fields["X-Deadline-Ms"] = str(math.ceil(left * 1000))
            patience = left + GRACE
        waits = httpx.Timeout(patience, connect=min(CONNECT_TIMEOUT, patience or CONNECT_TIMEOUT), pool=None)
        return httpx.Request(method, url, headers=fields, stream=body, extensions={"timeout": waits.as_dict()})

    @staticmethod
    def unreachable(cause: httpx.TransportError, base: str, limit: float | None) -> AthanorError:
        """Returns the error that an error of the transport stands for."""
        if isinstance(cause, httpx.ReadTimeout | httpx.WriteTimeout):
            return AthanorError("deadline-exceeded", f"{base} did not answer within the timeout of {limit} s.")
        error = AthanorError("connection-failed", f"{base} cannot be reached: {cause or type(cause).__name__}.")
        error.__cause__ = cause
        return error

    @staticmethod
    def _pause(attempt: int, retry_after: float | None) -> float:
        """Returns the seconds before the next attempt, spread so that clients do not come back together."""
        if retry_after is not None:
            return retry_after * random.uniform(1.0, 1.25)
        return float(min(0.1 * 2**attempt, 5.0) * random.uniform(0.5, 1.0))


def _text(value: object) -> str:
    value = plain(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)

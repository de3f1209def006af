"""The exception that every failed call raises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class AthanorError(Exception):
    """A call that failed. Its text is the service's sentence: what is wrong, what was given, what to do.

    Attributes:
        code: the kind of failure, such as `shape-mismatch`; programs decide on it. `connection-failed` if
            the service could not be reached, `deadline-exceeded` also if it did not answer in time.
        status: the HTTP status; None over a stream, or if the service did not answer.
        detail: the sentence.
        trace_id: 32 hexadecimal digits that find the call in the service's traces and log, or None.
        retry_after: seconds after which the service suggests another try, or None.
        op: the op, or None.
        field: the path of the faulty part of the request, such as `inputs.a`, or None.
        step: the step of a pipeline that failed, counted from 0, or None.
        problem: all members of the service's problem document (RFC 9457), such as `freeBytes`.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int | None = None,
        trace_id: str | None = None,
        retry_after: float | None = None,
        problem: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail
        self.status = status
        self.trace_id = trace_id
        self.retry_after = retry_after
        self.problem: Mapping[str, Any] = problem or {}
        self.op: str | None = self.problem.get("op")
        self.field: str | None = self.problem.get("field")
        self.step: int | None = self.problem.get("step")

    def __str__(self) -> str:
        place = "" if self.step is None else f" in step {self.step}"
        trace = f" [trace {self.trace_id}]" if self.trace_id else ""
        return f"{self.code}{place}: {self.detail}{trace}"

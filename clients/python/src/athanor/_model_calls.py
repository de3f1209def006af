"""The requests that concern stored models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from ._arrays import Array, Bytes
from ._errors import AthanorError
from ._http import EVENTS, JSON, LOG, Answer, Caller, Description, Flow
from ._json import json_targets, json_tensor
from ._model_files import PathLike, media_type, model_file
from ._tensor import BaseTensor


class ModelCalls(Caller):
    """The calls of stored models, of their sessions, and of generation."""

    def store_model(
        self,
        name: str,
        file: Bytes | PathLike,
        extents: Mapping[str, tuple[int, int]] | None,
        timeout: float | None,
    ) -> Flow[Description]:
        ranges = [f"{extent}:{least}-{most}" for extent, (least, most) in (extents or {}).items()]
        with model_file(file) as contents:
            answer = yield from self.call(
                "PUT",
                _model(name),
                {"extents": ranges or None},
                [contents],
                {"Content-Type": media_type(contents)},
                timeout=timeout,
            )
        return answer.json()

    def models(self) -> Flow[list[Description]]:
        described: list[Description] = (yield from self.call("GET", "/models")).json()["models"]
        return described

    def model(self, name: str) -> Flow[Description]:
        return (yield from self.call("GET", _model(name))).json()

    def set_default(self, name: str, version: int) -> Flow[Description]:
        return (yield from self._json("PUT", _model(name) + "/default", {"version": version})).json()

    def delete_model(self, name: str) -> Flow[None]:
        yield from self.call("DELETE", _model(name))

    def run_model(
        self,
        name: str,
        inputs: Mapping[str, BaseTensor | Array],
        targets: Mapping[str, BaseTensor | None],
        session: str | None,
        timeout: float | None,
    ) -> Flow[dict[str, Description]]:
        """Runs a model; returns the descriptions of the outputs, which stay on the device."""
        body: dict[str, object] = {"inputs": {key: json_tensor(one) for key, one in inputs.items()}}
        body["outputs"] = json_targets(targets)
        if session is not None:
            body["session"] = session
        answer = yield from self._json(
            "POST",
            _model(name) + "/run",
            body,
            timeout=timeout,
            repeatable=session is None and all(target is None for target in targets.values()),
        )
        described: dict[str, Description] = answer.json()["outputs"]
        return described

    # -- sessions

    def create_session(self, model: str, ttl: int | None) -> Flow[Description]:
        answer = yield from self.call("POST", _model(model) + "/sessions", {"ttlSeconds": ttl})
        return answer.json()

    def fork_session(self, model: str, session: str) -> Flow[Description]:
        return (yield from self.call("POST", _session(model, session) + "/fork")).json()

    def sessions(self, model: str) -> Flow[list[Description]]:
        answer = yield from self.call("GET", _model(model) + "/sessions")
        described: list[Description] = answer.json()["sessions"]
        return described

    def describe_session(self, model: str, session: str) -> Flow[Description]:
        return (yield from self.call("GET", _session(model, session))).json()

    def delete_session(self, model: str, session: str) -> Flow[None]:
        yield from self.call("DELETE", _session(model, session))

    def end_session(self, model: str, session: str) -> Flow[None]:
        """Deletes a session that nobody uses any more; otherwise, its lease ends it."""
        try:
            yield from self.delete_session(model, session)
        except AthanorError as e:
            if e.status != 404:
                LOG.warning("%s was not deleted and lives until its lease ends: %s", session, e)

    # -- generation

    def generate(self, model: str, request: Mapping[str, object], timeout: float | None) -> Flow[Description]:
        return (yield from self._generate(model, request, timeout, JSON)).json()

    def stream(self, model: str, request: Mapping[str, object], timeout: float | None) -> Flow[Answer]:
        """Begins to generate; returns the answer with its events."""
        return self._generate(model, request, timeout, EVENTS)

    def _generate(
        self, model: str, request: Mapping[str, object], timeout: float | None, accept: str
    ) -> Flow[Answer]:
        return self._json(
            "POST",
            _model(model) + "/generate",
            request,
            {"Accept": accept},
            timeout=timeout,
            repeatable="session" not in request,
        )

    def _json(
        self,
        verb: str,
        path: str,
        body: Mapping[str, object],
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Flow[Answer]:
        parts = [memoryview(json.dumps(body).encode())]
        return self.call(verb, path, None, parts, {"Content-Type": JSON, **(headers or {})}, **options)


def _model(name: str) -> str:
    return f"/models/{quote(name, safe='@')}"


def _session(model: str, session: str) -> str:
    return f"{_model(model)}/sessions/{quote(session, safe='')}"

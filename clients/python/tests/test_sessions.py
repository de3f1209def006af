"""Tests of sessions and generation, with a small Llama of the service's tests."""

from __future__ import annotations

import asyncio
import gc
import gzip
import io
import json
import tempfile
import time
import unittest
import zipfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import athanor

from . import live
from .scripted import CUT, Reply, Scripted, problem

CHECKPOINTS = "test-support/src/main/resources/dev/athanor/testing/checkpoints.zip.gz"
POSITIONS = 4096
PROMPT = [3, 1, 4, 1, 5]


def checkpoint(name: str, **config: Any) -> dict[str, bytes]:
    """Returns the files of a checkpoint, with changes of its configuration."""
    packed = Path(__file__).resolve().parents[3] / CHECKPOINTS
    with zipfile.ZipFile(io.BytesIO(gzip.decompress(packed.read_bytes()))) as files:
        given = json.loads(files.read(f"{name}/config.json"))
        return {
            "config.json": json.dumps(given | config).encode(),
            "model.safetensors": files.read(f"{name}/model.safetensors"),
        }


def packed(files: dict[str, bytes]) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as target:
        for name, contents in files.items():
            target.writestr(name, contents)
    return memory.getvalue()


def tokens(*ids: int) -> np.ndarray[Any, Any]:
    return np.array([ids], np.int64)


class SessionsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.a = athanor.connect(live.url())
        self.addCleanup(self.a.close)
        self.a.store_model("decoder", packed(checkpoint("llama", max_position_embeddings=POSITIONS)))
        self.addCleanup(self.a.delete_model, "decoder")
        self.model = self.a.models["decoder"]

    def most_probable(self, s: athanor.Session, *ids: int) -> int:
        return int(s(tokens=tokens(*ids), outputs=["next"])["next"].numpy().argmax())

    def usable(self, s: athanor.Session) -> athanor.Generation:
        """Generates a token as soon as no other call uses the session."""
        end = time.monotonic() + 3600
        while True:
            try:
                return s.generate([1], max_tokens=1)
            except athanor.AthanorError as e:
                self.assertEqual("handle-in-use", e.code)
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)

    def test_a_session_keeps_state_and_forks(self) -> None:
        once = self.model.generate(PROMPT, max_tokens=2, temperature=0)
        with self.model.session(ttl=60) as s:
            self.assertEqual(0, s.length)
            self.assertEqual(["logits", "next"], list(s(tokens=tokens(*PROMPT[:3]))))
            self.assertEqual(once.tokens[0], self.most_probable(s, *PROMPT[3:]))
            self.assertEqual(5, s.length)
            other = s.fork()
            for each in (s, other):
                self.assertEqual(once.tokens[1], self.most_probable(each, once.tokens[0]))
            self.assertEqual(6, other.describe()["length"])
            self.assertEqual({s.id, other.id}, {one.id for one in self.model.sessions()})
            self.assertEqual(f"<session {s.id} of decoder, version {self.model.version}>", repr(s))
            other.delete()
            other.delete()
        self.assertEqual([], self.model.sessions())
        with self.assertRaises(athanor.AthanorError) as raised:
            s(tokens=tokens(1))
        self.assertEqual("not-found", raised.exception.code)

    def test_a_session_without_end_has_no_lease(self) -> None:
        with self.model.session(ttl=0) as s:
            self.assertIsNone(s.describe()["expiresAt"])
            s.fork().delete()
        with self.model.session() as s:
            self.a.models["decoder"].sessions()[0].delete()  # the end of the block finds it gone

    def test_a_model_generates(self) -> None:
        made = self.model.generate(np.array(PROMPT), max_tokens=4, top_k=20, top_p=0.9, min_p=0.0)
        self.assertEqual((4, "length", 9), (len(made.tokens), made.reason, made.length))
        options: dict[str, Any] = {"max_tokens": 4, "top_k": 20, "top_p": 0.9, "seed": made.seed}
        self.assertEqual(made, self.model.generate(PROMPT, **options))
        stopped = self.model.generate(PROMPT, stop=[made.tokens[1]], **options)
        self.assertEqual("stop", stopped.reason)
        self.assertEqual(made.tokens[: len(stopped.tokens)], stopped.tokens)
        self.assertEqual(made.tokens[1], stopped.tokens[-1])
        with self.assertRaises(athanor.AthanorError) as raised:
            self.model.generate(PROMPT, max_tokens=0)
        self.assertEqual("maxTokens is 0; it must be 1 to 65536", raised.exception.detail)
        with self.assertRaises(TypeError):
            self.model.generate([1.5])  # type: ignore[list-item]

    def test_a_session_generates_after_its_tokens(self) -> None:
        whole = self.model.generate(PROMPT, max_tokens=4, temperature=0)
        with self.model.session() as s:
            first = self.model.generate(PROMPT, max_tokens=1, temperature=0, session=s)
            second = s.generate([whole.tokens[1]], max_tokens=2, temperature=0)
            self.assertEqual(whole.tokens, [*first.tokens, whole.tokens[1], *second.tokens])
            self.assertEqual((whole.length, whole.length), (second.length, s.length))

    def test_tokens_are_streamed(self) -> None:
        made = self.model.generate(PROMPT, max_tokens=4, seed=7)
        stream = self.model.stream(PROMPT, max_tokens=4, seed=7)
        self.assertEqual(made.tokens[0], next(stream))
        self.assertEqual("", stream.generation.reason)
        self.assertEqual(made.tokens[1:], list(stream))
        self.assertEqual(made, stream.generation)
        with self.model.session() as s, s.stream(PROMPT, max_tokens=3, temperature=0) as stream:
            self.assertEqual(3, len(list(stream)))
            self.assertEqual(8, s.length)

    def test_leaving_the_loop_stops_the_generation(self) -> None:
        with self.model.session() as s:
            for _ in s.stream([1], max_tokens=POSITIONS - 100):
                with self.assertRaises(athanor.AthanorError) as raised:
                    s.generate([1], max_tokens=1)
                self.assertEqual("handle-in-use", raised.exception.code)
                break
            gc.collect()
            self.assertLess(self.usable(s).length, POSITIONS - 100)

    def test_closing_the_stream_stops_the_generation(self) -> None:
        with self.model.session() as s:
            with s.stream([1], max_tokens=POSITIONS - 100) as stream:
                next(stream)
            self.assertLess(self.usable(s).length, POSITIONS - 100)
            self.assertEqual([], list(stream))

    def test_a_refused_stream_raises_the_problem(self) -> None:
        with self.assertRaises(athanor.AthanorError) as raised:
            next(self.model.stream([]))
        self.assertEqual(("missing-input", 400), (raised.exception.code, raised.exception.status))

    def test_the_async_client_has_sessions_and_generates(self) -> None:
        once = self.model.generate(PROMPT, max_tokens=3, temperature=0)

        async def run() -> None:
            async with athanor.connect_async(live.url()) as a:
                model = await a.models["decoder"]
                made = await model.generate(PROMPT, max_tokens=3, temperature=0)
                self.assertEqual(once.tokens, made.tokens)
                async with await model.session(ttl=60) as s:
                    result = await s(tokens=tokens(*PROMPT))
                    self.assertEqual(once.tokens[0], (await result["next"].numpy()).argmax())
                    other, third = await s.fork(), await s.fork()
                    self.assertEqual((5, 5), (await s.length, await other.length))
                    stream = other.stream([once.tokens[0]], max_tokens=2, temperature=0)
                    self.assertEqual(once.tokens[1:], [token async for token in stream])
                    self.assertEqual("length", stream.generation.reason)
                    self.assertEqual(8, await other.length)
                    self.assertEqual(3, len(await model.sessions()))
                    await other.delete()
                    async for _ in s.stream([1], max_tokens=POSITIONS - 100):
                        break
                    async with model.stream([1], session=third, max_tokens=POSITIONS - 100) as left:
                        await anext(left)
                    self.assertEqual([], [token async for token in left])
                    loop = asyncio.get_running_loop()
                    for one in self.model.sessions():
                        after = await loop.run_in_executor(None, self.usable, one)
                        self.assertLess(after.length, POSITIONS - 100)

        asyncio.run(run())

    def test_models_are_stored_from_folders_and_files(self) -> None:
        files = checkpoint("llama", max_position_embeddings=64)
        expected = self.model.generate(PROMPT, max_tokens=3, temperature=0).tokens
        self.addCleanup(self.a.delete_model, "stored")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name, "checkpoint")
            folder.mkdir()
            with self.assertRaisesRegex(FileNotFoundError, "has no file config.json and none that ends with"):
                self.a.store_model("stored", folder)
            for file, contents in files.items():
                (folder / file).write_bytes(contents)
            (folder / "tokenizer.json").write_text("{")
            (folder / ".git").mkdir()
            file = Path(name, "checkpoint.zip")
            file.write_bytes(packed(files))
            extents = {"batch": (1, 2), "sequence": (1, 16)}
            for path in (folder, str(file)):
                described = self.a.store_model("stored", path, extents=extents)
                self.assertEqual(
                    {"batch": {"min": 1, "max": 2}, "sequence": {"min": 1, "max": 16}}, described["extents"]
                )
                made = self.a.models["stored"].generate(PROMPT, max_tokens=3, temperature=0)
                self.assertEqual(expected, made.tokens)

    def test_versions_are_chosen(self) -> None:
        self.a.store_model("decoder", packed(checkpoint("mistral", max_position_embeddings=64)))
        first, second = self.a.models["decoder"].versions
        self.assertEqual(second, self.a.models["decoder"].version)
        older = self.a.models[f"decoder@{first}"]
        self.assertEqual((f"decoder@{first}", first), (older.name, older.version))
        before = older.generate(PROMPT, max_tokens=5, temperature=0).tokens
        after = self.a.models["decoder"].generate(PROMPT, max_tokens=5, temperature=0).tokens
        self.assertNotEqual(before, after)
        with older.session() as s:
            self.assertEqual(first, s.version)
            self.assertEqual(before, s.generate(PROMPT, max_tokens=5, temperature=0).tokens)
        self.assertEqual(first, self.a.set_default("decoder", first)["version"])
        self.assertEqual(before, self.model.generate(PROMPT, max_tokens=5, temperature=0).tokens)
        self.a.delete_model(f"decoder@{second}")
        self.assertEqual([first], self.a.models["decoder"].versions)


class StreamTest(unittest.TestCase):
    EVENTS: ClassVar = {"Content-Type": "text/event-stream"}

    def stream(self, url: str, session: str | None = None) -> athanor.TokenStream:
        a = athanor.connect(url, retries=1)
        self.addCleanup(a.close)
        description = {"version": 1, "versions": [1], "inputs": [], "outputs": ["next"], "session": session}
        model = athanor.Model(a, "m", description)
        return athanor.Session(a, "m", [], description).stream([1]) if session else model.stream([1])

    def test_events_may_arrive_in_any_pieces_and_the_end_must(self) -> None:
        later = b"event: later\ndata: {}\n\n"
        part = Reply(200, b'event: token\ndata: {"token":4}\n\n' + later + b"event: tok", self.EVENTS)
        with Scripted(part) as script:
            stream = self.stream(script.url)
            self.assertEqual(4, next(stream))
            with self.assertRaisesRegex(athanor.AthanorError, "ended the stream before the generation"):
                next(stream)
        self.assertEqual([4], stream.generation.tokens)

    def test_a_failure_during_the_stream_is_raised(self) -> None:
        event = b"event: error\ndata: " + json.dumps(problem(429, "quota-exceeded").body).encode() + b"\n\n"
        failing = Reply(200, b'event: token\ndata: {"token":4}\n\n' + event, self.EVENTS)
        with Scripted(failing) as script, self.assertRaises(athanor.AthanorError) as raised:
            list(self.stream(script.url))
        error = raised.exception
        self.assertEqual(("quota-exceeded", 429), (error.code, error.status))
        self.assertEqual("quota-exceeded it is", error.detail)

    def test_an_answer_without_events_is_unexpected(self) -> None:
        with Scripted(Reply(200, {"tokens": []})) as script, self.assertRaises(athanor.AthanorError) as raised:
            next(self.stream(script.url))
        self.assertEqual("unexpected-answer", raised.exception.code)

    def test_a_lost_call_is_repeated_unless_it_has_a_session(self) -> None:
        end = b'event: end\ndata: {"reason":"length","seed":5,"length":6}\n\n'
        for session, count in ((None, 2), ("s_1", 1)):
            with Scripted(CUT, Reply(200, end, self.EVENTS)) as script:
                stream = self.stream(script.url, session)
                if session:
                    with self.assertRaises(athanor.AthanorError) as raised:
                        next(stream)
                    self.assertEqual("connection-failed", raised.exception.code)
                else:
                    self.assertEqual([], list(stream))
                    self.assertEqual(athanor.Generation([], "length", 5, 6), stream.generation)
            self.assertEqual(count, len(script.asked))

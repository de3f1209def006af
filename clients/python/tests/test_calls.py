"""Retries, replicas, deadlines and credentials, against a scripted service."""

from __future__ import annotations

import pickle
import re
import ssl
import threading
import unittest
from collections.abc import Callable
from typing import Any
from unittest import mock

import httpx
import numpy as np

import athanor

from . import live
from .scripted import CREATED, CUT, Asked, Reply, Scripted, problem, tensor

X = np.ones(2, np.float32)
RAN = Reply(200, {"outputs": {"y": tensor(2)}})
BUSY = problem(429, "queue-full", {"Retry-After": "3"}, traceId="ab" * 16)
DRAINING = problem(503, "draining", {"Retry-After": "5"})
GONE = Reply(204)


class CallsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.pauses: list[float] = []
        patch = mock.patch("time.sleep", self.pauses.append)
        patch.start()
        self.addCleanup(patch.stop)

    def connect(self, script: Scripted, **options: Any) -> athanor.Athanor:
        client = athanor.connect(script.url, **options)
        self.addCleanup(client.close)
        self.addCleanup(client._core.leases.take_all)  # first: the script has ended
        return client

    def error(self, call: Callable[[], object]) -> athanor.AthanorError:
        with self.assertRaises(athanor.AthanorError) as raised:
            call()
        return raised.exception

    def test_refused_calls_are_repeated_when_the_service_says(self) -> None:
        with Scripted(BUSY, DRAINING, CREATED) as script:
            self.connect(script).upload(X)
        asked = script.asked_for("POST")
        self.assertEqual(3, len(asked))
        self.assertTrue(3 <= self.pauses[0] <= 3.75 and 5 <= self.pauses[1] <= 6.25, self.pauses)
        self.assertEqual(1, len({one.headers["Idempotency-Key"] for one in asked}))
        self.assertEqual([X.tobytes()] * 3, [one.body for one in asked])

    def test_every_upload_has_its_own_key(self) -> None:
        with Scripted(CREATED) as script:
            client = self.connect(script)
            client.upload(X), client.upload(X)
        self.assertNotEqual(*(one.headers["Idempotency-Key"] for one in script.asked_for("POST")))

    def test_a_call_that_keeps_its_outputs_is_repeated_with_its_key(self) -> None:
        with Scripted(CUT, RAN, GONE) as script:
            self.connect(script).relu(X)
        asked = script.asked_for("POST")
        self.assertEqual(2, len(asked))
        self.assertEqual(1, len({one.headers["Idempotency-Key"] for one in asked}))

    def test_a_call_that_writes_into_a_tensor_is_repeated_with_its_key(self) -> None:
        with Scripted(CREATED, CUT, RAN, GONE) as script:
            client = self.connect(script)
            client.relu(X, out=client.upload(X))
        asked = script.asked_for("POST", "/ops")
        self.assertEqual(2, len(asked))
        self.assertEqual(1, len({one.headers["Idempotency-Key"] for one in asked}))

    def test_retries_are_limited(self) -> None:
        with Scripted(BUSY) as script:
            e = self.error(lambda: self.connect(script, retries=2).upload(X))
        self.assertEqual(3, len(script.asked))
        self.assertEqual(("queue-full", 429, 3.0, "ab" * 16), (e.code, e.status, e.retry_after, e.trace_id))
        with Scripted(BUSY) as script:
            self.error(lambda: self.connect(script, retries=0).upload(X))
        self.assertEqual(1, len(script.asked))

    def test_a_long_wait_or_a_near_deadline_ends_the_retries(self) -> None:
        with Scripted(problem(503, "draining", {"Retry-After": "3600"})) as script:
            self.assertEqual(3600, self.error(lambda: self.connect(script).upload(X)).retry_after)
        with Scripted(BUSY) as script:
            self.assertEqual("queue-full", self.error(lambda: self.connect(script).upload(X, timeout=2)).code)
        self.assertEqual([], self.pauses)

    def test_other_refusals_are_not_repeated(self) -> None:
        for reply in (problem(400, "invalid-tensor"), problem(507, "out-of-device-memory", freeBytes=7)):
            with Scripted(reply) as script:
                e = self.error(lambda script=script: self.connect(script).upload(X))  # type: ignore[misc]
            self.assertEqual(1, len(script.asked))
        self.assertEqual(7, e.problem["freeBytes"])

    def test_lost_connections_are_repeated_where_that_is_safe(self) -> None:
        with Scripted(CUT, CREATED, CUT, RAN) as script:
            client = self.connect(script)
            w = client.upload(X)
            client.add(w, X)
            self.assertEqual(4, len(script.asked_for("POST")))
        with Scripted(CREATED, CUT) as script:
            client = self.connect(script)
            w = client.upload(X)
            e = self.error(lambda: w.update(X, expected_version=1))  # fails with version-mismatch if it ran
            self.assertEqual(1, len(script.asked_for("PUT")))
            self.assertEqual(("connection-failed", None), (e.code, e.status))
            self.assertRegex(e.detail, f"^{script.url} cannot be reached: ")

    def test_a_service_that_is_not_there(self) -> None:
        client = athanor.connect(live.refusing(), retries=3)
        self.assertEqual("connection-failed", self.error(client.ops).code)
        self.assertEqual(3, len(self.pauses))
        self.assertTrue(all(0 < pause <= 5 for pause in self.pauses))

    def test_another_replica_is_followed_once(self) -> None:
        wrong = problem(421, "wrong-replica", replica="b", field="handle")
        with Scripted(Reply(200, tensor())) as b, Scripted(wrong) as a:
            client = self.connect(a, replicas={"b": b.url})
            self.assertEqual("f32", client.tensor(tensor()["handle"]).dtype)
            self.assertEqual((1, 1), (len(a.asked), len(b.asked)))
            self.assertEqual(b.url, "http://" + b.asked[0].headers["Host"])
        with Scripted(wrong) as b, Scripted(wrong) as a:
            e = self.error(lambda: self.connect(a, replicas={"b": b.url}).tensor(tensor()["handle"]))
            self.assertEqual((1, 1), (len(a.asked), len(b.asked)))
            self.assertEqual(("wrong-replica", "b"), (e.code, e.problem["replica"]))
            self.error(lambda: self.connect(a).tensor(tensor()["handle"]))
            self.assertEqual((2, 1), (len(a.asked), len(b.asked)))

    def test_deadlines_count_all_attempts(self) -> None:
        with Scripted(problem(503, "draining", {"Retry-After": "0"}), RAN) as script:
            self.connect(script).relu(X, timeout=3600)
        first, second = (int(one.headers["X-Deadline-Ms"]) for one in script.asked_for("POST"))
        self.assertTrue(0 < second <= first <= 3_600_000)
        with Scripted(RAN) as script:
            self.connect(script, timeout=None).relu(X)
        self.assertIsNone(script.asked[0].headers["X-Deadline-Ms"])

    def test_no_read_outlasts_the_timeout(self) -> None:
        waits = []

        def answer(request: httpx.Request) -> httpx.Response:
            waits.append(request.extensions["timeout"]["read"])
            return httpx.Response(200, stream=httpx.ByteStream(b'{"ops": []}'))

        with athanor.connect("http://service", timeout=4, transport=httpx.MockTransport(answer)) as client:
            client.ops()
        self.assertTrue(all(wait <= 4.5 for wait in waits) and waits, waits)

    def test_a_service_that_does_not_answer(self) -> None:
        done = threading.Event()

        def silent(asked: Asked) -> Reply:
            done.wait(3600)
            return CUT

        with Scripted(silent) as script, mock.patch("athanor._http.GRACE", 0.0):
            e = self.error(lambda: self.connect(script).relu(X, timeout=0.2))
            done.set()
        self.assertEqual(("deadline-exceeded", None), (e.code, e.status))
        self.assertEqual(f"{script.url} did not answer within the timeout of 0.2 s.", e.detail)

    def test_credentials_and_headers(self) -> None:
        keys = iter(["first", "second"])
        with Scripted(Reply(200, {"ops": []})) as script:
            self.connect(script, api_key="secret", headers={"X-Priority": "1"}).ops()
            client = self.connect(script, api_key=lambda: next(keys))
            client.ops(), client.ops()
            self.connect(script).ops()
        given = [one.headers["Authorization"] for one in script.asked]
        self.assertEqual(["Bearer secret", "Bearer first", "Bearer second", None], given)
        self.assertEqual("1", script.asked[0].headers["X-Priority"])
        self.assertRegex(script.asked[0].headers["User-Agent"], r"^athanor-python/\d+\.\d+\.\d+")

    def test_certificates_are_checked_and_options_reach_httpx(self) -> None:
        context = ssl.create_default_context()
        cases: list[tuple[object, list[str], dict[str, Any]]] = [
            (True, ["https://a"], {}),
            (True, ["http://a", "HTTPS://b"], {}),
            (context, ["https://a"], {"verify": context}),
            (context, ["http://a"], {"verify": context}),
            (False, ["http://a", "http://b"], {}),
        ]
        for expected, urls, options in cases:
            for client, connect in (("Client", athanor.connect), ("AsyncClient", athanor.connect_async)):
                with self.subTest(urls=urls, client=client), mock.patch(f"httpx.{client}") as made:
                    connect(urls[0], replicas={"b": urls[-1]}, **options, proxy="http://proxy")
                    self.assertEqual(
                        {"verify": expected, "timeout": None, "proxy": "http://proxy"}, made.call_args[1]
                    )

    def test_answers_of_something_else(self) -> None:
        for reply in (
            Reply(502, b"<html>Bad gateway</html>"),
            Reply(200, b"hello"),
            Reply(200, []),
            Reply(302, b""),
        ):
            with self.subTest(reply.status), Scripted(reply) as script:
                e = self.error(self.connect(script).ops)
                self.assertEqual(("unexpected-answer", reply.status), (e.code, e.status))
                self.assertRegex(e.detail, "none of Athanor's; check the URL and any proxy in between")

    def test_the_trace_of_an_answer_without_a_problem(self) -> None:
        headers = {"traceresponse": f"00-{'cd' * 16}-{'ef' * 8}-01"}
        with Scripted(Reply(500, b"", headers)) as script:
            self.assertEqual("cd" * 16, self.error(self.connect(script).ops).trace_id)

    def test_errors_travel_between_processes(self) -> None:
        with Scripted(problem(400, "invalid-tensor", step=1)) as script:
            e = self.error(self.connect(script).ops)
        copy = pickle.loads(pickle.dumps(e))
        self.assertEqual((str(e), vars(e)), (str(copy), vars(copy)))
        self.assertEqual("invalid-tensor in step 1: invalid-tensor it is", str(copy))

    def test_lists_are_read_page_by_page(self) -> None:
        pages = [Reply(200, {"tensors": [tensor(n)], "next": n if n < 3 else None}) for n in (1, 2, 3)]
        with Scripted(*pages) as script:
            found = self.connect(script).tensors(scope="a b")
        self.assertEqual([tensor(n)["handle"] for n in (1, 2, 3)], [one.handle for one in found])
        self.assertEqual("/tensors?scope=a+b&after=2&limit=1000", script.asked[2].path)

    def test_large_bodies_are_sent_as_they_are(self) -> None:
        big = np.arange(1 << 20, dtype=np.float32)
        with Scripted(CREATED) as script:
            self.connect(script).upload(big)
        self.assertEqual(big.tobytes(), script.asked[0].body)
        self.assertEqual(str(big.nbytes), script.asked[0].headers["Content-Length"])
        self.assertIsNone(script.asked[0].headers["Transfer-Encoding"])

    def test_urls_and_leases_are_checked(self) -> None:
        for url in ("127.0.0.1:8080", "ftp://host", "http://"):
            with self.assertRaisesRegex(
                ValueError, re.escape(f"{url!r} is no URL of a service; pass one such as")
            ):
                athanor.connect(url)
        with self.assertRaisesRegex(ValueError, "lease is 0; it must be 1 second or more"):
            athanor.connect("http://127.0.0.1:8080", lease=0)

    def test_closing_does_not_wait_for_a_service_that_is_gone(self) -> None:
        numbers = iter(range(1, 9))
        with Scripted(lambda asked: Reply(201, tensor(next(numbers)))) as script:
            client = self.connect(script)
            tensors = [client.upload(X) for _ in range(5)]
        with self.assertLogs("athanor", "WARNING") as logs:
            client.close()
        self.assertEqual(1, len(logs.output))
        self.assertEqual(5, len(tensors))

    def test_leaving_a_tensor_never_hides_the_error(self) -> None:
        with Scripted(CREATED, problem(500, "internal")) as script:
            client = self.connect(script)
            with self.assertRaises(KeyError), self.assertLogs("athanor", "WARNING"), client.upload(X):
                raise KeyError

    def test_renewals_survive_a_hiccup(self) -> None:
        renewals = iter([DRAINING, CUT])
        renewed = threading.Event()

        def answer(asked: Asked) -> Reply:
            if asked.method == "DELETE":
                return GONE
            if asked.method == "PATCH":
                reply = next(renewals, Reply(200, tensor()))
                if reply.status == 200:
                    renewed.set()
                return reply
            return CREATED

        with Scripted(answer) as script, self.assertLogs("athanor", "WARNING") as logs:
            client = self.connect(script, lease=1)
            w = client.upload(X)
            self.assertTrue(renewed.wait(60))
            client.close()
        self.assertEqual(2, len([line for line in logs.output if w.handle in line]))
        self.assertEqual(b'{"ttlSeconds": 1}', script.asked_for("PATCH")[0].body)
        self.assertEqual("/tensors/" + w.handle, script.asked_for("DELETE")[0].path)

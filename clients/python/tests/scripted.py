"""A service that answers as a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Asked:
    method: str
    path: str
    headers: Message
    body: bytes


@dataclass
class Reply:
    """An answer; with status 0, the connection is cut instead."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


def problem(status: int, code: str, headers: dict[str, str] | None = None, **members: Any) -> Reply:
    body = {"type": f"urn:athanor:problem:{code}", "status": status, "detail": f"{code} it is", **members}
    return Reply(status, body, headers or {})


def tensor(number: int = 1, version: int = 1) -> dict[str, Any]:
    handle = f"t_{number:032x}_a"
    return {"handle": handle, "dtype": "f32", "shape": [2], "bytes": 8, "version": version}


CUT = Reply(0)
CREATED = Reply(201, tensor())


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *args: Any) -> None:
        self.connections: list[socket.socket] = []
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.append(request)
        super().process_request(request, client_address)

    def cut(self) -> None:
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news."""


class Scripted:
    """Gives the replies in their order, and the last one forever; or asks a function for each."""

    def __init__(self, *replies: Reply | Callable[[Asked], Reply]) -> None:
        self.asked: list[Asked] = []
        script = list(replies)
        lock = threading.Lock()
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                question = Asked(self.command, self.path, self.headers, body)
                with lock:
                    asked.append(question)
                    reply = script.pop(0) if len(script) > 1 else script[0]
                if callable(reply):
                    reply = reply(question)
                if reply.status == 0:
                    self.close_connection = True
                    return
                data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                if reply.status != 204:
                    self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if reply.status != 204:
                    self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))

    def __enter__(self) -> Scripted:
        self.thread.start()
        return self

    def __exit__(self, *ignored: object) -> None:
        self.server.shutdown()
        self.server.cut()
        self.server.server_close()
        self.thread.join()

    def asked_for(self, method: str, prefix: str = "/") -> list[Asked]:
        return [one for one in self.asked if one.method == method and one.path.startswith(prefix)]

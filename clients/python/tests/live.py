"""The service that the tests call: one process for all of them, started when the first test needs it."""

from __future__ import annotations

import atexit
import functools
import os
import re
import shlex
import socket
import subprocess
import tempfile
import time
from pathlib import Path

JAR = Path(__file__).resolve().parents[3] / "cli/target/athanor.jar"
JAVA = Path(os.environ["JAVA_HOME"], "bin/java") if "JAVA_HOME" in os.environ else Path("java")
REPORT = re.compile(rb" REST +(\S+)\r?\n(?s:.*) gRPC +(\S+)\r?\n(?s:.*)\nReady\.")


@functools.cache
def refusing() -> str:
    """Returns a URL that refuses connections: its port is bound, but nobody listens."""
    bound = socket.socket()
    atexit.register(bound.close)
    bound.bind(("127.0.0.1", 0))
    return f"http://127.0.0.1:{bound.getsockname()[1]}"


def url() -> str:
    """Returns the URL of the service."""
    return _service()[0]


def grpc_url() -> str:
    """Returns the URL of its gRPC server."""
    return "grpc://" + _service()[1]


@functools.cache
def _service() -> tuple[str, str]:
    """Starts the service, which ends with this process, and returns its addresses.

    ATHANOR_SERVE holds the command that starts it, without options; by default, the jar of the build.
    """
    default = f"{JAVA} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx512m -jar {JAR} serve"
    command = shlex.split(os.environ.get("ATHANOR_SERVE", default))
    command += ["--device", "emulator", "--port", "0", "--grpc-port", "0"]
    log = tempfile.TemporaryFile()  # noqa: SIM115
    atexit.register(log.close)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    atexit.register(_stop, process)
    while True:
        ended = process.poll() is not None
        log.seek(0)
        output = log.read()
        if report := REPORT.search(output):
            return report[1].decode(), report[2].decode()
        if ended:
            raise AssertionError("The service did not start:\n" + output.decode())
        time.sleep(0.1)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

"""The service that the tests call: one process for all of them, started when the first test needs it."""

from __future__ import annotations

import atexit
import functools
import os
import shlex
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import athanor

JAR = Path(__file__).resolve().parents[3] / "cli/target/athanor.jar"
JAVA = Path(os.environ["JAVA_HOME"], "bin/java") if "JAVA_HOME" in os.environ else Path("java")
LONGEST_START = 180.0


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@functools.cache
def url() -> str:
    """Returns the URL of the service, which ends with this process.

    ATHANOR_SERVE holds the command that starts it, without options; by default, the jar of the build.
    """
    default = f"{JAVA} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx512m -jar {JAR} serve"
    port = free_port()
    command = shlex.split(os.environ.get("ATHANOR_SERVE", default))
    command += ["--device", "emulator", "--port", str(port), "--grpc-port", str(free_port())]
    log = tempfile.TemporaryFile()  # noqa: SIM115
    atexit.register(log.close)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    atexit.register(_stop, process)
    service = f"http://127.0.0.1:{port}"
    end = time.monotonic() + LONGEST_START
    with athanor.connect(service) as client:
        while not client.ready():
            if process.poll() is not None or time.monotonic() > end:
                log.seek(0)
                raise AssertionError("The service did not start:\n" + log.read().decode())
            time.sleep(0.1)
    return service


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

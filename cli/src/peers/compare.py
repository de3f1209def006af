#!/usr/bin/env python3
"""Measures the service side by side with FastAPI + NumPy, pyarrow Flight and a bare Tomcat servlet.

    cli/src/peers/compare.py [--rounds 3] [--seconds 3] [--json FILE] [--markdown FILE]

All peers run on this machine, alternating in rounds (A B C D, A B C D, ...), so that other load on the
machine affects them equally, after a shorter warm-up of each. The output has the median, minimum and
maximum over the rounds, and the ratio of the service to each peer. Requirements: Java 25 as `java` or
in JAVA_HOME, the built program (`./athanor version`), Python 3 with venv and pip. The peers' packages
are installed into a virtual environment in a temporary folder; if they are unavailable, the peers are
skipped, and the output says so.
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
JAR = ROOT / "cli" / "target" / "athanor.jar"
PACKAGES = ["fastapi", "uvicorn[standard]", "orjson", "numpy", "pyarrow"]

RAW = [f"{verb} {size}" for size in ("64KiB", "1MiB", "16MiB") for verb in ("put", "get")]
JSON = [f"{verb} {count}" for count in (1024, 262144) for verb in ("put-json", "get-json")]
OPS = ["op add a=f32[64] b=f32[64]", "op matmul a=f16[64,64] b=f16[64,64]"]
GRPC = ["put-grpc 16MiB", "get-grpc 16MiB", "op-grpc add a=f32[64] b=f32[64]"]
SCENARIOS = {
    "athanor": RAW + JSON + OPS + GRPC,
    "servlet": RAW,
    "fastapi": RAW + JSON + OPS,
    "flight": RAW,
}

# how many are done in a second shows only where several clients keep the server busy
CROWD = 8
CROWDED = {"athanor": OPS + GRPC[2:], "fastapi": OPS}

# without the client of Java, which takes as long as a small op
SOCKET = "add of 4 numbers as JSON over a plain socket"
SOCKETS = ("athanor", "fastapi")


def crowded(scenario):
    return f"{scenario}, {CROWD} clients"


def say(text):
    print(text, file=sys.stderr, flush=True)


def java():
    home = os.environ.get("JAVA_HOME")
    return str(pathlib.Path(home, "bin", "java")) if home else "java"


def athanor(arguments):
    """The command that runs the program: its jar, or what ATHANOR says."""
    program = os.environ.get("ATHANOR")
    if program:
        return [program, *arguments]
    return [java(), "--enable-native-access=ALL-UNNAMED", "-jar", str(JAR), *arguments]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def virtual_environment(folder):
    """A Python with the peers' packages; None where they cannot be had."""
    python = os.environ.get("PEERS_PYTHON")
    if python:
        return python
    try:
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        python = str(folder / "venv" / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
        return python
    except (subprocess.CalledProcessError, OSError) as error:
        say(f"SKIPPED fastapi and flight: {error}")
        return None


def servlet(folder, port):
    """Tomcat comes out of the program's jar."""
    if not JAR.exists():
        say(f"SKIPPED servlet: there is no {JAR}")
        return None
    classes = folder / "lib"
    classes.mkdir()
    shutil.unpack_archive(JAR, folder / "jar", "zip")
    for jar in (folder / "jar" / "BOOT-INF" / "lib").glob("tomcat-embed-*.jar"):
        shutil.copy(jar, classes)
    shutil.rmtree(folder / "jar")
    return [java(), "-cp", f"{classes}/*", str(HERE / "BareServlet.java"), str(port), str(folder)]


def await_ready(url, process):
    for _ in range(1200):
        if process.poll() is not None:
            raise RuntimeError(f"{process.args[0]} ended with {process.returncode}")
        try:
            urllib.request.urlopen(url + "/readyz", timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"{url} is not ready after two minutes")


@contextlib.contextmanager
def running(command, log):
    with open(log, "wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def measure(name, port, grpc, python, seconds, warmup, folder):
    """One turn of one of them: its rows by scenario."""
    seconds, warmup = str(seconds), str(warmup)
    if name == "flight":
        command = [python, str(HERE / "flight_peer.py"), "load", str(port), seconds, warmup]
        rows = json.loads(
            subprocess.run(
                command + SCENARIOS[name], check=True, stdout=subprocess.PIPE
            ).stdout
        )["rows"]
        return checked(name, {row["scenario"]: row for row in rows})
    arguments = ["load", "--url", f"http://127.0.0.1:{port}", "--resident"]
    arguments += ["--grpc", f"127.0.0.1:{grpc}"]
    arguments += ["--duration", seconds, "--warmup", warmup]
    found = {row["scenario"]: row for row in load(arguments, SCENARIOS[name], folder)}
    if name in CROWDED:
        arguments += ["--concurrency", str(CROWD)]
        for row in load(arguments, CROWDED[name], folder):
            found[crowded(row["scenario"])] = row
    if name in SOCKETS:
        over_socket(port, float(warmup))
        found[SOCKET] = over_socket(port, float(seconds))
    return checked(name, found)


def over_socket(port, seconds):
    """Calls one after the other over one connection."""
    vector = {"dtype": "f32", "shape": [4], "data": [1, -2, 3, -4]}
    body = json.dumps({"inputs": {"a": vector, "b": vector}}).encode()
    head = "POST /ops/add HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    latencies, wrong = [], 0
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end = time.perf_counter() + seconds
        while not latencies or time.perf_counter() < end:
            began = time.perf_counter()
            connection.sendall(request)
            answer = receive(connection)
            latencies.append((time.perf_counter() - began) * 1e6)
            wrong += json.loads(answer)["outputs"]["y"]["data"] != [2, -4, 6, -8]
    latencies.sort()
    percentiles = {f"p{each}": latencies[len(latencies) * each // 100] for each in (50, 99)}
    rate = 1e6 * len(latencies) / sum(latencies)
    return {"scenario": SOCKET, "perSecond": rate, "latency": percentiles, "wrong": wrong}


def receive(connection):
    """The body of a response that says its length."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(1 << 16)
    head, body = received.split(b"\r\n\r\n", 1)
    length = int(re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)[1])
    while len(body) < length:
        body += connection.recv(1 << 16)
    return body


def load(arguments, scenarios, folder):
    file = folder / "rows.json"
    command = athanor(arguments + ["--json", str(file)] + scenarios)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return json.loads(file.read_bytes())["rows"]


def checked(name, rows):
    wrong = [scenario for scenario, row in rows.items() if row["wrong"]]
    if wrong:
        raise RuntimeError(f"{name} answered wrongly: {wrong}")
    return rows


def spread(values):
    return {"median": statistics.median(values), "least": min(values), "greatest": max(values)}


def summary(turns):
    """Median, least and greatest of the rounds, by scenario and then by who was measured."""
    result = {}
    crowd = [crowded(each) for each in CROWDED["athanor"]]
    for scenario in SCENARIOS["athanor"] + crowd + [SOCKET]:
        result[scenario] = {}
        for name, rounds in turns.items():
            rows = [rows[scenario] for rows in rounds if scenario in rows]
            if not rows:
                continue
            figures = {
                "perSecond": spread([row["perSecond"] for row in rows]),
                "p50Micros": spread([row["latency"]["p50"] for row in rows]),
                "p99Micros": spread([row["latency"]["p99"] for row in rows]),
            }
            if rows[0].get("megabytesPerSecond"):
                figures["megabytesPerSecond"] = spread(
                    [row["megabytesPerSecond"] for row in rows]
                )
            for phase in rows[0].get("phases", {}):
                figures[phase + "P50Micros"] = spread([r["phases"][phase]["p50"] for r in rows])
            result[scenario][name] = figures
        ours = result[scenario]["athanor"]["perSecond"]["median"]
        for name, figures in result[scenario].items():
            figures["ratio"] = ours / figures["perSecond"]["median"]
    return result


def markdown(report):
    yield "| scenario | server | req/s | minimum to maximum | MB/s | p50 µs | p99 µs | ratio of Athanor |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for scenario, who in report["scenarios"].items():
        for name, figures in who.items():
            rate, bandwidth = figures["perSecond"], figures.get("megabytesPerSecond")
            yield "| {} | {} | {:.1f} | {:.1f} to {:.1f} | {} | {:.0f} | {:.0f} | {} |".format(
                scenario,
                name,
                rate["median"],
                rate["least"],
                rate["greatest"],
                f"{bandwidth['median']:.1f}" if bandwidth else "",
                figures["p50Micros"]["median"],
                figures["p99Micros"]["median"],
                "" if name == "athanor" else f"{figures['ratio']:.2f}",
            )


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def commit():
    answer = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"],
        stdout=subprocess.PIPE,
        text=True,
    )
    return answer.stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3, help="of a scenario in a round")
    parser.add_argument("--warmup", type=float, default=2, help="seconds before each")
    parser.add_argument("--device", default="emulator")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        ports = {name: free_port() for name in SCENARIOS}
        grpc = free_port()
        python = virtual_environment(folder)
        commands = {
            "athanor": athanor(
                ["serve", "--port", str(ports["athanor"]), "--grpc-port", str(grpc)]
                + ["--device", options.device]
            ),
            "servlet": servlet(folder, ports["servlet"]),
            "fastapi": python
            and [python, str(HERE / "fastapi_peer.py"), str(ports["fastapi"])],
            "flight": python
            and [python, str(HERE / "flight_peer.py"), "serve", str(ports["flight"])],
        }
        present = {name: command for name, command in commands.items() if command}
        for name, command in present.items():
            process = stack.enter_context(running(command, folder / f"{name}.log"))
            if name != "flight":
                await_ready(f"http://127.0.0.1:{ports[name]}", process)
        report = {
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "commit": commit(),
            "machine": f"{os.cpu_count()} cores, {processor()}, {platform.platform()}",
            "device": options.device,
            "rounds": options.rounds,
            "seconds": options.seconds,
            "warmup": options.warmup,
            "loadAverage": [os.getloadavg()[0]],
        }
        turns = {name: [] for name in present}
        for name in present:
            say(f"warming up: {name}")
            measure(
                name, ports[name], grpc, python, options.seconds / 3, options.warmup / 3, folder
            )
        for number in range(options.rounds):
            for name in present:
                say(f"round {number + 1} of {options.rounds}: {name}")
                turns[name].append(
                    measure(
                        name, ports[name], grpc, python, options.seconds, options.warmup, folder
                    )
                )
            report["loadAverage"].append(os.getloadavg()[0])
    report["skipped"] = sorted(set(SCENARIOS) - set(present))
    report["scenarios"] = summary(turns)
    report["turns"] = turns
    lines = "\n".join(markdown(report))
    print(lines)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(lines + "\n", encoding="utf-8")
    if report["skipped"]:
        say("SKIPPED: " + ", ".join(report["skipped"]))


if __name__ == "__main__":
    main()

"""pyarrow Flight, whose client and server are C++: raw bytes there and back.

`flight_peer.py serve PORT` serves; `flight_peer.py load PORT SECONDS WARMUP SCENARIO...` measures
scenarios such as "put 16MiB" with one client and prints their figures as JSON, named as those of
`athanor load`.
"""

import json
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.flight as flight

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20}


class Server(flight.FlightServerBase):
    def __init__(self, location):
        super().__init__(location)
        self.tables = {}

    def do_put(self, context, descriptor, reader, writer):
        self.tables[descriptor.path[0]] = reader.read_all()

    def do_get(self, context, ticket):
        return flight.RecordBatchStream(self.tables[ticket.ticket])


def put(client, name, batch):
    writer, _ = client.do_put(flight.FlightDescriptor.for_path(name), batch.schema)
    writer.write_batch(batch)
    writer.close()


def get(client, name):
    return client.do_get(flight.Ticket(name)).read_all()


def measure(client, scenario, seconds, warmup):
    verb, size = scenario.split()
    count = int(size[:-3]) * UNITS[size[-3:]]
    values = np.random.default_rng(1).integers(0, 256, count, dtype=np.uint8)
    batch = pa.record_batch([pa.array(values)], names=["data"])
    put(client, "x", batch)
    once = (lambda: put(client, "x", batch)) if verb == "put" else (lambda: get(client, "x"))
    end = time.perf_counter() + warmup
    while time.perf_counter() < end:
        once()
    micros = []
    start = time.perf_counter()
    while time.perf_counter() < start + seconds:
        before = time.perf_counter()
        once()
        micros.append((time.perf_counter() - before) * 1e6)
    took = time.perf_counter() - start
    same = np.array_equal(get(client, "x").column(0).to_numpy(), values)
    per_second = len(micros) / took
    return {
        "scenario": scenario,
        "requests": len(micros),
        "perSecond": per_second,
        "megabytesPerSecond": per_second * count / 1e6,
        "latency": {f"p{p}": float(np.percentile(micros, p)) for p in (50, 90, 95, 99)},
        "wrong": 0 if same else 1,
    }


if __name__ == "__main__":
    location = f"grpc+tcp://127.0.0.1:{sys.argv[2]}"
    if sys.argv[1] == "serve":
        Server(location).serve()
    else:
        connected = flight.connect(location)
        seconds, warmup = map(float, sys.argv[3:5])
        rows = [measure(connected, each, seconds, warmup) for each in sys.argv[5:]]
        print(json.dumps({"rows": rows}))

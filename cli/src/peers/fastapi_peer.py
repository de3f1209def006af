"""A tensor service as one would write it, for comparison: FastAPI, uvicorn, orjson and NumPy, with the routes that
`athanor load` calls. Argument: the port."""

import sys
import uuid

import numpy as np
import orjson
import uvicorn
from fastapi import FastAPI, Request, Response

DTYPES = {"u8": "u1", "i32": "<i4", "i64": "<i8", "f16": "<f2", "f32": "<f4", "f64": "<f8"}
NAMES = {np.dtype(text): name for name, text in DTYPES.items()}
OPS = {"add": ("y", np.add), "mul": ("y", np.multiply), "matmul": ("c", np.matmul)}

app = FastAPI()
tensors = {}


def describe(handle):
    array = tensors[handle]
    return {
        "handle": handle,
        "dtype": NAMES[array.dtype],
        "shape": list(array.shape),
        "bytes": array.nbytes,
    }


def from_json(tensor):
    array = np.array(tensor["data"], dtype=DTYPES[tensor["dtype"]])
    return array.reshape(tensor["shape"])


def to_json(array):
    return {"dtype": NAMES[array.dtype], "shape": list(array.shape), "data": array.ravel()}


def as_json(value):
    text = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(text, media_type="application/json")


@app.get("/readyz")
def ready():
    return {"status": "UP"}


@app.post("/tensors", status_code=201)
async def create(request: Request, dtype: str, shape: str):
    array = np.frombuffer(await request.body(), dtype=DTYPES[dtype])
    handle = "t_" + uuid.uuid4().hex
    tensors[handle] = array.reshape([int(extent) for extent in shape.split(",") if extent])
    return describe(handle)


@app.put("/tensors/{handle}/data")
async def replace(handle: str, request: Request):
    held = tensors[handle]
    if request.headers["content-type"] == "application/json":
        tensors[handle] = from_json(orjson.loads(await request.body()))
    else:
        tensors[handle] = np.frombuffer(await request.body(), dtype=held.dtype).reshape(held.shape)
    return describe(handle)


@app.get("/tensors/{handle}/data")
async def data(handle: str, request: Request):
    array = tensors[handle]
    if request.headers.get("accept") == "application/json":
        return as_json(to_json(array))
    return Response(array.tobytes(), media_type="application/octet-stream")


@app.delete("/tensors/{handle}", status_code=204)
async def delete(handle: str):
    tensors.pop(handle, None)


@app.post("/ops/{op}")
async def run(op: str, request: Request):
    body = orjson.loads(await request.body())
    inputs = [
        tensors[tensor["handle"]] if "handle" in tensor else from_json(tensor)
        for _, tensor in sorted(body["inputs"].items())
    ]
    name, function = OPS[op]
    result = function(*inputs)
    target = body.get("outputs", {}).get(name, {})
    if "into" in target or target.get("as") == "handle":
        handle = target.get("into", "t_" + uuid.uuid4().hex)
        tensors[handle] = result
        return as_json({"op": op, "outputs": {name: describe(handle)}})
    return as_json({"op": op, "outputs": {name: to_json(result)}})


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")

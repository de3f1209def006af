"""Measures the PyTorch equivalents of ops.

Usage: `python3 -c SCRIPT DEVICE`, where DEVICE is cuda:N or cpu. The script first prints one line of JSON with
the name of the baseline. It then reads one problem per line from standard input and prints one line of JSON
for each: the times in microseconds, or "unsupported" or "failed" with the reason. Nothing else is written to
standard output.
"""

import sys

sys.path[:] = [folder for folder in sys.path if folder]  # do not import from the working directory

import json
import math
import os
import time

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # redirect the output of libraries to standard error

SAMPLE_MICROS = 200
GREATEST_BATCH = 64
MOST_SAMPLES = 10_000
PLUG_BYTES = 256 << 20
MOST_PLUGS = 32
ROTATED_BYTES = 256 << 20
MOST_SETS = 256


def say(answer):
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


class Unsupported(Exception):
    pass


def need(condition, reason):
    if not condition:
        raise Unsupported(reason)


try:
    import torch
    import torch.nn.functional as F
except Exception as e:
    say({"failed": f"this Python ({sys.executable}) cannot import torch: {e}"})
    sys.exit()

DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8",
    "u32": "uint32", "bool": "bool",
}


def dtype_of(name):
    need(hasattr(torch, DTYPES.get(name, "")), f"torch {torch.__version__} has no {name}")
    return getattr(torch, DTYPES[name])


def draw(name, tensor, inputs, device, generator):
    """Returns random inputs as in OpBench: normally distributed floats, and integers in the full 8-bit range."""
    dtype, shape = dtype_of(tensor["dtype"]), tensor["shape"]
    if name == "index":
        rows = inputs["table"]["shape"][0]
        return torch.randint(0, rows, shape, device=device, generator=generator).to(dtype)
    if dtype.is_floating_point:
        wide = torch.float64 if dtype == torch.float64 else torch.float32
        return torch.randn(shape, dtype=wide, device=device, generator=generator).to(dtype)
    least = {"bool": 0, "u8": 0, "u32": 0}.get(tensor["dtype"], -127)
    most = 1 if tensor["dtype"] == "bool" else 127
    return torch.randint(least, most + 1, shape, device=device, generator=generator).to(dtype)


ACTIVATIONS = {
    "none": lambda x: x,
    "relu": lambda x: torch.relu(x),
    "gelu": lambda x: F.gelu(x),
    "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu-sigmoid": lambda x: x * torch.sigmoid(1.702 * x),
    "silu": lambda x: F.silu(x),
    "tanh": lambda x: torch.tanh(x),
    "sigmoid": lambda x: torch.sigmoid(x),
}
GELU_FORMS = {"erf": "gelu", "tanh": "gelu-tanh", "sigmoid": "gelu-sigmoid"}


class Problem:
    """A requested problem: the op, its attributes, and the types of its inputs and outputs by name."""

    def __init__(self, asked):
        self.op = asked["op"]
        self.inputs = asked["inputs"]
        self.outputs = asked["outputs"]
        self.attributes = asked["attributes"]

    def given(self, name):
        return self.attributes.get(name)

    def has(self, name):
        return name in self.inputs

    def dtype(self, name):
        return self.inputs[name]["dtype"]

    def shape(self, name):
        return self.inputs[name]["shape"]

    def out(self):
        return dtype_of(next(iter(self.outputs.values()))["dtype"])


def stored_by_columns(b):
    """Returns the matrix in column-major order, which cuBLASLt requires for an 8-bit right operand."""
    return b.t().contiguous().t()


# Each of these functions returns the untimed preparation of the tensors (or None), the call to time, and its name.


def matmul(p):
    out, act, alpha = p.out(), ACTIVATIONS[p.given("activation")], p.given("alpha")
    bias, flip_a, flip_b = p.has("bias"), p.given("transposeA"), p.given("transposeB")
    ranks = len(p.shape("a")), len(p.shape("b"))
    torch.set_float32_matmul_precision("high" if p.given("precision") == "tf32" else "highest")

    def views(t):
        t["a"] = t["a"].mT if flip_a else t["a"]
        t["b"] = t["b"].mT if flip_b else t["b"]

    if p.dtype("a") in ("e4m3", "e5m2"):
        need(ranks == (2, 2), "torch._scaled_mm does not support batches")
        need(alpha == 1, "torch._scaled_mm is measured with alpha=1 only")
        need("e4m3" in (p.dtype("a"), p.dtype("b")), "torch._scaled_mm does not support e5m2 for both operands")
        need(all(n % 16 == 0 for t in ("a", "b") for n in p.shape(t)), "torch._scaled_mm requires extents that are multiples of 16")

        def prepare(t):
            views(t)
            t["a"], t["b"] = t["a"].contiguous(), stored_by_columns(t["b"])
            t["one"] = torch.ones((), dtype=torch.float32, device=t["a"].device)

        def call(t):
            return act(torch._scaled_mm(
                t["a"], t["b"], t["one"], t["one"], bias=t.get("bias"), out_dtype=out))

        return prepare, call, "torch._scaled_mm (cuBLASLt), column-major b" + after(p)
    plain = ranks == (2, 2) and out == dtype_of(p.dtype("a"))
    if plain and (bias or alpha != 1):

        def prepare(t):
            views(t)
            t["added"] = t["bias"] if bias else t["a"].new_zeros(())

        return (prepare, lambda t: act(
            torch.addmm(t["added"], t["a"], t["b"], beta=1 if bias else 0, alpha=alpha)),
            "torch.addmm" + after(p))

    def call(t):
        c = torch.matmul(t["a"], t["b"])
        c = c if alpha == 1 else c * alpha
        c = c.to(out)
        return act(c + t["bias"] if bias else c)

    name = "torch.mm" if plain else "torch.matmul"
    extra = [what for what, there in (
        ("times alpha", alpha != 1), (f"to {out}", out != dtype_of(p.dtype("a"))), ("plus bias", bias)) if there]
    return views, call, ", then ".join([name] + extra) + after(p)


def after(p):
    return "" if p.given("activation") == "none" else ", then " + p.given("activation")


def matmul_int8(p):
    (m, k), flip_b = p.shape("a"), p.given("transposeB")
    n = p.shape("b")[0 if flip_b else 1]
    need(m > 16 and k % 8 == 0 and n % 8 == 0, "torch._int_mm requires more than 16 rows, and K and N that are multiples of 8")
    out = p.out()

    def prepare(t):
        t["b"] = stored_by_columns(t["b"].mT if flip_b else t["b"])
        if "aScale" in t:
            t["aScale"] = t["aScale"].unsqueeze(1)

    def call(t):
        sums = torch._int_mm(t["a"], t["b"])
        if "scale" in t:
            sums = sums * t["scale"]
        if "aScale" in t:
            sums = sums * t["aScale"] * t["bScale"]
        if "bias" in t:
            sums = sums + t["bias"]
        return sums.to(out)

    scaled = "" if out == torch.int32 else ", then scaled by further calls"
    return prepare, call, "torch._int_mm (cuBLASLt), column-major b" + scaled


def gemv(p):
    out = p.out()

    def prepare(t):
        t["a"] = t["a"].t() if p.given("transposeA") else t["a"]

    return prepare, lambda t: torch.mv(t["a"], t["x"]).to(out), "torch.mv"


def attention(p):
    need(not p.given("window") and not p.given("softcap") and not p.given("withLse"),
         "scaled_dot_product_attention does not support window, softcap or lse")
    return sdpa(p, "q", "k", "v", p.given("causal"))


def attention_decode(p):
    need(not p.has("blockTable"), "scaled_dot_product_attention does not support paged caches")
    need(not p.given("window"), "scaled_dot_product_attention does not support window")
    prepare, call, name = sdpa(p, "q", "kCache", "vCache", False)
    return prepare, call, name + " over whole caches"


def sdpa(p, q, k, v, causal):
    torch.set_float32_matmul_precision("highest")
    queries, keys = p.shape(q), p.shape(k)
    need(not causal or queries[-2] == keys[-2], "is_causal is equivalent only if there are as many queries as keys")
    options = {"is_causal": causal}
    if p.given("scale") is not None:
        options["scale"] = p.given("scale")
    if len(queries) == 4 and queries[1] != keys[1]:
        options["enable_gqa"] = True

    def prepare(t):
        for name in (q, k, v):
            while t[name].dim() < 4:
                t[name] = t[name].unsqueeze(-3)

    return (prepare, lambda t: F.scaled_dot_product_attention(t[q], t[k], t[v], **options),
            "F.scaled_dot_product_attention")


def softmax(p):
    need(not p.given("causal"), "torch.softmax does not support masks")
    scale = p.given("scale")
    if scale == 1:
        return None, lambda t: torch.softmax(t["x"], -1), "torch.softmax"
    return None, lambda t: torch.softmax(t["x"] * scale, -1), "a product, then torch.softmax"


def norm(p):
    eps, rms = p.given("epsilon"), p.op.endswith("rms-norm")
    need(p.dtype("gamma") == p.dtype("x"), "norms are measured only with weights of the same dtype as x")
    need(not rms or hasattr(F, "rms_norm"), f"torch {torch.__version__} has no F.rms_norm")
    width = p.shape("x")[-1:]

    def plain(x, t):
        return F.rms_norm(x, width, t["gamma"], eps) if rms else F.layer_norm(x, width, t["gamma"], t["beta"], eps)

    name = "F.rms_norm" if rms else "F.layer_norm"
    if not p.has("residual"):
        return None, lambda t: plain(t["x"], t), name
    if p.given("order") == "post":
        return None, lambda t: t["residual"] + plain(t["x"], t), name + ", then a sum"

    def pre(t):
        total = t["x"] + t["residual"]
        return plain(total, t), total

    return None, pre, "a sum, then " + name


def activation(p):
    name = GELU_FORMS[p.given("form")] if p.op == "gelu" else p.op
    return None, lambda t: ACTIVATIONS[name](t["x"]), name


def gate(p):
    name = "silu" if p.op == "swiglu" else GELU_FORMS[p.given("form")]
    return None, lambda t: ACTIVATIONS[name](t["gate"]) * t["up"], f"{name}, then a product"


def bias_activation(p):
    act = ACTIVATIONS[p.given("activation")]
    return None, lambda t: act(t["x"] + t["bias"]), "a sum" + after(p)


def cast(p):
    need(p.out() != dtype_of(p.dtype("x")), "Tensor.to does not copy for the same dtype")
    out = p.out()
    return None, lambda t: t["x"].to(out), "Tensor.to"


def transpose(p):
    a, b = int(p.given("axisA")), int(p.given("axisB"))
    return None, lambda t: t["x"].transpose(a, b).clone(memory_format=torch.contiguous_format), "Tensor.transpose, copied"


def gather(p):
    axis = int(p.given("axis") or 0)
    return (lambda t: t.update(index=t["index"].flatten()),
            lambda t: torch.index_select(t["table"], axis, t["index"]), "torch.index_select")


def axis_of(p):
    """Returns the dimension of a call, by default the last."""
    axis = p.given("axis")
    return -1 if axis is None else int(axis)


def reduce(p):
    axes, kind = p.given("axes"), p.given("kind")
    calls = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax, "min": torch.amin,
             "log-sum-exp": torch.logsumexp}
    need(kind in calls, f"torch has no equivalent of {kind} along dimensions")
    dim = [int(axis) for axis in axes] if axes else axis_of(p) if axes is None else None
    keep = bool(p.given("keepdims"))
    return None, lambda t: calls[kind](t["x"], dim=dim, keepdim=keep), "torch." + calls[kind].__name__


def arg_extreme(call):
    def of(p):
        need(not p.given("selectLast"), "torch returns any of several")
        axis, out, keep = axis_of(p), p.out(), bool(p.given("keepdims"))
        return None, lambda t: call(t["x"], dim=axis, keepdim=keep).to(out), "torch." + call.__name__
    return of


def cumulative(call):
    def of(p):
        need(not p.given("exclusive") and not p.given("reverse"), "torch scans forward, inclusively")
        return None, lambda t: call(t["x"], dim=axis_of(p)), "torch." + call.__name__
    return of


def scale(p):
    factor = p.given("factor")
    return None, lambda t: t["x"] * factor, "torch.mul"


OPS = {
    "matmul": matmul, "matmul-int8": matmul_int8, "gemv": gemv, "attention": attention,
    "attention-decode": attention_decode, "softmax": softmax, "rms-norm": norm, "layer-norm": norm,
    "residual-rms-norm": norm, "residual-layer-norm": norm, "relu": activation, "gelu": activation,
    "silu": activation, "tanh": activation, "sigmoid": activation, "swiglu": gate, "geglu": gate,
    "bias-activation": bias_activation, "cast": cast, "transpose": transpose, "gather": gather,
    "reduce": reduce, "argmax": arg_extreme(torch.argmax), "argmin": arg_extreme(torch.argmin),
    "cumsum": cumulative(torch.cumsum), "cumprod": cumulative(torch.cumprod), "scale": scale,
    "add": lambda p: (None, lambda t: t["a"] + t["b"], "torch.add"),
    "mul": lambda p: (None, lambda t: t["a"] * t["b"], "torch.mul"),
}


class Clock:
    """Measures calls: with events on a GPU, otherwise with the clock of the host."""

    def __init__(self, device):
        self.gpu = device.type == "cuda"
        if self.gpu:
            self.plug_bytes = torch.empty(PLUG_BYTES, dtype=torch.uint8, device=device)
            self.plug(1)
            self.plug_micros = self.time(lambda: self.plug(4))[0] / 4

    def plug(self, times):
        """Queues work that keeps the device busy while the host launches, and flushes the L2 cache."""
        for i in range(times):
            self.plug_bytes.fill_(i % 256)

    def time(self, work):
        """Returns the microseconds on the device and the microseconds of the launches on the host."""
        if not self.gpu:
            before = time.perf_counter_ns()
            work()
            micros = (time.perf_counter_ns() - before) / 1e3
            return micros, micros
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        before = time.perf_counter_ns()
        work()
        host = (time.perf_counter_ns() - before) / 1e3
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e3, host

    def samples(self, once, warmup, repeat, min_millis):
        for _ in range(1, warmup):
            once()
        batch = min(max(math.ceil(SAMPLE_MICROS / max(self.time(once)[0], 1)), 1), GREATEST_BATCH)

        def work():
            for _ in range(batch):
                once()

        plugs = 0
        if self.gpu:  # so that the device never waits for the host
            plugs = min(max(math.ceil(2 * self.time(work)[1] / self.plug_micros), 1), MOST_PLUGS)
        micros = []
        while len(micros) < repeat or (sum(micros) * batch < min_millis * 1e3 and len(micros) < MOST_SAMPLES):
            self.plug(plugs)
            micros.append(self.time(work)[0] / batch)
        micros.sort()
        n = len(micros)
        return {"median": (micros[(n - 1) // 2] + micros[n // 2]) / 2, "min": micros[0], "max": micros[-1],
                "count": n, "batch": batch}


def size(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def answer(asked, device, clock):
    p = Problem(asked)
    need(p.op in OPS, f"torch has no equivalent of {p.op}")
    prepare, call, name = OPS[p.op](p)
    generator = torch.Generator(device=device).manual_seed(asked["seed"])
    drawn = {n: draw(n, t, p.inputs, device, generator) for n, t in p.inputs.items()}
    if prepare:
        prepare(drawn)
    first = call(drawn)
    count = 1
    if clock.gpu:
        used = size(drawn.values()) + size(first if isinstance(first, tuple) else (first,))
        free = torch.cuda.mem_get_info(device)[0] // 2
        count = min(max(min(math.ceil(ROTATED_BYTES / used), free // used), 1), MOST_SETS)
    # clone preserves the strides set by prepare
    sets = [drawn] + [{n: t.clone() for n, t in drawn.items()} for _ in range(count - 1)]
    results = [None] * count  # kept until the set is reused, so that outputs do not stay in a cache either
    turn = 0

    def once():
        nonlocal turn
        results[turn] = call(sets[turn])
        turn = (turn + 1) % count

    return {**clock.samples(once, asked["warmup"], asked["repeat"], asked["minMillis"]), "call": name}


def main():
    device = torch.device(sys.argv[1])
    try:
        if device.type == "cuda":
            if not torch.cuda.is_available():
                raise RuntimeError("no CUDA device found")
            torch.cuda.set_device(device)
            torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
            torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        clock = Clock(device)
        on = torch.cuda.get_device_name(device) if clock.gpu else f"{device} with {torch.get_num_threads()} threads"
    except Exception as e:
        say({"failed": f"torch {torch.__version__} cannot use {device}: {e}"})
        return
    say({"name": f"PyTorch {torch.__version__} on {on}"})
    for line in sys.stdin:
        try:
            with torch.inference_mode():
                say(answer(json.loads(line), device, clock))
        except Unsupported as e:
            say({"unsupported": str(e)})
        except Exception as e:
            say({"failed": f"{type(e).__name__}: {e}"})
        if clock.gpu:
            torch.cuda.empty_cache()


main()

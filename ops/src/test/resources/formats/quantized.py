"""Writes quantized.txt: blocks of 32 numbers, and the bytes to which gguf 0.19.0 quantizes them.

gguf cannot quantize to iq4_nl: that is the formula of quantize_row_iq4_nl_ref in ggml-quants.c.
"""

import pathlib

import numpy as np
from gguf.constants import GGMLQuantizationType
from gguf.quants import quantize

TABLE = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)


def closest(value):
    """The index of the closest entry of the table, the greater of two equally close ones."""
    return min(range(16), key=lambda i: (abs(TABLE[i] - float(value)), -i))


def iq4_nl(x):
    largest = x[np.argmax(abs(x))]
    inverse = np.float32(1) / (largest / np.float32(TABLE[0]))
    quants = [closest(inverse * v) for v in x]
    products = squares = np.float32(0)
    for v, q in zip(x, quants):
        weighted = v * v * np.float32(TABLE[q])
        products += weighted * v
        squares += weighted * np.float32(TABLE[q])
    scale = np.float16(products / squares).tobytes()
    return scale + bytes(low | high << 4 for low, high in zip(quants[:16], quants[16:]))


def blocks():
    random = np.random.default_rng(5)
    yield random.standard_normal(32)
    yield random.integers(-4, 5, 32)  # ties, and both signs of the largest magnitude
    yield random.uniform(3, 4, 32)
    yield -1e-3 * random.exponential(1, 32)


def lines():
    for name in "q8_0", "q4_0", "q4_1", "q5_0", "iq4_nl", "mxfp4":
        for block in blocks():
            x = block.astype(np.float32)
            gguf = getattr(GGMLQuantizationType, name.upper())
            data = iq4_nl(x) if name == "iq4_nl" else quantize(x, gguf).tobytes()
            yield f"{name} {x.tobytes().hex()} {data.hex()}\n"


pathlib.Path(__file__).with_name("quantized.txt").write_text("".join(lines()))

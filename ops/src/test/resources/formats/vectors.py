"""Writes vectors.txt: random blocks of every format and the numbers that they stand for.

An implementation of the published definitions in NumPy, independent of the Java and PTX code: blocks are unpacked as whole
arrays, as gguf-py (MIT license) and bitsandbytes (MIT license) define them, in float64. Run: python3 vectors.py > vectors.txt
"""

import numpy as np

rng = np.random.default_rng(20261122)
NF4 = np.array(
    [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
     -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
     0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0])


def f16(b):
    return np.frombuffer(b.tobytes(), "<f2").astype(float)


def halves(q):
    """Low nibbles of all bytes, then the high ones."""
    return np.concatenate([q & 15, q >> 4])


def bits(words):
    return np.unpackbits(np.ascontiguousarray(words), bitorder="little")


def q4_0(b):
    return f16(b[:2])[0] * (halves(b[2:]).astype(float) - 8)


def q4_1(b):
    d, m = f16(b[:4])
    return d * halves(b[4:]) + m


def q5_0(b):
    return f16(b[:2])[0] * ((halves(b[6:]) | (bits(b[2:6]) << 4)).astype(float) - 16)


def q8_0(b):
    return f16(b[:2])[0] * b[2:].view(np.int8)


def six_bits(s):
    low, mid, high = s.reshape(3, 4)
    scale = np.concatenate([low & 63, (high & 15) | ((low >> 2) & 0x30)])
    least = np.concatenate([mid & 63, (high >> 4) | ((mid >> 2) & 0x30)])
    return scale.astype(float), least.astype(float)


def k_quants(b, q):
    d, dmin = f16(b[:4])
    scale, least = six_bits(b[4:16])
    return (d * scale[:, None] * q.reshape(8, 32) - dmin * least[:, None]).ravel()


def nibbles_by_32(q):
    """Of each 32 bytes the low nibbles, then the high ones."""
    q = q.reshape(-1, 1, 32) >> np.array([0, 4], np.uint8).reshape(1, 2, 1)
    return (q & 15).reshape(8, 32)


def q4_k(b):
    return k_quants(b, nibbles_by_32(b[16:]).astype(float))


def q5_k(b):
    fifth = (b[16:48].reshape(1, 32) >> np.arange(8, dtype=np.uint8).reshape(8, 1)) & 1
    return k_quants(b, (nibbles_by_32(b[48:]) | (fifth << 4)).astype(float))


def q6_k(b):
    low = (b[:128].reshape(2, 1, 64) >> np.array([0, 4], np.uint8).reshape(1, 2, 1)) & 15
    high = (b[128:192].reshape(2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8).reshape(1, 4, 1)) & 3
    q = low.reshape(8, 32) | (high.reshape(8, 32) << 4)
    scale = b[192:208].view(np.int8).astype(float)
    return (f16(b[208:])[0] * scale[:, None] * (q.astype(float) - 32).reshape(16, 16)).ravel()


IQ4 = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], float)
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], float)


def iq4_nl(b):
    return f16(b[:2])[0] * IQ4[halves(b[2:])]


def iq4_xs(b):
    low = np.stack([b[4:8] & 15, b[4:8] >> 4], 1).ravel()
    high = bits(b[2:4]).reshape(8, 2) @ np.array([16, 32])
    q = np.stack([halves(s) for s in b[8:].reshape(8, 16)])
    return (f16(b[:2])[0] * (low + high - 32.0)[:, None] * IQ4[q]).ravel()


def mxfp4(b):
    return np.concatenate([E2M1, -E2M1])[halves(b[1:])] * 2.0 ** (int(b[0]) - 127) + 0.0


def nf4(b):
    """bitsandbytes packs q[0::2] << 4 | q[1::2]; here the absmax of a block stands before its bytes."""
    q = np.stack([b[4:] >> 4, b[4:] & 15], 1).ravel()
    return np.frombuffer(b[:4].tobytes(), "<f4").astype(float)[0] * NF4[q]


def show(name, data, values):
    print(name, np.ascontiguousarray(data).tobytes().hex(), " ".join(repr(float(v)) for v in values))


BLOCKS = {
    "q4_0": (q4_0, 18, [0]), "q4_1": (q4_1, 20, [0, 2]), "q5_0": (q5_0, 22, [0]), "q8_0": (q8_0, 34, [0]),
    "q4_k": (q4_k, 144, [0, 2]), "q5_k": (q5_k, 176, [0, 2]), "q6_k": (q6_k, 210, [208]),
    "iq4_nl": (iq4_nl, 18, [0]), "iq4_xs": (iq4_xs, 136, [0]), "mxfp4": (mxfp4, 17, []), "nf4": (nf4, 36, []),
}
for name, (decode, size, scales) in BLOCKS.items():
    block = rng.integers(0, 256, size, dtype=np.uint8)
    for at in scales:
        block[at:at + 2] = np.frombuffer(np.float16(rng.uniform(0.01, 2)).tobytes(), np.uint8)
    if name == "nf4":
        block[:4] = np.frombuffer(np.float32(2.75).tobytes(), np.uint8)
    show(name, block, decode(block))

# four-bit weights in words: GPTQ packs along K, AWQ along N in the order of its kernels
K, N = 32, 16
q = rng.integers(0, 16, (K, N), dtype=np.uint32)
shifts = (4 * np.arange(8, dtype=np.uint32))
order = [0, 2, 4, 6, 1, 3, 5, 7]
gptq = np.bitwise_or.reduce(q.reshape(K // 8, 8, N) << shifts.reshape(1, 8, 1), axis=1)
awq = np.bitwise_or.reduce(q.reshape(K, N // 8, 8)[:, :, order] << shifts, axis=2)
k_packed = np.bitwise_or.reduce(q.T.reshape(N, K // 8, 8) << shifts, axis=2)
show("gptq", gptq.astype("<u4"), (q.astype(float) - 8).ravel())
show("awq", awq.astype("<u4"), (q.astype(float) - 8).ravel())
show("k-packed", k_packed.astype("<u4"), np.where(q < 8, q, q.astype(float) - 16).T.ravel())

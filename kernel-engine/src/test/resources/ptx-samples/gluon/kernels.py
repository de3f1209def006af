"""Kernels in Gluon, and how their PTX is made: python kernels.py, with Triton 3.8 and no GPU.

Each module of PTX has its threads, shared memory and arguments in GluonSamplesTest.
"""

import re

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (fence_async_shared, warpgroup_mma, warpgroup_mma_wait)
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon._runtime import GluonASTSource
from triton.backends.compiler import GPUTarget

@gluon.jit
def product(a, b, c, K: gl.constexpr):
    L: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    S: gl.constexpr = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)
    M: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 64, 16])
    sa = gl.allocate_shared_memory(gl.float16, [64, 64], S)
    sb = gl.allocate_shared_memory(gl.float16, [64, 64], S)
    acc = gl.zeros([64, 64], gl.float32, M)
    r = gl.arange(0, 64, gl.SliceLayout(1, L)); q = gl.arange(0, 64, gl.SliceLayout(0, L))
    for k in range(0, K, 64):
        va = gl.load(a + r[:, None] * K + (k + q)[None, :])
        vb = gl.load(b + (k + r)[:, None] * 64 + q[None, :])
        sa.store(va); sb.store(vb)
        fence_async_shared()
        gl.barrier()
        acc = warpgroup_mma(sa, sb, acc, is_async=True)
        acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
        gl.barrier()
    rm = gl.arange(0, 64, gl.SliceLayout(1, M)); qm = gl.arange(0, 64, gl.SliceLayout(0, M))
    gl.store(c + rm[:, None] * 64 + qm[None, :], acc)

@gluon.jit
def pipeline(x, y, n, B: gl.constexpr, STAGES: gl.constexpr):
    L: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    S: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[0])
    sm = gl.allocate_shared_memory(gl.float32, [STAGES, B], S)
    off = gl.arange(0, B, L)
    for i in gl.static_range(STAGES - 1):
        async_copy.async_copy_global_to_shared(sm.index(i), x + i * B + off, mask=i * B + off < n)
        async_copy.commit_group()
    t = 0
    for i in range(0, gl.cdiv(n, B)):
        j = i + STAGES - 1
        async_copy.async_copy_global_to_shared(sm.index(j % STAGES), x + j * B + off, mask=j * B + off < n)
        async_copy.commit_group()
        async_copy.wait_group(STAGES - 1)
        gl.barrier()
        v = sm.index(i % STAGES).load(L)
        gl.store(y + i * B + off, v * 2.0 + 1.0, mask=i * B + off < n)
        gl.barrier()
    async_copy.wait_group(0)

@gluon.jit
def softmax(x, y, n, B: gl.constexpr):
    L: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    o = gl.arange(0, B, L); row = gl.program_id(0)
    v = gl.load(x + row * n + o, mask=o < n, other=-float("inf"))
    v = gl.exp(v - gl.max(v, 0)); gl.store(y + row * n + o, v / gl.sum(v, 0), mask=o < n)


def compile(fn, signature, constants, capability):
    constexprs = {(list(fn.arg_names).index(name),): value for name, value in constants.items()}
    source = GluonASTSource(
        fn=fn, signature={**signature, **dict.fromkeys(constants, "constexpr")}, constexprs=constexprs)
    compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": 4})
    ptx = re.sub(r'(\.file\s+\d+ )"[^"]*"', r'\1"kernels.py"', compiled.asm["ptx"])
    ptx = ptx[: ptx.index("\t.section\t.debug_abbrev")] if ".debug_abbrev" in ptx else ptx
    with open(f"{fn.__name__}.sm_{capability}.ptx", "w") as file:
        file.write(ptx)


compile(product, {"a": "*fp16", "b": "*fp16", "c": "*fp32"}, {"K": 256}, 90)
for capability in (80, 90):
    compile(pipeline, {"x": "*fp32", "y": "*fp32", "n": "i32"}, {"B": 512, "STAGES": 3}, capability)
    compile(softmax, {"x": "*fp32", "y": "*fp32", "n": "i32"}, {"B": 1024}, capability)

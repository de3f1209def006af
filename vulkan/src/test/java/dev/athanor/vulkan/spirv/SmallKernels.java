package dev.athanor.vulkan.spirv;

import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.text.Parser;
import java.util.List;

/**
 * Kernels of a few instructions. Each thread reads three words of 64 bits as {@code %la, %lb, %lc},
 * whose low halves are {@code %a, %b, %c} and low quarters {@code %ha, %hb, %hc}. It writes {@code
 * %ld} and {@code %d}.
 */
final class SmallKernels {

  static final int INPUTS = 3;

  private SmallKernels() {}

  /** Results that are equal bit for bit, by the family of the instructions. */
  static final List<String> EXACT =
      List.of(
          // integers
          "add.u32 %d, %a, %b; sub.u64 %ld, %la, %lb;",
          "mul.lo.u32 %d, %a, %b; mul.lo.u64 %ld, %la, %lb;",
          "mul.hi.s32 %d, %a, %b; mul.hi.s64 %ld, %la, %lb;",
          "mul.hi.u32 %d, %a, %b; mul.hi.u64 %ld, %la, %lb;",
          "mad.lo.s32 %d, %a, %b, %c; mad.wide.s32 %ld, %a, %b, %lc;",
          "mad.hi.u32 %d, %a, %b, %c; mul.wide.u32 %ld, %a, %b;",
          "div.s32 %d, %a, %b; div.s64 %ld, %la, %lb;",
          "div.u32 %d, %a, %b; div.u64 %ld, %la, %lb;",
          "rem.s32 %d, %a, %b; rem.s64 %ld, %la, %lb;",
          "rem.u32 %d, %a, %b; rem.u64 %ld, %la, %lb;",
          "abs.s32 %d, %a; neg.s64 %ld, %la;",
          "min.s32 %d, %a, %b; max.s64 %ld, %la, %lb;",
          "max.u32 %d, %a, %b; min.u64 %ld, %la, %lb;",
          "min.s16 %h, %ha, %hb; cvt.u32.u16 %d, %h; mul.wide.s16 %e, %ha, %hb; cvt.u64.u32 %ld, %e;",
          "mul24.lo.s32 %d, %a, %b; sad.u64 %ld, %la, %lb, %lc;",
          "add.sat.s32 %d, %a, %b; sub.sat.s32 %e, %a, %b; cvt.u64.u32 %ld, %e;",
          "add.cc.u32 %d, %a, %b; addc.cc.u32 %e, %b, %c; addc.u32 %e, %e, 0; cvt.u64.u32 %ld, %e;",
          "sub.cc.u32 %d, %a, %b; subc.u64 %ld, %la, %lb;",
          "mad.lo.cc.u32 %d, %a, %b, %c; madc.hi.u32 %e, %a, %b, 0; cvt.u64.u32 %ld, %e;",
          // bits
          "and.b32 %d, %a, %b; or.b64 %ld, %la, %lb;",
          "xor.b32 %d, %a, %b; not.b64 %ld, %la;",
          "shl.b32 %d, %a, %b; shl.b64 %ld, %la, %c;",
          "and.b32 %e, %b, 63; shl.b32 %d, %a, %e; shr.u64 %ld, %la, %e;",
          "and.b32 %e, %b, 63; shr.s32 %d, %a, %e; shr.s64 %ld, %la, %e;",
          "shr.u32 %d, %a, 31; shr.s64 %ld, %la, 70;",
          "popc.b32 %d, %a; popc.b64 %e, %la; cvt.u64.u32 %ld, %e;",
          "clz.b32 %d, %a; clz.b64 %e, %la; cvt.u64.u32 %ld, %e;",
          "bfind.s32 %d, %a; bfind.u64 %e, %la; cvt.u64.u32 %ld, %e;",
          "bfind.shiftamt.u32 %d, %a; brev.b64 %ld, %la;",
          "brev.b32 %d, %a; cnot.b64 %ld, %la;",
          "bfe.u32 %d, %a, 5, 9; bfe.s64 %ld, %la, 17, 30;",
          "and.b32 %e, %b, 63; and.b32 %f, %c, 63; bfe.s32 %d, %a, %e, %f; bfe.u64 %ld, %la, %e, %f;",
          "and.b32 %e, %b, 63; and.b32 %f, %c, 63; bfe.u32 %d, %a, %e, %f; bfe.s64 %ld, %la, %e, %f;",
          "and.b32 %e, %c, 63; bfi.b32 %d, %a, %b, %e, 7; bfi.b64 %ld, %la, %lb, %e, 20;",
          "lop3.b32 %d, %a, %b, %c, 150; lop3.b32 %e, %a, %b, %c, 202; cvt.u64.u32 %ld, %e;",
          "prmt.b32 %d, %a, %b, %c; prmt.b32 %e, %a, %b, 0x5410; cvt.u64.u32 %ld, %e;",
          "shf.l.wrap.b32 %d, %a, %b, %c; shf.r.clamp.b32 %e, %a, %b, %c; cvt.u64.u32 %ld, %e;",
          "dp4a.s32.s32 %d, %a, %b, %c; dp4a.u32.s32 %e, %a, %b, %c; cvt.u64.u32 %ld, %e;",
          "dp2a.lo.s32.u32 %d, %a, %b, %c; dp2a.hi.u32.u32 %e, %a, %b, %c; cvt.u64.u32 %ld, %e;",
          "mov.b32 %d, {%ha, %hb}; mov.b64 %ld, {%c, %a};",
          "mov.b64 {%d, %e}, %la; mov.b32 {%h, %g}, %b; cvt.s64.s16 %ld, %g;",
          // comparison and selection
          "setp.lt.s32 %p, %a, %b; selp.b32 %d, %a, %c, %p; setp.hi.u64 %q, %la, %lb; selp.b64 %ld, %la, %lc, %q;",
          "setp.ge.and.f32 %p|%q, %a, %b, %r; selp.u32 %d, 1, 2, %p; selp.u64 %ld, 3, 4, %q;",
          "setp.ltu.f32 %p, %a, %b; selp.u32 %d, 1, 2, %p; setp.nan.f64 %q, %la, %lb; selp.u64 %ld, 3, 4, %q;",
          "set.ne.u32.f64 %d, %la, %lb; slct.b64.s32 %ld, %la, %lb, %c;",
          "and.pred %p, %r, %s; xor.pred %q, %p, %r; @%q add.u32 %d, %a, 7; @!%p mov.b64 %ld, %lb;",
          "cvt.s64.s32 %ld, %a; setp.lt.s64 %p, %ld, -5; selp.u32 %d, 1, 2, %p; max.s64 %ld, %ld, -128;",
          "cvt.u64.u32 %ld, %a; setp.lt.u64 %p, %ld, 5; selp.u32 %d, 1, 2, %p; min.s64 %ld, %ld, 128;",
          // conversions
          "cvt.s32.s8 %d, %a; cvt.s64.s32 %ld, %b;",
          "cvt.u8.u32 %d, %a; cvt.u64.u16 %ld, %hb;",
          "cvt.sat.s8.s32 %d, %a; cvt.sat.u32.s64 %e, %lb; cvt.u64.u32 %ld, %e;",
          "cvt.rn.f32.s32 %d, %a; cvt.rn.f64.s64 %ld, %lb;",
          "cvt.rn.f32.u64 %d, %la; cvt.rn.f64.u32 %ld, %b;",
          "cvt.rz.f32.s64 %d, %la; cvt.rm.f32.u32 %e, %b; cvt.u64.u32 %ld, %e;",
          "cvt.rp.f32.u64 %d, %la; cvt.rp.f32.s32 %e, %b; cvt.u64.u32 %ld, %e;",
          "cvt.rm.f32.s64 %d, %la; cvt.rz.f32.s32 %e, %b; cvt.u64.u32 %ld, %e;",
          "cvt.rni.s32.f32 %d, %a; cvt.rzi.s64.f64 %ld, %lb;",
          "cvt.rmi.u32.f32 %d, %a; cvt.rpi.u64.f32 %ld, %b;",
          "cvt.rzi.s8.f32 %d, %a; cvt.rni.u32.f64 %e, %lb; cvt.u64.u32 %ld, %e;",
          "cvt.rn.f16.f32 %h, %a; cvt.u32.u16 %d, %h; cvt.sat.u8.s16 %e, %hb; cvt.u64.u32 %ld, %e;",
          "cvt.rn.f16.s32 %h, %a; cvt.u32.u16 %d, %h; cvt.rzi.s64.f16 %ld, %hb;");

  /** Results that are equal bit for bit, except the payloads of NaN. */
  static final List<String> NUMBERS =
      List.of(
          "add.f32 %d, %a, %b; sub.f64 %ld, %la, %lb;",
          "mul.rn.f32 %d, %a, %b; mul.f64 %ld, %la, %lb;",
          // compilers may know better
          "add.f32 %d, %a, 0f00000000; mov.b64 %ld, 0; add.f64 %ld, %la, %ld;",
          "mul.f32 %d, 0f00000000, %a; cvt.rn.f64.s64 %lb, 0; mul.f64 %ld, %la, %lb;",
          "sub.f32 %d, %a, %a; sub.f64 %ld, %la, %la;",
          "div.rn.f32 %d, %a, 0f00000000; cvt.rn.f64.s64 %lb, 0; div.rn.f64 %ld, %la, %lb;",
          "div.rn.f32 %d, 0f00000000, %a; mov.b64 %ld, 0; div.rn.f64 %ld, %ld, %la;",
          "sub.ftz.f32 %d, %a, %b; add.sat.f32 %e, %a, %b; cvt.f64.f32 %ld, %e;",
          "cvt.rn.f64.s64 %la, %la; cvt.rn.f64.s64 %lb, %lb; cvt.rn.f64.s64 %lc, %lc; fma.rn.f32 %d, %a, %b, %c; fma.rn.f64 %ld, %la, %lb, %lc;",
          "cvt.rn.f64.s64 %la, %la; cvt.rn.f64.s64 %lb, %lb; cvt.rn.f64.s64 %lc, %lc; neg.f32 %e, %a; fma.rn.f32 %d, %a, %b, %e; mul.f64 %ld, %la, %lb; neg.f64 %ld, %ld; fma.rn.f64 %ld, %la, %lb, %ld;",
          "div.rn.f32 %d, %a, %b; div.rn.f64 %ld, %la, %lb;",
          "rcp.rn.f32 %d, %a; rcp.rn.f64 %ld, %la;",
          "sqrt.rn.f32 %d, %a; sqrt.rn.f64 %ld, %la;",
          "min.f32 %d, %a, %b; max.f64 %ld, %la, %lb;",
          "max.f32 %d, %a, %b; min.f64 %ld, %la, %lb;",
          "abs.f32 %d, %a; neg.f64 %ld, %la;",
          "xor.b32 %e, %a, 0x80000000; add.rm.f32 %d, %a, %e; and.b32 %e, %b, 0x80000000; add.rm.f32 %e, %e, 0f00000000; cvt.f64.f32 %ld, %e;",
          "and.b32 %e, %a, 0x80000000; mul.rm.f32 %d, %e, %b; fma.rm.f32 %e, %a, %e, %e; cvt.f64.f32 %ld, %e;",
          "shr.u64 %ld, %la, 63; shl.b64 %ld, %ld, 63; cvt.rm.f32.f64 %d, %ld; cvt.rz.f32.f64 %e, %ld; cvt.f64.f32 %ld, %e;",
          "add.rm.f32 %d, %a, %b; mul.rz.f32 %e, %a, %b; cvt.f64.f32 %ld, %e;",
          "fma.rp.f32 %d, %a, %b, %c; fma.rz.f32 %e, %a, %b, %c; cvt.f64.f32 %ld, %e;",
          "cvt.rn.f32.f64 %d, %la; cvt.f64.f32 %ld, %b;",
          "cvt.rni.f32.f32 %d, %a; cvt.rmi.f64.f64 %ld, %lb;",
          "cvt.rpi.f32.f32 %d, %a; cvt.rzi.f64.f64 %ld, %lb;",
          "cvt.f32.f16 %d, %ha; cvt.f64.f16 %ld, %hb;",
          "cvt.rn.f16.f64 %h, %lb; cvt.f32.f16 %d, %h; cvt.rz.f32.f64 %e, %la; cvt.f64.f32 %ld, %e;",
          "add.f16 %h, %ha, %hb; cvt.f32.f16 %d, %h; mul.f16 %h, %ha, %hb; cvt.f64.f16 %ld, %h;");

  /** Results that have errors of a few units in the last place. */
  static final List<String> APPROXIMATE =
      List.of(
          "rcp.approx.f32 %d, %a; sqrt.approx.f32 %e, %b; cvt.f64.f32 %ld, %e;",
          "ex2.approx.f32 %d, %a; lg2.approx.ftz.f32 %e, %b; cvt.f64.f32 %ld, %e;",
          "rsqrt.approx.f32 %d, %a; rsqrt.approx.f64 %ld, %lb;",
          "div.full.f32 %d, %a, %b; div.full.f32 %e, %b, %c; cvt.f64.f32 %ld, %e;",
          "div.approx.f32 %d, %a, %b; div.approx.f32 %e, %b, %c; cvt.f64.f32 %ld, %e;");

  /** Memory, control flow, and exchanges between threads. */
  static final List<String> THREADS =
      List.of(
          // shared memory
          "st.shared.b64 [%at], %la; bar.sync 0; xor.b32 %e, %at, 504; ld.shared.b64 %ld, [%e]; ld.shared.b32 %d, [%e+4];",
          "st.shared.b8 [%at+3], %a; st.shared.b16 [%at], %hb; st.shared.b8 [%at+2], 17; bar.sync 0; ld.shared.s16 %d, [%at+2]; ld.shared.u8 %ld, [%at];",
          "st.relaxed.cta.shared.b32 [%at], %a; bar.sync 0; xor.b32 %e, %at, 8; ld.acquire.cta.shared.b32 %d, [%e]; st.release.gpu.global.u32 [%to], %a; ld.relaxed.gpu.global.f32 %e, [%to]; cvt.u64.u32 %ld, %e; st.volatile.global.b32 [%to+8], %d; ld.volatile.global.b32 %d, [%to+8];",
          "st.shared.v2.b32 [%at], {%a, %b}; bar.sync 0; ld.shared.v4.u8 {%d, %e, _, %f}, [%at]; add.u32 %d, %d, %e; cvt.u64.u32 %ld, %f;",
          // local memory
          "st.local.b64 [stack+8], %la; st.local.b16 [stack+10], %hb; ld.local.b64 %ld, [stack+8]; ld.local.s8 %d, [stack+11];",
          // shuffles and votes
          "shfl.sync.bfly.b32 %d, %a, 5, 31, -1; shfl.sync.idx.b32 %e|%p, %b, %c, 31, -1; cvt.u64.u32 %ld, %e;",
          "shfl.sync.up.b32 %d|%p, %a, 3, 0, -1; selp.u32 %e, 1, 0, %p; shfl.sync.down.b32 %f|%q, %b, %e, 31, -1; cvt.u64.u32 %ld, %f;",
          "shfl.sync.down.b32 %d|%p, %a, 3, 0x181F, -1; shfl.sync.idx.b32 %e, %b, %c, 0x101F, -1; cvt.u64.u32 %ld, %e;",
          "shfl.sync.idx.b32 %d, %a, 3, 31, -1; shfl.sync.bfly.b32 %e, %b, 1, 31, -1; add.u32 %a, %a, %b; shfl.sync.idx.b32 %f, %a, 5, 31, -1; shfl.sync.idx.b32 %d, %d, %tid, 31, -1; xor.b32 %d, %d, %e; cvt.u64.u32 %ld, %f;",
          "mov.u32 %e, 0; again: shfl.sync.idx.b32 %f, %a, %e, 31, -1; add.u32 %d, %d, %f; shfl.sync.bfly.b32 %f, %b, %e, 31, -1; xor.b32 %d, %d, %f; add.u32 %e, %e, 1; setp.lt.u32 %p, %e, 7; @%p bra again; shfl.sync.idx.b32 %f, %d, 9, 31, -1; cvt.u64.u32 %ld, %f;",
          "mov.u32 %e, 0; again: shfl.sync.bfly.b32 %f, %d, %e, 31, -1; add.u32 %d, %f, %a; add.u32 %e, %e, 1; setp.lt.u32 %p, %e, 7; @%p bra again;",
          "setp.lt.s32 %p, %a, 0; vote.sync.ballot.b32 %e, %p, -1; mov.u32 %d, 5; @%p shfl.sync.bfly.b32 %d, %b, 0, 31, %e;",
          "vote.sync.ballot.b32 %d, %r, -1; vote.sync.any.pred %p, %s, -1; selp.u64 %ld, 1, 2, %p;",
          "vote.sync.all.pred %p, %r, -1; selp.u32 %d, 1, 2, %p; and.b32 %e, %a, 3; match.any.sync.b32 %f, %e, -1; cvt.u64.u32 %ld, %f;",
          "bar.red.popc.u32 %d, 0, %r; bar.red.or.pred %p, 0, %s; selp.u64 %ld, 1, 2, %p;",
          // loops and divergence
          "and.b32 %e, %a, 15; loop: add.u32 %d, %d, %b; xor.b32 %d, %d, %e; sub.u32 %e, %e, 1; setp.gt.s32 %p, %e, 0; @%p bra loop;",
          "setp.lt.s32 %p, %a, 0; @%p bra other; add.u32 %d, %a, 1; bra.uni end; other: mul.lo.u32 %d, %a, 3; end: cvt.u64.u32 %ld, %d;",
          "and.b32 %e, %a, 7; outer: and.b32 %f, %b, 3; inner: add.u32 %d, %d, 1; sub.u32 %f, %f, 1; setp.eq.s32 %p, %f, %e; @%p bra done; setp.gt.s32 %p, %f, 0; @%p bra inner; sub.u32 %e, %e, 1; setp.gt.s32 %p, %e, 0; @%p bra outer; mov.u64 %ld, 5; done:",
          // warp instructions where warps or threads diverge
          "setp.ge.u32 %p, %tid, 32; @%p bra skip; shfl.sync.bfly.b32 %d, %a, 1, 31, -1; add.u32 %d, %d, %b; skip: shfl.sync.idx.b32 %e, %d, 0, 31, -1; cvt.u64.u32 %ld, %e;",
          "shr.u32 %e, %tid, 5; add.u32 %e, %e, 1; again: shfl.sync.bfly.b32 %f, %a, %e, 31, -1; add.u32 %d, %d, %f; sub.u32 %e, %e, 1; setp.gt.s32 %p, %e, 0; @%p bra again; bar.warp.sync -1;",
          "setp.ge.u32 %p, %tid, 32; @%p ret; st.shared.b32 [%at], %a; bar.warp.sync -1; xor.b32 %e, %at, 8; ld.shared.b32 %d, [%e]; st.global.b32 [%to+8], %d;",
          "setp.ge.u32 %p, %tid, 32; @!%p bra one; and.b32 %e, %tid, 3; deep: vote.sync.ballot.b32 %f, %r, -1; add.u32 %d, %d, %f; sub.u32 %e, %e, 1; setp.gt.s32 %p, %e, -3; vote.sync.any.pred %p, %p, -1; @%p bra deep; bra.uni end2; one: mov.u32 %d, 9; end2:",
          "@%r bra skip; @%s bra next; next: add.u32 %d, %d, 1; skip:",
          // atomics
          "red.shared.add.u32 [counter], %a; bar.sync 0; ld.shared.u32 %d, [counter];",
          "red.shared.max.s32 [counter], %a; bar.sync 0; ld.shared.u32 %d, [counter];",
          "and.b32 %e, %a, 255; cvt.rn.f32.u32 %e, %e; red.shared.add.f32 [counter], %e; bar.sync 0; ld.shared.u32 %d, [counter];",
          "red.shared.inc.u32 [counter], 40; bar.sync 0; ld.shared.u32 %d, [counter]; membar.gl;",
          // special registers
          "mov.u32 %d, %laneid; mov.u32 %e, %warpid; mov.u32 %f, %lanemask_lt; xor.b32 %e, %e, %f; cvt.u64.u32 %ld, %e;");

  /** Returns a kernel with the instructions of a text. */
  static Module module(String instructions) {
    return Parser.parse(
        """
        .version 8.7
        .target sm_75
        .address_size 64
        .visible .entry small(.param .u64 in, .param .u64 out) {
          .reg .b32 %a, %b, %c, %d, %e, %f, %t, %at, %tid, %block;
          .reg .b64 %la, %lb, %lc, %ld, %from, %to, %offset;
          .reg .b16 %ha, %hb, %hc, %h, %g;
          .reg .pred %p, %q, %r, %s, %first;
          .shared .align 16 .b8 words[512];
          .shared .align 4 .b32 counter;
          .local .align 8 .b8 stack[16];
          mov.u32 %tid, %tid.x;
          mov.u32 %block, %ctaid.x;
          mad.lo.u32 %t, %block, 64, %tid;
          shl.b32 %at, %tid, 3;
          ld.param.u64 %from, [in];
          mul.wide.u32 %offset, %t, 24;
          add.u64 %from, %from, %offset;
          ld.param.u64 %to, [out];
          mul.wide.u32 %offset, %t, 16;
          add.u64 %to, %to, %offset;
          ld.global.b64 %la, [%from];
          ld.global.b64 %lb, [%from+8];
          ld.global.nc.b64 %lc, [%from+16];
          cvt.u32.u64 %a, %la;
          cvt.u32.u64 %b, %lb;
          cvt.u32.u64 %c, %lc;
          cvt.u16.u64 %ha, %la;
          cvt.u16.u64 %hb, %lb;
          cvt.u16.u64 %hc, %lc;
          mov.u32 %d, 0;
          mov.u64 %ld, 0;
          setp.gt.s32 %r, %c, 0;
          setp.eq.u32 %s, %tid, 35;
          setp.eq.u32 %first, %tid, 0;
          @%first st.shared.b32 [counter], 0;
          bar.sync 0;
          INSTRUCTIONS
          st.global.b64 [%to], %ld;
          st.global.b32 [%to+8], %d;
          ret;
        }
        """
            .replace("INSTRUCTIONS", instructions.replace("; ", ";\n")),
        "small.ptx");
  }
}

package dev.athanor.engine.analysis.sass;

import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Small kernels whose machine code is known. */
final class SassKernels {

  private SassKernels() {}

  private static String module(String name, String registers, String body) {
    return """
    .version 7.8
    .target sm_80
    .address_size 64
    .visible .entry %s(.param .u64 p, .param .u32 n) {
    .reg .b32 %%r<40>; .reg .b64 %%rd<8>; .reg .pred %%p<4>; %s
    ld.param.u64 %%rd0, [p];
    ld.param.u32 %%r0, [n];
    mov.u32 %%r1, %%tid.x;
    mul.wide.u32 %%rd1, %%r1, 16;
    add.s64 %%rd1, %%rd0, %%rd1;
    %s
    ret;
    }
    """
        .formatted(name, registers, body);
  }

  /**
   * A loop of n turns with 4 asynchronous copies, 1 load of fragments and 2 matrix products, and
   * 8192 bytes of static shared memory. The loop is not unrolled.
   */
  static String product() {
    var copies =
        IntStream.range(0, 4)
            .mapToObj(
                i -> "cp.async.cg.shared.global [%%r3+%1$d], [%%rd1+%1$d], 16;".formatted(2048 * i))
            .collect(Collectors.joining("\n"));
    return module(
        "product",
        ".reg .f32 %f<8>; .shared .align 16 .b8 tile[8192];",
        """
        mov.u32 %%r2, tile;
        shl.b32 %%r3, %%r1, 4;
        add.u32 %%r3, %%r2, %%r3;
        mov.f32 %%f0, 0f00000000; mov.f32 %%f1, %%f0; mov.f32 %%f2, %%f0; mov.f32 %%f3, %%f0;
        mov.f32 %%f4, %%f0; mov.f32 %%f5, %%f0; mov.f32 %%f6, %%f0; mov.f32 %%f7, %%f0;
        again:
        .pragma "nounroll";
        %s
        cp.async.commit_group;
        cp.async.wait_group 0;
        bar.sync 0;
        ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%%r4,%%r5,%%r6,%%r7}, [%%r3];
        mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%%f0,%%f1,%%f2,%%f3},
            {%%r4,%%r5,%%r6,%%r7}, {%%r4,%%r6}, {%%f0,%%f1,%%f2,%%f3};
        mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%%f4,%%f5,%%f6,%%f7},
            {%%r4,%%r5,%%r6,%%r7}, {%%r5,%%r7}, {%%f4,%%f5,%%f6,%%f7};
        bar.sync 0;
        add.s64 %%rd1, %%rd1, 65536;
        sub.u32 %%r0, %%r0, 1;
        setp.ne.u32 %%p0, %%r0, 0;
        @%%p0 bra again;
        st.global.v4.f32 [%%rd0], {%%f0,%%f1,%%f2,%%f3};
        st.global.v4.f32 [%%rd0+16], {%%f4,%%f5,%%f6,%%f7};
        """
            .formatted(copies));
  }

  /** A loop of a store that waits for an mbarrier in each turn. */
  static String waiting() {
    return module(
        "waiting",
        ".shared .align 8 .b8 bar[8];",
        """
        again:
        .pragma "nounroll";
        wait:
        mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;
        @!%p1 bra wait;
        st.volatile.global.u32 [%rd1], %r0;
        sub.u32 %r0, %r0, 1;
        setp.ne.u32 %p0, %r0, 0;
        @%p0 bra again;
        """);
  }

  /** A loop in a loop; the inner one has a branch that skips 20 stores and a barrier. */
  static String nested() {
    var stores =
        IntStream.range(0, 20)
            .mapToObj(i -> "st.volatile.global.u32 [%%rd1+%d], %%r4;".formatted(4 * i))
            .collect(Collectors.joining("\n"));
    return module(
        "nested",
        "",
        """
        mov.u32 %r2, 0;
        outer:
        mov.u32 %r3, 0;
        inner:
        .pragma "nounroll";
        ld.volatile.global.u32 %r4, [%rd1];
        setp.lt.u32 %p0, %r4, 7;
        @%p0 bra skip;
        STORES
        bar.sync 1;
        skip:
        add.u32 %r3, %r3, 1;
        setp.lt.u32 %p1, %r3, %r4;
        @%p1 bra inner;
        bar.sync 0;
        add.u32 %r2, %r2, 1;
        setp.lt.u32 %p2, %r2, %r0;
        @%p2 bra outer;
        """
            .replace("STORES", stores));
  }

  /** Holds 60 values over a barrier in at most 32 registers. */
  static String spilling() {
    var loads =
        IntStream.range(0, 60)
            .mapToObj(i -> "ld.volatile.global.u32 %%v%d, [%%rd1+%d];".formatted(i, 4 * i))
            .collect(Collectors.joining("\n"));
    var stores =
        IntStream.range(0, 60)
            .mapToObj(i -> "st.volatile.global.u32 [%%rd1+%d], %%v%d;".formatted(4 * i, 59 - i))
            .collect(Collectors.joining("\n"));
    return module("spilling", ".reg .b32 %v<60>;", loads + "\nbar.sync 0;\n" + stores)
        .replace(".param .u32 n) {", ".param .u32 n) .maxnreg 32 {");
  }

  /** Has no loop. */
  static String straight() {
    return module("straight", "", "st.global.u32 [%rd1], %r0;");
  }
}

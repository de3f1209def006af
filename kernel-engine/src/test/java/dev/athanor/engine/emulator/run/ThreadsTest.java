package dev.athanor.engine.emulator.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.Rig;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import java.time.Duration;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Divergence, reconvergence, waiting and exit of threads. */
@ParameterizedClass
@EnumSource(
    value = Execution.class,
    names = {"INTERPRETED", "COMPILED"})
class ThreadsTest {

  private final EmulatorOptions options;
  private final Rig rig;

  ThreadsTest(Execution execution) {
    options = Rig.options(execution);
    rig = new Rig(options);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private static int[] each(int threads, IntUnaryOperator value) {
    return IntStream.range(0, threads).map(value).toArray();
  }

  /** A partial warp, whole warps, and both. */
  @ParameterizedTest
  @ValueSource(ints = {1, 31, 32, 70, 256})
  void branchesRunBothSides(int threads) {
    var body =
        """
        and.b32 %r5, %r0, 1;
        setp.eq.u32 %p0, %r5, 0;
        @%p0 bra EVEN;
        mul.lo.u32 %r6, %r0, 100;
        bra JOIN;
        EVEN:
        add.u32 %r6, %r0, 7;
        JOIN:
        add.u32 %r6, %r6, 1;
        st.global.u32 [%rd2], %r6;
        """;
    assertThat(rig.run(body, 1, threads))
        .isEqualTo(each(threads, i -> (i % 2 == 0 ? i + 7 : i * 100) + 1));
  }

  @Test
  void wholeWarpsCanBranchDifferently() {
    var body =
        """
        shr.u32 %r5, %r0, 5;
        and.b32 %r5, %r5, 1;
        setp.eq.u32 %p0, %r5, 0;
        mov.u32 %r6, 5;
        @!%p0 bra ODD;
        mov.u32 %r6, 9;
        ODD:
        bar.sync 0;
        st.global.u32 [%rd2], %r6;
        """;
    assertThat(rig.run(body, 1, 160)).isEqualTo(each(160, i -> i / 32 % 2 == 0 ? 9 : 5));
  }

  @Test
  void exitedThreadsAreNotAwaited() {
    var body =
        """
        setp.ge.u32 %p0, %r0, 40;
        @%p0 ret;
        shl.b32 %r5, %r0, 2;
        mov.u32 %r6, tile;
        add.u32 %r5, %r5, %r6;
        st.shared.u32 [%r5], %r0;
        bar.sync 0;
        mov.u32 %r7, 39;
        sub.u32 %r7, %r7, %r0;
        shl.b32 %r7, %r7, 2;
        ld.shared.u32 %r8, [%r7];
        st.global.u32 [%rd2], %r8;
        """;
    assertThat(rig.run(body, 1, 96)).isEqualTo(each(96, i -> i < 40 ? 39 - i : 0));
  }

  @Test
  void lanesHaveSeparateTripCounts() {
    var body =
        """
        mov.u32 %r5, 0;
        mov.u32 %r6, 0;
        LOOP:
        setp.ge.u32 %p0, %r5, %r0;
        @%p0 bra DONE;
        and.b32 %r7, %r5, 3;
        setp.eq.u32 %p1, %r7, 3;
        @%p1 bra NEXT;
        add.u32 %r6, %r6, %r5;
        NEXT:
        add.u32 %r5, %r5, 1;
        bra LOOP;
        DONE:
        st.global.u32 [%rd2], %r6;
        """;
    assertThat(rig.run(body, 1, 100))
        .isEqualTo(each(100, i -> IntStream.range(0, i).filter(j -> j % 4 != 3).sum()));
  }

  @Test
  void guardsApplyPerLane() {
    var body =
        """
        mov.u32 %r5, 10;
        setp.lt.u32 %p0, %r0, 5;
        @%p0 mov.u32 %r5, 20;
        @!%p0 add.u32 %r5, %r5, %r0;
        setp.eq.u32 %p1, %r0, 3;
        @%p1 setp.eq.u32 %p0, %r0, 0;
        selp.u32 %r6, 1000, 0, %p0;
        add.u32 %r5, %r5, %r6;
        setp.ne.u32 %p2, %r0, 7;
        @%p2 st.global.u32 [%rd2], %r5;
        """;
    assertThat(rig.run(body, 1, 40))
        .isEqualTo(each(40, i -> i == 7 ? 0 : i == 3 ? 20 : i < 5 ? 1020 : 10 + i));
  }

  @Test
  void blockSumInSharedMemory() {
    var body =
        """
        ld.global.u32 %r5, [%rd3];
        shl.b32 %r6, %r0, 2;
        st.shared.u32 [%r6], %r5;
        mov.u32 %r7, 128;
        STEP:
        bar.sync 0;
        setp.ge.u32 %p0, %r0, %r7;
        @%p0 bra SKIP;
        shl.b32 %r8, %r7, 2;
        add.u32 %r8, %r8, %r6;
        ld.shared.u32 %r9, [%r8];
        ld.shared.u32 %r10, [%r6];
        add.u32 %r10, %r10, %r9;
        st.shared.u32 [%r6], %r10;
        SKIP:
        shr.u32 %r7, %r7, 1;
        setp.ne.u32 %p1, %r7, 0;
        @%p1 bra STEP;
        bar.sync 0;
        ld.shared.u32 %r11, [tile];
        st.global.u32 [%rd2], %r11;
        """;
    var in = each(512, i -> i * i);
    int first = IntStream.range(0, 256).map(i -> in[i]).sum();
    int second = IntStream.range(256, 512).map(i -> in[i]).sum();
    assertThat(rig.run(body, 2, 256, in)).isEqualTo(each(512, i -> i < 256 ? first : second));
  }

  @Test
  void namedBarriersSynchronizeSomeWarps() {
    // warps 0 and 1 pass a value at barrier 3, warps 2 and 3 at barrier 4
    var body =
        """
        shr.u32 %r5, %r0, 6;
        add.u32 %r6, %r5, 3;
        xor.b32 %r7, %r0, 32;
        shl.b32 %r8, %r0, 2;
        shl.b32 %r9, %r7, 2;
        mul.lo.u32 %r10, %r0, 3;
        st.shared.u32 [%r8], %r10;
        bar.sync %r6, 64;
        ld.shared.u32 %r11, [%r9];
        st.global.u32 [%rd2], %r11;
        """;
    assertThat(rig.run(body, 1, 128)).isEqualTo(each(128, i -> 3 * (i ^ 32)));
  }

  @Test
  void spinLoopsYieldToOtherWarps() {
    var body =
        """
        mov.u32 %r5, 0;
        setp.eq.u32 %p0, %r0, 0;
        @%p0 st.shared.u32 [tile], %r5;
        bar.sync 0;
        setp.ge.u32 %p0, %r0, 32;
        @%p0 bra WRITE;
        SPIN:
        ld.volatile.shared.u32 %r5, [tile];
        setp.eq.u32 %p1, %r5, 0;
        @%p1 bra SPIN;
        bra DONE;
        WRITE:
        mov.u32 %r5, 77;
        st.volatile.shared.u32 [tile], %r5;
        DONE:
        st.global.u32 [%rd2], %r5;
        """;
    assertThat(rig.run(body, 1, 64)).containsOnly(77);
  }

  @Test
  void lanesOfAWarpCanWaitForEachOther() {
    var body =
        """
        mov.u32 %r5, 0;
        st.shared.u32 [tile], %r5;
        bar.sync 0;
        setp.eq.u32 %p0, %r0, 9;
        @%p0 bra WRITE;
        SPIN:
        ld.volatile.shared.u32 %r5, [tile];
        setp.eq.u32 %p1, %r5, 0;
        @%p1 bra SPIN;
        bra DONE;
        WRITE:
        mov.u32 %r5, 78;
        st.volatile.shared.u32 [tile], %r5;
        DONE:
        st.global.u32 [%rd2], %r5;
        """;
    assertThat(rig.run(body, 1, 32)).containsOnly(78);
  }

  @Test
  void threadsAndBlocksAreNumberedInThreeDimensions() {
    var body =
        """
        mov.u32 %r5, %tid.x; mov.u32 %r6, %tid.y; mov.u32 %r7, %tid.z;
        mov.u32 %r8, %ctaid.x; mov.u32 %r9, %ctaid.y; mov.u32 %r10, %ctaid.z;
        mov.u32 %r11, %ntid.x; mov.u32 %r12, %ntid.y; mov.u32 %r13, %ntid.z;
        mov.u32 %r14, %nctaid.x; mov.u32 %r15, %nctaid.y; mov.u32 %r16, %nctaid.z;
        mad.lo.u32 %r20, %r10, %r15, %r9;
        mad.lo.u32 %r20, %r20, %r14, %r8;
        mad.lo.u32 %r20, %r20, %r13, %r7;
        mad.lo.u32 %r20, %r20, %r12, %r6;
        mad.lo.u32 %r20, %r20, %r11, %r5;
        mul.wide.u32 %rd5, %r20, 4;
        add.u64 %rd5, %rd5, %rd0;
        mov.u32 %r21, %warpid; mov.u32 %r22, %laneid;
        mad.lo.u32 %r23, %r21, 1000, %r22;
        mad.lo.u32 %r23, %r20, 100000, %r23;
        st.global.u32 [%rd5], %r23;
        """;
    int blocks = 2 * 3 * 2;
    int threads = 5 * 4 * 3;
    try (var out = rig.ints(new int[blocks * threads]);
        var in = rig.ints(0)) {
      rig.run(body, new Dim3(2, 3, 2), new Dim3(5, 4, 3), out, in, 0);
      assertThat(rig.read(out))
          .isEqualTo(
              each(
                  blocks * threads, i -> i * 100_000 + i % threads / 32 * 1000 + i % threads % 32));
    }
  }

  @Test
  void resultsAreIndependentOfWorkers() {
    var body =
        """
        mov.u32 %r5, %r1;
        mov.u32 %r6, 0;
        LOOP:
        mad.lo.u32 %r5, %r5, 1664525, 1013904223;
        shr.u32 %r7, %r5, 28;
        setp.eq.u32 %p0, %r7, 3;
        @%p0 bra DONE;
        add.u32 %r6, %r6, 1;
        setp.lt.u32 %p1, %r6, 200;
        @%p1 bra LOOP;
        DONE:
        add.u32 %r5, %r5, %r6;
        st.global.u32 [%rd2], %r5;
        """;
    var expected = rig.run(body, 50, 96);
    for (int workers : new int[] {1, 3, 7}) {
      try (var other = new Rig(options.withWorkers(workers))) {
        assertThat(other.run(body, 50, 96)).isEqualTo(expected);
      }
    }
  }

  @Test
  void blocksCanWaitForEarlierOnes() {
    // each block adds 1 to the previous block's value
    var body =
        """
        setp.eq.u32 %p0, %r1, 0;
        mov.u32 %r5, 0;
        @%p0 bra WRITE;
        SPIN:
        ld.volatile.global.u32 %r5, [%rd2+-4];
        setp.eq.u32 %p1, %r5, 0;
        @%p1 bra SPIN;
        WRITE:
        add.u32 %r5, %r5, 1;
        st.volatile.global.u32 [%rd2], %r5;
        """;
    assertThat(rig.run(body, 40, 1)).isEqualTo(each(40, i -> i + 1));
  }

  /** Loops with side effects are not livelocks. */
  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void reportsThreadsBeyondTheTimeout(int blocks) {
    var body =
        """
        mov.u64 %rd5, 0;
        $ever: add.u64 %rd5, %rd5, 1; st.volatile.global.u32 [%rd2], %r0; bra $ever;
        """;
    try (var limited = new Rig(options.withTimeout(Duration.ofMillis(5)))) {
      var fault = catchThrowableOfType(KernelFault.class, () -> limited.run(body, blocks, 64));
      assertThat(fault.reports()).hasSize(1);
      assertThat(fault)
          .hasMessageContaining("thread (0,0,0) of block (0,0,0) of kernel test, \"")
          .hasMessageContaining("exceeds the timeout of the launch, 0.005 s");
      assertThat(fault.findings().getFirst().kind()).isEqualTo(Report.Kind.TIMEOUT);
    }
    try (var limited = new Rig(options.withTimeout(Duration.ofSeconds(Long.MAX_VALUE)))) {
      assertThat(limited.run("st.global.u32 [%rd2], %r0;", 1, 2)).containsExactly(0, 1);
    }
  }

  @Test
  void rejectsNonPositiveTimeouts() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> options.withTimeout(Duration.ZERO))
        .withMessage("timeout must be positive, got PT0S");
  }
}

package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.SampleRig.Way;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Arrivals and transaction bytes of mbarriers. */
class MbarrierTest {

  static List<Way> ways() {
    return AsyncKernel.ways();
  }

  private static int[] run(Way way, int threads, String body) {
    return AsyncKernel.of(threads, body).run(way, new int[threads]);
  }

  private static String fault(String body) {
    return AsyncKernel.of(32, body).fault();
  }

  /** In each phase, every thread reads what its neighbor wrote in the previous one. */
  @ParameterizedTest
  @MethodSource("ways")
  void consecutivePhases(Way way) {
    var body =
        AsyncKernel.make(64)
            + """
            shl.b32 %r5, %r0, 2; add.u32 %r5, %r5, %r2; st.shared.u32 [%r5], %r0;
            add.u32 %r6, %r0, 1; and.b32 %r6, %r6, 63; shl.b32 %r6, %r6, 2; add.u32 %r6, %r6, %r2;
            mov.u32 %r7, 0; mov.u32 %r8, 0;
            $round:
            mbarrier.arrive.shared::cta.b64 %rd5, [bar];
            $first: mbarrier.try_wait.shared::cta.b64 %p1, [bar], %rd5, 100; @!%p1 bra $first;
            ld.shared.u32 %r9, [%r6];
            mbarrier.arrive.release.cta.shared::cta.b64 %rd5, [bar], 1;
            $second: mbarrier.test_wait.acquire.cta.shared::cta.b64 %p1, [bar], %rd5;
            @!%p1 bra $second;
            st.shared.u32 [%r5], %r9;
            add.u32 %r7, %r7, 1; setp.lt.u32 %p2, %r7, 5; @%p2 bra $round;
            st.global.u32 [%rd2], %r9;
            """;
    assertThat(run(way, 64, body))
        .containsExactly(IntStream.range(0, 64).map(i -> (i + 5) % 64).toArray());
  }

  /** A phase waits for expected bytes, announced before or after their arrival. */
  @ParameterizedTest
  @MethodSource("ways")
  void expectedBytes(Way way) {
    var body =
        AsyncKernel.make(1)
            + """
            setp.ne.u32 %p2, %r0, 32; @%p2 bra $others;
            mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 48;
            bra $others;
            $others:
            @%p0 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16;
            @%p0 st.shared.u32 [tile], 77;
            @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 32;
            """
            + AsyncKernel.await(0)
            + "ld.shared.u32 %r5, [tile]; st.global.u32 [%rd2], %r5;\n";
    assertThat(run(way, 64, body)).containsOnly(77);
  }

  /**
   * Like ptxas, a parity uses only its lowest bit; Triton writes -1 for 1. The manual permits only
   * 0 and 1, so the sanitizer reports it.
   */
  @ParameterizedTest
  @MethodSource("ways")
  void parityUsesTheLowestBit(Way way) {
    var body =
        AsyncKernel.make(32)
            + "mbarrier.test_wait.parity.shared::cta.b64 %p2, [bar], -1;\n"
            + "mbarrier.test_wait.parity.shared::cta.b64 %p3, [bar], 2;\n"
            + "bar.sync 0;\nmbarrier.arrive.shared::cta.b64 _, [bar];\n"
            + AsyncKernel.await(2)
            + """
            mbarrier.test_wait.parity.shared::cta.b64 %p4, [bar], 0xFFFFFFFF;
            selp.u32 %r5, 1, 0, %p2; selp.u32 %r6, 10, 0, %p3; selp.u32 %r7, 100, 0, %p4;
            add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r7; st.global.u32 [%rd2], %r5;
            """;
    assertThat(AsyncKernel.of(32, body).runUnwatched(way, new int[32])).containsOnly(1);
    assertThat(fault(body)).contains("a parity is 0 or 1, not -1; its lowest bit counts");
  }

  /** A thread that dropped out is not expected in the next phase. */
  @ParameterizedTest
  @MethodSource("ways")
  void arriveDrop(Way way) {
    var body =
        AsyncKernel.make(3)
            + """
            setp.gt.u32 %p2, %r0, 2; @%p2 bra $wait0;
            setp.eq.u32 %p3, %r0, 2;
            @%p3 mbarrier.arrive_drop.shared::cta.b64 _, [bar];
            @!%p3 mbarrier.arrive.shared::cta.b64 _, [bar];
            """
            + AsyncKernel.await(0)
            + """
            bar.sync 0; // or phase 1 may be over before somebody has asked for phase 0
            setp.gt.u32 %p2, %r0, 1; @%p2 bra $wait1;
            mbarrier.arrive.shared::cta.b64 _, [bar];
            """
            + AsyncKernel.await(1)
            + "st.global.u32 [%rd2], 5;\n";
    assertThat(run(way, 32, body)).containsOnly(5);
  }

  /** Arrivals that must not complete a phase, and the number of pending ones. */
  @Test
  void arriveNoComplete() {
    var body =
        """
        mbarrier.init.b64 [%rd5], 40;
        mbarrier.arrive.noComplete.b64 %rd6, [%rd5], 30;
        mbarrier.arrive.noComplete.b64 %rd7, [%rd5], 9;
        mbarrier.pending_count.b64 %r5, %rd6; mbarrier.pending_count.b64 %r6, %rd7;
        mbarrier.test_wait.parity.b64 %p1, [%rd5], 0; selp.u32 %r7, 1, 0, %p1;
        mbarrier.test_wait.parity.b64 %p1, [%rd5], 1; selp.u32 %r8, 1, 0, %p1;
        mbarrier.arrive.b64 _, [%rd5];
        mbarrier.test_wait.parity.b64 %p1, [%rd5], 0; selp.u32 %r9, 1, 0, %p1;
        mbarrier.test_wait.b64 %p1, [%rd5], %rd7; selp.u32 %r10, 1, 0, %p1;
        mbarrier.inval.b64 [%rd5]; mbarrier.init.b64 [%rd5], 1;
        mad.lo.u32 %r5, %r5, 100, %r6; mad.lo.u32 %r5, %r5, 10, %r7; mad.lo.u32 %r5, %r5, 10, %r8;
        mad.lo.u32 %r5, %r5, 10, %r9; mad.lo.u32 %r5, %r5, 10, %r10; st.global.u32 [%rd2], %r5;
        """;
    var generic = "mov.u64 %rd5, bar; cvta.shared.u64 %rd5, %rd5;\n";
    assertThat(run(AsyncKernel.way(AsyncTiming.EAGER), 1, generic + body))
        .containsExactly(40_10_01_11);
  }

  /**
   * Threads of two blocks arrive at the first block's mbarrier, whose state the second cannot read.
   */
  @ParameterizedTest
  @MethodSource("ways")
  void remoteArrival(Way way) {
    var body =
        AsyncKernel.makeInCluster(65)
            + """
            mov.u32 %r10, 0; mapa.shared::cluster.u32 %r5, %r3, %r10;
            mapa.shared::cluster.u32 %r6, %r2, %r10;
            shl.b32 %r7, %r4, 2; add.u32 %r6, %r6, %r7; add.u32 %r8, %r4, 100;
            st.shared::cluster.u32 [%r6], %r8;
            mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];
            @%p0 mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r5], 8;
            setp.eq.u32 %p2, %r4, 32;
            @%p2 mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r5], 16;
            @%p2 mbarrier.arrive.shared::cluster.b64 _, [%r5], 1;
            setp.ne.u32 %p3, %r1, 0; @%p3 bra $end;
            """
            + AsyncKernel.await(0)
            + """
            add.u32 %r7, %r7, %r2; ld.shared.u32 %r9, [%r7+128]; st.global.u32 [%rd2+128], %r9;
            $end: barrier.cluster.arrive; barrier.cluster.wait;
            """;
    var found = new AsyncKernel(body, 2, 32, 2).run(way);
    assertThat(Arrays.copyOfRange(found, 32, 64))
        .containsExactly(IntStream.range(132, 164).toArray());
  }

  /** Copies arrive on completion: as an additional arrival, or as an expected one. */
  @ParameterizedTest
  @MethodSource("ways")
  void copyArrival(Way way) {
    for (var kind : List.of("", ".noinc")) {
      var body =
          AsyncKernel.make(64)
              + """
              shl.b32 %r5, %r0, 2; add.u32 %r6, %r5, %r2;
              cp.async.ca.shared.global [%r6], [%rd3], 4;
              """
              + "cp.async.mbarrier.arrive%s.shared::cta.b64 [bar];\n".formatted(kind)
              + (kind.isEmpty() ? "mbarrier.arrive.shared::cta.b64 _, [bar];\n" : "")
              + AsyncKernel.await(0)
              + """
              add.u32 %r7, %r2, 252; sub.u32 %r7, %r7, %r5; ld.shared.u32 %r8, [%r7]; st.global.u32 [%rd2], %r8;
              """;
      var in = IntStream.range(0, 64).map(i -> 3 * i + 1).toArray();
      assertThat(AsyncKernel.of(64, body).run(way, in))
          .containsExactly(IntStream.range(0, 64).map(i -> 3 * (63 - i) + 1).toArray());
    }
  }

  /** A timed wait returns before the phase completes, and the thread continues. */
  @Test
  void suspendedWait() {
    var body =
        AsyncKernel.make(1)
            + """
            mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0, 1000;
            selp.u32 %r5, 1, 2, %p1; st.global.u32 [%rd2], %r5;
            """;
    for (var way : ways()) {
      assertThat(run(way, 32, body)).as(way.toString()).containsOnly(2);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "mbarrier.arrive.shared::cta.b64 _, [bar+8];| there is no mbarrier at ",
        "mbarrier.init.shared::cta.b64 [bar+8], 0;| an mbarrier expects 1 to 1048575 arrivals, not 0",
        "mbarrier.init.shared::cta.b64 [bar], 3;| is made anew without mbarrier.inval: the mbarrier",
        "st.shared.u64 [bar], 0; mbarrier.arrive.shared::cta.b64 _, [bar];| something was stored over the mbarrier at ",
        "mbarrier.arrive.shared::cta.b64 _, [bar], 9;| 9 arrivals at the mbarrier at ",
        "mbarrier.arrive.shared::cta.b64 _, [bar], 0;| an arrival counts at least once, got 0",
        "mbarrier.arrive_drop.shared::cta.b64 _, [bar], 9;| 9 arrivals are dropped from the mbarrier at ",
        "mbarrier.arrive.noComplete.shared::cta.b64 %rd5, [bar], 3;| .noComplete arrivals complete the phase of the mbarrier",
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 1048576;| 1048576 bytes are pending; the maximum is 1048575, at ",
        "mbarrier.arrive.b64 _, [%rd2];| an mbarrier is in shared memory, not there",
        "mbarrier.arrive.shared::cta.b64 _, [bar+4];| is not a multiple of 8"
      })
  void whatIsWrong(String body, String complaint) {
    // in can be an 8-byte barrier only if it has two words
    var alone = "@!%p0 bra $end;\n" + body + "\n$end:\n";
    assertThat(AsyncKernel.of(2, AsyncKernel.make(3) + alone).fault())
        .contains("thread (0,0,0) of block (0,0,0) of kernel k")
        .contains(complaint);
  }

  @Test
  void staleState() {
    assertThat(
            AsyncKernel.of(
                    1,
                    AsyncKernel.make(1)
                        + """
                        mbarrier.arrive.shared::cta.b64 %rd5, [bar];
                        mbarrier.arrive.shared::cta.b64 _, [bar];
                        mbarrier.test_wait.shared::cta.b64 %p1, [bar], %rd5;
                        """)
                .fault())
        .contains("asks for a phase that is 2 before that of the mbarrier")
        .endsWith("though only the last is known");
  }

  @Test
  void endlessWait() {
    assertThat(
            fault(
                AsyncKernel.make(33)
                    + "mbarrier.arrive.shared::cta.b64 _, [bar];\n"
                    + "@%p0 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 64;\n"
                    + AsyncKernel.await(0)))
        .contains("waits forever: for parity 0 of the mbarrier at ")
        .endsWith("in phase 0, to which 32 of 33 arrivals and 0 of 64 bytes have come");
  }
}

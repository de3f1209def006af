package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Sanitizer messages about asynchronous work: both accesses and the remedy. */
class AsyncSentencesTest {

  private static final String LOAD =
      """
      @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
      @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [bar];
      """;

  private static final String STORE =
      """
      @%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [tile], 128;
      @%p0 cp.async.bulk.commit_group;
      """;

  /** Returns the reports, which are the same under each timing. */
  private static List<String> reports(int threads, String body) {
    var kernel = AsyncKernel.of(threads, body);
    List<String> first = List.of();
    for (var timing : AsyncTiming.values()) {
      var fault =
          catchThrowableOfType(
              KernelFault.class,
              () -> kernel.run(AsyncKernel.way(timing), Sanitize.FULL, new int[64]));
      assertThat(fault).as("a fault in %s", timing).isNotNull();
      if (first.isEmpty()) {
        first = fault.reports();
      }
      assertThat(fault.reports()).isEqualTo(first);
    }
    return first;
  }

  @Test
  void missingWaitForABulkCopy() {
    assertThat(
            reports(
                1,
                AsyncKernel.make(1)
                    + LOAD
                    + "ld.shared.u32 %r5, [tile+4];\n"
                    + AsyncKernel.await(0)))
        .singleElement()
        .asString()
        .contains(
            "\"ld.shared.u32 %r5, [tile+4]\"",
            ": lane 0 of warp 0 reads bytes 4..7 of tile, which lane 0 of warp 0, thread (0,0,0) of"
                + " the same block, \"@%p0 cp.async.bulk.shared::cluster.global",
            ", copies to asynchronously, and this thread does not know that it has finished; ")
        .endsWith(
            "mbarrier.try_wait for the phase that counts its bytes before this instruction would"
                + " order them");
  }

  @Test
  void writtenSource() {
    assertThat(
            reports(
                1,
                "st.shared.u32 [tile], 1; fence.proxy.async;\n"
                    + STORE.replace("128", "16")
                    + "st.shared.u32 [tile], 2;\ncp.async.bulk.wait_group 0;\n"))
        .singleElement()
        .asString()
        .contains("\"st.shared.u32 [tile], 2\"", "copies from asynchronously, ")
        .endsWith("cp.async.bulk.wait_group before this instruction would order them");
  }

  @Test
  void missingProxyFence() {
    assertThat(
            reports(
                32,
                "shl.b32 %r5, %r0, 2; add.u32 %r5, %r5, %r2; st.shared.u32 [%r5], %r0;\n"
                    + "bar.sync 0;\n"
                    + STORE
                    + "@%p0 cp.async.bulk.wait_group 0;\n"))
        .singleElement()
        .asString()
        .contains(
            "lane 0 of warp 0 copies from bytes 0..15 of tile, which lane 0 of warp 0, thread"
                + " (0,0,0) of the same block, \"st.shared.u32 [%r5], %r0\"",
            ", writes, with no proxy fence between the two; "
                + "the PTX memory model requires fence.proxy.async after the first access and before the"
                + " barrier that orders the two (PTX ISA 9.7.9.25.2, 9.7.15.4)");
  }

  @Test
  void copyPendingAtExit() {
    assertThat(reports(1, AsyncKernel.make(1) + LOAD))
        .singleElement()
        .asString()
        .contains(
            ": lane 0 of warp 0 issues a copy that no thread has waited for at the mbarrier at 4096"
                + " when the block ends; ")
        .endsWith("wait with mbarrier.try_wait before the end");
  }

  @Test
  void missingTransactionBytes() {
    assertThat(
            reports(
                1, AsyncKernel.make(1) + LOAD.replace(", 128;", ", 96;") + AsyncKernel.await(0)))
        .singleElement()
        .asString()
        .contains("waits forever: for parity 0 of the mbarrier at 4096 in phase 0")
        .endsWith("to which 1 of 1 arrivals and 128 of 96 bytes have come");
  }

  @Test
  void uninitializedMbarrier() {
    var init = "@%p0 mbarrier.init.shared::cta.b64 [bar], 2;\n";
    assertThat(reports(2, init + "mbarrier.arrive.shared::cta.b64 _, [bar];\n"))
        .singleElement()
        .asString()
        .contains(
            "thread (1,0,0) of block (0,0,0)",
            "uses the mbarrier at 4096 in phase 0, to which 1 of 2 arrivals and 0 of 0 bytes have"
                + " come, which another thread made, and nothing orders the two")
        .endsWith("a barrier of the block between the two would order them");
  }

  @Test
  void phaseOverrun() {
    var arrive = "mbarrier.arrive.shared::cta.b64 _, [bar];\n";
    assertThat(reports(1, AsyncKernel.make(1) + arrive + arrive))
        .singleElement()
        .asString()
        .contains(
            "arrives at the mbarrier at 4096 in phase 1, to which 0 of 1 arrivals and 0 of 0 bytes"
                + " have come, but no thread has observed the end of the previous phase")
        .endsWith("otherwise a thread that waits for its parity may wait forever");
  }

  /** Copies that no lane reads for leave zeros, whatever the copy before them read. */
  @Test
  void copyThatReadsNothing() {
    var body =
        """
        mul.lo.u32 %r5, %r0, 4;
        add.u32 %r6, %r2, %r5;
        setp.ge.u32 %p1, %r0, 0;
        cp.async.ca.shared.global [%r6], [%rd3], 4, %p1;
        cp.async.wait_all;
        ld.shared.u32 %r7, [%r6];
        st.global.u32 [%rd2], %r7;
        """;
    var ones = new int[32];
    Arrays.fill(ones, 1);
    for (var timing : AsyncTiming.values()) {
      assertThat(AsyncKernel.of(32, body).run(AsyncKernel.way(timing), Sanitize.FULL, ones))
          .as("with %s", timing)
          .containsOnly(0);
    }
  }
}

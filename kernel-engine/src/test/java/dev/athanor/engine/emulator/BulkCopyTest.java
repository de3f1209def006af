package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.SampleRig.Way;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Asynchronous bulk copies. */
class BulkCopyTest {

  private static final int[] IN = IntStream.range(0, 64).map(i -> 7 * i + 3).toArray();

  private static final String LOAD =
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 256,"
          + " [bar];\n";
  private static final String COMMIT = "cp.async.bulk.commit_group;\n";

  /** Computes the address of the thread's word of the tile. */
  private static final String WORD = "shl.b32 %r5, %r0, 2; add.u32 %r5, %r5, %r2;\n";

  static List<Way> ways() {
    return AsyncKernel.ways();
  }

  private static int[] twice(int[] words) {
    return Arrays.stream(words).map(i -> 2 * i).toArray();
  }

  private static final String LOADED =
      AsyncKernel.make(1)
          + "@!%p0 bra $wait0;\n"
          + "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;\n"
          + LOAD
          + AsyncKernel.await(0);

  @ParameterizedTest
  @MethodSource("ways")
  void copiesInAndOut(Way way) {
    var body =
        LOADED
            + WORD
            + """
            ld.shared.u32 %r6, [%r5]; shl.b32 %r6, %r6, 1; st.shared.u32 [%r5], %r6;
            fence.proxy.async.shared::cta; bar.sync 0;
            @!%p0 bra $end;
            cp.async.bulk.global.shared::cta.bulk_group [%rd0], [tile], 256;
            """
            + COMMIT
            + "cp.async.bulk.wait_group 0;\n$end:\n";
    assertThat(AsyncKernel.of(64, body).run(way, IN)).containsExactly(twice(IN));
  }

  /** Without a wait, a thread reads the poison pattern. */
  @Test
  void readBeforeCompletion() {
    var body =
        LOADED.replace(AsyncKernel.await(0), "$wait0:\n")
            + WORD
            + "bar.sync 0; ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd2], %r6;\n";
    var kernel = AsyncKernel.of(64, body);
    assertThat(kernel.runUnwatched(AsyncKernel.way(AsyncTiming.EAGER), IN)).containsExactly(IN);
    assertThat(kernel.runUnwatched(AsyncKernel.way(AsyncTiming.LAZY), IN)).isNotEqualTo(IN);
    assertThat(kernel.runUnwatched(AsyncKernel.way(AsyncTiming.REORDERED), IN)).isNotEqualTo(IN);
  }

  /** Overwriting a source before it has been read is visible; waiting for reads suffices. */
  @Test
  void overwrittenSource() {
    var body =
        """
        ld.global.u32 %r6, [%rd3]; st.shared.u32 [%r5], %r6; fence.proxy.async; bar.sync 0;
        @%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [tile], 256;
        @%p0 cp.async.bulk.commit_group;
        @%p0 cp.async.bulk.wait_group.read 0;
        bar.sync 0; st.shared.u32 [%r5], 0;
        @%p0 cp.async.bulk.wait_group 0;
        """;
    var right = AsyncKernel.of(64, WORD + body);
    var wrong =
        AsyncKernel.of(64, WORD + body.replace("@%p0 cp.async.bulk.wait_group.read 0;\n", ""));
    for (var way : ways()) {
      assertThat(right.run(way, IN)).as(way.toString()).containsExactly(IN);
    }
    assertThat(wrong.runUnwatched(AsyncKernel.way(AsyncTiming.EAGER), IN)).containsExactly(IN);
    assertThat(wrong.runUnwatched(AsyncKernel.way(AsyncTiming.LAZY), IN)).containsOnly(0);
  }

  /** The newest group may be pending. */
  @Test
  void waitsForOlderGroups() {
    var body =
        WORD
            + """
            ld.global.u32 %r6, [%rd3]; st.shared.u32 [%r5], %r6; fence.proxy.async; bar.sync 0;
            @!%p0 bra $end;
            cp.async.bulk.global.shared::cta.bulk_group [%rd0], [tile], 128;
            cp.async.bulk.commit_group;
            cp.async.bulk.global.shared::cta.bulk_group [%rd0+128], [tile+128], 128;
            cp.async.bulk.commit_group;
            cp.async.bulk.wait_group 1;
            $end:
            """;
    var found = AsyncKernel.of(64, body).runUnwatched(AsyncKernel.way(AsyncTiming.LAZY), IN);
    assertThat(Arrays.copyOf(found, 32)).containsExactly(Arrays.copyOf(IN, 32));
    assertThat(Arrays.copyOfRange(found, 32, 64)).isNotEqualTo(Arrays.copyOfRange(IN, 32, 64));
  }

  /** Blocks 0, 2 and 3 of a cluster receive the row, each with its own mbarrier. */
  @ParameterizedTest
  @MethodSource("ways")
  void multicast(Way way) {
    var body =
        AsyncKernel.makeInCluster(1)
            + """
            setp.eq.u32 %p3, %r1, 1; @%p3 bra $late;
            @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;
            setp.eq.u32 %p2, %r4, 128; @!%p2 bra $wait0;
            mov.b16 %h0, 13;
            cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [tile], [%rd1], 256, [bar], %h0;
            """
            + AsyncKernel.await(0)
            + WORD
            + """
            ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd2], %r6;
            $late: barrier.cluster.arrive; barrier.cluster.wait;
            """;
    var found = new AsyncKernel(body, 4, 64, 4).run(way, IN);
    for (int block = 0; block < 4; block++) {
      assertThat(Arrays.copyOfRange(found, 64 * block, 64 * block + 64))
          .containsExactly(block == 1 ? new int[64] : IN);
    }
  }

  /** Copies from the shared memory of one block to another, whose mbarrier is signaled. */
  @ParameterizedTest
  @MethodSource("ways")
  void copiesToAPeerBlock(Way way) {
    var body =
        AsyncKernel.makeInCluster(1)
            + WORD
            + """
            add.u32 %r6, %r4, 1000; st.shared.u32 [%r5], %r6; fence.proxy.async; bar.sync 0;
            @!%p0 bra $wait0;
            mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
            xor.b32 %r7, %r1, 1; mapa.shared::cluster.u32 %r8, %r2, %r7;
            mapa.shared::cluster.u32 %r9, %r3, %r7;
            cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r8+1024], [tile], 128, [%r9];
            """
            + AsyncKernel.await(0)
            + """
            ld.shared.u32 %r6, [%r5+1024]; st.global.u32 [%rd2], %r6;
            barrier.cluster.arrive; barrier.cluster.wait;
            """;
    assertThat(new AsyncKernel(body, 2, 32, 2).run(way))
        .containsExactly(IntStream.range(0, 64).map(i -> 1000 + (i + 32) % 64).toArray());
  }

  @ParameterizedTest
  @MethodSource("ways")
  void storesAsynchronouslyToAPeerBlock(Way way) {
    var body =
        AsyncKernel.makeInCluster(1)
            + WORD
            + """
            @%p0 st.shared.u32 [tile+2048], 5;
            barrier.cluster.arrive; barrier.cluster.wait;
            @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 384;
            xor.b32 %r7, %r1, 1; mapa.shared::cluster.u32 %r8, %r2, %r7;
            mapa.shared::cluster.u32 %r9, %r3, %r7; shl.b32 %r10, %r0, 3; add.u32 %r10, %r10, %r8;
            add.u32 %r11, %r4, 50; add.u32 %r12, %r4, 90;
            st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r10], {%r11, %r12}, [%r9];
            red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r8+2048], %r0, [%r9];
            """
            + AsyncKernel.await(0)
            + """
            shl.b32 %r10, %r0, 3; add.u32 %r10, %r10, %r2; ld.shared.v2.u32 {%r11, %r12}, [%r10];
            ld.shared.u32 %r13, [tile+2048]; mad.lo.u32 %r11, %r11, 1000, %r12;
            add.u32 %r11, %r11, %r13; st.global.u32 [%rd2], %r11;
            barrier.cluster.arrive; barrier.cluster.wait;
            """;
    assertThat(new AsyncKernel(body, 2, 32, 2).run(way))
        .containsExactly(
            IntStream.range(0, 64)
                .map(i -> (i + 32) % 64)
                .map(i -> (i + 50) * 1000 + i + 90 + 5 + 31 * 16)
                .toArray());
  }

  @ParameterizedTest
  @CsvSource({
    "add.u32, 12",
    "add.s32, 12",
    "min.u32, 2",
    "max.u32, 10",
    "min.s32, 2",
    "and.b32, 2",
    "or.b32, 10",
    "xor.b32, 8",
    "inc.u32, 0",
    "dec.u32, 2"
  })
  void reductions(String operation, int expected) {
    // memory holds 10 and the operand is 2: inc wraps to 0, dec wraps to the bound
    var body =
        WORD
            + """
            st.global.u32 [%rd2], 10; st.shared.u32 [%r5], 2; fence.proxy.async; bar.sync 0;
            @%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.OP [%rd0], [tile], 128;
            @%p0 cp.async.bulk.commit_group;
            @%p0 cp.async.bulk.wait_group 0;
            """
                .replace("OP", operation);
    assertThat(AsyncKernel.of(32, body).run(AsyncKernel.way(AsyncTiming.LAZY)))
        .containsOnly(expected);
  }

  /** Blocks add to one row of floats; sums of small integers are exact in any order. */
  @ParameterizedTest
  @MethodSource("ways")
  void reducesFromAllBlocks(Way way) {
    var body =
        WORD
            + """
            cvt.rn.f32.u32 %r6, %r1; st.shared.b32 [%r5], %r6; fence.proxy.async; bar.sync 0;
            @%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd0], [tile], 128;
            @%p0 cp.async.bulk.commit_group;
            @%p0 cp.async.bulk.wait_group 0;
            """;
    var found = new AsyncKernel(body, 5, 32, 1).run(way);
    assertThat(Arrays.copyOf(found, 32)).containsOnly(Float.floatToRawIntBits(10));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[tile], [%rd1], 40, [bar]| copies a multiple of 16 bytes, got 40",
        "[tile], [%rd1], 0, [bar]| copies a multiple of 16 bytes, got 0",
        "[tile], [%rd1], 4096, [bar]| touches bytes 0..4095 of ",
        "[tile+8], [%rd1], 16, [bar]| address 0x8 is not a multiple of 16",
        "[tile], [%rd1+4], 16, [bar]| is not a multiple of 16",
        "[tile+4096], [%rd1], 64, [bar]| touches bytes ",
        "[tile], [%rd1], 16, [bar+8]| there is no mbarrier at "
      })
  void whatIsWrong(String operands, String complaint) {
    assertThat(
            AsyncKernel.of(
                    32,
                    AsyncKernel.make(1)
                        + "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                        + operands
                        + ";\n")
                .fault())
        .contains(complaint);
  }

  @Test
  void absentBlocks() {
    assertThat(
            AsyncKernel.of(
                    32,
                    AsyncKernel.make(1)
                        + "mov.b16 %h0, 2;\n@%p0 "
                        + LOAD.replace("bytes ", "bytes.multicast::cluster ")
                            .replace("256", "16")
                            .replace("[bar];", "[bar], %h0;"))
                .fault())
        .endsWith("goes to block 1 of the cluster, which has 1");
  }

  @Test
  void mbarrierInAnotherBlockThanTheTarget() {
    var body =
        AsyncKernel.makeInCluster(1)
            + """
            mov.u32 %r7, 1; mapa.shared::cluster.u32 %r9, %r3, %r7;
            @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 16, [%r9];
            barrier.cluster.arrive; barrier.cluster.wait;
            """;
    assertThat(new AsyncKernel(body, 2, 32, 2).fault())
        .endsWith("the mbarrier is not in the block to whose memory it copies");
  }

  /** An mbarrier and a group each track many pending copies, in a thread with a small stack. */
  @ParameterizedTest
  @EnumSource(AsyncTiming.class)
  void manyConcurrentCopies(AsyncTiming timing) {
    var body =
        AsyncKernel.make(1)
            + """
            @!%p0 bra $end;
            mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 320000;
            mov.u32 %r8, 0;
            $more:
            cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 16, [bar];
            add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 20000; @%p2 bra $more;
            """
            + AsyncKernel.await(0)
            + """
            mov.u32 %r8, 0;
            $again:
            cp.async.bulk.global.shared::cta.bulk_group [%rd0], [tile], 16;
            add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 20000; @%p2 bra $again;
            cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
            $end:
            """;
    var found = new CompletableFuture<int[]>();
    var kernel = AsyncKernel.of(32, body);
    var thread =
        new Thread(
            null,
            () -> found.complete(kernel.runUnwatched(AsyncKernel.way(timing), IN)),
            "small",
            256 << 10);
    thread.setUncaughtExceptionHandler((_, e) -> found.completeExceptionally(e));
    thread.start();
    assertThat(found.join()).startsWith(3, 10, 17, 24);
  }
}

package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.device.TensorMap.Element;
import dev.athanor.engine.device.TensorMap.SwizzleMode;
import dev.athanor.engine.emulator.SampleRig.Way;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Multicast of a tile to several blocks of a cluster. */
class TensorMulticastTest {

  private static final int COLUMNS = 32;
  private static final int BOX_ROWS = 8;
  private static final int WORDS = COLUMNS * BOX_ROWS;

  /**
   * Returns a kernel in which the block of one rank copies a tile of 1024 bytes, from row 8 times
   * the cluster's index, to the blocks of a mask, each of which waits at its own mbarrier. Then
   * each block writes its tile to {@code out}; blocks without a tile write -1.
   */
  private static String kernel(int cluster, int issuer, int mask) {
    return """
    .version 8.6
    .target sm_90a
    .address_size 64
    .visible .entry k(.param .align 64 .b8 map[128], .param .u64 out) .reqnctapercluster CLUSTER, 1, 1
    {
    .shared .align 1024 .b8 tile[1024]; .shared .align 8 .b8 bar[8];
    .reg .pred %p<8>; .reg .b16 %h<2>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
    mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0; ld.param.u64 %rd1, [out];
    mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.u32 %r1, %cluster_ctarank;
    shl.b32 %r2, %r0, 2; mov.u32 %r3, tile; add.u32 %r2, %r2, %r3;
    st.shared.s32 [%r2], -1;
    fence.proxy.async;
    @%p0 mbarrier.init.shared::cta.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive; barrier.cluster.wait;
    mov.u32 %r4, 1; shl.b32 %r4, %r4, %r1; and.b32 %r4, %r4, MASK; setp.ne.u32 %p1, %r4, 0;
    and.pred %p2, %p0, %p1;
    @%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;
    setp.eq.and.u32 %p3, %r1, ISSUER, %p0; @!%p3 bra $issued;
    mov.u32 %r5, %clusterid.x; shl.b32 %r5, %r5, 3; mov.u32 %r6, 0; mov.b16 %h0, MASK;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [tile], [%rd0, {%r6, %r5}], [bar], %h0;
    $issued: @!%p1 bra $got;
    $wait: mbarrier.try_wait.parity.shared::cta.b64 %p4, [bar], 0; @!%p4 bra $wait;
    $got: ld.shared.u32 %r7, [%r2];
    mov.u32 %r8, %ctaid.x; mad.lo.u32 %r8, %r8, 256, %r0; mul.wide.u32 %rd2, %r8, 4;
    add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r7;
    barrier.cluster.arrive; barrier.cluster.wait;
    ret;
    }
    """
        .replace("CLUSTER", String.valueOf(cluster))
        .replace("ISSUER", String.valueOf(issuer))
        .replace("MASK", String.valueOf(mask));
  }

  private static TensorMap map(int rows) {
    return TensorMap.matrix(Element.U32, rows, COLUMNS, BOX_ROWS, COLUMNS)
        .withSwizzle(SwizzleMode.BYTES_128);
  }

  private static int[] run(Way way, String kernel, int blocks, int[] tensor) {
    try (var rig = new SampleRig(way, kernel)) {
      var out = rig.buffer(new int[WORDS * blocks]);
      rig.run(
          "k",
          Dim3.of(blocks),
          Dim3.of(WORDS),
          0,
          Argument.of(map(tensor.length / COLUMNS), rig.buffer(tensor)),
          out);
      return rig.ints(out);
    }
  }

  /** Checks the tiles of two clusters; the second reads beyond the tensor's last row. */
  private static void expect(Way way, int cluster, int issuer, int mask) {
    var tensor = IntStream.rangeClosed(1, COLUMNS * (2 * BOX_ROWS - 3)).toArray();
    var found = run(way, kernel(cluster, issuer, mask), 2 * cluster, tensor);
    for (int block = 0; block < 2 * cluster; block++) {
      var expected = new int[WORDS];
      if ((mask >> (block % cluster) & 1) == 0) {
        Arrays.fill(expected, -1);
      } else {
        var tile =
            Arrays.copyOfRange(
                Arrays.copyOf(tensor, 2 * WORDS),
                WORDS * (block / cluster),
                WORDS * (block / cluster + 1));
        Arrays.setAll(expected, i -> tile[i ^ (i / COLUMNS % 8 * 4)]);
      }
      assertThat(Arrays.copyOfRange(found, WORDS * block, WORDS * (block + 1)))
          .as("block %d, cluster of %d, mask %d from %d, %s", block, cluster, mask, issuer, way)
          .isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @MethodSource("dev.athanor.engine.emulator.AsyncKernel#ways")
  void blocksOfAMask(Way way) {
    expect(way, 2, 0, 0b11);
    expect(way, 2, 1, 0b01);
    expect(way, 4, 0, 0b1101);
    expect(way, 4, 3, 0b1111);
    expect(way, 4, 2, 0b0010);
  }

  @Test
  void maskBeyondTheCluster() {
    var fault =
        catchThrowableOfType(
            KernelFault.class,
            () -> run(AsyncKernel.way(AsyncTiming.LAZY), kernel(2, 0, 0b101), 2, new int[512]));
    assertThat(fault.reports().getFirst())
        .contains("cp.async.bulk.tensor.2d")
        .endsWith("goes to block 2 of the cluster, which has 2");
  }

  /**
   * Each block counts separately: without expected bytes, a block waits although the tile has
   * arrived.
   */
  @Test
  void missingExpectedBytes() {
    var forgets =
        kernel(2, 0, 0b11).replace("and.pred %p2, %p0, %p1;", "setp.eq.and.u32 %p2, %r1, 1, %p0;");
    var fault =
        catchThrowableOfType(
            KernelFault.class,
            () -> run(AsyncKernel.way(AsyncTiming.LAZY), forgets, 2, new int[512]));
    assertThat(fault.reports().getFirst())
        .contains("waits forever: for parity 0 of the mbarrier")
        .endsWith("to which 0 of 1 arrivals and 1024 of 0 bytes have come");
  }
}

package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.ptx.text.Parser;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Co-resident blocks of a cluster. */
class ClusterTest {

  private static final String HEAD =
      """
      .version 8.0
      .target sm_90
      .address_size 64
      .visible .entry k(.param .u64 out) .reqnctapercluster 2, 2, 1
      {
        .shared .align 4 .u32 cell[1];
        .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<8>;
        ld.param.u64 %rd0, [out];
        mov.u32 %r0, %cluster_ctarank; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y;
        mov.u32 %r3, %nctaid.x; mad.lo.u32 %r4, %r2, %r3, %r1;
        mul.wide.u32 %rd1, %r4, 4; add.u64 %rd1, %rd0, %rd1;
      """;

  private static int[] run(EmulatorOptions options, String body, Dim3 grid) {
    try (var rig = new Rig(options);
        var stream = rig.device().openStream()) {
      var out = rig.ints(new int[(int) grid.count()]);
      var module = Parser.parse(HEAD + body + "ret;\n}\n", "cluster.ptx");
      stream.launch(
          new Launch(
              rig.device().load(module, "k"), grid, Dim3.of(1), 0, List.of(Argument.of(out))));
      return rig.read(out);
    }
  }

  /** Each of four blocks reads what its right neighbor wrote. */
  @ParameterizedTest
  @EnumSource(Schedule.class)
  void blocksReadPeerSharedMemory(Schedule schedule) {
    var body =
        """
        st.shared.u32 [cell], %r4;
        barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
        add.u32 %r5, %r0, 1; and.b32 %r5, %r5, 3;
        mov.u32 %r6, cell; mapa.shared::cluster.u32 %r7, %r6, %r5;
        ld.shared::cluster.u32 %r8, [%r7];
        getctarank.shared::cluster.u32 %r9, %r7; mad.lo.u32 %r8, %r9, 100, %r8;
        st.global.u32 [%rd1], %r8;
        barrier.cluster.arrive; barrier.cluster.wait;
        """;
    // ranks in a cluster: (0,0)=0 (1,0)=1 (0,1)=2 (1,1)=3
    assertThat(run(EmulatorOptions.DEFAULT.withSchedule(schedule), body, new Dim3(4, 2, 1)))
        .containsExactly(101, 204, 103, 206, 305, 0, 307, 2);
  }

  @Test
  void genericAddressesReachPeers() {
    var body =
        """
        barrier.cluster.arrive; barrier.cluster.wait;
        mov.u64 %rd2, cell; cvta.shared.u64 %rd2, %rd2; xor.b32 %r5, %r0, 1;
        mapa.u64 %rd3, %rd2, %r5; st.u32 [%rd3], %r4;
        getctarank.u64 %r9, %rd3; isspacep.shared::cluster %p0, %rd3;
        isspacep.shared::cta %p1, %rd3;
        barrier.cluster.arrive; barrier.cluster.wait;
        ld.shared.u32 %r8, [cell]; mad.lo.u32 %r8, %r9, 10, %r8;
        selp.u32 %r10, 100, 0, %p0; selp.u32 %r11, 1000, 0, %p1; add.u32 %r8, %r8, %r10;
        add.u32 %r8, %r8, %r11; st.global.u32 [%rd1], %r8;
        """;
    assertThat(run(EmulatorOptions.DEFAULT, body, new Dim3(2, 2, 1)))
        .containsExactly(111, 100, 133, 122);
  }

  @Test
  void clusterRegisters() {
    var body =
        """
        mov.u32 %r5, %clusterid.x; mov.u32 %r6, %nclusterid.x; mov.u32 %r7, %cluster_ctaid.y;
        mov.u32 %r8, %cluster_nctarank; mad.lo.u32 %r5, %r6, 10, %r5; mad.lo.u32 %r5, %r7, 100, %r5;
        mad.lo.u32 %r5, %r8, 1000, %r5; st.global.u32 [%rd1], %r5;
        """;
    assertThat(run(EmulatorOptions.DEFAULT, body, new Dim3(4, 2, 1)))
        .containsExactly(4020, 4020, 4021, 4021, 4120, 4120, 4121, 4121);
  }

  private static List<String> faults(String body) {
    return catchThrowableOfType(
            KernelFault.class,
            () -> run(EmulatorOptions.DEFAULT.withPatience(1 << 14), body, new Dim3(2, 2, 1)))
        .reports();
  }

  @Test
  void reportsBlocksThatNeverArrive() {
    var reports =
        faults(
            """
            setp.eq.u32 %p0, %r0, 3;
            @%p0 bra $wait;
            barrier.cluster.arrive; barrier.cluster.wait;
            bra $end;
            $wait: bar.sync 1, 64;
            $end:
            """);
    assertThat(reports).hasSize(4);
    assertThat(reports.getFirst())
        .contains("block (0,0,0)")
        .endsWith("waits forever: 1 threads of the cluster have not arrived at its barrier");
    assertThat(reports.getLast())
        .contains("block (1,1,0)")
        .endsWith("waits forever at barrier 1; 32 of 64 threads arrived");
  }

  @Test
  void reportsWaitWithoutArrival() {
    assertThat(faults("barrier.cluster.wait;\n").getFirst())
        .endsWith("waits at the barrier of the cluster, at which it has not arrived");
  }

  @Test
  void reportsDoubleArrival() {
    assertThat(faults("barrier.cluster.arrive; barrier.cluster.arrive;\n").getFirst())
        .endsWith("arrives at the barrier of the cluster again before it has waited");
  }

  @Test
  void reportsAbsentBlocks() {
    assertThat(
            faults(
                    """
                    mov.u32 %r6, cell; mapa.shared::cluster.u32 %r7, %r6, 4;
                    ld.shared::cluster.u32 %r8, [%r7];
                    """)
                .getFirst())
        .endsWith(
            "touches bytes 0..3 of 4 bytes of the shared memory of block 4 of the 4 of the"
                + " cluster");
  }

  @Test
  void rejectsInvalidClusters() {
    var refused =
        catchThrowableOfType(
            IllegalArgumentException.class,
            () -> run(EmulatorOptions.DEFAULT, "", new Dim3(3, 2, 1)));
    assertThat(refused)
        .hasMessage(
            "cannot launch k: got a grid of 3x2x1 blocks, which is not a multiple of the clusters"
                + " of 2x2x1");
  }
}

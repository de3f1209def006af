package dev.athanor.engine.emulator.sanitizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.memory.Fault;
import dev.athanor.engine.emulator.memory.GlobalMemory;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.run.ClusterRunner;
import dev.athanor.engine.emulator.run.LaunchedKernel;
import dev.athanor.engine.emulator.step.LaunchContext;
import dev.athanor.engine.emulator.step.PrintBuffer;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.text.Parser;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Launches with more synchronizations than the sanitizer's clocks can count. */
class EndOfTimeTest {

  /** Each thread writes a word of shared memory and reads it after a barrier. */
  private static final String KERNEL =
      """
      .version 7.8
      .target sm_80
      .address_size 64
      .visible .entry steps() {
        .shared .align 4 .b8 tile[256];
        .reg .b32 %r<4>;
        mov.u32 %r0, %tid.x;
        shl.b32 %r1, %r0, 2;
        mov.u32 %r2, tile;
        add.u32 %r1, %r1, %r2;
        st.shared.u32 [%r1], %r0;
        bar.sync 0;
        ld.shared.u32 %r3, [%r1];
        bar.sync 0;
        ret;
      }
      """;

  private static ClusterRunner cluster(boolean races) {
    try (var device = new EmulatedDevice()) {
      var loaded = device.load(Parser.parse(KERNEL, "steps.ptx"), "steps");
      var program = EmulatedDevice.program(loaded);
      var context =
          new LaunchContext(
              program.code().kernel(),
              Dim3.of(1000),
              Dim3.of(64),
              Dim3.of(1),
              256,
              program.code().variables().constants(),
              new Memory.Small(Space.PARAM, MemorySegment.ofArray(new byte[0])),
              new GlobalMemory(1 << 20, true).snapshot(),
              EmulatorOptions.DEFAULT,
              0,
              new PrintBuffer());
      return new ClusterRunner(
          LaunchedKernel.of(
              0, program, context, launch -> new SanitizedLaunch(launch, races, Set.of())),
          _ -> false);
    }
  }

  private static ClusterHistory history(ClusterRunner cluster) {
    return ((SanitizedLaunch.Clusters) Objects.requireNonNull(cluster.cluster().observer()))
        .history;
  }

  private static void goOn(ClusterRunner cluster, int until) {
    var clocks = history(cluster).clocks;
    while (clocks.now(1) < until) {
      clocks.tick(1);
    }
  }

  @Test
  void stopsAfterTooManySynchronizations() {
    var cluster = cluster(true);
    cluster.run(0);
    goOn(cluster, AccessStamp.END_OF_TIME - 100);
    int last = 0;
    Fault fault = null;
    while (fault == null && last < 100) {
      int number = ++last;
      fault = catchThrowableOfType(Fault.class, () -> cluster.run(number));
    }
    assertThat(last).as("the first clusters still fit").isBetween(10, 99);
    assertThat(fault)
        .isNotNull()
        .hasMessageMatching(
            "thread \\(\\d+,0,0\\) of block \\(%d,0,0\\) of kernel steps, \".*shared.*\" at steps.ptx:1\\d(:\\d+)?: the sanitizer tells 268435456 synchronizations or asynchronous operations of a launch apart, and this launch has more; launch fewer blocks at once, or check with athanor.sanitize=memory"
                .formatted(last));
    // no false race is reported
    assertThat(history(cluster).launch.reports.all()).isEmpty();
  }

  @Test
  void accessesDoNotExhaustClocks() {
    var cluster = cluster(false);
    goOn(cluster, AccessStamp.END_OF_TIME + 100);
    cluster.run(1);
    assertThat(history(cluster).launch.reports.all()).isEmpty();
  }
}

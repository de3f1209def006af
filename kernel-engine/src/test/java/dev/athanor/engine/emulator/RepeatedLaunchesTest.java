package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Launches of one kernel are isolated, although they share its program and clusters. */
class RepeatedLaunchesTest {

  /** Each thread adds {@code n} and the size of the grid to its word. */
  private static final String ADD =
      """
      ld.global.u32 %r5, [%rd3]; mov.u32 %r6, %nctaid.x;
      add.u32 %r5, %r5, %r2; add.u32 %r5, %r5, %r6; st.global.u32 [%rd2], %r5;
      """;

  /** Each thread reads shared memory that an earlier launch has written. */
  private static final String COUNT =
      """
      mov.u32 %r5, tile; mul.lo.u32 %r6, %r0, 4; add.u32 %r5, %r5, %r6;
      setp.eq.u32 %p0, %r2, 1; @%p0 st.shared.u32 [%r5], 7;
      ld.shared.u32 %r7, [%r5]; st.global.u32 [%rd2], %r7;
      """;

  private static Rig rig(Execution execution) {
    return new Rig(
        EmulatorOptions.DEFAULT.withExecution(execution).withSanitize(Sanitize.OFF).withWorkers(2));
  }

  @ParameterizedTest
  @EnumSource(Execution.class)
  void launchesHaveSeparateArgumentsAndShapes(Execution execution) {
    try (var rig = rig(execution)) {
      for (int i = 0; i < 20; i++) {
        int blocks = 1 + i / 3 % 3;
        int[] in = IntStream.range(100 * i, 100 * i + 32 * blocks).toArray();
        int n = in.length;
        assertThat(rig.run(ADD, blocks, 32, in))
            .containsExactly(IntStream.of(in).map(x -> x + n + blocks).toArray());
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Execution.class)
  void detectsBuffersClosedBetweenLaunches(Execution execution) {
    try (var rig = rig(execution);
        var out = rig.ints(new int[32])) {
      var in = rig.ints(IntStream.range(0, 32).toArray());
      var stale = new Argument.Scalar(Type.U64, in.address());
      rig.run(ADD, Dim3.of(1), Dim3.of(32), Argument.of(out), stale, 1);
      assertThat(rig.read(out)).containsExactly(IntStream.range(2, 34).toArray());
      in.close();
      assertThatThrownBy(() -> rig.run(ADD, Dim3.of(1), Dim3.of(32), Argument.of(out), stale, 1))
          .isInstanceOf(KernelFault.class)
          .hasMessageContaining(
              "touches bytes 0..3 of a buffer of 128 bytes at 0x%x, which is closed"
                  .formatted(in.address()));
      // including a launch after a failed one
      assertThat(rig.run(ADD, 1, 32, new int[32])).containsOnly(33);
    }
  }

  @ParameterizedTest
  @EnumSource(Execution.class)
  void sharedMemoryDoesNotPersist(Execution execution) {
    try (var rig = rig(execution)) {
      assertThat(rig.run(COUNT, 1, 32, 0)).containsOnly(7);
      assertThat(rig.run(COUNT, 1, 32)).doesNotContain(7);
    }
  }

  @ParameterizedTest
  @EnumSource(Execution.class)
  void concurrentLaunchesAreIsolated(Execution execution) throws Exception {
    try (var rig = rig(execution);
        var threads = Executors.newFixedThreadPool(4)) {
      var launches = new ArrayList<Callable<int[]>>();
      for (int i = 0; i < 64; i++) {
        int[] in = IntStream.range(i, i + 64).toArray();
        launches.add(() -> rig.run(ADD, 2, 32, in));
      }
      var results = threads.invokeAll(launches);
      for (int i = 0; i < results.size(); i++) {
        assertThat(results.get(i).get())
            .containsExactly(IntStream.range(i + 66, i + 130).toArray());
      }
    }
  }
}

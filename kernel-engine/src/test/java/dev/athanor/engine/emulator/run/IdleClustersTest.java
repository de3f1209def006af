package dev.athanor.engine.emulator.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.memory.GlobalMemory;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.sanitizer.SanitizedLaunch;
import dev.athanor.engine.emulator.step.LaunchContext;
import dev.athanor.engine.emulator.step.PrintBuffer;
import dev.athanor.engine.emulator.watch.LaunchObserver;
import dev.athanor.engine.ptx.text.Parser;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class IdleClustersTest {

  private final EmulatorOptions options = EmulatorOptions.DEFAULT;
  private final EmulatedDevice device = new EmulatedDevice(options);
  private final GlobalMemory memory = new GlobalMemory(1 << 20, false);
  private final IdleClusters idle = new IdleClusters();

  private LoadedProgram program(String name) {
    var text =
        """
        .version 7.8
        .target sm_90
        .address_size 64
        .visible .entry %s() { ret; }
        """
            .formatted(name);
    var module = Parser.parse(text, "test.ptx");
    return EmulatedDevice.program(device.load(module, name));
  }

  private LaunchedKernel launch(
      LoadedProgram program, int blocks, LaunchObserver.@Nullable Factory observers) {
    return LaunchedKernel.of(
        0,
        program,
        new LaunchContext(
            program.code().kernel(),
            Dim3.of(blocks),
            Dim3.of(32),
            Dim3.of(1),
            0,
            program.code().variables().constants(),
            memory.allocate(8),
            memory.snapshot(),
            options,
            0,
            new PrintBuffer()),
        observers);
  }

  private ClusterRunner take(LaunchedKernel launch) {
    return idle.take(launch, _ -> false);
  }

  @Test
  void keepsTheLastUsedClusters() {
    var program = program("one");
    int shapes = IdleClusters.MOST + 8;
    Map<Integer, ClusterRunner> used = new HashMap<>();
    for (int blocks = 1; blocks <= shapes; blocks++) {
      var launch = launch(program, blocks, null);
      var cluster = take(launch);
      idle.keep(launch, cluster);
      used.put(blocks, cluster);
    }
    for (int blocks = 1; blocks <= shapes; blocks++) {
      var cluster = take(launch(program, blocks, null));
      if (blocks <= shapes - IdleClusters.MOST) {
        assertThat(cluster).isNotSameAs(used.get(blocks));
      } else {
        assertThat(cluster).isSameAs(used.get(blocks));
      }
    }
    var last = launch(program, shapes, null);
    assertThat(take(last)).as("it is in use").isNotSameAs(used.get(shapes));
  }

  @Test
  void separatesPrograms() {
    var launch = launch(program("one"), 1, null);
    var cluster = take(launch);
    idle.keep(launch, cluster);
    assertThat(take(launch(program("other"), 1, null))).isNotSameAs(cluster);
  }

  @Test
  void doesNotKeepObservedClusters() {
    var launch =
        launch(program("one"), 1, launched -> new SanitizedLaunch(launched, false, Set.of()));
    var cluster = take(launch);
    idle.keep(launch, cluster);
    assertThat(take(launch)).isNotSameAs(cluster);
  }
}

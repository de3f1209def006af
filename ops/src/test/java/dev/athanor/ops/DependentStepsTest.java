package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.run.HostRun;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A plan whose second step is a dependent launch. */
class DependentStepsTest {

  private static final int THREADS = 96;
  private static final TensorType VECTOR = new TensorType(DType.I32, Shape.of(THREADS));

  /** Adds 1 to the element of the neighbor. */
  private record Increment(boolean waits) implements Variant {
    @Override
    public String name() {
      return waits ? "increment_waits" : "increment";
    }

    @Override
    public Kernel build() {
      return KernelBuilder.build(
          name(),
          THREADS,
          k -> {
            var from = k.pointer("from", Type.S32);
            var to = k.pointer("to", Type.S32);
            var neighbor = k.thread().xor(k.integer(1));
            k.launchDependents();
            if (waits) {
              k.awaitPreviousGrid();
            }
            to.store(k.thread(), from.load(neighbor).integer().plus(1).value());
          });
    }
  }

  private static LaunchPlan plan(Step second) {
    var first =
        new Step(
            new Increment(false),
            Dim3.of(1),
            THREADS,
            0,
            Arguments.NONE.with("from", Slot.input("x")).with("to", new Slot.Workspace(0)));
    return new LaunchPlan(
        "increment",
        Map.of("y", VECTOR),
        List.of(first, second),
        4 * THREADS,
        new Plan.Cost(0, 0),
        "");
  }

  private static Step second(boolean waits) {
    return new Step(
        new Increment(waits),
        Dim3.of(1),
        THREADS,
        0,
        Arguments.NONE.with("from", new Slot.Workspace(0)).with("to", Slot.output("y")));
  }

  private static double[] run(LaunchPlan plan) {
    var options = EmulatorOptions.DEFAULT.withTarget(Target.SM_90A).withSanitize(Sanitize.FULL);
    var x = IntStream.range(0, THREADS).asDoubleStream().toArray();
    try (var device = new EmulatedDevice(options)) {
      var inputs = Map.of("x", HostTensor.of(VECTOR, x));
      var outputs = HostRun.of(device, new KernelCache(device), plan, inputs).outputs();
      return Tensors.get(outputs, "y").toDoubles();
    }
  }

  @Test
  void dependentStepsWait() {
    var dependent = second(true).asDependent();
    assertThat(dependent.map(slot -> slot)).isEqualTo(dependent);
    var y = run(plan(dependent));
    for (int i = 0; i < THREADS; i++) {
      assertThat(y[i]).isEqualTo(i + 2);
    }
    assertThat(run(plan(second(false)))).as("in order").isEqualTo(y);
  }

  @Test
  void missingWaitsAreReported() {
    assertThatThrownBy(() -> run(plan(second(false).asDependent())))
        .isInstanceOfSatisfying(
            KernelFault.class,
            fault ->
                assertThat(fault.findings())
                    .singleElement()
                    .extracting(Report::kind)
                    .isEqualTo(Report.Kind.GRID_NOT_AWAITED))
        .hasMessageContaining("kernel increment of the previous launch writes");
  }
}

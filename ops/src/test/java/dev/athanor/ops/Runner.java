package dev.athanor.ops;

import dev.athanor.engine.emulator.EmulatedDevice;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import java.util.Objects;

/** Runs plans on an emulator of their own. */
public final class Runner {

  private Runner() {}

  /** One of the outputs of a plan. */
  public static HostTensor run(Plan plan, Map<String, HostTensor> inputs, String output) {
    return Objects.requireNonNull(run(plan, inputs).get(output), output);
  }

  /** The outputs of a plan. */
  public static Map<String, HostTensor> run(Plan plan, Map<String, HostTensor> inputs) {
    try (var device = new EmulatedDevice()) {
      return HostRun.of(device, new KernelCache(device), plan, inputs).outputs();
    }
  }

  /** The bits of an output. */
  public static byte[] bytes(HostTensor tensor) {
    return tensor.data().toArray(ValueLayout.JAVA_BYTE);
  }
}

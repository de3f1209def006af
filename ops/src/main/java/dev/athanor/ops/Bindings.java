package dev.athanor.ops;

import dev.athanor.engine.device.Buffer;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * The memory that a plan works on.
 *
 * @param inputs under the names of the op's description
 * @param outputs tensors of the types of {@link Plan#outputs()}, overlapping no input
 * @param workspace at least {@link Plan#workspaceBytes()}; absent where that is 0
 */
public record Bindings(
    Map<String, DeviceTensor> inputs,
    Map<String, DeviceTensor> outputs,
    Optional<Buffer> workspace) {

  public Bindings {
    inputs = Map.copyOf(inputs);
    outputs = Map.copyOf(outputs);
  }

  /** The input of this name. */
  public DeviceTensor input(String name) {
    return Objects.requireNonNull(inputs.get(name), name);
  }

  /** The output of this name. */
  public DeviceTensor output(String name) {
    return Objects.requireNonNull(outputs.get(name), name);
  }
}

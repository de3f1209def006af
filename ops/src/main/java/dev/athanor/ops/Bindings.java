package dev.athanor.ops;

import dev.athanor.engine.device.Buffer;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * The memory that a plan works on.
 *
 * @param inputs under the names of the op's description
 * @param outputs tensors of the types of {@link Plan#outputs()}
 * @param workspace at least {@link Plan#workspaceBytes()}; absent where that is 0
 * @param inPlace whether an output may be an input of the same type; see {@link Op#worksInPlace()}
 */
public record Bindings(
    Map<String, DeviceTensor> inputs,
    Map<String, DeviceTensor> outputs,
    Optional<Buffer> workspace,
    boolean inPlace) {

  /**
   * Checks that outputs stand alone, or in the place of an input where they may.
   *
   * @throws IllegalArgumentException when one overlaps another output, or an input in any other way
   */
  public Bindings {
    inputs = Map.copyOf(inputs);
    outputs = Map.copyOf(outputs);
    for (var output : outputs.entrySet()) {
      var others = new HashMap<>(inputs);
      others.values().removeIf(input -> inPlace && input.equals(output.getValue()));
      requireApart(output, others, "input");
      requireApart(output, outputs, "output");
    }
  }

  /** The memory of an op that does not work in place. */
  public Bindings(
      Map<String, DeviceTensor> inputs,
      Map<String, DeviceTensor> outputs,
      Optional<Buffer> workspace) {
    this(inputs, outputs, workspace, false);
  }

  private static void requireApart(
      Map.Entry<String, DeviceTensor> output, Map<String, DeviceTensor> others, String kind) {
    for (var other : others.entrySet()) {
      boolean itself = kind.equals("output") && other.getKey().equals(output.getKey());
      if (!itself && output.getValue().overlaps(other.getValue())) {
        throw new IllegalArgumentException(
            "output %s overlaps %s %s; outputs must not share memory with other tensors"
                .formatted(output.getKey(), kind, other.getKey()));
      }
    }
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

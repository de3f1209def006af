package dev.athanor.ops;

import dev.athanor.engine.device.Buffer;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * The tensors and the workspace of a plan.
 *
 * @param inputs by the names of the op's description
 * @param outputs tensors of the types of {@link Plan#outputs()}
 * @param workspace at least {@link Plan#workspaceBytes()} bytes; absent if that is 0
 * @param mayReplace whether an output may be the input of this name and of the same type; see
 *     {@link Op#mayReplace}
 */
public record Bindings(
    Map<String, DeviceTensor> inputs,
    Map<String, DeviceTensor> outputs,
    Optional<Buffer> workspace,
    Predicate<String> mayReplace) {

  /**
   * Checks that outputs overlap no other tensor, except for an input in place.
   *
   * @throws IllegalArgumentException if an output overlaps another output, or an input that it does
   *     not replace
   */
  public Bindings {
    inputs = Map.copyOf(inputs);
    outputs = Map.copyOf(outputs);
    for (var output : outputs.entrySet()) {
      var others = new HashMap<>(inputs);
      others
          .entrySet()
          .removeIf(input ->
              input.getValue().equals(output.getValue()) && mayReplace.test(input.getKey()));
      requireApart(output, others, "input");
      requireApart(output, outputs, "output");
    }
  }

  /** Creates the bindings of an op that does not work in place. */
  public Bindings(
      Map<String, DeviceTensor> inputs,
      Map<String, DeviceTensor> outputs,
      Optional<Buffer> workspace) {
    this(inputs, outputs, workspace, _ -> false);
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

  /** Returns the input of this name. */
  public DeviceTensor input(String name) {
    return Objects.requireNonNull(inputs.get(name), name);
  }

  /** Returns the output of this name. */
  public DeviceTensor output(String name) {
    return Objects.requireNonNull(outputs.get(name), name);
  }
}

package dev.athanor.ops.tune;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Which problems share a winner: those of one op on one kind of device and driver whose inputs have
 * the same dtypes and ranks and nearly the same extents.
 *
 * @param device what its maker calls it
 * @param bucket inputs and attributes; an extent stands for all up to it and above half of it that
 *     are divisible by the same power of two, up to 16, since alignment decides which variants
 *     there are: {@code a=f16[4096/16,64/8]}
 */
public record TuningKey(String device, String driver, String op, String bucket) {

  private static final long MOST_ALIGNMENT = 16;

  /** The key of a problem on a device. */
  public static TuningKey of(Problem problem, Capability device) {
    var inputs =
        new TreeMap<>(problem.inputs())
            .entrySet().stream().map(each -> each.getKey() + "=" + bucket(each.getValue()));
    var attributes =
        new TreeMap<>(problem.attributes().values())
            .entrySet().stream().map(each -> each.getKey() + "=" + each.getValue());
    return new TuningKey(
        device.name(),
        device.driver(),
        problem.op().description().name(),
        Stream.concat(inputs, attributes).collect(Collectors.joining(" ")));
  }

  private static String bucket(TensorType type) {
    return type.shape().extents().stream()
        .map(extent ->
            (extent == 1 ? 1 : Long.highestOneBit(extent - 1) * 2)
                + "/"
                + Math.min(MOST_ALIGNMENT, Long.lowestOneBit(extent)))
        .collect(Collectors.joining(",", type.dtype().text() + "[", "]"));
  }
}

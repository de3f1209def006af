package dev.athanor.ops.tune;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The cache key of a winner. Problems share a winner if they have the same op, kind of device,
 * driver, attributes, and input dtypes and ranks, and similar extents.
 *
 * @param device product name of the device
 * @param bucket inputs and attributes, such as {@code a=f16[4096/16,64/8]}. Each extent is rounded
 *     up to a power of two, followed by the greatest power of two up to 16 that divides it, since
 *     alignment decides which variants apply
 */
public record TuningKey(String device, String driver, String op, String bucket) {

  private static final long MOST_ALIGNMENT = 16;

  /** Returns the key of a problem on a device. */
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

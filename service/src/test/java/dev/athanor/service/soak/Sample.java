package dev.athanor.service.soak;

import dev.athanor.ops.Catalogue;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.function.Function;

/**
 * A call with its expected outputs, computed in float64.
 *
 * @param reference the expected outputs by name
 */
record Sample(Op op, Op.Case test, Map<String, double[]> reference) {

  private static final long SEED = 7;

  /**
   * Returns the smallest cases of ops.
   *
   * @param names names of ops; empty for all
   * @param each maximum number of cases per op
   */
  static List<Sample> draw(Catalogue catalogue, List<String> names, int each, long maxBytes) {
    var samples = new ArrayList<Sample>();
    for (var op : catalogue.all()) {
      if (names.isEmpty() || names.contains(op.description().name())) {
        op.cases(new SplittableRandom(SEED), true).stream()
            .filter(test -> bytes(test) <= maxBytes)
            .sorted(Comparator.comparingLong(Sample::bytes))
            .limit(each)
            .forEach(test ->
                samples.add(new Sample(op, test, op.reference(test.inputs(), test.attributes()))));
      }
    }
    return samples;
  }

  private static long bytes(Op.Case test) {
    return test.inputs().values().stream().mapToLong(tensor -> tensor.type().bytes()).sum();
  }

  String name() {
    return op.description().name();
  }

  /** Returns the names of the inputs in the order of the description. */
  List<String> inputs() {
    return op.description().inputs().stream()
        .map(input -> input.name())
        .filter(test.inputs()::containsKey)
        .toList();
  }

  HostTensor input(String name) {
    return Objects.requireNonNull(test.inputs().get(name), name);
  }

  /**
   * Compares all outputs with the reference, with twice the tolerance. Other tests check the
   * accuracy of kernels; lost or mixed up data cause large errors.
   */
  void check(Function<String, HostTensor> outputs) {
    reference.forEach((output, expected) -> {
      var result = outputs.apply(output);
      double error =
          result.type().shape().elements() == expected.length
              ? test.tolerance(output).error(result.toDoubles(), expected)
              : Double.POSITIVE_INFINITY;
      if (!(error <= 2 * test.tolerance(output).limit())) {
        throw new AssertionError(
            "%s of %s has the error %s; the limit is twice %s"
                .formatted(output, this, error, test.tolerance(output)));
      }
    });
  }

  @Override
  public String toString() {
    return name() + " " + HostTensor.types(test.inputs()) + " " + test.attributes().values();
  }
}

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
 * A problem, and what comes out of it by a computation in float64.
 *
 * @param reference by the names of the outputs
 */
record Sample(Op op, Op.Case test, Map<String, double[]> reference) {

  private static final long SEED = 7;

  /**
   * The smallest cases of some ops.
   *
   * @param names of ops; all when there are none
   * @param each how many of an op there may be
   */
  static List<Sample> draw(Catalogue catalogue, List<String> names, int each, long mostBytes) {
    var samples = new ArrayList<Sample>();
    for (var op : catalogue.all()) {
      if (names.isEmpty() || names.contains(op.description().name())) {
        op.cases(new SplittableRandom(SEED), true).stream()
            .filter(test -> bytes(test) <= mostBytes)
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

  /** The names of the inputs in the order of the description. */
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
   * Compares all outputs with what is right. Twice the tolerance is allowed: how accurate kernels
   * are is for the tests of the ops to say, and what got lost or mixed up is far off.
   */
  void check(Function<String, HostTensor> outputs) {
    reference.forEach((output, right) -> {
      var result = outputs.apply(output);
      double error =
          result.type().shape().elements() == right.length
              ? test.tolerance(output).error(result.toDoubles(), right)
              : Double.POSITIVE_INFINITY;
      if (!(error <= 2 * test.tolerance(output).limit())) {
        throw new AssertionError(
            "%s of %s is off by %s, and twice %s is the most"
                .formatted(output, this, error, test.tolerance(output)));
      }
    });
  }

  @Override
  public String toString() {
    return name() + " " + HostTensor.types(test.inputs()) + " " + test.attributes().values();
  }
}

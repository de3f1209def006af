package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.run.HostRun;
import dev.athanor.testing.TestTier;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.function.Function;

/**
 * Products with random inputs, whose kernels for Hopper run with the sanitizer.
 *
 * @param exact the elements of each output, from the reference
 * @param tolerance returns the tolerance of an output for its dtype
 */
public record SanitizedTrial(
    Problem problem,
    Map<String, HostTensor> inputs,
    Map<String, double[]> exact,
    Function<DType, Tolerance> tolerance) {

  /** The emulator of a Hopper GPU. */
  public static final EmulatorOptions OPTIONS =
      EmulatorOptions.DEFAULT.withTarget(Target.SM_90A).withSanitize(Sanitize.FULL);

  /** Draws the inputs of a problem, whose op states the tolerance. */
  public static SanitizedTrial of(String op, String text) {
    var problem = Problem.parse(Runner.op(op), text);
    return of(
        problem,
        dtype -> problem.op().tolerance("c", dtype, problem.inputs(), problem.attributes()));
  }

  public static SanitizedTrial of(Problem problem, Function<DType, Tolerance> tolerance) {
    var inputs = problem.draw(new SplittableRandom(TestTier.seed()));
    var exact = problem.op().reference(inputs, problem.attributes());
    return new SanitizedTrial(problem, inputs, exact, tolerance);
  }

  /** Runs the kernels with a word in their names and returns their number. */
  public int verify(String word, EmulatorOptions options) {
    return verify(word, TestDevices.SMALL, options);
  }

  /**
   * Runs the kernels with a word in their names and returns their number.
   *
   * @param planned device for which the kernels are chosen
   */
  public int verify(String word, Capability planned, EmulatorOptions options) {
    int verified = 0;
    try (var device = new EmulatedDevice(options)) {
      var kernels = new KernelCache(device);
      for (var plan : problem.plans(planned)) {
        if (plan.kernel().contains(word)) {
          assertThat(error(HostRun.of(device, kernels, plan, inputs).outputs()))
              .as(plan.kernel())
              .isLessThanOrEqualTo(1);
          verified++;
        }
      }
    }
    return verified;
  }

  /** Returns a trial that compares only one output. */
  public SanitizedTrial only(String output) {
    double[] one = Objects.requireNonNull(exact.get(output));
    return new SanitizedTrial(problem, inputs, Map.of(output, one), tolerance);
  }

  /** Returns the greatest error as a multiple of the tolerance, which is 0 for integers. */
  public double error(Map<String, HostTensor> outputs) {
    double greatest = 0;
    for (var each : exact.entrySet()) {
      var output = Objects.requireNonNull(outputs.get(each.getKey()));
      var allowed = tolerance.apply(output.type().dtype());
      double error = allowed.error(output.toDoubles(), each.getValue());
      greatest = Math.max(greatest, error == 0 ? 0 : error / allowed.limit());
    }
    return greatest;
  }
}

package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.check.Check;
import dev.athanor.ops.check.Verification;
import dev.athanor.ops.run.HostRun;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.random.RandomGenerator;

/** Runs ops and plans for a small device on an emulator. */
public final class Runner {

  private static final EmulatedDevice DEVICE =
      new EmulatedDevice(EmulatorOptions.DEFAULT.withTarget(Target.SM_90A));
  private static final KernelCache KERNELS = new KernelCache(DEVICE);

  private Runner() {}

  /** Returns an op of the catalogue. */
  public static Op op(String name) {
    return Catalogue.load().find(name).orElseThrow();
  }

  /** Returns the plans of a problem, the best first. */
  public static List<? extends Plan> plans(
      Op op, Map<String, HostTensor> inputs, Attributes attributes) {
    return op.plans(HostTensor.types(inputs), attributes, TestDevices.SMALL);
  }

  /** Returns the plans of a problem for an H200, the best first. */
  public static List<? extends Plan> plans(
      Op op, Map<String, TensorType> inputs, Map<String, ?> attributes) {
    return op.plans(inputs, Attributes.of(op.description(), attributes), TestDevices.H200);
  }

  /** Returns the outputs of a plan. */
  public static Map<String, HostTensor> run(Plan plan, Map<String, HostTensor> inputs) {
    return HostRun.of(DEVICE, KERNELS, plan, inputs).outputs();
  }

  /** Returns one of the outputs of a plan. */
  public static HostTensor run(Plan plan, Map<String, HostTensor> inputs, String output) {
    return Tensors.get(run(plan, inputs), output);
  }

  /** Returns the outputs of the best plan. */
  public static Map<String, HostTensor> run(
      Op op, Map<String, HostTensor> inputs, Map<String, ?> attributes) {
    var given = Attributes.of(op.description(), attributes);
    return run(plans(op, inputs, given).getFirst(), inputs);
  }

  /** Returns one of the outputs of the best plan. */
  public static HostTensor run(
      Op op, Map<String, HostTensor> inputs, Map<String, ?> attributes, String output) {
    return Tensors.get(run(op, inputs, attributes), output);
  }

  /** Returns the outputs of each plan by kernel. */
  public static Map<String, Map<String, HostTensor>> all(
      Op op, Map<String, HostTensor> inputs, Map<String, ?> attributes) {
    var results = new LinkedHashMap<String, Map<String, HostTensor>>();
    for (var plan : plans(op, inputs, Attributes.of(op.description(), attributes))) {
      results.put(plan.kernel(), run(plan, inputs));
    }
    return results;
  }

  /** Returns one of the outputs of each plan by kernel. */
  public static Map<String, double[]> all(
      Op op, Map<String, HostTensor> inputs, Map<String, ?> attributes, String output) {
    var results = new LinkedHashMap<String, double[]>();
    all(op, inputs, attributes)
        .forEach(
            (kernel, outputs) -> results.put(kernel, Tensors.get(outputs, output).toDoubles()));
    return results;
  }

  /** Checks every plan against the reference and returns their outputs. */
  public static List<Map<String, HostTensor>> check(
      Op op, Map<String, HostTensor> inputs, Attributes attributes, Tolerance tolerance) {
    var reference = op.reference(inputs, attributes);
    var all = new ArrayList<Map<String, HostTensor>>();
    for (var plan : plans(op, inputs, attributes)) {
      var outputs = run(plan, inputs);
      outputs.forEach((name, tensor) -> {
        var expected = Objects.requireNonNull(reference.get(name));
        assertThat(tolerance.error(tensor.toDoubles(), expected))
            .as("error of %s by %s of %s", name, plan.kernel(), HostTensor.types(inputs))
            .isLessThanOrEqualTo(tolerance.limit());
      });
      all.add(outputs);
    }
    return all;
  }

  /**
   * Verifies the best plan of every case against the reference. Also checks that a second run gives
   * the same bits, that nothing is written behind the outputs, and that the inputs do not change.
   * {@link OpsTest} verifies the cases of the op itself with all plans.
   */
  public static void verify(Op op, List<Op.Case> cases) {
    var checks = new ArrayList<Check>();
    var verification =
        new Verification(
            DEVICE, List.of(new SelectedCases(op, cases)), true, 1, OptionalInt.empty());
    assertThat(verification.skipped()).isEmpty();
    assertThat(verification.run(checks::add)).isEqualTo(cases.size());
    assertThat(checks).allSatisfy(check -> assertThat(check.failure()).isEmpty());
  }

  /** An op restricted to given cases and to its best plan. */
  private record SelectedCases(Op op, List<Case> selected) implements Op {
    @Override
    public OpDescription description() {
      return op.description();
    }

    @Override
    public List<? extends Plan> plans(
        Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
      return op.plans(inputs, attributes, TestDevices.SMALL).subList(0, 1);
    }

    @Override
    public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
      return op.reference(inputs, attributes);
    }

    @Override
    public List<Case> cases(RandomGenerator random, boolean quick) {
      return selected;
    }
  }

  /** Runs plans of a problem for a target with the sanitizer and compares them with float64. */
  public static void verify(
      Problem problem, Map<String, HostTensor> inputs, List<? extends Plan> plans, Target target) {
    var op = problem.op();
    var exact = op.reference(inputs, problem.attributes());
    var options = EmulatorOptions.DEFAULT.withTarget(target).withSanitize(Sanitize.FULL);
    try (var device = new EmulatedDevice(options)) {
      var kernels = new KernelCache(device);
      for (var plan : plans) {
        HostRun.of(device, kernels, plan, inputs)
            .outputs()
            .forEach((name, output) -> {
              var tolerance =
                  op.tolerance(name, output.type().dtype(), problem.inputs(), problem.attributes());
              var expected = Objects.requireNonNull(exact.get(name), name);
              assertThat(tolerance.error(output.toDoubles(), expected))
                  .as("%s of %s", name, plan.kernel())
                  .isLessThanOrEqualTo(tolerance.limit());
            });
      }
    }
  }
}

package dev.athanor.ops.check;

import dev.athanor.engine.conformance.Part;
import dev.athanor.engine.device.Capability.Features;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * Checks every case of some ops with every kernel variant of a device against the op's float64
 * reference. A seed makes it reproducible: each op has its own random generator, so its cases do
 * not depend on the selection of ops.
 */
public final class Verification {

  /** Failures that {@link #require} lists. */
  private static final int LISTED = 3;

  private final Device device;
  private final KernelCache kernels;
  private final boolean repeated;
  private final List<Trial> trials = new ArrayList<>();
  private final List<Skipped> skipped = new ArrayList<>();

  /**
   * A case that the device does not support.
   *
   * @param number of the case among those of its op, from 1
   * @param reason one sentence
   */
  public record Skipped(String op, int number, String reason) {}

  /** A case and its plans; without plans, the op rejected the case. */
  private record Trial(
      Op op,
      int number,
      Op.Case problem,
      Map<String, TensorType> types,
      List<? extends Plan> plans,
      String refusal) {}

  /** Draws the cases and plans them. */
  public Verification(
      Device device, Collection<? extends Op> ops, boolean quick, long seed, OptionalInt only) {
    this(device, ops, quick, seed, only, Part.ALL);
  }

  /**
   * Draws the cases and plans those of a part.
   *
   * @param quick whether to check only a few cases of each op
   * @param only the number, from 1, of the only case of each op to check; empty for all
   * @throws IllegalArgumentException if an op has no case with that number
   */
  public Verification(
      Device device,
      Collection<? extends Op> ops,
      boolean quick,
      long seed,
      OptionalInt only,
      Part part) {
    this.device = device;
    // on the slow emulator, full cases run only once
    repeated = quick || !(device instanceof EmulatedDevice);
    kernels = new KernelCache(device);
    var all = new ArrayList<Runnable>();
    for (var op : ops) {
      var cases = op.cases(new SplittableRandom(seed), quick);
      if (only.isPresent() && (only.getAsInt() < 1 || only.getAsInt() > cases.size())) {
        throw new IllegalArgumentException(
            "%s has no case %d; its %scases are 1 to %d"
                .formatted(
                    op.description().name(), only.getAsInt(), quick ? "quick " : "", cases.size()));
      }
      for (int number = 1; number <= cases.size(); number++) {
        if (only.isEmpty() || only.getAsInt() == number) {
          int planned = number;
          all.add(() -> plan(op, planned, cases.get(planned - 1)));
        }
      }
    }
    part.of(all).forEach(Runnable::run);
  }

  /**
   * Runs all checks of some ops, for unit tests.
   *
   * @throws AssertionError if a check fails or none can run; the message has a line for each of the
   *     first failures
   */
  public static void require(Device device, Collection<? extends Op> ops) {
    var verification = new Verification(device, ops, false, 1, OptionalInt.empty());
    var failures = new ArrayList<String>();
    int done =
        verification.run(check ->
            check
                .failure()
                .ifPresent(failure ->
                    failures.add(
                        "%s, case %d %s: %s"
                            .formatted(
                                check.op(), check.number(), check.inputs(), failure.sentence()))));
    if (done == 0) {
      throw new AssertionError(
          "no case can run: "
              + verification.skipped.stream().map(Skipped::reason).distinct().toList());
    }
    if (!failures.isEmpty()) {
      throw new AssertionError(
          failures.stream()
              .limit(LISTED)
              .collect(
                  Collectors.joining(
                      "\n", "%d of %d checks failed:\n".formatted(failures.size(), done), "")));
    }
  }

  private void plan(Op op, int number, Op.Case problem) {
    var types = HostTensor.types(problem.inputs());
    try {
      var plans = new Problem(op, types, problem.attributes()).plans(device.capability());
      trials.add(new Trial(op, number, problem, types, plans, ""));
    } catch (OpException.UnsupportedOnDevice e) {
      skipped.add(new Skipped(op.description().name(), number, String.valueOf(e.getMessage())));
    } catch (OpException e) {
      trials.add(new Trial(op, number, problem, types, List.of(), String.valueOf(e.getMessage())));
    }
  }

  /** Returns the number of checks. */
  public int size() {
    return trials.stream().mapToInt(trial -> Math.max(1, trial.plans.size())).sum();
  }

  /** Returns the cases that the device does not support. */
  public List<Skipped> skipped() {
    return List.copyOf(skipped);
  }

  /** Returns the kernels loaded so far that spill on the device. */
  public List<KernelCache.Spill> spills() {
    return kernels.spills();
  }

  /**
   * Runs the checks in order. A fault counts as a failure; the checks continue unless the device is
   * lost.
   *
   * @param each receives each check when it is complete
   * @return the number of completed checks; fewer than {@link #size} if the device was lost
   */
  public int run(Consumer<Check> each) {
    int done = 0;
    for (var trial : trials) {
      if (trial.plans.isEmpty()) {
        var refused = failed(Check.Kind.REFUSED, trial.refusal);
        each.accept(check(trial, "", refused));
        done++;
        continue;
      }
      var reference = trial.op.reference(trial.problem.inputs(), trial.problem.attributes());
      for (var plan : trial.plans) {
        boolean lost = false;
        Outcome outcome;
        try {
          outcome = compute(trial, plan, reference);
        } catch (DeviceException | OpException | IllegalArgumentException e) {
          // a device rejects a launch with an IllegalArgumentException
          outcome = fault(e);
          lost = e instanceof DeviceException.Lost;
        }
        done++;
        each.accept(check(trial, plan.kernel(), outcome));
        if (lost) {
          return done;
        }
      }
    }
    return done;
  }

  private static Check check(Trial trial, String kernel, Outcome outcome) {
    return new Check(
        trial.op.description().name(),
        trial.number,
        kernel,
        trial.types,
        trial.problem.attributes(),
        outcome.error,
        outcome.limit,
        outcome.failure);
  }

  private record Outcome(double error, double limit, Optional<Check.Failure> failure) {
    static final Outcome PASSED = new Outcome(0, 0, Optional.empty());

    /** Combines two outcomes: the first failure, and the larger error relative to its limit. */
    Outcome and(Outcome other) {
      var worse = other.share() > share() || limit == 0 ? other : this;
      return new Outcome(worse.error, worse.limit, failure.or(() -> other.failure));
    }

    private double share() {
      return error == 0 ? 0 : error / limit;
    }
  }

  private static Outcome failed(double error, double limit, Check.Kind kind, String sentence) {
    return new Outcome(error, limit, Optional.of(new Check.Failure(kind, sentence)));
  }

  private static Outcome failed(Check.Kind kind, String sentence) {
    return failed(Double.POSITIVE_INFINITY, 0, kind, sentence);
  }

  private static Outcome fault(RuntimeException e) {
    return failed(Check.Kind.FAULT, String.valueOf(e.getMessage()));
  }

  private Outcome compute(Trial trial, Plan plan, Map<String, double[]> reference) {
    for (var output : plan.outputs().entrySet()) {
      var expected = reference.get(output.getKey());
      long elements = output.getValue().shape().elements();
      if (expected == null || expected.length != elements) {
        return failed(
            Check.Kind.REFUSED,
            "the plan returns %s as %s, the reference %s"
                .formatted(
                    output.getKey(),
                    output.getValue(),
                    expected == null ? "nothing" : expected.length + " elements"));
      }
    }
    try (var bench = new Guarded(device)) {
      trial.problem.inputs().forEach(bench::input);
      plan.outputs().forEach(bench::output);
      plan.enqueue(kernels, bench.stream(), bench.bindings(plan.workspaceBytes()));
      bench.stream().synchronize();
      var outcome = Outcome.PASSED;
      var first = new LinkedHashMap<String, HostTensor>();
      for (var name : plan.outputs().keySet()) {
        var written = bench.read(name);
        first.put(name, written.tensor());
        outcome =
            outcome.and(compare(trial, written, name, reference, device.capability().features()));
      }
      outcome = outcome.and(inputs(trial, bench));
      return repeated && outcome.failure.isEmpty()
          ? outcome.and(repeat(plan, bench, first))
          : outcome;
    }
  }

  /** Runs a plan again on the tensors of the first run; the results must be bitwise equal. */
  private Outcome repeat(Plan plan, Guarded bench, Map<String, HostTensor> first) {
    plan.enqueue(kernels, bench.stream(), bench.bindings(plan.workspaceBytes()));
    bench.stream().synchronize();
    for (var output : first.entrySet()) {
      var second = bench.read(output.getKey()).tensor();
      long at = second.data().mismatch(output.getValue().data());
      if (at >= 0) {
        return failed(
            Check.Kind.NOT_REPEATED,
            "a second run returned a different %s, starting at byte %d"
                .formatted(output.getKey(), at));
      }
    }
    return Outcome.PASSED;
  }

  private static Outcome inputs(Trial trial, Guarded bench) {
    for (var name : trial.problem.inputs().keySet()) {
      var byteAt = bench.changed(name);
      if (byteAt.isPresent()) {
        return failed(
            Check.Kind.INPUT_CHANGED,
            "input %s was modified, starting at byte %d".formatted(name, byteAt.getAsLong()));
      }
    }
    return Outcome.PASSED;
  }

  private static Outcome compare(
      Trial trial,
      Guarded.Written written,
      String name,
      Map<String, double[]> reference,
      Features features) {
    HostTensor tensor = written.tensor();
    var result = tensor.toDoubles();
    var exact = Objects.requireNonNull(reference.get(name));
    var expected = features.subnormals() ? exact : flushed(exact, result);
    var tolerance = trial.problem.tolerance(name);
    double limit = tolerance.limit();
    double error = tolerance.error(result, expected);
    if (written.overrun().isPresent()) {
      long at = written.overrun().getAsLong();
      var dtype = tensor.type().dtype();
      return failed(
          error,
          limit,
          Check.Kind.OVERRUN,
          "%s was written beyond its end: byte %d after the last of its %d elements, where element %d would be"
              .formatted(
                  name,
                  at,
                  expected.length,
                  expected.length + at / dtype.bytes() * dtype.blockElements()));
    }
    var unwritten = Differences.unwritten(tensor, expected);
    if (unwritten.count() > 0) {
      return failed(
          error,
          limit,
          Check.Kind.UNWRITTEN,
          unwritten.describe(name, tensor, expected, "was not written"));
    }
    if (error <= limit) {
      return new Outcome(error, limit, Optional.empty());
    }
    var wrong = Differences.wrong(result, expected, tolerance);
    return failed(
        error,
        limit,
        Check.Kind.WRONG,
        wrong.describe(
            name,
            tensor,
            expected,
            "is %s, expected %s".formatted(result[wrong.first()], expected[wrong.first()])));
  }

  /** Returns what is expected of a device that may turn subnormal f32 into 0. */
  static double[] flushed(double[] expected, double[] result) {
    var all = expected.clone();
    for (int i = 0; i < all.length; i++) {
      if (result[i] == 0 && all[i] != 0 && Math.abs(all[i]) < Float.MIN_NORMAL) {
        all[i] = result[i];
      }
    }
    return all;
  }
}

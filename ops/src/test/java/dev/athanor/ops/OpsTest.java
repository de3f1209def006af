package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.check.Check;
import dev.athanor.ops.check.Verification;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Verifies the cases of every op on the emulator against float64. A normal build runs the planner's
 * first choice for some of the quick cases. The thorough tier runs all cases, every kernel at least
 * once and again in one of eight cases. The sweep runs every kernel in every case that it can
 * compute, for every target. {@code -Dathanor.op=NAME,NAME} selects ops.
 */
class OpsTest {

  private static final long SEED = TestTier.seed();
  private static final boolean SWEEP = TestTier.current() == TestTier.SWEEP;

  /** Maximum number of cases of an op in a normal build, evenly spread over the quick cases. */
  private static final int QUICK_CASES = 12;

  private static final Set<DType> FP8 = Set.of(DType.E4M3, DType.E5M2);

  static List<String> ops() {
    var only = System.getProperty("athanor.op");
    return Catalogue.load().all().stream()
        .map(op -> op.description().name())
        .filter(name -> only == null || List.of(only.split(",", -1)).contains(name))
        .toList();
  }

  /** Asynchronous copies complete as late as allowed. */
  @ParameterizedTest
  @MethodSource("ops")
  void everyVariantMatchesTheReference(String op) {
    verify(op, AsyncTiming.LAZY, Target.SM_90A, TestTier.current() == TestTier.QUICK);
  }

  static Stream<Arguments> opsAndOlderTargets() {
    return opsAnd(Stream.of("sm_70", "sm_75", "sm_80"));
  }

  /**
   * Asynchronous copies complete immediately, and the older tensor cores sum in another order.
   * Kernels are rewritten for Volta and Turing.
   */
  @ParameterizedTest
  @MethodSource("opsAndOlderTargets")
  @Tag(TestTier.THOROUGH_TAG)
  void everyVariantMatchesTheReferenceOnAnOlderGpu(String op, String target) {
    verify(op, AsyncTiming.EAGER, Target.of(target), true);
  }

  /**
   * Ada has an instruction that multiplies fp8, with sums of few bits; the other targets have none.
   */
  @ParameterizedTest
  @ValueSource(strings = {"matmul", "matmul-fp8"})
  @Tag(TestTier.THOROUGH_TAG)
  void fp8ProductsMatchTheReferenceOnAda(String op) {
    assumeTrue(ops().contains(op));
    var cases = op(op).cases(new SplittableRandom(SEED), true);
    var numbers =
        IntStream.range(0, cases.size())
            .filter(i -> FP8.contains(dtype(cases.get(i))))
            .map(i -> i + 1)
            .toArray();
    assertThat(numbers).hasSizeGreaterThanOrEqualTo(3);
    // the deepest products, and special numbers
    for (int number : Arrays.copyOfRange(numbers, numbers.length - 2, numbers.length)) {
      verify(op, AsyncTiming.REORDERED, Target.SM_89, true, OptionalInt.of(number));
    }
  }

  private static DType dtype(Op.Case problem) {
    return Objects.requireNonNull(problem.inputs().get("a")).type().dtype();
  }

  static Stream<Arguments> opsAndTargets() {
    return opsAnd(
        Stream.of("sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_120"));
  }

  private static Stream<Arguments> opsAnd(Stream<String> targets) {
    return targets.flatMap(target -> ops().stream().map(op -> Arguments.of(op, target)));
  }

  /** The tensor cores of each target sum in a different way. */
  @ParameterizedTest
  @MethodSource("opsAndTargets")
  @EnabledIfSystemProperty(named = "athanor.sweep", matches = "true")
  void everyVariantMatchesTheReferenceOnEveryTarget(String op, String target) {
    verify(op, AsyncTiming.REORDERED, Target.of(target), false);
  }

  private static Op op(String name) {
    return Catalogue.load().find(name).orElseThrow();
  }

  private static Op sampled(Op op) {
    return SWEEP ? op : new Sampled(op, new HashSet<>(), new AtomicInteger());
  }

  /**
   * An op restricted to some of its plans: all whose kernels have not run yet, and one in eight of
   * the others; in a normal build, the first.
   *
   * @param kernels the kernels that have run
   * @param plans the number of other plans so far
   */
  private record Sampled(Op op, Set<String> kernels, AtomicInteger plans) implements Op {
    @Override
    public OpDescription description() {
      return op.description();
    }

    @Override
    public List<? extends Plan> plans(
        Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
      var all = op.plans(inputs, attributes, capability);
      if (TestTier.current() == TestTier.QUICK) {
        return all.stream().limit(1).toList();
      }
      var some =
          all.stream()
              .filter(plan -> kernels.add(plan.kernel()) || plans.getAndIncrement() % 8 == 0)
              .toList();
      return some.isEmpty() ? all.subList(0, 1) : some; // a case without plans counts as rejected
    }

    @Override
    public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
      return op.reference(inputs, attributes);
    }

    @Override
    public List<Case> cases(RandomGenerator random, boolean quick) {
      var all = op.cases(random, quick);
      int count = all.size();
      return TestTier.current() == TestTier.QUICK && count > QUICK_CASES
          ? IntStream.range(0, QUICK_CASES).mapToObj(i -> all.get(i * count / QUICK_CASES)).toList()
          : all;
    }
  }

  private static void verify(String op, AsyncTiming timing, Target target, boolean quick) {
    verify(op, timing, target, quick, OptionalInt.empty());
  }

  private static void verify(
      String op, AsyncTiming timing, Target target, boolean quick, OptionalInt only) {
    var options = EmulatorOptions.DEFAULT.withAsyncTiming(timing).withTarget(target);
    var checks = new ArrayList<Check>();
    try (var device = new EmulatedDevice(options)) {
      var verification = new Verification(device, List.of(sampled(op(op))), quick, SEED, only);
      assertThat(verification.run(checks::add)).isEqualTo(verification.size());
      assertThat(verification.skipped()).isEmpty();
    }
    assertThat(checks).isNotEmpty();
    assertThat(checks).as("seed %d", SEED).allSatisfy(c -> assertThat(c.failure()).isEmpty());
  }
}

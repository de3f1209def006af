package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.bench.Suites;
import dev.athanor.testing.TestTier;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Checks that row-invariant plans compute a row to the same bits, however many rows there are. */
class RowInvarianceTest {

  private static final int MOST = 300;
  private static final List<Integer> COUNTS = List.of(1, 2, 7, 16, 33, 64, 129, MOST);

  /** The numbers of rows for which plans are made. */
  private static final int[] PLANNED =
      IntStream.of(1, 2, 3, 8, 9, 16, 17, 33, 64, 65, 129, 200, 256, 257, MOST).toArray();

  /** Preferred elements of all inputs of a case with one row. */
  private static final long ELEMENTS = 10_000;

  /** Preferred elements of a row. */
  private static final long ROW_ELEMENTS = 300;

  private static final List<Capability> DEVICES = List.of(TestDevices.H200, TestDevices.SMALL);

  /** Returns the ops with rows. */
  static List<String> ops() {
    return Catalogue.load().all().stream()
        .filter(op ->
            op.cases(new Random(1), true).stream()
                .anyMatch(each ->
                    op.rows(HostTensor.types(each.inputs()), each.attributes()).isPresent()))
        .map(op -> op.description().name())
        .toList();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "matmul | a=f16[1,72] b=f16[72,40] bias=f16[40] activation=gelu",
        "matmul-int4 | a=bf16[1,128] packed=u32[40,16] scales=f16[2,40] groupSize=64",
        "softmax | x=f16[1,200]",
        "reduce | x=f32[1,3000]",
      })
  void rowsHaveTheSameBits(String op, String problem) {
    check(Problem.parse(Runner.op(op), problem));
  }

  /** Checks a problem for each combination of dtypes and attributes among the cases of an op. */
  @Tag(TestTier.THOROUGH_TAG)
  @ParameterizedTest
  @MethodSource("ops")
  void rowsOfEachOpHaveTheSameBits(String name) {
    cases(Runner.op(name)).forEach(RowInvarianceTest::check);
  }

  /** Checks that there is a plan of one order for 1 to 300 rows. */
  @Tag(TestTier.THOROUGH_TAG)
  @ParameterizedTest
  @MethodSource("ops")
  void planExistsForEachNumberOfRows(String name) {
    var op = Runner.op(name);
    var problems =
        Stream.of(cases(op), Suites.of(op, true), Suites.of(op, false), Production.planned(op))
            .flatMap(List::stream)
            .filter(problem -> op.rows(problem.inputs(), problem.attributes()).isPresent())
            .distinct()
            .toList();
    for (var problem : problems) {
      for (var device : DEVICES) { // also those that fill quickly
        var order = withRows(problem, 1).rowInvariantPlans(device).getFirst().order();
        for (int count : PLANNED) {
          assertThat(withRows(problem, count).rowInvariantPlans(device))
              .as("%d rows of %s on %s", count, problem.text(), device.name())
              .isNotEmpty()
              .allMatch(plan -> plan.order().equals(order));
        }
      }
    }
  }

  /** Checks that [300, N] and [2, 150, N] have the same rows. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "matmul | a=f16[300,64] b=f16[64,24] | a=f16[2,150,64] b=f16[64,24]",
        "softmax | x=f32[300,65] | x=f32[2,150,65]",
        "layer-norm | x=f16[300,64] gamma=f16[64] beta=f16[64] | x=f16[2,150,64] gamma=f16[64] beta=f16[64]",
        "argmax | x=f32[300,65] | x=f32[2,150,65]",
        "gelu | x=bf16[300,65] | x=bf16[2,150,65]"
      })
  void leadingDimensionsAreRows(String name, String flat, String nested) {
    var op = Runner.op(name);
    var first = Problem.parse(op, flat);
    var second = Problem.parse(op, nested);
    var inputs = first.draw(new SplittableRandom(TestTier.seed()));
    var reshaped = new HashMap<String, HostTensor>();
    second
        .inputs()
        .forEach((input, type) ->
            reshaped.put(input, new HostTensor(type, Tensors.get(inputs, input).data())));
    var plan = first.rowInvariantPlans(TestDevices.SMALL).getFirst();
    var other = second.rowInvariantPlans(TestDevices.SMALL).getFirst();
    assertThat(other.order()).isEqualTo(plan.order());
    var results = Runner.run(other, reshaped);
    Runner.run(plan, inputs)
        .forEach((output, tensor) ->
            assertThat(Tensors.bytes(tensor))
                .isEqualTo(Tensors.bytes(Tensors.get(results, output))));
  }

  @Test
  void opWithoutRowsKeepsItsPlans() {
    var problem = Problem.parse(Runner.op("transpose"), "x=f32[40,30]");
    assertThat(problem.rowInvariantPlans(TestDevices.H200))
        .extracting(Plan::kernel)
        .isEqualTo(problem.plans(TestDevices.H200).stream().map(Plan::kernel).toList());
  }

  @Test
  void problemsWithoutElementsHaveTheirUsualPlan() {
    var problem = Problem.parse(Runner.op("softmax"), "x=f32[3,0]");
    assertThat(problem.rowInvariantPlans(TestDevices.H200))
        .extracting(Plan::kernel)
        .containsExactly("empty");
  }

  @Test
  void missingPlanIsReported() {
    var problem = Problem.parse(new OrderByCount(), "x=f32[3,8]");
    assertThatThrownBy(() -> problem.rowInvariantPlans(TestDevices.H200))
        .isInstanceOf(OpException.UnsupportedOnDevice.class)
        .hasMessage(
            "softmax of x=f32[3,8] has no row-invariant plan on %s; run it without row invariance"
                .formatted(TestDevices.H200.name()));
  }

  /** A softmax whose order depends on the number of rows. */
  private static final class OrderByCount implements Op {
    private final Op op = Runner.op("softmax");

    @Override
    public OpDescription description() {
      return op.description();
    }

    @Override
    public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
      return op.rows(inputs, attributes);
    }

    @Override
    public List<? extends Plan> plans(
        Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
      return op.plans(inputs, attributes, capability).stream()
          .map(LaunchPlan.class::cast)
          .map(plan ->
              new LaunchPlan(
                  plan.kernel() + Objects.requireNonNull(inputs.get("x")),
                  plan.outputs(),
                  plan.steps(),
                  plan.workspaceBytes(),
                  plan.cost(),
                  plan.explain()))
          .toList();
    }

    @Override
    public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
      return op.reference(inputs, attributes);
    }

    @Override
    public List<Case> cases(RandomGenerator random, boolean quick) {
      return op.cases(random, quick);
    }
  }

  /**
   * Returns the cases of an op that have rows: the longest affordable row for each combination of
   * dtypes and attributes.
   */
  private static List<Problem> cases(Op op) {
    var longest = new TreeMap<String, Problem>();
    for (var each : op.cases(new Random(1), false)) {
      var given = new Problem(op, HostTensor.types(each.inputs()), each.attributes());
      if (op.rows(given.inputs(), given.attributes()).isEmpty()) {
        continue;
      }
      var problem = withRows(given, 1);
      if (elements(problem) > 0) {
        longest.merge(
            key(problem), problem, (a, b) -> cost(a) < cost(b) == cost(b) <= ELEMENTS ? b : a);
      }
    }
    return List.copyOf(longest.values());
  }

  private static long elements(Problem problem) {
    return problem.inputs().values().stream().mapToLong(type -> type.shape().elements()).sum();
  }

  /** Returns the elements of the inputs; a row that is too long counts as too many. */
  private static long cost(Problem problem) {
    long row =
        rows(problem).inputs().stream()
            .mapToLong(
                name -> Objects.requireNonNull(problem.inputs().get(name)).shape().elements())
            .max()
            .orElseThrow();
    return elements(problem) + row / ROW_ELEMENTS * ELEMENTS;
  }

  private static String key(Problem problem) {
    var dtypes = new TreeMap<String, DType>();
    problem.inputs().forEach((name, type) -> dtypes.put(name, type.dtype()));
    var choices = new TreeMap<>(problem.attributes().values());
    choices.keySet().retainAll(List.of("kind", "outDtype", "precision", "layout", "transposeA"));
    return dtypes + " " + choices;
  }

  private static Rows rows(Problem problem) {
    return problem.op().rows(problem.inputs(), problem.attributes()).orElseThrow();
  }

  private static Problem withRows(Problem problem, int count) {
    return new Problem(
        problem.op(), rows(problem).withCount(problem.inputs(), count), problem.attributes());
  }

  /**
   * Compares rows alone with the same rows at other positions among others, by the first plan and
   * by another in turn.
   */
  private static void check(Problem problem) {
    var random = new SplittableRandom(TestTier.seed());
    var inputs = withRows(problem, MOST).draw(random);
    var expected = new LinkedHashMap<Integer, Map<String, byte[]>>();
    int turn = 0;
    for (int count : COUNTS) {
      var plans = withRows(problem, count).rowInvariantPlans(TestDevices.H200);
      var some = new HashMap<String, Plan>();
      some.put(plans.getFirst().kernel(), plans.getFirst());
      var next = plans.get(turn++ % plans.size());
      some.put(next.kernel(), next);
      for (var plan : some.values()) {
        var order = new ArrayList<>(IntStream.range(0, MOST).boxed().toList());
        Collections.shuffle(order, new Random(random.nextLong()));
        // rows that are computed alone are among the others
        var first = List.of(0, MOST / 2, MOST - 1);
        order.removeAll(first);
        order.addAll(0, first);
        var chosen = new ArrayList<>(order.subList(0, count));
        Collections.shuffle(chosen, new Random(random.nextLong()));
        compare(problem, plan, inputs, chosen, expected);
      }
    }
    assertThat(expected).hasSize(MOST);
  }

  private static void compare(
      Problem problem,
      Plan plan,
      Map<String, HostTensor> inputs,
      List<Integer> chosen,
      Map<Integer, Map<String, byte[]>> expected) {
    var some = new HashMap<>(inputs);
    for (var name : rows(problem).inputs()) {
      some.put(name, rows(Tensors.get(inputs, name), chosen));
    }
    var results = Runner.run(plan, some);
    for (int i = 0; i < chosen.size(); i++) {
      var row = new TreeMap<String, byte[]>();
      for (var output : results.entrySet()) {
        row.put(output.getKey(), row(output.getValue(), i, chosen.size()));
      }
      var before = expected.putIfAbsent(chosen.get(i), row);
      if (before != null) {
        int position = i;
        row.forEach((output, bytes) ->
            assertThat(bytes)
                .as(
                    "row %d as %s of %d rows of %s by %s of order %s",
                    chosen.get(position),
                    output + "[" + position + "]",
                    chosen.size(),
                    problem.text(),
                    plan.kernel(),
                    plan.order())
                .isEqualTo(before.get(output)));
      }
    }
  }

  private static byte[] row(HostTensor tensor, long row, long count) {
    long bytes = tensor.type().bytes() / count;
    var data = new byte[Math.toIntExact(bytes)];
    MemorySegment.ofArray(data).copyFrom(tensor.data().asSlice(row * bytes, bytes));
    return data;
  }

  private static HostTensor rows(HostTensor tensor, List<Integer> chosen) {
    long bytes = tensor.type().bytes() / MOST;
    var data = Arena.ofAuto().allocate(bytes * chosen.size(), 64);
    for (int i = 0; i < chosen.size(); i++) {
      data.asSlice(i * bytes, bytes).copyFrom(tensor.data().asSlice(chosen.get(i) * bytes, bytes));
    }
    var extents = new ArrayList<>(tensor.type().shape().extents());
    extents.set(0, (long) chosen.size());
    return new HostTensor(new TensorType(tensor.type().dtype(), new Shape(extents)), data);
  }
}

package dev.athanor.ops.empty;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.Catalogue;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Runs the quick cases of every op with extents of 0: each extent in turn, in all inputs that have
 * it, and each dimension of each input alone. The outputs match the reference, or the refusal is
 * one of those recorded, so that each is reviewed. -Dbless records the current ones.
 */
class EmptyTensorsTest {

  private static final Path REFUSALS = Path.of("src/test/resources/empty-tensors.txt");

  private static final Pattern NUMBER = Pattern.compile("(?<![A-Za-z0-9])[1-9][0-9]*");

  static List<String> ops() {
    return Catalogue.load().all().stream().map(op -> op.description().name()).toList();
  }

  @ParameterizedTest
  @MethodSource("ops")
  void outputsMatchTheReferenceOrTheRefusalIsRecorded(String name) throws IOException {
    var op = Runner.op(name);
    var tried = new HashSet<String>();
    var refusals = new TreeMap<String, String>();
    for (var valid : op.cases(new SplittableRandom(1), true)) {
      for (var inputs : emptied(valid.inputs())) {
        var problem = new Problem(op, HostTensor.types(inputs), valid.attributes());
        if (tried.add(withoutNumbers(problem.text()))) {
          var refusal = run(problem, inputs, valid);
          if (!refusal.isEmpty()) {
            refusals.putIfAbsent(withoutNumbers(refusal), name + ": " + refusal);
          }
        }
      }
    }
    var recorded = Files.exists(REFUSALS) ? Files.readAllLines(REFUSALS) : List.<String>of();
    if (System.getProperty("bless") != null) {
      var all = new TreeSet<>(recorded);
      all.removeIf(line -> line.startsWith(name + ": "));
      all.addAll(refusals.values());
      Files.write(REFUSALS, all);
      recorded = List.copyOf(all);
    }
    assertThat(refusals.values())
        .containsExactlyInAnyOrderElementsOf(
            recorded.stream().filter(line -> line.startsWith(name + ": ")).toList());
  }

  private static String withoutNumbers(String text) {
    return NUMBER.matcher(text).replaceAll("#");
  }

  /** Returns the inputs with extents of 0 in each way. */
  private static List<Map<String, HostTensor>> emptied(Map<String, HostTensor> inputs) {
    var all = new ArrayList<Map<String, HostTensor>>();
    var extents = new TreeSet<Long>();
    inputs.values().forEach(tensor -> extents.addAll(tensor.type().shape().extents()));
    for (long extent : extents) {
      var emptied = new HashMap<String, HostTensor>();
      inputs.forEach((name, tensor) -> emptied.put(name, withoutExtent(tensor, extent)));
      all.add(emptied);
    }
    inputs.forEach((name, tensor) -> {
      for (int i = 0; i < tensor.type().shape().rank(); i++) {
        var shape = new ArrayList<>(tensor.type().shape().extents());
        shape.set(i, 0L);
        var emptied = new HashMap<>(inputs);
        emptied.put(name, empty(tensor, shape));
        all.add(emptied);
      }
    });
    return all;
  }

  private static HostTensor withoutExtent(HostTensor tensor, long extent) {
    var shape = tensor.type().shape().extents();
    return shape.contains(extent)
        ? empty(tensor, shape.stream().map(each -> each == extent ? 0 : each).toList())
        : tensor;
  }

  private static HostTensor empty(HostTensor tensor, List<Long> shape) {
    return HostTensor.zeros(new TensorType(tensor.type().dtype(), new Shape(shape)));
  }

  /** Compares the outputs with the reference; returns the refusal, or empty text. */
  private static String run(Problem problem, Map<String, HostTensor> inputs, Op.Case valid) {
    Plan plan;
    try {
      plan = problem.plans(TestDevices.SMALL).getFirst();
    } catch (OpException e) {
      return Objects.requireNonNull(e.getMessage());
    }
    var before =
        new Problem(problem.op(), HostTensor.types(valid.inputs()), valid.attributes())
            .plans(TestDevices.SMALL)
            .getFirst()
            .outputs();
    requireSmaller(problem, plan.outputs(), before);
    var run = Runner.run(plan, inputs);
    if (plan.outputs().values().stream().allMatch(TensorType::isEmpty)) {
      assertThat(plan.kernel()).isEqualTo("empty");
      return "";
    }
    var expected = problem.op().reference(inputs, problem.attributes());
    run.forEach((name, tensor) -> {
      var tolerance = valid.tolerance(name);
      var reference = Objects.requireNonNull(expected.get(name), name);
      assertThat(reference)
          .as("%s of %s", name, problem.text())
          .hasSize((int) tensor.type().shape().elements());
      assertThat(tolerance.error(tensor.toDoubles(), reference))
          .as("%s of %s", name, problem.text())
          .isLessThanOrEqualTo(tolerance.limit());
    });
    return "";
  }

  /** Requires the outputs to differ only by smaller extents. */
  private static void requireSmaller(
      Problem problem, Map<String, TensorType> outputs, Map<String, TensorType> before) {
    assertThat(outputs.keySet()).as(problem.text()).isEqualTo(before.keySet());
    outputs.forEach((name, type) -> {
      var other = Objects.requireNonNull(before.get(name), name);
      assertThat(type.dtype()).isEqualTo(other.dtype());
      // the last extent of an index may define the rank
      boolean comparable = type.shape().rank() == other.shape().rank();
      assertThat(comparable || type.isEmpty()).as(problem.text()).isTrue();
      for (int i = 0; comparable && i < type.shape().rank(); i++) {
        assertThat(type.shape().extent(i))
            .as("%s of %s", name, problem.text())
            .isLessThanOrEqualTo(other.shape().extent(i));
      }
    });
  }
}

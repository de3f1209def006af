package dev.athanor.ops.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.bench.OpBench.Row;
import dev.athanor.ops.linear.dense.Matmul;
import dev.athanor.ops.run.ForwardingPlan;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Benchmarks on the emulator. */
class OpBenchTest {

  private static final Effort SHORT = new Effort(1, 2, 0);

  private final Device device = new EmulatedDevice();

  @AfterEach
  void close() {
    assertThat(device.memory().used()).as("leaked device memory").isZero();
    device.close();
  }

  private static Problem matmul(String text) {
    return Problem.parse(new Matmul(), text);
  }

  private List<Row> rows(Problem problem, boolean allVariants, List<Baseline> baselines) {
    var rows = new ArrayList<Row>();
    try (var bench = new OpBench(device, SHORT, baselines)) {
      bench.run(problem, allVariants, 1, rows::add);
    }
    return rows;
  }

  @ParameterizedTest
  @CsvSource({"F32, false, false", "F32, true, true", "F16, true, false", "BF16, false, true"})
  void timesCorrectKernels(DType dtype, boolean transposeA, boolean transposeB) {
    var problem =
        matmul(
            "a=%1$s[%2$s] b=%1$s[%3$s] transposeA=%4$s transposeB=%5$s"
                .formatted(
                    dtype.text(),
                    transposeA ? "20,17" : "17,20",
                    transposeB ? "9,20" : "20,9",
                    transposeA,
                    transposeB));
    var rows = rows(problem, true, List.of());
    assertThat(rows).hasSizeGreaterThan(1);
    assertThat(rows).extracting(Row::kernel).doesNotHaveDuplicates();
    assertThat(rows)
        .allSatisfy(row -> {
          assertThat(row.failure()).isEmpty();
          assertThat(row.error()).isBetween(0.0, row.limit());
          assertThat(row.cost().flops()).isEqualTo(2.0 * 17 * 9 * 20);
          assertThat(row.ours().orElseThrow().count()).isEqualTo(2);
          assertThat(row.ours().orElseThrow().median()).isPositive();
          assertThat(row.theirs()).isEmpty();
        });
    assertThat(rows(problem, false, List.of()))
        .extracting(Row::kernel)
        .containsExactly(rows.getFirst().kernel());
  }

  /** The results of baselines are checked like ours, so the loop computes the product. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "a=f32[17,20] b=f32[20,9] | 1",
        "a=f32[20,17] b=f32[20,9] transposeA=true | 0",
        "a=f16[16,16] b=f16[16,16] | 0"
      })
  void timesALoopInJava(String problem, int results) {
    var row = rows(matmul(problem), false, List.of(Baseline.loop())).getFirst();
    assertThat(row.failure()).isEmpty();
    assertThat(row.theirs())
        .extracting(Baseline.Result::library)
        .hasSize(results)
        .allMatch("loop"::equals);
  }

  @Test
  void timesBaselines() {
    var row = rows(matmul("a=f32[8,8] b=f32[8,8]"), false, other(true)).getFirst();
    assertThat(row.failure()).isEmpty();
    var theirs = row.theirs().getFirst();
    assertThat(theirs.library()).isEqualTo("other");
    assertThat(row.ratio(theirs))
        .contains(row.ours().orElseThrow().median() / theirs.samples().orElseThrow().median());
  }

  /** The baseline is timed once for any number of our variants, and is closed with the bench. */
  @Test
  void selfTimedBaselinesRunOncePerProblem() {
    var calls = new ArrayList<String>();
    var rows = rows(matmul("a=f16[16,16] b=f16[16,16]"), true, List.of(selfTimed(calls)));
    assertThat(rows).hasSizeGreaterThan(1);
    assertThat(rows)
        .allSatisfy(row -> {
          assertThat(row.failure()).isEmpty();
          var theirs = row.theirs().getFirst();
          assertThat(theirs.remark()).isEqualTo("by hand");
          assertThat(row.ratio(theirs)).contains(row.ours().orElseThrow().median() / 2);
        });
    assertThat(calls).containsExactly("a=f16[16,16] b=f16[16,16] gives {c=f16[16, 16]}", "closed");
  }

  @Test
  void doesNotCompareFailedKernels() {
    var calls = new ArrayList<String>();
    var problem = Problem.parse(new WrongMatmul(), "a=f32[16,16] b=f32[16,16]");
    var row = rows(problem, false, List.of(selfTimed(calls))).getFirst();
    assertThat(row.failure()).isPresent();
    assertThat(row.theirs()).isEmpty();
    assertThat(calls).containsExactly("closed");
  }

  private static Baseline selfTimed(List<String> calls) {
    return new Baseline.Timed() {
      @Override
      public String library() {
        return "apart";
      }

      @Override
      public String name() {
        return "apart 1.0";
      }

      @Override
      public Optional<Baseline.Result> time(
          Problem problem, Map<String, TensorType> outputs, Effort effort, long seed) {
        calls.add("%s gives %s".formatted(problem.text(), outputs));
        return Optional.of(
            new Baseline.Result(library(), Optional.of(new Samples(2, 1, 3, 5, 1)), "by hand"));
      }

      @Override
      public void close() {
        calls.add("closed");
      }
    };
  }

  @Test
  void rejectsBaselinesThatComputeNothing() {
    var row = rows(matmul("a=f32[8,8] b=f32[8,8]"), false, other(false)).getFirst();
    assertThat(row.failure())
        .contains(
            "ours once more is wrong: the error of sampled elements of c is Infinity; the limit is 2.83e-06");
    assertThat(row.ours()).isEmpty();
  }

  @Test
  void reportsWrongKernels() {
    var row =
        rows(Problem.parse(new WrongMatmul(), "a=f32[16,16] b=f32[16,16]"), false, List.of())
            .getFirst();
    assertThat(row.failure().orElseThrow())
        .matches(
            "matmul_f32_\\S+ is wrong: the error of sampled elements of c is 0\\.\\d+; the limit is 4\\.00e-06");
    assertThat(row.error()).isGreaterThan(row.limit());
    assertThat(row.ours()).isEmpty();
  }

  @Test
  void reportsMatricesThatDoNotFit() {
    var rows = new ArrayList<Row>();
    try (var small = new EmulatedDevice(EmulatorOptions.DEFAULT.withMemoryBytes(1000));
        var bench = new OpBench(small, SHORT, List.of())) {
      bench.run(matmul("a=f32[16,16] b=f32[16,16]"), false, 1, rows::add);
    }
    assertThat(rows.getFirst().failure())
        .contains("cannot allocate 1024 bytes of device memory: 1000 are free");
  }

  /** Returns a baseline that runs our own kernels, or nothing at all. */
  private List<Baseline> other(boolean computes) {
    var kernels = new KernelCache(device);
    return List.of(
        new Baseline.Enqueued() {
          @Override
          public String library() {
            return "other";
          }

          @Override
          public String name() {
            return "ours once more";
          }

          @Override
          public boolean computes(Problem problem) {
            return true;
          }

          @Override
          public void enqueue(Stream stream, Problem problem, Bindings bindings) {
            if (computes) {
              problem.plans(device.capability()).getFirst().enqueue(kernels, stream, bindings);
            }
          }

          @Override
          public void close() {}
        });
  }

  /** A wrong matmul, whose first element of c is 0. */
  private static final class WrongMatmul implements Op {
    private final Op matmul = new Matmul();

    @Override
    public OpDescription description() {
      return matmul.description();
    }

    @Override
    public List<? extends Plan> plans(
        Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
      return matmul.plans(inputs, attributes, capability).stream().map(WrongPlan::new).toList();
    }

    @Override
    public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
      return matmul.reference(inputs, attributes);
    }

    @Override
    public Tolerance tolerance(
        String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
      return matmul.tolerance(output, dtype, inputs, attributes);
    }

    @Override
    public List<Case> cases(RandomGenerator random, boolean quick) {
      return matmul.cases(random, quick);
    }
  }

  private record WrongPlan(Plan plan) implements ForwardingPlan {

    @Override
    public void enqueue(KernelCache kernels, Stream stream, Bindings bindings) {
      plan.enqueue(kernels, stream, bindings);
      stream.fill(bindings.output("c").buffer(), 0, 4, (byte) 0);
    }
  }
}

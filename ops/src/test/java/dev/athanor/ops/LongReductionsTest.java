package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.run.HostRun;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.function.UnaryOperator;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Checks that kernels meet the tolerance of their op for reductions as long as in models, of
 * numbers of one sign, whose rounding errors do not cancel. {@code -Dathanor.sweep=true} covers
 * every kernel, dtype and target.
 */
class LongReductionsTest {

  private static final long SEED = TestTier.seed();

  /**
   * A problem of few rows.
   *
   * @param inputs names, dtypes and extents: {@code a=f16[4,16384]}
   * @param least the lower bound of floating-point inputs; the upper bound is greater by one
   */
  record LongReduction(String op, Map<String, ?> attributes, double least, List<String> inputs) {

    static LongReduction of(String op, Map<String, ?> attributes, String... inputs) {
      return new LongReduction(op, attributes, 0, List.of(inputs));
    }

    Map<String, TensorType> types() {
      var types = new LinkedHashMap<String, TensorType>();
      for (var input : inputs) {
        var parts = input.split("[=\\[\\],]");
        types.put(
            parts[0],
            new TensorType(
                DType.of(parts[1]).orElseThrow(),
                Shape.of(Stream.of(parts).skip(2).mapToLong(Long::parseLong).toArray())));
      }
      return types;
    }

    @Override
    public String toString() {
      return op + " " + attributes + " " + inputs;
    }
  }

  static List<LongReduction> problems() {
    return List.of(
        LongReduction.of("matmul", Map.of(), "a=f16[2,4096]", "b=f16[4096,8]"),
        LongReduction.of("gemv", Map.of("outDtype", "f32"), "a=f16[1,16384]", "x=f16[16384]"),
        LongReduction.of("reduce", Map.of("kind", "sum"), "x=f32[1,100000]"),
        new LongReduction(
            "layer-norm",
            Map.of(),
            100,
            List.of("x=f32[1,8192]", "gamma=f32[8192]", "beta=f32[8192]")),
        LongReduction.of("softmax", Map.of(), "x=f16[1,131072]"));
  }

  /** The sums of Ampere's tensor cores have the largest errors. */
  @ParameterizedTest
  @MethodSource("problems")
  void bestKernelsMeetTheTolerance(LongReduction problem) {
    verify(problem, Target.SM_80, plans -> plans.subList(0, 1));
  }

  @Test
  void sumsOfSplitOperandsMeetTheTolerance() {
    verify(
        LongReduction.of("matmul-gguf", Map.of(), "a=f32[1,16384]", "w=q4_1[8,16384]"),
        Target.SM_80,
        plans -> plans.stream().filter(plan -> plan.kernel().startsWith("mma_")).limit(1).toList());
  }

  static List<LongReduction> longProblems() {
    var all = new ArrayList<LongReduction>();
    for (var d : List.of("f64", "f32", "f16", "bf16", "e4m3", "e5m2")) {
      all.add(LongReduction.of("matmul", Map.of(), "a=" + d + "[4,16384]", "b=" + d + "[16384,8]"));
    }
    all.add(
        LongReduction.of(
            "matmul", Map.of("precision", "tf32"), "a=f32[4,16384]", "b=f32[16384,8]"));
    for (var d : List.of("f64", "f32", "f16", "bf16")) {
      all.add(LongReduction.of("gemv", Map.of(), "a=" + d + "[4,16384]", "x=" + d + "[16384]"));
      all.add(
          LongReduction.of(
              "gemv", Map.of("transposeA", true), "a=" + d + "[16384,8]", "x=" + d + "[16384]"));
      all.add(
          LongReduction.of(
              "matmul-backward",
              Map.of(),
              "grad=" + d + "[8192,8]",
              "a=" + d + "[8192,8]",
              "b=" + d + "[8,8]"));
      for (var kind : List.of("sum", "mean")) {
        all.add(LongReduction.of("reduce", Map.of("kind", kind), "x=" + d + "[1,1000000]"));
        all.add(
            LongReduction.of("reduce", Map.of("kind", kind, "axis", 0), "x=" + d + "[100000,8]"));
      }
    }
    for (var d : List.of("f32", "f16", "bf16")) {
      var gamma = "gamma=" + d;
      all.add(
          LongReduction.of(
              "layer-norm-linear",
              Map.of(),
              "x=" + d + "[4,8192]",
              gamma + "[8192]",
              "beta=" + d + "[8192]",
              "w=" + d + "[8,8192]"));
      all.add(
          new LongReduction(
              "layer-norm",
              Map.of(),
              100,
              List.of("x=" + d + "[2,65536]", gamma + "[65536]", "beta=" + d + "[65536]")));
      all.add(LongReduction.of("rms-norm", Map.of(), "x=" + d + "[2,65536]", gamma + "[65536]"));
      for (var op : List.of("layer-norm-backward", "rms-norm-backward")) {
        for (var rows : List.of("[16384,16]", "[4,16384]")) {
          var columns = rows.substring(rows.indexOf(',') + 1, rows.length() - 1);
          all.add(
              LongReduction.of(
                  op, Map.of(), "grad=" + d + rows, "x=" + d + rows, gamma + "[" + columns + "]"));
        }
      }
      all.add(LongReduction.of("softmax", Map.of(), "x=" + d + "[2,131072]"));
      all.add(
          LongReduction.of(
              "attention",
              Map.of(),
              "q=" + d + "[1,1,2,64]",
              "k=" + d + "[1,1,8192,64]",
              "v=" + d + "[1,1,8192,64]"));
      all.add(
          LongReduction.of(
              "attention-decode",
              Map.of(),
              "q=" + d + "[1,1,1,64]",
              "kCache=" + d + "[1,1,16384,64]",
              "vCache=" + d + "[1,1,16384,64]",
              "lengths=i32[1]"));
    }
    for (var format :
        List.of(
            "q4_0", "q4_1", "q5_0", "q8_0", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs", "mxfp4")) {
      for (var a : List.of("a=f32[1,16384]", "a=f16[1,16384]", "a=f16[20,16384]")) {
        all.add(LongReduction.of("matmul-gguf", Map.of(), a, "w=" + format + "[8,16384]"));
      }
    }
    for (var a : List.of("a=f16[1,16384]", "a=bf16[1,16384]", "a=f16[20,16384]")) {
      all.add(
          LongReduction.of(
              "matmul-int4",
              Map.of("outDtype", "f32"),
              a,
              "packed=u32[8,2048]",
              "scales=f16[128,8]"));
    }
    all.add(
        LongReduction.of(
            "matmul-int8", Map.of("outDtype", "i32"), "a=i8[4,131071]", "b=i8[131071,8]"));
    all.add(
        LongReduction.of(
            "matmul-int8",
            Map.of(),
            "a=i8[4,16384]",
            "b=i8[16384,8]",
            "aScale=f32[4]",
            "bScale=f32[8]"));
    return all;
  }

  @ParameterizedTest
  @MethodSource("longProblems")
  @EnabledIfSystemProperty(named = "athanor.sweep", matches = "true")
  void everyKernelMeetsTheToleranceOnEveryTarget(LongReduction problem) {
    for (var target : List.of(Target.SM_80, Target.SM_89, Target.SM_90)) {
      verify(problem, target, plans -> plans);
    }
  }

  private static void verify(
      LongReduction problem, Target target, UnaryOperator<List<? extends Plan>> choice) {
    var op = Catalogue.load().find(problem.op).orElseThrow();
    var attributes = Attributes.of(op.description(), problem.attributes);
    var types = problem.types();
    if (target.equals(Target.SM_80) && types.values().stream().anyMatch(LongReductionsTest::fp8)) {
      return; // needs sm_89
    }
    var random = new SplittableRandom(SEED);
    var inputs = new LinkedHashMap<>(op.draw(types, attributes, new Draw(random)));
    inputs.replaceAll((_, tensor) -> ofOneSign(random, problem.least, tensor));
    var reference = op.reference(inputs, attributes);
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withTarget(target))) {
      var kernels = new KernelCache(device);
      var plans = choice.apply(op.plans(types, attributes, device.capability()));
      assertThat(plans).as("kernels for %s", problem).isNotEmpty();
      for (var plan : plans) {
        HostRun.of(device, kernels, plan, inputs)
            .outputs()
            .forEach((name, tensor) -> {
              var tolerance = op.tolerance(name, tensor.type().dtype(), types, attributes);
              var exact = Objects.requireNonNull(reference.get(name));
              assertThat(tolerance.error(tensor.toDoubles(), exact))
                  .as("%s of %s by %s for %s, seed %d", name, problem, plan.kernel(), target, SEED)
                  .isLessThanOrEqualTo(tolerance.limit());
            });
      }
    }
  }

  private static boolean fp8(TensorType type) {
    return type.dtype() == DType.E4M3 || type.dtype() == DType.E5M2;
  }

  /**
   * Returns floating-point numbers of one sign and the greatest bytes; other tensors are unchanged.
   */
  private static HostTensor ofOneSign(RandomGenerator random, double least, HostTensor drawn) {
    return switch (drawn.type().dtype()) {
      case F64, F32, F16, BF16, E4M3, E5M2 ->
          new Draw(random).uniform(least, least + 1, drawn.type());
      case I8 -> new Draw(random).integers(127, 127, drawn.type());
      default -> drawn;
    };
  }
}

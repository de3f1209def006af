package dev.athanor.ops.linear.quantized;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.analysis.JCudaAssembler;
import dev.athanor.engine.analysis.Ptxas;
import dev.athanor.engine.analysis.sass.InnermostLoop;
import dev.athanor.engine.analysis.sass.InstructionClass;
import dev.athanor.engine.analysis.sass.InstructionCounts;
import dev.athanor.engine.analysis.sass.KernelCode;
import dev.athanor.engine.analysis.sass.MachineCode;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.ops.quant.ColumnWeights;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.testing.Programs;
import dev.athanor.testing.TestTier;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** GEMVs with 4-bit weights: bytes in flight, and machine code. */
@Tag(TestTier.THOROUGH_TAG)
class Int4GemvTest {

  /** Bytes in flight per multiprocessor that hide the latency of DRAM on the fastest GPUs. */
  private static final int MIN_BYTES_IN_FLIGHT = 32 << 10;

  /** Bytes that a lane copies with one instruction. */
  private static final int COPY_BYTES = 16;

  private static final List<Gpu> GPUS = List.of(Gpu.A100, Gpu.RTX_4090, Gpu.H200);
  private static final List<Integer> EXTENTS = List.of(4096, 8192, 11008, 14336, 28672);
  private static final MatmulInt4 OP = new MatmulInt4();

  private final Map<String, KernelCode> assembled = new HashMap<>();

  /**
   * Returns the machine code for a target, assembled by the {@code ptxas} on the path. Without one,
   * returns the code for sm_80 from the compiler library, which crashes for newer targets.
   */
  private KernelCode code(Int4Gemv variant, Target target) {
    return assembled.computeIfAbsent(
        variant.name() + target,
        _ -> {
          var ptx = Module.of(variant.build()).toString();
          var code =
              Ptxas.find()
                  .map(ptxas -> MachineCode.of(ptxas, ptx, target))
                  .orElseGet(() ->
                      MachineCode.of(
                          Programs.require(
                              JCudaAssembler.find(),
                              "PTX compiler library",
                              "JCuda has it for Linux on x86-64"),
                          ptx,
                          Target.SM_80));
          return code.of(variant.name());
        });
  }

  private static List<LaunchPlan> plans(
      String layout, DType in, int m, int k, int n, int group, Gpu gpu) {
    int groups = k / group;
    var types = new HashMap<String, TensorType>();
    types.put("a", TensorType.of(in, m, k));
    types.put("scales", TensorType.of(DType.F16, groups, n));
    types.put(
        "packed",
        switch (layout) {
          case "k-packed" -> TensorType.of(DType.U32, n, k / 8);
          case "gptq" -> TensorType.of(DType.U32, k / 8, n);
          default -> TensorType.of(DType.U32, k, n / 8);
        });
    if (!layout.equals("k-packed")) {
      types.put("zeros", TensorType.of(DType.U32, groups, n / 8));
    }
    var attributes = Attributes.of(OP.description(), Map.of("layout", layout, "groupSize", group));
    return OP.plans(types, attributes, OpProfile.capability(gpu)).stream()
        .map(LaunchPlan.class::cast)
        .toList();
  }

  @ParameterizedTest
  @CsvSource({
    "k-packed, 128",
    "gptq, 128",
    "awq, 128",
    "k-packed, 32",
    "gptq, 32",
    "awq, 32",
    "gptq, 64"
  })
  void keepsEnoughBytesInFlight(String layout, int group) {
    boolean all = group == 128 || TestTier.current() == TestTier.SWEEP;
    for (var gpu : GPUS) {
      for (int m : all ? List.of(1, 2, 4, 8) : List.of(8)) {
        for (int k : EXTENTS) {
          for (int n : EXTENTS) {
            for (var plan : plans(layout, DType.F16, m, k, n, group, gpu)) {
              if (plan.steps().getFirst().variant() instanceof Int4Gemv variant) {
                var step = plan.steps().getFirst();
                var blocks =
                    code(variant, gpu.target())
                        .occupancy(gpu, step.threads(), step.sharedBytes())
                        .blocks();
                assertThat(blocks * variant.bytesInFlight())
                    .as("%s of %s blocks on %s", variant.name(), blocks, gpu.name())
                    .isGreaterThanOrEqualTo(MIN_BYTES_IN_FLIGHT);
              }
            }
          }
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"k-packed", "gptq", "awq"})
  void choosesTheGemvForOneRow(String layout) {
    for (var gpu : GPUS) {
      for (int k : EXTENTS) {
        for (int n : EXTENTS) {
          var first = plans(layout, DType.F16, 1, k, n, 128, gpu).getFirst();
          assertThat(first.steps().getFirst().variant()).isInstanceOf(Int4Gemv.class);
        }
      }
    }
  }

  /** If there are fewer tiles than multiprocessors, a long K is split to fill the GPU. */
  @Test
  void splitsLongK() {
    var plan = plans("awq", DType.F16, 1, 28672, 1024, 128, Gpu.H200).getFirst();
    assertThat(plan.kernel()).startsWith("gemv_awq_zeros_f16_f32_m1_n64").contains("_split");
    assertThat(plan.steps()).hasSize(2);
    assertThat(plan.steps().getFirst().grid().count()).isBetween(132L, 4 * 132L);
    var whole = plans("awq", DType.F16, 1, 4096, 4096, 128, Gpu.H200).getFirst();
    assertThat(whole.steps()).hasSize(1);
  }

  private static Int4Gemv variant(Packing packing, DType in, int rows, int columns, int group) {
    return new Int4Gemv(packing, in, Epilogue.none(in), rows, columns, group, 32, 32, 1, false);
  }

  private static Packing packing(String name) {
    return switch (name) {
      case "int4" -> new Packing.AlongK(Type.F16);
      case "gptq" -> new Packing.AlongN(ColumnWeights.Format.GPTQ, false, false, Type.F16);
      case "gptq_zeros" -> new Packing.AlongN(ColumnWeights.Format.GPTQ, true, true, Type.F16);
      default -> new Packing.AlongN(ColumnWeights.Format.AWQ, true, false, Type.F16);
    };
  }

  /**
   * Nothing is loaded into registers: the loop copies one stage to shared memory, and all other
   * stages are copied before the loop and its first wait.
   */
  @ParameterizedTest
  @CsvSource({
    "int4, 1, 32",
    "int4, 1, 64",
    "gptq, 1, 32",
    "gptq, 1, 64",
    "gptq_zeros, 1, 32",
    "gptq_zeros, 4, 64",
    "awq_zeros, 1, 64",
    "awq_zeros, 8, 64"
  })
  void copiesAllStagesButOneBeforeTheFirstWait(String packing, int rows, int columns) {
    var variant = variant(packing(packing), DType.F16, rows, columns, 128);
    for (var gpu : GPUS) {
      var code = code(variant, gpu.target());
      var loop = mainLoop(code);
      assertThat(loop.of(InstructionClass.LDG)).isZero();
      int copies = loop.of(InstructionClass.LDGSTS);
      assertThat(copies * COPY_BYTES * variant.threads())
          .isGreaterThanOrEqualTo(variant.bytesInFlight() / (variant.stages() - 1));
      assertThat(code.instructions().of(InstructionClass.LDGSTS))
          .isEqualTo(variant.stages() * copies);
    }
  }

  private static InstructionCounts mainLoop(KernelCode code) {
    return code.loops().stream()
        .map(InnermostLoop::instructions)
        .max(Comparator.comparingInt(InstructionCounts::matrix))
        .orElseThrow();
  }

  /** A lane has eight weights for each matrix instruction. */
  @ParameterizedTest
  @CsvSource({
    "int4, F16, 64, 1.7",
    "int4, F16, 32, 1.95",
    "gptq, F16, 64, 1.7",
    "gptq, F16, 32, 1.95",
    "gptq_zeros, F16, 64, 1.9",
    "gptq_zeros, F16, 32, 2.15",
    "awq_zeros, F16, 64, 2",
    "int4, BF16, 64, 2",
    "gptq, BF16, 64, 2",
    "awq_zeros, BF16, 64, 2.25"
  })
  void needsAboutTwoInstructionsPerWeight(String packing, DType in, int columns, double most) {
    for (var gpu : GPUS) {
      var code = code(variant(packing(packing), in, 1, columns, 128), gpu.target());
      assertThat(code.usage().spillStoreBytes() + code.usage().stackBytes()).isZero();
      assertThat(mainLoop(code).perMatrix() / 8).isLessThanOrEqualTo(most);
    }
  }
}

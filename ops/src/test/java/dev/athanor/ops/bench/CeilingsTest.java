package dev.athanor.ops.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.JCudaAssembler;
import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.profile.Profiler;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.bench.Ceilings.Arithmetic;
import dev.athanor.ops.linear.dense.Matmul;
import dev.athanor.testing.Programs;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class CeilingsTest {

  @Test
  void leastTimeIsTheMaximumOfMemoryAndCompute() {
    var ceilings = new Ceilings(1e12, Map.of(Arithmetic.F16, 1e15));
    var problem = matmul("a=f16[8,8] b=f16[8,8]");
    assertThat(ceilings.leastMicros(problem, new Plan.Cost(1e9, 1e9))).isEqualTo(1000);
    assertThat(ceilings.leastMicros(problem, new Plan.Cost(1e13, 1e9))).isEqualTo(10_000);
    var unknown = matmul("a=f64[8,8] b=f64[8,8]");
    assertThat(ceilings.leastMicros(unknown, new Plan.Cost(1e13, 1e9))).isEqualTo(1000);
  }

  private static Problem matmul(String text) {
    return Problem.parse(new Matmul(), text);
  }

  @Test
  void theArithmeticOfAProblemIsThatOfItsFactors() {
    assertThat(Arithmetic.of(matmul("a=f32[8,8] b=f32[8,8]"))).contains(Arithmetic.F32);
    assertThat(Arithmetic.of(matmul("a=f32[8,8] b=f32[8,8] precision=tf32")))
        .contains(Arithmetic.TF32);
    assertThat(Arithmetic.of(matmul("a=f64[8,8] b=f64[8,8]"))).contains(Arithmetic.F64);
    assertThat(Arithmetic.of(matmul("a=e4m3[8,8] b=e5m2[8,8]"))).contains(Arithmetic.E4M3);
  }

  /** The profiler counts the reported operations, and the loop does nothing else. */
  @ParameterizedTest
  @EnumSource
  void multipliersReportTheirOperations(Arithmetic arithmetic) {
    var multiplier = new Ceilings.Multiplier(arithmetic);
    var profiler = new Profiler();
    int rounds = 5;
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withObservers(List.of(profiler)));
        var stream = device.openStream();
        var out = device.allocate(256 * Float.BYTES)) {
      var kernel = new KernelCache(device).get(multiplier);
      stream.launch(
          new Launch(
              kernel, Dim3.of(1), Dim3.of(256), 0, List.of(Argument.of(out), Argument.of(rounds))));
      stream.synchronize();
      var profile = profiler.profiles().getFirst();
      double counted =
          profile.flops().entrySet().stream()
              .filter(each -> arithmetic == Arithmetic.F32 || each.getKey().startsWith("tensor"))
              .mapToDouble(Map.Entry::getValue)
              .sum();
      // f32 also adds its sums once
      assertThat(counted)
          .isBetween(multiplier.flops() * rounds, multiplier.flops() * rounds + 256 * 8);
      if (arithmetic == Arithmetic.E4M3) {
        return; // the compiler of JCuda is older than the instruction
      }
      var assembler =
          Programs.require(
              JCudaAssembler.find(), "PTX compiler library", "JCuda has it for Linux on x86-64");
      var usage =
          assembler
              .assemble(Module.of(kernel.kernel()).toString(), Target.SM_90)
              .of(multiplier.name());
      assertThat(usage.spillStoreBytes() + usage.stackBytes()).isZero();
    }
  }
}

package dev.athanor.ops.row;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.JCudaAssembler;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.DType;
import dev.athanor.ops.row.norm.Norm;
import dev.athanor.ops.row.norm.NormBackwardFunction;
import dev.athanor.ops.row.norm.NormFunction;
import dev.athanor.ops.row.rope.RopeFunction;
import dev.athanor.ops.row.softmax.SoftmaxFunction;
import dev.athanor.testing.Programs;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Checks that kernels with the most values per thread, which few cases use, fit in registers. */
@Tag(TestTier.THOROUGH_TAG)
class LargestTilesTest {

  static List<RowKernel> kernels() {
    var kernels = new ArrayList<RowKernel>();
    for (var dtype : RowCases.DTYPES) {
      int access = 16 / dtype.bytes();
      for (var weights : dtype == DType.F32 ? List.of(dtype) : List.of(dtype, DType.F32)) {
        add(kernels, new SoftmaxFunction(true, true), dtype, weights, access, access);
        addNorms(kernels, dtype, weights, access, access);
        for (var norm : Norm.values()) {
          add(kernels, new NormBackwardFunction(norm, true), dtype, weights, access, 4 * access);
        }
        for (boolean interleaved : new boolean[] {false, true}) {
          var rope = new RopeFunction(interleaved, true, true, false, true, weights);
          add(kernels, rope, dtype, weights, access, 2 * rope.pairs(access));
        }
      }
    }
    // a number of f64 takes two registers, and its exponential some more
    addNorms(kernels, DType.F64, DType.F64, 2, 4);
    add(kernels, new SoftmaxFunction(true, true), DType.F64, DType.F64, 2, 8);
    return kernels;
  }

  private static void addNorms(
      List<RowKernel> kernels, DType dtype, DType weights, int access, int values) {
    for (var norm : Norm.values()) {
      for (var residual : NormFunction.Residual.values()) {
        var function = new NormFunction(norm, residual, true, norm == Norm.LAYER);
        add(kernels, function, dtype, weights, access, values);
        var plain = new NormFunction(norm, residual, false, false);
        add(kernels, plain, dtype, weights, access, values);
      }
    }
    var ofChannels = new NormFunction(Norm.LAYER, NormFunction.Residual.NONE, true, true, true);
    add(kernels, ofChannels, dtype, weights, access, values);
  }

  /** Adds the kernel of the largest team. */
  private static void add(
      List<RowKernel> kernels,
      RowFunction function,
      DType dtype,
      DType weights,
      int access,
      int values) {
    long groups = 512L * (64 / values);
    var tile = new RowPlanner(1000, groups, access, values).tiles().getFirst();
    assertThat(tile.team()).isEqualTo(512);
    assertThat(tile.vectors() * values).isEqualTo(64);
    kernels.add(new RowKernel(function, dtype, weights, tile));
  }

  @ParameterizedTest
  @MethodSource("kernels")
  void fitsInRegisters(RowKernel variant) {
    Kernel kernel = variant.build();
    var text = Module.of(kernel).toString();
    var usage =
        Programs.require(
                JCudaAssembler.find(), "PTX compiler library", "JCuda has it for Linux on x86-64")
            .assemble(text, Target.SM_80)
            .of(kernel.name());
    assertThat(usage.spillStoreBytes() + usage.spillLoadBytes() + usage.stackBytes()).isZero();
    assertThat(usage.registers()).isLessThanOrEqualTo(128);
  }
}

package dev.athanor.vulkan.spirv;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.vulkan.flow.ControlGraph;
import dev.athanor.vulkan.flow.MatrixRegisters;
import dev.athanor.vulkan.flow.UnsupportedKernelException;

/**
 * Translates kernels to compute shaders of Vulkan 1.3. Kernels have been rewritten for sm_70: what
 * only newer targets have is refused.
 */
public final class Translator {

  private static final int WORD = 4;

  private Translator() {}

  /**
   * Returns a kernel as a shader.
   *
   * @param block the shape of the blocks of threads
   * @param dynamicSharedBytes size of the dynamic shared memory of a block
   * @throws UnsupportedKernelException if the kernel has no translation for the features
   */
  public static Shader translate(
      Kernel kernel, Dim3 block, int dynamicSharedBytes, ShaderFeatures features) {
    try {
      return translated(kernel, block, dynamicSharedBytes, features);
    } catch (UnsupportedKernelException e) {
      throw new UnsupportedKernelException("it cannot run on Vulkan: %s".formatted(e.getMessage()));
    }
  }

  private static Shader translated(
      Kernel kernel, Dim3 block, int dynamicSharedBytes, ShaderFeatures features) {
    requireNoRuntime(kernel);
    boolean subgroups =
        features.subgroups()
            && block.count() % Warps.SIZE == 0
            && kernel.instructions().anyMatch(Translator::isForWarp);
    boolean matrices = kernel.hasOpaqueProducts();
    if (matrices && !subgroups) {
      throw new UnsupportedKernelException(
          "it has wmma instructions, which need a device with subgroups of %d threads, and blocks"
                  .formatted(Warps.SIZE)
              + " of whole warps");
    }
    int bytes = align(kernel.staticSharedBytes() + dynamicSharedBytes);
    var module = new SpirvModule(matrices);
    module.capability(Spirv.SHADER);
    module.capability(Spirv.INT64);
    module.capability(Spirv.PHYSICAL_STORAGE);
    if (matrices) {
      module.capability(Spirv.COOPERATIVE_MATRIX);
      module.extension("SPV_KHR_cooperative_matrix");
    }
    if (features.subnormals()) {
      module.keepSubnormals();
    }
    var code = new Code(module);
    var frame = new Frame(kernel, block, dynamicSharedBytes, features, subgroups, code);
    var memory = new Memory(frame, bytes);
    var lanes = new Lanes(frame, memory);
    var graph = new ControlGraph(kernel);
    var registers = new MatrixRegisters(kernel, graph);
    var instructions =
        new Instructions(frame, memory, lanes, new Matrices(frame, memory, registers));
    new RegionWriter(graph, code, instructions, lanes, subgroups).write();
    int sharedBytes = memory.declareShared();
    if (module.has(Spirv.FLOAT64) && !features.float64()) {
      throw new UnsupportedKernelException("it computes with f64, which the device lacks");
    }
    var shader =
        subgroups
            ? module.finish(Math.toIntExact(block.count()), 1, 1)
            : module.finish(block.x(), block.y(), block.z());
    return new Shader(shader, sharedBytes, !subgroups);
  }

  private static void requireNoRuntime(Kernel kernel) {
    kernel
        .instructions()
        .filter(each -> each.form().semantics() instanceof Semantics.RuntimeCall)
        .findFirst()
        .ifPresent(call -> {
          throw new UnsupportedKernelException(
              "it calls %s, which only CUDA devices have".formatted(call.opcode()));
        });
  }

  private static boolean isForWarp(Instruction instruction) {
    return switch (instruction.form().semantics()) {
      case Semantics.Warp _,
          Semantics.Converged _,
          Semantics.WarpBarrier _,
          Semantics.LoadTile _,
          Semantics.StoreTile _ ->
          true;
      default ->
          instruction.operands().stream()
              .anyMatch(operand ->
                  operand == SpecialRegister.LANEID || operand == SpecialRegister.WARPID);
    };
  }

  private static int align(int bytes) {
    return Math.ceilDiv(bytes, WORD) * WORD;
  }
}

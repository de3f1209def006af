package dev.athanor.engine.lift;

import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.Ptxas;
import dev.athanor.engine.analysis.sass.InnermostLoop;
import dev.athanor.engine.analysis.sass.InstructionClass;
import dev.athanor.engine.analysis.sass.KernelCode;
import dev.athanor.engine.analysis.sass.MachineCode;
import dev.athanor.engine.ptx.Target;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Machine code of kernels in Java beside that of the same kernels in CUDA C++. */
record NvccComparison(Kernel kernel, Code nvcc, Code lifted) {

  /**
   * A kernel that {@code src/test/lift/reference.cu} has too.
   *
   * @param mark class of which each element has as many instructions as {@code marks} says: it
   *     tells how many elements an iteration of the machine code's loop makes; null if the whole
   *     kernel is compared
   * @param limit the most instructions for each element, relative to nvcc's
   * @param registers the most registers, relative to nvcc's, if there are more than 32
   */
  record Kernel(
      Class<?> of,
      String name,
      @Nullable InstructionClass mark,
      int marks,
      double limit,
      double registers) {
    private static Kernel whole(Class<?> of, String name, double limit) {
      return new Kernel(of, name, null, 0, limit, TENTH_MORE);
    }

    private static Kernel loop(Class<?> of, String name, InstructionClass mark, double limit) {
      return new Kernel(of, name, mark, 1, limit, TENTH_MORE);
    }

    @Override
    public String toString() {
      return name;
    }
  }

  private static final double TENTH_MORE = 1.10;

  /**
   * The kernels that are compared, with the larger ratio of those that ptxas 13.0 and the compiler
   * library of JCuda, 12.0, reach. No loop has more than 1.10 times nvcc's instructions: product
   * comes close because its loop makes two iterations at a time, nvcc's four; spmv because it
   * computes each address from a base and an index, where nvcc increments pointers.
   *
   * <p>All of transpose is compared, since its loops are unrolled, while nvcc keeps four; its
   * threads run only part of that code. The loop of registerTiles also copies tiles to shared
   * memory, for which nvcc has another loop. Its 16 products with a tile are unrolled, not two of
   * them, so that the assembler keeps more of the tile in registers.
   */
  static final List<Kernel> KERNELS =
      List.of(
          Kernel.whole(SampleKernels.class, "saxpy", 1),
          Kernel.loop(SampleKernels.class, "siluGate", InstructionClass.STG, 0.95),
          Kernel.loop(SampleKernels.class, "softmax", InstructionClass.STG, 0.90),
          Kernel.loop(SampleKernels.class, "layerNorm", InstructionClass.STG, 0.92),
          Kernel.loop(SampleKernels.class, "product", InstructionClass.FFMA, 1.095),
          Kernel.loop(SampleKernels.class, "histogram", InstructionClass.LDG, 0.83),
          Kernel.loop(SampleKernels.class, "reduce", InstructionClass.FADD, 0.80),
          Kernel.whole(SampleKernels.class, "transpose", 0.24),
          Kernel.loop(ReferenceKernels.class, "nBody", InstructionClass.MUFU, 0.90),
          Kernel.loop(ReferenceKernels.class, "spmv", InstructionClass.FFMA, 1.091),
          Kernel.loop(ReferenceKernels.class, "crc32", InstructionClass.LDS, 0.83),
          Kernel.whole(ReferenceKernels.class, "sobel", 1.03),
          new Kernel(
              ReferenceKernels.class, "blackScholes", InstructionClass.STG, 2, 1.01, TENTH_MORE),
          new Kernel(ReferenceKernels.class, "registerTiles", InstructionClass.FFMA, 1, 0.98, 1.5));

  private static final Path SOURCE = Path.of("src/test/lift/reference.cu");
  private static final Target TARGET = Target.of("sm_90");

  /**
   * The cost of a kernel.
   *
   * @param instructions in machine code for each element in the loop that makes most of them; of
   *     the whole kernel, without NOPs, if it has no loop
   * @param registers of a thread
   */
  record Code(double instructions, int registers) {
    static Code of(Kernel kernel, KernelCode code) {
      var mark = kernel.mark;
      double instructions =
          mark == null
              ? code.instructions().total()
              : code.loops().stream()
                  .filter(loop -> loop.instructions().of(mark) > 0)
                  .mapToDouble(loop -> perMark(loop, mark) * kernel.marks)
                  .min()
                  .orElseThrow();
      return new Code(instructions, code.usage().registers());
    }

    private static double perMark(InnermostLoop loop, InstructionClass mark) {
      return (double) loop.instructions().total() / loop.instructions().of(mark);
    }
  }

  /** Assembles a kernel in Java, without checks of its indices. */
  static Code lifted(Assembler assembler, Kernel kernel) {
    var ptx = Kernels.of(kernel.of, kernel.name).module(false).toString();
    return Code.of(kernel, MachineCode.of(assembler, ptx, TARGET).of(kernel.name));
  }

  /** Compiles the kernels in CUDA C++ to PTX, without contraction, which Java lacks. */
  static String reference() throws IOException, InterruptedException {
    var ptx = Files.createTempFile("reference", ".ptx");
    try {
      var process =
          new ProcessBuilder(
                  "nvcc",
                  "-w",
                  "-arch=" + TARGET,
                  "-fmad=false",
                  "-ptx",
                  "-o",
                  ptx.toString(),
                  SOURCE.toString())
              .inheritIO()
              .start();
      if (process.waitFor() != 0) {
        throw new IOException("nvcc ended with status " + process.exitValue());
      }
      return Files.readString(ptx);
    } finally {
      Files.delete(ptx);
    }
  }

  /** Compiles both sides with the tools of this machine. */
  static List<NvccComparison> measure() throws IOException, InterruptedException {
    var assembler = Ptxas.find().orElseThrow();
    var theirs = MachineCode.of(assembler, reference(), TARGET);
    var found = new ArrayList<NvccComparison>();
    for (var kernel : KERNELS) {
      found.add(
          new NvccComparison(
              kernel, Code.of(kernel, theirs.of(kernel.name)), lifted(assembler, kernel)));
    }
    return found;
  }

  /** Returns the row of a kernel in {@code docs/results/lifted-kernels.md}. */
  String row() {
    return String.format(
        Locale.ROOT,
        "| %s | %.2f | %.2f | %.2f | %d | %d |",
        kernel,
        nvcc.instructions,
        lifted.instructions,
        lifted.instructions / nvcc.instructions,
        nvcc.registers,
        lifted.registers);
  }

  /** Prints the rows; needs nvcc and ptxas on the path. */
  public static void main(String[] arguments) throws IOException, InterruptedException {
    measure().forEach(each -> System.out.println(each.row()));
  }
}

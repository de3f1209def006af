package dev.athanor.engine.lift;

import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.Ptxas;
import dev.athanor.engine.analysis.sass.KernelCode;
import dev.athanor.engine.analysis.sass.MachineCode;
import dev.athanor.engine.ptx.Target;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Machine code of kernels of {@link SampleKernels} beside that of the same kernels in CUDA C++.
 *
 * @param kernel a method of {@link SampleKernels}
 */
record NvccComparison(String kernel, Code nvcc, Code lifted) {

  /** The kernels that {@code src/test/lift/reference.cu} has. */
  static final List<String> KERNELS =
      List.of("saxpy", "siluGate", "softmax", "layerNorm", "product", "histogram", "reduce");

  private static final Path SOURCE = Path.of("src/test/lift/reference.cu");
  private static final Target TARGET = Target.of("sm_90");

  /**
   * The size of a kernel.
   *
   * @param instructions in machine code, without NOPs
   * @param registers of a thread
   */
  record Code(int instructions, int registers) {
    static Code of(KernelCode code) {
      return new Code(code.instructions().total(), code.usage().registers());
    }
  }

  /** Assembles a kernel in Java, without checks of its indices. */
  static Code lifted(Assembler assembler, String kernel) {
    var ptx = Kernels.of(SampleKernels.class, kernel).module(false).toString();
    return Code.of(MachineCode.of(assembler, ptx, TARGET).of(kernel));
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
      found.add(new NvccComparison(kernel, Code.of(theirs.of(kernel)), lifted(assembler, kernel)));
    }
    return found;
  }

  /** Returns the row of a kernel in {@code docs/results/lifted-kernels.md}. */
  String row() {
    return "| %s | %d | %d | %+d %% | %d | %d |"
        .formatted(
            kernel,
            nvcc.instructions,
            lifted.instructions,
            Math.round(100.0 * lifted.instructions / nvcc.instructions - 100),
            nvcc.registers,
            lifted.registers);
  }

  /** Prints the rows; needs nvcc and ptxas on the path. */
  public static void main(String[] arguments) throws IOException, InterruptedException {
    measure().forEach(each -> System.out.println(each.row()));
  }
}

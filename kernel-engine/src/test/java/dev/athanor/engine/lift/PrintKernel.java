package dev.athanor.engine.lift;

/** Prints the PTX of a sample, without checks: for {@code src/test/lift/compare.py}. */
final class PrintKernel {

  private PrintKernel() {}

  /**
   * Prints a kernel.
   *
   * @param arguments the name of a method of {@link SampleKernels}
   */
  public static void main(String[] arguments) {
    System.out.println(Kernels.of(SampleKernels.class, arguments[0]).module(false));
  }
}

package dev.athanor.ops.row;

import dev.athanor.engine.author.KernelBuilder;

/**
 * The computation on a row, the op-specific part of a {@link RowKernel}. Implement it as a record,
 * so that equal functions make equal kernels.
 */
public interface RowFunction {

  /**
   * Returns the prefix of the kernel's name: the op and the components that change the kernel, such
   * as {@code softmax_causal}.
   */
  String name();

  /**
   * Writes the kernel. Its first parameters, {@code rows} and {@code n}, the number of rows and
   * their length, are already declared; the function declares the others, for which its op passes
   * arguments to {@link RowPlanner#step}.
   *
   * @param kernel declares parameters of its dtypes
   * @param rows returns the rows that this block computes
   */
  void write(KernelBuilder k, RowKernel kernel, RowSchedule rows);
}

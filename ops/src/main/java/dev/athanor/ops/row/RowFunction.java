package dev.athanor.ops.row;

import dev.athanor.engine.author.KernelBuilder;

/**
 * The computation on a row, from which {@link RowKernel} makes a kernel: the part that one op has
 * for itself. Implement it as a record, so that equal functions make equal kernels.
 */
public interface RowFunction {

  /**
   * Returns the start of the kernel's name: the op and the components that change the kernel, for
   * instance {@code softmax_causal}.
   */
  String name();

  /**
   * Writes the kernel. Its first parameters, the number of rows and their length, are declared; the
   * function declares the others in the order of the slots that its op gives to {@link
   * RowPlanner#step}.
   *
   * @param kernel declares parameters of the dtypes that it has
   * @param rows gives the rows that this block computes
   */
  void write(KernelBuilder k, RowKernel kernel, RowSchedule rows);
}

package dev.athanor.ops.row;

import dev.athanor.engine.author.KernelBuilder;

/** What is computed of each row: the part of a {@link RowKernel} that one op has for itself. */
public interface RowFunction {

  /** The op and its switches, as part of a kernel's name: {@code softmax_causal}. */
  String name();

  /** Writes the kernel, whose first parameters are always the number of rows and their length. */
  void write(KernelBuilder k, RowKernel kernel, Rows rows);
}

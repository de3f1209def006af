package dev.athanor.ops.map;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.ops.DType;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * A function that computes several results from several operands, element by element; the
 * op-specific part of a {@link FusedVariant}. Implement it as a record, so that equal functions
 * make equal kernels.
 */
public interface FusedFunction {

  /**
   * An operand or a result.
   *
   * @param name of the kernel's parameter
   * @param dtype a floating-point dtype of at least 16 bits
   */
  record Tensor(String name, DType dtype) {}

  /** Returns the name of the kernel: the op and everything that changes the kernel. */
  String name();

  /** Returns the tensors that each element is computed from. */
  List<Tensor> operands();

  /** Returns the tensors that are written. */
  List<Tensor> results();

  /**
   * Declares further parameters, and returns the function: from an element of each operand, widened
   * to f32 or f64, to one of each result.
   */
  UnaryOperator<List<Real>> declare(KernelBuilder k);
}

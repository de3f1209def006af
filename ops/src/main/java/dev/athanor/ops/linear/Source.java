package dev.athanor.ops.linear;

import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.tile.Operand;
import java.util.OptionalLong;

/**
 * The source of a factor: an input, or a copy of it in the workspace.
 *
 * @param input the name of the input
 * @param leadingDimension row stride, in elements
 * @param matrix elements per matrix
 * @param workspace byte offset of the copy in the workspace; empty for the input itself
 */
public record Source(
    String input, Operand operand, int leadingDimension, long matrix, OptionalLong workspace) {

  /** Returns the input {@code a} of a product. */
  public static Source ofA(MatmulProblem problem) {
    return new Source(
        "a",
        problem.a(),
        problem.leadingDimensionA(),
        (long) problem.m() * problem.k(),
        OptionalLong.empty());
  }

  /** Returns the input {@code b} of a product. */
  public static Source ofB(MatmulProblem problem) {
    return new Source(
        "b",
        problem.b(),
        problem.leadingDimensionB(),
        (long) problem.k() * problem.n(),
        OptionalLong.empty());
  }

  /** Returns the number of rows of a matrix. */
  public long rows() {
    return matrix / leadingDimension;
  }

  /** Returns a copy in the workspace with padded rows. */
  public Source copied(int pitch, long offset) {
    return new Source(
        input,
        Operand.of(operand.dtype(), operand.transposed(), pitch),
        pitch,
        rows() * pitch,
        OptionalLong.of(offset));
  }

  /** Returns a transposed copy in the workspace, with padded rows. */
  public Source transposed(int pitch, long offset) {
    return new Source(
        input,
        Operand.of(operand.dtype(), !operand.transposed(), pitch),
        pitch,
        (long) leadingDimension * pitch,
        OptionalLong.of(offset));
  }

  /** Returns the address of a matrix by index. */
  public Slot slot(long index) {
    long offset = index * matrix * operand.dtype().bytes();
    return workspace.isPresent()
        ? new Slot.Workspace(workspace.getAsLong() + offset)
        : new Slot.Input(input, offset);
  }
}

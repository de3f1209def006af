package dev.athanor.ops.move;

import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;

/** Transposes matrices that follow each other in memory, as a step of a plan. */
public final class Transposes {

  private Transposes() {}

  /**
   * Returns a launch that transposes matrices.
   *
   * @param bytes of an element: 1, 2, 4 or 8
   * @param rows of a matrix of x
   * @param columns of a matrix of x, without gaps between rows
   * @param pitch elements between the rows of y, of which {@code rows} are written
   */
  public static Step step(
      int bytes, Slot x, Slot y, int rows, int columns, int pitch, int matrices) {
    long matrixX = (long) rows * columns;
    long matrixY = (long) columns * pitch;
    int widest = TransposeVariant.widest(bytes);
    var variant =
        new TransposeVariant(
            bytes, divisor(widest, columns | matrixX), divisor(widest, rows | pitch | matrixY));
    long blocks =
        (long) Math.ceilDiv(rows, variant.tile())
            * Math.ceilDiv(columns, variant.tile())
            * matrices;
    return new Step(
        variant,
        Dim3.of(Math.toIntExact(blocks)),
        TransposeVariant.THREADS,
        0,
        Arguments.NONE
            .with("x", x)
            .with("y", y)
            .with("rows", rows)
            .with("columns", columns)
            .with("pitchX", columns)
            .with("pitchY", pitch)
            .with("inner", matrices)
            .with("innerX", matrixX)
            .with("innerY", matrixY)
            .with("outerX", 0L)
            .with("outerY", 0L));
  }

  /** Returns the greatest power of two up to a limit that divides numbers, given their or. */
  static int divisor(int limit, long numbers) {
    return (int) Math.min(limit, Long.lowestOneBit(numbers));
  }
}

package dev.athanor.engine.layout;

import dev.athanor.engine.layout.Fragment.Coordinate;

/**
 * The fragments of the warp-level matrix instructions (PTX ISA 9.7.14.5). In each, lane {@code l}
 * belongs to group {@code l / 4} and is number {@code l % 4} in it.
 */
public final class Fragments {

  /** A of {@code mma.m16n8k16} with 16-bit elements: 8 a lane, two to a register. */
  public static final Fragment A_16X16 =
      new Fragment(
          "A 16x16",
          16,
          16,
          8,
          (lane, i) ->
              new Coordinate(lane / 4 + 8 * (i / 2 % 2), lane % 4 * 2 + i % 2 + 8 * (i / 4)));

  /** B of {@code mma.m16n8k16} with 16-bit elements: 4 a lane, two to a register. */
  public static final Fragment B_16X8 =
      new Fragment(
          "B 16x8",
          16,
          8,
          4,
          (lane, i) -> new Coordinate(lane % 4 * 2 + i % 2 + 8 * (i / 2), lane / 4));

  /** C and D of {@code mma.m16n8k*} with 32-bit elements: 4 a lane, one to a register. */
  public static final Fragment C_16X8 =
      new Fragment(
          "C 16x8",
          16,
          8,
          4,
          (lane, i) -> new Coordinate(lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2));

  /** One 8x8 matrix of {@code ldmatrix} with 16-bit elements: 2 a lane, in one register. */
  public static final Fragment MATRIX_8X8 =
      new Fragment("8x8", 8, 8, 2, (lane, i) -> new Coordinate(lane / 4, lane % 4 * 2 + i));

  /** The same as {@code ldmatrix.trans} hands it out. */
  public static final Fragment MATRIX_8X8_TRANSPOSED =
      new Fragment(
          "8x8 transposed", 8, 8, 2, (lane, i) -> new Coordinate(lane % 4 * 2 + i, lane / 4));

  private Fragments() {}
}

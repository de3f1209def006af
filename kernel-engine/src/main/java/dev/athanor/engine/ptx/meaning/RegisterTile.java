package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Type;

/**
 * How a warp holds a matrix in registers.
 *
 * @param bits the width of an element; several of less than 32 bits share a register, the first in
 *     its low bits
 * @param registers how many a lane has; where they hold more than the fragment they repeat it
 */
public record RegisterTile(Fragment fragment, int bits, int registers) {

  /** Which matrix of a product it is. */
  public enum Role {
    A,
    B,
    /** The summand, or the result. */
    C
  }

  /** A matrix of {@code mma}, as the manual's figures show it (PTX ISA 9.7.14.5). */
  static RegisterTile mma(Role role, MatrixShape shape, Type type) {
    int bits = type.bits();
    var fragment =
        switch (role) {
          case A -> Fragments.a(shape.m(), shape.k(), bits);
          case B -> Fragments.b(shape.k(), bits);
          case C -> Fragments.c(shape.m());
        };
    return new RegisterTile(fragment, bits, packed(fragment, bits));
  }

  /** A matrix of {@code wmma}, in a layout of ours with as many registers as the manual says. */
  public static RegisterTile wmma(Role role, MatrixShape shape, Type type) {
    var fragment =
        switch (role) {
          case A -> Fragments.byRows(shape.m(), shape.k());
          case B -> Fragments.byColumns(shape.k(), shape.n());
          case C -> Fragments.byRows(shape.m(), shape.n());
        };
    int bits = type.bits();
    // factors of f16 have eight registers whatever their shape (PTX ISA 9.7.14.4.1)
    return new RegisterTile(
        fragment, bits, role != Role.C && type == Type.F16 ? 8 : packed(fragment, bits));
  }

  private static int packed(Fragment fragment, int bits) {
    return bits == 64 ? fragment.elements() : fragment.elements() * bits / 32;
  }

  /** How many elements one register holds. */
  public int perRegister() {
    return Math.max(1, 32 / bits);
  }

  /** How many registers hold each element once. */
  int distinct() {
    return fragment.elements() / perRegister();
  }

  /** The rows of 32-bit words that the registers of a warp function's operand take. */
  int words() {
    return registers * Math.max(1, bits / 32);
  }

  /** The place of an element of a lane's register in the matrix. */
  public Fragment.Coordinate place(int register, int lane, int element) {
    return fragment.mapping().at(lane, (register * perRegister() + element) % fragment.elements());
  }

  /**
   * The row-major index of every element: those of the first register of lane 0, then of lane 1,
   * then the other registers.
   */
  int[] indices() {
    var all = new int[fragment.rows() * fragment.columns()];
    int per = perRegister();
    for (int i = 0; i < all.length; i++) {
      var at = place(i / per / Fragment.LANES, i / per % Fragment.LANES, i % per);
      all[i] = at.row() * fragment.columns() + at.column();
    }
    return all;
  }
}

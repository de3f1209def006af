package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.layout.Axis;
import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Type;
import java.util.List;

/**
 * The registers in which a warp holds a matrix.
 *
 * @param bits width of an element; narrow elements share 32-bit registers, the first in the low
 *     bits
 * @param registers number of registers per lane; registers beyond the fragment repeat it
 */
public record RegisterTile(Fragment fragment, int bits, int registers) {

  /** The role of a matrix in a product. */
  public enum Role {
    A,
    B,
    /** The addend or the result. */
    C
  }

  /**
   * Returns whether the registers of a floating-point {@code mma} hold eight 4-bit factors, without
   * padding.
   */
  static boolean isPacked(MatrixShape shape) {
    return shape.k() == 64;
  }

  /** Returns a matrix of {@code mma}, as in the manual's figures (PTX ISA 9.7.14.5). */
  static RegisterTile mma(Role role, MatrixShape shape, Type type) {
    boolean padded = type.kind() == Type.Kind.FLOAT && !isPacked(shape);
    int bits = padded ? Math.max(Byte.SIZE, type.bits()) : type.bits();
    var fragment =
        switch (role) {
          case A -> Fragments.a(shape.m(), shape.k(), bits);
          case B -> Fragments.b(shape.k(), bits);
          case C -> Fragments.c(shape.m());
        };
    return new RegisterTile(fragment, bits, packed(fragment, bits));
  }

  /**
   * Returns a matrix of {@code wmma}, with the manual's number of registers. PTX does not specify
   * the layout. This is that of Hopper, measured on an H200: the matrices are tiles of {@code mma}
   * with 16 rows of A and 8 columns of B; if A has only 8 rows, the transposed product is computed.
   */
  public static RegisterTile wmma(Role role, MatrixShape shape, Type type) {
    int bits = type.bits();
    var fragment = fragment(role, shape, bits);
    // f16 factors have eight registers for every shape (PTX ISA 9.7.14.4.1)
    return new RegisterTile(
        fragment, bits, role != Role.C && type == Type.F16 ? 8 : packed(fragment, bits));
  }

  private static Fragment fragment(Role role, MatrixShape shape, int bits) {
    int m = shape.m();
    int n = shape.n();
    int k = shape.k();
    if (m < n) {
      var transposed =
          switch (role) {
            case A -> Role.B;
            case B -> Role.A;
            case C -> Role.C;
          };
      return Fragments.transposed(fragment(transposed, new MatrixShape(n, m, k), bits));
    }
    int rows = Math.min(m, 16);
    return switch (role) {
      case A -> Fragments.tiled(Fragments.a(rows, k, bits), m, k);
      case B -> Fragments.tiled(Fragments.b(k, bits), k, n);
      case C -> Fragments.tiled(Fragments.c(rows), m, n);
    };
  }

  private static int packed(Fragment fragment, int bits) {
    return bits == 64 ? fragment.elements() : fragment.elements() * bits / 32;
  }

  /** Returns the number of elements per register. */
  public int elementsPerRegister() {
    return Math.max(1, 32 / bits);
  }

  /** Returns the number of registers that hold each element once. */
  int distinctRegisters() {
    return fragment.elements() / elementsPerRegister();
  }

  /** Returns the number of rows of 32-bit words in a warp function's operand. */
  int wordRows() {
    return registers * Math.max(1, bits / 32);
  }

  /**
   * Returns the row-major index of every element, by register, lane and position in the register.
   * Further registers repeat them.
   */
  public int[] indices() {
    return fragment
        .layout()
        .split(Axis.ELEMENT, elementsPerRegister(), Axis.REGISTER)
        .reordered(List.of(Axis.ELEMENT, Axis.LANE, Axis.REGISTER), List.of(Axis.COLUMN, Axis.ROW))
        .table();
  }
}

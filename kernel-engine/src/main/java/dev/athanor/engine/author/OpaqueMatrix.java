package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Type;
import java.util.stream.IntStream;

/**
 * A 16x16 matrix in the registers of a warp, for {@code wmma} (PTX ISA 9.7.14.4). Which lane holds
 * which element is unspecified: a matrix is only loaded, multiplied and stored. Its registers are
 * the same, in the same order, in all instructions, so that a translation can map them to one
 * variable.
 */
public sealed interface OpaqueMatrix {

  /** Rows, and columns. */
  int SIZE = 16;

  /** Alignment of the first element of a matrix in memory, in bytes. */
  int ALIGNMENT = 32;

  /** Registers of a lane. */
  int REGISTERS = 8;

  /** The shape of a product, in opcodes. */
  String SHAPE = "m16n16k16";

  /** The position of a factor in a product. */
  enum Side {
    A,
    B
  }

  /**
   * A factor of f16.
   *
   * @param transposed whether its rows in memory are its columns
   */
  record Factor(Side side, boolean transposed, Operand.Vector registers) implements OpaqueMatrix {

    /** Returns a factor with new registers. */
    static Factor of(BodyEmitter emitter, Side side, boolean transposed) {
      var registers = IntStream.range(0, REGISTERS).mapToObj(_ -> emitter.register(Type.B32));
      return new Factor(side, transposed, Operand.Vector.of(registers.toList()));
    }

    String layout() {
      return transposed ? "col" : "row";
    }
  }

  /** A sum of f32, which products are added to. */
  record Sum(Operand.Vector registers) implements OpaqueMatrix {

    /** Returns a sum that is 0. */
    static Sum zero(BodyEmitter emitter) {
      var registers =
          IntStream.range(0, REGISTERS).mapToObj(_ -> emitter.variable(Type.F32)).toList();
      registers.forEach(register -> emitter.emit("mov.f32", register, Operand.Immediate.of(0f)));
      return new Sum(Operand.Vector.of(registers));
    }
  }
}

package dev.athanor.engine.ptx.legal;

import static dev.athanor.engine.ptx.RegisterClass.B32;
import static dev.athanor.engine.ptx.legal.Sequence.literal;

import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.SpecialRegister;

/**
 * The place of a lane in the fragments of {@code mma}: four lanes hold a row of 8 rows.
 *
 * @param row the row of the lane
 * @param column its position among the lanes of the row
 * @param ofRow the first lane of its row of a
 * @param ofColumn the first lane of the first of its two columns of b
 * @param count the lanes of a row, which the assembler does not know, so that it unrolls no loop
 */
record Lane(Register row, Register column, Register ofRow, Register ofColumn, Register count) {

  static final int ROW_LANES = 4;

  static Lane of(Sequence out) {
    var lane = out.compute(B32, "mov.u32", SpecialRegister.LANEID);
    var column = out.compute(B32, "and.b32", lane, literal(3));
    var multiprocessor = out.compute(B32, "mov.u32", SpecialRegister.SMID);
    var zero = out.compute(B32, "shr.u32", multiprocessor, literal(31));
    return new Lane(
        out.compute(B32, "shr.u32", lane, literal(2)),
        column,
        out.compute(B32, "and.b32", lane, literal(28)),
        out.compute(B32, "shl.b32", column, literal(3)),
        out.compute(B32, "add.u32", zero, literal(ROW_LANES)));
  }
}

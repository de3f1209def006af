package dev.athanor.engine.ptx.legal;

import static dev.athanor.engine.ptx.RegisterClass.B32;
import static dev.athanor.engine.ptx.legal.Sequence.literal;

import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.SpecialRegister;
import java.util.ArrayList;
import java.util.List;

/**
 * The place of a lane in the fragments of {@code mma}: four lanes hold a row of 8 rows.
 *
 * @param row the row of the lane
 * @param column its position among the lanes of the row
 * @param rowLanes the lanes of its row of a
 * @param columnLanes the lanes of its two columns of b, one column after the other
 */
record Lane(Register row, Register column, List<Register> rowLanes, List<Register> columnLanes) {

  static final int ROW_LANES = 4;

  static Lane of(Sequence out) {
    var lane = out.compute(B32, "mov.u32", SpecialRegister.LANEID);
    var row = out.compute(B32, "shr.u32", lane, literal(2));
    var column = out.compute(B32, "and.b32", lane, literal(3));
    var first = out.compute(B32, "and.b32", lane, literal(28));
    var above = out.compute(B32, "shl.b32", column, literal(3));
    var rowLanes = new ArrayList<Register>();
    var columnLanes = new ArrayList<Register>();
    for (int i = 0; i < ROW_LANES; i++) {
      rowLanes.add(out.compute(B32, "add.u32", first, literal(i)));
    }
    for (int i = 0; i < 2 * ROW_LANES; i++) {
      columnLanes.add(out.compute(B32, "add.u32", above, literal(i)));
    }
    return new Lane(row, column, rowLanes, columnLanes);
  }

  Register ofRow(int index) {
    return rowLanes.get(index);
  }

  Register ofColumn(int column, int index) {
    return columnLanes.get(ROW_LANES * column + index);
  }
}

package dev.athanor.ops.tile;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;

/**
 * A matrix as the operand of a product. Nothing is read beyond its ends.
 *
 * @param first first row or column of c that the block computes
 */
record StagedMatrix(KernelBuilder k, Stage stage, TensorMatmul.Source matrix, Int first)
    implements StagedOperand {

  /**
   * Returns the runs of a thread. Only {@code from} changes from stage to stage; everything else is
   * added first, so that it is hoisted out of the loop.
   */
  @Override
  public Runs of(Int row, Int column, Int from) {
    var leadingDimension = matrix.leadingDimension();
    var ofBlock =
        stage.kIsRow()
            ? matrix.first().row(row, leadingDimension).plus(first.plus(column).wide())
            : matrix.first().row(first.plus(row), leadingDimension).plus(column.wide());
    var inFirstRow =
        stage.kIsRow() ? ofBlock.row(from, leadingDimension) : ofBlock.plus(from.wide());
    var leftOfK = matrix.depth().minus(from);
    var leftOfExtent = matrix.extent().minus(first);
    var rows = (stage.kIsRow() ? leftOfK : leftOfExtent).minus(row);
    var columns = (stage.kIsRow() ? leftOfExtent : leftOfK).minus(column);
    return new Runs() {
      private GlobalPointer source = inFirstRow;

      private int at;

      // one address advances from row to row: one per row would take too many registers
      @Override
      public Run at(int below, int right) {
        if (below > at) {
          source = source.plus(leadingDimension.wide().times(below - at));
          at = below;
        }
        return new Run(source, right, rows.gt(k.integer(below)).and(columns.gt(k.integer(right))));
      }
    };
  }
}

package dev.athanor.ops.move;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.map.Elements;
import java.util.ArrayList;
import java.util.List;

/**
 * The kernel that copies rows to a position that it reads from memory. It depends on the width of
 * an access, not on the dtype.
 *
 * <p>Parameters: x, the positions, y, the rows of x, the accesses per row, the rows of x and of y
 * per slice, and the slices per position. A slice is a run of rows along the dimension of the
 * position.
 *
 * @param access bytes per access: 1, 2, 4, 8 or 16; divides the bytes of a row
 * @param position dtype of the positions: i32 or i64
 * @param circular whether rows beyond the end of a slice go to its beginning; otherwise, they are
 *     not written
 */
record UpdateVariant(int access, DType position, boolean circular) implements Variant {

  static final int THREADS = 256;

  /** Accesses per thread, all in flight at once. */
  static final int DEPTH = 4;

  /** A loaded access and where to store it. */
  private record Access(Predicate inside, GlobalPointer row, Int column, List<Value> words) {}

  @Override
  public String name() {
    return "update_b%d_%s%s".formatted(8 * access, position.text(), circular ? "_circular" : "");
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, this::write);
  }

  private void write(KernelBuilder k) {
    int word = Math.min(access, 4);
    int words = access / word;
    var type = word == 4 ? Type.B32 : word == 2 ? Type.B16 : Type.U8;
    var x = k.input("x", type);
    var positions = k.input("at", Elements.type(position));
    var y = k.pointer("y", type);
    var rows = k.integer("rows");
    var perRow = k.integer("perRow");
    var given = k.integer("rowsOfX");
    var present = k.integer("rowsOfY");
    var slices = k.integer("slices");

    var count = rows.times(perRow);
    var first = k.block().times(THREADS * DEPTH).plus(k.thread());
    var accesses = new ArrayList<Access>();
    for (int d = 0; d < DEPTH; d++) {
      var at = first.plus(d * THREADS);
      var row = at.div(perRow);
      var column = at.minus(row.times(perRow)).times(words);
      var slice = row.div(given);
      var here = at.lt(count);
      var start = positions.loadWhere(here, slice.div(slices)).wide();
      var to = start.plus(row.minus(slice.times(given)).wide());
      var known = here.and(start.ge(k.wide(0)));
      if (circular) {
        to = to.rem(present.wide());
      } else {
        known = known.and(to.lt(present.wide()));
      }
      accesses.add(
          new Access(
              known,
              y.row(slice.times(present).plus(to.narrow()), perRow.times(words)),
              column,
              x.loadWhere(here, words, at.times(words))));
    }
    for (var each : accesses) {
      each.row.storeWhere(each.inside, each.column, each.words);
    }
  }
}

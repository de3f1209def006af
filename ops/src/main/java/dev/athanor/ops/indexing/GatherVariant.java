package dev.athanor.ops.indexing;

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
 * The kernel that copies rows of a table. It depends on the width of an access, not on the dtype.
 *
 * <p>Parameters: the table, the indices, y, the rows of the table, the rows of y, and the accesses
 * per row.
 *
 * @param access bytes per access: 1, 2, 4, 8 or 16; divides the bytes of a row
 * @param index dtype of the indices: i32 or i64
 */
record GatherVariant(int access, DType index) implements Variant {

  static final int THREADS = 256;

  /** Accesses per thread, all in flight at once. */
  static final int DEPTH = 4;

  /** A loaded access: its index in y and its words, zeros if the row is not in the table. */
  private record Access(Predicate inside, Int at, List<Value> words) {}

  @Override
  public String name() {
    return "gather_b%d_%s".formatted(8 * access, index.text());
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, this::write);
  }

  private void write(KernelBuilder k) {
    int word = Math.min(access, 4);
    int words = access / word;
    var type = word == 4 ? Type.B32 : word == 2 ? Type.B16 : Type.U8;
    var table = k.input("table", type);
    var indices = k.input("index", Elements.type(index));
    var y = k.pointer("y", type);
    var tableRows = k.integer("tableRows");
    var rows = k.integer("rows");
    var perRow = k.integer("perRow");

    var count = rows.times(perRow);
    var first = k.block().times(THREADS * DEPTH).plus(k.thread());
    var accesses = new ArrayList<Access>();
    for (int d = 0; d < DEPTH; d++) {
      var at = first.plus(d * THREADS);
      var row = at.div(perRow);
      var column = at.minus(row.times(perRow)).times(words);
      var here = at.lt(count);
      var chosen = indices.loadWhere(here, row);
      var wide = chosen.wide();
      var known = here.and(wide.ge(k.wide(0))).and(wide.lt(tableRows.wide()));
      var source = table.row(wide.narrow(), perRow.times(words));
      accesses.add(new Access(here, at, source.loadWhere(known, words, column)));
    }
    for (var each : accesses) {
      y.storeWhere(each.inside, each.at.times(words), each.words);
    }
  }
}

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
import java.util.Locale;

/**
 * The kernel that copies rows to a position that it reads from memory. It depends on the width of
 * an access, not on the dtype.
 *
 * <p>Parameters: x, the positions, y, the rows of x, the accesses per row, the rows of x and of y
 * per slice, and the slices per position. A slice is a run of rows along the dimension of the
 * position. A paged cache adds its block table and the extents of it.
 *
 * @param access bytes per access: 1, 2, 4, 8 or 16; divides the bytes of a row
 * @param position dtype of the positions: i32 or i64
 */
public record UpdateVariant(int access, DType position, Placement placement) implements Variant {

  static final int THREADS = 256;

  /** Accesses per thread, all in flight at once. */
  static final int DEPTH = 4;

  /** Where the rows of a slice go. */
  public enum Placement {
    /** From the position on; rows beyond the end are not written. */
    LINEAR,
    /** From the position on; rows beyond the end go to the beginning. */
    CIRCULAR,
    /** Before the position, which is clamped to the extent of a slice. */
    ENDING,
    /** Before the position, in the blocks that a table lists. */
    PAGED
  }

  /** A loaded access and where to store it. */
  private record Access(Predicate inside, GlobalPointer row, Int column, List<Value> words) {}

  @Override
  public String name() {
    return "update_b%d_%s%s"
        .formatted(
            8 * access,
            position.text(),
            placement == Placement.LINEAR ? "" : "_" + placement.name().toLowerCase(Locale.ROOT));
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
    var blocks = placement == Placement.PAGED ? Table.of(k, present) : null;

    var count = rows.times(perRow);
    var first = k.block().times(THREADS * DEPTH).plus(k.thread());
    var accesses = new ArrayList<Access>();
    for (int d = 0; d < DEPTH; d++) {
      var at = first.plus(d * THREADS);
      var row = at.div(perRow);
      var column = at.minus(row.times(perRow)).times(words);
      var slice = row.div(given);
      var here = at.lt(count);
      var sequence = slice.div(slices);
      var position = positions.loadWhere(here, sequence);
      Predicate known;
      Int target;
      if (placement == Placement.LINEAR || placement == Placement.CIRCULAR) {
        var start = position.wide();
        var to = start.plus(row.minus(slice.times(given)).wide());
        known = here.and(start.ge(k.wide(0)));
        if (placement == Placement.CIRCULAR) {
          to = to.rem(present.wide());
        } else {
          known = known.and(to.lt(present.wide()));
        }
        target = slice.times(present).plus(to.narrow());
      } else {
        var capacity = blocks == null ? present : blocks.capacity;
        var end = position.integer().max(k.integer(0)).min(capacity);
        var to = end.minus(given).plus(row.minus(slice.times(given)));
        known = here.and(to.ge(k.integer(0)));
        target =
            blocks == null
                ? slice.times(present).plus(to)
                : blocks.row(known, sequence, slice.minus(sequence.times(slices)), slices, to);
      }
      accesses.add(
          new Access(
              known,
              y.row(target, perRow.times(words)),
              column,
              x.loadWhere(here, words, at.times(words))));
    }
    for (var each : accesses) {
      each.row.storeWhere(each.inside, each.column, each.words);
    }
  }

  /** The blocks of each sequence: a table {@code [B, maxBlocks]}. */
  private record Table(
      GlobalPointer entries, Int maxBlocks, Int blocks, Int blockSize, Int capacity) {

    static Table of(KernelBuilder k, Int blockSize) {
      var entries = k.input("table", Type.S32);
      var maxBlocks = k.integer("maxBlocks");
      var blocks = k.integer("blocks");
      return new Table(entries, maxBlocks, blocks, blockSize, maxBlocks.times(blockSize));
    }

    /** Returns the row of a position of a head. Invalid entries are clamped to the cache. */
    Int row(Predicate known, Int sequence, Int head, Int heads, Int position) {
      var page = position.div(blockSize);
      var entry = entries.loadWhere(known, sequence.times(maxBlocks).plus(page)).integer();
      var block = entry.max(entry.times(0)).min(blocks.plus(-1));
      return block
          .times(heads)
          .plus(head)
          .times(blockSize)
          .plus(position.minus(page.times(blockSize)));
    }
  }
}

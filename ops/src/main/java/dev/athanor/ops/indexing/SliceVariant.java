package dev.athanor.ops.indexing;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Variant;
import java.util.ArrayList;
import java.util.List;

/**
 * The kernel that gathers slices. It depends on the width of an access, not on the dtype.
 *
 * <p>Parameters: x, y, the accesses of y, the accesses of a slice, the lookup.
 *
 * @param access bytes per access: 1, 2, 4, 8 or 16; divides the bytes of a slice
 */
record SliceVariant(int access, LookupCode lookup) implements Variant {

  static final int THREADS = 256;

  /** Accesses per thread, all in flight at once. */
  static final int DEPTH = 4;

  /** A loaded access: its index in y and its words, zeros if the index is out of range. */
  private record Access(Predicate inside, Int at, List<Value> words) {}

  @Override
  public String name() {
    return "gather_slices_b%d_%s".formatted(8 * access, lookup.text());
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
    var y = k.pointer("y", type);
    var count = k.integer("count");
    var perSlice = k.integer("perSlice");
    var parameters = lookup.declare(k);
    var first = k.block().times(THREADS * DEPTH).plus(k.thread());
    var accesses = new ArrayList<Access>();
    for (int d = 0; d < DEPTH; d++) {
      var at = first.plus(d * THREADS);
      var inside = at.lt(count);
      var position = at.div(perSlice);
      var column = at.minus(position.times(perSlice)).times(words);
      var found = parameters.find(inside, position);
      var slice = x.plus(found.slice().times(perSlice).times(words));
      accesses.add(new Access(inside, at, slice.loadWhere(found.valid(), words, column)));
    }
    for (var each : accesses) {
      y.storeWhere(each.inside, each.at.times(words), each.words);
    }
  }
}

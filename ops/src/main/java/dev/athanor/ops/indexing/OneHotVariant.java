package dev.athanor.ops.indexing;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.map.Elements;

/**
 * The kernel of one-hot vectors. A thread writes {@link #DEPTH} elements.
 *
 * <p>Parameters: the index, the two values, y, the elements of y, the length of a vector, the
 * elements between two of a vector.
 *
 * @param dtype any of the size of the elements
 * @param index dtype of the index: i32 or i64
 */
record OneHotVariant(DType dtype, DType index) implements Variant {

  static final int THREADS = 256;

  /** Elements per thread, so that several loads are in flight. */
  static final int DEPTH = 4;

  @Override
  public String name() {
    return "one_hot_b%d_%s".formatted(8 * dtype.bytes(), index.text());
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, this::write);
  }

  private void write(KernelBuilder k) {
    var indices = k.input("index", Elements.type(index));
    var values = k.input("values", Elements.type(dtype));
    var y = k.pointer("y", Elements.type(dtype));
    var count = k.integer("count");
    var depth = k.integer("depth");
    var inner = k.integer("inner");
    var first = k.block().times(THREADS * DEPTH).plus(k.thread());
    for (int d = 0; d < DEPTH; d++) {
      var at = first.plus(d * THREADS);
      var inside = at.lt(count);
      var row = at.div(inner);
      var outer = row.div(depth);
      var place = row.minus(outer.times(depth));
      var position = outer.times(inner).plus(at.minus(row.times(inner)));
      var given = indices.loadWhere(inside, position).wide();
      var hot = given.where(given.ge(k.wide(0)), given.plus(depth.wide()));
      var chosen = k.integer(0).where(hot.ne(place.wide()), k.integer(1));
      y.storeWhere(inside, at, values.loadWhere(inside, chosen));
    }
  }
}

package dev.athanor.ops.indexing;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Variant;

/**
 * The kernel that sorts {@linkplain SortKeys keys} of updates in runs of {@link #RUN}. An index out
 * of range names the slice after the last.
 *
 * <p>Parameters: the keys, the number of positions, the number of slices, the lookup.
 */
record KeySortVariant(LookupCode lookup) implements Variant {

  /** Keys per run: one per thread of a block. */
  static final int RUN = 256;

  @Override
  public String name() {
    return "sort_index_" + lookup.text();
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), RUN, this::write);
  }

  private void write(KernelBuilder k) {
    var keys = k.pointer("keys", Type.S64);
    var count = k.integer("count");
    var slices = k.wide("slices");
    var parameters = lookup.declare(k);
    var sort = new SortKeys(k);
    var first = k.block().times(RUN);
    var position = first.plus(k.thread());
    var inside = position.lt(count);
    var found = parameters.find(inside, position);
    var slice = found.slice().where(found.valid(), slices);
    var key = sort.key(slice, position).where(inside, k.wide(Long.MAX_VALUE));
    var run = k.shared(Type.S64, 1, RUN, RUN);
    run.store(k.integer(0), k.thread(), key.value());
    k.barrier();
    // the rank of a key in its run is the number of lesser keys
    var rank = k.variable(k.integer(0));
    k.loop(
        k.integer(0),
        k.integer(RUN),
        2,
        i -> {
          for (var other : run.load(2, k.integer(0), i)) {
            rank.add(k.integer(1).where(other.wide().lt(key), k.integer(0)));
          }
        });
    keys.storeWhere(inside, first.plus(rank), key.value());
  }
}

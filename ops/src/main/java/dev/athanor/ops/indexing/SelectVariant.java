package dev.athanor.ops.indexing;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Variant;
import java.util.ArrayList;
import java.util.List;

/**
 * The kernel that writes the indices of the true elements of a condition, in order, and counts
 * them. One block computes the prefix sum of the condition in chunks. The rest of the index is
 * filled with an index that is out of range.
 *
 * <p>Parameters: the condition, the index, the count, the elements of the condition, the elements
 * of the index.
 */
record SelectVariant() implements Variant {

  static final int THREADS = 512;
  private static final int WARPS = THREADS / KernelBuilder.WARP;

  /** Elements per thread of a chunk. */
  private static final int DEPTH = 16;

  @Override
  public String name() {
    return "select_indices";
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, this::write);
  }

  private void write(KernelBuilder k) {
    var condition = k.input("condition", Type.U8);
    var index = k.pointer("index", Type.S32);
    var count = k.pointer("count", Type.S64);
    var given = k.integer("given");
    var extent = k.integer("extent");
    var totals = k.shared(Type.S32, 1, WARPS, WARPS);
    var zero = k.integer(0);
    var before = k.variable(zero);
    k.loop(
        zero,
        given,
        THREADS * DEPTH,
        at -> {
          var first = at.plus(k.thread().times(DEPTH));
          var flags = new ArrayList<Int>();
          for (int d = 0; d < DEPTH; d++) {
            var place = first.plus(d);
            var loaded = condition.loadWhere(place.lt(given), place).integer();
            flags.add(zero.where(loaded.eq(0), k.integer(1)));
          }
          var own = flags.stream().reduce(Int::plus).orElseThrow();
          var lanes = k.prefixSum(own);
          k.barrier(); // the totals of the previous chunk were read
          totals.storeWhere(k.lane().eq(KernelBuilder.WARP - 1), zero, k.warp(), lanes.value());
          k.barrier();
          Int all = before;
          Int position = lanes.minus(own).plus(before);
          for (int warp = 0; warp < WARPS; warp++) {
            var total = totals.load(zero, k.integer(warp)).integer();
            all = all.plus(total);
            position = position.plus(total.where(k.warp().gt(k.integer(warp)), zero));
          }
          store(flags, position, first, index);
          before.set(all);
        });
    k.loop(before.plus(k.thread()), extent, THREADS, place -> index.store(place, extent.value()));
    count.storeWhere(k.thread().eq(0), zero, before.wide().value());
  }

  private static void store(List<Int> flags, Int position, Int first, GlobalPointer index) {
    var next = position;
    for (int d = 0; d < flags.size(); d++) {
      index.storeWhere(flags.get(d).eq(1), next, first.plus(d).value());
      next = next.plus(flags.get(d));
    }
  }
}

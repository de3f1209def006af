package dev.athanor.ops.indexing;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Variant;

/**
 * The kernel that merges pairs of sorted runs of {@linkplain SortKeys keys}. A thread finds the
 * rank of its key in the other run of the pair by binary search.
 *
 * <p>Parameters: the keys, the merged keys, the number of keys, the keys of a run (a power of two),
 * the steps of a search.
 */
record KeyMergeVariant() implements Variant {

  static final int THREADS = 256;

  @Override
  public String name() {
    return "merge_keys";
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, KeyMergeVariant::write);
  }

  private static void write(KernelBuilder k) {
    var keys = k.input("keys", Type.S64);
    var merged = k.pointer("merged", Type.S64);
    var count = k.integer("count");
    var run = k.integer("run");
    var steps = k.integer("steps");
    var at = k.block().times(THREADS).plus(k.thread());
    k.when(
        at.lt(count),
        () -> {
          var key = keys.load(at);
          // the runs differ in one bit of their start
          var own = at.and(k.integer(0).minus(run));
          var other = own.xor(run);
          var end = other.plus(run).min(count);
          var lesser = new SortKeys(k).search(keys, other.min(count), end, key.wide(), steps);
          // the elements before this one in its run, and those before it in the other
          var first = own.min(other);
          var rank = at.minus(own).plus(lesser.minus(other.min(count)));
          merged.store(first.plus(rank), key);
        });
  }
}

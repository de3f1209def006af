package dev.athanor.ops.indexing;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.author.Wide;
import dev.athanor.engine.ptx.Type;

/**
 * Sort keys of updates: the slice in the upper 32 bits, the position in the lower. Sorted keys have
 * the updates of a slice next to each other, in the order of the index. All keys are different.
 */
final class SortKeys {

  private static final int POSITION_BITS = 32;

  private final KernelBuilder k;

  SortKeys(KernelBuilder k) {
    this.k = k;
  }

  Wide key(Wide slice, Int position) {
    return first(slice).plus(position.wide());
  }

  /** Returns the least key of a slice. */
  Wide first(Wide slice) {
    return slice.times(k.wide(1L << POSITION_BITS));
  }

  Int slice(Value key) {
    return k.compute(Type.U64, "shr.u64", key, k.integer(POSITION_BITS).value()).wide().narrow();
  }

  Int position(Value key) {
    return key.wide().narrow();
  }

  /**
   * Returns the index of the first of some sorted keys that is not less than a key.
   *
   * @param from index of the first of the sorted keys
   * @param to index after the last
   * @param steps at least 1 + log2 of their number
   */
  Int search(GlobalPointer keys, Int from, Int to, Wide key, Int steps) {
    var low = k.variable(from);
    var high = k.variable(to);
    k.loop(
        k.integer(0),
        steps,
        1,
        _ -> {
          var middle = low.plus(high).shr(1);
          var open = low.lt(high);
          var less = keys.loadWhere(open, middle).wide().lt(key);
          var next = middle.plus(1).where(open.and(less), low);
          high.set(middle.where(open.and(less.not()), high));
          low.set(next);
        });
    return low;
  }
}

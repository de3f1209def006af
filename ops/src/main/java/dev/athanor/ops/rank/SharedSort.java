package dev.athanor.ops.rank;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Sorts segments of entries in shared memory with a bitonic network (Batcher, Sorting networks and
 * their applications, 1968). The first step of each merge compares mirrored positions, so that all
 * segments are ascending.
 */
final class SharedSort {

  static final int THREADS = 256;

  /** Number of entries of a block. */
  static final int CAPACITY = 2048;

  private final KernelBuilder k;
  private final Entries entries;
  private final int segment;
  private final List<SharedTile> tiles;

  /**
   * Declares the shared memory.
   *
   * @param segment entries per segment, a power of two up to {@link #CAPACITY}
   */
  SharedSort(KernelBuilder k, Entries entries, boolean packed, int segment) {
    this.k = k;
    this.entries = entries;
    this.segment = segment;
    tiles =
        Entries.types(packed).stream().map(type -> k.shared(type, 1, CAPACITY, CAPACITY)).toList();
  }

  /** Returns the positions of this thread; those of a warp are consecutive. */
  List<Int> positions() {
    return IntStream.range(0, CAPACITY / THREADS)
        .mapToObj(i -> k.thread().plus(i * THREADS))
        .toList();
  }

  List<Value> load(Int at) {
    return tiles.stream().map(tile -> tile.load(k.integer(0), at)).toList();
  }

  void store(Int at, List<Value> entry) {
    for (int i = 0; i < tiles.size(); i++) {
      tiles.get(i).store(k.integer(0), at, entry.get(i));
    }
  }

  /** Sorts all segments. All threads must participate. */
  void sort() {
    k.barrier();
    int levels = Integer.numberOfTrailingZeros(segment);
    k.loop(
        k.integer(0),
        k.integer(levels),
        1,
        level ->
            k.loop(
                k.integer(0),
                level.plus(1),
                1,
                step -> {
                  var distance = k.integer(1).shl(level.minus(step));
                  var mirrored = distance.plus(distance).plus(-1);
                  var partner = mirrored.where(step.eq(0), distance);
                  for (int c = 0; c < CAPACITY / 2; c += THREADS) {
                    compare(k.thread().plus(c), distance, partner);
                  }
                  k.barrier();
                }));
  }

  private void compare(Int comparator, Int distance, Int partner) {
    var a = comparator.plus(comparator.and(k.integer(0).minus(distance)));
    var b = a.xor(partner);
    var first = load(a);
    var second = load(b);
    k.when(
        entries.isBefore(second, first),
        () -> {
          store(a, second);
          store(b, first);
        });
  }
}

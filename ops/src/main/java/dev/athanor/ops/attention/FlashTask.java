package dev.athanor.ops.attention;

import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.attention.FlashVariant.Store;
import java.util.Optional;

/**
 * A problem for the kernel.
 *
 * @param heads in the grid
 * @param group heads that share a head of k and v
 * @param rows of a head: its queries, or those of all heads packed into it
 * @param queries of a head with different positions
 * @param keys maximum number of keys of a head
 * @param visible average number of visible keys of a query
 * @param store layout of the inputs named {@code k} and {@code v}
 * @param pages extents of a paged cache; zeros unless paged
 * @param mask the input that hides keys or adds to scores
 */
public record FlashTask(
    DType dtype,
    int batch,
    int heads,
    int group,
    int rows,
    int queries,
    int keys,
    int d,
    int dv,
    Score score,
    double scale,
    double cap,
    int window,
    double visible,
    boolean logSumExp,
    Store store,
    String k,
    String v,
    Pages pages,
    Optional<Mask> mask) {

  /**
   * Returns this task with the queries of the heads that share keys, contiguous in memory, packed
   * as the rows of one head.
   */
  public FlashTask withHeadsPacked() {
    return new FlashTask(
        dtype,
        batch,
        heads / group,
        1,
        rows * group,
        queries,
        keys,
        d,
        dv,
        score,
        scale,
        cap,
        window,
        visible,
        logSumExp,
        store,
        k,
        v,
        pages,
        mask);
  }

  /** Returns whether the rows of several heads are packed. */
  public boolean packed() {
    // all heads of a cache's newest query see the same keys, unless there is a mask input
    return rows > queries && (store == Store.DENSE || queries > 1 || mask.isPresent());
  }

  /**
   * Returns whether heads share keys and have fewer queries than a tile has rows.
   *
   * @param ofTile rows of a tile
   */
  public boolean packs(int ofTile) {
    return group > 1 && rows < ofTile;
  }

  /** Returns the rows of all heads of all batches. */
  public long allRows() {
    return (long) batch * heads * rows;
  }

  /** Returns the arguments of a cache: {@code [lengths, [table, maxBlocks, blocks, blockSize]]}. */
  public Arguments cacheArguments() {
    var lengths = store == Store.DENSE ? Arguments.NONE : Arguments.NONE.inputs("lengths");
    return store == Store.PAGED
        ? lengths
            .with("table", Slot.input("blockTable"))
            .with("maxBlocks", pages.maxBlocks())
            .with("blocks", pages.blocks())
            .with("blockSize", pages.blockSize())
        : lengths;
  }

  /** Returns the arguments of a mask input: {@code [mask, batchRows, headRows, queryRows]}. */
  public Arguments maskArguments() {
    return mask.map(all ->
            Arguments.NONE
                .inputs(Mask.NAME)
                .with("batchRows", all.batchRows())
                .with("headRows", all.headRows())
                .with("queryRows", all.queryRows()))
        .orElse(Arguments.NONE);
  }

  /** Returns the bytes of the mask input. */
  public double maskBytes() {
    return mask.map(all -> (double) all.rows() * keys * all.dtype().bytes()).orElse(0.0);
  }

  /**
   * Returns whether a mask needs the position of a query within its head, while the rows of several
   * heads are packed.
   */
  public boolean positioned() {
    return packed() && (score.hides() || mask.isPresent());
  }

  /** The extents of a paged cache. */
  public record Pages(int maxBlocks, int blocks, int blockSize) {
    public static final Pages NONE = new Pages(0, 0, 0);
  }
}

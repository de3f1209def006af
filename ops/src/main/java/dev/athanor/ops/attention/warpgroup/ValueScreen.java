package dev.athanor.ops.attention.warpgroup;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mbarriers;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.RegisterTile;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.attention.HalfPairs;
import dev.athanor.ops.attention.RowCopy;
import dev.athanor.ops.tile.persistent.StageRing;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * Keeps the infinities and NaNs of values from queries that do not see them: their weight is 0, and
 * the product would be NaN. In tiles that some query of the block does not see whole, warps that do
 * not copy replace them by 0 in shared memory before the product, and each query adds those that it
 * sees after it. Gradients need a tile for their scores first, so those warps only look for them,
 * and the readers of the tile replace them.
 *
 * @param ring of values
 * @param values the first stage, in shared memory
 * @param screened mbarriers of the stages
 * @param counts a row for each stage: the numbers of infinities and NaNs that each warp found
 */
public record ValueScreen(
    KernelBuilder k,
    Type type,
    StageRing ring,
    SharedTile values,
    int stageBytes,
    int stages,
    Mbarriers screened,
    SharedTile counts) {

  /** Warps that screen: those of the copying warpgroup except the first, which copies. */
  public static final int WARPS = 3;

  private static final int CHUNK = 16;
  private static final int WORDS = CHUNK / Integer.BYTES;

  public void initialize() {
    for (int stage = 0; stage < stages; stage++) {
      screened.initialize(stage, WARPS);
    }
  }

  /**
   * Screens all tiles.
   *
   * @param tiles their number
   * @param ragged returns whether a query does not see a whole tile
   */
  void screen(Int tiles, Function<Int, Predicate> ragged) {
    search(tiles, ragged, true);
  }

  /** Counts like {@link #screen}, and leaves it to the readers to {@link #replace}. */
  public void find(Int tiles, Function<Int, Predicate> ragged) {
    search(tiles, ragged, false);
  }

  private void search(Int tiles, Function<Int, Predicate> ragged, boolean replaces) {
    var position = ring.ofReader();
    var isFirst = k.lane().eq(0);
    k.loop(
        k.integer(0),
        tiles,
        1,
        number -> {
          position.awaitFull();
          var found = k.variable(k.integer(0));
          k.when(
              ragged.apply(number),
              () ->
                  found.set(
                      anyLane(
                          search(
                              position.stage(),
                              KernelBuilder.WARP,
                              WARPS * KernelBuilder.WARP,
                              replaces))));
          counts.storeWhere(isFirst, position.stage(), warp(), found.value());
          if (replaces) {
            // reads of wgmma see the zeros after the arrival
            k.fenceAsyncProxy();
          }
          k.warpBarrier();
          screened.arriveWhere(isFirst, position.stage());
          position.advance();
        });
  }

  private Int warp() {
    return k.warp().minus(k.integer(1));
  }

  /**
   * Replaces the infinities and NaNs of a stage by 0 in the readers, all of which call this between
   * two barriers.
   *
   * @param first of their threads
   */
  public void replace(Int stage, int first, int threads) {
    search(stage, first, threads, true);
    k.fenceAsyncProxy();
  }

  /**
   * Returns whether there are infinities or NaNs in a thread's share of a stage.
   *
   * @param first of the threads that share it
   * @param replaces whether to replace them by 0
   */
  private Int search(Int stage, int first, int threads, boolean replaces) {
    var chunks = values.at(stage.times(stageBytes), Type.B32, stageBytes / CHUNK, WORDS, WORDS);
    var found = k.variable(k.integer(0));
    k.loop(
        k.thread().minus(k.integer(first)),
        k.integer(stageBytes / CHUNK),
        threads,
        chunk -> {
          var pairs = new ArrayList<Int>();
          var flags = new ArrayList<Int>();
          for (var pair : chunks.load(WORDS, chunk, k.integer(0))) {
            pairs.add(pair.integer());
            flags.add(HalfPairs.nonFinite(pair.integer(), type));
          }
          var any = flags.stream().reduce(Int::or).orElseThrow();
          k.when(
              any.ne(k.integer(0)),
              () -> {
                for (int i = 0; replaces && i < WORDS; i++) {
                  var finite = HalfPairs.finite(k, pairs.get(i), flags.get(i));
                  chunks.store(chunk, k.integer(i), finite.value().as(Type.B32));
                }
                found.set(k.integer(1));
              });
        });
    return found;
  }

  private static Int anyLane(Int found) {
    Int all = found;
    for (int distance = KernelBuilder.WARP / 2; distance > 0; distance /= 2) {
      all = all.or(all.value().fromLaneXor(distance).integer());
    }
    return all;
  }

  /** Waits until the tile of a reader's position is screened. */
  public void await(StageRing.Position position) {
    position.await(screened);
  }

  /** Returns whether a stage had infinities or NaNs. */
  public Predicate found(Int stage) {
    Int all = k.integer(0);
    for (int warp = 0; warp < WARPS; warp++) {
      all = counts.load(stage, k.integer(warp)).integer().or(all);
    }
    return all.ne(k.integer(0));
  }

  /** Says which keys the rows of a thread see. */
  public interface Visibility {
    Predicate sees(int row, Int key);
  }

  /**
   * Adds the infinities and NaNs that were replaced in a stage to the sums of the rows that see
   * them.
   *
   * @param all the values, in global memory
   * @param dv elements of a value
   * @param from first key of the tile
   * @param to end of its keys
   */
  public void add(
      RegisterTile sums,
      Int stage,
      Visibility visibility,
      RowCopy.Rows all,
      Int dv,
      Int from,
      Int to) {
    k.when(
        found(stage),
        () ->
            k.loop(
                from,
                to,
                1,
                key -> {
                  var value = all.at(key);
                  var sees = new ArrayList<Predicate>();
                  for (int row = 0; row < sums.rows(); row++) {
                    sees.add(visibility.sees(row, key));
                  }
                  for (int column = 0; column < sums.columns(); column += 2) {
                    var inside = k.integer(sums.columnOffset(column)).lt(dv);
                    var pair = value.loadWhere(inside, 2, sums.column(column));
                    for (int i = 0; i < pair.size(); i++) {
                      add(sums, column + i, pair.get(i).widen(), sees);
                    }
                  }
                }));
  }

  private static void add(RegisterTile sums, int column, Real value, List<Predicate> sees) {
    var isFinite = value.abs().lt(Double.POSITIVE_INFINITY);
    var special = value.constant(0).where(isFinite, value);
    for (int row = 0; row < sees.size(); row++) {
      sums.get(row, column).add(special.where(sees.get(row), value.constant(0)));
    }
  }
}

package dev.athanor.ops.attention.warpgroup;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.RegisterTile;
import dev.athanor.engine.author.RowVector;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.author.WarpRole;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.attention.MaskRows;
import dev.athanor.ops.attention.Score.Range;
import dev.athanor.ops.attention.Softmax;
import dev.athanor.ops.tile.TileScheduler.Tile;
import dev.athanor.ops.tile.persistent.StageRing;
import dev.athanor.ops.tile.persistent.TileStore;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Emits a warpgroup that multiplies: the attention of {@value WarpgroupTile#ROWS} queries, in the
 * order of {@link WarpgroupKernel}.
 */
final class WarpgroupConsumer {

  private final KernelBuilder k;
  private final WarpgroupVariant variant;
  private final WarpgroupTile tile;
  private final WarpgroupBlock block;
  private final Type type;
  private final WarpgroupRegisters registers;
  private final Mma mma;
  private final Int group;

  /** First of the warpgroup's queries. */
  private final Int ownRow;

  private final Int thread;
  private final RegisterTile scores;
  private final RegisterTile sums;
  private final Softmax softmax;
  private final Optional<MaskRows> mask;

  /** Offset of the queries: a variable, so that loops do not keep descriptors for each step. */
  private final Int queries;

  private final StageRing.Position keyPosition;
  private final StageRing.Position valuePosition;

  /**
   * Creates a warpgroup.
   *
   * @param group its index among those that multiply
   */
  WarpgroupConsumer(WarpgroupBlock block, Int group) {
    this.block = block;
    this.group = group;
    k = block.k;
    variant = block.variant;
    tile = block.tile;
    type = block.type;
    registers = new WarpgroupRegisters(k, type);
    mma = registers.mma();
    thread = k.thread().rem(WarpRole.GROUP);
    keyPosition = block.keyRing.ofReader();
    valuePosition = block.valueRing.ofReader();
    ownRow = block.firstRow.plus(group.times(WarpgroupTile.ROWS));
    scores = registers.zeros(tile.keys());
    sums = registers.zeros(variant.dv());
    softmax = new Softmax(block.score, sums, variant.hides());
    mask = block.maskRows(IntStream.range(0, scores.rows()).mapToObj(this::row));
    queries = k.variable(group.times(variant.bytesOfGroup()));
  }

  void attend() {
    block.queryFull.await(k.integer(0), k.integer(0));
    if (tile.groups() > 1) {
      k.when(group.eq(tile.groups() - 1), () -> pass(k.integer(0)));
    }
    keyPosition.awaitFull();
    awaitTurn();
    multiplyKeys();
    passTurn();
    var first = loadMask(k.integer(0));
    k.awaitProducts(0);
    freeKeys();
    weigh(k.integer(0), first);
    awaitKeysAfter(k.integer(0));
    var weights = registers.factors(scores).stream().map(k::variable).toList();
    k.loop(
        k.integer(1),
        block.tiles,
        1,
        number -> {
          awaitTurn();
          multiplyKeys();
          addValues(weights);
          passTurn();
          var elements = loadMask(number);
          k.awaitProducts(1);
          freeKeys();
          var shrink = weigh(number, elements);
          // the branches here keep the assembler from waiting for the product of the values
          // before it computes the softmax
          awaitKeysAfter(number);
          finishValues(number.minus(k.integer(1)));
          freeValues();
          var rounded = registers.factors(scores);
          for (int i = 0; i < weights.size(); i++) {
            weights.get(i).set(rounded.get(i));
          }
          sums.map(shrink, Real::times);
        });
    addValues(weights);
    finishValues(block.tiles.minus(k.integer(1)));
    store();
  }

  /** Waits for the turn to start products. */
  private void awaitTurn() {
    if (tile.groups() > 1) {
      k.barrier(turn(group), 2 * WarpRole.GROUP);
    }
  }

  /** Lets the next warpgroup start products. */
  private void passTurn() {
    if (tile.groups() > 1) {
      pass(k.integer(0).where(group.eq(tile.groups() - 1), group.plus(1)));
    }
  }

  private void pass(Int next) {
    k.arrive(turn(next), 2 * WarpRole.GROUP);
  }

  /** Returns the barrier of a warpgroup's turn. */
  private Int turn(Int of) {
    return of.plus(1 + tile.groups());
  }

  /** Starts the product of the queries and a tile of keys, which replaces the scores. */
  private void multiplyKeys() {
    var left = variant.queries().factor(k, block.shared, queries, false);
    var right =
        variant
            .keys()
            .factor(k, block.shared, offset(keyPosition, variant.keys(), variant.keysAt()), false);
    k.fenceProducts();
    for (int step = 0; step < variant.d(); step += mma.k()) {
      k.multiplyAsync(
          mma,
          left.at(step),
          right.at(step),
          true,
          true,
          WarpgroupRegisters.accumulators(scores),
          step > 0);
    }
    k.commitProducts();
  }

  private Int offset(StageRing.Position position, Panels panels, int first) {
    return position.stage().times(panels.bytes()).plus(first);
  }

  /** Starts the product of weights and a tile of values. */
  private void addValues(List<MatrixFragment> weights) {
    if (variant.hides()) {
      block.screen.await(valuePosition);
    } else {
      valuePosition.awaitFull();
    }
    var right =
        variant
            .values()
            .factor(
                k, block.shared, offset(valuePosition, variant.values(), variant.valuesAt()), true);
    // orders the weights before the product; the assembler looks for it after the last branch
    k.fenceProducts();
    for (int i = 0; i < weights.size(); i++) {
      k.multiplyAsync(
          mma, weights.get(i), right.at(i * mma.k()), false, WarpgroupRegisters.accumulators(sums));
    }
    k.commitProducts();
  }

  /** Waits for the keys of the tile after one. */
  private void awaitKeysAfter(Int number) {
    k.when(number.plus(1).lt(block.tiles), keyPosition::awaitFull);
  }

  private void freeKeys() {
    block.keyRing.free(keyPosition.stage(), thread, Optional.empty());
    keyPosition.advance();
  }

  private void finishValues(Int number) {
    k.awaitProducts(0);
    if (variant.hides()) {
      var first = block.key(number);
      block.screen.add(
          sums,
          valuePosition.stage(),
          this::sees,
          block.valueRows(),
          block.dv,
          first,
          first.plus(tile.keys()).min(block.keyCount));
    }
  }

  private void freeValues() {
    var reader = thread;
    if (variant.hides()) {
      // each warp has read the counts of the screen
      k.warpBarrier();
      reader = k.lane();
    }
    block.valueRing.free(valuePosition.stage(), reader, Optional.empty());
    valuePosition.advance();
  }

  private Int row(int r) {
    return ownRow.plus(sums.row(r));
  }

  private Range visibleTo(int r) {
    return block.visible(row(r));
  }

  private Predicate sees(int r, Int key) {
    var seen = visibleTo(r).contains(key);
    return mask.map(rows -> seen.and(rows.sees(r, key))).orElse(seen);
  }

  /** Loads the elements of the mask for a tile of keys, while the products of the tile run. */
  private List<Value> loadMask(Int number) {
    return mask.map(rows -> rows.load(scores, block.key(number))).orElse(List.of());
  }

  /**
   * Replaces scores by weights.
   *
   * @param ofMask the elements of {@link #loadMask}
   * @return the factors of earlier sums
   */
  private RowVector weigh(Int number, List<Value> ofMask) {
    block.score.cap(scores);
    mask.ifPresent(rows -> rows.add(scores, ofMask));
    k.when(
        block.ragged(ownRow, WarpgroupTile.ROWS, number),
        () ->
            block.score.hide(
                scores,
                IntStream.range(0, scores.rows()).mapToObj(this::visibleTo).toList(),
                block.key(number),
                k.real(Type.F32, Double.NEGATIVE_INFINITY)));
    return softmax.add(scores);
  }

  private void store() {
    var ofRows = softmax.normalize(sums);
    block.lse.ifPresent(pointer -> {
      var first = block.rows.wide().times(block.part);
      for (int r = 0; r < sums.rows(); r++) {
        var row = row(r);
        var there = sums.isFirstOfRow().and(row.lt(block.rows));
        var sum = ofRows.get(r);
        if (variant.split()) {
          pointer
              .plus(first.times(2))
              .storeWhere(there, row.times(2), List.of(softmax.greatest(r), sum));
        } else {
          var log = softmax.log2SumExp(r, sum).times(Math.log(2));
          pointer.plus(first).storeWhere(there, row, log);
        }
      }
    });
    var out = variant.outType();
    var parts = block.shared.at(group.times(variant.bytesOfGroup()));
    var store = new TileStore(k, parts, group, block.out, out, block.rows, block.dv);
    store.store(
        WarpgroupRegisters.accumulators(sums),
        new Tile(block.part, ownRow, k.integer(0)),
        new WarpgroupRegisters.Rounding(out));
    store.finish();
  }
}

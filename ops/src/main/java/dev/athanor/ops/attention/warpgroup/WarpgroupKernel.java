package dev.athanor.ops.attention.warpgroup;

import dev.athanor.engine.author.Cluster;
import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Mbarriers;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.RegisterTile;
import dev.athanor.engine.author.RegisterTile.Layout;
import dev.athanor.engine.author.RowVector;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.TensorParameter;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.author.WarpRole;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.attention.Score;
import dev.athanor.ops.attention.Score.Range;
import dev.athanor.ops.attention.Softmax;
import dev.athanor.ops.tile.EpilogueFunction;
import dev.athanor.ops.tile.Stage;
import dev.athanor.ops.tile.TileScheduler.Tile;
import dev.athanor.ops.tile.persistent.StageRing;
import dev.athanor.ops.tile.persistent.TileStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Emits the kernel of {@code softmax(score(q·kᵀ))·v} after FlashAttention-3 (Shah et al., 2024). A
 * warpgroup copies tiles of keys and values to rings in shared memory. Each of the others computes
 * {@value WarpgroupTile#ROWS} queries: it starts the product of the queries and the next keys, then
 * that of the weights, in registers, and these values, and computes the softmax of the first while
 * the second runs. The warpgroups take turns to start products, so that one multiplies while
 * another computes its softmax.
 *
 * <p>Parameters: the tensors {@code q, k, v, out}, then {@code [lse], [values], rows, keys, group,
 * dv, matrices, section, factor, cap, window}. Each of the {@code matrices}, the heads of all
 * batches, has {@code rows} queries; {@code group} consecutive ones share a head of k and v. Where
 * queries do not see all keys, {@code values} is the address of v.
 *
 * <p>The one-dimensional grid enumerates sections of {@code section} heads; of a section, the last
 * tiles of queries of all heads come first.
 */
final class WarpgroupKernel {

  private static final int LANES = 4;
  private static final int WARP_ROWS = 16;

  /** Warps of a warpgroup. */
  private static final int WARPS = WarpRole.GROUP / KernelBuilder.WARP;

  private final KernelBuilder k;
  private final WarpgroupVariant variant;
  private final WarpgroupTile tile;
  private final Type type;
  private final Mma mma;

  private final TensorParameter q;
  private final TensorParameter keys;
  private final TensorParameter values;
  private final TensorParameter out;

  /** Absent if lse is not written. */
  private final Optional<GlobalPointer> lse;

  /** Absent if queries see all keys. */
  private final Optional<GlobalPointer> valuePointer;

  private final Int rows;
  private final Int keyCount;
  private final Int dv;
  private final Score.Device score;

  private final SharedTile shared;
  private final Mbarriers queryFull;
  private final StageRing keyRing;
  private final StageRing valueRing;
  private final ValueScreen screen;

  /** Index of the block's head among those of all batches. */
  private final Int matrix;

  private final Int sharedMatrix;
  private final Int firstRow;

  /** The first key of the block's first tile. */
  private final Int firstKey;

  /** The number of tiles of keys, at least 1. */
  private final Int tiles;

  WarpgroupKernel(KernelBuilder k, WarpgroupVariant variant) {
    this.k = k;
    this.variant = variant;
    tile = variant.tile();
    type = variant.type();
    mma = type == Type.F16 ? Mma.F16 : Mma.BF16;
    q = k.tensor("q");
    keys = k.tensor("k");
    values = k.tensor("v");
    out = k.tensor("out");
    lse = variant.logSumExp() ? Optional.of(k.pointer("lse", Type.F32)) : Optional.empty();
    valuePointer = hides() ? Optional.of(k.input("values", type)) : Optional.empty();
    rows = k.integer("rows");
    keyCount = k.integer("keys");
    var group = k.integer("group");
    dv = k.integer("dv");
    var matrices = k.integer("matrices");
    var section = k.integer("section");
    score = variant.score().new Device(k, rows, keyCount);

    shared = k.dynamicShared(Stage.REPEAT);
    var cluster = new Cluster(k, 1);
    int stages = tile.stages();
    queryFull = mbarriers(0);
    keyRing = new StageRing(k, cluster, mbarriers(1), stages);
    valueRing = new StageRing(k, cluster, mbarriers(1 + 2 * stages), stages);
    screen =
        new ValueScreen(
            k,
            type,
            valueRing,
            shared.at(k.integer(variant.valuesAt())),
            variant.values().bytes(),
            stages,
            mbarriers(1 + 4 * stages),
            shared.at(
                k.integer(variant.countsAt()),
                Type.S32,
                stages,
                ValueScreen.WARPS,
                ValueScreen.WARPS));

    var down = rows.plus(tile.rows() - 1).div(tile.rows());
    var ofSection = down.times(section);
    var firstMatrix = k.block().div(ofSection).times(section);
    var width = section.min(matrices.minus(firstMatrix));
    var within = k.block().minus(firstMatrix.times(down));
    var before = within.div(width);
    matrix = firstMatrix.plus(within.minus(before.times(width)));
    sharedMatrix = matrix.div(group);
    firstRow = down.minus(before).plus(-1).times(tile.rows());
    var all = score.tiles(first(firstRow), last(firstRow, tile.rows()), tile.keys());
    firstKey = all.start();
    // a block without visible keys computes a tile that is hidden
    tiles = all.to().minus(firstKey).max(k.integer(1)).plus(tile.keys() - 1).div(tile.keys());
  }

  private Mbarriers mbarriers(int first) {
    return new Mbarriers(k, shared.at(k.integer(variant.mbarriersAt() + first * Mbarriers.BYTES)));
  }

  private boolean hides() {
    return variant.score().hides();
  }

  private Range visible(Int row) {
    return score.keysOf(score.position(row));
  }

  /** Returns the keys of the first of some queries. */
  private Range first(Int row) {
    return visible(row);
  }

  /** Returns the keys of the last of some queries. */
  private Range last(Int row, int count) {
    return visible(row.plus(count).min(rows).plus(-1));
  }

  private Int key(Int number) {
    return firstKey.plus(number.times(tile.keys()));
  }

  void write() {
    k.when(
        k.thread().eq(0),
        () -> {
          queryFull.initialize(0, 1);
          if (hides()) {
            screen.initialize();
          }
          keyRing.initialize(tile.groups());
          valueRing.initialize(tile.groups() * (hides() ? WARPS : 1));
          Stream.of(q, keys, values, out).forEach(TensorParameter::prefetch);
        });
    k.barrier();
    WarpRole.divide(
        k,
        List.of(
            new WarpRole(1, tile.copying(), _ -> copy()),
            new WarpRole(tile.groups(), tile.multiplying(), this::attend)));
  }

  /** One thread copies; other warps screen the values. */
  private void copy() {
    var isCopying = k.thread().lt(KernelBuilder.WARP);
    k.when(isCopying, () -> k.when(k.elect(), this::copyAll));
    if (hides()) {
      k.when(
          isCopying.not(),
          () ->
              screen.screen(
                  tiles,
                  number ->
                      score.ragged(
                          first(firstRow), last(firstRow, tile.rows()), key(number), tile.keys())));
    }
  }

  private void copyAll() {
    var queries = variant.queries();
    queryFull.arriveAndExpect(k.integer(0), tile.groups() * queries.bytes());
    for (int group = 0; group < tile.groups(); group++) {
      queries.load(
          q,
          k,
          shared,
          k.integer(group * variant.bytesOfGroup()),
          queryFull,
          k.integer(0),
          firstRow.plus(group * WarpgroupTile.ROWS),
          matrix);
    }
    var keyPosition = keyRing.ofProducer();
    var valuePosition = valueRing.ofProducer();
    copyKeys(keyPosition, k.integer(0));
    // in the order of their use
    k.loop(
        k.integer(1),
        tiles,
        1,
        number -> {
          copyKeys(keyPosition, number);
          copyValues(valuePosition, number.minus(k.integer(1)));
        });
    copyValues(valuePosition, tiles.minus(k.integer(1)));
  }

  private void copyKeys(StageRing.Position position, Int number) {
    copy(keyRing, position, keys, variant.keys(), variant.keysAt(), number);
  }

  private void copyValues(StageRing.Position position, Int number) {
    copy(valueRing, position, values, variant.values(), variant.valuesAt(), number);
  }

  private void copy(
      StageRing ring,
      StageRing.Position position,
      TensorParameter tensor,
      Panels panels,
      int offset,
      Int number) {
    position.awaitFree(panels.bytes());
    panels.load(
        tensor,
        k,
        shared,
        position.stage().times(panels.bytes()).plus(offset),
        ring.mbarriers(),
        position.stage(),
        key(number),
        sharedMatrix);
    position.advance();
  }

  private void attend(Int group) {
    new Consumer(group).attend();
  }

  /** A warpgroup that multiplies. */
  private final class Consumer {
    private final Int group;

    /** First of the warpgroup's queries. */
    private final Int ownRow;

    private final Int thread = k.thread().rem(WarpRole.GROUP);
    private final RegisterTile scores;
    private final RegisterTile sums;
    private final Softmax softmax;

    /** Offset of the queries: a variable, so that loops do not keep descriptors for each step. */
    private final Int queries;

    private final StageRing.Position keyPosition = keyRing.ofReader();
    private final StageRing.Position valuePosition = valueRing.ofReader();

    Consumer(Int group) {
      this.group = group;
      ownRow = firstRow.plus(group.times(WarpgroupTile.ROWS));
      scores = registers(tile.keys());
      sums = registers(variant.dv());
      softmax = new Softmax(score, sums, hides());
      queries = k.variable(group.times(variant.bytesOfGroup()));
    }

    /** Returns zeros in the layout of accumulators. */
    private RegisterTile registers(int columns) {
      var places =
          IntStream.range(0, columns / 8)
              .boxed()
              .flatMap(i -> Stream.of(8 * i, 8 * i + 1))
              .toList();
      var row = thread.div(KernelBuilder.WARP).times(WARP_ROWS).plus(k.lane().div(LANES));
      return new RegisterTile(
          k, new Layout(row, List.of(0, 8), k.lane().rem(LANES).times(2), places, LANES));
    }

    /** Returns the accumulators of a product. */
    private static List<MatrixFragment> accumulators(RegisterTile registers) {
      return IntStream.range(0, registers.columns() / 2)
          .mapToObj(i ->
              new MatrixFragment(
                  Stream.of(registers.get(0, 2 * i, 2), registers.get(1, 2 * i, 2))
                      .<Value>flatMap(List::stream)
                      .toList()))
          .toList();
    }

    void attend() {
      queryFull.await(k.integer(0), k.integer(0));
      k.when(group.eq(tile.groups() - 1), () -> pass(k.integer(0)));
      keyPosition.awaitFull();
      await(group);
      multiplyKeys();
      pass(next());
      k.awaitProducts(0);
      freeKeys();
      weigh(k.integer(0));
      var weights = weights().stream().map(k::variable).toList();
      k.loop(
          k.integer(1),
          tiles,
          1,
          number -> {
            keyPosition.awaitFull();
            await(group);
            multiplyKeys();
            addValues(weights);
            pass(next());
            k.awaitProducts(1);
            freeKeys();
            var shrink = weigh(number);
            finishValues(number.minus(k.integer(1)));
            freeValues();
            var rounded = weights();
            for (int i = 0; i < weights.size(); i++) {
              weights.get(i).set(rounded.get(i));
            }
            sums.map(shrink, Real::times);
          });
      addValues(weights);
      finishValues(tiles.minus(k.integer(1)));
      store();
    }

    private Int next() {
      return k.integer(0).where(group.eq(tile.groups() - 1), group.plus(1));
    }

    /** Waits for the turn to start products. */
    private void await(Int turn) {
      k.barrier(turn.plus(1 + tile.groups()), 2 * WarpRole.GROUP);
    }

    /** Lets a warpgroup start products. */
    private void pass(Int turn) {
      k.arrive(turn.plus(1 + tile.groups()), 2 * WarpRole.GROUP);
    }

    /** Starts the product of the queries and a tile of keys, which replaces the scores. */
    private void multiplyKeys() {
      var left = variant.queries().factor(k, shared, queries, false);
      var right =
          variant
              .keys()
              .factor(k, shared, offset(keyPosition, variant.keys(), variant.keysAt()), false);
      k.fenceProducts();
      for (int step = 0; step < variant.d(); step += mma.k()) {
        k.multiplyAsync(
            mma, left.at(step), right.at(step), true, true, accumulators(scores), step > 0);
      }
      k.commitProducts();
    }

    private Int offset(StageRing.Position position, Panels panels, int first) {
      return position.stage().times(panels.bytes()).plus(first);
    }

    /** Starts the product of weights and a tile of values. */
    private void addValues(List<MatrixFragment> weights) {
      if (hides()) {
        screen.await(valuePosition);
      } else {
        valuePosition.awaitFull();
      }
      var right =
          variant
              .values()
              .factor(k, shared, offset(valuePosition, variant.values(), variant.valuesAt()), true);
      // orders the weights before the product; the assembler looks for it after the last branch
      k.fenceProducts();
      for (int i = 0; i < weights.size(); i++) {
        k.multiplyAsync(mma, weights.get(i), right.at(i * mma.k()), false, accumulators(sums));
      }
      k.commitProducts();
    }

    private void freeKeys() {
      keyRing.free(keyPosition.stage(), thread.eq(0), thread);
      keyPosition.advance();
    }

    private void finishValues(Int number) {
      k.awaitProducts(0);
      if (valuePointer.isPresent()) {
        var first = key(number);
        screen.add(
            sums,
            valuePosition.stage(),
            this::visibleTo,
            valuePointer.get().matrix(sharedMatrix, keyCount.wide().times(dv)),
            dv,
            first,
            first.plus(tile.keys()).min(keyCount));
      }
    }

    private void freeValues() {
      var reader = thread;
      if (hides()) {
        // each warp has read the counts of the screen
        k.warpBarrier();
        reader = k.lane();
      }
      valueRing.free(valuePosition.stage(), reader.eq(0), reader);
      valuePosition.advance();
    }

    private Range visibleTo(int r) {
      return visible(ownRow.plus(sums.row(r)));
    }

    /** Replaces scores by weights; returns the factors of earlier sums. */
    private RowVector weigh(Int number) {
      var first = key(number);
      var ragged =
          score.ragged(first(ownRow), last(ownRow, WarpgroupTile.ROWS), first, tile.keys());
      k.when(
          ragged,
          () ->
              score.hide(
                  scores,
                  IntStream.range(0, scores.rows()).mapToObj(this::visibleTo).toList(),
                  first,
                  k.real(Type.F32, Double.NEGATIVE_INFINITY)));
      return softmax.add(scores);
    }

    /** Returns the weights as left factors, rounded: a thread has the same elements of both. */
    private List<MatrixFragment> weights() {
      var fragments = new ArrayList<MatrixFragment>();
      for (int i = 0; i < scores.columns(); i += 4) {
        fragments.add(MatrixFragment.of(pair(0, i), pair(1, i), pair(0, i + 2), pair(1, i + 2)));
      }
      return fragments;
    }

    private Value pair(int row, int column) {
      // the first operand becomes the upper half
      return k.compute(
          Type.B32,
          "cvt.rn." + type.word() + "x2.f32",
          scores.get(row, column + 1),
          scores.get(row, column));
    }

    private void store() {
      var ofRows = softmax.normalize(sums);
      lse.ifPresent(pointer -> {
        var there = pointer.plus(rows.wide().times(matrix));
        for (int r = 0; r < sums.rows(); r++) {
          var row = ownRow.plus(sums.row(r));
          there.storeWhere(
              sums.isFirstOfRow().and(row.lt(rows)),
              row,
              softmax.log2SumExp(r, ofRows.get(r)).times(Math.log(2)));
        }
      });
      var parts = shared.at(group.times(variant.bytesOfGroup()));
      var store = new TileStore(k, parts, group, out, type, rows, dv);
      store.store(accumulators(sums), new Tile(matrix, ownRow, k.integer(0)), new Rounding(type));
      store.finish();
    }
  }

  /** Rounds sums to a type. */
  private record Rounding(Type type) implements EpilogueFunction<Type> {

    @Override
    public Type row(Int row, Int m) {
      return type;
    }

    @Override
    public Type column(Int column, Int n) {
      return type;
    }

    @Override
    public Value finish(Value sum, Type row, Type column) {
      return ((Real) sum).to(type);
    }
  }
}

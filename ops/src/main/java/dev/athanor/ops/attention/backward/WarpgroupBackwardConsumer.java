package dev.athanor.ops.attention.backward;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.RegisterTile;
import dev.athanor.engine.author.TensorParameter;
import dev.athanor.engine.author.WarpRole;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.attention.RowCopy;
import dev.athanor.ops.attention.Score.Range;
import dev.athanor.ops.attention.backward.ScoreGradient.Queries;
import dev.athanor.ops.attention.backward.ScoreGradient.Query;
import dev.athanor.ops.attention.warpgroup.Panels;
import dev.athanor.ops.attention.warpgroup.WarpgroupRegisters;
import dev.athanor.ops.attention.warpgroup.WarpgroupTile;
import dev.athanor.ops.tile.TileScheduler.Tile;
import dev.athanor.ops.tile.persistent.StageRing;
import dev.athanor.ops.tile.persistent.TileStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Emits a warpgroup that multiplies: the gradients of {@value WarpgroupTile#ROWS} rows, in the
 * order of {@link WarpgroupBackwardKernel}.
 */
final class WarpgroupBackwardConsumer {

  private final KernelBuilder k;
  private final WarpgroupBackwardVariant variant;
  private final WarpgroupBackwardBlock block;
  private final WarpgroupRegisters registers;
  private final Mma mma;
  private final Int group;

  /** First of the warpgroup's rows. */
  private final Int ownRow;

  private final RegisterTile scores;
  private final RegisterTile slopes;

  /** The sums of dq or dk. */
  private final RegisterTile sums;

  /** The sums of dv; empty for dq. */
  private final Optional<RegisterTile> secondSums;

  /** Offset of the rows: a variable, so that loops do not keep descriptors for each step. */
  private final Int rows;

  private final StageRing.Position position;

  /**
   * Creates a warpgroup.
   *
   * @param group its index among those that multiply
   */
  WarpgroupBackwardConsumer(WarpgroupBackwardBlock block, Int group) {
    this.block = block;
    this.group = group;
    k = block.k;
    variant = block.variant;
    registers = new WarpgroupRegisters(k, variant.type());
    mma = registers.mma();
    ownRow = block.firstRow.plus(group.times(WarpgroupTile.ROWS));
    scores = registers.zeros(variant.width());
    slopes = registers.zeros(variant.width());
    sums = registers.zeros(variant.d());
    secondSums =
        variant.isOfQueries() ? Optional.empty() : Optional.of(registers.zeros(variant.dv()));
    rows = k.variable(group.times(variant.bytesOfGroup()));
    position = block.ring.ofReader();
  }

  void accumulate() {
    var gradient = new ScoreGradient(block.score, variant.score().softcap());
    var ofRows = queriesOfRows();
    block.rowsFull.await(k.integer(0), k.integer(0));
    block.overTiles((head, column) -> {
      position.awaitFull();
      multiplyRows();
      k.awaitProducts(0);
      block.score.cap(scores);
      gradient.multiply(
          scores, slopes, variant.isOfQueries() ? (r, _) -> ofRows.get(r) : queriesOfColumns());
      k.when(block.ragged(ownRow, WarpgroupTile.ROWS, column), () -> hide(column));
      replaceSpecial();
      addColumns();
      k.awaitProducts(0);
      addSpecial(head, column);
      free();
    });
    store(sums, block.gradients.getFirst(), block.d, Optional.of(block.scale));
    secondSums.ifPresent(
        each -> store(each, block.gradients.getLast(), block.dv, Optional.empty()));
  }

  /** Returns the queries of the thread's rows; none if rows are keys. */
  private List<Query> queriesOfRows() {
    var all = new ArrayList<Query>();
    for (int r = 0; variant.isOfQueries() && r < sums.rows(); r++) {
      var row = ownRow.plus(sums.row(r));
      var values =
          block.rowStatistics.stream()
              .map(pointer ->
                  pointer
                      .plus(block.queries.wide().times(block.matrix))
                      .loadWhere(row.lt(block.queries), row)
                      .widen())
              .toList();
      all.add(new Query(Query.log2(values.getFirst()), values.getLast()));
    }
    return all;
  }

  /** Returns the queries of the thread's columns of a stage. */
  private Queries queriesOfColumns() {
    var statistics =
        block.shared.at(
            block.statisticsAt(position.stage()), Type.F32, 2, variant.width(), variant.width());
    var all = new ArrayList<Query>();
    for (int c = 0; c < scores.columns(); c += 2) {
      var lse = statistics.load(2, k.integer(0), scores.column(c));
      var delta = statistics.load(2, k.integer(1), scores.column(c));
      for (int i = 0; i < 2; i++) {
        all.add(new Query(Query.log2(lse.get(i).widen()), delta.get(i).widen()));
      }
    }
    return (_, c) -> all.get(c);
  }

  /** Starts the products of the rows and a tile, which replace scores and slopes. */
  private void multiplyRows() {
    var columns = block.columnsAt(position.stage());
    k.fenceProducts();
    multiplyRows(scores, variant.rows(), rows, variant.columns(), columns);
    multiplyRows(
        slopes,
        variant.secondRows(),
        rows.plus(variant.rows().bytes()),
        variant.secondColumns(),
        columns.plus(variant.columns().bytes()));
    k.commitProducts();
  }

  private void multiplyRows(
      RegisterTile products, Panels rowPanels, Int rowsAt, Panels columnPanels, Int columnsAt) {
    var left = rowPanels.factor(k, block.shared, rowsAt, false);
    var right = columnPanels.factor(k, block.shared, columnsAt, false);
    for (int step = 0; step < rowPanels.columns(); step += mma.k()) {
      k.multiplyAsync(
          mma,
          left.at(step),
          right.at(step),
          true,
          true,
          WarpgroupRegisters.accumulators(products),
          step > 0);
    }
  }

  /** Sets the elements of hidden pairs to 0. */
  private void hide(Int column) {
    var zero = k.real(Type.F32, 0);
    var ranges = IntStream.range(0, scores.rows()).mapToObj(this::visibleTo).toList();
    secondSums.ifPresent(_ -> block.score.hide(scores, ranges, column, zero));
    block.score.hide(slopes, ranges, column, zero);
  }

  private Range visibleTo(int r) {
    return block.visible(ownRow.plus(scores.row(r)));
  }

  /** Replaces the infinities and NaNs of a ragged tile, which scores have been computed from. */
  private void replaceSpecial() {
    if (block.hides()) {
      block.screen.await(position);
      int threads = block.tile.groups() * WarpRole.GROUP;
      var barrier = k.integer(1 + block.tile.groups());
      k.when(
          block.screen.found(position.stage()),
          () -> {
            k.barrier(barrier, threads);
            block.screen.replace(position.stage(), WarpRole.GROUP, threads);
            k.barrier(barrier, threads);
          });
    }
  }

  /** Starts the products of scores and slopes, as left factors, and the columns of a tile. */
  private void addColumns() {
    var columns = block.columnsAt(position.stage());
    var factors = registers.factors(slopes);
    var secondFactors = secondSums.map(_ -> registers.factors(scores));
    k.fenceProducts();
    var right = variant.columns().factor(k, block.shared, columns, true);
    for (int i = 0; i < factors.size(); i++) {
      k.multiplyAsync(
          mma, factors.get(i), right.at(i * mma.k()), false, WarpgroupRegisters.accumulators(sums));
    }
    secondSums.ifPresent(each -> {
      var second =
          variant
              .secondColumns()
              .factor(k, block.shared, columns.plus(variant.columns().bytes()), true);
      for (int i = 0; i < factors.size(); i++) {
        k.multiplyAsync(
            mma,
            secondFactors.orElseThrow().get(i),
            second.at(i * mma.k()),
            false,
            WarpgroupRegisters.accumulators(each));
      }
    });
    k.commitProducts();
  }

  /** Adds the infinities and NaNs that were replaced to the sums of the rows that see them. */
  private void addSpecial(Int head, Int column) {
    if (block.hides()) {
      addSpecial(sums, block.summands.getFirst(), block.d, head, column);
      secondSums.ifPresent(
          each -> addSpecial(each, block.summands.getLast(), block.dv, head, column));
    }
  }

  private void addSpecial(RegisterTile to, GlobalPointer from, Int width, Int head, Int column) {
    block.screen.add(
        to,
        position.stage(),
        (row, key) -> visibleTo(row).contains(key),
        RowCopy.Rows.of(from.matrix(head, block.columnCount.wide().times(width)), width),
        width,
        column,
        column.plus(variant.width()).min(block.columnCount));
  }

  private void free() {
    if (block.hides() || !variant.isOfQueries()) {
      // each lane has read the counts of the screen and the statistics
      k.warpBarrier();
    }
    block.ring.free(position.stage(), k.lane(), Optional.empty());
    position.advance();
  }

  private void store(RegisterTile gradient, TensorParameter to, Int width, Optional<Real> factor) {
    factor.ifPresent(by -> gradient.map(sum -> sum.times(by)));
    var store =
        new TileStore(k, block.shared.at(rows), group, to, variant.type(), block.rowCount, width);
    store.store(
        WarpgroupRegisters.accumulators(gradient),
        new Tile(block.matrix, ownRow, k.integer(0)),
        new WarpgroupRegisters.Rounding(variant.type()));
    store.finish();
  }
}

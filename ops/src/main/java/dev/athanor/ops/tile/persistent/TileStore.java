package dev.athanor.ops.tile.persistent;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.LaneCoordinates;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.TensorParameter;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.author.WarpRole;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.tile.EpilogueFunction;
import dev.athanor.ops.tile.TileScheduler.Tile;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;

/**
 * Finishes the sums of a warpgroup and stores them to c. Parts of {@value PersistentTile#ROWS} rows
 * of 128 bytes go through shared memory, whose swizzle makes the accesses of a warp free of bank
 * conflicts, while the previous part is copied from there.
 *
 * @param parts shared memory of the warpgroup
 * @param group index of the warpgroup among those that multiply
 * @param c a tensor of columns, rows and matrices
 * @param out type of its elements: of 16 or 32 bits
 */
public record TileStore(
    KernelBuilder k, SharedTile parts, Int group, TensorParameter c, Type out, Int m, Int n) {

  /** Columns of a fragment. */
  private static final int COLUMNS = 8;

  /** The type of the elements that threads copy. */
  private static final Type WORD = Type.S32;

  /** Words that a thread copies at a time: 16 bytes. */
  private static final int PIECE = 4;

  /**
   * Stores the sums of {@value PersistentTile#ROWS} rows.
   *
   * @param sums four registers for each 8 columns, as in {@code Fragments.C_16X8}
   * @param place of the first row and column in c
   */
  public <L> void store(List<MatrixFragment> sums, Tile place, EpilogueFunction<L> epilogue) {
    store(
        sums,
        place,
        epilogue,
        (part, column) -> k.when(isFirst(), () -> copy(part, place, column)));
  }

  /**
   * Stores the sums of up to {@value PersistentTile#ROWS} rows of the first matrix. The accelerator
   * copies {@value PersistentTile#ROWS} rows at a time, so threads copy fewer.
   *
   * @param row first row in c
   * @param column first column in c
   * @param end end of the rows that are stored
   * @param first element of c, whose rows are aligned to 16 bytes
   */
  <L> void storeRows(
      List<MatrixFragment> sums,
      Int row,
      Int column,
      Int end,
      GlobalPointer first,
      EpilogueFunction<L> epilogue) {
    var place = new Tile(k.integer(0), row, column);
    var isWhole = end.minus(row).ge(k.integer(PersistentTile.ROWS));
    k.when(
        row.lt(end),
        () -> {
          // waits count copies: without those of this slab, they would leave earlier ones pending
          k.when(isWhole.not(), this::finish);
          store(
              sums,
              place,
              epilogue,
              (part, columnOfPart) ->
                  k.when(
                      isWhole,
                      () -> k.when(isFirst(), () -> copy(part, place, columnOfPart)),
                      () -> copyRows(part, place, columnOfPart, end, first)));
        });
  }

  /** Starts to copy a part. */
  private void copy(SharedTile part, Tile place, Int column) {
    c.store(part, List.of(column, place.row(), place.matrix()));
    k.commitBulkCopies();
  }

  /** Copies the rows of a part before {@code end}. */
  private void copyRows(SharedTile part, Tile place, Int column, Int end, GlobalPointer first) {
    int across = SharedTile.ASYNC_ROW / WORD.bytes();
    var words = part.at(k.integer(0), WORD, PersistentTile.ROWS, across);
    int pieces = across / PIECE;
    k.loop(
        k.thread().rem(WarpRole.GROUP),
        k.integer(PersistentTile.ROWS * pieces),
        WarpRole.GROUP,
        index -> {
          var from = index.div(pieces);
          var within = index.rem(pieces).times(PIECE);
          var row = place.row().plus(from);
          var at = column.plus(within.times(perWord()));
          k.when(
              row.lt(end).and(at.lt(n)),
              () ->
                  first
                      .row(row, n)
                      .as(WORD)
                      .store(at.div(perWord()), words.load(PIECE, from, within)));
        });
  }

  /** Returns the number of elements in a word. */
  private int perWord() {
    return WORD.bytes() / out.bytes();
  }

  /**
   * Stores zeros to the rows from {@code row} on. Each block stores some of them.
   *
   * @param first element of c, whose rows are aligned to 16 bytes
   * @param groups warpgroups that store
   */
  void clear(GlobalPointer first, Int row, int groups) {
    var zeros = Collections.nCopies(PIECE, k.integer(0).value());
    k.loop(
        row.plus(k.block()),
        m,
        k.read(SpecialRegister.NCTAID_X),
        each ->
            k.loop(
                group.times(WarpRole.GROUP).plus(k.thread().rem(WarpRole.GROUP)).times(PIECE),
                n.div(perWord()),
                groups * WarpRole.GROUP * PIECE,
                column -> first.row(each, n).as(WORD).store(column, zeros)));
  }

  /**
   * Stores sums.
   *
   * @param copy emits the code that copies a part to c, given its first column
   */
  private <L> void store(
      List<MatrixFragment> sums,
      Tile place,
      EpilogueFunction<L> epilogue,
      BiConsumer<SharedTile, Int> copy) {
    int columns = SharedTile.ASYNC_ROW / out.bytes();
    int fragments = columns / COLUMNS;
    var row = thread().row();
    var rows = new ArrayList<L>();
    for (int half = 0; half < 2; half++) {
      rows.add(epilogue.row(place.row().plus(row).plus(8 * half), m));
    }
    int count = Math.ceilDiv(sums.size(), fragments);
    // with an odd number of parts, the last one and the first one of the next tile are in one place
    int pending = count % PersistentTile.PARTS == 0 ? PersistentTile.PARTS - 1 : 0;
    for (int first = 0; first < sums.size(); first += fragments) {
      int firstOfPart = first;
      int offset = first / fragments % PersistentTile.PARTS * PersistentTile.PART_BYTES;
      var part = parts.at(k.integer(offset), out, PersistentTile.ROWS, columns);
      k.when(isFirst(), () -> k.awaitBulkReads(pending));
      barrier();
      // the copy leaves out the columns of a part beyond the last one of c
      int last = Math.min(fragments, sums.size() - first);
      for (int i = 0; i < last / 2; i++) {
        // of words, two fragments whose chunks have no bank in common
        int one = out.bytes() == 2 ? 2 * i : i;
        int other = out.bytes() == 2 ? one + 1 : one + last / 2;
        Runnable finish =
            () -> {
              var pairs = new ArrayList<List<Value>>();
              for (int each : List.of(one, other)) {
                var at = place.column().plus((firstOfPart + each) * COLUMNS);
                pairs.addAll(finish(sums.get(firstOfPart + each), at, rows, epilogue));
              }
              if (out.bytes() == 2) {
                writeHalves(part, one * COLUMNS, pairs);
              } else {
                writeWords(part, row, one * COLUMNS, other * COLUMNS, pairs);
              }
            };
        if (epilogue.isLong()) {
          // without a branch, the compiler finishes all columns side by side, and registers spill
          k.when(place.column().plus((first + one) * COLUMNS).lt(n), finish);
        } else {
          finish.run();
        }
      }
      k.fenceAsyncProxy();
      barrier();
      copy.accept(part, place.column().plus(firstOfPart * COLUMNS));
    }
  }

  /**
   * Returns the pairs of neighbors of a fragment: those of the upper and those of the lower row.
   */
  private <L> List<List<Value>> finish(
      MatrixFragment sums, Int column, List<L> rows, EpilogueFunction<L> epilogue) {
    var own = column.plus(thread().column());
    var lines = List.of(epilogue.column(own, n), epilogue.column(own.plus(1), n));
    var pairs = new ArrayList<List<Value>>();
    for (int half = 0; half < 2; half++) {
      var pair = new ArrayList<Value>();
      for (int i = 0; i < 2; i++) {
        pair.add(epilogue.finish(sums.get(2 * half + i), rows.get(half), lines.get(i)));
      }
      pairs.add(pair);
    }
    return pairs;
  }

  /**
   * Writes 16 columns.
   *
   * @param pairs of each 8 columns, those of the upper rows, then those of the lower rows
   */
  private void writeHalves(SharedTile part, int column, List<List<Value>> pairs) {
    var warp = k.thread().rem(WarpRole.GROUP).div(KernelBuilder.WARP);
    part.storeFragment(
        Fragments.A_16X16.layout(),
        k.lane(),
        warp.times(Fragments.A_16X16.rows()),
        k.integer(column),
        pairs.stream().map(pair -> k.pack(pair.get(0), pair.get(1))).toList());
  }

  /**
   * Writes 8 columns from each of two on. The lanes of even rows begin with the first 8, those of
   * odd rows with the others: the swizzle stores eight columns of two adjacent rows in the same
   * banks.
   *
   * @param pairs as above
   */
  private void writeWords(SharedTile part, Int row, int one, int other, List<List<Value>> pairs) {
    var isOdd = row.rem(2).eq(1);
    for (int half = 0; half < 2; half++) {
      var ofOne = pairs.get(half);
      var ofOther = pairs.get(2 + half);
      for (var second : List.of(isOdd, isOdd.not())) {
        var column = k.integer(other).where(second, k.integer(one));
        var values =
            IntStream.range(0, 2)
                .mapToObj(i -> select(second, ofOther.get(i), ofOne.get(i)))
                .toList();
        part.store(row.plus(8 * half), thread().column().plus(column), values);
      }
    }
  }

  private static Value select(Predicate condition, Value one, Value other) {
    return one instanceof Real real
        ? real.where(condition, (Real) other)
        : one.integer().where(condition, other.integer()).value();
  }

  /** Waits until copies have read the parts. */
  public void finish() {
    k.when(isFirst(), () -> k.awaitBulkReads(0));
  }

  /** Returns this thread's place in eight columns of the sums. */
  private LaneCoordinates thread() {
    return new LaneCoordinates(Fragments.D_64X8, k.thread().rem(WarpRole.GROUP));
  }

  /** The thread that copies. */
  private Predicate isFirst() {
    return k.thread().rem(WarpRole.GROUP).eq(0);
  }

  private void barrier() {
    k.barrier(group.plus(1), WarpRole.GROUP);
  }
}

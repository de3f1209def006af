package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The loop over K of a product on tensor cores. Stages of a and b lie in a ring in shared memory
 * and are brought there while earlier ones are multiplied; within a stage the fragments of the next
 * step are read while those of this one are multiplied.
 *
 * <p>Sums of fp8 are promoted to f32 after every instruction, that is every 32 of K, because Ada's
 * tensor cores keep 13 bits of them. Promotion every 128 of K, as DeepGEMM does it for wgmma, needs
 * a second set of sums and leaves an error of 1.1e-3 where all products have one sign and their
 * magnitudes differ widely; every 32, the same error is 3e-4. Sums of {@linkplain Factors#SPLIT
 * split} factors are promoted after every stage, because tensor cores truncate: on Ampere, sums of
 * one sign would err by 2.7e-4 of themselves over a K of 16384. (After every instruction, ptxas
 * would need twice the registers.) Where groups of b have {@linkplain GroupScales scales}, their
 * sums are multiplied with them as they are promoted.
 *
 * @param shared of which the ring takes the first {@link #ringBytes}
 * @param a the rows of the tile
 * @param b the columns of the tile
 * @param factors what elements become before they are multiplied
 */
public record TensorMatmul(
    KernelBuilder k,
    SharedTile shared,
    TensorTile tile,
    Mma mma,
    Stage a,
    Stage b,
    Factors factors) {

  /** The greatest number of tf32. */
  private static final double GREATEST = 0x1.FFCp127;

  /** Bits of f32 that tf32 has. */
  private static final int TF32_BITS = 0xFFFFE000;

  /** A product of factors without splitting. */
  public TensorMatmul(
      KernelBuilder k, SharedTile shared, TensorTile tile, Mma mma, Stage a, Stage b) {
    this(k, shared, tile, mma, a, b, Factors.PLAIN);
  }

  /** The fragments of one step of K that a warp multiplies with each other. */
  private record Fragments(List<List<Value>> rows, List<List<Value>> columns) {}

  /**
   * The tf32 parts of the numbers of a fragment.
   *
   * @param high the leading 11 bits, truncated
   * @param low what is left
   * @param nearest the number rounded
   */
  private record Parts(List<Value> high, List<Value> low, List<Value> nearest) {}

  public static int ringBytes(TensorTile tile, Stage a, Stage b) {
    return tile.stages() * (a.bytes() + b.bytes());
  }

  /** The first row of the tile that this warp computes. */
  public Int warpRow() {
    return k.warp().div(tile.n() / tile.warpN()).times(tile.warpM());
  }

  /** The first column of the tile that this warp computes. */
  public Int warpColumn() {
    return k.warp().rem(tile.n() / tile.warpN()).times(tile.warpN());
  }

  /**
   * Multiplies. When this ends no copy is under way, and once all threads have come to a barrier
   * shared memory is free.
   *
   * @param from the first of K
   * @param to behind the last of K
   * @return the sums of the warp: of every 16 rows every 8 columns, registers as {@code
   *     Fragments.C_16X8} says, of rows and columns that may be {@link Stage#interleaved}
   */
  public List<List<Value>> multiply(Staging stagingA, Staging stagingB, Int from, Int to) {
    return multiply(stagingA, stagingB, Optional.empty(), from, to);
  }

  /**
   * Multiplies, and applies the scales of groups of b to sums.
   *
   * @see #multiply(Staging, Staging, Int, Int)
   */
  public List<List<Value>> multiply(
      Staging stagingA, Staging stagingB, Optional<GroupScales> scales, Int from, Int to) {
    int promoted = scales.map(GroupScales::depth).orElse(factors == Factors.SPLIT ? tile.k() : 0);
    var sums = sums();
    int stageBytes = a.bytes() + b.bytes();
    int ahead = tile.stages() - 1;
    for (int stage = 0; stage < ahead; stage++) {
      fill(stagingA, stagingB, k.integer(stage * stageBytes), from.plus(stage * tile.k())).run();
    }
    var full = k.variable(k.integer(0));
    var free = k.variable(k.integer(ahead * stageBytes));
    awaitStage();
    var first = carried(fragments(full, 0));
    k.loop(
        from,
        to,
        tile.k(),
        depth -> {
          // every warp has read the stage that is filled now, and it takes its time
          var rest = fill(stagingA, stagingB, free, depth.plus(ahead * tile.k()));
          var now = first;
          var part = sums;
          List<Value> scalesOfPart = List.of();
          for (int step = 0; step < tile.k(); step += step()) {
            int end = step + step();
            if (promoted > 0 && step % promoted == 0) {
              part = sums();
              scalesOfPart = load(scales, depth.plus(step));
            }
            if (end == tile.k()) {
              free.set(full);
              full.set(next(full, stageBytes));
              rest.run();
              awaitStage();
            }
            var next = fragments(full, end % tile.k());
            multiply(now, part);
            now = next;
            if (promoted > 0 && end % promoted == 0) {
              promote(part, sums, scalesOfPart);
            }
          }
          set(first, now);
        });
    k.awaitCopies(0);
    return sums;
  }

  /**
   * Writes what {@link #multiply} gave, when shared memory is free.
   *
   * @param row the first of the tile in c
   * @param column the first of the tile in c
   */
  public void store(
      SumStore store,
      List<List<Value>> sums,
      Int row,
      Int column,
      SumStore.Target target,
      Epilogue.Applied epilogue) {
    for (int first = 0; first < tile.warpM(); first += Stage.GROUP) {
      store.store(
          slab(tile, sums, first),
          row.plus(warpRow()).plus(first),
          column.plus(warpColumn()),
          target,
          epilogue);
    }
  }

  private List<List<Value>> sums() {
    int parts = tile.warpM() * tile.warpN() / (mma.m() * mma.n());
    return Stream.generate(this::zeros).limit(parts).toList();
  }

  private List<Value> load(Optional<GroupScales> scales, Int depth) {
    return scales.map(each -> each.load(warpColumn(), depth)).orElse(List.of());
  }

  /**
   * Adds sums of a part of K to those of the tile.
   *
   * @param scales two of each eight columns, or none
   */
  private static void promote(List<List<Value>> from, List<List<Value>> to, List<Value> scales) {
    var wide = scales.stream().map(Value::widen).toList();
    for (int part = 0; part < to.size(); part++) {
      for (int i = 0; i < to.get(part).size(); i++) {
        var sum = (Real.Variable) to.get(part).get(i);
        var more = (Real) from.get(part).get(i);
        if (wide.isEmpty()) {
          sum.set(sum.plus(more));
        } else {
          sum.addProduct(more, wide.get((2 * part + i % 2) % wide.size()));
        }
      }
    }
  }

  private List<Value> zeros() {
    var sum = new ArrayList<Value>();
    for (int i = 0; i < mma.registersSum(); i++) {
      sum.add(k.accumulator(mma.sum()));
    }
    return sum;
  }

  private Runnable fill(Staging stagingA, Staging stagingB, Int offset, Int depth) {
    var restOfA = stagingA.fill(offset, depth);
    var restOfB = stagingB.fill(offset.plus(a.bytes()), depth);
    k.commitCopies();
    return () -> {
      restOfA.run();
      restOfB.run();
    };
  }

  private Int next(Int offset, int stageBytes) {
    var next = offset.plus(stageBytes);
    return k.integer(0).where(next.eq(k.integer(tile.stages() * stageBytes)), next);
  }

  /** How much of K the fragments of one step have. */
  private int step() {
    return factors == Factors.WIDENED ? 2 * mma.k() : mma.k();
  }

  /** Waits until the oldest stage that is under way is there for all threads. */
  private void awaitStage() {
    k.awaitCopies(tile.stages() - 2);
    k.barrier();
  }

  /** Fragments in variables, which keep them from one turn of the loop to the next. */
  private Fragments carried(Fragments values) {
    return new Fragments(carried(values.rows), carried(values.columns));
  }

  private List<List<Value>> carried(List<List<Value>> fragments) {
    return fragments.stream()
        .map(fragment -> fragment.stream().map(this::carried).toList())
        .toList();
  }

  private Value carried(Value value) {
    return value instanceof Real number ? k.variable(number) : k.variable(value);
  }

  private static void set(Fragments variables, Fragments values) {
    set(variables.rows, values.rows);
    set(variables.columns, values.columns);
  }

  private static void set(List<List<Value>> variables, List<List<Value>> values) {
    for (int i = 0; i < values.size(); i++) {
      for (int part = 0; part < values.get(i).size(); part++) {
        var value = values.get(i).get(part);
        switch (variables.get(i).get(part)) {
          case Real.Variable variable -> variable.set((Real) value);
          case Value.Variable variable -> variable.set(value);
          default -> throw new IllegalArgumentException("not carried: " + value.type().word());
        }
      }
    }
  }

  private void multiply(Fragments fragments, List<List<Value>> sums) {
    switch (factors) {
      case PLAIN -> multiplyPlain(fragments, sums);
      case SPLIT -> multiplySplit(fragments, sums);
      case WIDENED -> multiplyWidened(fragments, sums);
    }
  }

  private void multiplyPlain(Fragments factors, List<List<Value>> sums) {
    int across = factors.columns.size();
    for (int row = 0; row < factors.rows.size(); row++) {
      for (int i = 0; i < across; i++) {
        // to and fro, so that each product shares a fragment with the one before
        int column = row % 2 == 0 ? i : across - 1 - i;
        add(factors.rows.get(row), factors.columns.get(column), sums.get(row * across + column));
      }
    }
  }

  private void add(List<Value> rows, List<Value> columns, List<Value> sum) {
    if (mma.hasReducedAccumulatorPrecision()) {
      k.mmaThenAdd(mma, rows, columns, sum);
    } else {
      k.mma(mma, rows, columns, sum);
    }
  }

  /** Bytes of K that a lane has next to each other are two steps of f16, in a and b alike. */
  private void multiplyWidened(Fragments bytes, List<List<Value>> sums) {
    var columns = bytes.columns.stream().map(column -> widen(column, b.element())).toList();
    int across = columns.size();
    for (int row = 0; row < bytes.rows.size(); row++) {
      var halves = widen(bytes.rows.get(row), a.element());
      var lower = inOrderOfRows(halves.subList(0, 4));
      var upper = inOrderOfRows(halves.subList(4, 8));
      for (int i = 0; i < across; i++) {
        int column = row % 2 == 0 ? i : across - 1 - i;
        var sum = sums.get(row * across + column);
        k.mma(mma, lower, columns.get(column).subList(0, 2), sum);
        k.mma(mma, upper, columns.get(column).subList(2, 4), sum);
      }
    }
  }

  /** Of the first eight rows and of the last the lower halves, then the upper ones. */
  private static List<Value> inOrderOfRows(List<Value> halves) {
    return List.of(halves.get(0), halves.get(2), halves.get(1), halves.get(3));
  }

  /** Of each four bytes the two lower and the two upper ones as f16. */
  private List<Value> widen(List<Value> bytes, Type element) {
    var widened = new ArrayList<Value>();
    for (var four : bytes) {
      for (var pair : four.halves(Type.B16)) {
        widened.add(k.compute(Type.B32, "cvt.rn.f16x2.%sx2".formatted(element.word()), pair));
      }
    }
    return widened;
  }

  private void multiplySplit(Fragments factors, List<List<Value>> sums) {
    var columns = factors.columns.stream().map(this::split).toList();
    for (int row = 0; row < factors.rows.size(); row++) {
      var left = split(factors.rows.get(row));
      for (int column = 0; column < columns.size(); column++) {
        var right = columns.get(column);
        var sum = sums.get(row * columns.size() + column);
        k.mma(mma, left.nearest, right.low, sum);
        k.mma(mma, left.low, right.high, sum);
        k.mma(mma, left.high, right.high, sum);
      }
    }
  }

  /**
   * Splits numbers. High parts are finite, for an infinity times a low part of 0 would be NaN: of
   * an infinity the high part is the greatest number, and the low part is infinite. High parts are
   * truncated, so that both parts of a number have its sign, and products with an infinity too.
   */
  private Parts split(List<Value> numbers) {
    var high = new ArrayList<Value>();
    var low = new ArrayList<Value>();
    var nearest = new ArrayList<Value>();
    for (var number : numbers) {
      var whole = (Real) number;
      var finite = whole.max(whole.constant(-GREATEST)).min(whole.constant(GREATEST));
      var leading = (Real) finite.bits().and(TF32_BITS).value().as(Type.F32);
      high.add(leading.to(Type.TF32));
      low.add(whole.minus(leading).to(Type.TF32));
      nearest.add(finite.to(Type.TF32));
    }
    return new Parts(high, low, nearest);
  }

  /** Reads the fragments of one step of the stage at {@code offset}. */
  private Fragments fragments(Int offset, int depth) {
    var stageA = a.at(shared, offset);
    var stageB = b.at(shared, offset.plus(a.bytes()));
    var rows = new ArrayList<List<Value>>();
    for (int row = 0; row < tile.warpM(); row += Stage.GROUP) {
      rows.add(factors(a.fragments(k, stageA, warpRow().plus(row), depth, Stage.Order.ROWS)));
    }
    var columns = new ArrayList<List<Value>>();
    for (int column = 0; column < tile.warpN(); column += Stage.GROUP) {
      var both =
          factors(b.fragments(k, stageB, warpColumn().plus(column), depth, Stage.Order.COLUMNS));
      columns.add(both.subList(0, 2));
      columns.add(both.subList(2, 4));
    }
    return new Fragments(rows, columns);
  }

  /** What is multiplied, or is split before. */
  private List<Value> factors(List<Value> elements) {
    return mma.a() == Type.TF32 && factors == Factors.PLAIN
        ? elements.stream().map(element -> ((Real) element).to(Type.TF32)).toList()
        : elements;
  }

  /** The sums of the 16 rows from {@code row} on. */
  private static List<List<Value>> slab(TensorTile tile, List<List<Value>> sums, int row) {
    int across = tile.warpN() / 8;
    int first = row / Stage.GROUP * across;
    return sums.subList(first, first + across);
  }
}

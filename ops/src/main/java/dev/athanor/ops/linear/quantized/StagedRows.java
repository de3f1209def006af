package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.TilePartition;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import java.util.ArrayList;
import java.util.List;

/**
 * Rows of the left matrix in shared memory, as f32, one slice of K at a time, for all warps of a
 * block. A slice has the elements for a few steps of a warp; in a step, each lane has a part of a
 * column's weights. Elements are stored in the order of the reads, four per lane, which avoids bank
 * conflicts.
 */
final class StagedRows {

  /** Elements per load of a lane. */
  private static final int CHUNK = 4;

  /** Steps per slice, in total over all rows. */
  private static final int STEPS = 4;

  private static final int BANKS = 32;

  private final KernelBuilder k;
  private final ProjectionParameters problem;
  private final Packing packing;
  private final DType in;
  private final int length;
  private final int rows;
  private final int threads;
  private final SharedTile numbers;
  private final SharedTile totals;

  /**
   * Describes the rows of a block.
   *
   * @param shared shared memory, of which the rows use the first {@link #bytes}
   * @param length of a run of the weights
   * @param rows number of rows
   * @param threads threads of the block, all of which fill a slice
   */
  StagedRows(
      KernelBuilder k,
      SharedTile shared,
      ProjectionParameters problem,
      Packing packing,
      DType in,
      int length,
      int rows,
      int threads) {
    this.k = k;
    this.problem = problem;
    this.packing = packing;
    this.in = in;
    this.length = length;
    this.rows = rows;
    this.threads = threads;
    int lines = rows * steps(rows) * part() / CHUNK;
    int pitch = pitch(packing, in, length);
    numbers = shared.at(k.integer(0), Type.F32, lines, KernelBuilder.WARP * CHUNK, pitch);
    totals =
        shared.at(
            k.integer(numbers.bytes()),
            Type.F32,
            rows * steps(rows) * RowWeights.sums(packing),
            KernelBuilder.WARP,
            KernelBuilder.WARP);
  }

  /** Returns the bytes of shared memory for a number of rows. */
  static int bytes(Packing packing, DType in, int length, int rows) {
    int steps = rows * steps(rows);
    int lines = steps * RowWeights.part(packing, length) / CHUNK;
    return Float.BYTES
        * (lines * pitch(packing, in, length)
            + steps * RowWeights.sums(packing) * KernelBuilder.WARP);
  }

  private static int steps(int rows) {
    return Math.max(1, STEPS / rows);
  }

  /**
   * Returns the pitch between consecutive chunks of a lane, in elements. Eight lanes that write 16
   * adjacent bytes along K each have chunks of a few lanes; the padding maps them to different
   * banks.
   */
  private static int pitch(Packing packing, DType in, int length) {
    int chunks = RowWeights.together(packing, length, 8 * 16 / in.bytes()) / CHUNK;
    return KernelBuilder.WARP * CHUNK + BANKS / chunks;
  }

  /** Returns the number of steps per slice. */
  int steps() {
    return steps(rows);
  }

  private int part() {
    return RowWeights.part(packing, length);
  }

  /**
   * Loads a slice. All threads of the block must call this after the last read of the previous
   * slice. Elements beyond K are zeros; rows beyond the last repeat it.
   *
   * @param firstRow of the rows
   * @param firstStep of the slice
   */
  void fill(Int firstRow, Int firstStep) {
    int atOnce = 16 / in.bytes();
    int perStep = KernelBuilder.WARP * part() / atOnce;
    int stepsAtOnce = Math.max(1, threads / perStep);
    var ofThread = stepsAtOnce > 1 ? k.thread().div(perStep) : k.integer(0);
    // a thread keeps its position within a step and iterates over steps
    for (int piece = 0; piece < perStep; piece += threads) {
      var element = k.thread().rem(perStep).plus(piece).times(atOnce);
      for (int done = 0; done < rows * steps(); done += stepsAtOnce) {
        var step = ofThread.plus(done);
        if (done + stepsAtOnce <= rows * steps()) {
          move(firstRow, firstStep, step, element, atOnce);
        } else {
          k.when(step.lt(rows * steps()), () -> move(firstRow, firstStep, step, element, atOnce));
        }
      }
    }
    k.barrier();
    int sums = RowWeights.sums(packing);
    if (sums > 0) {
      TilePartition.each(
          k,
          k.thread(),
          threads,
          rows * steps() * sums * KernelBuilder.WARP,
          index -> {
            var run = index.div(KernelBuilder.WARP);
            var lane = index.rem(KernelBuilder.WARP);
            var first = run.rem(sums).times(length / CHUNK);
            totals.store(run, lane, sum(read(ofStep(run.div(sums)), first, lane, length)));
          });
      k.barrier();
    }
  }

  /**
   * Copies adjacent elements along K.
   *
   * @param step step over all rows, in row order
   * @param element index of the first element in its step
   */
  private void move(Int firstRow, Int firstStep, Int step, Int element, int count) {
    var row = firstRow.plus(step.div(steps())).min(problem.m.plus(-1));
    var inK = firstStep.plus(step.rem(steps())).times(KernelBuilder.WARP * part()).plus(element);
    var values = problem.a.row(row, problem.depth).loadWhere(inK.lt(problem.depth), count, inK);
    for (int i = 0; i < count; i += CHUNK) {
      var place = RowWeights.place(packing, element.plus(i), length);
      var chunk = values.subList(i, i + CHUNK).stream().map(Value::widen).toList();
      ofStep(step).store(place.within().div(CHUNK), place.part().times(CHUNK), chunk);
    }
  }

  /** Returns the elements of a step over all rows. */
  private SharedTile ofStep(Int step) {
    int lines = part() / CHUNK;
    int pitch = pitch(packing, in, length);
    return numbers.at(
        step.times(lines * pitch * Float.BYTES),
        Type.F32,
        lines,
        KernelBuilder.WARP * CHUNK,
        pitch);
  }

  private List<Real> read(SharedTile step, Int firstLine, Int lane, int count) {
    var values = new ArrayList<Real>();
    for (int i = 0; i < count / CHUNK; i++) {
      step.load(CHUNK, firstLine.plus(i), lane.times(CHUNK))
          .forEach(value -> values.add(value.widen()));
    }
    return values;
  }

  /**
   * Returns the elements that this lane multiplies with a run of its part.
   *
   * @param step of the slice
   * @param count length of the run
   */
  List<Real> load(int row, Int step, int run, int count) {
    return read(ofStep(step.plus(row * steps())), k.integer(run * count / CHUNK), k.lane(), count);
  }

  /** Returns the sum of these elements, for weights with offsets. */
  Real total(int row, Int step, int run) {
    var line = step.plus(row * steps()).times(RowWeights.sums(packing)).plus(run);
    return totals.load(line, k.lane()).widen();
  }

  /** Returns the sum of elements. */
  static Real sum(List<Real> values) {
    var sum = values.getFirst();
    for (var value : values.subList(1, values.size())) {
      sum = sum.plus(value);
    }
    return sum;
  }
}

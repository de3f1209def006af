package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Some rows of the left matrix in shared memory, as f32, a slice of K at a time, for all warps of a
 * block. A slice has the numbers for a few steps of a warp, in which each lane has a part of a
 * column's weights. They lie in the order in which lanes read them: four of each lane side by side,
 * which takes no bank twice.
 */
final class StagedRows {

  /** Numbers that a lane reads at once. */
  private static final int CHUNK = 4;

  /** Steps of a slice of one row; several rows have as many together. */
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
   * @param shared of which they take the first {@link #bytes}
   * @param length of a run of the weights
   * @param rows how many
   * @param threads of the block, all of which fill a slice
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

  /** Returns the shared memory of so many rows. */
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
   * Returns elements from the first lane's chunk to the first lane's next one. Eight lanes that write 16
   * bytes of neighbours along K at once have chunks of a few lanes: the gaps bring them to
   * different banks.
   */
  private static int pitch(Packing packing, DType in, int length) {
    int chunks = RowWeights.together(packing, length, 8 * 16 / in.bytes()) / CHUNK;
    return KernelBuilder.WARP * CHUNK + BANKS / chunks;
  }

  /** Returns the steps of a slice. */
  int steps() {
    return steps(rows);
  }

  private int part() {
    return RowWeights.part(packing, length);
  }

  /**
   * Brings a slice; all threads must come here, when no one reads the one before any more. Beyond K
   * there are zeros, and beyond the last row that row again.
   *
   * @param firstRow of the rows
   * @param firstStep of the slice
   */
  void fill(Int firstRow, Int firstStep) {
    int atOnce = 16 / in.bytes();
    int perStep = KernelBuilder.WARP * part() / atOnce;
    int stepsAtOnce = Math.max(1, threads / perStep);
    var ofThread = stepsAtOnce > 1 ? k.thread().div(perStep) : k.integer(0);
    // a thread keeps its place in a step, and goes from step to step
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
      each(
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
   * Brings neighbours along K.
   *
   * @param step of all rows, those of one after those of the other
   * @param element the number of the first in its step
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

  /** Returns the numbers of a step, of those of all rows. */
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

  /** Shares out so many pieces to the threads. */
  private void each(int pieces, Consumer<Int> move) {
    for (int done = 0; done < pieces; done += threads) {
      var index = k.thread().plus(done);
      if (done + threads <= pieces) {
        move.accept(index);
      } else {
        k.when(index.lt(pieces), () -> move.accept(index));
      }
    }
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
   * Returns the numbers that this lane multiplies with a run of its part.
   *
   * @param step of the slice
   * @param count of a run
   */
  List<Real> load(int row, Int step, int run, int count) {
    return read(ofStep(step.plus(row * steps())), k.integer(run * count / CHUNK), k.lane(), count);
  }

  /** Returns their sum, of weights that have offsets. */
  Real total(int row, Int step, int run) {
    var line = step.plus(row * steps()).times(RowWeights.sums(packing)).plus(run);
    return totals.load(line, k.lane()).widen();
  }

  /** Returns the sum of some numbers. */
  static Real sum(List<Real> values) {
    var sum = values.getFirst();
    for (var value : values.subList(1, values.size())) {
      sum = sum.plus(value);
    }
    return sum;
  }
}

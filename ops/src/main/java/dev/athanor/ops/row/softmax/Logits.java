package dev.athanor.ops.row.softmax;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.expression.RealFunctions;
import dev.athanor.ops.row.Chunk;
import dev.athanor.ops.row.Row;
import java.util.ArrayList;
import java.util.List;

/**
 * A row of logits, or a part of one, and its exponentials. They are powers of two for f32. The
 * maximum is subtracted before the multiplication by the scale: otherwise the rounding error would
 * be relative to x, not to y.
 *
 * @param scale as the kernel's parameter, see {@link SoftmaxFunction}
 * @param values the logits; -infinity outside the row and where masked
 */
record Logits(KernelBuilder k, Row row, Real scale, Row.Data values) {

  /**
   * Reads the logits of a row. If causal, all but the first {@code row % queries + n - queries + 1}
   * are masked.
   */
  static Logits of(
      KernelBuilder k, Row row, GlobalPointer x, Real scale, boolean causal, Int queries) {
    if (!causal) {
      return new Logits(
          k,
          row,
          scale,
          row.read(row.inOrder(), chunk -> chunk.orElse(Double.NEGATIVE_INFINITY, chunk.load(x))));
    }
    var keys = row.index.rem(queries).plus(row.n).minus(queries).plus(1);
    return new Logits(
        k, row, scale, row.read(row.inOrder(), chunk -> masked(chunk, chunk.load(x), keys)));
  }

  private static List<Real> masked(Chunk chunk, List<Real> values, Int keys) {
    var seen = new ArrayList<Real>();
    for (int i = 0; i < values.size(); i++) {
      var v = values.get(i);
      seen.add(v.where(chunk.column(i).lt(keys), v.constant(Double.NEGATIVE_INFINITY)));
    }
    return seen;
  }

  /**
   * The maximum of logits and the sum of their powers relative to it.
   *
   * @param most the maximum; -infinity if all logits are masked
   */
  record Sum(Real most, Real total) {

    /** Returns the number to subtract from logits. */
    Real base() {
      return finite(most);
    }

    /** Returns the factor of powers; 0 if all logits are masked. */
    Real reciprocal(Real keep) {
      return total.constant(0).where(total.eq(0), keep.over(total));
    }
  }

  /** Returns the sum of values that stay in registers; all threads of the team receive it. */
  Sum sum() {
    var found = new ArrayList<Real>();
    values.forEach((_, v) -> found.addAll(v));
    var most = row.max(found.stream().reduce(Real::max).orElseThrow());
    var total = row.variable(0);
    powers(finite(most)).forEach((_, v) -> v.forEach(total::add));
    return new Sum(most, row.sum(total));
  }

  /** Returns the sum of values that are read in steps; all threads of the team receive it. */
  Sum runningSum() {
    var running = new Running();
    values.forEach((_, v) -> running.add(v));
    return running.ofTeam();
  }

  /** Returns the powers relative to a number. */
  Row.Data powers(Real base) {
    return values.map((_, v) -> v.stream().map(each -> power(each, base)).toList());
  }

  private Real power(Real x, Real base) {
    var exponent = x.minus(base).times(scale);
    return exponent.type() == Type.F64 ? new RealFunctions(k).exp(exponent) : exponent.exp2();
  }

  /**
   * Returns the maximum to subtract; 0 if all logits are masked, since -infinity minus itself is
   * NaN.
   */
  private static Real finite(Real most) {
    return most.where(most.gt(Double.NEGATIVE_INFINITY), most.constant(0));
  }

  /** The running maximum and sum of powers of a thread (online softmax). */
  final class Running {
    private final Real.Variable most = row.variable(Double.NEGATIVE_INFINITY);
    private final Real.Variable total = row.variable(0);

    /** Adds logits. */
    void add(List<Real> logits) {
      var next = logits.stream().reduce(most, Real::max);
      var base = rebase(next);
      logits.forEach(each -> total.add(power(each, base)));
      most.set(next);
    }

    /** Adds a sum of other logits. */
    void add(Sum sum) {
      var next = most.max(sum.most);
      var base = rebase(next);
      total.add(sum.total.times(power(sum.most, base)));
      most.set(next);
    }

    private Real rebase(Real next) {
      var base = finite(next);
      total.set(total.times(power(most, base)));
      return base;
    }

    /** Returns the sum over the threads of the team; all of them receive it. */
    Sum ofTeam() {
      var all = row.max(most);
      return new Sum(all, row.sum(total.times(power(most, finite(all)))));
    }
  }
}

package dev.athanor.ops.row.norm;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.row.RowFunction;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowSchedule;
import java.util.ArrayList;
import java.util.List;

/**
 * {@code gamma · norm(x) + beta}, with a residual added before or after. The kernel's parameters
 * are {@code rows, n, x, residual, gamma, beta, y, sum, epsilon}.
 */
public record NormFunction(Norm norm, Residual residual) implements RowFunction {

  /**
   * Bytes of weights and residual that a thread loads at once. More would take registers and lower
   * the occupancy.
   */
  private static final int BYTES_AT_ONCE = 64;

  /**
   * The same for a large block; a multiprocessor holds two of them with 64 registers per thread.
   */
  private static final int BYTES_OF_LARGE_TEAM = 32;

  private static final int LARGE_TEAM = 512;

  /** The position of the residual. */
  public enum Residual {
    NONE,
    /** norm(x + residual); the sum is also written. */
    PRE,
    /** residual + norm(x). */
    POST
  }

  @Override
  public String name() {
    return switch (residual) {
      case NONE -> norm.word();
      case PRE -> "residual_%s_pre".formatted(norm.word());
      case POST -> "residual_%s_post".formatted(norm.word());
    };
  }

  @Override
  public void write(KernelBuilder k, RowKernel kernel, RowSchedule rows) {
    var row = rows.row();
    var x = row.of(kernel.input(k, "x"));
    var other = row.of(kernel.input(k, "residual"));
    var gamma = kernel.weights(k, "gamma");
    var beta = kernel.weights(k, "beta");
    var y = row.of(kernel.tensor(k, "y"));
    var sum = row.of(kernel.tensor(k, "sum"));
    var epsilon = k.real("epsilon", Type.F32);

    var values =
        row.read(
            row.inOrder(),
            chunk ->
                residual == Residual.PRE ? sums(chunk.load(x), chunk.load(other)) : chunk.load(x));
    var statistics = norm.of(row, values, epsilon);
    values.forEachWith(
        chunksAtOnce(kernel),
        (chunk, v) -> {
          if (residual == Residual.PRE) {
            // store before the weights take registers
            chunk.store(sum, v);
          }
          var others = new ArrayList<>(chunk.load(gamma));
          if (norm.shifts()) {
            others.addAll(chunk.load(beta));
          }
          if (residual == Residual.POST) {
            others.addAll(chunk.load(other));
          }
          return others;
        },
        (chunk, v, others) -> {
          int n = chunk.elements();
          var scaled = new ArrayList<Real>();
          for (int i = 0; i < n; i++) {
            var normal = statistics.apply(v.get(i));
            var factor = others.get(i);
            scaled.add(
                norm.shifts() ? normal.fma(factor, others.get(n + i)) : normal.times(factor));
          }
          chunk.store(
              y,
              residual == Residual.POST
                  ? sums(scaled, others.subList(others.size() - n, others.size()))
                  : scaled);
        });
  }

  /** Returns the number of chunks whose weights are loaded at once. */
  private int chunksAtOnce(RowKernel kernel) {
    var tile = kernel.tile();
    int most = tile.team() < LARGE_TEAM ? BYTES_AT_ONCE : BYTES_OF_LARGE_TEAM;
    int bytes = (norm.shifts() ? 2 : 1) * kernel.weights().bytes();
    if (residual == Residual.POST) {
      bytes += kernel.dtype().bytes();
    }
    return Math.max(1, most / (bytes * tile.access()));
  }

  private static List<Real> sums(List<Real> a, List<Real> b) {
    var sums = new ArrayList<Real>();
    for (int i = 0; i < a.size(); i++) {
      sums.add(a.get(i).plus(b.get(i)));
    }
    return sums;
  }
}

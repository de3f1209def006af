package dev.athanor.ops.row.norm;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.row.Chunk;
import dev.athanor.ops.row.RowFunction;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.Rows;
import java.util.ArrayList;
import java.util.List;

/**
 * {@code gamma · norm(x) + beta}, before or after which a residual is added. The kernel's
 * parameters are {@code rows, n, x, residual, gamma, beta, y, sum, epsilon}.
 */
public record NormFunction(Norm norm, Residual residual) implements RowFunction {

  /** Where the residual is added. */
  public enum Residual {
    NONE,
    /** norm(x + residual); the sum is written, too. */
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
  public void write(KernelBuilder k, RowKernel kernel, Rows rows) {
    var row = rows.row();
    var x = row.of(kernel.tensor(k, "x"));
    var other = row.of(kernel.tensor(k, "residual"));
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
    values.forEach((chunk, v) -> {
      if (residual == Residual.PRE) {
        chunk.store(sum, v);
      }
      var scaled = scaled(chunk, v, statistics, gamma, beta);
      chunk.store(y, residual == Residual.POST ? sums(scaled, chunk.load(other)) : scaled);
    });
  }

  private List<Real> scaled(
      Chunk chunk,
      List<Real> values,
      Norm.Statistics statistics,
      GlobalPointer gamma,
      GlobalPointer beta) {
    var factors = chunk.load(gamma);
    var shifts = norm.shifts() ? chunk.load(beta) : List.<Real>of();
    var scaled = new ArrayList<Real>();
    for (int i = 0; i < values.size(); i++) {
      var normal = statistics.apply(values.get(i));
      scaled.add(
          norm.shifts() ? normal.fma(factors.get(i), shifts.get(i)) : normal.times(factors.get(i)));
    }
    return scaled;
  }

  private static List<Real> sums(List<Real> a, List<Real> b) {
    var sums = new ArrayList<Real>();
    for (int i = 0; i < a.size(); i++) {
      sums.add(a.get(i).plus(b.get(i)));
    }
    return sums;
  }
}

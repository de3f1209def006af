package dev.athanor.ops.row.norm;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.row.Chunk;
import dev.athanor.ops.row.Row;
import dev.athanor.ops.row.RowFunction;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowSchedule;
import dev.athanor.ops.row.RowTile;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The gradients of {@code y = gamma · norm(x) + beta}. With g = grad · gamma and h = norm(x),
 * {@code dx = scale · (g − mean(g) − h · mean(g · h))}, without mean(g) for an RMS norm. Each team
 * sums {@code grad · h} and {@code grad} over its rows; {@link ColumnSums} then sums over the
 * teams. The kernel's parameters are {@code rows, n, grad, x, gamma, dx, dgamma, dbeta, epsilon},
 * without the tensors that it does not access; dgamma and dbeta are f32 with a row for each team.
 *
 * @param scaled whether gamma is given; otherwise it is 1
 */
public record NormBackwardFunction(Norm norm, boolean scaled) implements RowFunction {

  @Override
  public String name() {
    return norm.word() + "_backward" + (scaled ? "" : "_plain");
  }

  @Override
  public void write(KernelBuilder k, RowKernel kernel, RowSchedule rows) {
    var grads = kernel.input(k, "grad");
    var xs = kernel.input(k, "x");
    var gamma = scaled ? Optional.of(kernel.weights(k, "gamma")) : Optional.<GlobalPointer>empty();
    var dxs = kernel.tensor(k, "dx");
    var partOfGamma = k.pointer("dgamma", Type.F32).row(rows.team(), rows.n);
    var partOfBeta =
        norm.shifts()
            ? Optional.of(k.pointer("dbeta", Type.F32).row(rows.team(), rows.n))
            : Optional.<GlobalPointer>empty();
    var epsilon = k.real("epsilon", Type.F32);
    var dgamma = new TeamSums(k, kernel.tile(), rows, partOfGamma);
    var dbeta = partOfBeta.map(sums -> new TeamSums(k, kernel.tile(), rows, sums));
    rows.forEach(row -> {
      var grad = row.of(grads);
      var x = row.of(xs);
      var dx = row.of(dxs);
      var values = row.read(row.inOrder(), chunk -> chunk.load(x));
      var both = values.and(row.read(row.inOrder(), chunk -> chunk.load(grad)));
      var statistics = norm.of(row, values, epsilon);
      var sumOfG = row.variable(0);
      var sumOfGh = row.variable(0);
      both.forEach((chunk, v) -> {
        var gs = scaled(chunk, gamma, v.subList(chunk.elements(), v.size()));
        for (int i = 0; i < chunk.elements(); i++) {
          var g = gs.get(i);
          sumOfGh.add(contribution(chunk, g, statistics.apply(v.get(i))));
          if (norm.shifts()) {
            sumOfG.add(g);
          }
        }
      });
      var count = row.n.real(Type.F32);
      var sums = norm.shifts() ? row.sums(sumOfGh, sumOfG) : row.sums(sumOfGh);
      var means = sums.stream().map(sum -> sum.over(count)).toList();
      both.forEach((chunk, v) -> {
        var ofBeta = v.subList(chunk.elements(), v.size());
        var gs = scaled(chunk, gamma, ofBeta);
        var ofX = new ArrayList<Real>();
        var ofGamma = new ArrayList<Real>();
        for (int i = 0; i < chunk.elements(); i++) {
          var h = statistics.apply(v.get(i));
          var g = gs.get(i);
          var less = norm.shifts() ? g.minus(means.get(1)) : g;
          ofX.add(h.negate().fma(means.get(0), less).times(statistics.scale()));
          ofGamma.add(contribution(chunk, ofBeta.get(i), h));
        }
        chunk.store(dx, ofX);
        dgamma.add(row, chunk, ofGamma);
        dbeta.ifPresent(each -> each.add(row, chunk, ofBeta));
      });
    });
    dgamma.store();
    dbeta.ifPresent(TeamSums::store);
  }

  /** Returns the products of a chunk of the gradient with gamma. */
  private static List<Real> scaled(Chunk chunk, Optional<GlobalPointer> gamma, List<Real> grad) {
    if (gamma.isEmpty()) {
      return grad;
    }
    var gammas = chunk.load(gamma.get());
    var products = new ArrayList<Real>();
    for (int i = 0; i < grad.size(); i++) {
      products.add(grad.get(i).times(gammas.get(i)));
    }
    return products;
  }

  /** Returns a product; zero outside the row, where the norm may be NaN. */
  private static Real contribution(Chunk chunk, Real g, Real h) {
    return chunk.orElse(0, List.of(g.times(h))).getFirst();
  }

  /**
   * Sums over the rows of a team, column by column: in registers if the tile is whole, else in
   * memory, where each thread reads only what it has written itself.
   */
  private static final class TeamSums {
    private final RowTile tile;
    private final RowSchedule rows;
    private final GlobalPointer sums;

    /** The sums of each chunk of the thread, one after the other. */
    private final List<Real.Variable> registers = new ArrayList<>();

    private final Row row;

    TeamSums(KernelBuilder k, RowTile tile, RowSchedule rows, GlobalPointer sums) {
      this.tile = tile;
      this.rows = rows;
      this.sums = sums;
      row = rows.row();
      for (int i = 0; tile.whole() && i < tile.vectors() * tile.access(); i++) {
        registers.add(k.variable(k.real(Type.F32, 0)));
      }
    }

    private List<Real.Variable> registers(Chunk chunk) {
      int first = chunk.number() * tile.access();
      return registers.subList(first, first + tile.access());
    }

    void add(Row of, Chunk chunk, List<Real> values) {
      if (tile.whole()) {
        for (int i = 0; i < values.size(); i++) {
          registers(chunk).get(i).add(values.get(i));
        }
        return;
      }
      var before = chunk.where(of.index.ne(rows.team())).load(sums);
      var after = new ArrayList<Real>();
      for (int i = 0; i < values.size(); i++) {
        after.add(before.get(i).plus(values.get(i)));
      }
      chunk.store(sums, after);
    }

    void store() {
      if (tile.whole()) {
        row.read(row.inOrder(), chunk -> List.of())
            .forEach((chunk, _) -> chunk.store(sums, List.copyOf(registers(chunk))));
      }
    }
  }
}

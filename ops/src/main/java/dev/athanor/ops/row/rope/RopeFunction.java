package dev.athanor.ops.row.rope;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.row.Chunk;
import dev.athanor.ops.row.Row;
import dev.athanor.ops.row.RowFunction;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowSchedule;
import dev.athanor.ops.row.norm.Norm;
import java.util.ArrayList;
import java.util.List;

/**
 * Rotary embedding of all heads of a position, which are a row: pair i of a head is turned by the
 * angle that a table has for the position and i. The kernel's parameters are {@code rows, n, x,
 * weight, cos, sin, positions, y, headDim, half, tableRows, period, epsilon}: pairs of a head that
 * are turned, rows of the tables, and after how many rows the positions begin anew.
 *
 * @param interleaved whether a pair are two neighbours; else one of the first and one of the second
 *     half of the turned part
 * @param norm whether the row is brought to a root mean square of 1 and multiplied by weights first
 * @param rest whether heads have elements that are copied
 * @param positions whether the rows of the tables are chosen by positions
 * @param table dtype of cosines and sines
 */
public record RopeFunction(
    boolean interleaved, boolean norm, boolean rest, boolean positions, DType table)
    implements RowFunction {

  @Override
  public String name() {
    return "%srope_%s_%s%s%s"
        .formatted(
            norm ? "rms_norm_" : "",
            interleaved ? "interleaved" : "half",
            table.text(),
            rest ? "_rest" : "",
            positions ? "_positions" : "");
  }

  /** How many pairs a thread turns at once, where one access moves so many elements. */
  public int pairs(int access) {
    return interleaved ? Math.max(1, access / 2) : access;
  }

  @Override
  public void write(KernelBuilder k, RowKernel kernel, RowSchedule rows) {
    var row = rows.row();
    var x = row.of(kernel.tensor(k, "x"));
    var weight = kernel.weights(k, "weight");
    var cosines = k.pointer("cos", RowKernel.type(table));
    var sines = k.pointer("sin", RowKernel.type(table));
    var indices = k.pointer("positions", Type.S32);
    var y = row.of(kernel.tensor(k, "y"));
    var headDim = k.integer("headDim");
    var half = k.integer("half");
    var tableRows = k.integer("tableRows");
    var period = k.integer("period");
    var epsilon = k.real("epsilon", Type.F32);

    int access = kernel.tile().access();
    int pairs = pairs(access);
    var perHead = half.div(pairs);
    var values =
        row.read(
            new Row.Layout(
                row.n.div(headDim).times(perHead),
                group -> columns(headDim, half, group, perHead, access),
                access),
            chunk -> chunk.load(x));
    var own = row.index.rem(period);
    var position = positions ? indices.load(own).integer() : own;
    var cosine = cosines.row(position, half);
    var sine = sines.row(position, half);
    var statistics = norm ? List.of(Norm.RMS.of(row, values, epsilon)) : List.<Norm.Statistics>of();
    values.forEach((chunk, v) -> {
      var turned = new ArrayList<>(v);
      for (var each : statistics) {
        var weights = chunk.load(weight);
        turned.replaceAll(each::apply);
        for (int i = 0; i < turned.size(); i++) {
          turned.set(i, turned.get(i).times(weights.get(i)));
        }
      }
      var first = chunk.group().rem(perHead).times(pairs);
      var c = factors(cosine, first, pairs, chunk, position, tableRows);
      var s = factors(sine, first, pairs, chunk, position, tableRows);
      for (int i = 0; i < pairs; i++) {
        int one = interleaved ? 2 * i : i;
        int two = interleaved ? 2 * i + 1 : i + pairs;
        turn(turned, one, two, c.get(i), s.get(i));
      }
      chunk.store(y, turned);
    });
    if (rest) {
      var perRest = headDim.minus(half.times(2)).div(access);
      row.copy(
          new Row.Layout(
              row.n.div(headDim).times(perRest),
              group -> {
                var head = group.div(perRest);
                var within = group.minus(head.times(perRest)).times(access);
                return List.of(head.times(headDim).plus(half.times(2)).plus(within));
              },
              access),
          x,
          y);
    }
  }

  /** Where the pairs of a group are. */
  private List<Int> columns(Int headDim, Int half, Int group, Int perHead, int access) {
    var head = group.div(perHead);
    var pair = group.minus(head.times(perHead)).times(pairs(access));
    var start = head.times(headDim);
    if (!interleaved) {
      return List.of(start.plus(pair), start.plus(half).plus(pair));
    }
    var first = start.plus(pair.times(2));
    return access > 1 ? List.of(first) : List.of(first, first.plus(1));
  }

  /** Cosines or sines; no numbers for a position that the tables do not have. */
  private List<Real> factors(
      GlobalPointer row, Int first, int count, Chunk chunk, Int position, Int tableRows) {
    if (!positions) {
      return widened(Chunk.values(row, first, count, chunk.inside()));
    }
    var known = chunk.k().integer(-1).lt(position).and(position.lt(tableRows));
    return widened(Chunk.values(row, first, count, chunk.inside().and(known))).stream()
        .map(value -> value.where(known, value.constant(Double.NaN)))
        .toList();
  }

  private static List<Real> widened(List<Value> values) {
    return values.stream().map(Value::widen).toList();
  }

  private static void turn(List<Real> values, int one, int two, Real cosine, Real sine) {
    var a = values.get(one);
    var b = values.get(two);
    values.set(one, b.negate().fma(sine, a.times(cosine)));
    values.set(two, a.fma(sine, b.times(cosine)));
  }
}

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
import java.util.Optional;

/**
 * Rotary embedding of all heads of a position, which form a row: pair i of a head is rotated by the
 * angle in a table for the position and i. The kernel's parameters are {@code rows, n, x, weight,
 * cos, sin, positions, y, headDim, half, tableRows, period, epsilon}, without the tensors that it
 * does not access; {@code half} is the number of rotated pairs of a head, {@code tableRows} the
 * number of rows of the tables, and {@code period} the number of rows after which the positions
 * repeat.
 *
 * @param interleaved whether the elements of a pair are neighbors; otherwise one is in the first
 *     and one in the second half of the rotated part
 * @param norm whether an RMS norm is applied to the row first
 * @param weighted whether the norm has weights
 * @param rest whether heads have elements that are copied unchanged
 * @param positions whether positions select the rows of the tables
 * @param table dtype of the tables
 */
public record RopeFunction(
    boolean interleaved,
    boolean norm,
    boolean weighted,
    boolean rest,
    boolean positions,
    DType table)
    implements RowFunction {

  @Override
  public String name() {
    return "%srope_%s_%s%s%s"
        .formatted(
            norm ? weighted ? "rms_norm_" : "rms_norm_plain_" : "",
            interleaved ? "interleaved" : "half",
            table.text(),
            rest ? "_rest" : "",
            positions ? "_positions" : "");
  }

  /** Returns the number of pairs that a thread rotates at once, given the elements per access. */
  public int pairs(int access) {
    return interleaved ? Math.max(1, access / 2) : access;
  }

  @Override
  public void write(KernelBuilder k, RowKernel kernel, RowSchedule rows) {
    var row = rows.row();
    var x = row.of(kernel.tensor(k, "x"));
    var weight =
        weighted ? Optional.of(kernel.weights(k, "weight")) : Optional.<GlobalPointer>empty();
    var cosines = k.pointer("cos", RowKernel.type(table));
    var sines = k.pointer("sin", RowKernel.type(table));
    var indices =
        positions ? Optional.of(k.pointer("positions", Type.S32)) : Optional.<GlobalPointer>empty();
    var y = row.of(kernel.tensor(k, "y"));
    var headDim = k.integer("headDim");
    var half = k.integer("half");
    var tableRows = k.integer("tableRows");
    var period = k.integer("period");
    var epsilon = k.real("epsilon", kernel.number());

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
    var position = indices.map(of -> of.load(own).integer()).orElse(own);
    var cosine = cosines.row(position, half);
    var sine = sines.row(position, half);
    var statistics = norm ? List.of(Norm.RMS.of(row, values, epsilon)) : List.<Norm.Statistics>of();
    values.forEach((chunk, v) -> {
      var rotated = new ArrayList<>(v);
      for (var each : statistics) {
        var weights = weight.map(chunk::load).orElse(List.of());
        rotated.replaceAll(each::apply);
        for (int i = 0; i < weights.size(); i++) {
          rotated.set(i, rotated.get(i).times(weights.get(i)));
        }
      }
      var first = chunk.group().rem(perHead).times(pairs);
      var c = factors(cosine, first, pairs, chunk, position, tableRows);
      var s = factors(sine, first, pairs, chunk, position, tableRows);
      for (int i = 0; i < pairs; i++) {
        int one = interleaved ? 2 * i : i;
        int two = interleaved ? 2 * i + 1 : i + pairs;
        rotate(rotated, one, two, c.get(i), s.get(i));
      }
      chunk.store(y, rotated);
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

  /** Returns the first column of each run of a group of pairs. */
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

  /** Loads cosines or sines; NaN for a position outside the tables. */
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

  private static void rotate(List<Real> values, int one, int two, Real cosine, Real sine) {
    var a = values.get(one);
    var b = values.get(two);
    values.set(one, b.negate().fma(sine, a.times(cosine)));
    values.set(two, a.fma(sine, b.times(cosine)));
  }
}

package dev.athanor.ops.row;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import java.util.ArrayList;
import java.util.List;

/**
 * Where some elements of a row are that a thread computes together: in one or more runs of
 * consecutive ones.
 *
 * @param number of the chunk among those that the thread holds at once
 * @param group its number among those of the row
 * @param inside whether the row has these elements
 * @param columns where the runs begin
 * @param run elements of a run, aligned to them all
 */
public record Chunk(
    KernelBuilder k, int number, Int group, Predicate inside, List<Int> columns, int run) {

  private static final int MOST_BYTES = 16;

  public Chunk {
    columns = List.copyOf(columns);
  }

  public int elements() {
    return columns.size() * run;
  }

  /** The column of element {@code i}. */
  public Int column(int i) {
    return columns.get(i / run).plus(i % run);
  }

  /** The elements of a tensor in these columns, zeros outside. */
  public List<Real> load(GlobalPointer row) {
    return columns.stream()
        .flatMap(column -> values(row, column, run, inside).stream())
        .map(Value::widen)
        .toList();
  }

  /** Whether the elements of a tensor of bytes are not zero, in these columns. */
  public List<Predicate> loadFlags(GlobalPointer row) {
    return columns.stream()
        .flatMap(column -> values(row, column, run, inside).stream())
        .map(value -> value.integer().ne(k.integer(0)))
        .toList();
  }

  /** Consecutive elements of any tensor, zeros where the condition does not hold. */
  public static List<Value> values(GlobalPointer from, Int column, int count, Predicate condition) {
    int atOnce = Math.min(count, MOST_BYTES / from.element().bytes());
    var values = new ArrayList<Value>();
    for (int i = 0; i < count; i += atOnce) {
      values.addAll(from.loadWhere(condition, atOnce, column.plus(i)));
    }
    return values;
  }

  /** Writes elements to these columns of a tensor, rounded to its type. */
  public void store(GlobalPointer row, List<Real> elements) {
    var type = row.element();
    int atOnce = Math.min(run, MOST_BYTES / type.bytes());
    for (int i = 0; i < elements.size(); i += atOnce) {
      var values = elements.subList(i, i + atOnce).stream().map(v -> v.to(type)).toList();
      row.storeWhere(inside, column(i), values);
    }
  }

  /** The values inside, and another number in the place of those outside. */
  public List<Real> orElse(double outside, List<Real> values) {
    return values.stream().map(v -> v.where(inside, v.constant(outside))).toList();
  }

  /** This chunk where the condition holds, else one outside of the row. */
  public Chunk where(Predicate condition) {
    return new Chunk(k, number, group, inside.and(condition), columns, run);
  }
}

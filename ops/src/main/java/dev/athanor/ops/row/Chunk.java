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
 * The elements of a row that a thread loads and stores together: one or more runs of consecutive
 * elements. A row's length is a multiple of the run's, so a chunk is entirely inside the row or
 * entirely outside.
 *
 * @param number index of the chunk among those that the thread holds
 * @param group index of the chunk's group in the row
 * @param inside whether the chunk is inside the row
 * @param columns the first column of each run
 * @param run number of elements of a run, a power of two; runs are aligned to their length
 */
public record Chunk(
    KernelBuilder k, int number, Int group, Predicate inside, List<Int> columns, int run) {

  private static final int MOST_BYTES = 16;

  public Chunk {
    columns = List.copyOf(columns);
  }

  /** Returns the number of elements. */
  public int elements() {
    return columns.size() * run;
  }

  /** Returns the column of element {@code i}. */
  public Int column(int i) {
    return columns.get(i / run).plus(i % run);
  }

  /**
   * Loads the elements of these columns as f32; zeros outside the row.
   *
   * @param row the first element of the row, see {@link Row#of}
   */
  public List<Real> load(GlobalPointer row) {
    return columns.stream()
        .flatMap(column -> values(row, column, run, inside).stream())
        .map(Value::widen)
        .toList();
  }

  /** Loads bytes of these columns and returns whether they are not zero. */
  public List<Predicate> loadFlags(GlobalPointer row) {
    return columns.stream()
        .flatMap(column -> values(row, column, run, inside).stream())
        .map(value -> value.integer().ne(k.integer(0)))
        .toList();
  }

  /** Loads consecutive elements of any tensor; zeros if the condition does not hold. */
  public static List<Value> values(GlobalPointer from, Int column, int count, Predicate condition) {
    int atOnce = Math.min(count, MOST_BYTES / from.element().bytes());
    var values = new ArrayList<Value>();
    for (int i = 0; i < count; i += atOnce) {
      values.addAll(from.loadWhere(condition, atOnce, column.plus(i)));
    }
    return values;
  }

  /**
   * Stores elements to these columns, rounded to the type of the tensor; nothing outside the row.
   *
   * @param row the first element of the row, see {@link Row#of}
   */
  public void store(GlobalPointer row, List<Real> elements) {
    var type = row.element();
    int atOnce = Math.min(run, MOST_BYTES / type.bytes());
    for (int i = 0; i < elements.size(); i += atOnce) {
      var values = elements.subList(i, i + atOnce).stream().map(v -> v.to(type)).toList();
      row.storeWhere(inside, column(i), values);
    }
  }

  /** Returns the values if the chunk is inside the row, else copies of {@code outside}. */
  public List<Real> orElse(double outside, List<Real> values) {
    return values.stream().map(v -> v.where(inside, v.constant(outside))).toList();
  }

  /** Returns this chunk if the condition holds, else one outside the row. */
  public Chunk where(Predicate condition) {
    return new Chunk(k, number, group, inside.and(condition), columns, run);
  }
}

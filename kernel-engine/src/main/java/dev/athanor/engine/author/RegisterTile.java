package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Type;
import java.util.List;
import java.util.function.BinaryOperator;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A matrix of f32 or f64 in the registers of a block's threads. A thread has some rows, and of each
 * the same columns; neighboring lanes share a row.
 */
public final class RegisterTile {
  private final KernelBuilder k;
  private final Layout layout;

  /** Row by row. */
  private final List<Real.Variable> elements;

  /**
   * Which elements a thread has.
   *
   * @param row the first row
   * @param rows the distance of each row from the first
   * @param column the first column
   * @param columns the distance of each column from the first
   * @param lanes that share a row: a power of two
   */
  public record Layout(Int row, List<Integer> rows, Int column, List<Integer> columns, int lanes) {
    public Layout {
      rows = List.copyOf(rows);
      columns = List.copyOf(columns);
    }
  }

  /** A function of an element and its place among the rows and columns of the thread. */
  public interface ElementFunction {
    Real apply(int row, int column, Real element);
  }

  /** Creates a tile of zeros of f32. */
  public RegisterTile(KernelBuilder k, Layout layout) {
    this(k, Type.F32, layout);
  }

  /** Creates a tile of zeros of f32 or f64. */
  public RegisterTile(KernelBuilder k, Type type, Layout layout) {
    this.k = k;
    this.layout = layout;
    elements =
        Stream.generate(() -> k.variable(k.real(type, 0)))
            .limit((long) layout.rows.size() * layout.columns.size())
            .toList();
  }

  /** Returns the number of rows that a thread has elements of. */
  public int rows() {
    return layout.rows.size();
  }

  /** Returns the number of columns that a thread has elements of. */
  public int columns() {
    return layout.columns.size();
  }

  /** Returns the {@code i}-th row of the thread. */
  public Int row(int i) {
    return layout.row.plus(layout.rows.get(i));
  }

  /** Returns the {@code i}-th column of the thread. */
  public Int column(int i) {
    return layout.column.plus(layout.columns.get(i));
  }

  /** Returns the thread's first column. */
  public Int firstColumn() {
    return layout.column;
  }

  /** Returns the distance of the {@code i}-th column of the thread from the first. */
  public int columnOffset(int i) {
    return layout.columns.get(i);
  }

  /** Returns an element by its place among the rows and columns of the thread. */
  public Real.Variable get(int row, int column) {
    return elements.get(row * columns() + column);
  }

  /** Returns neighboring elements of a row. */
  public List<Real.Variable> get(int row, int column, int count) {
    int first = row * columns() + column;
    return elements.subList(first, first + count);
  }

  /** Replaces each element by a function of it. */
  public void map(UnaryOperator<Real> function) {
    map((_, _, element) -> function.apply(element));
  }

  /** Replaces each element by a function of it and of its row's number. */
  public void map(RowVector vector, BinaryOperator<Real> function) {
    map((row, _, element) -> function.apply(element, vector.get(row)));
  }

  /** Replaces each element by a function of it and its place. */
  public void map(ElementFunction function) {
    for (int row = 0; row < rows(); row++) {
      for (int column = 0; column < columns(); column++) {
        var element = get(row, column);
        element.set(function.apply(row, column, element));
      }
    }
  }

  /**
   * Adds the outer product of two vectors.
   *
   * @param column a number for each row of the thread
   * @param row a number for each column of the thread
   */
  public void addOuterProduct(List<Real> column, List<Real> row) {
    for (int i = 0; i < rows(); i++) {
      for (int j = 0; j < columns(); j++) {
        get(i, j).addProduct(column.get(i), row.get(j));
      }
    }
  }

  /** Combines the elements of each row. All lanes of the warp must participate. */
  public RowVector reduceRows(BinaryOperator<Real> combine) {
    return reduceLanes(reduceColumns(combine), combine);
  }

  /** Combines the elements of each row that a thread has. */
  public RowVector reduceColumns(BinaryOperator<Real> combine) {
    return new RowVector(
        IntStream.range(0, rows())
            .mapToObj(row -> get(row, 0, columns()).stream().<Real>map(e -> e))
            .map(row -> row.reduce(combine).get())
            .toList());
  }

  /** Combines the numbers that the lanes of each row have. All lanes must participate. */
  public RowVector reduceLanes(RowVector vector, BinaryOperator<Real> combine) {
    return vector.map(value -> k.reduceLanes(value, layout.lanes, combine));
  }

  /** Declares a variable for each row. */
  public RowVector rowVector(double initial) {
    return new RowVector(
        IntStream.range(0, rows()).mapToObj(_ -> k.variable(k.real(Type.F32, initial))).toList());
  }

  /** Returns whether this thread is the first of those that share its rows. */
  public Predicate isFirstOfRow() {
    return k.thread().rem(layout.lanes).eq(0);
  }
}

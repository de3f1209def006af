package dev.athanor.engine.author;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BinaryOperator;
import java.util.function.UnaryOperator;

/**
 * A number for each row of a {@link RegisterTile} that a thread has elements of. All threads that
 * share a row have its number.
 */
public final class RowVector {
  private final List<? extends Real> values;

  RowVector(List<? extends Real> values) {
    this.values = List.copyOf(values);
  }

  public int size() {
    return values.size();
  }

  /** Returns the number of the {@code i}-th row of the thread. */
  public Real get(int i) {
    return values.get(i);
  }

  /** Applies a function to each number. */
  public RowVector map(UnaryOperator<Real> function) {
    return new RowVector(values.stream().map(value -> function.apply(value)).toList());
  }

  /** Combines each number with that of the same row. */
  public RowVector zip(RowVector other, BinaryOperator<Real> combine) {
    if (other.size() != size()) {
      throw new IllegalArgumentException(
          "%s: cannot combine numbers of %d rows with numbers of %d rows; take both from tiles of the same rows"
              .formatted(BodyEmitter.here(), size(), other.size()));
    }
    var combined = new ArrayList<Real>();
    for (int i = 0; i < size(); i++) {
      combined.add(combine.apply(get(i), other.get(i)));
    }
    return new RowVector(combined);
  }

  /** Sets variables to the numbers of another vector; both are of the same rows. */
  public void set(RowVector other) {
    zip(
        other,
        (variable, value) -> {
          if (!(variable instanceof Real.Variable target)) {
            throw new IllegalArgumentException(
                BodyEmitter.here()
                    + ": cannot set a row vector of values; create one of variables with RegisterTile.rowVector()");
          }
          target.set(value);
          return target;
        });
  }
}

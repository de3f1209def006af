package dev.athanor.ops.quant;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/**
 * The groups of the rows of 4-bit weights, as kernel parameters: {@code group}, the number of
 * consecutive rows, or {@code groupIndices, groups} if an input names the group of each row.
 */
final class RowGroups {

  /** Rows that are decoded at once. */
  private static final int ROWS = ColumnWeights.ROWS;

  private static final int INDICES_PER_LOAD = 4;

  private final KernelBuilder k;
  private final Optional<GlobalPointer> indices;

  /** The rows per group, or the number of groups if an input names them. */
  private final Int size;

  RowGroups(KernelBuilder k, boolean indexed) {
    this.k = k;
    indices = indexed ? Optional.of(k.input("groupIndices", Type.S32)) : Optional.empty();
    size = k.integer(indexed ? "groups" : "group");
  }

  /**
   * The values of a group, or of another one if the group does not exist.
   *
   * @param orZero returns its argument, a weight, or 0 if the group does not exist
   */
  record Group<T>(T values, UnaryOperator<Real> orZero) {}

  /**
   * Returns the groups of eight rows: one for all of them, or one for each if an input names them.
   *
   * @param first row, a multiple of eight
   * @param load loads the values of a group, which exists
   */
  <T> List<Group<T>> ofRows(Int first, Function<Int, T> load) {
    if (indices.isEmpty()) {
      return List.of(new Group<>(load.apply(first.div(size)), weight -> weight));
    }
    var groups = new ArrayList<Group<T>>();
    for (int i = 0; i < ROWS; i += INDICES_PER_LOAD) {
      for (var index : indices.get().load(INDICES_PER_LOAD, first.plus(i))) {
        var named = index.integer();
        var group = named.max(k.integer(0)).min(size.plus(-1));
        groups.add(
            new Group<>(
                load.apply(group), weight -> weight.where(named.eq(group), k.real(Type.F32, 0))));
      }
    }
    return groups;
  }
}

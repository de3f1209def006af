package dev.athanor.ops;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * The inputs along whose first dimension runs of an op can be batched. These inputs are
 * concatenated along their first dimension, the other inputs are the same tensors in all runs, and
 * every output is split along its first dimension. Plans with equal {@linkplain Plan#kernel()
 * kernel names} compute a row to the same bits regardless of its position and the batch.
 *
 * @param inputs the concatenated inputs; all have the same number of rows
 * @param leading whether each index of all dimensions but the last is a row, so that [2, 150, N]
 *     has the rows of [300, N]
 */
public record Rows(Set<String> inputs, boolean leading) {
  public Rows {
    inputs = Set.copyOf(inputs);
  }

  /** Creates rows along the first dimension only. */
  public Rows(Set<String> inputs) {
    this(inputs, false);
  }

  /**
   * Returns the types of the inputs for another number of rows. If all leading dimensions are rows,
   * the others of them become 1.
   *
   * @param types the types of all inputs
   */
  public Map<String, TensorType> withCount(Map<String, TensorType> types, long count) {
    var changed = new HashMap<>(types);
    for (var name : inputs) {
      var type = Objects.requireNonNull(types.get(name), name);
      var extents = new ArrayList<>(type.shape().extents());
      if (leading) {
        Collections.fill(extents.subList(0, extents.size() - 1), 1L);
      }
      extents.set(0, count);
      changed.put(name, new TensorType(type.dtype(), new Shape(extents)));
    }
    return changed;
  }
}

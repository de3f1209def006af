package dev.athanor.ops.rank;

import dev.athanor.ops.Arguments;
import dev.athanor.ops.Step.Slot;
import java.util.Locale;
import java.util.Set;

/** The results that a launch stores. */
enum Result {
  /** Entries for the next launch. */
  ENTRIES,
  /** The elements of x. */
  VALUES,
  /** The indices of the elements. */
  INDICES,
  /** The elements of x and their indices. */
  VALUES_INDICES,
  /** The numbers that the keys stand for, and the indices. */
  SCORES_INDICES;

  boolean hasValues() {
    return this == VALUES || this == VALUES_INDICES;
  }

  boolean hasScores() {
    return this == SCORES_INDICES;
  }

  boolean hasIndices() {
    return this == INDICES || this == VALUES_INDICES || this == SCORES_INDICES;
  }

  /** Returns whether an output with this name has indices. */
  static boolean isIndex(String output) {
    return output.equals("indices");
  }

  /** Returns outputs as the arguments {@code values} or {@code scores}, and {@code indices}. */
  Arguments arguments(Set<String> outputs) {
    var all = Arguments.NONE;
    for (var output : outputs) {
      var parameter = isIndex(output) ? "indices" : hasScores() ? "scores" : "values";
      all = all.with(parameter, Slot.output(output));
    }
    return all;
  }

  String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}

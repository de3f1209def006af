package dev.athanor.service.config;

import static java.util.Comparator.comparingInt;

import java.util.Collection;
import java.util.Optional;

/** Suggests the known name that is closest to a misspelled one. */
public final class Spelling {

  private Spelling() {}

  /** Returns the name that is the fewest edits away, if that is at most a third of its letters. */
  public static Optional<String> closest(String given, Collection<String> names) {
    return names.stream()
        .filter(name -> edits(given, name) <= Math.max(1, name.length() / 3))
        .min(comparingInt(name -> edits(given, name)));
  }

  /**
   * Returns the optimal string alignment distance: insertions, deletions, replacements and swaps.
   */
  static int edits(String a, String b) {
    var distance = new int[a.length() + 1][b.length() + 1];
    for (int i = 0; i <= a.length(); i++) {
      for (int j = 0; j <= b.length(); j++) {
        if (i == 0 || j == 0) {
          distance[i][j] = i + j;
          continue;
        }
        int replaced = distance[i - 1][j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        distance[i][j] = Math.min(replaced, Math.min(distance[i - 1][j], distance[i][j - 1]) + 1);
        if (i > 1
            && j > 1
            && a.charAt(i - 1) == b.charAt(j - 2)
            && a.charAt(i - 2) == b.charAt(j - 1)) {
          distance[i][j] = Math.min(distance[i][j], distance[i - 2][j - 2] + 1);
        }
      }
    }
    return distance[a.length()][b.length()];
  }
}

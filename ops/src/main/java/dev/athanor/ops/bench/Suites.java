package dev.athanor.ops.bench;

import dev.athanor.ops.Op;
import dev.athanor.ops.Problem;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The problems that each op is timed with: what language models ask for on a GPU, and small ones of
 * the same kind on the emulator. They stand in {@code suites.txt}, as {@link Problem#parse} reads
 * them.
 */
public final class Suites {

  private static final String LARGE = "large ";
  private static final String SMALL = "small ";

  /** The lines of each op. */
  private static final Map<String, List<String>> LINES = read();

  private Suites() {}

  /** Returns the problems of an op; none when it has no suite. */
  public static List<Problem> of(Op op, boolean large) {
    var size = large ? LARGE : SMALL;
    return LINES.getOrDefault(op.description().name(), List.of()).stream()
        .filter(line -> line.startsWith(size))
        .map(line -> Problem.parse(op, line.substring(size.length())))
        .toList();
  }

  private static Map<String, List<String>> read() {
    try (var in = Objects.requireNonNull(Suites.class.getResourceAsStream("suites.txt"))) {
      var all = new HashMap<String, List<String>>();
      List<String> lines = new ArrayList<>();
      for (var line : new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList()) {
        if (line.startsWith("[")) {
          lines = new ArrayList<>();
          all.put(line.substring(1, line.length() - 1), lines);
        } else if (line.startsWith(LARGE) || line.startsWith(SMALL)) {
          lines.add(line);
        }
      }
      return all;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}

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
 * The benchmark problems of each op: shapes of language models for GPUs, and small ones for the
 * emulator. They are listed in {@code suites.txt}, in the format of {@link Problem#parse}.
 */
public final class Suites {

  private static final String LARGE = "large ";
  private static final String SMALL = "small ";

  /** The lines by op name. */
  private static final Map<String, List<String>> LINES = read();

  private Suites() {}

  /** Returns the problems of an op; empty if it has no suite. */
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

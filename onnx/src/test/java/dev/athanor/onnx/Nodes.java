package dev.athanor.onnx;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.TreeMap;

/** Prints the outcome of the node tests of a file. */
final class Nodes {
  private Nodes() {}

  public static void main(String[] args) throws Exception {
    var only = Arrays.asList(args).subList(1, args.length);
    var counts = new TreeMap<String, int[]>();
    try (var file = Files.newInputStream(Path.of(args[0]))) {
      for (var each : NodeCase.read(file)) {
        if (!only.isEmpty() && !only.contains(each.operator())) {
          continue;
        }
        String outcome;
        try {
          outcome = each.outcome();
        } catch (RuntimeException e) {
          outcome = "crash: " + e;
        }
        var count = counts.computeIfAbsent(each.operator(), _ -> new int[2]);
        count[1]++;
        if (outcome.equals("passed")) {
          count[0]++;
        } else if (!outcome.endsWith("is not supported")) {
          System.out.println(each.name() + ": " + outcome.replace("\n", " "));
        }
      }
    }
    counts.forEach((name, count) -> System.out.println(name + " " + count[0] + "/" + count[1]));
    System.out.println(
        counts.values().stream().mapToInt(c -> c[0]).sum()
            + " of "
            + counts.values().stream().mapToInt(c -> c[1]).sum());
  }
}

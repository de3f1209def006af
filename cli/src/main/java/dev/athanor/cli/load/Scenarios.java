package dev.athanor.cli.load;

import dev.athanor.cli.load.OpScenario.Route;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Problem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;

/** Parses scenarios such as {@code put 16MiB} and {@code op matmul a=f16[64,64] b=f16[64,64]}. */
public final class Scenarios {

  private static final Pattern SIZE = Pattern.compile("([1-9]\\d{0,9})(B|KiB|MiB)?");
  private static final long MAX_BYTES = 1L << 30;
  private static final String FORMS =
      "put SIZE, get SIZE, put-json N, get-json N, op OP PROBLEM, pipeline FILE, put-grpc SIZE,"
          + " get-grpc SIZE, op-grpc OP PROBLEM or op-stream OP PROBLEM";

  private final Catalogue catalogue;
  private final boolean resident;
  private final long seed;

  /**
   * @param resident whether ops read and write resident tensors
   * @param seed seed of random contents
   */
  public Scenarios(Catalogue catalogue, boolean resident, long seed) {
    this.catalogue = catalogue;
    this.resident = resident;
    this.seed = seed;
  }

  /**
   * Parses a scenario.
   *
   * @throws IllegalArgumentException if it is invalid
   */
  public Scenario parse(String text) {
    var words = text.strip().split("\\s+", 2);
    var rest = words.length == 2 ? words[1] : "";
    return switch (words[0]) {
      case "put" -> new Transfer(text, true, false, size(text, rest), seed);
      case "get" -> new Transfer(text, false, false, size(text, rest), seed);
      case "put-grpc" -> new Transfer(text, true, true, size(text, rest), seed);
      case "get-grpc" -> new Transfer(text, false, true, size(text, rest), seed);
      case "put-json" -> new JsonTransfer(text, true, count(text, rest), seed);
      case "get-json" -> new JsonTransfer(text, false, count(text, rest), seed);
      case "op" -> op(text, Route.HTTP, rest);
      case "op-grpc" -> op(text, Route.GRPC, rest);
      case "op-stream" -> op(text, Route.STREAM, rest);
      case "pipeline" -> new JsonPost(text, "/pipelines/run", file(text, rest));
      default ->
          throw new IllegalArgumentException(
              "unknown scenario \"%s\"; expected %s".formatted(text, FORMS));
    };
  }

  private static int size(String text, String size) {
    var parts = SIZE.matcher(size);
    if (parts.matches()) {
      var unit = parts.group(2) == null ? "B" : parts.group(2);
      long bytes =
          Long.parseLong(parts.group(1)) << (unit.equals("MiB") ? 20 : unit.equals("KiB") ? 10 : 0);
      if (bytes <= MAX_BYTES) {
        return (int) bytes;
      }
    }
    throw new IllegalArgumentException(
        "\"%s\": expected a size such as 65536, 64KiB or 16MiB, at most 1024MiB".formatted(text));
  }

  private static int count(String text, String count) {
    if (count.matches("[1-9]\\d{0,7}")) {
      return Integer.parseInt(count);
    }
    throw new IllegalArgumentException(
        "\"%s\": expected the number of elements, 1 to 99999999".formatted(text));
  }

  private Scenario op(String text, Route route, String rest) {
    var words = rest.split("\\s+", 2);
    var op =
        catalogue
            .find(words[0])
            .orElseThrow(() ->
                new IllegalArgumentException(
                    "\"%s\": unknown op \"%s\"; athanor ops lists the ops"
                        .formatted(text, words[0])));
    try {
      var problem = Problem.parse(op, words.length == 2 ? words[1] : "");
      return new OpScenario(text, problem, resident, route, seed);
    } catch (IllegalArgumentException | OpException e) {
      throw new IllegalArgumentException("\"%s\": %s".formatted(text, e.getMessage()), e);
    }
  }

  private static byte[] file(String text, String file) {
    try {
      return Files.readAllBytes(Path.of(file));
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "\"%s\": cannot read file \"%s\"".formatted(text, file), e);
    }
  }
}

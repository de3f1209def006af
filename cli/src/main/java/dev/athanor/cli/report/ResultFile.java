package dev.athanor.cli.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/** Writes results for machines, and for {@code docs/results}. */
public final class ResultFile {

  /** Numbers that JSON lacks become the strings "NaN", "Infinity" and "-Infinity". */
  private static final JsonMapper JSON =
      JsonMapper.builder()
          .disable(MapperFeature.SORT_PROPERTIES_ALPHABETICALLY)
          .enable(SerializationFeature.INDENT_OUTPUT)
          .build();

  private ResultFile() {}

  /** A record as JSON, in the order of its components. */
  public static String json(Object value) {
    return JSON.writeValueAsString(value);
  }

  /**
   * Says before the work begins that its result could not be written.
   *
   * @throws ParameterException when the file lies in no folder or cannot be written
   */
  public static void check(CommandLine command, String option, @Nullable Path file) {
    if (file == null) {
      return;
    }
    var folder = file.toAbsolutePath().getParent();
    if (Files.isDirectory(file) || folder == null || !Files.isDirectory(folder)) {
      throw new ParameterException(
          command, "%s %s: that is no file in a folder that exists".formatted(option, file));
    }
    if (!Files.isWritable(Files.exists(file) ? file : folder)) {
      throw new ParameterException(command, "%s %s: it cannot be written".formatted(option, file));
    }
  }

  public static void write(@Nullable Path file, List<String> lines) throws IOException {
    if (file != null) {
      Files.writeString(file, String.join("\n", lines) + "\n");
    }
  }
}

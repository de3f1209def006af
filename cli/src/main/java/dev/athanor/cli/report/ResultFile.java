package dev.athanor.cli.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/** Writes result files, such as those in {@code docs/results}. */
public final class ResultFile {

  /** Numbers that JSON lacks become the strings "NaN", "Infinity" and "-Infinity". */
  private static final JsonMapper JSON =
      JsonMapper.builder()
          .disable(MapperFeature.SORT_PROPERTIES_ALPHABETICALLY)
          .enable(SerializationFeature.INDENT_OUTPUT)
          .build();

  private ResultFile() {}

  /** Returns a record as JSON, in the order of its components. */
  public static String json(Object value) {
    return JSON.writeValueAsString(value);
  }

  /**
   * Checks, before the work begins, that the result file can be written.
   *
   * @throws ParameterException if the file's folder does not exist or the file cannot be written
   */
  public static void check(CommandLine command, String option, @Nullable Path file) {
    if (file == null) {
      return;
    }
    var folder = file.toAbsolutePath().getParent();
    if (Files.isDirectory(file) || folder == null || !Files.isDirectory(folder)) {
      throw new ParameterException(
          command, "%s %s: expected a file in an existing folder".formatted(option, file));
    }
    if (!Files.isWritable(Files.exists(file) ? file : folder)) {
      throw new ParameterException(
          command, "%s %s: cannot write this file".formatted(option, file));
    }
  }

  /** Writes a result file, if one is requested; replaces a regular file atomically. */
  public static void write(@Nullable Path file, List<String> lines) throws IOException {
    if (file != null && !replace(file, lines)) {
      Files.writeString(file, text(lines));
    }
  }

  /**
   * Writes a result file, if one is requested, while the work continues: a reader sees a complete
   * earlier version until the new one is complete. Skips pipes and devices, which cannot be
   * replaced.
   */
  public static void update(@Nullable Path file, List<String> lines) throws IOException {
    if (file != null) {
      replace(file, lines);
    }
  }

  /** Replaces a file atomically, or returns false for a link, a pipe or a device. */
  private static boolean replace(Path file, List<String> lines) throws IOException {
    var folder = Objects.requireNonNull(file.toAbsolutePath().getParent());
    boolean replaceable =
        Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
            || !Files.exists(file, LinkOption.NOFOLLOW_LINKS);
    if (!replaceable || !Files.isWritable(folder)) {
      return false;
    }
    var next = file.resolveSibling(file.getFileName() + ".tmp");
    Files.writeString(next, text(lines));
    Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    return true;
  }

  private static String text(List<String> lines) {
    return String.join("\n", lines) + "\n";
  }
}

package dev.athanor.ops.tune;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * The winners of tuning, stored in a JSON file. The file is replaced atomically under a file lock,
 * and entries that other processes have added are kept. A file that cannot be parsed or has another
 * version is renamed with a warning; its problems are tuned again.
 */
public final class TuningCache {

  static final int VERSION = 1;

  private static final System.Logger LOG = System.getLogger(TuningCache.class.getName());

  private static final JsonMapper JSON =
      JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build();

  private static final Object WRITING = new Object();

  private final @Nullable Path file;
  private final Map<TuningKey, Winner> winners = new ConcurrentHashMap<>();

  /**
   * The fastest variant of a bucket.
   *
   * @param kernel see {@link dev.athanor.ops.Plan#kernel()}
   * @param micros median time in microseconds
   * @param problem the problem that was timed
   * @param date time of tuning, ISO 8601
   */
  public record Winner(TuningKey key, String kernel, double micros, String problem, String date) {}

  private record Contents(int version, @Nullable List<Winner> winners) {}

  private TuningCache(@Nullable Path file) {
    this.file = file;
  }

  /** Returns a cache without a file. */
  public static TuningCache inMemory() {
    return new TuningCache(null);
  }

  /** Returns the cache of a file, which need not exist yet. */
  public static TuningCache open(Path file) {
    var cache = new TuningCache(file);
    try {
      cache.add(read(file));
    } catch (IOException e) {
      LOG.log(System.Logger.Level.WARNING, "tuning cache not loaded: {0}", e.toString());
    }
    return cache;
  }

  /**
   * Returns {@code $XDG_CACHE_HOME/athanor/tuning.json}; the default of the variable is {@code
   * ~/.cache}.
   */
  public static Path standardFile() {
    var xdg = System.getenv("XDG_CACHE_HOME");
    var base =
        xdg == null || xdg.isBlank()
            ? Path.of(System.getProperty("user.home", "."), ".cache")
            : Path.of(xdg);
    return base.resolve("athanor").resolve("tuning.json");
  }

  public Optional<Winner> find(TuningKey key) {
    return Optional.ofNullable(winners.get(key));
  }

  /** Returns all winners in a deterministic order. */
  public List<Winner> all() {
    return winners.values().stream()
        .sorted(Comparator.comparing(winner -> winner.key.toString()))
        .toList();
  }

  /**
   * Adds a winner or replaces that of its bucket, in memory and in the file.
   *
   * @throws UncheckedIOException if the file cannot be written; the winner is in memory
   *     nevertheless
   */
  public void put(Winner winner) {
    winners.put(winner.key, winner);
    if (file == null) {
      return;
    }
    try {
      // a file lock excludes other processes, not other threads of this one
      synchronized (WRITING) {
        write(file, winner);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("could not store the winner in " + file, e);
    }
  }

  private void write(Path kept, Winner winner) throws IOException {
    var folder = kept.toAbsolutePath().getParent();
    if (folder != null) {
      Files.createDirectories(folder);
    }
    var lock = kept.resolveSibling(kept.getFileName() + ".lock");
    try (var channel = FileChannel.open(lock, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        var _ = channel.lock()) {
      // keep what other processes have written since, except for this bucket
      add(read(kept));
      winners.put(winner.key, winner);
      var next = kept.resolveSibling(kept.getFileName() + ".next");
      Files.writeString(next, JSON.writeValueAsString(new Contents(VERSION, all())));
      Files.move(next, kept, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  private void add(List<Winner> more) {
    more.forEach(winner -> winners.put(winner.key, winner));
  }

  /** Returns the winners of a file; none if it does not exist or is set aside. */
  private static List<Winner> read(Path file) throws IOException {
    if (!Files.exists(file)) {
      return List.of();
    }
    try {
      var contents = JSON.readValue(Files.readString(file), Contents.class);
      if (contents.version != VERSION) {
        setAside(file, "it has version %d, expected %d".formatted(contents.version, VERSION));
        return List.of();
      }
      return checked(contents.winners);
    } catch (JacksonException | IllegalArgumentException e) {
      setAside(file, "it cannot be read: " + firstLine(String.valueOf(e.getMessage())));
      return List.of();
    } catch (CharacterCodingException e) {
      setAside(file, "it is not UTF-8 text");
      return List.of();
    }
  }

  /** Rejects winners without a key or kernel; Jackson sets missing fields to null. */
  @SuppressWarnings("ConstantValue")
  private static List<Winner> checked(@Nullable List<Winner> winners) {
    if (winners == null) {
      throw new IllegalArgumentException("it has no winners");
    }
    var good = new ArrayList<Winner>();
    for (var winner : winners) {
      if (winner == null || winner.key == null || winner.kernel == null) {
        throw new IllegalArgumentException("a winner has no key or no kernel");
      }
      good.add(winner);
    }
    return good;
  }

  private static void setAside(Path file, String why) throws IOException {
    var aside = file.resolveSibling(file.getFileName() + ".aside");
    for (int n = 1; Files.exists(aside); n++) {
      aside = file.resolveSibling(file.getFileName() + ".aside-" + n);
    }
    Files.move(file, aside);
    LOG.log(System.Logger.Level.WARNING, "{0} is set aside as {1}: {2}", file, aside, why);
  }

  private static String firstLine(String text) {
    return text.lines().findFirst().orElse("");
  }
}

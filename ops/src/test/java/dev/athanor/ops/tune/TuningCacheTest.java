package dev.athanor.ops.tune;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.tune.TuningCache.Winner;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TuningCacheTest {

  @TempDir private Path folder;

  private static Winner winner(String op, String kernel) {
    return new Winner(
        new TuningKey("a device", "1.2", op, "x=f32[4/4]"), kernel, 2.5, "x=f32[4]", "2026-01-01");
  }

  @Test
  void savesWinners() {
    var file = folder.resolve("new/tuning.json");
    var cache = TuningCache.open(file);
    cache.put(winner("relu", "one"));
    cache.put(winner("silu", "two"));
    cache.put(winner("relu", "three"));
    assertThat(TuningCache.open(file).all())
        .containsExactly(winner("relu", "three"), winner("silu", "two"));
    assertThat(cache.find(winner("relu", "").key())).contains(winner("relu", "three"));
    assertThat(cache.find(winner("gelu", "").key())).isEmpty();
  }

  /** As on a full disk: the winner is used, and the caller learns that it was not saved. */
  @Test
  void keepsWinnersInMemoryIfWritingFails() throws IOException {
    var cache = TuningCache.open(Files.createFile(folder.resolve("file")).resolve("tuning.json"));
    assertThatThrownBy(() -> cache.put(winner("relu", "one")))
        .isInstanceOf(UncheckedIOException.class)
        .hasMessageStartingWith("could not store the winner in ");
    assertThat(cache.find(winner("relu", "").key())).contains(winner("relu", "one"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "not json",
        "[]",
        "{\"version\": 1",
        "{\"version\": 1}",
        "{\"version\": 1, \"winners\": [null]}",
        "{\"version\": 1, \"winners\": [{\"kernel\": \"one\"}]}",
        "{\"version\": 0, \"winners\": []}",
        "{\"version\": 2, \"winners\": []}",
        "\u0000\u0001"
      })
  void setsInvalidFilesAside(String text) throws IOException {
    var file = folder.resolve("tuning.json");
    Files.writeString(file, text);
    var cache = TuningCache.open(file);
    assertThat(cache.all()).isEmpty();
    assertThat(folder.resolve("tuning.json.aside")).hasContent(text);
    cache.put(winner("relu", "one"));
    assertThat(TuningCache.open(file).all()).containsExactly(winner("relu", "one"));
  }

  @Test
  void keepsEveryFileThatIsSetAside() throws IOException {
    var file = folder.resolve("tuning.json");
    var bytes = new byte[] {(byte) 0xFF, (byte) 0xFE, 0, (byte) 0x80};
    Files.write(file, bytes);
    TuningCache.open(file);
    Files.writeString(file, "again");
    TuningCache.open(file);
    assertThat(folder.resolve("tuning.json.aside")).hasBinaryContent(bytes);
    assertThat(folder.resolve("tuning.json.aside-1")).hasContent("again");
  }

  @Test
  void keepsWinnersIfTheFileIsCorruptedLater() throws IOException {
    var file = folder.resolve("tuning.json");
    var cache = TuningCache.open(file);
    cache.put(winner("relu", "one"));
    Files.writeString(file, "{");
    cache.put(winner("silu", "two"));
    assertThat(TuningCache.open(file).all())
        .containsExactly(winner("relu", "one"), winner("silu", "two"));
  }

  /** Each writer opened the file before the others wrote. */
  @Test
  void mergesConcurrentWriters() throws Exception {
    var file = folder.resolve("tuning.json");
    int writers = 4;
    int each = 10;
    try (var threads = Executors.newFixedThreadPool(writers)) {
      var tasks =
          IntStream.range(0, writers)
              .<Callable<Void>>mapToObj(writer -> {
                var cache = TuningCache.open(file);
                return () -> {
                  for (int i = 0; i < each; i++) {
                    cache.put(winner("op-%d-%d".formatted(writer, i), "one"));
                  }
                  return null;
                };
              })
              .toList();
      for (var done : threads.invokeAll(tasks)) {
        done.get();
      }
    }
    assertThat(TuningCache.open(file).all()).hasSize(writers * each);
    assertThat(folder.toFile().list()).containsExactlyInAnyOrder("tuning.json", "tuning.json.lock");
  }

  @Test
  void inMemoryCachesWriteNothing() {
    var cache = TuningCache.inMemory();
    cache.put(winner("relu", "one"));
    assertThat(cache.all()).isEqualTo(List.of(winner("relu", "one")));
  }
}

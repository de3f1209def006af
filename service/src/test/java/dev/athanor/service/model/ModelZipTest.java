package dev.athanor.service.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.HostAllocator;
import dev.athanor.service.failure.Failure;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ModelZipTest {

  private static final int LIMIT = 4_000;

  /** Collects files on the heap. */
  private final Map<String, String> files = new TreeMap<>();

  /** Returns a zip with entries of one byte. */
  private static byte[] zip(String... names) throws IOException {
    var bytes = new ByteArrayOutputStream();
    try (var zip = new ZipOutputStream(bytes)) {
      for (var name : names) {
        zip.putNextEntry(new ZipEntry(name));
        if (!name.endsWith("/")) {
          zip.write('x');
        }
      }
    }
    return bytes.toByteArray();
  }

  private static byte[] bomb(String name) throws IOException {
    var bytes = new ByteArrayOutputStream();
    try (var zip = new ZipOutputStream(bytes)) {
      zip.putNextEntry(new ZipEntry(name));
      zip.write(new byte[LIMIT + 1]);
    }
    return bytes.toByteArray();
  }

  @Test
  void unpacksTheFilesOfAModel() throws IOException {
    var random = new Random(7);
    var content = new byte[200_000]; // more than is written at once
    random.nextBytes(content);
    Map<String, MemorySegment> model =
        Map.of(
            "model.onnx", MemorySegment.ofArray(content),
            "empty", MemorySegment.NULL,
            "weights/w", MemorySegment.ofArray(new byte[] {1, 2}));
    var archive = new ModelArchive(new ModelFiles(model)).readAllBytes();
    var incoming = new Incoming.InMemory(HostAllocator.HEAP);
    ModelZip.unpack(ByteSource.of(new ByteArrayInputStream(archive)), 1 << 20, incoming);
    var unpacked = incoming.files().all();
    assertThat(unpacked.keySet()).isEqualTo(model.keySet());
    unpacked.forEach((name, file) ->
        assertThat(file.toArray(ValueLayout.JAVA_BYTE))
            .as(name)
            .isEqualTo(
                model.getOrDefault(name, MemorySegment.NULL).toArray(ValueLayout.JAVA_BYTE)));
  }

  private void unpack(byte[] zip) throws IOException {
    var incoming = new Incoming.InMemory(HostAllocator.HEAP);
    ModelZip.unpack(ByteSource.of(new ByteArrayInputStream(zip)), LIMIT, incoming);
    incoming.files().all().forEach((name, content) -> files.put(name, text(content)));
  }

  private static String text(MemorySegment content) {
    return new String(content.toArray(ValueLayout.JAVA_BYTE), StandardCharsets.US_ASCII);
  }

  private void assertRefused(byte[] zip, Failure.Code code, String message) {
    assertThatThrownBy(() -> unpack(zip))
        .isInstanceOfSatisfying(Failure.Refused.class, e -> assertThat(e.code()).isEqualTo(code))
        .hasMessage(message);
  }

  @Test
  void unpacksFilesInFolders() throws IOException {
    unpack(zip("model.onnx", "weights/", "weights/a.bin", "weights/b"));
    assertThat(files).containsOnlyKeys("model.onnx", "weights/a.bin", "weights/b");
    assertThat(files.values()).containsOnly("x");
  }

  @Test
  void unpacksIntoAFolderThatIsDeletedUnlessItIsMoved(@TempDir Path folder) throws IOException {
    var target = Files.createDirectory(folder.resolve("new"));
    try (var incoming = new Incoming.InFolder(target)) {
      var zip = ByteSource.of(new ByteArrayInputStream(zip("a/b/c", "d")));
      ModelZip.unpack(zip, LIMIT, incoming);
      assertThat(target.resolve("a/b/c")).hasContent("x");
      assertThat(incoming.files().all()).containsOnlyKeys("a/b/c", "d");
    }
    assertThat(folder).isEmptyDirectory();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"../a", "a/../../b", "/etc/passwd", "a//b", "./a", "a\\b", "C:a", "model.json"})
  void refusesUnsafeNames(String name) throws IOException {
    assertRefused(
        zip(name),
        Failure.Code.MALFORMED_BODY,
        "the zip has the entry \"%s\"; a name is a relative path of at most 255 letters without \"..\", backslashes and colons, and not model.json"
            .formatted(name));
  }

  @ParameterizedTest
  @CsvSource({"a, a/b, a/b", "a/b, a, a", "a/b/c, a/b, a/b"})
  void refusesFilesThatAreFoldersToo(String first, String second, String named) throws IOException {
    assertRefused(
        zip(first, second),
        Failure.Code.MALFORMED_BODY,
        "the zip has two entries \"%s\"".formatted(named));
  }

  @Test
  void refusesDuplicates() throws IOException {
    var zip = zip("aa", "ab");
    for (int i = 0; i < zip.length - 1; i++) {
      if (zip[i] == 'a' && zip[i + 1] == 'b') {
        zip[i + 1] = 'a';
      }
    }
    assertRefused(zip, Failure.Code.MALFORMED_BODY, "the zip has two entries \"aa\"");
  }

  @Test
  void refusesTooManyEntries() throws IOException {
    var names = new String[ModelZip.MOST_ENTRIES + 1];
    Arrays.setAll(names, i -> "folder" + i + "/");
    assertRefused(zip(names), Failure.Code.MALFORMED_BODY, "the zip has more than 1000 entries");
  }

  @ParameterizedTest
  @ValueSource(strings = {"weights.bin", "folder/"})
  void refusesBombs(String name) throws IOException {
    var bomb = bomb(name);
    assertThat(bomb).hasSizeLessThan(LIMIT / 10);
    assertRefused(
        bomb,
        Failure.Code.TOO_LARGE,
        "the files of the zip have more than 4000 bytes, which is the limit");
  }

  @Test
  void refusesEncryptedEntries() throws IOException {
    var zip = zip("a");
    zip[6] |= 1; // of the general purpose flags
    assertRefused(
        zip, Failure.Code.MALFORMED_BODY, "the zip is damaged: encrypted ZIP entry not supported");
  }

  @Test
  void refusesDamagedZips() throws IOException {
    var zip = zip("a");
    assertRefused(
        Arrays.copyOf(zip, 32),
        Failure.Code.MALFORMED_BODY,
        "the zip is damaged: Unexpected end of ZLIB input stream");
    assertRefused(new byte[100], Failure.Code.MALFORMED_BODY, "the body is not a zip with files");
    zip[30] = (byte) 0xFF; // the name
    zip[7] |= 8; // the name is UTF-8
    assertRefused(
        zip,
        Failure.Code.MALFORMED_BODY,
        "the zip is damaged: invalid LOC header (bad entry name)");
  }
}

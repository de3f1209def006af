package dev.athanor.service.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.failure.Failure;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GgufTest {

  private static Map<String, HostTensor> read(byte[] file) {
    return Gguf.read(MemorySegment.ofArray(file));
  }

  private static HostTensor tensor(Map<String, HostTensor> tensors, String name) {
    return Objects.requireNonNull(tensors.get(name));
  }

  private static void assertRejected(byte[] file, String message) {
    assertThatThrownBy(() -> read(file)).isInstanceOf(Failure.class).hasMessage(message);
  }

  /** The Python package gguf has written the file; gguf.py next to it is the script. */
  @Test
  void readsAFileOfTheReferenceImplementation() throws IOException {
    try (var in = Objects.requireNonNull(GgufTest.class.getResourceAsStream("reference.gguf"))) {
      var tensors = read(in.readAllBytes());
      assertThat(HostTensor.types(tensors))
          .containsExactlyInAnyOrderEntriesOf(
              Map.of(
                  "dense.weight", TensorType.of(DType.F32, 2, 3),
                  "half.weight", TensorType.of(DType.F16, 3),
                  "blocks.weight", TensorType.of(DType.Q8_0, 2, 32),
                  "index", TensorType.of(DType.I32, 1, 2, 2)));
      assertThat(tensor(tensors, "dense.weight").toDoubles()).containsExactly(0, 1, 2, 3, 4, 5);
      assertThat(tensor(tensors, "half.weight").toDoubles()).containsExactly(1, -2, 0.5);
      assertThat(tensor(tensors, "index").toDoubles()).containsExactly(0, 1, 2, 3);
      var blocks = tensor(tensors, "blocks.weight").toDoubles();
      for (int i = 0; i < 32; i++) {
        assertThat(blocks[i]).isEqualTo(i == 0 ? 127 : i);
        assertThat(blocks[32 + i]).isEqualTo(i == 0 ? -127 : -i);
      }
    }
  }

  /** The numbers of the types in GGML, and a block of bytes 0x11 of each. */
  @ParameterizedTest
  @CsvSource({
    "2, Q4_0",
    "3, Q4_1",
    "6, Q5_0",
    "8, Q8_0",
    "12, Q4_K",
    "13, Q5_K",
    "14, Q6_K",
    "20, IQ4_NL",
    "23, IQ4_XS",
    "39, MXFP4"
  })
  void readsBlockFormats(int number, DType format) {
    var data = new byte[format.bytes()];
    Arrays.fill(data, (byte) 0x11);
    var file = new GgufFile(1, 0).tensor("a", number, 0, format.blockElements()).with(data);
    var tensor = tensor(read(file), "a");
    assertThat(tensor.type()).isEqualTo(TensorType.of(format, format.blockElements()));
    assertThat(tensor.data().toArray(ValueLayout.JAVA_BYTE)).isEqualTo(data);
  }

  @Test
  void readsVersionTwoAndIgnoresTheOrderOfTensors() {
    var file = new GgufFile(2, 0).tensor("b", 24, 32, 1).tensor("a", 24, 0, 2).with(new byte[33]);
    file[4] = 2;
    file[file.length - 1] = 7;
    var tensors = read(file);
    assertThat(tensors.keySet()).containsExactly("a", "b");
    assertThat(tensor(tensors, "b").get(0)).isEqualTo(7);
  }

  /** The file has values of all types, and its own alignment. */
  @Test
  void skipsMetadata() {
    var file = new GgufFile(1, 4);
    file.string("general.alignment").ints(4, 256);
    file.string("numbers").ints(9, 5).number(3).ints(1, 2, 3);
    file.string("words").ints(9, 8).number(2).string("x").string("");
    file.string("long").ints(12).number(1);
    file.tensor("a", 24, 256, 1);
    var data = new byte[257];
    data[256] = 3;
    var tensor = tensor(read(file.with(256, data)), "a");
    assertThat(tensor.data().toArray(ValueLayout.JAVA_BYTE)).containsExactly(3);
  }

  @Test
  void readsFilesWithoutTensors() {
    assertThat(read(new GgufFile(0, 0).header())).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "GGU", "GGML0000", "{}"})
  void rejectsOtherFiles(String text) {
    assertRejected(
        text.getBytes(StandardCharsets.US_ASCII), "a GGUF file must begin with the letters GGUF");
  }

  @ParameterizedTest
  @CsvSource({"1, 1", "4, 4", "50331648, 50331648", "-1, 4294967295"})
  void rejectsOtherVersions(int version, String text) {
    var file = new GgufFile(0, 0).header();
    ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).putInt(4, version);
    assertRejected(
        file, "the GGUF version is %s; it must be 2 or 3, little-endian".formatted(text));
  }

  /** Each prefix of a file lacks a part of the header or of the data. */
  @Test
  void rejectsTruncatedFiles() {
    var complete = new GgufFile(1, 2);
    complete.string("words").ints(9, 8).number(1).string("x");
    complete.string("count").ints(4, 7);
    complete.tensor("a", 24, 0, 3);
    int header = complete.header().length;
    var file = complete.with(new byte[] {1, 2, 3});
    for (int length = Integer.BYTES; length < file.length; length++) {
      int got = Math.max(0, 3 - (file.length - length));
      assertRejected(
          Arrays.copyOf(file, length),
          length < header
              ? "the file ends within its header, after %d bytes".formatted(length)
              : "the file is truncated: a is i8[3] and needs 3 bytes of data, got " + got);
    }
    assertThat(read(file)).hasSize(1);
  }

  @Test
  void rejectsOverlapsAndDuplicates() {
    assertRejected(
        new GgufFile(2, 0).tensor("a", 24, 0, 33).tensor("b", 24, 32, 1).with(new byte[99]),
        "the data of b begins at byte 32, but the preceding data ends at 33; overlaps are not allowed");
    assertRejected(
        new GgufFile(2, 0).tensor("a", 24, 0, 1).tensor("a", 24, 32, 1).with(new byte[99]),
        "two tensors have the name a");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          24 | 0 | -1 | the shape of a is [-1]; every extent must be at least 0
          0 | 0 | 9223372036854775807 | the shape of a is [9223372036854775807], which exceeds 2^63 bytes
          2 | 0 | 33 | the shape of a: q4_0 is stored in blocks of 32 elements, and the last dimension must be a multiple of the block size, got shape [33]
          24 | 8 | 1 | the data of a begins at byte 8; it must begin at a multiple of 32
          24 | -32 | 1 | the data of a begins at byte 18446744073709551584; it must begin at a multiple of 32
          24 | 9223372036854775776 | 1 | the file is truncated: a is i8[1] and needs 1 bytes of data, got 0
          7 | 0 | 32 | the tensor a has GGML type 7; supported are F32 (0), F16 (1), Q4_0 (2), Q4_1 (3), Q5_0 (6), Q8_0 (8), Q4_K (12), Q5_K (13), Q6_K (14), IQ4_NL (20), IQ4_XS (23), I8 (24), I16 (25), I32 (26), I64 (27), F64 (28), BF16 (30), MXFP4 (39)
          """)
  void rejectsInvalidTensors(int type, long offset, long extent, String message) {
    assertRejected(new GgufFile(1, 0).tensor("a", type, offset, extent).with(new byte[8]), message);
  }

  @Test
  void rejectsInvalidHeaders() {
    assertRejected(
        new GgufFile(1, 0).string("a").ints(17).header(),
        "the tensor a has 17 dimensions; the limit is 16");
    assertRejected(
        new GgufFile(1, 0).number(-1).header(),
        "the name of a tensor has 18446744073709551615 bytes; the limit is 65535");
    assertRejected(
        new GgufFile(0, 1).string("general.alignment").ints(4, 24).header(),
        "general.alignment is 24; it must be a power of two");
    var types =
        "the metadata x has values of type %d; supported are 0 to 12, and arrays of them except arrays of arrays";
    assertRejected(new GgufFile(0, 1).string("x").ints(13).header(), types.formatted(13));
    assertRejected(
        new GgufFile(0, 1).string("x").ints(9, 9).number(1).header(), types.formatted(9));
    assertRejected(
        new GgufFile(0, 1).string("x").ints(9, 12).number(1L << 61).header(),
        "the file ends within its header, after 49 bytes");
  }
}
